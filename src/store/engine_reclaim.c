/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/banned.h"
#include "store/engine_internal.h"

/*
 * Space comes back oldest segment first: what of it is still the last version of a row is written
 * again at the log's end, with the revisions it has, then the file goes.  It is begun only when
 * everything else in the segment lies below the floor.  So a deletion may go with its segment:
 * every older copy of that row was in an older one, and those are gone.
 */

enum { SEGMENTS_MIN = 3, LOOK_FACTOR = 8 };

static bool worth_it(struct engine *e)
{
    struct log *l = e->log;
    uint64_t live = atomic_load(&e->live_bytes), disk = atomic_load(&l->bytes);

    if (l->newest->number - l->oldest->number + 1 < SEGMENTS_MIN || disk < live * 2)
        return false;
    return l->oldest->stale == 0 && l->oldest->max_rev <= e->pruned && e->npurge == 0 &&
           !atomic_load(&e->read_only);
}

bool engine_reclaim(struct engine *e)
{
    struct reclaim *r = &e->reclaim;
    struct segment *s = e->log->oldest;

    if (!r->active) {
        if (!worth_it(e))
            return false;
        *r = (struct reclaim){ .active = true, .at = sizeof(struct segment_header) };
        return true;
    }
    if (atomic_load(&e->read_only))
        return false;
    if (r->at < s->end)
        return true; /* copied along with batches */
    /* Rows that were changed while the others were copied are wanted until the floor has passed. */
    if (s->stale > 0 || s->live > 0 || e->npurge > 0)
        return false;
    /* The log must know that history no longer reaches back there, and that the file may lack. */
    e->oldest = s->number + 1;
    if (e->durable_oldest <= s->number || e->durable_floor < e->pruned) {
        if (engine_write_mark(e) != 0)
            return false;
    }
    if (log_drop_oldest(e->log) != 0)
        return false;
    r->active = false;
    return true;
}

static void copy_record(struct engine *e, const struct record *rec, struct index_row *row,
                        size_t *frame)
{
    struct batch *b = &e->batch;
    struct staged *op;

    if (*frame == SIZE_MAX)
        *frame = frame_begin(&b->bytes, FRAME_COPY, b->head);
    op = engine_stage(e);
    op->kind = rec->kind;
    op->copy = true;
    op->row = row;
    op->instance = rec->key.instance;
    op->rev = rec->rev;
    op->created = rec->created;
    op->value_bytes = (uint32_t)rec->value.n;
    op->nhashes = (uint16_t)rec->nhashes;
    op->at = record_append(&b->bytes, *frame, rec);
}

/* Copies the record if it is still the last word on its row or instance. */
static void record_look(struct engine *e, const struct record *rec, size_t offset, size_t *frame)
{
    struct segment *s = e->log->oldest;
    const struct version *v;
    struct index_row *row;

    if (rec->kind == RECORD_DROP && idpages_get(&e->drop_at, rec->key.instance) == s->number)
        copy_record(e, rec, NULL, frame);
    if (rec->kind != RECORD_PUT)
        return;
    row = index_find(&e->index, &rec->key);
    v = row ? atomic_load_explicit(&row->newest, memory_order_relaxed) : NULL;
    if (v && !v->deleted && v->segment == s->slot && v->offset == offset)
        copy_record(e, rec, row, frame);
}

void engine_reclaim_copy(struct engine *e, size_t bytes)
{
    struct reclaim *r = &e->reclaim;
    struct segment *s = e->log->oldest;
    size_t frame = SIZE_MAX, begun = r->at, look = bytes * LOOK_FACTOR;

    r->next_at = r->at;
    r->next_skip = r->skip;
    while (r->next_at < s->end && r->next_at - begun < look) {
        const char *p = s->map + r->next_at;
        struct record_cursor c;
        struct record rec;
        size_t at, i = 0;

        record_cursor_init(&c, p);
        while (e->batch.bytes.n < bytes && record_next(&c, &rec, &at))
            if (i++ >= r->next_skip)
                record_look(e, &rec, r->next_at + at, &frame);
        if (c.left > 0) {
            r->next_skip = i;
            break;
        }
        r->next_skip = 0;
        r->next_at += format_align(c.next);
    }
    if (frame != SIZE_MAX)
        frame_end(&e->batch.bytes, frame);
}

void engine_reclaim_copied(struct engine *e)
{
    struct reclaim *r = &e->reclaim;

    if (!r->active)
        return;
    r->at = r->next_at;
    r->skip = r->next_skip;
}
