/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_WARN_H
#define KINDS_FRAME_WARN_H

/*
 * What an object that is accepted is still warned of: fields that have done nothing for years,
 * entries that hide one another, addresses that a later release will refuse.  Sentences and order
 * are Kubernetes'; where it walks a map, the object's own order.
 * k8s: pkg/api/pod/warnings.go and its neighbours, WarningsOnCreate and WarningsOnUpdate
 */

#include "kinds/frame/site.h"
#include "rest/kind.h"

struct warner {
    struct arena *arena;
    struct schema_faults *out;
};

/* As many as an answer could have: whoever compares each with each stops then. */
static inline bool warn_full(const struct warner *w)
{
    enum { ENOUGH = 64 };

    return w->out->n >= ENOUGH;
}

/* `path: text` */
void warn_at(const struct warner *w, const struct site *s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* An address or a range of the list or of one field that is not written as it should be. */
void warn_ip(const struct warner *w, const struct site *ip);
void warn_ips(const struct warner *w, const struct site *list, const char *member);
void warn_range(const struct warner *w, const struct site *range);

/* A part of a byte in limits or requests. */
void warn_fraction(const struct warner *w, const struct site *amounts, const char *resource);
void warn_claim(const struct warner *w, const struct site *spec);

/* What is wrong with a label of nodes, or NULL. */
const char *warn_node_label(str key);
void warn_node_term(const struct warner *w, const struct site *term, bool values);

/* A row for each name that an object, or its annotations, should not have. */
struct warn_row {
    const char *name, *why;
    const char *shown; /* in the path */
};
#define WARN_ROW(name, why) \
    {                       \
        name, why, name     \
    }
void warn_members(const struct warner *w, const struct site *at, const struct warn_row *rows,
                  size_t n);
void warn_annotations(const struct warner *w, const struct site *owner, const struct warn_row *rows,
                      size_t n);

/* A pod or a template of one: its metadata and its spec. */
void podspec_warn(const struct warner *w, const struct site *pod);

/* kind_ops.warn of the kinds that have one; those of other files are beside their kind. */
#define WARN_OF(name)                                                                              \
    void warn_##name(const struct kind_context *c, const struct json *obj, const struct json *old, \
                     struct schema_faults *out)
WARN_OF(pod);
WARN_OF(podtemplate);
WARN_OF(deployment);
WARN_OF(replicaset);
WARN_OF(replicationcontroller);
WARN_OF(daemonset);
WARN_OF(statefulset);
WARN_OF(job);
WARN_OF(cronjob);
WARN_OF(service);
WARN_OF(ingress);
WARN_OF(networkpolicy);
WARN_OF(endpoints);
WARN_OF(endpointslice);
WARN_OF(node);
WARN_OF(volume);
WARN_OF(volumeclaim);
WARN_OF(quota);
WARN_OF(runtimeclass);
WARN_OF(storageclass);
WARN_OF(csidriver);
WARN_OF(capacity);
WARN_OF(resourceslice);

#endif
