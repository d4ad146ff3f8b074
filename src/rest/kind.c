/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/kind.h"

#include <stdatomic.h>

#include "base/banned.h"

static const struct {
    enum verb verb;
    const char *name;
} verbs[] = {
    { VERB_GET, "get" },       { VERB_LIST, "list" },
    { VERB_WATCH, "watch" },   { VERB_CREATE, "create" },
    { VERB_UPDATE, "update" }, { VERB_PATCH, "patch" },
    { VERB_DELETE, "delete" }, { VERB_DELETE_COLLECTION, "deletecollection" },
};

const char *verb_name(enum verb v)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        if (verbs[i].verb == v)
            return verbs[i].name;
    return "";
}

uint64_t kind_serial(void)
{
    static atomic_uint_fast64_t last;

    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

const struct subresource *kind_subresource(const struct kind *k, str name)
{
    for (size_t i = 0; i < k->nsubresources; i++)
        if (str_eq(k->subresources[i].name, name))
            return &k->subresources[i];
    return NULL;
}

bool catalog_has_group(const struct catalog *c, str group, str version)
{
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        if (str_eq(k->group, group) && (str_empty(version) || str_eq(k->version, version)))
            return true;
    }
    return false;
}

/* Its length and first letters: few kinds of one plural have these in common. */
static uint64_t beginning(str s)
{
    uint64_t w = 0;

    for (size_t i = 0; i < s.n && i < 7; i++)
        w = w << 8 | (unsigned char)s.p[i];
    return w << 8 | (s.n & 0xff);
}

static size_t slot_of(const struct catalog *c, str group, str version, str plural)
{
    uint64_t h = str_hash(plural, beginning(group), beginning(version));

    return h >> (64 - c->nslots_log2);
}

static bool is(const struct kind *k, str group, str version, str plural)
{
    return str_eq(k->plural, plural) && str_eq(k->version, version) && str_eq(k->group, group);
}

void catalog_index(struct arena *a, struct catalog *c)
{
    uint16_t *slots;

    c->nslots_log2 = 1;
    while (((size_t)1 << c->nslots_log2) < 2 * c->nkinds)
        c->nslots_log2++;
    slots = arena_array(a, uint16_t, (size_t)1 << c->nslots_log2);
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];
        size_t at = slot_of(c, k->group, k->version, k->plural);

        while (slots[at])
            at = (at + 1) & (((size_t)1 << c->nslots_log2) - 1);
        slots[at] = (uint16_t)(i + 1);
    }
    c->slots = slots;
}

static const struct kind *find_by_slot(const struct catalog *c, str group, str version, str plural)
{
    size_t at = slot_of(c, group, version, plural);

    for (; c->slots[at]; at = (at + 1) & (((size_t)1 << c->nslots_log2) - 1))
        if (is(c->kinds[c->slots[at] - 1], group, version, plural))
            return c->kinds[c->slots[at] - 1];
    return NULL;
}

const struct kind *catalog_find(const struct catalog *c, str group, str version, str plural)
{
    if (c->slots)
        return find_by_slot(c, group, version, plural);
    for (size_t i = 0; i < c->nkinds; i++)
        if (is(c->kinds[i], group, version, plural))
            return c->kinds[i];
    return NULL;
}

const struct kind *catalog_find_kind(const struct catalog *c, str api_version, str kind)
{
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        if (str_eq(k->kind, kind) && str_eq(k->api_version, api_version))
            return k;
    }
    return NULL;
}
