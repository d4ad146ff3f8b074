/* SPDX-License-Identifier: Apache-2.0 */

/* What a credential plugin prints: a token, or a certificate with its key, or an error. */

#include "client/exec_plugin.h"

#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    struct exec_credential c;
    struct status st;

    status_init(&st, a);
    if (exec_credential_parse(a, secret_of((str){ (const char *)data, size }),
                              STR("client.authentication.k8s.io/v1"), &c, &st) < 0)
        return st.reason == REASON_UNAUTHORIZED ? 0 : (abort(), 0);
    if (secret_empty(c.token) && !c.cert_pem.n)
        abort();
    if (!c.cert_pem.n != secret_empty(c.key_pem))
        abort();
    return 0;
}
