/* SPDX-License-Identifier: Apache-2.0 */

/*
 * class_search_beyond_rights: persons × clusters × namespaces × types × doors.  Each row carries a
 * mark of its own; whatever a door answers (lists, pages, counts, tables, collections, owners,
 * events, discovery, warnings, errors), only marks of rows appear that the person may list, and
 * lists have all of those.
 */

#include "search/rights.h"

#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/rand.h"
#include "search/answer.h"
#include "tap.h"

enum { ROWS_MAX = 128, PERSONS = 60 };

static const char *const clusters[] = { "alpha", "gamma", "k-x" };
static const char *const namespaces[] = { "na", "nb" };
enum { CLUSTERS = 3, NAMESPACES = 2, VIRTUAL = 2 };

/* One of each in every namespace; owner: the row of the table that owns it. */
static const struct {
    const char *group, *version, *resource, *kind;
    int owner;
    bool namespaced, custom;
} types[] = {
    { "", "v1", "pods", "Pod", 1, true, false },
    { "apps", "v1", "replicasets", "ReplicaSet", 2, true, false },
    { "apps", "v1", "deployments", "Deployment", -1, true, false },
    { "", "v1", "secrets", "Secret", -1, true, false },
    { "", "v1", "events", "Event", 0, true, false },
    { "g.io", "v1", "widgets", "Widget", -1, true, true },
    { "", "v1", "nodes", "Node", -1, false, false },
};
enum {
    TYPES = sizeof(types) / sizeof(*types),
    PODS = 0,
    SETS = 1,
    DEPLOYMENTS = 2,
    EVENTS = 4,
    WIDGETS = 5
};

struct row {
    size_t cluster, type;
    const char *namespace; /* "" */
};

struct world {
    struct arena *arena;
    struct search_index *index;
    struct status st;
    char dir[32];
    int64_t ids[TYPES][2]; /* hidden or not */
    struct row rows[ROWS_MAX];
    size_t nrows;
};

struct person {
    uint64_t seed;
    struct search_rights rights;
};

/* ---- the data ---- */

static const char *object_text(struct world *w, const struct row *r, size_t at)
{
    struct arena *a = w->arena;
    const char *c = clusters[r->cluster], *ns = r->namespace, *owner = "";
    int by = types[r->type].owner;

    if (by >= 0 && r->type == EVENTS)
        owner = arena_printf(a, ",\"involvedObject\":{\"uid\":\"u-%s-%s-%d\"}", c, ns, by);
    return arena_printf(
        a,
        "{\"metadata\":{\"name\":\"x\",%s%s%s\"uid\":\"u-%s-%s-%zu\",\"resourceVersion\":\"1\","
        "\"labels\":{\"app\":\"x\"},\"annotations\":{\"mark\":\"<%zu>\"}%s}%s}",
        *ns ? "\"namespace\":\"" : "", ns, *ns ? "\"," : "", c, ns, r->type, at,
        by >= 0 && r->type != EVENTS
            ? arena_printf(a, ",\"ownerReferences\":[{\"controller\":true,\"uid\":\"u-%s-%s-%d\"}]",
                           c, ns, by)
            : "",
        owner);
}

static void add_row(struct world *w, struct search_index_batch *b, size_t cluster, size_t type,
                    const char *ns)
{
    struct row *r = &w->rows[w->nrows];
    struct entry_kind k = { str_of(types[type].group), str_of(types[type].resource) };
    bool hidden = cluster == VIRTUAL;
    const struct json *v;

    *r = (struct row){ cluster, type, ns };
    if (json_parse(w->arena, str_of(object_text(w, r, w->nrows)), NULL, &v, &w->st) < 0)
        exit(1);
    w->nrows++;
    search_index_put(b, w->ids[type][hidden], str_of(clusters[cluster]), &k, v);
}

static void release(void *arg)
{
    (void)sem_post(arg);
}

static void submit(struct search_index_batch *b)
{
    sem_t done;

    (void)sem_init(&done, 0, 0);
    search_index_submit(b, release, &done);
    while (sem_wait(&done) < 0)
        ;
    (void)sem_destroy(&done);
}

static void make_types(struct world *w)
{
    for (size_t i = 0; i < TYPES; i++)
        for (int hidden = 0; hidden < 2; hidden++) {
            struct search_index_type t = { .group = str_of(types[i].group),
                                           .version = str_of(types[i].version),
                                           .resource = str_of(types[i].resource),
                                           .kind = str_of(types[i].kind),
                                           .singular = str_of(types[i].kind),
                                           .namespaced = types[i].namespaced,
                                           .custom = types[i].custom,
                                           .everywhere = types[i].custom && hidden,
                                           .hidden = hidden };

            if (i == EVENTS && !hidden) { /* of members: shown with what they are about */
                t.version = STR("about");
                t.hidden = true;
            }

            w->ids[i][hidden] = search_index_type_put(w->index, &t);
        }
}

static void world_open(struct world *w)
{
    struct search_index_batch *b;

    *w = (struct world){ .arena = arena_new(), .dir = "/tmp/search_rights.XXXXXX" };
    status_init(&w->st, w->arena);
    w->index = mkdtemp(w->dir) ? search_index_open(w->dir, &w->st) : NULL;
    if (!w->index)
        exit(1);
    make_types(w);
    b = search_index_batch_new(w->index);
    for (size_t c = 0; c < CLUSTERS; c++) {
        struct search_index_cluster state = { .name = str_of(clusters[c]),
                                              .hidden = c == VIRTUAL,
                                              .healthy = c == 0,
                                              .reason = STR("gone") };

        search_index_cluster_put(w->index, &state);
        for (size_t t = 0; t < TYPES; t++) {
            bool hidden = c == VIRTUAL;

            search_index_at(b, w->ids[t][hidden], c == VIRTUAL ? STR_NONE : state.name, STR("1"));
            for (size_t n = 0; n < NAMESPACES; n++)
                if (types[t].namespaced || n == 0)
                    add_row(w, b, c, t, types[t].namespaced ? namespaces[n] : "");
        }
    }
    submit(b);
}

static void world_close(struct world *w)
{
    static const char *const names[] = { "search.db", "search.db-wal", "search.db-shm" };

    search_index_close(w->index);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        (void)unlink(arena_printf(w->arena, "%s/%s", w->dir, names[i]));
    (void)rmdir(w->dir);
    arena_free(w->arena);
}

/* ---- the model ---- */

static bool says(const struct listable_rule *l, size_t type)
{
    bool hidden = str_is(str_of(types[type].resource), "secrets");

    return (str_is(l->group, "*") || str_is(l->group, types[type].group)) &&
           (str_is(l->resource, "*") || str_is(l->resource, types[type].resource)) &&
           !(hidden && l->but_secrets);
}

/* namespace NULL: in any. */
static bool may_list(const struct person *p, size_t cluster, size_t type, const char *namespace)
{
    for (size_t i = 0; i < p->rights.ngrants; i++) {
        const struct search_grant *g = &p->rights.grants[i];

        for (size_t k = 0; k < g->listable.n; k++) {
            const struct listable_rule *l = &g->listable.rules[k];

            if (str_is(g->cluster, clusters[cluster]) && says(l, type) &&
                (l->namespace_.n == 0 || !namespace || str_is(l->namespace_, namespace)))
                return true;
        }
    }
    return p->rights.all;
}

static bool may(const struct person *p, const struct row *r)
{
    return may_list(p, r->cluster, r->type, r->namespace);
}

static size_t row_at(const struct world *w, size_t cluster, const char *ns, size_t type)
{
    for (size_t i = 0; i < w->nrows; i++)
        if (w->rows[i].cluster == cluster && w->rows[i].type == type &&
            strcmp(w->rows[i].namespace, ns) == 0)
            return i;
    return ROWS_MAX;
}

static bool knows(const struct person *p, const char *cluster)
{
    for (size_t i = 0; i < p->rights.ngrants; i++)
        if (str_is(p->rights.grants[i].cluster, cluster) && p->rights.grants[i].listable.n)
            return true;
    return p->rights.all;
}

/* ---- asking ---- */

struct reply {
    int rc;
    str text, warning;
    bool seen[ROWS_MAX];
    size_t n;
};

static void complain(const struct person *p, const char *path, const char *query, const char *what)
{
    tap_failed = 1;
    printf("# RIGHTS_SEED=%llu %s?%s: %s\n", (unsigned long long)p->seed, path, query, what);
}

static struct reply ask(struct world *w, const struct person *p, const char *path,
                        const char *query, const char *accept)
{
    static const struct search_tables none;
    struct answer a = { .arena = w->arena,
                        .search_index = w->index,
                        .tables = &none,
                        .rights = &p->rights,
                        .method = STR("GET"),
                        .path = str_of(path),
                        .query = str_of(query),
                        .accept = str_of(accept) };
    struct reply r = { .rc = -1 };

    status_reset(&w->st);
    a.reader = search_index_reader_take(w->index, &w->st);
    buf_init(&a.out, ANSWER_MAX);
    r.rc = answer_make(&a, &w->st);
    r.text = r.rc == 0 ? str_dup(w->arena, buf_str(&a.out)) : w->st.message;
    r.warning = a.warning;
    buf_release(&a.out);
    search_index_reader_give(w->index, a.reader);
    for (size_t i = 0; i < w->nrows; i++)
        if (str_contains(r.text, str_of(arena_printf(w->arena, "<%zu>", i)))) {
            r.seen[i] = true;
            r.n++;
            if (!may(p, &w->rows[i]))
                complain(p, path, query, "a row that is not theirs");
        }
    for (size_t c = 0; c < CLUSTERS; c++)
        if (!knows(p, clusters[c]) && (str_contains(r.text, str_of(clusters[c])) ||
                                       str_contains(r.warning, str_of(clusters[c]))))
            complain(p, path, query, "the name of a cluster that they do not know");
    return r;
}

static const char *list_path(struct world *w, size_t type)
{
    return arena_printf(w->arena, "%s/%s/%s", *types[type].group ? "apis" : "api",
                        *types[type].group ? arena_printf(w->arena, "%s/v1", types[type].group)
                                           : "v1",
                        types[type].resource);
}

static bool has_remaining(str text, long long n, struct arena *a)
{
    return str_contains(text, str_of(arena_printf(a, "\"remainingItemCount\":%lld", n)));
}

/* ---- doors ---- */

/* Over all clusters: pages of two, and the counts beside them. */
static void lists(struct world *w, const struct person *p, size_t type)
{
    const char *path = arena_printf(w->arena, "/v1beta1/resources/%s", list_path(w, type));
    size_t want = 0, got = 0;

    for (size_t i = 0; i < w->nrows; i++)
        want += w->rows[i].type == type && may(p, &w->rows[i]);
    if (type == EVENTS) /* of members they are not listed, only shown with what they are about */
        for (size_t i = 0; i < w->nrows; i++)
            want -= w->rows[i].type == type && w->rows[i].cluster != VIRTUAL && may(p, &w->rows[i]);
    for (size_t at = 0; at <= want; at += 2) {
        const char *query = arena_printf(
            w->arena, "showVirtualCluster&withContinue&withRemainingCount&limit=2&continue=%zu",
            at);
        struct reply r = ask(w, p, path, query, "");

        if (types[type].custom && r.rc < 0 && want == 0)
            return; /* as if there were no such type */
        if (r.rc < 0 || r.n > 2 ||
            !has_remaining(r.text, (long long)want - (long long)at - (long long)r.n, w->arena))
            complain(p, path, query, "a page or its count");
        got += r.n;
    }
    if (got != want)
        complain(p, path, "", "rows are missing");
    (void)ask(w, p, path, "showVirtualCluster&orderby=created%20desc",
              "application/json;as=Table;g=meta.k8s.io;v=v1");
    (void)ask(w, p, path,
              "showVirtualCluster&labelSelector=app%3Dx&fieldSelector=metadata.name!%3Dy",
              "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    (void)ask(w, p, path, "clusters=alpha,gamma,k-x&namespaces=na,nb&onlyMetadata", "");
}

/* In one cluster, and each object by itself. */
static void paths_of_clusters(struct world *w, const struct person *p, size_t type)
{
    for (size_t c = 0; c < CLUSTERS; c++) {
        const char *path = arena_printf(w->arena, "/v1beta1/resources/clusters/%s/%s", clusters[c],
                                        list_path(w, type));
        struct reply r = ask(w, p, path, "withRemainingCount", "");

        if (r.rc == 0 && !has_remaining(r.text, 0, w->arena))
            complain(p, path, "", "its count");
        for (size_t i = 0; i < w->nrows; i++) {
            const struct row *row = &w->rows[i];

            if (row->cluster != c || row->type != type || (type == EVENTS && c != VIRTUAL))
                continue;
            if (r.seen[i] != may(p, row))
                complain(p, path, "", "rows are missing");
            path = arena_printf(
                w->arena, "/v1beta1/resources/clusters/%s/%s/v1/%s%s%s%s/x", clusters[c],
                *types[type].group ? arena_printf(w->arena, "apis/%s", types[type].group) : "api",
                *row->namespace ? "namespaces/" : "", row->namespace, *row->namespace ? "/" : "",
                types[type].resource);
            if ((ask(w, p, path, "", "").rc == 0) != may(p, row))
                complain(p, path, "", "an object by its name");
        }
    }
}

/* An owner that they may not see leads to nothing; one in between neither. */
static void owners(struct world *w, const struct person *p)
{
    for (size_t c = 0; c < CLUSTERS; c++) {
        const char *by_name = arena_printf(
            w->arena,
            "clusters=%s&ownerName=x&ownerGR=deployments.apps&ownerSeniority=", clusters[c]);
        struct reply sets = ask(w, p, "/v1beta1/resources/apis/apps/v1/replicasets",
                                arena_printf(w->arena, "%s0", by_name), "");
        struct reply pods =
            ask(w, p, "/v1beta1/resources/api/v1/pods", arena_printf(w->arena, "%s1", by_name), "");

        for (size_t n = 0; n < NAMESPACES; n++) {
            size_t pod = row_at(w, c, namespaces[n], PODS), set = row_at(w, c, namespaces[n], SETS),
                   deployment = row_at(w, c, namespaces[n], DEPLOYMENTS);
            const char *uid = arena_printf(w->arena,
                                           "clusters=%s&ownerUID=u-%s-%s-%d&"
                                           "ownerSeniority=1",
                                           clusters[c], clusters[c], namespaces[n], DEPLOYMENTS);
            bool chain = may(p, &w->rows[pod]) && may(p, &w->rows[set]);

            if (sets.seen[set] != (may(p, &w->rows[set]) && may(p, &w->rows[deployment])))
                complain(p, "replicasets", by_name, "by their owner");
            if (pods.seen[pod] != (chain && may(p, &w->rows[deployment])))
                complain(p, "pods", by_name, "by the owner of their owner");
            if (ask(w, p, "/v1beta1/resources/api/v1/pods", uid, "").seen[pod] != chain)
                complain(p, "pods", uid, "by the uid of the owner of their owner");
        }
    }
}

static void events(struct world *w, const struct person *p)
{
    const char *path = "/v1beta1/resources/api/v1/pods";
    struct reply r = ask(w, p, path, "injectEvents&showVirtualCluster", "");

    for (size_t i = 0; i < w->nrows; i++) {
        const struct row *row = &w->rows[i];

        if (row->type == EVENTS &&
            r.seen[i] !=
                (may(p, row) && may(p, &w->rows[row_at(w, row->cluster, row->namespace, PODS)])))
            complain(p, path, "injectEvents", "events");
    }
}

static void collections(struct world *w, const struct person *p)
{
    const char *path = "/v1beta1/collectionresources/any";
    const char *query = "groups=*&showVirtualCluster&withRemainingCount";
    struct reply r = ask(w, p, path, query, "");
    size_t want = 0;

    for (size_t i = 0; i < w->nrows; i++) {
        bool listed = w->rows[i].type != EVENTS || w->rows[i].cluster == VIRTUAL;

        want += listed && may(p, &w->rows[i]);
        if (r.seen[i] != (listed && may(p, &w->rows[i])))
            complain(p, path, query, "rows are missing");
    }
    if (r.n != want || !has_remaining(r.text, 0, w->arena))
        complain(p, path, query, "its count");
    (void)ask(w, p, "/v1beta1/collectionresources/kuberesources", "showVirtualCluster",
              "application/json;as=Table;g=meta.k8s.io;v=v1");
    (void)ask(w, p, "/v1beta1/collectionresources/workloads", "withRemainingCount&limit=1", "");
}

/* Kinds of CRDs that they may not see, clusters that are not theirs, warnings. */
static void documents(struct world *w, const struct person *p)
{
    struct reply none = ask(w, p, "/v1beta1/resources/clusters/none/api/v1/pods", "", ""), r;
    struct reply missing = ask(w, p, "/v1beta1/resources/clusters/none/apis", "", "");
    bool widgets = may_list(p, 0, WIDGETS, NULL) || may_list(p, 1, WIDGETS, NULL);
    bool pods = may_list(p, 1, PODS, NULL);

    r = ask(w, p, "/v1beta1/resources/apis", "", "");
    if (str_contains(r.text, STR("g.io")) != widgets)
        complain(p, "/v1beta1/resources/apis", "", "a group");
    r = ask(w, p, "/v1beta1/resources/api/v1/pods", "", "");
    if (str_contains(r.warning, STR("gamma is not ready")) != pods)
        complain(p, "/v1beta1/resources/api/v1/pods", "", "a warning");
    for (size_t c = 0; c < CLUSTERS; c++) {
        const char *pods_path =
            arena_printf(w->arena, "/v1beta1/resources/clusters/%s/api/v1/pods", clusters[c]);
        const char *apis =
            arena_printf(w->arena, "/v1beta1/resources/clusters/%s/apis", clusters[c]);
        bool known = knows(p, clusters[c]);

        r = ask(w, p, apis, "", "");
        if (known ? str_contains(r.text, STR("g.io")) != may_list(p, c, WIDGETS, NULL)
                  : r.rc == 0 || !str_eq(r.text, missing.text))
            complain(p, apis, "", "its kinds");
        r = ask(w, p, pods_path, "", "");
        if (!known && (r.rc == 0 || !str_eq(r.text, none.text)))
            complain(p, pods_path, "", "it is there");
    }
}

static void walk(struct world *w, const struct person *p)
{
    for (size_t t = 0; t < TYPES; t++) {
        lists(w, p, t);
        paths_of_clusters(w, p, t);
    }
    owners(w, p);
    events(w, p);
    collections(w, p);
    documents(w, p);
}

/* ---- persons ---- */

static const struct listable_rule pods_in_na = { .namespace_ = STR_INIT("na"),
                                                 .group = STR_INIT(""),
                                                 .resource = STR_INIT("pods") };

TEST(persons_of_every_day)
{
    const struct listable none = { NULL, 0 }, pods = { &pods_in_na, 1 };
    const struct search_grant viewer[] = { { STR("alpha"), listable_but_secrets },
                                           { STR("k-x"), listable_but_secrets } },
                              mixed[] = { { STR("alpha"), listable_but_secrets },
                                          { STR("alpha"), listable_everything },
                                          { STR("gamma"), listable_but_secrets } },
                              few[] = { { STR("gamma"), pods }, { STR("k-x"), none } };
    const struct person persons[] = {
        { 0, { .all = true } },
        { 0, { .ngrants = 0 } },
        { 0, { .grants = viewer, .ngrants = 2 } },
        { 0, { .grants = mixed, .ngrants = 3 } },
        { 0, { .grants = few, .ngrants = 2 } },
    };
    struct world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof(persons) / sizeof(*persons); i++)
        walk(&w, &persons[i]);
    world_close(&w);
}

static struct listable random_rules(struct arena *a, struct rand_seq *rand)
{
    static const char *const where[] = { "", "", "na", "nb", "none" };
    size_t n = rand_seq_below(rand, 4);
    struct listable_rule *rules = arena_array(a, struct listable_rule, n);

    for (size_t i = 0; i < n; i++) {
        size_t type = rand_seq_below(rand, TYPES);
        bool any = rand_seq_below(rand, 4) == 0;

        rules[i] = (struct listable_rule){
            .namespace_ = str_of(where[rand_seq_below(rand, 5)]),
            .group = str_of(any && rand_seq_below(rand, 2) ? "*" : types[type].group),
            .resource = str_of(any ? "*" : types[type].resource),
            .but_secrets = rand_seq_below(rand, 2),
        };
    }
    return (struct listable){ rules, n };
}

TEST(class_search_beyond_rights)
{
    struct world w;

    world_open(&w);
    for (uint64_t seed = 1; seed <= PERSONS; seed++) {
        struct rand_seq rand = { seed };
        size_t n = rand_seq_below(&rand, 5);
        struct search_grant *grants = arena_array(w.arena, struct search_grant, n);
        struct person p = { seed, { .grants = grants, .ngrants = n } };

        for (size_t i = 0; i < n; i++)
            grants[i] = (struct search_grant){
                .cluster = str_of(clusters[rand_seq_below(&rand, CLUSTERS)]),
                .listable = random_rules(w.arena, &rand),
            };
        walk(&w, &p);
    }
    world_close(&w);
}

/* Whatever CRDs others have: an instance has the kinds of its own. */
TEST(instances_do_not_learn_of_each_others_kinds)
{
    static const struct entry_kind crd = { STR_INIT("apiextensions.k8s.io"),
                                           STR_INIT("customresourcedefinitions") };
    const struct search_grant grant = { STR("k-y"), listable_everything },
                              other = { STR("k-z"), listable_everything };
    const struct person has = { 0, { .grants = &grant, .ngrants = 1 } },
                        hasnot = { 0, { .grants = &other, .ngrants = 1 } };
    const char *path = "/v1beta1/resources/apis";
    struct search_index_type t = { .group = crd.group,
                                   .version = STR("v1"),
                                   .resource = crd.resource,
                                   .kind = STR("CustomResourceDefinition"),
                                   .hidden = true };
    struct search_index_cluster y = { .name = STR("k-y"), .hidden = true },
                                z = { .name = STR("k-z"), .hidden = true };
    struct search_index_batch *b;
    const struct json *v;
    struct world w;
    int64_t crds, own;

    world_open(&w);
    search_index_cluster_put(w.index, &y);
    search_index_cluster_put(w.index, &z);
    crds = search_index_type_put(w.index, &t);
    t = (struct search_index_type){ .group = STR("own.io"),
                                    .version = STR("v1"),
                                    .resource = STR("things"),
                                    .kind = STR("Thing"),
                                    .hidden = true,
                                    .custom = true };
    own = search_index_type_put(w.index, &t);
    REQUIRE(json_parse(w.arena, STR("{\"metadata\":{\"name\":\"things.own.io\"}}"), NULL, &v,
                       &w.st) == 0);
    b = search_index_batch_new(w.index);
    search_index_put(b, crds, y.name, &crd, v);
    search_index_at(b, crds, STR_NONE, STR("1"));
    search_index_at(b, own, STR_NONE, STR("1"));
    submit(b);
    CHECK(str_contains(ask(&w, &has, "/v1beta1/resources/clusters/k-y/apis", "", "").text,
                       STR("own.io")));
    CHECK(!str_contains(ask(&w, &hasnot, "/v1beta1/resources/clusters/k-z/apis", "", "").text,
                        STR("own.io")));
    CHECK(str_contains(ask(&w, &hasnot, "/v1beta1/resources/clusters/k-z/apis", "", "").text,
                       STR("g.io"))); /* of every instance */
    CHECK(!str_contains(ask(&w, &has, path, "", "").text, STR("own.io")));
    CHECK(ask(&w, &has, "/v1beta1/resources/clusters/k-y/apis/own.io/v1/things", "", "").rc == 0);
    CHECK(ask(&w, &hasnot, "/v1beta1/resources/clusters/k-z/apis/own.io/v1/things", "", "").rc < 0);
    CHECK(
        ask(&w, &hasnot, "/v1beta1/resources/apis/own.io/v1/things", "showVirtualCluster", "").rc <
        0);
    world_close(&w);
}
