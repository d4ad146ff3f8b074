/* SPDX-License-Identifier: Apache-2.0 */

/* managedFields and server-side apply through rest; what they mean is tested in meta_managers. */

#include "rest/managed_fields.h"

#include "rest_fixture.h"

static struct rig_call *write_as(struct rig *r, enum verb verb, const char *manager,
                                 const char *subresource, const char *body)
{
    struct rig_call *c =
        rig_call(r, verb, "", "things", "default", verb == VERB_CREATE ? "" : "a", body);

    c->req.patch_type = PATCH_MERGE;
    c->req.write.field_manager = str_of(manager);
    c->req.subresource = str_of(subresource);
    return c;
}

static struct rig_call *apply_call(struct rig *r, const char *manager, const char *rest)
{
    struct rig_call *c =
        write_as(r, VERB_PATCH, manager, "",
                 arena_printf(r->arena,
                              "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":"
                              "{\"name\":\"a\"%s",
                              rest));

    c->req.patch_type = PATCH_APPLY;
    return c;
}

static const char *apply_as(struct rig *r, const char *manager, const char *rest)
{
    return rig_answer(apply_call(r, manager, rest));
}

/* manager/operation/subresource=fields, with ' for " */
static const char *owners_in(struct rig *r, const struct json *v)
{
    scoped_buf b = { .max = 1 << 16 };
    char *z;

    json_for_each (e, json_path(v, "metadata.managedFields")) {
        str sub = json_get_str(e, "subresource");

        buf_printf(&b, "%s%.*s/%c%s%.*s=", b.n ? ";" : "", STR_ARG(json_get_str(e, "manager")),
                   json_get_str(e, "operation").p[0], sub.n ? "/" : "", STR_ARG(sub));
        json_print(&b, json_get(e, STR("fieldsV1")));
    }
    z = str_z(r->arena, buf_str(&b));
    for (char *p = z; *p; p++)
        if (*p == '"')
            *p = '\'';
    return z;
}

static const char *owners(struct rig *r)
{
    return owners_in(r, rig_get(r, "", "things", "default", "a"));
}

static const char *field(struct rig *r, const char *path)
{
    return rig_field(r, rig_get(r, "", "things", "default", "a"), path);
}

#define RED "},\"spec\":{\"color\":\"red\"}}"

TEST(writers_are_remembered)
{
    struct rig *r = rig_new();

    CHECK_STR(
        rig_answer(write_as(r, VERB_CREATE, "maker", "", "{\"metadata\":{\"name\":\"a\"" RED)),
        "201 a");
    CHECK_STR(owners(r), "maker/U={'f:spec':{'.':{},'f:color':{}}}");
    CHECK_STR(rig_answer(write_as(r, VERB_PATCH, "painter", "", "{\"spec\":{\"color\":\"blue\"}}")),
              "200 a");
    CHECK_STR(owners(r), "maker/U={'f:spec':{}};painter/U={'f:spec':{'f:color':{}}}");
    CHECK_STR(rig_answer(write_as(r, VERB_UPDATE, "putter", "",
                                  "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"color\":\"blue\","
                                  "\"size\":3}}")),
              "200 a");
    CHECK_STR(owners(r), "maker/U={'f:spec':{}};painter/U={'f:spec':{'f:color':{}}};"
                         "putter/U={'f:spec':{'f:size':{}}}");
    rig_free(r);
}

TEST(status_has_owners_of_its_own)
{
    struct rig *r = rig_new();

    CHECK_STR(apply_as(r, "m", RED), "201 a");
    CHECK_STR(rig_answer(write_as(r, VERB_PATCH, "watcher", "status",
                                  "{\"status\":{\"phase\":\"On\"},\"spec\":{\"color\":\"no\"}}")),
              "200 a");
    CHECK_STR(owners(r), "m/A={'f:spec':{'f:color':{}}};"
                         "watcher/U/status={'f:status':{'.':{},'f:phase':{}}}");
    /* what the endpoint does not let through is not owned */
    CHECK_STR(apply_as(r, "m", "},\"status\":{\"phase\":\"Off\"},\"spec\":{\"color\":\"red\"}}"),
              "200 a");
    CHECK_STR(field(r, "status.phase"), "On");
    CHECK_STR(owners(r), "m/A={'f:spec':{'f:color':{}}};"
                         "watcher/U/status={'f:status':{'.':{},'f:phase':{}}}");
    rig_free(r);
}

TEST(applied_again_nothing_is_written)
{
    struct rig *r = rig_new();
    uint64_t head;

    CHECK_STR(apply_as(r, "m", RED), "201 a");
    head = store_head(r->store);
    clock_jump(&r->clock, clock_wall_us(&r->clock) + 5000000);
    CHECK_STR(apply_as(r, "m", RED), "200 a");
    CHECK(store_head(r->store) == head);
    /* a second owner is a change, though nothing else is */
    CHECK_STR(apply_as(r, "n", RED), "200 a");
    CHECK(store_head(r->store) == head + 1);
    CHECK_STR(field(r, "metadata.generation"), "1");
    rig_free(r);
}

TEST(conflicts_and_force)
{
    struct rig *r = rig_new();
    struct rig_call *c;

    CHECK_STR(apply_as(r, "m", RED), "201 a");
    CHECK_STR(apply_as(r, "n", "},\"spec\":{\"color\":\"blue\"}}"), "409 Conflict");
    CHECK_STR(field(r, "spec.color"), "red");
    c = apply_call(r, "n", "},\"spec\":{\"color\":\"blue\"}}");
    c->req.write.force = true;
    CHECK_STR(rig_answer(c), "200 a");
    CHECK_STR(owners(r), "n/A={'f:spec':{'f:color':{}}}");
    rig_free(r);
}

TEST(what_is_no_configuration_is_refused)
{
    struct rig *r = rig_new();
    struct rig_call *c = apply_call(r, "m", "},\"spec\":{\"nope\":1}}");

    /* a subresource is of something that is there */
    c->req.subresource = STR("status");
    CHECK_STR(rig_answer(c), "404 NotFound");

    CHECK_STR(apply_as(r, "m", ",\"managedFields\":[{}]}}"), "400 BadRequest");
    CHECK_STR(apply_as(r, "m", "},\"spec\":{\"nope\":1}}"), "500 ");
    CHECK_STR(apply_as(r, "m", "},\"kind\":\"Other\"}"), "400 BadRequest");
    CHECK_STR(apply_as(r, "m", ",\"uid\":\"x\"}}"), "409 Conflict");
    /* k8s: storage/etcd3/store.go GuaranteedUpdate does not look at it, unlike Create */
    CHECK_STR(apply_as(r, "m", ",\"resourceVersion\":\"7\"" RED), "201 a");
    CHECK_STR(apply_as(r, "m", ",\"uid\":\"x\"" RED), "422 Invalid");
    CHECK_STR(apply_as(r, "m", ",\"resourceVersion\":\"1\"" RED), "409 Conflict");
    rig_free(r);
}

TEST(yaml_is_applied)
{
    struct rig *r = rig_new();
    struct rig_call *c = write_as(r, VERB_PATCH, "m", "",
                                  "apiVersion: example.com/v1\nkind: Thing\n"
                                  "metadata: {name: a}\nspec: {color: red}\n");

    c->req.patch_type = PATCH_APPLY;
    CHECK_STR(rig_answer(c), "201 a");
    CHECK_STR(field(r, "spec.color"), "red");
    rig_free(r);
}

TEST(clients_may_write_the_list)
{
    struct rig *r = rig_new();

    CHECK_STR(apply_as(r, "m", RED), "201 a");
    CHECK_STR(rig_answer(write_as(r, VERB_PATCH, "x", "", "{\"metadata\":{\"managedFields\":[]}}")),
              "200 a");
    CHECK_STR(owners(r), ""); /* nobody, until somebody applies */
    CHECK_STR(rig_answer(write_as(
                  r, VERB_PATCH, "x", "",
                  "{\"metadata\":{\"managedFields\":[{\"manager\":\"k\",\"operation\":\"Apply\","
                  "\"apiVersion\":\"example.com/v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{"
                  "\"f:spec\":{\"f:color\":{}}}}]}}")),
              "200 a");
    CHECK_STR(owners(r), "k/A={'f:spec':{'f:color':{}}}");
    /* one that owns nothing is not looked at */
    CHECK_STR(rig_answer(write_as(
                  r, VERB_PATCH, "x", "",
                  "{\"metadata\":{\"managedFields\":[{\"manager\":\"m\\t\",\"operation\":\"Apply\","
                  "\"apiVersion\":\"example.com/v1\",\"fieldsType\":\"FieldsV1\"},{\"manager\":"
                  "\"k\",\"operation\":\"Apply\",\"apiVersion\":\"example.com/v1\","
                  "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{\"f:color\":{}}}}]}}")),
              "200 a");
    CHECK_STR(owners(r), "k/A={'f:spec':{'f:color':{}}}");
    /* what makes no sense is not taken */
    CHECK_STR(rig_answer(write_as(r, VERB_PATCH, "x", "",
                                  "{\"metadata\":{\"managedFields\":[{\"manager\":\"k\"}]}}")),
              "200 a");
    CHECK_STR(owners(r), "k/A={'f:spec':{'f:color':{}}}");
    CHECK_STR(
        rig_answer(write_as(r, VERB_PATCH, "x", "", "{\"metadata\":{\"managedFields\":[{}]}}")),
        "200 a");
    CHECK_STR(owners(r), "");
    CHECK_STR(apply_as(r, "m", "},\"spec\":{\"color\":\"blue\"}}"), "409 Conflict");
    rig_free(r);
}

TEST(a_json_patch_sees_the_list)
{
    struct rig *r = rig_new();
    struct rig_call *c;

    CHECK_STR(apply_as(r, "m", RED), "201 a");
    c = write_as(
        r, VERB_PATCH, "x", "",
        "[{\"op\":\"test\",\"path\":\"/metadata/managedFields/0/manager\",\"value\":\"m\"},"
        "{\"op\":\"replace\",\"path\":\"/metadata/managedFields/0/manager\",\"value\":"
        "\"o\"}]");
    c->req.patch_type = PATCH_JSON;
    CHECK_STR(rig_answer(c), "200 a");
    CHECK_STR(owners(r), "o/A={'f:spec':{'f:color':{}}}");
    rig_free(r);
}

TEST(a_dry_run_and_metadata_alone_show_owners)
{
    struct rig *r = rig_new();
    struct rig_call *c = apply_call(r, "m", RED);
    int code;

    c->req.write.dry_run = true;
    CHECK_STR(owners_in(r, rig_ask(c, &code)), "m/A={'f:spec':{'f:color':{}}}");
    CHECK(code == 201);
    CHECK_STR(apply_as(r, "m", RED), "201 a");
    c = rig_call(r, VERB_GET, "", "things", "default", "a", "");
    c->req.form = FORM_PARTIAL;
    CHECK_STR(owners_in(r, rig_ask(c, &code)), "m/A={'f:spec':{'f:color':{}}}");
    rig_free(r);
}

TEST(a_delete_that_waits_keeps_owners)
{
    struct rig *r = rig_new();

    CHECK_STR(apply_as(r, "m", ",\"finalizers\":[\"x/y\"]" RED), "201 a");
    CHECK_STR(rig_do(r, VERB_DELETE, "", "things", "default", "a", ""), "200 a");
    CHECK_STR(owners(r), "m/A={'f:metadata':{'f:finalizers':{'v:\\'x/y\\'':{}}},"
                         "'f:spec':{'f:color':{}}}");
    rig_free(r);
}

TEST(some_kinds_give_their_fields_no_owner)
{
    struct rig *r = rig_new();

    r->kinds[RIG_THINGS].owns_nothing = true;
    CHECK_STR(
        rig_answer(write_as(r, VERB_CREATE, "maker", "", "{\"metadata\":{\"name\":\"a\"" RED)),
        "201 a");
    CHECK_STR(owners(r), "");
    rig_free(r);
}

static const char *mark_status(struct rig *r)
{
    return rig_answer(write_as(r, VERB_PATCH, "m", "status",
                               "{\"metadata\":{\"labels\":{\"l\":\"1\"},\"annotations\":{\"n\":"
                               "\"1\"}},\"status\":{\"phase\":\"x\"}}"));
}

TEST(what_a_status_says_of_metadata_depends_on_its_kind)
{
    static const struct {
        enum status_meta kept;
        const char *labels, *annotations, *owned;
    } rows[] = {
        { STATUS_META_FREE, "1", "1",
          "{'f:metadata':{'f:annotations':{'.':{},'f:n':{}},'f:labels':{'.':{},'f:l':{}}},"
          "'f:status':{'.':{},'f:phase':{}}}" },
        { STATUS_META_LABELS, "", "1",
          "{'f:metadata':{'f:annotations':{'.':{},'f:n':{}}},'f:status':{'.':{},'f:phase':{}}}" },
        { STATUS_META_ALL, "", "", "{'f:status':{'.':{},'f:phase':{}}}" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rig *r = rig_new();
        const struct json *v;

        r->kinds[RIG_THINGS].status_meta = rows[i].kept;
        (void)rig_make(r, "a", "},\"spec\":{\"size\":1}}");
        CHECK_STR(mark_status(r), "200 a");
        v = rig_get(r, "", "things", "default", "a");
        CHECK_STR(rig_field(r, v, "metadata.labels.l"), rows[i].labels);
        CHECK_STR(rig_field(r, v, "metadata.annotations.n"), rows[i].annotations);
        CHECK_STR(owners_in(r, v), arena_printf(r->arena,
                                                "m/U/status=%s;unknown/U={'f:spec':{'.':{},"
                                                "'f:size':{}}}",
                                                rows[i].owned));
        rig_free(r);
    }
}

TEST(what_is_applied_without_a_name_is_of_this_namespace)
{
    struct rig *r = rig_new();
    struct rig_call *c;

    CHECK_STR(apply_as(r, "m", "}}"), "201 a");
    c = write_as(r, VERB_PATCH, "m", "",
                 "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{"
                 "\"namespace\":\"other\"}}");
    c->req.patch_type = PATCH_APPLY;
    CHECK_STR(rig_answer(c), "400 BadRequest");
    rig_free(r);
}
