/* SPDX-License-Identifier: Apache-2.0 */

/* OpenAPI 3.1: as version 2, with what that cannot say: what may be null, what is always there, and
 * who gets in. */

#include "base/banned.h"
#include "rpc/plugin/gen.h"
#include "rpc/plugin/openapi.h"

enum { DEPTH_MAX = 8 };

#define JSON_CONTENT "\"content\":{\"application/json\":{\"schema\":"

/* ---- parameters ---- */

struct params {
    struct openapi *o;
    const char *separator;
};

static void put_param(struct params *p, const char *prefix, const struct json *f, const char *in)
{
    const struct model_type *t = model_field_type(p->o->m, f);
    struct buf *b = p->o->b;
    bool list = field_is_repeated(f);

    buf_printf(b, "%s{\"name\":\"%s%.*s\",\"in\":\"%s\",%s\"schema\":{%s", p->separator, prefix,
               STR_ARG(json_get_str(f, "json_name")), in,
               strcmp(in, "path") == 0 ? "\"required\":true," : "",
               list ? "\"type\":\"array\",\"items\":{" : "");
    p->separator = ",";
    if (t)
        openapi_enum(p->o, t, !list);
    else
        openapi_scalar(p->o, f);
    buf_str_append(b, list ? STR("}}}") : STR("}}"));
}

/* The fields of a message as parameters of a query: those of messages in it by dots. */
static void put_query(struct params *p, const struct model_type *t, const char *prefix, str path,
                      int depth)
{
    struct arena *a = p->o->m->arena;

    json_for_each (f, json_path(t->tree, "field")) {
        const struct model_type *of = model_field_type(p->o->m, f);
        str name = json_get_str(f, "json_name");

        if (*prefix == '\0' && openapi_in_path(path, json_get_str(f, "name")))
            continue;
        if (!of || of->is_enum)
            put_param(p, prefix, f, "query");
        else if (!field_is_repeated(f) && depth < DEPTH_MAX)
            put_query(p, of, arena_printf(a, "%s%.*s.", prefix, STR_ARG(name)), path, depth + 1);
    }
}

static void put_parameters(struct openapi *o, const struct model_method *m,
                           const struct model_rule *r)
{
    struct params p = { o, "" };

    buf_lit(o->b, ",\"parameters\":[");
    json_for_each (f, json_path(m->input->tree, "field"))
        if (openapi_in_path(r->path, json_get_str(f, "name")))
            put_param(&p, "", f, "path");
    if (!r->body.n)
        put_query(&p, m->input, "", r->path, 0);
    buf_byte(o->b, ']');
}

/* ---- operations ---- */

static void put_body(struct openapi *o, const struct model_method *m, const struct model_rule *r)
{
    buf_lit(o->b, ",\"requestBody\":{\"required\":true," JSON_CONTENT "{");
    if (str_find(r->path, '{', 0) < 0)
        openapi_ref(o, m->input);
    else
        openapi_properties(o, m->input, r->path);
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
    put_parameters(o, m, r);
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
    struct openapi o = { b, m, .refs = "#/components/schemas/", .nullable = true,
                         .operation = put_operation };

    buf_append(b, head, sizeof(head) - 1);
    openapi_tags(&o);
    buf_byte(b, ']');
    openapi_paths(&o);
    buf_append(b, components, sizeof(components) - 1);
    openapi_definitions(&o);
    buf_lit(b, "}}}\n");
}
