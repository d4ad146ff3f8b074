/* SPDX-License-Identifier: Apache-2.0 */
#include "http/verify.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/sign_internal.h"

enum {
    RSA_BITS_MIN = 2048,
    RSA_BITS_MAX = 8192,
    RSA_EXPONENT_MAX = 8, /* bytes: what a check costs grows with it */
    EC_NUMBER_MAX = 66
};

static const struct alg {
    const char *name;
    const EVP_MD *(*hash)(void);
    bool pss;
    const char *curve; /* NULL: RSA */
    size_t number;     /* bytes of a coordinate, and of half a signature */
} algs[] = {
    { "RS256", EVP_sha256, false, NULL, 0 },     { "RS384", EVP_sha384, false, NULL, 0 },
    { "RS512", EVP_sha512, false, NULL, 0 },     { "PS256", EVP_sha256, true, NULL, 0 },
    { "PS384", EVP_sha384, true, NULL, 0 },      { "PS512", EVP_sha512, true, NULL, 0 },
    { "ES256", EVP_sha256, false, "P-256", 32 }, { "ES384", EVP_sha384, false, "P-384", 48 },
    { "ES512", EVP_sha512, false, "P-521", 66 },
};
enum { ALGS = sizeof(algs) / sizeof(*algs) };

struct verify_key {
    EVP_PKEY *key;
    const struct alg *ec; /* the one of its curve; NULL: RSA */
};

static struct verify_key *key_of(const char *type, OSSL_PARAM_BLD *build, const struct alg *ec)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    struct verify_key *k = NULL;
    EVP_PKEY *key = NULL;

    if (params && ctx && EVP_PKEY_fromdata_init(ctx) == 1 &&
        EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) == 1) {
        k = mem_zalloc(sizeof(*k));
        k->key = key;
        k->ec = ec;
    }
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    ERR_clear_error();
    return k;
}

static BIGNUM *number_of(str bytes)
{
    return BN_bin2bn((const unsigned char *)bytes.p, (int)bytes.n, NULL);
}

struct verify_key *verify_key_rsa(str n, str e)
{
    struct verify_key *k = NULL;
    OSSL_PARAM_BLD *build;
    BIGNUM *modulus, *exponent;
    int bits;

    if (n.n > RSA_BITS_MAX / 8 + 1 || e.n > RSA_EXPONENT_MAX || !n.n || !e.n)
        return NULL;
    build = OSSL_PARAM_BLD_new();
    modulus = number_of(n);
    exponent = number_of(e);
    if (!build || !modulus || !exponent)
        mem_exhausted();
    bits = BN_num_bits(modulus);
    if (bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX && BN_is_odd(modulus) && BN_is_odd(exponent) &&
        !BN_is_one(exponent) && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent))
        k = key_of("RSA", build, NULL);
    OSSL_PARAM_BLD_free(build);
    BN_free(modulus);
    BN_free(exponent);
    return k;
}

/* RFC 7518 6.2.1.2: a coordinate has the length of its curve. */
struct verify_key *verify_key_ec(str curve, str x, str y)
{
    unsigned char point[1 + 2 * EC_NUMBER_MAX] = { POINT_CONVERSION_UNCOMPRESSED };
    const struct alg *ec = NULL;
    struct verify_key *k = NULL;
    OSSL_PARAM_BLD *build;

    for (size_t i = 0; i < ALGS; i++)
        if (algs[i].curve && str_is(curve, algs[i].curve))
            ec = &algs[i];
    if (!ec || x.n != ec->number || y.n != ec->number)
        return NULL;
    memcpy(point + 1, x.p, x.n);
    memcpy(point + 1 + x.n, y.p, y.n);
    build = OSSL_PARAM_BLD_new();
    if (!build)
        mem_exhausted();
    if (OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, ec->curve, 0) &&
        OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + x.n + y.n))
        k = key_of("EC", build, ec);
    OSSL_PARAM_BLD_free(build);
    return k;
}

void verify_key_free(struct verify_key *k)
{
    if (!k)
        return;
    EVP_PKEY_free(k->key);
    free(k);
}

static const struct alg *find(str name)
{
    for (size_t i = 0; i < ALGS; i++)
        if (str_is(name, algs[i].name))
            return &algs[i];
    return NULL;
}

unsigned verify_alg(str name)
{
    const struct alg *alg = find(name);

    return alg ? 1U << (alg - algs) : 0;
}

/* Whether the key is one for this algorithm. */
static bool key_fits(const struct verify_key *k, str alg)
{
    const struct alg *wanted = find(alg);

    return wanted && (k->ec ? wanted == k->ec : !wanted->curve);
}

static bool check(const struct verify_key *k, const struct alg *alg, str bytes,
                  const unsigned char *sig, size_t n)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *of_key = NULL;
    bool ok = ctx && EVP_DigestVerifyInit(ctx, &of_key, alg->hash(), NULL, k->key) == 1;

    /* RFC 7518 3.5: the salt is as long as the hash, and so is MGF1's */
    if (ok && alg->pss)
        ok = EVP_PKEY_CTX_set_rsa_padding(of_key, RSA_PKCS1_PSS_PADDING) == 1 &&
             EVP_PKEY_CTX_set_rsa_pss_saltlen(of_key, RSA_PSS_SALTLEN_DIGEST) == 1;
    ok = ok && EVP_DigestVerify(ctx, sig, n, (const unsigned char *)bytes.p, bytes.n) == 1;
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return ok;
}

bool verify_check(const struct verify_key *k, str alg, str bytes, str signature)
{
    unsigned char der[SIGN_DER_MAX];
    size_t n;

    if (!key_fits(k, alg))
        return false;
    if (!k->ec)
        return signature.n == (size_t)EVP_PKEY_get_size(k->key) &&
               check(k, find(alg), bytes, (const unsigned char *)signature.p, signature.n);
    if (signature.n != 2 * k->ec->number)
        return false;
    n = sign_to_der(signature, der);
    return n > 0 && check(k, k->ec, bytes, der, n);
}
