/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serving_certs.h"

#include <string.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/pki.h"

enum {
    RENEW_CHECK_S = 3600,
    RETRY_S = 30,
    /* An address that comes and goes, as with a loose cable, makes a key and a file each time. */
    MOVE_PAUSE_S = 30,
};

static const char *cert_path(const struct serving_certs *v, struct arena *a)
{
    return v->cert_file ? v->cert_file : arena_printf(a, "%s/pki/server.crt", v->dir);
}

static const char *key_path(const struct serving_certs *v, struct arena *a)
{
    return v->key_file ? v->key_file : arena_printf(a, "%s/pki/server.key", v->dir);
}

static void look(const char *path, struct stat *out)
{
    if (stat(path, out) < 0)
        memset(out, 0, sizeof(*out));
}

static bool differs(const struct stat *x, const struct stat *y)
{
    return x->st_ino != y->st_ino || x->st_size != y->st_size ||
           x->st_mtim.tv_sec != y->st_mtim.tv_sec || x->st_mtim.tv_nsec != y->st_mtim.tv_nsec;
}

/* Before they are read, so that a change while we read is seen the next time. */
static bool remember(struct serving_certs *v)
{
    scoped_arena a = arena_new();
    struct stat cert, key;
    bool changed;

    look(cert_path(v, a), &cert);
    look(key_path(v, a), &key);
    changed = differs(&cert, &v->cert_stat) || differs(&key, &v->key_stat);
    v->cert_stat = cert;
    v->key_stat = key;
    return changed;
}

/* Whether the addresses of this machine are of interest: someone who names others knows them. */
static bool follows_addresses(const struct serving_certs *v)
{
    return v->options.any && v->options.nadvertise == 0 && !v->blind;
}

static uint64_t hash_of_reach(const struct reach *r)
{
    uint64_t h = str_hash(r->advertised.host, 0, 0);

    for (size_t i = 0; i < r->nnames; i++)
        h = str_hash(r->names[i], h, 0);
    return h;
}

/* Looks at the addresses of the machine; false when they are as before. */
static bool look_around(struct serving_certs *v, struct status *st)
{
    struct arena *a = arena_new();
    struct links links = { 0 };
    struct reach now;

    if (follows_addresses(v) && links_read(a, &links, st) < 0 && v->seen) {
        arena_free(a);
        return false; /* they could be read a moment ago */
    }
    reach_find(a, &v->options, &links, &now);
    if (v->seen && hash_of_reach(&now) == hash_of_reach(&v->reach)) {
        arena_free(a);
        return false;
    }
    arena_free(v->seen);
    v->seen = a;
    v->reach = now;
    return true;
}

static int read_all(struct serving_certs *v, struct arena *a, int64_t now_s,
                    struct credentials *out, struct status *st)
{
    const struct reach *r = &v->reach;

    (void)remember(v);
    if (credentials_open(a, str_of(v->dir), r->names, v->cert_file ? 0 : r->nnames, now_s, out,
                         st) < 0)
        return -1;
    if (!v->cert_file)
        return 0;
    if (credentials_read_pair(a, v->cert_file, v->key_file, &out->cert, &out->key_pem, st) < 0)
        return -1;
    /* Whoever signed it, clients that we tell whom to trust shall trust it. */
    out->ca = str_printf(a, "%.*s%.*s", STR_ARG(out->ca), STR_ARG(out->cert));
    return 0;
}

static uint64_t hash_of(const struct credentials *c)
{
    return str_hash(secret_reveal(c->key_pem), str_hash(c->cert, 0, 0), 0);
}

/* Its clients would refuse it: better said now than found out by each of them. */
static void warn_of_other_names(const struct serving_certs *v, const struct credentials *c)
{
    if (v->cert_file && !pki_cert_covers(c->cert, v->reach.advertised.host))
        log_warn("the certificate of --tls-cert-file does not have the advertised name; say "
                 "--advertise with one that it has",
                 log_str("advertised", v->reach.advertised.host));
}

int serving_certs_open(struct serving_certs *v, struct arena *a, int64_t now_s,
                       struct credentials *out, struct status *st)
{
    struct status why;

    status_init(&why, a);
    (void)look_around(v, &why);
    v->blind = why.reason != REASON_OK;
    if (v->blind)
        log_warn("the certificate is for this machine only; --advertise names addresses",
                 log_str("why", why.message));
    if (read_all(v, a, now_s, out, st) < 0)
        return -1;
    v->served = hash_of(out);
    v->told = hash_of_reach(&v->reach);
    warn_of_other_names(v, out);
    return 0;
}

void serving_certs_close(struct serving_certs *v)
{
    arena_free(v->seen);
    v->seen = NULL;
}

static int reload(struct serving_certs *v, struct server *s, const struct credentials *c,
                  struct status *st)
{
    if (server_reload_certificate(s, c->cert, c->key_pem, st) < 0)
        return -1;
    v->served = hash_of(c);
    log_info("the serving certificate is loaded");
    return 0;
}

static bool has_moved(struct serving_certs *v, struct arena *a, int64_t now)
{
    struct status st;

    status_init(&st, a);
    if (!follows_addresses(v) || now < v->move_at || !look_around(v, &st))
        return false;
    v->move_at = now + MOVE_PAUSE_S;
    return true;
}

/* Says it where clients ask, when it is another than before. */
static void tell(struct serving_certs *v, struct server *s, struct arena *a)
{
    str address = reach_print(a, v->reach.advertised, v->port);

    if (v->told == hash_of_reach(&v->reach))
        return;
    v->told = hash_of_reach(&v->reach);
    server_advertise(s, address);
    log_info("the addresses of this machine have changed", log_str("advertised", address),
             log_int("names", (int64_t)v->reach.nnames));
}

void serving_certs_refresh(struct serving_certs *v, struct server *s, bool forced)
{
    int64_t now = clock_now_ms(clock_real()) / 1000;
    bool changed = remember(v);
    scoped_arena a = arena_new();
    struct credentials c;
    struct status st;

    changed = has_moved(v, a, now) || changed;
    if (!forced && !changed && now < v->renew_at)
        return;
    v->renew_at = now + RENEW_CHECK_S;
    status_init(&st, a);
    if (read_all(v, a, clock_wall_s(clock_real()), &c, &st) < 0 ||
        (hash_of(&c) != v->served && reload(v, s, &c, &st) < 0) ||
        credentials_write_kubeconfig(a, str_of(v->dir), &c, reach_print(a, v->reach.admin, v->port),
                                     &st) < 0) {
        v->renew_at = now + RETRY_S;
        log_error("certificates stay as they were", log_str("why", st.message));
        return;
    }
    tell(v, s, a);
}
