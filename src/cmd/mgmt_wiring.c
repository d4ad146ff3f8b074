/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/mgmt_wiring.h"

#include <assert.h>
#include <stdlib.h>

#include "apiserver/call/local.h"
#include "base/banned.h"
#include "base/mem.h"
#include "cmd/controllers.h"
#include "rpc/api.h"

struct mgmt_wiring {
    struct mgmt *mgmt;
    struct rpc *rpc;
    struct client *client;
    struct fleet *fleet;
};

struct mgmt_wiring *mgmt_wiring_new(struct status *st)
{
    struct mgmt_wiring *m = mem_zalloc(sizeof(*m));
    struct rpc_options o = { .api = &kairship_api, .builtins = true };

    m->mgmt = mgmt_new();
    o.implementations = mgmt_implementations(m->mgmt, &o.nimplementations);
    m->rpc = rpc_new(&o, st);
    if (m->rpc)
        return m;
    mgmt_wiring_free(m);
    return NULL;
}

size_t mgmt_wiring_mounts(const struct mgmt_wiring *m, struct mount *mounts, size_t n, size_t max)
{
    size_t more;
    const struct mount *from = rpc_mounts(m->rpc, &more);

    assert(n + more <= max);
    memcpy(mounts + n, from, more * sizeof(*from));
    return n + more;
}

/* It has all rights because it acts for others, each with his own. */
static struct client *acting_client(struct server *s, struct loop *l)
{
    static const str groups[] = { STR_INIT("system:masters"), STR_INIT("system:authenticated") };
    static const struct identity who = { .user = STR_INIT("system:kairship:management"),
                                         .groups = groups,
                                         .ngroups = 2 };

    return client_new(server_local_as(s, l, &who));
}

static int look(void *arg, struct arena *a, const struct client_ref *ref, const struct json **out,
                struct status *st)
{
    return server_local_look(arg, a, ref, out, st);
}

static str advertised(void *arg, struct arena *a)
{
    return server_advertised(arg, a);
}

void mgmt_wiring_start(struct mgmt_wiring *m, const struct mgmt_wiring_parts *p)
{
    struct mgmt_parts parts = {
        .look = look,
        .look_arg = p->server,
        .search = p->search,
        .permissions = server_permissions(p->server),
        .address = advertised,
        .address_arg = p->server,
        .ca_pem = p->ca_pem,
        .karmada = STR(KARMADA_VERSION),
    };

    m->client = acting_client(p->server, p->loop);
    m->fleet = fleet_new(m->client, &(struct fleet_options){ .egress = server_egress(p->server) });
    parts.client = m->client;
    parts.fleet = m->fleet;
    mgmt_start(m->mgmt, &parts);
}

void mgmt_wiring_free(struct mgmt_wiring *m)
{
    if (!m)
        return;
    rpc_free(m->rpc);
    fleet_free(m->fleet);
    client_free(m->client);
    mgmt_free(m->mgmt);
    free(m);
}
