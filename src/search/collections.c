/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "search/answer.h"

/* Clusterpedia's collections of types under one name. */

/* All groups that Kubernetes itself serves. */
static const str kube_groups[] = {
    STR_INIT(""),
    STR_INIT("admission.k8s.io"),
    STR_INIT("admissionregistration.k8s.io"),
    STR_INIT("apiextensions.k8s.io"),
    STR_INIT("apiregistration.k8s.io"),
    STR_INIT("apps"),
    STR_INIT("authentication.k8s.io"),
    STR_INIT("authorization.k8s.io"),
    STR_INIT("autoscaling"),
    STR_INIT("batch"),
    STR_INIT("certificates.k8s.io"),
    STR_INIT("coordination.k8s.io"),
    STR_INIT("discovery.k8s.io"),
    STR_INIT("events.k8s.io"),
    STR_INIT("extensions"),
    STR_INIT("flowcontrol.apiserver.k8s.io"),
    STR_INIT("imagepolicy.k8s.io"),
    STR_INIT("internal.apiserver.k8s.io"),
    STR_INIT("networking.k8s.io"),
    STR_INIT("node.k8s.io"),
    STR_INIT("policy"),
    STR_INIT("rbac.authorization.k8s.io"),
    STR_INIT("resource.k8s.io"),
    STR_INIT("scheduling.k8s.io"),
    STR_INIT("storage.k8s.io"),
    STR_INIT("storagemigration.k8s.io"),
};
enum { KUBE_GROUPS = sizeof(kube_groups) / sizeof(*kube_groups) };

static const str workloads[] = { STR_INIT("deployments"), STR_INIT("daemonsets"),
                                 STR_INIT("statefulsets") };
enum { WORKLOADS = sizeof(workloads) / sizeof(*workloads) };

/* ---- the list of them ---- */

static void print_members(struct buf *b, size_t collection)
{
    if (collection == 1)
        for (size_t i = 0; i < KUBE_GROUPS; i++)
            buf_printf(b, "%s{\"group\":\"%.*s\",\"version\":\"\",\"resource\":\"\"}", i ? "," : "",
                       STR_ARG(kube_groups[i]));
    if (collection == 2)
        for (size_t i = 0; i < WORKLOADS; i++)
            buf_printf(b, "%s{\"group\":\"apps\",\"version\":\"v1\",\"resource\":\"%.*s\"}",
                       i ? "," : "", STR_ARG(workloads[i]));
}

static void print_summary(struct buf *b, size_t collection)
{
    if (collection == 0)
        buf_byte(b, '*');
    if (collection == 1)
        for (size_t i = 0; i < KUBE_GROUPS; i++)
            buf_printf(b, "%s%.*s.*", i ? "," : "", STR_ARG(kube_groups[i]));
    if (collection == 2)
        for (size_t i = 0; i < WORKLOADS; i++)
            buf_printf(b, "%sapps.%.*s", i ? "," : "", STR_ARG(workloads[i]));
}

static const char *const names[] = { "any", "kuberesources", "workloads" };
enum { COLLECTIONS = sizeof(names) / sizeof(*names) };

static void list_table(struct answer *w)
{
    buf_printf(&w->out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%.*s\",\"metadata\":{},",
               STR_ARG(w->form_version));
    buf_lit(&w->out, "\"columnDefinitions\":[{\"name\":\"Name\",\"type\":\"string\",\"format\":"
                     "\"name\",\"description\":\"Name of the collection.\",\"priority\":0},"
                     "{\"name\":\"Resources\",\"type\":\"string\",\"format\":\"\",\"description\":"
                     "\"Types that are in it.\",\"priority\":0}],\"rows\":[");
    for (size_t i = 0; i < COLLECTIONS; i++) {
        buf_printf(&w->out, "%s{\"cells\":[\"%s\",\"", i ? "," : "", names[i]);
        print_summary(&w->out, i);
        buf_printf(&w->out,
                   "\"],\"object\":{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
                   "\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"%s\"}}}",
                   names[i]);
    }
    buf_lit(&w->out, "]}");
}

static void list(struct answer *w)
{
    if (w->form == ANSWER_TABLE) {
        list_table(w);
        return;
    }
    buf_lit(&w->out, "{\"kind\":\"CollectionResourceList\",\"apiVersion\":"
                     "\"clusterpedia.io/v1beta1\",\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < COLLECTIONS; i++) {
        buf_printf(&w->out, "%s{\"metadata\":{\"name\":\"%s\"},\"resourceTypes\":[", i ? "," : "",
                   names[i]);
        print_members(&w->out, i);
        buf_lit(&w->out, "]}");
    }
    buf_lit(&w->out, "]}");
}

/* ---- which types are in one ---- */

typedef bool member_fn(const struct search_index_type *t, const struct query *q);

static bool is_kube(const struct search_index_type *t, const struct query *q)
{
    (void)q;
    for (size_t i = 0; i < KUBE_GROUPS && !t->custom; i++)
        if (str_eq(t->group, kube_groups[i]))
            return true;
    return false;
}

static bool is_workload(const struct search_index_type *t, const struct query *q)
{
    (void)q;
    for (size_t i = 0; i < WORKLOADS; i++)
        if (str_is(t->group, "apps") && str_eq(t->resource, workloads[i]))
            return true;
    return false;
}

/* Takes "a/b/c" apart: how many parts, at most 3 are kept. */
static size_t slashes(str text, str parts[3])
{
    size_t n = 0;
    str part;

    if (text.n == 0) {
        parts[0] = text;
        return 1;
    }
    while (str_split(&text, '/', &part)) {
        if (n < 3)
            parts[n] = part;
        n++;
    }
    return n;
}

static bool in_groups(const struct search_index_type *t, const struct query *q)
{
    str rest = q->groups, word, parts[3];

    if (!q->has_groups)
        return false;
    if (rest.n == 0)
        return str_empty(t->group);
    while (str_split(&rest, ',', &word)) {
        size_t n = slashes(word, parts);

        if (str_is(word, "*") ||
            (str_eq(t->group, parts[0]) && (n < 2 || str_eq(t->version, parts[1]))))
            return true;
    }
    return false;
}

static bool in_resources(const struct search_index_type *t, const struct query *q)
{
    str rest = q->resources, word, parts[3];

    while (rest.n && str_split(&rest, ',', &word)) {
        size_t n = slashes(word, parts);

        if (str_eq(t->group, parts[0]) && str_eq(t->resource, parts[n - 1]) &&
            (n < 3 || str_eq(t->version, parts[1])))
            return true;
    }
    return false;
}

static bool is_any(const struct search_index_type *t, const struct query *q)
{
    return in_groups(t, q) || in_resources(t, q);
}

static int check_any(const struct query *q, struct status *st)
{
    str rest = q->groups, word, parts[3];

    if (!q->has_groups && str_empty(q->resources))
        return status_set(st, REASON_BAD_REQUEST,
                          "url query - `groups` or `resources` is required");
    while (rest.n && str_split(&rest, ',', &word))
        if (slashes(word, parts) > 2)
            return status_set(st, REASON_BAD_REQUEST,
                              "groups query: unexpected GroupVersion string: %.*s, expect <group> "
                              "or <group>/<version>",
                              STR_ARG(word));
    rest = q->resources;
    while (rest.n && str_split(&rest, ',', &word)) {
        size_t n = slashes(word, parts);

        if (n != 2 && n != 3)
            return status_set(st, REASON_BAD_REQUEST,
                              "resources query: unexpected GroupVersionResource string: %.*s, "
                              "expect <group>/<resource> or <group>/<version>/<resource>",
                              STR_ARG(word));
    }
    return 0;
}

static member_fn *const members[COLLECTIONS] = { is_any, is_kube, is_workload };

int collections_answer(struct answer *w, const str *parts, size_t n, struct status *st)
{
    struct shape_request r = { .cluster = STR_NONE };
    struct search_index_type *all, *types;
    struct query q;
    size_t which = 0, nall;

    if (n == 0) {
        list(w);
        return 0;
    }
    while (which < COLLECTIONS && !str_is(parts[0], names[which]))
        which++;
    if (which == COLLECTIONS || n > 1)
        return status_not_found(st, STR("clusterpedia.io"), STR("collectionresources"), parts[0]);
    if (query_parse(w->arena, w->query, &q, st) < 0 || (which == 0 && check_any(&q, st) < 0))
        return -1;
    all = answer_types(w, STR_NONE, q.show_virtual, &nall);
    types = arena_array(w->arena, struct search_index_type, nall);
    for (size_t i = 0; i < nall; i++)
        if (members[which](&all[i], &q))
            types[r.ntypes++] = all[i];
    r.types = types;
    r.q = &q;
    answer_warn(w, &q, types, r.ntypes);
    return shape_collection(w, &r, parts[0], st);
}
