/* SPDX-License-Identifier: Apache-2.0 */

/*
 * grpc.reflection: what is served, told from the descriptors that the plugin has kept.  They are
 * looked through when somebody asks, which is rare.
 */

#include "base/banned.h"
#include "base/encode.h"
#include "base/pbwire.h"
#include "rpc/rpc.h"

/* Of google/protobuf/descriptor.proto. */
enum {
    FILE_PACKAGE = 2,
    FILE_MESSAGE = 4,
    FILE_ENUM = 5,
    FILE_SERVICE = 6,
    FILE_EXTENSION = 7,
    MESSAGE_NESTED = 3,
    MESSAGE_ENUM = 4,
    SERVICE_METHOD = 2,
    NAME = 1,
    FIELD_EXTENDEE = 2,
    FIELD_NUMBER = 3,
    NESTING_MAX = 16,
};

static str field_bytes(str message, uint32_t number)
{
    struct pb_reader r = pb_reader(message);
    struct pb_field f;

    while (pb_next(&r, &f))
        if (f.number == number && f.wire == PB_BYTES)
            return f.bytes;
    return STR_NONE;
}

static uint64_t field_number(str message, uint32_t number)
{
    struct pb_reader r = pb_reader(message);
    struct pb_field f;

    while (pb_next(&r, &f))
        if (f.number == number && f.wire == PB_VARINT)
            return f.value;
    return 0;
}

/* ---- symbols ---- */

/* "Name" or "Name.rest" of a symbol without what is around it; *rest behind the name. */
static bool begins_with(str symbol, str name, str *rest)
{
    if (!name.n || !str_starts(symbol, name))
        return false;
    *rest = str_from(symbol, name.n);
    if (rest->n == 0)
        return true;
    if (rest->p[0] != '.' && rest->p[0] != '/')
        return false;
    *rest = str_from(*rest, 1);
    return true;
}

static bool has_named(str message, uint32_t number, str symbol)
{
    struct pb_reader r = pb_reader(message);
    struct pb_field f;

    while (pb_next(&r, &f))
        if (f.number == number && f.wire == PB_BYTES && str_eq(field_bytes(f.bytes, NAME), symbol))
            return true;
    return false;
}

static bool message_has(str message, str symbol, int depth)
{
    struct pb_reader r = pb_reader(message);
    struct pb_field f;
    str rest;

    if (!begins_with(symbol, field_bytes(message, NAME), &rest))
        return false;
    if (rest.n == 0)
        return true;
    if (depth > NESTING_MAX || has_named(message, MESSAGE_ENUM, rest))
        return depth <= NESTING_MAX;
    while (pb_next(&r, &f))
        if (f.number == MESSAGE_NESTED && f.wire == PB_BYTES &&
            message_has(f.bytes, rest, depth + 1))
            return true;
    return false;
}

static bool service_has(str service, str symbol)
{
    str rest;

    return begins_with(symbol, field_bytes(service, NAME), &rest) &&
           (rest.n == 0 || has_named(service, SERVICE_METHOD, rest));
}

static bool file_has(str file, str symbol)
{
    struct pb_reader r = pb_reader(file);
    struct pb_field f;
    str package = field_bytes(file, FILE_PACKAGE), rest = symbol;

    if (package.n && (!begins_with(symbol, package, &rest) || rest.n == 0))
        return false;
    if (has_named(file, FILE_ENUM, rest) || has_named(file, FILE_EXTENSION, rest))
        return true;
    while (pb_next(&r, &f)) {
        if (f.wire != PB_BYTES)
            continue;
        if ((f.number == FILE_MESSAGE && message_has(f.bytes, rest, 0)) ||
            (f.number == FILE_SERVICE && service_has(f.bytes, rest)))
            return true;
    }
    return false;
}

static bool extends(str field, str type)
{
    str extendee = field_bytes(field, FIELD_EXTENDEE);

    return extendee.n && str_eq(str_from(extendee, 1), type);
}

/* The file that extends a type by that number; the number 0 stands for any. */
static bool file_extends(str file, str type, uint64_t number)
{
    struct pb_reader r = pb_reader(file);
    struct pb_field f;

    while (pb_next(&r, &f))
        if (f.number == FILE_EXTENSION && f.wire == PB_BYTES && extends(f.bytes, type) &&
            (number == 0 || field_number(f.bytes, FIELD_NUMBER) == number))
            return true;
    return false;
}

/* ---- answers ---- */

struct asked {
    const struct rpc *rpc;
    struct arena *arena;
    struct json_object out;
};

static void answer_with(struct asked *q, const char *name, const char *member, struct json value)
{
    struct json_object o = json_object_new(q->arena);

    json_add(&o, str_of(member), value);
    json_add(&q->out, str_of(name), json_object_value(&o));
}

static void not_found(struct asked *q, str what)
{
    enum { GRPC_NOT_FOUND = 5 };
    struct json_object o = json_object_new(q->arena);

    json_add(&o, STR("errorCode"), json_of_int(GRPC_NOT_FOUND));
    json_add(&o, STR("errorMessage"),
             json_of_str(str_printf(q->arena, "not found: %.*s", STR_ARG(what))));
    json_add(&q->out, STR("errorResponse"), json_object_value(&o));
}

static void give_file(struct asked *q, const struct rpc_file *f, str what)
{
    struct json_array list = json_array_new(q->arena);

    if (!f) {
        not_found(q, what);
        return;
    }
    json_push(&list, json_of_str(base64_encode(q->arena, BASE64_STD, f->descriptor)));
    answer_with(q, "fileDescriptorResponse", "fileDescriptorProto", json_array_value(&list));
}

static void list_services(struct asked *q)
{
    struct json_array list = json_array_new(q->arena);

    for (size_t i = 0; i < q->rpc->api->nfiles; i++) {
        const struct rpc_file *f = &q->rpc->api->files[i];

        for (size_t k = 0; k < f->nservices; k++) {
            struct json_object o = json_object_new(q->arena);

            json_add(&o, STR("name"), json_of_str(f->services[k].name));
            json_push(&list, json_object_value(&o));
        }
    }
    answer_with(q, "listServicesResponse", "service", json_array_value(&list));
}

static void extension_numbers(struct asked *q, str type)
{
    struct json_array list = json_array_new(q->arena);
    struct json_object o = json_object_new(q->arena);

    for (size_t i = 0; i < q->rpc->api->nfiles; i++) {
        struct pb_reader r = pb_reader(q->rpc->api->files[i].descriptor);
        struct pb_field f;

        while (pb_next(&r, &f))
            if (f.number == FILE_EXTENSION && f.wire == PB_BYTES && extends(f.bytes, type))
                json_push(&list, json_of_int((int64_t)field_number(f.bytes, FIELD_NUMBER)));
    }
    json_add(&o, STR("baseTypeName"), json_of_str(type));
    json_add(&o, STR("extensionNumber"), json_array_value(&list));
    json_add(&q->out, STR("allExtensionNumbersResponse"), json_object_value(&o));
}

static void give_matching(struct asked *q, const struct json *request)
{
    const struct json *by_name = json_path(request, "fileByFilename");
    const struct json *extension = json_path(request, "fileContainingExtension");
    str symbol = json_get_str(request, "fileContainingSymbol");
    str type = json_get_str(extension, "containingType");
    uint64_t number = (uint64_t)json_int(json_path(extension, "extensionNumber"), 0);
    const struct rpc_file *found = NULL;

    for (size_t i = 0; i < q->rpc->api->nfiles && !found; i++) {
        const struct rpc_file *f = &q->rpc->api->files[i];

        if (by_name     ? str_eq(f->name, json_str(by_name))
            : extension ? file_extends(f->descriptor, type, number)
                        : file_has(f->descriptor, symbol))
            found = f;
    }
    give_file(q, found, by_name ? json_str(by_name) : extension ? type : symbol);
}

static int info(void *arg, struct rpc_context *ctx, const struct json *request,
                const struct json **response, struct status *st)
{
    struct asked q = { .rpc = arg, .arena = ctx->arena, .out = json_object_new(ctx->arena) };
    const struct json *type = json_path(request, "allExtensionNumbersOfType");

    (void)st;
    json_add(&q.out, STR("validHost"), json_of_str(json_get_str(request, "host")));
    json_add(&q.out, STR("originalRequest"), *request);
    if (json_path(request, "listServices"))
        list_services(&q);
    else if (type)
        extension_numbers(&q, json_str(type));
    else
        give_matching(&q, request);
    *response = json_object_done(&q.out);
    return 0;
}

static const struct rpc_handler handlers[] = { { .method = "ServerReflectionInfo", .fn = info } };

const struct rpc_implementation reflection_implementations[2] = {
    { .service = "grpc.reflection.v1.ServerReflection", .handlers = handlers, .nhandlers = 1 },
    { .service = "grpc.reflection.v1alpha.ServerReflection", .handlers = handlers, .nhandlers = 1 },
};
