/* SPDX-License-Identifier: Apache-2.0 */
#include "search/source.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    CHECK_MS = 5000,     /* health */
    LOOK_MS = 30000,     /* types */
    LOOK_SOON_MS = 1000, /* while something that is wanted is not there */
    VERSIONS_FIRST = 3,  /* of a custom type */
    INTAKES_MAX = 2000,
    CALL_MS = 10000,
};

/* All instances: what is built in, and not what root has of its own. */
#define EVERYWHERE "/clusters/*"

/* A type to be collected. */
struct wanted {
    struct search_index_type type;
    str served; /* version to ask for, where it is not the type's */
};

struct source {
    struct source_options o;
    struct arena *arena; /* the options' strings */
    struct loop *loop;
    struct loop_timer timer;
    struct client_call call;
    struct arena *look; /* one round of looking: */
    bool calling;
    str *documents; /* paths to ask for */
    size_t ndocuments, at;
    struct wanted *wanted;
    size_t nwanted, cap;
    bool missing; /* something that is wanted is not served */
    struct collector **collectors;
    size_t ncollectors;
    bool healthy, told;
    int64_t looked_ms;
    unsigned failures;
    char *version;
};

/* Nobody looks for these, and some are many. */
static const struct {
    const char *group, *resource;
} unwanted[] = {
    { "coordination.k8s.io", "leases" },
    { "events.k8s.io", "events" },
    { "metrics.k8s.io", "*" },
    { "clusterpedia.io", "*" },
    { "cluster.clusterpedia.io", "*" },
    { "apiregistration.k8s.io", "*" },
    { "flowcontrol.apiserver.k8s.io", "*" },
    { "tenancy.kairship.io", "*" },
    { "fleet.kairship.io", "*" },
};

static bool is_unwanted(str group, str resource)
{
    for (size_t i = 0; i < sizeof(unwanted) / sizeof(*unwanted); i++)
        if (str_is(group, unwanted[i].group) &&
            (str_is(resource, unwanted[i].resource) || str_is(str_of(unwanted[i].resource), "*")))
            return true;
    return false;
}

/* Groups of Kubernetes itself have short names or end in k8s.io; all others come by CRDs. */
static bool is_custom(str group)
{
    return str_find(group, '.', 0) >= 0 && !str_ends(group, STR(".k8s.io"));
}

static void look(struct source *s);

/* ---- health ---- */

static void tell(struct source *s, bool healthy, str reason)
{
    struct search_index_cluster c = { .name = s->o.cluster,
                                      .hidden = s->o.apart || s->o.wildcard,
                                      .apart = s->o.apart,
                                      .healthy = healthy,
                                      .reason = reason };

    if (s->told && s->healthy == healthy)
        return;
    s->told = true;
    s->healthy = healthy;
    search_index_cluster_put(s->o.search_index, &c);
    if (s->o.state)
        s->o.state(s->o.arg, healthy, reason, str_of(s->version));
}

/* It answers.  What is here of instances is from an earlier run until every watch goes on, which
 * takes a moment; a member may have types that it does not let us list. */
static void tell_reached(struct source *s)
{
    if (!s->o.wildcard || source_is_live(s))
        tell(s, true, STR_NONE);
}

static void collector_lives(void *arg)
{
    tell_reached(arg);
}

/* A CRD of the cluster came or went: so do types, soon. */
static void types_change(void *arg)
{
    struct source *s = arg;

    s->looked_ms = 0;
    if (!s->look)
        loop_timer_set(s->loop, &s->timer, LOOK_SOON_MS);
}

static void collector_failed(void *arg, const struct status *why)
{
    struct source *s = arg;

    log_debug("an collector of the search index failed", log_str("cluster", s->o.cluster),
              log_status(why));
}

/* ---- what is wanted of what is served ---- */

static bool in_list(str word, const str *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(list[i], word) || str_is(list[i], "*"))
            return true;
    return false;
}

static const struct source_want *want_of(const struct source *s, str group, str resource)
{
    for (size_t i = 0; i < s->o.nwants; i++) {
        const struct source_want *w = &s->o.wants[i];

        if ((str_eq(w->group, group) || str_is(w->group, "*")) &&
            in_list(resource, w->resources, w->nresources))
            return w;
    }
    return NULL;
}

static bool wants_group(const struct source *s, str group)
{
    for (size_t i = 0; i < s->o.nwants; i++)
        if (str_eq(s->o.wants[i].group, group) || str_is(s->o.wants[i].group, "*"))
            return true;
    return s->o.all_custom && is_custom(group);
}

static bool wants_version(const struct source *s, str group, str version, size_t place)
{
    for (size_t i = 0; i < s->o.nwants; i++) {
        const struct source_want *w = &s->o.wants[i];

        if (str_eq(w->group, group) && w->nversions)
            return in_list(version, w->versions, w->nversions);
    }
    return place < (is_custom(group) && !s->o.wildcard ? VERSIONS_FIRST : 1);
}

static bool can(const struct json *verbs, const char *verb)
{
    json_for_each (v, verbs)
        if (str_is(json_str(v), verb))
            return true;
    return false;
}

static str more_of(struct arena *a, const struct json *r)
{
    static const char *const names[] = { "shortNames", "categories" };
    str out = STR_NONE;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct json *v = json_get(r, str_of(names[i]));

        if (json_len(v))
            out =
                str_printf(a, "%.*s,\"%s\":%.*s", STR_ARG(out), names[i], STR_ARG(json_text(a, v)));
    }
    return out;
}

static bool have(const struct source *s, str group, str resource, bool any_version, str version)
{
    for (size_t i = 0; i < s->nwanted; i++)
        if (str_eq(s->wanted[i].type.group, group) &&
            str_eq(s->wanted[i].type.resource, resource) &&
            (any_version || str_eq(s->wanted[i].type.version, version)))
            return true;
    return false;
}

static void push_wanted(struct source *s, const struct wanted *w)
{
    if (s->nwanted == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 32;
        struct wanted *p = arena_array(s->look, struct wanted, cap);

        if (s->nwanted)
            memcpy(p, s->wanted, s->nwanted * sizeof(*p));
        s->wanted = p;
        s->cap = cap;
    }
    if (s->nwanted < INTAKES_MAX)
        s->wanted[s->nwanted++] = *w;
}

static void take_resource(struct source *s, str group, str version, const struct json *r)
{
    str name = json_get_str(r, "name"), singular = json_get_str(r, "singularName");
    const struct json *verbs = json_get(r, STR("verbs"));
    const struct source_want *want = want_of(s, group, name);
    struct wanted w = { .type = { .group = group,
                                  .version = version,
                                  .resource = name,
                                  .kind = json_get_str(r, "kind"),
                                  .namespaced = json_bool(json_get(r, STR("namespaced"))),
                                  .custom = is_custom(group),
                                  .everywhere = s->o.wildcard && is_custom(group),
                                  .hidden = s->o.wildcard || s->o.apart } };
    bool any_version = !w.type.custom || s->o.wildcard;

    if ((!want && !(s->o.all_custom && w.type.custom)) || str_find(name, '/', 0) >= 0 ||
        !can(verbs, "list") || !can(verbs, "watch") || is_unwanted(group, name) ||
        have(s, group, name, any_version, version))
        return;
    w.type.singular = singular.n ? singular : name;
    w.type.more = more_of(s->look, r);
    push_wanted(s, &w);
}

static bool wants_events(const struct source *s)
{
    for (size_t i = 0; i < s->o.nwants; i++)
        if (s->o.wants[i].events)
            return true;
    return false;
}

/* ---- collectors as wanted ---- */

static void start_collector(struct source *s, const struct wanted *w, int64_t id)
{
    struct collector_options o = { .client = s->o.client,
                                   .search_index = s->o.search_index,
                                   .type = id,
                                   .kind = { w->type.group, w->type.resource },
                                   .ref = { .instance = s->o.wildcard ? STR("*") : STR_NONE,
                                            .group = w->type.group,
                                            .version = w->served.n ? w->served : w->type.version,
                                            .resource = w->type.resource },
                                   .cluster = s->o.cluster,
                                   .failed = collector_failed,
                                   .arg = s };

    if (s->o.wildcard)
        o.live = collector_lives;
    else if (str_is(w->type.resource, "customresourcedefinitions"))
        o.changed = types_change;
    s->collectors = mem_realloc_n(s->collectors, s->ncollectors + 1, sizeof(struct collector *));
    s->collectors[s->ncollectors] = collector_new(&o);
    (void)collector_was_seen(s->collectors[s->ncollectors++], true);
}

static void ensure_collector(struct source *s, const struct wanted *w)
{
    int64_t id = search_index_type_put(s->o.search_index, &w->type);

    for (size_t i = 0; i < s->ncollectors; i++)
        if (collector_type(s->collectors[i]) == id) {
            (void)collector_was_seen(s->collectors[i], true);
            return;
        }
    start_collector(s, w, id);
}

bool source_has(const struct source *s, int64_t type)
{
    for (size_t i = 0; i < s->ncollectors; i++)
        if (collector_type(s->collectors[i]) == type)
            return true;
    return false;
}

bool source_has_resource(const struct source *s, str group, str resource)
{
    for (size_t i = 0; i < s->ncollectors; i++)
        if (collector_is_of(s->collectors[i], group, resource))
            return true;
    return false;
}

/* What an earlier run has left of types that are no more wanted. */
static void drop_leftovers(struct source *s)
{
    size_t n;
    struct search_index_type *types =
        search_index_types_of(s->o.search_index, s->look, s->o.cluster, &n);
    struct search_index_batch *b = search_index_batch_new(s->o.search_index);

    for (size_t i = 0; i < n; i++)
        if (!source_has(s, types[i].id))
            search_index_drop(b, types[i].id, s->o.cluster);
    search_index_submit(b, NULL, NULL);
}

static void apply(struct source *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->ncollectors; i++)
        (void)collector_was_seen(s->collectors[i], false);
    if (wants_events(s)) {
        struct wanted events = { .served = STR("v1"),
                                 .type = { .version = STR("about"),
                                           .resource = STR("events"),
                                           .kind = STR("Event"),
                                           .singular = STR("event"),
                                           .namespaced = true,
                                           .hidden = true } };

        ensure_collector(s, &events);
    }
    for (size_t i = 0; i < s->nwanted; i++)
        ensure_collector(s, &s->wanted[i]);
    for (size_t i = 0; i < s->ncollectors; i++) {
        if (collector_was_seen(s->collectors[i], true))
            s->collectors[n++] = s->collectors[i];
        else
            collector_free(s->collectors[i]);
    }
    s->ncollectors = n;
    if (s->o.looked)
        s->o.looked(s->o.arg);
    else
        drop_leftovers(s);
}

/* ---- looking ---- */

static void next_document(struct source *s);

static void call(struct source *s, str path,
                 void (*done)(struct client_call *, const struct json *, const struct status *))
{
    s->calling = true;
    s->call = (struct client_call){ .arena = s->look, .done = done, .user = s };
    s->call.req =
        (struct client_request){ .method = STR("GET"), .path = path, .timeout_ms = CALL_MS };
    client_call(s->o.client, &s->call);
}

static void look_ended(struct source *s, int64_t wait_ms)
{
    arena_free(s->look);
    s->look = NULL;
    loop_timer_set(s->loop, &s->timer, wait_ms);
}

static void look_failed(struct source *s, const struct status *why)
{
    s->failures++;
    if (s->failures > 1 || !s->told)
        tell(s, false, why->message);
    look_ended(s, s->told && s->ncollectors ? CHECK_MS : LOOK_SOON_MS * (s->failures > 5 ? 5 : 1));
}

static void document_done(struct client_call *c, const struct json *doc, const struct status *why)
{
    struct source *s = c->user;
    str gv, group, version;
    ptrdiff_t slash;

    s->calling = false;
    if (why && !status_is(why, REASON_NOT_FOUND)) {
        look_failed(s, why);
        return;
    }
    gv = json_get_str(doc, "groupVersion");
    slash = str_find(gv, '/', 0);
    group = slash < 0 ? STR_NONE : str_sub(gv, 0, (size_t)slash);
    version = slash < 0 ? gv : str_from(gv, (size_t)slash + 1);
    json_for_each (r, json_get(doc, STR("resources")))
        take_resource(s, group, version, r);
    next_document(s);
}

/* All that is named and not "*" is there. */
static bool complete(const struct source *s)
{
    for (size_t i = 0; i < s->o.nwants; i++)
        for (size_t j = 0; j < s->o.wants[i].nresources; j++) {
            str resource = s->o.wants[i].resources[j];

            if (!str_is(resource, "*") && !str_is(s->o.wants[i].group, "*") &&
                !have(s, s->o.wants[i].group, resource, true, STR_NONE))
                return false;
        }
    return true;
}

static void next_document(struct source *s)
{
    if (s->at < s->ndocuments) {
        call(s, s->documents[s->at++], document_done);
        return;
    }
    apply(s);
    s->failures = 0;
    s->looked_ms = complete(s) ? loop_now_ms(s->loop) : 0;
    tell_reached(s);
    look_ended(s, complete(s) ? CHECK_MS : LOOK_SOON_MS);
}

static void add_document(struct source *s, str path)
{
    str *p = arena_array(s->look, str, s->ndocuments + 1);

    if (s->ndocuments)
        memcpy(p, s->documents, s->ndocuments * sizeof(*p));
    p[s->ndocuments++] = path;
    s->documents = p;
}

static void groups_done(struct client_call *c, const struct json *doc, const struct status *why)
{
    struct source *s = c->user;

    s->calling = false;
    if (why) {
        look_failed(s, why);
        return;
    }
    s->documents = NULL;
    s->ndocuments = s->at = s->nwanted = s->cap = 0;
    s->wanted = NULL;
    if (wants_group(s, STR_NONE))
        add_document(s, s->o.wildcard ? STR(EVERYWHERE "/api/v1") : STR("/api/v1"));
    json_for_each (g, json_get(doc, STR("groups"))) {
        str name = json_get_str(g, "name");
        size_t place = 0;

        if (!wants_group(s, name))
            continue;
        json_for_each (v, json_get(g, STR("versions"))) {
            str version = json_get_str(v, "version");

            if (wants_version(s, name, version, place++))
                add_document(s, str_printf(s->look, "%s/apis/%.*s/%.*s",
                                           s->o.wildcard ? EVERYWHERE : "", STR_ARG(name),
                                           STR_ARG(version)));
        }
    }
    next_document(s);
}

static void version_done(struct client_call *c, const struct json *doc, const struct status *why)
{
    struct source *s = c->user;

    s->calling = false;
    if (why) {
        look_failed(s, why);
        return;
    }
    free(s->version);
    s->version = mem_strdup(str_z(s->look, json_get_str(doc, "gitVersion")));
    s->failures = 0;
    if (s->looked_ms && loop_now_ms(s->loop) - s->looked_ms < LOOK_MS) {
        tell_reached(s);
        look_ended(s, CHECK_MS);
        return;
    }
    call(s, s->o.wildcard ? STR(EVERYWHERE "/apis") : STR("/apis"), groups_done);
}

static void look(struct source *s)
{
    s->look = arena_new();
    call(s, STR("/version"), version_done);
}

static void on_timer(struct loop_timer *t)
{
    look((struct source *)(void *)((char *)t - offsetof(struct source, timer)));
}

/* ---- life ---- */

static const str *dup_list(struct arena *a, const str *list, size_t n)
{
    str *out = arena_array(a, str, n);

    for (size_t i = 0; i < n; i++)
        out[i] = str_dup(a, list[i]);
    return out;
}

struct source *source_new(const struct source_options *o)
{
    struct source *s = mem_zalloc(sizeof(*s));
    struct source_want *wants;

    s->arena = arena_new();
    s->o = *o;
    s->o.cluster = str_dup(s->arena, o->cluster);
    wants = arena_array(s->arena, struct source_want, o->nwants);
    for (size_t i = 0; i < o->nwants; i++) {
        wants[i] = o->wants[i];
        wants[i].group = str_dup(s->arena, wants[i].group);
        wants[i].versions = dup_list(s->arena, wants[i].versions, wants[i].nversions);
        wants[i].resources = dup_list(s->arena, wants[i].resources, wants[i].nresources);
    }
    s->o.wants = wants;
    s->loop = client_loop(o->client);
    s->timer.fn = on_timer;
    s->version = mem_strdup("");
    look(s);
    return s;
}

void source_free(struct source *s)
{
    if (!s)
        return;
    if (s->calling)
        client_call_cancel(&s->call);
    loop_timer_cancel(s->loop, &s->timer);
    for (size_t i = 0; i < s->ncollectors; i++)
        collector_free(s->collectors[i]);
    free(s->collectors);
    free(s->version);
    arena_free(s->look);
    arena_free(s->arena);
    free(s);
}

void source_flush(struct source *s)
{
    for (size_t i = 0; i < s->ncollectors; i++)
        collector_flush(s->collectors[i]);
}

bool source_is_live(const struct source *s)
{
    for (size_t i = 0; i < s->ncollectors; i++)
        if (!collector_is_live(s->collectors[i]))
            return false;
    return s->looked_ms;
}
