/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_FIXTURE_H
#define REST_FIXTURE_H

/*
 * What the tests of rest/ share: a store, a loop that runs on the test's own thread when it is told
 * to, three kinds, and requests as short texts.
 *
 *     struct rig *r = rig_new(model_open());
 *     CHECK_STR(rig_do(r, VERB_CREATE, "", "things", "default", "a", "{}"), "201 a");
 *     rig_free(r);
 *
 * The kinds: namespaces; things.example.com (namespaced, with the subresources status and scale,
 * spec.color that is indexed, as are its letters, and spec.size that is not and says how many there
 * are); instances.tenancy.kairship.io.
 */

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/epoch.h"
#include "base/mem.h"
#include "loop/workers.h"
#include "object/meta/obj.h"
#include "object/meta/schema_table.h"
#include "rest/rest.h"
#include "store/engine.h"
#include "store_model.h"
#include "tap.h"

static struct seal *rig_seal;       /* of those made from now on; NULL: nothing is sealed */
static struct workers *rig_workers; /* the same; NULL: all is done on the loop */
static pthread_t rig_checked_on;    /* the thread that looked at a thing last */

enum { RIG_NAMESPACES, RIG_THINGS, RIG_INSTANCES, RIG_KINDS };

struct rig {
    struct clock clock;
    struct store *store;
    struct loop *loop;
    struct rest *rest;
    struct schema_set *schemas;
    struct kind kinds[RIG_KINDS];
    const struct kind *list[RIG_KINDS];
    struct catalog catalog;
    struct arena *arena;   /* of all texts */
    int open;              /* calls that are not answered */
    struct rig_wait *wait; /* looks again as soon as one is */
};

static const char rig_table[] =
    "table io.k8s.apimachinery.pkg.apis.meta.v1\n"
    "type ObjectMeta\n"
    "  name 1 string\n  generateName 2 string\n  namespace 3 string\n  uid 5 string\n"
    "  resourceVersion 6 string\n  generation 7 int64\n  creationTimestamp 8 time\n"
    "  deletionTimestamp 9 *time\n  deletionGracePeriodSeconds 10 *int64\n"
    "  labels 11 map[string]\n  annotations 12 map[string]\n"
    "  finalizers 14 []string merge list=set\n"
    "  managedFields 17 []ManagedFieldsEntry list=atomic\n"
    "type ManagedFieldsEntry\n"
    "  manager 1 string\n  operation 2 string\n  apiVersion 3 string\n  time 4 *time\n"
    "  fieldsType 6 string\n  fieldsV1 7 *any\n  subresource 8 string\n"
    "type ListMeta\n  resourceVersion 2 string\n"
    "type Preconditions\n  uid 1 *string\n  resourceVersion 2 *string\n"
    "root DeleteOptions\n"
    "  gracePeriodSeconds 1 *int64\n  preconditions 2 *Preconditions\n  orphanDependents 3 *bool\n"
    "  propagationPolicy 4 *string\n  dryRun 5 []string\n";
static const char rig_table_v1[] = "table v1\n"
                                   "use meta io.k8s.apimachinery.pkg.apis.meta.v1\n"
                                   "type Spec\n  color 1 string\n  size 2 int64\n"
                                   "type Status\n  phase 1 string\n"
                                   "type NamespaceSpec\n  finalizers 1 []string\n"
                                   "kind Namespace\n  spec 2 NamespaceSpec\n  status 3 Status\n"
                                   "kind Thing\n  spec 2 Spec\n  status 3 Status\n"
                                   "kind Instance\n  spec 2 Spec\n";

static const char rig_table_scale[] =
    "table io.k8s.api.autoscaling.v1\n"
    "use meta io.k8s.apimachinery.pkg.apis.meta.v1\n"
    "kind Scale\n  spec 2 ScaleSpec always\n  status 3 ScaleStatus always\n"
    "type ScaleSpec\n  replicas 1 int32\n"
    "type ScaleStatus\n  replicas 1 int32 always\n  selector 2 string\n";

#define RIG_NAMESPACE(n)                                                        \
    "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" n \
    "\",\"labels\":{\"kubernetes.io/metadata.name\":\"" n                       \
    "\"}},\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}"
static const char rig_defaults[] = "[" RIG_NAMESPACE("default") "," RIG_NAMESPACE(
    "kube-node-lease") "," RIG_NAMESPACE("kube-public") "," RIG_NAMESPACE("kube-system") "]";

static const struct json *rig_keep(const struct kind_context *c, const struct json *obj,
                                   const struct json *old)
{
    const char *kept = str_is(c->subresource, "status") ? "spec" : "status";

    return json_set(c->arena, obj, kept, json_get(old, str_of(kept)));
}

static void rig_warn(const struct kind_context *c, const struct json *obj, const struct json *old,
                     struct schema_faults *warnings)
{
    (void)old;
    if (str_is(json_get_str(obj, "spec.color"), "plaid"))
        schema_fault(c->arena, warnings, "plaid is out of fashion");
}

static void rig_letters(struct arena *a, const struct json *tree, struct json_array *out)
{
    str color = json_get_str(tree, "spec.color");

    (void)a;
    for (size_t i = 0; i < color.n && i < 8; i++)
        json_push(out, json_of_str(str_sub(color, i, 1)));
}

static void rig_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    (void)c;
    rig_checked_on = pthread_self();
    if (str_starts(json_get_str(obj, "spec.color"), STR("octarine")))
        status_cause(st, CAUSE_INVALID, STR("spec.color"), STR_NONE, "cannot be seen");
}

static inline void rig_kind(struct rig *r, size_t i, const char *group, const char *version,
                            const char *kind, const char *plural)
{
    static const struct kind_ops ops = { .prepare_update = rig_keep,
                                         .validate = rig_validate,
                                         .warn = rig_warn };
    static const struct scale scale = { .replicas = STR_INIT("spec.size"),
                                        .selector = STR_INIT("spec.color") };
    static const struct subresource subresources[] = {
        { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
        { .name = STR_INIT("scale"), .verbs = VERBS_STATUS, .scale = &scale },
    };
    static const struct field_label labels[] = {
        { .label = STR_INIT("spec.color"), .path = "spec.color", .indexed = true },
        { .label = STR_INIT("spec.size"), .path = "spec.size", .zero = "0" },
        { .label = STR_INIT("letters"), .each = rig_letters, .indexed = true },
    };
    struct kind *k = &r->kinds[i];

    *k = (struct kind){ .group = str_of(group),
                        .version = str_of(version),
                        .kind = str_of(kind),
                        .plural = str_of(plural),
                        .list_kind = str_printf(r->arena, "%sList", kind),
                        .namespaced = i == RIG_THINGS,
                        .generation = i == RIG_THINGS,
                        .verbs = VERBS_ALL,
                        .unconditional_update = true,
                        .storage = k,
                        .storage_group = str_of(group),
                        .storage_plural = str_of(plural) };
    k->api_version = *group ? str_printf(r->arena, "%s/%s", group, version) : k->version;
    k->type_prefix = str_printf(r->arena, "{\"kind\":\"%s\",\"apiVersion\":\"%.*s\",", kind,
                                STR_ARG(k->api_version));
    k->schema = schema_set_find(r->schemas, str_printf(r->arena, "v1.%s", kind));
    if (i == RIG_THINGS) {
        k->ops = &ops;
        k->subresources = subresources;
        k->nsubresources = 2;
        k->field_labels = labels;
        k->nfield_labels = 3;
        k->kind_selectors = true;
    }
    r->list[i] = k;
}

static inline void rig_must(int rc, const struct status *st)
{
    if (rc == 0)
        return;
    printf("Bail out! %.*s\n", STR_ARG(st->message));
    exit(1);
}

/* A server on this store, which stays the caller's. */
static inline struct rig *rig_on(struct store *s)
{
    struct rig *r = mem_zalloc(sizeof(*r));
    struct rest_setup setup = {
        .store = s, .seal = rig_seal, .nloops = 1, .clock = &r->clock, .workers = rig_workers
    };
    const struct json *defaults;
    struct status st;

    r->arena = arena_new();
    status_init(&st, r->arena);
    clock_jump(&r->clock, 1577934245000000); /* 2020-01-02T03:04:05Z */
    r->store = s;
    r->loop = loop_new();
    loop_set_reading(r->loop);
    r->schemas = schema_set_new();
    rig_must(schema_set_add(r->schemas, str_of(rig_table), &st), &st);
    rig_must(schema_set_add(r->schemas, str_of(rig_table_v1), &st), &st);
    rig_must(schema_set_add(r->schemas, str_of(rig_table_scale), &st), &st);
    rig_must(schema_set_link(r->schemas, &st), &st);
    rig_kind(r, RIG_NAMESPACES, "", "v1", "Namespace", "namespaces");
    rig_kind(r, RIG_THINGS, "example.com", "v1", "Thing", "things");
    rig_kind(r, RIG_INSTANCES, "tenancy.kairship.io", "v1alpha1", "Instance", "instances");
    r->catalog = (struct catalog){ .kinds = r->list, .nkinds = RIG_KINDS, .schemas = r->schemas };
    for (size_t i = 0; i < RIG_KINDS; i++)
        rig_must(type_id(s, r->kinds[i].group, r->kinds[i].plural, &r->kinds[i].type_id, &st), &st);
    setup.loops = &r->loop;
    r->rest = rest_new(&setup, &st);
    rig_must(r->rest ? 0 : -1, &st);
    rig_must(json_parse(r->arena, str_of(rig_defaults), NULL, &defaults, &st), &st);
    rig_must(rest_write_templates(r->rest, &r->catalog, defaults, &st), &st);
    return r;
}

static inline void rig_off(struct rig *r)
{
    store_settle(r->store);
    epoch_enter();
    rest_free(r->rest);
    loop_free(r->loop);
    epoch_exit();
    schema_set_free(r->schemas);
    arena_free(r->arena);
    free(r);
}

static inline struct rig *rig_new(void)
{
    return rig_on(model_open());
}

static inline void rig_free(struct rig *r)
{
    struct store *s = r->store;

    rig_off(r);
    store_close(s);
    epoch_drain();
}

/* ---- an engine in a folder of its own ---- */

#define RIG_DIR "/tmp/kairship_rest.XXXXXX" /* for mkdtemp */

static inline struct store *rig_engine(const char *dir)
{
    struct engine_options o = { .dir = str_of(dir),
                                .segment_bytes = 1 << 20,
                                .step_bytes = 1 << 16 };
    scoped_arena a = arena_new();
    struct status st;
    struct store *s;

    status_init(&st, a);
    s = engine_open(&o, &st);
    rig_must(s ? 0 : -1, &st);
    return s;
}

static inline void rig_remove(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d)))
        (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        (void)closedir(d);
    (void)rmdir(dir);
}

/* ---- the loop ---- */

struct rig_wait {
    struct loop_timer timer;
    struct rig *rig;
    bool (*over)(void *arg);
    void *arg;
    int64_t until_ms;
    bool came;
};

static inline void rig_look(struct loop_timer *t)
{
    struct rig_wait *w = (struct rig_wait *)(void *)t;

    w->came = w->over(w->arg);
    if (w->came || loop_now_ms(w->rig->loop) >= w->until_ms)
        loop_stop(w->rig->loop);
    else
        loop_timer_set(w->rig->loop, t, 1);
}

/* Runs the loop until over() says so; false when it has not within thirty seconds. */
static inline bool rig_until(struct rig *r, bool (*over)(void *arg), void *arg)
{
    struct rig_wait w = { .timer.fn = rig_look, .rig = r, .over = over, .arg = arg };

    w.until_ms = loop_now_ms(r->loop) + 30000;
    r->wait = &w;
    loop_timer_set(r->loop, &w.timer, 0);
    epoch_enter();
    loop_run(r->loop);
    epoch_exit();
    r->wait = NULL;
    return w.came;
}

static inline bool rig_some_turns(void *arg)
{
    return --*(int *)arg < 0;
}

/* Some turns of the loop: for what is due at once, or must not come. */
static inline void rig_turn(struct rig *r)
{
    int n = 5;

    (void)rig_until(r, rig_some_turns, &n);
}

/* ---- requests ---- */

struct rig_call {
    struct rest_request req; /* first: the callback gets this */
    struct rig *rig;
    bool done;
    int code;
    str text; /* the body */
    struct rest_watch *watch;
    struct loop_msg msg;
};

static inline void rig_done(struct rest_request *req, const struct rest_reply *reply)
{
    struct rig_call *c = (struct rig_call *)(void *)req;
    scoped_buf b = { .max = 64 << 20 };
    int more = 1;

    if (reply->failure)
        rest_status_print(&b, reply->failure);
    for (size_t i = 0; i < reply->npieces; i++)
        buf_str_append(&b, reply->pieces[i]);
    while (reply->list && more > 0)
        more = rest_list_pull(reply->list, &b, 1000);
    if (more < 0) {
        buf_clear(&b);
        rest_status_print(&b, rest_list_failure(reply->list));
    }
    c->code = more < 0 ? status_http(rest_list_failure(reply->list)) : reply->code;
    c->text = str_dup(c->rig->arena, buf_str(&b));
    c->watch = reply->watch;
    c->done = true;
    c->rig->open--;
    if (c->rig->wait)
        loop_timer_set(c->rig->loop, &c->rig->wait->timer, 0);
}

static inline void rig_run(struct loop_msg *msg)
{
    rest_serve(&((struct rig_call *)(void *)((char *)msg - offsetof(struct rig_call, msg)))->req);
}

/* A request; its options may be changed before rig_start.  instance "" is root, "*" all. */
static inline struct rig_call *rig_call(struct rig *r, enum verb verb, const char *instance,
                                        const char *plural, const char *namespace_,
                                        const char *name, const char *body)
{
    struct arena *a = arena_new();
    struct rig_call *c = arena_new_of(a, struct rig_call);
    struct status st;

    status_init(&st, a);
    c->rig = r;
    c->msg.fn = rig_run;
    c->req = (struct rest_request){ .rest = r->rest,
                                    .arena = a,
                                    .loop = r->loop,
                                    .catalog = &r->catalog,
                                    .namespace_ = str_of(namespace_),
                                    .name = str_of(name),
                                    .verb = verb,
                                    .body = str_of(body),
                                    .done = rig_done };
    c->req.list.watch = verb == VERB_WATCH;
    for (size_t i = 0; i < RIG_KINDS; i++)
        if (str_is(r->kinds[i].plural, plural))
            c->req.kind = &r->kinds[i];
    epoch_enter();
    if (strcmp(instance, "*") == 0)
        c->req.instance = (struct instance){ .id = STORE_ALL };
    else
        rig_must(instance_find(rest_instances(r->rest), a, str_of(instance), &c->req.instance, &st),
                 &st);
    epoch_exit();
    return c;
}

static inline void rig_start(struct rig_call *c)
{
    c->rig->open++;
    loop_post(c->rig->loop, &c->msg);
}

static inline bool rig_all_done(void *arg)
{
    return ((struct rig *)arg)->open == 0;
}

/* Until all that were started are answered. */
static inline void rig_wait(struct rig *r)
{
    CHECK(rig_until(r, rig_all_done, r));
}

static inline void rig_call_free(struct rig_call *c)
{
    arena_free(c->req.arena);
}

/* The body as a tree, in the rig's arena. */
static inline const struct json *rig_tree(struct rig *r, str text)
{
    const struct json *v = &json_null;
    struct status st;

    status_init(&st, r->arena);
    CHECK(json_parse(r->arena, text, NULL, &v, &st) == 0);
    return v;
}

/* "201 name", "200 a b c" of a list, "404 NotFound" of a Status. */
static inline const char *rig_short(struct rig *r, int code, const struct json *v)
{
    scoped_buf b = { .max = 1 << 20 };

    buf_printf(&b, "%d", code);
    if (str_is(json_get_str(v, "kind"), "Status"))
        buf_printf(&b, " %.*s", STR_ARG(code < 300 ? STR("Success") : json_get_str(v, "reason")));
    else if (json_get(v, STR("items")))
        json_for_each (item, json_get(v, STR("items")))
            buf_printf(&b, " %.*s", STR_ARG(json_get_str(item, "metadata.name")));
    else
        buf_printf(&b, " %.*s", STR_ARG(json_get_str(v, "metadata.name")));
    return str_z(r->arena, buf_str(&b));
}

/* Serves it, frees it, gives the tree of the answer; code may be NULL. */
static inline const struct json *rig_ask(struct rig_call *c, int *code)
{
    struct rig *r = c->rig;
    const struct json *v;

    rig_start(c);
    rig_wait(r);
    v = rig_tree(r, c->text);
    if (code)
        *code = c->code;
    rig_call_free(c);
    return v;
}

static inline const char *rig_answer(struct rig_call *c)
{
    struct rig *r = c->rig;
    int code;
    const struct json *v = rig_ask(c, &code);

    return rig_short(r, code, v);
}

static inline const char *rig_do(struct rig *r, enum verb verb, const char *instance,
                                 const char *plural, const char *namespace_, const char *name,
                                 const char *body)
{
    return rig_answer(rig_call(r, verb, instance, plural, namespace_, name, body));
}

/* A thing in the namespace default of the root instance, made with this body. */
static inline const char *rig_make(struct rig *r, const char *name, const char *rest)
{
    return rig_do(r, VERB_CREATE, "", "things", "default", "",
                  arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\"%s", name, rest));
}

static inline const struct json *rig_get(struct rig *r, const char *instance, const char *plural,
                                         const char *namespace_, const char *name)
{
    return rig_ask(rig_call(r, VERB_GET, instance, plural, namespace_, name, ""), NULL);
}

static inline const char *rig_field(struct rig *r, const struct json *v, const char *path)
{
    const struct json *at = json_path(v, path);

    if (!at)
        return "";
    return str_z(r->arena, json_is(at, JSON_STRING) ? json_str(at) : json_text(r->arena, at));
}

/* ---- watches ---- */

struct rig_watch {
    struct rest_sink sink; /* first: callbacks get this */
    struct rig_call *call;
    struct buf text; /* "ADDED a@5 MODIFIED a@6 …" since the last look */
    int frames, want;
    size_t queued;  /* what it says waits for the client */
    int stop_after; /* stops itself, from inside of that frame; 0: never */
    bool ended, started, instances;
};

static inline bool rig_push(struct rest_sink *s, struct bytes *frame)
{
    struct rig_watch *w = (struct rig_watch *)(void *)s;
    struct rig *r = w->call->rig;
    const struct json *v = rig_tree(r, bytes_str(frame));
    const struct json *o = json_get(v, STR("object"));

    w->frames++;
    buf_printf(&w->text, "%s%.*s", w->text.n ? " " : "", STR_ARG(json_get_str(v, "type")));
    if (str_is(json_get_str(v, "type"), "ERROR"))
        buf_printf(&w->text, " %.*s", STR_ARG(json_get_str(o, "reason")));
    else
        buf_printf(&w->text, " %.*s@%.*s", STR_ARG(json_get_str(o, "metadata.name")),
                   STR_ARG(json_get_str(o, "metadata.resourceVersion")));
    if (w->instances)
        json_for_each_member (m, json_path(o, "metadata.annotations"))
            if (str_is(m->name, OBJ_INSTANCE_ANNOTATION))
                buf_printf(&w->text, " of %.*s", STR_ARG(json_str(&m->value)));
    if (json_get(json_path(o, "metadata.annotations"), STR("k8s.io/initial-events-end")))
        buf_lit(&w->text, " end");
    if (w->frames == w->stop_after)
        rest_watch_stop(w->call->watch);
    return true;
}

static inline size_t rig_queued(struct rest_sink *s)
{
    return ((struct rig_watch *)(void *)s)->queued;
}

static inline void rig_end(struct rest_sink *s)
{
    ((struct rig_watch *)(void *)s)->ended = true;
}

static inline bool rig_watch_started(void *arg)
{
    struct rig_watch *w = arg;

    if (!w->started && w->call->watch) {
        w->started = true;
        rest_watch_start(w->call->watch, &w->sink);
    }
    return true;
}

/* Starts it; what comes at once has come. */
static inline struct rig_watch *rig_watch(struct rig_call *c)
{
    struct rig_watch *w = mem_zalloc(sizeof(*w));

    w->sink = (struct rest_sink){ .push = rig_push, .queued = rig_queued, .end = rig_end };
    w->call = c;
    buf_init(&w->text, 1 << 20);
    rig_start(c);
    rig_wait(c->rig);
    CHECK(c->watch != NULL);
    return w;
}

static inline void rig_watch_go(struct rig_watch *w)
{
    (void)rig_until(w->call->rig, rig_watch_started, w);
    rig_turn(w->call->rig);
}

static inline bool rig_enough(void *arg)
{
    struct rig_watch *w = arg;

    return w->frames >= w->want || w->ended;
}

/* What was sent since the last look, once there are n frames of it (or it has ended). */
static inline const char *rig_sent(struct rig_watch *w, int n)
{
    const char *text;

    w->want = n;
    (void)rig_until(w->call->rig, rig_enough, w);
    rig_turn(w->call->rig); /* and no more */
    text = str_z(w->call->rig->arena, buf_str(&w->text));
    buf_clear(&w->text);
    w->frames = 0;
    return text;
}

static inline bool rig_watch_ended(void *arg)
{
    struct rig_watch *w = arg;

    if (w->started && !w->ended)
        rest_watch_stop(w->call->watch);
    return true;
}

static inline void rig_watch_free(struct rig_watch *w)
{
    (void)rig_until(w->call->rig, rig_watch_ended, w);
    rig_call_free(w->call);
    buf_release(&w->text);
    free(w);
}

#endif
