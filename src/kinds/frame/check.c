/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/check.h"

#include "base/banned.h"
#include "rest/duration.h"

enum { KEY_MAX = 253 };

str check_quote(struct arena *a, str s)
{
    struct json v = json_of_str(s);

    return json_text(a, &v);
}

bool check_same(const struct json *a, const struct json *b)
{
    return json_equal(a ? a : &json_null, b ? b : &json_null);
}

struct map check_index(const struct json *object)
{
    struct map m = { 0 };

    json_for_each_member (it, object) {
        (void)map_put(&m, it->name, (void *)(uintptr_t)&it->value);
    }
    return m;
}

const struct json *check_union(struct arena *a, const struct json *first, const struct json *second)
{
    struct map names;
    struct json_object o;

    if (json_len(second) == 0)
        return first;
    names = check_index(first);
    o = json_object_from(a, first ? first : &json_empty_object);
    json_for_each_member (m, second) {
        if (!map_get(&names, m->name))
            json_add(&o, m->name, m->value);
    }
    map_release(&names);
    return json_object_done(&o);
}

void check_immutable(struct status *st, const char *path, const struct json *obj,
                     const struct json *old)
{
    const struct json *v = json_path(obj, path);

    if (!check_same(v, json_path(old, path)))
        status_cause(st, CAUSE_INVALID, str_of(path), json_text(st->arena, v ? v : &json_null),
                     "field is immutable");
}

static void forbid_change(struct status *st, const char *member)
{
    status_cause(st, CAUSE_FORBIDDEN, str_of(member), STR_NONE,
                 "field is immutable when `immutable` is set");
}

void check_frozen(struct status *st, const struct json *obj, const struct json *old,
                  const char *const *members)
{
    if (!json_bool(json_get(old, STR("immutable"))))
        return;
    if (!json_bool(json_get(obj, STR("immutable"))))
        forbid_change(st, "immutable");
    for (; *members; members++)
        if (!check_same(json_get(obj, str_of(*members)), json_get(old, str_of(*members))))
            forbid_change(st, *members);
}

void check_enum(struct status *st, const char *path, const struct json *obj,
                const char *const *words)
{
    const struct json *v = json_path(obj, path);
    str list = STR_NONE;

    if (!v)
        return;
    for (; *words; words++) {
        if (str_is(json_str(v), *words))
            return;
        list = str_printf(st->arena, "%.*s%s\"%s\"", STR_ARG(list), list.n ? ", " : "", *words);
    }
    status_cause(st, CAUSE_NOT_SUPPORTED, str_of(path), json_text(st->arena, v),
                 "supported values: %.*s", STR_ARG(list));
}

void check_required(struct status *st, const char *path, const struct json *obj)
{
    if (json_get_str(obj, path).n == 0)
        status_cause(st, CAUSE_REQUIRED, str_of(path), STR_NONE, "%s", "");
}

void check_finalizer(struct status *st, str field, str name)
{
    static const char *const bare[] = { "kubernetes", "orphan", "foregroundDeletion" };

    (void)qualified_name_check(st, field, name);
    if (str_find(name, '/', 0) >= 0)
        return;
    for (size_t i = 0; i < sizeof(bare) / sizeof(*bare); i++)
        if (str_is(name, bare[i]))
            return;
    status_cause(st, CAUSE_INVALID, field, check_quote(st->arena, name),
                 "name is neither a standard finalizer name nor is it fully qualified");
}

static void check_requirement(struct status *st, str at, const struct json *r)
{
    str op = json_get_str(r, "operator"), key = json_get_str(r, "key");
    str values = str_printf(st->arena, "%.*s.values", STR_ARG(at));
    bool some = json_len(json_get(r, STR("values"))) > 0;
    size_t i = 0;

    if (str_is(op, "In") || str_is(op, "NotIn")) {
        if (!some)
            status_cause(st, CAUSE_REQUIRED, values, STR_NONE,
                         "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (str_is(op, "Exists") || str_is(op, "DoesNotExist")) {
        if (some)
            status_cause(st, CAUSE_FORBIDDEN, values, STR_NONE,
                         "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else {
        status_cause(st, CAUSE_INVALID, str_printf(st->arena, "%.*s.operator", STR_ARG(at)),
                     check_quote(st->arena, op), "not a valid selector operator");
    }
    (void)qualified_name_check(st, str_printf(st->arena, "%.*s.key", STR_ARG(at)), key);
    json_for_each (v, json_get(r, STR("values")))
        (void)label_value_check(st, str_printf(st->arena, "%.*s[%zu]", STR_ARG(values), i++),
                                json_str(v));
}

void check_label_selector(struct status *st, str field, const struct json *selector)
{
    size_t i = 0;

    (void)labels_check(st, str_printf(st->arena, "%.*s.matchLabels", STR_ARG(field)),
                       json_get(selector, STR("matchLabels")));
    json_for_each (r, json_get(selector, STR("matchExpressions")))
        check_requirement(
            st, str_printf(st->arena, "%.*s.matchExpressions[%zu]", STR_ARG(field), i++), r);
}

static bool key_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

static const char *key_dots(str key)
{
    if (str_is(key, "."))
        return "must not be '.'";
    if (str_is(key, ".."))
        return "must not be '..'";
    return str_starts(key, STR("..")) ? "must not start with '..'" : NULL;
}

static bool key_is_good(str key)
{
    size_t good = 0;

    while (good < key.n && key_byte(key.p[good]))
        good++;
    return good == key.n && key.n > 0;
}

void check_data_key(struct status *st, str field, str key)
{
    const char *dots = key_dots(key);
    str value = check_quote(st->arena, key);

    if (key.n > KEY_MAX)
        status_cause(st, CAUSE_INVALID, field, value, "must be no more than %d characters",
                     KEY_MAX);
    if (!key_is_good(key))
        status_cause(st, CAUSE_INVALID, field, value,
                     "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
                     "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation "
                     "is '[-._a-zA-Z0-9]+')");
    if (dots)
        status_cause(st, CAUSE_INVALID, field, value, "%s", dots);
}

static void check_key(struct status *st, const char *path, str key)
{
    if (key_is_good(key) && key.n <= KEY_MAX && !key_dots(key))
        return;
    check_data_key(st, str_printf(st->arena, "%s[%.*s]", path, STR_ARG(key)), key);
}

/* The number of bytes behind canonical base64. */
static size_t decoded(str s)
{
    size_t n = s.n / 4 * 3;

    for (size_t i = 0; n > 0 && i < 2 && i < s.n && s.p[s.n - 1 - i] == '='; i++)
        n--;
    return n;
}

size_t check_data(struct status *st, const char *path, const struct json *obj, bool base64)
{
    size_t total = 0;

    json_for_each_member (m, json_path(obj, path)) {
        str value = json_str(&m->value);

        check_key(st, path, m->name);
        total += base64 ? decoded(value) : value.n;
    }
    return total;
}

const struct json *check_keep(struct arena *a, const struct json *obj, const struct json *old,
                              const char *name)
{
    const struct json *was = json_get(old, str_of(name));

    if (check_same(json_get(obj, str_of(name)), was))
        return obj;
    return json_set(a, obj, name, was);
}

const struct json *check_only_status(struct arena *a, const struct json *obj,
                                     const struct json *old)
{
    static const char *const ours[] = { "resourceVersion", "managedFields" };
    const struct json *sent = json_get(obj, STR("metadata"));
    const struct json *meta = json_get(old, STR("metadata"));

    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        meta = check_keep(a, meta, sent, ours[i]);
    return check_keep(a, json_set(a, old, "metadata", meta), obj, "status");
}

const struct json *check_reset(const struct kind_context *c, const struct json *obj,
                               const char *name)
{
    const struct schema_field *f = schema_field(c->kind->schema, str_of(name));

    return json_set(c->arena, obj, name, f ? f->absent : NULL);
}

void cell_str(struct json_array *cells, const struct json *obj, const char *path)
{
    json_push(cells, json_of_str(json_get_str(obj, path)));
}

void cell_age(struct json_array *cells, const struct json *obj, int64_t now_s)
{
    str created = json_get_str(obj, "metadata.creationTimestamp");

    json_push(cells, json_of_str(duration_since(cells->arena, created, now_s)));
}
