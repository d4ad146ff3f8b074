/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/outline.h"

#include "base/banned.h"
#include "base/epoch.h"
#include "base/memo.h"
#include "meta/managers.h"
#include "meta/typed.h"
#include "json/scan.h"

enum {
    TEXT_MAX = 4 << 10,
    WORD_MAX = UINT16_MAX,
    IGNORED_MAX = 256,
    /* Tags: a value's type, or one of these. */
    TAG_END = 0x40,    /* of a container */
    TAG_ITEM = 0x41,   /* of a list that is cut */
    TAG_ABSENT = 0x42, /* a key that an item has not */
};

static struct memo known;

/*
 * The text is a run of tags, each with a word: what a schema and a text of it say together, only
 * one outline of an object says.
 */
struct drawing {
    char *at, *end;
    bool failed; /* too long, or with what has no outline */
    bool leaves; /* what is in a leaf counts, too */
};

static uint64_t no_mask(uint64_t w)
{
    (void)w;
    return 0;
}

static inline void put(struct drawing *d, unsigned tag, str word)
{
    uint16_t n = (uint16_t)word.n;

    if (word.n > WORD_MAX || (size_t)(d->end - d->at) < word.n + 1 + sizeof(n)) {
        d->failed = true;
        return;
    }
    *d->at = (char)tag;
    memcpy(d->at + 1, &n, sizeof(n));
    d->at += 1 + sizeof(n);
    (void)scan_copy_by(d->at, word, no_mask);
    d->at += word.n;
}

/* What tells items apart: strings and numbers, as a rule. */
static void put_key(struct drawing *d, const struct json *v)
{
    if (!v)
        put(d, TAG_ABSENT, STR_NONE);
    else if (v->type == JSON_STRING)
        put(d, JSON_STRING, json_str(v));
    else if (v->type == JSON_INT)
        put(d, JSON_INT, (str){ (const char *)&v->i, sizeof(v->i) });
    else
        d->failed = true;
}

static void draw(struct drawing *d, struct place p, const struct json *v);

static void draw_item(struct drawing *d, struct place p, enum shape shape, const struct json *item)
{
    size_t n;
    const str *keys;

    put(d, TAG_ITEM, STR_NONE);
    if (shape == SHAPE_SET) {
        put_key(d, item);
        return;
    }
    keys = place_keys(p, &n);
    for (size_t i = 0; i < n; i++)
        put_key(d, json_get(item, keys[i]));
    d->failed = d->failed || item->type != JSON_OBJECT;
    draw(d, place_item(p), item);
}

/* What is one field has only types in it. */
static void draw_leaf(struct drawing *d, const struct json *v)
{
    json_for_each_member (m, v) {
        put(d, m->value.type, m->name);
        if (d->failed)
            return;
        draw_leaf(d, &m->value);
    }
    json_for_each (item, v) {
        put(d, item->type, STR_NONE);
        if (d->failed)
            return;
        draw_leaf(d, item);
    }
    if (place_may_cut(v))
        put(d, TAG_END, STR_NONE);
}

static void draw_members(struct drawing *d, struct place p, const struct json *v)
{
    json_for_each_member (m, v) {
        put(d, m->value.type, m->name);
        if (d->failed)
            return;
        if (place_may_cut(&m->value))
            draw(d, place_member(p, m->name), &m->value);
    }
    put(d, TAG_END, STR_NONE);
}

/* A list or an object. */
static void draw(struct drawing *d, struct place p, const struct json *v)
{
    enum shape shape = place_shape(p, v, NULL);

    if (shape == SHAPE_MAP) {
        draw_members(d, p, v);
    } else if (shape != SHAPE_LEAF) {
        for (uint32_t i = 0; i < v->n && !d->failed; i++)
            draw_item(d, p, shape, &v->items[i]);
        put(d, TAG_END, STR_NONE);
    } else if (d->leaves) {
        draw_leaf(d, v);
    }
}

struct outline outline_of(struct arena *a, const struct schema *s, uint64_t serial,
                          enum outline_use use, const struct fieldset *ignored,
                          const struct json *v)
{
    scoped_buf less = { .max = IGNORED_MAX };
    struct drawing d = { .leaves = use == OUTLINE_APPLIED };
    struct outline out = { 0 };
    char *text;

    /* What is new of a native type is compared by its values (typed_compare). */
    if (!serial || (use == OUTLINE_NEW && !s->rules) || !json_is(v, JSON_OBJECT) ||
        json_path(v, "metadata.ownerReferences"))
        return out;
    if (ignored)
        managers_pack_set(&less, ignored);
    text = arena_alloc_raw(a, TEXT_MAX);
    d.at = text;
    d.end = text + TEXT_MAX;
    put(&d, use, (str){ (const char *)&serial, sizeof(serial) });
    put(&d, TAG_END, buf_str(&less));
    draw_members(&d, place_root(s), v);
    if (d.failed || buf_overflown(&less))
        return out;
    out.text = (str){ text, (size_t)(d.at - text) };
    out.hash = memo_hash(out.text);
    epoch_enter();
    if (memo_find(&known, out.text, out.hash, &out.fields))
        out.fields = str_dup(a, out.fields);
    epoch_exit();
    return out;
}

void outline_keep(const struct outline *o, str packed)
{
    if (o->text.n && packed.n)
        memo_keep(&known, o->text, o->hash, packed);
}
