/* SPDX-License-Identifier: Apache-2.0 */
#include "iam/feed.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/informer.h"

enum { WAIT_MS = 5 };

struct source {
    struct feed *feed;
    enum iam_kind kind;
    struct informer *informer;
};

struct feed {
    struct loop_timer timer; /* first */
    struct client *client;
    struct permissions *permissions;
    struct source sources[IAM_KINDS];
    unsigned synced;
};

static const char *const resources[IAM_KINDS] = { [IAM_USERS] = "users",
                                                  [IAM_GROUPS] = "groups",
                                                  [IAM_WORKSPACES] = "workspaces",
                                                  [IAM_PLATFORM_ROLES] = "platformroles" };

static void publish(struct loop_timer *t)
{
    struct feed *f = (struct feed *)t;

    permissions_publish(f->permissions);
}

static void changed(struct source *s, str name, const struct json *object)
{
    struct feed *f = s->feed;

    permissions_set(f->permissions, s->kind, name, object);
    if (f->synced == IAM_KINDS && !f->timer.slot)
        loop_timer_set(client_loop(f->client), &f->timer, WAIT_MS);
}

static void on_object(void *arg, const struct informer_key *k, const struct json *now)
{
    changed(arg, k->name, now);
}

static void on_deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    (void)last;
    changed(arg, k->name, NULL);
}

static void on_synced(void *arg)
{
    struct source *s = arg;

    if (++s->feed->synced == IAM_KINDS)
        permissions_publish(s->feed->permissions);
}

struct feed *feed_new(struct client *client, struct permissions *p)
{
    struct feed *f = mem_zalloc(sizeof(*f));

    f->timer.fn = publish;
    f->client = client;
    f->permissions = p;
    for (enum iam_kind k = 0; k < IAM_KINDS; k++) {
        struct source *s = &f->sources[k];
        struct informer_options o = { .client = client,
                                      .ref = { .group = STR("iam.kairship.io"),
                                               .version = STR("v1alpha1"),
                                               .resource = str_of(resources[k]) },
                                      .wait_ms = 100,
                                      .added = on_object,
                                      .updated = on_object,
                                      .deleted = on_deleted,
                                      .synced = on_synced,
                                      .arg = s };

        *s = (struct source){ .feed = f, .kind = k, .informer = informer_new(&o) };
        informer_start(s->informer);
    }
    return f;
}

void feed_free(struct feed *f)
{
    if (!f)
        return;
    for (enum iam_kind k = 0; k < IAM_KINDS; k++)
        informer_free(f->sources[k].informer);
    loop_timer_cancel(client_loop(f->client), &f->timer);
    free(f);
}
