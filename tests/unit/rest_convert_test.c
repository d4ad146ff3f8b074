/* SPDX-License-Identifier: Apache-2.0 */

/* Who owns fields in a version that somebody far away converts: spec.color is a label in v2. */

#include "object/crdschema/structural.h"
#include "rest/managed_fields.h"

#include "rest_fixture.h"

static struct {
    unsigned questions, objects;
    bool fails;
} hook;

struct asked {               /* there may be several at once */
    struct loop_timer timer; /* first: on_time gets it */
    struct rest_question *question;
};

static const struct json *converted(struct arena *a, const struct json *v, str to)
{
    static const char *const places[] = { "spec.color", "metadata.labels.color" };
    bool newer = str_is(to, "example.com/v2");
    const struct json *color = json_path(v, places[!newer]);
    struct json version = json_of_str(to);

    v = json_set(a, v, "apiVersion", &version);
    return color ? json_set(a, json_set(a, v, places[!newer], NULL), places[newer], color) : v;
}

static void on_time(struct loop_timer *t)
{
    struct rest_question *q = ((struct asked *)(void *)t)->question;
    struct arena *a = q->req->arena;
    struct json_array out = json_array_new(a);
    struct status st;

    status_init(&st, a);
    (void)status_set(&st, REASON_UNKNOWN, "nobody is there");
    json_for_each (v, q->objects)
        json_push(&out, *converted(a, v, q->to));
    q->done(q, hook.fails ? NULL : json_array_done(&out), hook.fails ? &st : NULL);
}

static void ask_hook(struct rest_question *q)
{
    struct asked *asked = arena_new_of(q->req->arena, struct asked);

    *asked = (struct asked){ .timer.fn = on_time, .question = q };
    hook.questions++;
    hook.objects += (unsigned)json_len(q->objects);
    loop_timer_set(q->req->loop, &asked->timer, 1);
}

static struct rig *begin(struct kind versions[2])
{
    struct rig *r = rig_new();
    struct kind *k = &r->kinds[RIG_THINGS];

    k->conversion = &json_empty_object;
    k->versions = versions;
    k->nversions = 2;
    versions[0] = versions[1] = *k;
    versions[1].api_version = STR("example.com/v2");
    r->rest->convert = ask_hook;
    memset(&hook, 0, sizeof(hook));
    return r;
}

static const char *write_as(struct rig *r, enum verb verb, const char *manager,
                            enum rest_patch type, const char *body)
{
    struct rig_call *c =
        rig_call(r, verb, "", "things", "default", verb == VERB_CREATE ? "" : "a", body);

    c->req.patch_type = type;
    c->req.write.field_manager = str_of(manager);
    hook.questions = hook.objects = 0;
    return rig_answer(c);
}

static const char *managers(struct rig *r)
{
    scoped_buf b = { .max = 1 << 16 };

    json_for_each (e, json_path(rig_get(r, "", "things", "default", "a"), "metadata.managedFields"))
        buf_printf(&b, "%s%.*s", b.n ? " " : "", STR_ARG(json_get_str(e, "manager")));
    return str_z(r->arena, buf_str(&b));
}

#define TYPE "\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\","
#define THING(rest) \
    "{" TYPE "\"metadata\":{\"name\":\"a\"" rest "},\"spec\":{\"color\":\"red\",\"size\":2}}"
#define OLD                                                                                   \
    ",\"managedFields\":[{\"manager\":\"old\",\"operation\":\"Update\",\"apiVersion\":"       \
    "\"example.com/v2\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:labels" \
    "\":{\"f:color\":{}}}}}]"
#define CONFIG(color) "{" TYPE "\"metadata\":{\"name\":\"a\"},\"spec\":{\"color\":\"" color "\"}}"

/* A thing whose color `old` owns, by the name that v2 has for it. */
static void make(struct rig *r)
{
    CHECK_STR(write_as(r, VERB_CREATE, "me", 0,
                       "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"color\":\"red\"}}"),
              "201 a");
    CHECK(hook.questions == 0);
    CHECK_STR(write_as(r, VERB_UPDATE, "me", 0, THING(OLD)), "200 a");
    CHECK(hook.questions == 1 && hook.objects == 2);
    CHECK_STR(managers(r), "old me");
}

TEST(owners_of_another_version_are_asked_for_once)
{
    struct kind versions[2];
    struct rig *r = begin(versions);

    make(r);
    CHECK_STR(write_as(r, VERB_PATCH, "b", PATCH_APPLY, CONFIG("blue")), "409 Conflict");
    CHECK(hook.questions == 1 && hook.objects == 2);
    CHECK_STR(write_as(r, VERB_PATCH, "b", PATCH_APPLY, CONFIG("red")), "200 a");
    CHECK_STR(managers(r), "b old me");
    CHECK_STR(write_as(r, VERB_PATCH, "me", PATCH_MERGE, "{\"spec\":{\"size\":3}}"), "200 a");
    CHECK_STR(managers(r), "b old me");
    CHECK_STR(write_as(r, VERB_PATCH, "me", PATCH_MERGE, "{\"spec\":{\"color\":\"blue\"}}"),
              "200 a");
    CHECK(hook.questions == 1 && hook.objects == 2);
    CHECK_STR(managers(r), "me");
    CHECK_STR(write_as(r, VERB_PATCH, "me", PATCH_MERGE, "{\"spec\":{\"color\":\"red\"}}"),
              "200 a");
    CHECK(hook.questions == 0);
    rig_free(r);
}

TEST(a_failure_refuses_an_apply_and_clears_the_managers_of_an_update)
{
    struct kind versions[2];
    struct rig *r = begin(versions);

    make(r);
    hook.fails = true;
    CHECK_STR(write_as(r, VERB_PATCH, "b", PATCH_APPLY, CONFIG("red")), "500 ");
    CHECK(hook.questions == 1);
    CHECK_STR(managers(r), "old me");
    CHECK_STR(write_as(r, VERB_PATCH, "me", PATCH_MERGE, "{\"spec\":{\"size\":4}}"), "200 a");
    CHECK(hook.questions == 1);
    CHECK_STR(managers(r), "");
    rig_free(r);
}

static const char *colored(struct rig *r, const struct kind *as, const char *fields,
                           const char *labels, uint64_t limit)
{
    struct rig_call *c = rig_call(r, VERB_LIST, "", "things", "default", "", "");
    scoped_buf b = { .max = 1 << 16 };
    const struct json *page;

    c->req.kind = as;
    c->req.list.field_selector = str_of(fields);
    c->req.list.label_selector = str_of(labels);
    c->req.list.limit = limit;
    page = rig_ask(c, NULL);
    json_for_each (o, json_get(page, STR("items")))
        buf_printf(&b, "%s%.*s", b.n ? " " : "", STR_ARG(json_get_str(o, "metadata.name")));
    return str_z(r->arena, buf_str(&b));
}

static const struct field_label paint[] = {
    { .label = STR_INIT("paint"), .path = "metadata.labels.color" },
};

/* v2 with a field to select by that v1, which is stored, has elsewhere. */
static void newer(struct rig *r, struct kind *v2)
{
    const struct schema_field *metadata = schema_field(v2->schema, STR("metadata"));
    const struct json *openapi;
    struct status st;

    status_init(&st, r->arena);
    rig_must(json_parse(r->arena,
                        STR("{\"type\":\"object\","
                            "\"x-kubernetes-preserve-unknown-fields\":true}"),
                        NULL, &openapi, &st),
             &st);
    rig_must(structural_compile(r->arena, metadata->type, openapi, false, &v2->schema, &st), &st);
    v2->schema_id = 99;
    v2->field_labels = paint;
    v2->nfield_labels = 1;
}

static void put(struct rig *r, const char *name, const char *color)
{
    const char *body = arena_printf(r->arena,
                                    "{\"metadata\":{\"name\":\"%s\"},"
                                    "\"spec\":{\"color\":\"%s\"}}",
                                    name, color);

    if (!strstr(rig_do(r, VERB_CREATE, "", "things", "default", "", body), "201"))
        CHECK(strstr(rig_do(r, VERB_UPDATE, "", "things", "default", name, body), "200"));
}

/* k8s: the watch cache of a version selects in that version. */
TEST(a_list_selects_by_what_the_version_that_is_asked_for_says)
{
    static const char *const colors[][2] = { { "a", "red" }, { "b", "blue" }, { "c", "red" } };
    struct kind versions[2];
    struct rig *r = begin(versions);

    for (size_t i = 0; i < 3; i++)
        put(r, colors[i][0], colors[i][1]);
    CHECK_STR(colored(r, &r->kinds[RIG_THINGS], "spec.color=red", "", 0), "a c");
    newer(r, &versions[1]);
    CHECK_STR(colored(r, &versions[1], "", "", 0), "a b c");
    CHECK_STR(colored(r, &versions[1], "paint=red", "", 0), "a c");
    CHECK_STR(colored(r, &versions[1], "paint!=red", "", 0), "b");
    CHECK_STR(colored(r, &versions[1], "", "color=blue", 0), "b");
    CHECK_STR(colored(r, &versions[1], "paint=red", "", 1), "a");
    CHECK_STR(colored(r, &versions[1], "paint=green", "", 1), "");
    rig_free(r);
}

static const char *says(struct rig *r, const char *what)
{
    return arena_printf(r->arena, "%s@%llu", what, (unsigned long long)store_head(r->store));
}

TEST(a_watch_selects_by_it_too)
{
    struct kind versions[2];
    struct rig *r = begin(versions);
    struct rig_call *c = rig_call(r, VERB_WATCH, "", "things", "default", "", "");
    struct rig_watch *w;
    const char *first;

    newer(r, &versions[1]);
    put(r, "b", "blue");
    put(r, "a", "red");
    first = says(r, "ADDED a");
    c->req.kind = &versions[1];
    c->req.list.field_selector = STR("paint=red");
    w = rig_watch(c);
    rig_watch_go(w);
    CHECK_STR(rig_sent(w, 1), first);
    put(r, "b", "red");
    CHECK_STR(rig_sent(w, 1), says(r, "ADDED b"));
    put(r, "a", "blue");
    CHECK_STR(rig_sent(w, 1), says(r, "DELETED a"));
    put(r, "a", "green"); /* before and after it is not selected */
    (void)rig_do(r, VERB_UPDATE, "", "things", "default", "b",
                 "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"color\":\"red\",\"size\":1}}");
    CHECK_STR(rig_sent(w, 1), says(r, "MODIFIED b"));
    (void)rig_do(r, VERB_DELETE, "", "things", "default", "b", "");
    CHECK_STR(rig_sent(w, 1), says(r, "DELETED b"));
    rig_watch_free(w);
    rig_free(r);
}

TEST(a_collection_goes_by_what_the_version_that_is_asked_for_says)
{
    struct kind versions[2];
    struct rig *r = begin(versions);
    struct rig_call *c = rig_call(r, VERB_DELETE_COLLECTION, "", "things", "default", "", "");

    newer(r, &versions[1]);
    put(r, "a", "red");
    put(r, "b", "blue");
    put(r, "c", "red");
    c->req.kind = &versions[1];
    c->req.list.field_selector = STR("paint!=blue");
    CHECK(strstr(rig_answer(c), "200 ")); /* in any order */
    CHECK_STR(colored(r, &versions[1], "", "", 0), "b");
    rig_free(r);
}
