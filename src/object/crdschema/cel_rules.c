/* SPDX-License-Identifier: Apache-2.0 */
#include "object/crdschema/cel_rules.h"

#include "base/banned.h"
#include "object/cel/cel_internal.h"
#include "object/crdschema/structural_internal.h"

enum {
    SCRATCH_MAX = 256 << 10, /* a run's memory that is kept for the next */
    STEPS_A_COST = 16,       /* so that all runs together take a few seconds at most */
};

/* ---- compiling ---- */

static str trimmed(const struct json *rule, const char *name)
{
    return str_trim(json_str(json_get(rule, str_of(name))));
}

/* One step of a fieldPath, behind its '.' or inside its brackets. */
static bool step(struct arena *a, const struct schema **s, str name, str *path)
{
    const struct schema_field *f = schema_field(*s, name);

    if ((*s)->nfields) {
        if (!f)
            return false;
        *path = str_printf(a, "%.*s%s%.*s", STR_ARG(*path), path->n ? "." : "", STR_ARG(name));
        *s = f->type;
        return true;
    }
    if (!(*s)->rules || !(*s)->rules->additional)
        return false;
    *path = str_printf(a, "%.*s[%.*s]", STR_ARG(*path), STR_ARG(name));
    *s = (*s)->rules->additional;
    return true;
}

/* 'a\'b' without the quotes; *at is behind them then. */
static bool quoted(struct arena *a, str text, size_t *at, str *out)
{
    static const char from[] = "abfnrtv'\\", to[] = "\a\b\f\n\r\t\v'\\";
    char *name = arena_alloc(a, text.n + 1);
    size_t n = 0, i = *at + 1;

    if (*at >= text.n || text.p[*at] != '\'')
        return false;
    for (; i < text.n && text.p[i] != '\''; i++) {
        const char *hit = NULL;

        if (text.p[i] == '\\') {
            hit = ++i < text.n && text.p[i] ? strchr(from, text.p[i]) : NULL;
            if (!hit)
                return false;
        }
        name[n++] = hit ? to[hit - from] : text.p[i];
    }
    *at = i + 1;
    *out = (str){ name, n };
    return i < text.n;
}

/* `.a.b`, `.a['b']`: names of fields and keys of maps, never of list items. */
static void read_path(struct arena *a, const struct schema *s, str text, str *out)
{
    str path = STR_NONE;

    for (size_t at = 0; at < text.n;) {
        str name;

        if (text.p[at] == '.') {
            size_t from = ++at;

            while (at < text.n && !strchr(".[]", text.p[at]))
                at++;
            name = str_sub(text, from, at - from);
        } else if (text.p[at] == '[') {
            at++;
            if (!quoted(a, text, &at, &name) || at >= text.n || text.p[at++] != ']')
                return;
        } else {
            return;
        }
        if (name.n == 0 || !step(a, &s, name, &path))
            return;
    }
    *out = path;
}

static enum cause_type reason_of(str reason)
{
    static const enum cause_type types[] = { CAUSE_FORBIDDEN, CAUSE_REQUIRED, CAUSE_DUPLICATE };

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (str_is(reason, cause_reason(types[i])))
            return types[i];
    return CAUSE_INVALID;
}

static void compile_rule(struct arena *a, const struct schema *s, const struct cel_type *self,
                         const struct json *given, struct cel_rule *r)
{
    str text = json_get_str(given, "rule"), expression = json_get_str(given, "messageExpression");
    str path = json_get_str(given, "fieldPath"), why = STR_NONE;
    struct cel_var *vars = arena_array(a, struct cel_var, 2);

    r->rule = str_trim(text);
    r->message = trimmed(given, "message");
    r->reason = reason_of(json_get_str(given, "reason"));
    r->optional_old = json_bool(json_get(given, STR("optionalOldSelf")));
    read_path(a, s, path, &r->field_path);
    if (r->rule.n == 0)
        return;
    vars[0] = (struct cel_var){ STR("self"), self };
    vars[1] = (struct cel_var){ STR("oldSelf"), r->optional_old ? cel_optional_of(a, self) : self };
    r->program = cel_compile(a, text, vars, 2, &why);
    if (!r->program) {
        r->error = str_printf(a, "compilation failed: %.*s", STR_ARG(why));
        return;
    }
    if (cel_result(r->program)->kind != CEL_BOOL) {
        r->program = NULL;
        r->error = STR("cel expression must evaluate to a bool");
        return;
    }
    r->uses_old = cel_uses(r->program, 1);
    if (cel_unmade(r->program).n) {
        r->error = cel_unmade(r->program);
        r->program = NULL;
        return;
    }
    if (expression.n == 0)
        return;
    r->message_program = cel_compile(a, expression, vars, 2, &why);
    if (!r->message_program) {
        r->message_error =
            str_printf(a, "messageExpression compilation failed: %.*s", STR_ARG(why));
    } else if (cel_result(r->message_program)->kind != CEL_STRING) {
        r->message_program = NULL;
        r->message_error = STR("messageExpression must evaluate to a string");
    } else if (cel_unmade(r->message_program).n) {
        r->message_error = cel_unmade(r->message_program);
        r->message_program = NULL;
    }
}

const struct cel_rules *cel_rules_compile(struct arena *a, const struct schema *s,
                                          const struct json *list)
{
    struct cel_rules *out;
    struct cel_rule *all;
    const struct cel_type *self;
    size_t n = 0;

    if (json_len(list) == 0)
        return NULL;
    out = arena_new_of(a, struct cel_rules);
    all = arena_array(a, struct cel_rule, list->n);
    /* Kubernetes has the nanoseconds of its clock behind it. */
    self = cel_type_of(a, s, STR("selfType0"));
    json_for_each (given, list) {
        if (self)
            compile_rule(a, s, self, given, &all[n]);
        else
            all[n].error = STR("unable to convert structural schema to CEL declarations");
        n++;
    }
    out->all = all;
    out->n = n;
    out->untyped = !self;
    return out;
}

/* ---- running ---- */

/* The nearest value with an old one: an unchanged one may fail, because it did before. */
struct pair {
    const struct json *now, *old;
    enum { UNKNOWN, SAME, CHANGED } is;
};

struct validator {
    struct arena *scratch;
    struct status *st;
    uint64_t budget;
    bool ended;
    bool of_default; /* nothing may fail because it did before */
    size_t steps;
};

static void validate(struct validator *v, const struct schema *s, const struct json *value,
                     const struct json *old, struct pair *near, const struct spot *at);

static bool unchanged(struct pair *p)
{
    if (!p)
        return false;
    if (p->is == UNKNOWN)
        p->is = json_equal(p->now, p->old) ? SAME : CHANGED;
    return p->is == SAME;
}

static str field_of(struct validator *v, const struct spot *at, str more)
{
    str path = spot_path(v->st->arena, at, true);

    if (path.n && more.n)
        return str_printf(v->st->arena, "%.*s.%.*s", STR_ARG(path), STR_ARG(more));
    return more.n ? more : path.n ? path : STR("<nil>");
}

/* A rule that could not be run; the value told is the schema's type. */
__attribute__((format(printf, 4, 5))) static void
broken(struct validator *v, const struct schema *s, const struct spot *at, const char *fmt, ...)
{
    str type = json_get_str(s->rules->source, "type");
    const char *text;
    va_list ap;

    va_start(ap, fmt);
    text = arena_vprintf(v->st->arena, fmt, ap);
    va_end(ap);
    status_cause(v->st, CAUSE_INVALID, field_of(v, at, STR_NONE),
                 str_printf(v->st->arena, "\"%.*s\"", STR_ARG(type)), "%s", text);
}

static void out_of_budget(struct validator *v, const struct schema *s, const struct spot *at)
{
    broken(v, s, at,
           "validation failed due to running out of cost budget, no further validation rules will "
           "be run");
    v->ended = true;
}

static str shown(const struct cel_rule *r)
{
    return r->message.n ? r->message : r->rule;
}

/* What a messageExpression gives, or nothing. */
static str message_of(struct validator *v, const struct cel_rule *r, const struct cel_value *vars)
{
    struct cel_run run = { .arena = v->scratch, .limit = CEL_RULE_COST_MAX };
    struct cel_value out;
    str text;

    if (!r->message_program)
        return STR_NONE;
    out = cel_eval(r->message_program, vars, &run);
    v->budget = run.cost < v->budget ? v->budget - run.cost : 0;
    if (out.kind != CEL_STRING)
        return STR_NONE;
    text = str_trim(out.s);
    return text.n <= CEL_MESSAGE_MAX && str_find(text, '\n', 0) < 0 ? text : STR_NONE;
}

static void failed(struct validator *v, const struct cel_rule *r, const struct cel_value *vars,
                   const struct json *value, const struct spot *at, bool tolerated)
{
    str detail = message_of(v, r, vars), text = STR_NONE, field = field_of(v, at, r->field_path);
    bool scalar = value->type != JSON_OBJECT && value->type != JSON_ARRAY;

    if (detail.n == 0)
        detail = r->message.n ? r->message
                              : str_printf(v->scratch, "failed rule: %.*s", STR_ARG(r->rule));
    if (scalar && (r->reason == CAUSE_INVALID || r->reason == CAUSE_DUPLICATE))
        text = json_text(v->st->arena, value);
    if (r->reason == CAUSE_DUPLICATE)
        detail = STR_NONE;
    if (tolerated)
        status_tolerate(v->st, r->reason, field, text, detail);
    else
        status_cause(v->st, r->reason, field, text, "%.*s", STR_ARG(detail));
}

static void run_rule(struct validator *v, const struct schema *s, const struct cel_rule *r,
                     const struct json *value, const struct json *old, struct pair *near,
                     const struct spot *at)
{
    struct cel_run run = { .arena = v->scratch, .limit = CEL_RULE_COST_MAX };
    struct cel_value vars[2], was, out;
    uint64_t cost;
    bool over;

    vars[0] = cel_of_json(&run, value, s);
    vars[1] = (struct cel_value){ .kind = CEL_NULL };
    if (r->uses_old || r->optional_old) {
        was = cel_of_json(&run, old, s);
        vars[1] = r->optional_old ? cel_optional(v->scratch, old ? &was : NULL) : was;
    }
    out = cel_eval(r->program, vars, &run);
    over = cel_over_limit(&run);
    cost = run.cost + run.steps / STEPS_A_COST;
    if (cost > v->budget && !over) {
        out_of_budget(v, s, at);
        return;
    }
    v->budget = cost < v->budget ? v->budget - cost : 0;
    if (over) {
        broken(v, s, at,
               "'%.*s': no further validation rules will be run due to call cost exceeds limit for "
               "rule: %.*s",
               STR_ARG(out.s), STR_ARG(shown(r)));
        v->ended = true;
    } else if (out.kind == CEL_ERROR && str_starts(out.s, STR("no such overload"))) {
        broken(v, s, at,
               "'%.*s': call arguments did not match a supported operator, function or macro "
               "signature for rule: %.*s",
               STR_ARG(out.s), STR_ARG(shown(r)));
    } else if (out.kind == CEL_ERROR) {
        broken(v, s, at, "%.*s evaluating rule: %.*s", STR_ARG(out.s), STR_ARG(shown(r)));
    } else if (!(out.kind == CEL_BOOL && out.b)) {
        failed(v, r, vars, value, at, !v->of_default && !r->uses_old && unchanged(near));
    }
}

static void run_rules(struct validator *v, const struct schema *s, const struct json *value,
                      const struct json *old, struct pair *near, const struct spot *at)
{
    const struct cel_rules *rules = s->rules->cel;

    if (v->budget == 0) {
        out_of_budget(v, s, at);
        return;
    }
    for (size_t i = 0; i < rules->n && !v->ended; i++) {
        const struct cel_rule *r = &rules->all[i];

        if (r->error.n)
            broken(v, s, at, "rule compile error: %.*s", STR_ARG(r->error));
        if (!r->program || (r->uses_old && !old && !r->optional_old))
            continue;
        run_rule(v, s, r, value, old, near, at);
        if (arena_size(v->scratch) > SCRATCH_MAX) {
            arena_free(v->scratch);
            v->scratch = arena_new();
        }
    }
}

/* ---- walking ---- */

static bool same_keys(const struct schema *s, const struct json *a, const struct json *b)
{
    for (size_t i = 0; i < s->nlist_keys; i++) {
        const struct json *x = json_get(a, s->list_keys[i]), *y = json_get(b, s->list_keys[i]);

        if (!json_equal(x ? x : &json_null, y ? y : &json_null))
            return false;
    }
    return true;
}

enum { STEPS_MAX = 20 * 1000 * 1000 };

/* Only items of map lists have old ones; most stay where they are. */
static const struct json *old_item(struct validator *v, const struct schema *s,
                                   const struct json *old, const struct json *item, size_t i)
{
    if (!old || old->type != JSON_ARRAY || s->list_type != SCHEMA_LIST_MAP ||
        item->type != JSON_OBJECT)
        return NULL;
    for (size_t k = 0; k < old->n && ++v->steps < STEPS_MAX; k++) {
        const struct json *o = &old->items[(i + k) % old->n];

        if (o->type == JSON_OBJECT && same_keys(s, o, item))
            return o;
    }
    return NULL;
}

static void below(struct validator *v, const struct schema *s, const struct json *value,
                  const struct json *old, struct pair *near, const struct spot *at)
{
    struct pair here = { .now = value, .old = old };

    if (s && s->rules && s->rules->below_cel && !v->ended && value->type != JSON_NULL)
        validate(v, s, value, old, old ? &here : near, at);
}

static void validate_items(struct validator *v, const struct schema *s, const struct json *value,
                           const struct json *old, struct pair *near, const struct spot *up)
{
    struct spot at = { .up = up, .kind = SPOT_INDEX };

    for (uint32_t i = 0; i < value->n; i++) {
        at.index = i;
        below(v, s->rules->items, &value->items[i], old_item(v, s, old, &value->items[i], i), near,
              &at);
    }
}

static const struct json *old_member(struct validator *v, const struct json *old, str name,
                                     size_t i)
{
    if (!old || old->type != JSON_OBJECT)
        return NULL;
    if (i < old->n && str_eq(old->members[i].name, name))
        return &old->members[i].value;
    v->steps += old->n / 16;
    return v->steps < STEPS_MAX ? json_get(old, name) : NULL;
}

static void validate_members(struct validator *v, const struct schema *s, const struct json *value,
                             const struct json *old, struct pair *near, const struct spot *up)
{
    struct spot at = { .up = up };

    for (uint32_t i = 0; i < value->n; i++) {
        const struct json_member *m = &value->members[i];
        const struct schema_field *f = schema_field(s, m->name);
        const struct schema *member = f ? f->type : s->rules->additional;
        const struct json *was;

        if (!member || !member->rules || !member->rules->below_cel)
            continue;
        was = old_member(v, old, m->name, i);
        at.kind = f ? SPOT_FIELD : SPOT_KEY;
        at.name = m->name;
        below(v, member, &m->value, json_is(was, JSON_NULL) ? NULL : was, near, &at);
    }
}

/* As deep as the schema is. */
static void validate(struct validator *v, const struct schema *s, const struct json *value,
                     const struct json *old, struct pair *near, const struct spot *at)
{
    if (s->rules->cel)
        run_rules(v, s, value, old, near, at);
    if (v->ended)
        return;
    if (value->type == JSON_ARRAY && s->rules->items)
        validate_items(v, s, value, old, near, at);
    else if (value->type == JSON_OBJECT)
        validate_members(v, s, value, old, near, at);
}

void cel_rules_validate(const struct schema *s, const struct json *obj, const struct json *old,
                        struct status *st)
{
    struct validator v = { .st = st, .budget = CEL_OBJECT_COST_MAX };

    if (!s->rules || !s->rules->below_cel)
        return;
    v.scratch = arena_new();
    below(&v, s, obj, old, NULL, NULL);
    arena_free(v.scratch);
}

/* k8s: pkg/apiserver/schema/defaulting/validation.go */
void cel_rules_validate_default(const struct schema *s, str path, const struct json *value,
                                struct status *st)
{
    struct validator v = { .st = st, .budget = CEL_OBJECT_COST_MAX, .of_default = true };
    struct spot at = { .kind = SPOT_FIELD, .name = path };
    unsigned before = st->ncauses;

    if (!s->rules->below_cel)
        return;
    v.scratch = arena_new();
    below(&v, s, value, value, NULL, &at);
    if (st->ncauses == before)
        below(&v, s, value, NULL, NULL, &at);
    arena_free(v.scratch);
}
