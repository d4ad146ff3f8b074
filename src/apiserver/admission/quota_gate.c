/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/quota_gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"

/* In the arena of the request that waits, which lives until it is answered. */
struct waiter {
    struct loop_msg msg; /* first: its loop gets this */
    struct waiter *next;
    struct rest_request *req;
};

struct gate {
    char *key;
    struct waiter *first, **last;
};

struct quota_gates {
    pthread_mutex_t mu;
    struct map gates; /* guarded by mu, as all that is in it */
};

struct quota_gates *quota_gates_new(void)
{
    struct quota_gates *g = mem_zalloc(sizeof(*g));

    (void)pthread_mutex_init(&g->mu, NULL);
    return g;
}

void quota_gates_free(struct quota_gates *g)
{
    if (!g)
        return;
    map_release(&g->gates);
    (void)pthread_mutex_destroy(&g->mu);
    free(g);
}

static void turn(struct loop_msg *msg)
{
    rest_write_again(((struct waiter *)(void *)msg)->req);
}

static void add_gate(struct quota_gates *g, str key, struct rest_request *req)
{
    struct gate *gate = mem_zalloc(sizeof(*gate));

    gate->key = mem_alloc(key.n + 1);
    memcpy(gate->key, key.p, key.n);
    gate->key[key.n] = 0;
    gate->last = &gate->first;
    (void)map_put(&g->gates, (str){ gate->key, key.n }, gate);
    req->held = gate;
}

bool quota_gates_enter(struct quota_gates *g, struct rest_request *req)
{
    str key = str_printf(req->arena, "%u/%.*s", req->instance.id, STR_ARG(req->namespace_));
    struct waiter *w = arena_new_of(req->arena, struct waiter);
    struct gate *gate;

    if (req->held) /* a try that was lost all the same, or its turn has come */
        return true;
    *w = (struct waiter){ .msg = { .fn = turn, .whose = req->whose }, .req = req };
    (void)pthread_mutex_lock(&g->mu);
    gate = map_get(&g->gates, key);
    if (!gate) {
        add_gate(g, key, req);
    } else {
        *gate->last = w;
        gate->last = &w->next;
    }
    (void)pthread_mutex_unlock(&g->mu);
    return gate == NULL;
}

void quota_gates_leave(struct quota_gates *g, struct rest_request *req)
{
    struct gate *gate = req->held;
    struct waiter *next;

    req->held = NULL;
    (void)pthread_mutex_lock(&g->mu);
    next = gate->first;
    if (next) {
        gate->first = next->next;
        if (!gate->first)
            gate->last = &gate->first;
        next->req->held = gate;
    } else {
        (void)map_remove(&g->gates, str_of(gate->key));
        free(gate->key);
        free(gate);
    }
    (void)pthread_mutex_unlock(&g->mu);
    if (next)
        loop_post(next->req->loop, &next->msg);
}
