/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A policy, and behind a line "---" a body.  A policy that is taken decides about any request the
 * same way twice; of the body nothing that is to be hidden is left.
 */

#include <assert.h>

#include "apiserver/audit/audit_policy.h"
#include "apiserver/audit/audit_redact.h"
#include "fuzz.h"

static const str groups[] = { STR_INIT("system:authenticated") };

static void ask(const struct audit_policy *p)
{
    static const struct identity who = { .user = STR_INIT("jane"), .groups = groups, .ngroups = 1 };
    static const char *const verbs[] = { "get", "create", "post", "escalate", "" };

    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        struct reqinfo object = { .is_resource = true,
                                  .verb = str_of(verbs[i]),
                                  .resource = STR("pods"),
                                  .subresource = STR("log"),
                                  .name = STR("x") };
        struct reqinfo path = { .verb = str_of(verbs[i]), .path = STR("/healthz/ping") };
        struct audit_decision a = audit_policy_decide(p, &who, &object);
        struct audit_decision b = audit_policy_decide(p, &who, &object);

        assert(a.level == b.level && a.omitted == b.omitted && a.omitted < 16);
        assert(audit_policy_decide(p, NULL, &path).level <= AUDIT_REQUEST_RESPONSE);
    }
}

static bool is_hidden(const struct json *v)
{
    bool all = true;

    if (!json_is(v, JSON_OBJECT))
        return json_is(v, JSON_NULL) || str_is(json_str(v), AUDIT_REDACTED);
    json_for_each_member (m, v)
        all = all && (json_is(&m->value, JSON_NULL) || str_is(json_str(&m->value), AUDIT_REDACTED));
    return all;
}

static void check(const struct json *v)
{
    json_for_each (item, v)
        check(item);
    json_for_each_member (m, v) {
        if (str_is(m->name, "data") || str_is(m->name, "stringData")) {
            assert(is_hidden(&m->value));
            continue;
        }
        if (str_is(m->name, "token") || str_is(m->name, "password"))
            assert(!json_is(&m->value, JSON_STRING) || is_hidden(&m->value));
        check(&m->value);
    }
}

static void redact(struct arena *a, str text)
{
    const struct reqinfo info = { .is_resource = true, .resource = STR("secrets") };
    const struct json *v;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, text, NULL, &v, &st) == 0)
        check(audit_redact(a, v, &info, true));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size }, policy = text;
    struct audit_policy *p;
    struct status st;

    for (size_t i = 0; i + 5 <= size; i++)
        if (memcmp(data + i, "\n---\n", 5) == 0) {
            policy.n = i;
            redact(a, str_from(text, i + 5));
            break;
        }
    status_init(&st, a);
    p = audit_policy_new(policy, &st);
    if (p)
        ask(p);
    else
        assert(st.reason != REASON_OK && st.message.n);
    audit_policy_free(p);
    return 0;
}
