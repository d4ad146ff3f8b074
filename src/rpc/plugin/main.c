/* SPDX-License-Identifier: Apache-2.0 */

/*
 * protoc-gen-kairship: a plugin of protoc, run by the build.  Writes from the files in api/:
 *
 *     NAME.c           the tables of messages, services and routes (rpc/handler.h)
 *     NAME.json        OpenAPI 2, and
 *     NAME3.json       the same in version 3.1
 *     NAME.ts          a client in TypeScript
 *
 * where NAME is the plugin's parameter: --kairship_opt=NAME.
 */

#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/banned.h"
#include "rpc/plugin/descriptor.h"
#include "rpc/plugin/gen.h"

enum { INPUT_MAX = 64 << 20 };

static int read_all(struct buf *b, struct status *st)
{
    char part[16 << 10];
    ssize_t n;

    while ((n = read(STDIN_FILENO, part, sizeof(part))) > 0)
        buf_append(b, part, (size_t)n);
    if (n < 0 || buf_overflown(b))
        return status_set(st, REASON_INTERNAL, "the input cannot be read");
    return 0;
}

static void add_file(struct json_array *files, struct arena *a, str name, const char *end,
                     const struct buf *content)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("name"), json_of_str(str_printf(a, "%.*s%s", STR_ARG(name), end)));
    json_add(&o, STR("content"), json_of_str(str_dup(a, buf_str(content))));
    json_push(files, json_object_value(&o));
}

static int generate(struct arena *a, str request, struct json_object *out, struct status *st)
{
    const struct json *tree;
    struct json_array files = json_array_new(a);
    scoped_buf tables = { .max = INPUT_MAX };
    scoped_buf openapi = { .max = INPUT_MAX };
    scoped_buf openapi3 = { .max = INPUT_MAX };
    scoped_buf client = { .max = INPUT_MAX };
    struct model m;
    str name;
    int rc;

    if (message_decode(a, &code_generator_request, request, &tree, st) < 0)
        return -1;
    name = json_get_str(tree, "parameter");
    rc = model_load(&m, a, request, st);
    if (rc == 0) {
        gen_openapi(&openapi, &m);
        gen_openapi3(&openapi3, &m);
        gen_tables(&tables, &m, name, buf_str(&openapi), buf_str(&openapi3));
        gen_client(&client, &m);
        add_file(&files, a, name, ".c", &tables);
        add_file(&files, a, name, ".json", &openapi);
        add_file(&files, a, name, "3.json", &openapi3);
        add_file(&files, a, name, ".ts", &client);
        json_add(out, STR("file"), json_array_value(&files));
    }
    model_release(&m);
    return rc;
}

int main(void)
{
    enum { PROTO3_OPTIONAL = 1 };
    scoped_arena a = arena_new();
    scoped_buf in = { .max = INPUT_MAX };
    scoped_buf out = { .max = INPUT_MAX };
    struct json_object response = json_object_new(a);
    struct status st;

    status_init(&st, a);
    json_add(&response, STR("supported_features"), json_of_int(PROTO3_OPTIONAL));
    if (read_all(&in, &st) < 0 || generate(a, buf_str(&in), &response, &st) < 0)
        json_add(&response, STR("error"), json_of_str(st.message));
    message_encode(&out, &code_generator_response, json_object_done(&response));
    return write(STDOUT_FILENO, out.p, out.n) == (ssize_t)out.n ? 0 : 1;
}
