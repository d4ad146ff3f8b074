/* SPDX-License-Identifier: Apache-2.0 */

/* k8s: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/validation.go */

#include "base/banned.h"

#include "object/crdschema/structural_internal.h"
#include "object/meta/names.h"

static void add(struct status *st, enum cause_type type, const struct spot *up, const char *name,
                const struct json *value, str what)
{
    struct spot at = { .up = up, .kind = SPOT_FIELD, .name = str_of(name) };

    status_cause(st, type, spot_path(st->arena, &at, true),
                 value ? json_text(st->arena, value) : STR_NONE, "%.*s", STR_ARG(what));
}

static void check_api_version(struct status *st, const struct spot *at, const struct json *v)
{
    str s = json_str(v);
    ptrdiff_t slash = str_find(s, '/', 0);

    if (v->type != JSON_STRING)
        add(st, CAUSE_INVALID, at, "apiVersion", v, STR("must be a string"));
    else if (s.n == 0)
        add(st, CAUSE_INVALID, at, "apiVersion", v, STR("must not be empty"));
    else if (slash >= 0 && str_find(s, '/', (size_t)slash + 1) >= 0)
        add(st, CAUSE_INVALID, at, "apiVersion", v,
            str_printf(st->arena, "unexpected GroupVersion string: %.*s", STR_ARG(s)));
}

static void check_kind(struct status *st, const struct spot *at, const struct json *v)
{
    str s = json_str(v), faults[NAME_FAULTS], all = STR_NONE;
    size_t n;

    if (v->type != JSON_STRING) {
        add(st, CAUSE_INVALID, at, "kind", v, STR("must be a string"));
        return;
    }
    if (s.n == 0) {
        add(st, CAUSE_INVALID, at, "kind", v, STR("must not be empty"));
        return;
    }
    n = name_faults(NAME_LABEL_1035, str_lower(st->arena, s), faults);
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        all = str_printf(st->arena, "%.*s%s%.*s", STR_ARG(all), i ? "," : "", STR_ARG(faults[i]));
    add(st, CAUSE_INVALID, at, "kind", v,
        str_printf(st->arena, "may have mixed case, but should otherwise match: %.*s",
                   STR_ARG(all)));
}

/* Its faults, with the path to it before their fields. */
static void check_metadata(struct status *st, const struct spot *at, const struct json *meta)
{
    static const struct json name = { .type = JSON_STRING, .n = 8, .s = "fakename" };
    str path = spot_path(st->arena, at, true);
    struct status own;
    struct cause *next;

    status_init(&own, st->arena);
    if (json_get_str(meta, "name").n == 0)
        meta = json_set(st->arena, meta, "name", &name);
    objmeta_validate(&own, meta, json_get_str(meta, "namespace").n > 0, NAME_PATH);
    for (struct cause *c = own.causes; c && st->ncauses < STATUS_CAUSES_MAX; c = next) {
        next = c->next;
        c->next = NULL;
        c->field = str_printf(st->arena, "%.*s%s%.*s", STR_ARG(path), path.n ? "." : "",
                              STR_ARG(c->field));
        if (st->last_cause)
            st->last_cause->next = c;
        else
            st->causes = c;
        st->last_cause = c;
        st->ncauses++;
    }
}

static void check_resource(struct status *st, const struct spot *at, const struct json *obj)
{
    const struct json *version = json_get(obj, STR("apiVersion"));
    const struct json *kind = json_get(obj, STR("kind"));
    const struct json *meta = json_get(obj, STR("metadata"));

    if (version)
        check_api_version(st, at, version);
    else
        add(st, CAUSE_REQUIRED, at, "apiVersion", NULL, STR_NONE);
    if (kind)
        check_kind(st, at, kind);
    else
        add(st, CAUSE_REQUIRED, at, "kind", NULL, STR_NONE);
    if (json_is(meta, JSON_OBJECT))
        check_metadata(st, at, meta);
}

void structural_check_embedded(const struct schema *s, const struct json *obj,
                               const struct spot *up, struct status *st)
{
    struct spot at = { .up = up };

    if (!s->rules || !s->rules->below_embedded)
        return;
    if (s->rules->embedded && obj->type == JSON_OBJECT)
        check_resource(st, up, obj);
    json_for_each_member (m, obj) {
        const struct schema_field *f = schema_field(s, m->name);
        const struct schema *type = f ? f->type : s->rules->additional;

        at.kind = f ? SPOT_FIELD : SPOT_KEY;
        at.name = m->name;
        if (type)
            structural_check_embedded(type, &m->value, &at, st);
    }
    at.kind = SPOT_INDEX;
    for (uint32_t i = 0; obj->type == JSON_ARRAY && s->rules->items && i < obj->n; i++) {
        at.index = i;
        structural_check_embedded(s->rules->items, &obj->items[i], &at, st);
    }
}
