/* SPDX-License-Identifier: Apache-2.0 */
#include "syncer_rig.h"

/* An instance that has no Works, yet. */

/* A way to the instance that counts how often it is asked for Works, or whether it has them. */
struct counter {
    struct client_transport base, *inner;
    atomic_size_t works;
};

static void counter_call(struct client_transport *t, struct http_call *call)
{
    struct counter *c = (struct counter *)(void *)t;

    c->works += str_contains(call->path, STR("/apis/work.karmada.io/"));
    c->inner->call(c->inner, call);
}

static void counter_cancel(struct client_transport *t, struct http_call *call)
{
    struct counter *c = (struct counter *)(void *)t;

    c->inner->cancel(c->inner, call);
}

static void counter_free(struct client_transport *t)
{
    struct counter *c = (struct counter *)(void *)t;

    c->inner->free(c->inner);
}

static struct counter counter;

static void count_source(struct pair *p)
{
    static const struct identity admin = { .user = STR_INIT("admin"),
                                           .groups = ask_masters,
                                           .ngroups = 1 };
    struct host *h = p->rig.host;

    client_free(p->source);
    counter.base = (struct client_transport){
        .loop = h->loop, .call = counter_call, .cancel = counter_cancel, .free = counter_free
    };
    counter.inner = server_local_as(h->server, h->loop, &admin);
    p->source = p->options.source = client_new(&counter.base);
}

#define SMALL       "/clusters/small"
#define SMALL_WORKS SMALL "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"
#define CRD         SMALL "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/* It is asked once, and not again before it has them. */
TEST(an_instance_without_works_is_left_alone_until_it_has_them)
{
    static const char crd[] =
        "{\"metadata\":{\"name\":\"works.work.karmada.io\"},\"spec\":{\"group\":\"work.karmada."
        "io\","
        "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"works\",\"singular\":\"work\",\"kind\":"
        "\"Work\",\"listKind\":\"WorkList\"},\"versions\":[{\"name\":\"v1alpha1\",\"served\":true,"
        "\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{"
        "\"type\":"
        "\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";
    static const char served[] =
        "{\"status\":{\"acceptedNames\":{\"plural\":\"works\",\"singular\":\"work\",\"kind\":"
        "\"Work\","
        "\"listKind\":\"WorkList\"},\"storedVersions\":[\"v1alpha1\"],\"conditions\":[{\"type\":"
        "\"NamesAccepted\",\"status\":\"True\",\"reason\":\"\",\"message\":\"\"},{\"type\":"
        "\"Established\",\"status\":\"True\",\"reason\":\"\",\"message\":\"\"}]}}";
    static const char work[] =
        "{\"apiVersion\":\"work.karmada.io/"
        "v1alpha1\",\"kind\":\"Work\",\"metadata\":{\"name\":\"w\"},"
        "\"spec\":{\"workload\":{\"manifests\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
        "\"metadata\":{\"name\":\"conf\",\"namespace\":\"d\"},\"data\":{\"k\":\"v\"}}]}}}";
    struct pair p;

    pair_open(&p);
    pair_do(&p, count_source);
    pair_make(&p, "/apis/tenancy.kairship.io/v1alpha1/instances",
              "{\"metadata\":{\"name\":\"small\"},\"spec\":{\"profile\":\"minimal\"}}");
    p.options.instance = STR("small");
    pair_do(&p, pair_start);
    pair_make(&p, CRD, crd);
    (void)usleep(1200000); /* an informer would have asked again */
    CHECK(counter.works == 1);
    CHECK(ask_api(&p.rig, "PATCH", CRD "/works.work.karmada.io/status", served, NULL) == 200);
    pair_make(&p, SMALL "/api/v1/namespaces", "{\"metadata\":{\"name\":\"karmada-es-m1\"}}");
    for (int i = 0; i < 500 && ask_api(&p.rig, "POST", SMALL_WORKS, work, NULL) != 200; i++)
        (void)usleep(10000);
    CHECK(pair_comes(&p, MEMBER "/api/v1/namespaces/d/configmaps/conf", "data.k", "v"));
    pair_close(&p);
}
