/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Subresources of pods that are no part of the pod: binding, which the scheduler writes, and those
 * that only a kubelet could serve.
 * k8s: pkg/registry/core/pod/storage/storage.go, pkg/registry/core/pod/rest
 */

#include "apiserver/call/internal.h"
#include "apiserver/server/special.h"
#include "base/banned.h"
#include "rest/lookup.h"

/* 1 with the pod, 0 when the call was answered. */
static int find_pod(struct call *c, const struct kind *pods, str name, const struct json **out)
{
    struct status *st = call_status(c);
    int found = lookup_get(c->rest.rest, c->arena, &c->rest.instance, pods, c->rest.namespace_,
                           name, out, st);

    if (found > 0)
        return 1;
    if (found == 0)
        (void)status_not_found(st, pods->group, pods->plural, name);
    call_fail(c, st);
    return 0;
}

/* ---- what needs a kubelet ---- */

void pod_needs_kubelet(struct call *c)
{
    struct status *st = call_status(c);
    const struct kind *k = c->rest.kind;
    const struct json *obj;
    bool pod = str_is(k->plural, "pods");

    if (find_pod(c, k, c->rest.name, &obj) == 0)
        return;
    if (pod && json_get_str(obj, "spec.nodeName").n == 0)
        (void)status_set(st, REASON_BAD_REQUEST, "pod %.*s does not have a host assigned",
                         STR_ARG(c->rest.name));
    else
        (void)status_set(st, REASON_BAD_REQUEST,
                         "%.*s/%.*s is not served: this control plane has no way to the nodes, ask "
                         "the cluster that runs it",
                         STR_ARG(k->plural), STR_ARG(c->rest.subresource));
    call_fail(c, st);
}

/* ---- binding ---- */

void pod_done(struct rest_request *req, const struct rest_reply *reply)
{
    struct call *c = req->user;
    struct json_object o = json_object_new(c->arena);

    if (reply->failure) {
        call_answer_rest(c, reply);
        return;
    }
    json_add(&o, STR("kind"), json_of_str(STR("Status")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("metadata"), json_empty_object);
    json_add(&o, STR("status"), json_of_str(STR("Success")));
    json_add(&o, STR("code"), json_of_int(201));
    call_answer_json(c, 201, json_object_done(&o));
}

/* /bindings has no name in its path: there it is the binding's. */
static int check_name(struct call *c, const struct json *binding, struct status *st)
{
    str name = json_get_str(binding, "metadata.name");

    if (c->rest.name.n == 0)
        return name.n ? 0 : status_set(st, REASON_BAD_REQUEST, "Name parameter required.");
    if (str_eq(c->rest.name, name))
        return 0;
    return status_set(st, REASON_BAD_REQUEST, "name in URL does not match name in Binding object");
}

static const struct json *read_binding(struct call *c, struct status *st)
{
    const struct kind *k = catalog_find(c->rest.catalog, STR_NONE, STR("v1"), STR("bindings"));
    struct rest_body_type type = { .schema = k->schema,
                                   .kind = k->kind,
                                   .api_version = k->api_version };
    const struct json *body;
    str target;

    if (rest_read_body(&c->rest, &type, &body, st) < 0 ||
        rest_check_namespace(&c->rest, body, st) < 0 || check_name(c, body, st) < 0)
        return NULL;
    target = json_get_str(body, "target.kind");
    if (target.n && !str_is(target, "Node"))
        status_cause(st, CAUSE_NOT_SUPPORTED, STR("target.kind"),
                     json_text(c->arena, json_path(body, "target.kind")),
                     "supported values: \"Node\", \"<empty>\"");
    if (json_get_str(body, "target.name").n == 0)
        status_cause(st, CAUSE_REQUIRED, STR("target.name"), STR_NONE, "%s", "");
    else
        (void)name_check(st, NAME_SUBDOMAIN, STR("target.name"), json_get_str(body, "target.name"));
    return status_invalid(st, STR_NONE, STR("Binding"), c->rest.name) < 0 ? NULL : body;
}

/* What the binding says of the pod's identity, it must have. */
static int check_identity(const struct call *c, const struct json *pod, const struct json *binding,
                          str name, struct status *st)
{
    static const struct {
        const char *path, *what;
    } rows[] = { { "metadata.uid", "UID" }, { "metadata.resourceVersion", "ResourceVersion" } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        str said = json_get_str(binding, rows[i].path), is = json_get_str(pod, rows[i].path);

        if (said.n && !str_eq(said, is))
            return status_conflict(st, STR_NONE, STR("pods"), name,
                                   "StorageError: invalid object, Code: 4, Key: "
                                   "/registry/pods/%.*s/%.*s, "
                                   "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
                                   "%s in precondition: %.*s, %s in object meta: %.*s",
                                   STR_ARG(c->rest.namespace_), STR_ARG(name), rows[i].what,
                                   STR_ARG(said), rows[i].what, STR_ARG(is));
    }
    return 0;
}

static int check_pod(const struct call *c, const struct json *pod, const struct json *binding,
                     str name, struct status *st)
{
    str node = json_get_str(pod, "spec.nodeName");

    if (check_identity(c, pod, binding, name, st) < 0)
        return -1;
    if (json_get_str(pod, "metadata.deletionTimestamp").n)
        return status_conflict(st, STR_NONE, STR("pods/binding"), name,
                               "pod %.*s is being deleted, cannot be assigned to a host",
                               STR_ARG(name));
    if (node.n)
        return status_conflict(st, STR_NONE, STR("pods/binding"), name,
                               "pod %.*s is already assigned to node \"%.*s\"", STR_ARG(name),
                               STR_ARG(node));
    if (json_len(json_path(pod, "spec.schedulingGates")))
        return status_conflict(st, STR_NONE, STR("pods/binding"), name,
                               "pod %.*s has non-empty .spec.schedulingGates", STR_ARG(name));
    return 0;
}

/* What of the binding goes into the pod; its version, so that nobody else binds it meanwhile. */
static str patch_text(struct arena *a, const struct json *binding, const struct json *pod)
{
    struct json_object patch = json_object_new(a), meta = json_object_new(a);
    struct json_object spec = json_object_new(a);
    const struct json *notes = json_path(binding, "metadata.annotations");
    const struct json *labels = json_path(binding, "metadata.labels");

    json_add(&meta, STR("resourceVersion"), *json_path(pod, "metadata.resourceVersion"));
    if (labels)
        json_add(&meta, STR("labels"), *labels);
    if (notes)
        json_add(&meta, STR("annotations"), *notes);
    json_add(&spec, STR("nodeName"), *json_path(binding, "target.name"));
    json_add(&patch, STR("metadata"), json_object_value(&meta));
    json_add(&patch, STR("spec"), json_object_value(&spec));
    return json_text(a, json_object_done(&patch));
}

void pod_binding(struct call *c)
{
    struct status *st = call_status(c);
    const struct kind *pods = catalog_find(c->rest.catalog, STR_NONE, STR("v1"), STR("pods"));
    const struct json *binding = read_binding(c, st), *pod;
    str name = c->rest.name;

    if (!binding) {
        call_fail(c, st);
        return;
    }
    if (name.n == 0) /* /bindings: the pod's name is the binding's */
        name = json_get_str(binding, "metadata.name");
    if (find_pod(c, pods, name, &pod) == 0)
        return;
    if (check_pod(c, pod, binding, name, st) < 0) {
        call_fail(c, st);
        return;
    }
    c->rest.kind = pods;
    c->rest.name = name;
    c->rest.subresource = STR("binding");
    c->rest.unmanaged = true;
    c->rest.verb = VERB_PATCH;
    c->rest.patch_type = PATCH_MERGE;
    c->rest.body_type = BODY_JSON;
    c->rest.body = patch_text(c->arena, binding, pod);
    c->rest.done = pod_done;
    rest_serve(&c->rest);
}
