/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/audit/audit_batch.h"

#include "base/banned.h"

enum { ONE = 1000 };

void audit_batch_init(struct audit_batch *b, const struct audit_batch_options *o, int64_t now_ms)
{
    *b = (struct audit_batch){
        .o = *o, .thousandths = o->burst * ONE, .filled_ms = now_ms, .not_before_ms = now_ms
    };
}

void audit_batch_waits(struct audit_batch *b, int64_t now_ms)
{
    if (!b->waits)
        b->since_ms = now_ms;
    b->waits = true;
}

static void fill(struct audit_batch *b, int64_t now_ms)
{
    int64_t full = b->o.burst * ONE, ms = now_ms - b->filled_ms;

    b->filled_ms = now_ms;
    if (!b->o.qps || ms >= (full - b->thousandths) / b->o.qps + 1)
        b->thousandths = full;
    else
        b->thousandths += ms * b->o.qps;
}

int64_t audit_batch_due(struct audit_batch *b, int64_t now_ms, size_t waiting)
{
    int64_t at = now_ms, allowed = now_ms;

    if (!waiting)
        return -1;
    fill(b, now_ms);
    if (waiting < b->o.max_size)
        at = b->since_ms + b->o.max_wait_ms;
    if (at < b->not_before_ms)
        at = b->not_before_ms;
    if (b->o.qps && b->thousandths < ONE)
        allowed = now_ms + (ONE - b->thousandths + b->o.qps - 1) / b->o.qps;
    if (at < allowed)
        at = allowed;
    return at > now_ms ? at - now_ms : 0;
}

void audit_batch_taken(struct audit_batch *b)
{
    b->waits = false;
}

void audit_batch_goes(struct audit_batch *b, int64_t now_ms)
{
    fill(b, now_ms);
    if (b->thousandths >= ONE)
        b->thousandths -= ONE;
}

/* k8s: plugin/pkg/audit/webhook WithExponentialBackoff, by a factor of 1.5 */
void audit_batch_failed(struct audit_batch *b, int64_t now_ms)
{
    int64_t most = b->o.pause_ms > AUDIT_PAUSE_MAX_MS ? b->o.pause_ms : AUDIT_PAUSE_MAX_MS;

    b->pause_ms = b->pause_ms ? b->pause_ms + b->pause_ms / 2 : b->o.pause_ms;
    if (b->pause_ms > most)
        b->pause_ms = most;
    b->not_before_ms = now_ms + b->pause_ms;
}

void audit_batch_arrived(struct audit_batch *b)
{
    b->pause_ms = 0;
}
