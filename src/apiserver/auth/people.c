/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/people.h"

#include <stdlib.h>

#include "apiserver/call/health.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/local.h"
#include "base/banned.h"
#include "base/mem.h"
#include "iam/feed.h"

#define PREFIX "kairship:"

struct people {
    struct server *server;
    struct permissions *permissions;
    struct loop *loop;
    struct client *client;
    struct feed *feed;
};

static int check_filled(void *arg, struct status *st)
{
    const struct people *p = arg;

    if (permissions_filled(p->permissions))
        return 0;
    return status_set(st, REASON_UNAVAILABLE, "permissions are not known yet");
}

static bool live_uid(void *arg, struct arena *a, bool cluster, str name, str *out)
{
    const struct people *p = arg;
    struct status st;

    status_init(&st, a);
    return kinds_named_uid(p->server->rest, a, cluster ? NAMED_CLUSTER : NAMED_INSTANCE, name, out,
                           &st) > 0;
}

struct people *people_new(struct server *s)
{
    struct people *p = mem_zalloc(sizeof(*p));
    struct permissions_live live = { .uid = live_uid, .arg = p };

    p->server = s;
    p->permissions = permissions_new(&live);
    health_add(s->health, (struct health_check){ .name = STR("permissions"),
                                                 .endpoints = HEALTH_READYZ,
                                                 .fn = check_filled,
                                                 .arg = p });
    return p;
}

static void start(void *arg)
{
    struct people *p = arg;

    p->client =
        client_new(server_local_transport(p->server, p->loop, STR("system:kairship:permissions")));
    p->feed = feed_new(p->client, p->permissions);
}

static void stop(void *arg)
{
    struct people *p = arg;

    feed_free(p->feed);
    client_free(p->client);
    p->feed = NULL;
    p->client = NULL;
}

void people_start(struct people *p, struct loop *l)
{
    p->loop = l;
    loop_call_wait(l, start, p);
}

void people_stop(struct people *p)
{
    if (p->feed)
        loop_call_wait(p->loop, stop, p);
}

void people_free(struct people *p)
{
    if (!p)
        return;
    permissions_free(p->permissions);
    free(p);
}

const struct permissions *people_permissions(const struct people *p)
{
    return p->permissions;
}

/* Which groups a role is, from the last on. */
static const struct {
    enum iam_role role;
    str group;
} groups[] = {
    { IAM_VIEWER, STR_INIT(PREFIX "viewers") },  { IAM_EDITOR, STR_INIT(PREFIX "viewers") },
    { IAM_EDITOR, STR_INIT(PREFIX "editors") },  { IAM_ADMIN, STR_INIT(PREFIX "admins") },
    { IAM_PLATFORM, STR_INIT(PREFIX "admins") },
};
enum { GROUPS = sizeof(groups) / sizeof(*groups) };

static bool has_ours(const struct identity *who)
{
    for (size_t i = 0; i < who->ngroups; i++)
        if (str_starts(who->groups[i], STR(PREFIX)))
            return true;
    return false;
}

void people_entitle(const struct people *p, struct arena *a, const struct instance *i,
                    struct identity *who)
{
    enum iam_role role;
    str *list;
    size_t n = 0;

    if (who->rights || i->id == STORE_ALL)
        return;
    role = permissions_role_in(p->permissions, who, i->id == INSTANCE_ROOT ? STR_NONE : i->name,
                               i->uid);
    if (role == IAM_NONE && !has_ours(who))
        return;
    list = arena_array(a, str, who->ngroups + GROUPS);
    for (size_t g = 0; g < who->ngroups; g++)
        if (!str_starts(who->groups[g], STR(PREFIX))) /* that a credential claims */
            list[n++] = who->groups[g];
    for (size_t g = 0; g < GROUPS; g++)
        if (groups[g].role == role)
            list[n++] = groups[g].group;
    who->groups = list;
    who->ngroups = n;
}

bool people_admits(const struct people *p, str instance, const struct identity *who)
{
    if (permissions_is_disabled(p->permissions, who->user))
        return false;
    return !instance.n || permissions_role(p->permissions, who, instance) != IAM_NONE;
}

bool entitle(struct call *c)
{
    if (!c->no_instance)
        people_entitle(c->server->people, c->arena, &c->rest.instance, &c->who);
    return true;
}
