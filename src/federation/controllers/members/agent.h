/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_MEMBERS_AGENT_H
#define FEDERATION_CONTROLLERS_MEMBERS_AGENT_H

/*
 * What an agent does for a Cluster of syncMode Pull beside carrying its Works: it renews the
 * member's Lease, by which the control plane knows that the agent lives, looks at the member, and
 * posts what it found.  Blocks; any thread but the clients' loop.
 *
 * karmada: cmd/agent, pkg/controllers/status/cluster_status_controller.go
 */

#include "client/client.h"

struct agent {
    struct client *control, *member; /* on one loop */
    str instance;                    /* in the control client's requests */
    str cluster;
    int64_t period_ms; /* how often agent_beat() is called */
};

/* Nothing is done for a Cluster that is not there, or not of pull mode. */
int agent_beat(const struct agent *g, struct arena *a, struct status *st)
    __attribute__((warn_unused_result));

/* Whether a Cluster of that group and version says that its instance is suspended. */
int agent_suspended(const struct agent *g, struct arena *a, str group, str version, bool *out,
                    struct status *st) __attribute__((warn_unused_result));

#endif
