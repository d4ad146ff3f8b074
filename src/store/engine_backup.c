/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "store/backup.h"
#include "store/engine_internal.h"

enum {
    PORTION_BYTES = 1 << 20, /* copied in one epoch section */
    REPIN_MS = 10000,
};

struct position { /* the last row that was copied */
    struct store_key key;
    char name[STORE_KEY_MAX];
};

/* Copies some rows after *at into the writer's buffer; false at the end. */
static bool copy_some(struct engine *e, struct backup_writer *w, struct position *at)
{
    struct index_cursor c = { .index = &e->index };
    size_t begun = w->buf.n;

    index_seek(&c, &at->key);
    if (c.row && at->key.name.n && row_key(c.row).type == at->key.type &&
        row_key(c.row).instance == at->key.instance && str_eq(row_name(c.row), at->key.name))
        index_next(&c);
    for (; c.row && w->buf.n - begun < PORTION_BYTES; index_next(&c)) {
        const struct version *v = row_version(c.row, w->rev);
        uint64_t dropped = idpages_get(&e->drops, c.row->instance);
        struct record rec;
        struct store_row row;

        at->key = row_key(c.row);
        if (!v || v->deleted || (dropped && dropped <= w->rev))
            continue;
        record_read(version_record(e, v), &rec);
        row = (struct store_row){ rec.key, v->rev, v->created, rec.value };
        backup_row(w, &row, rec.hashes, rec.nhashes);
    }
    memcpy(at->name, at->key.name.p, at->key.name.n);
    at->key.name.p = at->name;
    return c.row != NULL;
}

static void copy_drops(struct engine *e, struct backup_writer *w)
{
    struct idmap_pair *drops;
    size_t n;

    epoch_enter();
    drops = idpages_list(&e->drops, &n);
    epoch_exit();
    for (size_t i = 0; i < n; i++)
        if (drops[i].value <= w->rev)
            backup_drop(w, (uint32_t)drops[i].key, drops[i].value);
    free(drops);
}

/* Not in one epoch section, which would hold up all reclamation: revision and place are enough. */
static bool copy_rows(struct engine *e, struct backup_writer *w)
{
    struct position *at = mem_zalloc(sizeof(*at));
    int64_t pinned_ms = clock_now_ms(e->opt.clock);
    bool more = true, readable = true;

    at->key.name.p = at->name;
    while (more && readable && !w->failed) {
        int64_t now = clock_now_ms(e->opt.clock);

        if (now - pinned_ms > REPIN_MS && engine_pin(&e->store, w->rev)) {
            engine_unpin(&e->store, w->rev);
            pinned_ms = now;
        }
        epoch_enter();
        more = copy_some(e, w, at);
        epoch_exit();
        readable = atomic_load(&e->floor) <= w->rev;
        backup_flush(w);
    }
    free(at);
    return readable;
}

int engine_backup(struct store *s, store_write_fn *write, void *arg, uint64_t *rev,
                  struct status *st)
{
    struct engine *e = engine_of(s);
    struct backup_writer w;
    uint64_t head;
    bool readable;

    do
        head = atomic_load(&e->head);
    while (!engine_pin(s, head));
    backup_begin(&w, write, arg, head);
    copy_drops(e, &w);
    readable = copy_rows(e, &w);
    engine_unpin(s, head);
    w.failed = w.failed || !readable; /* then it gets no end */
    if (backup_end(&w, st) < 0 && readable)
        return -1;
    if (!readable)
        return status_expired(st, "the backup took so long that its revision was compacted");
    *rev = head;
    return 0;
}
