/* SPDX-License-Identifier: Apache-2.0 */
#include "client/reply.h"

#include "base/banned.h"

enum { CAUSES_MAX = 100, TEXT_MAX = 200 };

/* The first reason with that code: the general one. */
static enum reason reason_of_code(int http)
{
    static const enum reason all[] = {
#define X(name, wire, code, grpc) REASON_##name,
        STATUS_REASONS(X)
#undef X
    };
    struct status st = { 0 };

    for (size_t i = 1; i < sizeof(all) / sizeof(*all); i++) {
        st.reason = all[i];
        if (status_http(&st) == http)
            return all[i];
    }
    return http >= 500 ? REASON_INTERNAL : REASON_BAD_REQUEST;
}

static enum cause_type cause_of(str wire)
{
    static const enum cause_type all[] = {
#define X(name, wire_name, text) CAUSE_##name,
        STATUS_CAUSES(X)
#undef X
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (str_is(wire, cause_reason(all[i])))
            return all[i];
    return CAUSE_OTHER;
}

/* As the server worded them: status_cause() would put the kind's text before it once more. */
static void take_causes(const struct json *list, struct status *st)
{
    struct cause **tail = &st->causes;

    json_for_each (item, list) {
        struct cause *c;

        if (st->ncauses == CAUSES_MAX)
            return;
        c = arena_new_of(st->arena, struct cause);
        c->type = cause_of(json_get_str(item, "reason"));
        c->field = str_dup(st->arena, json_get_str(item, "field"));
        c->message = str_dup(st->arena, json_get_str(item, "message"));
        *tail = c;
        tail = &c->next;
        st->ncauses++;
    }
}

int client_reply_status(const struct json *object, struct status *st)
{
    struct arena *a = st->arena;
    const struct json *details = json_get(object, STR("details"));
    int64_t code = json_int(json_get(object, STR("code")), 500);
    int64_t retry = json_int(json_get(details, STR("retryAfterSeconds")), 0);
    enum reason reason;

    if (!status_parse_reason(json_get_str(object, "reason"), &reason) || reason == REASON_OK)
        reason = reason_of_code((int)code);
    (void)status_set(st, reason, "%.*s", STR_ARG(json_get_str(object, "message")));
    st->group = str_dup(a, json_get_str(details, "group"));
    st->kind = str_dup(a, json_get_str(details, "kind"));
    st->name = str_dup(a, json_get_str(details, "name"));
    st->uid = str_dup(a, json_get_str(details, "uid"));
    st->retry_after_s = retry > 0 && retry < 86400 ? (unsigned)retry : 0;
    st->continue_token = str_dup(a, json_get_str(object, "metadata.continue"));
    st->causes = st->last_cause = NULL;
    st->ncauses = 0;
    take_causes(json_get(details, STR("causes")), st);
    return -1;
}

static int error_reply(struct arena *a, int http, str body, struct status *st)
{
    const struct json *tree;
    struct status ignored;

    status_init(&ignored, a);
    if (json_parse(a, body, NULL, &tree, &ignored) == 0 &&
        str_is(json_get_str(tree, "kind"), "Status"))
        return client_reply_status(tree, st);
    body = str_trim(str_sub(body, 0, TEXT_MAX));
    return status_set(st, reason_of_code(http), "the server answered %d%s%.*s", http,
                      body.n ? ": " : "", STR_ARG(body));
}

int client_reply(struct arena *a, int http, str body, const struct json **out, struct status *st)
{
    if (http < 200 || http > 299)
        return error_reply(a, http, body, st);
    if (!body.n) {
        *out = &json_null;
        return 0;
    }
    if (json_parse(a, body, NULL, out, st) == 0)
        return 0;
    (void)status_wrap(st, "the server's answer");
    st->reason = REASON_INTERNAL;
    return -1;
}
