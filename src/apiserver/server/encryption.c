/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/server/encryption.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "apiserver/server/encryption_config.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "http/aead.h"

struct encryption {
    struct seal seal; /* first: its functions get this */
    _Atomic(struct encryption_config *) config;
};

/*
 * A sealed record: this, the name of the key, and what the key has made.  All of it stands beside
 * what is sealed, too.
 */
struct sealed_record {
    uint8_t version, form;
    char check[AEAD_CHECK];
    uint8_t name_bytes;
};

enum {
    RECORD_VERSION = 1,
    HEAD_MAX = sizeof(struct sealed_record) + ENCRYPTION_NAME_MAX,
    BESIDE_MAX = HEAD_MAX + OBJ_HEADER + 2 * sizeof(uint32_t) + STORE_KEY_MAX,
};
_Static_assert(HEAD_MAX + AEAD_OVERHEAD_MAX <= SEAL_OVERHEAD_MAX, "a record is not longer");
_Static_assert(sizeof(struct sealed_record) == 3 + AEAD_CHECK, "a record has no gaps");

static const struct encryption_config *config_of(struct seal *s)
{
    return atomic_load(&((struct encryption *)(void *)s)->config);
}

static size_t write_head(const struct encryption_key *k, char *out)
{
    struct sealed_record r = { .version = RECORD_VERSION,
                               .form = (uint8_t)k->form,
                               .name_bytes = (uint8_t)k->name.n };

    memcpy(r.check, aead_key_check(k->key).p, sizeof(r.check));
    memcpy(out, &r, sizeof(r));
    memcpy(out + sizeof(r), k->name.p, k->name.n);
    return sizeof(r) + k->name.n;
}

/* False when it is no record. */
static bool read_head(str sealed, struct sealed_record *r, str *name)
{
    if (sealed.n < sizeof(*r))
        return false;
    memcpy(r, sealed.p, sizeof(*r));
    *name = str_sub(sealed, sizeof(*r), r->name_bytes);
    return r->version == RECORD_VERSION && r->form < AEAD_FORMS && name->n == r->name_bytes &&
           name->n > 0 && name->n <= ENCRYPTION_NAME_MAX;
}

static bool is_of(const struct encryption_key *k, const struct sealed_record *r, str name)
{
    return r->form == k->form && str_eq(name, k->name) &&
           str_eq((str){ r->check, sizeof(r->check) }, aead_key_check(k->key));
}

/* The record's head and what the caller wants beside it. */
static str join(char out[BESIDE_MAX], str head, str beside)
{
    memcpy(out, head.p, head.n);
    memcpy(out + head.n, beside.p, beside.n);
    return (str){ out, head.n + beside.n };
}

static size_t seal_close(struct seal *s, str group, str plural, str beside, str plain, char *out)
{
    const struct encryption_key *k = encryption_config_writer(config_of(s), group, plural);
    char around[BESIDE_MAX];
    size_t n;

    if (!k)
        return 0;
    n = write_head(k, out);
    return n + aead_seal(k->key, join(around, (str){ out, n }, beside), plain, out + n);
}

static int missing(const struct encryption_config *c, const struct sealed_record *r, str name,
                   struct status *st)
{
    for (size_t i = 0; i < c->nkeys; i++)
        if (str_eq(c->keys[i].name, name) && c->keys[i].form == r->form)
            return status_set(st, REASON_INTERNAL,
                              "it is sealed with another key than the one that the encryption "
                              "configuration now names \"%.*s\" (%s)",
                              STR_ARG(name), encryption_form_name(r->form));
    return status_set(st, REASON_INTERNAL,
                      "it is sealed with the key \"%.*s\" (%s), which the encryption configuration "
                      "does not have",
                      STR_ARG(name), encryption_form_name(r->form));
}

static int seal_open(struct seal *s, str beside, str sealed, char *out, size_t *n,
                     struct status *st)
{
    const struct encryption_config *c = config_of(s);
    char around[BESIDE_MAX];
    struct sealed_record r;
    str name;

    if (!read_head(sealed, &r, &name))
        return status_set(st, REASON_INTERNAL, "what is sealed of it is damaged");
    for (size_t i = 0; i < c->nkeys; i++) {
        str head = str_sub(sealed, 0, sizeof(r) + name.n);

        if (!is_of(&c->keys[i], &r, name))
            continue;
        if (aead_open(c->keys[i].key, join(around, head, beside), str_from(sealed, head.n), out, n))
            return 0;
        return status_set(st, REASON_INTERNAL,
                          "it does not open with its key \"%.*s\": it was changed, or was put here "
                          "from elsewhere",
                          STR_ARG(name));
    }
    return missing(c, &r, name, st);
}

static bool seal_current(struct seal *s, str group, str plural, str sealed)
{
    const struct encryption_key *k = encryption_config_writer(config_of(s), group, plural);
    struct sealed_record r;
    str name;

    if (!k || sealed.n == 0)
        return !k && sealed.n == 0;
    return read_head(sealed, &r, &name) && is_of(k, &r, name);
}

struct encryption *encryption_new(void)
{
    struct encryption *e = mem_zalloc(sizeof(*e));

    e->seal = (struct seal){ seal_close, seal_open, seal_current };
    atomic_store(&e->config, encryption_config_new());
    return e;
}

static void retire(void *config)
{
    encryption_config_free(config);
}

void encryption_free(struct encryption *e)
{
    if (!e)
        return;
    encryption_config_free(atomic_load(&e->config));
    free(e);
}

int encryption_load(struct encryption *e, secret text, struct status *st)
{
    struct encryption_config *c = encryption_config_read(text, st);

    if (!c)
        return -1;
    epoch_retire(retire, atomic_exchange(&e->config, c));
    return 0;
}

struct seal *encryption_seal(struct encryption *e)
{
    return e ? &e->seal : NULL;
}
