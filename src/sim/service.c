/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Services: Endpoints and EndpointSlices of the pods that they select, and an address for those
 * that want a load balancer.  k8s: pkg/controller/endpoint, endpointslice
 */

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"
#include "sim/state.h"

enum {
    GATHER_MS = 20,       /* changes of pods within that time are one */
    ADDRESSES_MAX = 1000, /* of Endpoints, and of a slice */
};

/* ---- which services a pod may be of ---- */

struct selector_row {
    struct selector_row *next;
    struct arena *arena;
    const struct json *selector;
    str name;
};

struct room { /* a namespace of a member */
    struct selector_row *rows;
    size_t n;
    char key[];
};

struct services {
    pthread_mutex_t mu;
    struct map rooms; /* guarded by mu */
};

struct services *services_new(void)
{
    struct services *s = mem_zalloc(sizeof(*s));

    (void)pthread_mutex_init(&s->mu, NULL);
    return s;
}

void services_free(struct services *s)
{
    size_t at = 0;
    void *value;
    str key;

    if (!s)
        return;
    while (map_each(&s->rooms, &at, &key, &value)) {
        struct room *r = value;

        for (struct selector_row *row = r->rows, *next; row; row = next) {
            next = row->next;
            arena_free(row->arena);
        }
        free(r);
    }
    map_release(&s->rooms);
    (void)pthread_mutex_destroy(&s->mu);
    free(s);
}

static str room_key(struct arena *a, const struct informer_key *k)
{
    return str_printf(a, "%.*s/%.*s", STR_ARG(k->instance), STR_ARG(k->namespace));
}

static struct room *room_of_locked(struct services *s, str key)
{
    struct room *r = map_get(&s->rooms, key);

    if (r)
        return r;
    r = mem_zalloc(sizeof(*r) + key.n + 1);
    memcpy(r->key, key.p, key.n);
    (void)map_put(&s->rooms, (str){ r->key, key.n }, r);
    return r;
}

static void drop_locked(struct room *r, str name)
{
    for (struct selector_row **at = &r->rows, *row; (row = *at) != NULL; at = &row->next) {
        if (!str_eq(row->name, name))
            continue;
        *at = row->next;
        arena_free(row->arena);
        return;
    }
}

/* The selector of a service as it is now; NULL: it has none, or is gone. */
static void remember(struct services *s, struct arena *a, const struct informer_key *k,
                     const struct json *selector)
{
    str key = room_key(a, k);
    struct room *r;

    (void)pthread_mutex_lock(&s->mu);
    r = room_of_locked(s, key);
    drop_locked(r, k->name);
    if (json_len(selector)) {
        struct arena *own = arena_new();
        struct selector_row *row = arena_new_of(own, struct selector_row);

        *row = (struct selector_row){ .next = r->rows,
                                      .arena = own,
                                      .selector = json_dup(own, selector),
                                      .name = str_dup(own, k->name) };
        r->rows = row;
    }
    if (!r->rows) {
        (void)map_remove(&s->rooms, key);
        free(r);
    }
    (void)pthread_mutex_unlock(&s->mu);
}

void services_touch(struct sim *sim, const struct informer_key *pod, const struct json *labels,
                    bool moved)
{
    scoped_arena a = arena_new();
    struct services *s = sim->services;
    struct room *r;

    (void)pthread_mutex_lock(&s->mu);
    r = map_get(&s->rooms, room_key(a, pod));
    for (struct selector_row *row = r ? r->rows : NULL; row; row = row->next) {
        struct informer_key k = { pod->instance, pod->namespace, row->name };

        if (moved || obj_selects(row->selector, labels))
            controller_wake_after(sim->controllers[SIM_SERVICES], &k, GATHER_MS);
    }
    (void)pthread_mutex_unlock(&s->mu);
}

/* ---- what they lead to ---- */

struct work {
    struct client *client;
    struct arena *arena;
    const struct informer_key *key;
    struct status *st;
    const struct json *service;
    const struct json **pods; /* with an address, not over */
    size_t n;
};

static str selector_text(struct arena *a, const struct json *selector)
{
    scoped_buf b = { .max = 64 << 10 };

    json_for_each_member (m, selector)
        buf_printf(&b, "%s%.*s=%.*s", b.n ? "," : "", STR_ARG(m->name),
                   STR_ARG(json_str(&m->value)));
    return str_dup(a, buf_str(&b));
}

static int by_name(const void *a, const void *b)
{
    const struct json *x = *(const struct json *const *)a, *y = *(const struct json *const *)b;

    return str_cmp(obj_name(x), obj_name(y));
}

static int read_pods(struct work *w)
{
    struct client_query q = { .label_selector =
                                  selector_text(w->arena, json_path(w->service, "spec.selector")) };
    struct client_ref ref = obj_ref_named(w->key, "", "pods", STR_NONE);
    const struct json *list, *items;

    if (client_list(w->client, w->arena, &ref, &q, &list, w->st) < 0)
        return -1;
    items = json_get(list, STR("items"));
    w->pods = arena_array(w->arena, const struct json *, json_len(items) + 1);
    json_for_each (p, items)
        if (json_get_str(p, "status.podIP").n && !pod_is_over(p))
            w->pods[w->n++] = p;
    qsort(w->pods, w->n, sizeof(*w->pods), by_name);
    return 0;
}

/* The pod's port behind a port of the service: a number, or the name of a container's. */
static int64_t target_port(const struct work *w, const struct json *port)
{
    const struct json *target = json_get(port, STR("targetPort"));
    str name = json_str(target);

    if (json_is(target, JSON_INT))
        return target->i;
    for (size_t i = 0; name.n && i < w->n; i++)
        json_for_each (c, json_path(w->pods[i], "spec.containers"))
            json_for_each (p, json_get(c, STR("ports")))
                if (str_eq(json_get_str(p, "name"), name))
                    return json_int(json_get(p, STR("containerPort")), 0);
    return name.n ? 0 : json_int(json_get(port, STR("port")), 0);
}

static const struct json *ports(const struct work *w, bool slice)
{
    struct json_array list = json_array_new(w->arena);

    json_for_each (p, json_path(w->service, "spec.ports")) {
        struct json_object o = json_object_new(w->arena);
        const struct json *protocol = json_get(p, STR("protocol"));
        int64_t number = target_port(w, p);
        str name = json_get_str(p, "name");

        if (!number)
            continue;
        if (name.n || slice)
            json_add(&o, STR("name"), json_of_str(name));
        json_add(&o, STR("port"), json_of_int(number));
        json_add(&o, STR("protocol"), protocol ? *protocol : json_of_str(STR("TCP")));
        json_push(&list, json_object_value(&o));
    }
    return json_array_done(&list);
}

static struct json target_of(const struct work *w, const struct json *pod)
{
    struct json_object o = json_object_new(w->arena);

    json_add(&o, STR("kind"), json_of_str(STR("Pod")));
    json_add(&o, STR("name"), json_of_str(obj_name(pod)));
    json_add(&o, STR("namespace"), json_of_str(w->key->namespace));
    json_add(&o, STR("uid"), json_of_str(obj_uid(pod)));
    return json_object_value(&o);
}

static bool serves(const struct work *w, const struct json *pod)
{
    return json_bool(json_path(w->service, "spec.publishNotReadyAddresses")) ||
           (pod_is_ready(pod) && !obj_deleting(pod));
}

/* ---- Endpoints ---- */

static const struct json *addresses(const struct work *w, bool ready)
{
    struct json_array list = json_array_new(w->arena);

    for (size_t i = 0; i < w->n && list.n < ADDRESSES_MAX; i++) {
        struct json_object o = json_object_new(w->arena);

        if (serves(w, w->pods[i]) != ready || (!ready && obj_deleting(w->pods[i])))
            continue;
        json_add(&o, STR("ip"), *json_path(w->pods[i], "status.podIP"));
        json_add(&o, STR("nodeName"), *json_path(w->pods[i], "spec.nodeName"));
        json_add(&o, STR("targetRef"), target_of(w, w->pods[i]));
        json_push(&list, json_object_value(&o));
    }
    return json_array_done(&list);
}

static const struct json *subsets(const struct work *w)
{
    const struct json *ready = addresses(w, true), *others = addresses(w, false),
                      *all = ports(w, false);
    struct json_array list = json_array_new(w->arena);
    struct json_object o = json_object_new(w->arena);

    if (!json_len(ready) && !json_len(others))
        return json_array_done(&list);
    if (json_len(ready))
        json_add(&o, STR("addresses"), *ready);
    if (json_len(others))
        json_add(&o, STR("notReadyAddresses"), *others);
    if (json_len(all))
        json_add(&o, STR("ports"), *all);
    json_push(&list, json_object_value(&o));
    return json_array_done(&list);
}

/* Makes it, or changes the members that are ours. */
static int put(struct work *w, struct client_ref ref, const struct json *object,
               const char *const *members, size_t n)
{
    const struct json *old, *new;
    int found = obj_get(w->client, w->arena, &ref, &old, w->st);

    if (found < 0)
        return -1;
    if (!found) {
        ref.name = STR_NONE;
        return client_create(w->client, w->arena, &ref, object, NULL, w->st);
    }
    new = old;
    for (size_t i = 0; i < n; i++)
        new = json_set(w->arena, new, members[i], json_path(object, members[i]));
    if (json_equal(old, new))
        return 0;
    return client_update(w->client, w->arena, &ref, new, NULL, w->st);
}

static int put_endpoints(struct work *w)
{
    static const char *const members[] = { "subsets" };
    const struct json *labels = json_path(w->service, "metadata.labels"), *all = subsets(w);
    const struct json *e = obj_of(w->arena, "{\"kind\":\"Endpoints\",\"apiVersion\":\"v1\"}");

    e = obj_set_str(w->arena, e, "metadata.name", w->key->name);
    if (labels)
        e = json_set(w->arena, e, "metadata.labels", labels);
    e = json_len(all) ? json_set(w->arena, e, "subsets", all) : e;
    return put(w, obj_ref(w->key, "", "endpoints"), e, members, 1);
}

/* ---- EndpointSlices ---- */

static struct json endpoint(const struct work *w, const struct json *pod)
{
    struct json_object o = json_object_new(w->arena), c = json_object_new(w->arena);
    struct json_array list = json_array_new(w->arena);
    bool ready = serves(w, pod);

    json_push(&list, *json_path(pod, "status.podIP"));
    json_add(&c, STR("ready"), json_of_bool(ready));
    json_add(&c, STR("serving"), json_of_bool(pod_is_ready(pod)));
    json_add(&c, STR("terminating"), json_of_bool(obj_deleting(pod)));
    json_add(&o, STR("addresses"), json_array_value(&list));
    json_add(&o, STR("conditions"), json_object_value(&c));
    json_add(&o, STR("nodeName"), *json_path(pod, "spec.nodeName"));
    json_add(&o, STR("targetRef"), target_of(w, pod));
    return json_object_value(&o);
}

static int put_slice(struct work *w, str name, size_t from)
{
    static const char *const members[] = { "endpoints", "ports" };
    struct arena *a = w->arena;
    const struct json *e =
        obj_owned(a, "discovery.k8s.io/v1", "EndpointSlice", w->service, "v1", "Service");
    struct json_array list = json_array_new(a);

    for (size_t i = from; i < w->n && i < from + ADDRESSES_MAX; i++)
        json_push(&list, endpoint(w, w->pods[i]));
    e = obj_set_str(a, e, "metadata.name", name);
    e = obj_put(a, e, "metadata.labels", STR("kubernetes.io/service-name"),
                json_of_str(w->key->name));
    e = obj_put(a, e, "metadata.labels", STR("endpointslice.kubernetes.io/managed-by"),
                json_of_str(STR("endpointslice-controller.k8s.io")));
    e = obj_set_str(a, e, "addressType", STR("IPv4"));
    e = json_set(a, e, "endpoints", json_array_done(&list));
    e = json_set(a, e, "ports", ports(w, true));
    return put(w, obj_ref_named(w->key, "discovery.k8s.io", "endpointslices", name), e, members, 2);
}

static int put_slices(struct work *w)
{
    str hash = str_sub(obj_hash(w->arena, json_path(w->service, "metadata.uid")), 0, 5);
    size_t i = 0, more = 1;

    for (; i == 0 || i * ADDRESSES_MAX < w->n; i++) {
        str name = str_printf(w->arena, "%.*s-%.*s%zu", STR_ARG(w->key->name), STR_ARG(hash), i);

        if (put_slice(w, name, i * ADDRESSES_MAX) < 0)
            return -1;
    }
    for (; more; i++) { /* those of when there were more */
        str name = str_printf(w->arena, "%.*s-%.*s%zu", STR_ARG(w->key->name), STR_ARG(hash), i);
        struct client_ref ref = obj_ref_named(w->key, "discovery.k8s.io", "endpointslices", name);
        const struct json *old;
        int found = obj_get(w->client, w->arena, &ref, &old, w->st);

        if (found < 0 ||
            (found && obj_delete(w->client, w->arena, &ref, obj_uid(old), -1, w->st) < 0))
            return -1;
        more = (size_t)found;
    }
    return 0;
}

/* ---- load balancers ---- */

static int put_balancer(struct work *w)
{
    uint64_t h = str_hash(obj_uid(w->service), 0, 0);
    str ip =
        str_printf(w->arena, "192.168.%u.%u", (unsigned)(h & 255), 1 + (unsigned)(h >> 8) % 254);
    const struct json *one = obj_set_str(w->arena, &json_empty_object, "ip", ip);
    const struct json *status = json_path(w->service, "status");
    struct json_array list = json_array_new(w->arena);

    if (!str_is(json_get_str(w->service, "spec.type"), "LoadBalancer") ||
        json_len(json_path(status, "loadBalancer.ingress")))
        return 0;
    one = obj_set_str(w->arena, one, "ipMode", STR("VIP"));
    json_push(&list, *one);
    status = json_set(w->arena, status ? status : &json_empty_object, "loadBalancer.ingress",
                      json_array_done(&list));
    return obj_put_status(w->client, w->arena, obj_ref(w->key, "", "services"), w->service, status,
                          w->st);
}

static int gone(struct work *w, struct services *s)
{
    struct client_ref ref = obj_ref(w->key, "", "endpoints");

    remember(s, w->arena, w->key, NULL);
    return obj_delete(w->client, w->arena, &ref, STR_NONE, -1, w->st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct sim *s = arg;
    struct client_ref ref = obj_ref(k, "", "services");
    struct work w = { .client = client, .arena = a, .key = k, .st = st };
    const struct json *selector;
    int found;

    if (str_is(k->instance, "root"))
        return 0;
    found = obj_get(client, a, &ref, &w.service, st);
    if (found < 0)
        return -1;
    if (!found)
        return gone(&w, s->services);
    selector = json_path(w.service, "spec.selector");
    remember(s->services, a, k, selector);
    if (obj_deleting(w.service))
        return 0;
    if (json_len(selector) && (read_pods(&w) < 0 || put_endpoints(&w) < 0 || put_slices(&w) < 0))
        return -1;
    return s->o.no_balancers ? 0 : put_balancer(&w);
}

const struct controller_spec sim_services = {
    .name = "simulated-services",
    .ref = { .instance = STR_INIT("*"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("services") },
    .reconcile = reconcile,
};
