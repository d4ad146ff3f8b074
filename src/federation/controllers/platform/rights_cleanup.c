/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Takes entries out of Workspaces, Groups and PlatformRoles whose object is gone.
 *
 * They give nothing since then (iam/permissions.h), whether or not this runs: it makes the lists
 * say what holds.  A member without a uid stays: they log in elsewhere.
 *
 * Keys are objects of these kinds, with the plural in the place of the namespace, or ALL_KEY after
 * the end of something that any of them may name.
 */

#include "federation/controllers/platform/rights_cleanup.h"

#include "base/banned.h"
#include "base/log.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/tenancy.h"

#define ALL_KEY "all"

enum { GATHER_MS = 1000 }; /* ends that come together are looked at together */

#define IAM_REF(plural)                                                        \
    {                                                                          \
        .group = STR_INIT("iam.kairship.io"), .version = STR_INIT("v1alpha1"), \
        .resource = STR_INIT(plural)                                           \
    }

static const struct client_ref givers[] = { IAM_REF("groups"), IAM_REF("platformroles"),
                                            IAM_REF("workspaces") };
static const char *const giver_kinds[] = { "Group", "PlatformRole", "Workspace" };
enum { GIVERS = sizeof(givers) / sizeof(*givers) };

/* What an entry may name; the word is that of its field `kind` or `resourceType`. */
static const struct {
    const char *word;
    bool elsewhere; /* there may be some without an object */
    struct client_ref ref;
} named[] = {
    { "User", true, IAM_REF("users") },
    { "Group", true, IAM_REF("groups") },
    { "Kairship", false, INSTANCE_REF },
    { "Cluster", false, REGISTRY_REF },
};
enum { NAMED = sizeof(named) / sizeof(*named) };

struct sweep {
    struct rights_cleanup *cleanup;
    struct client *client;
    struct arena *arena;
    struct status *st;
    const struct json *object; /* that is looked at, and what is gone of it: */
    str gone;
};

/* 1 if the object with this uid is there, 0 if it is gone. */
static int is_there(struct sweep *s, const char *word, str name, str uid)
{
    struct client_ref ref;
    const struct json *now;
    size_t i = 0;

    while (i < NAMED && strcmp(named[i].word, word) != 0)
        i++;
    if (i == NAMED || (!uid.n && named[i].elsewhere))
        return 1;
    ref = named[i].ref;
    ref.name = name;
    if (client_get(s->client, s->arena, &ref, &now, s->st) == 0)
        return str_eq(json_get_str(now, "metadata.uid"), uid);
    if (!status_is(s->st, REASON_NOT_FOUND))
        return -1;
    status_reset(s->st);
    return 0;
}

static int keep(struct sweep *s, const char *word, str name, str uid)
{
    int there = is_there(s, word, name, uid);

    if (there == 0)
        s->gone = str_printf(s->arena, "%.*s%s%s %.*s", STR_ARG(s->gone), s->gone.n ? ", " : "",
                             word, STR_ARG(name));
    return there;
}

/* The list without what is gone; NULL: it cannot be told. */
static const struct json *kept(struct sweep *s, const struct json *list, const char *word,
                               const char *name)
{
    const struct json *uids = json_path(s->object, "spec.memberUids");
    struct json_array out = json_array_new(s->arena);

    json_for_each (it, list) {
        bool plain = json_is(it, JSON_STRING); /* a member of a Group */
        str of = plain ? json_str(it) : json_get_str(it, name);
        str uid = plain ? json_str(json_get(uids, of)) : json_get_str(it, "uid");
        const char *what = plain ? "User" : str_z(s->arena, json_get_str(it, word));
        int there = keep(s, what, of, uid);

        if (there < 0)
            return NULL;
        if (there)
            json_push(&out, *it);
    }
    return json_array_done(&out);
}

static int tidy(struct sweep *s, const struct client_ref *of)
{
    static const char *const lists[][3] = { { "spec.resources", "resourceType", "resourceName" },
                                            { "spec.members", "kind", "name" } };
    const struct json *now = s->object;
    struct recorder_object on = recorder_object_of(STR_NONE, s->object);
    struct client_ref ref = *of;

    s->gone = STR_NONE;
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        const struct json *was = json_path(s->object, lists[i][0]), *list;

        list = was ? kept(s, was, lists[i][1], lists[i][2]) : NULL;
        if (was && !list)
            return -1;
        if (json_len(list) < json_len(was))
            now = json_set(s->arena, now, lists[i][0], list);
    }
    if (!s->gone.n)
        return 0;
    ref.name = json_get_str(s->object, "metadata.name");
    if (client_update(s->client, s->arena, &ref, now, NULL, s->st) < 0)
        return status_is(s->st, REASON_NOT_FOUND) ? 0 : -1;
    log_info("rights on or of what is gone were taken out", log_str("in", ref.name),
             log_str("gone", s->gone));
    if (s->cleanup)
        recorder_tell(s->cleanup->recorder, &on, RECORDER_NORMAL, "RightsRemoved",
                      "gone, with the rights that they had or gave: %.*s", STR_ARG(s->gone));
    return 0;
}

static int tidy_all(struct sweep *s)
{
    const struct json *list;

    for (size_t i = 0; i < GIVERS; i++) {
        if (client_list(s->client, s->arena, &givers[i], NULL, &list, s->st) < 0)
            return -1;
        json_for_each (it, json_get(list, STR("items"))) {
            /* Items of a list leave out what they are, and events name it. */
            s->object = json_set(s->arena, it, "apiVersion",
                                 json_box(s->arena, json_of_str(STR("iam.kairship.io/v1alpha1"))));
            s->object = json_set(s->arena, s->object, "kind",
                                 json_box(s->arena, json_of_str(str_of(giver_kinds[i]))));
            if (tidy(s, &givers[i]) < 0)
                return -1;
        }
    }
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct sweep s = { .cleanup = arg, .client = client, .arena = a, .st = st };

    if (!k->namespace.n)
        return tidy_all(&s);
    for (size_t i = 0; i < GIVERS; i++) {
        struct client_ref ref = givers[i];

        if (!str_eq(ref.resource, k->namespace))
            continue;
        ref.name = k->name;
        if (client_get(client, a, &ref, &s.object, st) < 0)
            return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
        return tidy(&s, &ref);
    }
    return 0;
}

/* ---- what it may concern ---- */

static void wake_all(struct controller *c)
{
    struct informer_key key = { .name = STR(ALL_KEY) };

    controller_wake_after(c, &key, GATHER_MS);
}

static void wake_giver(struct controller *c, const char *plural, const struct informer_key *k,
                       bool deleted)
{
    struct informer_key key = { .namespace = str_of(plural), .name = k->name };

    if (!deleted)
        controller_wake(c, &key);
}

static void wake_group(void *arg, struct controller *c, const struct informer_key *k,
                       const struct json *object, bool deleted)
{
    (void)arg;
    (void)object;
    wake_giver(c, "groups", k, deleted);
    if (deleted)
        wake_all(c); /* others name it */
}

static void wake_platform_role(void *arg, struct controller *c, const struct informer_key *k,
                               const struct json *object, bool deleted)
{
    (void)arg;
    (void)object;
    wake_giver(c, "platformroles", k, deleted);
}

static void wake_workspace(void *arg, struct controller *c, const struct informer_key *k,
                           const struct json *object, bool deleted)
{
    (void)arg;
    (void)object;
    wake_giver(c, "workspaces", k, deleted);
}

static void wake_end(void *arg, struct controller *c, const struct informer_key *k,
                     const struct json *object, bool deleted)
{
    (void)arg;
    (void)k;
    (void)object;
    if (deleted)
        wake_all(c);
}

static const struct controller_source also[] = {
    { .ref = IAM_REF("groups"), .map = wake_group },
    { .ref = IAM_REF("platformroles"), .map = wake_platform_role },
    { .ref = IAM_REF("users"), .map = wake_end },
    { .ref = INSTANCE_REF, .map = wake_end },
    { .ref = REGISTRY_REF, .map = wake_end },
};

const struct controller_spec rights_cleanup_controller = {
    .name = "rights-cleanup",
    .ref = IAM_REF("workspaces"),
    .map = wake_workspace,
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .reconcile = reconcile,
};
