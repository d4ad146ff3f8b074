/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/plugin/openapi.h"

#include "base/banned.h"
#include "rpc/message.h"

enum { DEPTH_MAX = 8 };

void openapi_text(struct buf *b, const char *name, str text)
{
    json_print_string(b, str_of(name));
    buf_byte(b, ':');
    json_print_string(b, text);
}

/* ---- names ---- */

/* The last n words of a full name. */
static str last_words(str name, size_t n)
{
    size_t at = name.n;

    while (at > 0 && (name.p[at - 1] != '.' || --n > 0))
        at--;
    return str_from(name, at);
}

static bool is_unique(const struct model *m, str end, size_t words)
{
    size_t n = 0;

    for (size_t i = 0; i < m->ntypes; i++)
        n += str_eq(last_words(m->types[i].name, words), end);
    return n == 1;
}

/* As many words as make it unique, and one more, without the dots: "v1alpha1Instance". */
static void put_name(struct openapi *o, const struct model_type *t)
{
    size_t words = 1;
    str name;

    while (words < 8 && !is_unique(o->m, last_words(t->name, words), words))
        words++;
    name = last_words(t->name, words + 1);
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] != '.')
            buf_byte(o->b, name.p[i]);
}

void openapi_ref(struct openapi *o, const struct model_type *t)
{
    buf_printf(o->b, "\"$ref\":\"%s", o->refs);
    put_name(o, t);
    buf_byte(o->b, '"');
}

/* ---- schemas ---- */

static const struct {
    const char *type, *format;
} scalars[] = {
    [RPC_DOUBLE] = { "number", "double" },  [RPC_FLOAT] = { "number", "float" },
    [RPC_INT64] = { "string", "int64" },    [RPC_UINT64] = { "string", "uint64" },
    [RPC_INT32] = { "integer", "int32" },   [RPC_FIXED64] = { "string", "uint64" },
    [RPC_FIXED32] = { "integer", "int64" }, [RPC_BOOL] = { "boolean", NULL },
    [RPC_STRING] = { "string", NULL },      [RPC_BYTES] = { "string", "byte" },
    [RPC_UINT32] = { "integer", "int64" },  [RPC_SFIXED32] = { "integer", "int32" },
    [RPC_SFIXED64] = { "string", "int64" }, [RPC_SINT32] = { "integer", "int32" },
    [RPC_SINT64] = { "string", "int64" },
};

static void put_scalar(struct openapi *o, const struct json *f)
{
    int64_t type = json_int(json_path(f, "type"), 0);

    buf_printf(o->b, "\"type\":\"%s\"", scalars[type].type);
    if (scalars[type].format)
        buf_printf(o->b, ",\"format\":\"%s\"", scalars[type].format);
}

static void put_enum(struct openapi *o, const struct model_type *t, bool with_default)
{
    const struct json *values = json_path(t->tree, "value");

    buf_lit(o->b, "\"type\":\"string\",\"enum\":[");
    json_for_each (v, values) {
        if (v != values->items)
            buf_byte(o->b, ',');
        json_print_string(o->b, json_get_str(v, "name"));
    }
    buf_byte(o->b, ']');
    if (!with_default)
        return;
    buf_byte(o->b, ',');
    openapi_text(o->b, "default", json_get_str(json_at(values, 0), "name"));
}

static void put_value(struct openapi *o, const struct json *f)
{
    const struct model_type *t = model_field_type(o->m, f);

    if (t)
        openapi_ref(o, t);
    else
        put_scalar(o, f);
}

static void put_schema(struct openapi *o, const struct json *f)
{
    const struct model_type *t = model_field_type(o->m, f);

    buf_byte(o->b, '{');
    if (t && t->is_map_entry) {
        buf_lit(o->b, "\"type\":\"object\",\"additionalProperties\":{");
        put_value(o, json_at(json_path(t->tree, "field"), 1));
        buf_byte(o->b, '}');
    } else if (field_is_repeated(f)) {
        buf_lit(o->b, "\"type\":\"array\",\"items\":{");
        put_value(o, f);
        buf_byte(o->b, '}');
    } else if (o->nullable && t && !t->is_enum) {
        buf_lit(o->b, "\"anyOf\":[{");
        put_value(o, f);
        buf_lit(o->b, "},{\"type\":\"null\"}]");
    } else {
        put_value(o, f);
    }
}

/* What an answer always has: all but what is optional.  A request may leave out anything. */
static void put_required(struct openapi *o, const struct model_type *t)
{
    bool first = true;

    json_for_each (f, json_path(t->tree, "field")) {
        if (json_path(f, "oneof_index"))
            continue;
        buf_str_append(o->b, first ? STR(",\"required\":[") : STR(","));
        first = false;
        json_print_string(o->b, json_get_str(f, "json_name"));
    }
    if (!first)
        buf_byte(o->b, ']');
}

static bool is_in_path(str path, str name)
{
    str rest = path;

    for (ptrdiff_t at = str_find(rest, '{', 0); at >= 0; at = str_find(rest, '{', 0)) {
        rest = str_from(rest, (size_t)at + 1);
        if (str_starts(rest, name) && rest.n > name.n && rest.p[name.n] == '}')
            return true;
    }
    return false;
}

/* All fields but those that the path names. */
static void put_properties(struct openapi *o, const struct model_type *t, str path)
{
    bool first = true;
    size_t i = 0;

    buf_lit(o->b, "\"type\":\"object\",\"properties\":{");
    json_for_each (f, json_path(t->tree, "field")) {
        str comment = model_field_comment(o->m, t, i++);

        if (is_in_path(path, json_get_str(f, "name")))
            continue;
        if (!first)
            buf_byte(o->b, ',');
        first = false;
        json_print_string(o->b, json_get_str(f, "json_name"));
        buf_byte(o->b, ':');
        put_schema(o, f);
        if (comment.n) {
            buf_byte(o->b, ',');
            openapi_text(o->b, "description", comment);
        }
        buf_byte(o->b, '}');
    }
    buf_byte(o->b, '}');
}

/* ---- parameters ---- */

void openapi_simple(struct openapi *o, const struct json *f, bool with_default)
{
    const struct model_type *t = model_field_type(o->m, f);

    if (t)
        put_enum(o, t, with_default);
    else
        put_scalar(o, f);
}

void openapi_next(struct openapi *o)
{
    if (o->begun)
        buf_byte(o->b, ',');
    o->begun = true;
}

/* The fields of a message as parameters of a query: those of messages in it by dots. */
static void put_query(struct openapi *o, const struct model_type *t, const char *prefix, str path,
                      int depth)
{
    json_for_each (f, json_path(t->tree, "field")) {
        const struct model_type *of = model_field_type(o->m, f);
        str name = json_get_str(f, "json_name");

        if (*prefix == '\0' && is_in_path(path, json_get_str(f, "name")))
            continue;
        if (!of || of->is_enum) {
            openapi_next(o);
            o->parameter(o, prefix, f, "query");
        } else if (!field_is_repeated(f) && depth < DEPTH_MAX) {
            put_query(o, of, arena_printf(o->m->arena, "%s%.*s.", prefix, STR_ARG(name)), path,
                      depth + 1);
        }
    }
}

void openapi_parameters(struct openapi *o, const struct model_method *m, const struct model_rule *r)
{
    o->begun = false;
    json_for_each (f, json_path(m->input->tree, "field")) {
        if (!is_in_path(r->path, json_get_str(f, "name")))
            continue;
        openapi_next(o);
        o->parameter(o, "", f, "path");
    }
    if (!r->body.n)
        put_query(o, m->input, "", r->path, 0);
}

void openapi_body(struct openapi *o, const struct model_method *m, const struct model_rule *r)
{
    if (str_find(r->path, '{', 0) < 0)
        openapi_ref(o, m->input);
    else
        put_properties(o, m->input, r->path);
}

/* ---- paths and definitions ---- */

/* The methods of one path stand together, under the first of them. */
static void put_path(struct openapi *o, str path, struct map *seen)
{
    bool first = true;

    if (map_put(seen, path, o))
        return;
    if (map_size(seen) > 1)
        buf_byte(o->b, ',');
    json_print_string(o->b, path);
    buf_lit(o->b, ":{");
    for (size_t i = 0; i < o->m->nservices; i++)
        for (size_t k = 0; k < o->m->services[i].nmethods; k++) {
            const struct model_method *m = &o->m->services[i].methods[k];
            struct model_rule r;

            if (!method_rule(m, &r) || !str_eq(r.path, path))
                continue;
            buf_str_append(o->b, first ? STR("\"") : STR(",\""));
            first = false;
            o->operation(o, &o->m->services[i], m, &r);
        }
    buf_byte(o->b, '}');
}

void openapi_paths(struct openapi *o)
{
    struct map seen = { 0 };
    struct model_rule r;

    buf_lit(o->b, ",\"paths\":{");
    for (size_t i = 0; i < o->m->nservices; i++)
        for (size_t k = 0; k < o->m->services[i].nmethods; k++)
            if (method_rule(&o->m->services[i].methods[k], &r))
                put_path(o, r.path, &seen);
    buf_byte(o->b, '}');
    map_release(&seen);
}

static bool is_rest(const struct model_service *s)
{
    struct model_rule r;

    return s->nmethods && method_rule(&s->methods[0], &r);
}

static void put_definition(struct openapi *o, const struct model_type *t)
{
    buf_lit(o->b, ",\"");
    put_name(o, t);
    buf_lit(o->b, "\":{");
    if (t->is_enum)
        put_enum(o, t, true);
    else
        put_properties(o, t, STR_NONE);
    if (o->nullable && !t->is_enum && !map_get(&o->asked, t->name))
        put_required(o, t);
    if (t->comment.n) {
        buf_byte(o->b, ',');
        openapi_text(o->b, "description", t->comment);
    }
    buf_byte(o->b, '}');
}

/* What answers and bodies are made of; requests that are paths and queries need no definition. */
static void mark(const struct model *m, struct map *defined, struct model_type *t)
{
    if (!t || str_is(t->name, "google.protobuf.Empty") || map_put(defined, t->name, t))
        return;
    json_for_each (f, json_path(t->tree, "field"))
        mark(m, defined, model_field_type(m, f));
}

static void mark_fields(const struct model *m, struct map *defined, const struct model_type *t)
{
    json_for_each (f, json_path(t->tree, "field"))
        mark(m, defined, model_field_type(m, f));
}

/* The parameters of a query have all of their types inside; version 2 defines these all the same,
 * as protoc-gen-openapiv2 does. */
static void mark_input(const struct model *m, struct map *defined, const struct model_method *x,
                       const struct model_rule *r)
{
    if (r->body.n && str_find(r->path, '{', 0) < 0)
        mark(m, defined, x->input);
    else
        mark_fields(m, defined, x->input);
}

static void mark_method(struct openapi *o, struct map *defined, const struct model_method *x)
{
    struct model_rule r;

    if (!method_rule(x, &r))
        return;
    mark(o->m, defined, x->output);
    if (r.body.n || !o->nullable)
        mark_input(o->m, defined, x, &r);
    if (r.body.n)
        mark_input(o->m, &o->asked, x, &r);
}

void openapi_definitions(struct openapi *o)
{
    struct map defined = { 0 };

    for (size_t i = 0; i < o->m->nservices; i++)
        for (size_t k = 0; k < o->m->services[i].nmethods; k++)
            mark_method(o, &defined, &o->m->services[i].methods[k]);
    for (size_t i = 0; i < o->m->ntypes; i++)
        if (!o->m->types[i].is_map_entry && map_get(&defined, o->m->types[i].name))
            put_definition(o, &o->m->types[i]);
    map_release(&defined);
    map_release(&o->asked);
}

void openapi_tags(struct openapi *o)
{
    bool first = true;

    for (size_t i = 0; i < o->m->nservices; i++) {
        const struct model_service *s = &o->m->services[i];

        if (!is_rest(s))
            continue;
        buf_str_append(o->b, first ? STR("{") : STR(",{"));
        first = false;
        openapi_text(o->b, "name", s->name);
        buf_byte(o->b, ',');
        openapi_text(o->b, "description", s->comment);
        buf_byte(o->b, '}');
    }
}
