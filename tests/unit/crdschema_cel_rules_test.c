/* SPDX-License-Identifier: Apache-2.0 */
#include "object/crdschema/cel_estimate.h"
#include "object/crdschema/cel_rules.h"

#include <stdlib.h>
#include <time.h>

#include "object/crdschema/structural.h"
#include "tap.h"
#include "unit/meta_tables.h"
#include "unit/parse.h"

/* Rules at the nodes of schemas: what they see, and how faults are told. */

/* The faults of an object as "field: message; …", those that are tolerated behind a tilde. */
static const char *faults(struct arena *a, const char *openapi, const char *now, const char *before)
{
    struct schema_set *set = meta_tables_load();
    const struct schema *s;
    struct status st;
    str out = STR_NONE;

    status_init(&st, a);
    if (!CHECK(structural_compile(
                   a, schema_set_find(set, STR("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")),
                   parse(a, openapi), false, &s, &st) == 0)) {
        schema_set_free(set);
        return "";
    }
    structural_validate(s, parse(a, now), before ? parse(a, before) : NULL, &st);
    for (const struct cause *c = st.causes; c; c = c->next)
        out = str_printf(a, "%.*s%s%.*s: %.*s", STR_ARG(out), out.n ? "; " : "", STR_ARG(c->field),
                         STR_ARG(c->message));
    for (const struct cause *c = st.tolerated; c; c = c->next)
        out = str_printf(a, "%.*s%s~%.*s", STR_ARG(out), out.n ? "; " : "",
                         STR_ARG(cause_text(a, c)));
    schema_set_free(set);
    return str_z(a, out);
}

/* A schema whose spec has these properties and these rules. */
#define SPEC(props, rules)                                                                      \
    "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{" props \
    "},\"x-kubernetes-validations\":[" rules "]}}}"
#define RULE(text) "{\"rule\":\"" text "\"}"

struct row {
    const char *openapi, *now, *old, *want;
};

static void run_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped_arena a = arena_new();

        CHECK_STR(faults(a, rows[i].openapi, rows[i].now, rows[i].old), rows[i].want);
    }
}

#define INTS "\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}"

TEST(rules_fail_with_their_words)
{
    static const struct row rows[] = {
        { SPEC(INTS, RULE("self.a <= self.b")), "{\"spec\":{\"a\":1,\"b\":2}}", NULL, "" },
        { SPEC(INTS, RULE("self.a <= self.b")), "{\"spec\":{\"a\":3,\"b\":2}}", NULL,
          "spec: Invalid value: failed rule: self.a <= self.b" },
        { SPEC(INTS, "{\"rule\":\"self.a > 0\",\"message\":\" a \"}"), "{\"spec\":{\"a\":0}}", NULL,
          "spec: Invalid value: a" },
        { SPEC(INTS, "{\"rule\":\"self.a > 0\",\"messageExpression\":\"'a is ' + "
                     "string(self.a)\",\"reason\":\"FieldValueForbidden\",\"fieldPath\":\".a\"}"),
          "{\"spec\":{\"a\":0}}", NULL, "spec.a: Forbidden: a is 0" },
        { SPEC(INTS, "{\"rule\":\"self.a > "
                     "0\",\"message\":\"m\",\"messageExpression\":\"string(self.b)\"}"),
          "{\"spec\":{\"a\":0}}", NULL, "spec: Invalid value: m" },
        { SPEC(INTS, "{\"rule\":\"self.a > 0\",\"reason\":\"FieldValueRequired\"}"),
          "{\"spec\":{\"a\":0}}", NULL, "spec: Required value: failed rule: self.a > 0" },
        { SPEC("\"a\":{\"type\":\"integer\",\"x-kubernetes-validations\":[{\"rule\":\"self > "
               "1\",\"reason\":\"FieldValueDuplicate\"}]}",
               ""),
          "{\"spec\":{\"a\":0}}", NULL, "spec.a: Duplicate value: 0" },
        { SPEC("\"a\":{\"type\":\"integer\",\"x-kubernetes-validations\":[" RULE(
                   "self % 2 == 0") "]}",
               ""),
          "{\"spec\":{\"a\":3}}", NULL, "spec.a: Invalid value: 3: failed rule: self % 2 == 0" },
        { SPEC(INTS, RULE("self.a / self.b > 0")), "{\"spec\":{\"a\":3,\"b\":0}}", NULL,
          "spec: Invalid value: \"object\": division by zero evaluating rule: self.a / self.b > "
          "0" },
        { SPEC(INTS, RULE("self.a > 0")), "{\"spec\":{}}", NULL,
          "spec: Invalid value: \"object\": no such key: a evaluating rule: self.a > 0" },
        { SPEC(INTS, RULE("self.nope > 0")), "{\"spec\":{}}", NULL,
          "spec: Invalid value: \"object\": rule compile error: compilation failed: ERROR: "
          "<input>:1:5: undefined field 'nope'\n | self.nope > 0\n | ....^" },
        { SPEC("\"p\":{\"x-kubernetes-int-or-string\":true}", RULE("self.p > 0")),
          "{\"spec\":{\"p\":\"x\"}}", NULL,
          "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a "
          "supported operator, function or macro signature for rule: self.p > 0" },
    };

    run_rows(rows, sizeof(rows) / sizeof(*rows));
}

TEST(types_come_from_the_schema)
{
    static const struct row rows[] = {
        { SPEC("\"n\":{\"type\":\"number\"}", RULE("type(self.n) == double && self.n == 1.0")),
          "{\"spec\":{\"n\":1}}", NULL, "" },
        { SPEC("\"t\":{\"type\":\"string\",\"format\":\"date-time\"}",
               RULE("self.t > timestamp('2024-01-01T00:00:00Z')")),
          "{\"spec\":{\"t\":\"2024-02-01T00:00:00Z\"}}", NULL, "" },
        { SPEC("\"t\":{\"type\":\"string\",\"format\":\"date\"}",
               RULE("self.t.getFullYear() == 2024")),
          "{\"spec\":{\"t\":\"2024-02-01\"}}", NULL, "" },
        { SPEC("\"t\":{\"type\":\"string\",\"format\":\"duration\"}",
               RULE("self.t == duration('60m')")),
          "{\"spec\":{\"t\":\"1h\"}}", NULL, "" },
        { SPEC("\"t\":{\"type\":\"string\",\"format\":\"byte\"}", RULE("self.t == b'abc'")),
          "{\"spec\":{\"t\":\"YWJj\"}}", NULL, "" },
        { SPEC("\"p\":{\"x-kubernetes-int-or-string\":true}",
               RULE("type(self.p) == int ? self.p == 5 : self.p == '5'")),
          "{\"spec\":{\"p\":\"5\"}}", NULL, "" },
        { SPEC("\"a-b\":{\"type\":\"integer\"},\"namespace\":{\"type\":\"integer\"}",
               RULE("self.a__dash__b == self.__namespace__ && has(self.a__dash__b)")),
          "{\"spec\":{\"a-b\":1,\"namespace\":1}}", NULL, "" },
        { SPEC("\"n\":{\"type\":\"string\",\"nullable\":true}", RULE("!has(self.n)")),
          "{\"spec\":{\"n\":null}}", NULL, "" },
        { "{\"type\":\"object\",\"x-kubernetes-validations\":[" RULE(
              "self.metadata.name.startsWith('a') && self.kind == 'K'") "]}",
          "{\"kind\":\"K\",\"metadata\":{\"name\":\"ab\"}}", NULL, "" },
        { SPEC("\"u\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":"
               "\"string\"}}",
               RULE("self.u == self.u.map(x, x) && self.u + ['a'] == ['a', 'b']")),
          "{\"spec\":{\"u\":[\"a\",\"b\"]}}", NULL, "" },
    };

    run_rows(rows, sizeof(rows) / sizeof(*rows));
}

#define MAP_LIST                                                                                   \
    "{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\",\"x-kubernetes-list-type\":"   \
    "\"map\",\"x-kubernetes-list-map-keys\":[\"k\"],\"items\":{\"type\":\"object\",\"required\":[" \
    "\"k\"],\"properties\":{\"k\":{\"type\":\"string\"},\"v\":{\"type\":\"integer\",\"x-"          \
    "kubernetes-validations\":[" RULE("self >= oldSelf") "]}}}}}}"
#define MAP_OF_INTS                                                                              \
    "{\"type\":\"object\",\"properties\":{\"m\":{\"type\":\"object\",\"additionalProperties\":{" \
    "\"type\":\"integer\",\"x-kubernetes-validations\":[" RULE("self > 0") "]}}}}"

TEST(places_and_old_values)
{
    static const struct row rows[] = {
        { MAP_LIST, "{\"l\":[{\"k\":\"a\",\"v\":1}]}", NULL, "" },
        { MAP_LIST, "{\"l\":[{\"k\":\"b\",\"v\":0},{\"k\":\"a\",\"v\":1}]}",
          "{\"l\":[{\"k\":\"a\",\"v\":2},{\"k\":\"c\",\"v\":9}]}",
          "l[1].v: Invalid value: 1: failed rule: self >= oldSelf" },
        { MAP_OF_INTS, "{\"m\":{\"x\":1,\"y\":0}}", NULL,
          "m[y]: Invalid value: 0: failed rule: self > 0" },
        /* What did not change may stay wrong, and is told. */
        { MAP_OF_INTS, "{\"m\":{\"x\":1,\"y\":0}}", "{\"m\":{\"y\":0}}",
          "~m[y]: Invalid value: 0: failed rule: self > 0" },
        { SPEC(INTS, RULE("self.a > 1")), "{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":1}}",
          "~spec: Invalid value: failed rule: self.a > 1" },
        { SPEC(INTS, RULE("self.a > 1")), "{\"spec\":{\"a\":1,\"b\":2}}", "{\"spec\":{\"a\":1}}",
          "spec: Invalid value: failed rule: self.a > 1" },
        { SPEC(INTS, RULE("self.a == oldSelf.a")), "{\"spec\":{\"a\":1}}", NULL, "" },
        { SPEC(INTS, RULE("self.a == oldSelf.a")), "{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":2}}",
          "spec: Invalid value: failed rule: self.a == oldSelf.a" },
        { SPEC(INTS, "{\"rule\":\"oldSelf.hasValue()\",\"optionalOldSelf\":true}"),
          "{\"spec\":{\"a\":1}}", NULL, "spec: Invalid value: failed rule: oldSelf.hasValue()" },
        { SPEC(INTS, "{\"rule\":\"oldSelf.value().a < self.a\",\"optionalOldSelf\":true}"),
          "{\"spec\":{\"a\":3}}", "{\"spec\":{\"a\":2}}", "" },
        /* Rules wait until the object has its form. */
        { SPEC(INTS, RULE("self.a > 1")), "{\"spec\":{\"a\":\"x\"}}", NULL,
          "spec.a: Invalid value: \"string\": spec.a in body must be of type integer: \"string\"; "
          "<nil>: Invalid value: null: some validation rules were not checked because the object "
          "was invalid; correct the existing errors to complete validation" },
    };

    run_rows(rows, sizeof(rows) / sizeof(*rows));
}

TEST(budgets_end_the_validation)
{
    scoped_arena a = arena_new();
    scoped_buf b;
    const char *got;

    buf_init(&b, 1 << 20);
    buf_lit(&b, "{\"spec\":{\"l\":[");
    for (int i = 0; i < 2000; i++)
        buf_printf(&b, "%s%d", i ? "," : "", i);
    buf_lit(&b, "]}}");
    got = faults(a,
                 SPEC("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}",
                      RULE("self.l.all(x, self.l.all(y, x + y >= 0))") "," RULE("false")),
                 str_z(a, buf_str(&b)), NULL);
    CHECK_STR(got, "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit "
                   "exceeded': no further validation rules will be run due to call cost exceeds "
                   "limit for rule: self.l.all(x, self.l.all(y, x + y >= 0))");
}

static uint64_t estimate(struct arena *a, const char *openapi, const char *rule)
{
    struct schema_set *set = meta_tables_load();
    const struct schema *s;
    struct status st;
    uint64_t cost = 0;
    str why = STR_NONE;

    status_init(&st, a);
    if (CHECK(structural_compile(
                  a, schema_set_find(set, STR("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")),
                  parse(a, openapi), false, &s, &st) == 0)) {
        struct cel_var *vars = arena_array(a, struct cel_var, 1);
        const struct cel_program *p;

        vars[0] = (struct cel_var){ STR("self"), cel_type_of(a, s, STR("selfType0")) };
        p = cel_compile(a, str_of(rule), vars, 1, &why);
        cost = CHECK(p) ? cel_estimate(p) : 0;
    }
    schema_set_free(set);
    return cost;
}

#define LIST_OF(item, limit)                                                                       \
    "{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\"" limit ",\"items\":" item "}}" \
    "}"

/* A pattern that is dear for its length: the time it takes counts, so that the run ends. */
TEST(slow_patterns_end_the_run)
{
    scoped_arena a = arena_new();
    scoped_buf b;
    struct timespec t0, t1;
    const char *got;

    buf_init(&b, 1 << 20);
    buf_lit(&b, "{\"spec\":{\"l\":[");
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "%s\"%0300d\"", i ? "," : "", i);
    buf_lit(&b, "]}}");
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
    got = faults(a,
                 SPEC("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}",
                      RULE("self.l.all(x, !x.matches('([^é]{0,30}[^ü]{0,30}){15}[éx]'))")),
                 str_z(a, buf_str(&b)), NULL);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
    CHECK(strstr(got, "cost limit exceeded"));
    CHECK(t1.tv_sec - t0.tv_sec < 30);
}

TEST(estimates_follow_the_limits)
{
    static const char any[] = LIST_OF("{\"type\":\"string\"}", "");
    static const char ten[] = LIST_OF("{\"type\":\"string\",\"maxLength\":10}", ",\"maxItems\":10");
    static const char ints[] = LIST_OF("{\"type\":\"integer\"}", "");
    static const char map[] =
        "{\"type\":\"object\",\"properties\":{\"m\":{\"type\":\"object\",\"maxProperties\":10,"
        "\"additionalProperties\":{\"type\":\"integer\"}}}}";
    scoped_arena a = arena_new();

    /* What cel-go says of them. */
    const struct {
        const char *openapi, *rule;
        uint64_t cost;
    } table[] = {
        { ten, "self.l.all(x, x == 'a')", 53 },
        { ten, "self.l.exists(x, x == 'a')", 63 },
        { ten, "self.l.exists_one(x, x == 'a')", 44 },
        { ten, "self.l.map(x, x).size() > 0", 145 },
        { ten, "self.l.filter(x, true).size() > 0", 145 },
        { ten, "self.l.all(x, x.contains('a'))", 83 },
        { ten, "self.l.all(x, self.l.all(y, x == y))", 963 },
        { ten, "dyn(self.l).all(x, x == 1)", 44 },
        { ten, "self.?l.optMap(x, x.size() > 0).orValue(true)", 21 },
        { ints, "self.l.all(x, x > 0)", 7864318 },
        { any, "self.l.size() > 0", 4 },
        { any, "self.l == self.l", 104862 },
        { map, "self.m.all(k, k.matches('^[a-z]+$'))", 63 },
        { map, "self.m.all(k, self.m[k] > 0)", 83 },
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        uint64_t cost = estimate(a, table[i].openapi, table[i].rule);

        if (!CHECK(cost == table[i].cost))
            printf("# %s: %llu\n", table[i].rule, (unsigned long long)cost);
    }
    CHECK(estimate(a, any, "self.l.all(x, x.contains('a'))") > 10000000);
    CHECK(estimate(a, ints, "self.l.all(x, self.l.all(y, x > y))") > 10000000);
}

/* The speed that was asked for: far below a microsecond without sanitizers. */
TEST(a_small_rule_is_cheap)
{
    struct schema_set *set = meta_tables_load();
    scoped_arena a = arena_new();
    const struct schema *s;
    const struct json *obj = parse(a, "{\"spec\":{\"a\":1,\"b\":2}}");
    struct timespec t0, t1;
    struct status st;
    const int rounds = 20000;

    status_init(&st, a);
    if (CHECK(structural_compile(
                  a, schema_set_find(set, STR("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")),
                  parse(a, SPEC(INTS, RULE("self.a <= self.b"))), false, &s, &st) == 0)) {
        const struct cel_program *p =
            schema_field(s, STR("spec"))->type->rules->cel->all[0].program;
        struct cel_run run = { .arena = a, .limit = UINT64_MAX };
        struct cel_value self =
            cel_of_json(&run, json_get(obj, STR("spec")), schema_field(s, STR("spec"))->type);

        (void)clock_gettime(CLOCK_MONOTONIC, &t0);
        for (int i = 0; i < rounds; i++)
            CHECK(cel_eval(p, &self, &run).b);
        (void)clock_gettime(CLOCK_MONOTONIC, &t1);
        printf("# %lld ns a run\n",
               (long long)((t1.tv_sec - t0.tv_sec) * 1000000000 + t1.tv_nsec - t0.tv_nsec) /
                   rounds);
    }
    schema_set_free(set);
}
