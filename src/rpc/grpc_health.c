/* SPDX-License-Identifier: Apache-2.0 */

/* grpc.health.v1: whoever can ask is answered, so all that is served is well. */

#include "base/banned.h"
#include "rpc/rpc.h"

static bool is_served(const struct rpc *r, str service)
{
    for (size_t i = 0; i < r->nendpoints; i++)
        if (str_eq(r->endpoints[i].service->name, service))
            return true;
    return service.n == 0;
}

static int check(void *arg, struct rpc_context *ctx, const struct json *request,
                 const struct json **response, struct status *st)
{
    str service = json_get_str(request, "service");
    struct json_object o = json_object_new(ctx->arena);

    if (!is_served(arg, service))
        return status_set(st, REASON_NOT_FOUND, "there is no service %.*s", STR_ARG(service));
    json_add(&o, STR("status"), json_of_str(STR("SERVING")));
    *response = json_object_done(&o);
    return 0;
}

static const struct rpc_handler handlers[] = {
    { .method = "Check", .fn = check, .open = true, .on_loop = true },
};

const struct rpc_implementation health_implementation = { .service = "grpc.health.v1.Health",
                                                          .handlers = handlers,
                                                          .nhandlers = 1 };
