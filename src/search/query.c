/* SPDX-License-Identifier: Apache-2.0 */
#include "search/query.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/encode.h"

/* Options by their names in URLs and as labels; either may be missing. */
enum option {
    CLUSTERS,
    NAMESPACES,
    NAMES,
    FUZZY,
    SINCE,
    BEFORE,
    OWNER_UID,
    OWNER_NAME,
    OWNER_GR,
    OWNER_SENIORITY,
    ORDER_BY,
    LIMIT,
    OFFSET,
    WITH_CONTINUE,
    WITH_REMAINING,
    INJECT_EVENTS,
    SHOW_VIRTUAL,
    ONLY_METADATA,
    GROUPS,
    RESOURCES,
    LABELS,
    FIELDS,
    WATCH,
    OPTIONS,
};

#define SEARCH   "search.clusterpedia.io/"
#define INTERNAL "internalstorage.clusterpedia.io/"

static const struct {
    const char *url, *label, *label2;
} names[OPTIONS] = {
    [CLUSTERS] = { "clusters", SEARCH "clusters", NULL },
    [NAMESPACES] = { "namespaces", SEARCH "namespaces", NULL },
    [NAMES] = { "names", SEARCH "names", NULL },
    [FUZZY] = { NULL, INTERNAL "fuzzy-name", NULL },
    [SINCE] = { "since", SEARCH "since", NULL },
    [BEFORE] = { "before", SEARCH "before", NULL },
    [OWNER_UID] = { "ownerUID", SEARCH "owner-uid", NULL },
    [OWNER_NAME] = { "ownerName", SEARCH "owner-name", NULL },
    [OWNER_GR] = { "ownerGR", SEARCH "owner-gr", NULL },
    [OWNER_SENIORITY] = { "ownerSeniority", SEARCH "owner-seniority", INTERNAL "owner-seniority" },
    [ORDER_BY] = { "orderby", SEARCH "orderby", NULL },
    [LIMIT] = { "limit", SEARCH "limit", SEARCH "size" },
    [OFFSET] = { "continue", SEARCH "offset", NULL },
    [WITH_CONTINUE] = { "withContinue", SEARCH "with-continue", NULL },
    [WITH_REMAINING] = { "withRemainingCount", SEARCH "with-remaining-count", NULL },
    [INJECT_EVENTS] = { "injectEvents", SEARCH "inject-events", NULL },
    [SHOW_VIRTUAL] = { "showVirtualCluster", SEARCH "show-virtual-cluster", NULL },
    [ONLY_METADATA] = { "onlyMetadata", NULL, NULL },
    [GROUPS] = { "groups", NULL, NULL },
    [RESOURCES] = { "resources", NULL, NULL },
    [LABELS] = { "labelSelector", NULL, NULL },
    [FIELDS] = { "fieldSelector", NULL, NULL },
    [WATCH] = { "watch", NULL, NULL },
};

struct given {
    str text;        /* of the URL */
    bool in_url;     /* it stands there, maybe without a value */
    const str *list; /* of a label, in the order of writing */
    size_t nlist;
};

struct reading {
    struct arena *arena;
    struct status *st;
    struct given given[OPTIONS];
};

static int bad(struct reading *r, const char *what)
{
    return status_set(r->st, REASON_BAD_REQUEST, "%s", what);
}

static bool url_option(str name, enum option *out)
{
    for (int i = 0; i < OPTIONS; i++)
        if (names[i].url && str_is(name, names[i].url)) {
            *out = (enum option)i;
            return true;
        }
    return false;
}

static int read_url(struct reading *r, str text)
{
    for (str rest = text, part; str_split(&rest, '&', &part);) {
        ptrdiff_t eq = str_find(part, '=', 0);
        str raw_name = eq < 0 ? part : str_sub(part, 0, (size_t)eq), name, value = STR_NONE;
        enum option o;

        if (!percent_decode(r->arena, PERCENT_QUERY, raw_name, &name) ||
            (eq >= 0 &&
             !percent_decode(r->arena, PERCENT_QUERY, str_from(part, (size_t)eq + 1), &value)))
            return bad(r, "the query cannot be decoded");
        if (!url_option(name, &o) || r->given[o].in_url)
            continue;
        r->given[o].in_url = true;
        r->given[o].text = value;
    }
    return 0;
}

/* ---- labels ---- */

static int cmp_places(const void *a, const void *b)
{
    const char *x = ((const str *)a)->p, *y = ((const str *)b)->p;

    return (x > y) - (x < y);
}

/* In the order of writing: values are slices of the text. */
static void take_label(struct reading *r, enum option o, const struct selector_term *t)
{
    str *list = arena_array(r->arena, str, t->nvalues);

    memcpy(list, t->values, t->nvalues * sizeof(str));
    qsort(list, t->nvalues, sizeof(*list), cmp_places);
    r->given[o].list = list;
    r->given[o].nlist = t->nvalues;
}

static bool label_option(str key, enum option *out)
{
    for (int i = 0; i < OPTIONS; i++)
        if ((names[i].label && str_is(key, names[i].label)) ||
            (names[i].label2 && str_is(key, names[i].label2))) {
            *out = (enum option)i;
            return true;
        }
    return false;
}

static int read_search_label(struct reading *r, const struct selector_term *t)
{
    enum option o;

    if (!label_option(t->key, &o) || t->op == SELECTOR_EXISTS)
        return 0;
    if (t->op != SELECTOR_IN)
        return status_set(r->st, REASON_BAD_REQUEST,
                          "the search label %.*s can only be used with =, == and in",
                          STR_ARG(t->key));
    take_label(r, o, t);
    return 0;
}

static int read_labels(struct reading *r, struct query *q)
{
    struct selector_term *left;
    struct selector all;
    size_t n = 0;

    if (selector_parse_labels(r->arena, r->given[LABELS].text, &all, r->st) < 0)
        return -1;
    left = arena_array(r->arena, struct selector_term, all.nterms);
    for (size_t i = 0; i < all.nterms; i++) {
        const struct selector_term *t = &all.terms[i];

        if (str_contains(t->key, STR("clusterpedia.io"))) {
            if (read_search_label(r, t) < 0)
                return -1;
        } else if (t->op == SELECTOR_GT || t->op == SELECTOR_LT)
            return bad(r, "labels are compared as text: '>' and '<' cannot be asked for");
        else
            left[n++] = *t;
    }
    q->labels = (struct selector){ left, n };
    return 0;
}

/* ---- values ---- */

static int read_list(struct reading *r, enum option o, struct query_list *out)
{
    const struct given *g = &r->given[o];
    size_t n = 1, at = 0;
    str *list;

    *out = (struct query_list){ g->list, g->nlist };
    if (str_empty(g->text))
        return 0;
    for (size_t i = 0; i < g->text.n; i++)
        n += g->text.p[i] == ',';
    if (n > QUERY_LIST_MAX)
        return status_set(r->st, REASON_BAD_REQUEST, "%s: at most %d values", names[o].url,
                          QUERY_LIST_MAX);
    list = arena_array(r->arena, str, n);
    for (str rest = g->text, part; str_split(&rest, ',', &part);) {
        part = str_trim(part);
        if (part.n)
            list[at++] = part;
    }
    *out = (struct query_list){ list, at };
    return 0;
}

static str read_text(const struct reading *r, enum option o)
{
    const struct given *g = &r->given[o];

    if (!str_empty(g->text))
        return g->text;
    return g->nlist ? g->list[0] : STR_NONE;
}

static bool read_bool(const struct reading *r, enum option o)
{
    const struct given *g = &r->given[o];
    str text = g->in_url ? g->text : read_text(r, o);

    return (g->in_url || g->nlist) && !str_is(text, "0") && !str_is(text, "false");
}

static int read_number(struct reading *r, enum option o, const char *go, const char *label,
                       int64_t *out)
{
    const struct given *g = &r->given[o];
    struct json v = json_of_str(read_text(r, o));

    if (v.n == 0 || str_to_i64(json_str(&v), out))
        return 0;
    return status_set(r->st, REASON_BAD_REQUEST, "%sstrconv.%s: parsing %.*s: invalid syntax",
                      str_empty(g->text) ? label : "", go, STR_ARG(json_text(r->arena, &v)));
}

static int read_offset(struct reading *r, int64_t *out)
{
    str text = r->given[OFFSET].text;

    if (!str_empty(text)) { /* k8s clients put words of their own here */
        if (!str_to_i64(text, out))
            *out = 0;
        return 0;
    }
    text = read_text(r, OFFSET);
    return read_number(r, OFFSET, "ParseInt",
                       str_printf(r->arena, "Invalid Query Offset(%.*s): ", STR_ARG(text)).p, out);
}

static bool all_digits(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n;
}

static int parse_time(struct reading *r, str text, int64_t *out)
{
    if (all_digits(text)) {
        if (text.n != 10 && text.n != 13)
            return bad(r, "Invalid timestamp: only timestamps with string lengths of 10(as s) and "
                          "13(as ms) are supported");
        (void)str_to_i64(text, out);
        if (text.n == 13)
            *out /= 1000;
        return 0;
    }
    if (time_parse_seconds(text, out))
        return 0;
    if (text.n == 10 &&
        time_parse_seconds(str_printf(r->arena, "%.*sT00:00:00Z", STR_ARG(text)), out))
        return 0;
    if (text.n == 19 && text.p[10] == ' ' &&
        time_parse_seconds(str_printf(r->arena, "%.*sT%.*sZ", STR_ARG(str_sub(text, 0, 10)),
                                      STR_ARG(str_from(text, 11))),
                           out))
        return 0;
    return status_set(r->st, REASON_BAD_REQUEST,
                      "Invalid datetime: %.*s, a valid datetime format: RFC3339, "
                      "Datetime(2006-01-02 15:04:05), Date(2006-01-02), Unix Timestamp",
                      STR_ARG(text));
}

static int read_time(struct reading *r, enum option o, const char *word, bool *has, int64_t *out)
{
    str text = read_text(r, o);

    if (str_empty(text))
        return 0;
    *has = true;
    if (parse_time(r, text, out) == 0)
        return 0;
    if (str_empty(r->given[o].text))
        (void)status_wrap(r->st, "Invalid Query %s(%.*s)", word, STR_ARG(text));
    return -1;
}

static int read_times(struct reading *r, struct query *q)
{
    if (read_time(r, SINCE, "Since", &q->has_since, &q->since) < 0 ||
        read_time(r, BEFORE, "Before", &q->has_before, &q->before) < 0)
        return -1;
    if (q->has_since && q->has_before && q->since > q->before)
        return bad(r, "Invalid Query, Since is after Before");
    return 0;
}

static int read_owner(struct reading *r, struct query *q)
{
    str gr = read_text(r, OWNER_GR);
    ptrdiff_t dot = str_find(gr, '.', 0);

    q->owner_uid = read_text(r, OWNER_UID);
    q->owner_name = read_text(r, OWNER_NAME);
    q->owner_typed = gr.n;
    q->owner_resource = dot < 0 ? gr : str_sub(gr, 0, (size_t)dot);
    q->owner_group = dot < 0 ? STR_NONE : str_from(gr, (size_t)dot + 1);
    if (read_number(r, OWNER_SENIORITY, "Atoi",
                    "Invalid Query OwnerSeniority: ", &q->owner_seniority) < 0)
        return -1;
    if (q->owner_seniority < 0 || q->owner_seniority > QUERY_SENIORITY_MAX)
        return status_set(r->st, REASON_BAD_REQUEST,
                          "Invalid Query OwnerSeniority: it must be between 0 and %d",
                          QUERY_SENIORITY_MAX);
    return 0;
}

/* ---- order ---- */

static const str columns[QUERY_COLUMNS] = {
    [QUERY_CLUSTER] = STR_INIT("cluster"),
    [QUERY_NAMESPACE] = STR_INIT("namespace"),
    [QUERY_NAME] = STR_INIT("name"),
    [QUERY_CREATED] = STR_INIT("created_at"),
    [QUERY_VERSION] = STR_INIT("resource_version"),
    [QUERY_RESOURCE] = STR_INIT("resource"),
    [QUERY_GROUP] = STR_INIT("group"),
    [QUERY_KIND] = STR_INIT("kind"),
};

static int add_order(struct query *q, str text, str desc, struct status *st)
{
    bool down = str_ends(text, desc);
    str word = down ? str_sub(text, 0, text.n - desc.n) : text;

    for (int i = 0; i < QUERY_COLUMNS && q->norders < QUERY_ORDERS_MAX; i++)
        if (str_eq(word, columns[i])) {
            q->orders[q->norders++] = (struct query_order){ (enum query_column)i, down };
            return 0;
        }
    return status_set(st, REASON_BAD_REQUEST, "Invalid Query OrderBy");
}

int query_parse_orders(str text, struct query *out, struct status *st)
{
    if (str_empty(text))
        return 0;
    for (str rest = text, part; str_split(&rest, ',', &part);)
        if (add_order(out, str_trim(part), STR(" desc"), st) < 0)
            return -1;
    return 0;
}

static int read_orders(struct reading *r, struct query *q)
{
    const struct given *g = &r->given[ORDER_BY];

    if (!str_empty(g->text))
        return query_parse_orders(g->text, q, r->st);
    for (size_t i = 0; i < g->nlist; i++)
        if (add_order(q, g->list[i], STR("_desc"), r->st) < 0)
            return -1;
    return 0;
}

int query_parse(struct arena *a, str text, struct query *out, struct status *st)
{
    struct reading r = { .arena = a, .st = st };

    *out = (struct query){ 0 };
    if (read_url(&r, text) < 0 || read_labels(&r, out) < 0 ||
        fields_parse(a, r.given[FIELDS].text, &out->fields, st) < 0 ||
        read_list(&r, CLUSTERS, &out->clusters) < 0 ||
        read_list(&r, NAMESPACES, &out->namespaces) < 0 || read_list(&r, NAMES, &out->names) < 0 ||
        read_list(&r, FUZZY, &out->fuzzy) < 0 || read_times(&r, out) < 0 ||
        read_owner(&r, out) < 0 || read_orders(&r, out) < 0 ||
        read_number(&r, LIMIT, "ParseInt", "Invalid Query Limit: ", &out->limit) < 0 ||
        read_offset(&r, &out->offset) < 0)
        return -1;
    if (out->limit < 0)
        out->limit = 0;
    if (out->offset < 0)
        out->offset = 0;
    out->with_continue = read_bool(&r, WITH_CONTINUE);
    out->with_remaining = read_bool(&r, WITH_REMAINING);
    out->inject_events = read_bool(&r, INJECT_EVENTS);
    out->show_virtual = read_bool(&r, SHOW_VIRTUAL);
    out->only_metadata = read_bool(&r, ONLY_METADATA);
    out->watch = read_bool(&r, WATCH);
    out->has_groups = r.given[GROUPS].in_url;
    out->groups = r.given[GROUPS].text;
    out->resources = r.given[RESOURCES].text;
    return 0;
}
