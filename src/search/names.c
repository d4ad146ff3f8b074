/* SPDX-License-Identifier: Apache-2.0 */
#include "search/names.h"

#include "base/banned.h"
#include "base/mem.h"

enum { STEP_MAX = 1024, SQL_MAX = 1 << 20 };

static str column(sqlite3_stmt *s, int i)
{
    return (str){ (const char *)sqlite3_column_text(s, i), (size_t)sqlite3_column_bytes(s, i) };
}

str names_trigrams(struct arena *a, str part)
{
    scoped_buf b;

    buf_init(&b, SQL_MAX);
    for (size_t i = 0; i + 3 <= part.n; i++) {
        buf_str_append(&b, i ? STR(" AND \"") : STR("\""));
        for (size_t j = i; j < i + 3; j++) {
            if (part.p[j] == '"')
                buf_byte(&b, '"');
            buf_byte(&b, part.p[j]);
        }
        buf_byte(&b, '"');
    }
    return str_dup(a, buf_str(&b));
}

/* ---- reading ---- */

struct walk {
    struct arena *arena;
    uint64_t offset, passed;
    bool desc;
    struct names_place *out;
};

static bool pass(void *arg, sqlite3_stmt *s)
{
    struct walk *w = arg;
    uint64_t n = (uint64_t)sqlite3_column_int64(s, 1);
    bool over = w->passed + n > w->offset;

    /* Upwards this step begins it; downwards the one that was passed last bounds it. */
    if (over == !w->desc)
        w->out->name = str_dup(w->arena, column(s, 0));
    w->out->found = over;
    if (!over)
        w->passed += n;
    return !over;
}

int names_skip(struct search_index_reader *r, struct arena *a, int64_t type, bool desc,
               uint64_t *offset, struct names_place *out, struct status *st)
{
    struct search_index_value v = { .number = type };
    struct walk w = { .arena = a, .offset = *offset, .desc = desc, .out = out };
    str sql = desc ? STR("SELECT name, n FROM steps WHERE type = ? ORDER BY name DESC")
                   : STR("SELECT name, n FROM steps WHERE type = ? ORDER BY name");

    *out = (struct names_place){ .found = false };
    if (search_index_query(r, sql, &v, 1, pass, &w, st) < 0)
        return -1;
    *offset -= w.passed;
    return 0;
}

/* ---- writing ---- */

struct step {
    char *name;
    size_t len;
    int64_t n, most; /* above most it is cut in two */
    bool changed;
};

struct search_index_steps { /* of one type; the first step is that of the empty name */
    struct step *p;
    size_t n, cap;
    bool changed;
};

enum statement { LOAD, SAVE, END, MIDDLE, NEXT, COUNT, STATEMENTS };

static const char *const sql[STATEMENTS] = {
    [LOAD] = "SELECT name, n FROM steps WHERE type = ? ORDER BY name",
    [SAVE] = "INSERT OR REPLACE INTO steps VALUES(?, ?, ?)",
    [END] = "DELETE FROM steps WHERE type = ? AND name = ?",
    [MIDDLE] = "SELECT name FROM objects WHERE type = ? AND name >= ? ORDER BY name LIMIT ?,1",
    [NEXT] = "SELECT name FROM objects WHERE type = ? AND name > ? ORDER BY name LIMIT 1",
    [COUNT] = "SELECT count(*) FROM objects WHERE type = ? AND name >= ? AND name < ?",
};

static sqlite3_stmt *begin(struct search_index_writer *w, enum statement which, int64_t type,
                           str name)
{
    if (!w->step_statements)
        w->step_statements = mem_zalloc(STATEMENTS * sizeof(sqlite3_stmt *));
    if (!w->step_statements[which] &&
        sqlite3_prepare_v3(w->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                           &w->step_statements[which], NULL) != SQLITE_OK)
        return NULL;
    (void)sqlite3_bind_int64(w->step_statements[which], 1, type);
    if (which != LOAD)
        (void)sqlite3_bind_text(w->step_statements[which], 2, name.n ? name.p : "", (int)name.n,
                                SQLITE_STATIC);
    return w->step_statements[which];
}

static bool run(sqlite3_stmt *s)
{
    int rc = s ? sqlite3_step(s) : SQLITE_ERROR;

    (void)sqlite3_reset(s);
    return rc == SQLITE_DONE;
}

static str name_of(const struct step *s)
{
    return (str){ s->name, s->len };
}

static struct step *add(struct search_index_steps *t, size_t at, str name, int64_t n)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 4;
        t->p = mem_realloc_n(t->p, t->cap, sizeof(*t->p));
    }
    memmove(t->p + at + 1, t->p + at, (t->n - at) * sizeof(*t->p));
    t->n++;
    t->p[at] = (struct step){ .name = mem_dup(name.n ? name.p : "", name.n ? name.n : 1),
                              .len = name.n,
                              .n = n,
                              .most = n < STEP_MAX ? STEP_MAX : 2 * n };
    return &t->p[at];
}

static bool load(struct search_index_writer *w, struct search_index_steps *t, int64_t type)
{
    sqlite3_stmt *s = begin(w, LOAD, type, STR_NONE);
    int rc;

    if (!s)
        return false;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW)
        (void)add(t, t->n, column(s, 0), sqlite3_column_int64(s, 1));
    (void)sqlite3_reset(s);
    if (t->n == 0 || t->p[0].len)
        (void)add(t, 0, STR_NONE, 0);
    return rc == SQLITE_DONE;
}

static struct search_index_steps *steps_of(struct search_index_writer *w, int64_t type)
{
    size_t at = (size_t)type;

    if (at >= w->nsteps) {
        w->steps = mem_realloc_n(w->steps, at + 1, sizeof(*w->steps));
        memset(w->steps + w->nsteps, 0, (at + 1 - w->nsteps) * sizeof(*w->steps));
        w->nsteps = at + 1;
    }
    if (!w->steps[at]) {
        w->steps[at] = mem_zalloc(sizeof(struct search_index_steps));
        if (!load(w, w->steps[at], type))
            return NULL;
    }
    return w->steps[at];
}

/* The last step that does not begin behind the name. */
static size_t find(const struct search_index_steps *t, str name)
{
    size_t from = 0, to = t->n;

    while (to - from > 1) {
        size_t mid = from + (to - from) / 2;

        if (str_cmp(name_of(&t->p[mid]), name) <= 0)
            from = mid;
        else
            to = mid;
    }
    return from;
}

/* A name in the middle of a step, or after its first one; false: there is none, or an error. */
static bool middle(struct search_index_writer *w, int64_t type, const struct step *it,
                   struct arena *a, str *out)
{
    sqlite3_stmt *s = begin(w, MIDDLE, type, name_of(it));
    bool found;

    if (!s)
        return false;
    (void)sqlite3_bind_int64(s, 3, it->n / 2);
    found = sqlite3_step(s) == SQLITE_ROW;
    if (found)
        *out = str_dup(a, column(s, 0));
    (void)sqlite3_reset(s);
    if (found && !str_eq(*out, name_of(it)))
        return true;
    s = begin(w, NEXT, type, name_of(it));
    found = s && sqlite3_step(s) == SQLITE_ROW;
    if (found)
        *out = str_dup(a, column(s, 0));
    (void)sqlite3_reset(s);
    return found;
}

static bool cut(struct search_index_writer *w, struct search_index_steps *t, int64_t type,
                size_t at)
{
    struct step *it = &t->p[at], *new;
    scoped_arena a = arena_new();
    sqlite3_stmt *s;
    str name = STR_NONE;
    int64_t below;

    it->most = 2 * it->n; /* where all have one name it stays whole */
    if (!middle(w, type, it, a, &name) ||
        (at + 1 < t->n && str_cmp(name, name_of(&t->p[at + 1])) >= 0))
        return true;
    s = begin(w, COUNT, type, name_of(it));
    if (!s)
        return false;
    (void)sqlite3_bind_text(s, 3, name.p, (int)name.n, SQLITE_STATIC);
    if (sqlite3_step(s) != SQLITE_ROW) {
        (void)sqlite3_reset(s);
        return false;
    }
    below = sqlite3_column_int64(s, 0);
    (void)sqlite3_reset(s);
    new = add(t, at + 1, name, t->p[at].n - below);
    new->changed = true;
    it = &t->p[at];
    it->n = below;
    it->most = below < STEP_MAX ? STEP_MAX : 2 * below;
    it->changed = true;
    return true;
}

bool names_count(struct search_index_writer *w, int64_t type, str name, int delta)
{
    struct search_index_steps *t = steps_of(w, type);
    size_t at;

    if (!t)
        return false;
    at = find(t, name);
    t->changed = true;
    t->p[at].n += delta;
    t->p[at].changed = true;
    return t->p[at].n <= t->p[at].most || cut(w, t, type, at);
}

static bool write_step(struct search_index_writer *w, int64_t type, const struct step *it, bool end)
{
    sqlite3_stmt *s = begin(w, end ? END : SAVE, type, name_of(it));

    if (s && !end)
        (void)sqlite3_bind_int64(s, 3, it->n);
    return run(s);
}

/* Steps that have become empty go, but for the first. */
static bool save(struct search_index_writer *w, struct search_index_steps *t, int64_t type)
{
    size_t n = 0;
    bool ok = true;

    for (size_t i = 0; i < t->n; i++) {
        struct step *it = &t->p[i];
        bool end = i && it->n <= 0;

        if (it->changed && ok)
            ok = write_step(w, type, it, end);
        it->changed &= !ok;
        if (end && ok)
            free(it->name);
        else
            t->p[n++] = *it;
    }
    t->n = n;
    t->changed = !ok;
    return ok;
}

bool names_flush(struct search_index_writer *w)
{
    for (size_t i = 0; i < w->nsteps; i++)
        if (w->steps[i] && w->steps[i]->changed && !save(w, w->steps[i], (int64_t)i))
            return false;
    return true;
}

void names_forget(struct search_index_writer *w)
{
    for (size_t i = 0; i < w->nsteps; i++) {
        for (size_t j = 0; w->steps[i] && j < w->steps[i]->n; j++)
            free(w->steps[i]->p[j].name);
        if (w->steps[i])
            free(w->steps[i]->p);
        free(w->steps[i]);
    }
    free(w->steps);
    w->steps = NULL;
    w->nsteps = 0;
    for (size_t i = 0; w->step_statements && i < STATEMENTS; i++)
        (void)sqlite3_finalize(w->step_statements[i]);
    free(w->step_statements);
    w->step_statements = NULL;
}
