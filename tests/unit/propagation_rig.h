/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROPAGATION_RIG_H
#define PROPAGATION_RIG_H

/* A plant: a server with an instance and two members, and the controllers of propagation. */

#include "federation/controllers/propagation/propagator.h"
#include "object/meta/karmada.h"
#include "server_rig.h"

#define I           "/clusters/one"
#define POLICIES    I "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
#define CPOLICIES   I "/apis/policy.karmada.io/v1alpha1/clusterpropagationpolicies"
#define OVERRIDES   I "/apis/policy.karmada.io/v1alpha1/namespaces/default/overridepolicies"
#define BINDINGS    I "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"
#define CBINDINGS   I "/apis/work.karmada.io/v1alpha2/clusterresourcebindings"
#define WORKS       I "/apis/work.karmada.io/v1alpha1"
#define DEPLOYMENTS I "/apis/apps/v1/namespaces/default/deployments"
#define MAPS        I "/api/v1/namespaces/default/configmaps"

enum { CONTROLLERS = 7 };

struct plant {
    struct rig rig;
    struct propagator propagation;
    struct controller_group *group;
    struct client *clients[CONTROLLERS];
};

/* Texts with ' for ". */
static inline const char *q(struct plant *p, const char *text)
{
    char *z = str_z(p->rig.arena, str_of(text));

    for (char *c = z; *c; c++)
        if (*c == '\'')
            *c = '"';
    return z;
}

static inline const struct json *must(struct plant *p, const char *method, const char *path,
                                      const char *body)
{
    const struct json *v = &json_null;

    if (!CHECK(ask_api(&p->rig, method, path, q(p, body), &v) == 200))
        printf("# %s %s: %.*s\n", method, path, STR_ARG(p->rig.st.message));
    return v;
}

/* NULL: it is not there. */
static inline const struct json *get(struct plant *p, const char *path)
{
    const struct json *v = NULL;

    return ask_api(&p->rig, "GET", path, "", &v) == 200 ? v : NULL;
}

static inline void prepare_plant(struct plant *p)
{
    static const char *const clusters[] = { "m1", "m2" };

    *p = (struct plant){ 0 };
    rig_open(&p->rig);
    propagator_init(&p->propagation);
    p->propagation.preemption = true;
    p->group = controller_group_new(3);
    (void)must(p, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
               "{'metadata':{'name':'one'}}");
    for (size_t i = 0; i < sizeof(clusters) / sizeof(*clusters); i++) {
        (void)must(p, "POST", I "/apis/cluster.karmada.io/v1alpha1/clusters",
                   arena_printf(p->rig.arena,
                                "{'metadata':{'name':'%s'},'spec':{'syncMode':'Push'}}",
                                clusters[i]));
        (void)must(
            p, "POST", I "/api/v1/namespaces",
            arena_printf(p->rig.arena, "{'metadata':{'name':'karmada-es-%s'}}", clusters[i]));
    }
}

static inline void start_plant(struct plant *p)
{
    static const struct controller_spec *const specs[] = {
        &detector_controller,        &binding_controller,        &binding_status_controller,
        &dependencies_controller,    &namespace_sync_controller, &crd_controller,
        &federated_quota_controller,
    };

    for (size_t i = 0; i < CONTROLLERS; i++) {
        struct controller_spec spec = *specs[i];

        if (specs[i] != &crd_controller)
            spec.arg = &p->propagation;
        p->clients[i] = client_new(
            server_local_transport(p->rig.host->server, p->rig.host->loop,
                                   str_printf(p->rig.arena, "system:kairship:%s", spec.name)));
        (void)controller_group_start(p->group, &spec, p->clients[i]);
    }
}

static inline void open_plant(struct plant *p)
{
    prepare_plant(p);
    start_plant(p);
}

static inline void free_client(void *arg)
{
    client_free(arg);
}

static inline void close_plant(struct plant *p)
{
    controller_group_free(p->group);
    for (size_t i = 0; i < CONTROLLERS; i++)
        loop_call_wait(p->rig.host->loop, free_client, p->clients[i]);
    propagator_release(&p->propagation);
    rig_close(&p->rig);
}

/* What is there, in one line. */
typedef const char *(*look_fn)(struct plant *p, const char *path);

/* Waits until that is what is seen. */
static inline bool becomes(struct plant *p, look_fn look, const char *path, const char *want)
{
    const char *got = NULL;

    for (int i = 0; i < 1000; i++) {
        got = look(p, path);
        if (strcmp(got, want) == 0)
            return true;
        (void)usleep(5000);
    }
    printf("# %s\n#  got: %s\n# want: %s\n", path, got, want);
    return false;
}

/* And is so for a while. */
static inline bool stays(struct plant *p, look_fn look, const char *path, const char *want)
{
    if (!becomes(p, look, path, want))
        return false;
    (void)usleep(150000);
    return becomes(p, look, path, want);
}

/* "policy replicas [cluster names of the placement]". */
static inline const char *binding_of(struct plant *p, const char *path)
{
    struct arena *a = p->rig.arena;
    const struct json *b = get(p, path);
    str policy = karmada_annotation(b, KARMADA_PP_NAME);

    if (!b)
        return "none";
    if (!policy.n)
        policy = karmada_annotation(b, KARMADA_CPP_NAME);
    return arena_printf(
        a, "%.*s %d %s", STR_ARG(policy), (int)json_int(json_path(b, "spec.replicas"), 0),
        json_text(a, json_path(b, "spec.placement.clusterAffinity.clusterNames")
                         ? json_path(b, "spec.placement.clusterAffinity.clusterNames")
                         : &json_null)
            .p);
}

/* "replicas image team" of a Work's Deployment. */
static inline const char *deployment_of(struct plant *p, const char *path)
{
    const struct json *w = get(p, path);
    const struct json *m = json_at(json_path(w, "spec.workload.manifests"), 0);

    if (!w)
        return "none";
    return arena_printf(
        p->rig.arena, "%d %.*s %.*s", (int)json_int(json_path(m, "spec.replicas"), -1),
        STR_ARG(json_get_str(json_at(json_path(m, "spec.template.spec.containers"), 0), "image")),
        STR_ARG(json_get_str(m, "metadata.labels.team")));
}

static inline const char *data_of(struct plant *p, const char *path)
{
    const struct json *w = get(p, path);
    const struct json *d =
        json_get(json_at(json_path(w, "spec.workload.manifests"), 0), STR("data"));

    return w ? (d ? json_text(p->rig.arena, d).p : "no data") : "none";
}

static inline const char *required_of(struct plant *p, const char *path)
{
    const struct json *b = get(p, path), *by = json_path(b, "spec.requiredBy");

    return b ? (by ? json_text(p->rig.arena, by).p : "nobody") : "none";
}

static inline const char *fully_applied(struct plant *p, const char *path)
{
    const struct json *b = get(p, path);

    json_for_each (c, json_path(b, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "FullyApplied"))
            return str_z(p->rig.arena, json_get_str(c, "reason"));
    return "silent";
}

static inline const char *status_of(struct plant *p, const char *path)
{
    const struct json *d = get(p, path);

    return arena_printf(p->rig.arena, "%d %d %s",
                        (int)json_int(json_path(d, "status.replicas"), -1),
                        (int)json_int(json_path(d, "status.readyReplicas"), -1),
                        json_int(json_path(d, "status.observedGeneration"), 0) ==
                                json_int(json_path(d, "metadata.generation"), -1)
                            ? "observed"
                            : "not yet");
}

static inline const char *finalizers_of(struct plant *p, const char *path)
{
    const struct json *o = get(p, path), *f = json_path(o, "metadata.finalizers");

    return o ? (f ? json_text(p->rig.arena, f).p : "[]") : "none";
}

static inline const char *names_of(struct plant *p, const char *path)
{
    str all = STR("");

    json_for_each (o, json_get(get(p, path), STR("items")))
        all = str_printf(p->rig.arena, "%.*s%s%.*s", STR_ARG(all), all.n ? " " : "",
                         STR_ARG(json_get_str(o, "metadata.name")));
    return all.p;
}

static inline void make_deployment(struct plant *p, const char *name, int replicas)
{
    (void)must(p, "POST", DEPLOYMENTS,
               arena_printf(p->rig.arena,
                            "{'metadata':{'name':'%s','labels':{'app':'x'}},'spec':{'replicas':%d,"
                            "'selector':{'matchLabels':{'app':'x'}},'template':{'metadata':{"
                            "'labels':{'app':'x'}},'spec':{'containers':[{'name':'c','image':"
                            "'nginx:1','resources':{'requests':{'cpu':'100m'}},'envFrom':[{"
                            "'configMapRef':{'name':'conf'}}]}]}}}}",
                            name, replicas));
}

static inline void make_policy(struct plant *p, const char *name, const char *selector,
                               const char *more)
{
    (void)must(p, "POST", POLICIES,
               arena_printf(p->rig.arena,
                            "{'metadata':{'name':'%s'},'spec':{'resourceSelectors':[%s],"
                            "'placement':{'clusterAffinity':{'clusterNames':['m1','m2']}}%s}}",
                            name, selector, more));
}

#define ALL_DEPLOYMENTS "{'apiVersion':'apps/v1','kind':'Deployment'}"

/* As the scheduler would. */
static inline void schedule(struct plant *p, const char *binding, const char *clusters)
{
    (void)must(p, "PATCH", binding,
               arena_printf(p->rig.arena, "{'spec':{'clusters':%s}}", clusters));
}

/* As a syncer would. */
static inline void report(struct plant *p, const char *work, int replicas, int ready)
{
    const struct json *w = get(p, work), *m = json_at(json_path(w, "spec.workload.manifests"), 0);

    (void)must(p, "PATCH", arena_printf(p->rig.arena, "%s/status", work),
               arena_printf(p->rig.arena,
                            "{'status':{'conditions':[{'type':'Applied','status':'True','reason':"
                            "'AppliedSuccessful','message':'','lastTransitionTime':"
                            "'2026-01-01T00:00:00Z'}],'manifestStatuses':[{'identifier':{"
                            "'ordinal':0,'group':'apps','version':'v1','kind':'Deployment',"
                            "'resource':'','namespace':'default','name':'web'},'status':{"
                            "'replicas':%d,'readyReplicas':%d,'generation':1,"
                            "'observedGeneration':1,'resourceTemplateGeneration':%.*s},'health':"
                            "'Healthy'}]}}",
                            replicas, ready,
                            STR_ARG(karmada_annotation(m, KARMADA_TEMPLATE_GENERATION))));
}

#endif
