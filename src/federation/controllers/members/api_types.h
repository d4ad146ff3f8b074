/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_MEMBERS_API_TYPES_H
#define FEDERATION_CONTROLLERS_MEMBERS_API_TYPES_H

/*
 * Types that clusters bring: how the objects that speak of them are called, and where they are.
 * For the importer, the negotiation and the splitter (apiresource.kcp.dev/v1alpha1).
 */

#include "client/client.h"
#include "client/informer.h"

struct api_type {
    str plural, group, version;
};

/* Of an import's or a negotiated resource's spec. */
struct api_type api_type_of(const struct json *spec);
/* Of a name "<plural>.<version>.<group|core>"; slices of it. */
bool api_type_parse(str name, struct api_type *out);
bool api_type_eq(const struct api_type *a, const struct api_type *b);

str api_type_name(struct arena *a, const struct api_type *t);     /* of what is negotiated */
str api_type_crd_name(struct arena *a, const struct api_type *t); /* "<plural>.<group|core>" */
/* "<plural>.<location>.<version>.<group|core>" */
str api_type_import_name(struct arena *a, const struct api_type *t, str location);

/* The instance as a client_ref says it. */
str api_instance(const struct informer_key *k);

struct client_ref api_import_ref(str instance, str name);
struct client_ref api_negotiated_ref(str instance, str name);
struct client_ref api_crd_ref(str instance, str name);
struct client_ref api_cluster_ref(str instance, str name); /* workload.kcp.dev */

/* 1 and the object; 0: there is none; -1 with *st. */
int api_look(struct client *c, struct arena *a, const struct client_ref *ref,
             const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* Whether the instance has the type by itself, not by a CRD. */
int api_type_is_native(struct client *c, struct arena *a, str instance, const struct api_type *t,
                       bool *out, struct status *st) __attribute__((warn_unused_result));

/*
 * Calls for each import of the instance, page by page: imports are large, and nothing of them
 * stays but what `each` copies.
 */
int api_each_import(struct client *c, str instance,
                    void (*each)(void *arg, const struct json *import), void *arg,
                    struct status *st) __attribute__((warn_unused_result));

#endif
