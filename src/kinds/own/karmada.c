/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/own/karmada.h"

#include "base/banned.h"
#include "base/uuid.h"
#include "kinds/frame/check.h"

const str karmada_category[1] = { STR_INIT("karmada-io") };
const struct subresource karmada_status[1] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};
const struct column karmada_age_columns[2] = { NAME_COLUMN, AGE_COLUMN };

/* ---- the webhook's wall ---- */

static bool said_before(const struct cause *first, const struct cause *c)
{
    for (; first != c; first = first->next)
        if (str_eq(first->field, c->field) && str_eq(first->message, c->message))
            return true;
    return false;
}

/* k8s: apimachinery/pkg/util/errors: several are in brackets, none is said twice */
int karmada_denied(struct status *st, const char *webhook)
{
    str text = STR_NONE;
    size_t n = 0;

    for (const struct cause *c = st->causes; c; c = c->next) {
        if (said_before(st->causes, c))
            continue;
        text = str_printf(st->arena, "%.*s%s%.*s: %.*s", STR_ARG(text), n++ ? ", " : "",
                          STR_ARG(c->field), STR_ARG(c->message));
    }
    if (n == 0)
        return 0;
    status_reset(st);
    return karmada_deny(st, webhook, n > 1 ? "[%.*s]" : "%.*s", STR_ARG(text));
}

int karmada_deny(struct status *st, const char *webhook, const char *fmt, ...)
{
    va_list ap;
    char *why;

    va_start(ap, fmt);
    why = arena_vprintf(st->arena, fmt, ap);
    va_end(ap);
    return status_set(st, REASON_FORBIDDEN, "admission webhook \"%s\" denied the request: %s",
                      webhook, why);
}

/* ---- parts of strategies ---- */

static bool has_status(const struct kind *k)
{
    return kind_subresource(k, STR("status")) != NULL;
}

const struct json *karmada_prepare_create(const struct kind_context *c, const struct json *obj)
{
    return has_status(c->kind) ? check_reset(c, obj, "status") : obj;
}

const struct json *karmada_prepare_update(const struct kind_context *c, const struct json *obj,
                                          const struct json *old)
{
    if (!has_status(c->kind))
        return obj;
    if (str_is(c->subresource, "status"))
        return check_only_status(c->arena, obj, old);
    return check_keep(c->arena, obj, old, "status");
}

const struct json *karmada_with_id(struct arena *a, const struct json *obj, const char *label)
{
    const struct json *labels = json_path(obj, "metadata.labels");
    struct json_object o = labels ? json_object_from(a, labels) : json_object_new(a);
    char *id = arena_alloc(a, UUID_SIZE);

    uuid_v4(id);
    json_put(&o, str_of(label), json_of_str((str){ id, UUID_LEN }));
    return json_set(a, obj, "metadata.labels", json_object_done(&o));
}

const struct json *
karmada_each(const struct kind_context *c, const struct json *obj, const char *path,
             const struct json *(*make)(const struct kind_context *c, const struct json *item))
{
    const struct json *list = json_path(obj, path);
    struct json_array r = json_array_new(c->arena);

    if (json_len(list) == 0)
        return obj;
    json_for_each (item, list)
        json_push(&r, *make(c, item));
    return json_set(c->arena, obj, path, json_array_done(&r));
}

void karmada_check_cluster_name(struct status *st, const struct site *s)
{
    str name = json_str(s->v), faults[NAME_FAULTS];
    size_t n;

    if (name.n > KARMADA_CLUSTER_NAME_MAX) {
        site_fault(st, s, CAUSE_INVALID, "must be no more than %d characters",
                   KARMADA_CLUSTER_NAME_MAX);
        return;
    }
    n = name_faults(NAME_LABEL, name, faults);
    for (size_t i = 0; i < n; i++)
        site_fault(st, s, CAUSE_INVALID, "%.*s", STR_ARG(faults[i]));
}

/* ---- cells ---- */

static const struct json *condition(const struct json *obj, const char *type)
{
    json_for_each (c, json_path(obj, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return json_get(c, STR("status"));
    return NULL;
}

static const struct json *find(const struct json *obj, const char *path)
{
    for (str rest = str_of(path), part; obj && str_split(&rest, '.', &part);)
        obj = str_is(part, "*") ? json_at(obj, 0) : json_get(obj, part);
    return obj;
}

void karmada_cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells,
                   const char *const *paths)
{
    for (; *paths; paths++) {
        const struct json *v = **paths == '?' ? condition(obj, *paths + 1) : find(obj, *paths);

        if (str_is(STR("age"), *paths))
            cell_age(cells, obj, now_s);
        else if (!v || json_is(v, JSON_STRING))
            json_push(cells, v ? *v : json_null);
        else
            json_push(cells, json_of_str(json_text(a, v)));
    }
}
