/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PLATFORM_RIGHTS_CLEANUP_H
#define FEDERATION_CONTROLLERS_PLATFORM_RIGHTS_CLEANUP_H

/* What the rights-cleanup controller needs beside its client: its arg; NULL: it tells nobody. */

#include "client/recorder.h"

struct rights_cleanup {
    struct recorder *recorder;
};

#endif
