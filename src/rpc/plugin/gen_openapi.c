/* SPDX-License-Identifier: Apache-2.0 */

/* OpenAPI 2, as protoc-gen-openapiv2 writes it: names of definitions included. */

#include "base/banned.h"
#include "rpc/message.h"
#include "rpc/plugin/gen.h"

enum { DEPTH_MAX = 8 };

struct doc {
    struct buf *b;
    const struct model *m;
};

static void put_text(struct buf *b, const char *name, str text)
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
static void put_name(struct doc *d, const struct model_type *t)
{
    size_t words = 1;
    str name;

    while (words < 8 && !is_unique(d->m, last_words(t->name, words), words))
        words++;
    name = last_words(t->name, words + 1);
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] != '.')
            buf_byte(d->b, name.p[i]);
}

static void put_ref(struct doc *d, const struct model_type *t)
{
    buf_lit(d->b, "\"$ref\":\"#/definitions/");
    put_name(d, t);
    buf_byte(d->b, '"');
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

static void put_scalar(struct doc *d, const struct json *f)
{
    int64_t type = json_int(json_path(f, "type"), 0);

    buf_printf(d->b, "\"type\":\"%s\"", scalars[type].type);
    if (scalars[type].format)
        buf_printf(d->b, ",\"format\":\"%s\"", scalars[type].format);
}

static void put_enum(struct doc *d, const struct model_type *t, bool with_default)
{
    const struct json *values = json_path(t->tree, "value");

    buf_lit(d->b, "\"type\":\"string\",\"enum\":[");
    json_for_each (v, values) {
        if (v != values->items)
            buf_byte(d->b, ',');
        json_print_string(d->b, json_get_str(v, "name"));
    }
    buf_byte(d->b, ']');
    if (!with_default)
        return;
    buf_byte(d->b, ',');
    put_text(d->b, "default", json_get_str(json_at(values, 0), "name"));
}

static void put_value(struct doc *d, const struct json *f)
{
    const struct model_type *t = model_field_type(d->m, f);

    if (t)
        put_ref(d, t);
    else
        put_scalar(d, f);
}

static void put_schema(struct doc *d, const struct json *f)
{
    const struct model_type *t = model_field_type(d->m, f);

    buf_byte(d->b, '{');
    if (t && t->is_map_entry) {
        buf_lit(d->b, "\"type\":\"object\",\"additionalProperties\":{");
        put_value(d, json_at(json_path(t->tree, "field"), 1));
        buf_byte(d->b, '}');
    } else if (field_is_repeated(f)) {
        buf_lit(d->b, "\"type\":\"array\",\"items\":{");
        put_value(d, f);
        buf_byte(d->b, '}');
    } else {
        put_value(d, f);
    }
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
static void put_properties(struct doc *d, const struct model_type *t, str path)
{
    bool first = true;
    size_t i = 0;

    buf_lit(d->b, "\"type\":\"object\",\"properties\":{");
    json_for_each (f, json_path(t->tree, "field")) {
        str comment = model_field_comment(d->m, t, i++);

        if (is_in_path(path, json_get_str(f, "name")))
            continue;
        if (!first)
            buf_byte(d->b, ',');
        first = false;
        json_print_string(d->b, json_get_str(f, "json_name"));
        buf_byte(d->b, ':');
        put_schema(d, f);
        if (comment.n) {
            buf_byte(d->b, ',');
            put_text(d->b, "description", comment);
        }
        buf_byte(d->b, '}');
    }
    buf_byte(d->b, '}');
}

/* ---- parameters ---- */

struct params {
    struct doc *d;
    bool first;
};

static void begin_param(struct params *p, const char *prefix, str name, const char *in)
{
    struct buf *b = p->d->b;

    if (!p->first)
        buf_byte(b, ',');
    p->first = false;
    buf_printf(b, "{\"name\":\"%s%.*s\",\"in\":\"%s\",\"required\":%s,", prefix, STR_ARG(name), in,
               strcmp(in, "path") == 0 ? "true" : "false");
}

static void put_simple(struct params *p, const struct json *f, bool with_default)
{
    const struct model_type *t = model_field_type(p->d->m, f);

    if (t)
        put_enum(p->d, t, with_default);
    else
        put_scalar(p->d, f);
}

/* The fields of a message as parameters of a query: those of messages in it by dots. */
static void put_query(struct params *p, const struct model_type *t, const char *prefix, str path,
                      int depth)
{
    struct buf *b = p->d->b;

    json_for_each (f, json_path(t->tree, "field")) {
        const struct model_type *of = model_field_type(p->d->m, f);
        str name = json_get_str(f, "json_name");

        if (*prefix == '\0' && is_in_path(path, json_get_str(f, "name")))
            continue;
        if (of && !of->is_enum) {
            if (!field_is_repeated(f) && depth < DEPTH_MAX)
                put_query(p, of, arena_printf(p->d->m->arena, "%s%.*s.", prefix, STR_ARG(name)),
                          path, depth + 1);
            continue;
        }
        begin_param(p, prefix, name, "query");
        if (field_is_repeated(f)) {
            buf_lit(b, "\"type\":\"array\",\"items\":{");
            put_simple(p, f, false);
            buf_lit(b, "},\"collectionFormat\":\"multi\"");
        } else {
            put_simple(p, f, true);
        }
        buf_byte(b, '}');
    }
}

static void put_body(struct params *p, const struct model_method *m, const struct model_rule *r)
{
    struct buf *b = p->d->b;
    bool whole = str_find(r->path, '{', 0) < 0;

    if (!p->first)
        buf_byte(b, ',');
    p->first = false;
    buf_lit(b, "{\"name\":\"body\",\"in\":\"body\",\"required\":true,\"schema\":{");
    if (whole)
        put_ref(p->d, m->input);
    else
        put_properties(p->d, m->input, r->path);
    buf_lit(b, "}}");
}

static void put_parameters(struct doc *d, const struct model_method *m, const struct model_rule *r)
{
    struct params p = { d, true };

    buf_lit(d->b, ",\"parameters\":[");
    json_for_each (f, json_path(m->input->tree, "field")) {
        if (!is_in_path(r->path, json_get_str(f, "name")))
            continue;
        begin_param(&p, "", json_get_str(f, "json_name"), "path");
        put_simple(&p, f, false);
        buf_byte(d->b, '}');
    }
    if (r->body.n)
        put_body(&p, m, r);
    else
        put_query(&p, m->input, "", r->path, 0);
    buf_byte(d->b, ']');
}

/* ---- the document ---- */

static void put_operation(struct doc *d, const struct model_service *s,
                          const struct model_method *m, const struct model_rule *r)
{
    struct buf *b = d->b;

    for (const char *c = r->verb; *c; c++) /* the first of it is the key */
        buf_byte(b, (char)(*c | 0x20));
    buf_lit(b, "\":{");
    put_text(b, "summary", m->comment);
    buf_printf(b, ",\"operationId\":\"%.*s_%.*s\",\"responses\":{\"200\":{", STR_ARG(s->name),
               STR_ARG(m->name));
    buf_lit(b, "\"description\":\"A successful response.\",\"schema\":{");
    if (str_is(m->output->name, "google.protobuf.Empty"))
        buf_lit(b, "\"type\":\"object\",\"properties\":{}");
    else
        put_ref(d, m->output);
    buf_lit(b, "}},\"default\":{\"description\":\"A failure.\",\"schema\":{"
               "\"$ref\":\"#/definitions/rpcStatus\"}}}");
    put_parameters(d, m, r);
    buf_printf(b, ",\"tags\":[\"%.*s\"]}", STR_ARG(s->name));
}

/* The methods of one path stand together, under the first of them. */
static void put_path(struct doc *d, str path, struct map *seen)
{
    bool first = true;

    if (map_put(seen, path, d))
        return;
    if (map_size(seen) > 1)
        buf_byte(d->b, ',');
    json_print_string(d->b, path);
    buf_lit(d->b, ":{");
    for (size_t i = 0; i < d->m->nservices; i++)
        for (size_t k = 0; k < d->m->services[i].nmethods; k++) {
            const struct model_method *m = &d->m->services[i].methods[k];
            struct model_rule r;

            if (!method_rule(m, &r) || !str_eq(r.path, path))
                continue;
            buf_str_append(d->b, first ? STR("\"") : STR(",\""));
            first = false;
            put_operation(d, &d->m->services[i], m, &r);
        }
    buf_byte(d->b, '}');
}

static void put_paths(struct doc *d)
{
    struct map seen = { 0 };
    struct model_rule r;

    buf_lit(d->b, ",\"paths\":{");
    for (size_t i = 0; i < d->m->nservices; i++)
        for (size_t k = 0; k < d->m->services[i].nmethods; k++)
            if (method_rule(&d->m->services[i].methods[k], &r))
                put_path(d, r.path, &seen);
    buf_byte(d->b, '}');
    map_release(&seen);
}

static bool is_rest(const struct model_service *s)
{
    struct model_rule r;

    return s->nmethods && method_rule(&s->methods[0], &r);
}

static void put_definition(struct doc *d, const struct model_type *t)
{
    buf_lit(d->b, ",\"");
    put_name(d, t);
    buf_lit(d->b, "\":{");
    if (t->is_enum)
        put_enum(d, t, true);
    else
        put_properties(d, t, STR_NONE);
    if (t->comment.n) {
        buf_byte(d->b, ',');
        put_text(d->b, "description", t->comment);
    }
    buf_byte(d->b, '}');
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

static void mark_method(const struct model *m, struct map *defined, const struct model_method *x)
{
    struct model_rule r;

    if (!method_rule(x, &r))
        return;
    mark(m, defined, x->output);
    if (r.body.n && str_find(r.path, '{', 0) < 0)
        mark(m, defined, x->input);
    else
        mark_fields(m, defined, x->input);
}

static void put_definitions(struct doc *d)
{
    struct map defined = { 0 };

    for (size_t i = 0; i < d->m->nservices; i++)
        for (size_t k = 0; k < d->m->services[i].nmethods; k++)
            mark_method(d->m, &defined, &d->m->services[i].methods[k]);
    for (size_t i = 0; i < d->m->ntypes; i++)
        if (!d->m->types[i].is_map_entry && map_get(&defined, d->m->types[i].name))
            put_definition(d, &d->m->types[i]);
    map_release(&defined);
}

void gen_openapi(struct buf *b, const struct model *m)
{
    struct doc d = { b, m };
    bool first = true;

    buf_lit(b, "{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kairship\",\"version\":\"v1alpha1\"},"
               "\"tags\":[");
    for (size_t i = 0; i < m->nservices; i++) {
        if (!is_rest(&m->services[i]))
            continue;
        buf_str_append(b, first ? STR("{") : STR(",{"));
        first = false;
        put_text(b, "name", m->services[i].name);
        buf_byte(b, ',');
        put_text(b, "description", m->services[i].comment);
        buf_byte(b, '}');
    }
    buf_lit(b, "],\"consumes\":[\"application/json\"],\"produces\":[\"application/json\"]");
    put_paths(&d);
    buf_lit(b,
            ",\"definitions\":{"
            "\"protobufAny\":{\"type\":\"object\",\"properties\":{\"@type\":{\"type\":\"string\"}},"
            "\"additionalProperties\":{}},"
            "\"rpcStatus\":{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"integer\","
            "\"format\":\"int32\"},\"message\":{\"type\":\"string\"},\"details\":{\"type\":"
            "\"array\",\"items\":{\"$ref\":\"#/definitions/protobufAny\"}}}}");
    put_definitions(&d);
    buf_lit(b, "}}\n");
}
