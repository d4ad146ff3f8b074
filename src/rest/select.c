/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/select.h"

#include "base/banned.h"
#include "rest/index.h"

static const struct field_label *find_label(const struct kind *k, str label)
{
    for (size_t i = 0; i < k->nfield_labels; i++)
        if (str_eq(k->field_labels[i].label, label))
            return &k->field_labels[i];
    return NULL;
}

static bool is_slice(const struct kind *k)
{
    return str_is(k->group, "resource.k8s.io") && str_is(k->kind, "ResourceSlice");
}

static bool is_meta(str key)
{
    return str_is(key, "metadata.name") || str_is(key, "metadata.namespace");
}

/* k8s: a kind's conversion of field labels knows its namespace only if it has one. */
static bool is_known(const struct kind *k, str key)
{
    bool own = k->kind_selectors || k->schema_id || is_slice(k);

    if (own && !k->namespaced && str_is(key, "metadata.namespace"))
        return false;
    return is_meta(key) || find_label(k, key);
}

/* k8s: and has words of its own.  pkg/apis/{core,batch,resource}/v1/conversion.go */
static int unknown_field(const struct kind *k, str key, struct status *st)
{
    if (k->kind_selectors || k->schema_id)
        return status_set(st, REASON_BAD_REQUEST, "field label not supported: %.*s", STR_ARG(key));
    if (str_is(k->group, "batch") && str_is(k->kind, "Job"))
        return status_set(st, REASON_BAD_REQUEST, "field label \"%.*s\" not supported for Job",
                          STR_ARG(key));
    if (is_slice(k))
        return status_set(st, REASON_BAD_REQUEST,
                          "field label not supported for %.*s, Kind=ResourceSlice: %.*s",
                          STR_ARG(k->api_version), STR_ARG(key));
    return status_set(st, REASON_BAD_REQUEST,
                      "\"%.*s\" is not a known field selector: only \"metadata.name\", "
                      "\"metadata.namespace\"",
                      STR_ARG(key));
}

static int check_fields(const struct selection *s, struct status *st)
{
    for (size_t i = 0; i < s->fields.nterms; i++)
        if (!is_known(s->kind, s->fields.terms[i].key))
            return unknown_field(s->kind, s->fields.terms[i].key, st);
    return 0;
}

/* metadata.name=x names one row: the prefix then is all of its key. */
static void narrow(struct selection *s, struct arena *a)
{
    for (size_t i = 0; i < s->fields.nterms; i++) {
        const struct selector_term *t = &s->fields.terms[i];

        if (t->op == SELECTOR_IN && str_is(t->key, "metadata.name"))
            s->name = t->values[0];
        if (t->op == SELECTOR_IN && str_is(t->key, "metadata.namespace") && s->namespace_.n == 0)
            s->namespace_ = t->values[0];
    }
    if (!s->kind->namespaced)
        s->prefix = s->name;
    else if (s->namespace_.n)
        s->prefix = row_name(a, s->kind, s->namespace_, s->name);
}

/* The term that is about instances and not about fields of an object. */
static bool is_but_root(const struct selector_term *t)
{
    return t->op == SELECTOR_NOT_IN && str_is(t->key, "kairship.io/instance") &&
           str_is(t->values[0], INSTANCE_ROOT_NAME);
}

static void take_instances(struct selection *s, struct arena *a)
{
    struct selector_term *terms = arena_array(a, struct selector_term, s->fields.nterms);
    size_t n = 0;

    for (size_t i = 0; i < s->fields.nterms; i++)
        if (is_but_root(&s->fields.terms[i]))
            s->but_root = true;
        else
            terms[n++] = s->fields.terms[i];
    s->fields = (struct selector){ terms, n };
}

int selection_init(struct selection *s, struct rest_request *req, struct status *st)
{
    *s = (struct selection){ .kind = req->kind, .namespace_ = req->namespace_ };
    if (selector_parse_labels(req->arena, req->list.label_selector, &s->labels, st) < 0 ||
        selector_parse_fields(req->arena, req->list.field_selector, &s->fields, st) < 0)
        return -1;
    if (req->instance.id == STORE_ALL && s->fields.nterms)
        take_instances(s, req->arena);
    if (check_fields(s, st) < 0)
        return -1;
    s->all = s->labels.nterms == 0 && s->fields.nterms == 0;
    s->hash = index_pick(req->kind->storage, &s->labels, &s->fields);
    narrow(s, req->arena);
    return 0;
}

static bool values_match(const struct selector_term *t, const struct json *values)
{
    bool among = t->op == SELECTOR_IN;

    json_for_each (v, values)
        if (selector_term_matches(t, true, json_str(v)) == among)
            return among;
    return !among;
}

static bool term_matches(const struct selection *s, struct arena *a, const struct selector_term *t,
                         str row, const struct obj *o, const struct json **tree)
{
    const struct field_label *f;
    str namespace_, name;

    row_split(s->kind, row, &namespace_, &name);
    if (str_is(t->key, "metadata.name"))
        return selector_term_matches(t, true, name);
    if (str_is(t->key, "metadata.namespace"))
        return selector_term_matches(t, true, namespace_);
    f = find_label(s->kind, t->key);
    if (!*tree) {
        struct obj_frame frame = { 0 };
        struct status st;

        status_init(&st, a);
        if (obj_tree(a, o, &frame, tree, &st) < 0)
            return false;
    }
    if (f->each)
        return values_match(t, index_values(a, f, *tree));
    return selector_term_matches(t, true, index_field(a, f, *tree));
}

bool selection_sees(const struct selection *s, struct arena *a, const struct row *row,
                    const struct json *tree)
{
    const struct json *labels;

    if (s->but_root && row->instance == INSTANCE_ROOT)
        return false;
    if (s->all)
        return true;
    if (s->labels.nterms) {
        labels = tree ? json_path(tree, "metadata.labels") : obj_labels(a, &row->obj);
        if (!selector_matches(&s->labels, labels))
            return false;
    }
    for (size_t i = 0; i < s->fields.nterms; i++)
        if (!term_matches(s, a, &s->fields.terms[i], row->name, &row->obj, &tree))
            return false;
    return true;
}

bool selection_matches(const struct selection *s, struct arena *a, const struct row *row)
{
    return selection_sees(s, a, row, NULL);
}
