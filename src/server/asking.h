/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ASKING_H
#define SERVER_ASKING_H

/*
 * What a write has asked others on its way: admission webhooks, and of the operator's webhook
 * whether somebody may (server/access_webhook.h).
 *
 * Nobody waits: where an answer is missing its question is sent and the write put aside
 * (REST_WAIT); when all answers are there the write is done again, and finds them.  As long as one
 * is on its way the request must stay, whatever became of the rest.
 */

#include "rest/rest.h"
#include "server/authz.h"

enum { ASKED_MAX = 200 }; /* about one write: an object that changes by itself ends here */

struct asking { /* rest_request.asked */
    struct rest_request *req;
    struct asked *hooks; /* server/admit_webhook.c */
    struct right_asked *rights;
    size_t n; /* of both */
    unsigned pending;
    void (*again)(struct rest_request *req); /* NULL: rest_write_again */
    bool settled;
};

struct asking *asking_of(struct rest_request *req);

/* One of those that are pending has come; the last has the write done again. */
void asking_answered(struct asking *all);

bool asking_waits(const struct rest_request *req);

/* Policies and webhooks have had their say: what the request goes on to write is not theirs. */
void asking_settle(struct rest_request *req);
bool asking_is_settled(const struct rest_request *req);

/*
 * Who asks does so on a loop of the server's: 0 when the write is on one, else REST_WAIT, and it is
 * done again there.
 */
int asking_home(struct rest_request *req) __attribute__((warn_unused_result));

/* TIMEOUT when answers came too late: the client was told so, and nothing is written any more. */
int asking_check_time(const struct rest_request *req, struct status *st)
    __attribute__((warn_unused_result));

/*
 * access_allowed, and what the operator's webhook adds: 1, 0, -1 when it gives no answer, or
 * REST_WAIT.  The version is that of the resource.
 */
int asking_access(struct server *s, struct rest_request *req, const struct access *x, str version,
                  str *reason, struct status *st) __attribute__((warn_unused_result));

#endif
