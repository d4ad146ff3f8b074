/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_OUTBOUND_APISERVICES_H
#define APISERVER_OUTBOUND_APISERVICES_H

/*
 * Which group versions of an instance other API servers serve: its APIServices that name a Service.
 * One set an instance, made when it is first asked for and again after an APIService has changed;
 * in a bounded cache, as apiserver/admission/hooks.h.  Where there is nothing, asking costs a few
 * loads.
 *
 * An APIService with a Service wins over what the instance serves itself; the core group and
 * apiregistration.k8s.io are always its own.
 */

#include "apiserver/outbound/service_resolver.h"

struct seal;

struct apiservices;

struct apiservice {
    str name; /* "v1.group" */
    str group, version;
    int group_priority, version_priority;
    struct service_ref service; /* without an instance */
    str ca_pem;
    bool insecure;
    bool available; /* as its condition says */
};

struct apiservice_set {
    uint32_t instance;
    uint64_t rev;
    struct arena *arena; /* NULL: there is nothing */
    struct apiservice *at;
    size_t n;
};

struct apiservices *apiservices_new(struct store *s, struct seal *seal, struct status *st);
void apiservices_free(struct apiservices *x);

/* Valid in this epoch; NULL (INTERNAL) when it cannot be read. */
const struct apiservice_set *apiservices_of(struct apiservices *x, uint32_t instance,
                                            struct status *st);

/* Of that group version; NULL: the instance's own. */
const struct apiservice *apiservice_find(const struct apiservice_set *s, str group, str version);

/* False: it says nothing of another server.  The strings are copied. */
bool apiservice_read(struct arena *a, const struct json *tree, struct apiservice *out);

/* The number of the type in the store. */
uint32_t apiservices_type(const struct apiservices *x);

#endif
