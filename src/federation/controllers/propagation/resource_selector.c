/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/propagation/resource_selector.h"

#include "base/banned.h"
#include "object/meta/selector.h"

static enum resource_precision precision(struct arena *a, const struct json *selector,
                                         const struct json *object)
{
    str namespace = json_get_str(selector, "namespace"), name = json_get_str(selector, "name");
    const struct json *labels = json_get(selector, STR("labelSelector"));
    struct selector s;
    struct status st;

    if (!str_eq(json_get_str(selector, "apiVersion"), json_get_str(object, "apiVersion")) ||
        !str_eq(json_get_str(selector, "kind"), json_get_str(object, "kind")) ||
        (namespace.n && !str_eq(namespace, json_get_str(object, "metadata.namespace"))))
        return RESOURCE_NOT_MEANT;
    if (name.n)
        return str_eq(name, json_get_str(object, "metadata.name")) ? RESOURCE_BY_NAME
                                                                   : RESOURCE_NOT_MEANT;
    if (!labels || labels->type == JSON_NULL)
        return RESOURCE_BY_KIND;
    status_init(&st, a);
    if (selector_of_tree(a, labels, &s, &st) < 0)
        return RESOURCE_NOT_MEANT;
    return selector_matches(&s, json_path(object, "metadata.labels")) ? RESOURCE_BY_LABELS
                                                                      : RESOURCE_NOT_MEANT;
}

enum resource_precision resource_precision(struct arena *a, const struct json *selectors,
                                           const struct json *object)
{
    enum resource_precision best = RESOURCE_NOT_MEANT;

    json_for_each (s, selectors) {
        enum resource_precision p = precision(a, s, object);

        if (p > best)
            best = p;
    }
    return best;
}
