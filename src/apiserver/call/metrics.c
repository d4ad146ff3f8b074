/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/metrics.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/buf.h"
#include "base/mem.h"

/* Two loops and some workers seldom meet in one of 8; 8 shards are 40 KiB. */
enum { SHARDS = 8, LINE = 64 };

/* Every code we can answer with; the last row takes the rest. */
static const short codes[] = { 101, 200, 201, 202, 204, 301, 304, 400, 401, 403, 404, 405, 406,
                               409, 410, 413, 415, 422, 429, 500, 501, 502, 503, 504, 0 };
enum { NCODES = sizeof(codes) / sizeof(*codes) };

/* Kubernetes' begin at 5 ms; most of our requests are done long before. */
static const int64_t bounds_us[] = { 50,      100,     250,      500,      1000,    2500,   5000,
                                     25000,   50000,   100000,   200000,   400000,  800000, 1000000,
                                     2000000, 5000000, 10000000, 30000000, 60000000 };
enum { NBOUNDS = sizeof(bounds_us) / sizeof(*bounds_us) };

/* k8s: apiserver/pkg/authentication/request/x509: half an hour to a year */
static const int64_t lives_s[] = { 0,      1800,   3600,   7200,    21600,   43200,    86400,
                                   172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000 };
enum { NLIVES = sizeof(lives_s) / sizeof(*lives_s) };

typedef _Atomic uint64_t counter;
typedef _Atomic int64_t gauge;

struct metrics_shard {
    _Alignas(LINE) counter requests[METRICS_NVERBS][NCODES];
    counter buckets[METRICS_NVERBS][NBOUNDS + 1];
    counter sum_us[METRICS_NVERBS];
    gauge longrunning[METRICS_NVERBS];
    gauge inflight[2];
    counter rejected[2];
    counter watch_events, watch_bytes;
    counter lives[NLIVES + 1], lives_sum_s; /* of client certificates */
    counter audit_levels[METRICS_AUDIT_LEVELS], audit_events;
};

struct metrics {
    struct metrics_shard *shards;
    int64_t started_s;
};

static const str verb_labels[] = {
#define X(name, label, verb) STR_INIT(label),
    METRICS_VERBS(X)
#undef X
};

static const str verb_words[] = {
#define X(name, label, verb) STR_INIT(verb),
    METRICS_VERBS(X)
#undef X
};

static const str kinds[] = { STR_INIT("readOnly"), STR_INIT("mutating") };

enum metrics_verb metrics_verb_of(str verb, bool is_resource)
{
    for (int i = 0; is_resource && i < METRICS_OTHER; i++) {
        if (str_eq(verb, verb_words[i]))
            return (enum metrics_verb)i;
    }
    return METRICS_OTHER;
}

struct metrics *metrics_new(int64_t started_s)
{
    struct metrics *m = mem_zalloc(sizeof(*m));
    void *p;

    if (posix_memalign(&p, LINE, SHARDS * sizeof(struct metrics_shard)) != 0)
        mem_exhausted();
    m->shards = memset(p, 0, SHARDS * sizeof(struct metrics_shard));
    m->started_s = started_s;
    return m;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    free(m->shards);
    free(m);
}

static struct metrics_shard *own(struct metrics *m)
{
    static atomic_uint next;
    static _Thread_local unsigned mine; /* one more than the index */

    if (mine == 0)
        mine = 1 + atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % SHARDS;
    return &m->shards[mine - 1];
}

static void add(counter *c, uint64_t n)
{
    atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static void move(gauge *g, int64_t n)
{
    atomic_fetch_add_explicit(g, n, memory_order_relaxed);
}

static size_t code_index(int code)
{
    size_t i = 0;

    while (i < NCODES - 1 && codes[i] != code)
        i++;
    return i;
}

static size_t bucket_index(int64_t us)
{
    size_t i = 0;

    while (i < NBOUNDS && us > bounds_us[i])
        i++;
    return i;
}

void metrics_request(struct metrics *m, enum metrics_verb verb, int code, int64_t duration_us)
{
    struct metrics_shard *s = own(m);

    add(&s->requests[verb][code_index(code)], 1);
    if (verb == METRICS_WATCH)
        return;
    add(&s->buckets[verb][bucket_index(duration_us)], 1);
    add(&s->sum_us[verb], duration_us > 0 ? (uint64_t)duration_us : 0);
}

void metrics_longrunning(struct metrics *m, enum metrics_verb verb, int delta)
{
    move(&own(m)->longrunning[verb], delta);
}

void metrics_inflight(struct metrics *m, bool mutating, int delta)
{
    move(&own(m)->inflight[mutating], delta);
}

void metrics_watch_events(struct metrics *m, uint64_t events, uint64_t bytes)
{
    struct metrics_shard *s = own(m);

    add(&s->watch_events, events);
    add(&s->watch_bytes, bytes);
}

void metrics_rejected(struct metrics *m, bool mutating)
{
    add(&own(m)->rejected[mutating], 1);
}

void metrics_client_certificate(struct metrics *m, int64_t left_s)
{
    struct metrics_shard *s = own(m);
    size_t i = 0;

    while (i < NLIVES && left_s > lives_s[i])
        i++;
    add(&s->lives[i], 1);
    add(&s->lives_sum_s, left_s > 0 ? (uint64_t)left_s : 0);
}

void metrics_audit_level(struct metrics *m, unsigned level)
{
    add(&own(m)->audit_levels[level], 1);
}

void metrics_audit_event(struct metrics *m)
{
    add(&own(m)->audit_events, 1);
}

/* ---- printing ---- */

/* The sum over the shards of what lies at the same place in each. */
static uint64_t total(const struct metrics *m, const counter *first)
{
    size_t at = (size_t)((uintptr_t)first - (uintptr_t)m->shards);
    uint64_t sum = 0;

    for (size_t i = 0; i < SHARDS; i++) {
        const char *p = (const char *)&m->shards[i] + at;

        sum += atomic_load_explicit((const counter *)(const void *)p, memory_order_relaxed);
    }
    return sum;
}

/* A gauge may rise on one shard and fall on another: only the sum means something. */
static int64_t total_gauge(const struct metrics *m, const gauge *first)
{
    size_t at = (size_t)((uintptr_t)first - (uintptr_t)m->shards);
    int64_t sum = 0;

    for (size_t i = 0; i < SHARDS; i++) {
        const char *p = (const char *)&m->shards[i] + at;

        sum += atomic_load_explicit((const gauge *)(const void *)p, memory_order_relaxed);
    }
    return sum;
}

static void head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_requests(const struct metrics *m, struct buf *b)
{
    const struct metrics_shard *s = m->shards;

    head(b, "apiserver_request_total", "counter", "Answered requests by verb and HTTP code.");
    for (size_t v = 0; v < METRICS_NVERBS; v++) {
        for (size_t c = 0; c < NCODES; c++) {
            uint64_t n = total(m, &s->requests[v][c]);

            if (n > 0)
                buf_printf(b, "apiserver_request_total{verb=\"%s\",code=\"%d\"} %llu\n",
                           verb_labels[v].p, codes[c], (unsigned long long)n);
        }
    }
}

static void print_durations(const struct metrics *m, struct buf *b)
{
    const struct metrics_shard *s = m->shards;
    const char *name = "apiserver_request_duration_seconds";

    head(b, name, "histogram", "Time from the whole request to the answer; watches left out.");
    for (size_t v = 0; v < METRICS_NVERBS; v++) {
        uint64_t n = 0;

        if (v == METRICS_WATCH)
            continue;
        for (size_t i = 0; i < NBOUNDS; i++) {
            n += total(m, &s->buckets[v][i]);
            buf_printf(b, "%s_bucket{verb=\"%s\",le=\"%g\"} %llu\n", name, verb_labels[v].p,
                       (double)bounds_us[i] / 1e6, (unsigned long long)n);
        }
        n += total(m, &s->buckets[v][NBOUNDS]);
        buf_printf(b, "%s_bucket{verb=\"%s\",le=\"+Inf\"} %llu\n", name, verb_labels[v].p,
                   (unsigned long long)n);
        buf_printf(b, "%s_sum{verb=\"%s\"} %.6f\n", name, verb_labels[v].p,
                   (double)total(m, &s->sum_us[v]) / 1e6);
        buf_printf(b, "%s_count{verb=\"%s\"} %llu\n", name, verb_labels[v].p,
                   (unsigned long long)n);
    }
}

static void print_load(const struct metrics *m, struct buf *b)
{
    const struct metrics_shard *s = m->shards;

    head(b, "apiserver_longrunning_requests", "gauge", "Open watches and proxied streams.");
    for (size_t v = 0; v < METRICS_NVERBS; v++) {
        int64_t n = total_gauge(m, &s->longrunning[v]);

        if (n != 0 || v == METRICS_WATCH)
            buf_printf(b, "apiserver_longrunning_requests{verb=\"%s\"} %lld\n", verb_labels[v].p,
                       (long long)n);
    }
    head(b, "apiserver_current_inflight_requests", "gauge", "Requests being worked on.");
    for (size_t k = 0; k < 2; k++)
        buf_printf(b, "apiserver_current_inflight_requests{request_kind=\"%s\"} %lld\n", kinds[k].p,
                   (long long)total_gauge(m, &s->inflight[k]));
    head(b, "apiserver_rejected_requests_total", "counter", "Requests refused for being too many.");
    for (size_t k = 0; k < 2; k++)
        buf_printf(b, "apiserver_rejected_requests_total{request_kind=\"%s\"} %llu\n", kinds[k].p,
                   (unsigned long long)total(m, &s->rejected[k]));
}

static void print_client_certificates(const struct metrics *m, struct buf *b)
{
    const struct metrics_shard *s = m->shards;
    const char *name = "apiserver_client_certificate_expiration_seconds";
    uint64_t n = 0;

    head(b, name, "histogram", "How long the client certificates of requests are good yet.");
    for (size_t i = 0; i < NLIVES; i++) {
        n += total(m, &s->lives[i]);
        buf_printf(b, "%s_bucket{le=\"%lld\"} %llu\n", name, (long long)lives_s[i],
                   (unsigned long long)n);
    }
    n += total(m, &s->lives[NLIVES]);
    buf_printf(b, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %llu\n%s_count %llu\n", name,
               (unsigned long long)n, name, (unsigned long long)total(m, &s->lives_sum_s), name,
               (unsigned long long)n);
}

static void print_own_certificates(struct buf *b, const struct metrics_input *in)
{
    const struct {
        const char *name;
        int64_t end;
    } rows[] = { { "serving", in->ends.serving },
                 { "ca", in->ends.ca },
                 { "signer", in->ends.signer } };
    const char *name = "kairship_certificate_expiration_seconds";

    head(b, name, "gauge", "How long the server's own certificates are good yet.");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].end)
            buf_printf(b, "%s{certificate=\"%s\"} %lld\n", name, rows[i].name,
                       (long long)(rows[i].end - in->now_s));
}

/* A series without labels. */
struct plain_series {
    const char *name, *type, *help;
    uint64_t value;
};

static void print_rows(struct buf *b, const struct plain_series *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        head(b, rows[i].name, rows[i].type, rows[i].help);
        buf_printf(b, "%s %llu\n", rows[i].name, (unsigned long long)rows[i].value);
    }
}
#define PRINT_ROWS(b, rows) print_rows((b), (rows), sizeof(rows) / sizeof(*(rows)))

static void print_store(struct buf *b, const struct store_stats *s)
{
    const struct plain_series rows[] = {
        { "apiserver_storage_size_bytes", "gauge", "Bytes of the store on disk.", s->bytes_disk },
        { "kairship_store_live_bytes", "gauge", "Bytes of versions that can be read.",
          s->bytes_live },
        { "kairship_store_rows", "gauge", "Rows at the head.", s->rows },
        { "kairship_store_versions", "gauge", "Versions of rows that are kept.", s->versions },
        { "kairship_store_revision", "gauge", "Last committed revision.", s->head },
        { "kairship_store_floor_revision", "gauge", "Lowest readable revision.", s->floor },
        { "kairship_store_commits_total", "counter", "Committed transactions.", s->commits },
        { "kairship_store_batches_total", "counter", "Groups of transactions written as one.",
          s->batches },
        { "kairship_store_syncs_total", "counter", "Syncs of the log.", s->syncs },
        { "kairship_store_read_only", "gauge", "1 while a disk failure stops writes.",
          s->read_only },
    };

    PRINT_ROWS(b, rows);
}

static void print_http(struct buf *b, const struct http_stats *h)
{
    const struct plain_series rows[] = {
        { "kairship_http_connections_total", "counter", "Accepted connections.", h->connections },
        { "kairship_http_connections_open", "gauge", "Open connections.", h->connections_open },
        { "kairship_http_streams_open", "gauge", "Open streamed answers.", h->streams_open },
        { "kairship_http_requests_open", "gauge", "Requests not yet answered.", h->requests_open },
        { "kairship_http_received_bytes_total", "counter", "Bytes received.", h->bytes_in },
        { "kairship_http_sent_bytes_total", "counter", "Bytes sent.", h->bytes_out },
        { "kairship_http_limit_closes_total", "counter",
          "Connections and streams closed by a limit.", h->rejected_limits },
    };

    PRINT_ROWS(b, rows);
}

/* k8s: apiserver/pkg/audit/metrics.go */
static void print_audit(const struct metrics *m, struct buf *b, const struct metrics_audit *s)
{
    const struct plain_series rows[] = {
        { "apiserver_audit_event_total", "counter", "Audit events made.",
          total(m, &m->shards->audit_events) },
        { "apiserver_audit_requests_rejected_total", "counter",
          "Requests refused since their events could not be kept.", s->rejected },
    };

    PRINT_ROWS(b, rows);
    head(b, "apiserver_audit_level_total", "counter", "Requests by what the audit policy says.");
    for (size_t i = 0; i < METRICS_AUDIT_LEVELS; i++)
        buf_printf(b, "apiserver_audit_level_total{level=\"%s\"} %llu\n", s->levels[i],
                   (unsigned long long)total(m, &m->shards->audit_levels[i]));
    head(b, "apiserver_audit_error_total", "counter", "Audit events that were lost.");
    buf_printf(b, "apiserver_audit_error_total{plugin=\"log\"} %llu\n",
               (unsigned long long)s->log_errors);
    if (s->has_records)
        buf_printf(b, "apiserver_audit_error_total{plugin=\"records\"} %llu\n",
                   (unsigned long long)s->record_errors);
    if (s->has_webhook)
        buf_printf(b, "apiserver_audit_error_total{plugin=\"webhook\"} %llu\n",
                   (unsigned long long)s->webhook_errors);
}

/* Resident and virtual bytes; zero where /proc does not tell. */
static void read_memory(uint64_t *resident, uint64_t *virtual_)
{
    unsigned long long size = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f && fscanf(f, "%llu %llu", &size, &pages) != 2)
        size = pages = 0;
    if (f)
        (void)fclose(f);
    *virtual_ = size * (uint64_t)sysconf(_SC_PAGESIZE);
    *resident = pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void print_process(const struct metrics *m, struct buf *b)
{
    struct rusage ru = { 0 };
    uint64_t resident, virtual_;

    read_memory(&resident, &virtual_);
    (void)getrusage(RUSAGE_SELF, &ru);
    head(b, "process_cpu_seconds_total", "counter", "User and system CPU time.");
    buf_printf(b, "process_cpu_seconds_total %.6f\n",
               (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
                   (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6);

    const struct plain_series rows[] = {
        { "process_resident_memory_bytes", "gauge", "Resident memory.", resident },
        { "process_virtual_memory_bytes", "gauge", "Virtual memory.", virtual_ },
        { "process_start_time_seconds", "gauge", "Start, in seconds since 1970.",
          (uint64_t)m->started_s },
    };

    PRINT_ROWS(b, rows);
}

str metrics_print(const struct metrics *m, struct arena *a, const struct metrics_input *in)
{
    scoped_buf b = { .max = 1 << 20 };
    const struct plain_series rows[] = {
        { "apiserver_watch_events_total", "counter", "Events sent to watchers.",
          total(m, &m->shards->watch_events) },
        { "kairship_watch_event_bytes_total", "counter", "Bytes of events sent to watchers.",
          total(m, &m->shards->watch_bytes) },
        { "kairship_instances", "gauge", "Instances that are served.", in->instances },
    };

    print_requests(m, &b);
    print_durations(m, &b);
    print_load(m, &b);
    print_client_certificates(m, &b);
    print_own_certificates(&b, in);
    PRINT_ROWS(&b, rows);
    if (in->store)
        print_store(&b, in->store);
    if (in->http)
        print_http(&b, in->http);
    buf_str_append(&b, in->more);
    if (in->audit)
        print_audit(m, &b, in->audit);
    print_process(m, &b);
    return str_dup(a, buf_str(&b));
}
