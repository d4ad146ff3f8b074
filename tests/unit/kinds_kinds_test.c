/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

#include "object/meta/schema_table.h"

TEST(the_root_instance_serves_all_and_the_others_all_but_the_platforms)
{
    const struct catalog *root, *instance;

    fixture_kinds();
    root = kinds_catalog_root();
    instance = kinds_catalog_instance();
    for (size_t i = 0; i < root->nkinds; i++) {
        const struct kind *k = root->kinds[i];
        bool platform =
            str_ends(k->group, STR(".kairship.io")) || str_ends(k->group, STR(".clusterpedia.io"));

        CHECK(!catalog_find(instance, k->group, k->version, k->plural) == platform);
    }
    CHECK(catalog_has_group(root, STR("tenancy.kairship.io"), STR("v1alpha1")));
    CHECK(catalog_has_group(root, STR("fleet.kairship.io"), STR("v1alpha1")));
    CHECK(!catalog_has_group(instance, STR("tenancy.kairship.io"), STR("")));
    CHECK(!catalog_has_group(instance, STR("fleet.kairship.io"), STR("")));
    CHECK(root->etag != instance->etag);
}

TEST(the_order_is_that_of_discovery)
{
    /* k8s: priorities in cmd/kube-apiserver/app/aggregator.go; those that we serve, then ours */
    static const char *const groups[] = {
        "",
        "apiregistration.k8s.io",
        "apps",
        "events.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "scheduling.k8s.io",
        "coordination.k8s.io",
        "node.k8s.io",
        "discovery.k8s.io",
        "resource.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "cluster.karmada.io",
        "policy.karmada.io",
        "work.karmada.io",
        "apps.karmada.io",
        "autoscaling.karmada.io",
        "config.karmada.io",
        "networking.karmada.io",
        "remedy.karmada.io",
        "workload.kcp.dev",
        "apiresource.kcp.dev",
        "tenancy.kairship.io",
        "fleet.kairship.io",
        "iam.kairship.io",
        "audit.kairship.io",
        "cluster.clusterpedia.io",
    };
    const struct catalog *c;
    size_t g = 0;

    fixture_kinds();
    c = kinds_catalog_root();
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        while (g < sizeof(groups) / sizeof(*groups) && !str_is(k->group, groups[g]))
            g++;
        REQUIRE(g < sizeof(groups) / sizeof(*groups));
        if (i > 0 && str_eq(c->kinds[i - 1]->api_version, k->api_version))
            CHECK(str_cmp(c->kinds[i - 1]->plural, k->plural) < 0);
    }
}

TEST(kinds_are_complete)
{
    const struct catalog *c;

    fixture_kinds();
    c = kinds_catalog_root();
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        CHECK(k->schema && k->schema->type == SCHEMA_OBJECT);
        CHECK(str_ends(k->schema->name, k->kind));
        CHECK(k->storage && k->type_id == k->storage->type_id);
        CHECK((k->type_id == 0) == k->transient);
        CHECK(k->singular.n && k->verbs && (k->ops || !(k->verbs & VERB_UPDATE)));
        CHECK((k->list_kind.n > 0) == ((k->verbs & VERB_LIST) != 0));
        CHECK(schema_set_find(c->schemas, str_sub(k->schema->name, 0, k->schema->name.n)) ==
              k->schema);
        CHECK(k->ncolumns == 0 || k->ops->cells != NULL);
        for (size_t j = 0; j < i && !k->transient; j++)
            CHECK(c->kinds[j]->storage == k->storage || c->kinds[j]->type_id != k->type_id);
    }
}

TEST(the_list_of_each_kind_has_a_schema)
{
    scoped_arena a = arena_new();
    const struct catalog *c;

    fixture_kinds();
    c = kinds_catalog_root();
    for (size_t i = 0; i < c->nkinds; i++) {
        str name = str_printf(a, "%.*sList", STR_ARG(c->kinds[i]->schema->name));

        if (!(c->kinds[i]->verbs & VERB_LIST))
            continue;
        CHECK(schema_set_find(c->schemas, name) != NULL);
        CHECK(str_ends(name, c->kinds[i]->list_kind));
    }
}

TEST(type_prefixes_are_the_beginning_of_an_object)
{
    struct fixture f = fixture_new("coordination.k8s.io", "v1", "leases");

    CHECK_STR(str_z(f.c.arena, f.kind->type_prefix),
              "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",");
    fixture_release(&f);
    f = fixture_new("", "v1", "configmaps");
    CHECK_STR(str_z(f.c.arena, f.kind->type_prefix),
              "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",");
    fixture_release(&f);
}

TEST(both_kinds_of_events_are_stored_as_one)
{
    struct fixture core = fixture_new("", "v1", "events");
    struct fixture events = fixture_new("events.k8s.io", "v1", "events");

    CHECK(events.kind->storage == core.kind);
    CHECK(events.kind->type_id == core.kind->type_id);
    CHECK(events.kind->storage_group.n == 0);
    fixture_release(&core);
    fixture_release(&events);
}
