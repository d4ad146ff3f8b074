/* SPDX-License-Identifier: Apache-2.0 */

/* Service Core: namespaces. */

#include "base/banned.h"
#include "mgmt/resource.h"

enum { NAMESPACES_MAX = 10000 };

/*
 * What every instance has from its beginning is kept once for all of them, and is not in the index
 * until somebody changes it in an instance.
 */
static const char *const from_the_beginning[] = { "default", "kube-node-lease", "kube-public",
                                                  "kube-system" };
enum { BEGINNING = sizeof(from_the_beginning) / sizeof(*from_the_beginning) };

static const struct json *initial(struct resource_call *c, const char *name)
{
    struct json_object metadata = json_object_new(c->arena), labels = json_object_new(c->arena);
    struct json_object o = json_object_new(c->arena);
    struct json_array finalizers = json_array_new(c->arena);

    json_add(&labels, STR("kubernetes.io/metadata.name"), json_of_str(str_of(name)));
    json_add(&metadata, STR("name"), json_of_str(str_of(name)));
    mgmt_copy(&metadata, "creationTimestamp", c->owner, "metadata.creationTimestamp");
    json_add(&metadata, STR("labels"), json_object_value(&labels));
    json_push(&finalizers, json_of_str(STR("kubernetes")));
    json_add(&o, STR("kind"), json_of_str(STR("Namespace")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("metadata"), json_object_value(&metadata));
    return json_set(c->arena, json_object_done(&o), "spec.finalizers",
                    json_array_done(&finalizers));
}

static int read_one(struct resource_call *c, const struct json **out, struct status *st)
{
    if (resource_read(c, c->what, STR_NONE, c->name, out, st) == 0)
        return 0;
    for (size_t i = 0; status_is(st, REASON_NOT_FOUND) && i < BEGINNING; i++)
        if (str_is(c->name, from_the_beginning[i])) {
            status_reset(st);
            *out = initial(c, from_the_beginning[i]);
            return 0;
        }
    return -1;
}

static bool has(const struct json **objects, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(json_get_str(objects[i], "metadata.name"), name))
            return true;
    return false;
}

static int read_all(struct resource_call *c, const struct json ***out, size_t *n, struct status *st)
{
    struct search_find f = resource_find(c, c->what);
    const struct json **found;
    size_t nfound;

    f.limit = NAMESPACES_MAX;
    if (resource_search(c, &f, &found, &nfound, NULL, st) < 0)
        return -1;
    *out = arena_array(c->arena, const struct json *, nfound + BEGINNING);
    *n = nfound;
    for (size_t i = 0; i < nfound; i++)
        (*out)[i] = found[i];
    for (size_t i = 0; !c->at_member && i < BEGINNING; i++)
        if (!has(found, nfound, from_the_beginning[i]))
            (*out)[(*n)++] = initial(c, from_the_beginning[i]);
    return 0;
}

int namespaces_get(struct resource_call *c, const struct json **response, struct status *st)
{
    const struct json *obj;

    if (read_one(c, &obj, st) < 0)
        return -1;
    return resource_answer(c, obj, response, st);
}

int namespaces_list(struct resource_call *c, const struct json **response, struct status *st)
{
    const struct json **objects;
    size_t n;

    if (read_all(c, &objects, &n, st) < 0)
        return -1;
    return resource_list_of(c, objects, n, response, st);
}

/* ---- nothing but their names ---- */

int namespaces_summary(struct resource_call *c, const struct json **response, struct status *st)
{
    struct json_object o = json_object_new(c->arena);
    struct json_array list = json_array_new(c->arena);
    const struct json **objects;
    size_t n;

    if (read_all(c, &objects, &n, st) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct json_object one = json_object_new(c->arena);

        mgmt_copy(&one, "name", objects[i], "metadata.name");
        mgmt_copy_str(&one, "instance", c->instance);
        if (c->at_member)
            mgmt_copy(&one, "cluster", c->request, "cluster");
        json_push(&list, json_object_value(&one));
    }
    json_add(&o, STR("data"), json_array_value(&list));
    if (!c->at_member) /* roles are given for whole instances */
        json_add(&o, STR("accessScope"), json_of_str(STR("Instance")));
    *response = json_object_done(&o);
    return 0;
}

int namespaces_of_member(struct resource_call *c, const struct json **response, struct status *st)
{
    if (resource_at_member(c, st) < 0)
        return -1;
    return namespaces_summary(c, response, st);
}

/* ---- deleting ---- */

static const struct resource workloads[] = {
    { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("deployments") } },
    { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("statefulsets") } },
    { .ref = { .group = STR_INIT("apps"), .resource = STR_INIT("daemonsets") } },
    { .ref = { .group = STR_INIT("batch"), .resource = STR_INIT("jobs") } },
    { .ref = { .group = STR_INIT("batch"), .resource = STR_INIT("cronjobs") } },
};

/* With it, everything would go that is in it, in every member. */
static int refuse_full(struct resource_call *c, struct status *st)
{
    const struct json *obj;

    if (read_one(c, &obj, st) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++) {
        struct search_find f = resource_find(c, &workloads[i]);
        uint64_t n;

        f.namespaces = &c->name;
        f.nnamespaces = 1;
        if (search_count(c->p->search, c->arena, &f, &n, st) < 0)
            return -1;
        if (n)
            return status_conflict(st, c->what->ref.group, c->what->ref.resource, c->name,
                                   "the namespace has %llu %.*s; delete them first",
                                   (unsigned long long)n, STR_ARG(workloads[i].ref.resource));
    }
    return 0;
}

const struct resource resource_namespaces = {
    .ref = { .version = STR_INIT("v1"), .resource = STR_INIT("namespaces") },
    .kind = "Namespace",
    .cluster_scoped = true,
    .before_delete = refuse_full,
};
