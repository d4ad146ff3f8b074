/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whole requests through the chain, against a server on the model store: "METHOD target", lines
 * "name: value", an empty line, the body.  Each has exactly one answer, in time; what says that it
 * is JSON is; nothing is an internal error.
 */

#include <assert.h>

#define TAP_H       /* the fixture's checks are asserts here, and there is no main */
#define CHECK(cond) assert(cond)

#include "fuzz/fuzz.h"
#include "unit/server_fixture.h"

enum { REQUESTS_PER_SERVER = 1000 }; /* the model never forgets */

static struct host *host;

static void close_host(void)
{
    if (host)
        host_free(host);
    host = NULL;
}

static void open_host(void)
{
    static unsigned n;

    if (n++ % REQUESTS_PER_SERVER != 0)
        return;
    if (!host)
        (void)atexit(close_host);
    close_host();
    host = host_new(0, 0);
    CHECK(strcmp(make_instance(host, "one"), "201") == 0);
    CHECK(strcmp(make_configmap(host, "", "a"), "201") == 0);
    CHECK(strcmp(make_configmap(host, "/clusters/one", "a"), "201") == 0);
}

static struct ask *read_request(str in)
{
    str line, method, name, target = STR_NONE;
    struct ask *a;

    if (!str_split(&in, '\n', &line))
        return NULL;
    if (!str_split(&line, ' ', &method))
        return NULL;
    target = str_printf(host->arena, "%.*s%stimeout=20ms", STR_ARG(line),
                        str_find(line, '?', 0) < 0 ? "?" : "&");
    a = ask(host, str_z(host->arena, method), str_z(host->arena, target));
    while (str_split(&in, '\n', &line) && line.n && a->nheaders < ASK_HEADERS)
        if (str_split(&line, ':', &name))
            ask_header(a, str_z(host->arena, name), str_z(host->arena, line));
    a->call->body = in;
    return a;
}

static bool may_fail(const struct ask *a)
{
    /* k8s: a resourceVersion on create; and what waits for a revision in vain */
    return a->code == 500 || a->code == 504;
}

static void check_answer(struct ask *a)
{
    const struct json *v;
    struct status st;
    scoped_arena arena = arena_new();

    status_init(&st, arena);
    assert(a->code >= 200 && (a->code < 500 || may_fail(a)));
    assert(!a->broken);
    if (a->streaming || strcmp(answer_header(a, "content-type"), "application/json") != 0 ||
        *answer_header(a, "content-encoding"))
        return;
    assert(json_parse(arena, buf_str(&a->text), NULL, &v, &st) == 0);
    if (str_is(json_get_str(v, "kind"), "Status"))
        assert(!str_is(json_get_str(v, "reason"), "InternalError"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ask *a;

    open_host();
    a = read_request((str){ (const char *)data, size });
    if (!a)
        return 0;
    ask_send(a);
    assert(host_until(host, ask_done, a));
    check_answer(a);
    ask_free(a);
    assert(atomic_load(&host->server->reads) == 0 && atomic_load(&host->server->writes) == 0);
    return 0;
}
