/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/admin_kubeconfig.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"

#define DEFAULT_PATH "./kairship-data/admin.kubeconfig"

int admin_kubeconfig(struct arena *a, const char *path, const char *context, struct kubeconfig *out,
                     struct status *st)
{
    const char *env = getenv("KUBECONFIG");

    if (!(path && *path) && !(env && *env)) {
        path = DEFAULT_PATH;
        if (access(path, R_OK) < 0)
            return status_set(st, REASON_NOT_FOUND,
                              "there is no " DEFAULT_PATH
                              "; say --kubeconfig FILE or set KUBECONFIG (kairship up writes "
                              "admin.kubeconfig into its data folder)");
    }
    return kubeconfig_load(a, path, str_of(context ? context : ""), out, st);
}
