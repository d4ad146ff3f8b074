/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

/*
 * CRC-32C (Castagnoli), the checksum of everything durable.  By the processor's instruction where
 * there is one (found out at run time), else by tables.
 */

#include <stddef.h>
#include <stdint.h>

/* The sum of p[0 … n) continued from `crc` (0 to begin): crc32c(crc32c(0, a), b) is that of ab. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);

/* The same by tables alone: what crc32c() falls back to, apart so that tests can compare. */
uint32_t crc32c_tables(uint32_t crc, const void *p, size_t n);

#endif
