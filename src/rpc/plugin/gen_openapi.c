/* SPDX-License-Identifier: Apache-2.0 */

/* OpenAPI 2, as protoc-gen-openapiv2 writes it: names of definitions included. */

#include "base/banned.h"
#include "rpc/plugin/gen.h"
#include "rpc/plugin/openapi.h"

static void put_parameter(struct openapi *o, const char *prefix, const struct json *f,
                          const char *in)
{
    bool path = strcmp(in, "path") == 0, list = field_is_repeated(f);

    buf_printf(o->b, "{\"name\":\"%s%.*s\",\"in\":\"%s\",\"required\":%s,%s", prefix,
               STR_ARG(json_get_str(f, "json_name")), in, path ? "true" : "false",
               list ? "\"type\":\"array\",\"items\":{" : "");
    openapi_simple(o, f, !path && !list);
    buf_str_append(o->b, list ? STR("},\"collectionFormat\":\"multi\"}") : STR("}"));
}

static void put_body(struct openapi *o, const struct model_method *m, const struct model_rule *r)
{
    openapi_next(o);
    buf_lit(o->b, "{\"name\":\"body\",\"in\":\"body\",\"required\":true,\"schema\":{");
    openapi_body(o, m, r);
    buf_lit(o->b, "}}");
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
    buf_lit(b, ",\"parameters\":[");
    openapi_parameters(o, m, r);
    if (r->body.n)
        put_body(o, m, r);
    buf_byte(b, ']');
    buf_printf(b, ",\"tags\":[\"%.*s\"]}", STR_ARG(s->name));
}

void gen_openapi(struct buf *b, const struct model *m)
{
    struct openapi o = { b, m, .refs = "#/definitions/", .operation = put_operation,
                         .parameter = put_parameter };

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
