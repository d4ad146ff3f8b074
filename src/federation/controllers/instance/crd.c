/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Accepts the names of CustomResourceDefinitions, establishes them, and empties those that are
 * being deleted before it lets them go.
 *
 * k8s: apiextensions-apiserver pkg/controller/{status,establish,finalizer,apiapproval}
 */

#include "base/banned.h"
#include "base/clock.h"
#include "federation/controllers/frame/controller.h"

#define FINALIZER "customresourcecleanup.apiextensions.k8s.io"

enum {
    LOOK_AGAIN_MS = 250, /* while finalizers of others hold objects */
    PAGE = 100,
    SHORT_NAMES = 1000, /* as many are in the index */
};

struct crd {
    struct client *client;
    struct arena *arena;
    struct client_ref ref;
    const struct json *obj;
};

/* ---- conditions ---- */

static const struct json *find_condition(const struct json *obj, const char *type)
{
    json_for_each (c, json_path(obj, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return c;
    return NULL;
}

static bool is_true(const struct json *obj, const char *type)
{
    return str_is(json_get_str(find_condition(obj, type), "status"), "True");
}

/* obj with the condition; its time changes only with its status. */
static const struct json *with_condition(struct arena *a, const struct json *obj, const char *type,
                                         bool is, const char *reason, str message)
{
    const struct json *was = find_condition(obj, type);
    str status = is ? STR("True") : STR("False");
    char *now = arena_alloc(a, TIME_TEXT_SIZE);
    str time = { now, time_format_seconds(now, clock_wall_s(clock_real())) };
    struct json_object o = json_object_new(a);
    struct json_array all = json_array_new(a);

    if (was && str_eq(json_get_str(was, "status"), status))
        time = json_get_str(was, "lastTransitionTime");
    json_add(&o, STR("lastTransitionTime"), json_of_str(time));
    json_add(&o, STR("message"), json_of_str(message));
    json_add(&o, STR("reason"), json_of_str(str_of(reason)));
    json_add(&o, STR("status"), json_of_str(status));
    json_add(&o, STR("type"), json_of_str(str_of(type)));
    json_for_each (c, json_path(obj, "status.conditions"))
        json_push(&all, c == was ? json_object_value(&o) : *c);
    if (!was)
        json_push(&all, json_object_value(&o));
    return json_set(a, obj, "status.conditions", json_array_done(&all));
}

static int write_status(struct crd *c, const struct json *obj, struct status *st)
{
    struct client_ref ref = c->ref;

    if (json_equal(json_get(obj, STR("status")), json_get(c->obj, STR("status"))))
        return 0;
    ref.subresource = STR("status");
    return client_update(c->client, c->arena, &ref, obj, &c->obj, st);
}

/* ---- names ---- */

static str group_of(str name) /* of a CRD: "<plural>.<group>" */
{
    ptrdiff_t dot = str_find(name, '.', 0);

    return dot < 0 ? STR_NONE : str_from(name, (size_t)dot + 1);
}

/* Others that have this among their names (src/kinds/crd/crd.c), a page of them. */
static int others(struct crd *c, str names, str *token, const struct json **out, struct status *st)
{
    struct client_ref all = c->ref;
    struct client_query q = { .limit = PAGE,
                              .continue_token = *token,
                              .field_selector =
                                  str_printf(c->arena, "status.names=%.*s", STR_ARG(names)) };
    struct json_array found = json_array_new(c->arena);
    const struct json *list;

    all.name = STR_NONE;
    if (client_list(c->client, c->arena, &all, &q, &list, st) < 0)
        return -1;
    json_for_each (o, json_get(list, STR("items")))
        if (!str_eq(json_get_str(o, "metadata.name"), c->ref.name))
            json_push(&found, *o);
    *token = json_get_str(list, "metadata.continue");
    *out = json_array_done(&found);
    return 0;
}

static bool among(const struct json *list, str s)
{
    json_for_each (item, list)
        if (str_eq(json_str(item), s))
            return true;
    return false;
}

struct naming {
    struct crd *crd;
    const struct json *wanted, *had;
    struct json_object accepted;
    const char *reason; /* of the last conflict, or NULL */
    str message;
    struct status *st;
    bool failed;
};

/* Names of resources share one space, those of kinds another. */
static bool is_taken(struct naming *n, const char *space, str name)
{
    struct crd *c = n->crd;
    str token = STR_NONE, names = str_printf(c->arena, "%s/%.*s/%.*s", space,
                                             STR_ARG(group_of(c->ref.name)), STR_ARG(name));
    const struct json *found;

    if (n->failed || others(c, names, &token, &found, n->st) < 0) {
        n->failed = true;
        return true;
    }
    return json_len(found) > 0;
}

static void refuse(struct naming *n, const char *reason, str name)
{
    n->reason = reason;
    n->message = str_printf(n->crd->arena, "\"%.*s\" is already in use", STR_ARG(name));
}

static void accept_name(struct naming *n, const char *field, const char *reason, const char *space)
{
    str name = json_get_str(n->wanted, field);

    if (name.n && is_taken(n, space, name)) {
        refuse(n, reason, name);
        name = json_get_str(n->had, field);
    }
    if (name.n || str_is(str_of(field), "plural") || str_is(str_of(field), "kind"))
        json_put(&n->accepted, str_of(field), json_of_str(name));
}

static void accept_short_names(struct naming *n)
{
    const struct json *names = json_get(n->wanted, STR("shortNames"));
    size_t looked = 0;

    json_for_each (s, names)
        if (looked++ < SHORT_NAMES && is_taken(n, "resources", json_str(s))) {
            refuse(n, "ShortNamesConflict", json_str(s));
            names = json_get(n->had, STR("shortNames"));
            break;
        }
    if (json_len(names))
        json_put(&n->accepted, STR("shortNames"), *names);
}

static struct naming name_all(struct crd *c, struct status *st)
{
    struct naming n = { .crd = c,
                        .wanted = json_path(c->obj, "spec.names"),
                        .had = json_path(c->obj, "status.acceptedNames"),
                        .st = st };
    const struct json *categories = json_get(n.wanted, STR("categories"));

    n.accepted = json_object_new(c->arena);
    if (json_len(categories))
        json_put(&n.accepted, STR("categories"), *categories);
    accept_name(&n, "plural", "PluralConflict", "resources");
    accept_name(&n, "singular", "SingularConflict", "resources");
    accept_short_names(&n);
    accept_name(&n, "kind", "KindConflict", "kinds");
    accept_name(&n, "listKind", "ListKindConflict", "kinds");
    return n;
}

/* k8s: *.k8s.io and *.kubernetes.io belong to the community: what is approved says so */
static const struct json *with_approval(struct arena *a, const struct json *obj)
{
    str group = json_get_str(obj, "spec.group");
    str value = json_str(
        json_get(json_path(obj, "metadata.annotations"), STR("api-approved.kubernetes.io")));

    if (!str_ends(group, STR(".k8s.io")) && !str_ends(group, STR(".kubernetes.io")))
        return obj;
    if (str_starts(value, STR("unapproved")))
        return with_condition(a, obj, "KubernetesAPIApprovalPolicyConformant", false,
                              "UnapprovedAnnotation",
                              str_printf(a, "not approved: \"%.*s\"", STR_ARG(value)));
    return with_condition(a, obj, "KubernetesAPIApprovalPolicyConformant", true,
                          "ApprovedAnnotation", str_printf(a, "approved in %.*s", STR_ARG(value)));
}

static int establish(struct crd *c, struct status *st)
{
    struct arena *a = c->arena;
    const struct json *obj = c->obj;
    struct naming n = name_all(c, st);

    if (n.failed)
        return -1;
    obj = json_set(a, obj, "status.acceptedNames", json_object_done(&n.accepted));
    obj = with_condition(a, obj, "NamesAccepted", !n.reason, n.reason ? n.reason : "NoConflicts",
                         n.reason ? n.message : STR("no conflicts found"));
    if (!n.reason && !is_true(obj, "Established"))
        obj = with_condition(a, obj, "Established", true, "InitialNamesAccepted",
                             STR("the initial names have been accepted"));
    else if (n.reason && !is_true(obj, "Established"))
        obj = with_condition(a, obj, "Established", false, "NotAccepted",
                             STR("not all names are accepted"));
    return write_status(c, with_approval(a, obj), st);
}

/* ---- deletion ---- */

static bool has_finalizer(const struct json *obj)
{
    return among(json_path(obj, "metadata.finalizers"), STR(FINALIZER));
}

static str served_version(const struct json *obj)
{
    json_for_each (v, json_path(obj, "spec.versions"))
        if (json_bool(json_get(v, STR("served"))))
            return json_get_str(v, "name");
    return STR_NONE;
}

static int delete_page(struct crd *c, const struct client_ref *all, const struct json *items,
                       struct status *st)
{
    json_for_each (o, items) {
        struct client_ref one = *all;

        if (json_path(o, "metadata.deletionTimestamp"))
            continue;
        one.namespace = json_get_str(o, "metadata.namespace");
        one.name = json_get_str(o, "metadata.name");
        if (client_delete(c->client, c->arena, &one, NULL, st) < 0) {
            if (!status_is(st, REASON_NOT_FOUND))
                return -1;
            status_reset(st);
        }
    }
    return 0;
}

/* 1 when nothing is left, 0 when something is, or -1. */
static int empty(struct crd *c, struct status *st)
{
    struct client_ref all = { .instance = c->ref.instance,
                              .group = json_get_str(c->obj, "spec.group"),
                              .version = served_version(c->obj),
                              .resource = json_get_str(c->obj, "status.acceptedNames.plural") };
    struct client_query one = { .limit = 1 };
    const struct json *list;
    str token = STR_NONE;

    if (!is_true(c->obj, "Established") || all.version.n == 0)
        return 1;
    do {
        scoped_arena a = arena_new();
        struct client_query q = { .limit = PAGE, .continue_token = token };

        if (client_list(c->client, a, &all, &q, &list, st) < 0 ||
            delete_page(c, &all, json_get(list, STR("items")), st) < 0)
            return -1;
        token = str_dup(c->arena, json_get_str(list, "metadata.continue"));
    } while (token.n);
    if (client_list(c->client, c->arena, &all, &one, &list, st) < 0)
        return -1;
    return json_len(json_get(list, STR("items"))) == 0;
}

static int let_go(struct crd *c, struct status *st)
{
    struct json_array left = json_array_new(c->arena);

    json_for_each (f, json_path(c->obj, "metadata.finalizers"))
        if (!str_is(json_str(f), FINALIZER))
            json_push(&left, *f);
    return client_update(c->client, c->arena, &c->ref,
                         json_set(c->arena, c->obj, "metadata.finalizers", json_array_done(&left)),
                         NULL, st);
}

static int finalize(struct crd *c, struct status *st)
{
    const struct json *obj;
    int emptied;

    if (!has_finalizer(c->obj))
        return 0;
    obj = with_condition(c->arena, c->obj, "Terminating", true, "InstanceDeletionInProgress",
                         STR("CustomResource deletion is in progress"));
    if (write_status(c, obj, st) < 0)
        return -1;
    emptied = empty(c, st);
    if (emptied <= 0)
        return emptied < 0 ? -1 : LOOK_AGAIN_MS;
    return let_go(c, st);
}

/* ---- */

/* Names that it held may be free: who waits for them may have them. */
static int wake_others(struct crd *c, struct status *st)
{
    str token = STR_NONE,
        refused = str_printf(c->arena, "refused/%.*s", STR_ARG(group_of(c->ref.name)));
    const struct json *list;

    do {
        if (others(c, refused, &token, &list, st) < 0)
            return -1;
        json_for_each (o, list) {
            struct crd other = *c;

            other.ref.name = json_get_str(o, "metadata.name");
            other.obj = o;
            if (!json_path(o, "metadata.deletionTimestamp") && establish(&other, st) < 0)
                return -1;
        }
    } while (token.n);
    return 0;
}

static int let_in(struct crd *c, struct status *st)
{
    const struct json *was = c->obj;

    if (establish(c, st) < 0)
        return -1;
    return c->obj == was ? 0 : wake_others(c, st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct crd c = { .client = client,
                     .arena = a,
                     .ref = { .instance = str_is(k->instance, "root") ? STR_NONE : k->instance,
                              .group = STR("apiextensions.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("customresourcedefinitions"),
                              .name = k->name } };

    (void)arg;
    if (client_get(client, a, &c.ref, &c.obj, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        if (wake_others(&c, st) == 0 || status_is(st, REASON_NOT_FOUND)) /* or so is the instance */
            return 0;
        return -1;
    }
    return json_path(c.obj, "metadata.deletionTimestamp") ? finalize(&c, st) : let_in(&c, st);
}

const struct controller_spec crd_controller = {
    .name = "crd-controller",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("apiextensions.k8s.io"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("customresourcedefinitions") },
    .reconcile = reconcile,
};
