/* SPDX-License-Identifier: Apache-2.0 */
#include "search/custom_types.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/informer.h"

enum { AGAIN_MS = 1000, CALL_MS = 10000, CUSTOMS_MAX = 2000 };

/* One CRD's name, "widgets.example.com", in whatever instances. */
struct custom {
    struct custom_types *all;
    char *name;
    size_t instances;
    char *definition; /* what was read of the last CRD, to see whether it is news */
    int64_t type;
    struct collector *collector;
    /* An instance is asked for it, so that the server has made the kind before it is watched. */
    struct client_call call;
    struct arena *asking;
    struct loop_timer again;
    char *path;
    struct arena *arena; /* of what follows, once it was established somewhere */
    struct search_index_type wanted;
};

struct custom_types {
    struct custom_types_options o;
    struct loop *loop;
    struct informer *crds;
    struct map named; /* struct custom */
    bool synced;
};

/* ---- the collector ---- */

static void collector_end(struct custom *c)
{
    struct search_index_batch *b;

    if (!c->collector)
        return;
    collector_free(c->collector);
    c->collector = NULL;
    b = search_index_batch_new(c->all->o.search_index);
    search_index_drop(b, c->type, STR_NONE);
    search_index_submit(b, NULL, NULL);
}

static void collector_failed(void *arg, const struct status *why)
{
    struct custom *c = arg;

    log_debug("an collector of the search index failed", log_z("type", c->name), log_status(why));
}

static void collector_begin(struct custom *c)
{
    if (c->collector)
        return;
    c->collector =
        collector_new(&(struct collector_options){ .client = c->all->o.client,
                                                   .search_index = c->all->o.search_index,
                                                   .type = c->type,
                                                   .kind = { c->wanted.group, c->wanted.resource },
                                                   .ref = { .instance = STR("*"),
                                                            .group = c->wanted.group,
                                                            .version = c->wanted.version,
                                                            .resource = c->wanted.resource },
                                                   .failed = collector_failed,
                                                   .arg = c });
}

/* ---- asking ---- */

static void ask_end(struct custom *c)
{
    if (c->asking)
        client_call_cancel(&c->call);
    arena_free(c->asking);
    c->asking = NULL;
}

static void answered(struct client_call *call, const struct json *doc, const struct status *why)
{
    struct custom *c = call->user;
    bool served = false;

    json_for_each (r, json_get(doc, STR("resources")))
        served |= str_eq(json_get_str(r, "name"), c->wanted.resource);
    arena_free(c->asking);
    c->asking = NULL;
    if (served)
        collector_begin(c);
    else
        loop_timer_set(c->all->loop, &c->again, AGAIN_MS);
    if (why)
        log_debug("an instance does not serve a kind of its own", log_z("type", c->name),
                  log_status(why));
}

static void ask(struct custom *c)
{
    ask_end(c);
    c->asking = arena_new();
    c->call = (struct client_call){ .arena = c->asking, .done = answered, .user = c };
    c->call.req = (struct client_request){ .method = STR("GET"),
                                           .path = str_dup(c->asking, str_of(c->path)),
                                           .timeout_ms = CALL_MS };
    client_call(c->all->o.client, &c->call);
}

static void on_again(struct loop_timer *t)
{
    ask((struct custom *)(void *)((char *)t - offsetof(struct custom, again)));
}

/* ---- CRDs come and go ---- */

static bool is_established(const struct json *crd)
{
    json_for_each (c, json_path(crd, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Established"))
            return str_is(json_get_str(c, "status"), "True");
    return false;
}

static str stored_version(const struct json *spec)
{
    json_for_each (v, json_get(spec, STR("versions")))
        if (json_bool(json_get(v, STR("storage"))))
            return json_get_str(v, "name");
    return STR_NONE;
}

static str words(struct arena *a, const struct json *names)
{
    static const char *const members[] = { "shortNames", "categories" };
    str out = STR_NONE;

    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        const struct json *v = json_get(names, str_of(members[i]));

        if (json_len(v))
            out = str_printf(a, "%.*s,\"%s\":%.*s", STR_ARG(out), members[i],
                             STR_ARG(json_text(a, v)));
    }
    return out;
}

static struct search_index_type wanted_of(struct arena *a, const struct json *spec)
{
    const struct json *names = json_get(spec, STR("names"));
    str plural = json_get_str(names, "plural"), singular = json_get_str(names, "singular");

    return (struct search_index_type){ .group = str_dup(a, json_get_str(spec, "group")),
                                       .version = str_dup(a, stored_version(spec)),
                                       .resource = str_dup(a, plural),
                                       .kind = str_dup(a, json_get_str(names, "kind")),
                                       .singular = str_dup(a, singular.n ? singular : plural),
                                       .more = words(a, names),
                                       .namespaced =
                                           str_is(json_get_str(spec, "scope"), "Namespaced"),
                                       .custom = true,
                                       .hidden = true };
}

static void custom_free(struct custom *c)
{
    ask_end(c);
    loop_timer_cancel(c->all->loop, &c->again);
    collector_free(c->collector);
    arena_free(c->arena);
    free(c->definition);
    free(c->path);
    free(c->name);
    free(c);
}

static struct custom *custom_of(struct custom_types *all, str name)
{
    struct custom *c = map_get(&all->named, name);
    scoped_arena a = arena_new();

    if (c || map_size(&all->named) >= CUSTOMS_MAX)
        return c;
    c = mem_zalloc(sizeof(*c));
    c->all = all;
    c->name = mem_strdup(str_z(a, name));
    c->again.fn = on_again;
    (void)map_put(&all->named, str_of(c->name), c);
    return c;
}

/* It is served in that instance, and is so from now on. */
static void is_served(struct custom *c, str instance, const struct json *spec)
{
    struct arena *a = arena_new();
    struct search_index_type t = wanted_of(a, spec);
    str definition = str_printf(a, "%.*s %.*s %.*s %d%.*s", STR_ARG(t.version), STR_ARG(t.kind),
                                STR_ARG(t.singular), t.namespaced, STR_ARG(t.more));
    int64_t type;

    if (c->all->o.known(c->all->o.arg, t.group, t.resource) ||
        (c->definition && str_is(definition, c->definition))) {
        arena_free(a);
        return;
    }
    arena_free(c->arena);
    c->arena = a;
    c->wanted = t;
    free(c->definition);
    c->definition = mem_strdup(str_z(a, definition));
    type = search_index_type_put(c->all->o.search_index, &t);
    if (c->type != type)
        collector_end(c);
    c->type = type;
    free(c->path);
    c->path = mem_strdup(arena_printf(a, "/clusters/%.*s/apis/%.*s/%.*s", STR_ARG(instance),
                                      STR_ARG(t.group), STR_ARG(t.version)));
    loop_timer_cancel(c->all->loop, &c->again);
    ask(c);
}

static void is_there(struct custom_types *all, const struct informer_key *k, const struct json *crd,
                     bool new)
{
    struct custom *c;

    if (str_empty(k->instance) || str_is(k->instance, "root"))
        return;
    c = custom_of(all, k->name);
    if (!c)
        return;
    c->instances += new;
    if (is_established(crd))
        is_served(c, k->instance, json_get(crd, STR("spec")));
}

static void added(void *arg, const struct informer_key *k, const struct json *now)
{
    is_there(arg, k, now, true);
}

static void updated(void *arg, const struct informer_key *k, const struct json *now)
{
    is_there(arg, k, now, false);
}

static void deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    struct custom_types *all = arg;
    struct custom *c = map_get(&all->named, k->name);

    (void)last;
    if (!c || str_empty(k->instance) || str_is(k->instance, "root") || --c->instances)
        return;
    (void)map_remove(&all->named, k->name);
    collector_end(c);
    custom_free(c);
}

static void synced(void *arg)
{
    struct custom_types *all = arg;

    all->synced = true;
    all->o.synced(all->o.arg);
}

/* ---- life ---- */

struct custom_types *custom_types_new(const struct custom_types_options *o)
{
    struct custom_types *all = mem_zalloc(sizeof(*all));

    all->o = *o;
    all->loop = client_loop(o->client);
    all->crds = informer_new(
        &(struct informer_options){ .client = o->client,
                                    .ref = { .instance = STR("*"),
                                             .group = STR("apiextensions.k8s.io"),
                                             .version = STR("v1"),
                                             .resource = STR("customresourcedefinitions") },
                                    .added = added,
                                    .updated = updated,
                                    .deleted = deleted,
                                    .synced = synced,
                                    .arg = all });
    informer_start(all->crds);
    return all;
}

void custom_types_free(struct custom_types *all)
{
    str key;
    void *c;

    if (!all)
        return;
    informer_free(all->crds);
    for (size_t at = 0; map_each(&all->named, &at, &key, &c);)
        custom_free(c);
    map_release(&all->named);
    free(all);
}

bool custom_types_has_synced(const struct custom_types *all)
{
    return all->synced;
}

bool custom_types_has(const struct custom_types *all, int64_t type)
{
    str key;
    void *p;

    for (size_t at = 0; map_each(&all->named, &at, &key, &p);) {
        const struct custom *c = p;

        if (c->definition && c->type == type)
            return true;
    }
    return false;
}

void custom_types_flush(struct custom_types *all)
{
    str key;
    void *p;

    for (size_t at = 0; map_each(&all->named, &at, &key, &p);)
        if (((struct custom *)p)->collector)
            collector_flush(((struct custom *)p)->collector);
}

bool custom_types_is_live(const struct custom_types *all)
{
    str key;
    void *p;

    for (size_t at = 0; map_each(&all->named, &at, &key, &p);) {
        const struct custom *c = p;

        if (c->asking || (c->collector && !collector_is_live(c->collector)))
            return false;
    }
    return all->synced;
}
