/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/openapi_proto.h"

#include <assert.h>

#include "base/banned.h"
#include "base/pbwire.h"

enum message {
    DOCUMENT,
    INFO,
    PATH_ITEM,
    OPERATION,
    SECURITY_DEFINITION,
    BODY_PARAMETER,
    QUERY_PARAMETER,
    PATH_PARAMETER,
    RESPONSE,
    SCHEMA,
    NMESSAGES
};

enum value_form {
    STRING,
    STRINGS, /* one string, or a list of them */
    BOOL,
    ANY,  /* free JSON: a message with its YAML, which JSON is, at 2 */
    ANYS, /* a list of them */
    INT,
    DOUBLE,
    MESSAGE,
    SECURITY,   /* a list of names to lists of strings */
    MAP,        /* names to messages: repeated { 1 name, 2 message } */
    PARAMETERS, /* a list of parameters or references to them */
    PARAMETER_MAP,
};

/* One member of a JSON object and where it goes. */
struct member_row {
    str name;
    uint32_t number;
    uint32_t inner; /* message in between with the value at this number; 0: none */
    enum value_form form;
    enum message message;
    uint32_t value; /* of a MAP: message around each value, holding it at this number; 0: none */
};

#define ROW(name, ...)              \
    {                               \
        STR_INIT(name), __VA_ARGS__ \
    }

static const struct member_row document_rows[] = {
    ROW("swagger", 1, 0, STRING, 0, 0),
    ROW("info", 2, 0, MESSAGE, INFO, 0),
    ROW("paths", 8, 2, MAP, PATH_ITEM, 0),
    ROW("definitions", 9, 1, MAP, SCHEMA, 0),
    ROW("parameters", 10, 1, PARAMETER_MAP, 0, 0),
    ROW("security", 12, 0, SECURITY, 0, 0),
    /* SecurityDefinitionsItem has an apiKey at 2 */
    ROW("securityDefinitions", 13, 1, MAP, SECURITY_DEFINITION, 2),
};
static const struct member_row security_rows[] = {
    ROW("type", 1, 0, STRING, 0, 0),
    ROW("name", 2, 0, STRING, 0, 0),
    ROW("in", 3, 0, STRING, 0, 0),
    ROW("description", 4, 0, STRING, 0, 0),
};
static const struct member_row info_rows[] = {
    ROW("title", 1, 0, STRING, 0, 0),
    ROW("version", 2, 0, STRING, 0, 0),
};
static const struct member_row path_item_rows[] = {
    ROW("get", 2, 0, MESSAGE, OPERATION, 0),     ROW("put", 3, 0, MESSAGE, OPERATION, 0),
    ROW("post", 4, 0, MESSAGE, OPERATION, 0),    ROW("delete", 5, 0, MESSAGE, OPERATION, 0),
    ROW("options", 6, 0, MESSAGE, OPERATION, 0), ROW("head", 7, 0, MESSAGE, OPERATION, 0),
    ROW("patch", 8, 0, MESSAGE, OPERATION, 0),   ROW("parameters", 9, 0, PARAMETERS, 0, 0),
};
static const struct member_row operation_rows[] = {
    ROW("tags", 1, 0, STRINGS, 0, 0),         ROW("description", 3, 0, STRING, 0, 0),
    ROW("operationId", 5, 0, STRING, 0, 0),   ROW("produces", 6, 0, STRINGS, 0, 0),
    ROW("consumes", 7, 0, STRINGS, 0, 0),     ROW("parameters", 8, 0, PARAMETERS, 0, 0),
    ROW("responses", 9, 1, MAP, RESPONSE, 1), ROW("schemes", 10, 0, STRINGS, 0, 0),
};
static const struct member_row body_rows[] = {
    ROW("name", 2, 0, STRING, 0, 0),
    ROW("in", 3, 0, STRING, 0, 0),
    ROW("required", 4, 0, BOOL, 0, 0),
    ROW("schema", 5, 0, MESSAGE, SCHEMA, 0),
};
static const struct member_row query_rows[] = {
    ROW("in", 2, 0, STRING, 0, 0),
    ROW("name", 4, 0, STRING, 0, 0),
    ROW("type", 6, 0, STRING, 0, 0),
    ROW("uniqueItems", 20, 0, BOOL, 0, 0),
};
static const struct member_row path_rows[] = {
    ROW("required", 1, 0, BOOL, 0, 0),     ROW("in", 2, 0, STRING, 0, 0),
    ROW("name", 4, 0, STRING, 0, 0),       ROW("type", 5, 0, STRING, 0, 0),
    ROW("uniqueItems", 19, 0, BOOL, 0, 0),
};
static const struct member_row response_rows[] = {
    ROW("description", 1, 0, STRING, 0, 0),
    ROW("schema", 2, 1, MESSAGE, SCHEMA, 0),
};
static const struct member_row schema_rows[] = {
    ROW("$ref", 1, 0, STRING, 0, 0),
    ROW("format", 2, 0, STRING, 0, 0),
    ROW("title", 3, 0, STRING, 0, 0),
    ROW("description", 4, 0, STRING, 0, 0),
    ROW("multipleOf", 6, 0, DOUBLE, 0, 0),
    ROW("maximum", 7, 0, DOUBLE, 0, 0),
    ROW("exclusiveMaximum", 8, 0, BOOL, 0, 0),
    ROW("minimum", 9, 0, DOUBLE, 0, 0),
    ROW("exclusiveMinimum", 10, 0, BOOL, 0, 0),
    ROW("maxLength", 11, 0, INT, 0, 0),
    ROW("minLength", 12, 0, INT, 0, 0),
    ROW("pattern", 13, 0, STRING, 0, 0),
    ROW("maxItems", 14, 0, INT, 0, 0),
    ROW("minItems", 15, 0, INT, 0, 0),
    ROW("uniqueItems", 16, 0, BOOL, 0, 0),
    ROW("maxProperties", 17, 0, INT, 0, 0),
    ROW("minProperties", 18, 0, INT, 0, 0),
    ROW("required", 19, 0, STRINGS, 0, 0),
    ROW("enum", 20, 0, ANYS, 0, 0),
    ROW("additionalProperties", 21, 1, MESSAGE, SCHEMA, 0),
    ROW("type", 22, 1, STRINGS, 0, 0),
    ROW("items", 23, 1, MESSAGE, SCHEMA, 0),
    ROW("properties", 25, 1, MAP, SCHEMA, 0),
};

static const struct {
    const struct member_row *rows;
    size_t n;
    uint32_t extensions; /* where x-… go */
} messages[NMESSAGES] = {
#define MESSAGE_OF(rows, extensions)                     \
    {                                                    \
        rows, sizeof(rows) / sizeof(*(rows)), extensions \
    }
    [DOCUMENT] = MESSAGE_OF(document_rows, 16),
    [INFO] = MESSAGE_OF(info_rows, 7),
    [PATH_ITEM] = MESSAGE_OF(path_item_rows, 10),
    [OPERATION] = MESSAGE_OF(operation_rows, 13),
    [BODY_PARAMETER] = MESSAGE_OF(body_rows, 6),
    [QUERY_PARAMETER] = MESSAGE_OF(query_rows, 23),
    [PATH_PARAMETER] = MESSAGE_OF(path_rows, 22),
    [RESPONSE] = MESSAGE_OF(response_rows, 5),
    [SCHEMA] = MESSAGE_OF(schema_rows, 31),
    [SECURITY_DEFINITION] = MESSAGE_OF(security_rows, 5),
#undef MESSAGE_OF
};

/* Parameter is one of these, by where it stands. */
static const struct {
    str in;
    uint32_t outer, inner; /* inner 0: none */
    enum message message;
} parameter_kinds[] = {
    { STR_INIT("body"), 1, 0, BODY_PARAMETER },
    { STR_INIT("query"), 2, 3, QUERY_PARAMETER },
    { STR_INIT("path"), 2, 4, PATH_PARAMETER },
};

static void put_message(struct buf *b, enum message m, const struct json *v);

static void put_any(struct buf *b, uint32_t number, const struct json *v)
{
    size_t any = pb_begin(b, number), text = pb_begin(b, 2);

    json_print(b, v);
    pb_end(b, text);
    pb_end(b, any);
}

static void put_strings(struct buf *b, uint32_t number, const struct json *v)
{
    if (json_is(v, JSON_STRING))
        pb_put_bytes(b, number, json_str(v));
    json_for_each (item, v)
        pb_put_bytes(b, number, json_str(item));
}

static void put_map(struct buf *b, const struct member_row *r, uint32_t number,
                    const struct json *v)
{
    json_for_each_member (m, v) {
        size_t entry = pb_begin(b, number), value, wrapped = 0;

        pb_put_bytes(b, 1, m->name);
        value = pb_begin(b, 2);
        if (r->value)
            wrapped = pb_begin(b, r->value);
        put_message(b, r->message, &m->value);
        if (r->value)
            pb_end(b, wrapped);
        pb_end(b, value);
        pb_end(b, entry);
    }
}

/* A Parameter: which message it is, its member "in" says. */
static void put_parameter(struct buf *b, uint32_t number, const struct json *v)
{
    str in = json_get_str(v, "in");
    size_t kind = 0, parameter = pb_begin(b, number), outer, inner = 0;

    while (!str_eq(parameter_kinds[kind].in, in)) {
        kind++;
        assert(kind < sizeof(parameter_kinds) / sizeof(*parameter_kinds));
    }
    outer = pb_begin(b, parameter_kinds[kind].outer);
    if (parameter_kinds[kind].inner)
        inner = pb_begin(b, parameter_kinds[kind].inner);
    put_message(b, parameter_kinds[kind].message, v);
    if (parameter_kinds[kind].inner)
        pb_end(b, inner);
    pb_end(b, outer);
    pb_end(b, parameter);
}

/* A ParametersItem: one of its own, or a reference. */
static void put_parameters_item(struct buf *b, uint32_t number, const struct json *v)
{
    const struct json *ref = json_get(v, STR("$ref"));
    size_t item = pb_begin(b, number), mark;

    if (ref) {
        mark = pb_begin(b, 2);
        pb_put_bytes(b, 1, json_str(ref));
        pb_end(b, mark);
    } else {
        put_parameter(b, 1, v);
    }
    pb_end(b, item);
}

static void put_parameter_map(struct buf *b, uint32_t number, const struct json *v)
{
    json_for_each_member (m, v) {
        size_t entry = pb_begin(b, number);

        pb_put_bytes(b, 1, m->name);
        put_parameter(b, 2, &m->value);
        pb_end(b, entry);
    }
}

/* A SecurityRequirement: names, each with a StringArray. */
static void put_security(struct buf *b, uint32_t number, const struct json *v)
{
    size_t requirement = pb_begin(b, number);

    json_for_each_member (m, v) {
        size_t entry = pb_begin(b, 1), list;

        pb_put_bytes(b, 1, m->name);
        list = pb_begin(b, 2);
        put_strings(b, 1, &m->value);
        pb_end(b, list);
        pb_end(b, entry);
    }
    pb_end(b, requirement);
}

static double number_of(const struct json *v)
{
    return v->type == JSON_INT ? (double)v->i : v->type == JSON_FLOAT ? v->f : 0;
}

static void put_value(struct buf *b, const struct member_row *r, uint32_t number,
                      const struct json *v)
{
    size_t mark;

    switch (r->form) {
    case STRING:
        pb_put_bytes(b, number, json_str(v));
        return;
    case STRINGS:
        put_strings(b, number, v);
        return;
    case BOOL:
        pb_put_uint(b, number, json_bool(v));
        return;
    case ANY:
        put_any(b, number, v);
        return;
    case ANYS:
        json_for_each (item, v)
            put_any(b, number, item);
        return;
    case INT:
        pb_put_uint(b, number, (uint64_t)json_int(v, 0));
        return;
    case DOUBLE:
        pb_put_double(b, number, number_of(v));
        return;
    case MESSAGE:
        mark = pb_begin(b, number);
        put_message(b, r->message, v);
        pb_end(b, mark);
        return;
    case MAP:
        put_map(b, r, number, v);
        return;
    case PARAMETERS:
        json_for_each (item, v)
            put_parameters_item(b, number, item);
        return;
    case PARAMETER_MAP:
        put_parameter_map(b, number, v);
        return;
    case SECURITY:
        json_for_each (item, v)
            put_security(b, number, item);
        return;
    }
}

static const struct member_row *find_row(enum message m, str name)
{
    for (size_t i = 0; i < messages[m].n; i++) {
        if (str_eq(messages[m].rows[i].name, name))
            return &messages[m].rows[i];
    }
    return NULL;
}

static void put_extension(struct buf *b, uint32_t number, const struct json_member *m)
{
    size_t named = pb_begin(b, number);

    pb_put_bytes(b, 1, m->name);
    put_any(b, 2, &m->value);
    pb_end(b, named);
}

static void put_message(struct buf *b, enum message m, const struct json *v)
{
    json_for_each_member (member, v) {
        const struct member_row *r;
        size_t mark;

        if (str_starts(member->name, STR("x-"))) {
            put_extension(b, messages[m].extensions, member);
            continue;
        }
        r = find_row(m, member->name);
        assert(r); /* a member of openapi_v2() that has no row here */
        if (!r->inner) {
            put_value(b, r, r->number, &member->value);
            continue;
        }
        mark = pb_begin(b, r->number);
        put_value(b, r, r->inner, &member->value);
        pb_end(b, mark);
    }
}

void openapi_proto_print(struct buf *b, const struct json *v2)
{
    put_message(b, DOCUMENT, v2);
}
