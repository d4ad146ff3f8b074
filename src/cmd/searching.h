/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SEARCHING_H
#define CMD_SEARCHING_H

/* Search (search/search.h) as a part of this program: what it needs of the kinds and the server. */

#include "apiserver/server/server.h"
#include "search/search.h"

/* Lives as long as the search. */
struct searching {
    struct store *store;
    struct server *server;
    struct loop *loop;
    struct client *root;
};

/* loopback: members may be on this machine. */
struct search *searching_new(struct searching *v, const char *dir, struct store *store,
                             bool loopback, struct status *st);

/* With a client of its own on that loop, which the caller frees after the loops have ended. */
struct client *searching_start(struct searching *v, struct search *s, struct server *server,
                               struct loop *l);

#endif
