/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/openapi_schemas.h"

#include <stdlib.h>

#include "apiserver/discovery/openapi_custom.h"
#include "base/banned.h"
#include "object/meta/schema_table.h"
#include "json/order.h"

struct openapi_def {
    str name;
    const struct schema *schema; /* NULL: a list, or not known: then a free object */
    const struct kind *list_of;
    const struct kind *custom;     /* whose schema it is, if that is a CRD's */
    const struct subresource *sub; /* that speaks it */
};

void openapi_schemas_init(struct openapi_schemas *s, struct arena *a, const struct catalog *c,
                          enum openapi_form form)
{
    *s = (struct openapi_schemas){ .arena = a, .catalog = c, .form = form };
}

void openapi_schemas_release(struct openapi_schemas *s)
{
    map_release(&s->seen);
}

/* ---- references ---- */

static void take_in(struct openapi_schemas *s, struct openapi_def def)
{
    if (map_get(&s->seen, def.name))
        return;
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 64;
        struct openapi_def *defs = arena_array(s->arena, struct openapi_def, cap);

        if (s->n)
            memcpy(defs, s->defs, s->n * sizeof(*defs));
        s->defs = defs;
        s->cap = cap;
    }
    s->defs[s->n++] = def;
    (void)map_put(&s->seen, def.name, s);
}

static struct json reference(struct openapi_schemas *s, struct openapi_def def)
{
    struct json_object o = json_object_new(s->arena);
    const char *where = s->form == OPENAPI_V2 ? "#/definitions/" : "#/components/schemas/";

    take_in(s, def);
    json_add(&o, STR("$ref"),
             json_of_str(str_printf(s->arena, "%s%.*s", where, STR_ARG(def.name))));
    return json_object_value(&o);
}

struct json openapi_schemas_kind(struct openapi_schemas *s, const struct kind *k)
{
    return reference(s, (struct openapi_def){ .name = k->schema->name,
                                              .schema = k->schema,
                                              .custom = k->schema_id ? k : NULL });
}

/* Beside the kind's schema: io.k8s.api.core.v1.ConfigMapList */
static str list_name(struct arena *a, const struct kind *k)
{
    str name = k->schema->name;
    size_t n = name.n;

    while (n > 0 && name.p[n - 1] != '.')
        n--;
    return str_printf(a, "%.*s%.*s", (int)n, name.p, STR_ARG(k->list_kind));
}

struct json openapi_schemas_list(struct openapi_schemas *s, const struct kind *k)
{
    return reference(s, (struct openapi_def){ .name = list_name(s->arena, k), .list_of = k });
}

struct json openapi_schemas_named(struct openapi_schemas *s, str name)
{
    return reference(s, (struct openapi_def){
                            .name = name, .schema = schema_set_find(s->catalog->schemas, name) });
}

struct json openapi_schemas_sub(struct openapi_schemas *s, str name, const struct subresource *sub)
{
    return reference(s, (struct openapi_def){ .name = name,
                                              .schema = schema_set_find(s->catalog->schemas, name),
                                              .sub = sub });
}

/* v2 puts both into one object; v3 ignores what stands beside $ref, so it goes into allOf. */
void openapi_schemas_refer(struct openapi_schemas *s, struct json_object *o, struct json ref)
{
    struct json_array all = json_array_new(s->arena);

    if (s->form == OPENAPI_V2) {
        json_add(o, STR("$ref"), ref.members[0].value);
        return;
    }
    json_push(&all, ref);
    json_add(o, STR("allOf"), json_array_value(&all));
}

/* ---- types ---- */

static void add_str(struct json_object *o, str name, str value)
{
    json_add(o, name, json_of_str(value));
}

static void add_strings(struct json_object *o, str name, const str *list, size_t n)
{
    struct json_array r = json_array_new(o->arena);

    for (size_t i = 0; i < n; i++)
        json_push(&r, json_of_str(list[i]));
    json_add(o, name, json_array_value(&r));
}

static const struct {
    str type, format; /* empty: left out */
} scalars[] = {
    [SCHEMA_STRING] = { STR_INIT("string"), STR_INIT("") },
    [SCHEMA_BYTES] = { STR_INIT("string"), STR_INIT("byte") },
    [SCHEMA_BOOL] = { STR_INIT("boolean"), STR_INIT("") },
    [SCHEMA_INT32] = { STR_INIT("integer"), STR_INIT("int32") },
    [SCHEMA_INT64] = { STR_INIT("integer"), STR_INIT("int64") },
    [SCHEMA_DOUBLE] = { STR_INIT("number"), STR_INIT("double") },
    [SCHEMA_TIME] = { STR_INIT("string"), STR_INIT("date-time") },
    [SCHEMA_MICROTIME] = { STR_INIT("string"), STR_INIT("date-time") },
    [SCHEMA_QUANTITY] = { STR_INIT("string"), STR_INIT("") },
    [SCHEMA_INT_OR_STRING] = { STR_INIT("string"), STR_INIT("int-or-string") },
};

static void fill_type(struct openapi_schemas *s, struct json_object *o, const struct schema *t);

/* A list may have a name in Go (Verbs), but not in the documents. */
static bool is_named(const struct schema *t)
{
    return t->name.n > 0 && t->type != SCHEMA_LIST && t->type != SCHEMA_MAP;
}

/* {"oneOf":[{"type":a},{"type":b}]}: only v3 can say that */
static void add_one_of(struct json_object *o, str a, str b)
{
    struct json_array r = json_array_new(o->arena);
    const str types[] = { a, b };

    for (size_t i = 0; i < 2; i++) {
        struct json_object t = json_object_new(o->arena);

        add_str(&t, STR("type"), types[i]);
        json_push(&r, json_object_value(&t));
    }
    json_add(o, STR("oneOf"), json_array_value(&r));
}

static void fill_scalar(struct openapi_schemas *s, struct json_object *o, enum schema_type type)
{
    bool mixed = s->form == OPENAPI_V3 && (type == SCHEMA_QUANTITY || type == SCHEMA_INT_OR_STRING);

    if (mixed)
        add_one_of(o, type == SCHEMA_QUANTITY ? STR("string") : STR("integer"),
                   type == SCHEMA_QUANTITY ? STR("number") : STR("string"));
    else
        add_str(o, STR("type"), scalars[type].type);
    if (scalars[type].format.n > 0)
        add_str(o, STR("format"), scalars[type].format);
}

/* The zero that Go would decode an absent element into, as v3 documents publish it. */
static const struct json *element_default(const struct schema *t)
{
    switch (t->type) {
    case SCHEMA_OBJECT:
        return &json_empty_object;
    case SCHEMA_STRING:
    case SCHEMA_BOOL:
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
        return t->zero;
    case SCHEMA_BYTES:
    case SCHEMA_TIME:
    case SCHEMA_MICROTIME:
    case SCHEMA_QUANTITY:
    case SCHEMA_INT_OR_STRING:
    case SCHEMA_ANY:
    case SCHEMA_MAP:
    case SCHEMA_LIST:
        return NULL;
    }
    return NULL;
}

static void fill_reference(struct openapi_schemas *s, struct json_object *o, const struct schema *t,
                           bool alone)
{
    struct json ref = reference(s, (struct openapi_def){ .name = t->name, .schema = t });

    if (alone)
        json_add(o, STR("$ref"), ref.members[0].value);
    else
        openapi_schemas_refer(s, o, ref);
}

/* An item of a list or a value of a map. */
static struct json element_value(struct openapi_schemas *s, const struct schema *t,
                                 const struct schema_field *enums)
{
    struct json_object o = json_object_new(s->arena);
    const struct json *zero = s->form == OPENAPI_V3 ? element_default(t) : NULL;

    if (is_named(t))
        fill_reference(s, &o, t, !zero);
    else
        fill_type(s, &o, t);
    if (enums && enums->nenums > 0)
        add_strings(&o, STR("enum"), enums->enums, enums->nenums);
    if (zero)
        json_add(&o, STR("default"), *zero);
    return json_object_value(&o);
}

static void fill_object(struct openapi_schemas *s, struct json_object *o, const struct schema *t);

/* Old kubectls validate by v2 and would refuse what is no object, if it said so. */
static void fill_free(const struct openapi_schemas *s, struct json_object *o,
                      const struct schema *t)
{
    bool named = t->name.n > 0;

    if (named ? t->says_object : s->form == OPENAPI_V3)
        add_str(o, STR("type"), STR("object"));
    if (!named)
        json_add(o, STR("x-kubernetes-preserve-unknown-fields"), json_true);
}

/* The type itself, where it has no name to refer to. */
static void fill_type(struct openapi_schemas *s, struct json_object *o, const struct schema *t)
{
    switch (t->type) {
    case SCHEMA_OBJECT:
        fill_object(s, o, t);
        return;
    case SCHEMA_MAP:
        add_str(o, STR("type"), STR("object"));
        json_add(o, STR("additionalProperties"), element_value(s, t->items, NULL));
        return;
    case SCHEMA_LIST:
        add_str(o, STR("type"), STR("array"));
        json_add(o, STR("items"), element_value(s, t->items, NULL));
        return;
    case SCHEMA_ANY:
        fill_free(s, o, t);
        return;
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
    case SCHEMA_BOOL:
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
    case SCHEMA_TIME:
    case SCHEMA_MICROTIME:
    case SCHEMA_QUANTITY:
    case SCHEMA_INT_OR_STRING:
        fill_scalar(s, o, t->type);
        return;
    }
}

static const str list_types[] = {
    [SCHEMA_LIST_ATOMIC] = STR_INIT("atomic"),
    [SCHEMA_LIST_SET] = STR_INIT("set"),
    [SCHEMA_LIST_MAP] = STR_INIT("map"),
};

static void add_extensions(struct json_object *o, const struct schema_field *f)
{
    if (f->nlist_keys > 0)
        add_strings(o, STR("x-kubernetes-list-map-keys"), f->list_keys, f->nlist_keys);
    if (f->list_typed)
        add_str(o, STR("x-kubernetes-list-type"), list_types[f->list_type]);
    if (f->map_atomic || f->granular)
        add_str(o, STR("x-kubernetes-map-type"), f->granular ? STR("granular") : STR("atomic"));
    if (f->merge_key.n > 0)
        add_str(o, STR("x-kubernetes-patch-merge-key"), f->merge_key);
    if (f->patch_merge || f->retain_keys || f->replaced)
        add_str(o, STR("x-kubernetes-patch-strategy"),
                f->replaced       ? STR("replace")
                : !f->retain_keys ? STR("merge")
                : f->patch_merge  ? STR("merge,retainKeys")
                                  : STR("retainKeys"));
}

/* k8s: version 2 is without defaults. */
static const struct json *field_default(const struct openapi_schemas *s,
                                        const struct schema_field *f)
{
    if (s->form == OPENAPI_V2)
        return NULL;
    if (f->default_value)
        return f->default_value;
    if (f->shown && f->absent)
        return f->absent;
    return f->presence == SCHEMA_ALWAYS || f->shown ? element_default(f->type) : NULL;
}

static struct json field_value(struct openapi_schemas *s, const struct schema_field *f)
{
    struct json_object o = json_object_new(s->arena);
    const struct json *otherwise = field_default(s, f);

    if (f->doc.n > 0)
        add_str(&o, STR("description"), f->doc);
    if (is_named(f->type)) {
        fill_reference(s, &o, f->type, o.n == 0 && !otherwise);
    } else if (f->type->type == SCHEMA_LIST) {
        add_str(&o, STR("type"), STR("array"));
        json_add(&o, STR("items"), element_value(s, f->type->items, f));
    } else if (f->type->type == SCHEMA_MAP) {
        add_str(&o, STR("type"), STR("object"));
        json_add(&o, STR("additionalProperties"), element_value(s, f->type->items, f));
    } else {
        fill_type(s, &o, f->type);
        if (f->nenums > 0)
            add_strings(&o, STR("enum"), f->enums, f->nenums);
    }
    if (otherwise)
        json_add(&o, STR("default"), *otherwise);
    add_extensions(&o, f);
    return json_object_value(&o);
}

/* By number, which is nearly always the order in which Go has them. */
static int cmp_fields(const void *a, const void *b)
{
    const struct schema_field *x = *(const struct schema_field *const *)a,
                              *y = *(const struct schema_field *const *)b;

    if (x->proto != y->proto)
        return x->proto < y->proto ? -1 : 1;
    return str_cmp(x->name, y->name);
}

static struct json required_fields(struct openapi_schemas *s, const struct schema *t)
{
    const struct schema_field **list =
        arena_array(s->arena, const struct schema_field *, t->nfields + 1);
    struct json_array r = json_array_new(s->arena);
    size_t n = 0;

    for (size_t i = 0; i < t->nfields; i++)
        if (t->fields[i].required)
            list[n++] = &t->fields[i];
    qsort(list, n, sizeof(*list), cmp_fields);
    for (size_t i = 0; i < n; i++)
        json_push(&r, json_of_str(list[i]->name));
    return json_array_value(&r);
}

/* [{"discriminator": "type", "fields-to-discriminateBy": {"queuing": "Queuing"}}] */
static void add_union(struct openapi_schemas *s, struct json_object *o, const struct schema *t)
{
    struct json_object u = json_object_new(s->arena), fields = json_object_new(s->arena);
    struct json_array r = json_array_new(s->arena);

    for (size_t i = 0; i < t->nunion_fields; i++) {
        str name = t->union_fields[i];
        char *go = str_z(s->arena, name);

        *go = (char)(*go - ('a' - 'A'));
        add_str(&fields, name, (str){ go, name.n });
    }
    add_str(&u, STR("discriminator"), t->union_by);
    json_add(&u, STR("fields-to-discriminateBy"), json_object_value(&fields));
    json_push(&r, json_object_value(&u));
    json_add(o, STR("x-kubernetes-unions"), json_array_value(&r));
}

static void fill_object(struct openapi_schemas *s, struct json_object *o, const struct schema *t)
{
    struct json_object props = json_object_new(s->arena);
    struct json required = required_fields(s, t);

    for (size_t i = 0; i < t->nfields; i++)
        json_add(&props, t->fields[i].name, field_value(s, &t->fields[i]));
    add_str(o, STR("type"), STR("object"));
    if (t->nfields > 0)
        json_add(o, STR("properties"), json_object_value(&props));
    if (required.n > 0)
        json_add(o, STR("required"), required);
    if (t->map_atomic)
        add_str(o, STR("x-kubernetes-map-type"), STR("atomic"));
    if (t->union_by.n > 0)
        add_union(s, o, t);
}

/* ---- group, version, kind ---- */

struct json openapi_gvk(struct arena *a, str group, str version, str kind)
{
    struct json_object o = json_object_new(a);

    add_str(&o, STR("group"), group);
    add_str(&o, STR("kind"), kind);
    add_str(&o, STR("version"), version);
    return json_object_value(&o);
}

static const struct {
    str name;
    bool everywhere;
} meta_kinds[] = {
    { STR_INIT("Status"), false },          { STR_INIT("APIVersions"), false },
    { STR_INIT("APIGroup"), false },        { STR_INIT("APIGroupList"), false },
    { STR_INIT("APIResourceList"), false }, { STR_INIT("DeleteOptions"), true },
    { STR_INIT("WatchEvent"), true },
};

/* k8s: what metav1.AddToGroupVersion was called for in kube-apiserver 1.35 */
static const struct {
    str group, versions; /* with blanks between */
    bool custom;         /* also in documents of custom resources */
} known[] = {
    { STR_INIT(""), STR_INIT("v1"), true },
    { STR_INIT("admission.k8s.io"), STR_INIT("v1 v1beta1"), false },
    { STR_INIT("admissionregistration.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("apiextensions.k8s.io"), STR_INIT("v1 v1beta1"), false },
    { STR_INIT("apiregistration.k8s.io"), STR_INIT("v1 v1beta1"), false },
    { STR_INIT("apps"), STR_INIT("v1 v1beta1 v1beta2"), true },
    { STR_INIT("authentication.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("authorization.k8s.io"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("autoscaling"), STR_INIT("v1 v2 v2beta1 v2beta2"), true },
    { STR_INIT("batch"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("certificates.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("coordination.k8s.io"), STR_INIT("v1 v1alpha2 v1beta1"), true },
    { STR_INIT("discovery.k8s.io"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("events.k8s.io"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("extensions"), STR_INIT("v1beta1"), true },
    { STR_INIT("flowcontrol.apiserver.k8s.io"), STR_INIT("v1 v1beta1 v1beta2 v1beta3"), true },
    { STR_INIT("imagepolicy.k8s.io"), STR_INIT("v1alpha1"), false },
    { STR_INIT("internal.apiserver.k8s.io"), STR_INIT("v1alpha1"), true },
    { STR_INIT("networking.k8s.io"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("node.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("policy"), STR_INIT("v1 v1beta1"), true },
    { STR_INIT("rbac.authorization.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("resource.k8s.io"), STR_INIT("v1 v1alpha3 v1beta1 v1beta2"), true },
    { STR_INIT("scheduling.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("storage.k8s.io"), STR_INIT("v1 v1alpha1 v1beta1"), true },
    { STR_INIT("storagemigration.k8s.io"), STR_INIT("v1beta1"), true },
};
enum { NGROUPS = sizeof(known) / sizeof(*known) };

static bool is_known(str group)
{
    for (size_t i = 0; i < NGROUPS; i++)
        if (str_eq(known[i].group, group))
            return true;
    return false;
}

static void push_everywhere(const struct openapi_schemas *s, struct json_array *r, str kind)
{
    const struct catalog *c = s->catalog;
    const struct kind *last = NULL;

    for (size_t i = 0; i < NGROUPS; i++)
        for (str rest = known[i].versions, v;
             (known[i].custom || !s->custom) && str_split(&rest, ' ', &v);)
            json_push(r, openapi_gvk(r->arena, known[i].group, v, kind));
    /* Kinds of a group version stand together; CRDs' are not told of. */
    for (size_t i = 0; !s->custom && i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        if (k->schema_id || is_known(k->group) ||
            (last && str_eq(last->group, k->group) && str_eq(last->version, k->version)))
            continue;
        json_push(r, openapi_gvk(r->arena, k->group, k->version, kind));
        last = k;
    }
}

/*
 * Adds {"group","kind","version"} of a type of meta.v1 with this OpenAPI name that is a kind: of
 * the core version, or of every group version that Kubernetes knows, whether it is served or not,
 * and of our own that are.
 */
static void add_meta_gvks(const struct openapi_schemas *s, str name, struct json_array *out)
{
    if (!str_starts(name, STR(OPENAPI_META)))
        return;
    name = str_from(name, strlen(OPENAPI_META));
    for (size_t i = 0; i < sizeof(meta_kinds) / sizeof(*meta_kinds); i++) {
        if (!str_eq(name, meta_kinds[i].name))
            continue;
        if (meta_kinds[i].everywhere)
            push_everywhere(s, out, name);
        else
            json_push(out, openapi_gvk(out->arena, STR(""), STR("v1"), name));
    }
}

static void add_gvks(struct openapi_schemas *s, struct json_object *o,
                     const struct openapi_def *def)
{
    struct json_array r = json_array_new(s->arena);
    const struct kind *of = def->list_of;

    if (of)
        json_push(&r, openapi_gvk(s->arena, of->group, of->version, of->list_kind));
    for (size_t i = 0; !of && i < s->catalog->nkinds; i++) {
        const struct kind *k = s->catalog->kinds[i];

        if (k->schema && str_eq(k->schema->name, def->name))
            json_push(&r, openapi_gvk(s->arena, k->group, k->version, k->kind));
    }
    if (def->sub)
        json_push(&r, openapi_gvk(s->arena, def->sub->group, def->sub->version, def->sub->kind));
    add_meta_gvks(s, def->name, &r);
    if (r.n > 0)
        json_add(o, STR("x-kubernetes-group-version-kind"), json_array_value(&r));
}

/* ---- definitions ---- */

static struct json described(struct arena *a, str type, str doc)
{
    struct json_object o = json_object_new(a);

    add_str(&o, STR("description"), doc);
    add_str(&o, STR("type"), type);
    return json_object_value(&o);
}

/* [{"fieldPath": "spec.color"}]: what a CRD lets select by */
static void add_selectable(struct json_object *o, const struct kind *k)
{
    struct json_array r = json_array_new(o->arena);

    for (size_t i = 0; i < k->nfield_labels; i++) {
        struct json_object path = json_object_new(o->arena);

        add_str(&path, STR("fieldPath"), k->field_labels[i].label);
        json_push(&r, json_object_value(&path));
    }
    if (r.n > 0)
        json_add(o, STR("x-kubernetes-selectable-fields"), json_array_value(&r));
}

/* Of a kind whose list is in no table. */
static void fill_list(struct openapi_schemas *s, struct json_object *o, const struct kind *k)
{
    struct json_object props = json_object_new(s->arena), items = json_object_new(s->arena),
                       meta = json_object_new(s->arena);
    struct json_array required = json_array_new(s->arena);
    struct json ref = openapi_schemas_named(s, STR(OPENAPI_META "ListMeta"));

    add_str(&items, STR("description"), STR("The objects."));
    add_str(&items, STR("type"), STR("array"));
    json_add(&items, STR("items"), openapi_schemas_kind(s, k));
    add_str(&meta, STR("description"), STR("Metadata of the list."));
    openapi_schemas_refer(s, &meta, ref);
    json_add(&props, STR("apiVersion"),
             described(s->arena, STR("string"), STR("Group and version of the list.")));
    json_add(&props, STR("items"), json_object_value(&items));
    json_add(&props, STR("kind"), described(s->arena, STR("string"), STR("Kind of the list.")));
    json_add(&props, STR("metadata"), json_object_value(&meta));
    json_push(&required, json_of_str(STR("items")));
    add_str(o, STR("type"), STR("object"));
    json_add(o, STR("properties"), json_object_value(&props));
    json_add(o, STR("required"), json_array_value(&required));
}

static struct json definition(struct openapi_schemas *s, struct openapi_def *def)
{
    struct json_object o = json_object_new(s->arena);

    if (def->list_of)
        def->schema = schema_set_find(s->catalog->schemas, def->name);
    if (def->schema && def->schema->doc.n > 0)
        add_str(&o, STR("description"), def->schema->doc);
    if (def->schema && def->schema->rules)
        openapi_custom_fill(s, &o, def->schema);
    else if (def->schema)
        fill_type(s, &o, def->schema);
    else if (def->list_of)
        fill_list(s, &o, def->list_of);
    else
        add_str(&o, STR("type"), STR("object"));
    if (def->custom || (def->list_of && def->list_of->schema_id))
        add_selectable(&o, def->custom ? def->custom : def->list_of);
    add_gvks(s, &o, def);
    return json_object_value(&o);
}

struct json openapi_schemas_done(struct openapi_schemas *s)
{
    struct json_object o = json_object_new(s->arena);
    struct json all;

    /* Making one may find more. */
    for (size_t i = 0; i < s->n; i++) {
        struct openapi_def def = s->defs[i];

        json_add(&o, def.name, definition(s, &def));
    }
    all = json_object_value(&o);
    return json_by_name(s->arena, &all);
}
