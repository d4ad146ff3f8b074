/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_PROPAGATOR_VIEW_H
#define FEDERATION_CONTROLLERS_PROPAGATION_PROPAGATOR_VIEW_H

/*
 * What a binding is about, asked for in one go: each wait for an answer costs two switches of
 * threads, so the questions wait together.
 */

#include "federation/controllers/propagation/propagator.h"

struct propagator_view {
    const struct json *works;    /* an array */
    const struct json *template; /* NULL: there is none */
    struct client_ref at;        /* where that is */
    struct override_policies overrides;
};

/* overrides: those are wanted, too. */
int propagator_look(struct propagator *p, struct client *client, struct arena *a, str instance,
                    const struct json *binding, bool overrides, struct propagator_view *v,
                    struct status *st) __attribute__((warn_unused_result));

#endif
