/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/crd/custom.h"
#include "unit/kinds_fixture.h"
#include "unit/parse.h"

/* Words are those of kube-apiserver 1.35. */

#define CRD                                                                                       \
    "{\"spec\":{\"group\":\"g.io\",\"scope\":\"Namespaced\",\"versions\":[{\"name\":\"v1\","      \
    "\"served\":true,\"storage\":true,\"subresources\":{\"status\":{},\"scale\":{"                \
    "\"specReplicasPath\":\".spec.n\",\"statusReplicasPath\":\".status.n\",\"labelSelectorPath\"" \
    ":\".status.sel\"}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{"    \
    "\"spec\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,\"properties\""  \
    ":{\"s\":{\"type\":\"string\"}}},\"status\":{\"x-kubernetes-preserve-unknown-fields\":true,"  \
    "\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"string\"}}}}}}}]},\"status\":{"        \
    "\"acceptedNames\":{\"kind\":\"W\",\"plural\":\"ws\",\"singular\":\"w\",\"listKind\":"        \
    "\"WList\"}}}"

struct world {
    struct custom *custom;
    struct kind_context c;
    struct status st;
};

static struct world begin(void)
{
    struct world w = { .c.arena = arena_new() };
    const struct kind *const *kinds;

    fixture_kinds();
    status_init(&w.st, w.c.arena);
    w.custom = custom_new(parse(w.c.arena, CRD), 1, kinds_catalog_instance(), &w.st);
    if (!CHECK(w.custom) || !CHECK(custom_kinds(w.custom, &kinds) == 1))
        exit(1);
    w.c.kind = kinds[0];
    return w;
}

static void end(struct world *w)
{
    custom_unref(w->custom);
    arena_free(w->c.arena);
}

static const char *faults(struct world *w, const char *subresource, const char *obj)
{
    str text = STR("");

    status_reset(&w->st);
    w->c.subresource = str_of(subresource);
    w->c.kind->ops->validate_update(&w->c, parse(w->c.arena, obj), parse(w->c.arena, "{}"), &w->st);
    for (const struct cause *c = w->st.causes; c; c = c->next)
        text = str_printf(w->c.arena, "%.*s%s%.*s: %.*s", STR_ARG(text), text.n ? "; " : "",
                          STR_ARG(c->field), STR_ARG(c->message));
    return str_z(w->c.arena, text);
}

TEST(what_a_scale_shows_is_checked)
{
    static const struct {
        const char *subresource, *obj, *faults;
    } rows[] = {
        { "", "{\"spec\":{\"n\":2147483647},\"status\":{\"n\":0,\"sel\":\"a=b\"}}", "" },
        { "", "{}", "" },
        { "", "{\"spec\":{\"n\":-1}}",
          ".spec.n: Invalid value: -1: should be a non-negative integer" },
        { "", "{\"spec\":{\"s\":1,\"n\":2147483648},\"status\":{\"n\":-5}}",
          "spec.s: Invalid value: \"integer\": spec.s in body must be of type string: \"integer\"; "
          ".spec.n: Invalid value: 2147483648: should be less than or equal to 2147483647; "
          ".status.n: Invalid value: -5: should be a non-negative integer" },
        { "", "{\"spec\":{\"n\":\"x\"},\"status\":{\"sel\":[1]}}",
          ".spec.n: Invalid value: 0: must be an integer, not a string; .status.sel: Invalid "
          "value: \"\": must be a string, not an array" },
        { "", "{\"spec\":[]}",
          "spec: Invalid value: \"array\": spec in body must be of type object: \"array\"; "
          ".spec.n: Invalid value: 0: it is in what is no object" },
        /* of status only status is looked at, and it is the root of messages */
        { "status", "{\"spec\":{\"s\":1,\"n\":-1},\"status\":{\"n\":-1,\"p\":1}}",
          "status.p: Invalid value: \"integer\": p in body must be of type string: \"integer\"; "
          ".status.n: Invalid value: -1: should be a non-negative integer" },
    };
    struct world w = begin();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(faults(&w, rows[i].subresource, rows[i].obj), rows[i].faults);
    end(&w);
}

TEST(new_finalizers_should_have_a_domain)
{
    static const char *const says[] = {
        "metadata.finalizers: \"a.b\": prefer a domain-qualified finalizer name including a path "
        "(/) to avoid accidental conflicts with other finalizer writers",
        "metadata.finalizers: \"bad\": prefer a domain-qualified finalizer name to avoid "
        "accidental conflicts with other finalizer writers",
    };
    struct world w = begin();
    const struct json *old = parse(w.c.arena, "{\"metadata\":{\"finalizers\":[\"old\"]}}");
    const struct json *obj =
        parse(w.c.arena, "{\"metadata\":{\"finalizers\":[\"old\",\"bad\",\"a.b\",\"a.b/c\","
                         "\"orphan\",\"bad\"]}}");
    struct schema_faults warnings = { 0 };

    w.c.kind->ops->warn(&w.c, obj, old, &warnings);
    REQUIRE(warnings.n == 2);
    for (size_t i = 0; i < 2; i++)
        CHECK_STR(str_z(w.c.arena, warnings.texts[i]), says[i]);
    warnings.n = 0;
    w.c.kind->ops->warn(&w.c, old, NULL, &warnings);
    CHECK(warnings.n == 1);
    end(&w);
}
