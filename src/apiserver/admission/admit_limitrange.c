/* SPDX-License-Identifier: Apache-2.0 */

/*
 * LimitRanges: what containers ask for when they do not say it, and the bounds of what containers,
 * pods and claims may ask for.  k8s: plugin/pkg/admission/limitranger
 */

#include <stdlib.h>

#include "apiserver/admission/admission.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/map.h"
#include "object/meta/amounts.h"
#include "rest/lookup.h"

enum { FAULTS_MAX = 64 << 10 }; /* bytes of text */

static bool is_about(const struct admission *a, const char *plural)
{
    return str_is(a->req->kind->plural, plural) && a->req->subresource.n == 0;
}

/* k8s: SupportsAttributes: a pod when it is made, and when it is resized */
static bool is_about_pod(const struct admission *a)
{
    if (str_is(a->req->subresource, "resize"))
        return a->old && str_is(a->req->kind->plural, "pods");
    return !a->old && is_about(a, "pods");
}

static bool add_range(void *arg, const struct json *obj)
{
    json_for_each (item, json_path(obj, "spec.limits"))
        json_push(arg, *item);
    return true;
}

/* The items of all LimitRanges of the namespace; NULL when there are none. */
static int find_items(const struct admission *a, const struct json **out, struct status *st)
{
    const struct rest_request *r = a->req;
    const struct kind *k = catalog_find(r->catalog, STR_NONE, STR("v1"), STR("limitranges"));
    struct json_array items = json_array_new(r->arena);
    struct store_range range = { .instance = r->instance.id };
    uint64_t n = 0;

    *out = NULL;
    if (!k)
        return 0;
    range.type = k->type_id;
    if (store_count(a->server->store, &range, &n, st) < 0)
        return -1;
    if (n == 0)
        return 0;
    if (lookup_each(r->rest, r->arena, &r->instance, k, r->namespace_, add_range, &items, st) < 0)
        return -1;
    if (items.n)
        *out = json_array_done(&items);
    return 0;
}

static bool is_type(const struct json *item, const char *type)
{
    return str_is(json_get_str(item, "type"), type);
}

/* ---- defaults ---- */

struct filling {
    struct arena *arena;
    const struct json *limits, *requests; /* what containers get that do not say it */
    const char *what;                     /* "container" or "init container" */
    struct buf note;
};

/* The first that says something wins. */
static const struct json *merge(struct arena *a, const struct json *have, const struct json *add)
{
    struct json_object o = json_object_from(a, have);

    json_for_each_member (m, add)
        if (!json_get(have, m->name))
            json_add(&o, m->name, m->value);
    return json_object_done(&o);
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static void note(struct filling *f, const str *names, size_t n, const char *what, str container)
{
    if (n == 0)
        return;
    buf_printf(&f->note, "%s", f->note.n ? "; " : "LimitRanger plugin set: ");
    for (size_t i = 0; i < n; i++)
        buf_printf(&f->note, "%s%.*s", i ? ", " : "", STR_ARG(names[i]));
    buf_printf(&f->note, " %s for %s %.*s", what, f->what, STR_ARG(container));
}

/* `have` with what is missing of `add`, but for what `not` has; NULL when that is nothing. */
static const struct json *fill(struct filling *f, const struct json *have, const struct json *add,
                               const struct json * not, const char *what, str container)
{
    struct json_object o = json_object_from(f->arena, have);
    str *names = arena_array(f->arena, str, json_len(add) + 1);
    size_t n = 0;

    json_for_each_member (m, add)
        if (!json_get(have, m->name) && !json_get(not, m->name)) {
            json_add(&o, m->name, m->value);
            names[n++] = m->name;
        }
    if (n > 1)
        qsort(names, n, sizeof(*names), by_text);
    note(f, names, n, what, container);
    return n ? json_object_done(&o) : NULL;
}

/* A request that is not said is the limit that is: the kind's own defaults see to that. */
static const struct json *fill_container(struct filling *f, const struct json *c)
{
    const struct json *limits = json_path(c, "resources.limits");
    const struct json *requests = json_path(c, "resources.requests");
    str name = json_get_str(c, "name");
    const struct json *r = fill(f, requests, f->requests, limits, "request", name);
    const struct json *l = fill(f, limits, f->limits, NULL, "limit", name);

    if (r)
        c = json_set(f->arena, c, "resources.requests", r);
    return l ? json_set(f->arena, c, "resources.limits", l) : c;
}

static const struct json *fill_containers(struct filling *f, const struct json *pod,
                                          const char *path)
{
    struct json_array out = json_array_new(f->arena);
    const struct json *list = json_path(pod, path);

    if (json_len(list) == 0)
        return pod;
    json_for_each (c, list)
        json_push(&out, *fill_container(f, c));
    return json_set(f->arena, pod, path, json_array_done(&out));
}

static const struct json *annotate(struct arena *a, const struct json *pod, str text)
{
    struct json_object notes = json_object_from(a, json_path(pod, "metadata.annotations"));

    json_put(&notes, STR("kubernetes.io/limit-ranger"), json_of_str(text));
    return json_set(a, pod, "metadata.annotations", json_object_done(&notes));
}

static int mutate(const struct admission *a, const struct json **obj, struct status *st)
{
    struct arena *arena = a->req->arena;
    struct filling f = { .arena = arena,
                         .limits = &json_empty_object,
                         .requests = &json_empty_object,
                         .what = "container" };
    const struct json *items;

    if (!is_about_pod(a))
        return 0;
    if (find_items(a, &items, st) < 0)
        return -1;
    json_for_each (item, items) {
        if (!is_type(item, "Container"))
            continue;
        f.limits = merge(arena, f.limits, json_get(item, STR("default")));
        f.requests = merge(arena, f.requests, json_get(item, STR("defaultRequest")));
    }
    buf_init(&f.note, FAULTS_MAX);
    *obj = items ? fill_containers(&f, *obj, "spec.containers") : *obj;
    f.what = "init container";
    *obj = items ? fill_containers(&f, *obj, "spec.initContainers") : *obj;
    if (f.note.n)
        *obj = annotate(arena, *obj, str_dup(arena, buf_str(&f.note)));
    buf_release(&f.note);
    return 0;
}

/* ---- bounds ---- */

struct bounds {
    struct arena *arena;
    const struct json *item;
    const char *type;                /* "Container" */
    struct amounts requests, limits; /* what is asked for */
    bool no_limits;                  /* claims know requests only */
    struct buf *faults;
    size_t *nfaults;
    struct map *told; /* k8s: what several ranges say is told once */
};

static void fault(struct bounds *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fault(struct bounds *b, const char *fmt, ...)
{
    va_list args;
    str text;

    va_start(args, fmt);
    text = str_of(arena_vprintf(b->arena, fmt, args));
    va_end(args);
    if (map_put(b->told, text, b->faults))
        return;
    buf_printf(b->faults, "%s%.*s", *b->nfaults ? ", " : "", STR_ARG(text));
    ++*b->nfaults;
}

static str text_of(struct bounds *b, const struct quantity *q)
{
    return quantity_print(b->arena, q);
}

static void check_min(struct bounds *b, const struct amount *min)
{
    const struct quantity *request = amounts_get(&b->requests, min->name);
    const struct quantity *limit = amounts_get(&b->limits, min->name);
    str shown = text_of(b, &min->q);

    if (!request)
        fault(b, "minimum %.*s usage per %s is %.*s.  No request is specified", STR_ARG(min->name),
              b->type, STR_ARG(shown));
    else if (quantity_cmp(request, &min->q) < 0)
        fault(b, "minimum %.*s usage per %s is %.*s, but request is %.*s", STR_ARG(min->name),
              b->type, STR_ARG(shown), STR_ARG(text_of(b, request)));
    else if (limit && quantity_cmp(limit, &min->q) < 0)
        fault(b, "minimum %.*s usage per %s is %.*s, but limit is %.*s", STR_ARG(min->name),
              b->type, STR_ARG(shown), STR_ARG(text_of(b, limit)));
}

static void check_max(struct bounds *b, const struct amount *max)
{
    const struct quantity *request = amounts_get(&b->requests, max->name);
    const struct quantity *limit = amounts_get(&b->limits, max->name);
    str shown = text_of(b, &max->q);

    if (b->no_limits ? !request : !limit)
        fault(b, "maximum %.*s usage per %s is %.*s.  No %s is specified", STR_ARG(max->name),
              b->type, STR_ARG(shown), b->no_limits ? "request" : "limit");
    else if (limit && quantity_cmp(limit, &max->q) > 0)
        fault(b, "maximum %.*s usage per %s is %.*s, but limit is %.*s", STR_ARG(max->name),
              b->type, STR_ARG(shown), STR_ARG(text_of(b, limit)));
    else if (request && quantity_cmp(request, &max->q) > 0)
        fault(b, "maximum %.*s usage per %s is %.*s, but request is %.*s", STR_ARG(max->name),
              b->type, STR_ARG(shown), STR_ARG(text_of(b, request)));
}

static void check_ratio(struct bounds *b, const struct amount *max)
{
    const struct quantity *request = amounts_get(&b->requests, max->name);
    const struct quantity *limit = amounts_get(&b->limits, max->name);
    str shown = text_of(b, &max->q);
    double ratio;

    if (!request || request->nanos == 0 || !limit || limit->nanos == 0) {
        const char *what = !request || request->nanos == 0 ? "request" : "limit";

        fault(b,
              "%.*s max limit to request ratio per %s is %.*s, but no %s is specified or %s is 0",
              STR_ARG(max->name), b->type, STR_ARG(shown), what, what);
        return;
    }
    ratio = (double)limit->nanos / (double)request->nanos;
    if (ratio > (double)max->q.nanos / 1e9)
        fault(b, "%.*s max limit to request ratio per %s is %.*s, but provided ratio is %f",
              STR_ARG(max->name), b->type, STR_ARG(shown), ratio);
}

static void check_bounds(struct bounds *b)
{
    static const struct {
        const char *name;
        void (*check)(struct bounds *b, const struct amount *bound);
    } all[] = { { "min", check_min },
                { "max", check_max },
                { "maxLimitRequestRatio", check_ratio } };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct amounts m = amounts_of(b->arena, json_get(b->item, str_of(all[i].name)));

        for (size_t k = 0; k < m.n && !buf_overflown(b->faults); k++)
            all[i].check(b, &m.at[k]);
    }
}

static void check_container(void *arg, const struct json *container)
{
    struct bounds *b = arg;

    b->requests = amounts_of(b->arena, json_path(container, "resources.requests"));
    b->limits = amounts_of(b->arena, json_path(container, "resources.limits"));
    check_bounds(b);
}

static void check_item(struct bounds *b, const struct json *obj, bool pod)
{
    const struct json *spec = json_get(obj, STR("spec"));

    if (pod && is_type(b->item, "Container")) {
        b->type = "Container";
        amounts_each_container(obj, check_container, b);
    } else if (pod && is_type(b->item, "Pod")) {
        b->type = "Pod";
        b->requests = amounts_of_spec(b->arena, spec, "requests", AMOUNTS_WHOLE);
        b->limits = amounts_of_spec(b->arena, spec, "limits", AMOUNTS_WHOLE);
        check_bounds(b);
    } else if (!pod && is_type(b->item, "PersistentVolumeClaim")) {
        b->type = "PersistentVolumeClaim";
        b->no_limits = true;
        b->requests = amounts_of(b->arena, json_path(obj, "spec.resources.requests"));
        check_bounds(b);
    }
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    bool pod = is_about_pod(a);
    scoped_buf faults = { .max = FAULTS_MAX };
    const struct json *items;
    struct map told = { 0 };
    size_t n = 0;

    if (!(pod || is_about(a, "persistentvolumeclaims")) ||
        json_path(obj, "metadata.deletionTimestamp"))
        return 0;
    if (find_items(a, &items, st) < 0)
        return -1;
    json_for_each (item, items) {
        struct bounds b = {
            .arena = a->req->arena, .item = item, .faults = &faults, .nfaults = &n, .told = &told
        };

        check_item(&b, obj, pod);
    }
    map_release(&told);
    if (n == 0)
        return 0;
    return status_forbidden(st, STR_NONE, a->req->kind->plural, json_get_str(obj, "metadata.name"),
                            n > 1 ? "[%.*s]" : "%.*s", STR_ARG(buf_str(&faults)));
}

const struct admission_plugin admit_limit_range = {
    .name = "LimitRanger",
    .group = "",
    .resource = "*",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .mutate = mutate,
    .validate = validate,
};
