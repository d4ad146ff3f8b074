/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_GZIP_H
#define HTTP_GZIP_H

/* Bodies as sources, compressed on the way out (content-encoding: gzip, fastest level). */

#include "http/server.h"

/* What `inner` gives, as gzip. */
struct http_source *http_gzip_source(struct arena *a, struct http_source *inner);

#endif
