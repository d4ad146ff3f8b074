/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/resources.h"

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "object/meta/quantity.h"

enum {
    CONTAINER = 1 << 0, /* a container may ask for it */
    QUOTA = 1 << 1,     /* a quota may limit it */
    COUNTED = 1 << 2,   /* whole numbers */
    POD = 1 << 3,       /* of pods: the number, */
    COMPUTE = 1 << 4,   /* what they use, */
    CLAIM = 1 << 5,     /* and of claims of storage */
};

static const struct {
    const char *name;
    unsigned flags;
} standard[] = {
    { "cpu", CONTAINER | QUOTA | COMPUTE },
    { "memory", CONTAINER | QUOTA | COMPUTE },
    { "ephemeral-storage", CONTAINER | QUOTA },
    { "requests.cpu", QUOTA | COMPUTE },
    { "requests.memory", QUOTA | COMPUTE },
    { "requests.ephemeral-storage", QUOTA },
    { "requests.storage", QUOTA | CLAIM },
    { "limits.cpu", QUOTA | COMPUTE },
    { "limits.memory", QUOTA | COMPUTE },
    { "limits.ephemeral-storage", QUOTA },
    { "storage", 0 },
    { "pods", QUOTA | COUNTED | POD },
    { "resourcequotas", QUOTA | COUNTED },
    { "services", QUOTA | COUNTED },
    { "services.nodeports", QUOTA | COUNTED },
    { "services.loadbalancers", QUOTA | COUNTED },
    { "replicationcontrollers", QUOTA | COUNTED },
    { "secrets", QUOTA | COUNTED },
    { "configmaps", QUOTA | COUNTED },
    { "persistentvolumeclaims", QUOTA | COUNTED | CLAIM },
};

static const struct {
    const char *name;
    unsigned flags; /* of the resources it can limit */
} scopes[] = {
    { "Terminating", POD | COMPUTE },
    { "NotTerminating", POD | COMPUTE },
    { "BestEffort", POD },
    { "NotBestEffort", POD | COMPUTE },
    { "PriorityClass", POD | COMPUTE },
    { "CrossNamespacePodAffinity", POD | COMPUTE },
    { "VolumeAttributesClass", CLAIM },
};

/* False when it is not a standard one. */
static bool find(str name, unsigned *flags)
{
    for (size_t i = 0; i < sizeof(standard) / sizeof(*standard); i++) {
        if (str_is(name, standard[i].name)) {
            *flags = standard[i].flags;
            return true;
        }
    }
    *flags = QUOTA | (str_starts(name, STR("hugepages-")) ? CONTAINER : 0);
    return str_starts(name, STR("hugepages-")) || str_starts(name, STR("requests.hugepages-"));
}

static bool is_qualified(str name)
{
    return str_find(name, '/', 0) >= 0;
}

static bool is_native(str name)
{
    return !is_qualified(name) || str_contains(name, STR("kubernetes.io/"));
}

/* A device or the like: example.com/gpu. */
static bool is_extended(struct arena *a, str name)
{
    return !is_native(name) && !str_starts(name, STR("requests.")) &&
           qualified_name_is_valid(str_printf(a, "requests.%.*s", STR_ARG(name)));
}

static const char *name_fault(struct arena *a, enum resource_use use, str name)
{
    unsigned flags;
    bool known = find(name, &flags);

    if (is_qualified(name))
        return use == RESOURCE_CONTAINER && !is_native(name) && !is_extended(a, name)
                   ? "doesn't follow extended resource name standard"
                   : NULL;
    if (use == RESOURCE_CONTAINER && !(known && flags & CONTAINER))
        return "must be a standard resource for containers";
    if (use == RESOURCE_QUOTA && !(known && flags & QUOTA))
        return "must be a standard resource for quota";
    return NULL;
}

void resource_check_name(struct status *st, enum resource_use use, str field, str name)
{
    str value = check_quote(st->arena, name);
    const char *fault = name_fault(st->arena, use, name);
    unsigned flags;

    if (qualified_name_check(st, field, name) == 0 && !is_qualified(name) && !find(name, &flags))
        status_cause(st, CAUSE_INVALID, field, value,
                     "must be a standard resource type or fully qualified");
    if (fault)
        status_cause(st, CAUSE_INVALID, field, value, "%s", fault);
}

void resource_check_value(struct status *st, str field, str name, str value)
{
    const __int128 whole = 1000000000;
    struct quantity q;
    unsigned flags;
    bool counted;

    if (!quantity_parse(value, &q))
        return; /* the schema has seen to it */
    if (q.nanos < 0)
        status_cause(st, CAUSE_INVALID, field, check_quote(st->arena, value),
                     "must be greater than or equal to 0");
    counted = (find(name, &flags) && flags & COUNTED) || is_extended(st->arena, name);
    if (counted && q.nanos % whole != 0)
        status_cause(st, CAUSE_INVALID, field, check_quote(st->arena, value), "must be an integer");
}

bool resource_overcommits(str name)
{
    return is_native(name) && !str_starts(name, STR("hugepages-"));
}

unsigned resource_scope(str name)
{
    for (size_t i = 0; i < sizeof(scopes) / sizeof(*scopes); i++)
        if (str_is(name, scopes[i].name))
            return 1u << i;
    return 0;
}

bool resource_in_scope(unsigned scope, str name)
{
    unsigned flags;

    if (!find(name, &flags) || !(flags & QUOTA))
        return true;
    for (size_t i = 0; i < sizeof(scopes) / sizeof(*scopes); i++)
        if (scope == 1u << i)
            return flags & scopes[i].flags;
    return true;
}
