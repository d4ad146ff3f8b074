/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/member_config.h"

#include "base/banned.h"
#include "base/encode.h"

enum {
    KUBECONFIG_MAX = 256 << 10, /* bytes; CA bundles are a few KiB each */
    VALUE_MAX = 64 << 10,       /* of a header: tokens, names */
};

struct reading {
    struct arena *arena;
    const struct json *spec, *secret, *ca;
    const struct member_config_options *o;
    struct kubeconfig *out;
    struct status *st;
};

bool member_config_secret(const struct json *cluster, const struct member_config_options *o,
                          str *namespace, str *name)
{
    const struct json *ref =
        json_path(cluster, o->impersonator ? "spec.impersonatorSecretRef" : "spec.secretRef");

    if (json_get_str(cluster, "spec.kubeconfig").n && !o->impersonator)
        return false;
    *namespace = json_get_str(ref, "namespace");
    *name = json_get_str(ref, "name");
    return name->n > 0;
}

static int wrong(struct reading *r, const char *field, const char *what)
{
    return status_set(r->st, REASON_INVALID, "%s: %s", field, what);
}

/* ---- values of Secrets ---- */

/* Empty when it has no such key. */
static int secret_value(struct reading *r, const struct json *from, const char *key, str *out)
{
    const struct json *v = json_get(json_get(from, STR("data")), str_of(key));
    str text = json_str(v);

    *out = STR_NONE;
    if (text.n && !base64_decode(r->arena, BASE64_GO, text, out))
        return status_set(r->st, REASON_INVALID, "Secret %.*s/%.*s: data.%s: is not base64",
                          STR_ARG(json_get_str(from, "metadata.namespace")),
                          STR_ARG(json_get_str(from, "metadata.name")), key);
    return 0;
}

static int secret_hidden(struct reading *r, const char *key, secret *out)
{
    str plain;

    arena_wipe(r->arena);
    if (secret_value(r, r->secret, key, &plain) < 0)
        return -1;
    *out = secret_of(plain);
    return 0;
}

/* What goes into a header line must not end it. */
static bool fits_header(str value)
{
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < 0x20 || value.p[i] == 0x7f)
            return false;
    return value.n <= VALUE_MAX;
}

static int check_headers(struct reading *r)
{
    const struct kubeconfig *k = r->out;

    if (!fits_header(secret_reveal(k->token)))
        return wrong(r, "token", "must be one line of text");
    if (!fits_header(k->as) || !fits_header(k->as_uid))
        return wrong(r, "as", "must be one line of text");
    for (size_t i = 0; i < k->nas_groups; i++)
        if (!fits_header(k->as_groups[i]))
            return wrong(r, "as-groups", "must be lines of text");
    return 0;
}

/* ---- a kubeconfig ---- */

/* The causes stay, for who shows them one by one; the message has the first. */
static int bad_kubeconfig(struct reading *r)
{
    const struct cause *c = r->st->causes;
    bool all = c && str_is(c->field, "kubeconfig");

    r->st->reason = REASON_INVALID;
    if (!c)
        return status_wrap(r->st, "kubeconfig");
    r->st->message =
        str_printf(r->st->arena, "kubeconfig: %.*s%s%.*s", STR_ARG(all ? STR_NONE : c->field),
                   all ? "" : ": ", STR_ARG(c->message));
    return -1;
}

static int read_kubeconfig(struct reading *r, secret text)
{
    if (secret_reveal(text).n > KUBECONFIG_MAX)
        return wrong(r, "kubeconfig", "is too large");
    if (kubeconfig_parse(r->arena, text, KUBECONFIG_OBJECT, STR_NONE, STR_NONE, r->out, r->st) <
        0) {
        return bad_kubeconfig(r);
    }
    return check_headers(r);
}

/* It says everything itself. */
static bool is_kubeconfig_secret(const struct reading *r)
{
    return !json_get_str(r->spec, "apiEndpoint").n && json_path(r->secret, "data.kubeconfig");
}

static int read_kubeconfig_secret(struct reading *r)
{
    secret text;

    return secret_hidden(r, "kubeconfig", &text) < 0 ? -1 : read_kubeconfig(r, text);
}

/* ---- an address, a CA, a token ---- */

/* The kubeconfig's own rules for addresses: https, a host, no user, no query. */
static int read_endpoint(struct reading *r, str url)
{
    struct json_object k = json_object_new(r->arena);
    const struct json *text;
    struct status why;

    json_add(&k, STR("server"), json_of_str(url));
    text = json_set(r->arena, &json_empty_object, "cluster", json_object_done(&k));
    text = json_set(r->arena, text, "name", json_box(r->arena, json_of_str(STR("m"))));
    text = json_box(r->arena, (struct json){ .type = JSON_ARRAY, .n = 1, .items = text });
    text = json_set(r->arena, &json_empty_object, "clusters", text);
    status_init(&why, r->arena);
    if (kubeconfig_parse(r->arena,
                         secret_printf(r->arena,
                                       "{\"current-context\":\"m\",\"contexts\":[{\"name\":\"m\","
                                       "\"context\":{\"cluster\":\"m\"}}],%.*s",
                                       STR_ARG(str_from(json_text(r->arena, text), 1))),
                         KUBECONFIG_OBJECT, STR_NONE, STR_NONE, r->out, &why) < 0)
        return status_set(r->st, REASON_INVALID, "spec.apiEndpoint: %.*s",
                          STR_ARG(why.causes ? why.causes->message : why.message));
    return 0;
}

static int read_trust(struct reading *r)
{
    const struct json *from = r->o->impersonator ? r->ca : r->secret;

    if (json_bool(json_get(r->spec, STR("insecureSkipTLSVerification")))) {
        if (!r->o->insecure)
            return wrong(r, "spec.insecureSkipTLSVerification",
                         "is not allowed here; put the member's CA into the Secret's caBundle");
        r->out->insecure = true;
        return 0;
    }
    if (secret_value(r, from, "caBundle", &r->out->ca_pem) < 0)
        return -1;
    if (!r->out->ca_pem.n && secret_value(r, from, "ca.crt", &r->out->ca_pem) < 0)
        return -1;
    if (!r->out->ca_pem.n)
        return wrong(r, "spec.secretRef", "the Secret has no data.caBundle");
    return 0;
}

static int read_identity(struct reading *r)
{
    const char *field = r->o->impersonator ? "spec.impersonatorSecretRef" : "spec.secretRef";
    struct kubeconfig *k = r->out;
    secret token;

    if (secret_hidden(r, "token", &token) < 0)
        return -1;
    k->token = secret_trim(token);
    if (!secret_empty(token) || r->o->impersonator)
        return !secret_empty(token) ? 0 : wrong(r, field, "the Secret has no data.token");
    if (secret_value(r, r->secret, "tls.crt", &k->cert_pem) < 0 ||
        secret_hidden(r, "tls.key", &k->key_pem) < 0)
        return -1;
    if (!k->cert_pem.n || secret_empty(k->key_pem))
        return wrong(r, field, "the Secret has neither data.token nor data[tls.crt] and [tls.key]");
    return 0;
}

static int no_endpoint(struct reading *r)
{
    if (!json_get_str(json_get(r->spec, STR("secretRef")), "name").n)
        return wrong(r, "spec.apiEndpoint", "is missing, and so is a Secret with data.kubeconfig");
    return wrong(r, "spec.secretRef",
                 r->secret ? "the Secret has no data.kubeconfig, and there is no spec.apiEndpoint"
                           : "there is no such Secret");
}

static int read_parts(struct reading *r)
{
    str url = json_get_str(r->spec, "apiEndpoint");

    if (!url.n)
        return no_endpoint(r);
    if (json_get_str(r->spec, "proxyURL").n)
        return wrong(r, "spec.proxyURL", "proxies are not supported; make the member reachable");
    if (!r->secret)
        return wrong(r, r->o->impersonator ? "spec.impersonatorSecretRef" : "spec.secretRef",
                     "there is no such Secret");
    if (read_endpoint(r, url) < 0 || read_trust(r) < 0 || read_identity(r) < 0)
        return -1;
    return check_headers(r);
}

int member_config_read(struct arena *a, const struct json *cluster, const struct json *creds,
                       const struct json *ca, const struct member_config_options *o,
                       struct kubeconfig *out, struct status *st)
{
    struct kubeconfig k = { 0 };
    struct reading r = { .arena = a,
                         .spec = json_get(cluster, STR("spec")),
                         .secret = creds,
                         .ca = ca,
                         .o = o,
                         .out = &k,
                         .st = st };
    secret text = secret_of(json_get_str(r.spec, "kubeconfig"));
    int rc;

    if (!secret_empty(text) && !o->impersonator)
        rc = read_kubeconfig(&r, text);
    else if (!o->impersonator && is_kubeconfig_secret(&r))
        rc = read_kubeconfig_secret(&r);
    else
        rc = read_parts(&r);
    if (rc == 0)
        *out = k;
    return rc;
}
