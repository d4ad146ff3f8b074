/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

static void revision_validate(const struct kind_context *c, const struct json *obj,
                              struct status *st)
{
    struct site root = site_root(obj), data = site_in(&root, "data");
    struct site revision = site_in(&root, "revision");

    site_not_negative(st, &revision);
    if (!c->create)
        return;
    if (!data.v || json_is(data.v, JSON_NULL))
        site_missing(st, &data, "data is mandatory");
    else if (!json_is(data.v, JSON_OBJECT))
        site_missing(st, &data, "data must be a valid JSON object");
}

static void revision_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    struct site root = site_root(obj), data = site_in(&root, "data");

    (void)c;
    site_immutable(st, &data, json_get(old, STR("data")));
}

static void revision_cells(struct arena *a, const struct json *obj, int64_t now_s,
                           struct json_array *cells)
{
    str owner = STR("<none>");

    json_for_each (o, json_path(obj, "metadata.ownerReferences")) {
        str version = json_get_str(o, "apiVersion"), kind = json_get_str(o, "kind");
        ptrdiff_t slash = str_find(version, '/', 0);
        str group = slash < 0 ? STR_NONE : str_sub(version, 0, (size_t)slash);

        if (json_bool(json_get(o, STR("controller"))))
            owner =
                str_printf(a, "%.*s%s%.*s/%.*s", STR_ARG(str_lower(a, kind)), group.n ? "." : "",
                           STR_ARG(group), STR_ARG(json_get_str(o, "name")));
    }
    cell_str(cells, obj, "metadata.name");
    cell_text(cells, owner);
    cell_int(cells, obj, "revision");
    cell_age(cells, obj, now_s);
}

const struct kind_ops controllerrevision_ops = {
    .validate = revision_validate,
    .validate_update = revision_update,
    .cells = revision_cells,
};
