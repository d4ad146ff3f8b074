/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The form at rest:
 *
 *     entry   flags, [seconds], name, version, [subresource], [bytes of the set], set
 *     set     number of nodes, nodes
 *     node    (length or word) << 5 | word? | kind << 2 | below? | member?, text, [set]
 *     text    (length or word) << 1 | word?, bytes
 *
 * Numbers are LEB128.  A word is a number of the dictionary.  Sets are written with their number of
 * bytes; those of old rows are without.
 */

#include <pthread.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "base/memo.h"
#include "object/meta/managers.h"
#include "object/meta/managers_words.h"
#include "json/scan.h"

enum {
    PACKED_MAX = 8 << 20,
    DEPTH_MAX = JSON_DEPTH_MAX,
    HAS_TIME = 1 << 0,
    HAS_SUBRESOURCE = 1 << 1,
    IS_APPLY = 1 << 2,
    IS_MEASURED = 1 << 3,
    IS_MEMBER = 1 << 0,
    HAS_BELOW = 1 << 1,
    KIND_SHIFT = 2,
    IS_WORD = 1 << 4,
    NODE_SHIFT = 5,
    NUMBER_MAX = 10, /* bytes */
    ENTRY_NUMBERS = 6 * NUMBER_MAX,
    PACKED_USUAL = 1024,
};

struct word {
    str text;
    unsigned code;
};

/* Keys of list items are words too: they begin with a brace, which no other word does. */
static bool fits(const struct word *w, enum path_kind kind)
{
    return w && (w->text.p[0] == '{' ? kind == PATH_KEY : kind == PATH_NAME);
}

static const struct word sorted[] = {
#define X(c, t) { STR_INIT(t), c },
    MANAGERS_WORDS(X)
#undef X
};

enum { NWORDS = sizeof(sorted) / sizeof(*sorted) };

static const str words[NWORDS] = {
#define X(c, t) [c] = STR_INIT(t),
    MANAGERS_WORDS(X)
#undef X
};

/* As they stand in a set. */
static const str printed[NWORDS] = {
#define X(c, t) [c] = STR_INIT("\"f:" t "\":{"),
    MANAGERS_WORDS(X)
#undef X
};

enum { WORD_SLOTS = 1024 };

static uint16_t word_slots[WORD_SLOTS]; /* 1 + place in sorted */
static pthread_once_t words_once = PTHREAD_ONCE_INIT;

/* The text is not empty. */
static unsigned word_slot(str s)
{
    uint32_t h = (uint32_t)s.n;

    h = h * 31 + (unsigned char)s.p[0];
    h = h * 31 + (unsigned char)s.p[s.n / 2];
    h = h * 31 + (unsigned char)s.p[s.n - 1];
    return (h * 2654435761U) >> 22;
}

static void words_init(void)
{
    for (size_t i = 0; i < NWORDS; i++) {
        unsigned at = word_slot(sorted[i].text);

        while (word_slots[at])
            at = (at + 1) % WORD_SLOTS;
        word_slots[at] = (uint16_t)(i + 1);
    }
}

static const struct word *word_of(str text)
{
    if (text.n == 0)
        return NULL;
    for (unsigned at = word_slot(text); word_slots[at]; at = (at + 1) % WORD_SLOTS)
        if (scan_equal(sorted[word_slots[at] - 1].text, text))
            return &sorted[word_slots[at] - 1];
    return NULL;
}

/* ---- packing ---- */

/* Where the next byte goes. */
static inline char *put_at(char *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *to++ = (char)(v | 0x80);
    *to++ = (char)v;
    return to;
}

static void put(struct buf *b, uint64_t v)
{
    char *to = buf_reserve(b, NUMBER_MAX);

    if (to)
        b->n = (size_t)(put_at(to, v) - b->p);
}

static char *put_bytes(char *to, str s)
{
    if (s.n)
        memcpy(to, s.p, s.n);
    return to + s.n;
}

static char *put_text(char *to, str s)
{
    const struct word *w = word_of(s);

    to = put_at(to, w ? (uint64_t)w->code << 1 | 1 : (uint64_t)s.n << 1);
    return w ? to : put_bytes(to, s);
}

static void put_set(struct buf *b, const struct fieldset *s)
{
    put(b, s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct fieldset_node *n = &s->nodes[i];
        const struct word *found = word_of(n->text), *w = fits(found, n->kind) ? found : NULL;
        uint64_t head = (n->member ? IS_MEMBER : 0) | (n->below.n ? HAS_BELOW : 0) |
                        (uint64_t)n->kind << KIND_SHIFT | (w ? IS_WORD : 0);
        size_t bytes = w ? 0 : n->text.n;
        char *to = buf_reserve(b, NUMBER_MAX + bytes);

        if (!to)
            return;
        to = put_at(to, head | (uint64_t)(w ? w->code : n->text.n) << NODE_SHIFT);
        if (bytes)
            memcpy(to, n->text.p, bytes);
        b->n = (size_t)(to + bytes - b->p);
        if (n->below.n)
            put_set(b, &n->below);
    }
}

str managers_pack_set(struct arena *a, const struct fieldset *s)
{
    scoped_buf b = { .max = PACKED_MAX };

    (void)pthread_once(&words_once, words_init);
    (void)buf_reserve(&b, PACKED_USUAL);
    put_set(&b, s);
    return buf_overflown(&b) ? STR_NONE : str_dup(a, buf_str(&b));
}

static char *put_entry(char *to, const struct manager *e, str set)
{
    bool timed = e->time_s != MANAGER_NO_TIME;

    to = put_at(to, IS_MEASURED | (timed ? HAS_TIME : 0) |
                        (e->subresource.n ? HAS_SUBRESOURCE : 0) | (e->applied ? IS_APPLY : 0));
    if (timed)
        to = put_at(to, (uint64_t)e->time_s);
    to = put_text(to, e->name);
    to = put_text(to, e->api_version);
    if (e->subresource.n)
        to = put_text(to, e->subresource);
    to = put_at(to, set.n);
    return put_bytes(to, set);
}

str managers_pack(struct arena *a, const struct managers *m)
{
    str *sets = arena_array(a, str, m->n + 1);
    size_t most = 0;
    char *start, *to;

    (void)pthread_once(&words_once, words_init);
    for (size_t i = 0; i < m->n; i++) {
        const struct manager *e = &m->list[i];

        sets[i] = e->packed.n ? e->packed : managers_pack_set(a, &e->fields);
        most += sets[i].n + e->name.n + e->api_version.n + e->subresource.n + ENTRY_NUMBERS;
        if (sets[i].n == 0 || most > PACKED_MAX)
            return STR_NONE;
    }
    start = to = arena_alloc_raw(a, most);
    for (size_t i = 0; i < m->n; i++)
        to = put_entry(to, &m->list[i], sets[i]);
    return (str){ start, (size_t)(to - start) };
}

/* ---- reading ---- */

struct pack_reader {
    const unsigned char *p, *end;
    bool broken;
};

static uint64_t get_long(struct pack_reader *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; r->p < r->end && shift < 64; shift += 7) {
        unsigned char c = *r->p++;

        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            return v;
    }
    r->broken = true;
    return 0;
}

/* Mostly of one byte. */
static inline uint64_t get(struct pack_reader *r)
{
    return r->p < r->end && *r->p < 0x80 ? *r->p++ : get_long(r);
}

static str get_bytes(struct pack_reader *r, bool word, uint64_t n)
{
    str s;

    if (word && n < NWORDS)
        return words[n];
    if (word || n > (uint64_t)(r->end - r->p)) {
        r->broken = true;
        return STR_NONE;
    }
    s = (str){ (const char *)r->p, n };
    r->p += n;
    return s;
}

static str get_text(struct pack_reader *r)
{
    uint64_t v = get(r);

    return get_bytes(r, v & 1, v >> 1);
}

struct packed_entry {
    unsigned flags;
    int64_t time_s;
    str name, api_version, subresource;
    str set; /* if it is measured: else it comes next */
};

static struct packed_entry get_entry(struct pack_reader *r)
{
    struct packed_entry e = { .flags = (unsigned)get(r), .time_s = MANAGER_NO_TIME };

    if (e.flags & HAS_TIME)
        e.time_s = (int64_t)get(r);
    e.name = get_text(r);
    e.api_version = get_text(r);
    if (e.flags & HAS_SUBRESOURCE)
        e.subresource = get_text(r);
    if (e.flags & IS_MEASURED)
        e.set = get_bytes(r, false, get(r));
    return e;
}

/* Every node takes a byte at least, which bounds what a broken count can ask for. */
static uint32_t get_count(struct pack_reader *r)
{
    uint64_t n = get(r);

    if (n > (uint64_t)(r->end - r->p)) {
        r->broken = true;
        return 0;
    }
    return (uint32_t)n;
}

static struct fieldset get_set(struct arena *a, struct pack_reader *r, unsigned depth)
{
    uint32_t n = get_count(r);
    struct fieldset_node *nodes;

    if (depth > DEPTH_MAX)
        r->broken = true;
    if (r->broken || n == 0)
        return (struct fieldset){ 0 };
    nodes = arena_array(a, struct fieldset_node, n);
    for (uint32_t i = 0; i < n && !r->broken; i++) {
        uint64_t head = get(r);

        nodes[i].member = head & IS_MEMBER;
        nodes[i].kind = (enum path_kind)(head >> KIND_SHIFT & 3);
        nodes[i].text = get_bytes(r, head & IS_WORD, head >> NODE_SHIFT);
        if (head & HAS_BELOW)
            nodes[i].below = get_set(a, r, depth + 1);
    }
    return (struct fieldset){ nodes, n };
}

static struct pack_reader reader_of(str s)
{
    return (struct pack_reader){ (const unsigned char *)s.p, (const unsigned char *)s.p + s.n,
                                 false };
}

const struct fieldset *manager_fields(struct arena *a, struct manager *m)
{
    struct pack_reader r = reader_of(m->packed);

    if (m->packed.n == 0 || m->fields.n)
        return &m->fields;
    m->fields = get_set(a, &r, 0);
    if (r.broken || r.p < r.end)
        manager_own(m, (struct fieldset){ 0 });
    return &m->fields;
}

bool managers_unpack(struct arena *a, str packed, struct managers *out)
{
    struct pack_reader r = reader_of(packed);
    size_t cap = 0;

    *out = (struct managers){ 0 };
    while (r.p < r.end && !r.broken) {
        struct packed_entry e = get_entry(&r);

        if (out->n == cap) {
            struct manager *grown = arena_array(a, struct manager, cap ? 2 * cap : 4);

            if (cap)
                memcpy(grown, out->list, cap * sizeof(*grown));
            out->list = grown;
            cap = cap ? 2 * cap : 4;
        }
        out->list[out->n] = (struct manager){ .name = e.name,
                                              .api_version = e.api_version,
                                              .subresource = e.subresource,
                                              .applied = e.flags & IS_APPLY,
                                              .time_s = e.time_s,
                                              .packed = e.set };
        if (!(e.flags & IS_MEASURED))
            out->list[out->n].fields = get_set(a, &r, 0);
        out->n++;
    }
    return !r.broken;
}

/* ---- printing ---- */

/*
 * Every answer that has an object in it comes through here, so that it writes to memory directly:
 * `at` is where the next byte goes, and up to `end` there is room.
 */
struct out {
    struct buf *buf;
    char *at, *end;
};

enum { ROOM = 512, AROUND = 24 }; /* AROUND: what one node has besides its text */

static void flush(struct out *o)
{
    if (o->at)
        o->buf->n = (size_t)(o->at - o->buf->p);
}

/* False when the buffer is full. */
static bool make_room(struct out *o, size_t n)
{
    flush(o);
    o->at = buf_reserve(o->buf, n > ROOM ? n : ROOM);
    o->end = o->at ? o->buf->p + o->buf->cap : NULL;
    return o->at;
}

static inline bool room(struct out *o, size_t n)
{
    return ((size_t)(o->end - o->at) >= n && o->at) || make_room(o, n);
}

static void emit(struct out *o, const char *p, size_t n)
{
    memcpy(o->at, p, n);
    o->at += n;
}

#define EMIT(o, literal) emit((o), literal, sizeof(literal) - 1)

/* False when there is more to escape than quotes and backslashes. */
static bool emit_quoted(struct out *o, str s)
{
    char *to = o->at;

    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < ' ')
            return false;
        if (s.p[i] == '"' || s.p[i] == '\\')
            *to++ = '\\';
        *to++ = s.p[i];
    }
    o->at = to;
    return true;
}

/* The element and the brace behind it; there is room if all bytes of the text are escaped. */
static void print_element(struct out *o, enum path_kind kind, str text)
{
    char *start = o->at;

    EMIT(o, "\"?:");
    start[1] = "fkvi"[kind];
    if (kind == PATH_NAME && scan_copy(o->at, text)) {
        o->at += text.n;
        EMIT(o, "\":{");
        return;
    }
    if (emit_quoted(o, text)) {
        EMIT(o, "\":{");
        return;
    }
    o->at = start;
    flush(o);
    fieldset_print_key(o->buf, kind, text);
    o->at = o->end = NULL;
    if (room(o, AROUND))
        EMIT(o, "{");
}

/* False when there is no room or something is broken. */
static inline bool print_node(struct out *o, struct pack_reader *r, uint64_t head, bool first)
{
    bool word = head & IS_WORD;
    enum path_kind kind = (enum path_kind)(head >> KIND_SHIFT & 3);
    str text = get_bytes(r, word, head >> NODE_SHIFT);

    if (r->broken || !room(o, 2 * text.n + AROUND))
        return false;
    if (!first)
        EMIT(o, ",");
    if (word && kind == PATH_NAME)
        emit(o, printed[head >> NODE_SHIFT].p, printed[head >> NODE_SHIFT].n);
    else
        print_element(o, kind, text);
    return true;
}

/* The set behind an opening brace, and the closing one. */
static void print_set(struct out *o, struct pack_reader *r, bool member, unsigned depth)
{
    uint32_t n = get_count(r);

    if (depth > DEPTH_MAX || !room(o, AROUND))
        r->broken = true;
    if (member && !r->broken)
        EMIT(o, "\".\":{},");
    for (uint32_t i = 0; i < n && !r->broken; i++) {
        uint64_t head = get(r);

        if (!print_node(o, r, head, i == 0))
            break;
        if (head & HAS_BELOW)
            print_set(o, r, head & IS_MEMBER, depth + 1);
        else if (room(o, 1))
            EMIT(o, "}");
    }
    if (room(o, AROUND))
        EMIT(o, "}");
}

static void print_fields(struct buf *b, struct pack_reader *r)
{
    struct out o = { .buf = b };

    print_set(&o, r, false, 0);
    flush(&o);
}

/* What programs write has few forms: the texts of sets that come again are kept. */
static struct memo texts;

static void print_measured(struct buf *b, str set, struct pack_reader *r)
{
    uint64_t hash = memo_hash(set);
    struct pack_reader own = reader_of(set);
    size_t start = b->n;
    str text;
    bool known;

    epoch_enter();
    known = memo_find(&texts, set, hash, &text);
    if (known)
        buf_str_append(b, text);
    epoch_exit();
    if (known)
        return;
    print_fields(b, &own);
    if (own.broken || own.p < own.end)
        r->broken = true;
    else if (!buf_overflown(b))
        memo_keep(&texts, set, hash, str_from(buf_str(b), start));
}

static void print_entry(struct buf *b, struct pack_reader *r)
{
    struct packed_entry e = get_entry(r);
    char time[TIME_TEXT_SIZE];

    buf_lit(b, "{\"apiVersion\":");
    json_print_string(b, e.api_version);
    buf_lit(b, ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{");
    if (e.flags & IS_MEASURED)
        print_measured(b, e.set, r);
    else
        print_fields(b, r);
    buf_lit(b, ",\"manager\":");
    json_print_string(b, e.name);
    if (e.flags & IS_APPLY)
        buf_lit(b, ",\"operation\":\"Apply\"");
    else
        buf_lit(b, ",\"operation\":\"Update\"");
    if (e.subresource.n) {
        buf_lit(b, ",\"subresource\":");
        json_print_string(b, e.subresource);
    }
    if (e.time_s != MANAGER_NO_TIME) {
        buf_lit(b, ",\"time\":\"");
        buf_append(b, time, time_format_seconds(time, e.time_s));
        buf_byte(b, '"');
    }
    buf_byte(b, '}');
}

void managers_print(struct buf *b, str packed)
{
    struct pack_reader r = reader_of(packed);
    size_t start = b->n;

    buf_byte(b, '[');
    while (r.p < r.end && !r.broken) {
        if (b->n > start + 1)
            buf_byte(b, ',');
        print_entry(b, &r);
    }
    buf_byte(b, ']');
    if (r.broken && !buf_overflown(b)) {
        b->n = start;
        buf_lit(b, "[]");
    }
}

const struct json *managers_json(struct arena *a, str packed)
{
    scoped_buf b = { .max = 4 * PACKED_MAX };
    const struct json *v = &json_empty_array;
    struct status st;

    status_init(&st, a);
    managers_print(&b, packed);
    if (buf_overflown(&b) || json_parse(a, buf_str(&b), NULL, &v, &st) < 0)
        return &json_empty_array;
    return v;
}
