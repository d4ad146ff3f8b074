/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/members/api_publish.h"

#include "base/banned.h"
#include "client/finalizer.h"
#include "fleet/api_schema.h"
#include "object/meta/api_version.h"
#include "object/meta/condition.h"

#define APPROVED "api-approved.kubernetes.io"

bool api_publish_is_ours(const struct json *crd)
{
    json_for_each (o, json_path(crd, "metadata.ownerReferences"))
        if (str_is(json_get_str(o, "kind"), "NegotiatedAPIResource"))
            return true;
    return false;
}

bool api_publish_is_served(const struct json *crd)
{
    const struct json *all = json_path(crd, "status.conditions");

    return crd && condition_holds(all, "Established") && condition_holds(all, "NamesAccepted") &&
           !condition_holds(all, "NonStructuralSchema") && !is_deleting(crd);
}

static const struct json *find_version(const struct json *crd, str version)
{
    json_for_each (v, json_path(crd, "spec.versions"))
        if (str_eq(json_get_str(v, "name"), version))
            return v;
    return NULL;
}

static void copy(struct json_object *to, const struct json *from, const char *const *names)
{
    for (; *names; names++) {
        const struct json *v = json_get(from, str_of(*names));

        if (v)
            json_put(to, str_of(*names), *v);
    }
}

/* ---- from a CRD ---- */

const struct json *api_publish_spec(struct arena *a, const struct json *crd, str version)
{
    static const char *const names[] = { "plural",   "singular",   "shortNames", "kind",
                                         "listKind", "categories", NULL };
    const struct json *v = find_version(crd, version);
    const struct json *schema = json_path(v, "schema.openAPIV3Schema");
    struct json_object spec = json_object_new(a), gv = json_object_new(a);
    struct json_array parts = json_array_new(a);

    if (!v)
        return NULL;
    json_add(&gv, STR("group"), json_of_str(json_get_str(crd, "spec.group")));
    json_add(&gv, STR("version"), json_of_str(version));
    json_add(&spec, STR("groupVersion"), json_object_value(&gv));
    json_add(&spec, STR("scope"), json_of_str(json_get_str(crd, "spec.scope")));
    copy(&spec, json_path(crd, "spec.names"), names);
    json_add(&spec, STR("openAPIV3Schema"), *(schema ? schema : api_schema_open(a)));
    json_for_each_member (m, json_get(v, STR("subresources"))) {
        struct json_object o = json_object_new(a);

        json_add(&o, STR("name"), json_of_str(m->name));
        json_push(&parts, json_object_value(&o));
    }
    if (parts.n)
        json_add(&spec, STR("subResources"), json_array_value(&parts));
    return json_object_done(&spec);
}

/* ---- to a CRD ---- */

static struct json subresources_of(struct arena *a, const struct json *spec)
{
    struct json_object o = json_object_new(a), scale = json_object_new(a);

    json_for_each (p, json_get(spec, STR("subResources"))) {
        str name = json_get_str(p, "name");

        if (str_is(name, "status"))
            json_put(&o, name, json_empty_object);
        if (!str_is(name, "scale") ||
            !json_path(spec, "openAPIV3Schema.properties.spec.properties.replicas"))
            continue;
        json_put(&scale, STR("specReplicasPath"), json_of_str(STR(".spec.replicas")));
        json_put(&scale, STR("statusReplicasPath"), json_of_str(STR(".status.replicas")));
        json_put(&o, name, json_object_value(&scale));
    }
    return json_object_value(&o);
}

static struct json columns_of(struct arena *a, const struct json *spec)
{
    static const char *const names[] = { "name",        "type",     "format", "priority",
                                         "description", "jsonPath", NULL };
    struct json_array all = json_array_new(a);

    json_for_each (c, json_get(spec, STR("columnDefinitions"))) {
        struct json_object o = json_object_new(a);

        if (!json_get_str(c, "jsonPath").n)
            continue;
        copy(&o, c, names);
        if (!json_int(json_get(c, STR("priority")), 0))
            json_remove(&o, STR("priority"));
        if (!json_get_str(c, "format").n)
            json_remove(&o, STR("format"));
        if (!json_get_str(c, "description").n)
            json_remove(&o, STR("description"));
        json_push(&all, json_object_value(&o));
    }
    return json_array_value(&all);
}

static struct json version_of(struct arena *a, const struct json *spec)
{
    struct json_object v = json_object_new(a), schema = json_object_new(a);
    struct json columns = columns_of(a, spec), parts = subresources_of(a, spec);

    json_add(&schema, STR("openAPIV3Schema"), *json_get(spec, STR("openAPIV3Schema")));
    json_add(&v, STR("name"), json_of_str(json_get_str(spec, "groupVersion.version")));
    json_add(&v, STR("served"), json_true);
    json_add(&v, STR("storage"), json_false);
    json_add(&v, STR("schema"), json_object_value(&schema));
    if (parts.n)
        json_add(&v, STR("subresources"), parts);
    if (columns.n)
        json_add(&v, STR("additionalPrinterColumns"), columns);
    return json_object_value(&v);
}

/* The one of highest priority stores: the others can be read from it. */
static const struct json *with_storage(struct arena *a, const struct json *versions)
{
    struct json_array all = json_array_new(a);
    str best = STR_NONE;

    json_for_each (v, versions) {
        str name = json_get_str(v, "name");

        if (!best.n || api_version_cmp(name, best) > 0)
            best = name;
    }
    json_for_each (v, versions)
        json_push(&all,
                  *json_set(a, v, "storage",
                            str_eq(json_get_str(v, "name"), best) ? &json_true : &json_false));
    return json_array_done(&all);
}

static struct json owner_of(struct arena *a, const struct json *negotiated)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("apiVersion"), json_of_str(STR("apiresource.kcp.dev/v1alpha1")));
    json_add(&o, STR("kind"), json_of_str(STR("NegotiatedAPIResource")));
    json_add(&o, STR("name"), json_of_str(json_get_str(negotiated, "metadata.name")));
    json_add(&o, STR("uid"), json_of_str(json_get_str(negotiated, "metadata.uid")));
    return json_object_value(&o);
}

/* Ours beside those of other versions. */
static const struct json *owners(struct arena *a, const struct json *crd,
                                 const struct json *negotiated)
{
    struct json_array all = json_array_new(a);
    str name = json_get_str(negotiated, "metadata.name");

    json_for_each (o, json_path(crd, "metadata.ownerReferences"))
        if (!str_eq(json_get_str(o, "name"), name))
            json_push(&all, *o);
    json_push(&all, owner_of(a, negotiated));
    return json_array_done(&all);
}

static const struct json *versions(struct arena *a, const struct json *crd, const struct json *spec)
{
    struct json_array all = json_array_new(a);
    str name = json_get_str(spec, "groupVersion.version");

    json_for_each (v, json_path(crd, "spec.versions"))
        if (!str_eq(json_get_str(v, "name"), name))
            json_push(&all, *v);
    json_push(&all, version_of(a, spec));
    return with_storage(a, json_array_done(&all));
}

/* Groups of Kubernetes itself are protected, and say who approved them. */
static bool is_protected(str group)
{
    return str_ends(group, STR(".k8s.io")) || str_ends(group, STR(".kubernetes.io"));
}

static const struct json *crd_of(struct arena *a, str name, const struct json *negotiated,
                                 const struct json *crd)
{
    static const char *const names[] = { "plural",   "singular",   "shortNames", "kind",
                                         "listKind", "categories", NULL };
    const struct json *spec = json_get(negotiated, STR("spec")), *out = crd;
    struct json_object o = json_object_new(a), called = json_object_new(a);
    struct json_object notes = json_object_new(a);
    str group = json_get_str(spec, "groupVersion.group");

    if (!out) {
        json_add(&o, STR("apiVersion"), json_of_str(STR("apiextensions.k8s.io/v1")));
        json_add(&o, STR("kind"), json_of_str(STR("CustomResourceDefinition")));
        out = json_set(a, json_object_done(&o), "metadata.name", json_box(a, json_of_str(name)));
        if (is_protected(group)) {
            json_add(&notes, STR(APPROVED),
                     json_of_str(STR("https://github.com/kubernetes/kubernetes")));
            out = json_set(a, out, "metadata.annotations", json_object_done(&notes));
        }
        out = json_set(a, out, "spec.group", json_box(a, json_of_str(group)));
        out = json_set(a, out, "spec.scope", json_get(spec, STR("scope")));
    }
    copy(&called, spec, names);
    out = json_set(a, out, "metadata.ownerReferences", owners(a, crd, negotiated));
    out = json_set(a, out, "spec.names", json_object_done(&called));
    return json_set(a, out, "spec.versions", versions(a, crd, spec));
}

int api_publish(struct client *c, struct arena *a, str instance, const struct json *negotiated,
                const struct json **crd, struct status *st)
{
    struct api_type t = api_type_of(json_get(negotiated, STR("spec")));
    struct client_ref ref = api_crd_ref(instance, api_type_crd_name(a, &t));
    const struct json *now = crd_of(a, ref.name, negotiated, *crd);

    if (*crd && json_equal(now, *crd))
        return 0;
    if (*crd)
        return client_update(c, a, &ref, now, crd, st);
    ref.name = STR_NONE;
    return client_create(c, a, &ref, now, crd, st);
}

int api_publish_withdraw(struct client *c, struct arena *a, str instance, const struct json *crd,
                         str version, struct status *st)
{
    struct client_ref ref = api_crd_ref(instance, json_get_str(crd, "metadata.name"));
    struct json_array left = json_array_new(a);

    json_for_each (v, json_path(crd, "spec.versions"))
        if (!str_eq(json_get_str(v, "name"), version))
            json_push(&left, *v);
    if (left.n) {
        crd = json_set(a, crd, "spec.versions", with_storage(a, json_array_done(&left)));
        return client_update(c, a, &ref, crd, NULL, st);
    }
    if (client_delete(c, a, &ref, NULL, st) < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}
