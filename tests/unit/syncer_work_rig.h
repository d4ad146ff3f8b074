/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYNCER_WORK_RIG_H
#define SYNCER_WORK_RIG_H

/* The rig of the syncer, with Works of ConfigMaps. */

#include "syncer_rig.h"

#define CONF MEMBER "/api/v1/namespaces/d/configmaps/conf"

/* A Work "w" with that manifest; more: members of its spec, with a comma before each. */
static inline const char *work_of(struct pair *p, const char *name, const char *manifest,
                                  const char *more)
{
    return arena_printf(p->rig.arena,
                        "{\"metadata\":{\"name\":\"%s\",\"finalizers\":["
                        "\"karmada.io/execution-controller\"]},\"spec\":{\"workload\":{"
                        "\"manifests\":[%s]}%s}}",
                        name, manifest, more);
}

static inline const char *conf(struct pair *p, const char *name, const char *value,
                               const char *meta)
{
    return arena_printf(p->rig.arena,
                        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                        "\"%s\",\"namespace\":\"d\"%s},\"data\":{\"k\":\"%s\"}}",
                        name, meta, value);
}

static inline void patch(struct pair *p, const char *path, const char *body)
{
    int code = ask_api(&p->rig, "PATCH", path, body, NULL);

    if (!CHECK(code == 200))
        printf("# PATCH %s: %.*s\n", path, STR_ARG(p->rig.st.message));
}

static inline void set_manifest(struct pair *p, const char *work, const char *manifest)
{
    patch(p, work,
          arena_printf(p->rig.arena, "{\"spec\":{\"workload\":{\"manifests\":[%s]}}}", manifest));
}

static inline const struct json *condition(struct pair *p, const char *work, const char *type)
{
    const struct json *v = NULL;

    if (ask_api(&p->rig, "GET", work, "", &v) != 200)
        return NULL;
    json_for_each (c, json_path(v, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return c;
    return NULL;
}

/* "True/AppliedSuccessful" within some seconds. */
static inline bool condition_comes(struct pair *p, const char *work, const char *type,
                                   const char *want)
{
    const char *got = "";

    for (int i = 0; i < 1500; i++) {
        const struct json *c = condition(p, work, type);

        got = arena_printf(p->rig.arena, "%.*s/%.*s", STR_ARG(json_get_str(c, "status")),
                           STR_ARG(json_get_str(c, "reason")));
        if (strcmp(got, want) == 0)
            return true;
        (void)usleep(10000);
    }
    printf("# %s %s: got %s, want %s\n", work, type, got, want);
    return false;
}

#endif
