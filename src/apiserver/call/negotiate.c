/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/negotiate.h"

#include "apiserver/call/reqinfo.h"
#include "base/banned.h"

/* One media range of an Accept header. */
struct range {
    str type, sub;
    str as, group, version, stream;
    bool convert;    /* one of as, g, v was given */
    unsigned q;      /* thousandths */
    unsigned groups; /* how specific: 2 type/sub, 1 type and a star, 0 two stars */
};

/* Enough for every client; what comes behind does not count. */
enum { RANGES_MAX = 16 };

static const struct {
    enum media media;
    str sub, content_type;
} medias[] = {
    { MEDIA_JSON, STR_INIT("json"), STR_INIT("application/json") },
    { MEDIA_YAML, STR_INIT("yaml"), STR_INIT("application/yaml") },
};

/*
 * The conversions we know.  The Content-Type of aggregated discovery carries them back, because
 * client-go chooses its decoder by comparing g, v and as.
 */
static const struct {
    str group, version, kind;
    enum transform transform;
    unsigned endpoints;   /* where it can be met */
    unsigned refused;     /* where it is understood, but 406 */
    str content_types[2]; /* by media; empty: the plain one */
} transforms[] = {
#define META(version, kind, transform, endpoints, refused)                                  \
    {                                                                                       \
        STR_INIT("meta.k8s.io"), STR_INIT(version), STR_INIT(kind), transform, (endpoints), \
            (refused),                                                                      \
        {                                                                                   \
            STR_INIT(""), STR_INIT("")                                                      \
        }                                                                                   \
    }
#define PARAMS(version) ";g=apidiscovery.k8s.io;v=" version ";as=APIGroupDiscoveryList"
#define DISCOVERY(version)                                                                     \
    {                                                                                          \
        STR_INIT("apidiscovery.k8s.io"), STR_INIT(version), STR_INIT("APIGroupDiscoveryList"), \
            TRANSFORM_DISCOVERY, 1 << ACCEPT_DISCOVERY, 0,                                     \
        {                                                                                      \
            STR_INIT("application/json" PARAMS(version)),                                      \
                STR_INIT("application/yaml" PARAMS(version))                                   \
        }                                                                                      \
    }
    META("v1", "Table", TRANSFORM_TABLE, 1 << ACCEPT_OBJECT | 1 << ACCEPT_LIST | 1 << ACCEPT_WATCH,
         0),
    META("v1beta1", "Table", TRANSFORM_TABLE,
         1 << ACCEPT_OBJECT | 1 << ACCEPT_LIST | 1 << ACCEPT_WATCH, 0),
    META("v1", "PartialObjectMetadata", TRANSFORM_PARTIAL, 1 << ACCEPT_OBJECT | 1 << ACCEPT_WATCH,
         1 << ACCEPT_LIST),
    META("v1beta1", "PartialObjectMetadata", TRANSFORM_PARTIAL,
         1 << ACCEPT_OBJECT | 1 << ACCEPT_WATCH, 1 << ACCEPT_LIST),
    META("v1", "PartialObjectMetadataList", TRANSFORM_PARTIAL_LIST, 1 << ACCEPT_LIST,
         1 << ACCEPT_OBJECT | 1 << ACCEPT_WATCH),
    META("v1beta1", "PartialObjectMetadataList", TRANSFORM_PARTIAL_LIST, 1 << ACCEPT_LIST,
         1 << ACCEPT_OBJECT | 1 << ACCEPT_WATCH),
    DISCOVERY("v2"),
    DISCOVERY("v2beta1"),
#undef META
#undef DISCOVERY
#undef PARAMS
};

/* "0.5" in thousandths; what is none counts as 1. */
static unsigned parse_q(str s)
{
    unsigned q = 0, digit = 1000;

    if (s.n == 0 || (s.p[0] != '0' && s.p[0] != '1') || (s.n > 1 && s.p[1] != '.'))
        return 1000;
    q = s.p[0] == '1' ? 1000 : 0;
    for (size_t i = 2; i < s.n && i < 5; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return 1000;
        digit /= 10;
        q += (unsigned)(s.p[i] - '0') * digit;
    }
    return q > 1000 ? 1000 : q;
}

static str unquoted(str s)
{
    return s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"' ? str_sub(s, 1, s.n - 2) : s;
}

static void range_param(struct range *r, str param)
{
    ptrdiff_t eq = str_find(param, '=', 0);
    str name, value;

    if (eq < 0)
        return;
    name = str_trim(str_sub(param, 0, (size_t)eq));
    value = unquoted(str_trim(str_from(param, (size_t)eq + 1)));
    if (str_eq(name, STR("q"))) {
        r->q = parse_q(value);
    } else if (str_eq(name, STR("as"))) {
        r->as = value;
        r->convert = true;
    } else if (str_eq(name, STR("g"))) {
        r->group = value;
        r->convert = true;
    } else if (str_eq(name, STR("v"))) {
        r->version = value;
        r->convert = true;
    } else if (str_eq(name, STR("stream"))) {
        r->stream = value;
    }
}

/* "type/sub;p=v;p=v"; false when it is no media range. */
static bool range_parse(str text, struct range *out)
{
    struct range r = { .q = 1000 };
    str rest = text, media, param;
    ptrdiff_t slash;

    if (!str_split(&rest, ';', &media))
        return false;
    media = str_trim(media);
    if (str_eq(media, STR("*")))
        media = STR("*/*");
    slash = str_find(media, '/', 0);
    if (slash <= 0 || (size_t)slash + 1 == media.n)
        return false;
    r.type = str_sub(media, 0, (size_t)slash);
    r.sub = str_from(media, (size_t)slash + 1);
    r.groups = (str_eq(r.type, STR("*")) ? 0u : 1u) + (str_eq(r.sub, STR("*")) ? 0u : 1u);
    while (str_split(&rest, ';', &param))
        range_param(&r, param);
    *out = r;
    return true;
}

/* By q, then the more specific ones, else as written: insertion keeps the order of equals. */
static size_t ranges_parse(str header, struct range ranges[RANGES_MAX])
{
    size_t n = 0;

    for (str rest = header, text; n < RANGES_MAX && str_split(&rest, ',', &text);) {
        struct range r;
        size_t at = n;

        if (!range_parse(text, &r) || r.q == 0)
            continue;
        while (at > 0 && (ranges[at - 1].q < r.q ||
                          (ranges[at - 1].q == r.q && ranges[at - 1].groups < r.groups))) {
            ranges[at] = ranges[at - 1];
            at--;
        }
        ranges[at] = r;
        n++;
    }
    return n;
}

static bool range_matches(const struct range *r, str sub)
{
    if (str_eq(r->type, STR("*")))
        return str_eq(r->sub, STR("*"));
    return str_eq_nocase(r->type, STR("application")) &&
           (str_eq(r->sub, STR("*")) || str_eq_nocase(r->sub, sub));
}

int accept_offer(str header, const str *offers, size_t n)
{
    struct range ranges[RANGES_MAX];
    size_t nranges;

    if (header.n == 0)
        return 0;
    nranges = ranges_parse(header, ranges);
    for (size_t i = 0; i < nranges; i++) {
        for (size_t k = 0; k < n && !ranges[i].convert; k++) {
            if (range_matches(&ranges[i], str_from(offers[k], strlen("application/"))))
                return (int)k;
        }
    }
    return -1;
}

static int not_acceptable(struct status *st)
{
    return status_set(st, REASON_NOT_ACCEPTABLE,
                      "only the following media types are accepted: application/json, "
                      "application/yaml");
}

/* 1 chosen, 0 not this one, -1 understood but wrong here. */
static int choose_transform(const struct range *r, enum accept_endpoint endpoint,
                            struct accept *out)
{
    unsigned here = 1u << endpoint;

    if (!r->convert)
        return 1;
    for (size_t i = 0; i < sizeof(transforms) / sizeof(*transforms); i++) {
        if (!str_eq(r->as, transforms[i].kind) || !str_eq(r->version, transforms[i].version) ||
            !str_eq(r->group, transforms[i].group))
            continue;
        if (transforms[i].refused & here)
            return -1;
        if (!(transforms[i].endpoints & here))
            return 0;
        out->transform = transforms[i].transform;
        out->version = transforms[i].version;
        if (transforms[i].content_types[out->media].n > 0)
            out->content_type = transforms[i].content_types[out->media];
        return 1;
    }
    return 0;
}

static int choose(const struct range *r, enum accept_endpoint endpoint, struct accept *out)
{
    size_t n = sizeof(medias) / sizeof(*medias);

    if (endpoint == ACCEPT_WATCH)
        n = 1;
    else if (r->stream.n > 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        int found;

        if (!range_matches(r, medias[i].sub))
            continue;
        *out = (struct accept){ .media = medias[i].media, .content_type = medias[i].content_type };
        found = choose_transform(r, endpoint, out);
        if (found != 0)
            return found;
    }
    return 0;
}

int accept_negotiate(str header, enum accept_endpoint endpoint, struct accept *out,
                     struct status *st)
{
    struct range ranges[RANGES_MAX];
    struct accept found;
    size_t n;

    if (header.n == 0 || str_eq(header, STR("application/json"))) {
        *out = (struct accept){ .content_type = STR("application/json") };
        return 0;
    }
    n = ranges_parse(header, ranges);
    for (size_t i = 0; i < n; i++) {
        int rc = choose(&ranges[i], endpoint, &found);

        if (rc < 0)
            return status_set(
                st, REASON_NOT_ACCEPTABLE, "you requested %.*s, but the requested object is %s",
                STR_ARG(ranges[i].as), endpoint == ACCEPT_OBJECT ? "not a list" : "a list");
        if (rc == 0)
            continue;
        *out = found;
        return 0;
    }
    return not_acceptable(st);
}

/* ---- bodies ---- */

static str without_params(str content_type)
{
    ptrdiff_t semi = str_find(content_type, ';', 0);

    return str_trim(semi < 0 ? content_type : str_sub(content_type, 0, (size_t)semi));
}

static const str contents[] = {
    [CONTENT_JSON] = STR_INIT("application/json"),
    [CONTENT_YAML] = STR_INIT("application/yaml"),
    [CONTENT_PROTOBUF] = STR_INIT("application/vnd.kubernetes.protobuf"),
    [CONTENT_JSON_PATCH] = STR_INIT("application/json-patch+json"),
    [CONTENT_MERGE_PATCH] = STR_INIT("application/merge-patch+json"),
    [CONTENT_STRATEGIC_PATCH] = STR_INIT("application/strategic-merge-patch+json"),
    [CONTENT_APPLY_PATCH] = STR_INIT("application/apply-patch+yaml"),
};

static bool find_content(str type, enum content first, enum content last, enum content *out)
{
    for (enum content i = first; i <= last; i++) {
        if (!str_eq_nocase(type, contents[i]))
            continue;
        *out = i;
        return true;
    }
    return false;
}

int content_of_body(str content_type, enum content *out, struct status *st)
{
    str type = without_params(content_type);

    if (type.n == 0) {
        *out = CONTENT_JSON;
        return 0;
    }
    if (find_content(type, CONTENT_JSON, CONTENT_PROTOBUF, out))
        return 0;
    return status_set(st, REASON_UNSUPPORTED_MEDIA_TYPE,
                      "the body of the request was in an unknown format - accepted media types "
                      "include: application/json, application/yaml, "
                      "application/vnd.kubernetes.protobuf");
}

int content_of_patch(str content_type, enum content *out, struct status *st)
{
    if (find_content(without_params(content_type), CONTENT_JSON_PATCH, CONTENT_APPLY_PATCH, out))
        return 0;
    st->empty_details = true;
    return status_set(st, REASON_UNSUPPORTED_MEDIA_TYPE,
                      "the body of the request was in an unknown format - accepted media types "
                      "include: application/json-patch+json, application/merge-patch+json, "
                      "application/strategic-merge-patch+json, application/apply-patch+yaml");
}

/* ---- the rest ---- */

bool accepts_gzip(str accept_encoding)
{
    for (str rest = accept_encoding, text; str_split(&rest, ',', &text);) {
        str name, param, params = text;
        struct range r = { .q = 1000 };

        if (!str_split(&params, ';', &name) || !str_eq_nocase(str_trim(name), STR("gzip")))
            continue;
        while (str_split(&params, ';', &param))
            range_param(&r, param);
        return r.q > 0;
    }
    return false;
}

/* k8s: strconv.ParseBool, where what it does not know is false */
static bool parse_bool(str s)
{
    return str_eq(s, STR("1")) || str_eq_nocase(s, STR("t")) || str_eq_nocase(s, STR("true"));
}

bool wants_pretty(struct arena *a, str query, str user_agent)
{
    static const str people[] = { STR_INIT("curl"), STR_INIT("Wget"), STR_INIT("Mozilla/5.0") };
    str value;

    if (query.n > 0 && query_get(a, query, STR("pretty"), &value) && value.n > 0)
        return parse_bool(value);
    for (size_t i = 0; i < sizeof(people) / sizeof(*people); i++) {
        if (str_starts(user_agent, people[i]))
            return true;
    }
    return false;
}
