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
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *p,
                                                               size_t n)
{
    const uint8_t *b = p;
    uint64_t sum = ~crc;

    for (; n >= 8; n -= 8, b += 8) {
        uint64_t word;

        memcpy(&word, b, sizeof(word));
        sum = _mm_crc32_u64(sum, word);
    }
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
