/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The reader of YAML: libyaml finds the structure, this file says what it means, which is what
 * sigs.k8s.io/yaml (go-yaml v2, then Go's JSON) makes of it.
 *
 * An alias shares the value of its anchor, so it costs no memory here; but whoever prints or walks
 * the result pays for each of its places, which is why the expanded size is counted and limited.
 */

#include <math.h>
#include <yaml.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/map.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/number.h"
#include "json/reader.h"
#include "json/yaml_scalar.h"

enum {
    EXPANDED_NODES_MAX = 1000 * 1000,
    EXPANDED_TIMES = 10,
    EXPANDED_FREE = 64 << 10, /* small documents may use aliases as they like */
    NODE_SIZE = 4,            /* what a node adds to the size beside its text */
    TAG_DIRECTIVES_MAX = 100,
};

struct anchor {
    struct json value;
    size_t nodes, size; /* before it while it is read, then its own */
    unsigned height;
    bool done;
};

struct yaml {
    yaml_parser_t parser;
    struct reader r;
    size_t line;        /* of the last event, from 0 */
    struct map anchors; /* name -> struct anchor */
    size_t nodes, size; /* of what was read, with aliases expanded */
    size_t size_max;
    unsigned deepest; /* deepest nesting since the innermost open anchor */
};

static int node(struct yaml *y, yaml_event_t *ev, struct json *out);

static int fail(struct yaml *y, const char *what)
{
    (void)status_set(y->r.st, REASON_BAD_REQUEST,
                     "error converting YAML to JSON: yaml: line %zu: %s", y->line + 1, what);
    return -1;
}

static int next(struct yaml *y, yaml_event_t *ev)
{
    if (yaml_parser_parse(&y->parser, ev)) {
        y->line = ev->start_mark.line;
        return 0;
    }
    if (y->parser.error == YAML_MEMORY_ERROR)
        mem_exhausted();
    if (y->parser.error != YAML_READER_ERROR)
        y->line = y->parser.problem_mark.line;
    return fail(y, y->parser.problem ? y->parser.problem : "unknown problem");
}

/* k8s: goyaml.v2/resolve.go; the words of YAML 1.1, in the spellings that go-yaml knows. */
static const struct {
    str word;
    struct json value;
} words[] = {
#define WORD(word, ...) \
    {                   \
        STR_INIT(word), \
        {               \
            __VA_ARGS__ \
        }               \
    }
#define YES(word)      WORD(word, .type = JSON_BOOL, .b = true)
#define NO(word)       WORD(word, .type = JSON_BOOL, .b = false)
#define NOTHING(word)  WORD(word, .type = JSON_NULL)
#define FLOAT(word, v) WORD(word, .type = JSON_FLOAT, .f = (v))
    YES("y"),
    YES("Y"),
    YES("yes"),
    YES("Yes"),
    YES("YES"),
    YES("true"),
    YES("True"),
    YES("TRUE"),
    YES("on"),
    YES("On"),
    YES("ON"),
    NO("n"),
    NO("N"),
    NO("no"),
    NO("No"),
    NO("NO"),
    NO("false"),
    NO("False"),
    NO("FALSE"),
    NO("off"),
    NO("Off"),
    NO("OFF"),
    NOTHING(""),
    NOTHING("~"),
    NOTHING("null"),
    NOTHING("Null"),
    NOTHING("NULL"),
    FLOAT(".nan", NAN),
    FLOAT(".NaN", NAN),
    FLOAT(".NAN", NAN),
    FLOAT(".inf", INFINITY),
    FLOAT(".Inf", INFINITY),
    FLOAT(".INF", INFINITY),
    FLOAT("+.inf", INFINITY),
    FLOAT("+.Inf", INFINITY),
    FLOAT("+.INF", INFINITY),
    FLOAT("-.inf", -INFINITY),
    FLOAT("-.Inf", -INFINITY),
    FLOAT("-.INF", -INFINITY),
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes 0x, 0o, 0b or the 0 of an octal number from *z and says the base. */
static unsigned take_base(const char **z)
{
    char mark;

    if ((*z)[0] != '0' || (*z)[1] == '\0')
        return 10;
    mark = (char)((*z)[1] | ('a' - 'A'));
    *z += mark == 'x' || mark == 'o' || mark == 'b' ? 2 : 1;
    return mark == 'x' ? 16 : (mark == 'b' ? 2 : 8);
}

static unsigned digit_value(char c)
{
    if (is_digit(c))
        return (unsigned)(c - '0');
    c |= 'a' - 'A';
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

/* As Go's ParseInt(z, 0, 64) and ParseUint; beyond int64 it is a float. */
static bool read_int(const char *z, struct json *out)
{
    bool negative = *z == '-';
    uint64_t v = 0;
    unsigned base;

    z += *z == '-' || *z == '+';
    base = take_base(&z);
    if (!*z)
        return false;
    for (; *z; z++) {
        unsigned d = digit_value(*z);

        if (d >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)d, &v))
            return false;
    }
    if (v <= (uint64_t)INT64_MAX + negative) {
        *out = json_of_int(negative ? (int64_t)(0 - v) : (int64_t)v);
        return true;
    }
    *out = (struct json){ .type = JSON_FLOAT, .f = (double)v };
    return !negative;
}

static const char *skip_digits(const char *z)
{
    while (is_digit(*z))
        z++;
    return z;
}

/* Sign, digits with a point anywhere, exponent. */
static bool read_float(const char *z, struct json *out)
{
    const char *start = z, *whole, *point;
    double f;

    z += *z == '-' || *z == '+';
    whole = z;
    z = skip_digits(z);
    point = z;
    if (*z == '.')
        z = skip_digits(z + 1);
    if (point == whole && z <= point + 1)
        return false;
    if (*z == 'e' || *z == 'E') {
        z++;
        z += *z == '-' || *z == '+';
        if (!is_digit(*z))
            return false;
        z = skip_digits(z);
    }
    if (*z || !number_parse(start, &f))
        return false;
    *out = (struct json){ .type = JSON_FLOAT, .f = f };
    return true;
}

static const char *without_underscores(struct arena *a, str text)
{
    char *z;
    size_t n = 0;

    if (str_find(text, '_', 0) < 0)
        return text.p;
    z = arena_alloc_raw(a, text.n + 1);
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '_')
            z[n++] = text.p[i];
    z[n] = '\0';
    return z;
}

struct json yaml_guess(struct arena *a, str text)
{
    struct json v = json_of_str(text);
    const char *z = text.p;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (str_eq(words[i].word, text))
            return words[i].value;
    if (strlen(z) != text.n)
        return v;
    if (*z == '.') {
        (void)read_float(z, &v);
    } else if (is_digit(*z) || *z == '-' || *z == '+') {
        z = without_underscores(a, text);
        if (!read_int(z, &v))
            (void)read_float(z, &v);
    }
    return v;
}

/* Go's JSON makes U+FFFD of every byte that is not UTF-8. */
static str valid_utf8(struct arena *a, str s)
{
    static const char replacement[] = { '\xef', '\xbf', '\xbd' };
    char *to;
    size_t n = 0, i = 0;

    if (str_utf8_valid(s))
        return s;
    to = arena_alloc_raw(a, 3 * s.n);
    while (i < s.n) {
        size_t len = 1;

        while (len <= 4 && len <= s.n - i && !str_utf8_valid(str_sub(s, i, len)))
            len++;
        if (len > 4 || len > s.n - i) {
            memcpy(to + n, replacement, sizeof(replacement));
            n += sizeof(replacement);
            i++;
        } else {
            memcpy(to + n, s.p + i, len);
            n += len;
            i += len;
        }
    }
    return (str){ to, n };
}

static bool tag_is(const char *tag, const char *name)
{
    static const char prefix[] = YAML_STR_TAG;
    size_t n = sizeof(prefix) - sizeof("str");

    return strncmp(tag, prefix, n) == 0 && strcmp(tag + n, name) == 0;
}

/* Tags that demand a type, and those that make do with an int where a float is asked for. */
static int check_tag(struct yaml *y, const char *tag, struct json *v)
{
    static const struct {
        const char *name;
        enum json_type type;
    } types[] = {
        { "null", JSON_NULL }, { "bool", JSON_BOOL }, { "int", JSON_INT }, { "float", JSON_FLOAT }
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (!tag_is(tag, types[i].name) || v->type == types[i].type)
            continue;
        if (types[i].type == JSON_FLOAT && v->type == JSON_INT) {
            *v = (struct json){ .type = JSON_FLOAT, .f = (double)v->i };
            continue;
        }
        return fail(y,
                    arena_printf(y->r.arena, "cannot decode the value as a !!%s", types[i].name));
    }
    return 0;
}

static int scalar(struct yaml *y, const yaml_event_t *ev, struct json *out)
{
    const char *tag = (const char *)ev->data.scalar.tag;
    str text =
        str_dup(y->r.arena, (str){ (const char *)ev->data.scalar.value, ev->data.scalar.length });

    y->size += text.n;
    *out = json_of_str(text);
    if (!tag) {
        if (ev->data.scalar.plain_implicit)
            *out = yaml_guess(y->r.arena, text);
        return 0;
    }
    if (tag_is(tag, "binary")) {
        if (!base64_decode(y->r.arena, BASE64_GO, text, &text))
            return fail(y, "!!binary value contains invalid base64 data");
        *out = json_of_str(valid_utf8(y->r.arena, text));
    } else if (tag_is(tag, "null") || tag_is(tag, "bool") || tag_is(tag, "int") ||
               tag_is(tag, "float")) {
        *out = yaml_guess(y->r.arena, text);
    }
    return check_tag(y, tag, out);
}

/* A value as JSON has it: floats that are whole print like ints and so read back as such. */
static int settle(struct yaml *y, struct json *v)
{
    if (v->type != JSON_FLOAT)
        return 0;
    if (!isfinite(v->f))
        return fail(y, "infinities and not-a-number have no form in JSON");
    *v = json_of_float(v->f);
    return 0;
}

/* k8s: sigs.k8s.io/yaml, convertToJSONableObject: keys that are not strings become some. */
static int key_name(struct yaml *y, const struct json *key, str *out)
{
    char text[NUMBER_TEXT_MAX];

    switch (key->type) {
    case JSON_STRING:
        *out = json_str(key);
        return 0;
    case JSON_BOOL:
        *out = key->b ? STR("true") : STR("false");
        return 0;
    case JSON_INT:
        *out = str_printf(y->r.arena, "%lld", (long long)key->i);
        return 0;
    case JSON_FLOAT:
        *out = str_dup(y->r.arena, (str){ text, number_print_key(text, key->f) });
        return 0;
    case JSON_NULL:
        return fail(y, "unsupported map key of type null");
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return fail(y, "invalid map key");
}

static int enter(struct yaml *y, struct trail *level)
{
    if (!reader_enter(&y->r, level))
        return fail(y, "exceeded max depth");
    if (y->deepest < y->r.depth)
        y->deepest = y->r.depth;
    return 0;
}

static int sequence(struct yaml *y, struct json *out)
{
    struct trail level;
    yaml_event_t ev;
    struct json v;

    if (enter(y, &level) < 0)
        return -1;
    for (;; level.index++) {
        if (next(y, &ev) < 0)
            return -1;
        if (ev.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (node(y, &ev, &v) < 0 || settle(y, &v) < 0)
            return -1;
        reader_add_item(&y->r, v);
    }
    yaml_event_delete(&ev);
    *out = reader_leave_array(&y->r, &level);
    return 0;
}

static int merge_one(struct yaml *y, const struct json *v)
{
    if (v->type != JSON_OBJECT)
        return fail(y, "map merge requires map or sequence of maps as the value");
    json_for_each_member (m, v)
        reader_add_member(&y->r, m->name, m->value);
    return 0;
}

/* go-yaml v2 merges where the << stands: what follows replaces, and so do merges what they follow.
 * Of a sequence the earlier maps win. */
static int merge(struct yaml *y, const struct json *v)
{
    if (v->type != JSON_ARRAY)
        return merge_one(y, v);
    for (size_t i = v->n; i-- > 0;)
        if (merge_one(y, &v->items[i]) < 0)
            return -1;
    return 0;
}

static bool is_merge(const yaml_event_t *ev)
{
    const char *tag = (const char *)ev->data.scalar.tag;

    return ev->type == YAML_SCALAR_EVENT && ev->data.scalar.length == 2 &&
           memcmp(ev->data.scalar.value, "<<", 2) == 0 &&
           (ev->data.scalar.plain_implicit || (tag && tag_is(tag, "merge")));
}

/* Behind each name is the line of its value, for when the name stands twice. */
static str with_line(struct yaml *y, str name)
{
    uint32_t line = (uint32_t)y->line + 1;
    char *p = arena_alloc_raw(y->r.arena, name.n + sizeof(line));

    if (name.n)
        memcpy(p, name.p, name.n);
    memcpy(p + name.n, &line, sizeof(line));
    return (str){ p, name.n };
}

static size_t line_of(const struct reader *r, str name)
{
    uint32_t line;

    (void)r;
    memcpy(&line, name.p + name.n, sizeof(line));
    return line;
}

static int entry(struct yaml *y, struct trail *level, yaml_event_t *key)
{
    bool merges = is_merge(key);
    yaml_event_t ev;
    struct json v;

    if (node(y, key, &v) < 0 || key_name(y, &v, &level->name) < 0 || next(y, &ev) < 0)
        return -1;
    if (y->r.dups)
        level->name = with_line(y, level->name);
    if (node(y, &ev, &v) < 0 || settle(y, &v) < 0)
        return -1;
    if (merges)
        return merge(y, &v);
    reader_add_member(&y->r, level->name, v);
    return 0;
}

static int mapping(struct yaml *y, struct json *out)
{
    struct trail level;
    yaml_event_t ev;

    if (enter(y, &level) < 0)
        return -1;
    for (;;) {
        if (next(y, &ev) < 0)
            return -1;
        if (ev.type == YAML_MAPPING_END_EVENT)
            break;
        if (entry(y, &level, &ev) < 0)
            return -1;
    }
    yaml_event_delete(&ev);
    *out = reader_leave_object(&y->r, &level);
    return 0;
}

static int alias(struct yaml *y, str name, struct json *out)
{
    struct anchor *an = map_get(&y->anchors, name);

    if (!an || !an->done)
        return fail(y, arena_printf(y->r.arena,
                                    an ? "anchor '%.*s' value contains itself"
                                       : "unknown anchor '%.*s' referenced",
                                    (int)(name.n < 64 ? name.n : 64), name.p));
    y->nodes += an->nodes;
    y->size += an->size;
    if (y->nodes > EXPANDED_NODES_MAX || y->size > y->size_max)
        return fail(y, "document contains excessive aliasing");
    if (y->r.depth + an->height > JSON_DEPTH_MAX)
        return fail(y, "exceeded max depth");
    if (y->deepest < y->r.depth + an->height)
        y->deepest = y->r.depth + an->height;
    *out = an->value;
    return 0;
}

static const char *anchor_name(const yaml_event_t *ev)
{
    if (ev->type == YAML_SCALAR_EVENT)
        return (const char *)ev->data.scalar.anchor;
    if (ev->type == YAML_SEQUENCE_START_EVENT)
        return (const char *)ev->data.sequence_start.anchor;
    return (const char *)ev->data.mapping_start.anchor;
}

static int content(struct yaml *y, const yaml_event_t *ev, struct json *out)
{
    y->nodes++;
    y->size += NODE_SIZE;
    if (ev->type == YAML_SCALAR_EVENT)
        return scalar(y, ev, out);
    return ev->type == YAML_SEQUENCE_START_EVENT ? sequence(y, out) : mapping(y, out);
}

static int anchored(struct yaml *y, const yaml_event_t *ev, const char *name, struct json *out)
{
    struct anchor *an = arena_new_of(y->r.arena, struct anchor);
    unsigned outside = y->deepest;

    an->nodes = y->nodes;
    an->size = y->size;
    y->deepest = y->r.depth;
    map_put(&y->anchors, str_dup(y->r.arena, str_of(name)), an);
    if (content(y, ev, out) < 0)
        return -1;
    an->nodes = y->nodes - an->nodes;
    an->size = y->size - an->size;
    an->height = y->deepest - y->r.depth;
    an->value = *out;
    an->done = true;
    if (y->deepest < outside)
        y->deepest = outside;
    return 0;
}

/* The node that begins with ev, which is done with afterwards. */
static int node(struct yaml *y, yaml_event_t *ev, struct json *out)
{
    const char *name;
    int rc;

    if (ev->type == YAML_ALIAS_EVENT) {
        rc = alias(y, str_of((const char *)ev->data.alias.anchor), out);
    } else {
        name = anchor_name(ev);
        rc = name ? anchored(y, ev, name, out) : content(y, ev, out);
    }
    yaml_event_delete(ev);
    return rc;
}

/* The first document of the stream. */
static int document(struct yaml *y, struct json *out)
{
    yaml_event_t ev;
    yaml_event_type_t type;

    do {
        if (next(y, &ev) < 0)
            return -1;
        type = ev.type;
        if (type == YAML_STREAM_END_EVENT) {
            yaml_event_delete(&ev);
            *out = json_null;
            return 0;
        }
        if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_START_EVENT)
            yaml_event_delete(&ev);
    } while (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_START_EVENT);
    if (node(y, &ev, out) < 0 || settle(y, out) < 0 || next(y, &ev) < 0)
        return -1;
    yaml_event_delete(&ev);
    return 0;
}

/* Most of what comes as YAML is JSON (server-side apply by machines), and that is much faster. */
static bool try_json(struct arena *a, str text, struct json_duplicates *dups,
                     const struct json **out)
{
    str trimmed = str_trim(text);
    struct status st;

    if (trimmed.n == 0 || (trimmed.p[0] != '{' && trimmed.p[0] != '['))
        return false;
    status_init(&st, a);
    return json_parse(a, text, dups, out, &st) == 0;
}

/* libyaml compares each %TAG directive with all others: 150,000 of them would take minutes. */
static bool too_many_directives(str text)
{
    static const char directive[] = "%TAG";
    size_t n = 0;

    for (const char *at = text.p; n <= TAG_DIRECTIVES_MAX; n++, at++) {
        at = memmem(at, text.n - (size_t)(at - text.p), directive, sizeof(directive) - 1);
        if (!at)
            return false;
    }
    return true;
}

int json_parse_yaml(struct arena *a, str text, struct json_duplicates *dups,
                    const struct json **out, struct status *st)
{
    struct yaml y;
    struct json v;
    int rc;

    if (text.n > INT32_MAX)
        return status_set(st, REASON_BAD_REQUEST, "YAML text of %zu bytes is too long", text.n);
    if (try_json(a, text, dups, out) && !(dups && dups->n)) { /* of these the lines are told */
        if (dups)
            dups->lines = true;
        return 0;
    }
    if (text.n && too_many_directives(text))
        return status_set(st, REASON_BAD_REQUEST, "YAML text with too many %%TAG directives");
    if (!yaml_parser_initialize(&y.parser))
        mem_exhausted();
    yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y.parser, (const unsigned char *)(text.p ? text.p : ""), text.n);
    reader_init(&y.r, a, dups, st);
    y.r.where = line_of;
    if (dups)
        dups->lines = true;
    y.line = 0;
    y.anchors = (struct map){ .n = 0 };
    y.nodes = y.size = 0;
    y.size_max = EXPANDED_TIMES * text.n + EXPANDED_FREE;
    y.deepest = 0;
    rc = document(&y, &v);
    map_release(&y.anchors);
    reader_release(&y.r);
    yaml_parser_delete(&y.parser);
    if (rc == 0)
        *out = json_box(a, v);
    return rc;
}
