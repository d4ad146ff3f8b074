/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How long what was withdrawn is still good: from the answer to a withdrawal until the answer to
 * the first request that is refused, with a thousand users in Global Management.  Requests that
 * were served in between are errors.
 */

#include <stdio.h>

#include "base/banned.h"
#include "base/encode.h"
#include "bench/work.h"
#include "http/password.h"

#define IAM     "/apis/iam.kairship.io/v1alpha1"
#define RBAC    "/apis/rbac.authorization.k8s.io/v1"
#define SECRETS "/api/v1/namespaces/kube-system/secrets"
#define USER    "bench-withdraw"
#define WORD    "a password for the bench"
#define MEMBER  "[{\"kind\":\"User\",\"name\":\"" USER "\"}]"

enum { USERS = 1000, RUNS = 100, TRIES = 1000 };

struct person {
    struct bench *b;
    struct arena *arena; /* of a round */
    struct client *client;
    secret token;
    str session;
};

/* ---- requests ---- */

static int ask(struct client *c, struct arena *a, const char *method, str path, const char *body,
               const struct json **out, struct status *st)
{
    struct client_request req = { .method = str_of(method), .path = path, .body = str_of(body) };
    const struct json *answer;

    if (*body)
        req.content_type = strcmp(method, "PATCH") == 0 ? STR("application/merge-patch+json")
                                                        : STR("application/json");
    if (client_do(c, a, &req, out ? out : &answer, st) == 0)
        return 0;
    return status_wrap(st, "%s %.*s", method, STR_ARG(path));
}

/* What is there already is fine. */
static int make(struct bench *b, struct arena *a, const char *path, const char *body,
                struct status *st)
{
    if (ask(b->client, a, "POST", str_of(path), body, NULL, st) == 0)
        return 0;
    if (!status_is(st, REASON_ALREADY_EXISTS))
        return -1;
    status_reset(st);
    return 0;
}

static int make_people(struct bench *b, unsigned users, struct status *st)
{
    scoped_arena a = arena_new();
    str hash = base64_encode(a, BASE64_STD, password_hash(a, secret_of(STR(WORD))));
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < users; i++)
        rc = make(b, a, IAM "/users",
                  arena_printf(a, "{\"metadata\":{\"name\":\"" USER "-%u\"}}", i), st);
    if (rc < 0 || make(b, a, IAM "/users", "{\"metadata\":{\"name\":\"" USER "\"}}", st) < 0 ||
        make(b, a, SECRETS,
             arena_printf(a,
                          "{\"metadata\":{\"name\":\"kairship-password-" USER "\"},\"data\":{"
                          "\"hash\":\"%.*s\"}}",
                          STR_ARG(hash)),
             st) < 0)
        return -1;
    return make(b, a, RBAC "/clusterroles",
                "{\"metadata\":{\"name\":\"" USER "\"},\"rules\":[{\"apiGroups\":[\"\"],"
                "\"resources\":[\"namespaces\"],\"verbs\":[\"list\"]}]}",
                st);
}

static void clean(struct bench *b, unsigned users)
{
    static const char *const paths[] = { IAM "/users/" USER, IAM "/platformroles/" USER,
                                         SECRETS "/kairship-password-" USER,
                                         RBAC "/clusterroles/" USER,
                                         RBAC "/clusterrolebindings/" USER };
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    for (size_t i = 0; !b->o.keep && i < sizeof(paths) / sizeof(*paths); i++)
        (void)ask(b->client, a, "DELETE", str_of(paths[i]), "", NULL, &st);
    for (unsigned i = 0; !b->o.keep && i < users; i++)
        (void)ask(b->client, a, "DELETE", str_printf(a, IAM "/users/" USER "-%u", i), "", NULL,
                  &st);
}

/* ---- what is given, and withdrawn ---- */

static int log_in(struct person *p, struct status *st)
{
    struct kubeconfig k = p->b->k;
    const struct json *login;

    if (ask(p->b->client, p->arena, "POST", STR(IAM "/logins"),
            "{\"spec\":{\"username\":\"" USER "\",\"password\":\"" WORD "\"}}", &login, st) < 0)
        return -1;
    p->session = str_dup(p->b->arena, json_get_str(login, "status.session"));
    k.cert_pem = STR_NONE;
    k.key_pem = SECRET_NONE;
    k.token = secret_dup(p->b->arena, secret_of(json_get_str(login, "status.token")));
    client_free(p->client);
    p->client = client_open(NULL, &k, st);
    return p->client ? 0 : -1;
}

static int give_binding(struct person *p, struct status *st)
{
    return make(p->b, p->arena, RBAC "/clusterrolebindings",
                "{\"metadata\":{\"name\":\"" USER "\"},\"roleRef\":{\"apiGroup\":"
                "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"" USER "\"},"
                "\"subjects\":[{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\","
                "\"name\":\"" USER "\"}]}",
                st);
}

static int take_binding(struct person *p, struct status *st)
{
    return ask(p->b->client, p->arena, "DELETE", STR(RBAC "/clusterrolebindings/" USER), "", NULL,
               st);
}

static int give_role(struct person *p, struct status *st)
{
    if (make(p->b, p->arena, IAM "/platformroles", "{\"metadata\":{\"name\":\"" USER "\"}}", st) <
        0)
        return -1;
    return ask(p->b->client, p->arena, "PATCH", STR(IAM "/platformroles/" USER),
               "{\"spec\":{\"members\":" MEMBER "}}", NULL, st);
}

static int take_role(struct person *p, struct status *st)
{
    return ask(p->b->client, p->arena, "PATCH", STR(IAM "/platformroles/" USER),
               "{\"spec\":{\"members\":[]}}", NULL, st);
}

static int give_session(struct person *p, struct status *st)
{
    return give_binding(p, st) < 0 ? -1 : log_in(p, st);
}

static int take_session(struct person *p, struct status *st)
{
    return ask(p->b->client, p->arena, "DELETE",
               str_printf(p->arena, IAM "/sessions/%.*s", STR_ARG(p->session)), "", NULL, st);
}

static const struct {
    const char *p50, *p99;
    int (*give)(struct person *p, struct status *st);
    int (*take)(struct person *p, struct status *st);
} ways[] = {
    { "role, p50", "role, p99", give_role, take_role },
    { "binding, p50", "binding, p99", give_binding, take_binding },
    { "session, p50", "session, p99", give_session, take_session },
};

/* ---- a round ---- */

static bool is_served(struct person *p)
{
    struct status st;

    status_init(&st, p->arena);
    return ask(p->client, p->arena, "GET", STR("/api/v1/namespaces"), "", NULL, &st) == 0;
}

static int round_of(struct person *p, size_t way, struct hist *h, struct bench_result *r,
                    struct status *st)
{
    scoped_arena a = arena_new();
    int64_t began;
    unsigned tries = 0;

    p->arena = a;
    if (ways[way].give(p, st) < 0)
        return -1;
    if (!is_served(p))
        return status_set(st, REASON_INTERNAL, "what was given does not count");
    if (ways[way].take(p, st) < 0)
        return -1;
    began = bench_now_ns();
    while (is_served(p) && ++tries < TRIES)
        ;
    hist_add(h, (uint64_t)(bench_now_ns() - began));
    r->ops++;
    r->errors += tries;
    if (tries && !r->error[0])
        (void)snprintf(r->error, sizeof(r->error), "%u requests were served after %s", tries,
                       ways[way].p50);
    return 0;
}

int bench_withdraw(struct bench *b, struct bench_result *r, struct status *st)
{
    unsigned users = bench_or(b->o.objects, USERS), runs = bench_or(b->o.runs, RUNS);
    struct person p = { .b = b, .arena = b->arena };
    int64_t began;
    int rc = make_people(b, users, st) < 0 || log_in(&p, st) < 0 ? -1 : 0;

    began = bench_now_ns();
    (void)snprintf(r->setup, sizeof(r->setup), "%u users, %u times each", users, runs);
    for (size_t w = 0; rc == 0 && w < sizeof(ways) / sizeof(*ways); w++) {
        struct hist *h = arena_new_of(b->arena, struct hist);

        for (unsigned i = 0; rc == 0 && i < runs; i++)
            rc = round_of(&p, w, h, r, st);
        hist_merge(&r->latency, h);
        bench_figure(r, ways[w].p50, (double)hist_quantile(h, 0.5) / 1e6, "ms");
        bench_figure(r, ways[w].p99, (double)hist_quantile(h, 0.99) / 1e6, "ms");
    }
    r->seconds = (double)(bench_now_ns() - began) / 1e9;
    client_free(p.client);
    clean(b, users);
    return rc;
}
