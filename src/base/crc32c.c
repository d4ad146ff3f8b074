/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include "base/banned.h"

enum { POLYNOMIAL = 0x82f63b78 }; /* bit-reversed */

/* tables[k][b]: what byte b does to the sum when k bytes follow it. */
static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void tables_fill(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;

        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? (uint32_t)POLYNOMIAL : 0);
        tables[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
}

uint32_t crc32c_tables(uint32_t crc, const void *p, size_t n)
{
    const uint8_t *b = p;

    (void)pthread_once(&tables_once, tables_fill);
    crc = ~crc;
    for (; n >= 8; n -= 8, b += 8) {
        uint32_t low = crc ^ ((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                              (uint32_t)b[3] << 24);

        crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
              tables[4][low >> 24] ^ tables[3][b[4]] ^ tables[2][b[5]] ^ tables[1][b[6]] ^
              tables[0][b[7]];
    }
    for (; n > 0; n--, b++)
        crc = (crc >> 8) ^ tables[0][(crc ^ *b) & 0xff];
    return ~crc;
}

#if defined(__x86_64__)
/*
 * The instruction takes three cycles but one can begin in each, so three sums run side by side over
 * neighbouring blocks and are then put together: shifts[k][b] is what byte k of a sum, being b,
 * becomes when a block of zeros follows.
 */
enum { BLOCK = 256 };
static uint32_t shifts[4][256];
static pthread_once_t shifts_once = PTHREAD_ONCE_INIT;

static void shifts_fill(void)
{
    static const uint8_t zeros[BLOCK];

    for (int k = 0; k < 4; k++)
        for (uint32_t b = 0; b < 256; b++)
            shifts[k][b] = ~crc32c_tables(~(b << (8 * k)), zeros, BLOCK);
}

static uint32_t shift(uint32_t sum)
{
    return shifts[0][sum & 0xff] ^ shifts[1][sum >> 8 & 0xff] ^ shifts[2][sum >> 16 & 0xff] ^
           shifts[3][sum >> 24];
}

static uint64_t word_at(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof(word));
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *p,
                                                               size_t n)
{
    const uint8_t *b = p;
    uint64_t sum = ~crc;

    if (n >= BLOCK * 3)
        (void)pthread_once(&shifts_once, shifts_fill);
    for (; n >= BLOCK * 3; n -= BLOCK * 3, b += BLOCK * 3) {
        uint64_t second = 0, third = 0;

        for (size_t i = 0; i < BLOCK; i += 8) {
            sum = _mm_crc32_u64(sum, word_at(b + i));
            second = _mm_crc32_u64(second, word_at(b + BLOCK + i));
            third = _mm_crc32_u64(third, word_at(b + BLOCK * 2 + i));
        }
        sum = shift(shift((uint32_t)sum) ^ (uint32_t)second) ^ (uint32_t)third;
    }
    for (; n >= 8; n -= 8, b += 8)
        sum = _mm_crc32_u64(sum, word_at(b));
    for (; n > 0; n--, b++)
        sum = _mm_crc32_u8((uint32_t)sum, *b);
    return ~(uint32_t)sum;
}
#endif

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, p, n);
#endif
    return crc32c_tables(crc, p, n);
}
