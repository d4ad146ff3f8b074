/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/seal.h"

#include "rest_fixture.h"

/*
 * A seal that anybody could break: things are turned over, behind a letter for the key and a hash
 * of what stands beside them.
 */
struct toy {
    struct seal seal;
    char writes;
    const char *reads;
};

static void turn(str in, char key, char *out)
{
    for (size_t i = 0; i < in.n; i++)
        out[i] = (char)(in.p[i] ^ key);
}

static size_t toy_close(struct seal *s, str group, str plural, str beside, str plain, char *out)
{
    char key = ((struct toy *)(void *)s)->writes;
    uint64_t sum = str_hash(beside, 1, 2);

    (void)group;
    if (!key || !str_is(plural, "things"))
        return 0;
    out[0] = key;
    memcpy(out + 1, &sum, sizeof(sum));
    turn(plain, key, out + 1 + sizeof(sum));
    return 1 + sizeof(sum) + plain.n;
}

static int toy_open(struct seal *s, str beside, str sealed, char *out, size_t *n, struct status *st)
{
    uint64_t sum = str_hash(beside, 1, 2);
    char key = sealed.n ? sealed.p[0] : 0;

    if (sealed.n < 1 + sizeof(sum) || !strchr(((struct toy *)(void *)s)->reads, key))
        return status_set(st, REASON_INTERNAL, "no key %c", key);
    if (memcmp(sealed.p + 1, &sum, sizeof(sum)) != 0)
        return status_set(st, REASON_INTERNAL, "not from here");
    sealed = str_from(sealed, 1 + sizeof(sum));
    turn(sealed, key, out);
    *n = sealed.n;
    return 0;
}

static bool toy_current(struct seal *s, str group, str plural, str sealed)
{
    char key = str_is(plural, "things") ? ((struct toy *)(void *)s)->writes : 0;

    (void)group;
    return (sealed.n ? sealed.p[0] : 0) == key;
}

static struct toy toy = { .seal = { toy_close, toy_open, toy_current } };

static struct rig *begin(void)
{
    toy.writes = 'a';
    toy.reads = "a";
    rig_seal = &toy.seal;
    return rig_new();
}

static str stored(struct rig *r, const char *name)
{
    struct store_key key = { .type = r->kinds[RIG_THINGS].type_id, .name = str_of(name) };
    struct store_row row = { 0 };
    struct instance root;
    struct status st;

    status_init(&st, r->arena);
    epoch_enter();
    CHECK(instance_find(rest_instances(r->rest), r->arena, STR_NONE, &root, &st) == 0);
    key.instance = root.id;
    CHECK(store_get(r->store, r->arena, key, 0, &row, &st) == 1);
    row.value = str_dup(r->arena, row.value);
    epoch_exit();
    return row.value;
}

static void store_raw(struct rig *r, const char *name, str value)
{
    struct store_op op = { .kind = STORE_PUT,
                           .key = { .type = r->kinds[RIG_THINGS].type_id, .name = str_of(name) },
                           .expect = STORE_ANY,
                           .value = value };
    struct store_txn txn = { .ops = &op, .nops = 1 };
    struct instance root;
    struct status st;

    status_init(&st, r->arena);
    epoch_enter();
    CHECK(instance_find(rest_instances(r->rest), r->arena, STR_NONE, &root, &st) == 0);
    epoch_exit();
    op.key.instance = root.id;
    CHECK(store_commit_wait(r->store, &txn) == 0);
}

static const char *get(struct rig *r, const char *name)
{
    return rig_do(r, VERB_GET, "", "things", "default", name, "");
}

static const char *list(struct rig *r, const char *labels)
{
    struct rig_call *c = rig_call(r, VERB_LIST, "", "things", "", "", "");

    c->req.list.label_selector = str_of(labels);
    return rig_answer(c);
}

static const char *patch(struct rig *r, const char *name, const char *body)
{
    struct rig_call *c = rig_call(r, VERB_PATCH, "", "things", "default", name, body);

    c->req.patch_type = PATCH_MERGE;
    return rig_answer(c);
}

TEST(what_is_sealed_is_served_as_before)
{
    struct rig *r = begin();

    CHECK_STR(rig_make(r, "one", ",\"labels\":{\"l\":\"x\"}},\"spec\":{\"color\":\"red\"}}"),
              "201 one");
    CHECK_STR(rig_make(r, "two", "},\"spec\":{\"color\":\"blue\"}}"), "201 two");
    CHECK(!str_contains(stored(r, "default/one"), STR("red")));
    CHECK(!str_contains(stored(r, "default/one"), STR("labels")));
    CHECK_STR(rig_field(r, rig_get(r, "", "things", "default", "one"), "spec.color"), "red");
    CHECK_STR(list(r, ""), "200 one two");
    CHECK_STR(list(r, "l=x"), "200 one");
    CHECK_STR(list(r, "l!=x"), "200 two");
    CHECK_STR(patch(r, "one", "{\"spec\":{\"color\":\"pink\"}}"), "200 one");
    CHECK(!str_contains(stored(r, "default/one"), STR("pink")));
    CHECK_STR(rig_field(r, rig_get(r, "", "things", "default", "one"), "spec.color"), "pink");
    CHECK_STR(rig_do(r, VERB_DELETE, "", "things", "default", "one", ""), "200 Success");
    CHECK_STR(list(r, ""), "200 two");
    rig_free(r);
}

TEST(other_kinds_are_stored_as_they_are)
{
    struct rig *r = begin();

    toy.writes = 0;
    (void)rig_make(r, "one", "},\"spec\":{\"color\":\"red\"}}");
    CHECK(str_contains(stored(r, "default/one"), STR("red")));
    toy.writes = 'a';
    CHECK_STR(list(r, ""), "200 one");
    rig_free(r);
}

TEST(what_somebody_put_elsewhere_does_not_open)
{
    struct rig *r = begin();

    (void)rig_make(r, "one", "}}");
    (void)rig_make(r, "two", "}}");
    store_raw(r, "default/two", stored(r, "default/one"));
    CHECK_STR(get(r, "one"), "200 one");
    CHECK_STR(get(r, "two"), "500 InternalError");
    CHECK_STR(list(r, ""), "500 InternalError");
    /* k8s: what cannot be read cannot be deleted */
    CHECK_STR(rig_do(r, VERB_DELETE, "", "things", "default", "two", ""), "500 InternalError");
    CHECK_STR(patch(r, "two", "{}"), "500 InternalError");
    rig_free(r);
}

TEST(a_header_cannot_be_another)
{
    struct rig *r = begin();
    str value;

    (void)rig_make(r, "one", "}}");
    value = stored(r, "default/one");
    ((char *)(uintptr_t)value.p)[1] ^= OBJ_DELETING;
    store_raw(r, "default/one", value);
    CHECK_STR(get(r, "one"), "500 InternalError");
    store_raw(r, "default/one", str_sub(value, 0, OBJ_HEADER));
    CHECK_STR(get(r, "one"), "500 InternalError");
    rig_free(r);
}

TEST(a_write_that_changes_nothing_takes_the_key_that_writes)
{
    struct rig *r = begin();
    uint64_t head;

    (void)rig_make(r, "one", "}}");
    head = store_head(r->store);
    CHECK_STR(patch(r, "one", "{}"), "200 one");
    CHECK(store_head(r->store) == head);
    toy.writes = 'b';
    toy.reads = "ba";
    CHECK_STR(patch(r, "one", "{}"), "200 one");
    CHECK(store_head(r->store) == head + 1);
    CHECK(seal_part(stored(r, "default/one")).p[0] == 'b');
    CHECK_STR(patch(r, "one", "{}"), "200 one");
    CHECK(store_head(r->store) == head + 1);
    toy.reads = "b";
    CHECK_STR(get(r, "one"), "200 one");
    toy.writes = 0; /* and back to what everybody can read */
    CHECK_STR(patch(r, "one", "{}"), "200 one");
    CHECK(seal_part(stored(r, "default/one")).n == 0);
    rig_free(r);
}

static struct rig_watch *watch(struct rig *r, const char *labels)
{
    struct rig_call *c = rig_call(r, VERB_WATCH, "", "things", "", "", "");
    struct rig_watch *w;

    c->req.list.label_selector = str_of(labels);
    w = rig_watch(c);
    rig_watch_go(w);
    return w;
}

static const char *says(struct rig *r, const char *what)
{
    return arena_printf(r->arena, "%s@%llu", what, (unsigned long long)store_head(r->store));
}

TEST(watches_tell_of_them)
{
    struct rig *r = begin();
    struct rig_watch *all, *some;

    (void)rig_make(r, "one", ",\"labels\":{\"l\":\"x\"}}}");
    all = watch(r, "");
    some = watch(r, "l=x");
    CHECK_STR(rig_sent(all, 1), says(r, "ADDED one"));
    CHECK_STR(rig_sent(some, 1), says(r, "ADDED one"));
    (void)patch(r, "one", "{\"metadata\":{\"labels\":{\"l\":\"y\"}}}");
    CHECK_STR(rig_sent(all, 1), says(r, "MODIFIED one"));
    CHECK_STR(rig_sent(some, 1), says(r, "DELETED one"));
    (void)rig_do(r, VERB_DELETE, "", "things", "default", "one", "");
    CHECK_STR(rig_sent(all, 1), says(r, "DELETED one"));
    rig_watch_free(all);
    rig_watch_free(some);
    rig_free(r);
}

TEST(a_watch_that_cannot_read_says_so_and_ends)
{
    struct rig *r = begin();
    struct rig_watch *all, *some;
    str by_a;

    (void)rig_make(r, "one", "}}");
    by_a = stored(r, "default/one");
    toy.writes = 'b';
    toy.reads = "ba";
    (void)patch(r, "one", "{}");
    all = watch(r, "");
    some = watch(r, "l=x");
    CHECK_STR(rig_sent(all, 1), says(r, "ADDED one"));
    store_raw(r, "default/one", by_a);
    toy.reads = "a"; /* before they hear of it: what it was is not needed by all */
    CHECK_STR(rig_sent(all, 1), says(r, "MODIFIED one"));
    CHECK(strstr(rig_sent(some, 1), "ERROR"));
    CHECK(!all->ended && some->ended);
    store_raw(r, "default/two", by_a);
    CHECK(strstr(rig_sent(all, 1), "ERROR"));
    CHECK(all->ended);
    rig_watch_free(all);
    rig_watch_free(some);
    rig_free(r);
}
