/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/resources.h"
#include "kinds/k8s/podspec.h"
#include "object/meta/amounts.h"

typedef const struct json *change_fn(struct arena *a, const struct json *v);

static void put_str(struct json_object *o, const char *name, const char *value)
{
    json_put(o, str_of(name), json_of_str(str_of(value)));
}

/* The list with every item changed, or itself when none was. */
static const struct json *each_item(struct arena *a, const struct json *list, change_fn *fn)
{
    struct json_array out = json_array_new(a);
    bool changed = false;

    json_for_each (v, list) {
        const struct json *now = fn(a, v);

        changed = changed || now != v;
        json_push(&out, *now);
    }
    return changed ? json_array_done(&out) : list;
}

static const struct json *change_list(struct arena *a, const struct json *spec, const char *name,
                                      change_fn *fn)
{
    const struct json *list = json_get(spec, str_of(name));
    const struct json *now = list ? each_item(a, list, fn) : NULL;

    return now == list ? spec : json_set(a, spec, name, now);
}

/* What stands before the first slash is a host if it has a dot, a port or a capital in it. */
static bool is_host(str s)
{
    if (str_is(s, "localhost"))
        return true;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '.' || s.p[i] == ':' || (s.p[i] >= 'A' && s.p[i] <= 'Z'))
            return true;
    return false;
}

/* Whether a joint (a dot, one or two underscores, dashes) stands between two words. */
static bool is_joint(str path, size_t i)
{
    char c = path.p[i], before = i ? path.p[i - 1] : '/';
    char after = i + 1 < path.n ? path.p[i + 1] : '/';

    if (before == '/' || after == '/')
        return false;
    if (c == '_' && before == '_')
        return i > 1 && path.p[i - 2] != '_';
    return c == '-' ? before != '.' && before != '_'
                    : before != '.' && before != '-' && before != '_';
}

/* Small letters and digits, with joints and slashes between them. */
static bool is_path(str path)
{
    for (size_t i = 0; i < path.n; i++) {
        char c = path.p[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

        if (c == '/' && (i == 0 || path.p[i - 1] == '/' || i + 1 == path.n))
            return false;
        if (!word && c != '/' && ((c != '.' && c != '_' && c != '-') || !is_joint(path, i)))
            return false;
    }
    return path.n > 0;
}

/* Whether it names an image: a path, with a host in front and a tag behind where there is one.
 * k8s: github.com/distribution/reference */
static bool is_reference(str image)
{
    size_t slash = 0;
    ptrdiff_t at;

    for (size_t i = 0; i < image.n; i++)
        if (image.p[i] == '/')
            slash = i + 1;
    at = str_find(image, ':', slash);
    if (at >= 0)
        image = str_sub(image, 0, (size_t)at);
    at = str_find(image, '/', 0);
    if (at > 0 && is_host(str_sub(image, 0, (size_t)at)))
        image = str_from(image, (size_t)at + 1);
    return is_path(image);
}

/* k8s: pkg/util/parsers: no tag and no digest means latest. */
static const char *pull_policy(str image)
{
    enum { NAME_BYTES = 255 }; /* a longer one is none */
    size_t slash = 0;
    ptrdiff_t colon;

    if (str_find(image, '@', 0) >= 0 || !is_reference(image))
        return "IfNotPresent";
    for (size_t i = 0; i < image.n; i++)
        if (image.p[i] == '/')
            slash = i + 1;
    colon = str_find(image, ':', slash);
    if ((colon < 0 ? image.n : (size_t)colon) > NAME_BYTES)
        return "IfNotPresent";
    if (colon < 0)
        return image.n ? "Always" : "IfNotPresent";
    return str_is(str_from(image, (size_t)colon + 1), "latest") ? "Always" : "IfNotPresent";
}

static const struct json *container(struct arena *a, const struct json *c)
{
    struct json_object o;

    if (json_get_str(c, "imagePullPolicy").n)
        return c;
    o = json_object_from(a, c);
    put_str(&o, "imagePullPolicy", pull_policy(json_get_str(c, "image")));
    return json_object_done(&o);
}

/* A volume without a source is an empty directory. */
static const struct json *volume(struct arena *a, const struct json *v)
{
    const struct json *image = json_get(v, STR("image"));
    struct json_object o;

    if (json_len(v) == 1 && json_get(v, STR("name"))) {
        o = json_object_from(a, v);
        json_add(&o, STR("emptyDir"), json_empty_object);
        return json_object_done(&o);
    }
    if (!image || json_get_str(image, "pullPolicy").n)
        return v;
    o = json_object_from(a, image);
    put_str(&o, "pullPolicy", pull_policy(json_get_str(image, "reference")));
    return json_set(a, v, "image", json_object_done(&o));
}

/* The old and the new name of the account say the same. */
static const struct json *account(struct arena *a, const struct json *spec)
{
    str name = json_get_str(spec, "serviceAccountName");
    str old = json_get_str(spec, "serviceAccount");
    struct json_object o;

    if (str_eq(name, old))
        return spec;
    o = json_object_from(a, spec);
    json_put(&o, STR("serviceAccountName"), json_of_str(name.n ? name : old));
    json_put(&o, STR("serviceAccount"), json_of_str(name.n ? name : old));
    return json_object_done(&o);
}

static const struct json *of_spec(struct arena *a, const struct json *spec)
{
    static const char *const containers[] = { "containers", "initContainers",
                                              "ephemeralContainers" };

    for (size_t i = 0; i < sizeof(containers) / sizeof(*containers); i++)
        spec = change_list(a, spec, containers[i], container);
    return account(a, change_list(a, spec, "volumes", volume));
}

const struct json *podspec_default_template(struct arena *a, const struct json *obj,
                                            const char *path)
{
    const struct json *spec = json_path(obj, path), *now;

    if (!json_is(spec, JSON_OBJECT))
        return obj;
    now = of_spec(a, spec);
    return now == spec ? obj : json_set(a, obj, path, now);
}

/* ---- of pods, not of templates ---- */

/* What is limited is also requested. */
static const struct json *requests(struct arena *a, const struct json *c)
{
    const struct json *limits = json_path(c, "resources.limits");
    const struct json *asked = json_path(c, "resources.requests"), *all;

    if (json_len(limits) == 0)
        return c;
    all = check_union(a, asked ? asked : &json_empty_object, limits);
    return json_len(all) == json_len(asked) ? c : json_set(a, c, "resources.requests", all);
}

/*
 * The list with what the containers need in all of each resource that `of` says yes to and neither
 * list says anything about.
 */
static const struct json *complete(struct arena *a, const struct json *list,
                                   const struct amounts *all, const struct json *other,
                                   bool (*of)(str name))
{
    struct json_object o = json_object_from(a, list);

    for (size_t i = 0; i < all->n; i++)
        if (amounts_of_whole_pod(all->at[i].name) && of(all->at[i].name) &&
            !json_get(list, all->at[i].name) && !json_get(other, all->at[i].name))
            json_add(&o, all->at[i].name, json_of_str(quantity_print(a, &all->at[i].q)));
    return json_object_done(&o);
}

static bool is_huge(str name)
{
    return !resource_overcommits(name);
}

/* k8s: defaultHugePagePodLimits, defaultPodRequests: only where the pod says something itself. */
static const struct json *whole_pod(struct arena *a, const struct json *spec)
{
    const struct json *limits = json_path(spec, "resources.limits");
    const struct json *asked = json_path(spec, "resources.requests"), *all;
    struct amounts needs;

    if (json_len(limits) + json_len(asked) == 0)
        return spec;
    needs = amounts_of_spec(a, spec, "limits", AMOUNTS_CONTAINERS);
    all = complete(a, limits, &needs, asked, is_huge);
    if (json_len(all) != json_len(limits))
        spec = json_set(a, spec, "resources.limits", limits = all);
    if (json_len(limits) == 0)
        return spec;
    needs = amounts_of_spec(a, spec, "requests", AMOUNTS_CONTAINERS);
    all = complete(a, asked, &needs, NULL, resource_overcommits);
    needs = amounts_of(a, limits);
    all = complete(a, all, &needs, NULL, amounts_of_whole_pod);
    if (json_len(all) != json_len(asked))
        spec = json_set(a, spec, "resources.requests", all);
    return spec;
}

static const struct json *host_port(struct arena *a, const struct json *port)
{
    struct json_object o;

    if (json_get(port, STR("hostPort")))
        return port;
    o = json_object_from(a, port);
    json_put(&o, STR("hostPort"), json_of_int(json_int(json_get(port, STR("containerPort")), 0)));
    return json_object_done(&o);
}

static const struct json *host_ports(struct arena *a, const struct json *c)
{
    return change_list(a, c, "ports", host_port);
}

const struct json *podspec_default_pod(struct arena *a, const struct json *pod)
{
    static const char *const containers[] = { "containers", "initContainers" };
    const struct json *was = json_get(pod, STR("spec")), *spec;
    bool host = json_bool(json_get(was, STR("hostNetwork")));

    if (!was)
        return pod;
    spec = of_spec(a, was);
    for (size_t i = 0; i < sizeof(containers) / sizeof(*containers); i++) {
        spec = change_list(a, spec, containers[i], requests);
        if (host)
            spec = change_list(a, spec, containers[i], host_ports);
    }
    spec = whole_pod(a, spec);
    if (!json_get(spec, STR("enableServiceLinks")))
        spec = json_set(a, spec, "enableServiceLinks", &json_true);
    if (json_int(json_get(spec, STR("terminationGracePeriodSeconds")), 0) < 0) {
        struct json one = json_of_int(1);

        spec = json_set(a, spec, "terminationGracePeriodSeconds", &one);
    }
    return spec == was ? pod : json_set(a, pod, "spec", spec);
}
