/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The end of an instance: its members are detached first, and with them goes what it had put there
 * (or stays: object/meta/release.h).
 *
 * The first member that joins gives the instance a finalizer, so that one without members costs no
 * write here.  Detaching is deleting the Cluster objects: their own controllers take care of the
 * rest, and we wait until they are gone.  A member that does not answer must not keep an instance
 * for ever: after ten minutes it is let go, with what is in it.
 */

#include "base/banned.h"
#include "base/clock.h"
#include "base/log.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/tenancy.h"
#include "object/meta/release.h"

enum { PATIENCE_S = 600, AGAIN_MS = 1000 };

/* Both doors. */
static const struct client_ref doors[] = {
    { .group = STR_INIT("cluster.karmada.io"),
      .version = STR_INIT("v1alpha1"),
      .resource = STR_INIT("clusters") },
    { .group = STR_INIT("workload.kcp.dev"),
      .version = STR_INIT("v1alpha1"),
      .resource = STR_INIT("clusters") },
};
enum { DOORS = sizeof(doors) / sizeof(*doors) };

static int list(struct client *client, struct arena *a, size_t door, str instance,
                const struct json **items, struct status *st)
{
    struct client_ref ref = doors[door];
    const struct json *l;

    *items = NULL;
    ref.instance = instance;
    if (client_list(client, a, &ref, NULL, &l, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st); /* this profile has no such door */
        return 0;
    }
    *items = json_get(l, STR("items"));
    return 0;
}

/* What was distributed stays where it is.  Roles were not: they end with the instance. */
static int keep_works(struct client *client, struct arena *a, str instance, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .group = STR("work.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("works") };
    struct json yes = json_of_bool(true);
    const struct json *patch =
        json_set(a, &json_empty_object, "spec.preserveResourcesOnDeletion", &yes);
    const struct json *works;

    if (client_list(client, a, &ref, NULL, &works, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    json_for_each (w, json_get(works, STR("items"))) {
        if (json_bool(json_path(w, "spec.preserveResourcesOnDeletion")) ||
            str_starts(json_get_str(w, "metadata.name"), STR(PEOPLE_WORK)))
            continue;
        ref.namespace = json_get_str(w, "metadata.namespace");
        ref.name = json_get_str(w, "metadata.name");
        if (client_patch(client, a, &ref, CLIENT_PATCH_MERGE, patch, NULL, st) < 0 &&
            !status_is(st, REASON_NOT_FOUND))
            return -1;
    }
    return 0;
}

/* How many are left; -1 with *st. */
static int detach(struct client *client, struct arena *a, str instance, struct status *st)
{
    int left = 0;

    for (size_t i = 0; i < DOORS; i++) {
        struct client_ref ref = doors[i];
        const struct json *items;

        if (list(client, a, i, instance, &items, st) < 0)
            return -1;
        ref.instance = instance;
        json_for_each (c, items) {
            left++;
            ref.name = json_get_str(c, "metadata.name");
            if (!is_deleting(c) && client_delete(client, a, &ref, NULL, st) < 0 &&
                !status_is(st, REASON_NOT_FOUND))
                return -1;
        }
    }
    return left;
}

static bool is_overdue(struct clock *clock, const struct json *instance)
{
    int64_t since;

    return time_parse_seconds(json_get_str(instance, "metadata.deletionTimestamp"), &since) &&
           clock_wall_s(clock) > since + PATIENCE_S;
}

static int end(struct clock *clock, struct client *client, struct arena *a,
               const struct client_ref *ref, const struct json *instance, struct status *st)
{
    int left;

    if (!finalizer_has(instance, FINALIZER_MEMBERS))
        return 0;
    if (release_of(instance) != RELEASE_DESTROY && /* nothing is destroyed that was not meant */
        keep_works(client, a, ref->name, st) < 0)
        return -1;
    status_reset(st);
    left = detach(client, a, ref->name, st);
    if (left < 0)
        return -1;
    status_reset(st);
    if (left > 0 && !is_overdue(clock, instance))
        return AGAIN_MS;
    if (left > 0)
        log_warn("members did not answer: the instance goes without them",
                 log_str("instance", ref->name), log_int("members", left));
    return finalizer_remove(client, a, ref, FINALIZER_MEMBERS, instance, st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = instance_ref(k->name);
    const struct json *instance, *items;

    if (client_get(client, a, &ref, &instance, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (is_deleting(instance))
        return end(arg ? arg : clock_real(), client, a, &ref, instance, st);
    for (size_t i = 0; i < DOORS; i++) {
        if (list(client, a, i, k->name, &items, st) < 0)
            return -1;
        if (json_len(items) > 0)
            return finalizer_add(client, a, &ref, FINALIZER_MEMBERS, &instance, st);
    }
    return 0;
}

/* A member concerns its instance. */
static void wake_instance(void *arg, struct controller *c, const struct informer_key *k,
                          const struct json *object, bool deleted)
{
    struct informer_key key = { .name = k->instance };

    (void)arg;
    if (!object || deleted || is_deleting(object) ||
        json_int(json_path(object, "metadata.generation"), 1) == 1)
        controller_wake(c, &key);
}

static const struct controller_source also[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("cluster.karmada.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("clusters") },
      .map = wake_instance },
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("workload.kcp.dev"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("clusters") },
      .map = wake_instance },
};

const struct controller_spec instance_controller = {
    .name = "instance",
    .ref = INSTANCE_REF,
    .spec_only = true,
    .finalizer = FINALIZER_MEMBERS,
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .reconcile = reconcile,
};
