/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/hook_eval.h"

#include "apiserver/admission/webhook_questions.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/userinfo.h"
#include "base/banned.h"

/* ---- the request in words ---- */

static void put(struct json_object *o, const char *name, str value)
{
    if (value.n)
        json_add(o, str_of(name), json_of_str(value));
}

static struct json triple(struct arena *a, const struct kind *k, const char *what, str value)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("group"), json_of_str(k->group));
    json_add(&o, STR("version"), json_of_str(k->version));
    json_add(&o, str_of(what), json_of_str(value));
    return json_object_value(&o);
}

/* Of what the object is that is shown: a subresource may have a kind of its own. */
static struct json shown_kind(struct arena *a, const struct kind *k, str subresource)
{
    const struct subresource *s = subresource.n ? kind_subresource(k, subresource) : NULL;
    struct kind other = *k;

    if (s && s->kind.n) {
        other.group = s->group;
        other.version = s->version;
        return triple(a, &other, "kind", s->kind);
    }
    return triple(a, k, "kind", k->kind);
}

static void put_dry(struct arena *a, struct json_object *o, bool dry)
{
    struct json_array all = json_array_new(a);

    if (!dry)
        return;
    json_push(&all, json_of_str(STR("All")));
    json_add(o, STR("dryRun"), json_array_value(&all));
}

static void put_delete(struct arena *a, struct json_object *o, const struct delete_options *d)
{
    static const char *const names[] = { [PROPAGATION_BACKGROUND] = "Background",
                                         [PROPAGATION_FOREGROUND] = "Foreground",
                                         [PROPAGATION_ORPHAN] = "Orphan" };
    struct json_object pre = json_object_new(a);

    put_dry(a, o, d->dry_run);
    if (d->has_grace)
        json_add(o, STR("gracePeriodSeconds"), json_of_int(d->grace_s));
    if (d->propagation != PROPAGATION_DEFAULT)
        put(o, "propagationPolicy", str_of(names[d->propagation]));
    put(&pre, "uid", d->precondition_uid);
    put(&pre, "resourceVersion", d->precondition_rv);
    if (pre.n)
        json_add(o, STR("preconditions"), json_object_value(&pre));
}

static struct json options(struct hook_write *w)
{
    static const char *const kinds[] = { [HOOK_CREATE] = "CreateOptions",
                                         [HOOK_UPDATE] = "UpdateOptions",
                                         [HOOK_DELETE] = "DeleteOptions" };
    struct arena *a = w->req->arena;
    struct json_object o = json_object_new(a);

    put(&o, "kind", str_of(kinds[w->operation]));
    put(&o, "apiVersion", STR("meta.k8s.io/v1"));
    if (w->operation == HOOK_DELETE) {
        put_delete(a, &o, &w->req->delete);
        return json_object_value(&o);
    }
    put_dry(a, &o, w->req->write.dry_run);
    if (w->req->write.manager_said)
        put(&o, "fieldManager", w->req->write.field_manager);
    if (w->req->write.field_validation == FIELD_STRICT)
        put(&o, "fieldValidation", STR("Strict"));
    if (w->req->write.field_validation == FIELD_IGNORE)
        put(&o, "fieldValidation", STR("Ignore"));
    return json_object_value(&o);
}

/* It is to get a name of the server's making. */
static bool is_unnamed(const struct hook_write *w)
{
    return w->unborn && !w->req->name.n && w->req->sent &&
           !json_get_str(w->req->sent, "metadata.name").n;
}

const struct json *hook_request(struct hook_write *w, const struct kind *as)
{
    struct rest_request *req = w->req;
    struct arena *a = req->arena;
    struct json_object o = json_object_new(a);

    json_add(&o, STR("kind"), shown_kind(a, as, req->subresource));
    json_add(&o, STR("resource"), triple(a, as, "resource", as->plural));
    put(&o, "subResource", req->subresource);
    json_add(&o, STR("requestKind"), shown_kind(a, req->kind, req->subresource));
    json_add(&o, STR("requestResource"), triple(a, req->kind, "resource", req->kind->plural));
    put(&o, "requestSubResource", req->subresource);
    if (!is_unnamed(w) && req->verb != VERB_DELETE_COLLECTION)
        put(&o, "name", w->name);
    if (req->kind->namespaced)
        put(&o, "namespace", req->namespace_);
    else if (!req->kind->group.n && str_is(req->kind->plural, "namespaces"))
        put(&o, "namespace", w->name);
    put(&o, "operation", str_of(hook_operation_name(w->operation)));
    json_add(&o, STR("userInfo"), *userinfo_json(a, req->who));
    json_add(&o, STR("dryRun"), json_of_bool(req->write.dry_run || req->delete.dry_run));
    json_add(&o, STR("options"), options(w));
    return json_object_done(&o);
}

/* k8s: these are filled in between those who mutate and those who validate */
static const struct json *without_birth(const struct hook_write *w, const struct json *obj)
{
    static const char *const later[] = { "uid", "creationTimestamp", "generation", "name" };
    struct json_object meta = json_object_from(w->req->arena, json_get(obj, STR("metadata")));
    size_t n = sizeof(later) / sizeof(*later);

    for (size_t i = 0; i < (is_unnamed(w) ? n : n - 1); i++)
        json_remove(&meta, str_of(later[i]));
    return json_set(w->req->arena, obj, "metadata", json_object_done(&meta));
}

const struct json *hook_object(struct hook_write *w, const struct json *obj, const struct kind *as)
{
    const struct json *out = obj;
    struct status st;

    if (!obj)
        return &json_null;
    status_init(&st, w->req->arena);
    if (as != w->req->kind && rest_convert(w->req, w->req->kind, as, obj, &out, &st) < 0)
        out = obj; /* conversions of our own kinds know every object */
    out = rest_shown(w->req, out, obj == w->old);
    if (w->unborn)
        out = without_birth(w, out);
    return rest_is_scale(w->req) ? rest_scale_of(w->req, as, out) : out;
}

/* ---- the authorizer ---- */

static bool allowed(const struct cel_authorizer *self, struct arena *a, const struct cel_check *c,
                    str *reason)
{
    struct hook_eval *e = self->user;
    str groups[] = { STR("system:serviceaccounts"), STR("system:authenticated"),
                     str_printf(a, "system:serviceaccounts:%.*s", STR_ARG(c->account_namespace)) };
    struct identity account = { .user = c->account, .groups = groups, .ngroups = 3 };
    struct access x = { .who = c->account.n ? &account : e->write->req->who,
                        .instance = &e->write->req->instance,
                        .verb = c->verb,
                        .is_resource = c->is_resource,
                        .group = c->group,
                        .resource = c->resource,
                        .subresource = c->subresource,
                        .namespace_ = c->namespace_,
                        .name = c->name,
                        .path = c->path };

    struct status st;
    int rc;

    status_init(&st, a);
    rc = webhook_questions_access(e->server, e->write->req, &x, STR("*"), reason, &st);
    if (rc == REST_WAIT)
        e->waits = true;
    if (rc < 0)
        *reason = st.message;
    return rc == 1;
}

/* ---- running ---- */

void hook_eval_init(struct hook_eval *e, struct server *s, struct hook_write *w,
                    const struct kind *as)
{
    struct rest_request *req = w->req;

    *e = (struct hook_eval){ .server = s, .write = w, .as = as };
    e->run.arena = req->arena;
    e->authorizer = (struct cel_authorizer){ .allowed = allowed, .user = e };
    e->resource =
        (struct cel_check){ .of = &e->authorizer,
                            .is_resource = true,
                            .group = req->kind->group,
                            .resource = req->kind->plural,
                            .subresource = req->subresource,
                            .namespace_ = req->kind->namespaced ? req->namespace_ : STR_NONE,
                            .name = w->name };
    for (size_t i = 0; i < ADMISSION_VARS; i++)
        e->vars[i] = (struct cel_value){ .kind = CEL_NULL };
}

static void make_values(struct hook_eval *e)
{
    struct hook_write *w = e->write;
    struct cel_run *r = &e->run;
    const struct json *namespace_ = NULL;
    struct status st;

    e->ready = true;
    status_init(&st, w->req->arena);
    e->vars[ADMISSION_OBJECT] = cel_of_json(r, hook_object(w, w->obj, e->as), NULL);
    e->vars[ADMISSION_OLD_OBJECT] = cel_of_json(r, hook_object(w, w->old, e->as), NULL);
    e->vars[ADMISSION_REQUEST] = cel_of_json(r, hook_request(w, e->as), NULL);
    e->vars[ADMISSION_AUTHORIZER] = cel_authorizer(w->req->arena, &e->authorizer);
    e->vars[ADMISSION_REQUEST_RESOURCE] = cel_resource_check(&e->resource);
    if (w->req->kind->namespaced && hook_namespace(w, &namespace_, &st) == 0 && namespace_)
        e->vars[ADMISSION_NAMESPACE] = cel_of_json(r, namespace_, NULL);
}

struct cel_value hook_eval_run(struct hook_eval *e, const struct hook_expression *x,
                               uint64_t *budget)
{
    struct cel_value out;
    uint64_t cost;

    if (!x->program)
        return (struct cel_value){ .kind = CEL_ERROR, .s = x->error };
    if (!e->ready)
        make_values(e);
    e->run.limit = *budget < ADMISSION_EXPRESSION_COST ? *budget : ADMISSION_EXPRESSION_COST;
    e->run.cost = e->run.steps = 0;
    e->run.hint_of = NULL;
    out = cel_eval(x->program, e->vars, &e->run);
    if (e->waits)
        return (struct cel_value){ .kind = CEL_ERROR, .s = STR("it waits for an answer") };
    cost = e->run.cost;
    if (cost > *budget) {
        *budget = 0;
        return (struct cel_value){
            .kind = CEL_ERROR,
            .s = STR("validation failed due to running out of cost budget, no further validation "
                     "rules will be run")
        };
    }
    *budget -= cost;
    return out;
}

int hook_eval_conditions(struct hook_eval *e, const struct hook_expressions *conditions, str *why)
{
    uint64_t budget = ADMISSION_CONDITIONS_COST;
    int rc = 1;

    for (size_t i = 0; i < conditions->n; i++) {
        const struct hook_expression *x = &conditions->at[i];
        struct cel_value v = hook_eval_run(e, x, &budget);

        if (v.kind == CEL_BOOL && !v.b)
            return 0;
        if (v.kind == CEL_BOOL || rc < 0)
            continue;
        rc = -1;
        *why = str_printf(e->write->req->arena, "expression '%.*s' resulted in error: %.*s",
                          STR_ARG(x->text),
                          STR_ARG(v.kind == CEL_ERROR ? v.s : STR("it did not give a bool")));
    }
    return rc;
}
