/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/internal_form.h"

#include <stdlib.h>

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "json/order.h"

/* Words that Go writes in capitals, where a name begins with one. */
static const char *const acronyms[] = { "api", "uid", "cel",   "ip",  "id",  "dns", "tls",
                                        "url", "os",  "gce",   "aws", "nfs", "rbd", "fc",
                                        "csi", "fs",  "iscsi", "iqn", "ssl", "tty", "http",
                                        "tcp", "se",  "grpc",  "gmsa" };

/*
 * Fields that have another name inside, or another place than that of their number.  A type is
 * meant by a part of its name; the first row counts.
 */
static const struct differs {
    const char *type, *field, *name; /* NULL: the usual one; "": it is not there */
    unsigned after;                  /* the number it stands behind; 0: its own */
} differs[] = {
    { "PodSpec", "initContainers", NULL, 1 },
    { "PodSpec", "ephemeralContainers", NULL, 2 },
    { "PodSpec", "automountServiceAccountToken", NULL, 8 },
    { "PodSpec", "setHostnameAsFQDN", NULL, 17 },
    { "PodSpec", "preemptionPolicy", NULL, 25 },
    { "PodSpec", "enableServiceLinks", NULL, 32 },
    { "PodSpec", "serviceAccount", "", 0 },
    { "PodSpec", "hostNetwork", "", 0 },
    { "PodSpec", "hostPID", "", 0 },
    { "PodSpec", "hostIPC", "", 0 },
    { "PodSpec", "shareProcessNamespace", "", 0 },
    { "PodSpec", "hostUsers", "", 0 },
    { "PodSecurityContext", "windowsOptions", NULL, 1 },
    { "PodSecurityContext", "runAsGroup", NULL, 2 },
    { "PodSecurityContext", "supplementalGroupsPolicy", NULL, 4 },
    { "PodSecurityContext", "sysctls", NULL, 9 },
    { "SecurityContext", "windowsOptions", NULL, 3 },
    { "SecurityContext", "runAsGroup", NULL, 4 },
    { "Container", "envFrom", NULL, 6 },
    { "Container", "resizePolicy", NULL, 8 },
    { "Container", "restartPolicy", NULL, 8 },
    { "Container", "restartPolicyRules", NULL, 8 },
    { "Container", "volumeDevices", NULL, 9 },
    { "Container", "startupProbe", NULL, 11 },
    { "Container", "terminationMessagePolicy", NULL, 13 },
    { "VolumeMount", "recursiveReadOnly", NULL, 2 },
    { "PersistentVolumeSource", "quobyte", NULL, 6 },
    { "PersistentVolumeSource", "flexVolume", NULL, 7 },
    { "VolumeSource", "quobyte", NULL, 11 },
    { "VolumeSource", "projected", NULL, 23 },
    { "Volume", "cephfs", "CephFS", 0 },
    { "Volume", "storageos", "StorageOS", 0 },
    { "GCEPersistentDisk", "pdName", "PDName", 0 },
    { "ISCSI", "chapAuthDiscovery", "DiscoveryCHAPAuth", 0 },
    { "ISCSI", "chapAuthSession", "SessionCHAPAuth", 0 },
    { "ISCSI", "secretRef", NULL, 11 },
    { "Glusterfs", "endpoints", "EndpointsName", 0 },
    { "RBD", "monitors", "CephMonitors", 0 },
    { "RBD", "image", "RBDImage", 0 },
    { "RBD", "pool", "RBDPool", 0 },
    { "RBD", "user", "RadosUser", 0 },
    { "FCVolumeSource", "wwids", "WWIDs", 0 },
    { "AzureDisk", "diskURI", "DataDiskURI", 0 },
    { "ClusterTrustBundle", "path", NULL, 5 },
    { "PersistentVolumeClaimSpec", "selector", NULL, 1 },
    { "OwnerReference", "kind", NULL, 5 },
    { "OwnerReference", "name", NULL, 5 },
    { "OwnerReference", "uid", NULL, 5 },
};

/* k8s: what a pod has of its node is in its security context inside, which is always there. */
static const char *const of_node[] = { "hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace",
                                       "hostUsers" };

static const struct differs *row_of(const struct schema *s, str field)
{
    for (size_t i = 0; i < sizeof(differs) / sizeof(*differs); i++)
        if (str_is(field, differs[i].field) && str_contains(s->name, str_of(differs[i].type)))
            return &differs[i];
    return NULL;
}

static str go_name(struct arena *a, str name)
{
    char *out = str_z(a, name);
    size_t capitals = 1;

    for (size_t i = 0; i < sizeof(acronyms) / sizeof(*acronyms); i++) {
        size_t n = strlen(acronyms[i]);

        if (str_starts(name, str_of(acronyms[i])) &&
            (name.n == n || (name.p[n] >= 'A' && name.p[n] <= 'Z')))
            capitals = n;
    }
    for (size_t i = 0; i < capitals && i < name.n; i++)
        if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
    return (str){ out, name.n };
}

static struct json form(struct arena *a, const struct schema *s, const struct json *v,
                        bool pointer);

/* ---- the order of fields ---- */

struct placed {
    const struct schema_field *field;
    const struct differs *row;
    uint64_t at;
};

static uint32_t place_in(const struct schema *s, const struct schema_field *f)
{
    const struct differs *row = row_of(s, f->name);

    if (row && row->after)
        return row->after * 256 + 1 + (uint32_t)(row - differs);
    return f->proto * 256;
}

/* What is embedded stands where that is. */
static uint64_t place_of(const struct schema *s, const struct schema_field *f)
{
    for (size_t i = 0; f->proto == 0 && i < s->nembeds; i++) {
        const struct schema_field *in = schema_field(s->embeds[i].type, f->name);

        if (in)
            return (uint64_t)s->embeds[i].proto << 40 | place_in(s->embeds[i].type, in);
    }
    return (uint64_t)place_in(s, f) << 32;
}

static int by_place(const void *x, const void *y)
{
    const struct placed *a = x, *b = y;

    return a->at < b->at ? -1 : a->at > b->at;
}

static struct placed *fields_of(struct arena *a, const struct schema *s)
{
    struct placed *all = arena_array(a, struct placed, s->nfields + 1);

    for (size_t i = 0; i < s->nfields; i++)
        all[i] = (struct placed){ .field = &s->fields[i],
                                  .row = row_of(s, s->fields[i].name),
                                  .at = place_of(s, &s->fields[i]) };
    qsort(all, s->nfields, sizeof(*all), by_place);
    return all;
}

/* ---- values ---- */

/* Go writes maps by their keys. */
static struct json form_map(struct arena *a, const struct schema *s, const struct json *v)
{
    struct json sorted = json_by_name(a, v);
    struct json_object o = json_object_new(a);

    json_for_each_member (m, &sorted)
        json_add(&o, m->name, form(a, s->items, &m->value, false));
    return json_object_value(&o);
}

/* Types of metav1, whose fields have tags: those that are there, in their order. */
static void add_plain(struct arena *a, struct json_object *o, const struct schema *s,
                      const struct json *v)
{
    struct placed *fields = fields_of(a, s);

    for (size_t i = 0; i < s->nfields; i++) {
        const struct json *member = json_get(v, fields[i].field->name);

        if (member)
            json_add(o, fields[i].field->name, form(a, fields[i].field->type, member, false));
    }
}

static bool is_type(const struct schema *s, const char *name)
{
    return str_ends(s->name, str_of(name));
}

static struct json form_object(struct arena *a, const struct schema *s, const struct json *v);

static struct json security_of(struct arena *a, const struct schema *pod, const struct json *v)
{
    const struct schema_field *context = schema_field(pod, STR("securityContext"));
    struct json inner = form_object(a, context->type, json_get(v, STR("securityContext")));
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < sizeof(of_node) / sizeof(*of_node); i++) {
        const struct schema_field *f = schema_field(pod, str_of(of_node[i]));

        if (f)
            json_add(&o, go_name(a, f->name),
                     form(a, f->type, json_get(v, f->name), f->presence == SCHEMA_POINTER));
    }
    json_for_each_member (m, &inner)
        json_add(&o, m->name, m->value);
    return json_object_value(&o);
}

static struct json form_object(struct arena *a, const struct schema *s, const struct json *v)
{
    struct placed *fields = fields_of(a, s);
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < s->nfields; i++) {
        const struct schema_field *f = fields[i].field;
        const struct differs *row = fields[i].row;
        const struct json *member = json_get(v, f->name);
        str name = row && row->name ? str_of(row->name) : go_name(a, f->name);

        if (name.n == 0)
            continue;
        if (str_is(f->name, "metadata")) /* it is embedded */
            add_plain(a, &o, f->type, member);
        else if (is_type(s, ".PodSpec") && str_is(f->name, "securityContext"))
            json_add(&o, name, security_of(a, s, v));
        else
            json_add(&o, name, form(a, f->type, member, f->presence == SCHEMA_POINTER));
    }
    return json_object_value(&o);
}

static struct json form_list(struct arena *a, const struct schema *s, const struct json *v)
{
    struct json_array list = json_array_new(a);

    json_for_each (item, v)
        json_push(&list, form(a, s->items, item, false));
    return json_array_value(&list);
}

static struct json zero_of(const struct schema *s)
{
    switch (s->type) {
    case SCHEMA_STRING:
        return json_of_str(STR_NONE);
    case SCHEMA_BOOL:
        return json_of_bool(false);
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_INT_OR_STRING:
        return json_of_int(0);
    case SCHEMA_QUANTITY:
        return json_of_str(STR("0"));
    case SCHEMA_BYTES:
    case SCHEMA_DOUBLE:
    case SCHEMA_TIME:
    case SCHEMA_MICROTIME:
    case SCHEMA_ANY:
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
    case SCHEMA_LIST:
        break;
    }
    return json_null;
}

static struct json form(struct arena *a, const struct schema *s, const struct json *v, bool pointer)
{
    bool plain = str_starts(s->name, STR("io.k8s.apimachinery."));
    struct json_object o = json_object_new(a);

    if (json_is(v, JSON_NULL))
        v = NULL;
    if (!v && (pointer || s->type != SCHEMA_OBJECT))
        return pointer ? json_null : zero_of(s);
    if (s->type == SCHEMA_LIST)
        return form_list(a, s, v);
    if (s->type == SCHEMA_MAP)
        return form_map(a, s, v);
    if (s->type != SCHEMA_OBJECT)
        return *v;
    if (!plain)
        return form_object(a, s, v);
    add_plain(a, &o, s, v);
    return json_object_value(&o);
}

static const struct schema *embedded(const struct schema *s, str name)
{
    for (size_t i = 0; i < s->nembeds; i++)
        if (str_ends(s->embeds[i].type->name, name))
            return s->embeds[i].type;
    return NULL;
}

const struct json *internal_form(struct arena *a, const struct kind *k, const char *path,
                                 const struct json *v)
{
    const struct schema *s = k->schema;
    const struct schema_field *f = NULL;
    str rest = str_of(path), part;

    while (s && str_split(&rest, '.', &part)) {
        f = schema_field(s, part);
        if (f)
            s = f->type;
        else
            s = str_is(part, "*") ? s->items : embedded(s, part);
    }
    if (!s)
        return v ? v : &json_null;
    return json_box(a, form(a, s, v, f && f->presence == SCHEMA_POINTER));
}

const struct json *internal_members(struct arena *a, const struct json *v,
                                    const char *const *fields)
{
    struct json_object o = json_object_new(a);

    for (; *fields; fields++) {
        bool pointer = **fields == '*';
        str name = str_of(*fields + pointer);
        const struct json *member = json_get(v, name);
        struct json none = pointer ? json_null : json_of_str(STR_NONE);

        json_add(&o, go_name(a, name), member ? *member : none);
    }
    return json_object_done(&o);
}

void internal_immutable(struct status *st, const struct kind *k, const char *path,
                        const struct json *obj, const struct json *old)
{
    const struct json *v = json_path(obj, path);

    if (!check_same(v, json_path(old, path)))
        status_cause(st, CAUSE_INVALID, str_of(path),
                     json_text(st->arena, internal_form(st->arena, k, path, v)),
                     "field is immutable");
}
