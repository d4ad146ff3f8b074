/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

/*
 * A load of requests on connections x streams.  Without a rate it is a closed loop: each stream
 * sends its next request when the last is answered.  With one it is open: requests leave when they
 * are due, as long as a stream is free, and what is late counts in their latency.  One thread, no
 * parsing, buffers are used again: the load shares the machine with what it measures.
 */

#include "bench/report.h"
#include "client/kubeconfig.h"
#include "http/client.h"

enum { BENCH_HEADERS_MAX = 8 };

/* Where requests go and who asks. */
struct bench_target {
    struct http_client_options http; /* without loop and streams */
    str prefix;                      /* of every path */
    struct http_header headers[BENCH_HEADERS_MAX];
    size_t nheaders;
};

void bench_target_init(struct bench_target *t, struct arena *a, const struct kubeconfig *k);
void bench_target_header(struct bench_target *t, str name, str value);

struct bench_load;

struct bench_slot { /* one request in flight, then the next */
    struct http_call call;
    struct bench_load *load;
    struct http_client *client;
    int64_t sent_ns;
    uint64_t number; /* of this request, from 0 */
    uint64_t picked; /* the workload's */
    int status;
    bool sampled;
    int grpc;              /* status, -1 before it came */
    size_t bytes;          /* of the reply */
    struct buf path, body; /* for the workload to write into */
    struct buf reply;      /* its beginning, where it is kept */
    struct buf memo;       /* the workload's, from one request to the next */
};

struct bench_load {
    /* set by the workload: */
    struct loop *loop;
    const struct bench_target *target;
    const struct bench_pids *pids;
    unsigned connections, streams;
    int64_t warm_ms, duration_ms; /* 0: until `next` has no more */
    unsigned rate;                /* requests a second; 0: as many as go */
    /* Fills method, path and body of s->call; false: this slot is done. */
    bool (*next)(struct bench_load *l, struct bench_slot *s);
    /* Looks at a good answer whose reply was kept; false counts as an error.  May be NULL. */
    bool (*check)(struct bench_load *l, struct bench_slot *s);
    unsigned sample_every; /* every how many requests the reply is kept and checked; 0: none */
    size_t reply_max;      /* at most so many bytes of it */
    int also_good;         /* a status beside 2xx that is no error */
    bool grpc;             /* success is grpc-status 0 */
    void *user;

    /* the load's: */
    struct bench_result *result;
    struct http_client **clients;
    struct bench_slot *slots, **idle; /* idle: of an open load, a stack */
    unsigned busy, nidle;
    uint64_t started; /* requests */
    bool measuring, ending;
    int64_t began_ns, paced_ns; /* paced: when the open load began */
    double own_cpu_s;
    struct bench_proc at_begin;
    struct loop_timer warm, end, watch, give_up, pace;
};

/* Runs it and adds to the result: operations, latency, bytes, errors, CPU, memory. */
int bench_load_run(struct bench_load *l, struct bench_result *r, struct status *st)
    __attribute__((warn_unused_result));

/* The first error of a run, from a reply that is (probably) a Status. */
void bench_error(struct bench_result *r, int status, str reply, const struct status *why);

#endif
