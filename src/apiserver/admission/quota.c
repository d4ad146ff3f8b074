/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/quota.h"

#include "apiserver/admission/quota_gate.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "rest/lookup.h"

/*
 * The value of a ledger is a JSON object, by the quotas' names:
 *
 *     {"q":{"uid":"…","used":{"pods":"2"}}}
 */

struct store_key quota_ledger_key(uint32_t instance, str namespace_)
{
    return (struct store_key){ .type = TYPE_QUOTAS, .instance = instance, .name = namespace_ };
}

const struct json *quota_ledger_used(const struct json *ledger, const struct json *quota)
{
    const struct json *e = json_get(ledger, json_get_str(quota, "metadata.name"));

    if (!str_eq(json_get_str(e, "uid"), json_get_str(quota, "metadata.uid")))
        return NULL;
    return json_get(e, STR("used"));
}

void quota_ledger_put(struct json_object *ledger, const struct json *quota,
                      const struct amounts *used)
{
    struct json_object e = json_object_new(ledger->arena);

    json_add(&e, STR("uid"), json_of_str(json_get_str(quota, "metadata.uid")));
    json_add(&e, STR("used"), *amounts_json(ledger->arena, used));
    json_put(ledger, json_get_str(quota, "metadata.name"), json_object_value(&e));
}

struct listing {
    struct json_array all;
};

static bool add_quota(void *arg, const struct json *obj)
{
    struct listing *l = arg;

    json_push(&l->all, *obj);
    return true;
}

int quota_list(struct rest *r, struct arena *a, const struct instance *i,
               const struct catalog *catalog, str namespace_, const struct json **out,
               struct status *st)
{
    const struct kind *k = catalog_find(catalog, STR_NONE, STR("v1"), STR("resourcequotas"));
    struct listing l = { .all = json_array_new(a) };

    if (k && lookup_each(r, a, i, k, namespace_, add_quota, &l, st) < 0)
        return -1;
    *out = json_array_done(&l.all);
    return 0;
}

/* ---- charging ---- */

struct charge {
    struct rest_request *req;
    const struct rest_change *change;
    bool checks; /* what does not fit is refused */
    struct json_object ledger;
    bool changed;
};

static int refuse(const struct charge *c, struct status *st, str why)
{
    return status_forbidden(st, c->req->kind->group, c->req->kind->plural,
                            json_get_str(c->change->obj, "metadata.name"), "%.*s", STR_ARG(why));
}

/* The entries of `all` that `some` has, too. */
static struct amounts among(struct arena *a, const struct amounts *all, const struct amounts *some)
{
    struct amounts out = { .at = arena_array(a, struct amount, all->n + 1) };

    for (size_t i = 0; i < all->n; i++)
        if (amounts_get(some, all->at[i].name))
            out.at[out.n++] = all->at[i];
    return out;
}

static str names_of(struct arena *a, const struct amounts *m)
{
    scoped_buf b = { .max = 1 << 20 };

    for (size_t i = 0; i < m->n; i++)
        buf_printf(&b, "%s%.*s", i ? "," : "", STR_ARG(m->at[i].name));
    return str_dup(a, buf_str(&b));
}

/* k8s: apiserver/pkg/admission/plugin/resourcequota CheckRequest */
static int check(const struct charge *c, const struct json *quota, const struct amounts *more,
                 const struct amounts *used, struct status *st)
{
    struct arena *a = c->req->arena;
    struct amounts hard = amounts_of(a, json_path(quota, "spec.hard"));
    struct amounts beyond = { .at = arena_array(a, struct amount, more->n + 1) };
    struct amounts unknown = { .at = arena_array(a, struct amount, more->n + 1) }, was;
    str name = json_get_str(quota, "metadata.name");

    for (size_t i = 0; i < more->n; i++) {
        const struct amount *m = &more->at[i];
        const struct quantity *u = amounts_get(used, m->name), *h = amounts_get(&hard, m->name);

        if (m->q.nanos <= 0)
            continue;
        if (!u)
            unknown.at[unknown.n++] = *m;
        else if (h && u->nanos + m->q.nanos > h->nanos)
            beyond.at[beyond.n++] = *m;
    }
    if (unknown.n)
        return refuse(c, st,
                      str_printf(a, "status unknown for quota: %.*s, resources: %.*s",
                                 STR_ARG(name), STR_ARG(names_of(a, &unknown))));
    if (beyond.n == 0)
        return 0;
    was = among(a, used, &beyond);
    hard = among(a, &hard, &beyond);
    return refuse(c, st,
                  str_printf(a, "exceeded quota: %.*s, requested: %.*s, used: %.*s, limited: %.*s",
                             STR_ARG(name), STR_ARG(amounts_text(a, &beyond)),
                             STR_ARG(amounts_text(a, &was)), STR_ARG(amounts_text(a, &hard))));
}

static bool is_nothing(const struct amounts *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].q.nanos != 0)
            return false;
    return true;
}

static bool is_new_pod(const struct charge *c)
{
    return !c->change->old && c->req->kind->group.n == 0 && str_is(c->req->kind->plural, "pods");
}

/* What a quota limits a pod must say. */
static int check_said(const struct charge *c, const struct json *quotas, struct status *st)
{
    struct arena *a = c->req->arena;

    json_for_each (q, quotas) {
        str missing = is_new_pod(c) && quota_concerns(q, c->req->kind)
                          ? quota_missing(a, q, c->change->obj)
                          : STR_NONE;

        if (missing.n)
            return refuse(c, st,
                          str_printf(a, "failed quota: %.*s: must specify %.*s",
                                     STR_ARG(json_get_str(q, "metadata.name")), STR_ARG(missing)));
    }
    return 0;
}

static int charge_one(struct charge *c, const struct json *quota, const struct json *ledger,
                      struct status *st)
{
    struct arena *a = c->req->arena;
    const struct kind *k = c->req->kind;
    const struct json *known = quota_ledger_used(ledger, quota);
    struct amounts now, was, more, used = amounts_of(a, known);

    if (!quota_concerns(quota, k))
        return 0;
    now = quota_use(a, quota, k, c->change->removed ? NULL : c->change->obj);
    was = quota_use(a, quota, k, c->change->old);
    more = amounts_add(a, &now, -1, &was);
    if (is_nothing(&more))
        return 0;
    if (c->checks && check(c, quota, &more, &used, st) < 0)
        return -1;
    if (!known)
        return 0;
    more = among(a, &more, &used);
    used = amounts_add(a, &used, 1, &more);
    quota_ledger_put(&c->ledger, quota, &used);
    c->changed = true;
    return 0;
}

/* The quotas of most instances are none: that must cost nothing. */
static bool has_quotas(struct rest_request *req, struct store *s, struct status *st)
{
    const struct kind *k = catalog_find(req->catalog, STR_NONE, STR("v1"), STR("resourcequotas"));
    struct store_range range = { .instance = req->instance.id };
    uint64_t n = 0;

    if (!k || !req->kind->namespaced)
        return false;
    range.type = k->type_id;
    return store_count(s, &range, &n, st) < 0 || n > 0;
}

static int charge_all(struct charge *c, const struct json *quotas, struct store *s,
                      struct store_op *op, struct status *st)
{
    struct arena *a = c->req->arena;
    struct store_key key = quota_ledger_key(c->req->instance.id, c->req->namespace_);
    const struct json *ledger = NULL;
    struct store_row row = { 0 };
    scoped_buf text = { .max = STORE_VALUE_MAX };
    int found = store_get(s, a, key, 0, &row, st);

    if (found < 0 || (found && json_parse(a, row.value, NULL, &ledger, st) < 0))
        return -1;
    c->ledger = json_object_from(a, ledger);
    json_for_each (q, quotas)
        if (charge_one(c, q, ledger, st) < 0)
            return -1;
    if (!c->changed)
        return 0;
    json_print(&text, json_object_done(&c->ledger));
    *op = (struct store_op){
        .kind = STORE_PUT, .key = key, .expect = row.rev, .value = str_dup(a, buf_str(&text))
    };
    return 1;
}

static bool concern(const struct json *quotas, const struct kind *k)
{
    json_for_each (q, quotas)
        if (quota_concerns(q, k))
            return true;
    return false;
}

/* k8s: of subresources only a pod's resize asks for more */
static bool checks(const struct rest_request *req, const struct rest_change *change)
{
    return !change->removed && (req->subresource.n == 0 || str_is(req->subresource, "resize"));
}

static bool is_limited(const struct server *s, const struct rest_request *req)
{
    return json_len(s->limited) && req->kind->namespaced && !req->kind->transient;
}

int quota_charge(struct rest_request *req, const struct rest_change *change, struct store_op *op,
                 struct status *st)
{
    struct server *s = req->admitter;
    struct charge c = { .req = req, .change = change };
    const struct json *quotas;

    if (req->verb == VERB_DELETE_COLLECTION ||
        (!is_limited(s, req) && !has_quotas(req, s->store, st)))
        return 0;
    if (quota_list(s->rest, req->arena, &req->instance, req->catalog, req->namespace_, &quotas,
                   st) < 0)
        return -1;
    c.checks = checks(req, change);
    if (c.checks && (check_said(&c, quotas, st) < 0 ||
                     quota_check_limited(req, s->limited, quotas, change, st) < 0))
        return -1;
    if (!concern(quotas, req->kind))
        return 0;
    if (!change->dry && !quota_gates_enter(s->quota_gates, req))
        return REST_WAIT;
    return charge_all(&c, quotas, s->store, op, st);
}
