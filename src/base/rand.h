/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_RAND_H
#define BASE_RAND_H

/*
 * Randomness.  rand_* is the kernel's, fit for keys and tokens, and cannot fail; small requests are
 * served from a buffer of the thread, wiped as it is used.  A process that forks must not draw in
 * both halves.  rand_seq is the opposite: a short, fast, repeatable sequence for tests, fault
 * injection and load, never for anything secret.
 */

#include <stddef.h>
#include <stdint.h>

void rand_bytes(void *out, size_t n);
uint64_t rand_u64(void);
uint32_t rand_below(uint32_t n); /* 0 … n-1, each as likely; n > 0 */

/* The tail that generateName adds, with a NUL.  k8s: apimachinery/pkg/util/rand, String(5). */
enum { RAND_SUFFIX_LEN = 5 };
void rand_suffix(char out[RAND_SUFFIX_LEN + 1]);

struct rand_seq {
    uint64_t state; /* any seed */
};
uint64_t rand_seq_u64(struct rand_seq *r);
uint32_t rand_seq_below(struct rand_seq *r, uint32_t n);

#endif
