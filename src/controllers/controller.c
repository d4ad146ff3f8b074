/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/controller.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/workqueue.h"

enum {
    LOG_AFTER = 3
}; /* failures of a key before they are worth a warning: conflicts are normal */

struct controller {
    const struct controller_spec *spec;
    struct client *client;
    struct informer *informer;
    struct workqueue *queue;
    pthread_t thread;
    pthread_mutex_t mu;
    pthread_cond_t cond;
    bool informer_gone; /* guarded by mu */
};

static void enqueue(struct controller *c, const struct informer_key *k)
{
    scoped_arena a = arena_new();
    struct informer_key instance = { .instance = k->instance };

    workqueue_add(c->queue, informer_key_text(a, c->spec->per_instance ? &instance : k));
}

static void on_added(void *arg, const struct informer_key *k, const struct json *now)
{
    (void)now;
    enqueue(arg, k);
}

static void on_updated(void *arg, const struct informer_key *k, const struct json *was,
                       const struct json *now)
{
    (void)was;
    (void)now;
    enqueue(arg, k);
}

static void on_deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    (void)last;
    enqueue(arg, k);
}

static void reconcile(struct controller *c, str text)
{
    scoped_arena a = arena_new();
    struct informer_key key;
    struct status st;
    int rc;

    status_init(&st, a);
    if (!informer_key_parse(text, &key))
        return;
    rc = c->spec->reconcile(c->client, a, &key, &st);
    if (rc >= 0) {
        workqueue_forget(c->queue, text);
        if (rc > 0)
            workqueue_add_after(c->queue, text, rc);
        return;
    }
    if (workqueue_failures(c->queue, text) >= LOG_AFTER)
        log_warn("reconcile failed", log_z("controller", c->spec->name), log_str("key", text),
                 log_str("why", st.message));
    workqueue_add_failed(c->queue, text);
}

static void *work(void *arg)
{
    struct controller *c = arg;
    str key;

    while (workqueue_take(c->queue, &key)) {
        reconcile(c, key);
        workqueue_done(c->queue, key);
    }
    return NULL;
}

static void start_informer(void *arg)
{
    struct controller *c = arg;

    informer_start(c->informer);
}

struct controller *controller_start(const struct controller_spec *spec, struct client *client)
{
    struct controller *c = mem_zalloc(sizeof(*c));
    struct informer_options o = { .client = client,
                                  .ref = spec->ref,
                                  .label_selector = spec->label_selector,
                                  .field_selector = spec->field_selector,
                                  .added = on_added,
                                  .updated = on_updated,
                                  .deleted = on_deleted,
                                  .arg = c };

    c->spec = spec;
    c->client = client;
    c->queue = workqueue_new(NULL);
    c->informer = informer_new(&o);
    (void)pthread_mutex_init(&c->mu, NULL);
    (void)pthread_cond_init(&c->cond, NULL);
    if (pthread_create(&c->thread, NULL, work, c) != 0)
        abort(); /* no thread at the start is no machine to run on */
    loop_call(client_loop(client), start_informer, c);
    return c;
}

static void stop_informer(void *arg)
{
    struct controller *c = arg;

    informer_free(c->informer);
    (void)pthread_mutex_lock(&c->mu);
    c->informer_gone = true;
    (void)pthread_cond_signal(&c->cond);
    (void)pthread_mutex_unlock(&c->mu);
}

void controller_stop(struct controller *c)
{
    if (!c)
        return;
    assert(!loop_current());
    loop_call(client_loop(c->client), stop_informer, c);
    (void)pthread_mutex_lock(&c->mu);
    while (!c->informer_gone)
        (void)pthread_cond_wait(&c->cond, &c->mu);
    (void)pthread_mutex_unlock(&c->mu);
    workqueue_shutdown(c->queue);
    (void)pthread_join(c->thread, NULL);
    workqueue_free(c->queue);
    (void)pthread_mutex_destroy(&c->mu);
    (void)pthread_cond_destroy(&c->cond);
    free(c);
}
