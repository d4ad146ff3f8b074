/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/shape.h"

#include "base/banned.h"
#include "object/meta/schema_table.h"

/* "io.k8s.api.policy.v1.Eviction" */
static const struct schema *schema_of(const struct rest_request *req, const struct subresource *s)
{
    ptrdiff_t dot = str_find(s->group, '.', 0);
    str package = !s->group.n ? STR("core")
                  : dot < 0   ? s->group
                              : str_sub(s->group, 0, (size_t)dot);

    return schema_set_find(req->catalog->schemas,
                           str_printf(req->arena, "io.k8s.api.%.*s.%.*s.%.*s", STR_ARG(package),
                                      STR_ARG(s->version), STR_ARG(s->kind)));
}

struct rest_body_type shape_of(const struct rest_request *req, const struct kind *as)
{
    const struct subresource *s =
        req->subresource.n ? kind_subresource(as, req->subresource) : NULL;

    if (!s || !s->kind.n)
        return (struct rest_body_type){ .schema = as->schema,
                                        .kind = as->kind,
                                        .api_version = as->api_version };
    return (struct rest_body_type){
        .schema = schema_of(req, s),
        .kind = s->kind,
        .api_version =
            s->group.n ? str_printf(req->arena, "%.*s/%.*s", STR_ARG(s->group), STR_ARG(s->version))
                       : s->version,
    };
}

struct rest_body_type shape_of_special(const struct rest_request *req)
{
    struct rest_body_type type = shape_of(req, req->kind);

    if (str_is(req->subresource, "eviction"))
        type.old_version = STR("policy/v1beta1"); /* kubectl < 1.22 */
    return type;
}
