/* SPDX-License-Identifier: Apache-2.0 */

/* Requests for certificates: refused with a reason, or names that are text, and not too many. */

#include <assert.h>
#include <string.h>

#include "base/banned.h"
#include "base/encode.h"
#include "fuzz/fuzz.h"
#include "http/csr.h"

static void check(struct arena *a, str pem)
{
    struct status st;
    struct csr csr;

    status_init(&st, a);
    if (csr_read(a, pem, &csr, &st) < 0) {
        assert(status_is(&st, REASON_BAD_REQUEST) && st.message.n);
        return;
    }
    assert(str_utf8_valid(csr.cn) && !memchr(csr.cn.p ? csr.cn.p : "", '\0', csr.cn.n));
    assert(csr.ndns + csr.nips + csr.nemails + csr.nuris <= 256);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str in = { (const char *)data, size };
    struct status st;

    status_init(&st, a);
    check(a, in);
    /* So that the inside is reached without knowing base64. */
    check(a, str_printf(a,
                        "-----BEGIN CERTIFICATE REQUEST-----\n%.*s\n"
                        "-----END CERTIFICATE REQUEST-----\n",
                        STR_ARG(base64_encode(a, BASE64_STD, in))));
    (void)!csr_check_issued(a, in, &st);
    return 0;
}
