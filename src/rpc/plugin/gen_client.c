/* SPDX-License-Identifier: Apache-2.0 */

/* A client in TypeScript that needs nothing but fetch: for the console, and for node. */

#include "base/banned.h"
#include "rpc/message.h"
#include "rpc/plugin/gen.h"

static const char runtime[] =
    "// Made by protoc-gen-kairship from the files in api/; not to be edited.\n"
    "/* eslint-disable */\n"
    "\n"
    "/** A failure as the server tells it (google.rpc.Status). */\n"
    "export class ApiError extends Error {\n"
    "  constructor(\n"
    "    public readonly http: number,\n"
    "    public readonly code: number,\n"
    "    message: string,\n"
    "    public readonly details: unknown[],\n"
    "  ) {\n"
    "    super(message);\n"
    "  }\n"
    "}\n"
    "\n"
    "export interface Options {\n"
    "  /** Where the server is: \"https://localhost:6443\"; empty in a browser that has its page\n"
    "   *  from there. */\n"
    "  base?: string;\n"
    "  headers?: { [name: string]: string };\n"
    "  fetch?: typeof fetch;\n"
    "}\n"
    "\n"
    "type Fields = { [name: string]: any };\n"
    "\n"
    "function addQuery(to: string[], prefix: string, value: any): void {\n"
    "  if (value === undefined || value === null) return;\n"
    "  if (Array.isArray(value)) {\n"
    "    for (const one of value) addQuery(to, prefix, one);\n"
    "  } else if (typeof value === \"object\") {\n"
    "    for (const key of Object.keys(value)) addQuery(to, prefix + \".\" + key, value[key]);\n"
    "  } else {\n"
    "    to.push(encodeURIComponent(prefix) + \"=\" + encodeURIComponent(String(value)));\n"
    "  }\n"
    "}\n"
    "\n"
    "/** Fills the path's {fields}; what is left of the request is the body or the query. */\n"
    "async function call(\n"
    "  o: Options,\n"
    "  method: string,\n"
    "  path: string,\n"
    "  body: boolean,\n"
    "  request: Fields,\n"
    "): Promise<any> {\n"
    "  const rest: Fields = { ...request };\n"
    "  let url = path.replace(/\\{(\\w+)\\}/g, (_, name: string) => {\n"
    "    const value = rest[name];\n"
    "    if (value === undefined || value === \"\") throw new Error(name + \" is missing\");\n"
    "    delete rest[name];\n"
    "    return encodeURIComponent(String(value));\n"
    "  });\n"
    "  const query: string[] = [];\n"
    "  if (!body) for (const key of Object.keys(rest)) addQuery(query, key, rest[key]);\n"
    "  if (query.length) url += \"?\" + query.join(\"&\");\n"
    "  const answer = await (o.fetch ?? fetch)((o.base ?? \"\") + url, {\n"
    "    method,\n"
    "    headers: body ? { ...o.headers, \"content-type\": \"application/json\" } : { ...o.headers "
    "},\n"
    "    body: body ? JSON.stringify(rest) : undefined,\n"
    "  });\n"
    "  const text = await answer.text();\n"
    "  let value: any = {};\n"
    "  try {\n"
    "    value = text ? JSON.parse(text) : {};\n"
    "  } catch {\n"
    "    value = { message: text };\n"
    "  }\n"
    "  if (answer.ok) return value;\n"
    "  throw new ApiError(answer.status, value.code ?? 2, value.message ?? text, value.details ?? "
    "[]);\n"
    "}\n";

static void put_comment(struct buf *b, const char *indent, str text)
{
    if (text.n)
        buf_printf(b, "%s/** %.*s */\n", indent, STR_ARG(text));
}

static const char *scalar_name(int64_t type)
{
    switch ((enum rpc_type)type) {
    case RPC_BOOL:
        return "boolean";
    case RPC_DOUBLE:
    case RPC_FLOAT:
    case RPC_INT32:
    case RPC_UINT32:
    case RPC_SINT32:
    case RPC_FIXED32:
    case RPC_SFIXED32:
        return "number";
    case RPC_INT64:
    case RPC_UINT64:
    case RPC_FIXED64:
    case RPC_SFIXED64:
    case RPC_SINT64:
    case RPC_STRING:
    case RPC_BYTES:
    case RPC_MESSAGE:
    case RPC_ENUM:
        break;
    }
    return "string";
}

static void put_type(struct buf *b, const struct model *m, const struct json *f)
{
    const struct model_type *t = model_field_type(m, f);

    if (t && t->is_map_entry) {
        buf_lit(b, "{ [key: string]: ");
        put_type(b, m, json_at(json_path(t->tree, "field"), 1));
        buf_lit(b, " }");
        return;
    }
    if (t)
        buf_str_append(b, t->short_name);
    else
        buf_str_append(b, str_of(scalar_name(json_int(json_path(f, "type"), 0))));
    if (field_is_repeated(f))
        buf_lit(b, "[]");
}

static void put_message(struct buf *b, const struct model *m, const struct model_type *t)
{
    size_t i = 0;

    buf_byte(b, '\n');
    put_comment(b, "", t->comment);
    buf_printf(b, "export interface %.*s {\n", STR_ARG(t->short_name));
    json_for_each (f, json_path(t->tree, "field")) {
        const struct model_type *of = model_field_type(m, f);
        bool nullable = of && !of->is_enum && !field_is_repeated(f);

        put_comment(b, "  ", model_field_comment(m, t, i++));
        buf_printf(b, "  %.*s?: ", STR_ARG(json_get_str(f, "json_name")));
        put_type(b, m, f);
        buf_str_append(b, nullable ? STR(" | null;\n") : STR(";\n"));
    }
    buf_lit(b, "}\n");
}

static void put_enum(struct buf *b, const struct model_type *t)
{
    const struct json *values = json_path(t->tree, "value");

    buf_byte(b, '\n');
    put_comment(b, "", t->comment);
    buf_printf(b, "export type %.*s =", STR_ARG(t->short_name));
    json_for_each (v, values)
        buf_printf(b, "\n  | \"%.*s\"", STR_ARG(json_get_str(v, "name")));
    buf_lit(b, ";\n");
}

static void put_method(struct buf *b, const struct model_method *m)
{
    struct model_rule r;
    str name = m->name;

    if (!method_rule(m, &r))
        return;
    buf_byte(b, '\n');
    put_comment(b, "  ", m->comment);
    buf_printf(b, "  %c%.*s(request: %.*s%s): Promise<%.*s> {\n", name.p[0] | 0x20,
               STR_ARG(str_from(name, 1)), STR_ARG(m->input->short_name),
               json_len(json_path(m->input->tree, "field")) ? "" : " = {}",
               STR_ARG(m->output->short_name));
    buf_printf(b, "    return call(this.options, \"%s\", \"%.*s\", %s, request);\n  }\n", r.verb,
               STR_ARG(r.path), r.body.n ? "true" : "false");
}

static bool is_rest(const struct model_service *s)
{
    struct model_rule r;

    return s->nmethods && method_rule(&s->methods[0], &r);
}

static void put_service(struct buf *b, const struct model_service *s)
{
    buf_byte(b, '\n');
    put_comment(b, "", s->comment);
    buf_printf(b,
               "export class %.*sService {\n  constructor(private readonly options: Options) {}\n",
               STR_ARG(s->name));
    for (size_t i = 0; i < s->nmethods; i++)
        put_method(b, &s->methods[i]);
    buf_lit(b, "}\n");
}

static void put_member(struct buf *b, const struct model_service *s)
{
    buf_printf(b, "  readonly %c%.*s: %.*sService;\n", s->name.p[0] | 0x20,
               STR_ARG(str_from(s->name, 1)), STR_ARG(s->name));
}

void gen_client(struct buf *b, const struct model *m)
{
    buf_append(b, runtime, sizeof(runtime) - 1);
    for (size_t i = 0; i < m->ntypes; i++) {
        const struct model_type *t = &m->types[i];

        if (!t->used || t->is_map_entry || str_starts(t->file->package, STR("grpc.")))
            continue;
        if (t->is_enum)
            put_enum(b, t);
        else
            put_message(b, m, t);
    }
    for (size_t i = 0; i < m->nservices; i++)
        if (is_rest(&m->services[i]))
            put_service(b, &m->services[i]);
    buf_lit(b, "\n/** All services of one server. */\nexport class Client {\n");
    for (size_t i = 0; i < m->nservices; i++)
        if (is_rest(&m->services[i]))
            put_member(b, &m->services[i]);
    buf_lit(b, "\n  constructor(options: Options = {}) {\n");
    for (size_t i = 0; i < m->nservices; i++)
        if (is_rest(&m->services[i]))
            buf_printf(b, "    this.%c%.*s = new %.*sService(options);\n",
                       m->services[i].name.p[0] | 0x20, STR_ARG(str_from(m->services[i].name, 1)),
                       STR_ARG(m->services[i].name));
    buf_lit(b, "  }\n}\n");
}
