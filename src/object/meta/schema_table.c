/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The format in short (src/kinds/tables/README.md has it in full):
 *
 *     table io.k8s.api.core.v1
 *     use meta io.k8s.apimachinery.pkg.apis.meta.v1
 *     kind ConfigMap | Configuration that programs read at run time.
 *       data      2 map[string] | Text by key.
 *       immutable 4 *bool       | Set to true: the data can never change again.
 *     list ConfigMap
 *
 * Here the text becomes types; object/meta/schema_link.c makes them whole.
 */

#include "object/meta/schema_table.h"

#include <assert.h>

#include "base/banned.h"
#include "base/mem.h"
#include "object/meta/schema_set.h"

enum {
    USES_MAX = 16,
    WORDS_MAX = 24,
    FIELDS_MAX = 128,
    EMBEDS_MAX = 8,
    NAME_MAX_BYTES = 256,
    NESTING_MAX = 8, /* of a type: map[[]string] is 3 deep */
};

struct parser {
    struct schema_set *set;
    struct status *st;
    str prefix; /* of the table */
    unsigned line;
    struct {
        str name, prefix;
    } uses[USES_MAX];
    size_t nuses;
    struct type *open; /* whose fields follow */
    struct schema_field fields[FIELDS_MAX];
    size_t nfields;
    struct schema_embed embeds[EMBEDS_MAX];
    size_t nembeds;
};

struct schema_words {
    str w[WORDS_MAX];
    size_t n;
    str doc;
};

static const struct json zero_string = { .type = JSON_STRING, .n = 0, .s = "" };
static const struct json zero_quantity = { .type = JSON_STRING, .n = 1, .s = "0" };
static const struct json zero_int = { .type = JSON_INT };
static const struct json zero_bool = { .type = JSON_BOOL };

/* Word, type, OpenAPI name, zero. */
#define SCALARS(X)                                                                                \
    X("string", STRING, "", &zero_string)                                                         \
    X("bytes", BYTES, "", &zero_string)                                                           \
    X("bool", BOOL, "", &zero_bool)                                                               \
    X("int32", INT32, "", &zero_int)                                                              \
    X("int64", INT64, "", &zero_int)                                                              \
    X("double", DOUBLE, "", &zero_int)                                                            \
    X("time", TIME, "io.k8s.apimachinery.pkg.apis.meta.v1.Time", NULL)                            \
    X("microtime", MICROTIME, "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", NULL)             \
    X("quantity", QUANTITY, "io.k8s.apimachinery.pkg.api.resource.Quantity", &zero_quantity)      \
    X("intorstring", INT_OR_STRING, "io.k8s.apimachinery.pkg.util.intstr.IntOrString", &zero_int) \
    X("any", ANY, "", NULL)

static const struct schema scalars[] = {
#define X(word, type_, name_, zero_) \
    [SCHEMA_##type_] = { .type = SCHEMA_##type_, .name = STR_INIT(name_), .zero = (zero_) },
    SCALARS(X)
#undef X
};

/* Lists and maps of scalars are most of all types: one of each is enough. */
static const struct schema scalar_lists[] = {
#define X(word, type_, name_, zero_) \
    [SCHEMA_##type_] = { .type = SCHEMA_LIST, .items = &scalars[SCHEMA_##type_] },
    SCALARS(X)
#undef X
};

static const struct schema scalar_maps[] = {
#define X(word, type_, name_, zero_) \
    [SCHEMA_##type_] = { .type = SCHEMA_MAP, .items = &scalars[SCHEMA_##type_] },
    SCALARS(X)
#undef X
};

static int mistake(struct parser *p, const char *what, str word)
{
    return status_set(p->st, REASON_INTERNAL, "table %.*s, line %u: %s \"%.*s\"",
                      STR_ARG(p->prefix), p->line, what, STR_ARG(word));
}

/* The type of that name, made if nobody has spoken of it before. */
static int intern(struct parser *p, str prefix, str name, str said, struct type **out)
{
    struct schema_set *set = p->set;
    char text[NAME_MAX_BYTES];
    str full = { text, prefix.n + 1 + name.n };
    struct type *t;

    if (prefix.n == 0 || name.n == 0 || full.n > sizeof(text))
        return mistake(p, "not a name:", said);
    memcpy(text, prefix.p, prefix.n);
    text[prefix.n] = '.';
    memcpy(text + prefix.n + 1, name.p, name.n);
    t = map_get(&set->names, full);
    if (!t) {
        t = arena_new_of(set->arena, struct type);
        *t = (struct type){ .table = p->prefix, .said = said, .line = p->line };
        t->schema.name = str_dup(set->arena, full);
        (void)map_put(&set->names, t->schema.name, t);
        if (set->n == set->cap) {
            set->cap = set->cap ? 2 * set->cap : 64;
            set->types = mem_realloc_n(set->types, set->cap, sizeof(*set->types));
        }
        set->types[set->n++] = t;
    }
    *out = t;
    return 0;
}

static int find_use(struct parser *p, str name, str said, str *prefix)
{
    for (size_t i = 0; i < p->nuses; i++)
        if (str_eq(p->uses[i].name, name)) {
            *prefix = p->uses[i].prefix;
            return 0;
        }
    return mistake(p, "prefix without a use line:", said);
}

static const struct schema *find_scalar(str word)
{
    static const struct {
        str word;
        enum schema_type type;
    } names[] = {
#define X(word_, type_, name_, zero_) { STR_INIT(word_), SCHEMA_##type_ },
        SCALARS(X)
#undef X
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (str_eq(names[i].word, word))
            return &scalars[names[i].type];
    return NULL;
}

/* T or P.T */
static int parse_name(struct parser *p, str word, const struct schema **out)
{
    ptrdiff_t dot = str_find(word, '.', 0);
    str prefix = p->prefix, name = word;
    struct type *t = NULL;

    if (dot >= 0) {
        name = str_from(word, (size_t)dot + 1);
        if (find_use(p, str_sub(word, 0, (size_t)dot), word, &prefix) < 0)
            return -1;
    }
    if (intern(p, prefix, name, word, &t) < 0)
        return -1;
    *out = &t->schema;
    return 0;
}

static const struct schema *container(struct parser *p, enum schema_type type,
                                      const struct schema *items)
{
    struct type *of = NULL;
    struct schema *s;

    if (items->type < SCHEMA_OBJECT && items == &scalars[items->type])
        return type == SCHEMA_LIST ? &scalar_lists[items->type] : &scalar_maps[items->type];
    if (type == SCHEMA_LIST && items->name.n)
        of = (struct type *)(uintptr_t)items; /* every named schema begins one */
    if (of && of->list)
        return of->list;
    s = arena_new_of(p->set->arena, struct schema);
    *s = (struct schema){ .type = type, .items = items };
    if (of)
        of->list = s;
    return s;
}

static int parse_type(struct parser *p, str word, const struct schema **out)
{
    enum schema_type around[NESTING_MAX];
    const struct schema *s;
    str rest = word;
    size_t n = 0;

    for (;; n++) {
        bool list = str_starts(rest, STR("[]"));
        bool map = str_starts(rest, STR("map[")) && str_ends(rest, STR("]"));

        if (!list && !map)
            break;
        if (n == NESTING_MAX)
            return mistake(p, "too deep a type:", word);
        around[n] = list ? SCHEMA_LIST : SCHEMA_MAP;
        rest = list ? str_from(rest, 2) : str_sub(rest, 4, rest.n - 5);
    }
    s = find_scalar(rest);
    if (!s && parse_name(p, rest, &s) < 0)
        return -1;
    while (n > 0)
        s = container(p, around[--n], s);
    *out = s;
    return 0;
}

static int parse_proto(struct parser *p, str word, uint32_t *out)
{
    uint64_t n = 0;

    if (str_is(word, "-")) {
        *out = 0;
        return 0;
    }
    if (!str_to_u64(word, &n) || n == 0 || n >= 1u << 29)
        return mistake(p, "not a protobuf field number:", word);
    *out = (uint32_t)n;
    return 0;
}

/* a,b,c */
static int parse_names(struct parser *p, str value, const str **out, unsigned *n)
{
    size_t count = 1, i = 0;
    str *names;

    if (value.n == 0)
        return mistake(p, "names are missing:", value);
    for (ptrdiff_t at = -1; (at = str_find(value, ',', (size_t)(at + 1))) >= 0;)
        count++;
    names = arena_array(p->set->arena, str, count);
    for (str rest = value, part; i < count && str_split(&rest, ',', &part);)
        names[i++] = part;
    *out = names;
    *n = (unsigned)i;
    return 0;
}

static int flag_always(struct parser *p, struct schema_field *f, str value)
{
    if (f->presence == SCHEMA_POINTER)
        return mistake(p, "a pointer cannot be always there:", f->name);
    (void)value;
    f->presence = SCHEMA_ALWAYS;
    return 0;
}

static int flag_required(struct parser *p, struct schema_field *f, str value)
{
    (void)p;
    (void)value;
    f->required = true;
    return 0;
}

static int flag_merge(struct parser *p, struct schema_field *f, str value)
{
    (void)p;
    f->patch_merge = true;
    f->merge_key = value;
    return 0;
}

static int flag_retain(struct parser *p, struct schema_field *f, str value)
{
    (void)p;
    (void)value;
    f->retain_keys = true;
    return 0;
}

static int flag_replace(struct parser *p, struct schema_field *f, str value)
{
    (void)p;
    (void)value;
    f->replaced = true;
    return 0;
}

static int flag_atomic(struct parser *p, struct schema_field *f, str value)
{
    (void)p;
    (void)value;
    f->map_atomic = true;
    return 0;
}

static int flag_granular(struct parser *p, struct schema_field *f, str value)
{
    (void)p;
    (void)value;
    f->granular = true;
    return 0;
}

static int flag_shown(struct parser *p, struct schema_field *f, str value)
{
    (void)p;
    (void)value;
    f->shown = true;
    return 0;
}

static int flag_off(struct parser *p, struct schema_field *f, str value)
{
    (void)p;
    (void)value;
    f->off = true;
    return 0;
}

static int flag_list(struct parser *p, struct schema_field *f, str value)
{
    f->list_typed = true;
    if (str_is(value, "atomic"))
        f->list_type = SCHEMA_LIST_ATOMIC;
    else if (str_is(value, "set"))
        f->list_type = SCHEMA_LIST_SET;
    else if (str_starts(value, STR("map(")) && str_ends(value, STR(")"))) {
        f->list_type = SCHEMA_LIST_MAP;
        return parse_names(p, str_sub(value, 4, value.n - 5), &f->list_keys, &f->nlist_keys);
    } else
        return mistake(p, "not a list type:", value);
    return 0;
}

static int flag_default(struct parser *p, struct schema_field *f, str value)
{
    if (json_parse(p->set->arena, value, NULL, &f->default_value, p->st) < 0)
        return mistake(p, "not a JSON value:", value);
    return 0;
}

/* A default that is not published: Kubernetes' own code fills it in. */
static int flag_fill(struct parser *p, struct schema_field *f, str value)
{
    if (json_parse(p->set->arena, value, NULL, &f->absent, p->st) < 0)
        return mistake(p, "not a JSON value:", value);
    return 0;
}

/* Blanks part words, so one inside of a value is written as ~. */
static int flag_enum(struct parser *p, struct schema_field *f, str value)
{
    char *text = arena_alloc(p->set->arena, value.n + 1);

    for (size_t i = 0; i < value.n; i++)
        text[i] = value.p[i] == '~' ? ' ' : value.p[i];
    return parse_names(p, (str){ text, value.n }, &f->enums, &f->nenums);
}

static const struct {
    str name;
    enum { BARE = 1, VALUE = 2 } form; /* flag, flag=value */
    int (*set)(struct parser *p, struct schema_field *f, str value);
} flags[] = {
    { STR_INIT("always"), BARE, flag_always },
    { STR_INIT("required"), BARE, flag_required },
    { STR_INIT("merge"), (BARE | VALUE), flag_merge },
    { STR_INIT("retain"), BARE, flag_retain },
    { STR_INIT("replace"), BARE, flag_replace },
    { STR_INIT("atomic"), BARE, flag_atomic },
    { STR_INIT("granular"), BARE, flag_granular },
    { STR_INIT("shown"), BARE, flag_shown },
    { STR_INIT("off"), BARE, flag_off },
    { STR_INIT("list"), VALUE, flag_list },
    { STR_INIT("default"), VALUE, flag_default },
    { STR_INIT("fill"), VALUE, flag_fill },
    { STR_INIT("enum"), VALUE, flag_enum },
};

static int parse_flag(struct parser *p, struct schema_field *f, str word)
{
    ptrdiff_t eq = str_find(word, '=', 0);
    str name = eq < 0 ? word : str_sub(word, 0, (size_t)eq);
    str value = eq < 0 ? STR_NONE : str_from(word, (size_t)eq + 1);

    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (str_eq(flags[i].name, name) && flags[i].form & (eq < 0 ? BARE : VALUE))
            return flags[i].set(p, f, value);
    return mistake(p, "not a flag:", word);
}

static struct schema_field *new_field(struct parser *p)
{
    struct schema_field *f = &p->fields[p->nfields++];

    *f = (struct schema_field){ 0 };
    return f;
}

static int embed_line(struct parser *p, const struct schema_words *w)
{
    struct schema_embed *e = &p->embeds[p->nembeds];

    if (w->n != 3 || p->nembeds == EMBEDS_MAX)
        return mistake(p, "not an embedding:", w->w[0]);
    *e = (struct schema_embed){ 0 };
    if (parse_proto(p, w->w[1], &e->proto) < 0 || parse_name(p, w->w[2], &e->type) < 0)
        return -1;
    if (e->proto == 0)
        return mistake(p, "an embedding needs a protobuf number:", w->w[2]);
    p->nembeds++;
    return 0;
}

static int field_line(struct parser *p, const struct schema_words *w)
{
    struct schema_field *f;
    str type;

    if (!p->open)
        return mistake(p, "a field outside of a type:", w->w[0]);
    if (str_is(w->w[0], "+"))
        return embed_line(p, w);
    if (w->n < 3 || p->nfields == FIELDS_MAX)
        return mistake(p, "not a field, or one too many:", w->w[0]);
    f = new_field(p);
    f->name = w->w[0];
    f->doc = w->doc;
    type = w->w[2];
    if (type.n && type.p[0] == '*') {
        f->presence = SCHEMA_POINTER;
        type = str_from(type, 1);
    }
    if (parse_proto(p, w->w[1], &f->proto) < 0 || parse_type(p, type, &f->type) < 0)
        return -1;
    for (size_t i = 3; i < w->n; i++)
        if (parse_flag(p, f, w->w[i]) < 0)
            return -1;
    return 0;
}

/* The fields of the open type are all there. */
static void close_type(struct parser *p)
{
    struct type *t = p->open;
    struct schema_embed *embeds;

    if (!t)
        return;
    t->fields = arena_array(p->set->arena, struct schema_field, p->nfields);
    if (p->nfields)
        memcpy(t->fields, p->fields, p->nfields * sizeof(*t->fields));
    t->schema.fields = t->fields;
    t->schema.nfields = p->nfields;
    embeds = arena_array(p->set->arena, struct schema_embed, p->nembeds);
    if (p->nembeds)
        memcpy(embeds, p->embeds, p->nembeds * sizeof(*embeds));
    t->schema.embeds = embeds;
    t->schema.nembeds = p->nembeds;
    p->open = NULL;
    p->nfields = p->nembeds = 0;
}

static int define(struct parser *p, str name, enum schema_type type, str doc)
{
    struct type *t = NULL;

    if (intern(p, p->prefix, name, name, &t) < 0)
        return -1;
    if (t->defined)
        return mistake(p, "defined twice:", name);
    t->defined = true;
    t->schema.type = type;
    t->schema.doc = doc;
    p->open = t;
    return 0;
}

static void add_type_meta(struct parser *p)
{
    struct schema_field *v = new_field(p), *k = new_field(p);

    v->name = STR("apiVersion");
    v->type = &scalars[SCHEMA_STRING];
    v->doc = STR("Group and version of this representation, `group/version` or `v1`.");
    k->name = STR("kind");
    k->type = &scalars[SCHEMA_STRING];
    k->doc = STR("The kind of this object, in CamelCase; clients need not send it.");
}

static int add_metadata(struct parser *p, const char *type)
{
    struct schema_field *f = new_field(p);

    f->name = STR("metadata");
    f->proto = 1;
    f->presence = SCHEMA_ALWAYS;
    f->doc = STR("Standard metadata: name, namespace, labels and what the server keeps.");
    return parse_name(p, str_of(type), &f->type);
}

static int line_table(struct parser *p, const struct schema_words *w)
{
    if (w->n != 2 || p->prefix.n)
        return mistake(p, "one table per text:", w->w[0]);
    p->prefix = w->w[1];
    return 0;
}

static int line_use(struct parser *p, const struct schema_words *w)
{
    if (w->n != 3 || p->nuses == USES_MAX)
        return mistake(p, "not a use line, or one too many:", w->w[0]);
    p->uses[p->nuses].name = w->w[1];
    p->uses[p->nuses++].prefix = w->w[2];
    return 0;
}

/* union=FIELD(a,b) */
static int type_union(struct parser *p, str word)
{
    struct schema *s = &p->open->schema;
    ptrdiff_t paren = str_find(word, '(', 0);
    str said = STR("union=");

    if (!str_starts(word, said) || paren < 0 || !str_ends(word, STR(")")))
        return mistake(p, "not a type:", word);
    s->union_by = str_sub(word, said.n, (size_t)paren - said.n);
    return parse_names(p, str_sub(word, (size_t)paren + 1, word.n - (size_t)paren - 2),
                       &s->union_fields, &s->nunion_fields);
}

static int line_type(struct parser *p, const struct schema_words *w)
{
    if (define(p, w->w[1], SCHEMA_OBJECT, w->doc) < 0)
        return -1;
    for (size_t i = 2; i < w->n; i++) {
        if (str_is(w->w[i], "atomic"))
            p->open->schema.map_atomic = true;
        else if (type_union(p, w->w[i]) < 0)
            return -1;
    }
    return 0;
}

/* Free JSON with a name. */
static int line_free(struct parser *p, const struct schema_words *w)
{
    bool object = w->n == 3 && str_is(w->w[2], "object");

    if (w->n != 2 && !object)
        return mistake(p, "not free JSON:", w->w[w->n - 1]);
    if (define(p, w->w[1], SCHEMA_ANY, w->doc) < 0)
        return -1;
    p->open->schema.says_object = object;
    p->open->state = DONE;
    p->open = NULL;
    return 0;
}

static int line_part(struct parser *p, const struct schema_words *w)
{
    if (line_type(p, w) < 0)
        return -1;
    p->open->part = true;
    return 0;
}

static int line_root(struct parser *p, const struct schema_words *w)
{
    if (line_type(p, w) < 0)
        return -1;
    add_type_meta(p);
    return 0;
}

static int line_kind(struct parser *p, const struct schema_words *w)
{
    if (line_root(p, w) < 0)
        return -1;
    return add_metadata(p, "meta.ObjectMeta");
}

static int line_list(struct parser *p, const struct schema_words *w)
{
    struct schema_field *f;
    str name, doc;

    if (w->n != 2)
        return mistake(p, "not a list:", w->w[0]);
    name = str_printf(p->set->arena, "%.*sList", STR_ARG(w->w[1]));
    doc = str_printf(p->set->arena, "A list of objects of kind %.*s.", STR_ARG(w->w[1]));
    if (define(p, name, SCHEMA_OBJECT, doc) < 0)
        return -1;
    add_type_meta(p);
    if (add_metadata(p, "meta.ListMeta") < 0)
        return -1;
    f = new_field(p);
    f->name = STR("items");
    f->proto = 2;
    f->presence = SCHEMA_ALWAYS;
    f->required = true;
    f->doc = STR("The objects.");
    if (parse_type(p, str_printf(p->set->arena, "[]%.*s", STR_ARG(w->w[1])), &f->type) < 0)
        return -1;
    close_type(p);
    return 0;
}

static int line_alias(struct parser *p, const struct schema_words *w)
{
    const struct schema *list = NULL;
    struct type *t;

    if (w->n != 4 || define(p, w->w[1], SCHEMA_LIST, w->doc) < 0)
        return mistake(p, "not an alias:", w->w[0]);
    t = p->open;
    p->open = NULL;
    t->state = DONE;
    if (parse_proto(p, w->w[2], &t->schema.wrapped) < 0 || parse_type(p, w->w[3], &list) < 0)
        return -1;
    if (list->type != SCHEMA_LIST || !list->items || t->schema.wrapped == 0)
        return mistake(p, "an alias is for a list in a message:", w->w[3]);
    t->schema.items = list->items;
    return 0;
}

static int line_either(struct parser *p, const struct schema_words *w)
{
    struct schema_either *e = arena_new_of(p->set->arena, struct schema_either);

    if (w->n != 6 || define(p, w->w[1], SCHEMA_ANY, w->doc) < 0)
        return mistake(p, "not an either:", w->w[0]);
    p->open->state = DONE;
    p->open->schema.either = e;
    p->open = NULL;
    if (parse_proto(p, w->w[2], &e->object_proto) < 0 || parse_type(p, w->w[3], &e->object) < 0 ||
        parse_proto(p, w->w[4], &e->other_proto) < 0 || parse_type(p, w->w[5], &e->other) < 0)
        return -1;
    if (e->object_proto == 0 || e->other_proto == 0)
        return mistake(p, "an either is a message with two fields:", w->w[1]);
    return 0;
}

static const struct {
    str word;
    int (*fn)(struct parser *p, const struct schema_words *w);
} lines[] = {
    { STR_INIT("type"), line_type },     { STR_INIT("kind"), line_kind },
    { STR_INIT("list"), line_list },     { STR_INIT("root"), line_root },
    { STR_INIT("alias"), line_alias },   { STR_INIT("use"), line_use },
    { STR_INIT("table"), line_table },   { STR_INIT("part"), line_part },
    { STR_INIT("either"), line_either }, { STR_INIT("free"), line_free },
};

static int open_line(struct parser *p, const struct schema_words *w)
{
    close_type(p);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        if (!str_eq(lines[i].word, w->w[0]))
            continue;
        if (w->n < 2 || (p->prefix.n == 0) != (lines[i].fn == line_table))
            return mistake(p, "out of place:", w->w[0]);
        return lines[i].fn(p, w);
    }
    return mistake(p, "not a line of a table:", w->w[0]);
}

/* Words up to a lone | or a #; what follows the | is the documentation. */
static int split(struct parser *p, str line, struct schema_words *out)
{
    size_t i = 0;

    out->n = 0;
    out->doc = STR_NONE;
    for (;;) {
        size_t from;

        while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == '\r'))
            i++;
        if (i == line.n || line.p[i] == '#')
            return 0;
        from = i;
        while (i < line.n && line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r')
            i++;
        if (i - from == 1 && line.p[from] == '|') {
            out->doc = str_trim(str_from(line, i));
            return 0;
        }
        if (out->n == WORDS_MAX)
            return mistake(p, "too many words:", str_sub(line, from, i - from));
        out->w[out->n++] = str_sub(line, from, i - from);
    }
}

int schema_set_add(struct schema_set *s, str table, struct status *st)
{
    struct parser p;
    struct schema_words w;

    assert(!s->linked);
    p.set = s;
    p.st = st;
    p.prefix = STR_NONE;
    p.open = NULL;
    p.line = 0;
    p.nuses = p.nfields = p.nembeds = 0;
    for (str rest = table, line; str_split(&rest, '\n', &line);) {
        p.line++;
        if (split(&p, line, &w) < 0)
            return -1;
        if (w.n == 0)
            continue;
        if ((w.w[0].p == line.p ? open_line(&p, &w) : field_line(&p, &w)) < 0)
            return -1;
    }
    close_type(&p);
    if (p.prefix.n == 0)
        return mistake(&p, "no table line:", STR_NONE);
    return 0;
}
