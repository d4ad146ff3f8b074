/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_MEMBERS_H
#define SIM_MEMBERS_H

/*
 * Simulated member clusters: instances of one server, each with a port, an admin and nodes of its
 * own.  What there is is written down for others:
 *
 *     DIR/<member>.kubeconfig    the way in, as its admin
 *     DIR/members.json           {"members": [{"name", "server", "kubeconfig", "provider",
 * "region", "zone", "labels", "nodes"}, …]}
 *
 * A member that is opened again in the same folder is the same, at the same port if it is free.
 */

#include "apiserver/server/listener.h"
#include "client/client.h"

struct members;

enum { MEMBER_LABELS = 4 };

struct member_plan {
    str name;
    const char *provider, *region, *zone;
    const char *labels[MEMBER_LABELS][2]; /* of the Cluster that it will be; NULL: no more */
    long nodes;                           /* made at the start */
    const char *cpu, *memory, *pods;      /* of each */
};

struct members_options {
    const char *dir;
    const struct member_plan *plans;
    size_t n;
    struct server *server;
    struct client *admin; /* of the platform, in process */
    struct loop *const *loops;
    size_t nloops;
    struct http_limits http;
    str ca_pem, cert_pem, client_ca_pem;
    secret key_pem;
};

/* Once the loops run, and not on one of them.  Blocks.  The plans' strings stay. */
struct members *members_new(const struct members_options *o, struct status *st);
void members_free(struct members *m); /* after the loops have ended, before the server */

size_t members_count(const struct members *m);
str members_name(const struct members *m, size_t i);
str members_kubeconfig(const struct members *m, size_t i); /* the file's name */
/* "127.0.0.1:40001"; empty if there is none of that name.  Any thread. */
str members_address(const struct members *m, str name);
const char *members_mode(const struct members *m, size_t i); /* "up", "slow", "hung", "down" */

/* NOT_FOUND, naming those there are; else as listener_set.  Not on a loop; one thread. */
int members_set(struct members *m, str name, enum listener_mode mode, int64_t delay_ms,
                struct status *st) __attribute__((warn_unused_result));

/* All go down, for the end. */
void members_close(struct members *m);

#endif
