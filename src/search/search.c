/* SPDX-License-Identifier: Apache-2.0 */
#include "search/search.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"
#include "loop/workers.h"
#include "search/answer.h"
#include "search/registry.h"

/* DOOR_JOBS_MAX: of one instance at its own door, so that its people leave places for others. */
enum { WORKERS = 4, JOBS_MAX = 1000, DOOR_JOBS_MAX = 16, WAIT_TURN_MS = 1 };

#define PREFIX "/apis/clusterpedia.io"

struct search {
    struct search_options o;
    struct arena *arena;
    struct search_index *search_index;
    struct workers *workers;
    pthread_mutex_t lock;
    struct map doors;    /* struct door of each instance that asks now; guarded by lock */
    struct client *root; /* between start and stop */
    const struct egress *egress;
    struct registry *registry; /* on root's loop */
};

str search_cluster_name(struct arena *a, str instance)
{
    if (str_starts(instance, STR("k-")))
        return instance;
    return str_printf(a, "k-%.*s", STR_ARG(instance));
}

struct search *search_new(const struct search_options *o, struct status *st)
{
    struct search *s = mem_zalloc(sizeof(*s));

    s->o = *o;
    (void)pthread_mutex_init(&s->lock, NULL);
    s->arena = arena_new();
    s->o.version = str_dup(s->arena, o->version.n ? o->version : STR("{}"));
    s->search_index = search_index_open(o->dir, st);
    if (!s->search_index) {
        search_free(s);
        return NULL;
    }
    s->workers = workers_new(WORKERS, JOBS_MAX);
    return s;
}

void search_free(struct search *s)
{
    if (!s)
        return;
    if (s->workers)
        workers_free(s->workers);
    search_index_close(s->search_index);
    map_release(&s->doors);
    (void)pthread_mutex_destroy(&s->lock);
    arena_free(s->arena);
    free(s);
}

/* ---- turns of the loop, waited for ---- */

struct turn {
    struct search *search;
    void (*fn)(struct search *s);
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool done;
};

static void turn_run(void *arg)
{
    struct turn *t = arg;

    t->fn(t->search);
    (void)pthread_mutex_lock(&t->lock);
    t->done = true;
    (void)pthread_cond_signal(&t->wake);
    (void)pthread_mutex_unlock(&t->lock);
}

static void on_loop(struct search *s, void (*fn)(struct search *s))
{
    struct turn t = { .search = s, .fn = fn };

    (void)pthread_mutex_init(&t.lock, NULL);
    (void)pthread_cond_init(&t.wake, NULL);
    loop_call(client_loop(s->root), turn_run, &t);
    (void)pthread_mutex_lock(&t.lock);
    while (!t.done)
        (void)pthread_cond_wait(&t.wake, &t.lock);
    (void)pthread_mutex_unlock(&t.lock);
    (void)pthread_mutex_destroy(&t.lock);
    (void)pthread_cond_destroy(&t.wake);
}

static void begin(struct search *s)
{
    s->registry = registry_new(&(struct registry_options){ .root = s->root,
                                                           .search_index = s->search_index,
                                                           .clock = s->o.clock,
                                                           .instances = s->o.instances,
                                                           .egress = s->egress });
}

static void end(struct search *s)
{
    registry_free(s->registry);
    s->registry = NULL;
}

static void begin_again(void *arg)
{
    struct search *s = arg;
    bool collecting = s->registry;

    end(s);
    search_index_resume(s->search_index);
    if (collecting)
        begin(s);
}

/* On the writer's thread: the index is empty. */
static void lost(void *arg)
{
    struct search *s = arg;

    loop_call(client_loop(s->root), begin_again, s);
}

void search_start(struct search *s, struct client *root, const struct egress *egress)
{
    s->root = root;
    s->egress = egress;
    search_index_on_loss(s->search_index, lost, s);
    on_loop(s, begin);
}

/* ---- waiting for the index ---- */

struct wait {
    struct search *search;
    uint64_t head;
    unsigned turns;
    struct loop_timer timer;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    unsigned users; /* the waiter, and who will tell it */
    bool done, given_up;
};

static void wait_leave(struct wait *w)
{
    bool last;

    (void)pthread_mutex_lock(&w->lock);
    last = --w->users == 0;
    (void)pthread_mutex_unlock(&w->lock);
    if (!last)
        return;
    (void)pthread_mutex_destroy(&w->lock);
    (void)pthread_cond_destroy(&w->wake);
    free(w);
}

/* On the writer's thread: all that was submitted before is in the index. */
static void wait_written(void *arg)
{
    struct wait *w = arg;

    (void)pthread_mutex_lock(&w->lock);
    w->done = true;
    (void)pthread_cond_signal(&w->wake);
    (void)pthread_mutex_unlock(&w->lock);
    wait_leave(w);
}

static bool wait_is_over(struct wait *w)
{
    struct search *s = w->search;

    if (!s->registry || !registry_instances_live(s->registry))
        return false;
    return w->turns >= 2 && (!s->o.served || s->o.served(s->o.store_arg, w->head));
}

static void wait_turn(void *arg)
{
    struct wait *w = arg;
    bool given_up;

    (void)pthread_mutex_lock(&w->lock);
    given_up = w->given_up;
    (void)pthread_mutex_unlock(&w->lock);
    if (given_up) {
        wait_leave(w);
        return;
    }
    w->turns++;
    if (wait_is_over(w)) {
        registry_instances_flush(w->search->registry);
        search_index_submit(search_index_batch_new(w->search->search_index), wait_written, w);
    } else if (w->turns < 4)
        loop_call(client_loop(w->search->root), wait_turn, w);
    else
        loop_timer_set(client_loop(w->search->root), &w->timer, WAIT_TURN_MS);
}

static void on_wait_timer(struct loop_timer *t)
{
    wait_turn((char *)t - offsetof(struct wait, timer));
}

static struct timespec after_ms(int64_t ms)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

bool search_wait(struct search *s, int64_t ms)
{
    struct timespec until = after_ms(ms);
    struct wait *w;
    bool done;

    if (!s->root)
        return false;
    w = mem_zalloc(sizeof(*w));
    w->search = s;
    w->users = 2;
    w->timer.fn = on_wait_timer;
    w->head = s->o.head ? s->o.head(s->o.store_arg) : 0;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->wake, NULL);
    loop_call(client_loop(s->root), wait_turn, w);
    (void)pthread_mutex_lock(&w->lock);
    while (!w->done && pthread_cond_timedwait(&w->wake, &w->lock, &until) != ETIMEDOUT)
        ;
    done = w->done;
    w->given_up = true;
    (void)pthread_mutex_unlock(&w->lock);
    wait_leave(w);
    return done;
}

static void nothing(struct search *s)
{
    (void)s;
}

struct flush {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool done;
};

static void flushed(void *arg)
{
    struct flush *f = arg;

    (void)pthread_mutex_lock(&f->lock);
    f->done = true;
    (void)pthread_cond_signal(&f->wake);
    (void)pthread_mutex_unlock(&f->lock);
}

/* The writer has told everybody it had to tell, so that nothing comes to a loop any more. */
void search_stop(struct search *s)
{
    struct flush f = { .done = false };

    if (!s || !s->root)
        return;
    on_loop(s, end);
    (void)pthread_mutex_init(&f.lock, NULL);
    (void)pthread_cond_init(&f.wake, NULL);
    search_index_submit(search_index_batch_new(s->search_index), flushed, &f);
    (void)pthread_mutex_lock(&f.lock);
    while (!f.done)
        (void)pthread_cond_wait(&f.wake, &f.lock);
    (void)pthread_mutex_unlock(&f.lock);
    (void)pthread_mutex_destroy(&f.lock);
    (void)pthread_cond_destroy(&f.wake);
    search_index_on_loss(s->search_index, NULL, NULL);
    on_loop(s, nothing);
}

/* ---- rights ---- */

const struct search_rights search_rights_all = { .all = true };

/* At the door of an instance as at that of one that is not there (apiserver/auth/authorize.c). */
static int refuse_path(const struct mount_call *c, struct status *st)
{
    char *verb = str_z(st->arena, c->method);

    for (size_t i = 0; i < c->method.n; i++)
        if (verb[i] >= 'A' && verb[i] <= 'Z')
            verb[i] |= 0x20;
    st->empty_details = true;
    return status_forbidden(st, STR_NONE, STR_NONE, STR_NONE,
                            "User \"%.*s\" cannot %s path \"%.*s\"", STR_ARG(c->who.user), verb,
                            STR_ARG(c->path));
}

static int refuse(const struct mount_call *c, struct status *st)
{
    if (!str_empty(c->instance))
        return refuse_path(c, st);
    return status_forbidden(st, STR("clusterpedia.io"), STR("resources"), STR_NONE,
                            "User \"%.*s\" cannot get resource \"resources\" in API group "
                            "\"clusterpedia.io\" at the cluster scope",
                            STR_ARG(c->who.user));
}

/* Who may `get resources.clusterpedia.io` in root may ask, as in Clusterpedia itself; what they see
 * is another matter. */
static int let_in(struct search *s, struct arena *a, const struct mount_call *c, struct status *st)
{
    const struct identity *who = &c->who;
    struct json_object review = json_object_from(a, &json_empty_object);
    struct json_object spec = json_object_from(a, &json_empty_object);
    struct json_object what = json_object_from(a, &json_empty_object);
    struct json_array groups = json_array_new(a);
    struct client_ref ref = { .group = STR("authorization.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("subjectaccessreviews") };
    const struct json *answer;

    for (size_t i = 0; i < who->ngroups; i++)
        json_push(&groups, json_of_str(who->groups[i]));
    json_add(&what, STR("group"), json_of_str(STR("clusterpedia.io")));
    json_add(&what, STR("version"), json_of_str(STR("v1beta1")));
    json_add(&what, STR("resource"), json_of_str(STR("resources")));
    json_add(&what, STR("verb"), json_of_str(STR("get")));
    json_add(&spec, STR("user"), json_of_str(who->user));
    json_add(&spec, STR("groups"), json_array_value(&groups));
    json_add(&spec, STR("resourceAttributes"), json_object_value(&what));
    json_add(&review, STR("kind"), json_of_str(STR("SubjectAccessReview")));
    json_add(&review, STR("apiVersion"), json_of_str(STR("authorization.k8s.io/v1")));
    json_add(&review, STR("spec"), json_object_value(&spec));
    if (!s->root)
        return status_set(st, REASON_UNAVAILABLE, "the server is not ready yet");
    if (client_create(s->root, a, &ref, json_object_done(&review), &answer, st) < 0)
        return -1;
    return json_bool(json_path(answer, "status.allowed")) ? 0 : refuse(c, st);
}

static int rights_of(struct search *s, struct arena *a, const struct mount_call *c,
                     struct search_rights *out, struct status *st)
{
    const struct identity *who = &c->who;
    bool root = str_empty(c->instance);

    *out = (struct search_rights){ .all = root && identity_in_group(who, "system:masters") };
    if (out->all)
        return 0;
    if (s->o.rights && s->o.rights(s->o.rights_arg, a, who, c->instance, out, st) < 0)
        return -1;
    if (out->all || out->ngrants)
        return 0;
    return root ? let_in(s, a, c, st) : refuse(c, st);
}

/* ---- the doors of instances ---- */

struct door {
    char *name;
    unsigned jobs;
};

/* False: the instance has as many questions under way as it may. */
static bool door_enter(struct search *s, str instance)
{
    struct door *d;
    bool room = true;

    if (str_empty(instance))
        return true;
    (void)pthread_mutex_lock(&s->lock);
    d = map_get(&s->doors, instance);
    if (!d) {
        d = mem_zalloc(sizeof(*d));
        d->name = mem_dup(instance.p, instance.n);
        (void)map_put(&s->doors, (str){ d->name, instance.n }, d);
    }
    room = d->jobs < DOOR_JOBS_MAX;
    d->jobs += room;
    (void)pthread_mutex_unlock(&s->lock);
    return room;
}

static void door_leave(struct search *s, str instance)
{
    struct door *d;

    if (str_empty(instance))
        return;
    (void)pthread_mutex_lock(&s->lock);
    d = map_get(&s->doors, instance);
    if (--d->jobs == 0) {
        (void)map_remove(&s->doors, instance);
        free(d->name);
        free(d);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

/* ---- the mount ---- */

struct search_job {
    struct worker_job work;
    struct search *search;
    struct mount_call *call;
    struct answer answer;
    struct status st;
    int rc;
};

static void release_out(void *arg)
{
    buf_release(arg);
}

static void to_yaml(struct answer *w)
{
    scoped_arena a = arena_new();
    const struct json *v;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, buf_str(&w->out), NULL, &v, &st) < 0)
        return;
    buf_clear(&w->out);
    json_print_yaml(&w->out, v);
}

static int run(struct search_job *j)
{
    struct search *s = j->search;
    struct answer *w = &j->answer;
    struct search_rights rights;
    int rc;

    if (rights_of(s, w->arena, j->call, &rights, &j->st) < 0)
        return -1;
    w->rights = &rights;
    w->reader = search_index_reader_take(s->search_index, &j->st);
    if (!w->reader)
        return -1;
    rc = answer_make(w, &j->st);
    search_index_reader_give(s->search_index, w->reader);
    if (rc == 0 && w->yaml)
        to_yaml(w);
    return rc;
}

static void job_run(struct worker_job *work)
{
    struct search_job *j = (struct search_job *)(void *)work;

    j->rc = run(j);
}

static void job_done(struct worker_job *work)
{
    struct search_job *j = (struct search_job *)(void *)work;
    struct answer *w = &j->answer;
    struct http_header headers[2] = {
        { STR("content-type"), w->yaml ? STR("application/yaml") : STR("application/json") },
        { STR("warning"), w->warning },
    };
    str *body = arena_new_of(j->call->arena, str); /* it leaves later, when it is compressed */

    *body = buf_str(&w->out);
    door_leave(j->search, j->call->instance);
    if (j->rc < 0)
        j->call->ops->fail(j->call, &j->st);
    else
        j->call->ops->answer(j->call, 200, headers, w->warning.n ? 2 : 1, body, 1);
}

static str header(const struct mount_call *c, const char *name)
{
    for (size_t i = 0; i < c->nheaders; i++)
        if (str_is(c->headers[i].name, name))
            return c->headers[i].value;
    return STR_NONE;
}

static void serve(void *arg, struct mount_call *c)
{
    struct search *s = arg;
    struct search_job *j = arena_new_of(c->arena, struct search_job);

    status_init(&j->st, c->arena);
    j->search = s;
    j->call = c;
    j->work.run = job_run;
    j->work.done = job_done;
    j->work.loop = c->loop;
    j->answer = (struct answer){ .arena = c->arena,
                                 .search_index = s->search_index,
                                 .tables = &s->o.tables,
                                 .version = s->o.version,
                                 .now_s = clock_wall_s(s->o.clock),
                                 .method = c->method,
                                 .path = str_from(c->path, sizeof(PREFIX) - 1),
                                 .query = c->query,
                                 .accept = header(c, "accept") };
    buf_init(&j->answer.out, ANSWER_MAX);
    arena_defer(c->arena, release_out, &j->answer.out);
    if (door_enter(s, c->instance)) {
        if (workers_submit(s->workers, &j->work))
            return;
        door_leave(s, c->instance);
    }
    (void)status_set(&j->st, REASON_TOO_MANY_REQUESTS, "too many searches at once");
    j->st.retry_after_s = 1;
    c->ops->fail(c, &j->st);
}

static void describe(void *arg, str method, str path, struct mount_deed *out)
{
    (void)arg;
    answer_describe(method, str_from(path, sizeof(PREFIX) - 1), out);
}

struct mount search_mount(struct search *s)
{
    return (struct mount){
        .prefix = PREFIX, .serve = serve, .describe = describe, .arg = s, .instances = true
    };
}

/* ---- questions of the management API ---- */

static int query_of(struct arena *a, const struct search_find *f, struct query *q,
                    struct status *st)
{
    str *fuzzy = arena_new_of(a, str);

    *q = (struct query){ .clusters = { f->clusters, f->nclusters },
                         .namespaces = { f->namespaces, f->nnamespaces },
                         .names = { f->names, f->nnames },
                         .owner_uid = f->owner_uid,
                         .limit = f->limit,
                         .offset = (int64_t)f->offset };
    *fuzzy = f->fuzzy;
    if (f->fuzzy.n)
        q->fuzzy = (struct query_list){ fuzzy, 1 };
    if (selector_parse_labels(a, f->label_selector, &q->labels, st) < 0 ||
        fields_parse(a, f->field_selector, &q->fields, st) < 0)
        return -1;
    return query_parse_orders(f->order_by, q, st);
}

static struct select_scope scope_of(struct search *s, struct arena *a, const struct search_find *f)
{
    struct select_scope scope = { .rights = f->rights, .hash = search_index_hash(s->search_index) };
    size_t nseen, nhidden;
    struct search_index_type *seen = search_index_types(s->search_index, a, false, &nseen);
    struct search_index_type *hidden = search_index_types(s->search_index, a, true, &nhidden), *out;
    bool with_hidden = f->nclusters || f->show_virtual;

    assert(f->rights);
    out = arena_array(a, struct search_index_type, nseen + nhidden);
    for (size_t i = 0; i < nseen + (with_hidden ? nhidden : 0); i++) {
        const struct search_index_type *t = i < nseen ? &seen[i] : &hidden[i - nseen];

        if (str_eq(t->group, f->group) && str_eq(t->resource, f->resource) &&
            (str_empty(f->version) || str_eq(t->version, f->version)))
            out[scope.ntypes++] = *t;
    }
    scope.types = out;
    return scope;
}

struct finding {
    struct arena *arena;
    const struct select_scope *scope;
    struct search_found *out;
    size_t cap;
};

static bool take_item(void *arg, const struct select_row *row)
{
    struct finding *f = arg;
    struct search_found *out = f->out;
    const struct search_index_type *t = &f->scope->types[0];
    scoped_buf b;

    for (size_t i = 0; i < f->scope->ntypes; i++)
        if (f->scope->types[i].id == row->type)
            t = &f->scope->types[i];
    if (out->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 64;
        struct search_item *p = arena_array(f->arena, struct search_item, cap);

        if (out->n)
            memcpy(p, out->items, out->n * sizeof(*p));
        out->items = p;
        f->cap = cap;
    }
    buf_init(&b, 2 * ENTRY_OBJECT_MAX);
    shape_print(&b, t, row);
    out->items[out->n++] = (struct search_item){ .cluster = str_dup(f->arena, row->cluster),
                                                 .namespace = str_dup(f->arena, row->namespace),
                                                 .name = str_dup(f->arena, row->name),
                                                 .json = str_dup(f->arena, buf_str(&b)) };
    return arena_size(f->arena) < ANSWER_MAX;
}

int search_find(struct search *s, struct arena *a, const struct search_find *f,
                struct search_found *out, struct status *st)
{
    struct select_scope scope = scope_of(s, a, f);
    struct finding finding = { .arena = a, .scope = &scope, .out = out };
    struct search_index_reader *r;
    struct query q;
    int rc;

    *out = (struct search_found){ 0 };
    if (query_of(a, f, &q, st) < 0)
        return -1;
    r = search_index_reader_take(s->search_index, st);
    if (!r)
        return -1;
    rc = select_rows(r, a, &q, &scope, take_item, &finding, st);
    if (rc == 0 && f->count)
        rc = select_count(r, a, &q, &scope, &out->total, st);
    search_index_reader_give(s->search_index, r);
    return rc;
}

int search_count(struct search *s, struct arena *a, const struct search_find *f, uint64_t *out,
                 struct status *st)
{
    struct select_scope scope = scope_of(s, a, f);
    struct search_index_reader *r;
    struct query q;
    int rc;

    if (query_of(a, f, &q, st) < 0)
        return -1;
    r = search_index_reader_take(s->search_index, st);
    if (!r)
        return -1;
    rc = select_count(r, a, &q, &scope, out, st);
    search_index_reader_give(s->search_index, r);
    return rc;
}

void search_cluster_state(struct search *s, struct arena *a, str name, struct search_cluster *out)
{
    struct search_index_cluster c;

    *out = (struct search_cluster){ .known = search_index_cluster(s->search_index, a, name, &c) };
    if (!out->known)
        return;
    out->hidden = c.hidden;
    out->healthy = c.healthy;
    out->reason = c.reason;
}
