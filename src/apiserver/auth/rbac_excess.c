/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The check against privilege escalation: a user may grant only rights that they hold themselves.
 * k8s: registry/rbac/validation, policy_comparator.go (Covers), policy_compact.go (CompactRules),
 * rule.go (ConfirmNoEscalation)
 */

#include <stdlib.h>

#include "apiserver/auth/rbac.h"
#include "apiserver/auth/rbac_rule.h"
#include "base/banned.h"
#include "base/buf.h"

/*
 * A rule stands for all combinations of its lists, so a small text can stand for a great deal.
 * These bound what is looked at on a loop; ten times as much took 60 ms.
 */
enum {
    WORK_MAX = 2000000, /* names compared */
    MISSING_MAX = 2000, /* rights told: they fill the answer, not the log */
    TEXT_MAX = 1 << 20,
};

/* One verb on one resource (and name) or path: what is compared and, where missing, told. */
struct part {
    bool is_resource, has_name;
    str group, resource, name, url, verb;
};

struct missing {
    str head; /* the rule's text before its verbs */
    str verb;
    size_t at; /* in which order they came */
};

struct excess {
    struct arena *arena;
    const struct rbac_rules *own;
    size_t work, nmissing;
    struct missing *missing;
};

static bool holds(struct excess *x, const struct json *list, str s)
{
    x->work += json_len(list) + 1;
    json_for_each (item, list) {
        if (str_eq(json_str(item), s))
            return true;
    }
    return false;
}

static bool holds_or_all(struct excess *x, const struct json *list, str s)
{
    return holds(x, list, s) || holds(x, list, STR("*"));
}

static bool covers_resource(struct excess *x, const struct json *list, str resource)
{
    ptrdiff_t slash = str_find(resource, '/', 0);

    if (holds_or_all(x, list, resource))
        return true;
    json_for_each (item, list) {
        str s = json_str(item);

        if (slash >= 0 && str_starts(s, STR("*/")) &&
            str_eq(str_from(s, 1), str_from(resource, (size_t)slash)))
            return true;
    }
    return false;
}

static bool covers_url(struct excess *x, const struct json *list, str url)
{
    x->work += json_len(list) + 1;
    json_for_each (item, list) {
        if (rbac_url_matches(json_str(item), url))
            return true;
    }
    return false;
}

/* k8s: a rule for some names does not cover one for all of them */
static bool covers_name(struct excess *x, const struct json *names, const struct part *p)
{
    return json_len(names) == 0 || (p->has_name && holds(x, names, p->name));
}

static bool covers(struct excess *x, const struct json *own, const struct part *p)
{
    if (!holds_or_all(x, json_get(own, STR("verbs")), p->verb))
        return false;
    if (!p->is_resource)
        return covers_url(x, json_get(own, STR("nonResourceURLs")), p->url);
    return holds_or_all(x, json_get(own, STR("apiGroups")), p->group) &&
           covers_resource(x, json_get(own, STR("resources")), p->resource) &&
           covers_name(x, json_get(own, STR("resourceNames")), p);
}

/* ---- what is missing ---- */

/* Go's %q, as far as names have a need of it. */
static void quote(struct buf *b, str s)
{
    buf_byte(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"' || s.p[i] == '\\')
            buf_byte(b, '\\');
        if ((unsigned char)s.p[i] < ' ')
            buf_printf(b, "\\x%02x", (unsigned char)s.p[i]);
        else
            buf_byte(b, s.p[i]);
    }
    buf_byte(b, '"');
}

/* k8s: the verbs of a resource are put together, those of a path are not. */
static str head_of(struct arena *a, const struct part *p)
{
    scoped_buf b = { .max = TEXT_MAX };

    if (p->is_resource) {
        buf_lit(&b, "{APIGroups:[");
        quote(&b, p->group);
        buf_lit(&b, "], Resources:[");
        quote(&b, p->resource);
    } else {
        buf_lit(&b, "{NonResourceURLs:[");
        quote(&b, p->url);
    }
    if (p->has_name) {
        buf_lit(&b, "], ResourceNames:[");
        quote(&b, p->name);
    }
    buf_lit(&b, "], Verbs:[");
    if (!p->is_resource)
        quote(&b, p->verb);
    return str_dup(a, buf_str(&b));
}

static bool check_part(struct excess *x, const struct part *p)
{
    const struct json *own = p->is_resource ? x->own->resource_rules : x->own->non_resource_rules;

    if (x->work > WORK_MAX)
        return false;
    json_for_each (rule, own) {
        if (covers(x, rule, p))
            return true;
    }
    if (!x->missing)
        x->missing = arena_array(x->arena, struct missing, MISSING_MAX);
    if (x->nmissing == MISSING_MAX)
        return false;
    x->missing[x->nmissing] = (struct missing){ .head = head_of(x->arena, p), .at = x->nmissing };
    if (p->is_resource)
        x->missing[x->nmissing].verb = p->verb;
    x->nmissing++;
    return true;
}

/* For each of the names, or once if there are none. */
static bool check_names(struct excess *x, const struct json *rule, struct part *p)
{
    const struct json *names = json_get(rule, STR("resourceNames"));

    if (json_len(names) == 0)
        return check_part(x, p);
    p->has_name = true;
    json_for_each (name, names) {
        p->name = json_str(name);
        if (!check_part(x, p))
            return false;
    }
    return true;
}

static bool check_verbs(struct excess *x, const struct json *rule, struct part *p)
{
    json_for_each (verb, json_get(rule, STR("verbs"))) {
        p->verb = json_str(verb);
        if (!(p->is_resource ? check_names(x, rule, p) : check_part(x, p)))
            return false;
    }
    return true;
}

static bool check_group(struct excess *x, const struct json *rule, str group)
{
    json_for_each (resource, json_get(rule, STR("resources"))) {
        struct part p = { .is_resource = true, .group = group, .resource = json_str(resource) };

        if (!check_verbs(x, rule, &p))
            return false;
    }
    return true;
}

/* False when it is more than can be looked at. */
static bool check_rule(struct excess *x, const struct json *rule)
{
    json_for_each (group, json_get(rule, STR("apiGroups"))) {
        if (!check_group(x, rule, json_str(group)))
            return false;
    }
    json_for_each (url, json_get(rule, STR("nonResourceURLs"))) {
        struct part p = { .url = json_str(url) };

        if (!check_verbs(x, rule, &p))
            return false;
    }
    return true;
}

static int by_head(const void *a, const void *b)
{
    const struct missing *x = a, *y = b;
    int c = str_cmp(x->head, y->head);

    return c ? c : (x->at > y->at) - (x->at < y->at);
}

static str text_of(struct excess *x)
{
    scoped_buf b = { .max = TEXT_MAX };

    qsort(x->missing, x->nmissing, sizeof(*x->missing), by_head);
    for (size_t i = 0; i < x->nmissing; i++) {
        const struct missing *m = &x->missing[i], *before = i ? m - 1 : NULL;

        if (before && str_eq(m->head, before->head)) {
            if (m->verb.n == 0)
                continue;
            buf_byte(&b, ' ');
        } else {
            buf_str_append(&b, before ? STR("]}\n") : STR_NONE);
            buf_str_append(&b, m->head);
        }
        if (m->verb.n)
            quote(&b, m->verb);
    }
    buf_lit(&b, "]}");
    return str_dup(x->arena, buf_str(&b));
}

int rbac_excess(struct rbac *r, struct arena *a, const struct identity *who,
                const struct instance *i, str namespace_, const struct json *rules, str *out,
                struct status *st)
{
    struct rbac_rules own;
    struct excess x = { .arena = a, .own = &own };
    bool whole = true;

    if (rbac_rules(r, a, who, i, namespace_, &own, st) < 0)
        return -1;
    json_for_each (rule, rules) {
        if (!check_rule(&x, rule)) {
            whole = false;
            break;
        }
    }
    if (!whole && !x.nmissing)
        return status_set(st, REASON_TOO_LARGE,
                          "the rules combine to more than can be compared with yours");
    *out = x.nmissing ? text_of(&x) : STR_NONE;
    if (x.nmissing && own.error.n)
        *out = str_printf(a, "%.*s; resolution errors: [%.*s]", STR_ARG(*out), STR_ARG(own.error));
    return 0;
}
