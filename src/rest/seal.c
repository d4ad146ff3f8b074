/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/seal.h"

#include "base/banned.h"

/* The header, then the key. */
enum { BESIDE_MAX = OBJ_HEADER + 2 * sizeof(uint32_t) + STORE_KEY_MAX };

static str beside(char out[BESIDE_MAX], const char head[OBJ_HEADER], const struct store_key *key)
{
    size_t n = 0;

    memcpy(out, head, OBJ_HEADER);
    n += OBJ_HEADER;
    memcpy(out + n, &key->type, sizeof(key->type));
    n += sizeof(key->type);
    memcpy(out + n, &key->instance, sizeof(key->instance));
    n += sizeof(key->instance);
    memcpy(out + n, key->name.p, key->name.n);
    return (str){ out, n + key->name.n };
}

str seal_value(struct seal *s, struct arena *a, const struct kind *k, const struct store_key *key,
               str value)
{
    char around[BESIDE_MAX], *out;
    size_t n;

    if (seal_is_current(s, k, STR_NONE))
        return value;
    out = arena_alloc_raw(a, value.n + SEAL_OVERHEAD_MAX);
    obj_head(value, true, out);
    n = s->close(s, k->storage_group, k->storage_plural, beside(around, out, key),
                 str_from(value, OBJ_HEADER), out + OBJ_HEADER);
    return n ? (str){ out, OBJ_HEADER + n } : value;
}

static int damaged(struct status *st, str name)
{
    return status_set(st, REASON_INTERNAL, "the stored object %.*s is damaged", STR_ARG(name));
}

int seal_view(struct seal *s, struct arena *a, const struct store_key *key, str value,
              struct obj *out, struct status *st)
{
    char around[BESIDE_MAX], *plain;
    size_t n = 0;

    if (!obj_is_sealed(value))
        return obj_view(value, out) ? 0 : damaged(st, key->name);
    if (!s)
        return status_set(st, REASON_INTERNAL,
                          "the stored object %.*s is sealed, and this server has no keys",
                          STR_ARG(key->name));
    plain = arena_alloc_raw(a, value.n);
    obj_head(value, false, plain);
    if (s->open(s, beside(around, value.p, key), seal_part(value), plain + OBJ_HEADER, &n, st) < 0)
        return status_wrap(st, "the stored object %.*s", STR_ARG(key->name));
    return obj_view((str){ plain, OBJ_HEADER + n }, out) ? 0 : damaged(st, key->name);
}

str seal_part(str value)
{
    return obj_is_sealed(value) ? str_from(value, OBJ_HEADER) : STR_NONE;
}

bool seal_is_current(struct seal *s, const struct kind *k, str part)
{
    return !s || s->is_current(s, k->storage_group, k->storage_plural, part);
}
