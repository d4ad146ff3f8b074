/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "server_people.h"

/* A request finds the roles of users as they were acknowledged before it came, or is refused. */

#define IAM "/apis/iam.kairship.io/v1alpha1"

static const str people[] = { STR_INIT("system:authenticated") };

static struct ask *jane(struct host *h, const char *path)
{
    struct ask *a = ask(h, "GET", path);

    a->call->peer = NULL;
    a->call->who = (struct identity){ .user = STR("jane"), .groups = people, .ngroups = 1 };
    return a;
}

static void give_role(struct host *h)
{
    CHECK_STR(post(h, "", IAM "/platformroles",
                   "{\"metadata\":{\"name\":\"admins\"},\"spec\":{\"members\":[{\"kind\":\"User\","
                   "\"name\":\"jane\"}]}}"),
              "201");
}

TEST(many_wait_for_one_reading)
{
    enum { MANY = 50 };
    struct host *h = host_new(0, 0);
    struct ask *all[MANY];

    give_role(h);
    for (int i = 0; i < MANY; i++) {
        all[i] = jane(h, CONFIGMAPS);
        ask_send(all[i]);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK_STR(answer_of(all[i]), "200");
        ask_free(all[i]);
    }
    epoch_enter();
    CHECK(people_reached(h->server->people, store_head(&h->wrap->store)));
    epoch_exit();
    host_free(h);
}

/* ---- when nothing can be read ---- */

enum { WORKERS = 4 }; /* as apiserver/server/server.c has them */

struct jam {
    struct worker_job jobs[WORKERS];
    struct loop_msg msg;
    struct host *host;
    pthread_mutex_t mu;
    pthread_cond_t changed;
    int running, done;
    bool over; /* guarded by mu, as running */
};

static struct jam jam = { .mu = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void hold(struct worker_job *job)
{
    (void)job;
    (void)pthread_mutex_lock(&jam.mu);
    jam.running++;
    (void)pthread_cond_broadcast(&jam.changed);
    while (!jam.over)
        (void)pthread_cond_wait(&jam.changed, &jam.mu);
    (void)pthread_mutex_unlock(&jam.mu);
}

static void held(struct worker_job *job)
{
    (void)job;
    jam.done++;
}

static void begin(struct loop_msg *msg)
{
    (void)msg;
    for (int i = 0; i < WORKERS; i++) {
        jam.jobs[i] = (struct worker_job){ .run = hold, .done = held };
        CHECK(workers_submit(jam.host->server->workers, &jam.jobs[i]));
    }
}

static bool all_run(void *arg)
{
    bool all;

    (void)arg;
    (void)pthread_mutex_lock(&jam.mu);
    all = jam.running == WORKERS;
    (void)pthread_mutex_unlock(&jam.mu);
    return all;
}

static bool all_done(void *arg)
{
    (void)arg;
    return jam.done == WORKERS;
}

TEST(who_cannot_be_told_is_refused)
{
    struct host *h = host_new(0, 0);
    struct ask *a, *anonymous = ask(h, "GET", "/healthz");

    give_role(h);
    CHECK_STR(code_of(jane(h, CONFIGMAPS)), "200");
    jam.host = h;
    jam.msg.fn = begin;
    loop_post(h->loop, &jam.msg);
    CHECK(host_until(h, all_run, NULL));
    a = ask(h, "DELETE", IAM "/platformroles/admins");
    CHECK_STR(code_of(a), "200"); /* the platform admin has no role */
    a = jane(h, CONFIGMAPS);
    CHECK_STR(answer(a), "503 ServiceUnavailable");
    CHECK_STR(answer_header(a, "retry-after"), "1");
    ask_free(a);
    CHECK_STR(code_of(ask(h, "GET", CONFIGMAPS)), "200");
    anonymous->call->peer = NULL;
    CHECK_STR(code_of(anonymous), "200");
    (void)pthread_mutex_lock(&jam.mu);
    jam.over = true;
    (void)pthread_cond_broadcast(&jam.changed);
    (void)pthread_mutex_unlock(&jam.mu);
    CHECK(host_until(h, all_done, NULL));
    CHECK_STR(code_of(jane(h, CONFIGMAPS)), "403 Forbidden");
    host_free(h);
}

TEST(who_comes_without_a_credential_has_no_role)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask(h, "GET", CONFIGMAPS);

    CHECK_STR(post(h, "", IAM "/platformroles",
                   "{\"metadata\":{\"name\":\"all\"},\"spec\":{\"members\":[{\"kind\":\"User\","
                   "\"name\":\"system:anonymous\"},{\"kind\":\"Group\",\"name\":"
                   "\"system:unauthenticated\"}]}}"),
              "201");
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "403 Forbidden");
    host_free(h);
}
