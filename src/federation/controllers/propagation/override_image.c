/* SPDX-License-Identifier: Apache-2.0 */

/* Names of images and their parts.  karmada: pkg/util/imageparser */

#include "federation/controllers/propagation/override_image.h"
#include "base/banned.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_tag(str s)
{
    if (s.n == 0 || s.n > 128 || !is_word(s.p[0]))
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (!is_word(s.p[i]) && s.p[i] != '.' && s.p[i] != '-')
            return false;
    return true;
}

/* "sha256:…": an algorithm and at least 32 hexadecimal digits. */
static bool is_digest(str s)
{
    ptrdiff_t colon = str_find(s, ':', 0);

    if (colon < 1 || s.n - (size_t)colon - 1 < 32)
        return false;
    for (size_t i = 0; i < (size_t)colon; i++)
        if (!is_word(s.p[i]) && !strchr("+.-", s.p[i]))
            return false;
    for (size_t i = (size_t)colon + 1; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || ((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'f')))
            return false;
    return true;
}

static bool is_repository(str s)
{
    bool start = true;

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

        if (!alnum && (start || !strchr("._-/", c) || c == '\0'))
            return false;
        start = c == '/';
    }
    return !start;
}

bool override_image_parse(str image, struct override_image *out)
{
    struct override_image i = { 0 };
    ptrdiff_t at = str_find(image, '@', 0), slash;
    str name = at < 0 ? image : str_sub(image, 0, (size_t)at);
    str last;

    if (at >= 0) {
        i.digest = str_from(image, (size_t)at + 1);
        if (!is_digest(i.digest))
            return false;
    }
    slash = -1;
    for (ptrdiff_t next = 0; (next = str_find(name, '/', (size_t)next)) >= 0; next++)
        slash = next;
    last = str_from(name, (size_t)(slash + 1));
    for (size_t c = 0; c < last.n; c++)
        if (last.p[c] == ':') {
            i.tag = str_from(last, c + 1);
            if (!is_tag(i.tag))
                return false;
            name = str_sub(name, 0, (size_t)(slash + 1) + c);
            i.digest = STR_NONE; /* with both, the tag is what counts */
            break;
        }
    slash = str_find(name, '/', 0);
    i.repository = name;
    if (slash > 0) {
        str first = str_sub(name, 0, (size_t)slash);

        if (str_find(first, '.', 0) >= 0 || str_find(first, ':', 0) >= 0 ||
            str_is(first, "localhost")) {
            i.host = first;
            i.repository = str_from(name, (size_t)slash + 1);
        }
    }
    if (!is_repository(i.repository))
        return false;
    *out = i;
    return true;
}

static void set_tag(struct override_image *i, str value)
{
    if (is_tag(value)) {
        i->tag = value;
        i->digest = STR_NONE;
    } else if (is_digest(value)) {
        i->digest = value;
        i->tag = STR_NONE;
    }
}

static void change(struct arena *a, str *part, str op, str value)
{
    if (str_is(op, "add"))
        *part = str_printf(a, "%.*s%.*s", STR_ARG(*part), STR_ARG(value));
    else
        *part = str_is(op, "remove") ? STR_NONE : value;
}

static bool change_part(struct arena *a, struct override_image *i, const struct json *overrider)
{
    str component = json_get_str(overrider, "component");
    str op = json_get_str(overrider, "operator"), value = json_get_str(overrider, "value");
    str now = i->tag.n ? i->tag : i->digest;

    if (str_is(component, "Registry"))
        change(a, &i->host, op, value);
    else if (str_is(component, "Repository"))
        change(a, &i->repository, op, value);
    else if (!str_is(component, "Tag"))
        return false;
    else if (str_is(op, "remove"))
        i->tag = i->digest = STR_NONE;
    else {
        change(a, &now, op, value);
        set_tag(i, now);
    }
    return true;
}

int override_image_change(struct arena *a, str image, const struct json *overrider, str *out,
                          struct status *st)
{
    struct override_image i;
    str rest;

    if (!override_image_parse(image, &i))
        return status_set(st, REASON_INVALID,
                          "failed to parse image value(%.*s), error: invalid reference format",
                          STR_ARG(image));
    if (!change_part(a, &i, overrider))
        return status_set(st, REASON_INVALID, "unsupported image component(%.*s)",
                          STR_ARG(json_get_str(overrider, "component")));
    rest = i.tag.n ? i.tag : i.digest;
    *out =
        str_printf(a, "%.*s%s%.*s%s%.*s", STR_ARG(i.host), i.host.n ? "/" : "",
                   STR_ARG(i.repository), i.tag.n ? ":" : (i.digest.n ? "@" : ""), STR_ARG(rest));
    return 0;
}
