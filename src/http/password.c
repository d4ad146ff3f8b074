/* SPDX-License-Identifier: Apache-2.0 */
#include "http/password.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/rand.h"

#define SCHEME "pbkdf2-sha512"

enum { ROUNDS = 120000, ROUNDS_MAX = 10000000, SALT = 16, HASH = 32 };

const str password_nobody = STR_INIT(SCHEME "$120000$AAAAAAAAAAAAAAAAAAAAAA==$"
                                            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");

static bool derive(secret password, str salt, int rounds, unsigned char out[HASH])
{
    str text = secret_reveal(password);

    return PKCS5_PBKDF2_HMAC(text.p, (int)text.n, (const unsigned char *)salt.p, (int)salt.n,
                             rounds, EVP_sha512(), HASH, out) == 1;
}

str password_hash(struct arena *a, secret password)
{
    unsigned char hash[HASH];
    char salt[SALT];
    str s = { salt, SALT }, h = { (const char *)hash, HASH };

    rand_bytes(salt, SALT);
    if (!derive(password, s, ROUNDS, hash))
        abort(); /* all is of our own choice: no memory */
    return str_printf(a, SCHEME "$%d$%.*s$%.*s", ROUNDS, STR_ARG(base64_encode(a, BASE64_STD, s)),
                      STR_ARG(base64_encode(a, BASE64_STD, h)));
}

bool password_is(str hash, secret password)
{
    scoped_arena a = arena_new();
    unsigned char got[HASH];
    str part[4], want, salt;
    int64_t rounds;

    for (size_t i = 0; i < 4; i++)
        if (!str_split(&hash, '$', &part[i]))
            return false;
    if (hash.n || !str_is(part[0], SCHEME) || !str_to_i64(part[1], &rounds) || rounds < 1 ||
        rounds > ROUNDS_MAX || !base64_decode(a, BASE64_STD, part[2], &salt) ||
        !base64_decode(a, BASE64_STD, part[3], &want) || want.n != HASH)
        return false;
    return derive(password, salt, (int)rounds, got) && CRYPTO_memcmp(got, want.p, HASH) == 0;
}
