/* SPDX-License-Identifier: Apache-2.0 */

/* Kubeconfigs out of objects: whatever they say, no file is opened and the answer is a status. */

#include "client/kubeconfig.h"

#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    secret text = secret_of((str){ (const char *)data, size });
    struct kubeconfig k;
    struct status st;

    status_init(&st, a);
    if (kubeconfig_parse(a, text, KUBECONFIG_OBJECT, STR_NONE, STR_NONE, &k, &st) < 0) {
        if (st.reason != REASON_INVALID)
            abort();
        return 0;
    }
    if (k.insecure || k.token_file.n || !k.tls || !k.host.n || !k.port.n)
        abort();
    /* What is accepted can be written and read again. */
    text = kubeconfig_write(a, &k, 1);
    if (kubeconfig_parse(a, text, KUBECONFIG_OBJECT, STR_NONE, STR_NONE, &k, &st) < 0)
        abort();
    return 0;
}
