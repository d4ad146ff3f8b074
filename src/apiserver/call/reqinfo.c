/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/reqinfo.h"

#include <stddef.h>

#include "base/banned.h"
#include "base/encode.h"
#include "object/meta/names.h"
#include "json/json.h"

/* clusters, x, apis, group, version, watch, namespaces, ns, resource, name, subresource, rest */
enum { PARTS_MAX = 12 };

struct parts {
    str part[PARTS_MAX]; /* the last one may hold the rest, slashes included */
    size_t n;
};

static const struct {
    str method, lower, verb; /* verb: on a resource that is named, or to be made */
} methods[] = {
    { STR_INIT("GET"), STR_INIT("get"), STR_INIT("get") },
    { STR_INIT("POST"), STR_INIT("post"), STR_INIT("create") },
    { STR_INIT("PUT"), STR_INIT("put"), STR_INIT("update") },
    { STR_INIT("PATCH"), STR_INIT("patch"), STR_INIT("patch") },
    { STR_INIT("DELETE"), STR_INIT("delete"), STR_INIT("delete") },
    { STR_INIT("HEAD"), STR_INIT("head"), STR_INIT("get") },
    { STR_INIT("OPTIONS"), STR_INIT("options"), STR_INIT("") },
};

/* The verb on a resource, and for other paths. */
static void read_method(struct arena *a, str method, str *verb, str *lower)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        if (!str_eq(method, methods[i].method))
            continue;
        *verb = methods[i].verb;
        *lower = methods[i].lower;
        return;
    }
    *verb = STR("");
    *lower = str_lower(a, method);
}

/* Bytes that may stand in a decoded path or query value. */
static bool is_text(str s)
{
    if (s.n == 0)
        return true;
    if (memchr(s.p, '\0', s.n))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] >= 0x80)
            return str_utf8_valid(s);
    }
    return true;
}

static bool has_escaped_slash(str raw)
{
    for (ptrdiff_t i = str_find(raw, '%', 0); i >= 0; i = str_find(raw, '%', (size_t)i + 1)) {
        str hex = str_sub(raw, (size_t)i + 1, 2);

        if (str_eq_nocase(hex, STR("2f")))
            return true;
    }
    return false;
}

/*
 * Escapes are decoded once, before the path is cut: a slash that came out of an escape would cut
 * differently here and in whatever looks at the raw path, so it is refused.
 */
static int decode_path(struct arena *a, str raw, str *out, struct status *st)
{
    str path;

    if (raw.n == 0 || raw.p[0] != '/')
        return status_set(st, REASON_BAD_REQUEST, "the path must begin with a slash");
    if (has_escaped_slash(raw))
        return status_set(st, REASON_BAD_REQUEST, "the path may not hold an escaped slash");
    if (!percent_decode(a, PERCENT_PATH, raw, &path))
        return status_set(st, REASON_BAD_REQUEST, "the path holds a broken percent-escape");
    if (!is_text(path))
        return status_set(st, REASON_BAD_REQUEST,
                          "the path may hold neither a NUL byte nor what is not UTF-8");
    for (str rest = str_from(path, 1), part; str_split(&rest, '/', &part);) {
        if (str_eq(part, STR(".")) || str_eq(part, STR("..")))
            return status_set(st, REASON_BAD_REQUEST, "the path may not hold \".\" or \"..\"");
    }
    *out = path;
    return 0;
}

/* False when a segment inside is empty.  One trailing slash does not count. */
static bool cut(str path, struct parts *out)
{
    str rest = str_from(path, 1);

    out->n = 0;
    if (str_ends(rest, STR("/")))
        rest.n--;
    while (rest.n > 0) {
        ptrdiff_t slash = str_find(rest, '/', 0);
        str part = slash < 0 ? rest : str_sub(rest, 0, (size_t)slash);

        if (part.n == 0 || (slash >= 0 && (size_t)slash + 1 == rest.n))
            return false;
        if (out->n == PARTS_MAX - 1) {
            out->part[out->n++] = rest;
            return !str_contains(rest, STR("//"));
        }
        out->part[out->n++] = part;
        rest = slash < 0 ? STR_NONE : str_from(rest, (size_t)slash + 1);
    }
    return true;
}

static int take_instance(struct reqinfo *out, struct status *st)
{
    const str clusters = STR("/clusters/");
    ptrdiff_t end;
    str name;

    if (!str_starts(out->path, clusters) || out->path.n == clusters.n)
        return 0;
    end = str_find(out->path, '/', clusters.n);
    name = str_sub(out->path, clusters.n, end < 0 ? SIZE_MAX : (size_t)end - clusters.n);
    if (!str_eq(name, STR("*")) && !name_is_valid(NAME_LABEL, name))
        return status_not_found(st, STR("tenancy.kairship.io"), STR("instances"), name);
    out->instance = name;
    out->prefix = str_sub(out->path, 0, clusters.n + name.n);
    out->path = end < 0 ? STR("/") : str_from(out->path, (size_t)end);
    return 0;
}

/* parts[0…] = resource[/name[/subresource[/rest…]]] */
static void take_resource(struct reqinfo *out, const str *parts, size_t n)
{
    out->resource = parts[0];
    if (n > 1)
        out->name = parts[1];
    if (n > 2)
        out->subresource = parts[2];
    if (n > 3) {
        str last = parts[n - 1];

        out->rest = (str){ parts[3].p, (size_t)(last.p + last.n - parts[3].p) };
    }
}

static bool is_namespace_subresource(str s)
{
    return str_eq(s, STR("status")) || str_eq(s, STR("finalize"));
}

static void read_resource(struct reqinfo *out, const str *parts, size_t n)
{
    /* k8s: the watch verb as a path prefix is deprecated since 1.11 and still served */
    if (str_eq(parts[0], STR("watch")) && n > 1) {
        out->watch_path = true;
        out->verb = str_eq(out->verb, STR("get")) ? STR("watch") : STR("");
        parts++;
        n--;
    }
    if (str_eq(parts[0], STR("namespaces")) && n > 1) {
        out->namespace_ = parts[1];
        if (n > 2 && !is_namespace_subresource(parts[2])) {
            parts += 2;
            n -= 2;
        }
    }
    take_resource(out, parts, n);
}

/* A collection is listed or watched, and deleted as a whole. */
static str collection_verb(struct arena *a, str verb, str query)
{
    if (str_eq(verb, STR("get")))
        return query_bool(a, query, STR("watch")) ? STR("watch") : STR("list");
    if (str_eq(verb, STR("delete")))
        return STR("deletecollection");
    return verb;
}

/* Finds out whether the path is that of a resource, and which. */
static void read_path(struct arena *a, struct reqinfo *out, str verb, str query)
{
    struct parts p;
    size_t at;

    if (!cut(out->path, &p) || p.n < 3)
        return;
    if (str_eq(p.part[0], STR("api"))) {
        at = 1;
    } else if (str_eq(p.part[0], STR("apis")) && p.n >= 4) {
        out->group = p.part[1];
        at = 2;
    } else {
        return;
    }
    out->is_resource = true;
    out->api_prefix = p.part[0];
    out->version = p.part[at];
    out->verb = verb;
    read_resource(out, p.part + at + 1, p.n - at - 1);
    if (out->name.n == 0)
        out->verb = collection_verb(a, out->verb, query);
}

static int check_query(struct arena *a, str query, struct status *st)
{
    for (str rest = query, pair; str_split(&rest, '&', &pair);) {
        str text;

        if (!percent_decode(a, PERCENT_QUERY, pair, &text))
            return status_set(st, REASON_BAD_REQUEST, "the query holds a broken percent-escape");
        if (!is_text(text))
            return status_set(st, REASON_BAD_REQUEST,
                              "the query may hold neither a NUL byte nor what is not UTF-8");
    }
    return 0;
}

int reqinfo_parse(struct arena *a, str method, str path, str query, struct reqinfo *out,
                  struct status *st)
{
    struct reqinfo info = { 0 };
    str verb;

    if (decode_path(a, path, &info.path, st) < 0 || take_instance(&info, st) < 0)
        return -1;
    if (query.n > 0 && check_query(a, query, st) < 0)
        return -1;
    read_method(a, method, &verb, &info.verb);
    read_path(a, &info, verb, query);
    *out = info;
    return 0;
}

/* ---- query ---- */

/* Moves *rest behind the next pair. */
static bool next_pair(struct arena *a, str *rest, str *name, str *value)
{
    str pair;

    while (str_split(rest, '&', &pair)) {
        ptrdiff_t eq = str_find(pair, '=', 0);

        if (pair.n == 0)
            continue;
        *name = eq < 0 ? pair : str_sub(pair, 0, (size_t)eq);
        *value = eq < 0 ? STR("") : str_from(pair, (size_t)eq + 1);
        if (percent_decode(a, PERCENT_QUERY, *name, name) &&
            percent_decode(a, PERCENT_QUERY, *value, value))
            return true;
    }
    return false;
}

bool query_get(struct arena *a, str query, str name, str *value)
{
    for (str rest = query, n, v; next_pair(a, &rest, &n, &v);) {
        if (!str_eq(n, name))
            continue;
        *value = v;
        return true;
    }
    return false;
}

static bool truth(str value)
{
    return !str_eq(value, STR("0")) && !str_eq_nocase(value, STR("false"));
}

bool query_bool(struct arena *a, str query, str name)
{
    str value;

    return query_get(a, query, name, &value) && truth(value);
}

/* "90", "1.5" in front of a unit; moves *s behind it. */
static bool take_decimal(str *s, double *out)
{
    double v = 0, scale = 1;
    size_t i = 0, digits = 0;
    bool point = false;

    for (; i < s->n; i++) {
        char c = s->p[i];

        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        v = v * 10 + (c - '0');
        scale *= point ? 10 : 1;
        digits++;
    }
    *out = v / scale;
    *s = str_from(*s, i);
    return digits > 0 && digits < 16;
}

static const struct {
    str name;
    double ms;
} duration_units[] = {
    { STR_INIT("ns"), 1e-6 }, { STR_INIT("us"), 1e-3 }, { STR_INIT("ms"), 1 },
    { STR_INIT("s"), 1e3 },   { STR_INIT("m"), 6e4 },   { STR_INIT("h"), 3.6e6 },
};

static bool take_unit(str *s, double *ms)
{
    for (size_t i = 0; i < sizeof(duration_units) / sizeof(*duration_units); i++) {
        if (!str_starts(*s, duration_units[i].name))
            continue;
        *ms = duration_units[i].ms;
        *s = str_from(*s, duration_units[i].name.n);
        return true;
    }
    return false;
}

bool parse_duration(str text, int64_t *ms)
{
    double total = 0, v, unit;

    for (str s = text; s.n > 0 && !str_eq(text, STR("0"));) {
        if (!take_decimal(&s, &v) || !take_unit(&s, &unit))
            return false;
        total += v * unit;
    }
    *ms = total < 1e15 ? (int64_t)total : (int64_t)1e15;
    return text.n > 0;
}

static str quoted(struct arena *a, str s)
{
    return json_text(a, json_box(a, json_of_str(s)));
}

int query_timeout(struct arena *a, str query, int64_t *ms, struct status *st)
{
    str text;
    int64_t number;
    bool sign;

    *ms = 0;
    if (!query_get(a, query, STR("timeout"), &text) || text.n == 0)
        return 0;
    sign = text.p[0] == '-' || text.p[0] == '+';
    if (parse_duration(str_from(text, sign), ms)) {
        if (text.p[0] == '-')
            *ms = 0;
        return 0;
    }
    return status_set(st, REASON_BAD_REQUEST,
                      "invalid timeout specified in the request URL - time: %s duration %.*s",
                      str_to_i64(text, &number) ? "missing unit in" : "invalid",
                      STR_ARG(quoted(a, text)));
}

/* ---- options ---- */

/* Those of writes and deletes, as sent. */
struct raw_options {
    bool dry_run;
    str dry_runs; /* the values as JSON, `["All","Some"]` */
    bool dry_run_wrong;
    str field_manager, field_validation, propagation, uid, rv;
    bool propagation_given;
    int64_t grace_seconds;
    bool grace_given;
    bool force, force_given, orphan, orphan_given;
};

enum query_option_type { OPTION_STR, OPTION_BOOL, OPTION_INT, OPTION_SIGNED, OPTION_DRY_RUN };

struct option {
    str name;
    enum query_option_type type;
    size_t at, given; /* offsets; given 0: not kept */
};

static const struct option list_table[] = {
#define OPT(param, kind, field)                                        \
    {                                                                  \
        STR_INIT(param), kind, offsetof(struct list_options, field), 0 \
    }
    OPT("labelSelector", OPTION_STR, label_selector),
    OPT("fieldSelector", OPTION_STR, field_selector),
    OPT("continue", OPTION_STR, continue_token),
    OPT("resourceVersion", OPTION_STR, resource_version),
    OPT("resourceVersionMatch", OPTION_STR, resource_version_match),
    OPT("limit", OPTION_INT, limit),
    OPT("timeoutSeconds", OPTION_INT, timeout_s),
    OPT("watch", OPTION_BOOL, watch),
    OPT("allowWatchBookmarks", OPTION_BOOL, allow_bookmarks),
    { STR_INIT("sendInitialEvents"), OPTION_BOOL,
      offsetof(struct list_options, send_initial_events),
      offsetof(struct list_options, send_initial_events_given) },
#undef OPT
};

static const struct option write_table[] = {
#define OPT(param, kind, field, given)                                    \
    {                                                                     \
        STR_INIT(param), kind, offsetof(struct raw_options, field), given \
    }
    OPT("dryRun", OPTION_DRY_RUN, dry_run, 0),
    OPT("fieldManager", OPTION_STR, field_manager, 0),
    OPT("fieldValidation", OPTION_STR, field_validation, 0),
    OPT("force", OPTION_BOOL, force, offsetof(struct raw_options, force_given)),
#undef OPT
};

static const struct option delete_table[] = {
#define OPT(param, kind, field, given)                                    \
    {                                                                     \
        STR_INIT(param), kind, offsetof(struct raw_options, field), given \
    }
    OPT("dryRun", OPTION_DRY_RUN, dry_run, 0),
    OPT("propagationPolicy", OPTION_STR, propagation,
        offsetof(struct raw_options, propagation_given)),
    OPT("uid", OPTION_STR, uid, 0),
    OPT("resourceVersion", OPTION_STR, rv, 0),
    OPT("gracePeriodSeconds", OPTION_SIGNED, grace_seconds,
        offsetof(struct raw_options, grace_given)),
    OPT("orphanDependents", OPTION_BOOL, orphan, offsetof(struct raw_options, orphan_given)),
#undef OPT
};

enum { OPTIONS_MAX = 10 };
_Static_assert(sizeof(list_table) / sizeof(*list_table) <= OPTIONS_MAX, "seen[] is too small");
#define PARSE(a, query, table, out, st) \
    parse_options((a), (query), (table), sizeof(table) / sizeof(*(table)), (out), (st))

static int parse_int(str value, int64_t *out, struct status *st)
{
    bool sign = str_starts(value, STR("+")) || str_starts(value, STR("-"));
    str digits = sign ? str_from(value, 1) : value;
    bool numeric = digits.n > 0;

    for (size_t i = 0; i < digits.n; i++)
        numeric = numeric && digits.p[i] >= '0' && digits.p[i] <= '9';
    if (!numeric || !str_to_i64(value.p[0] == '+' ? digits : value, out))
        return status_set(st, REASON_BAD_REQUEST, "\"%.*s\" must be an integer of 64 bits",
                          STR_ARG(value));
    return 0;
}

/*
 * dryRun may be given several times; every value must be "All".  What is shown of them is cut, so
 * that a long query cannot cost more than its length.
 */
static void add_dry_run(struct arena *a, struct raw_options *o, str value)
{
    str old = o->dry_runs, text;

    o->dry_run = true;
    o->dry_run_wrong = o->dry_run_wrong || !str_eq(value, STR("All"));
    if (old.n > 256)
        return;
    text = quoted(a, value);
    if (old.n == 0)
        o->dry_runs = str_printf(a, "[%.*s]", STR_ARG(text));
    else
        o->dry_runs = str_printf(a, "%.*s,%.*s]", (int)old.n - 1, old.p, STR_ARG(text));
}

static int set_option(struct arena *a, const struct option *opt, void *out, str value,
                      struct status *st)
{
    char *p = (char *)out + opt->at;
    int64_t number = 0;

    if (opt->given)
        *(bool *)((char *)out + opt->given) = true;
    switch (opt->type) {
    case OPTION_STR:
        *(str *)(void *)p = value;
        return 0;
    case OPTION_BOOL:
        *(bool *)p = truth(value);
        return 0;
    case OPTION_INT:
    case OPTION_SIGNED:
        if (parse_int(value, &number, st) < 0)
            return -1;
        /* A negative limit or timeout counts as none, as in Kubernetes. */
        *(int64_t *)(void *)p = number < 0 && opt->type == OPTION_INT ? 0 : number;
        return 0;
    case OPTION_DRY_RUN:
        add_dry_run(a, out, value);
        return 0;
    }
    return 0;
}

static int parse_options(struct arena *a, str query, const struct option *table, size_t n,
                         void *out, struct status *st)
{
    bool seen[OPTIONS_MAX] = { false };

    for (str rest = query, name, value; next_pair(a, &rest, &name, &value);) {
        size_t i = 0;

        while (i < n && !str_eq(name, table[i].name))
            i++;
        /* The first value counts, as in Go's url.Values. */
        if (i == n || (seen[i] && table[i].type != OPTION_DRY_RUN))
            continue;
        seen[i] = true;
        if (set_option(a, &table[i], out, value, st) < 0)
            return -1;
    }
    return 0;
}

int list_options_parse(struct arena *a, str query, struct list_options *out, struct status *st)
{
    struct list_options o = { 0 };

    if (query.n > 0 && PARSE(a, query, list_table, &o, st) < 0)
        return -1;
    *out = o;
    return 0;
}

static const str write_kinds[] = {
    [WRITE_CREATE] = STR_INIT("CreateOptions"),
    [WRITE_UPDATE] = STR_INIT("UpdateOptions"),
    [WRITE_PATCH] = STR_INIT("PatchOptions"),
    [WRITE_APPLY] = STR_INIT("PatchOptions"),
};

static const struct {
    str name;
    enum field_validation value;
} field_validations[] = {
    { STR_INIT(""), FIELD_WARN },
    { STR_INIT("Ignore"), FIELD_IGNORE },
    { STR_INIT("Strict"), FIELD_STRICT },
    { STR_INIT("Warn"), FIELD_WARN },
};

static const struct {
    str name;
    enum propagation value;
} propagations[] = {
    { STR_INIT("Foreground"), PROPAGATION_FOREGROUND },
    { STR_INIT("Background"), PROPAGATION_BACKGROUND },
    { STR_INIT("Orphan"), PROPAGATION_ORPHAN },
};

/* k8s: apimachinery/pkg/apis/meta/v1/validation; the rules and texts below are its */

static void check_field_manager(str m, struct status *st)
{
    if (m.n > FIELD_MANAGER_MAX)
        status_cause(st, CAUSE_TOO_LONG, STR("fieldManager"), STR_NONE,
                     "may not be more than %d bytes", FIELD_MANAGER_MAX);
    for (size_t i = 0; i < m.n; i++) {
        unsigned char c = (unsigned char)m.p[i];

        if (c >= 0x20 && c != 0x7f)
            continue;
        status_cause(st, CAUSE_INVALID, STR("fieldManager"), quoted(st->arena, m),
                     "invalid character U+%04X (at position %zu)", c, i);
        return;
    }
}

static void check_dry_run(const struct raw_options *raw, struct status *st)
{
    if (raw->dry_run_wrong)
        status_cause(st, CAUSE_NOT_SUPPORTED, STR("dryRun"), raw->dry_runs,
                     "supported values: \"All\"");
}

static void take_field_validation(str name, enum field_validation *out, struct status *st)
{
    for (size_t i = 0; i < sizeof(field_validations) / sizeof(*field_validations); i++) {
        if (!str_eq(name, field_validations[i].name))
            continue;
        *out = field_validations[i].value;
        return;
    }
    status_cause(st, CAUSE_NOT_SUPPORTED, STR("fieldValidation"), quoted(st->arena, name),
                 "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
}

int write_options_parse(struct arena *a, str query, enum write_kind kind, struct write_options *out,
                        struct status *st)
{
    struct raw_options raw = { 0 };
    struct write_options o;

    if (query.n > 0 && PARSE(a, query, write_table, &raw, st) < 0)
        return -1;
    o = (struct write_options){ .dry_run = raw.dry_run,
                                .field_manager = raw.field_manager,
                                .force = raw.force,
                                .force_given = raw.force_given };
    if (kind == WRITE_PATCH && raw.force_given)
        status_cause(st, CAUSE_FORBIDDEN, STR("force"), STR_NONE,
                     "may not be specified for non-apply patch");
    if (kind == WRITE_APPLY && raw.field_manager.n == 0)
        status_cause(st, CAUSE_REQUIRED, STR("fieldManager"), STR_NONE,
                     "is required for apply patch");
    check_field_manager(raw.field_manager, st);
    check_dry_run(&raw, st);
    take_field_validation(raw.field_validation, &o.field_validation, st);
    if (status_invalid(st, STR("meta.k8s.io"), write_kinds[kind], STR_NONE) < 0)
        return -1;
    *out = o;
    return 0;
}

static void take_propagation(const struct raw_options *raw, enum propagation *out,
                             struct status *st)
{
    str name = raw->propagation;

    if (raw->propagation_given && raw->orphan_given)
        status_cause(st, CAUSE_INVALID, STR("propagationPolicy"), quoted(st->arena, name),
                     "orphanDependents and deletionPropagation cannot be both set");
    if (raw->orphan_given)
        *out = raw->orphan ? PROPAGATION_ORPHAN : PROPAGATION_BACKGROUND;
    if (!raw->propagation_given)
        return;
    for (size_t i = 0; i < sizeof(propagations) / sizeof(*propagations); i++) {
        if (!str_eq(name, propagations[i].name))
            continue;
        *out = propagations[i].value;
        return;
    }
    status_cause(st, CAUSE_NOT_SUPPORTED, STR("propagationPolicy"), quoted(st->arena, name),
                 "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
}

int delete_options_parse(struct arena *a, str query, struct delete_options *out, struct status *st)
{
    struct raw_options raw = { 0 };
    struct delete_options o = { 0 };

    if (query.n > 0 && PARSE(a, query, delete_table, &raw, st) < 0)
        return -1;
    o.dry_run = raw.dry_run;
    o.has_grace = raw.grace_given;
    o.grace_s = raw.grace_seconds;
    o.precondition_uid = raw.uid;
    o.has_uid = raw.uid.n > 0;
    o.precondition_rv = raw.rv;
    o.has_rv = raw.rv.n > 0;
    o.cascades = raw.orphan_given && !raw.orphan;
    take_propagation(&raw, &o.propagation, st);
    check_dry_run(&raw, st);
    if (status_invalid(st, STR("meta.k8s.io"), STR("DeleteOptions"), STR_NONE) < 0)
        return -1;
    *out = o;
    return 0;
}
