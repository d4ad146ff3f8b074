/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/managing.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "rpc/api.h"

struct managing {
    struct rpc *rpc;
};

struct managing *managing_new(struct status *st)
{
    struct managing *m = mem_zalloc(sizeof(*m));
    struct rpc_options o = { .api = &kairship_api, .builtins = true };

    m->rpc = rpc_new(&o, st);
    if (m->rpc)
        return m;
    managing_free(m);
    return NULL;
}

size_t managing_mounts(const struct managing *m, struct mount *mounts, size_t n, size_t max)
{
    size_t more;
    const struct mount *from = rpc_mounts(m->rpc, &more);

    assert(n + more <= max);
    memcpy(mounts + n, from, more * sizeof(*from));
    return n + more;
}

void managing_free(struct managing *m)
{
    if (!m)
        return;
    rpc_free(m->rpc);
    free(m);
}
