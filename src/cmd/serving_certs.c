/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serving_certs.h"

#include <string.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/log.h"

enum { RENEW_CHECK_S = 3600 };

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

static int read_all(struct serving_certs *v, struct arena *a, int64_t now_s,
                    struct credentials *out, struct status *st)
{
    (void)remember(v);
    if (credentials_open(a, str_of(v->dir), v->host, now_s, out, st) < 0)
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

int serving_certs_open(struct serving_certs *v, struct arena *a, int64_t now_s,
                       struct credentials *out, struct status *st)
{
    if (read_all(v, a, now_s, out, st) < 0)
        return -1;
    v->served = hash_of(out);
    return 0;
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

void serving_certs_refresh(struct serving_certs *v, struct server *s, bool forced)
{
    int64_t now = clock_now_ms(clock_real()) / 1000;
    bool changed = remember(v);
    scoped_arena a = arena_new();
    struct credentials c;
    struct status st;

    if (!forced && !changed && now < v->renew_at)
        return;
    v->renew_at = now + RENEW_CHECK_S;
    status_init(&st, a);
    if (read_all(v, a, clock_wall_s(clock_real()), &c, &st) < 0 ||
        (hash_of(&c) != v->served && reload(v, s, &c, &st) < 0) ||
        credentials_write_kubeconfig(a, str_of(v->dir), &c, v->address, &st) < 0)
        log_error("certificates stay as they were", log_str("why", st.message));
}
