/* SPDX-License-Identifier: Apache-2.0 */

/* Values as Go's fmt shows them, in which some of Kubernetes' messages quote what was sent. */

#include "base/banned.h"
#include "json/order.h"

enum { SHOWN_MAX = 4096, DEPTH_MAX = 32 }; /* what is longer or deeper is cut */

static void show(struct arena *a, struct buf *b, const struct json *v, bool syntax, unsigned depth);

static void show_map(struct arena *a, struct buf *b, const struct json *v, bool syntax,
                     unsigned depth)
{
    struct json sorted = json_by_name(a, v);

    buf_str_append(b, syntax ? STR("map[string]interface {}{") : STR("map["));
    for (size_t i = 0; i < v->n && !buf_overflown(b); i++) {
        struct json name = json_of_str(sorted.members[i].name);

        if (i)
            buf_str_append(b, syntax ? STR(", ") : STR(" "));
        show(a, b, &name, syntax, depth + 1);
        buf_byte(b, ':');
        show(a, b, &sorted.members[i].value, syntax, depth + 1);
    }
    buf_byte(b, syntax ? '}' : ']');
}

static void show_list(struct arena *a, struct buf *b, const struct json *v, bool syntax,
                      unsigned depth)
{
    buf_str_append(b, syntax ? STR("[]interface {}{") : STR("["));
    for (size_t i = 0; i < v->n && !buf_overflown(b); i++) {
        if (i)
            buf_str_append(b, syntax ? STR(", ") : STR(" "));
        show(a, b, &v->items[i], syntax, depth + 1);
    }
    buf_byte(b, syntax ? '}' : ']');
}

static void show(struct arena *a, struct buf *b, const struct json *v, bool syntax, unsigned depth)
{
    if (depth > DEPTH_MAX)
        buf_str_append(b, STR("..."));
    else if (v->type == JSON_OBJECT)
        show_map(a, b, v, syntax, depth);
    else if (v->type == JSON_ARRAY)
        show_list(a, b, v, syntax, depth);
    else if (v->type == JSON_STRING && !syntax)
        buf_str_append(b, json_str(v));
    else if (v->type == JSON_NULL)
        buf_str_append(b, syntax ? STR("interface {}(nil)") : STR("<nil>"));
    else
        buf_str_append(b, json_text(a, v));
}

static str shown(struct arena *a, const struct json *v, bool syntax)
{
    scoped_buf b = { .max = SHOWN_MAX };

    show(a, &b, v, syntax, 0);
    return buf_overflown(&b) ? STR("...") : str_dup(a, buf_str(&b));
}

str json_go_text(struct arena *a, const struct json *v)
{
    return shown(a, v, false);
}

str json_go_syntax(struct arena *a, const struct json *v)
{
    return shown(a, v, true);
}
