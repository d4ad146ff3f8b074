/* SPDX-License-Identifier: Apache-2.0 */

/*
 * When a Work is told what is new of its object, and the short way to tell it.
 *
 * News of one object are gathered, so that one write carries several.  How long depends on how much
 * the member has to tell: of a calm one each Work hears soon, while of one that gets hundreds of
 * objects at once each hears once, when the dust has settled.
 *
 * A Work with one manifest, which is in place, is not read again for it: all that is written is
 * known here.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "fleet/syncer_internal.h"

enum {
    EACH_MS = 20,      /* longer for each piece of news in a second: 5 of them are calm, … */
    GAP_MAX_MS = 2000, /* … 100 are as much as there can be */
    UNFINISHED = 3,    /* times as long, while more is sure to come, … */
    BUSY = 6,          /* … and so many when it was told that it is there, … */
    MANY = 10,         /* … or so many are made in a second: its turn comes after theirs */
};

void sync_news(struct item *i)
{
    int64_t now = loop_now_ms(i->syncer->loop);

    pace_count(&i->syncer->news, now);
    if (!i->news_ms)
        i->news_ms = now;
}

static bool has_unfinished(const struct item *i)
{
    for (size_t n = 0; n < i->ntargets; n++)
        if (i->targets[n]->unfinished)
            return true;
    return false;
}

static int64_t patience(struct item *i, int64_t now)
{
    if (!has_unfinished(i))
        return 1;
    return i->told_ms || pace_gather_ms(&i->syncer->made, now, 1, 0, MANY) == MANY ? BUSY
                                                                                   : UNFINISHED;
}

/* Of a calm member at once, but for what was told a moment ago. */
int64_t sync_news_wait(struct item *i)
{
    int64_t now = loop_now_ms(i->syncer->loop);
    int64_t gap = pace_gather_ms(&i->syncer->news, now, EACH_MS, STATUS_GAP_MS, GAP_MAX_MS) *
                  patience(i, now);
    int64_t left = i->told_ms ? i->told_ms + STATUS_GAP_MS - now : 0;
    int64_t more = i->news_ms ? i->news_ms + gap - STATUS_GAP_MS - now : 0;

    left = more > left ? more : left;
    return left > 0 ? left : 0;
}

static void told(struct item *i)
{
    sync_news_release(i);
    i->news_ms = 0;
    for (size_t n = 0; n < i->ntargets; n++) {
        sync_target_told(i->targets[n]);
        if (i->targets[n]->status)
            i->news_ms = loop_now_ms(i->syncer->loop); /* which came meanwhile */
    }
}

/* ---- what is held back ---- */

void sync_news_hold(struct item *i, str conditions)
{
    sync_news_release(i);
    sync_news(i);
    i->conditions = mem_alloc(conditions.n + 1);
    memcpy(i->conditions, conditions.p, conditions.n);
    i->conditions[conditions.n] = '\0';
}

void sync_news_release(struct item *i)
{
    free(i->conditions);
    i->conditions = NULL;
}

/* ---- the short way ---- */

void sync_news_on_told(struct job *j, const struct json *none, const struct status *why)
{
    /* It has gone, or its type has no status to show. */
    bool never =
        why && (status_is(why, REASON_NOT_FOUND) || status_is(why, REASON_METHOD_NOT_ALLOWED));

    (void)none;
    if (why && !never) {
        sync_job_failed(j, why);
        return;
    }
    told(j->item);
    if (j->nfailures)
        sync_job_failed(j, &j->failed);
    else
        sync_job_done(j);
}

bool sync_news_tell(struct job *j)
{
    struct item *i = j->item;
    struct target *t = i->settled ? i->targets[0] : NULL;
    struct client_ref ref = sync_source_ref(j->syncer, i);
    struct client_query q = sync_source_query();
    struct client_request req;
    str status;

    if (!t || j->syncer->mode != SYNCER_RUNNING || !t->content || t->drifted ||
        (!t->status && !i->conditions))
        return false;
    j->again_ms = sync_news_wait(i);
    if (j->again_ms > 0) { /* it has more to tell than when this was to be the time */
        sync_job_done(j);
        return true;
    }
    status = str_of(t->status ? t->status : "");
    if (t->status)
        t->telling = sync_text_hash(j->syncer, status);
    ref.subresource = STR("status");
    req = client_request_patch(j->arena, &ref, &q, CLIENT_PATCH_MERGE, &json_empty_object);
    req.body = str_printf(
        j->arena, "{\"status\":{%s%s%s%s%.*s%s}}", i->conditions ? "\"conditions\":" : "",
        i->conditions ? i->conditions : "", i->conditions && status.n ? "," : "",
        status.n ? "\"manifestStatuses\":[" : "", STR_ARG(status), status.n ? "]" : "");
    i->told_ms = loop_now_ms(j->syncer->loop);
    sync_wrote(j->syncer, false);
    sync_job_tell(j, req, sync_news_on_told);
    return true;
}
