/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/managers_internal.h"

#include "base/banned.h"
#include "base/map.h"
#include "object/meta/typed.h"

int managers_show(const struct managers_write *w, str version, const struct shown *from,
                  struct shown *out, struct status *st)
{
    struct shown at = *from;
    int rc;

    while (!str_eq(at.version, version)) {
        bool home = str_eq(at.version, w->api_version);
        struct shown next = { .version = home ? version : w->api_version };

        rc = w->convert
                 ? w->convert(w->arg, at.version, next.version, at.obj, &next.obj, &next.schema, st)
                 : MANAGERS_GONE;
        if (rc)
            return rc;
        at = next;
    }
    *out = at;
    return 0;
}

const size_t *managers_firsts(struct arena *a, const struct managers *m)
{
    size_t *first = arena_array(a, size_t, m->n + 1);
    struct map seen = { 0 };

    for (size_t i = 0; i < m->n; i++) {
        str version = m->list[i].api_version;
        const size_t *found = map_get(&seen, version);

        first[i] = found ? *found : i;
        if (!found)
            map_put(&seen, version, &first[i]);
    }
    map_release(&seen);
    return first;
}

struct pruning {
    const struct managers_write *w;
    struct managers *m;
    struct shown merged;  /* as it is written, */
    struct shown whole;   /* in the version of the last set, */
    struct shown rest;    /* and without that set */
    struct fieldset kept; /* as other versions have it, if there are any: */
    bool across;
};

static struct fieldset owned_in(const struct managers_write *w, struct managers *m, str version)
{
    struct fieldset owned = { 0 };

    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->list[i].api_version, version))
            owned = fieldset_union(w->arena, &owned, manager_fields(w->arena, &m->list[i]));
    return owned;
}

/* What is owned in that version stays, besides what stays anyway. */
static int keep_owned(struct pruning *p, str version, struct status *st)
{
    struct arena *a = p->w->arena;
    struct shown all, left;
    struct fieldset of_all, of_left, owned;
    int first = managers_show(p->w, version, &p->merged, &all, st), rc;

    if (first < 0)
        return status_wrap(st,
                           "failed add back owned items: failed to convert merged object at "
                           "version %.*s",
                           STR_ARG(version));
    rc = managers_show(p->w, version, &p->rest, &left, st);
    if (rc < 0)
        return status_wrap(st,
                           "failed add back owned items: failed to convert pruned object at "
                           "version %.*s",
                           STR_ARG(version));
    if (first || rc)
        return first ? first : rc;
    of_all = typed_fields(a, all.schema, all.obj);
    of_left = typed_fields(a, left.schema, left.obj);
    owned = owned_in(p->w, p->m, version);
    of_left = fieldset_union(a, &of_left, &owned);
    left.obj = typed_prune(a, all.schema, all.obj, &of_all, &of_left);
    rc = managers_show(p->w, p->whole.version, &left, &left, st);
    if (rc < 0)
        return status_wrap(st, "failed add back dangling items: failed to convert pruned object to "
                               "last applied version");
    if (rc)
        return rc;
    if (str_eq(version, p->whole.version)) {
        p->rest = left;
        return 0;
    }
    of_left = typed_fields(a, left.schema, left.obj);
    p->kept = fieldset_union(a, &p->kept, &of_left);
    p->across = true;
    return 0;
}

/* Of every other version: what is wanted is known of all before anything waits. */
static int keep_others(struct pruning *p, str version, struct status *st)
{
    const size_t *first = managers_firsts(p->w->arena, p->m);
    bool waits = false;

    for (size_t i = 0; i < p->m->n; i++) {
        str other = p->m->list[i].api_version;
        int rc;

        if (str_eq(other, version) || first[i] < i)
            continue;
        rc = keep_owned(p, other, st);
        if (rc < 0)
            return -1;
        waits = waits || rc == MANAGERS_WAIT;
    }
    return waits ? MANAGERS_WAIT : 0;
}

/* k8s: structured-merge-diff merge/update.go prune, but each version is asked by itself */
static int prune_across(struct pruning *p, str version, const struct fieldset *last,
                        struct status *st)
{
    struct arena *a = p->w->arena;
    int rc = managers_show(p->w, version, &p->merged, &p->whole, st);

    if (rc < 0)
        return status_wrap(st, "failed to convert merged object to last applied version");
    if (rc)
        return rc;
    p->rest = p->whole;
    /* Kubernetes leaves no metadata where labels had been applied (issue 117260): some webhooks
     * cannot convert that. */
    p->rest.obj = typed_prune(a, p->whole.schema, p->whole.obj, last, &managers_system);
    /* Its own version first: others may be made of what is owned there only. */
    rc = keep_owned(p, version, st);
    if (rc == 0)
        rc = keep_others(p, version, st);
    if (rc)
        return rc;
    if (!p->across)
        p->kept = typed_fields(a, p->rest.schema, p->rest.obj);
    p->whole.obj = typed_prune(a, p->whole.schema, p->whole.obj, last, &p->kept);
    return managers_show(p->w, p->merged.version, &p->whole, &p->merged, st);
}

int managers_prune(const struct managers_write *w, const struct json **merged, str version,
                   const struct fieldset *last, const struct fieldset *mine, struct managers *m,
                   struct status *st)
{
    struct pruning p = { .w = w, .m = m, .merged = { w->api_version, *merged, w->schema } };
    bool across = !str_eq(version, w->api_version);
    struct fieldset kept, gone;
    int rc;

    if (fieldset_empty(last) || (!across && fieldset_equal(last, mine)))
        return 0;
    if (!across) {
        kept = owned_in(w, m, version);
        gone = fieldset_difference(w->arena, last, &kept);
        if (fieldset_empty(&gone))
            return 0;
    }
    for (size_t i = 0; i < m->n; i++)
        across = across || !str_eq(m->list[i].api_version, version);
    if (!across) {
        *merged = typed_prune(w->arena, w->schema, *merged, last, &kept);
        return 0;
    }
    rc = prune_across(&p, version, last, st);
    *merged = p.merged.obj;
    return rc < 0 ? status_wrap(st, "failed to prune fields") : rc == MANAGERS_GONE ? 0 : rc;
}
