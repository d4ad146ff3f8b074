/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* k8s: pkg/apis/flowcontrol/validation/validation.go */

enum { PRECEDENCE_MAX = 10000, QUEUES_MAX = 10000000, HASH_BITS = 60 };

/* ---- schemas ---- */

static void check_words(struct status *st, const struct site *rule, const char *name,
                        const char *what, const char *none)
{
    struct site list = site_in(rule, name);
    bool all = false;

    if (json_len(list.v) == 0)
        site_missing(st, &list, none);
    json_for_each (word, list.v)
        all = all || str_is(json_str(word), "*");
    if (all && json_len(list.v) > 1)
        site_fault(st, &list, CAUSE_INVALID, "if '*' is present, must not specify other %s", what);
}

/* k8s: of paths, too, those of resources are named as supported */
static void check_verbs(struct status *st, const struct site *rule, const char *const *known)
{
    static const char *const named[] = { "create", "delete", "deletecollection", "get",   "list",
                                         "patch",  "proxy",  "update",           "watch", NULL };
    struct site verbs = site_in(rule, "verbs");
    bool all = true;

    check_words(st, rule, "verbs", "verbs", "verbs must contain at least one value");
    json_for_each (v, verbs.v)
        all = all && (str_is(json_str(v), "*") || str_is_any(json_str(v), known));
    if (!all)
        site_unsupported(st, &verbs, named);
}

static const char *path_fault(str path)
{
    ptrdiff_t star = str_find(path, '*', 0);

    if (!path.n)
        return "must not be empty";
    if (str_is(path, "/"))
        return NULL;
    if (path.p[0] != '/')
        return "must start with slash";
    if (str_find(path, ' ', 0) >= 0)
        return "must not contain white-space";
    if (str_contains(path, STR("//")))
        return "must not contain double slash";
    if (star >= 0 && ((size_t)star != path.n - 1 || path.p[star - 1] != '/'))
        return "wildcard can only do suffix matching";
    return NULL;
}

static void check_paths(struct status *st, const struct site *rule)
{
    static const char *const known[] = { "get",  "head", "options", "patch",
                                         "post", "put",  "delete",  NULL };
    struct site urls = site_in(rule, "nonResourceURLs");

    check_verbs(st, rule, known);
    check_words(st, rule, "nonResourceURLs", "non-resource URLs",
                "nonResourceURLs must contain at least one value");
    site_each(url, &urls)
    {
        const char *why = str_is(json_str(url.v), "*") ? NULL : path_fault(json_str(url.v));

        if (why)
            site_invalid(st, &url, why);
    }
}

static void check_namespaces(struct status *st, const struct site *rule)
{
    struct site list = site_in(rule, "namespaces");
    bool all = false;

    if (json_len(list.v) == 0 && !json_bool(json_get(rule->v, STR("clusterScope"))))
        site_missing(st, &list,
                     "resource rules that are not cluster scoped must supply at least one "
                     "namespace");
    json_for_each (word, list.v)
        all = all || str_is(json_str(word), "*");
    if (all && json_len(list.v) > 1)
        site_invalid(st, &list, "if '*' is present, must not specify other namespaces");
    site_each(word, &list)
    {
        str faults[NAME_FAULTS];
        size_t n =
            str_is(json_str(word.v), "*") ? 0 : name_faults(NAME_LABEL, json_str(word.v), faults);

        for (size_t i = 0; i < n; i++)
            site_fault(st, &word, CAUSE_INVALID,
                       "each member of this list must be '*' or a DNS-1123 label; %.*s",
                       STR_ARG(faults[i]));
    }
}

static void check_account(struct status *st, const struct site *who)
{
    struct site name = site_in(who, "name"), namespace_ = site_in(who, "namespace");

    if (!site_required(st, &name) && !str_is(json_str(name.v), "*"))
        (void)site_name(st, &name, NAME_SUBDOMAIN);
    if (!json_str(namespace_.v).n)
        site_missing(st, &namespace_, "must specify namespace for service account");
    else
        (void)site_name(st, &namespace_, NAME_LABEL);
}

static void check_subject(struct status *st, const struct site *s)
{
    static const char *const kinds[] = { "Group", "ServiceAccount", "User", NULL };
    static const struct {
        const char *kind, *member;
    } members[] = { { "Group", "group" },
                    { "ServiceAccount", "serviceAccount" },
                    { "User", "user" } };
    struct site kind = site_in(s, "kind");
    size_t faults = st->ncauses;

    site_enum(st, &kind, kinds);
    for (size_t i = 0; st->ncauses == faults && i < GROUP_LEN(members); i++) {
        struct site who = site_in(s, members[i].member), name = site_in(&who, "name");
        bool wanted = str_is(json_str(kind.v), members[i].kind);

        if (wanted && !who.v)
            site_fault(st, &who, CAUSE_REQUIRED, "%s is required when subject kind is '%s'",
                       members[i].member, members[i].kind);
        else if (wanted && str_is(json_str(kind.v), "ServiceAccount"))
            check_account(st, &who);
        else if (wanted)
            (void)site_required(st, &name);
        else if (who.v)
            site_fault(st, &who, CAUSE_FORBIDDEN, "%s is forbidden when subject kind is not '%s'",
                       members[i].member, members[i].kind);
    }
}

static void check_rule(struct status *st, const struct site *rule)
{
    static const char *const verbs[] = { "create", "delete", "deletecollection", "get",   "list",
                                         "patch",  "proxy",  "update",           "watch", NULL };
    struct site subjects = site_in(rule, "subjects"), resources = site_in(rule, "resourceRules");
    struct site paths = site_in(rule, "nonResourceRules");

    if (json_len(subjects.v) == 0)
        site_missing(st, &subjects, "subjects must contain at least one value");
    site_each(s, &subjects) check_subject(st, &s);
    if (json_len(resources.v) == 0 && json_len(paths.v) == 0)
        site_missing(st, rule,
                     "at least one of resourceRules and nonResourceRules has to be non-empty");
    site_each(r, &resources)
    {
        check_verbs(st, &r, verbs);
        check_words(st, &r, "apiGroups", "api groups",
                    "resource rules must supply at least one api group");
        check_words(st, &r, "resources", "resources",
                    "resource rules must supply at least one resource");
        check_namespaces(st, &r);
    }
    site_each(p, &paths) check_paths(st, &p);
}

static void check_conditions(struct status *st, const struct site *root)
{
    static const struct json none = { .type = JSON_STRING };
    struct site status = site_in(root, "status"), conditions = site_in(&status, "conditions");
    struct map seen = { 0 };

    site_each(c, &conditions)
    {
        struct site type = site_in(&c, "type");

        type.v = type.v ? type.v : &none;
        if (site_seen_any(&seen, json_str(type.v)))
            site_duplicate(st, &type);
        (void)site_required(st, &type);
    }
    map_release(&seen);
}

static void schema_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const methods[] = { "ByNamespace", "ByUser", NULL };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site precedence = site_in(&spec, "matchingPrecedence"), rules = site_in(&spec, "rules");
    struct site method = site_in(&spec, "distinguisherMethod"), type = site_in(&method, "type");
    struct site level = site_in(&spec, "priorityLevelConfiguration");
    struct site name = site_in(&level, "name");
    int64_t n = json_int(precedence.v, 0);

    check_conditions(st, &root);
    if (str_is(c->subresource, "status"))
        return;
    if (n <= 0)
        site_invalid(st, &precedence, "must be a positive value");
    if (n > PRECEDENCE_MAX)
        site_fault(st, &precedence, CAUSE_INVALID, "must not be greater than %d", PRECEDENCE_MAX);
    if (n == 1 && !str_is(json_get_str(obj, "metadata.name"), "exempt"))
        site_invalid(st, &precedence,
                     "only the schema named 'exempt' may have matchingPrecedence 1");
    if (method.v && !str_is_any(json_str(type.v), methods))
        site_unsupported(st, &type, methods);
    if (!json_str(name.v).n)
        site_missing(st, &name, "must reference a priority level");
    else
        (void)site_name(st, &name, NAME_SUBDOMAIN);
    site_each(rule, &rules) check_rule(st, &rule);
}

/* Those two mean the same in every instance. */
static void fixed_validate(const struct kind_context *c, const struct json *obj,
                           const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    str name = json_get_str(obj, "metadata.name");
    bool level = str_is(c->kind->plural, "prioritylevelconfigurations");

    if ((str_is(name, "catch-all") || (str_is(name, "exempt") && !level)) &&
        !check_same(spec.v, json_get(old, STR("spec"))))
        site_fault(st, &spec, CAUSE_INVALID, "spec of '%.*s' must equal the fixed value",
                   STR_ARG(name));
}

static void schema_cells(struct arena *a, const struct json *obj, int64_t now_s,
                         struct json_array *cells)
{
    str method = json_get_str(obj, "spec.distinguisherMethod.type"), missing = STR("?");

    json_for_each (c, json_path(obj, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Dangling"))
            missing = json_get_str(c, "status");
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.priorityLevelConfiguration.name");
    cell_int(cells, obj, "spec.matchingPrecedence");
    cell_text(cells, method.n ? method : STR("<none>"));
    cell_age(cells, obj, now_s);
    cell_text(cells, missing);
}

static const struct kind_ops schema_ops = {
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = schema_validate,
    .validate_update = fixed_validate,
    .cells = schema_cells,
};

/* ---- levels ---- */

/* k8s: util/shufflesharding RequiredEntropyBits: a hash of that many bits deals the hand. */
static bool fits_hash(int64_t queues, int64_t hand)
{
    uint64_t hands = 1;

    for (; queues > 1 && hand > 0; hand--) {
        if (hands > ((uint64_t)1 << HASH_BITS) / (uint64_t)queues)
            return false;
        hands *= (uint64_t)queues;
    }
    return true;
}

static void check_queuing(struct status *st, const struct site *q)
{
    struct site queues = site_in(q, "queues"), hand = site_in(q, "handSize");
    struct site length = site_in(q, "queueLengthLimit");

    if (json_int(length.v, 1) <= 0)
        site_invalid(st, &length, "must be positive");
    if (json_int(queues.v, 1) <= 0)
        site_invalid(st, &queues, "must be positive");
    if (json_int(queues.v, 1) > QUEUES_MAX)
        site_fault(st, &queues, CAUSE_INVALID, "must not be greater than %d", QUEUES_MAX);
    if (json_int(hand.v, 1) <= 0)
        site_invalid(st, &hand, "must be positive");
    if (json_int(hand.v, 1) > json_int(queues.v, 1))
        site_fault(st, &hand, CAUSE_INVALID, "should not be greater than queues (%lld)",
                   (long long)json_int(queues.v, 1));
    else if (!fits_hash(json_int(queues.v, 1), json_int(hand.v, 1)))
        site_fault(st, &hand, CAUSE_INVALID,
                   "required entropy bits of deckSize %lld and handSize %lld should not be "
                   "greater than %d",
                   (long long)json_int(queues.v, 1), (long long)json_int(hand.v, 1), HASH_BITS);
}

static void check_limited(struct status *st, const struct site *limited)
{
    static const char *const responses[] = { "Queue", "Reject", NULL };
    struct site shares = site_in(limited, "nominalConcurrencyShares");
    struct site lend = site_in(limited, "lendablePercent");
    struct site borrow = site_in(limited, "borrowingLimitPercent");
    struct site response = site_in(limited, "limitResponse"), type = site_in(&response, "type");
    struct site queuing = site_in(&response, "queuing");

    if (json_int(shares.v, 0) < 0)
        site_invalid(st, &shares, "must be a non-negative integer");
    (void)site_range(st, &lend, 0, 100);
    if (json_int(borrow.v, 0) < 0)
        site_invalid(st, &borrow, "if specified, must be a non-negative integer");
    site_enum(st, &type, responses);
    if (str_is(json_str(type.v), "Reject") && queuing.v)
        site_forbidden(st, &queuing, "must be nil if limited.limitResponse.type is not Limited");
    if (!str_is(json_str(type.v), "Queue"))
        return;
    if (!queuing.v)
        site_missing(st, &queuing, "must not be empty if limited.limitResponse.type is Limited");
    else
        check_queuing(st, &queuing);
}

static void check_exempt(struct status *st, const struct site *exempt)
{
    struct site shares = site_in(exempt, "nominalConcurrencyShares");
    struct site lend = site_in(exempt, "lendablePercent");

    if (json_int(shares.v, 0) < 0)
        site_invalid(st, &shares, "must be a non-negative integer");
    (void)site_range(st, &lend, 0, 100);
}

static void level_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const types[] = { "Exempt", "Limited", NULL };
    struct site root = site_root(obj), spec = site_in(&root, "spec"), type = site_in(&spec, "type");
    struct site limited = site_in(&spec, "limited"), exempt = site_in(&spec, "exempt");

    check_conditions(st, &root);
    if (str_is(c->subresource, "status"))
        return;
    site_enum(st, &type, types);
    if (str_is(json_str(type.v), "Exempt") != str_is(json_get_str(obj, "metadata.name"), "exempt"))
        site_invalid(st, &type, "must be 'Exempt' if and only if `name` is 'exempt'");
    if (str_is(json_str(type.v), "Exempt") && limited.v)
        site_forbidden(st, &limited, "must be nil if the type is not Limited");
    if (str_is(json_str(type.v), "Exempt"))
        check_exempt(st, &exempt);
    if (!str_is(json_str(type.v), "Limited"))
        return;
    if (exempt.v)
        site_forbidden(st, &exempt, "must be nil if the type is Limited");
    if (!limited.v)
        site_missing(st, &limited, "must not be empty when type is Limited");
    else
        check_limited(st, &limited);
}

static void cell_number(struct json_array *cells, const struct json *obj, const char *path)
{
    const struct json *v = json_path(obj, path);

    json_push(cells, v ? *v : json_of_str(STR("<none>")));
}

static void level_cells(struct arena *a, const struct json *obj, int64_t now_s,
                        struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.type");
    cell_number(cells, obj, "spec.limited.nominalConcurrencyShares");
    cell_number(cells, obj, "spec.limited.limitResponse.queuing.queues");
    cell_number(cells, obj, "spec.limited.limitResponse.queuing.handSize");
    cell_number(cells, obj, "spec.limited.limitResponse.queuing.queueLengthLimit");
    cell_age(cells, obj, now_s);
}

static const struct kind_ops level_ops = {
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = level_validate,
    .validate_update = fixed_validate,
    .cells = level_cells,
};

/* ---- the group ---- */

static const struct column schema_columns[] = {
    NAME_COLUMN,
    COLUMN("PriorityLevel", "", 0, "The level of its requests."),
    COLUMN("MatchingPrecedence", "", 0, "The least of all that match counts."),
    COLUMN("DistinguisherMethod", "", 0, "What makes requests one flow."),
    AGE_COLUMN,
    COLUMN("MissingPL", "", 0, "True when there is no such level."),
};
static const struct column level_columns[] = {
    NAME_COLUMN,
    COLUMN("Type", "", 0, "Exempt or Limited."),
    COLUMN("NominalConcurrencyShares", "", 0, "Its share."),
    COLUMN("Queues", "", 0, "How many queues."),
    COLUMN("HandSize", "", 0, "From how many a flow takes the shortest."),
    COLUMN("QueueLengthLimit", "", 0, "How many wait in one."),
    AGE_COLUMN,
};
static const struct subresource status_only[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        KIND_NAMES("FlowSchema", "flowschemas", "flowschema"),
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        .generation = true,
        .status_meta = STATUS_META_ALL,
        LIST(subresources, status_only),
        LIST(columns, schema_columns),
        .row_rank = "spec.matchingPrecedence",
        .ops = &schema_ops,
    },
    {
        KIND_NAMES("PriorityLevelConfiguration", "prioritylevelconfigurations",
                   "prioritylevelconfiguration"),
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        .generation = true,
        .status_meta = STATUS_META_ALL,
        LIST(subresources, status_only),
        LIST(columns, level_columns),
        .ops = &level_ops,
    },
};

const struct group group_flowcontrol = {
    .name = STR_INIT("flowcontrol.apiserver.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.flowcontrol.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
