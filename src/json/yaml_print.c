/* SPDX-License-Identifier: Apache-2.0 */

/*
 * YAML out, as sigs.k8s.io/yaml writes it: block style, keys sorted, long lines not folded; text
 * that would be read as something else in double quotes, text of several lines as it is.
 */

#include <string.h>
#include <yaml.h>

#include "base/banned.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/members.h"

struct out {
    yaml_emitter_t emitter;
    struct buf *buf;
    struct arena *arena;
};

static int write_bytes(void *arg, unsigned char *bytes, size_t n)
{
    struct out *o = arg;

    buf_append(o->buf, bytes, n);
    return 1;
}

/* The values are ours and the memory is there: libyaml has no other reason to refuse. */
static void emit(struct out *o, yaml_event_t *ev, int made)
{
    if (!made || !yaml_emitter_emit(&o->emitter, ev))
        mem_exhausted();
}

static void emit_text(struct out *o, str text, yaml_scalar_style_t style)
{
    yaml_event_t ev;
    yaml_char_t none[] = "";
    int made = yaml_scalar_event_initialize(&ev, NULL, NULL,
                                            text.n ? (yaml_char_t *)str_z(o->arena, text) : none,
                                            (int)text.n, 1, 1, style);

    emit(o, &ev, made);
}

/* Dates and sexagesimal numbers, which older readers take for such. */
static bool looks_dated(str text)
{
    if (text.n == 0 || text.p[0] < '0' || text.p[0] > '9')
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!strchr("0123456789:-.+TtZz ", text.p[i]))
            return false;
    return memchr(text.p, ':', text.n) || memchr(text.p, '-', text.n);
}

static yaml_scalar_style_t style_of(struct out *o, str text)
{
    const struct json *read;
    struct status st;

    status_init(&st, o->arena);
    if (text.n == 0 || looks_dated(text))
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (memchr(text.p, '\n', text.n))
        return YAML_LITERAL_SCALAR_STYLE;
    if (text.n > 64 && !strchr("+-.0123456789", text.p[0])) /* no word is that long */
        return YAML_PLAIN_SCALAR_STYLE;
    if (json_parse_yaml(o->arena, text, NULL, &read, &st) < 0)
        return YAML_SINGLE_QUOTED_SCALAR_STYLE; /* .inf, or what is no text without quotes */
    if (read->type != JSON_STRING && read->type != JSON_OBJECT && read->type != JSON_ARRAY)
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return YAML_PLAIN_SCALAR_STYLE; /* libyaml quotes what cannot stand plain */
}

static void value(struct out *o, const struct json *v);

static void mapping(struct out *o, const struct json *v)
{
    const struct json_member *few[MEMBERS_FEW];
    const struct json_member **sorted = members_sorted(v->members, v->n, few);
    yaml_event_t ev;
    int made = yaml_mapping_start_event_initialize(&ev, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE);

    emit(o, &ev, made);
    for (uint32_t i = 0; i < v->n; i++) {
        emit_text(o, sorted[i]->name, style_of(o, sorted[i]->name));
        value(o, &sorted[i]->value);
    }
    members_sorted_free(sorted, few);
    made = yaml_mapping_end_event_initialize(&ev);
    emit(o, &ev, made);
}

static void sequence(struct out *o, const struct json *v)
{
    yaml_event_t ev;
    int made = yaml_sequence_start_event_initialize(&ev, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE);

    emit(o, &ev, made);
    json_for_each (item, v)
        value(o, item);
    made = yaml_sequence_end_event_initialize(&ev);
    emit(o, &ev, made);
}

static void value(struct out *o, const struct json *v)
{
    switch (v->type) {
    case JSON_OBJECT:
        mapping(o, v);
        return;
    case JSON_ARRAY:
        sequence(o, v);
        return;
    case JSON_STRING:
        emit_text(o, json_str(v), style_of(o, json_str(v)));
        return;
    case JSON_NULL:
    case JSON_BOOL:
    case JSON_INT:
    case JSON_FLOAT:
        emit_text(o, json_text(o->arena, v), YAML_PLAIN_SCALAR_STYLE);
        return;
    }
}

void json_print_yaml(struct buf *b, const struct json *v)
{
    scoped_arena a = arena_new();
    struct out o = { .buf = b, .arena = a };
    yaml_event_t ev;
    int made;

    if (!yaml_emitter_initialize(&o.emitter))
        mem_exhausted();
    yaml_emitter_set_output(&o.emitter, write_bytes, &o);
    yaml_emitter_set_width(&o.emitter, -1);
    yaml_emitter_set_unicode(&o.emitter, 1);
    made = yaml_stream_start_event_initialize(&ev, YAML_UTF8_ENCODING);
    emit(&o, &ev, made);
    made = yaml_document_start_event_initialize(&ev, NULL, NULL, NULL, 1);
    emit(&o, &ev, made);
    value(&o, v);
    made = yaml_document_end_event_initialize(&ev, 1);
    emit(&o, &ev, made);
    made = yaml_stream_end_event_initialize(&ev);
    emit(&o, &ev, made);
    yaml_emitter_delete(&o.emitter);
}
