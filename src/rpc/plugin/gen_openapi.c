/* SPDX-License-Identifier: Apache-2.0 */

/* OpenAPI 2, as protoc-gen-openapiv2 writes it: names of definitions included. */

#include "base/banned.h"
#include "rpc/plugin/gen.h"
#include "rpc/plugin/openapi.h"

enum { DEPTH_MAX = 8 };

struct params {
    struct openapi *o;
    bool first;
};

static void begin_param(struct params *p, const char *prefix, str name, const char *in)
{
    struct buf *b = p->o->b;

    if (!p->first)
        buf_byte(b, ',');
    p->first = false;
    buf_printf(b, "{\"name\":\"%s%.*s\",\"in\":\"%s\",\"required\":%s,", prefix, STR_ARG(name), in,
               strcmp(in, "path") == 0 ? "true" : "false");
}

static void put_simple(struct params *p, const struct json *f, bool with_default)
{
    const struct model_type *t = model_field_type(p->o->m, f);

    if (t)
        openapi_enum(p->o, t, with_default);
    else
        openapi_scalar(p->o, f);
}

/* The fields of a message as parameters of a query: those of messages in it by dots. */
static void put_query(struct params *p, const struct model_type *t, const char *prefix, str path,
                      int depth)
{
    struct buf *b = p->o->b;

    json_for_each (f, json_path(t->tree, "field")) {
        const struct model_type *of = model_field_type(p->o->m, f);
        str name = json_get_str(f, "json_name");

        if (*prefix == '\0' && openapi_in_path(path, json_get_str(f, "name")))
            continue;
        if (of && !of->is_enum) {
            if (!field_is_repeated(f) && depth < DEPTH_MAX)
                put_query(p, of, arena_printf(p->o->m->arena, "%s%.*s.", prefix, STR_ARG(name)),
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
    struct buf *b = p->o->b;
    bool whole = str_find(r->path, '{', 0) < 0;

    if (!p->first)
        buf_byte(b, ',');
    p->first = false;
    buf_lit(b, "{\"name\":\"body\",\"in\":\"body\",\"required\":true,\"schema\":{");
    if (whole)
        openapi_ref(p->o, m->input);
    else
        openapi_properties(p->o, m->input, r->path);
    buf_lit(b, "}}");
}

static void put_parameters(struct openapi *o, const struct model_method *m,
                           const struct model_rule *r)
{
    struct params p = { o, true };

    buf_lit(o->b, ",\"parameters\":[");
    json_for_each (f, json_path(m->input->tree, "field")) {
        if (!openapi_in_path(r->path, json_get_str(f, "name")))
            continue;
        begin_param(&p, "", json_get_str(f, "json_name"), "path");
        put_simple(&p, f, false);
        buf_byte(o->b, '}');
    }
    if (r->body.n)
        put_body(&p, m, r);
    else
        put_query(&p, m->input, "", r->path, 0);
    buf_byte(o->b, ']');
}

static void put_operation(struct openapi *o, const struct model_service *s,
                          const struct model_method *m, const struct model_rule *r)
{
    struct buf *b = o->b;

    for (const char *c = r->verb; *c; c++) /* the first of it is the key */
        buf_byte(b, (char)(*c | 0x20));
    buf_lit(b, "\":{");
    openapi_text(b, "summary", m->comment);
    buf_printf(b, ",\"operationId\":\"%.*s_%.*s\",\"responses\":{\"200\":{", STR_ARG(s->name),
               STR_ARG(m->name));
    buf_lit(b, "\"description\":\"A successful response.\",\"schema\":{");
    if (str_is(m->output->name, "google.protobuf.Empty"))
        buf_lit(b, "\"type\":\"object\",\"properties\":{}");
    else
        openapi_ref(o, m->output);
    buf_lit(b, "}},\"default\":{\"description\":\"A failure.\",\"schema\":{"
               "\"$ref\":\"#/definitions/rpcStatus\"}}}");
    put_parameters(o, m, r);
    buf_printf(b, ",\"tags\":[\"%.*s\"]}", STR_ARG(s->name));
}

void gen_openapi(struct buf *b, const struct model *m)
{
    struct openapi o = { b, m, .refs = "#/definitions/", .operation = put_operation };

    buf_lit(b, "{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kairship\",\"version\":\"v1alpha1\"},"
               "\"tags\":[");
    openapi_tags(&o);
    buf_lit(b, "],\"consumes\":[\"application/json\"],\"produces\":[\"application/json\"],"
               "\"securityDefinitions\":{\"token\":{\"type\":\"apiKey\",\"name\":\"authorization\","
               "\"in\":\"header\",\"description\":\"Bearer and the token of a login, of a "
               "ServiceAccount or of the OIDC issuer.\"}},\"security\":[{\"token\":[]}]");
    openapi_paths(&o);
    buf_lit(b,
            ",\"definitions\":{"
            "\"protobufAny\":{\"type\":\"object\",\"properties\":{\"@type\":{\"type\":\"string\"}},"
            "\"additionalProperties\":{}},"
            "\"rpcStatus\":{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"integer\","
            "\"format\":\"int32\"},\"message\":{\"type\":\"string\"},\"details\":{\"type\":"
            "\"array\",\"items\":{\"$ref\":\"#/definitions/protobufAny\"}}}}");
    openapi_definitions(&o);
    buf_lit(b, "}}\n");
}
