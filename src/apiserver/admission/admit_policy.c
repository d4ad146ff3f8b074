/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/admit_policy.h"

#include "apiserver/admission/hook_eval.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "rest/lookup.h"

enum {
    PARAMS_MAX = 1000,      /* objects that a selector of parameters may find */
    MESSAGE_MAX = 5 * 1024, /* bytes that a messageExpression may give */
    NOTE_MAX = 10 * 1024,   /* bytes of an audit annotation */
    FAILURE_MAX = 64 << 10, /* … and more than one that tells of a failure can have */
};

/* One binding on one write. */
struct judging {
    struct server *server;
    struct hook_write *write;
    const struct policy_binding *binding;
    struct hook_eval eval;
    uint64_t budget;
    size_t expression; /* which of the validations is judged */
    struct status *st;
};

static struct arena *arena_of(const struct judging *j)
{
    return j->write->req->arena;
}

/* ---- what follows ---- */

static int deny(struct judging *j, enum reason reason, str message)
{
    const struct rest_request *req = j->write->req;
    str text =
        str_printf(arena_of(j),
                   "ValidatingAdmissionPolicy '%.*s' with binding '%.*s' denied request: "
                   "%.*s",
                   STR_ARG(j->binding->policy->name), STR_ARG(j->binding->name), STR_ARG(message));

    (void)status_forbidden(j->st, req->kind->group, req->kind->plural, j->write->name, "%.*s",
                           STR_ARG(text));
    status_cause(j->st, CAUSE_OTHER, STR_NONE, STR_NONE, "%.*s", STR_ARG(text));
    j->st->reason = reason;
    return -1;
}

/* k8s: policy/validating/dispatcher.go publishValidationFailureAnnotation */
static void note_failure(struct judging *j, str message)
{
    const struct policy_binding *b = j->binding;
    scoped_buf v = { .max = FAILURE_MAX };

    buf_lit(&v, "[{\"message\":");
    json_print_string(&v, str_sub(message, 0, MESSAGE_MAX));
    buf_lit(&v, ",\"policy\":");
    json_print_string(&v, b->policy->name);
    buf_lit(&v, ",\"binding\":");
    json_print_string(&v, b->name);
    buf_printf(&v, ",\"expressionIndex\":%zu,\"validationActions\":", j->expression);
    buf_str_append(&v, b->actions);
    buf_lit(&v, "}]");
    rest_note(j->write->req, STR("validation.policy.admission.k8s.io/validation_failure"),
              str_dup(arena_of(j), buf_str(&v)));
}

static int fails(struct judging *j, enum reason reason, str message)
{
    const struct policy_binding *b = j->binding;

    if (j->eval.waits)
        return REST_WAIT;
    if (b->audit)
        note_failure(j, message);
    if (b->warn)
        rest_warn(j->write->req,
                  str_printf(arena_of(j),
                             "Validation failed for ValidatingAdmissionPolicy '%.*s' with binding "
                             "'%.*s': %.*s",
                             STR_ARG(b->policy->name), STR_ARG(b->name), STR_ARG(message)));
    return b->deny ? deny(j, reason, message) : 0;
}

/* What cannot be said counts as said, or as not said: failurePolicy. */
static int cannot(struct judging *j, str why)
{
    if (j->eval.waits)
        return REST_WAIT;
    return j->binding->policy->ignores_failure ? 0 : fails(j, REASON_INVALID, why);
}

/* ---- expressions ---- */

static str error_text(struct judging *j, const struct hook_expression *x, struct cel_value v)
{
    return str_printf(arena_of(j), "expression '%.*s' resulted in error: %.*s", STR_ARG(x->text),
                      STR_ARG(v.kind == CEL_ERROR ? v.s : STR("it gave a value of another type")));
}

/* Those that are not mentioned anywhere are not run; errors show where one is used. */
static bool mentioned(const struct policy *p, size_t variable)
{
    str name = p->variables.at[variable].name;

    for (size_t i = 0; i < p->nvalidations; i++)
        if (str_contains(p->validations[i].rule.text, name) ||
            str_contains(p->validations[i].message.text, name))
            return true;
    for (size_t i = 0; i < p->notes.n; i++)
        if (str_contains(p->notes.at[i].text, name))
            return true;
    for (size_t i = variable + 1; i < p->variables.n; i++)
        if (str_contains(p->variables.at[i].text, name))
            return true;
    return false;
}

static void set_variables(struct judging *j)
{
    const struct policy *p = j->binding->policy;
    str *names = arena_array(arena_of(j), str, p->variables.n + 1);
    struct cel_value *values = arena_array(arena_of(j), struct cel_value, p->variables.n + 1);

    for (size_t i = 0; i < p->variables.n; i++) {
        names[i] = p->variables.at[i].name;
        j->eval.vars[ADMISSION_VARIABLES] = cel_fields(arena_of(j), names, values, i);
        values[i] = mentioned(p, i) ? hook_eval_run(&j->eval, &p->variables.at[i], &j->budget)
                                    : (struct cel_value){ .kind = CEL_NULL };
    }
    j->eval.vars[ADMISSION_VARIABLES] = cel_fields(arena_of(j), names, values, p->variables.n);
}

static str message_of(struct judging *j, const struct validation *v)
{
    if (v->message.text.n) {
        struct cel_value m = hook_eval_run(&j->eval, &v->message, &j->budget);
        str text = m.kind == CEL_STRING ? str_trim(m.s) : STR_NONE;

        if (text.n && text.n <= MESSAGE_MAX && str_find(text, '\n', 0) < 0)
            return text;
    }
    if (v->said.n)
        return v->said;
    return str_printf(arena_of(j), "failed expression: %.*s", STR_ARG(str_trim(v->rule.text)));
}

static int run_validations(struct judging *j)
{
    const struct policy *p = j->binding->policy;

    for (size_t i = 0; i < p->nvalidations; i++) {
        const struct validation *v = &p->validations[i];
        struct cel_value out = hook_eval_run(&j->eval, &v->rule, &j->budget);
        int rc = 0;

        j->expression = i;
        if (out.kind != CEL_BOOL)
            rc = cannot(j, error_text(j, &v->rule, out));
        else if (!out.b)
            rc = fails(j, v->reason, message_of(j, v));
        if (rc)
            return rc;
    }
    return 0;
}

static int run_notes(struct judging *j)
{
    const struct policy *p = j->binding->policy;

    for (size_t i = 0; i < p->notes.n; i++) {
        const struct hook_expression *x = &p->notes.at[i];
        struct cel_value v = hook_eval_run(&j->eval, x, &j->budget);
        int rc = 0;

        if (v.kind == CEL_STRING && str_trim(v.s).n)
            rest_note(j->write->req,
                      str_printf(arena_of(j), "%.*s/%.*s", STR_ARG(p->name), STR_ARG(x->name)),
                      str_sub(str_trim(v.s), 0, NOTE_MAX));
        else if (v.kind != CEL_STRING && v.kind != CEL_NULL)
            rc = cannot(j, error_text(j, x, v));
        if (rc)
            return rc;
    }
    return 0;
}

static int judge(struct judging *j, const struct json *params)
{
    str why = STR_NONE;
    int rc;

    if (params)
        j->eval.vars[ADMISSION_PARAMS] = cel_of_json(&j->eval.run, params, NULL);
    rc = hook_eval_conditions(&j->eval, &j->binding->policy->conditions, &why);
    if (rc <= 0)
        return rc < 0 ? cannot(j, why) : 0;
    j->budget = ADMISSION_POLICY_COST;
    set_variables(j);
    rc = run_validations(j);
    return rc ? rc : run_notes(j);
}

/* ---- parameters ---- */

struct finding {
    const struct policy_binding *binding;
    const struct json *found[PARAMS_MAX];
    size_t n;
    bool too_many;
};

static bool find(void *arg, const struct json *obj)
{
    struct finding *f = arg;

    if (!selector_matches(&f->binding->param_selector, json_path(obj, "metadata.labels")))
        return true;
    f->too_many = f->n == PARAMS_MAX;
    if (!f->too_many)
        f->found[f->n++] = obj;
    return !f->too_many;
}

static int bad_binding(struct judging *j, const char *why)
{
    return cannot(j, str_printf(arena_of(j), "failed to configure binding: %s", why));
}

static int judge_all(struct judging *j, const struct finding *f)
{
    if (f->too_many)
        return bad_binding(j, "the selector finds too many parameters");
    if (!f->n && !j->binding->none_is_fine)
        return bad_binding(
            j, "no params found for policy binding with `Deny` parameterNotFoundAction");
    for (size_t i = 0; i < f->n; i++) {
        int rc = judge(j, f->found[i]);

        if (rc)
            return rc;
    }
    return 0;
}

/* k8s: generic/policy_dispatcher.go CollectParams */
static int judge_with_params(struct judging *j, const struct kind *k)
{
    const struct policy_binding *b = j->binding;
    struct rest_request *req = j->write->req;
    struct finding *f = arena_new_of(arena_of(j), struct finding);
    str namespace_ = b->param_namespace;
    struct status st;
    int rc;

    status_init(&st, arena_of(j));
    f->binding = b;
    if (namespace_.n && !k->namespaced)
        return bad_binding(j, "paramRef.namespace must not be provided for a cluster-scoped "
                              "`paramKind`");
    if (k->namespaced && !namespace_.n)
        namespace_ = req->kind->namespaced ? req->namespace_ : STR_NONE;
    if (k->namespaced && !namespace_.n)
        return bad_binding(j, "cannot use namespaced paramRef in policy binding that matches "
                              "cluster-scoped resources");
    if (b->has_name) {
        rc = lookup_get(req->rest, req->arena, &req->instance, k,
                        k->namespaced ? namespace_ : STR_NONE, b->param_name, &f->found[0], &st);
        f->n = rc == 1;
    } else {
        rc = lookup_each(req->rest, req->arena, &req->instance, k, namespace_, find, f, &st);
    }
    if (rc < 0)
        return bad_binding(j, str_z(arena_of(j), st.message));
    return judge_all(j, f);
}

static int judge_binding(struct judging *j)
{
    const struct policy *p = j->binding->policy;
    const struct kind *k;

    if (!p->param_kind.n || !j->binding->has_ref)
        return judge(j, NULL);
    k = catalog_find_kind(j->write->req->catalog, p->param_version, p->param_kind);
    if (k && !k->transient)
        return judge_with_params(j, k);
    return cannot(j, str_printf(arena_of(j),
                                "failed to configure policy: failed to find resource referenced "
                                "by paramKind: '%.*s, Kind=%.*s'",
                                STR_ARG(p->param_version), STR_ARG(p->param_kind)));
}

int policies_validate(struct server *s, const struct hook_set *set, struct hook_write *w,
                      struct status *st)
{
    for (size_t i = 0; i < set->nbindings; i++) {
        struct judging j = { .server = s, .write = w, .binding = &set->bindings[i], .st = st };
        const struct kind *as, *also;
        int rc = hook_matches(&j.binding->policy->match, w, &as, st);

        if (rc > 0)
            rc = hook_matches(&j.binding->match, w, &also, st);
        if (rc < 0)
            return -1;
        if (!rc)
            continue;
        hook_eval_init(&j.eval, s, w, as);
        rc = judge_binding(&j);
        if (rc)
            return rc;
    }
    return 0;
}
