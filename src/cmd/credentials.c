/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/credentials.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "client/kubeconfig.h"
#include "cmd/key_file.h"
#include "cmd/text_file.h"
#include "http/pki.h"

enum { CA_DAYS = 3650, CERT_DAYS = 365, RENEW_S = 30 * 86400 };

static const str MASTERS[] = { STR_INIT("system:masters") };

static int read_key(struct arena *a, const char *path, secret *key_pem, struct status *st)
{
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    return key_file_read(a, path, key_pem, st) < 0 ? -1 : 1;
}

static const char *path_of(struct arena *a, str dir, const char *name, const char *what)
{
    return arena_printf(a, "%.*s/pki/%s.%s", STR_ARG(dir), name, what);
}

static int load_pair(struct arena *a, str dir, const char *name, struct pki_pair *out,
                     struct status *st)
{
    int found = text_file_find(a, path_of(a, dir, name, "crt"), &out->cert, st);

    return found == 1 ? read_key(a, path_of(a, dir, name, "key"), &out->key_pem, st) : found;
}

static int save_pair(struct arena *a, str dir, const char *name, const struct pki_pair *p,
                     struct status *st)
{
    if (key_file_write(a, path_of(a, dir, name, "key"), p->key_pem, st) < 0)
        return -1;
    return key_file_write(a, path_of(a, dir, name, "crt"), secret_of(p->cert), st);
}

static int open_ca(struct arena *a, str dir, const char *name, int64_t now_s, struct pki_pair *ca,
                   struct status *st)
{
    int found = load_pair(a, dir, name, ca, st);

    if (found != 0)
        return found < 0 ? -1 : 0;
    if (pki_make_ca(a, str_printf(a, "kairship-%s", name), now_s, CA_DAYS, ca, st) < 0)
        return -1;
    return save_pair(a, dir, name, ca, st);
}

static int open_server(struct arena *a, str dir, const struct pki_pair *ca, const str *names,
                       size_t nnames, int64_t now_s, struct pki_pair *out, struct status *st)
{
    struct pki_request req = {
        .cn = STR("kairship"), .hosts = names, .nhosts = nnames, .now_s = now_s, .days = CERT_DAYS
    };
    int found;

    if (nnames == 0)
        return 0;
    found = load_pair(a, dir, "server", out, st);
    if (found < 0)
        return -1;
    if (found && pki_cert_fits(out->cert, names, nnames, now_s, RENEW_S))
        return 0;
    if (pki_sign(a, ca, &req, out, st) < 0)
        return -1;
    return save_pair(a, dir, "server", out, st);
}

static int open_admin(struct arena *a, str dir, const struct pki_pair *ca, int64_t now_s,
                      struct pki_pair *out, struct status *st)
{
    struct pki_request req = {
        .cn = STR("kairship-admin"), .orgs = MASTERS, .norgs = 1, .now_s = now_s, .days = CERT_DAYS
    };
    int found = load_pair(a, dir, "admin", out, st);

    if (found < 0)
        return -1;
    if (found && pki_cert_fits(out->cert, NULL, 0, now_s, RENEW_S))
        return 0;
    if (pki_sign(a, ca, &req, out, st) < 0)
        return -1;
    return save_pair(a, dir, "admin", out, st);
}

int credentials_open(struct arena *a, str dir, const str *names, size_t nnames, int64_t now_s,
                     struct credentials *out, struct status *st)
{
    const char *pki = arena_printf(a, "%.*s/pki", STR_ARG(dir));
    struct pki_pair ca = { 0 }, signer = { 0 }, front = { 0 }, server = { 0 }, admin = { 0 };

    if (mkdir(pki, 0700) < 0 && errno != EEXIST)
        return status_errno(st, errno, "cannot make the folder %s", pki);
    if (open_ca(a, dir, "ca", now_s, &ca, st) < 0 ||
        open_ca(a, dir, "signer", now_s, &signer, st) < 0 ||
        open_ca(a, dir, "front-proxy", now_s, &front, st) < 0 ||
        open_server(a, dir, &ca, names, nnames, now_s, &server, st) < 0 ||
        open_admin(a, dir, &ca, now_s, &admin, st) < 0)
        return -1;
    *out = (struct credentials){ .ca = ca.cert,
                                 .key_pem = server.key_pem,
                                 .admin_cert = admin.cert,
                                 .admin_key_pem = admin.key_pem,
                                 .signer_cert = signer.cert,
                                 .signer_key_pem = signer.key_pem,
                                 .front_cert = front.cert,
                                 .front_key_pem = front.key_pem };
    if (server.cert.n) /* a client that knows the hash of our CA's key finds that CA behind it */
        out->cert = str_printf(a, "%.*s%.*s", STR_ARG(server.cert), STR_ARG(ca.cert));
    out->client_ca = str_printf(a, "%.*s%.*s", STR_ARG(ca.cert), STR_ARG(signer.cert));
    return 0;
}

int credentials_read_pair(struct arena *a, const char *cert_file, const char *key_file, str *cert,
                          secret *key_pem, struct status *st)
{
    int found = text_file_find(a, cert_file, cert, st);
    const char *missing = found == 0 ? cert_file : NULL;

    if (found > 0) {
        found = read_key(a, key_file, key_pem, st);
        missing = found == 0 ? key_file : NULL;
    }
    if (missing)
        return status_set(st, REASON_NOT_FOUND, "there is no file %s", missing);
    return found < 0 ? -1 : 0;
}

static bool same_way(const struct kubeconfig *x, const struct kubeconfig *y)
{
    return str_eq(x->server, y->server) && str_eq(x->ca_pem, y->ca_pem) &&
           str_eq(x->cert_pem, y->cert_pem) && secret_eq(x->key_pem, y->key_pem);
}

int credentials_write_kubeconfig(struct arena *a, str dir, const struct credentials *c, str address,
                                 struct status *st)
{
    struct kubeconfig k = { .context = STR("root"),
                            .server = str_printf(a, "https://%.*s", STR_ARG(address)),
                            .ca_pem = c->ca,
                            .cert_pem = c->admin_cert,
                            .key_pem = c->admin_key_pem };
    const char *path = arena_printf(a, "%.*s/admin.kubeconfig", STR_ARG(dir));
    secret old = SECRET_NONE;
    int found = read_key(a, path, &old, st);
    struct kubeconfig was;
    struct status no;

    if (found < 0)
        return -1;
    status_init(&no, a);
    if (found && kubeconfig_parse(a, old, KUBECONFIG_PERSON, dir, k.context, &was, &no) == 0) {
        if (same_way(&was, &k)) /* a full disk is no reason not to start */
            return 0;
        k.namespace = was.namespace;
    }
    return kubeconfig_save(path, kubeconfig_write(a, &k, 1), st);
}
