/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/changes.h"

#include "base/banned.h"
#include "base/buf.h"
#include "kinds/frame/internal_form.h"
#include "kinds/frame/line_diff.h"
#include "json/go_print.h"

str changes_text(const struct kind_context *c, const char *path, const struct json *was,
                 const struct json *now)
{
    scoped_buf before, after;

    buf_init(&before, CHANGES_MAX);
    buf_init(&after, CHANGES_MAX);
    json_go_print(&before, internal_form(c->arena, c->kind, path, was));
    json_go_print(&after, internal_form(c->arena, c->kind, path, now));
    if (buf_overflown(&before) || buf_overflown(&after))
        return STR_NONE;
    return line_diff(c->arena, buf_str(&before), buf_str(&after));
}
