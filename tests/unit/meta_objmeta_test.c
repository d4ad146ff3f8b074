/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/names.h"
#include "tap.h"
#include "unit/parse.h"

/* JSON with ' for ", which reads better in C. */
enum { CAUSES = 4 };

/* The causes as `field: message`, in order. */
static void check_causes(const struct status *st, const char *const want[CAUSES], struct arena *a)
{
    const struct cause *c = st->causes;

    for (size_t i = 0; i < CAUSES && want[i]; i++) {
        str got = c ? str_printf(a, "%.*s: %.*s", STR_ARG(c->field), STR_ARG(c->message))
                    : STR("nothing");

        CHECK_STR(got.p, want[i]);
        c = c ? c->next : NULL;
    }
    if (!CHECK(!c))
        printf("# too many: %.*s: %.*s\n", STR_ARG(c->field), STR_ARG(c->message));
}

#define NS "'namespace':'d',"

TEST(metadata_on_create)
{
    static const struct {
        const char *meta, *causes[CAUSES];
        bool cluster;
    } cases[] = {
        { .meta = "{" NS "'name':'a'}" },
        { .meta = "{'name':'a'}", .cluster = true },
        { .meta = "{" NS "'name':'a','labels':{'k':'v'},'annotations':{'k':'any thing'},"
                  "'finalizers':['orphan','example.com/x'],'generation':3}" },
        { .meta = "{}",
          .cluster = true,
          .causes = { "metadata.name: Required value: name or generateName is required" } },
        { .meta = "{'name':'a','namespace':'x'}",
          .cluster = true,
          .causes = { "metadata.namespace: Forbidden: not allowed on this type" } },
        { .meta = "{'name':'a'}", .causes = { "metadata.namespace: Required value" } },
        { .meta = "{" NS "'name':'a','generateName':'b-'}" },
        { .meta = "{" NS "'name':'a','generation':-1}",
          .causes = { "metadata.generation: Invalid value: -1: must be greater than or equal to "
                      "0" } },
        /* recorded: errors/invalid-metadata */
        { .meta =
              "{" NS
              "'name':'a','ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':'x'}]}",
          .causes = { "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty" } },
        { .meta =
              "{" NS "'name':'a','ownerReferences':[{'apiVersion':'v1','kind':'','name':'','uid'"
              ":'u'}]}",
          .causes = { "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
                      "metadata.ownerReferences.name: Invalid value: \"\": must not be empty" } },
        { .meta =
              "{" NS "'name':'a','ownerReferences':[{'apiVersion':'apps/','kind':'A','name':'x',"
              "'uid':'1'}]}",
          .causes = { "metadata.ownerReferences.apiVersion: Invalid value: \"apps/\": version must "
                      "not be empty" } },
        { .meta =
              "{" NS "'name':'a','ownerReferences':[{'apiVersion':'v1','kind':'Event','name':'x',"
              "'uid':'1'}]}",
          .causes = { "metadata.ownerReferences: Invalid value: {\"apiVersion\":\"v1\",\"kind\":"
                      "\"Event\",\"name\":\"x\",\"uid\":\"1\"}: /v1, Kind=Event is disallowed from "
                      "being an owner" } },
        { .meta = "{" NS "'name':'a','ownerReferences':["
                  "{'apiVersion':'v1','kind':'A','name':'x','uid':'1','controller':true},"
                  "{'apiVersion':'v1','kind':'B','name':'y','uid':'2','controller':true}]}",
          .causes = { "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",\"kind\":"
                      "\"A\",\"name\":\"x\",\"uid\":\"1\",\"controller\":true},{\"apiVersion\":"
                      "\"v1\",\"kind\":\"B\",\"name\":\"y\",\"uid\":\"2\",\"controller\":true}]: "
                      "Only one reference can have Controller set to true. Found \"true\" in "
                      "references for A/x and B/y" } },
        { .meta = "{" NS "'name':'a','finalizers':['kubernetes','noslash']}",
          .causes = { "metadata.finalizers[1]: Invalid value: \"noslash\": name is neither a "
                      "standard finalizer name nor is it fully qualified" } },
        { .meta = "{" NS "'name':'a','finalizers':['orphan','foregroundDeletion']}",
          .causes = { "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: "
                      "finalizer orphan and foregroundDeletion cannot be both set" } },
        { .meta =
              "{" NS "'name':'a','managedFields':[{'operation':'Apply','fieldsType':'FieldsV1'},"
              "{'operation':'Fold','fieldsType':'X','manager':'a\\u0007'}]}",
          .causes = { "metadata.managedFields[1].operation: Invalid value: \"Fold\": must be "
                      "`Apply` or `Update`",
                      "metadata.managedFields[1].fieldsType: Invalid value: \"X\": must be "
                      "`FieldsV1`",
                      "metadata.managedFields[1].manager: Invalid value: \"a\\u0007\": invalid "
                      "character U+0007 (at position 1)" } },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct status st;

        status_init(&st, a);
        objmeta_validate(&st, parse_quoted(a, cases[i].meta), !cases[i].cluster, NAME_SUBDOMAIN);
        objmeta_check_bare_finalizers(&st, parse_quoted(a, cases[i].meta));
        check_causes(&st, cases[i].causes, a);
    }
}

TEST(bad_names_of_all_sorts_are_told_at_once)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    objmeta_validate(
        &st,
        parse_quoted(a, "{'namespace':'A','name':'B_','generateName':'C_','labels':{'!':'!'},"
                        "'annotations':{'!':''},'finalizers':['!/x']}"),
        true, NAME_LABEL);
    CHECK(st.ncauses == 7);
    CHECK(st.causes && str_is(st.causes->field, "metadata.generateName"));
    status_reset(&st);
    objmeta_validate(&st, NULL, true, NAME_LABEL);
    CHECK(st.ncauses == 2);
}

TEST(metadata_on_update)
{
    static const struct {
        const char *meta, *old, *causes[CAUSES];
    } cases[] = {
        { "{'name':'a','uid':'u'}", "{'name':'a','uid':'u'}", { NULL } },
        { "{'name':'a','finalizers':['example.com/x'],'labels':{'n':'l'}}",
          "{'name':'a'}",
          { NULL } },
        { "{'name':'a','uid':'1'}",
          "{'name':'a','uid':'2'}",
          { "metadata.uid: Invalid value: \"1\": field is immutable" } },
        { "{'name':'b','namespace':'c'}",
          "{'name':'a'}",
          { "metadata.name: Invalid value: \"b\": field is immutable",
            "metadata.namespace: Invalid value: \"c\": field is immutable" } },
        { "{'creationTimestamp':'2020-01-01T00:00:00Z'}",
          "{'creationTimestamp':'2021-01-01T00:00:00Z','deletionTimestamp':'2022-01-01T00:00:00Z',"
          "'deletionGracePeriodSeconds':0,'uid':'u'}",
          { "metadata.uid: Invalid value: null: field is immutable",
            "metadata.creationTimestamp: Invalid value: \"2020-01-01T00:00:00Z\": field is "
            "immutable",
            "metadata.deletionTimestamp: Invalid value: null: field is immutable",
            "metadata.deletionGracePeriodSeconds: Invalid value: null: field is immutable" } },
        { "{'deletionTimestamp':'2022-01-01T00:00:00Z','finalizers':['x/z','x/a','x/b','x/b']}",
          "{'deletionTimestamp':'2022-01-01T00:00:00Z','finalizers':['x/a']}",
          { "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
            "deleted, found \"x/b\"" } },
        { "{'deletionTimestamp':'2022-01-01T00:00:00Z'}",
          "{'deletionTimestamp':'2022-01-01T00:00:00Z','finalizers':['x/a']}",
          { NULL } },
        { "{'generation':2}",
          "{'generation':3}",
          { "metadata.generation: Invalid value: 2: must not be decremented" } },
        { "{'finalizers':['x']}",
          "{}",
          { "metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer "
            "name nor is it fully qualified" } },
        { "{'ownerReferences':[{'apiVersion':'v1','kind':'A','name':'x'}]}",
          "{}",
          { "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty" } },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct status st;

        status_init(&st, a);
        objmeta_validate_update(&st, parse_quoted(a, cases[i].meta), parse_quoted(a, cases[i].old));
        objmeta_check_bare_finalizers(&st, parse_quoted(a, cases[i].meta));
        check_causes(&st, cases[i].causes, a);
    }
}
