/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/outline.h"

#include "base/banned.h"
#include "base/epoch.h"
#include "base/memo.h"
#include "object/meta/typed.h"
#include "json/scan.h"

enum {
    TEXT_MAX = 4 << 10,
    WORD_MAX = UINT8_MAX,
    /* Tags: a value's type, or one of these. */
    TAG_END = 0x40,    /* of a container: no item of a list begins with it */
    TAG_ABSENT = 0x41, /* a key that an item has not */
    TAG_IGNORED = 0x42,
};

static struct memo known;

/*
 * The text is a run of tags, each with a short word, from which with the schema all that counts
 * could be read again.  Who draws gets the place of the next tag and gives it back; NULL: the text
 * is too long, or there is what has no outline.
 */
struct drawing {
    const char *end;
    bool leaves; /* what is in a leaf counts, too */
};

__attribute__((always_inline)) static inline char *put(const struct drawing *d, char *to,
                                                       unsigned tag, str word)
{
    uint16_t head = (uint16_t)(tag << 8 | word.n);

    if (!to || word.n > WORD_MAX || (size_t)(d->end - to) < word.n + sizeof(head))
        return NULL;
    memcpy(to, &head, sizeof(head));
    to += sizeof(head);
    (void)scan_copy(to, word);
    return to + word.n;
}

/* Endpoints ignore whole members. */
static char *put_ignored(const struct drawing *d, char *to, const struct fieldset_node *n)
{
    if (n->kind != PATH_NAME || !n->member || n->below.n)
        return NULL;
    return put(d, to, TAG_IGNORED, n->text);
}

/* What tells items apart: strings and numbers, as a rule. */
static char *put_key(const struct drawing *d, char *to, const struct json *v)
{
    if (!v)
        return put(d, to, TAG_ABSENT, STR_NONE);
    if (v->type == JSON_STRING)
        return put(d, to, JSON_STRING, json_str(v));
    if (v->type == JSON_INT)
        return put(d, to, JSON_INT, (str){ (const char *)&v->i, sizeof(v->i) });
    return NULL;
}

/* What is one field has only types in it. */
static char *draw_leaf(const struct drawing *d, char *to, const struct json *v)
{
    json_for_each_member (m, v) {
        to = put(d, to, m->value.type, m->name);
        if (!to)
            return NULL;
        to = draw_leaf(d, to, &m->value);
    }
    json_for_each (item, v) {
        to = put(d, to, item->type, STR_NONE);
        if (!to)
            return NULL;
        to = draw_leaf(d, to, item);
    }
    return place_may_cut(v) ? put(d, to, TAG_END, STR_NONE) : to;
}

static char *draw(const struct drawing *d, char *to, struct typed_place p, const struct json *v);

static char *draw_members(const struct drawing *d, char *to, struct typed_place p,
                          const struct json *v)
{
    json_for_each_member (m, v) {
        to = put(d, to, m->value.type, m->name);
        if (!to)
            return NULL;
        if (place_may_cut(&m->value))
            to = draw(d, to, place_member(p, m->name), &m->value);
    }
    return put(d, to, TAG_END, STR_NONE);
}

static char *draw_items(const struct drawing *d, char *to, struct typed_place p, enum shape shape,
                        const struct json *v)
{
    struct typed_place inside = place_item(p);
    size_t n = 0;
    const str *keys = shape == SHAPE_KEYED ? place_keys(p, &n) : NULL;

    json_for_each (item, v) {
        if (shape == SHAPE_SET) {
            to = put_key(d, to, item);
            continue;
        }
        if (!to || n == 0 || item->type != JSON_OBJECT)
            return NULL;
        for (size_t i = 0; i < n; i++)
            to = put_key(d, to, place_key(item, keys[i]));
        to = draw_members(d, to, inside, item);
    }
    return put(d, to, TAG_END, STR_NONE);
}

/* A list or an object. */
static char *draw(const struct drawing *d, char *to, struct typed_place p, const struct json *v)
{
    enum shape shape = place_shape(p, v, NULL);

    if (shape == SHAPE_MAP)
        return draw_members(d, to, p, v);
    if (shape != SHAPE_LEAF)
        return draw_items(d, to, p, shape, v);
    return d->leaves ? draw_leaf(d, to, v) : to;
}

struct outline outline_of(struct arena *a, const struct schema *s, uint64_t serial,
                          enum outline_use use, const struct fieldset *ignored,
                          const struct json *v)
{
    struct drawing d = { .leaves = use == OUTLINE_APPLIED };
    struct outline out = { 0 };
    char *text, *to;

    /* What is new of a native type is compared by its values (typed_compare). */
    if (!serial || (use == OUTLINE_NEW && !s->rules) || !json_is(v, JSON_OBJECT) ||
        json_path(v, "metadata.ownerReferences"))
        return out;
    text = arena_alloc_raw(a, TEXT_MAX);
    d.end = text + TEXT_MAX;
    to = put(&d, text, use, (str){ (const char *)&serial, sizeof(serial) });
    for (uint32_t i = 0; ignored && i < ignored->n; i++)
        to = put_ignored(&d, to, &ignored->nodes[i]);
    to = draw_members(&d, to, place_root(s), v);
    if (!to)
        return out;
    out.text = (str){ text, (size_t)(to - text) };
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
