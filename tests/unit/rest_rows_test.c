/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/rows.h"

#include "base/rand.h"
#include "rest/index.h"
#include "rest_fixture.h"

/*
 * Random rows of a template and two instances, against a merge so simple that it is plainly right:
 * for each name the instance's own row if there is one, else the template's.
 */

enum { NAMES = 12, STEPS = 400, INSTANCES = 2, FIRST = 20 };

struct cell {
    uint64_t rev; /* 0: no row */
    bool hidden;
    int label;
};

struct world {
    struct rig *r;
    struct rand_seq rand;
    struct instance instances[INSTANCES];
    struct cell template[NAMES], own[INSTANCES][NAMES];
    /* What each instance shows at each revision, as "name@rev=label". */
    const char *seen[STEPS + 1][INSTANCES];
    uint64_t revs[STEPS + 1];
};

static const char *const names[NAMES] = { "a",  "a-", "a-1",  "a.b",         "aa", "b",
                                          "b0", "c",  "kube", "kube-public", "z",  "zz" };

static str value(struct world *w, const struct cell *c, const char *name, unsigned flags,
                 const uint64_t **hashes, size_t *n)
{
    struct arena *a = w->r->arena;
    const char *text = arena_printf(a, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"l\":\"%d\"}}}",
                                    name, c->label);
    const struct json *tree = rig_tree(w->r, str_of(text));

    *n = 0;
    if (c->hidden)
        return obj_encode_hidden(a);
    *n = index_hashes(a, &w->r->kinds[RIG_NAMESPACES], tree, hashes);
    return obj_encode(a, tree, STR_NONE, flags);
}

static void write_row(struct world *w, uint32_t instance, struct cell *c, size_t name)
{
    struct store_op op = { .kind = STORE_PUT,
                           .key = { .type = w->r->kinds[RIG_NAMESPACES].type_id,
                                    .instance = instance,
                                    .name = str_of(names[name]) },
                           .expect = STORE_ANY };
    struct store_txn txn = { .ops = &op, .nops = 1 };

    op.value = value(w, c, names[name], instance == INSTANCE_TEMPLATE ? OBJ_TEMPLATE : 0,
                     &op.hashes, &op.nhashes);
    CHECK(store_commit_wait(w->r->store, &txn) == 0);
    c->rev = txn.rev;
}

static void change_something(struct world *w)
{
    size_t name = rand_seq_below(&w->rand, NAMES);
    uint32_t which = rand_seq_below(&w->rand, 6);
    struct cell next = { .label = (int)rand_seq_below(&w->rand, 3) };
    struct cell *c = which == 0 ? &w->template[name] : &w->own[which % INSTANCES][name];

    next.hidden = which != 0 && rand_seq_below(&w->rand, 3) == 0;
    *c = next;
    write_row(w, which == 0 ? INSTANCE_TEMPLATE : FIRST + which % INSTANCES, c, name);
}

static void say(struct buf *b, const char *name, uint64_t rev, int label)
{
    buf_printf(b, "%s@%llu=%d ", name, (unsigned long long)rev, label);
}

static const char *merged(struct world *w, size_t i)
{
    scoped_buf b = { .max = 1 << 16 };

    buf_byte(&b, ' ');
    for (size_t n = 0; n < NAMES; n++) {
        const struct cell *own = &w->own[i][n], *t = &w->template[n];
        uint64_t created = w->instances[i].created_rev;

        if (own->rev && !own->hidden)
            say(&b, names[n], own->rev, own->label);
        else if (!own->rev && t->rev)
            say(&b, names[n], t->rev > created ? t->rev : created, t->label);
    }
    return str_z(w->r->arena, buf_str(&b));
}

struct reading {
    struct arena *arena;
    struct buf *out;
    int left, label; /* rows until it stops; only rows with this label, -1: all */
    str last;
    uint32_t instance;
};

static bool read_row(void *arg, const struct row *row)
{
    struct reading *r = arg;
    const struct json *labels = obj_labels(r->arena, &row->obj);
    int label = json_str(json_get(labels, STR("l"))).p[0] - '0';

    CHECK(row->instance == r->instance);
    r->last = str_dup(r->arena, row->name);
    if (r->label < 0 || r->label == label)
        say(r->out, str_z(r->arena, row->name), row->rev, label);
    return --r->left != 0;
}

/* In portions of random length. */
static const char *scanned(struct world *w, size_t i, uint64_t rev, int label)
{
    struct arena *a = w->r->arena;
    struct rows_range range = { .instance = &w->instances[i],
                                .kind = &w->r->kinds[RIG_NAMESPACES],
                                .rev = rev };
    struct selector labels = { 0 }, none = { 0 };
    scoped_buf b = { .max = 1 << 16 };
    struct reading r = { .arena = a, .out = &b, .label = label, .instance = FIRST + (uint32_t)i };
    struct status st;
    int rc;

    status_init(&st, a);
    if (label >= 0) {
        CHECK(selector_parse_labels(a, str_printf(a, "l=%d", label), &labels, &st) == 0);
        range.hash = index_pick(range.kind, &labels, &none);
        CHECK(range.hash != 0);
    }
    buf_byte(&b, ' ');
    do {
        r.left = 1 + (int)rand_seq_below(&w->rand, NAMES);
        rc = rows_scan(w->r->rest, &range, read_row, &r, &st);
        range.after = r.last;
        range.after_instance = r.instance;
    } while (rc == 1);
    CHECK(rc == 0);
    return str_z(a, buf_str(&b));
}

/* What is left of a text of all rows when only those with a label count. */
static const char *only(struct world *w, const char *all, int label)
{
    scoped_buf b = { .max = 1 << 16 };
    const char *p = all + 1;

    buf_byte(&b, ' ');
    for (const char *end; (end = strchr(p, ' ')); p = end + 1)
        if (label < 0 || end[-1] == '0' + label)
            buf_append(&b, p, (size_t)(end - p) + 1);
    return str_z(w->r->arena, buf_str(&b));
}

static void world_init(struct world *w, uint64_t seed)
{
    w->r = rig_new();
    w->rand.state = seed;
    /* The four of every instance would only be in the way: the type is another. */
    w->r->kinds[RIG_NAMESPACES].type_id = 999;
    for (size_t i = 0; i < INSTANCES; i++)
        w->instances[i] = (struct instance){ .id = FIRST + (uint32_t)i,
                                             .name = STR("x"),
                                             .uid = STR("00000000-0000-4000-8000-000000000001"),
                                             .created = STR("2020-01-02T03:04:05Z"),
                                             .created_rev = store_head(w->r->store) + 3 * i };
    for (size_t n = 0; n < NAMES; n += 2)
        write_row(w, INSTANCE_TEMPLATE, &w->template[n], n);
}

TEST(rows_are_the_instances_over_the_templates)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct world w = { 0 };

        world_init(&w, seed);
        for (size_t step = 0; step <= STEPS; step++) {
            w.revs[step] = store_head(w.r->store);
            for (size_t i = 0; i < INSTANCES; i++)
                w.seen[step][i] = merged(&w, i);
            if (step < STEPS)
                change_something(&w);
        }
        for (int look = 0; look < 300 && !tap_failed; look++) {
            size_t step = rand_seq_below(&w.rand, STEPS + 1);
            size_t i = rand_seq_below(&w.rand, INSTANCES);
            int label = (int)rand_seq_below(&w.rand, 4) - 1;

            CHECK_STR(scanned(&w, i, w.revs[step], label), only(&w, w.seen[step][i], label));
        }
        rig_free(w.r);
    }
}

static const char *got(struct world *w, size_t i, const char *name, uint64_t rev)
{
    struct row row = { 0 };
    struct status st;
    scoped_buf b = { .max = 4096 };
    const struct json *labels;

    status_init(&st, w->r->arena);
    if (rows_get(w->r->rest, w->r->arena, &w->instances[i], &w->r->kinds[RIG_NAMESPACES],
                 str_of(name), rev, &row, &st) != 1)
        return "";
    labels = obj_labels(w->r->arena, &row.obj);
    buf_byte(&b, ' ');
    say(&b, name, row.rev, json_str(json_get(labels, STR("l"))).p[0] - '0');
    return str_z(w->r->arena, buf_str(&b));
}

TEST(a_row_alone_is_the_one_of_the_scan)
{
    struct world w = { 0 };

    world_init(&w, 99);
    for (int step = 0; step < STEPS && !tap_failed; step++) {
        size_t name = rand_seq_below(&w.rand, NAMES), i = rand_seq_below(&w.rand, INSTANCES);
        const char *alone, *all;

        change_something(&w);
        all = merged(&w, i);
        alone = got(&w, i, names[name], 0);
        if (*alone)
            CHECK(strstr(all, alone) != NULL);
        else
            CHECK(strstr(all, arena_printf(w.r->arena, " %s@", names[name])) == NULL);
    }
    rig_free(w.r);
}

static bool count(void *arg, const struct row *row)
{
    (void)row;
    ++*(uint64_t *)arg;
    return true;
}

TEST(over_all_instances_templates_are_none_of_them)
{
    struct world w = { 0 };
    struct instance all = { .id = STORE_ALL };
    struct rows_range range = { .instance = &all };
    uint64_t n = 0, want = 0;
    struct status st;

    world_init(&w, 5);
    status_init(&st, w.r->arena);
    range.kind = &w.r->kinds[RIG_NAMESPACES];
    for (int step = 0; step < 40; step++)
        change_something(&w);
    for (size_t i = 0; i < INSTANCES; i++)
        for (size_t name = 0; name < NAMES; name++)
            want += w.own[i][name].rev && !w.own[i][name].hidden;
    CHECK(rows_scan(w.r->rest, &range, count, &n, &st) == 0);
    CHECK(n == want && n > 0);
    rig_free(w.r);
}

TEST(rows_are_counted_as_they_are_seen)
{
    struct world w = { 0 };
    struct status st;

    world_init(&w, 21);
    status_init(&st, w.r->arena);
    for (int step = 0; step < STEPS && !tap_failed; step++) {
        size_t i = rand_seq_below(&w.rand, INSTANCES);
        struct rows_range range = { .instance = &w.instances[i],
                                    .kind = &w.r->kinds[RIG_NAMESPACES],
                                    .about = step % 2 };
        uint64_t n = 0, want = 0;

        change_something(&w);
        if (store_head(w.r->store) < w.instances[i].created_rev)
            continue;
        CHECK(rows_scan(w.r->rest,
                        &(struct rows_range){ .instance = range.instance, .kind = range.kind },
                        count, &want, &st) == 0);
        for (size_t name = 0; name < NAMES; name++) /* the server hides templates only */
            want += w.own[i][name].hidden && !w.template[name].rev;
        CHECK(rows_count(w.r->rest, &range, 100, &n, &st) == 0 && n == want);
    }
    rig_free(w.r);
}

TEST(rows_are_counted_up_to_a_bound)
{
    struct world w = { 0 };
    struct rows_range range = { .instance = &w.instances[0] };
    uint64_t n = 99;
    struct status st;

    world_init(&w, 1);
    status_init(&st, w.r->arena);
    range.kind = &w.r->kinds[RIG_NAMESPACES];
    CHECK(rows_count(w.r->rest, &range, 100, &n, &st) == 0 && n == NAMES / 2);
    CHECK(rows_count(w.r->rest, &range, 3, &n, &st) == 0 && n == 0);
    range.kind = &w.r->kinds[RIG_THINGS]; /* no templates, no prefix: the store knows */
    CHECK(rows_count(w.r->rest, &range, 3, &n, &st) == 0 && n == 0);
    rig_free(w.r);
}

TEST(names_of_rows)
{
    struct rig *r = rig_new();
    str namespace_, name;

    CHECK_STR(str_z(r->arena, row_name(r->arena, &r->kinds[RIG_THINGS], STR("n"), STR("a"))),
              "n/a");
    CHECK_STR(str_z(r->arena, row_name(r->arena, &r->kinds[RIG_NAMESPACES], STR("n"), STR("a"))),
              "a");
    row_split(&r->kinds[RIG_THINGS], STR("n/a"), &namespace_, &name);
    CHECK(str_is(namespace_, "n") && str_is(name, "a"));
    row_split(&r->kinds[RIG_NAMESPACES], STR("a"), &namespace_, &name);
    CHECK(namespace_.n == 0 && str_is(name, "a"));
    rig_free(r);
}

TEST(a_template_row_has_the_same_identity_each_time)
{
    struct world w = { 0 };
    struct row one, two, other;
    struct status st;
    const struct kind *k;

    world_init(&w, 1);
    status_init(&st, w.r->arena);
    k = &w.r->kinds[RIG_NAMESPACES];
    w.instances[1].uid = STR("00000000-0000-4000-8000-000000000002");
    CHECK(rows_get(w.r->rest, w.r->arena, &w.instances[0], k, STR("a"), 0, &one, &st) == 1);
    CHECK(rows_get(w.r->rest, w.r->arena, &w.instances[0], k, STR("a"), 0, &two, &st) == 1);
    CHECK(rows_get(w.r->rest, w.r->arena, &w.instances[1], k, STR("a"), 0, &other, &st) == 1);
    CHECK(str_eq(one.uid, two.uid) && one.uid.n == 36);
    CHECK(!str_eq(one.uid, other.uid));
    CHECK(one.stored_rev == 0 && str_is(one.created, "2020-01-02T03:04:05Z"));
    rig_free(w.r);
}
