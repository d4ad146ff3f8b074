/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/outbound/aggregate.h"

#include "apiserver/call/internal.h"
#include "apiserver/outbound/apiservices.h"
#include "apiserver/outbound/backends.h"
#include "apiserver/outbound/front_proxy.h"
#include "apiserver/outbound/proxy.h"
#include "base/banned.h"

/* Who asks for documents that are the same for all.  k8s: aggregatorUser */
static const struct identity aggregator = { .user = STR_INIT("system:aggregator") };

/* NULL: nothing is served elsewhere. */
static const struct apiservice_set *services_of(struct call *c)
{
    const struct apiservice_set *s;

    if (c->who.rights || c->rest.instance.id == STORE_ALL)
        return NULL;
    s = apiservices_of(c->server->apiservices, c->rest.instance.id, call_status(c));
    return s && s->n ? s : NULL;
}

/* "group/version" and what is below. */
static const struct apiservice *find(const struct apiservice_set *s, str rest)
{
    str group, version;

    if (!str_split(&rest, '/', &group) || !str_split(&rest, '/', &version))
        return NULL;
    return apiservice_find(s, group, version);
}

static void unavailable(struct call *c)
{
    call_answer_text(c, 503, STR("service unavailable\n"));
}

static void pass_on(struct call *c, const struct apiservice *x, const struct identity *who)
{
    struct service_ref ref = x->service;
    struct service_place place;
    struct proxy_backend backend = {
        .peer = { .server_name = service_host(c->arena, ref.namespace_, ref.name),
                  .ca_pem = x->ca_pem,
                  .insecure = x->insecure,
                  .front_proxy = c->rest.instance.uid },
        .who = who,
    };

    ref.instance = c->rest.instance;
    if (!x->available ||
        service_resolve(c->server, c->arena, &ref, &place, call_status(c)) != SERVICE_FOUND) {
        unavailable(c);
        return;
    }
    backend.peer.host = place.host;
    backend.peer.port = place.port;
    proxy_backend(c, &backend, str_from(c->info.path, 1));
}

bool aggregate_serve(struct call *c)
{
    bool api = str_starts(c->info.path, STR("/apis/"));
    bool openapi = str_starts(c->info.path, STR("/openapi/v3/apis/"));
    const struct apiservice_set *s = api || openapi ? services_of(c) : NULL;
    const struct apiservice *x = s ? find(s, str_from(c->info.path, api ? 6 : 17)) : NULL;

    if (!x)
        return false;
    if (call_go_home(c))
        return true;
    pass_on(c, x, openapi ? &aggregator : &c->who);
    return true;
}

const struct aggregated *aggregate_versions(struct call *c)
{
    const struct apiservice_set *s = services_of(c);
    struct aggregated_version *all;
    struct aggregated *out;

    if (!s)
        return NULL;
    all = arena_array(c->arena, struct aggregated_version, s->n);
    out = arena_new_of(c->arena, struct aggregated);
    *out = (struct aggregated){ .at = all, .n = s->n };
    for (size_t i = 0; i < s->n; i++) {
        const struct apiservice *x = &s->at[i];
        struct backend b =
            backends_get(c->server->backends, c->arena, c->rest.instance.id, x->name);

        all[i] = (struct aggregated_version){ .group = x->group,
                                              .version = x->version,
                                              .group_priority = x->group_priority,
                                              .version_priority = x->version_priority,
                                              .stale = !x->available,
                                              .resources = b.resources,
                                              .openapi = b.openapi };
        out->etag = str_hash(x->name, out->etag, b.hash);
        out->etag = str_hash(x->available ? STR("+") : STR("-"), out->etag,
                             (uint64_t)x->group_priority << 32 | (uint64_t)x->version_priority);
    }
    return out;
}
