/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRASH_WORLD_H
#define CRASH_WORLD_H

/*
 * The server under test, the connections to it, and the book.  Everything runs on one loop on the
 * main thread: the phases of a cycle are straight code that lets the loop run while it waits.
 */

#include "base/rand.h"
#include "client/client.h"
#include "crash/ledger.h"
#include "crash/process.h"

enum { CONNECTIONS = 4 }; /* of those who write; watches have one more */

struct world {
    struct loop *loop;
    struct process server;
    struct ledger ledger;
    struct rand_seq rand; /* of the cycle */
    unsigned cycle;
    struct client *clients[CONNECTIONS + 1]; /* the last one is for watches */
    bool loaded;                             /* writers go on */
    bool ending;    /* the server was killed, or told to end: no answer is no surprise */
    unsigned calls; /* in flight */

    struct loop_timer tick, limit;
    bool (*until)(struct world *w);
    bool late;
};

/* Runs the loop until the condition holds; false when it does not within ms. */
bool world_wait(struct world *w, bool (*until)(struct world *w), int64_t ms);
bool world_pause(struct world *w, int64_t ms); /* always true */

/* Connects as the server's kubeconfig says; false, told, if that fails. */
bool world_connect(struct world *w);
void world_disconnect(struct world *w);

/* A request and its answer, waiting: 0, or -1 and *st. */
int world_ask(struct world *w, struct arena *a, const struct client_request *req,
              const struct json **out, struct status *st);

/* The same with an object of the load; counts as any other write of it. */
bool world_write(struct world *w, uint64_t op, const struct client_request *req);

static inline struct client *world_watch_client(struct world *w)
{
    return w->clients[CONNECTIONS];
}

#endif
