/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "rpc/message.h"
#include "rpc/plugin/gen.h"

static void put_str(struct buf *b, str s)
{
    buf_lit(b, "STR_INIT(");
    json_print_string(b, s);
    buf_byte(b, ')');
}

static void put_bytes(struct buf *b, const char *name, size_t i, str bytes)
{
    buf_printf(b, "static const unsigned char %s_%zu[] = {", name, i);
    for (size_t k = 0; k < bytes.n; k++)
        buf_printf(b, "%s%u,", k % 24 ? "" : "\n", (unsigned char)bytes.p[k]);
    buf_lit(b, "\n};\n");
}

static const struct model_type *used_at(const struct model *m, bool is_enum, size_t id)
{
    for (size_t i = 0; i < m->ntypes; i++)
        if (m->types[i].used && m->types[i].is_enum == is_enum && m->types[i].id == id)
            return &m->types[i];
    return NULL;
}

static void put_enums(struct buf *b, const struct model *m)
{
    for (size_t i = 0; i < m->nenums; i++) {
        const struct model_type *t = used_at(m, true, i);

        buf_printf(b, "static const struct rpc_enum_value enum_%zu[] = {\n", i);
        json_for_each (v, json_path(t->tree, "value")) {
            buf_lit(b, "    { ");
            put_str(b, json_get_str(v, "name"));
            buf_printf(b, ", %d },\n", (int)json_int(json_path(v, "number"), 0));
        }
        buf_lit(b, "};\n");
    }
    buf_printf(b, "static const struct rpc_enum enums[%zu] = {\n", m->nenums + 1);
    for (size_t i = 0; i < m->nenums; i++) {
        const struct model_type *t = used_at(m, true, i);

        buf_lit(b, "    { ");
        put_str(b, t->name);
        buf_printf(b, ", enum_%zu, %zu },\n", i, json_len(json_path(t->tree, "value")));
    }
    buf_lit(b, "};\n");
}

static unsigned flags_of(const struct json *f, const struct model_type *of)
{
    unsigned flags = field_is_repeated(f) ? RPC_REPEATED : 0;

    if (of && of->is_map_entry)
        flags |= RPC_MAP;
    if (json_path(f, "oneof_index"))
        flags |= RPC_PRESENCE;
    return flags;
}

/* Fields are looked for by their number. */
static const struct json *next_field(const struct json *fields, int64_t after)
{
    const struct json *next = NULL;

    json_for_each (f, fields) {
        int64_t n = json_int(json_path(f, "number"), 0);

        if (n > after && (!next || n < json_int(json_path(next, "number"), 0)))
            next = f;
    }
    return next;
}

static void put_fields(struct buf *b, const struct model *m, const struct model_type *t)
{
    const struct json *fields = json_path(t->tree, "field"), *f;

    buf_printf(b, "static const struct rpc_field fields_%zu[] = {\n", t->id);
    for (int64_t at = 0; (f = next_field(fields, at)); at = json_int(json_path(f, "number"), 0)) {
        const struct model_type *of = model_field_type(m, f);

        buf_printf(b, "    { %d, %d, %u, ", (int)json_int(json_path(f, "number"), 0),
                   (int)json_int(json_path(f, "type"), 0), flags_of(f, of));
        put_str(b, json_get_str(f, "name"));
        buf_lit(b, ", ");
        put_str(b, json_get_str(f, "json_name"));
        if (!of)
            buf_lit(b, ", NULL, NULL },\n");
        else if (of->is_enum)
            buf_printf(b, ", NULL, &enums[%zu] },\n", of->id);
        else
            buf_printf(b, ", &messages[%zu], NULL },\n", of->id);
    }
    buf_lit(b, "};\n");
}

static void put_messages(struct buf *b, const struct model *m)
{
    buf_printf(b, "static const struct rpc_message messages[%zu];\n", m->nmessages + 1);
    for (size_t i = 0; i < m->nmessages; i++)
        if (json_len(json_path(used_at(m, false, i)->tree, "field")))
            put_fields(b, m, used_at(m, false, i));
    buf_printf(b, "static const struct rpc_message messages[%zu] = {\n", m->nmessages + 1);
    for (size_t i = 0; i < m->nmessages; i++) {
        const struct model_type *t = used_at(m, false, i);
        size_t n = json_len(json_path(t->tree, "field"));

        buf_lit(b, "    { ");
        put_str(b, t->name);
        if (n)
            buf_printf(b, ", fields_%zu, %zu },\n", i, n);
        else
            buf_lit(b, ", NULL, 0 },\n");
    }
    buf_lit(b, "};\n");
}

/* Behind each other, those of a method together. */
static void put_recorded(struct buf *b, const struct model_service *s, size_t id)
{
    static const char *const fields[] = { "event", "object", "verb", "name", "when" };

    buf_printf(b, "static const struct rpc_recorded recorded_%zu[] = {\n", id);
    for (size_t i = 0; i < s->nmethods; i++)
        json_for_each (r, s->methods[i].recorded) {
            for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
                buf_str_append(b, f ? STR(", ") : STR("    { "));
                json_print_string(b, json_get_str(r, fields[f]));
            }
            buf_lit(b, " },\n");
        }
    buf_lit(b, "    { NULL, NULL, NULL, NULL, NULL },\n};\n");
}

static void put_method(struct buf *b, const struct model_method *m, size_t service, size_t i,
                       size_t recorded)
{
    struct model_rule rule;
    bool ruled = method_rule(m, &rule);

    buf_lit(b, "    { ");
    put_str(b, m->name);
    buf_printf(b, ", &messages[%zu], &messages[%zu], %s, %s, ", m->input->id, m->output->id,
               m->client_streaming ? "true" : "false", m->server_streaming ? "true" : "false");
    buf_printf(b, "&rules_%zu[%zu], %d, &recorded_%zu[%zu], %zu },\n", service, i, ruled ? 1 : 0,
               service, recorded, json_len(m->recorded));
}

static void put_rules(struct buf *b, const struct model_service *s, size_t id)
{
    struct model_rule rule;

    buf_printf(b, "static const struct rpc_rule rules_%zu[] = {\n", id);
    for (size_t i = 0; i < s->nmethods; i++) {
        if (!method_rule(&s->methods[i], &rule))
            rule = (struct model_rule){ "", STR_NONE, STR_NONE };
        buf_printf(b, "    { \"%s\", \"%.*s\", \"%.*s\" },\n", rule.verb, STR_ARG(rule.path),
                   STR_ARG(rule.body));
    }
    buf_lit(b, "};\n");
}

static void put_services(struct buf *b, const struct model *m)
{
    for (size_t i = 0; i < m->nservices; i++) {
        const struct model_service *s = &m->services[i];
        size_t recorded = 0;

        put_rules(b, s, i);
        put_recorded(b, s, i);
        buf_printf(b, "static const struct rpc_method methods_%zu[] = {\n", i);
        for (size_t k = 0; k < s->nmethods; k++) {
            put_method(b, &s->methods[k], i, k, recorded);
            recorded += json_len(s->methods[k].recorded);
        }
        buf_lit(b, "};\n");
    }
    buf_printf(b, "static const struct rpc_service services[%zu] = {\n", m->nservices + 1);
    for (size_t i = 0; i < m->nservices; i++) {
        buf_lit(b, "    { ");
        put_str(b, m->services[i].full_name);
        buf_printf(b, ", methods_%zu, %zu },\n", i, m->services[i].nmethods);
    }
    buf_lit(b, "};\n");
}

/* The services of a file stand together. */
static void put_files(struct buf *b, const struct model *m)
{
    for (size_t i = 0; i < m->nfiles; i++)
        put_bytes(b, "descriptor", i, m->files[i].descriptor);
    buf_lit(b, "static const struct rpc_file files[] = {\n");
    for (size_t i = 0, at = 0; i < m->nfiles; i++) {
        size_t from = at;

        while (at < m->nservices && m->services[at].file == &m->files[i])
            at++;
        buf_lit(b, "    { ");
        put_str(b, m->files[i].name);
        buf_printf(b,
                   ", { (const char *)descriptor_%zu, sizeof(descriptor_%zu) }, &services[%zu], "
                   "%zu },\n",
                   i, i, from, at - from);
    }
    buf_lit(b, "};\n");
}

void gen_tables(struct buf *b, const struct model *m, str name, str openapi, str openapi3)
{
    buf_lit(b, "/* Made by protoc-gen-kairship from the files in api/; not to be edited. */\n"
               "#include \"rpc/handler.h\"\n\n"
               "#include \"base/banned.h\"\n\n");
    put_enums(b, m);
    put_messages(b, m);
    put_services(b, m);
    put_files(b, m);
    put_bytes(b, "openapi", 2, openapi);
    put_bytes(b, "openapi", 3, openapi3);
    buf_printf(b,
               "\nextern const struct rpc_api %.*s;\n"
               "const struct rpc_api %.*s = { files, %zu, { (const char *)openapi_2, "
               "sizeof(openapi_2) }, { (const char *)openapi_3, sizeof(openapi_3) } };\n",
               STR_ARG(name), STR_ARG(name), m->nfiles);
}
