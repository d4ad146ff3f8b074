/* SPDX-License-Identifier: Apache-2.0 */
#include "client/recorder.h"
#include "federation/controllers/frame/controller.h"
#include "kinds/kinds.h"
#include "object/meta/condition.h"
#include "object/meta/unserved.h"
#include "server_rig.h"

/* What objects are told that ask for what is not served, against a whole server. */

#define HPAS "/clusters/t/apis/autoscaling.karmada.io/v1alpha1/namespaces/default/federatedhpas"
#define POLICIES \
    "/clusters/t/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
#define EVENTS "/clusters/t/api/v1/namespaces/default/events"

static bool holds(struct rig *r, const char *path, const char *type, const char *want)
{
    const struct json *v = NULL, *c;

    for (int i = 0; i < 1000; i++) {
        if (ask_api(r, "GET", path, "", &v) == 200) {
            c = condition_find(json_path(v, "status.conditions"), type);
            if (str_is(json_get_str(c, "message"), want))
                return str_is(json_get_str(c, "status"), "False") &&
                       str_is(json_get_str(c, "reason"), "NotServed");
        }
        (void)usleep(10000);
    }
    return false;
}

/* An event of that reason about that object; its message. */
static const char *event(struct rig *r, const char *kind)
{
    for (int i = 0; i < 1000; i++) {
        const struct json *v = NULL;

        if (ask_api(r, "GET", EVENTS, "", &v) == 200)
            json_for_each (e, json_get(v, STR("items")))
                if (str_is(json_get_str(e, "reason"), "NotServed") &&
                    str_is(json_get_str(e, "involvedObject.kind"), kind))
                    return str_z(r->arena, json_get_str(e, "message"));
        (void)usleep(10000);
    }
    return "none";
}

TEST(objects_are_told_what_is_not_served)
{
    struct controller_spec spec = unserved_kinds_controller;
    struct client *tells;
    struct recorder *recorder;
    struct rig r;

    rig_open(&r);
    CHECK(ask_api(&r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  "{\"metadata\":{\"name\":\"t\"}}", NULL) == 200);
    r.own = client_new(server_local_transport(r.host->server, r.host->loop,
                                              STR("system:kairship:unserved-kinds")));
    tells = client_new(server_local_transport(r.host->server, r.host->loop,
                                              STR("system:kairship:unserved-kinds")));
    recorder =
        recorder_new(&(struct recorder_options){ .client = tells, .component = STR("kairship") });
    spec.arg = recorder;
    r.controller = controller_start(&spec, r.own);
    CHECK(ask_api(&r, "POST", HPAS,
                  "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"scaleTargetRef\":{\"apiVersion\":"
                  "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"},\"maxReplicas\":3}}",
                  NULL) == 200);
    CHECK(
        holds(&r, HPAS "/h", "Served", "FederatedHPA is not served: no workload is scaled by it"));
    CHECK_STR(event(&r, "FederatedHPA"), "FederatedHPA is not served: no workload is scaled by it");
    CHECK(ask_api(&r, "POST", POLICIES,
                  "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"resourceSelectors\":[{\"apiVersion\":"
                  "\"v1\",\"kind\":\"ConfigMap\"}],\"association\":true}}",
                  NULL) == 200);
    CHECK_STR(event(&r, "PropagationPolicy"),
              "spec.association is not served: propagateDeps is what propagates dependencies");
    controller_stop(r.controller);
    r.controller = NULL;
    loop_call_wait(r.host->loop, (void (*)(void *))recorder_free, recorder);
    loop_call_wait(r.host->loop, (void (*)(void *))client_free, tells);
    rig_close(&r);
}

static bool watches(const struct client_ref *ref, const struct kind *k)
{
    return str_eq(ref->group, k->group) && str_eq(ref->resource, k->plural);
}

TEST(each_kind_of_the_table_is_watched)
{
    const struct controller_spec *spec = &unserved_kinds_controller;
    const struct catalog *catalogs[2];
    struct rig r;

    rig_open(&r);
    catalogs[0] = kinds_catalog_instance();
    catalogs[1] = kinds_catalog_root();
    for (size_t i = 0; i < unserved_count; i++) {
        const struct unserved *row = &unserved_rows[i];
        bool found = strcmp(row->group, "rpc") == 0;

        for (size_t c = 0; c < 2; c++)
            for (size_t n = 0; n < catalogs[c]->nkinds; n++) {
                const struct kind *k = catalogs[c]->kinds[n];

                if (!str_is(k->group, row->group) || !str_is(k->kind, row->kind))
                    continue;
                found |= watches(&spec->ref, k);
                for (size_t s = 0; s < spec->nalso; s++)
                    found |= watches(&spec->also[s].ref, k);
            }
        if (!CHECK(found))
            printf("# %s\n", row->kind);
    }
    rig_close(&r);
}
