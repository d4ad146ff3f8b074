/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Workload 10 of DESIGN 8: the index alone, without HTTP.  Pods of 20 clusters with 50 namespaces
 * each, from their trees into the file, then questions from the query's text to the answer's bytes.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "bench/work.h"
#include "search/answer.h"

enum {
    OBJECTS = 50000,
    CLUSTERS = 20,
    NAMESPACES = 50,
    OF_A_SET = 50, /* pods of one replica set */
    BATCH = 100,
    REPEATS = 200,
    MS = 1000000,
};

static const struct entry_kind pod = { STR_INIT(""), STR_INIT("pods") };
static const struct entry_kind set = { STR_INIT("apps"), STR_INIT("replicasets") };

struct filling {
    struct search_index *search_index;
    int64_t pods, sets;
    unsigned objects;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    unsigned waiting;
    uint64_t bytes;
};

static void written(void *arg)
{
    struct filling *f = arg;

    (void)pthread_mutex_lock(&f->lock);
    f->waiting--;
    (void)pthread_cond_signal(&f->wake);
    (void)pthread_mutex_unlock(&f->lock);
}

static void wait_below(struct filling *f, unsigned most)
{
    (void)pthread_mutex_lock(&f->lock);
    while (f->waiting > most)
        (void)pthread_cond_wait(&f->wake, &f->lock);
    (void)pthread_mutex_unlock(&f->lock);
}

/* Spread over clusters and namespaces as they come. */
static void place_of(unsigned i, unsigned *cluster, unsigned *namespace)
{
    *cluster = i / OF_A_SET % CLUSTERS;
    *namespace = i / OF_A_SET / CLUSTERS % NAMESPACES;
}

static str pod_text(struct arena *a, unsigned i)
{
    unsigned cluster, namespace;

    place_of(i, &cluster, &namespace);
    return str_printf(
        a,
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"app-%u-%u-%05x\","
        "\"namespace\":\"ns-%u\",\"uid\":\"uid-%u\",\"resourceVersion\":\"%u\","
        "\"creationTimestamp\":\"2026-01-02T15:04:05Z\",\"labels\":{\"app\":\"app-%u\",\"tier\":"
        "\"t%u\",\"set\":\"s%u\",\"zone\":\"z%u\",\"suite\":\"bench\"},\"annotations\":{\"note\":"
        "\"%0160u\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
        "\"name\":\"set-%u\",\"uid\":\"set-%u\",\"controller\":true}]},\"spec\":{\"nodeName\":"
        "\"node-%u\",\"serviceAccountName\":\"default\",\"restartPolicy\":\"Always\","
        "\"containers\":"
        "[{\"name\":\"main\",\"image\":\"registry.example.com/app:%u\",\"resources\":{\"requests\":"
        "{\"cpu\":\"100m\",\"memory\":\"64Mi\"}},\"env\":[{\"name\":\"A\",\"value\":\"%0200u\"}]}]}"
        ","
        "\"status\":{\"phase\":\"%s\",\"podIP\":\"10.0.%u.%u\",\"conditions\":[{\"type\":\"Ready\","
        "\"status\":\"True\",\"lastTransitionTime\":\"2026-01-02T15:04:06Z\"}]}}",
        i / 100, i % 7, i, namespace, i, i + 1, i / 100, i % 2, i / OF_A_SET, i % 3, i,
        i / OF_A_SET, i / OF_A_SET, i / 200, i % 9, i, i % 500 ? "Running" : "Failed",
        i / 250 % 250, i % 250);
}

static str set_text(struct arena *a, unsigned n)
{
    unsigned cluster, namespace;

    place_of(n * OF_A_SET, &cluster, &namespace);
    return str_printf(a,
                      "{\"kind\":\"ReplicaSet\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":"
                      "\"set-%u\",\"namespace\":\"ns-%u\",\"uid\":\"set-%u\",\"resourceVersion\":"
                      "\"%u\"}}",
                      n, namespace, n, n + 1);
}

static int add(struct filling *f, struct search_index_batch *b, int64_t type,
               const struct entry_kind *k, unsigned cluster, struct arena *a, str text,
               struct status *st)
{
    const struct json *v;

    if (json_parse(a, text, NULL, &v, st) < 0)
        return -1;
    f->bytes += text.n;
    search_index_put(b, type, str_printf(a, "cluster-%02u", cluster), k, v);
    return 0;
}

static int fill_batch(struct filling *f, unsigned from, struct status *st)
{
    scoped_arena a = arena_new();
    struct search_index_batch *b = search_index_batch_new(f->search_index);
    unsigned cluster, namespace;
    int rc = 0;

    for (unsigned i = from; rc == 0 && i < from + BATCH && i < f->objects; i++) {
        place_of(i, &cluster, &namespace);
        rc = add(f, b, f->pods, &pod, cluster, a, pod_text(a, i), st);
        if (rc == 0 && i % OF_A_SET == 0)
            rc = add(f, b, f->sets, &set, cluster, a, set_text(a, i / OF_A_SET), st);
    }
    (void)pthread_mutex_lock(&f->lock);
    f->waiting++;
    (void)pthread_mutex_unlock(&f->lock);
    search_index_submit(b, written, f);
    wait_below(f, 32);
    return rc;
}

static void make_clusters(struct filling *f)
{
    struct search_index_type t = { .version = STR("v1"),
                                   .resource = STR("pods"),
                                   .kind = STR("Pod"),
                                   .singular = STR("pod"),
                                   .namespaced = true };
    struct search_index_batch *b = search_index_batch_new(f->search_index);
    scoped_arena a = arena_new();

    f->pods = search_index_type_put(f->search_index, &t);
    t = (struct search_index_type){ .group = STR("apps"),
                                    .version = STR("v1"),
                                    .resource = STR("replicasets"),
                                    .kind = STR("ReplicaSet"),
                                    .singular = STR("replicaset"),
                                    .namespaced = true };
    f->sets = search_index_type_put(f->search_index, &t);
    for (unsigned i = 0; i < CLUSTERS; i++) {
        struct search_index_cluster c = { .name = str_printf(a, "cluster-%02u", i),
                                          .healthy = true };

        search_index_cluster_put(f->search_index, &c);
        search_index_at(b, f->pods, c.name, STR("1"));
        search_index_at(b, f->sets, c.name, STR("1"));
    }
    f->waiting = 1;
    search_index_submit(b, written, f);
    wait_below(f, 0);
}

/* ---- questions ---- */

#define PODS    "/v1beta1/resources/api/v1/pods"
#define ONE     "/v1beta1/resources/clusters/cluster-03/api/v1"
#define FUZZY   "limit=50&labelSelector=internalstorage.clusterpedia.io/fuzzy-name%3D"
#define OWNER   "limit=50&clusters=cluster-03&ownerUID=set-3"
#define GRANDMA "limit=50&clusters=cluster-03&ownerName=set-3"

static const struct {
    const char *name, *path, *query;
    bool deep; /* the offset is three quarters of all */
} questions[] = {
    { "label p50", PODS, "limit=50&labelSelector=app%3Dapp-7", false },
    { "label, half match p50", PODS, "limit=50&labelSelector=tier%3Dt1", false },
    { "label, none p50", PODS, "limit=50&labelSelector=app%3Dnone", false },
    { "field p50", PODS, "limit=50&fieldSelector=spec.nodeName%3Dnode-9", false },
    { "field, none p50", PODS, "limit=50&fieldSelector=status.phase%3DLost", false },
    { "fuzzy p50", PODS, FUZZY "00a9", false },
    { "fuzzy, half match p50", PODS, FUZZY "app", false },
    { "count p50", PODS, "limit=1&withRemainingCount=true", false },
    { "offset p50", PODS, "limit=50", true },
    { "offset by name p50", PODS, "limit=50&orderby=name", true },
    { "owner p50", PODS, OWNER, false },
    { "owner by name p50", PODS, GRANDMA, false },
    { "namespace p50", ONE "/namespaces/ns-1/pods", "limit=50", false },
    { "page p50", PODS, "limit=50", false },
};

static int ask(struct search_index *d, const char *path, str query, size_t *bytes,
               struct status *st)
{
    static const struct search_tables none;
    scoped_arena a = arena_new();
    struct answer w = { .arena = a,
                        .search_index = d,
                        .tables = &none,
                        .rights = &search_rights_all,
                        .method = STR("GET"),
                        .path = str_of(path),
                        .query = query };
    int rc;

    w.reader = search_index_reader_take(d, st);
    if (!w.reader)
        return -1;
    buf_init(&w.out, ANSWER_MAX);
    rc = answer_make(&w, st);
    *bytes = w.out.n;
    buf_release(&w.out);
    search_index_reader_give(d, w.reader);
    return rc;
}

static int question(struct filling *f, size_t which, struct bench_result *r, struct status *st)
{
    scoped_arena a = arena_new();
    str query = str_of(questions[which].query);
    struct hist *h = mem_zalloc(sizeof(*h));
    size_t bytes = 0;
    int rc = 0;

    if (questions[which].deep)
        query = str_printf(a, "%s&continue=%u", questions[which].query, f->objects / 4 * 3);
    for (int i = 0; i < REPEATS && rc == 0; i++) {
        int64_t from = bench_now_ns();

        rc = ask(f->search_index, questions[which].path, query, &bytes, st);
        hist_add(h, (uint64_t)(bench_now_ns() - from));
        r->ops++;
        r->bytes += bytes;
    }
    bench_figure(r, questions[which].name, (double)hist_quantile(h, 0.5) / MS, "ms");
    free(h);
    return rc;
}

static void figures(struct filling *f, const char *dir, double seconds, struct bench_result *r)
{
    scoped_arena a = arena_new();
    struct stat db = { 0 }, wal = { 0 };

    (void)stat(arena_printf(a, "%s/search.db", dir), &db);
    (void)stat(arena_printf(a, "%s/search.db-wal", dir), &wal);
    bench_figure(r, "ingest", f->objects / seconds, "rows/s");
    bench_figure(r, "JSON", (double)f->bytes / f->objects, "bytes each");
    bench_figure(r, "on disk", (double)(db.st_size + wal.st_size) / f->objects, "bytes each");
}

static int measure(struct filling *f, const char *dir, struct bench_result *r, struct status *st)
{
    int64_t from;
    double seconds;

    make_clusters(f);
    from = bench_now_ns();
    for (unsigned i = 0; i < f->objects; i += BATCH)
        if (fill_batch(f, i, st) < 0)
            return -1;
    wait_below(f, 0);
    seconds = (double)(bench_now_ns() - from) / 1e9;
    figures(f, dir, seconds, r);
    for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
        if (question(f, i, r, st) < 0)
            return -1;
    r->seconds = (double)(bench_now_ns() - from) / 1e9;
    return 0;
}

int bench_search(struct bench *b, struct bench_result *r, struct status *st)
{
    static const char *const files[] = { "search.db", "search.db-wal", "search.db-shm" };
    struct filling f = { .objects = bench_or(b->o.objects, OBJECTS) };
    char *dir = arena_printf(b->arena, "%s/kairship-bench.XXXXXX",
                             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    int rc = -1;

    if (!mkdtemp(dir))
        return status_errno(st, errno, "cannot make a folder");
    (void)pthread_mutex_init(&f.lock, NULL);
    (void)pthread_cond_init(&f.wake, NULL);
    (void)snprintf(r->setup, sizeof(r->setup), "%u pods in %d clusters, %d questions each",
                   f.objects, CLUSTERS, REPEATS);
    f.search_index = search_index_open(dir, st);
    if (f.search_index)
        rc = measure(&f, dir, r, st);
    search_index_close(f.search_index);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        (void)unlink(arena_printf(b->arena, "%s/%s", dir, files[i]));
    (void)rmdir(dir);
    (void)pthread_mutex_destroy(&f.lock);
    (void)pthread_cond_destroy(&f.wake);
    return rc;
}
