/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memo.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"

struct memo_pair {
    uint64_t hash;
    uint32_t nkey, nvalue;
    char bytes[]; /* the key, then the value */
};

static inline uint64_t mix(uint64_t h, const char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof(w));
    return ((h << 23 | h >> 41) ^ w) * 0x9e3779b97f4a7c15u;
}

uint64_t memo_hash(str key)
{
    uint64_t h = key.n;
    char last[8] = { 0 };
    size_t i = 0;

    for (; i + 8 <= key.n; i += 8)
        h = mix(h, key.p + i);
    if (key.n >= 8) /* what is left, with some of what is done */
        memcpy(last, key.p + key.n - 8, sizeof(last));
    else if (key.n)
        memcpy(last, key.p, key.n);
    h = mix(h, last);
    return h ^ h >> 32;
}

bool memo_find(struct memo *m, str key, uint64_t hash, str *value)
{
    const struct memo_pair *p =
        atomic_load_explicit(&m->slots[hash % MEMO_SLOTS].pair, memory_order_acquire);

    if (!p || p->hash != hash || !str_eq((str){ p->bytes, p->nkey }, key))
        return false;
    *value = (str){ p->bytes + p->nkey, p->nvalue };
    return true;
}

void memo_keep(struct memo *m, str key, uint64_t hash, str value)
{
    struct memo_slot *slot = &m->slots[hash % MEMO_SLOTS];
    struct memo_pair *p, *old;

    if (key.n + value.n > MEMO_PAIR_MAX)
        return;
    if (atomic_exchange_explicit(&slot->wanted, hash, memory_order_relaxed) != hash)
        return;
    p = mem_alloc(sizeof(*p) + key.n + value.n);
    *p = (struct memo_pair){ .hash = hash, .nkey = (uint32_t)key.n, .nvalue = (uint32_t)value.n };
    if (key.n)
        memcpy(p->bytes, key.p, key.n);
    if (value.n)
        memcpy(p->bytes + key.n, value.p, value.n);
    old = atomic_exchange_explicit(&slot->pair, p, memory_order_acq_rel);
    if (old)
        epoch_retire(free, old);
}
