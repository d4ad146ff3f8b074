/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_FLEET_H
#define BENCH_FLEET_H

/* An instance whose members are those that `kairship simulate` runs, for what is propagated. */

#include "bench/work.h"

#define BENCH_INSTANCE "bench-fleet"

struct bench_member {
    str name;
    struct kubeconfig k;
};

struct bench_fleet {
    struct bench_member *members;
    size_t n;
    /* What a member takes of the server; 0: they were members before. */
    double kib_each; /* one more, where half of them are members: what all share is there then, … */
    double kib_all; /* … and with all that the first brings with it, divided by all */
};

/* Makes the instance and lets the members of --members join; waits until all are Ready. */
int bench_fleet_open(struct bench *b, struct bench_fleet *f, struct status *st)
    __attribute__((warn_unused_result));

/* Deletes the instance, unless --keep. */
void bench_fleet_clean(struct bench *b);

#endif
