/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "kinds/kinds.h"

/*
 * The first byte chooses one of Karmada's, kcp's and the fleet's kinds, the rest is an object of
 * it: decoded, defaulted, checked as on a create and as on an update of itself, and shown.
 */

enum { KINDS_MAX = 64 };

static const struct kind *chosen[KINDS_MAX];
static size_t nchosen;

static uint32_t type_id(void *arg, str group, str plural)
{
    (void)group;
    (void)plural;
    return ++*(uint32_t *)arg;
}

static bool is_ours(const struct kind *k)
{
    return str_ends(k->group, STR(".karmada.io")) || str_ends(k->group, STR(".kcp.dev")) ||
           str_is(k->group, "fleet.kairship.io");
}

static void choose(void)
{
    static uint32_t types;
    struct arena *a = arena_new();
    const struct catalog *c;
    struct status st;

    status_init(&st, a);
    if (kinds_init(type_id, &types, &st) < 0)
        abort();
    arena_free(a);
    c = kinds_catalog_root();
    for (size_t i = 0; i < c->nkinds && nchosen < KINDS_MAX; i++)
        if (is_ours(c->kinds[i]) && c->kinds[i]->ops->validate)
            chosen[nchosen++] = c->kinds[i];
}

static void look(const struct kind_context *c, const struct json *obj)
{
    const struct kind_ops *ops = c->kind->ops;
    const struct json *made = ops->prepare_create ? ops->prepare_create(c, obj) : obj;
    struct json_array cells = json_array_new(c->arena);
    struct status st;

    status_init(&st, c->arena);
    ops->validate(c, made, &st);
    if (st.ncauses == 0 && ops->review)
        (void)ops->review(c, made, NULL, &st);
    status_reset(&st);
    if (ops->prepare_update)
        made = ops->prepare_update(c, obj, made);
    if (ops->validate_update)
        ops->validate_update(c, made, made, &st);
    assert(st.ncauses == 0);
    if (ops->review)
        (void)ops->review(c, made, made, &st);
    ops->cells(c->arena, made, c->now_s, &cells);
    assert(cells.n == c->kind->ncolumns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    struct kind_context c = {
        .arena = a, .namespace_ = STR_INIT("ns"), .name = STR_INIT("x"), .create = true
    };
    const struct json *in = NULL, *obj = NULL;
    struct status st;

    if (nchosen == 0)
        choose();
    status_init(&st, a);
    if (size == 0 || json_parse(a, (str){ (const char *)data + 1, size - 1 }, NULL, &in, &st) < 0)
        return 0;
    c.kind = chosen[data[0] % nchosen];
    if (!json_is(in, JSON_OBJECT) || schema_decode(a, c.kind->schema, in, NULL, &obj, &st) < 0)
        return 0;
    look(&c, c.kind->ops->defaults ? c.kind->ops->defaults(&c, obj) : obj);
    return 0;
}
