/* SPDX-License-Identifier: Apache-2.0 */
#include "client/object_scan.h"

#include <string.h>

#include "base/banned.h"

#define INSTANCE "kairship.io/instance"

/* What is left of the text; nothing is left after a mistake. */
struct rest_text {
    const char *p, *end;
};

static bool take(struct rest_text *r, char c)
{
    if (r->p < r->end && *r->p == c) {
        r->p++;
        return true;
    }
    return false;
}

static bool fail(struct rest_text *r)
{
    r->p = r->end;
    return false;
}

/* A string without escapes. */
static bool take_plain(struct rest_text *r, str *out)
{
    const char *from, *quote;

    if (!take(r, '"'))
        return fail(r);
    from = r->p;
    quote = memchr(from, '"', (size_t)(r->end - from));
    if (!quote || memchr(from, '\\', (size_t)(quote - from)))
        return fail(r);
    *out = (str){ from, (size_t)(quote - from) };
    r->p = quote + 1;
    return true;
}

/* r->p is behind the opening quote. */
static bool skip_string(struct rest_text *r)
{
    const char *quote;

    while ((quote = memchr(r->p, '"', (size_t)(r->end - r->p)))) {
        const char *slash = quote;

        while (slash > r->p && slash[-1] == '\\')
            slash--;
        r->p = quote + 1;
        if ((quote - slash) % 2 == 0)
            return true; /* it is not escaped */
    }
    return fail(r);
}

static bool skip_value(struct rest_text *r)
{
    unsigned depth = 0;

    while (r->p < r->end) {
        char c = *r->p;

        if (!depth && (c == ',' || c == '}' || c == ']'))
            return true;
        r->p++;
        if (c == '"' && !skip_string(r))
            return false;
        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
    }
    return fail(r);
}

/* The next member of the object that r is in: false at its end, or after a mistake. */
static bool next_member(struct rest_text *r, str *name)
{
    (void)take(r, ',');
    if (r->p < r->end && *r->p == '}')
        return false;
    return take_plain(r, name) && (take(r, ':') || fail(r));
}

static bool take_instance(struct rest_text *r, struct object_scan *out)
{
    str name;

    if (!take(r, '{'))
        return fail(r);
    while (next_member(r, &name))
        if (str_is(name, INSTANCE) ? !take_plain(r, &out->instance) : !skip_value(r))
            return false;
    return take(r, '}');
}

static bool take_metadata(struct rest_text *r, bool with_instance, struct object_scan *out)
{
    str name;

    if (!take(r, '{'))
        return false;
    while (next_member(r, &name)) {
        str *into = str_is(name, "name")              ? &out->name
                    : str_is(name, "namespace")       ? &out->namespace
                    : str_is(name, "resourceVersion") ? &out->version
                                                      : NULL;
        bool notes = with_instance && str_is(name, "annotations");

        if (into ? !take_plain(r, into) : notes ? !take_instance(r, out) : !skip_value(r))
            return false;
        if (out->name.n && out->namespace.n && out->version.n && (!with_instance || notes))
            break;
    }
    return out->name.n && out->version.n;
}

bool object_scan(str text, bool with_instance, struct object_scan *out)
{
    struct rest_text r = { text.p, text.p + text.n };
    str name;

    *out = (struct object_scan){ 0 };
    if (!take(&r, '{'))
        return false;
    while (next_member(&r, &name)) {
        if (str_is(name, "metadata"))
            return take_metadata(&r, with_instance, out);
        if (!skip_value(&r))
            return false;
    }
    return false;
}
