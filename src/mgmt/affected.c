/* SPDX-License-Identifier: Apache-2.0 */

/* What a deletion would be about, in the words of its refusal. */

#include "base/banned.h"
#include "mgmt/mgmt_internal.h"

enum { NAMED_MAX = 10 };

void mgmt_affected_add(struct mgmt_affected *f, const struct json *binding)
{
    const struct json *what = json_path(binding, "spec.resource");
    str namespace = json_get_str(what, "namespace");

    if (f->n++ >= NAMED_MAX)
        return;
    f->text = str_printf(f->arena, "%.*s%s%.*s %.*s%s%.*s", STR_ARG(f->text), f->text.n ? ", " : "",
                         STR_ARG(json_get_str(what, "kind")), STR_ARG(namespace),
                         namespace.n ? "/" : "", STR_ARG(json_get_str(what, "name")));
}

str mgmt_affected_text(const struct mgmt_affected *f)
{
    str text = str_printf(f->arena, "%llu resource%s (%.*s", (unsigned long long)f->n,
                          f->n == 1 ? "" : "s", STR_ARG(f->text));

    if (f->n <= NAMED_MAX)
        return str_printf(f->arena, "%.*s)", STR_ARG(text));
    return str_printf(f->arena, "%.*s and %llu more)", STR_ARG(text),
                      (unsigned long long)(f->n - NAMED_MAX));
}
