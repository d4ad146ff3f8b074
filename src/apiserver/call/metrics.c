/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/metrics.h"

#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/banned.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/metric.h"

/* Every code we can answer with; the last word takes the rest. */
#define CODES(X)                                                                                \
    X(101), X(200), X(201), X(202), X(204), X(301), X(304), X(400), X(401), X(403), X(404),     \
        X(405), X(406), X(409), X(410), X(413), X(415), X(422), X(429), X(500), X(501), X(502), \
        X(503), X(504), X(0)
#define NUMBER(code) code
#define WORD(code)   #code
static const short codes[] = { CODES(NUMBER) };
static const char *const code_words[] = { CODES(WORD) };
enum { NCODES = sizeof(codes) / sizeof(*codes) };

static const char *const verb_labels[] = {
#define X(name, label, verb) label,
    METRICS_VERBS(X)
#undef X
};

static const str verb_words[] = {
#define X(name, label, verb) STR_INIT(verb),
    METRICS_VERBS(X)
#undef X
};

static const char *const kinds[] = { "readOnly", "mutating" };
static const char *const levels[] = {
#define X(level) level,
    METRICS_AUDIT_LEVELS(X)
#undef X
};

/* Kubernetes' begin at 5 ms; most of our requests are done long before. */
static const int64_t bounds_us[] = { 50,      100,     250,      500,      1000,    2500,   5000,
                                     25000,   50000,   100000,   200000,   400000,  800000, 1000000,
                                     2000000, 5000000, 10000000, 30000000, 60000000 };

/* k8s: apiserver/pkg/authentication/request/x509: half an hour to a year */
static const int64_t lives_s[] = { 0,      1800,   3600,   7200,    21600,   43200,    86400,
                                   172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000 };

#define N(table) (sizeof(table) / sizeof(*(table)))

/* What every server counts, in the order of `counted`. */
enum {
    REQUESTS,
    DURATIONS,
    LONGRUNNING,
    INFLIGHT,
    REJECTED,
    LIVES,
    WATCH_EVENTS,
    WATCH_BYTES,
    AUDIT_EVENTS,
    AUDIT_LEVELS,
};

static const struct metric_spec counted[] = {
    [REQUESTS] = { "apiserver_request_total", "Answered requests by verb and HTTP code.",
                   METRIC_COUNTER,
                   .labels = { { "verb", verb_labels, METRICS_NVERBS },
                               { "code", code_words, NCODES } },
                   .sparse = true },
    [DURATIONS] = { "apiserver_request_duration_seconds",
                    "Time from the whole request to the answer; watches left out.",
                    METRIC_HISTOGRAM, .labels = { { "verb", verb_labels, METRICS_WATCH } },
                    .per = 1000000, .bounds = bounds_us, .nbounds = N(bounds_us) },
    [LONGRUNNING] = { "apiserver_longrunning_requests", "Open watches and proxied streams.",
                      METRIC_GAUGE, .labels = { { "verb", verb_labels, METRICS_NVERBS } } },
    [INFLIGHT] = { "apiserver_current_inflight_requests", "Requests being worked on.", METRIC_GAUGE,
                   .labels = { { "request_kind", kinds, N(kinds) } } },
    [REJECTED] = { "apiserver_rejected_requests_total", "Requests refused for being too many.",
                   METRIC_COUNTER, .labels = { { "request_kind", kinds, N(kinds) } } },
    [LIVES] = { "apiserver_client_certificate_expiration_seconds",
                "How long the client certificates of requests are good yet.", METRIC_HISTOGRAM,
                .bounds = lives_s, .nbounds = N(lives_s) },
    [WATCH_EVENTS] =
        METRIC_PLAIN(METRIC_COUNTER, "apiserver_watch_events_total", "Events sent to watchers."),
    [WATCH_BYTES] = METRIC_PLAIN(METRIC_COUNTER, "kairship_watch_event_bytes_total",
                                 "Bytes of events sent to watchers."),
    [AUDIT_EVENTS] =
        METRIC_PLAIN(METRIC_COUNTER, "apiserver_audit_event_total", "Audit events made."),
    [AUDIT_LEVELS] = { "apiserver_audit_level_total", "Requests by what the audit policy says.",
                       METRIC_COUNTER, .labels = { { "level", levels, N(levels) } } },
};

struct metrics {
    struct metric_set *set;
};

enum metrics_verb metrics_verb_of(str verb, bool is_resource)
{
    for (int i = 0; is_resource && i < METRICS_NVERBS; i++) {
        if (str_eq(verb, verb_words[i]))
            return (enum metrics_verb)i;
    }
    return METRICS_OTHER;
}

struct metrics *metrics_new(void)
{
    struct metrics *m = mem_zalloc(sizeof(*m));

    m->set = metric_set_new(counted, N(counted));
    return m;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    metric_set_free(m->set);
    free(m);
}

static size_t code_index(int code)
{
    size_t i = 0;

    while (i < NCODES - 1 && codes[i] != code)
        i++;
    return i;
}

void metrics_request(struct metrics *m, enum metrics_verb verb, int code, int64_t duration_us)
{
    metric_set_add(m->set, REQUESTS, (size_t)verb * NCODES + code_index(code), 1);
    if (verb != METRICS_WATCH)
        metric_set_observe(m->set, DURATIONS, verb, duration_us);
}

void metrics_longrunning(struct metrics *m, enum metrics_verb verb, int delta)
{
    metric_set_add(m->set, LONGRUNNING, verb, delta);
}

void metrics_inflight(struct metrics *m, bool mutating, int delta)
{
    metric_set_add(m->set, INFLIGHT, mutating, delta);
}

void metrics_watch_events(struct metrics *m, uint64_t events, uint64_t bytes)
{
    metric_set_add(m->set, WATCH_EVENTS, 0, (int64_t)events);
    metric_set_add(m->set, WATCH_BYTES, 0, (int64_t)bytes);
}

void metrics_rejected(struct metrics *m, bool mutating)
{
    metric_set_add(m->set, REJECTED, mutating, 1);
}

void metrics_client_certificate(struct metrics *m, int64_t left_s)
{
    metric_set_observe(m->set, LIVES, 0, left_s);
}

void metrics_audit_level(struct metrics *m, unsigned level)
{
    metric_set_add(m->set, AUDIT_LEVELS, level, 1);
}

void metrics_audit_event(struct metrics *m)
{
    metric_set_add(m->set, AUDIT_EVENTS, 0, 1);
}

/* ---- what others count ---- */

static void print_own_certificates(struct buf *b, const struct metrics_input *in)
{
    static const char *const names[] = { "serving", "ca", "signer" };
    static const struct metric_spec spec = { "kairship_certificate_expiration_seconds",
                                             "How long the server's own certificates are good yet.",
                                             METRIC_GAUGE,
                                             .labels = { { "certificate", names, N(names) } } };
    const int64_t ends[] = { in->ends.serving, in->ends.ca, in->ends.signer };
    int64_t left[N(ends)];

    for (size_t i = 0; i < N(ends); i++)
        left[i] = ends[i] ? ends[i] - in->now_s : METRIC_NONE;
    metric_rows(b, &spec, left);
}

static void print_store(struct buf *b, const struct store_stats *s)
{
    static const struct metric_spec specs[] = {
        METRIC_PLAIN(METRIC_GAUGE, "apiserver_storage_size_bytes", "Bytes of the store on disk."),
        METRIC_PLAIN(METRIC_GAUGE, "kairship_store_live_bytes",
                     "Bytes of versions that can be read."),
        METRIC_PLAIN(METRIC_GAUGE, "kairship_store_rows", "Rows at the head."),
        METRIC_PLAIN(METRIC_GAUGE, "kairship_store_versions", "Versions of rows that are kept."),
        METRIC_PLAIN(METRIC_GAUGE, "kairship_store_revision", "Last committed revision."),
        METRIC_PLAIN(METRIC_GAUGE, "kairship_store_floor_revision", "Lowest readable revision."),
        METRIC_PLAIN(METRIC_COUNTER, "kairship_store_commits_total", "Committed transactions."),
        METRIC_PLAIN(METRIC_COUNTER, "kairship_store_batches_total",
                     "Groups of transactions written as one."),
        METRIC_PLAIN(METRIC_COUNTER, "kairship_store_syncs_total", "Syncs of the log."),
        METRIC_PLAIN(METRIC_GAUGE, "kairship_store_read_only",
                     "1 while a disk failure stops writes."),
    };
    const int64_t values[] = {
        (int64_t)s->bytes_disk, (int64_t)s->bytes_live, (int64_t)s->rows,    (int64_t)s->versions,
        (int64_t)s->head,       (int64_t)s->floor,      (int64_t)s->commits, (int64_t)s->batches,
        (int64_t)s->syncs,      s->read_only,
    };

    metric_each(b, specs, N(specs), values);
}

static void print_http(struct buf *b, const struct http_stats *h)
{
    static const struct metric_spec specs[] = {
        METRIC_PLAIN(METRIC_COUNTER, "kairship_http_connections_total", "Accepted connections."),
        METRIC_PLAIN(METRIC_GAUGE, "kairship_http_connections_open", "Open connections."),
        METRIC_PLAIN(METRIC_GAUGE, "kairship_http_streams_open", "Open streamed answers."),
        METRIC_PLAIN(METRIC_GAUGE, "kairship_http_requests_open", "Requests not yet answered."),
        METRIC_PLAIN(METRIC_COUNTER, "kairship_http_received_bytes_total", "Bytes received."),
        METRIC_PLAIN(METRIC_COUNTER, "kairship_http_sent_bytes_total", "Bytes sent."),
        METRIC_PLAIN(METRIC_COUNTER, "kairship_http_limit_closes_total",
                     "Connections and streams closed by a limit."),
    };
    const int64_t values[] = {
        (int64_t)h->connections,     (int64_t)h->connections_open, (int64_t)h->streams_open,
        (int64_t)h->requests_open,   (int64_t)h->bytes_in,         (int64_t)h->bytes_out,
        (int64_t)h->rejected_limits,
    };

    metric_each(b, specs, N(specs), values);
}

static void print_disk(struct buf *b, const char *dir)
{
    static const struct metric_spec specs[] = {
        METRIC_PLAIN(METRIC_GAUGE, "kairship_data_disk_size_bytes",
                     "Size of the file system that holds the data folder."),
        METRIC_PLAIN(METRIC_GAUGE, "kairship_data_disk_free_bytes",
                     "What the server may still write there."),
    };
    struct statvfs v;

    if (statvfs(dir, &v) < 0)
        return;

    const int64_t values[] = { (int64_t)(v.f_blocks * v.f_frsize),
                               (int64_t)(v.f_bavail * v.f_frsize) };

    metric_each(b, specs, N(specs), values);
}

/* k8s: apiserver/pkg/audit/metrics.go */
static void print_audit(struct buf *b, const struct metrics_audit *s)
{
    static const char *const plugins[] = { "log", "records", "webhook" };
    static const struct metric_spec errors = { "apiserver_audit_error_total",
                                               "Audit events that were lost.", METRIC_COUNTER,
                                               .labels = { { "plugin", plugins, N(plugins) } } };
    static const struct metric_spec rejected =
        METRIC_PLAIN(METRIC_COUNTER, "apiserver_audit_requests_rejected_total",
                     "Requests refused since their events could not be kept.");
    const int64_t lost[] = { (int64_t)s->log_errors,
                             s->has_records ? (int64_t)s->record_errors : METRIC_NONE,
                             s->has_webhook ? (int64_t)s->webhook_errors : METRIC_NONE };
    const int64_t refused = (int64_t)s->rejected;

    metric_rows(b, &errors, lost);
    metric_rows(b, &rejected, &refused);
}

void metrics_print(const struct metrics *m, struct buf *b, const struct metrics_input *in)
{
    static const struct metric_spec instances =
        METRIC_PLAIN(METRIC_GAUGE, "kairship_instances", "Instances that are served.");
    const int64_t served = (int64_t)in->instances;

    metric_set_print(m->set, b);
    print_own_certificates(b, in);
    metric_rows(b, &instances, &served);
    if (in->store)
        print_store(b, in->store);
    if (in->dir)
        print_disk(b, in->dir);
    if (in->http)
        print_http(b, in->http);
    if (in->audit)
        print_audit(b, in->audit);
}
