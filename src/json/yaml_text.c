/* SPDX-License-Identifier: Apache-2.0 */
#include "json/yaml_text.h"

#include <yaml.h>

#include "base/banned.h"
#include "base/mem.h"

struct parsing {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    struct arena *arena;
    struct status *st;
    unsigned depth;
};

static int fail(const struct parsing *p, size_t line, const char *what, str name)
{
    return status_set(p->st, REASON_BAD_REQUEST, "line %zu: %s%s%.*s", line, what,
                      name.n ? " " : "", STR_ARG(str_cut(name, 64)));
}

static size_t line_of(const struct parsing *p)
{
    return p->event.start_mark.line + 1;
}

static int next(struct parsing *p)
{
    const char *problem;

    yaml_event_delete(&p->event);
    if (yaml_parser_parse(&p->parser, &p->event))
        return 0;
    if (p->parser.error == YAML_MEMORY_ERROR)
        mem_exhausted();
    problem = p->parser.problem;
    return fail(p, p->parser.problem_mark.line + 1, problem ? problem : "this is not YAML",
                STR_NONE);
}

static int read_node(struct parsing *p, struct yaml_text *out);

static struct yaml_text *add(struct parsing *p, struct yaml_text *parent, struct yaml_text **last)
{
    struct yaml_text *item = arena_new_of(p->arena, struct yaml_text);

    item->line = line_of(p);
    if (*last)
        (*last)->next = item;
    else
        parent->items = item;
    *last = item;
    return item;
}

/* The key is the current event, and its value becomes it. */
static int read_key(struct parsing *p, const struct yaml_text *parent, struct yaml_text *item)
{
    str name;

    if (p->event.type != YAML_SCALAR_EVENT)
        return fail(p, item->line, "a key is a word", STR_NONE);
    name = (str){ (const char *)p->event.data.scalar.value, p->event.data.scalar.length };
    if (name.n == 0 || strlen(name.p) != name.n || str_is(name, "<<"))
        return fail(p, item->line, "this cannot be a key:", name);
    yaml_text_each (other, parent)
        if (str_eq(other->name, name))
            return fail(p, item->line,
                        arena_printf(p->arena, "the same key stands in line %zu:", other->line),
                        name);
    item->name = str_dup(p->arena, name);
    return next(p);
}

static int read_items(struct parsing *p, struct yaml_text *out, yaml_event_type_t end)
{
    struct yaml_text *last = NULL;

    if (++p->depth > YAML_TEXT_DEPTH_MAX)
        return fail(p, line_of(p), "the nesting is too deep", STR_NONE);
    for (;;) {
        struct yaml_text *item;

        if (next(p) < 0)
            return -1;
        if (p->event.type == end)
            break;
        item = add(p, out, &last);
        if ((out->type == YAML_TEXT_MAPPING && read_key(p, out, item) < 0) ||
            read_node(p, item) < 0)
            return -1;
    }
    p->depth--;
    return 0;
}

static int read_scalar(struct parsing *p, struct yaml_text *out)
{
    const char *text = (const char *)p->event.data.scalar.value;
    size_t n = p->event.data.scalar.length;
    bool bare = p->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (p->event.data.scalar.anchor || p->event.data.scalar.tag)
        return fail(p, line_of(p), "anchors and tags are not understood here", STR_NONE);
    if (strlen(text) != n)
        return fail(p, line_of(p), "a NUL byte", STR_NONE);
    out->type = bare && n == 0 ? YAML_TEXT_NOTHING : YAML_TEXT_SCALAR;
    out->text = str_dup(p->arena, (str){ text, n });
    return 0;
}

/* The node that begins with the current event; its last event stays the current one. */
static int read_node(struct parsing *p, struct yaml_text *out)
{
    bool list = p->event.type == YAML_SEQUENCE_START_EVENT;
    const yaml_char_t *anchor, *tag;

    if (p->event.type == YAML_SCALAR_EVENT)
        return read_scalar(p, out);
    if (!list && p->event.type != YAML_MAPPING_START_EVENT)
        return fail(p, line_of(p), "aliases are not understood here", STR_NONE);
    anchor = list ? p->event.data.sequence_start.anchor : p->event.data.mapping_start.anchor;
    tag = list ? p->event.data.sequence_start.tag : p->event.data.mapping_start.tag;
    if (anchor || tag)
        return fail(p, line_of(p), "anchors and tags are not understood here", STR_NONE);
    out->type = list ? YAML_TEXT_LIST : YAML_TEXT_MAPPING;
    return read_items(p, out, list ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT);
}

static int read_document(struct parsing *p, struct yaml_text *out)
{
    do {
        if (next(p) < 0)
            return -1;
    } while (p->event.type == YAML_STREAM_START_EVENT ||
             p->event.type == YAML_DOCUMENT_START_EVENT);
    if (p->event.type == YAML_STREAM_END_EVENT)
        return 0;
    out->line = line_of(p);
    if (read_node(p, out) < 0 || next(p) < 0 || next(p) < 0)
        return -1;
    return p->event.type == YAML_STREAM_END_EVENT
               ? 0
               : fail(p, line_of(p), "a second document begins", STR_NONE);
}

int yaml_text_parse(struct arena *a, str text, const struct yaml_text **out, struct status *st)
{
    struct yaml_text *root = arena_new_of(a, struct yaml_text);
    struct parsing p = { .arena = a, .st = st };
    int rc;

    if (text.n > YAML_TEXT_BYTES_MAX)
        return status_set(st, REASON_BAD_REQUEST, "line 1: the text has more than %d bytes",
                          YAML_TEXT_BYTES_MAX);
    if (!yaml_parser_initialize(&p.parser))
        mem_exhausted();
    yaml_parser_set_encoding(&p.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p.parser, (const unsigned char *)(text.p ? text.p : ""), text.n);
    rc = read_document(&p, root);
    yaml_event_delete(&p.event);
    yaml_parser_delete(&p.parser);
    if (rc == 0)
        *out = root;
    return rc;
}
