/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/select.h"

#include "base/rand.h"
#include "rest/index.h"
#include "rest_fixture.h"

enum { OBJECTS = 200, SELECTORS = 300 };

static const char *const colors[] = { "", "red", "green", "blue" };

/* Labels a, b, c with few values, some missing; a color, a size. */
static const char *random_body(struct rig *r, struct rand_seq *rand)
{
    scoped_buf b = { .max = 4096 };
    const char *comma = "";

    buf_lit(&b, ",\"labels\":{");
    for (char key = 'a'; key <= 'c'; key++) {
        uint32_t v = rand_seq_below(rand, 4);

        if (v == 0)
            continue;
        buf_printf(&b, "%s\"%c\":\"%u\"", comma, key, v);
        comma = ",";
    }
    buf_printf(&b, "}},\"spec\":{\"color\":\"%s\",\"size\":%u}}", colors[rand_seq_below(rand, 4)],
               rand_seq_below(rand, 3));
    return str_z(r->arena, buf_str(&b));
}

static const char *random_labels(struct rig *r, struct rand_seq *rand)
{
    static const char *const forms[] = { "%c=%u",        "%c!=%u",        "%c",    "!%c",
                                         "%c in (%u,3)", "%c notin (%u)", "%c>%u", "%c=%u,b" };
    const char *form = forms[rand_seq_below(rand, 8)];
    char key = (char)('a' + rand_seq_below(rand, 3));
    scoped_buf b = { .max = 256 };

    for (const char *p = form; *p; p++) {
        if (p[0] == '%' && p[1] == 'c')
            buf_byte(&b, key);
        else if (p[0] == '%')
            buf_byte(&b, (char)('0' + rand_seq_below(rand, 4)));
        else
            buf_byte(&b, *p);
        p += *p == '%';
    }
    return str_z(r->arena, buf_str(&b));
}

static const char *random_fields(struct rig *r, struct rand_seq *rand)
{
    switch (rand_seq_below(rand, 7)) {
    case 0:
        return arena_printf(r->arena, "spec.color=%s", colors[rand_seq_below(rand, 4)]);
    case 1:
        return arena_printf(r->arena, "spec.color!=%s", colors[rand_seq_below(rand, 4)]);
    case 2:
        return arena_printf(r->arena, "spec.size=%u", rand_seq_below(rand, 3));
    case 3:
        return arena_printf(r->arena, "metadata.name=o%03u", rand_seq_below(rand, OBJECTS));
    case 4:
        return arena_printf(r->arena, "metadata.namespace!=default");
    case 5:
        return arena_printf(r->arena, "letters%s=%c", rand_seq_below(rand, 3) ? "" : "!",
                            (int)('a' + rand_seq_below(rand, 26)));
    default:
        return "";
    }
}

struct picked {
    const struct selection *s;
    struct buf *out;
};

static bool pick(void *arg, const struct row *row)
{
    struct picked *p = arg;
    scoped_arena a = arena_new();

    if (selection_matches(p->s, a, row))
        buf_printf(p->out, "%.*s ", STR_ARG(row->name));
    return true;
}

/* What is selected, by the index or by looking at every row of the kind. */
static const char *selected(struct rig *r, struct rig_call *c, bool by_index, bool *indexed)
{
    struct selection s;
    struct status st;
    scoped_buf b = { .max = 1 << 20 };
    struct picked p = { .s = &s, .out = &b };
    struct rows_range range = { .instance = &c->req.instance, .kind = c->req.kind };

    status_init(&st, r->arena);
    CHECK(selection_init(&s, &c->req, &st) == 0);
    if (by_index) {
        range.prefix = s.prefix;
        range.hash = s.hash;
        *indexed = s.hash != 0;
    }
    CHECK(rows_scan(r->rest, &range, pick, &p, &st) == 0);
    return str_z(r->arena, buf_str(&b));
}

TEST(by_index_and_by_scan_are_the_same)
{
    struct rig *r = rig_new();
    struct rand_seq rand = { 42 };
    int by_index = 0, found = 0;

    for (int i = 0; i < OBJECTS; i++)
        (void)rig_make(r, arena_printf(r->arena, "o%03d", i), random_body(r, &rand));
    /* Some change, some go: index rows of old versions must not count. */
    for (int i = 0; i < OBJECTS; i += 3)
        (void)rig_do(r, i % 2 ? VERB_DELETE : VERB_UPDATE, "", "things", "default",
                     arena_printf(r->arena, "o%03d", i),
                     i % 2 ? ""
                           : arena_printf(r->arena, "{\"metadata\":{\"name\":\"o%03d\"%s", i,
                                          random_body(r, &rand)));
    for (int i = 0; i < SELECTORS && !tap_failed; i++) {
        struct rig_call *c = rig_call(r, VERB_LIST, "", "things", "", "", "");
        const char *one, *all;
        bool indexed = false;

        c->req.list.label_selector = str_of(random_labels(r, &rand));
        c->req.list.field_selector = str_of(random_fields(r, &rand));
        c->req.namespace_ = rand_seq_below(&rand, 2) ? STR("default") : STR_NONE;
        one = selected(r, c, true, &indexed);
        all = selected(r, c, false, &indexed);
        CHECK_STR(one, all);
        by_index += indexed;
        found += *all != '\0';
        rig_call_free(c);
    }
    CHECK(by_index > SELECTORS / 4 && found > SELECTORS / 4); /* else it says nothing */
    rig_free(r);
}

static const char *list_by(struct rig *r, const char *labels, const char *fields)
{
    struct rig_call *c = rig_call(r, VERB_LIST, "", "things", "default", "", "");

    c->req.list.label_selector = str_of(labels);
    c->req.list.field_selector = str_of(fields);
    return rig_answer(c);
}

TEST(selectors_of_a_list)
{
    struct rig *r = rig_new();

    (void)rig_make(r, "a", ",\"labels\":{\"l\":\"1\"}},\"spec\":{\"color\":\"red\",\"size\":1}}");
    (void)rig_make(r, "b", ",\"labels\":{\"l\":\"2\"}},\"spec\":{\"color\":\"red\"}}");
    (void)rig_make(r, "c", "}}");
    CHECK_STR(list_by(r, "l=1", ""), "200 a");
    CHECK_STR(list_by(r, "l", ""), "200 a b");
    CHECK_STR(list_by(r, "l!=1", ""), "200 b c");
    CHECK_STR(list_by(r, "", "spec.color=red"), "200 a b");
    CHECK_STR(list_by(r, "", "spec.color="), "200 c");
    CHECK_STR(list_by(r, "", "spec.size=0"), "200 b c"); /* how an absent one compares */
    CHECK_STR(list_by(r, "", "letters=e"), "200 a b");
    CHECK_STR(list_by(r, "", "letters!=e"), "200 c");
    CHECK_STR(list_by(r, "", "letters=x"), "200");
    CHECK_STR(list_by(r, "l=2", "spec.color=red"), "200 b");
    CHECK_STR(list_by(r, "", "metadata.name=b"), "200 b");
    CHECK_STR(list_by(r, "", "metadata.name=b,metadata.name=a"), "200");
    CHECK_STR(list_by(r, "", "metadata.namespace=other"), "200");
    CHECK_STR(list_by(r, "", "metadata.name!=b"), "200 a c");
    CHECK_STR(list_by(r, "l=", ""), "200");
    CHECK_STR(list_by(r, "l in (", ""), "400 BadRequest");
    CHECK_STR(list_by(r, "", "spec.shape=round"), "400 BadRequest");
    CHECK_STR(list_by(r, "", "rubbish"), "400 BadRequest");
    rig_free(r);
}

TEST(a_name_is_not_a_prefix_of_another)
{
    struct rig *r = rig_new();

    (void)rig_make(r, "ab", "}}");
    (void)rig_make(r, "a", "}}");
    CHECK_STR(list_by(r, "", "metadata.name=a"), "200 a");
    rig_free(r);
}

TEST(of_all_instances_but_root)
{
    static const struct {
        const char *fields;
        bool root, other;
    } rows[] = { { "", true, true },
                 { "kairship.io/instance!=root", false, true },
                 { "metadata.name=a,kairship.io/instance!=root", false, true },
                 { "kairship.io/instance!=root,metadata.name=b", false, false } };
    struct rig *r = rig_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rig_call *c = rig_call(r, VERB_LIST, "", "things", "", "", "");
        struct row root = { .instance = INSTANCE_ROOT, .name = STR("default/a") }, other = root;
        struct selection s;
        struct status st;

        other.instance = INSTANCE_ROOT + 1;
        status_init(&st, r->arena);
        c->req.list.field_selector = str_of(rows[i].fields);
        c->req.instance.id = STORE_ALL;
        CHECK(selection_init(&s, &c->req, &st) == 0);
        CHECK(selection_matches(&s, r->arena, &root) == rows[i].root);
        CHECK(selection_matches(&s, r->arena, &other) == rows[i].other);
        rig_call_free(c);
    }
    /* Of one instance it is no field. */
    CHECK_STR(list_by(r, "", "kairship.io/instance!=root"), "400 BadRequest");
    rig_free(r);
}

/* What a kind says to a field that it does not know. */
static const char *said(const struct kind *k, const char *fields)
{
    static char text[256];
    scoped_arena a = arena_new();
    struct rest_request req = { .kind = k, .arena = a, .list.field_selector = str_of(fields) };
    struct selection s;
    struct status st;

    status_init(&st, a);
    if (selection_init(&s, &req, &st) == 0)
        return "";
    (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(st.message));
    return text;
}

TEST(an_unknown_field_is_refused_in_the_words_of_its_kind)
{
    struct kind plain = { .kind = STR("Thing"), .group = STR("x.io") };
    struct kind own = { .kind = STR("Node"), .kind_selectors = true };
    struct kind custom = { .kind = STR("Thing"), .group = STR("x.io"), .schema_id = 7 };
    struct kind job = { .kind = STR("Job"), .group = STR("batch"), .namespaced = true };
    struct kind slice = { .kind = STR("ResourceSlice"),
                          .group = STR("resource.k8s.io"),
                          .api_version = STR("resource.k8s.io/v1") };

    plain.storage = &plain;
    own.storage = &own;
    custom.storage = &custom;
    job.storage = &job;
    slice.storage = &slice;
    CHECK_STR(said(&plain, "metadata.namespace=x"), "");
    CHECK_STR(said(&plain, "a=b"), "\"a\" is not a known field selector: only \"metadata.name\", "
                                   "\"metadata.namespace\"");
    CHECK_STR(said(&own, "metadata.name=x"), "");
    CHECK_STR(said(&own, "metadata.namespace=x"), "field label not supported: metadata.namespace");
    CHECK_STR(said(&custom, "a=b"), "field label not supported: a");
    CHECK_STR(said(&custom, "metadata.namespace=x"),
              "field label not supported: metadata.namespace");
    CHECK_STR(said(&job, "metadata.namespace=x"), "");
    CHECK_STR(said(&job, "a=b"), "field label \"a\" not supported for Job");
    CHECK_STR(said(&slice, "a=b"),
              "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: a");
    CHECK(said(&slice, "metadata.namespace=x")[0]);
}
