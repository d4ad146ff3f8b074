/* SPDX-License-Identifier: Apache-2.0 */
#include "base/uuid.h"

#include <endian.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/rand.h"

/* The first byte of each group of the text form, and the last one's end. */
static const unsigned char groups[] = { 0, 4, 6, 8, 10, 16 };

static void format(char out[UUID_SIZE], unsigned char id[16], unsigned version)
{
    id[6] = (unsigned char)((id[6] & 0x0f) | version << 4);
    id[8] = (unsigned char)((id[8] & 0x3f) | 0x80);
    for (size_t g = 0; g + 1 < sizeof(groups); g++) {
        hex_encode(out, id + groups[g], (size_t)groups[g + 1] - groups[g]);
        out += 2 * (groups[g + 1] - groups[g]);
        *out++ = '-';
    }
    out[-1] = '\0';
}

void uuid_v4(char out[UUID_SIZE])
{
    unsigned char id[16];

    rand_bytes(id, sizeof(id));
    format(out, id, 4);
}

static bool parse(str s, unsigned char id[16])
{
    if (s.n != UUID_LEN)
        return false;
    for (size_t g = 0, at = 0; g + 1 < sizeof(groups); g++) {
        size_t n = (size_t)groups[g + 1] - groups[g];

        if (!hex_decode(str_sub(s, at, 2 * n), id + groups[g]))
            return false;
        at += 2 * n;
        if (at < s.n && s.p[at++] != '-')
            return false;
    }
    return true;
}

/*
 * SHA-1 (RFC 3174): UUIDv5 is defined by it, nothing here trusts it.  OpenSSL has one too, but base
 * has no libraries (ADR 0008).
 */
struct sha1 {
    uint32_t h[5];
    unsigned char block[64];
    uint64_t n;
};

static uint32_t rotl(uint32_t x, int b)
{
    return (x << b) | (x >> (32 - b));
}

static uint32_t sha1_mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    default:
        return (b ^ c ^ d) + 0xca62c1d6;
    }
}

static void sha1_block(struct sha1 *s)
{
    uint32_t w[80], v[5];

    memcpy(v, s->h, sizeof(v));
    for (size_t i = 0; i < 80; i++) {
        if (i < 16) {
            memcpy(&w[i], s->block + 4 * i, 4);
            w[i] = be32toh(w[i]);
        } else {
            w[i] = rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        }
    }
    for (unsigned i = 0; i < 80; i++) {
        uint32_t t = rotl(v[0], 5) + sha1_mix(i, v[1], v[2], v[3]) + v[4] + w[i];

        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotl(v[1], 30);
        v[1] = v[0];
        v[0] = t;
    }
    for (size_t i = 0; i < 5; i++)
        s->h[i] += v[i];
}

static void sha1_add(struct sha1 *s, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->block[s->n++ % 64] = ((const unsigned char *)p)[i];
        if (s->n % 64 == 0)
            sha1_block(s);
    }
}

static void sha1_end(struct sha1 *s, unsigned char out[20])
{
    uint64_t bits = htobe64(s->n * 8);

    sha1_add(s, "\x80", 1);
    while (s->n % 64 != 56)
        sha1_add(s, "", 1);
    sha1_add(s, &bits, sizeof(bits));
    for (size_t i = 0; i < 5; i++) {
        uint32_t be = htobe32(s->h[i]);

        memcpy(out + 4 * i, &be, 4);
    }
}

bool uuid_v5(char out[UUID_SIZE], str space, str name)
{
    struct sha1 s = { .h = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 } };
    unsigned char id[16], digest[20];

    if (!parse(space, id))
        return false;
    sha1_add(&s, id, sizeof(id));
    sha1_add(&s, name.p, name.n);
    sha1_end(&s, digest);
    format(out, digest, 5);
    return true;
}
