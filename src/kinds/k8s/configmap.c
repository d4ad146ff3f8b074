/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/installation.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct map binary = check_index(json_get(obj, STR("binaryData")));
    size_t total = check_data(st, "data", obj, false) + check_data(st, "binaryData", obj, true);

    json_for_each_member (m, json_get(obj, STR("data"))) {
        if (map_get(&binary, m->name))
            status_cause(st, CAUSE_INVALID, str_printf(c->arena, "data[%.*s]", STR_ARG(m->name)),
                         check_quote(c->arena, m->name), "duplicate of key present in binaryData");
    }
    map_release(&binary);
    if (total > CHECK_DATA_MAX)
        status_cause(st, CAUSE_TOO_LONG, STR(""), STR_NONE, "may not be more than %d bytes",
                     CHECK_DATA_MAX);
}

/* An instance with one of its own would keep it in a copy of this installation. */
static bool is_installation(const struct kind_context *c)
{
    return str_is(c->namespace_, INSTALLATION_NAMESPACE) && str_is(c->name, INSTALLATION_NAME);
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    if (is_installation(c))
        status_cause(st, CAUSE_FORBIDDEN, STR("metadata"), STR_NONE,
                     "Kairship keeps this ConfigMap: it cannot be changed");
    check_frozen(st, obj, old, (const char *const[]){ "data", "binaryData", NULL });
}

static int check_delete(const struct kind_context *c, const struct json *obj, struct status *st)
{
    (void)obj;
    return is_installation(c)
               ? status_forbidden(st, STR(""), STR("configmaps"), c->name,
                                  "Kairship keeps this ConfigMap: it cannot be deleted")
               : 0;
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    size_t n = json_len(json_get(obj, STR("data"))) + json_len(json_get(obj, STR("binaryData")));

    (void)a;
    cell_str(cells, obj, "metadata.name");
    json_push(cells, json_of_int((int64_t)n));
    cell_age(cells, obj, now_s);
}

const struct kind_ops configmap_ops = {
    .validate = validate,
    .validate_update = validate_update,
    .check_delete = check_delete,
    .cells = cells,
};
