/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/changes.h"

#include "base/banned.h"
#include "base/buf.h"
#include "kinds/check.h"
#include "kinds/site.h"

enum { SHOWN = 8, VALUE_MAX = 64 };

struct changes {
    struct arena *arena;
    struct buf out;
    size_t n;
};

static void put_value(struct changes *c, const struct json *v)
{
    str text = v ? json_text(c->arena, v) : STR("unset");
    str shown = str_cut(text, VALUE_MAX);

    buf_printf(&c->out, "%.*s%s", STR_ARG(shown), shown.n < text.n ? "..." : "");
}

static void compare(struct changes *c, const struct site *at, const struct json *was);

static void compare_members(struct changes *c, const struct site *at, const struct json *was)
{
    struct map before = check_index(was), after = check_index(at->v);

    json_for_each_member (m, was) {
        struct site s = { .up = at, .kind = SITE_MEMBER, .name = str_z(c->arena, m->name) };

        s.v = map_get(&after, m->name);
        compare(c, &s, &m->value);
    }
    json_for_each_member (m, at->v) {
        struct site s = { .up = at, .kind = SITE_MEMBER, .name = str_z(c->arena, m->name) };

        s.v = &m->value;
        if (!map_get(&before, m->name))
            compare(c, &s, NULL);
    }
    map_release(&before);
    map_release(&after);
}

static void compare(struct changes *c, const struct site *at, const struct json *was)
{
    if (c->n > SHOWN || check_same(was, at->v))
        return;
    if (json_is(was, JSON_OBJECT) && json_is(at->v, JSON_OBJECT)) {
        compare_members(c, at, was);
        return;
    }
    if (json_is(was, JSON_ARRAY) && json_len(was) == json_len(at->v)) {
        site_each(item, at) compare(c, &item, json_at(was, item.index));
        return;
    }
    if (c->n++ == SHOWN) {
        buf_lit(&c->out, ", ...");
        return;
    }
    buf_printf(&c->out, "%s%.*s: ", c->n > 1 ? ", " : "", STR_ARG(site_path(c->arena, at)));
    put_value(c, was);
    buf_lit(&c->out, " -> ");
    put_value(c, at->v);
}

str changes_text(struct arena *a, const struct json *was, const struct json *now)
{
    struct changes c = { .arena = a, .out = { .max = 1 << 16 } };
    struct site root = site_root(now);
    str text;

    compare(&c, &root, was);
    text = str_dup(a, buf_str(&c.out));
    buf_release(&c.out);
    return text;
}
