/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_WATCH_H
#define REST_WATCH_H

/* Encoded events, shared by the watches of one loop that want the same form of the same event. */

#include "rest/rest_internal.h"

struct frame_cache;
struct frame_cache *frame_cache_new(void);
void frame_cache_free(struct frame_cache *c);

#endif
