/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SEARCH_WIRING_H
#define CMD_SEARCH_WIRING_H

/* Search (search/search.h) as a part of this program: what it needs of the kinds and the server. */

#include "apiserver/server/server.h"
#include "cmd/roster.h"
#include "search/search.h"

/* Lives as long as the search. */
struct search_wiring {
    struct store *store;
    struct server *server;
    struct loop *loop;
    struct client *root;
    struct roster roster;
};

/* When the search is freed. */
void search_wiring_release(struct search_wiring *v);

struct search *search_wiring_new(struct search_wiring *v, const char *dir, struct store *store,
                                 struct status *st);

/* With a client of its own on that loop, which the caller frees after the loops have ended. */
struct client *search_wiring_start(struct search_wiring *v, struct search *s, struct server *server,
                                   struct loop *l);

#endif
