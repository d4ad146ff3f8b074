/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/session.h"
#include "apiserver/upkeep/upkeep_internal.h"
#include "server_fixture.h"

/* Sessions that are over are deleted, whatever ended them; the others stay. */

#define IAM    "/apis/iam.kairship.io/v1alpha1"
#define SECRET "/api/v1/namespaces/kube-system/secrets"

struct order {
    struct session_order session; /* first */
    struct loop_msg msg;
    bool made;
};

static void made(struct session_order *o, const struct json *session, const struct status *why)
{
    CHECK(session && !why);
    ((struct order *)(void *)o)->made = true;
}

static void begin(struct loop_msg *msg)
{
    session_make(&((struct order *)(void *)((char *)msg - offsetof(struct order, msg)))->session);
}

static bool is_made(void *arg)
{
    return ((struct order *)arg)->made;
}

static const char *told(struct host *h, const char *method, const char *path, const char *body)
{
    struct ask *a = ask(h, method, path);

    if (strcmp(method, "PATCH") == 0)
        (void)ask_header(a, "content-type", "application/merge-patch+json");
    return code_of(ask_body(a, body));
}

static const char *text_of(struct host *h, const char *path, const char *field)
{
    struct ask *a = ask(h, "GET", path);
    const char *value;

    CHECK_STR(answer(a), "200");
    value = answer_field(a, field);
    ask_free(a);
    return value;
}

/* The password of everyone is the same text; its fingerprint is what is kept of the session. */
static void make_session(struct host *h, const char *user, const char *uid, int64_t expires_s)
{
    struct ask *a = ask(h, "POST", IAM "/logins");
    struct json hash = json_of_str(STR("aGFzaA=="));
    struct order o = { .msg.fn = begin,
                       .session = { .call = a->call,
                                    .user = str_of(user),
                                    .uid = str_of(uid),
                                    .now_s = 1577934245,
                                    .expires_s = expires_s,
                                    .made = made } };

    o.session.fingerprint =
        session_fingerprint(h->arena, json_set(h->arena, &json_empty_object, "data.hash", &hash));
    a->call->rest.instance = (struct instance){ .id = INSTANCE_ROOT };
    a->call->rest.catalog = kinds_catalog_root();
    loop_post(h->loop, &o.msg);
    CHECK(host_until(h, is_made, &o));
    CHECK_STR(code_of(a), "400 BadRequest");
}

static const char *make_user(struct host *h, const char *name)
{
    CHECK_STR(told(h, "POST", IAM "/users",
                   arena_printf(h->arena, "{\"metadata\":{\"name\":\"%s\"}}", name)),
              "201");
    CHECK_STR(told(h, "POST", SECRET,
                   arena_printf(h->arena,
                                "{\"metadata\":{\"name\":\"kairship-password-%s\"},\"data\":{"
                                "\"hash\":\"aGFzaA==\"}}",
                                name)),
              "201");
    return text_of(h, arena_printf(h->arena, IAM "/users/%s", name), "metadata.uid");
}

/* "jane joe": whose there are, by the order of the users below. */
static const char *left(struct host *h, const char *const *users, size_t n)
{
    const char *out = "";

    for (size_t i = 0; i < n; i++) {
        const char *list = text_of(
            h, arena_printf(h->arena, IAM "/sessions?fieldSelector=spec.user.name%%3D%s", users[i]),
            "items");

        if (strcmp(list, "[]") != 0)
            out = arena_printf(h->arena, "%s%s%s", out, *out ? " " : "", users[i]);
    }
    return out;
}

TEST(what_is_over_is_deleted)
{
    static const char *const users[] = { "stays", "expired", "disabled", "enabled",
                                         "gone",  "again",   "changed" };
    enum { USERS = sizeof(users) / sizeof(*users) };
    struct host *h = host_new(0, 0);

    for (size_t i = 0; i < USERS; i++)
        make_session(h, users[i], make_user(h, users[i]), 1577934245 + (i == 1 ? 60 : 3600));
    CHECK(session_expiry_run(h->server) > 0);
    CHECK_STR(left(h, users, USERS), "stays expired disabled enabled gone again changed");
    clock_jump(&h->clock, 1577934245000000 + 60 * 1000000);
    CHECK_STR(told(h, "PATCH", IAM "/users/disabled", "{\"spec\":{\"disabled\":true}}"), "200");
    CHECK_STR(told(h, "PATCH", IAM "/users/enabled", "{\"spec\":{\"disabled\":true}}"), "200");
    CHECK_STR(told(h, "PATCH", IAM "/users/enabled", "{\"spec\":{\"disabled\":false}}"), "200");
    CHECK_STR(told(h, "DELETE", IAM "/users/gone", ""), "200");
    CHECK_STR(told(h, "DELETE", IAM "/users/again", ""), "200");
    CHECK_STR(told(h, "POST", IAM "/users", "{\"metadata\":{\"name\":\"again\"}}"), "201");
    CHECK_STR(
        told(h, "PATCH", SECRET "/kairship-password-changed", "{\"data\":{\"hash\":\"b3RoZXI=\"}}"),
        "200");
    CHECK(session_expiry_run(h->server) > 0);
    CHECK_STR(left(h, users, USERS), "stays");
    host_free(h);
}

TEST(more_than_are_looked_at_in_one_go)
{
    static const char *const users[] = { "one" };
    struct host *h = host_new(0, 0);
    const char *uid = make_user(h, "one");

    for (int i = 0; i < 60; i++) /* of several people, so that none has too many */
        for (int j = 0; j < 10; j++)
            make_session(h, "one", arena_printf(h->arena, "%s-%d", uid, i), 4102444800);
    CHECK_STR(left(h, users, 1), "one");
    (void)session_expiry_run(h->server);
    CHECK_STR(left(h, users, 1), "");
    host_free(h);
}
