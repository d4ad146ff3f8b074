/* SPDX-License-Identifier: Apache-2.0 */

/* Reads default_roles.txt, whose first lines say what it looks like. */

#include "base/banned.h"
#include "kinds/defaults.h"
#include "object/meta/roles.h"

#define GROUP "rbac.authorization.k8s.io"

enum { WORDS_MAX = 8, AGGREGATION_DEPTH = 4 };

struct line_words {
    str w[WORDS_MAX];
    size_t n;
};

struct roles_reader {
    struct arena *arena;
    struct json_array cluster_roles, others;
    bool open; /* a role, of which the lines that follow tell: */
    str namespace_, name, binding, collects;
    struct json_object labels;
    struct json_array rules, subjects;
};

static const struct json *strings(struct arena *a, str list)
{
    struct json_array r = json_array_new(a);

    for (str rest = list, part; str_split(&rest, ',', &part);)
        json_push(&r, json_of_str(str_is(part, "core") ? STR("") : part));
    return json_array_done(&r);
}

static void add_text(struct json_object *o, const char *name, str value)
{
    json_add(o, str_of(name), json_of_str(value));
}

static str label_name(struct arena *a, str label)
{
    return str_printf(a, GROUP "/%.*s", STR_ARG(label));
}

/* ---- lines ---- */

static bool line_rule(struct roles_reader *r, const struct line_words *w)
{
    struct json_object o = json_object_new(r->arena);
    bool paths = str_is(w->w[1], "at");
    str groups = STR("core");

    json_add(&o, STR("verbs"), *strings(r->arena, w->w[0]));
    if (paths) {
        json_add(&o, STR("nonResourceURLs"), *strings(r->arena, w->w[2]));
        json_push(&r->rules, json_object_value(&o));
        return w->n == 3;
    }
    json_add(&o, STR("resources"), *strings(r->arena, w->w[1]));
    for (size_t i = 2; i + 1 < w->n; i += 2) {
        if (str_is(w->w[i], "in"))
            groups = w->w[i + 1];
        else if (str_is(w->w[i], "named"))
            json_add(&o, STR("resourceNames"), *strings(r->arena, w->w[i + 1]));
        else
            return false;
    }
    json_add(&o, STR("apiGroups"), *strings(r->arena, groups));
    json_push(&r->rules, json_object_value(&o));
    return w->n >= 2 && w->n % 2 == 0;
}

static bool line_gives(struct roles_reader *r, const struct line_words *w)
{
    json_add(&r->labels, label_name(r->arena, w->w[1]), json_of_str(STR("true")));
    return w->n == 2;
}

static bool line_collects(struct roles_reader *r, const struct line_words *w)
{
    r->collects = w->w[1];
    return w->n == 2;
}

static bool line_to(struct roles_reader *r, const struct line_words *w)
{
    struct json_object o = json_object_new(r->arena);
    str name = w->w[2];

    r->binding = str_is(w->w[3], "as") ? w->w[4] : r->name;
    if (str_is(w->w[1], "nobody"))
        return w->n == 2;
    if (str_is(w->w[1], "account")) {
        ptrdiff_t slash = str_find(name, '/', 0);

        if (slash < 0)
            return false;
        add_text(&o, "kind", STR("ServiceAccount"));
        add_text(&o, "namespace", str_sub(name, 0, (size_t)slash));
        name = str_from(name, (size_t)slash + 1);
    } else if (!str_is(w->w[1], "user") && !str_is(w->w[1], "group")) {
        return false;
    } else {
        add_text(&o, "kind", str_is(w->w[1], "user") ? STR("User") : STR("Group"));
        add_text(&o, "apiGroup", STR(GROUP));
    }
    add_text(&o, "name", name);
    json_push(&r->subjects, json_object_value(&o));
    return w->n == 3 || w->n == 5;
}

static const struct {
    const char *word;
    bool (*read)(struct roles_reader *r, const struct line_words *w);
} lines[] = {
    { "gives", line_gives },
    { "collects", line_collects },
    { "to", line_to },
    { "", line_rule },
};

/* ---- objects ---- */

static struct json_object begin(struct roles_reader *r, const char *kind, str name,
                                const struct json *more_labels)
{
    struct json_object o = json_object_new(r->arena), meta = json_object_new(r->arena);
    struct json_object notes = json_object_new(r->arena);
    struct json_object labels =
        more_labels ? json_object_from(r->arena, more_labels) : json_object_new(r->arena);

    add_text(&notes, "rbac.authorization.kubernetes.io/autoupdate", STR("true"));
    add_text(&labels, "kubernetes.io/bootstrapping", STR("rbac-defaults"));
    add_text(&meta, "name", name);
    if (r->namespace_.n)
        add_text(&meta, "namespace", r->namespace_);
    json_add(&meta, STR("labels"), json_object_value(&labels));
    json_add(&meta, STR("annotations"), json_object_value(&notes));
    add_text(&o, "kind", str_of(kind));
    add_text(&o, "apiVersion", STR(GROUP "/v1"));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    return o;
}

static void add_aggregation(struct roles_reader *r, struct json_object *role)
{
    struct json_object rule = json_object_new(r->arena), selector = json_object_new(r->arena);
    struct json_object labels = json_object_new(r->arena);
    struct json_array selectors = json_array_new(r->arena);

    json_add(&labels, label_name(r->arena, r->collects), json_of_str(STR("true")));
    json_add(&selector, STR("matchLabels"), json_object_value(&labels));
    json_push(&selectors, json_object_value(&selector));
    json_add(&rule, STR("clusterRoleSelectors"), json_array_value(&selectors));
    json_add(role, STR("aggregationRule"), json_object_value(&rule));
}

static void close_role(struct roles_reader *r)
{
    const char *kind = r->namespace_.n ? "Role" : "ClusterRole";
    struct json_object o, ref = json_object_new(r->arena);

    if (!r->open)
        return;
    o = begin(r, kind, r->name, json_object_done(&r->labels));
    if (r->collects.n)
        add_aggregation(r, &o);
    json_add(&o, STR("rules"), json_array_value(&r->rules));
    json_push(r->namespace_.n ? &r->others : &r->cluster_roles, json_object_value(&o));
    if (!r->binding.n)
        return;
    o = begin(r, r->namespace_.n ? "RoleBinding" : "ClusterRoleBinding", r->binding, NULL);
    add_text(&ref, "apiGroup", STR(GROUP));
    add_text(&ref, "kind", str_of(kind));
    add_text(&ref, "name", r->name);
    json_add(&o, STR("roleRef"), json_object_value(&ref));
    if (r->subjects.n)
        json_add(&o, STR("subjects"), json_array_value(&r->subjects));
    json_push(&r->others, json_object_value(&o));
}

static bool open_role(struct roles_reader *r, const struct line_words *w)
{
    ptrdiff_t slash = str_find(w->w[1], '/', 0);

    close_role(r);
    r->open = true;
    r->namespace_ = slash < 0 ? STR_NONE : str_sub(w->w[1], 0, (size_t)slash);
    r->name = str_from(w->w[1], (size_t)(slash + 1));
    r->binding = r->collects = STR_NONE;
    r->labels = json_object_new(r->arena);
    r->rules = json_array_new(r->arena);
    r->subjects = json_array_new(r->arena);
    return w->n == 2;
}

static bool read_line(struct roles_reader *r, str line)
{
    struct line_words w = { .n = 0 };
    size_t i = 0;

    for (str rest = str_trim(line), part; str_split(&rest, ' ', &part);) {
        if (w.n == WORDS_MAX)
            return false;
        w.w[w.n++] = part;
    }
    if (line.p[0] != ' ')
        return str_is(w.w[0], "role") && open_role(r, &w);
    while (*lines[i].word && !str_is(w.w[0], lines[i].word))
        i++;
    return r->open && lines[i].read(r, &w);
}

/* A role may collect from one that collects itself. */
static void aggregate(struct roles_reader *r)
{
    for (int pass = 0; pass < AGGREGATION_DEPTH; pass++) {
        struct json roles = { .type = JSON_ARRAY,
                              .n = r->cluster_roles.n,
                              .items = r->cluster_roles.items };

        for (size_t i = 0; i < r->cluster_roles.n; i++) {
            struct json *role = &r->cluster_roles.items[i];
            const struct json *rules = roles_aggregate(r->arena, role, &roles);

            if (rules)
                *role = *json_set(r->arena, role, "rules", rules);
        }
    }
}

int default_roles_read(str text, struct json_array *out, struct status *st)
{
    struct roles_reader r = { .arena = out->arena,
                              .cluster_roles = json_array_new(out->arena),
                              .others = json_array_new(out->arena) };
    unsigned number = 0;

    for (str rest = text, line; str_split(&rest, '\n', &line);) {
        number++;
        if (line.n && line.p[0] != '#' && !read_line(&r, line))
            return status_set(st, REASON_INTERNAL, "line %u: %.*s", number, STR_ARG(line));
    }
    close_role(&r);
    aggregate(&r);
    for (size_t i = 0; i < r.cluster_roles.n; i++)
        json_push(out, r.cluster_roles.items[i]);
    for (size_t i = 0; i < r.others.n; i++)
        json_push(out, r.others.items[i]);
    return 0;
}
