/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_RIG_H
#define SERVER_RIG_H

/*
 * A whole server whose loop runs on a thread of its own, and the platform admin's client: for tests
 * of what works beside requests (controllers, garbage collection, upkeep).
 *
 *     struct rig r;
 *
 *     rig_open(&r);
 *     CHECK(ask_api(&r, "GET", "/api/v1/namespaces", "", NULL) == 200);
 *     rig_close(&r);
 */

#include <pthread.h>
#include <unistd.h>

#include "apiserver/call/local.h"
#include "client/client.h"
#include "server_fixture.h"

struct rig {
    struct host *host;
    struct client *client;         /* the admin's */
    struct client *own;            /* of the part that is tested, or NULL: rig_close frees it */
    struct controller *controller; /* the test's */
    pthread_t thread;
    struct arena *arena;
    struct status st; /* of the last call */
};

static inline void *rig_run_loop(void *arg)
{
    epoch_enter();
    loop_run(arg);
    epoch_exit();
    return NULL;
}

static inline void rig_open(struct rig *r)
{
    static const struct identity admin = { .user = STR_INIT("admin"),
                                           .groups = ask_masters,
                                           .ngroups = 1 };

    *r = (struct rig){ .host = host_new(0, 0) };
    r->arena = r->host->arena;
    status_init(&r->st, r->arena);
    r->client = client_new(server_local_as(r->host->server, r->host->loop, &admin));
    if (pthread_create(&r->thread, NULL, rig_run_loop, r->host->loop) != 0)
        exit(1);
}

/* After the part that is tested has stopped. */
static inline void rig_close(struct rig *r)
{
    loop_stop(r->host->loop);
    (void)pthread_join(r->thread, NULL);
    epoch_enter();
    client_free(r->client);
    client_free(r->own);
    epoch_exit();
    host_free(r->host);
}

/* "/api/v1/…" of root or of an instance; the answer's code, 200 for all that is good; the tree in
 * *out, which may be NULL.  A PATCH is a merge patch. */
static inline int ask_api(struct rig *r, const char *method, const char *path, const char *body,
                          const struct json **out)
{
    struct client_request req = { .method = str_of(method),
                                  .path = str_of(path),
                                  .content_type = STR("application/json"),
                                  .body = str_of(body) };
    const struct json *v = &json_null;

    if (strcmp(method, "PATCH") == 0)
        req.content_type = STR("application/merge-patch+json");
    status_reset(&r->st);
    if (client_do(r->client, r->arena, &req, &v, &r->st) < 0)
        return status_http(&r->st);
    if (out)
        *out = v;
    return 200;
}

#endif
