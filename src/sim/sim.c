/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"

#include <stdlib.h>

#include "apiserver/call/local.h"
#include "base/banned.h"
#include "base/mem.h"
#include "base/rand.h"
#include "sim/process.h"
#include "sim/state.h"

enum { WORKERS = 4 };

static const struct controller_spec *const specs[SIM_CONTROLLERS] = {
    [SIM_DEPLOYMENTS] = &sim_deployments,
    [SIM_REPLICASETS] = &sim_replicasets,
    [SIM_STATEFULSETS] = &sim_statefulsets,
    [SIM_DAEMONSETS] = &sim_daemonsets,
    [SIM_JOBS] = &sim_jobs,
    [SIM_SERVICES] = &sim_services,
    [SIM_CLAIMS] = &sim_claims,
    [SIM_PODS] = &sim_pods,
};

/* A container's process has ended: the pod is looked at again. */
static void process_ended(void *arg, const struct informer_key *pod)
{
    struct sim *s = arg;

    if (!s->ending)
        controller_wake(s->controllers[SIM_PODS], pod);
}

static void begin_to_end(void *arg)
{
    struct sim *s = arg;

    s->ending = true;
}

struct sim *sim_new(const struct sim_options *o)
{
    struct sim *s = mem_zalloc(sizeof(*s));
    struct processes_options p = { .loop = o->loop,
                                   .dir = o->dir,
                                   .program = o->program,
                                   .ca_pem = o->ca_pem,
                                   .address_of = o->address_of,
                                   .address_arg = o->arg,
                                   .ended = process_ended,
                                   .arg = s };
    struct client_transport *transport;

    s->o = *o;
    s->usage = usage_new();
    s->services = services_new();
    s->processes = processes_new(&p);
    atomic_init(&s->next_ip, (unsigned)rand_u64());
    transport = server_local_transport(o->server, o->loop, STR("system:kairship:simulator"));
    /* A member that gets much answers first, and then does it: others have cores of their own. */
    server_local_by_loop(transport);
    s->client = client_new(transport);
    s->group = controller_group_new(WORKERS);
    for (size_t i = 0; i < SIM_CONTROLLERS; i++) {
        struct controller_spec spec = *specs[i];
        struct controller *c;

        spec.arg = s;
        c = controller_group_start(s->group, &spec, s->client);
        if (i != SIM_PODS) /* which has told us itself, since it works already */
            s->controllers[i] = c;
    }
    return s;
}

void sim_stop(struct sim *s)
{
    if (!s || !s->group)
        return;
    loop_call_wait(s->o.loop, begin_to_end, s);
    controller_group_free(s->group);
    s->group = NULL;
    processes_stop_all(s->processes);
}

void sim_free(struct sim *s)
{
    if (!s)
        return;
    client_free(s->client);
    processes_free(s->processes);
    services_free(s->services);
    usage_free(s->usage);
    free(s);
}
