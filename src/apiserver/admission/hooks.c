/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/hooks.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "rest/seal.h"

#define GROUP "admissionregistration.k8s.io"

enum {
    SLOTS = 4096,
    TRIES = 3,             /* of reading, while what is read is forgotten behind it */
    ROWS_MAX = 10000,      /* of one instance */
    CACHE_MAX = 256 << 20, /* bytes of all sets; beyond it the slots are emptied */
};

enum { POLICIES, BINDINGS, MUTATING, VALIDATING, TYPES };

struct hooks {
    struct store *store;
    struct seal *seal;
    uint32_t types[TYPES];
    _Atomic(struct hook_set *) slots[SLOTS];
    _Atomic size_t bytes;
};

static size_t bytes_of(const struct hook_set *s)
{
    return sizeof(*s) + (s->arena ? arena_size(s->arena) : 0);
}

static void set_free(void *arg)
{
    struct hook_set *s = arg;

    if (!s)
        return;
    arena_free(s->arena);
    free(s);
}

/* ---- reading rows ---- */

struct rows {
    struct seal *seal;
    struct arena *arena;
    const struct json **at;
    uint64_t *revs;
    size_t n, cap;
    bool failed;
};

static bool keep_row(void *arg, const struct store_row *row)
{
    struct rows *r = arg;
    struct obj_frame frame = { .rev = row->rev };
    struct status st;
    struct obj obj;

    if (!r->arena)
        r->arena = arena_new();
    status_init(&st, r->arena);
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 8;
        r->at = mem_realloc_n(r->at, r->cap, sizeof(*r->at));
        r->revs = mem_realloc_n(r->revs, r->cap, sizeof(*r->revs));
    }
    r->failed = r->n == ROWS_MAX ||
                seal_view(r->seal, r->arena, &row->key, row->value, &obj, &st) < 0 ||
                obj_tree(r->arena, &obj, &frame, &r->at[r->n], &st) < 0;
    r->revs[r->n] = row->rev;
    r->n += !r->failed;
    return !r->failed;
}

/* ---- compiling ---- */

static void compile(struct arena *a, const struct cel_admission *scope, str text,
                    enum cel_admission_result result, struct hook_expression *out)
{
    out->text = str_dup(a, text);
    out->program = cel_admission_compile(a, out->text, scope, result, &out->error);
}

static struct hook_expressions compile_all(struct arena *a, struct cel_admission *scope,
                                           const struct json *list, const char *name,
                                           const char *text, enum cel_admission_result result)
{
    struct hook_expressions out = { .at = arena_array(a, struct hook_expression,
                                                      json_len(list) + 1) };

    json_for_each (v, list) {
        struct hook_expression *e = &out.at[out.n++];

        compile(a, scope, json_get_str(v, text), result, e);
        e->name = str_dup(a, json_get_str(v, name));
        if (result != ADMISSION_ANY)
            continue;
        scope->variables[scope->nvariables++] =
            (struct cel_var){ e->name, e->program ? cel_result(e->program) : &cel_types[CEL_DYN] };
    }
    return out;
}

static void read_validations(struct arena *a, const struct cel_admission *scope,
                             const struct json *list, struct policy *p)
{
    p->validations = arena_array(a, struct validation, json_len(list) + 1);
    json_for_each (v, list) {
        struct validation *out = &p->validations[p->nvalidations++];
        str message = json_get_str(v, "messageExpression");

        compile(a, scope, json_get_str(v, "expression"), ADMISSION_BOOL, &out->rule);
        if (message.n)
            compile(a, scope, message, ADMISSION_STRING, &out->message);
        out->said = str_dup(a, str_trim(json_get_str(v, "message")));
        if (!status_parse_reason(json_get_str(v, "reason"), &out->reason))
            out->reason = REASON_INVALID;
    }
}

static void read_policy(struct arena *a, const struct json *tree, struct policy *p)
{
    const struct json *spec = json_get(tree, STR("spec")), *kind = json_path(spec, "paramKind");
    const struct json *variables = json_get(spec, STR("variables"));
    struct cel_admission scope = { .policy = true, .params = kind };

    p->name = str_dup(a, json_get_str(tree, "metadata.name"));
    p->ignores_failure = str_is(json_get_str(spec, "failurePolicy"), "Ignore");
    p->param_version = str_dup(a, json_get_str(kind, "apiVersion"));
    p->param_kind = str_dup(a, json_get_str(kind, "kind"));
    hook_match_read(a, json_get(spec, STR("matchConstraints")), "resourceRules", &p->match);
    p->conditions = compile_all(a, &scope, json_get(spec, STR("matchConditions")), "name",
                                "expression", ADMISSION_BOOL);
    scope.variables = arena_array(a, struct cel_var, json_len(variables) + 1);
    p->variables = compile_all(a, &scope, variables, "name", "expression", ADMISSION_ANY);
    read_validations(a, &scope, json_get(spec, STR("validations")), p);
    p->notes = compile_all(a, &scope, json_get(spec, STR("auditAnnotations")), "key",
                           "valueExpression", ADMISSION_STRING_OR_NULL);
}

static void read_ref(struct arena *a, const struct json *ref, struct policy_binding *b)
{
    const struct json *selector = ref ? json_get(ref, STR("selector")) : NULL;
    struct hook_match m;
    struct json_object o = json_object_new(a);

    b->has_ref = ref;
    b->has_name = json_get(ref, STR("name"));
    b->param_name = str_dup(a, json_get_str(ref, "name"));
    b->param_namespace = str_dup(a, json_get_str(ref, "namespace"));
    b->none_is_fine = str_is(json_get_str(ref, "parameterNotFoundAction"), "Allow");
    if (!selector)
        return;
    json_add(&o, STR("objectSelector"), *selector);
    hook_match_read(a, json_object_done(&o), "", &m);
    b->param_selector = m.objects;
}

static const struct policy *find_policy(const struct hook_set *s, str name)
{
    for (size_t i = 0; i < s->npolicies; i++)
        if (str_eq(s->policies[i].name, name))
            return &s->policies[i];
    return NULL;
}

static void read_binding(struct hook_set *s, const struct json *tree)
{
    struct policy_binding *b = &s->bindings[s->nbindings];
    const struct json *spec = json_get(tree, STR("spec"));
    struct arena *a = s->arena;

    *b = (struct policy_binding){ .policy = find_policy(s, json_get_str(spec, "policyName")) };
    if (!b->policy)
        return; /* of nothing yet */
    b->name = str_dup(a, json_get_str(tree, "metadata.name"));
    hook_match_read(a, json_get(spec, STR("matchResources")), "resourceRules", &b->match);
    b->actions = json_text(a, json_get(spec, STR("validationActions")));
    json_for_each (action, json_get(spec, STR("validationActions"))) {
        b->deny = b->deny || str_is(json_str(action), "Deny");
        b->warn = b->warn || str_is(json_str(action), "Warn");
        b->audit = b->audit || str_is(json_str(action), "Audit");
    }
    read_ref(a, json_get(spec, STR("paramRef")), b);
    s->nbindings++;
}

static enum review_version first_known(const struct json *versions)
{
    json_for_each (v, versions) {
        if (str_is(json_str(v), "v1"))
            return REVIEW_V1;
        if (str_is(json_str(v), "v1beta1"))
            return REVIEW_V1BETA1;
    }
    return REVIEW_UNKNOWN;
}

static void read_webhook(struct arena *a, const struct json *tree, struct webhook *w)
{
    const struct json *client = json_get(tree, STR("clientConfig"));
    const struct json *service = json_get(client, STR("service"));
    struct cel_admission scope = { .policy = false };
    str pem = STR_NONE;

    w->name = str_dup(a, json_get_str(tree, "name"));
    w->ignores_failure = str_is(json_get_str(tree, "failurePolicy"), "Ignore");
    w->again = str_is(json_get_str(tree, "reinvocationPolicy"), "IfNeeded");
    w->version = first_known(json_get(tree, STR("admissionReviewVersions")));
    w->timeout_ms = json_int(json_get(tree, STR("timeoutSeconds")), 10) * 1000;
    w->url = service ? service_url(a, service) : str_dup(a, json_get_str(client, "url"));
    if (base64_decode(a, BASE64_GO, json_get_str(client, "caBundle"), &pem))
        w->ca_pem = pem;
    if (service)
        w->service = service_ref_read(a, &(struct instance){ 0 }, service);
    hook_match_read(a, tree, "rules", &w->match);
    w->match.all = false;
    w->conditions = compile_all(a, &scope, json_get(tree, STR("matchConditions")), "name",
                                "expression", ADMISSION_BOOL);
}

static void read_webhooks(struct arena *a, const struct rows *rows, struct webhooks *out)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++)
        n += json_len(json_get(rows->at[i], STR("webhooks")));
    out->at = arena_array(a, struct webhook, n + 1);
    for (size_t i = 0; i < rows->n; i++) {
        size_t place = 0;

        json_for_each (v, json_get(rows->at[i], STR("webhooks"))) {
            struct webhook *w = &out->at[out->n++];

            w->configuration = str_dup(a, json_get_str(rows->at[i], "metadata.name"));
            w->rev = rows->revs[i];
            w->place = place++;
            read_webhook(a, v, w);
        }
    }
}

static void fill(struct hook_set *s, struct rows rows[TYPES])
{
    struct arena *a = s->arena = arena_new();

    s->policies = arena_array(a, struct policy, rows[POLICIES].n + 1);
    for (size_t i = 0; i < rows[POLICIES].n; i++)
        read_policy(a, rows[POLICIES].at[i], &s->policies[s->npolicies++]);
    s->bindings = arena_array(a, struct policy_binding, rows[BINDINGS].n + 1);
    for (size_t i = 0; i < rows[BINDINGS].n; i++)
        read_binding(s, rows[BINDINGS].at[i]);
    read_webhooks(a, &rows[MUTATING], &s->mutating);
    read_webhooks(a, &rows[VALIDATING], &s->validating);
}

static struct hook_set *set_new(struct hooks *h, uint32_t instance, struct status *st)
{
    struct store_range range = { .instance = instance,
                                 .start_instance = instance,
                                 .rev = store_head(h->store) };
    struct rows rows[TYPES] = { 0 };
    struct hook_set *s = mem_zalloc(sizeof(*s));
    bool failed = false;
    size_t n = 0;

    s->instance = instance;
    s->rev = range.rev;
    for (size_t i = 0; i < TYPES && !failed; i++) {
        range.type = h->types[i];
        rows[i].seal = h->seal;
        failed = range.rev && store_scan(h->store, &range, keep_row, &rows[i], st) < 0;
        if (!failed && rows[i].failed)
            failed = status_set(st, REASON_INTERNAL, "a configuration of admission is damaged");
        n += rows[i].n;
    }
    if (!failed && n)
        fill(s, rows);
    for (size_t i = 0; i < TYPES; i++) {
        arena_free(rows[i].arena);
        free(rows[i].at);
        free(rows[i].revs);
    }
    if (!failed)
        return s;
    set_free(s);
    return NULL;
}

/* ---- the cache ---- */

static bool is_fresh(struct hooks *h, const struct hook_set *s)
{
    for (size_t i = 0; i < TYPES; i++)
        if (store_touched(h->store, h->types[i], s->instance) > s->rev)
            return store_head(h->store) <= s->rev;
    return true;
}

static void put(struct hooks *h, size_t slot, struct hook_set *s)
{
    struct hook_set *old = atomic_exchange(&h->slots[slot], s);

    if (s)
        atomic_fetch_add(&h->bytes, bytes_of(s));
    if (!old)
        return;
    atomic_fetch_sub(&h->bytes, bytes_of(old));
    epoch_retire(set_free, old);
}

const struct hook_set *hooks_of(struct hooks *h, uint32_t instance, struct status *st)
{
    size_t slot = (instance * (uint32_t)2654435761 >> 8) % SLOTS;
    struct hook_set *s = atomic_load_explicit(&h->slots[slot], memory_order_acquire);

    if (s && s->instance == instance && is_fresh(h, s))
        return s;
    s = NULL;
    for (int i = 0; !s && i < TRIES; i++) {
        status_reset(st);
        s = set_new(h, instance, st);
    }
    if (!s)
        return NULL;
    if (atomic_load_explicit(&h->bytes, memory_order_relaxed) + bytes_of(s) > CACHE_MAX)
        for (size_t i = 0; i < SLOTS; i++)
            put(h, i, NULL);
    put(h, slot, s);
    return s;
}

struct hooks *hooks_new(struct store *store, struct seal *seal, struct status *st)
{
    static const char *const plurals[TYPES] = {
        [POLICIES] = "validatingadmissionpolicies",
        [BINDINGS] = "validatingadmissionpolicybindings",
        [MUTATING] = "mutatingwebhookconfigurations",
        [VALIDATING] = "validatingwebhookconfigurations",
    };
    struct hooks *h = mem_zalloc(sizeof(*h));

    h->store = store;
    h->seal = seal;
    for (size_t i = 0; i < TYPES; i++)
        if (type_id(store, STR(GROUP), str_of(plurals[i]), &h->types[i], st) < 0) {
            hooks_free(h);
            return NULL;
        }
    return h;
}

void hooks_free(struct hooks *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        set_free(atomic_load(&h->slots[i]));
    free(h);
}
