/* SPDX-License-Identifier: Apache-2.0 */
#include "http/aead.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/rand.h"

enum { BLOCK = 16, KEY = 32, GCM_NONCE = 24, GCM_TAG = 16, CBC_MAC = 32 };

typedef unsigned char byte;

struct aead_key {
    enum aead_form form;
    byte key[KEY];  /* of AESGCM; that which encrypts, of AESCBC */
    byte mac[KEY];  /* of AESCBC */
    byte k1[BLOCK]; /* of AESGCM: what CMAC mixes into its only block */
    /* Looked up once: by name it takes as long as the work itself. */
    EVP_CIPHER *block, *stream;
    char check[AEAD_CHECK];
};

/* What can fail here is memory alone: sizes and algorithms are ours. */
static void must(int ok)
{
    if (ok != 1)
        abort();
}

static EVP_CIPHER_CTX *context(void)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();

    must(c != NULL);
    return c;
}

static void derive(secret key, const char *label, byte out[KEY])
{
    str k = secret_reveal(key);
    unsigned n = KEY;

    must(HMAC(EVP_sha256(), k.p, (int)k.n, (const byte *)label, strlen(label), out, &n) != NULL);
}

static void encrypt_blocks(const struct aead_key *k, const byte *in, int n, byte *out)
{
    EVP_CIPHER_CTX *c = context();
    int done = 0;

    must(EVP_EncryptInit_ex2(c, k->block, k->key, NULL, NULL));
    must(EVP_CIPHER_CTX_set_padding(c, 0));
    must(EVP_EncryptUpdate(c, out, &done, in, n));
    EVP_CIPHER_CTX_free(c); /* wipes it, too */
}

/* NIST SP 800-38B, 6.1: the first subkey. */
static void make_k1(struct aead_key *k)
{
    static const byte zero[BLOCK];
    byte l[BLOCK];

    encrypt_blocks(k, zero, BLOCK, l);
    for (int i = 0; i < BLOCK; i++)
        k->k1[i] = (byte)(l[i] << 1 | (i + 1 < BLOCK ? l[i + 1] >> 7 : 0));
    if (l[0] & 0x80)
        k->k1[BLOCK - 1] ^= 0x87;
    mem_wipe(l, sizeof(l));
}

struct aead_key *aead_key_new(enum aead_form form, secret bytes, struct status *st)
{
    str b = secret_reveal(bytes);
    struct aead_key *k;
    byte check[KEY];

    if (b.n != 16 && b.n != 24 && b.n != 32) {
        (void)status_set(st, REASON_INVALID,
                         "secret is not of the expected length, got %zu, expected one of "
                         "[16 24 32]",
                         b.n);
        return NULL;
    }
    k = mem_zalloc(sizeof(*k));
    k->form = form;
    k->block = EVP_CIPHER_fetch(NULL, "AES-256-ECB", NULL);
    k->stream = EVP_CIPHER_fetch(NULL, form == AEAD_AESGCM ? "AES-256-GCM" : "AES-256-CBC", NULL);
    must(k->block && k->stream);
    if (form == AEAD_AESGCM && b.n == KEY)
        memcpy(k->key, b.p, KEY);
    else if (form == AEAD_AESGCM)
        derive(bytes, "kairship aesgcm", k->key);
    else {
        derive(bytes, "kairship aescbc encryption", k->key);
        derive(bytes, "kairship aescbc authentication", k->mac);
    }
    if (form == AEAD_AESGCM)
        make_k1(k);
    derive(bytes, form == AEAD_AESGCM ? "kairship aesgcm check" : "kairship aescbc check", check);
    memcpy(k->check, check, sizeof(k->check));
    mem_wipe(check, sizeof(check));
    return k;
}

void aead_key_free(struct aead_key *k)
{
    if (!k)
        return;
    EVP_CIPHER_free(k->block);
    EVP_CIPHER_free(k->stream);
    mem_wipe(k, sizeof(*k));
    free(k);
}

str aead_key_check(const struct aead_key *k)
{
    return (str){ k->check, sizeof(k->check) };
}

/* ---- AESGCM ---- */

/* C2SP XAES-256-GCM: the record's key is the CMACs of 1 and 2, "X", and half of the nonce. */
static void record_key(const struct aead_key *k, const byte nonce[GCM_NONCE], byte out[KEY])
{
    byte m[2 * BLOCK] = { 0, 1, 'X', 0 };

    memcpy(m + 4, nonce, 12);
    memcpy(m + BLOCK, m, BLOCK);
    m[BLOCK + 1] = 2;
    for (int i = 0; i < 2 * BLOCK; i++)
        m[i] ^= k->k1[i % BLOCK];
    encrypt_blocks(k, m, 2 * BLOCK, out);
}

/* nonce, ciphertext, tag */
static size_t gcm_seal(const struct aead_key *k, const byte *nonce, str beside, str plain,
                       byte *out)
{
    EVP_CIPHER_CTX *c = context();
    byte key[KEY], none[BLOCK];
    int n = 0, last = 0;

    record_key(k, nonce, key);
    memcpy(out, nonce, GCM_NONCE);
    must(EVP_EncryptInit_ex2(c, k->stream, key, nonce + 12, NULL));
    if (beside.n)
        must(EVP_EncryptUpdate(c, NULL, &n, (const byte *)beside.p, (int)beside.n));
    n = 0;
    if (plain.n)
        must(EVP_EncryptUpdate(c, out + GCM_NONCE, &n, (const byte *)plain.p, (int)plain.n));
    must(EVP_EncryptFinal_ex(c, none, &last));
    must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, GCM_TAG, out + GCM_NONCE + n));
    EVP_CIPHER_CTX_free(c);
    mem_wipe(key, sizeof(key));
    return GCM_NONCE + (size_t)n + GCM_TAG;
}

static bool gcm_open(const struct aead_key *k, str beside, str sealed, byte *out, size_t *size)
{
    const byte *in = (const byte *)sealed.p;
    byte key[KEY], none[BLOCK], tag[GCM_TAG];
    EVP_CIPHER_CTX *c;
    int n = 0, last = 0;
    bool ok;

    if (sealed.n < GCM_NONCE + GCM_TAG)
        return false;
    *size = sealed.n - GCM_NONCE - GCM_TAG;
    memcpy(tag, in + sealed.n - GCM_TAG, GCM_TAG);
    c = context();
    record_key(k, in, key);
    must(EVP_DecryptInit_ex2(c, k->stream, key, in + 12, NULL));
    if (beside.n)
        must(EVP_DecryptUpdate(c, NULL, &n, (const byte *)beside.p, (int)beside.n));
    if (*size)
        must(EVP_DecryptUpdate(c, out, &n, in + GCM_NONCE, (int)*size));
    must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, GCM_TAG, tag));
    ok = EVP_DecryptFinal_ex(c, none, &last) == 1;
    EVP_CIPHER_CTX_free(c);
    mem_wipe(key, sizeof(key));
    return ok;
}

/* ---- AESCBC ---- */

/* Of IV and ciphertext, by a key that what stands beside them makes. */
static void cbc_mac(const struct aead_key *k, str beside, const byte *text, size_t n,
                    byte out[CBC_MAC])
{
    byte key[KEY];
    unsigned size = KEY;

    must(HMAC(EVP_sha256(), k->mac, KEY, (const byte *)beside.p, beside.n, key, &size) != NULL);
    must(HMAC(EVP_sha256(), key, KEY, text, n, out, &size) != NULL);
    mem_wipe(key, sizeof(key));
}

/* IV, ciphertext, HMAC */
static size_t cbc_seal(const struct aead_key *k, const byte *iv, str beside, str plain, byte *out)
{
    EVP_CIPHER_CTX *c = context();
    int n = 0, last = 0;

    memcpy(out, iv, BLOCK);
    must(EVP_EncryptInit_ex2(c, k->stream, k->key, iv, NULL));
    if (plain.n)
        must(EVP_EncryptUpdate(c, out + BLOCK, &n, (const byte *)plain.p, (int)plain.n));
    must(EVP_EncryptFinal_ex(c, out + BLOCK + n, &last));
    EVP_CIPHER_CTX_free(c);
    n += BLOCK + last;
    cbc_mac(k, beside, out, (size_t)n, out + n);
    return (size_t)n + CBC_MAC;
}

static bool cbc_open(const struct aead_key *k, str beside, str sealed, byte *out, size_t *size)
{
    const byte *in = (const byte *)sealed.p;
    byte mac[CBC_MAC];
    EVP_CIPHER_CTX *c;
    int n = 0, last = 0;
    bool ok;

    if (sealed.n < BLOCK + BLOCK + CBC_MAC)
        return false;
    cbc_mac(k, beside, in, sealed.n - CBC_MAC, mac);
    if (CRYPTO_memcmp(mac, in + sealed.n - CBC_MAC, CBC_MAC) != 0)
        return false;
    c = context();
    must(EVP_DecryptInit_ex2(c, k->stream, k->key, in, NULL));
    ok = EVP_DecryptUpdate(c, out, &n, in + BLOCK, (int)(sealed.n - BLOCK - CBC_MAC)) == 1 &&
         EVP_DecryptFinal_ex(c, out + n, &last) == 1;
    EVP_CIPHER_CTX_free(c);
    *size = (size_t)n + (size_t)last;
    return ok;
}

/* ---- both ---- */

size_t aead_seal_with(const struct aead_key *k, const char nonce[AEAD_NONCE_MAX], str beside,
                      str plain, char *out)
{
    return (k->form == AEAD_AESGCM ? gcm_seal : cbc_seal)(k, (const byte *)nonce, beside, plain,
                                                          (byte *)out);
}

size_t aead_seal(const struct aead_key *k, str beside, str plain, char *out)
{
    char nonce[AEAD_NONCE_MAX];

    rand_bytes(nonce, sizeof(nonce));
    return aead_seal_with(k, nonce, beside, plain, out);
}

bool aead_open(const struct aead_key *k, str beside, str sealed, char *out, size_t *n)
{
    bool ok = (k->form == AEAD_AESGCM ? gcm_open : cbc_open)(k, beside, sealed, (byte *)out, n);

    /* GCM has written before it knew: what is not vouched for is seen by nobody. */
    if (!ok)
        mem_wipe(out, sealed.n);
    return ok;
}
