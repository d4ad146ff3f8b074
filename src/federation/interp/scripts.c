/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/interp/scripts.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "federation/interp/lua_sandbox.h"

enum { DEPENDENCIES_MAX = 1000, DEPENDENCY_SCRIPTS = 16 };

enum operation { RETAIN, REPLICAS, COMPONENTS, REVISE, REFLECT, AGGREGATE, HEALTH, DEPENDENCIES };

static const struct {
    const char *field, *name, *function;
} operations[] = {
    [RETAIN] = { "retention", "Retain", "Retain" },
    [REPLICAS] = { "replicaResource", "InterpretReplica", "GetReplicas" },
    [COMPONENTS] = { "componentResource", "InterpretComponent", "GetComponents" },
    [REVISE] = { "replicaRevision", "ReviseReplica", "ReviseReplica" },
    [REFLECT] = { "statusReflection", "InterpretStatus", "ReflectStatus" },
    [AGGREGATE] = { "statusAggregation", "AggregateStatus", "AggregateStatus" },
    [HEALTH] = { "healthInterpretation", "InterpretHealth", "InterpretHealth" },
    [DEPENDENCIES] = { "dependencyInterpretation", "InterpretDependency", "GetDependencies" },
};

enum { OPERATIONS = sizeof(operations) / sizeof(*operations) };

struct scripts {
    atomic_size_t refs;
    struct arena *arena;
    str code[OPERATIONS]; /* empty: none */
    str dependencies[DEPENDENCY_SCRIPTS];
    size_t ndependencies;
};

static str script_of(const struct json *customization, size_t operation)
{
    const struct json *rules = json_path(customization, "spec.customizations");

    return json_get_str(json_get(rules, str_of(operations[operation].field)), "luaScript");
}

/* ---- sets of them ---- */

static void add(struct scripts *s, size_t operation, str script)
{
    struct status st;
    str code;

    status_init(&st, s->arena);
    if (script.n == 0 || sandbox_compile(s->arena, script, &code, &st) < 0)
        return;
    if (operation == DEPENDENCIES && s->ndependencies < DEPENDENCY_SCRIPTS)
        s->dependencies[s->ndependencies++] = code;
    else if (operation != DEPENDENCIES)
        s->code[operation] = code;
}

struct scripts *scripts_new(const struct json *const *customizations, size_t n)
{
    struct scripts *s = mem_zalloc(sizeof(*s));

    atomic_init(&s->refs, 1);
    s->arena = arena_new();
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < OPERATIONS; o++)
            if (s->code[o].n == 0)
                add(s, o, script_of(customizations[i], o));
    return s;
}

struct scripts *scripts_ref(struct scripts *s)
{
    if (s)
        atomic_fetch_add(&s->refs, 1);
    return s;
}

void scripts_unref(struct scripts *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    arena_free(s->arena);
    free(s);
}

size_t scripts_size(const struct scripts *s)
{
    return sizeof(*s) + arena_size(s->arena);
}

/* ---- admission ---- */

static int check_other(const struct json *customization, const struct json *other,
                       struct status *st)
{
    str name = json_get_str(other, "metadata.name");

    if (str_eq(json_get_str(customization, "metadata.name"), name) ||
        !json_equal(json_path(customization, "spec.target"), json_path(other, "spec.target")))
        return 0;
    for (size_t o = 0; o < OPERATIONS; o++)
        if (o != DEPENDENCIES && script_of(customization, o).n && script_of(other, o).n)
            return status_set(st, REASON_INVALID,
                              "conflicting with InterpreterOperation(%s) of existing "
                              "ResourceInterpreterCustomization(%.*s)",
                              operations[o].name, STR_ARG(name));
    return 0;
}

int scripts_check(struct arena *a, const struct json *customization, const struct json *others,
                  struct status *st)
{
    json_for_each (other, others)
        if (check_other(customization, other, st) < 0)
            return -1;
    for (size_t o = 0; o < OPERATIONS; o++) {
        str script = script_of(customization, o), code;

        if (script.n && sandbox_compile(a, script, &code, st) < 0)
            return status_wrap(st, "InterpreterOperation(%s) Lua script error", operations[o].name);
    }
    return 0;
}

/* ---- asking ---- */

struct question {
    struct sandbox_call call;
    const struct json *args[2];
};

static int ask(struct arena *a, str code, enum operation o, struct question *q, struct status *st)
{
    q->call.code = code;
    q->call.function = operations[o].function;
    q->call.args = q->args;
    q->call.nargs = q->args[1] ? 2 : 1;
    if (q->call.nresults == 0)
        q->call.nresults = 1;
    return sandbox_call(a, &q->call, st);
}

static int not_a(struct status *st, const char *type)
{
    return status_set(st, REASON_INVALID, "expect the returned type is %s", type);
}

/* An object with a new one in its place, which must be a table. */
static int ask_object(struct arena *a, str code, enum operation o, struct question *q,
                      const struct json **out, struct status *st)
{
    if (ask(a, code, o, q, st) < 0)
        return -1;
    if (!json_is(q->call.results[0].json, JSON_OBJECT))
        return not_a(st, "table");
    *out = q->call.results[0].json;
    return 0;
}

/* A binding's spec.replicaRequirements: of what the script says, what there is of it. */
static int take_requirements(struct arena *a, const struct json *v, const struct json **out,
                             struct status *st)
{
    static const struct {
        const char *name;
        enum json_type type;
    } fields[] = { { "nodeClaim", JSON_OBJECT },
                   { "resourceRequest", JSON_OBJECT },
                   { "namespace", JSON_STRING },
                   { "priorityClassName", JSON_STRING } };
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        const struct json *field = json_get(v, str_of(fields[i].name));

        if (!field)
            continue;
        if (!json_is(field, fields[i].type))
            return status_set(st, REASON_INVALID, "%s of the requirements is wrong",
                              fields[i].name);
        json_add(&o, str_of(fields[i].name), *field);
    }
    *out = json_object_done(&o);
    return 0;
}

int scripts_replicas(const struct scripts *s, struct arena *a, const struct json *object,
                     struct interp_replicas *out, struct status *st)
{
    struct question q = { .args = { object }, .call = { .nresults = 2 } };
    const struct sandbox_value *n = &q.call.results[0], *needs = &q.call.results[1];
    const struct json *requirements = NULL;
    double number;

    if (!s || s->code[REPLICAS].n == 0)
        return interp_replicas(a, object, out);
    if (ask(a, s->code[REPLICAS], REPLICAS, &q, st) < 0)
        return -1;
    if (n->type != SANDBOX_NUMBER)
        return not_a(st, "number");
    number = json_is(n->json, JSON_INT) ? (double)n->json->i : n->json->f;
    if (!(number >= INT32_MIN && number <= INT32_MAX))
        return status_set(st, REASON_INVALID, "%g is too large for replicas", number);
    if (needs->type != SANDBOX_NOTHING && !json_is(needs->json, JSON_OBJECT))
        return not_a(st, "table");
    if (needs->json && take_requirements(a, needs->json, &requirements, st) < 0)
        return -1;
    *out = (struct interp_replicas){ (int64_t)number, requirements };
    return 1;
}

int scripts_revise(const struct scripts *s, struct arena *a, const struct json *object,
                   int64_t replicas, const struct json **out, struct status *st)
{
    struct json n = json_of_int(replicas);
    struct question q = { .args = { object, &n } };

    if (s && s->code[REVISE].n)
        return ask_object(a, s->code[REVISE], REVISE, &q, out, st);
    *out = interp_revise(a, object, replicas);
    return 0;
}

/* By apiVersion, kind, namespace and name, each once. */
static int compare_references(const void *a, const void *b)
{
    static const char *const fields[] = { "apiVersion", "kind", "namespace", "name" };

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        int d = str_cmp(json_get_str(a, fields[i]), json_get_str(b, fields[i]));

        if (d)
            return d;
    }
    return 0;
}

static int take_reference(struct json_array *to, const struct json *v, struct status *st)
{
    static const char *const fields[] = { "apiVersion", "kind", "namespace", "name" };
    struct json_object o = json_object_new(to->arena);
    const struct json *selector = json_get(v, STR("labelSelector"));

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        str field = json_get_str(v, fields[i]);

        if (field.n)
            json_add(&o, str_of(fields[i]), json_of_str(field));
        else if (i < 2)
            return status_set(st, REASON_INVALID,
                              "dependencies[%u].%s: Invalid value: \"\": missing "
                              "required %s",
                              to->n, fields[i], fields[i]);
    }
    if (json_is(selector, JSON_OBJECT))
        json_add(&o, STR("labelSelector"), *selector);
    else if (json_get_str(v, "name").n == 0)
        return status_set(st, REASON_INVALID,
                          "dependencies[%u]: dependency can not leave name and "
                          "labelSelector all empty",
                          to->n);
    if (to->n == DEPENDENCIES_MAX)
        return status_set(st, REASON_INVALID, "more than %d dependencies", DEPENDENCIES_MAX);
    json_push(to, json_object_value(&o));
    return 0;
}

int scripts_dependencies(const struct scripts *s, struct arena *a, const struct json *object,
                         const struct json **out, struct status *st)
{
    struct json_array list = json_array_new(a), each_once = json_array_new(a);

    if (!s || s->ndependencies == 0) {
        *out = interp_dependencies(a, object);
        return 0;
    }
    for (size_t i = 0; i < s->ndependencies; i++) {
        struct question q = { .args = { object } };

        if (ask(a, s->dependencies[i], DEPENDENCIES, &q, st) < 0)
            return -1;
        if (q.call.results[0].type != SANDBOX_TABLE)
            return not_a(st, "table");
        json_for_each (v, q.call.results[0].json)
            if (take_reference(&list, v, st) < 0)
                return -1;
    }
    if (list.n)
        qsort(list.items, list.n, sizeof(*list.items), compare_references);
    for (uint32_t i = 0; i < list.n; i++)
        if (i == 0 || !json_equal(&list.items[i - 1], &list.items[i]))
            json_push(&each_once, list.items[i]);
    *out = json_array_done(&each_once);
    return 0;
}

int scripts_aggregate(const struct scripts *s, struct arena *a, const struct json *object,
                      const struct json *aggregated, const struct interp_moment *m,
                      const struct json **out, struct status *st)
{
    struct question q = { .args = { object, aggregated ? aggregated : &json_empty_array } };
    const struct json *now;

    if (!s || s->code[AGGREGATE].n == 0) {
        *out = interp_aggregate(a, object, aggregated, m);
        return 0;
    }
    if (ask_object(a, s->code[AGGREGATE], AGGREGATE, &q, &now, st) < 0)
        return -1;
    now = json_get(now, STR("status"));
    *out = now && !json_equal(now, json_get(object, STR("status"))) ? now : NULL;
    return 0;
}

int scripts_retain(const struct scripts *s, struct arena *a, const struct json *desired,
                   const struct json *observed, const struct json **out, struct status *st)
{
    struct question q = { .args = { desired, observed } };

    if (s && s->code[RETAIN].n)
        return ask_object(a, s->code[RETAIN], RETAIN, &q, out, st);
    *out = interp_retain(a, desired, observed);
    return 0;
}

int scripts_reflect(const struct scripts *s, struct arena *a, const struct json *observed,
                    const struct json **out, struct status *st)
{
    struct question q = { .args = { observed } };

    *out = NULL;
    if (!s || s->code[REFLECT].n == 0) {
        *out = interp_reflect(a, observed);
        return 0;
    }
    if (ask(a, s->code[REFLECT], REFLECT, &q, st) < 0)
        return -1;
    if (q.call.results[0].type == SANDBOX_NOTHING)
        return 0;
    if (!json_is(q.call.results[0].json, JSON_OBJECT))
        return not_a(st, "table");
    *out = q.call.results[0].json;
    return 0;
}

enum interp_health scripts_health(const struct scripts *s, struct arena *a,
                                  const struct json *observed)
{
    struct question q = { .args = { observed } };
    struct status st;

    if (!s || s->code[HEALTH].n == 0)
        return interp_health(observed);
    status_init(&st, a);
    if (ask(a, s->code[HEALTH], HEALTH, &q, &st) < 0 || q.call.results[0].type != SANDBOX_BOOL)
        return INTERP_UNKNOWN;
    return json_bool(q.call.results[0].json) ? INTERP_HEALTHY : INTERP_UNHEALTHY;
}
