/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/kinds.h"

#include <assert.h>

#include "base/banned.h"
#include "base/mem.h"
#include "kinds/crd/groups.h"
#include "kinds/k8s/groups.h"
#include "kinds/own/groups.h"
#include "kinds/tables.h"
#include "object/meta/schema_table.h"

/* In the order of discovery.  What only the root instance serves comes last. */
static const struct group *const groups[] = {
    &group_core,
    &group_apiregistration,
    &group_apps,
    &group_events,
    &group_authentication,
    &group_authorization,
    &group_autoscaling_v2,
    &group_autoscaling_v1,
    &group_batch,
    &group_certificates,
    &group_networking,
    &group_policy,
    &group_rbac,
    &group_storage,
    &group_admissionregistration,
    &group_apiextensions,
    &group_scheduling,
    &group_coordination,
    &group_node,
    &group_discovery,
    &group_resource,
    &group_flowcontrol,
    &group_karmada_cluster,
    &group_karmada_policy,
    &group_karmada_bindings,
    &group_karmada_old_bindings,
    &group_karmada_work,
    &group_karmada_apps,
    &group_karmada_autoscaling,
    &group_karmada_config,
    &group_karmada_networking,
    &group_karmada_remedy,
    &group_kcp_workload,
    &group_kcp_apiresource,
    &group_tenancy,
    &group_fleet,
    &group_iam,
    &group_audit,
    &group_pedia,
};

enum { KINDS_MAX = 160 };

static struct {
    struct arena *arena;
    struct schema_set *schemas;
    const struct kind *list[KINDS_MAX];
    const struct kind *few[KINDS_MAX], *plain[KINDS_MAX];
    struct catalog root, instance, minimal, kubernetes;
} all;

static int read_tables(struct status *st)
{
    all.schemas = schema_set_new();
    for (size_t i = 0; i < tables_count; i++)
        if (schema_set_add(all.schemas, tables[i].text, st) < 0)
            return status_wrap(st, "%s", tables[i].name);
    return schema_set_link(all.schemas, st);
}

static const struct kind *stored_kind(const struct group *g, const struct kind *k)
{
    if (!g->stored)
        return k;
    for (size_t i = 0; i < g->stored->n; i++)
        if (str_eq(g->stored->kinds[i].kind, k->kind))
            return &g->stored->kinds[i];
    return NULL;
}

static int complete(const struct group *g, struct kind *k, struct status *st)
{
    str schema = str_printf(all.arena, "%s.%.*s", g->schemas, STR_ARG(k->kind));

    k->group = g->name;
    k->version = g->version;
    k->api_version = g->name.n
                         ? str_printf(all.arena, "%.*s/%.*s", STR_ARG(g->name), STR_ARG(g->version))
                         : g->version;
    if (k->verbs & VERB_LIST)
        k->list_kind = str_printf(all.arena, "%.*sList", STR_ARG(k->kind));
    k->type_prefix = str_printf(all.arena, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",",
                                STR_ARG(k->kind), STR_ARG(k->api_version));
    k->storage = stored_kind(g, k);
    assert(k->storage);
    k->storage_group = k->storage->group;
    k->storage_plural = k->storage->plural;
    k->schema = schema_set_find(all.schemas, schema);
    if (!k->schema)
        return status_set(st, REASON_INTERNAL, "no table has %.*s", STR_ARG(schema));
    return 0;
}

static uint64_t mix(uint64_t h, str s)
{
    return str_hash(s, h, 0x6b696e6473);
}

/* Changes with the tables and the kinds, and is the same in all processes of one build. */
static uint64_t etag_of(const struct catalog *c)
{
    uint64_t h = 0;

    for (size_t i = 0; i < tables_count; i++)
        h = mix(h, tables[i].text);
    for (size_t i = 0; i < c->nkinds; i++)
        h = mix(mix(h, c->kinds[i]->api_version), c->kinds[i]->plural);
    return h;
}

static struct catalog catalog_of(const struct kind *const *kinds, size_t n)
{
    struct catalog c = { .kinds = kinds, .nkinds = n, .schemas = all.schemas };

    c.etag = etag_of(&c);
    catalog_index(all.arena, &c);
    return c;
}

/* What a kcp serves, with the kinds that it brings itself; a group alone stands for all of its
 * kinds. */
static const struct {
    const char *group, *plural;
} minimal[] = {
    { "", "configmaps" },
    { "", "events" },
    { "", "limitranges" },
    { "", "namespaces" },
    { "", "resourcequotas" },
    { "", "secrets" },
    { "", "serviceaccounts" },
    { "apiextensions.k8s.io", NULL },
    { "apiregistration.k8s.io", NULL },
    { "apiresource.kcp.dev", NULL },
    { "authentication.k8s.io", "tokenreviews" },
    { "authorization.k8s.io", NULL },
    { "certificates.k8s.io", "certificatesigningrequests" },
    { "coordination.k8s.io", "leases" },
    { "events.k8s.io", NULL },
    { "flowcontrol.apiserver.k8s.io", NULL },
    { "rbac.authorization.k8s.io", NULL },
    { "workload.kcp.dev", NULL },
};

static bool is_minimal(const struct kind *k)
{
    for (size_t i = 0; i < GROUP_LEN(minimal); i++)
        if (str_is(k->group, minimal[i].group) &&
            (!minimal[i].plural || str_is(k->plural, minimal[i].plural)))
            return true;
    return false;
}

static struct catalog catalog_minimal(void)
{
    size_t n = 0;

    for (size_t i = 0; i < all.instance.nkinds; i++)
        if (is_minimal(all.list[i]))
            all.few[n++] = all.list[i];
    return catalog_of(all.few, n);
}

/* Groups of others than Kubernetes itself. */
static bool is_kubernetes(const struct kind *k)
{
    static const char *const others[] = { ".karmada.io", ".kcp.dev", ".kairship.io" };

    for (size_t i = 0; i < GROUP_LEN(others); i++)
        if (str_ends(k->group, str_of(others[i])))
            return false;
    return true;
}

static struct catalog catalog_kubernetes(void)
{
    size_t n = 0;

    for (size_t i = 0; i < all.instance.nkinds; i++)
        if (is_kubernetes(all.list[i]))
            all.plain[n++] = all.list[i];
    return catalog_of(all.plain, n);
}

int kinds_init(uint32_t (*type_id)(void *arg, str group, str plural), void *arg, struct status *st)
{
    size_t n = 0;

    assert(!all.arena);
    all.arena = arena_new();
    if (read_tables(st) < 0)
        return -1;
    for (size_t i = 0; i < GROUP_LEN(groups); i++) {
        if (groups[i] == &group_tenancy)
            all.instance = catalog_of(all.list, n);
        for (size_t j = 0; j < groups[i]->n; j++) {
            struct kind *k = &groups[i]->kinds[j];

            if (complete(groups[i], k, st) < 0)
                return -1;
            if (!k->transient)
                k->type_id =
                    k->storage == k ? type_id(arg, k->group, k->plural) : k->storage->type_id;
            assert(n < KINDS_MAX);
            all.list[n++] = k;
        }
    }
    all.root = catalog_of(all.list, n);
    all.minimal = catalog_minimal();
    all.kubernetes = catalog_kubernetes();
    for (size_t i = 0; i < tables_count; i++)
        mem_cold(tables[i].text.p, tables[i].text.n);
    return 0;
}

void kinds_free(void)
{
    schema_set_free(all.schemas);
    arena_free(all.arena);
    all.schemas = NULL;
    all.arena = NULL;
}

const struct catalog *kinds_catalog_root(void)
{
    return &all.root;
}

const struct catalog *kinds_catalog_instance(void)
{
    return &all.instance;
}

const struct catalog *kinds_catalog_kubernetes(void)
{
    return &all.kubernetes;
}

const struct catalog *kinds_catalog_minimal(void)
{
    return &all.minimal;
}
