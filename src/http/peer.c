/* SPDX-License-Identifier: Apache-2.0 */
#include "http/peer.h"

#include <openssl/err.h>
#include <time.h>

#include "base/banned.h"
#include "base/encode.h"
#include "http/pki_internal.h"

/* k8s: apiserver/pkg/authentication/request/x509: the attribute 1.3.6.1.4.1.57683.2 */
static bool is_uid(const ASN1_OBJECT *type)
{
    static const unsigned char oid[] = { 0x2b, 6, 1, 4, 1, 0x83, 0xc2, 0x53, 2 };

    return OBJ_length(type) == sizeof(oid) && memcmp(OBJ_get0_data(type), oid, sizeof(oid)) == 0;
}

/* The last common name counts, as in Go's pkix.Name, and the first uid. */
static bool read_subject(struct arena *a, X509 *x, struct http_peer *peer)
{
    const X509_NAME *name = X509_get_subject_name(x);
    int n = X509_NAME_entry_count(name);
    str *orgs = arena_array(a, str, (size_t)n);

    peer->orgs = orgs;
    for (int i = 0; i < n; i++) {
        const X509_NAME_ENTRY *e = X509_NAME_get_entry(name, i);
        const ASN1_OBJECT *type = X509_NAME_ENTRY_get_object(e);
        int nid = OBJ_obj2nid(type);
        bool uid = is_uid(type) && str_empty(peer->uid);
        str *out = nid == NID_commonName         ? &peer->cn
                   : nid == NID_organizationName ? &orgs[peer->norgs++]
                   : uid                         ? &peer->uid
                                                 : NULL;

        if (out && !pki_text_of(a, X509_NAME_ENTRY_get_data(e), out))
            return false;
        if (uid && str_empty(peer->uid))
            return false;
    }
    return true;
}

static bool read_uris(struct arena *a, X509 *x, struct http_peer *peer)
{
    int critical = 0;
    GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, &critical, NULL);
    int n = names ? sk_GENERAL_NAME_num(names) : 0;
    str *uris = arena_array(a, str, (size_t)n);
    bool ok = names || critical == -1; /* -1: not there, else broken or there twice */

    peer->uris = uris;
    for (int i = 0; i < n && ok; i++) {
        const GENERAL_NAME *g = sk_GENERAL_NAME_value(names, i);

        if (g->type == GEN_URI)
            ok = pki_text_of(a, g->d.uniformResourceIdentifier, &uris[peer->nuris++]);
    }
    GENERAL_NAMES_free(names);
    return ok;
}

static bool read_time(const ASN1_TIME *t, int64_t *out)
{
    struct tm tm;

    if (!ASN1_TIME_to_tm(t, &tm))
        return false;
    *out = (int64_t)timegm(&tm);
    return true;
}

static bool read_usage(X509 *x, struct http_peer *peer)
{
    uint32_t broken = X509_get_extension_flags(x) & EXFLAG_INVALID;
    uint32_t usage = X509_get_extended_key_usage(x); /* all ones when it says nothing */

    peer->not_for_clients = !(usage & (XKU_SSL_CLIENT | XKU_ANYEKU));
    return !broken;
}

/* k8s: apiserver/pkg/authentication/request/x509 CommonNameUserConversion */
static bool read_credential_id(struct arena *a, X509 *x, struct http_peer *peer)
{
    static const char prefix[] = "X509SHA256=";
    unsigned char md[EVP_MAX_MD_SIZE];
    size_t at = sizeof(prefix) - 1;
    unsigned n = 0;
    char *text;

    if (!X509_digest(x, EVP_sha256(), md, &n))
        return false;
    text = arena_alloc(a, at + 2 * (size_t)n + 1);
    memcpy(text, prefix, at);
    hex_encode(text + at, md, n);
    peer->credential_id = (str){ text, at + 2 * (size_t)n };
    return true;
}

bool peer_read(struct arena *a, X509 *x, struct http_peer *out)
{
    struct http_peer peer = { 0 };
    bool ok = read_time(X509_get0_notBefore(x), &peer.not_before) &&
              read_time(X509_get0_notAfter(x), &peer.not_after) && read_usage(x, &peer) &&
              read_subject(a, x, &peer) && read_uris(a, x, &peer) &&
              read_credential_id(a, x, &peer);

    ERR_clear_error();
    if (ok)
        *out = peer;
    return ok;
}

bool peer_of_der(struct arena *a, str der, struct http_peer *out)
{
    const unsigned char *p = (const unsigned char *)der.p;
    X509 *x = der.n ? d2i_X509(NULL, &p, (long)der.n) : NULL;
    bool ok = x && p == (const unsigned char *)der.p + der.n && peer_read(a, x, out);

    X509_free(x);
    ERR_clear_error();
    return ok;
}
