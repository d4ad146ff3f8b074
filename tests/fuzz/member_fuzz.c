/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a tenant and a member may write: a Cluster with its Secret, discovery documents, nodes and
 * pods, all in one JSON object.  Whatever it says, what is accepted is TLS to a host by a header
 * of one line, and sums are printed.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "fleet/capacity.h"
#include "fleet/enablements.h"
#include "fleet/member_config.h"
#include "fuzz/fuzz.h"

static void read_way(struct arena *a, const struct json *doc)
{
    for (int i = 0; i < 4; i++) {
        struct member_config_options o = { .impersonator = i & 1, .insecure = i & 2 };
        const struct json *cluster = json_get(doc, STR("cluster"));
        const struct json *creds = json_get(doc, STR("secret"));
        struct kubeconfig k;
        struct status st;
        str token;

        status_init(&st, a);
        if (member_config_read(a, cluster, creds, creds, &o, &k, &st) < 0) {
            if (st.reason != REASON_INVALID || !st.message.n)
                abort();
            continue;
        }
        token = secret_reveal(k.token);
        if (!k.tls || !k.host.n || k.token_file.n || (k.insecure && !o.insecure) ||
            (token.n && (memchr(token.p, '\n', token.n) || memchr(token.p, '\r', token.n))))
            abort();
    }
}

static void read_answers(struct arena *a, const struct json *doc)
{
    struct enablements e;
    struct capacity *r = capacity_new(json_path(doc, "cluster.spec.resourceModels"));

    enablements_init(&e, a);
    json_for_each (d, json_get(doc, STR("discovery"))) {
        enablements_add(&e, d);
        enablements_add_list(&e, d);
    }
    (void)json_text(a, enablements_json(&e, a));
    json_for_each (n, json_get(doc, STR("nodes")))
        capacity_add_node(r, n);
    json_for_each (p, json_get(doc, STR("pods")))
        capacity_add_pod(r, p);
    (void)json_text(a, capacity_nodes(r, a));
    (void)json_text(a, capacity_summary(r, a));
    capacity_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    const struct json *doc;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, (str){ (const char *)data, size }, NULL, &doc, &st) < 0)
        return 0;
    read_way(a, doc);
    read_answers(a, doc);
    return 0;
}
