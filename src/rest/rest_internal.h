/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_REST_INTERNAL_H
#define REST_REST_INTERNAL_H

/* What the files of rest/ share and nobody else includes. */

#include "object/meta/obj.h"
#include "rest/rest.h"
#include "rest/seal.h"
#include "store/hub.h"

struct frame_cache;

struct rest_loop { /* touched on its loop's thread only */
    struct loop *loop;
    struct hub *hub;
    struct frame_cache *frames;
};

struct rest {
    struct store *store;
    struct seal *seal; /* may be NULL */
    struct clock *clock;
    struct workers *workers; /* may be NULL */
    struct instances *instances;
    const struct rest_admission *admission;
    void (*convert)(struct rest_question *q);
    void (*convert_cancel)(struct rest_question *q);
    struct rest_loop *loops;
    size_t nloops;
};

struct rest_loop *rest_loop_of(struct rest *r, struct loop *l);

/* Answers.  Each is the last thing done to a request. */
void rest_fail(struct rest_request *req, const struct status *st);
void rest_answer(struct rest_request *req, int code, const str *pieces, size_t npieces);

/* A new status in the request's arena. */
struct status *rest_status(struct rest_request *req);

/* The verbs. */
void serve_get(struct rest_request *req);
void serve_list(struct rest_request *req);
void serve_watch(struct rest_request *req);
void serve_create(struct rest_request *req);
void serve_update(struct rest_request *req);
void serve_patch(struct rest_request *req);
void serve_apply(struct rest_request *req);
void serve_delete(struct rest_request *req);
void serve_delete_collection(struct rest_request *req);

#endif
