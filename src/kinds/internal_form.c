/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/internal_form.h"

#include <stdlib.h>

#include "base/banned.h"
#include "kinds/check.h"

/* Words that Go writes in capitals, where a name begins with one. */
static const char *const acronyms[] = { "api", "uid", "cel", "ip", "id", "dns", "tls", "url" };

static str go_name(struct arena *a, str name)
{
    char *out = str_z(a, name);
    size_t capitals = 1;

    for (size_t i = 0; i < sizeof(acronyms) / sizeof(*acronyms); i++) {
        size_t n = strlen(acronyms[i]);

        if (str_starts(name, str_of(acronyms[i])) &&
            (name.n == n || (name.p[n] >= 'A' && name.p[n] <= 'Z')))
            capitals = n;
    }
    for (size_t i = 0; i < capitals && i < name.n; i++)
        if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
    return (str){ out, name.n };
}

static struct json form(struct arena *a, const struct schema *s, const struct json *v,
                        bool pointer);

/* What is embedded has no number and comes last. */
static int by_number(const void *x, const void *y)
{
    const struct schema_field *const *a = x, *const *b = y;
    uint32_t p = (*a)->proto - 1, q = (*b)->proto - 1;

    return p < q ? -1 : p > q;
}

static struct json form_object(struct arena *a, const struct schema *s, const struct json *v)
{
    const struct schema_field **order = arena_array(a, const struct schema_field *, s->nfields + 1);
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < s->nfields; i++)
        order[i] = &s->fields[i];
    qsort(order, s->nfields, sizeof(*order), by_number);
    for (size_t i = 0; i < s->nfields; i++) {
        const struct schema_field *f = order[i];
        const struct json *member = json_get(v, f->name);

        if (str_is(f->name, "metadata")) /* it is embedded */
            json_for_each_member (m, member)
                json_add(&o, m->name, m->value);
        else
            json_add(&o, go_name(a, f->name),
                     form(a, f->type, member, f->presence == SCHEMA_POINTER));
    }
    return json_object_value(&o);
}

static struct json form_list(struct arena *a, const struct schema *s, const struct json *v)
{
    struct json_array list = json_array_new(a);

    json_for_each (item, v)
        json_push(&list, form(a, s->items, item, false));
    return json_array_value(&list);
}

static struct json zero_of(const struct schema *s)
{
    switch (s->type) {
    case SCHEMA_STRING:
        return json_of_str(STR_NONE);
    case SCHEMA_BOOL:
        return json_of_bool(false);
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        return json_of_int(0);
    case SCHEMA_BYTES:
    case SCHEMA_DOUBLE:
    case SCHEMA_TIME:
    case SCHEMA_MICROTIME:
    case SCHEMA_QUANTITY:
    case SCHEMA_INT_OR_STRING:
    case SCHEMA_ANY:
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
    case SCHEMA_LIST:
        break;
    }
    return json_null;
}

static struct json form(struct arena *a, const struct schema *s, const struct json *v, bool pointer)
{
    bool plain = s->type != SCHEMA_OBJECT || str_starts(s->name, STR("io.k8s.apimachinery."));

    if (!v && (pointer || plain))
        return pointer ? json_null : zero_of(s);
    if (s->type == SCHEMA_LIST)
        return form_list(a, s, v);
    return plain ? *v : form_object(a, s, v);
}

const struct json *internal_form(struct arena *a, const struct kind *k, const char *path,
                                 const struct json *v)
{
    const struct schema *s = k->schema;
    const struct schema_field *f = NULL;
    str rest = str_of(path), part;

    while (s && str_split(&rest, '.', &part)) {
        f = schema_field(s, part);
        s = f ? f->type : NULL;
    }
    if (!s)
        return v ? v : &json_null;
    return json_box(a, form(a, s, v, f && f->presence == SCHEMA_POINTER));
}

void internal_immutable(struct status *st, const struct kind *k, const char *path,
                        const struct json *obj, const struct json *old)
{
    const struct json *v = json_path(obj, path);

    if (!check_same(v, json_path(old, path)))
        status_cause(st, CAUSE_INVALID, str_of(path),
                     json_text(st->arena, internal_form(st->arena, k, path, v)),
                     "field is immutable");
}
