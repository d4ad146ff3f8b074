/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PLATFORM_STATUS_SYNC_H
#define FEDERATION_CONTROLLERS_PLATFORM_STATUS_SYNC_H

/* What the status-sync controller needs beside its client: its arg. */

#include "fleet/member.h"

struct status_sync {
    struct fleet *fleet; /* by which attached instances are reached */
    int64_t probe_ms;    /* how often these are asked; 0: 10 s */
    str karmada_version; /* of the APIs that instances here have */
};

#endif
