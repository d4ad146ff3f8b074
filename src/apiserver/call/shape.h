/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_SHAPE_H
#define APISERVER_CALL_SHAPE_H

/* Which type the object of a request is of: its kind's, or that of its subresource. */

#include "rest/rest.h"

/* `as` is the kind, perhaps in another version than the request's. */
struct rest_body_type shape_of(const struct rest_request *req, const struct kind *as);

/* The body of a resource that is no object in the store (apiserver/server/special.h). */
struct rest_body_type shape_of_special(const struct rest_request *req);

#endif
