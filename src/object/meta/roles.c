/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/roles.h"

#include "base/banned.h"
#include "base/map.h"
#include "object/meta/selector.h"

struct collection {
    struct map seen; /* texts of rules */
    struct json_array rules;
};

static void collect(struct collection *c, const struct json *role)
{
    struct arena *a = c->rules.arena;

    json_for_each (rule, json_get(role, STR("rules"))) {
        str text = json_text(a, rule);

        if (map_get(&c->seen, text))
            continue;
        (void)map_put(&c->seen, text, c);
        json_push(&c->rules, *rule);
    }
}

const struct json *roles_aggregate(struct arena *a, const struct json *role,
                                   const struct json *roles)
{
    const struct json *aggregation = json_get(role, STR("aggregationRule"));
    struct collection c = { .rules = json_array_new(a) };
    str name = json_get_str(role, "metadata.name");

    if (!aggregation)
        return NULL;
    json_for_each (s, json_get(aggregation, STR("clusterRoleSelectors"))) {
        struct selector selector;
        struct status st;

        status_init(&st, a);
        if (selector_of_tree(a, s, &selector, &st) < 0)
            continue; /* such a selector selects nothing */
        json_for_each (r, roles)
            if (!str_eq(json_get_str(r, "metadata.name"), name) &&
                selector_matches(&selector, json_path(r, "metadata.labels")))
                collect(&c, r);
    }
    map_release(&c.seen);
    return json_array_done(&c.rules);
}
