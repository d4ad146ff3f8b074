/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/site.h"
#include "kinds/k8s/podspec.h"

/*
 * Annotations that mean something to pods: what was said in them before there were fields.
 * k8s: ValidatePodSpecificAnnotations, applyAppArmorVersionSkew
 */

#define ARMOR       "container.apparmor.security.beta.kubernetes.io/"
#define SECCOMP     "container.seccomp.security.alpha.kubernetes.io/"
#define SECCOMP_POD "seccomp.security.alpha.kubernetes.io/pod"
#define COST        "controller.kubernetes.io/pod-deletion-cost"

static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };

bool podspec_is_armor(str key)
{
    return str_starts(key, STR(ARMOR));
}

/* ---- what one says ---- */

static bool has_any(const struct json *notes, const char *prefix)
{
    json_for_each_member (m, notes)
        if (str_starts(m->name, str_of(prefix)))
            return true;
    return false;
}

static struct map names_of(const struct json *spec)
{
    struct map names = { 0 };

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        json_for_each (c, json_get(spec, str_of(lists[i])))
            (void)site_seen(&names, json_get_str(c, "name"));
    return names;
}

static void check_armor(struct status *st, const struct site *note, const struct map *names)
{
    str value = json_str(note->v), container = str_from(note->key, strlen(ARMOR));
    struct json name = json_of_str(container);
    struct site shown = *note;

    shown.v = &name;
    if (!map_get(names, container))
        site_invalid(st, &shown, "container not found");
    if (value.n && !str_is(value, "runtime/default") && !str_is(value, "unconfined") &&
        !str_starts(value, STR("localhost/")))
        site_fault(st, note, CAUSE_INVALID, "invalid AppArmor profile name: \"%.*s\"",
                   STR_ARG(value));
}

static void check_seccomp(struct status *st, const struct site *notes, str key,
                          const struct json *v)
{
    str value = json_str(v);
    struct json path;
    struct site note = { .up = notes, .kind = SITE_MEMBER, .name = str_z(st->arena, key), .v = v };

    if (str_is(value, "runtime/default") || str_is(value, "docker/default") ||
        str_is(value, "unconfined"))
        return;
    if (!str_starts(value, STR("localhost/"))) {
        site_invalid(st, &note, "must be a valid seccomp profile");
        return;
    }
    path = json_of_str(str_from(value, strlen("localhost/")));
    note.v = &path;
    podspec_check_path(st, &note, true);
}

static bool is_cost(str text)
{
    int64_t n = 0;

    if (text.n == 0 || text.p[0] == '+' || (text.p[0] == '0' && text.n > 1))
        return false;
    return str_to_i64(text, &n) && n >= INT32_MIN && n <= INT32_MAX;
}

void podspec_check_annotations(struct status *st, const struct site *notes, const struct json *spec)
{
    struct map names = { 0 };

    if (has_any(notes->v, ARMOR))
        names = names_of(spec);
    json_for_each_member (m, notes->v) {
        struct site note = site_key(notes, m->name, &m->value);

        if (str_is(m->name, PODSPEC_MIRROR) && json_get_str(spec, "nodeName").n == 0)
            site_invalid(st, &note, "must set spec.nodeName if mirror pod annotation is set");
        else if (str_is(m->name, COST) && !is_cost(json_str(&m->value)))
            site_invalid(st, &note, "must be a 32bit integer");
        else if (str_is(m->name, SECCOMP_POD) || str_starts(m->name, STR(SECCOMP)))
            check_seccomp(st, notes, m->name, &m->value);
        else if (podspec_is_armor(m->name))
            check_armor(st, &note, &names);
    }
    map_release(&names);
}

/* ---- what it has in common with the fields ---- */

struct profile {
    const char *annotation, *field, *what;
};

static const struct profile armor = { ARMOR, "appArmorProfile", "apparmor" };
static const struct profile seccomp = { SECCOMP, "seccompProfile", "seccomp" };

/* `context` is where the annotation's profile would be, and `v` the one that holds there. */
static void check_match(struct status *st, const struct profile *p, const struct site *context,
                        const struct json *v, const struct json *annotation)
{
    struct site at = site_in(context, p->field), type = site_in(&at, "type");
    struct site local = site_in(&at, "localhostProfile");
    str kind = json_get_str(v, "type"), said = json_str(annotation);
    bool same = true, docker = p == &seccomp && str_is(said, "docker/default");

    if (!v || !annotation)
        return;
    if (str_is(kind, "Unconfined"))
        same = str_is(said, "unconfined");
    else if (str_is(kind, "RuntimeDefault"))
        same = docker || str_is(said, "runtime/default");
    else if (str_is(kind, "Localhost"))
        same = str_starts(said, STR("localhost/"));
    if (!same)
        site_fault(st, &type, CAUSE_FORBIDDEN, "%s type in annotation and field must match",
                   p->what);
    else if (str_is(kind, "Localhost") &&
             !str_eq(str_from(said, strlen("localhost/")), json_get_str(v, "localhostProfile")))
        site_fault(st, &local, CAUSE_FORBIDDEN, "%s profile in annotation and field must match",
                   p->what);
}

static void check_all(struct status *st, const struct profile *p, const struct json *notes,
                      const struct site *spec, const struct json *otherwise)
{
    struct map index = { 0 };

    if (!has_any(notes, p->annotation))
        return;
    index = check_index(notes);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        struct site list = site_in(spec, lists[i]);

        site_each(c, &list)
        {
            struct site context = site_in(&c, "securityContext");
            const struct json *own = json_get(context.v, str_of(p->field));
            str key = str_printf(st->arena, "%s%.*s", p->annotation, STR_ARG(site_str(&c, "name")));

            check_match(st, p, &context, own ? own : otherwise, map_get(&index, key));
        }
    }
    map_release(&index);
}

void podspec_check_profiles(struct status *st, const struct json *notes, const struct site *spec)
{
    struct site context = site_in(spec, "securityContext");

    check_match(st, &seccomp, &context, json_get(context.v, STR("seccompProfile")),
                json_get(notes, STR(SECCOMP_POD)));
    check_all(st, &seccomp, notes, spec, NULL);
    if (!str_is(json_get_str(spec->v, "os.name"), "windows"))
        check_all(st, &armor, notes, spec, json_get(context.v, STR("appArmorProfile")));
}

/* ---- annotations become fields ---- */

/* NULL when it says nothing that a field could. */
static const struct json *armor_of(struct arena *a, str annotation)
{
    struct json_object o = json_object_new(a);
    str file = str_starts(annotation, STR("localhost/"))
                   ? str_from(annotation, strlen("localhost/"))
                   : STR_NONE;

    if (str_is(annotation, "unconfined"))
        json_add(&o, STR("type"), json_of_str(STR("Unconfined")));
    else if (str_is(annotation, "runtime/default"))
        json_add(&o, STR("type"), json_of_str(STR("RuntimeDefault")));
    if (file.n && file.n <= PODSPEC_PROFILE_MAX && str_eq(str_trim(file), file)) {
        json_add(&o, STR("type"), json_of_str(STR("Localhost")));
        json_add(&o, STR("localhostProfile"), json_of_str(file));
    }
    return o.n ? json_object_done(&o) : NULL;
}

const struct json *podspec_apply_armor(struct arena *a, const struct json *pod)
{
    const struct json *notes = json_path(pod, "metadata.annotations");
    const struct json *whole = json_path(pod, "spec.securityContext.appArmorProfile");
    struct map index;

    if (!has_any(notes, ARMOR) || str_is(json_get_str(pod, "spec.os.name"), "windows"))
        return pod;
    index = check_index(notes);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        const char *path = arena_printf(a, "spec.%s", lists[i]);
        struct json_array out = json_array_new(a);

        if (!json_len(json_path(pod, path)))
            continue;
        json_for_each (c, json_path(pod, path)) {
            str key = str_printf(a, ARMOR "%.*s", STR_ARG(json_get_str(c, "name")));
            const struct json *profile = armor_of(a, json_str(map_get(&index, key)));
            bool has = json_path(c, "securityContext.appArmorProfile") != NULL;
            bool lacks = profile && !has && !(whole && json_equal(profile, whole));

            json_push(&out,
                      lacks ? *json_set(a, c, "securityContext.appArmorProfile", profile) : *c);
        }
        pod = json_set(a, pod, path, json_array_done(&out));
    }
    map_release(&index);
    return pod;
}
