/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/banned.h"

static const struct {
    const char *wire;
    int http, grpc;
} reasons[] = {
#define X(name, wire, http, grpc) [REASON_##name] = { wire, http, grpc },
    STATUS_REASONS(X)
#undef X
};

static const struct {
    const char *wire, *text;
} causes[] = {
#define X(name, wire, text) [CAUSE_##name] = { wire, text },
    STATUS_CAUSES(X)
#undef X
};

void status_init(struct status *st, struct arena *a)
{
    *st = (struct status){ .arena = a };
}

void status_reset(struct status *st)
{
    status_init(st, st->arena);
}

__attribute__((format(printf, 3, 0))) static int fill(struct status *st, enum reason reason,
                                                      const char *fmt, va_list ap)
{
    assert(reason != REASON_OK);
    st->reason = reason;
    st->message = str_of(arena_vprintf(st->arena, fmt, ap));
    return -1;
}

static void details(struct status *st, str group, str kind, str name)
{
    st->group = str_dup(st->arena, group);
    st->kind = str_dup(st->arena, kind);
    st->name = str_dup(st->arena, name);
}

void status_copy(struct status *to, const struct status *from)
{
    struct arena *a = to->arena;

    *to = *from;
    to->arena = a;
    to->message = str_dup(a, from->message);
    to->group = str_dup(a, from->group);
    to->kind = str_dup(a, from->kind);
    to->name = str_dup(a, from->name);
    to->uid = str_dup(a, from->uid);
    to->continue_token = str_dup(a, from->continue_token);
    to->causes = to->last_cause = NULL;
    to->tolerated = to->last_tolerated = NULL; /* they stay where they were found */
    to->ntolerated = 0;
    for (const struct cause *c = from->causes; c; c = c->next) {
        struct cause *copy = arena_new_of(a, struct cause);

        copy->type = c->type;
        copy->field = str_dup(a, c->field);
        copy->message = str_dup(a, c->message);
        if (to->last_cause)
            to->last_cause->next = copy;
        else
            to->causes = copy;
        to->last_cause = copy;
    }
}

int status_set(struct status *st, enum reason reason, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)fill(st, reason, fmt, ap);
    va_end(ap);
    return -1;
}

int status_errno(struct status *st, int err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)fill(st, REASON_INTERNAL, fmt, ap);
    va_end(ap);
    st->message = str_printf(st->arena, "%.*s: %s", STR_ARG(st->message), strerrordesc_np(err));
    return -1;
}

str status_group_resource(struct arena *a, str group, str resource)
{
    if (group.n == 0)
        return resource;
    return str_printf(a, "%.*s.%.*s", STR_ARG(resource), STR_ARG(group));
}

int status_not_found(struct status *st, str group, str resource, str name)
{
    str gr = status_group_resource(st->arena, group, resource);

    details(st, group, resource, name);
    return status_set(st, REASON_NOT_FOUND, "%.*s \"%.*s\" not found", STR_ARG(gr), STR_ARG(name));
}

int status_already_exists(struct status *st, str group, str resource, str name)
{
    str gr = status_group_resource(st->arena, group, resource);

    details(st, group, resource, name);
    return status_set(st, REASON_ALREADY_EXISTS, "%.*s \"%.*s\" already exists", STR_ARG(gr),
                      STR_ARG(name));
}

int status_conflict(struct status *st, str group, str resource, str name, const char *fmt, ...)
{
    str gr = status_group_resource(st->arena, group, resource);
    va_list ap;

    va_start(ap, fmt);
    (void)fill(st, REASON_CONFLICT, fmt, ap);
    va_end(ap);
    details(st, group, resource, name);
    st->message = str_printf(st->arena, "Operation cannot be fulfilled on %.*s \"%.*s\": %.*s",
                             STR_ARG(gr), STR_ARG(name), STR_ARG(st->message));
    return -1;
}

int status_forbidden(struct status *st, str group, str resource, str name, const char *fmt, ...)
{
    str gr = status_group_resource(st->arena, group, resource);
    va_list ap;

    va_start(ap, fmt);
    (void)fill(st, REASON_FORBIDDEN, fmt, ap);
    va_end(ap);
    details(st, group, resource, name);
    if (resource.n == 0)
        st->message = str_printf(st->arena, "forbidden: %.*s", STR_ARG(st->message));
    else if (name.n == 0)
        st->message =
            str_printf(st->arena, "%.*s is forbidden: %.*s", STR_ARG(gr), STR_ARG(st->message));
    else
        st->message = str_printf(st->arena, "%.*s \"%.*s\" is forbidden: %.*s", STR_ARG(gr),
                                 STR_ARG(name), STR_ARG(st->message));
    return -1;
}

int status_expired(struct status *st, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)fill(st, REASON_EXPIRED, fmt, ap);
    va_end(ap);
    return -1;
}

static struct cause *new_cause(struct arena *a, enum cause_type type, str field, str value,
                               str detail)
{
    const char *text = causes[type].text;
    struct cause *c = arena_new_of(a, struct cause);

    c->type = type;
    c->field = str_dup(a, field);
    c->message = str_printf(a, "%s%s%.*s%s%.*s", text, value.n && *text ? ": " : "", STR_ARG(value),
                            detail.n && (*text || value.n) ? ": " : "", STR_ARG(detail));
    return c;
}

void status_cause(struct status *st, enum cause_type type, str field, str value, const char *fmt,
                  ...)
{
    struct cause *c;
    va_list ap;

    if (st->ncauses == STATUS_CAUSES_MAX)
        return;
    va_start(ap, fmt);
    c = new_cause(st->arena, type, field, value, str_of(arena_vprintf(st->arena, fmt, ap)));
    va_end(ap);
    if (st->last_cause)
        st->last_cause->next = c;
    else
        st->causes = c;
    st->last_cause = c;
    st->ncauses++;
}

void status_tolerate(struct status *st, enum cause_type type, str field, str value, str detail)
{
    struct cause *c;

    if (st->ntolerated == STATUS_CAUSES_MAX)
        return;
    c = new_cause(st->arena, type, field, value, detail);
    if (st->last_tolerated)
        st->last_tolerated->next = c;
    else
        st->tolerated = c;
    st->last_tolerated = c;
    st->ntolerated++;
}

str cause_text(struct arena *a, const struct cause *c)
{
    return c->field.n ? str_printf(a, "%.*s: %.*s", STR_ARG(c->field), STR_ARG(c->message))
                      : str_dup(a, c->message);
}

/* k8s: apimachinery/pkg/util/errors Aggregate: one error stands alone, several in brackets; equal
 * ones are named once. */
static str causes_text(struct status *st)
{
    str all = STR_NONE;
    unsigned n = 0;

    for (struct cause *c = st->causes; c; c = c->next) {
        str one = cause_text(st->arena, c);
        bool seen = false;

        for (struct cause *b = st->causes; b != c && !seen; b = b->next)
            seen = str_eq(b->field, c->field) && str_eq(b->message, c->message);
        if (seen)
            continue;
        all = n++ ? str_printf(st->arena, "%.*s, %.*s", STR_ARG(all), STR_ARG(one)) : one;
    }
    return n > 1 ? str_printf(st->arena, "[%.*s]", STR_ARG(all)) : all;
}

int status_invalid(struct status *st, str group, str kind, str name)
{
    str gk, text;

    if (!st->causes)
        return 0;
    gk = status_group_resource(st->arena, group, kind);
    text = causes_text(st);
    details(st, group, kind, name);
    return status_set(st, REASON_INVALID, "%.*s \"%.*s\" is invalid: %.*s", STR_ARG(gk),
                      STR_ARG(name), STR_ARG(text));
}

int status_wrap(struct status *st, const char *fmt, ...)
{
    va_list ap;
    char *context;

    va_start(ap, fmt);
    context = arena_vprintf(st->arena, fmt, ap);
    va_end(ap);
    st->message = str_printf(st->arena, "%s: %.*s", context, STR_ARG(st->message));
    return -1;
}

bool status_is(const struct status *st, enum reason reason)
{
    return st->reason == reason;
}

int status_http(const struct status *st)
{
    return st->code ? (int)st->code : reasons[st->reason].http;
}

int status_grpc(const struct status *st)
{
    return reasons[st->reason].grpc;
}

const char *status_reason(const struct status *st)
{
    return reasons[st->reason].wire;
}

const char *cause_reason(enum cause_type type)
{
    return causes[type].wire;
}

bool status_parse_reason(str wire, enum reason *out)
{
    if (wire.n == 0)
        return false;
    for (size_t i = 1; i < sizeof(reasons) / sizeof(*reasons); i++)
        if (str_is(wire, reasons[i].wire)) {
            *out = (enum reason)i;
            return true;
        }
    return false;
}
