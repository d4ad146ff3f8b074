/* SPDX-License-Identifier: Apache-2.0 */
#include "http/sign.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/mem.h"
#include "http/pki_internal.h"
#include "http/sign_internal.h"

enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 8192, EC_NUMBER = 32 };

struct sign_key {
    EVP_PKEY *key;
    bool ec, signs;
    str id;
    char id_text[48];
};

/* ---- hashing: the context is the thread's, because making one costs more than using it ---- */

static EVP_MD *sha256;
static pthread_key_t context_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_context(void *ctx)
{
    EVP_MD_CTX_free(ctx);
}

static void prepare(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (!sha256 || pthread_key_create(&context_key, free_context) != 0)
        abort(); /* OpenSSL without SHA-256 is no OpenSSL */
}

void sign_sha256(str bytes, unsigned char out[SHA256_SIZE])
{
    EVP_MD_CTX *ctx;

    (void)pthread_once(&once, prepare);
    ctx = pthread_getspecific(context_key);
    if (!ctx) {
        ctx = EVP_MD_CTX_new();
        if (!ctx)
            mem_exhausted();
        (void)pthread_setspecific(context_key, ctx);
    }
    if (EVP_DigestInit_ex(ctx, sha256, NULL) != 1 || EVP_DigestUpdate(ctx, bytes.p, bytes.n) != 1 ||
        EVP_DigestFinal_ex(ctx, out, NULL) != 1)
        abort(); /* it has no reason to fail but memory */
}

void sign_sha224(str bytes, unsigned char out[SHA224_SIZE])
{
    if (EVP_Digest(bytes.p, bytes.n, out, NULL, EVP_sha224(), NULL) != 1)
        abort();
}

/* ---- keys ---- */

static EVP_PKEY *read_pem(str pem, bool *private_half)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, pki_no_passphrase, NULL) : NULL;

    *private_half = key;
    if (!key && bio && BIO_reset(bio) == 1)
        key = PEM_read_bio_PUBKEY(bio, NULL, pki_no_passphrase, NULL);
    BIO_free_all(bio);
    ERR_clear_error();
    return key;
}

static bool is_p256(const EVP_PKEY *key)
{
    char name[64] = "";
    size_t n;

    return EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, name, sizeof(name), &n) == 1 &&
           strcmp(name, "prime256v1") == 0;
}

static bool is_strong_rsa(const EVP_PKEY *key)
{
    int bits = EVP_PKEY_get_bits(key);

    return EVP_PKEY_is_a(key, "RSA") && bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX;
}

/* k8s: serviceaccount/jwt.go keyIDFromPublicKey */
static bool name_key(struct sign_key *k)
{
    unsigned char hash[SHA256_SIZE], *der = NULL;
    int n = i2d_PUBKEY(k->key, &der);
    scoped_arena a = arena_new();
    str id;

    if (n <= 0)
        return false;
    sign_sha256((str){ (char *)der, (size_t)n }, hash);
    OPENSSL_free(der);
    id = base64_encode(a, BASE64_URL, (str){ (char *)hash, sizeof(hash) });
    assert(id.n < sizeof(k->id_text));
    memcpy(k->id_text, id.p, id.n);
    k->id = (str){ k->id_text, id.n };
    return true;
}

struct sign_key *sign_key_new(secret pem, struct status *st)
{
    struct sign_key *k = mem_zalloc(sizeof(*k));

    k->key = secret_reveal(pem).n < 1 << 20 ? read_pem(secret_reveal(pem), &k->signs) : NULL;
    k->ec = k->key && is_p256(k->key);
    if (k->key && (k->ec || is_strong_rsa(k->key)) && name_key(k))
        return k;
    (void)status_set(st, REASON_INVALID,
                     k->key ? "the key is neither ECDSA P-256 nor RSA of %d to %d bits"
                            : "not a PEM key (ECDSA P-256, or RSA of %d to %d bits)",
                     RSA_BITS_MIN, RSA_BITS_MAX);
    sign_key_free(k);
    return NULL;
}

void sign_key_free(struct sign_key *k)
{
    if (!k)
        return;
    EVP_PKEY_free(k->key);
    free(k);
}

int sign_key_make(struct arena *a, secret *pem, struct status *st)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    BIO *bio = BIO_new(BIO_s_secmem());
    char *p = NULL;
    bool ok = key && bio && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1;
    long n = ok ? BIO_get_mem_data(bio, &p) : 0;

    if (n > 0)
        *pem = secret_dup(a, secret_of((str){ p, (size_t)n }));
    BIO_free_all(bio);
    EVP_PKEY_free(key);
    return n > 0 ? 0 : pki_failed(st, "make a key");
}

const char *sign_key_alg(const struct sign_key *k)
{
    return k->ec ? "ES256" : "RS256";
}

bool sign_key_signs(const struct sign_key *k)
{
    return k->signs;
}

str sign_key_id(const struct sign_key *k)
{
    return k->id;
}

/* The number in `size` bytes, or in as many as it has (0). */
static bool number(const EVP_PKEY *key, struct arena *a, const char *name, size_t size, str *out)
{
    BIGNUM *n = NULL;
    unsigned char *bytes;

    if (EVP_PKEY_get_bn_param(key, name, &n) != 1)
        return false;
    if (size == 0)
        size = (size_t)BN_num_bytes(n);
    bytes = arena_alloc(a, size);
    *out = (str){ (char *)bytes, size };
    size = (size_t)BN_bn2binpad(n, bytes, (int)size);
    BN_free(n);
    return size == out->n;
}

int sign_key_numbers(const struct sign_key *k, struct arena *a, struct sign_numbers *out,
                     struct status *st)
{
    struct sign_numbers n = { .ec = k->ec };
    bool ok = k->ec ? number(k->key, a, OSSL_PKEY_PARAM_EC_PUB_X, EC_NUMBER, &n.x) &&
                          number(k->key, a, OSSL_PKEY_PARAM_EC_PUB_Y, EC_NUMBER, &n.y)
                    : number(k->key, a, OSSL_PKEY_PARAM_RSA_N, 0, &n.n) &&
                          number(k->key, a, OSSL_PKEY_PARAM_RSA_E, 0, &n.e);

    if (!ok)
        return pki_failed(st, "read a public key");
    *out = n;
    return 0;
}

/* ---- signatures: OpenSSL's are DER, those of tokens two numbers of 32 bytes ---- */

static bool from_der(const unsigned char *der, size_t n, unsigned char out[2 * EC_NUMBER])
{
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)n);
    bool ok = sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, EC_NUMBER) == EC_NUMBER &&
              BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + EC_NUMBER, EC_NUMBER) == EC_NUMBER;

    ECDSA_SIG_free(sig);
    return ok;
}

size_t sign_to_der(str raw, unsigned char out[SIGN_DER_MAX])
{
    const unsigned char *p = (const unsigned char *)raw.p;
    int half = (int)(raw.n / 2);
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(p, half, NULL), *s = BN_bin2bn(p + half, half, NULL);
    int n = -1;

    if (sig && r && s && ECDSA_SIG_set0(sig, r, s) == 1) {
        n = i2d_ECDSA_SIG(sig, NULL) <= SIGN_DER_MAX ? i2d_ECDSA_SIG(sig, &out) : -1;
        r = s = NULL;
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(sig);
    return n > 0 ? (size_t)n : 0;
}

static str sign_raw(const struct sign_key *k, struct arena *a, str bytes)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t n = (size_t)EVP_PKEY_get_size(k->key);
    unsigned char *out = arena_alloc(a, n);
    bool ok = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
              EVP_DigestSign(ctx, out, &n, (const unsigned char *)bytes.p, bytes.n) == 1;

    EVP_MD_CTX_free(ctx);
    return ok ? (str){ (char *)out, n } : STR_NONE;
}

int sign_make(const struct sign_key *k, struct arena *a, str bytes, str *signature,
              struct status *st)
{
    str made;
    unsigned char *raw;

    assert(k->signs);
    made = sign_raw(k, a, bytes);
    if (made.n == 0)
        return pki_failed(st, "sign");
    if (!k->ec) {
        *signature = made;
        return 0;
    }
    raw = arena_alloc(a, 2 * EC_NUMBER);
    if (!from_der((const unsigned char *)made.p, made.n, raw))
        return pki_failed(st, "sign");
    *signature = (str){ (char *)raw, 2 * EC_NUMBER };
    return 0;
}

bool sign_check(const struct sign_key *k, str bytes, str signature)
{
    const unsigned char *sig = (const unsigned char *)signature.p;
    unsigned char der[SIGN_DER_MAX];
    size_t n = signature.n;
    EVP_MD_CTX *ctx;
    bool ok;

    if (n != (k->ec ? 2 * EC_NUMBER : (size_t)EVP_PKEY_get_size(k->key)))
        return false;
    if (k->ec) {
        n = sign_to_der(signature, der);
        sig = der;
    }
    ctx = EVP_MD_CTX_new();
    ok = n > 0 && ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
         EVP_DigestVerify(ctx, sig, n, (const unsigned char *)bytes.p, bytes.n) == 1;
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return ok;
}
