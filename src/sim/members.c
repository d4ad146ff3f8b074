/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/members.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "apiserver/auth/signer.h"
#include "base/banned.h"
#include "base/encode.h"
#include "base/mem.h"
#include "http/csr.h"
#include "sim/objects.h"

enum { CERT_S = 365 * 86400, FILE_MAX = 16 << 20 };

struct member {
    const struct member_plan *plan;
    struct listener *listener;
    enum listener_mode mode;
    str file; /* its kubeconfig */
};

struct members {
    struct members_options o;
    struct arena *arena;
    struct member *all;
    size_t n;
};

/* ---- what was there before ---- */

static const struct json *read_old(struct arena *a, const char *path)
{
    const struct json *v = NULL;
    scoped_buf b = { .max = FILE_MAX };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct status st;
    ssize_t n = fd < 0 ? 0 : 1;
    char part[4096];

    while (n > 0 && (n = read(fd, part, sizeof(part))) > 0)
        buf_append(&b, part, (size_t)n);
    if (fd >= 0)
        (void)close(fd);
    status_init(&st, a);
    if (buf_overflown(&b) || !b.n || json_parse(a, str_dup(a, buf_str(&b)), NULL, &v, &st) < 0)
        return NULL;
    return v;
}

/* "127.0.0.1:40001" where it was the last time; else any port. */
static str old_address(const struct json *old, str name)
{
    str prefix = STR("https://");

    json_for_each (m, json_get(old, STR("members")))
        if (str_eq(json_get_str(m, "name"), name) && str_starts(json_get_str(m, "server"), prefix))
            return str_from(json_get_str(m, "server"), prefix.n);
    return STR("127.0.0.1:0");
}

/* ---- one member ---- */

static int make_instance(struct members *m, struct arena *a, str name, struct status *st)
{
    struct client_ref ref = { .group = STR("tenancy.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("instances") };
    const struct json *i = obj_of(a, "{\"kind\":\"Instance\",\"apiVersion\":"
                                     "\"tenancy.kairship.io/v1alpha1\",\"spec\":{\"profile\":"
                                     "\"kubernetes\"}}");

    i = obj_set_str(a, i, "metadata.name", name);
    if (client_create(m->o.admin, a, &ref, i, NULL, st) == 0)
        return 0;
    if (!status_is(st, REASON_ALREADY_EXISTS))
        return -1;
    status_reset(st);
    return 0;
}

static int make_listener(struct members *m, struct member *it, str address, struct status *st)
{
    struct listener_options o = { .server = m->o.server,
                                  .listen = address,
                                  .instance = it->plan->name,
                                  .loops = m->o.loops,
                                  .nloops = m->o.nloops,
                                  .http = m->o.http,
                                  .cert_pem = m->o.cert_pem,
                                  .key_pem = m->o.key_pem,
                                  .client_ca_pem = m->o.client_ca_pem };

    it->listener = listener_new(&o, st);
    if (!it->listener && !str_ends(address, STR(":0"))) { /* another has it now */
        status_reset(st);
        o.listen = STR("127.0.0.1:0");
        it->listener = listener_new(&o, st);
    }
    return it->listener ? 0 : -1;
}

/* A certificate of the member's own, as its API would sign it. */
static int make_admin(struct members *m, struct arena *a, str name, str *cert, secret *key_pem,
                      struct status *st)
{
    static const str orgs[] = { STR_INIT("system:masters") };
    const struct csr_subject who = { .cn = STR("admin"), .orgs = orgs, .norgs = 1 };
    const struct json *csr =
        obj_of(a, "{\"spec\":{\"signerName\":\"" SIGNER_ADMIN_CLIENT
                  "\",\"groups\":[\"system:masters\"],\"usages\":[\"digital signature\","
                  "\"client auth\"]}}");
    str pem;
    int rc;

    if (csr_make(a, &who, &pem, key_pem, st) < 0)
        return -1;
    csr = obj_set_str(a, csr, "spec.request", base64_encode(a, BASE64_STD, pem));
    csr = obj_set_int(a, csr, "spec.expirationSeconds", CERT_S);
    rc = signer_sign(m->o.server, a, name, csr, cert, st);
    if (rc == 0)
        return status_set(st, REASON_INTERNAL, "there is no authority to sign with");
    return rc < 0 ? -1 : 0;
}

static int write_kubeconfig(struct members *m, struct arena *a, struct member *it,
                            struct status *st)
{
    struct kubeconfig k = { .context = it->plan->name, .ca_pem = m->o.ca_pem };

    if (make_admin(m, a, it->plan->name, &k.cert_pem, &k.key_pem, st) < 0)
        return -1;
    k.server = str_printf(a, "https://%.*s", STR_ARG(listener_address(it->listener)));
    it->file = str_printf(m->arena, "%s/%.*s.kubeconfig", m->o.dir, STR_ARG(it->plan->name));
    return kubeconfig_save(str_z(a, it->file), kubeconfig_write(a, &k, 1), st);
}

/* ---- its nodes ---- */

static const struct json *node_of(struct arena *a, const struct member_plan *p, long number)
{
    str name = str_printf(a, "%.*s-node-%ld", STR_ARG(p->name), number);
    const struct json *n = obj_of(a, "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{"
                                     "\"labels\":{\"kubernetes.io/os\":\"linux\","
                                     "\"kubernetes.io/arch\":\"amd64\"}}}");
    const struct {
        const char *name;
        str value;
    } labels[] = {
        { "kubernetes.io/hostname", name },
        { "topology.kubernetes.io/region", str_of(p->region) },
        { "topology.kubernetes.io/zone", str_of(p->zone) },
    };

    n = obj_set_str(a, n, "metadata.name", name);
    for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
        n = obj_put(a, n, "metadata.labels", str_of(labels[i].name), json_of_str(labels[i].value));
    n = obj_set_str(a, n, "status.capacity.cpu", str_of(p->cpu));
    n = obj_set_str(a, n, "status.capacity.memory", str_of(p->memory));
    n = obj_set_str(a, n, "status.capacity.pods", str_of(p->pods));
    return json_set(a, n, "status.allocatable", json_path(n, "status.capacity"));
}

static int make_nodes(struct members *m, struct arena *a, const struct member_plan *p,
                      struct status *st)
{
    struct client_ref ref = { .instance = p->name, .version = STR("v1"), .resource = STR("nodes") };

    for (long i = 1; i <= p->nodes; i++) {
        if (client_create(m->o.admin, a, &ref, node_of(a, p, i), NULL, st) == 0)
            continue;
        if (!status_is(st, REASON_ALREADY_EXISTS))
            return -1;
        status_reset(st);
    }
    return 0;
}

/* ---- all of them ---- */

static const struct json *description(struct arena *a, const struct member *it)
{
    const struct member_plan *p = it->plan;
    const struct json *v = &json_empty_object;

    v = obj_set_str(a, v, "name", p->name);
    v = obj_set_str(a, v, "server",
                    str_printf(a, "https://%.*s", STR_ARG(listener_address(it->listener))));
    v = obj_set_str(a, v, "kubeconfig", it->file);
    v = obj_set_str(a, v, "provider", str_of(p->provider));
    v = obj_set_str(a, v, "region", str_of(p->region));
    v = obj_set_str(a, v, "zone", str_of(p->zone));
    v = json_set(a, v, "labels", &json_empty_object);
    for (size_t i = 0; i < MEMBER_LABELS && p->labels[i][0]; i++)
        v = obj_put(a, v, "labels", str_of(p->labels[i][0]), json_of_str(str_of(p->labels[i][1])));
    return obj_set_int(a, v, "nodes", p->nodes);
}

static int write_list(struct members *m, struct arena *a, const char *path, struct status *st)
{
    struct json_array all = json_array_new(a);
    scoped_buf b = { .max = FILE_MAX };

    for (size_t i = 0; i < m->n; i++)
        json_push(&all, *description(a, &m->all[i]));
    json_print_pretty(&b, json_set(a, &json_empty_object, "members", json_array_done(&all)));
    buf_byte(&b, '\n');
    return kubeconfig_save(path, secret_of(buf_str(&b)), st);
}

static int open_all(struct members *m, struct status *st)
{
    scoped_arena a = arena_new();
    const char *path = arena_printf(a, "%s/members.json", m->o.dir);
    const struct json *old = read_old(a, path);

    for (size_t i = 0; i < m->o.n; i++) {
        struct member *it = &m->all[m->n++];

        it->plan = &m->o.plans[i];
        if (make_instance(m, a, it->plan->name, st) < 0 ||
            make_listener(m, it, old_address(old, it->plan->name), st) < 0 ||
            write_kubeconfig(m, a, it, st) < 0 || make_nodes(m, a, it->plan, st) < 0)
            return status_wrap(st, "member %.*s", STR_ARG(it->plan->name));
    }
    return write_list(m, a, path, st);
}

struct members *members_new(const struct members_options *o, struct status *st)
{
    struct members *m = mem_zalloc(sizeof(*m));

    m->o = *o;
    m->arena = arena_new();
    m->all = mem_zalloc((o->n + 1) * sizeof(*m->all));
    if (open_all(m, st) == 0)
        return m;
    members_close(m);
    members_free(m);
    return NULL;
}

void members_free(struct members *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n; i++)
        listener_free(m->all[i].listener);
    arena_free(m->arena);
    free(m->all);
    free(m);
}

size_t members_count(const struct members *m)
{
    return m->n;
}

str members_name(const struct members *m, size_t i)
{
    return m->all[i].plan->name;
}

str members_kubeconfig(const struct members *m, size_t i)
{
    return m->all[i].file;
}

str members_address(const struct members *m, str name)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->all[i].plan->name, name))
            return listener_address(m->all[i].listener);
    return STR_NONE;
}

const char *members_mode(const struct members *m, size_t i)
{
    static const char *const words[] = { [LISTENER_UP] = "up",
                                         [LISTENER_SLOW] = "slow",
                                         [LISTENER_HUNG] = "hung",
                                         [LISTENER_DOWN] = "down" };

    return words[m->all[i].mode];
}

/* ---- trouble ---- */

struct change {
    struct member *it;
    enum listener_mode mode;
    int64_t delay_ms;
    struct status *st;
    int rc;
    sem_t done;
};

static void apply(void *arg)
{
    struct change *c = arg;

    c->rc = listener_set(c->it->listener, c->mode, c->delay_ms, c->st);
    (void)sem_post(&c->done);
}

static int change(struct members *m, struct member *it, enum listener_mode mode, int64_t delay_ms,
                  struct status *st)
{
    struct change c = { .it = it, .mode = mode, .delay_ms = delay_ms, .st = st };

    (void)sem_init(&c.done, 0, 0);
    loop_call(m->o.loops[0], apply, &c);
    while (sem_wait(&c.done) < 0)
        ;
    (void)sem_destroy(&c.done);
    if (c.rc == 0)
        it->mode = mode;
    return c.rc;
}

int members_set(struct members *m, str name, enum listener_mode mode, int64_t delay_ms,
                struct status *st)
{
    scoped_buf names = { .max = 64 << 10 };

    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->all[i].plan->name, name))
            return change(m, &m->all[i], mode, delay_ms, st);
    for (size_t i = 0; i < m->n; i++)
        buf_printf(&names, "%s%.*s", i ? ", " : "", STR_ARG(m->all[i].plan->name));
    return status_set(st, REASON_NOT_FOUND, "there is no member %.*s; there are %.*s",
                      STR_ARG(name), STR_ARG(buf_str(&names)));
}

void members_close(struct members *m)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    for (size_t i = 0; m && i < m->n; i++)
        if (m->all[i].listener)
            (void)change(m, &m->all[i], LISTENER_DOWN, 0, &st);
}
