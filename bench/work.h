/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

/* What the workloads of `kairship-bench` share. */

#include "bench/load.h"
#include "client/client.h"

struct bench_options {
    const char *workload, *kubeconfig, *context, *namespace, *pids, *output;
    const char *url, *ca, *command, *members;
    /* 0: what the workload is defined with */
    long duration, connections, streams, objects, page, watches, rate, runs;
    bool keep, insecure;
};

struct bench {
    struct bench_options o;
    struct arena *arena;
    struct loop *loop; /* of the load */
    struct kubeconfig k;
    struct bench_target target;
    struct client *client; /* for single requests before and after */
    struct bench_pids pids;
    uint64_t random; /* state */
};

/* One workload: fills the result, or fails when it could not run at all. */
typedef int bench_work_fn(struct bench *b, struct bench_result *r, struct status *st);

bench_work_fn bench_get, bench_get_token, bench_create, bench_create_serial, bench_list,
    bench_list_pages, bench_list_label, bench_memory, bench_watch, bench_instances, bench_start,
    bench_etcd_put, bench_http_get, bench_apply, bench_cr_create, bench_cr_apply, bench_crds,
    bench_search, bench_propagate, bench_burst, bench_grpc, bench_grpc_health, bench_rest,
    bench_overload, bench_withdraw;

/* Connects to what the kubeconfig names. */
int bench_connect(struct bench *b, struct status *st) __attribute__((warn_unused_result));
void bench_disconnect(struct bench *b);

/* An option, or the workload's own value. */
static inline unsigned bench_or(long option, unsigned otherwise)
{
    return option > 0 ? (unsigned)option : otherwise;
}

/* A load with the options' connections, streams and duration, or these. */
struct bench_load bench_load_of(struct bench *b, unsigned connections, unsigned streams);

unsigned bench_pick(struct bench *b, unsigned n); /* at random, below n */
void bench_sleep(struct bench *b, int64_t ms);
/* Until the server has nothing more to do: a moment in which it takes hardly any CPU. */
void bench_quiet(struct bench *b);

/* ---- objects: O1 of DESIGN 8, a ConfigMap with a value of 1 KiB ---- */

/* o-000000 … in the namespace, which is made; those that exist are left. */
int bench_objects(struct bench *b, unsigned n, struct status *st)
    __attribute__((warn_unused_result));
/* Deletes the namespace with all that is in it, unless --keep. */
void bench_clean(struct bench *b);

/* GETs of these, at random, by whom the target says. */
int bench_gets(struct bench *b, unsigned objects, struct bench_result *r, struct status *st)
    __attribute__((warn_unused_result));

/* name_member: `"name":"x"` or `"generateName":"x-"`; group is the value of the label `group`, of
 * which each has ten objects; at is the annotation that watches look for. */
void bench_object_body(const struct bench *b, struct buf *out, str name_member, unsigned group,
                       str at);
#define BENCH_AT "\"bench.kairship.io/at\":\""

/* /api/v1/namespaces/NS/configmaps, with the prefix, into the slot's path */
void bench_configmaps_path(const struct bench *b, struct bench_slot *s);

/* ---- instances of their own ---- */

/* Makes the instance; what follows is in it.  0: the server knows none. */
int bench_enter(struct bench *b, const char *name, struct status *st)
    __attribute__((warn_unused_result));
/* From here on the load is a ServiceAccount's with these rules of a Role, and its token. */
int bench_account(struct bench *b, const char *rules, struct status *st)
    __attribute__((warn_unused_result));
/* The target with this token, or with nothing that says who asks. */
void bench_stranger(struct bench *b, struct bench_target *out, secret token);
/* Deletes it, unless --keep; b is not in it. */
void bench_leave(struct bench *b, const char *name);

/*
 * ---- CRDs, of which ten share a group ----
 *
 * Made in the instance (empty: the kubeconfig's own); what is there already is fine.  took_ns is
 * the time from its acceptance until its objects can be listed.
 */
int bench_crd_make(struct bench *b, str instance, unsigned n, int64_t *took_ns, struct status *st)
    __attribute__((warn_unused_result));
str bench_crd_group(struct arena *a, unsigned n);
str bench_crd_plural(struct arena *a, unsigned n);

#endif
