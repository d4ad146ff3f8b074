/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kubeconfig.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/encode.h"
#include "client/exec_plugin.h"
#include "client/in_cluster.h"
#include "json/json.h"

enum { FILE_MAX = 1 << 20, READ_SIZE = 8192, FILES_MAX = 16 };

/* One file of those that are merged. */
struct doc {
    const struct json *root;
    str dir;
};

struct parser {
    struct arena *arena;
    enum kubeconfig_origin origin;
    struct doc docs[FILES_MAX];
    size_t ndocs;
    struct kubeconfig *out;
    struct status *st;
    /* where the section that is being read stands: "users[0].user" */
    const struct doc *doc;
    str path;
};

/* ---- fields ---- */

typedef int field_fn(struct parser *p, str name, const struct json *v, str *to);

static field_fn field_string, field_base64, field_file, field_token_file, field_insecure,
    field_groups, field_exec, field_proxy, field_plugin, field_ignored;

enum { INLINE = 1 }; /* an API object may have it */

struct field {
    const char *name;
    field_fn *fn;
    size_t at; /* of the str in struct kubeconfig */
    int flags;
};

#define AT(member) __builtin_offsetof(struct kubeconfig, member)
static_assert(sizeof(secret) == sizeof(str), "a field's str may be the inside of a secret");

/* Data stands behind the file of the same thing, so that it wins. */
static const struct field cluster_fields[] = {
    { "server", field_string, AT(server), INLINE },
    { "tls-server-name", field_string, AT(server_name), INLINE },
    { "insecure-skip-tls-verify", field_insecure, AT(server), INLINE },
    { "certificate-authority", field_file, AT(ca_pem), 0 },
    { "certificate-authority-data", field_base64, AT(ca_pem), INLINE },
    { "proxy-url", field_proxy, AT(proxy_host), 0 },
    { "disable-compression", field_ignored, AT(server), INLINE },
    { "extensions", field_ignored, AT(server), INLINE },
};

static const struct field user_fields[] = {
    { "client-certificate", field_file, AT(cert_pem), 0 },
    { "client-certificate-data", field_base64, AT(cert_pem), INLINE },
    { "client-key", field_file, AT(key_pem), 0 },
    { "client-key-data", field_base64, AT(key_pem), INLINE },
    { "tokenFile", field_token_file, AT(token), 0 },
    { "token", field_string, AT(token), INLINE },
    { "username", field_string, AT(username), INLINE },
    { "password", field_string, AT(password), INLINE },
    { "as", field_string, AT(as), INLINE },
    { "as-uid", field_string, AT(as_uid), INLINE },
    { "as-groups", field_groups, AT(as), INLINE },
    { "as-user-extra", field_plugin, AT(as), 0 },
    { "exec", field_exec, AT(as), 0 },
    { "auth-provider", field_plugin, AT(as), 0 },
    { "extensions", field_ignored, AT(as), INLINE },
};

/* Says that a field is wrong, in the way its author can use. */
static int wrong(struct parser *p, str field, enum cause_type type, const char *what)
{
    str path =
        str_printf(p->arena, "%.*s%s%.*s", STR_ARG(p->path), p->path.n ? "." : "", STR_ARG(field));

    if (p->origin == KUBECONFIG_PERSON)
        return status_set(p->st, REASON_BAD_REQUEST, "kubeconfig: %.*s: %s", STR_ARG(path), what);
    status_cause(p->st, type, path, STR_NONE, "%s", what);
    return -1;
}

static int field_string(struct parser *p, str name, const struct json *v, str *to)
{
    if (!json_is(v, JSON_STRING))
        return wrong(p, name, CAUSE_TYPE_INVALID, "must be a string");
    *to = json_str(v);
    return 0;
}

static int field_base64(struct parser *p, str name, const struct json *v, str *to)
{
    str text = STR_NONE;

    if (field_string(p, name, v, &text) < 0)
        return -1;
    if (text.n && !base64_decode(p->arena, BASE64_GO, text, to))
        return wrong(p, name, CAUSE_INVALID, "must be base64");
    return 0;
}

/* Without stdio, whose buffer would keep a copy. */
int kubeconfig_read(struct arena *a, const char *path, secret *out, struct status *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    scoped_buf b = { .max = FILE_MAX + READ_SIZE, .wipe = true };
    ssize_t n = 1;

    if (fd < 0)
        return status_errno(st, errno, "%s", path);
    while (n > 0 && b.n <= FILE_MAX) {
        n = read(fd, buf_reserve(&b, READ_SIZE), READ_SIZE);
        b.n += n > 0 ? (size_t)n : 0;
    }
    (void)close(fd);
    if (n < 0 || b.n > FILE_MAX)
        return status_set(st, REASON_BAD_REQUEST, "%s: cannot be read, or is larger than %d bytes",
                          path, FILE_MAX);
    *out = secret_dup(a, secret_of(buf_str(&b)));
    return 0;
}

static char *absolute(struct parser *p, str file)
{
    if (file.p[0] == '/')
        return str_z(p->arena, file);
    return arena_printf(p->arena, "%.*s/%.*s", STR_ARG(p->doc->dir), STR_ARG(file));
}

static int field_file(struct parser *p, str name, const struct json *v, str *to)
{
    secret text = SECRET_NONE;
    str file = STR_NONE;

    if (field_string(p, name, v, &file) < 0)
        return -1;
    if (!file.n)
        return 0;
    if (kubeconfig_read(p->arena, absolute(p, file), &text, p->st) < 0)
        return status_wrap(p->st, "kubeconfig: %.*s.%.*s", STR_ARG(p->path), STR_ARG(name));
    *to = secret_reveal(text);
    return 0;
}

static int field_token_file(struct parser *p, str name, const struct json *v, str *to)
{
    if (field_file(p, name, v, to) < 0)
        return -1;
    if (json_str(v).n)
        p->out->token_file = str_of(absolute(p, json_str(v)));
    *to = str_trim(*to);
    return 0;
}

static int field_insecure(struct parser *p, str name, const struct json *v, str *to)
{
    (void)to;
    if (!json_is(v, JSON_BOOL))
        return wrong(p, name, CAUSE_TYPE_INVALID, "must be true or false");
    if (v->b && p->origin == KUBECONFIG_OBJECT)
        return wrong(p, name, CAUSE_FORBIDDEN, "the server's certificate must be verified");
    p->out->insecure = v->b;
    return 0;
}

static int field_groups(struct parser *p, str name, const struct json *v, str *to)
{
    str *groups = arena_array(p->arena, str, json_len(v) + 1);

    (void)to;
    if (!json_is(v, JSON_ARRAY))
        return wrong(p, name, CAUSE_TYPE_INVALID, "must be a list");
    json_for_each (item, v) {
        if (field_string(p, name, item, &groups[p->out->nas_groups]) < 0)
            return -1;
        p->out->nas_groups++;
    }
    p->out->as_groups = groups;
    return 0;
}

static int field_exec(struct parser *p, str name, const struct json *v, str *to)
{
    struct exec_plugin *x = arena_new_of(p->arena, struct exec_plugin);

    (void)name;
    (void)to;
    if (exec_plugin_parse(p->arena, v, p->doc->dir, x, p->st) < 0)
        return status_wrap(p->st, "kubeconfig: %.*s", STR_ARG(p->path));
    p->out->exec = x;
    return 0;
}

/* "http://host[:port]"; the others that client-go has, https and socks5, we have not. */
static int field_proxy(struct parser *p, str name, const struct json *v, str *to)
{
    const str scheme = STR("http://");
    str url = json_str(v), host;
    ptrdiff_t colon;

    if (str_ends(url, STR("/")))
        url = str_sub(url, 0, url.n - 1);
    host = str_from(url, str_starts(url, scheme) ? scheme.n : url.n);
    if (!host.n || str_find(host, '@', 0) >= 0 || str_find(host, '/', 0) >= 0 ||
        str_find(host, '[', 0) >= 0)
        return wrong(p, name, CAUSE_NOT_SUPPORTED, "must be http://host:port");
    colon = str_find(host, ':', 0);
    *to = str_dup(p->arena, colon < 0 ? host : str_sub(host, 0, (size_t)colon));
    p->out->proxy_port =
        colon < 0 ? STR("80") : str_dup(p->arena, str_from(host, (size_t)colon + 1));
    return 0;
}

static int field_plugin(struct parser *p, str name, const struct json *v, str *to)
{
    (void)v;
    (void)to;
    return wrong(p, name, CAUSE_FORBIDDEN,
                 "is not supported here; use a token, a client certificate or an exec plugin");
}

static int field_ignored(struct parser *p, str name, const struct json *v, str *to)
{
    (void)p;
    (void)name;
    (void)v;
    (void)to;
    return 0;
}

static bool empty_value(const struct json *v)
{
    return json_is(v, JSON_NULL) || (json_is(v, JSON_STRING) && !v->n);
}

static int read_field(struct parser *p, const struct field *f, const struct json *v)
{
    if (!v || empty_value(v))
        return 0;
    if (p->origin == KUBECONFIG_OBJECT && !(f->flags & INLINE))
        return wrong(p, str_of(f->name), CAUSE_FORBIDDEN,
                     "a kubeconfig in an object may hold inline data only");
    return f->fn(p, str_of(f->name), v, (str *)((char *)p->out + f->at));
}

/* A field nobody knows may be a way in that we have not thought of. */
static void refuse_unknown(struct parser *p, const struct field *fields, size_t n,
                           const struct json *section)
{
    json_for_each_member (m, section) {
        size_t i = 0;

        while (i < n && !str_is(m->name, fields[i].name))
            i++;
        if (i == n)
            (void)wrong(p, m->name, CAUSE_FORBIDDEN, "unknown field");
    }
}

/* Of a person the first error; of an object all of them, in the status' causes. */
static int read_section(struct parser *p, const struct field *fields, size_t n,
                        const struct json *section)
{
    if (!json_is(section, JSON_OBJECT))
        return wrong(p, STR_NONE, CAUSE_REQUIRED, "must be an object");
    for (size_t i = 0; i < n; i++)
        if (read_field(p, &fields[i], json_get(section, str_of(fields[i].name))) < 0 &&
            p->origin == KUBECONFIG_PERSON)
            return -1;
    if (p->origin == KUBECONFIG_OBJECT)
        refuse_unknown(p, fields, n, section);
    return 0;
}

/* ---- finding ---- */

/* The part of the entry `name` in one of the lists; sets doc and path. */
static const struct json *find(struct parser *p, const char *list, str name, const char *part)
{
    for (size_t d = 0; d < p->ndocs; d++) {
        size_t i = 0;

        json_for_each (entry, json_get(p->docs[d].root, str_of(list))) {
            if (str_eq(json_get_str(entry, "name"), name)) {
                p->doc = &p->docs[d];
                p->path = str_printf(p->arena, "%s[%zu].%s", list, i, part);
                return json_get(entry, str_of(part));
            }
            i++;
        }
    }
    return NULL;
}

static str current_context(const struct parser *p)
{
    for (size_t d = 0; d < p->ndocs; d++) {
        str s = json_get_str(p->docs[d].root, "current-context");

        if (s.n)
            return s;
    }
    return STR_NONE;
}

static int missing(struct parser *p, const char *what, str name)
{
    p->path = STR_NONE;
    return wrong(p, str_of(what), CAUSE_NOT_FOUND,
                 arena_printf(p->arena, "there is no \"%.*s\"", STR_ARG(name)));
}

/* ---- the server's address ---- */

static int split_host(struct parser *p, str authority)
{
    ptrdiff_t end = 0, colon;

    if (str_find(authority, '@', 0) >= 0)
        return wrong(p, STR("server"), CAUSE_INVALID, "must not hold a user");
    if (authority.n && authority.p[0] == '[') {
        end = str_find(authority, ']', 0);
        if (end < 0)
            return wrong(p, STR("server"), CAUSE_INVALID, "a ] is missing");
        p->out->host = str_sub(authority, 1, (size_t)end - 1);
        end++;
    }
    colon = str_find(authority, ':', (size_t)end);
    if (!end)
        p->out->host = colon < 0 ? authority : str_sub(authority, 0, (size_t)colon);
    p->out->port = colon < 0 ? STR_NONE : str_from(authority, (size_t)colon + 1);
    return 0;
}

static int split_server(struct parser *p)
{
    struct kubeconfig *k = p->out;
    str rest = k->server;
    ptrdiff_t slash;
    uint64_t port;

    if (str_starts(rest, STR("https://")))
        k->tls = true;
    else if (!str_starts(rest, STR("http://")))
        return wrong(p, STR("server"), CAUSE_INVALID, "must be an https:// or http:// URL");
    if (!k->tls && p->origin == KUBECONFIG_OBJECT)
        return wrong(p, STR("server"), CAUSE_FORBIDDEN, "must be an https:// URL");
    rest = str_from(rest, k->tls ? 8 : 7);
    if (str_find(rest, '?', 0) >= 0 || str_find(rest, '#', 0) >= 0)
        return wrong(p, STR("server"), CAUSE_INVALID, "must not hold a query");
    slash = str_find(rest, '/', 0);
    k->prefix = slash < 0 ? STR_NONE : str_from(rest, (size_t)slash);
    while (k->prefix.n && k->prefix.p[k->prefix.n - 1] == '/')
        k->prefix.n--;
    if (split_host(p, slash < 0 ? rest : str_sub(rest, 0, (size_t)slash)) < 0)
        return -1;
    if (!k->port.n)
        k->port = k->tls ? STR("443") : STR("80");
    if (!k->host.n || !str_to_u64(k->port, &port) || port == 0 || port > 65535)
        return wrong(p, STR("server"), CAUSE_INVALID, "must hold a host, and a port if any");
    return 0;
}

/* ---- all of it ---- */

/* k8s: client-go/tools/clientcmd/validation.go, validateClusterInfo and validateAuthInfo */
static int check_cluster(struct parser *p)
{
    struct kubeconfig *k = p->out;

    if (!k->server.n)
        return wrong(p, STR("server"), CAUSE_REQUIRED, "is missing");
    if (k->insecure && k->ca_pem.n)
        return wrong(p, STR("insecure-skip-tls-verify"), CAUSE_FORBIDDEN,
                     "may not be set together with a CA");
    return split_server(p);
}

static int check_user(struct parser *p)
{
    const struct kubeconfig *k = p->out;

    if (!secret_empty(k->token) && k->username.n)
        return wrong(p, STR("username"), CAUSE_FORBIDDEN, "may not be set together with a token");
    if (k->cert_pem.n && secret_empty(k->key_pem))
        return wrong(p, STR("client-key-data"), CAUSE_REQUIRED, "the certificate has no key");
    if (!secret_empty(k->key_pem) && !k->cert_pem.n)
        return wrong(p, STR("client-certificate-data"), CAUSE_REQUIRED,
                     "the key has no certificate");
    return 0;
}

static int read_cluster(struct parser *p, str name)
{
    const struct json *cluster = find(p, "clusters", name, "cluster");

    if (!cluster)
        return missing(p, "clusters", name);
    if (read_section(p, cluster_fields, sizeof(cluster_fields) / sizeof(*cluster_fields), cluster) <
        0)
        return -1;
    return check_cluster(p);
}

static int read_user(struct parser *p, str name)
{
    const struct json *user = find(p, "users", name, "user");

    if (!user)
        return missing(p, "users", name);
    if (read_section(p, user_fields, sizeof(user_fields) / sizeof(*user_fields), user) < 0)
        return -1;
    return check_user(p);
}

static int resolve(struct parser *p, str context)
{
    const struct json *c;
    str cluster, user;
    int rc = 0;

    if (!context.n)
        context = current_context(p);
    if (!context.n)
        return wrong(p, STR("current-context"), CAUSE_REQUIRED, "is missing");
    c = find(p, "contexts", context, "context");
    if (!c)
        return missing(p, "contexts", context);
    p->out->context = context;
    p->out->namespace = json_get_str(c, "namespace");
    cluster = json_get_str(c, "cluster");
    user = json_get_str(c, "user");
    rc = read_cluster(p, cluster);
    if (rc < 0 && p->origin == KUBECONFIG_PERSON)
        return -1;
    return user.n && read_user(p, user) < 0 ? -1 : rc;
}

/* All strings of *out in the arena: values may point into the text. */
static int finish(struct parser *p, str context, struct kubeconfig *out)
{
    int rc = resolve(p, context);

    if (p->origin == KUBECONFIG_OBJECT && p->st->ncauses)
        return status_invalid(p->st, STR_NONE, STR("Config"), p->out->context);
    if (rc == 0)
        *out = *p->out;
    return rc;
}

static int add_doc(struct parser *p, secret text, str dir)
{
    const struct json *root;

    if (json_parse_yaml(p->arena, secret_reveal(secret_dup(p->arena, text)), NULL, &root, p->st) <
        0) {
        if (p->origin == KUBECONFIG_PERSON)
            return status_wrap(p->st, "kubeconfig");
        return wrong(p, STR("kubeconfig"), CAUSE_INVALID, "is not YAML");
    }
    if (p->ndocs == FILES_MAX)
        return status_set(p->st, REASON_BAD_REQUEST, "more than %d kubeconfig files", FILES_MAX);
    p->docs[p->ndocs++] = (struct doc){ root, str_dup(p->arena, dir) };
    return 0;
}

int kubeconfig_parse(struct arena *a, secret text, enum kubeconfig_origin origin, str dir,
                     str context, struct kubeconfig *out, struct status *st)
{
    struct kubeconfig k = { 0 };
    struct parser p = { .arena = a, .origin = origin, .out = &k, .st = st };

    if (add_doc(&p, text, dir) < 0) {
        if (st->ncauses)
            return status_invalid(st, STR_NONE, STR("Config"), STR_NONE);
        return -1;
    }
    return finish(&p, context, out);
}

/* ---- files ---- */

static str dir_of(str path)
{
    size_t n = path.n;

    while (n && path.p[n - 1] != '/')
        n--;
    if (n > 1)
        n--;
    return n ? str_sub(path, 0, n) : STR(".");
}

static int add_file(struct parser *p, str path)
{
    secret text = SECRET_NONE;

    if (kubeconfig_read(p->arena, str_z(p->arena, path), &text, p->st) < 0)
        return status_wrap(p->st, "kubeconfig");
    if (add_doc(p, text, dir_of(path)) < 0)
        return status_wrap(p->st, "%.*s", STR_ARG(path));
    return 0;
}

/* k8s: clientcmd, NewDefaultClientConfigLoadingRules: of a list, files that are not there do not
 * count, as long as one is. */
static int add_list(struct parser *p, str list)
{
    for (str rest = list, path; str_split(&rest, ':', &path);)
        if (path.n && access(str_z(p->arena, path), F_OK) == 0 && add_file(p, path) < 0)
            return -1;
    if (!p->ndocs)
        return status_set(p->st, REASON_NOT_FOUND, "kubeconfig: there is no file %.*s",
                          STR_ARG(list));
    return 0;
}

/* k8s: what the file itself says goes before. */
static int ask_plugin(struct arena *a, struct kubeconfig *k, struct status *st)
{
    struct exec_credential c;

    if (!secret_empty(k->token) || k->cert_pem.n || k->username.n)
        return 0;
    if (exec_plugin_run(a, k->exec, k, &c, st) < 0)
        return -1;
    k->token = c.token;
    k->cert_pem = c.cert_pem;
    k->key_pem = c.key_pem;
    k->expires_s = c.expires_s;
    return 0;
}

int kubeconfig_load(struct arena *a, const char *path, str context, struct kubeconfig *out,
                    struct status *st)
{
    struct kubeconfig k = { 0 };
    struct parser p = { .arena = a, .origin = KUBECONFIG_PERSON, .out = &k, .st = st };
    const char *env = getenv("KUBECONFIG"), *home = getenv("HOME");
    const char *own = arena_printf(a, "%s/.kube/config", home ? home : "");
    int rc;

    if (path && *path)
        rc = add_file(&p, str_of(path));
    else if (env && *env)
        rc = add_list(&p, str_of(env));
    else if (access(own, F_OK) < 0 && in_cluster() && !context.n)
        return in_cluster_config(a, in_cluster_dir(), out, st);
    else
        rc = add_file(&p, str_of(own));
    if (rc < 0 || finish(&p, context, out) < 0)
        return -1;
    return out->exec ? ask_plugin(a, out, st) : 0;
}

int kubeconfig_check_lasting(const struct kubeconfig *k, struct status *st)
{
    char when[TIME_TEXT_SIZE];

    if (!k->expires_s)
        return 0;
    (void)time_format_seconds(when, k->expires_s);
    return status_set(st, REASON_BAD_REQUEST,
                      "kubeconfig: the credential of the exec plugin ends at %s, and this program "
                      "stays: use a client certificate or a tokenFile that somebody renews",
                      when);
}

/* ---- writing ---- */

static void write_data(struct arena *a, struct buf *b, const char *name, str bytes)
{
    if (bytes.n)
        buf_printf(b, "    %s: %.*s\n", name, STR_ARG(base64_encode(a, BASE64_STD, bytes)));
}

static void write_text(struct buf *b, const char *name, str text)
{
    if (!text.n)
        return;
    buf_printf(b, "    %s: ", name);
    json_print_string(b, text); /* a JSON string is a YAML one */
    buf_byte(b, '\n');
}

static void write_name(struct buf *b, const char *lead, str name)
{
    buf_printf(b, "%s", lead);
    json_print_string(b, name);
    buf_byte(b, '\n');
}

static void write_cluster(struct arena *a, struct buf *b, const struct kubeconfig *k)
{
    write_name(b, "- name: ", k->context);
    buf_lit(b, "  cluster:\n");
    write_text(b, "server", k->server);
    write_text(b, "tls-server-name", k->server_name);
    write_data(a, b, "certificate-authority-data", k->ca_pem);
    if (k->insecure)
        buf_lit(b, "    insecure-skip-tls-verify: true\n");
}

static void write_user(struct arena *a, struct buf *b, const struct kubeconfig *k)
{
    bool any = k->cert_pem.n || !secret_empty(k->token);

    write_name(b, "- name: ", k->context);
    buf_printf(b, "  user:%s\n", any ? "" : " {}");
    write_data(a, b, "client-certificate-data", k->cert_pem);
    write_data(a, b, "client-key-data", secret_reveal(k->key_pem));
    write_text(b, "token", secret_reveal(k->token));
}

static void write_context(struct buf *b, const struct kubeconfig *k)
{
    write_name(b, "- name: ", k->context);
    buf_lit(b, "  context:\n");
    write_text(b, "cluster", k->context);
    write_text(b, "user", k->context);
    write_text(b, "namespace", k->namespace);
}

secret kubeconfig_write(struct arena *a, const struct kubeconfig *contexts, size_t n)
{
    scoped_buf b = { .max = FILE_MAX, .wipe = true };

    buf_lit(&b, "apiVersion: v1\nkind: Config\nclusters:\n");
    for (size_t i = 0; i < n; i++)
        write_cluster(a, &b, &contexts[i]);
    buf_lit(&b, "users:\n");
    for (size_t i = 0; i < n; i++)
        write_user(a, &b, &contexts[i]);
    buf_lit(&b, "contexts:\n");
    for (size_t i = 0; i < n; i++)
        write_context(&b, &contexts[i]);
    if (n)
        write_name(&b, "current-context: ", contexts[0].context);
    return secret_dup(a, secret_of(buf_str(&b)));
}

static int write_all(int fd, str text)
{
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);

        if (n < 0 && errno != EINTR)
            return -1;
        text = str_from(text, n > 0 ? (size_t)n : 0);
    }
    return fsync(fd);
}

int kubeconfig_save(const char *path, secret text, struct status *st)
{
    char temp[4096];
    int fd, err = 0;

    /* Always the same name: what a process that was killed has left holds keys, too. */
    if (snprintf(temp, sizeof(temp), "%s.new", path) >= (int)sizeof(temp))
        return status_set(st, REASON_BAD_REQUEST, "%s: the path is too long", path);
    (void)unlink(temp);
    fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return status_errno(st, errno, "%s", temp);
    if (write_all(fd, secret_reveal(text)) < 0)
        err = errno;
    if (close(fd) < 0 && !err)
        err = errno;
    if (!err && rename(temp, path) < 0)
        err = errno;
    if (!err)
        return 0;
    (void)unlink(temp);
    return status_errno(st, err, "%s", path);
}
