/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/managers.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "object/meta/managers_internal.h"
#include "object/meta/typed.h"

#define BEFORE_FIRST_APPLY "before-first-apply"
#define ANCIENT_CHANGES    "ancient-changes"
#define LAST_APPLIED       "kubectl.kubernetes.io/last-applied-configuration"

enum { UPDATE_MANAGERS_MAX = 10, LAST_APPLIED_MAX = 4 << 20 };

#define NAME(name)                                                \
    {                                                             \
        .text = STR_INIT(name), .kind = PATH_NAME, .member = true \
    }

/* What is the server's own is nobody's field; k8s: stripmeta.go */
static const struct fieldset_node system_meta[] = {
    NAME("clusterName"), NAME("creationTimestamp"), NAME("generation"),      NAME("managedFields"),
    NAME("name"),        NAME("namespace"),         NAME("resourceVersion"), NAME("selfLink"),
    NAME("uid"),
};

static const struct fieldset_node system_nodes[] = {
    NAME("apiVersion"),
    NAME("kind"),
    { .text = STR_INIT("metadata"),
      .kind = PATH_NAME,
      .member = true,
      .below = { system_meta, sizeof(system_meta) / sizeof(*system_meta) } },
};

const struct fieldset managers_system = { system_nodes,
                                          sizeof(system_nodes) / sizeof(*system_nodes) };

/* ---- the list ---- */

/* An applier is one whatever version it applies; an updater is another for each. */
static struct manager *find(struct managers *m, str name, bool applied, str api_version,
                            str subresource)
{
    for (size_t i = 0; i < m->n; i++) {
        struct manager *e = &m->list[i];

        if (e->applied == applied && str_eq(e->name, name) && str_eq(e->subresource, subresource) &&
            (applied || str_eq(e->api_version, api_version)))
            return e;
    }
    return NULL;
}

static int compare_strs(const str *a, const str *b)
{
    return str_cmp(*a, *b);
}

/* k8s: managedfields.go, sortEncodedManagedFields */
static int compare_managers(const void *a, const void *b)
{
    const struct manager *x = a, *y = b;
    int64_t xt = x->time_s == MANAGER_NO_TIME ? 0 : x->time_s;
    int64_t yt = y->time_s == MANAGER_NO_TIME ? 0 : y->time_s;
    int c;

    if (x->applied != y->applied)
        return x->applied ? -1 : 1;
    if (xt != yt)
        return xt < yt ? -1 : 1;
    c = compare_strs(&x->name, &y->name);
    c = c ? c : compare_strs(&x->api_version, &y->api_version);
    return c ? c : compare_strs(&x->subresource, &y->subresource);
}

static void sort(struct managers *m)
{
    if (m->n > 1)
        qsort(m->list, m->n, sizeof(*m->list), compare_managers);
}

static void drop_empty(struct managers *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        if (manager_owns(&m->list[i]))
            m->list[n++] = m->list[i];
    m->n = n;
}

static struct manager *add(struct arena *a, struct managers *m)
{
    struct manager *grown = arena_array(a, struct manager, m->n + 1);

    if (m->n)
        memcpy(grown, m->list, m->n * sizeof(*grown));
    m->list = grown;
    return &grown[m->n++];
}

/* The writer's own entry, made if it has none. */
static struct manager *own(const struct managers_write *w, struct managers *m, bool applied)
{
    str name = w->manager.n ? w->manager : STR("unknown");
    struct manager *e = find(m, name, applied, w->api_version, w->subresource);

    if (e)
        return e;
    e = add(w->arena, m);
    *e = (struct manager){ .name = name,
                           .api_version = w->api_version,
                           .subresource = w->subresource,
                           .applied = applied,
                           .time_s = MANAGER_NO_TIME };
    return e;
}

void managers_set_apart(struct arena *a, struct managers *m, const struct fieldset *field,
                        str api_version)
{
    for (size_t i = 0, n = m->n; i < n; i++) {
        struct manager *e = &m->list[i], *apart;
        const struct fieldset *had = manager_fields(a, e);
        struct fieldset both = fieldset_intersection(a, had, field);

        if (e->applied || !str_eq(e->api_version, api_version) || fieldset_empty(&both))
            continue;
        manager_own(e, fieldset_difference(a, had, field));
        apart = add(a, m);
        *apart = m->list[i];
        apart->time_s = MANAGER_NO_TIME;
        manager_own(apart, both);
    }
    drop_empty(m);
    sort(m);
}

/* Of two that are one by their names the last counts: the one that has a time. */
void managers_join(struct managers *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++) {
        const struct manager *e = &m->list[i];
        struct managers after = { m->list + i + 1, m->n - i - 1 };
        bool apart = !e->applied && e->time_s == MANAGER_NO_TIME &&
                     find(&after, e->name, false, e->api_version, e->subresource);

        if (!apart)
            m->list[n++] = *e;
    }
    m->n = n;
}

static bool same_fields(struct arena *a, struct manager *x, struct manager *y)
{
    return (x->packed.n && str_eq(x->packed, y->packed)) ||
           fieldset_equal(manager_fields(a, x), manager_fields(a, y));
}

bool managers_equal(struct arena *a, struct managers *x, struct managers *y)
{
    if (x->n != y->n)
        return false;
    for (size_t i = 0; i < x->n; i++) {
        struct manager *e = &x->list[i];
        struct manager *twin = find(y, e->name, e->applied, e->api_version, e->subresource);

        if (!twin || !str_eq(e->api_version, twin->api_version) || !same_fields(a, e, twin))
            return false;
    }
    return true;
}

static int parse_entry(struct arena *a, const struct json *v, struct manager *out,
                       struct status *st)
{
    str operation = json_get_str(v, "operation"), time = json_get_str(v, "time");
    const struct json *fields = json_get(v, STR("fieldsV1"));

    *out = (struct manager){ .name = json_get_str(v, "manager"),
                             .api_version = json_get_str(v, "apiVersion"),
                             .subresource = json_get_str(v, "subresource"),
                             .applied = str_is(operation, "Apply"),
                             .time_s = MANAGER_NO_TIME };
    if (!out->applied && !str_is(operation, "Update"))
        return status_set(st, REASON_INVALID, "operation must be `Apply` or `Update`");
    if (out->api_version.n == 0)
        return status_set(st, REASON_INVALID, "apiVersion must not be empty");
    if (!str_is(json_get_str(v, "fieldsType"), "FieldsV1"))
        return status_set(st, REASON_INVALID, "fieldsType must be FieldsV1");
    if (time.n && !time_parse_seconds(time, &out->time_s))
        return status_set(st, REASON_INVALID, "time must be RFC 3339");
    return fields ? fieldset_parse(a, fields, &out->fields, st) : 0;
}

int managers_parse(struct arena *a, const struct json *entries, struct managers *out,
                   struct status *st)
{
    struct managers m = { arena_array(a, struct manager, json_len(entries) + 1), 0 };

    json_for_each (v, entries) {
        struct manager entry, *twin;

        if (parse_entry(a, v, &entry, st) < 0)
            return -1;
        twin = find(&m, entry.name, entry.applied, entry.api_version, entry.subresource);
        if (twin)
            *twin = entry;
        else
            m.list[m.n++] = entry;
    }
    sort(&m);
    *out = m;
    return 0;
}

/* ---- what a write changes ---- */

struct view {                /* the change as a version shows it */
    struct fieldset changed; /* new, or with another value */
    struct fieldset removed;
};

static struct view view_of(const struct managers_write *w, const struct schema *s,
                           const struct json *live, const struct json *now)
{
    struct comparison c = typed_compare(w->arena, s, live, now);
    struct view v = { .changed = fieldset_union(w->arena, &c.added, &c.modified),
                      .removed = c.removed };

    if (w->ignored) {
        v.changed = fieldset_without(w->arena, &v.changed, w->ignored);
        v.removed = fieldset_without(w->arena, &v.removed, w->ignored);
    }
    return v;
}

static int view_in(const struct managers_write *w, str version, const struct json *live,
                   const struct json *now, const struct view **out, struct status *st)
{
    struct shown was = { w->api_version, live, w->schema }, is = { w->api_version, now, w->schema };
    int before = live ? managers_show(w, version, &was, &was, st) : 0, rc;
    struct view *v;

    if (before < 0)
        return status_wrap(st, "failed to convert old object");
    rc = managers_show(w, version, &is, &is, st);
    if (rc < 0)
        return status_wrap(st, "failed to convert new object");
    if (before || rc)
        return before ? before : rc;
    v = arena_new_of(w->arena, struct view);
    *v = view_of(w, is.schema, was.obj, is.obj);
    *out = v;
    return 0;
}

/* The change as each manager sees it; NULL: its version is gone. */
static int views_of(const struct managers_write *w, const struct view *v, const struct json *live,
                    const struct json *now, const struct managers *m, const struct view **views,
                    struct status *st)
{
    const size_t *first = NULL;
    bool waits = false;

    for (size_t i = 0; i < m->n; i++) {
        str version = m->list[i].api_version;
        int rc;

        views[i] = v;
        if (str_eq(version, w->api_version))
            continue;
        if (!first)
            first = managers_firsts(w->arena, m);
        views[i] = first[i] < i ? views[first[i]] : NULL;
        rc = first[i] < i ? 0 : view_in(w, version, live, now, &views[i], st);
        if (rc < 0)
            return -1;
        waits = waits || rc == MANAGERS_WAIT;
    }
    return waits ? MANAGERS_WAIT : 0;
}

static void lose(struct arena *a, struct manager *e, const struct view *v)
{
    const struct fieldset *had = manager_fields(a, e);
    struct fieldset of_changed = fieldset_intersection(a, had, &v->changed);
    struct fieldset of_removed = fieldset_intersection(a, had, &v->removed);

    if (!fieldset_empty(&of_changed))
        manager_own(e, fieldset_difference(a, had, &of_changed));
    if (!fieldset_empty(&of_removed))
        manager_own(e, fieldset_difference(a, &e->fields, &of_removed));
}

/* Takes from each manager but `self` what became another's, and what is gone. */
static void take(const struct managers_write *w, const struct view *const *views,
                 struct managers *m, const struct manager *self)
{
    for (size_t i = 0; i < m->n; i++) {
        struct manager *e = &m->list[i];

        if (e == self)
            continue;
        if (views[i])
            lose(w->arena, e, views[i]);
        else
            manager_own(e, (struct fieldset){ 0 });
    }
}

/* ---- update ---- */

static int compare_age(const void *a, const void *b)
{
    const struct manager *x = a, *y = b;
    int64_t xt = x->time_s == MANAGER_NO_TIME ? 0 : x->time_s;
    int64_t yt = y->time_s == MANAGER_NO_TIME ? 0 : y->time_s;

    if (x->applied != y->applied) /* appliers last: they are not counted */
        return x->applied ? 1 : -1;
    return xt != yt ? (xt < yt ? -1 : 1) : compare_managers(a, b);
}

/* The oldest other updater of that version, which is not yet the bucket, or NULL. */
static struct manager *bucket_of(struct managers *m, size_t before, str api_version)
{
    struct manager *e = find(m, STR(ANCIENT_CHANGES), false, api_version, STR_NONE);

    if (e)
        return e;
    for (size_t i = 0; i < before; i++)
        if (!m->list[i].applied && manager_owns(&m->list[i]) &&
            str_eq(m->list[i].api_version, api_version))
            return &m->list[i];
    return NULL;
}

/* Many updaters are too many: the oldest become one for each version. */
static void cap(struct arena *a, struct managers *m)
{
    size_t updaters = 0;

    for (size_t i = 0; i < m->n; i++)
        updaters += !m->list[i].applied;
    if (updaters <= UPDATE_MANAGERS_MAX)
        return;
    qsort(m->list, m->n, sizeof(*m->list), compare_age);
    for (size_t i = 0, n = updaters; i < n && updaters > UPDATE_MANAGERS_MAX; i++) {
        struct manager *e = &m->list[i], *bucket = bucket_of(m, i, e->api_version);

        if (!bucket || bucket == e)
            continue;
        bucket->name = STR(ANCIENT_CHANGES);
        bucket->subresource = STR_NONE;
        bucket->time_s = e->time_s;
        manager_own(bucket, fieldset_union(a, manager_fields(a, bucket), manager_fields(a, e)));
        manager_own(e, (struct fieldset){ 0 });
        updaters--;
    }
    drop_empty(m);
}

/* Only the schemas of CRDs change; `fresh` was made by the present one. */
static int reconcile(const struct managers_write *w, const struct json *live, str fresh,
                     struct managers *m, struct status *st)
{
    struct shown home = { w->api_version, live, w->schema }, *others = NULL;
    const size_t *first = NULL;
    bool waits = false;

    for (size_t i = 0; live && w->schema->rules && i < m->n; i++) {
        struct manager *e = &m->list[i];
        bool here = str_eq(e->api_version, w->api_version);
        struct fieldset set;
        int rc = 0;

        if (here && fresh.n && str_eq(e->packed, fresh))
            continue;
        if (!here && !first) {
            first = managers_firsts(w->arena, m);
            others = arena_array(w->arena, struct shown, m->n);
        }
        if (!here && first[i] == i)
            rc = managers_show(w, e->api_version, &home, &others[i], st);
        if (rc < 0)
            return -1;
        waits = waits || rc == MANAGERS_WAIT;
        if (!here && !others[first[i]].schema)
            continue;
        set = *manager_fields(w->arena, e);
        typed_reconcile(w->arena, here ? w->schema : others[first[i]].schema, &set);
        if (set.nodes != e->fields.nodes)
            manager_own(e, set);
    }
    return waits ? MANAGERS_WAIT : 0;
}

static int update(const struct managers_write *w, const struct json *live, const struct json *now,
                  struct managers *m, struct status *st)
{
    struct view v = view_of(w, w->schema, live, now);
    struct fieldset mine = fieldset_difference(w->arena, &v.changed, &managers_system);
    const struct view **views = arena_array(w->arena, const struct view *, m->n + 1);
    int rc = views_of(w, &v, live, now, m, views, st);
    struct manager *e;

    if (rc)
        return rc;
    take(w, views, m, NULL);
    drop_empty(m);
    if (!fieldset_empty(&mine)) {
        e = own(w, m, false);
        manager_own(e, fieldset_union(w->arena, manager_fields(w->arena, e), &mine));
        e->time_s = w->now_s;
        cap(w->arena, m);
    }
    sort(m);
    return 0;
}

/* So that it need not be packed again, here or for the next one with that outline. */
static void keep(const struct managers_write *w, const struct outline *o, struct manager *e)
{
    if (o->text.n == 0 || !manager_owns(e))
        return;
    e->packed = managers_pack_set(w->arena, &e->fields);
    outline_keep(o, e->packed);
}

static int create(const struct managers_write *w, const struct json *now, struct managers *m,
                  struct status *st)
{
    struct outline o = outline_of(w->arena, w->schema, w->serial, OUTLINE_NEW, w->ignored, now);
    struct manager *e;

    if (o.fields.n == 0) {
        if (update(w, NULL, now, m, st) < 0)
            return -1;
        if (m->n)
            keep(w, &o, &m->list[0]);
        return 0;
    }
    e = own(w, m, false);
    e->packed = o.fields;
    e->time_s = w->now_s;
    return 0;
}

int managers_update(const struct managers_write *w, const struct json *live, const struct json *now,
                    struct managers *m, struct status *st)
{
    int before, rc;

    if (live && m->n == 0)
        return 0;
    if (!live && m->n == 0)
        return create(w, now, m, st);
    before = reconcile(w, live, STR_NONE, m, st);
    if (before < 0)
        return -1;
    rc = update(w, live, now, m, st);
    return rc < 0 ? -1 : before ? before : rc;
}

/* ---- apply ---- */

struct conflicts {
    struct arena *arena;
    struct status *st;
    str who, text; /* text: "\n- .a\n- .b" */
    unsigned n;
    str last;
};

/* k8s: conflict.go, printManager */
static str who(const struct managers_write *w, const struct manager *m)
{
    struct arena *a = w->arena;
    str version = w->told_version.n ? w->told_version : m->api_version;
    struct json name = json_of_str(m->name), sub = json_of_str(m->subresource);
    str out = json_text(a, &name);

    if (m->subresource.n)
        out =
            str_printf(a, "%.*s with subresource %.*s", STR_ARG(out), STR_ARG(json_text(a, &sub)));
    if (!m->applied)
        out = str_printf(a, "%.*s using %.*s", STR_ARG(out), STR_ARG(version));
    return out;
}

static void add_conflict(void *arg, str path)
{
    struct conflicts *c = arg;

    status_cause(c->st, CAUSE_FIELD_MANAGER_CONFLICT, path, STR_NONE, "conflict with %.*s",
                 STR_ARG(c->who));
    if (c->n++ < STATUS_CAUSES_MAX)
        c->text = str_printf(c->arena, "%.*s\n- %.*s", STR_ARG(c->text), STR_ARG(path));
    c->last = path;
}

/* Kubernetes names managers in the order of their identifiers: that of these words. */
static int compare_identity(const void *a, const void *b)
{
    const struct manager *x = *(const struct manager *const *)a;
    const struct manager *y = *(const struct manager *const *)b;
    int c = str_cmp(x->name, y->name);

    if (c == 0 && x->applied != y->applied)
        c = x->applied ? -1 : 1;
    c = c ? c : str_cmp(x->api_version, y->api_version);
    return c ? c : str_cmp(x->subresource, y->subresource);
}

static int fail(const struct managers_write *w, const struct managers *m,
                const struct fieldset *lost, struct status *st)
{
    struct arena *a = w->arena;
    struct conflicts c = { .arena = a, .st = st };
    const struct manager **order = arena_array(a, const struct manager *, m->n + 1);
    str all = STR_NONE, last = STR_NONE;

    for (size_t i = 0; i < m->n; i++)
        order[i] = &m->list[i];
    qsort(order, m->n, sizeof(*order), compare_identity);
    for (size_t i = 0; i < m->n; i++) {
        const struct fieldset *set = &lost[order[i] - m->list];

        if (fieldset_empty(set))
            continue;
        c.who = who(w, order[i]);
        c.text = STR_NONE;
        fieldset_each(a, set, add_conflict, &c);
        all = str_printf(a, "%.*s%sconflicts with %.*s:%.*s", STR_ARG(all), all.n ? "\n" : "",
                         STR_ARG(c.who), STR_ARG(c.text));
        last = c.who;
    }
    if (c.n == 1)
        return status_set(st, REASON_CONFLICT,
                          "Apply failed with 1 conflict: conflict with %.*s: %.*s", STR_ARG(last),
                          STR_ARG(c.last));
    return status_set(st, REASON_CONFLICT, "Apply failed with %u conflicts: %.*s", c.n,
                      STR_ARG(all));
}

/* What kubectl's client-side apply had set, and is still as it set it, may be taken over. */
static struct fieldset allowed(const struct managers_write *w, const struct json *live)
{
    const struct json *annotations = json_path(live, "metadata.annotations"), *last = NULL;
    str text = json_str(json_get(annotations, STR(LAST_APPLIED)));
    struct comparison c;
    struct fieldset out;
    struct status st;

    status_init(&st, w->arena);
    if (!str_is(w->manager, "kubectl") || text.n == 0 ||
        json_parse(w->arena, text, NULL, &last, &st) < 0 || last->type != JSON_OBJECT ||
        !str_eq(json_get_str(last, "apiVersion"), w->api_version) ||
        typed_check(w->arena, w->schema, last).n)
        return (struct fieldset){ 0 };
    c = typed_compare(w->arena, w->schema, last, live);
    out = typed_fields(w->arena, w->schema, last);
    out = fieldset_difference(w->arena, &out, &c.modified);
    out = fieldset_difference(w->arena, &out, &c.added);
    return fieldset_difference(w->arena, &out, &c.removed);
}

static int check_conflicts(const struct managers_write *w, const struct json *live,
                           const struct view *const *views, struct managers *m,
                           const struct manager *self, struct status *st)
{
    struct fieldset *lost = arena_array(w->arena, struct fieldset, m->n), may;
    bool any = false;

    for (size_t i = 0; i < m->n; i++) {
        if (&m->list[i] != self && views[i])
            lost[i] = fieldset_intersection(w->arena, manager_fields(w->arena, &m->list[i]),
                                            &views[i]->changed);
        any = any || !fieldset_empty(&lost[i]);
    }
    if (!any)
        return 0;
    may = allowed(w, live);
    any = false;
    for (size_t i = 0; i < m->n; i++) {
        lost[i] = fieldset_difference(w->arena, &lost[i], &may);
        any = any || !fieldset_empty(&lost[i]);
    }
    return any ? fail(w, m, lost, st) : 0;
}

/* kubectl's annotation, where there is one, says what was applied last. */
static const struct json *with_last_applied(const struct managers_write *w, const struct json *obj,
                                            const struct json *config)
{
    const struct json *annotations = json_path(obj, "metadata.annotations");
    const struct json *sent = json_path(config, "metadata.annotations");
    scoped_buf b = { .max = LAST_APPLIED_MAX };
    struct json_object o;

    if (!str_is(w->manager, "kubectl") || json_str(json_get(annotations, STR(LAST_APPLIED))).n == 0)
        return obj;
    if (json_get(sent, STR(LAST_APPLIED))) {
        o = json_object_from(w->arena, sent);
        json_remove(&o, STR(LAST_APPLIED));
        config = json_set(w->arena, config, "metadata.annotations", json_object_done(&o));
    }
    json_print_canonical(&b, config);
    buf_byte(&b, '\n');
    if (buf_overflown(&b))
        return obj;
    o = json_object_from(w->arena, annotations);
    json_put(&o, STR(LAST_APPLIED), json_of_str(str_dup(w->arena, buf_str(&b))));
    return json_set(w->arena, obj, "metadata.annotations", json_object_done(&o));
}

/* The configuration becomes its manager's, and what it no longer speaks of goes. */
static int own_config(const struct managers_write *w, const struct json **merged,
                      const struct json *config, struct manager *mine, str version,
                      struct managers *m, struct status *st)
{
    struct fieldset last = *manager_fields(w->arena, mine), fields;
    int rc;

    manager_own(mine, typed_fields(w->arena, w->schema, config));
    if (w->ignored)
        manager_own(mine, fieldset_without(w->arena, &mine->fields, w->ignored));
    fields = fieldset_difference(w->arena, &mine->fields, &managers_system);
    rc = managers_prune(w, merged, version, &last, &fields, m, st);
    if (rc)
        return rc;
    manager_own(mine, fields);
    keep(w, &w->outline, mine);
    return 0;
}

/* The merged object is made, and `mine` is what the configuration says. */
static int merge(const struct managers_write *w, const struct json *live, const struct json *config,
                 struct managers *m, struct manager *mine, const struct json **out,
                 struct status *st)
{
    str known = w->outline.fields, version = mine->api_version;

    mine->api_version = w->api_version;
    *out = typed_merge(w->arena, w->schema, live, config);
    if (known.n && !manager_owns(mine))
        mine->packed = known;
    else if (known.n == 0 || !str_eq(mine->packed, known) || !str_eq(version, w->api_version))
        return own_config(w, out, config, mine, version, m, st);
    return 0;
}

int managers_apply(const struct managers_write *w, const struct json *live,
                   const struct json *config, bool force, struct managers *m,
                   const struct json **out, struct status *st)
{
    struct managers_write before = *w;
    const struct view **views;
    const struct json *now;
    struct manager *mine;
    struct view v;
    int rc, first;

    before.manager = STR(BEFORE_FIRST_APPLY);
    if (m->n == 0 && live && update(&before, NULL, live, m, st) < 0)
        return -1;
    first = reconcile(w, live, w->outline.fields, m, st);
    if (first < 0)
        return -1;
    mine = own(w, m, true);
    rc = merge(w, live, config, m, mine, &now, st);
    if (rc)
        return rc;
    v = view_of(w, w->schema, live, now);
    views = arena_array(w->arena, const struct view *, m->n);
    rc = views_of(w, &v, live, now, m, views, st);
    if (rc < 0 || rc + first)
        return rc < 0 ? -1 : MANAGERS_WAIT;
    if (!force && check_conflicts(w, live, views, m, mine, st) < 0)
        return -1;
    take(w, views, m, mine);
    if (live && json_equal(live, now))
        now = live;
    else
        mine->time_s = w->now_s;
    *out = with_last_applied(w, now, config);
    drop_empty(m);
    sort(m);
    return 0;
}
