/* SPDX-License-Identifier: Apache-2.0 */

/* Which requests make a record, and what is in it. */

#include <errno.h>

#include "apiserver/audit/audit.h"
#include "apiserver/audit/audit_log.h"
#include "rest/made.h"
#include "rpc/mount.h"
#include "server_people.h"

#define USERS   "/apis/iam.kairship.io/v1alpha1/users"
#define RECORDS "/apis/audit.kairship.io/v1alpha1/records"

static const str devs[] = { STR_INIT("devs") };
static const struct http_peer jane = {
    .cn = STR_INIT("jane"), .orgs = devs, .norgs = 1, .not_after = INT64_MAX
};

/* A part that says of each request that it deletes an instance, which the path names; one of
 * "…/gone" is refused by gRPC's manners. */
static void describe(void *arg, str method, str path, struct mount_deed *out)
{
    (void)arg, (void)method, (void)path;
    *out = (struct mount_deed){ .event = STR("Delete-Instance"),
                                .verb = STR("delete"),
                                .object = true,
                                .group = STR("tenancy.kairship.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("instances") };
}

static void serve(void *arg, struct mount_call *m)
{
    struct mount_deed d = { .verb = STR_NONE };
    struct status st;

    describe(arg, m->method, m->path, &d);
    d.name = d.instance = str_from(m->path, sizeof("/apis/mounted.io/") - 1);
    m->ops->tell(m, &d);
    if (str_is(d.name, "gone")) {
        status_init(&st, m->arena);
        (void)status_not_found(&st, d.group, d.resource, d.name);
        m->ops->failed(m, 404, &st);
    }
    m->ops->answer(m, 200, NULL, 0, NULL, 0);
}

static const struct mount mounted = { .prefix = "/apis/mounted.io",
                                      .serve = serve,
                                      .describe = describe };

static struct host *begin_with(const char *policy, bool blocking)
{
    struct audit_options o = { .policy = str_of(policy), .blocking = blocking };
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    host_audit = audit_new(&o, &st);
    if (!CHECK(host_audit))
        exit(1);
    host_record_bytes = 1 << 20;
    host_mounts = &mounted;
    host_nmounts = 1;
    return host_new(0, 0);
}

static struct host *begin(const char *policy)
{
    return begin_with(policy, false);
}

static void finish(struct host *h)
{
    host_free(h);
    audit_free(host_audit);
    host_audit = NULL;
    host_record_bytes = 0;
    host_mounts = NULL;
    host_nmounts = 0;
}

/* All of them, the newest first: "Create-User admin 201 users/jane in one"; uid tells of it. */
static const char *recorded(struct host *h, str *uid)
{
    scoped_buf b = { .max = 1 << 20 };
    struct ask *a = ask(h, "GET", RECORDS);
    const struct json *list;
    struct status st;

    audit_close_records(host_audit); /* what waits is stored */
    CHECK_STR(answer(a), "200");
    status_init(&st, h->arena);
    if (!CHECK(json_parse(h->arena, buf_str(&a->text), NULL, &list, &st) == 0))
        exit(1);
    json_for_each (r, json_path(list, "items")) {
        str in = json_get_str(r, "spec.instance");

        buf_printf(&b, "%.*s %.*s %d %.*s/%.*s%s%.*s\n", STR_ARG(json_get_str(r, "spec.event")),
                   STR_ARG(json_get_str(r, "spec.person")),
                   (int)json_int(json_path(r, "spec.code"), 0),
                   STR_ARG(json_get_str(r, "spec.resource")), STR_ARG(json_get_str(r, "spec.name")),
                   in.n ? " in " : "", STR_ARG(in));
        if (uid)
            *uid = json_get_str(r, "spec.instanceUID");
    }
    ask_free(a);
    return str_z(h->arena, buf_str(&b));
}

/* One behind the other also by the clock. */
static void later(struct host *h)
{
    clock_jump(&h->clock, clock_wall_us(&h->clock) + 1000);
}

TEST(people_and_the_life_of_instances)
{
    struct host *h = begin("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n");
    struct ask *a;

    CHECK_STR(post(h, "", USERS, "{\"metadata\":{\"name\":\"joe\"},\"spec\":{}}"), "201");
    later(h);
    CHECK_STR(make_instance(h, "one"), "201");
    later(h);
    a = ask(h, "DELETE", INSTANCES "/one");
    a->call->peer = &jane;
    CHECK_STR(code_of(a), "403 Forbidden");
    later(h);
    CHECK_STR(post(h, "", SECRETS, "{\"metadata\":{\"name\":\"s\"}}"), "201");
    CHECK_STR(post(h, "", "/api/v1/namespaces/kube-system/secrets",
                   "{\"metadata\":{\"name\":\"other\"}}"),
              "201");
    CHECK_STR(post(h, "", "/api/v1/namespaces/kube-system/secrets",
                   "{\"metadata\":{\"name\":\"kairship-password-joe\"}}"),
              "201");
    later(h);
    CHECK_STR(post(h, "", USERS "?dryRun=All", "{\"metadata\":{\"name\":\"x\"},\"spec\":{}}"),
              "201");
    a = ask(h, "DELETE", INSTANCES "/one?dryRun=All"); /* a try that is refused is one */
    a->call->peer = &jane;
    CHECK_STR(code_of(a), "403 Forbidden");
    later(h);
    a = ask(h, "DELETE", INSTANCES "/one"); /* by nobody */
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "403 Forbidden");
    CHECK_STR(post(h, "/clusters/one", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}"), "201");
    CHECK_STR(code_of(ask(h, "GET", USERS "/joe")), "200");
    CHECK_STR(delete_at(h, "", USERS "/joe"), "200");
    CHECK_STR(recorded(h, NULL), "Delete-User admin 200 users/joe\n"
                                 "Delete-Instance jane 403 instances/one in one\n"
                                 "Create-Password admin 201 secrets/kairship-password-joe\n"
                                 "Delete-Instance jane 403 instances/one in one\n"
                                 "Create-Instance admin 201 instances/one in one\n"
                                 "Create-User admin 201 users/joe\n");
    finish(h);
}

TEST(who_acts_for_another_is_the_person)
{
    struct host *h = begin("");
    struct ask *a = ask(h, "DELETE", USERS "/joe");

    /* A name of our own parts hides nobody. */
    ask_header(a, "impersonate-user", "system:kairship:namespace-controller");
    CHECK_STR(code_of(a), "404 NotFound");
    CHECK_STR(recorded(h, NULL), "Delete-User admin 404 users/joe\n");
    finish(h);
}

TEST(what_is_mounted_ends_as_it_says)
{
    struct host *h = begin("");
    const char *before;
    str uid = STR_NONE;

    CHECK_STR(make_instance(h, "one"), "201");
    before = uid_of_instance(h, "one");
    later(h);
    CHECK_STR(code_of(ask(h, "POST", "/apis/mounted.io/gone")), "200");
    later(h);
    CHECK_STR(code_of(ask(h, "POST", "/apis/mounted.io/one")), "200");
    CHECK_STR(recorded(h, &uid), "Delete-Instance admin 200 instances/one in one\n"
                                 "Delete-Instance admin 404 instances/gone in gone\n"
                                 "Create-Instance admin 201 instances/one in one\n");
    CHECK(str_is(uid, before));
    finish(h);
}

/* One that ends at once, and writes nothing but its record. */
static const char *try_to_delete(struct host *h)
{
    return delete_at(h, "", USERS "/nothing");
}

TEST(nothing_is_done_without_a_record_if_it_must_have_one)
{
    struct metrics_audit stats;
    struct host *h = begin_with("", true);

    wrap_hold(h->wrap); /* the disk takes nothing */
    for (int i = 0; i < AUDIT_LOG_EVENTS; i++)
        if (!CHECK(strcmp(try_to_delete(h), "404 NotFound") == 0))
            break;
    CHECK_STR(try_to_delete(h), "503 ServiceUnavailable");
    wrap_unhold(h->wrap);
    audit_close_records(host_audit);
    audit_stats(host_audit, &stats);
    CHECK(stats.rejected == 1 && stats.record_errors == 0);
    finish(h);
}

TEST(what_a_try_has_stored_is_not_stored_again)
{
    struct host *h = begin("");
    const struct kind *k = catalog_find(kinds_catalog_root(), STR("audit.kairship.io"),
                                        STR("v1alpha1"), STR("records"));
    const struct json *objects[3];
    struct status st;
    size_t made = 0;

    status_init(&st, h->arena);
    for (size_t i = 0; i < 3; i++)
        CHECK(json_parse(h->arena,
                         str_printf(h->arena,
                                    "{\"metadata\":{\"name\":\"r%zu\"},\"spec\":{\"event\":"
                                    "\"Create-User\",\"person\":\"jane\",\"code\":201}}",
                                    i),
                         NULL, &objects[i], &st) == 0);
    h->wrap->fail = EIO; /* the first of them */
    CHECK(rest_make(h->server->rest, k, objects, 3, &made, &st) < 0 && made == 0);
    CHECK(rest_make(h->server->rest, k, objects, 3, &made, &st) == 0 && made == 3);
    CHECK_STR(recorded(h, NULL), "Create-User jane 201 /\nCreate-User jane 201 /\n"
                                 "Create-User jane 201 /\n");
    finish(h);
}
