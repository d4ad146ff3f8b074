/* SPDX-License-Identifier: Apache-2.0 */
#include "mgmt/mgmt.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "mgmt/mgmt_internal.h"

static const struct mgmt_service *const services[] = {
    &instance_service,    &cluster_service,       &apps_service,      &core_service,
    &policy_service,      &aggregation_service,   &batch_service,     &networking_service,
    &autoscaling_service, &apiextensions_service, &workspace_service, &audit_service,
    &cloud_shell_service, &image_service,         &insight_service,
};
enum { SERVICES = sizeof(services) / sizeof(*services) };

struct mgmt *mgmt_new(void)
{
    struct mgmt *m = mem_zalloc(sizeof(*m));

    m->arena = arena_new();
    m->implementations = arena_array(m->arena, struct rpc_implementation, SERVICES);
    for (size_t i = 0; i < SERVICES; i++)
        m->implementations[i] = (struct rpc_implementation){
            .service = arena_printf(m->arena, "kairship.io.api.v1alpha1.%s", services[i]->name),
            .handlers = services[i]->handlers,
            .nhandlers = services[i]->nhandlers,
            .arg = m,
        };
    return m;
}

void mgmt_free(struct mgmt *m)
{
    if (!m)
        return;
    arena_free(m->arena);
    free(m);
}

const struct rpc_implementation *mgmt_implementations(struct mgmt *m, size_t *n)
{
    *n = SERVICES;
    return m->implementations;
}

void mgmt_start(struct mgmt *m, const struct mgmt_parts *parts)
{
    m->parts = *parts;
    m->parts.ca_pem = str_dup(m->arena, parts->ca_pem);
    m->parts.karmada = str_dup(m->arena, parts->karmada);
    atomic_store(&m->started, true);
}

int mgmt_parts_of(void *arg, struct mgmt_parts **out, struct status *st)
{
    struct mgmt *m = arg;

    if (!atomic_load(&m->started))
        return status_set(st, REASON_UNAVAILABLE, "the server is starting");
    *out = &m->parts;
    return 0;
}
