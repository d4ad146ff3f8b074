/* SPDX-License-Identifier: Apache-2.0 */

/* OpenAPI 3.1: as version 2, with what that cannot say: what may be null, what is always there, and
 * who gets in. */

#include "base/banned.h"
#include "rpc/plugin/gen.h"
#include "rpc/plugin/openapi.h"

#define JSON_CONTENT "\"content\":{\"application/json\":{\"schema\":"

/* ---- operations ---- */

static void put_parameter(struct openapi *o, const char *prefix, const struct json *f,
                          const char *in)
{
    bool path = strcmp(in, "path") == 0, list = field_is_repeated(f);

    buf_printf(o->b, "{\"name\":\"%s%.*s\",\"in\":\"%s\",%s\"schema\":{%s", prefix,
               STR_ARG(json_get_str(f, "json_name")), in, path ? "\"required\":true," : "",
               list ? "\"type\":\"array\",\"items\":{" : "");
    openapi_simple(o, f, !path && !list);
    buf_str_append(o->b, list ? STR("}}}") : STR("}}"));
}

static void put_body(struct openapi *o, const struct model_method *m, const struct model_rule *r)
{
    buf_lit(o->b, ",\"requestBody\":{\"required\":true," JSON_CONTENT "{");
    openapi_body(o, m, r);
    buf_lit(o->b, "}}}}");
}

static void put_responses(struct openapi *o, const struct model_method *m)
{
    buf_lit(o->b, ",\"responses\":{\"200\":{\"description\":\"Success.\"," JSON_CONTENT "{");
    if (str_is(m->output->name, "google.protobuf.Empty"))
        buf_lit(o->b, "\"type\":\"object\"");
    else
        openapi_ref(o, m->output);
    buf_lit(o->b, "}}}},\"401\":{\"$ref\":\"#/components/responses/Unauthorized\"},"
                  "\"429\":{\"$ref\":\"#/components/responses/TooManyRequests\"},"
                  "\"503\":{\"$ref\":\"#/components/responses/Unavailable\"},"
                  "\"default\":{\"$ref\":\"#/components/responses/Failure\"}}");
}

/* The first sentence of a comment, without the full stop of its end. */
static str summary_of(str comment)
{
    ptrdiff_t end = str_find(comment, '.', 0);

    while (end >= 0 && (size_t)end + 1 < comment.n && comment.p[end + 1] != ' ' &&
           comment.p[end + 1] != '\n')
        end = str_find(comment, '.', (size_t)end + 1);
    return end < 0 ? comment : str_sub(comment, 0, (size_t)end);
}

static void put_operation(struct openapi *o, const struct model_service *s,
                          const struct model_method *m, const struct model_rule *r)
{
    struct buf *b = o->b;
    str summary = summary_of(m->comment);

    for (const char *c = r->verb; *c; c++) /* the first of it is the key */
        buf_byte(b, (char)(*c | 0x20));
    buf_printf(b, "\":{\"tags\":[\"%.*s\"],\"operationId\":\"%.*s_%.*s\",", STR_ARG(s->name),
               STR_ARG(s->name), STR_ARG(m->name));
    openapi_text(b, "summary", summary);
    if (summary.n + 1 < m->comment.n) {
        buf_byte(b, ',');
        openapi_text(b, "description", m->comment);
    }
    buf_lit(b, ",\"parameters\":[");
    openapi_parameters(o, m, r);
    buf_byte(b, ']');
    if (r->body.n)
        put_body(o, m, r);
    put_responses(o, m);
    buf_byte(b, '}');
}

/* ---- the document ---- */

/* What the server itself refuses is a Status of Kubernetes, as for all of its paths. */
static const char head[] =
    "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Kairship\",\"version\":\"v1alpha1\","
    "\"summary\":\"The management API of Kairship.\","
    "\"license\":{\"name\":\"Apache-2.0\",\"identifier\":\"Apache-2.0\"}},"
    "\"servers\":[{\"url\":\"/\",\"description\":\"The server that this document is of.\"}],"
    "\"security\":[{\"token\":[]},{\"certificate\":[]}],\"tags\":[";

static const char components[] =
    ",\"components\":{\"securitySchemes\":{"
    "\"token\":{\"type\":\"http\",\"scheme\":\"bearer\",\"description\":"
    "\"A token of a login, of a ServiceAccount or of the OIDC issuer.\"},"
    "\"certificate\":{\"type\":\"mutualTLS\",\"description\":\"A client certificate.\"}},"
    "\"responses\":{"
    "\"Unauthorized\":{\"description\":\"The credential is not valid.\"," JSON_CONTENT
    "{\"$ref\":\"#/components/schemas/kubernetesStatus\"}}}},"
    "\"TooManyRequests\":{\"description\":\"The server is busy. Try again after the seconds of the "
    "header retry-after, if there is one.\",\"headers\":{\"retry-after\":{\"schema\":{\"type\":"
    "\"integer\"}}}," JSON_CONTENT
    "{\"$ref\":\"#/components/schemas/rpcStatus\"}},\"text/plain\":{\"schema\":{\"type\":"
    "\"string\"}}}},"
    "\"Unavailable\":{\"description\":\"Try again later.\"," JSON_CONTENT
    "{\"anyOf\":[{\"$ref\":\"#/components/schemas/rpcStatus\"},"
    "{\"$ref\":\"#/components/schemas/kubernetesStatus\"}]}}}},"
    "\"Failure\":{\"description\":\"A failure.\"," JSON_CONTENT
    "{\"$ref\":\"#/components/schemas/rpcStatus\"}}}}},"
    "\"schemas\":{"
    "\"kubernetesStatus\":{\"type\":\"object\",\"required\":[\"kind\",\"apiVersion\",\"status\"],"
    "\"properties\":{\"kind\":{\"const\":\"Status\"},\"apiVersion\":{\"const\":\"v1\"},"
    "\"status\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"},"
    "\"reason\":{\"type\":\"string\"},\"code\":{\"type\":\"integer\"}}},"
    "\"protobufAny\":{\"type\":\"object\",\"properties\":{\"@type\":{\"type\":\"string\"}},"
    "\"additionalProperties\":true},"
    "\"rpcStatus\":{\"type\":\"object\",\"required\":[\"code\",\"message\",\"details\"],"
    "\"properties\":{\"code\":{\"type\":\"integer\",\"format\":\"int32\",\"description\":"
    "\"The code of gRPC.\"},\"message\":{\"type\":\"string\"},\"details\":{\"type\":\"array\","
    "\"items\":{\"$ref\":\"#/components/schemas/protobufAny\"}}}}";

void gen_openapi3(struct buf *b, const struct model *m)
{
    struct openapi o = { b,
                         m,
                         .refs = "#/components/schemas/",
                         .nullable = true,
                         .operation = put_operation,
                         .parameter = put_parameter };

    buf_append(b, head, sizeof(head) - 1);
    openapi_tags(&o);
    buf_byte(b, ']');
    openapi_paths(&o);
    buf_append(b, components, sizeof(components) - 1);
    openapi_definitions(&o);
    buf_lit(b, "}}}\n");
}
