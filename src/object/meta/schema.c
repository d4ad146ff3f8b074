/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decoding walks the document once and shares all that needs no change: a document as a typed
 * server would print it comes back as it is, without an allocation.
 */

#include "object/meta/schema.h"

#include <assert.h>
#include <math.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/encode.h"
#include "object/meta/quantity.h"
#include "object/meta/schema_rules.h"
#include "json/scan.h"

enum { FAULTS_MAX = 64, PROBES_MAX = 16 };

/* Where the decoder stands, from the inside out; made into text only when something is wrong. */
struct place {
    const struct place *up;
    bool is_item;
    str name;
    size_t index;
};

struct decoder {
    struct arena *arena;
    struct schema_faults *faults; /* may be NULL */
    struct status *st;
    bool gated;  /* fields that are off are kept */
    bool rounds; /* it is Kubernetes' own, not one of a CRD's */
};

/* Length and three letters tell the fields of one type apart well enough. */
static inline uint32_t slot_of(str name)
{
    uint32_t letters = (uint32_t)(unsigned char)name.p[0] |
                       (uint32_t)(unsigned char)name.p[name.n / 2] << 8 |
                       (uint32_t)(unsigned char)name.p[name.n - 1] << 16;

    return (letters ^ (uint32_t)name.n << 24) * 0x9e3779b1u >> 20;
}

/* False when so many names share a place that a search by name is quicker. */
static bool index_field(uint8_t *slots, uint32_t mask, str name, size_t i)
{
    uint32_t at = slot_of(name) & mask;
    unsigned steps = 0;

    while (slots[at] && steps++ < PROBES_MAX)
        at = (at + 1) & mask;
    if (slots[at])
        return false;
    slots[at] = (uint8_t)(i + 1);
    return true;
}

void schema_index(struct arena *a, struct schema *s)
{
    uint32_t size = 2;
    uint8_t *slots;

    if (s->nfields >= UINT8_MAX)
        return;
    while (size < 3 * s->nfields)
        size *= 2;
    slots = arena_array(a, uint8_t, size);
    for (size_t i = 0; i < s->nfields; i++)
        if (s->fields[i].name.n == 0 || !index_field(slots, size - 1, s->fields[i].name, i))
            return;
    s->slots = slots;
    s->slot_mask = size - 1;
}

static __attribute__((noinline)) const struct schema_field *search(const struct schema *s, str name)
{
    size_t from = 0, to = s->nfields;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = str_cmp(name, s->fields[mid].name);

        if (c == 0)
            return &s->fields[mid];
        if (c < 0)
            to = mid;
        else
            from = mid + 1;
    }
    return NULL;
}

const struct schema_field *schema_field(const struct schema *s, str name)
{
    if (!s->slots)
        return search(s, name);
    if (name.n == 0)
        return NULL;
    for (uint32_t at = slot_of(name);; at++) {
        unsigned place = s->slots[at & s->slot_mask];

        if (place == 0)
            return NULL;
        if (scan_equal(s->fields[place - 1].name, name))
            return &s->fields[place - 1];
    }
}

void schema_fault(struct arena *a, struct schema_faults *f, const char *fmt, ...)
{
    va_list ap;

    if (!f || f->n == FAULTS_MAX)
        return;
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 4;
        str *texts = arena_array(a, str, cap);
        const char **names = arena_array(a, const char *, cap);

        if (f->n) {
            memcpy(texts, f->texts, f->n * sizeof(*texts));
            memcpy(names, f->names, f->n * sizeof(*names));
        }
        f->texts = texts;
        f->names = names;
        f->cap = cap;
    }
    va_start(ap, fmt);
    f->names[f->n] = NULL;
    f->texts[f->n++] = str_of(arena_vprintf(a, fmt, ap));
    va_end(ap);
}

/* `spec.list[0].key.field`, the way strict decoding names a field. */
static str full_path(struct arena *a, const struct place *at)
{
    str up;

    if (!at)
        return STR("");
    up = full_path(a, at->up);
    if (at->is_item)
        return str_printf(a, "%.*s[%zu]", STR_ARG(up), at->index);
    return str_printf(a, "%.*s%s%.*s", STR_ARG(up), up.n ? "." : "", STR_ARG(at->name));
}

static int mismatch(struct decoder *d, const struct schema *s, const struct place *at, str given)
{
    static const char *const wanted[] = {
        [SCHEMA_STRING] = "a string",
        [SCHEMA_BYTES] = "a string in base64",
        [SCHEMA_BOOL] = "a boolean",
        [SCHEMA_INT32] = "an integer of 32 bits",
        [SCHEMA_INT64] = "an integer of 64 bits",
        [SCHEMA_DOUBLE] = "a number",
        [SCHEMA_TIME] = "a time as in RFC 3339",
        [SCHEMA_MICROTIME] = "a time as in RFC 3339 with microseconds",
        [SCHEMA_QUANTITY] = "a quantity",
        [SCHEMA_INT_OR_STRING] = "an integer of 32 bits or a string",
        [SCHEMA_OBJECT] = "an object",
        [SCHEMA_MAP] = "an object",
        [SCHEMA_LIST] = "an array",
    };
    str path = full_path(d->arena, at);

    return status_set(d->st, REASON_BAD_REQUEST, "%.*s%smust be %s, not %.*s", STR_ARG(path),
                      path.n ? ": " : "", wanted[s->type], STR_ARG(given));
}

static int wrong_type(struct decoder *d, const struct schema *s, const struct place *at,
                      const struct json *in)
{
    return mismatch(d, s, at, str_of(json_type_name(in)));
}

static bool same(const struct json *a, const struct json *b)
{
    if (a->type != b->type || a->n != b->n)
        return false;
    switch (a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->b == b->b;
    case JSON_INT:
    case JSON_FLOAT:
        return a->i == b->i; /* bit for bit: this asks whether it is the same value as read */
    case JSON_STRING:
    case JSON_ARRAY:
    case JSON_OBJECT:
        return a->s == b->s;
    }
    return false;
}

static struct json text_or(struct arena *a, const struct json *in, const char *text, size_t n)
{
    if (in->type == JSON_STRING && in->n == n && memcmp(in->s, text, n) == 0)
        return *in;
    return json_of_str(str_dup(a, (str){ text, n }));
}

static int decode_int(struct decoder *d, const struct schema *s, const struct place *at,
                      const struct json *in, struct json *out)
{
    struct json v = *in;

    if (in->type == JSON_FLOAT)
        v = json_of_float(in->f);
    else if (in->type != JSON_INT)
        return wrong_type(d, s, at, in);
    if (v.type != JSON_INT || (s->type != SCHEMA_INT64 && v.i != (int32_t)v.i)) {
        str text = json_text(d->arena, in);

        return mismatch(d, s, at, text);
    }
    *out = v;
    return 0;
}

static int decode_bytes(struct decoder *d, const struct schema *s, const struct place *at,
                        const struct json *in, struct json *out)
{
    str bytes, text = json_str(in);

    if (in->type != JSON_STRING)
        return wrong_type(d, s, at, in);
    *out = *in;
    if (base64_decode(d->arena, BASE64_STD, text, &bytes))
        return 0; /* as we would write it */
    if (!base64_decode(d->arena, BASE64_GO, text, &bytes))
        return status_set(d->st, REASON_BAD_REQUEST, "illegal base64 data in %.*s",
                          STR_ARG(full_path(d->arena, at)));
    *out = json_of_str(base64_encode(d->arena, BASE64_STD, bytes));
    return 0;
}

/* Of a time that was read: whether it is written as we write it.  Most are, and formatting costs
 * ten times as much as reading. */
static bool is_canonical_time(str s, bool micro)
{
    static const char forms[][28] = { "    -  -  T  :  :  Z", "    -  -  T  :  :  .      Z" };
    const char *form = forms[micro];

    if (s.n != strlen(form))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (form[i] != ' ' && form[i] != s.p[i])
            return false;
    return true;
}

/* k8s: apimachinery/pkg/apis/meta/v1/time.go, micro_time.go; the year 1 is Go's zero time. */
static int decode_time(struct decoder *d, const struct schema *s, const struct place *at,
                       const struct json *in, struct json *out)
{
    const int64_t zero_s = -62135596800;
    bool micro = s->type == SCHEMA_MICROTIME;
    char text[TIME_TEXT_SIZE];
    str given = json_str(in);
    int64_t t = 0;
    size_t n;

    if (in->type != JSON_STRING)
        return wrong_type(d, s, at, in);
    if (!(micro ? time_parse_micro(given, &t) : time_parse_seconds(given, &t)))
        return mismatch(d, s, at, json_text(d->arena, in));
    if (t == (micro ? zero_s * 1000000 : zero_s)) {
        *out = json_null;
        return 0;
    }
    if (is_canonical_time(given, micro)) {
        *out = *in;
        return 0;
    }
    n = micro ? time_format_micro(text, t) : time_format_seconds(text, t);
    *out = json_of_str(str_dup(d->arena, (str){ text, n }));
    return 0;
}

static int decode_quantity(struct decoder *d, const struct schema *s, const struct place *at,
                           const struct json *in, struct json *out)
{
    str text;

    if (in->type != JSON_STRING && in->type != JSON_INT && in->type != JSON_FLOAT)
        return wrong_type(d, s, at, in);
    text = in->type == JSON_STRING ? str_trim(json_str(in)) : json_text(d->arena, in);
    if (!quantity_canonical(d->arena, text, &text))
        return status_set(d->st, REASON_BAD_REQUEST,
                          "quantities must match the regular expression "
                          "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    *out = text_or(d->arena, in, text.p, text.n);
    return 0;
}

static int decode_int_or_string(struct decoder *d, const struct schema *s, const struct place *at,
                                const struct json *in, struct json *out)
{
    if (in->type != JSON_STRING)
        return decode_int(d, s, at, in, out);
    *out = *in;
    return 0;
}

static int decode_value(struct decoder *d, const struct schema *s, const struct place *at,
                        const struct json *in, struct json *out);

static int decode_list(struct decoder *d, const struct schema *s, const struct place *at,
                       const struct json *in, struct json *out)
{
    const struct json *zero = s->items->zero ? s->items->zero : &json_null;
    struct place here = { .up = at, .is_item = true };
    struct json_array r = { 0 };

    if (in->type != JSON_ARRAY)
        return wrong_type(d, s, at, in);
    for (uint32_t i = 0; i < in->n; i++) {
        const struct json *item = &in->items[i];
        struct json v = *zero;

        here.index = i;
        if (item->type != JSON_NULL && decode_value(d, s->items, &here, item, &v) < 0)
            return -1;
        if (!r.arena && same(&v, item))
            continue;
        if (!r.arena) {
            r = json_array_new(d->arena);
            for (uint32_t j = 0; j < i; j++)
                json_push(&r, in->items[j]);
        }
        json_push(&r, v);
    }
    *out = r.arena ? json_array_value(&r) : *in;
    return 0;
}

/* A copy of the first n members, to go on with. */
static struct json_object copy_members(struct decoder *d, const struct json *in, uint32_t n)
{
    struct json head = *in;

    head.n = n;
    return json_object_from(d->arena, &head);
}

/* k8s: core/v1/defaults.go SetDefaults_ResourceList: amounts are whole thousandths. */
static struct json rounded_up(struct decoder *d, struct json v)
{
    enum { MILLI = 1000000 };
    bool may_be_finer = false; /* few are, by their suffix */
    struct quantity q;

    for (uint32_t i = 0; v.type == JSON_STRING && i < v.n && !may_be_finer; i++)
        may_be_finer = str_find(STR("un.e"), v.s[i], 0) >= 0;
    if (!may_be_finer || !quantity_parse(json_str(&v), &q) || q.nanos % MILLI == 0)
        return v;
    q.nanos += q.nanos < 0 ? -(MILLI + q.nanos % MILLI) : MILLI - q.nanos % MILLI;
    return json_of_str(quantity_print(d->arena, &q));
}

static int decode_map(struct decoder *d, const struct schema *s, const struct place *at,
                      const struct json *in, struct json *out)
{
    const struct json *zero = s->items->zero ? s->items->zero : &json_null;
    struct place here = { .up = at };
    struct json_object o = { 0 };

    if (in->type != JSON_OBJECT)
        return wrong_type(d, s, at, in);
    for (uint32_t i = 0; i < in->n; i++) {
        const struct json_member *m = &in->members[i];
        struct json v = *zero;

        here.name = m->name;
        if (m->value.type != JSON_NULL && decode_value(d, s->items, &here, &m->value, &v) < 0)
            return -1;
        if (s->items->type == SCHEMA_QUANTITY && d->rounds)
            v = rounded_up(d, v);
        if (!o.arena && same(&v, &m->value))
            continue;
        if (!o.arena)
            o = copy_members(d, in, i);
        json_add(&o, m->name, v);
    }
    *out = o.arena ? json_object_value(&o) : *in;
    return 0;
}

static bool is_zero(const struct schema *s, const struct json *v)
{
    switch (s->type) {
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
    case SCHEMA_LIST:
        return v->n == 0;
    case SCHEMA_BOOL:
        return !v->b;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
        return v->type == JSON_INT ? v->i == 0 : v->f == 0;
    case SCHEMA_TIME:
    case SCHEMA_MICROTIME:
        return v->type == JSON_NULL;
    case SCHEMA_QUANTITY: /* Go structs are never left out */
    case SCHEMA_INT_OR_STRING:
    case SCHEMA_ANY:
        return false;
    }
    return false;
}

/* Decodes one member; *kept is false when it counts as absent. */
static int decode_field(struct decoder *d, const struct schema_field *f, const struct place *at,
                        const struct json *in, struct json *out, bool *kept)
{
    *kept = false;
    if (in->type == JSON_NULL)
        return 0;
    if (decode_value(d, f->type, at, in, out) < 0)
        return -1;
    if (f->off && !d->gated) {
        if (d->faults)
            d->faults->gated = true;
        return 0;
    }
    if (f->presence == SCHEMA_POINTER || !is_zero(f->type, out)) {
        *kept = true;
        return 0;
    }
    /* The zero of an ALWAYS field stays, unless it has a default; but an empty list or map is
     * Go's nil. */
    *kept =
        f->presence == SCHEMA_ALWAYS && !f->defaulted && (d->gated || f->type->type < SCHEMA_MAP);
    if (f->presence == SCHEMA_ALWAYS && f->type->type >= SCHEMA_MAP && d->faults)
        d->faults->gated = true;
    return 0;
}

static void unknown_field(struct decoder *d, const struct place *at, str name)
{
    struct place here = { .up = at, .name = name };
    struct json path;

    if (!d->faults || d->faults->n == FAULTS_MAX)
        return;
    path = json_of_str(full_path(d->arena, &here));
    schema_fault(d->arena, d->faults, "unknown field %.*s", STR_ARG(json_text(d->arena, &path)));
    d->faults->names[d->faults->n - 1] = name.p;
}

static void fill_absent(struct decoder *d, const struct schema *s, const struct json *in,
                        uint64_t filled, struct json_object *o)
{
    for (size_t i = 0; i < s->nfills; i++) {
        if (filled & (uint64_t)1 << i)
            continue;
        if (!o->arena)
            *o = copy_members(d, in, in->n);
        json_add(o, s->fills[i]->name, *s->fills[i]->absent);
    }
}

static int decode_object(struct decoder *d, const struct schema *s, const struct place *at,
                         const struct json *in, struct json *out)
{
    struct place here = { .up = at };
    struct schema_walk walk = schema_walk(s);
    struct json_object o = { 0 };
    uint64_t filled = 0;

    if (in->type != JSON_OBJECT)
        return wrong_type(d, s, at, in);
    for (uint32_t i = 0; i < in->n; i++) {
        const struct json_member *m = &in->members[i];
        const struct schema_field *f = schema_walk_field(&walk, m->name);
        struct json v = json_null;
        bool kept = false;

        here.name = m->name;
        if (!f)
            unknown_field(d, at, m->name);
        else if (decode_field(d, f, &here, &m->value, &v, &kept) < 0)
            return -1;
        if (kept && f->fill)
            filled |= (uint64_t)1 << (f->fill - 1);
        if (!o.arena && kept && same(&v, &m->value))
            continue;
        if (!o.arena)
            o = copy_members(d, in, i);
        if (kept)
            json_add(&o, m->name, v);
    }
    if (in->n == 0 && s->nfills) { /* many empty objects cost nothing */
        *out = *s->zero;
        return 0;
    }
    fill_absent(d, s, in, filled, &o);
    *out = o.arena ? json_object_value(&o) : *in;
    return 0;
}

/* k8s: apiextensions/v1/marshal.go: what is unknown below is dropped without a word. */
static int decode_either(struct decoder *d, const struct schema_either *e, const struct place *at,
                         const struct json *in, struct json *out)
{
    struct decoder silent = { .arena = d->arena, .st = d->st };

    return decode_value(&silent, in->type == JSON_OBJECT ? e->object : e->other, at, in, out);
}

static int decode_value(struct decoder *d, const struct schema *s, const struct place *at,
                        const struct json *in, struct json *out)
{
    switch (s->type) {
    case SCHEMA_STRING:
        if (in->type != JSON_STRING)
            return wrong_type(d, s, at, in);
        *out = *in;
        return 0;
    case SCHEMA_BOOL:
        if (in->type != JSON_BOOL)
            return wrong_type(d, s, at, in);
        *out = *in;
        return 0;
    case SCHEMA_DOUBLE:
        if (in->type != JSON_INT && in->type != JSON_FLOAT)
            return wrong_type(d, s, at, in);
        *out = *in;
        return 0;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        return decode_int(d, s, at, in, out);
    case SCHEMA_BYTES:
        return decode_bytes(d, s, at, in, out);
    case SCHEMA_TIME:
    case SCHEMA_MICROTIME:
        return decode_time(d, s, at, in, out);
    case SCHEMA_QUANTITY:
        return decode_quantity(d, s, at, in, out);
    case SCHEMA_INT_OR_STRING:
        return decode_int_or_string(d, s, at, in, out);
    case SCHEMA_ANY:
        if (s->either)
            return decode_either(d, s->either, at, in, out);
        *out = *in;
        return 0;
    case SCHEMA_OBJECT:
        return decode_object(d, s, at, in, out);
    case SCHEMA_MAP:
        return decode_map(d, s, at, in, out);
    case SCHEMA_LIST:
        return decode_list(d, s, at, in, out);
    }
    return wrong_type(d, s, at, in);
}

static int decode_all(struct decoder *d, const struct schema *s, const struct json *in,
                      const struct json **out)
{
    struct json v = json_null;

    assert(s->type == SCHEMA_OBJECT);
    d->rounds = str_starts(s->name, STR("io.k8s.api."));
    if (decode_value(d, s, NULL, in, &v) < 0)
        return -1;
    *out = same(&v, in) ? in : json_box(d->arena, v);
    return 0;
}

const struct schema schema_nothing = {
    .type = SCHEMA_ANY,
    .rules = &(const struct schema_rules){ .nullable = true },
};

int schema_decode(struct arena *a, const struct schema *s, const struct json *in,
                  struct schema_faults *faults, const struct json **out, struct status *st)
{
    struct decoder d = { .arena = a, .faults = faults, .st = st };

    if (s->rules)
        return s->rules->decode(a, s, in, faults, out, st);
    return decode_all(&d, s, in, out);
}

int schema_decode_gated(struct arena *a, const struct schema *s, const struct json *in,
                        const struct json **out, struct status *st)
{
    struct decoder d = { .arena = a, .st = st, .gated = true };

    return decode_all(&d, s, in, out);
}

static struct json without_zeros(struct arena *a, const struct schema *s, const struct json *v)
{
    struct json_object o = json_object_new(a);
    struct json_array list = json_array_new(a);

    if (s->type == SCHEMA_LIST && v->type == JSON_ARRAY) {
        json_for_each (item, v)
            json_push(&list, without_zeros(a, s->items, item));
        return json_array_value(&list);
    }
    if ((s->type != SCHEMA_OBJECT && s->type != SCHEMA_MAP) || v->type != JSON_OBJECT)
        return *v;
    json_for_each_member (m, v) {
        const struct schema_field *f = s->type == SCHEMA_OBJECT ? schema_field(s, m->name) : NULL;
        const struct schema *type = f ? f->type : s->items;
        struct json value = type ? without_zeros(a, type, &m->value) : m->value;

        if (!f || !type || f->presence != SCHEMA_OMITEMPTY || !is_zero(type, &value))
            json_add(&o, m->name, value);
    }
    return json_object_value(&o);
}

const struct json *schema_drop_zeros(struct arena *a, const struct schema *s,
                                     const struct json *tree)
{
    return json_box(a, without_zeros(a, s, tree));
}

static struct json zero_of(struct arena *a, const struct schema *s)
{
    struct json_object o;

    if (s->type != SCHEMA_OBJECT)
        return s->zero && s->type != SCHEMA_BYTES ? *s->zero : json_null;
    o = json_object_new(a);
    for (size_t i = 0; i < s->nfields; i++)
        if (s->fields[i].presence == SCHEMA_ALWAYS)
            json_add(&o, s->fields[i].name, zero_of(a, s->fields[i].type));
    return json_object_value(&o);
}

const struct json *schema_zero(struct arena *a, const struct schema *s)
{
    return s->rules ? &json_empty_object : json_box(a, zero_of(a, s));
}
