/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parts of a CRD as Kubernetes holds them inside, which is how a refusal shows them: every field in
 * the order of the Go struct, also those that were not said; < > & by their numbers.
 *
 * k8s: apiextensions-apiserver/pkg/apis/apiextensions/types.go, types_jsonschema.go
 */

#include "kinds/crd/crd.h"

#include "base/banned.h"
#include "kinds/frame/group.h"

enum form { TEXT, FLAG, NUMBER, ANY, OBJECT, LIST, MEMBERS, BOOL_OR, ITEMS };

struct table;

struct shown {
    const char *from, *to;
    enum form form;
    const struct table *of; /* of objects, what is in them */
};

struct table {
    const struct shown *fields;
    size_t n;
};

#define TABLE(fields_)                               \
    {                                                \
        .fields = (fields_), .n = GROUP_LEN(fields_) \
    }

static const struct shown rule_fields[] = {
    { "rule", "Rule", TEXT, NULL },
    { "message", "Message", TEXT, NULL },
    { "messageExpression", "MessageExpression", TEXT, NULL },
    { "reason", "Reason", ANY, NULL },
    { "fieldPath", "FieldPath", TEXT, NULL },
    { "optionalOldSelf", "OptionalOldSelf", ANY, NULL },
};
static const struct table rule_table = TABLE(rule_fields);

static const struct shown docs_fields[] = {
    { "description", "Description", TEXT, NULL },
    { "url", "URL", TEXT, NULL },
};
static const struct table docs_table = TABLE(docs_fields);

static const struct table schema_table;

static const struct shown schema_fields[] = {
    { "id", "ID", TEXT, NULL },
    { "$schema", "Schema", TEXT, NULL },
    { "$ref", "Ref", ANY, NULL },
    { "description", "Description", TEXT, NULL },
    { "type", "Type", TEXT, NULL },
    { "nullable", "Nullable", FLAG, NULL },
    { "format", "Format", TEXT, NULL },
    { "title", "Title", TEXT, NULL },
    { "default", "Default", ANY, NULL },
    { "maximum", "Maximum", ANY, NULL },
    { "exclusiveMaximum", "ExclusiveMaximum", FLAG, NULL },
    { "minimum", "Minimum", ANY, NULL },
    { "exclusiveMinimum", "ExclusiveMinimum", FLAG, NULL },
    { "maxLength", "MaxLength", ANY, NULL },
    { "minLength", "MinLength", ANY, NULL },
    { "pattern", "Pattern", TEXT, NULL },
    { "maxItems", "MaxItems", ANY, NULL },
    { "minItems", "MinItems", ANY, NULL },
    { "uniqueItems", "UniqueItems", FLAG, NULL },
    { "multipleOf", "MultipleOf", ANY, NULL },
    { "enum", "Enum", ANY, NULL },
    { "maxProperties", "MaxProperties", ANY, NULL },
    { "minProperties", "MinProperties", ANY, NULL },
    { "required", "Required", ANY, NULL },
    { "items", "Items", ITEMS, &schema_table },
    { "allOf", "AllOf", LIST, &schema_table },
    { "oneOf", "OneOf", LIST, &schema_table },
    { "anyOf", "AnyOf", LIST, &schema_table },
    { "not", "Not", OBJECT, &schema_table },
    { "properties", "Properties", MEMBERS, &schema_table },
    { "additionalProperties", "AdditionalProperties", BOOL_OR, &schema_table },
    { "patternProperties", "PatternProperties", MEMBERS, &schema_table },
    { "dependencies", "Dependencies", ANY, NULL },
    { "additionalItems", "AdditionalItems", BOOL_OR, &schema_table },
    { "definitions", "Definitions", MEMBERS, &schema_table },
    { "externalDocs", "ExternalDocs", OBJECT, &docs_table },
    { "example", "Example", ANY, NULL },
    { "x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", ANY, NULL },
    { "x-kubernetes-embedded-resource", "XEmbeddedResource", FLAG, NULL },
    { "x-kubernetes-int-or-string", "XIntOrString", FLAG, NULL },
    { "x-kubernetes-list-map-keys", "XListMapKeys", ANY, NULL },
    { "x-kubernetes-list-type", "XListType", ANY, NULL },
    { "x-kubernetes-map-type", "XMapType", ANY, NULL },
    { "x-kubernetes-validations", "XValidations", LIST, &rule_table },
};
static const struct table schema_table = TABLE(schema_fields);

static const struct shown validation_fields[] = {
    { "openAPIV3Schema", "OpenAPIV3Schema", OBJECT, &schema_table },
};
static const struct table validation_table = TABLE(validation_fields);

static const struct shown scale_fields[] = {
    { "specReplicasPath", "SpecReplicasPath", TEXT, NULL },
    { "statusReplicasPath", "StatusReplicasPath", TEXT, NULL },
    { "labelSelectorPath", "LabelSelectorPath", ANY, NULL },
};
static const struct table scale_table = TABLE(scale_fields);

static const struct shown subresource_fields[] = {
    { "status", "Status", ANY, NULL },
    { "scale", "Scale", OBJECT, &scale_table },
};
static const struct table subresource_table = TABLE(subresource_fields);

static const struct shown column_fields[] = {
    { "name", "Name", TEXT, NULL },           { "type", "Type", TEXT, NULL },
    { "format", "Format", TEXT, NULL },       { "description", "Description", TEXT, NULL },
    { "priority", "Priority", NUMBER, NULL }, { "jsonPath", "JSONPath", TEXT, NULL },
};
static const struct table column_table = TABLE(column_fields);

static const struct shown selectable_fields[] = {
    { "jsonPath", "JSONPath", TEXT, NULL },
};
static const struct table selectable_table = TABLE(selectable_fields);

static const struct shown version_fields[] = {
    { "name", "Name", TEXT, NULL },
    { "served", "Served", FLAG, NULL },
    { "storage", "Storage", FLAG, NULL },
    { "deprecated", "Deprecated", FLAG, NULL },
    { "deprecationWarning", "DeprecationWarning", ANY, NULL },
    { "schema", "Schema", OBJECT, &validation_table },
    { "subresources", "Subresources", OBJECT, &subresource_table },
    { "additionalPrinterColumns", "AdditionalPrinterColumns", LIST, &column_table },
    { "selectableFields", "SelectableFields", LIST, &selectable_table },
};
static const struct table version_table = TABLE(version_fields);

/* A schema of ten bytes is shown in a thousand: beyond this it is shown as it was sent. */
enum { SHOWN_MAX = 128 << 10 };

static void show(struct buf *b, const struct table *t, const struct json *v);

static void show_null(struct buf *b)
{
    buf_str_append(b, STR("null"));
}

static void show_list(struct buf *b, const struct table *t, const struct json *list)
{
    char before = '[';

    if (!json_is(list, JSON_ARRAY)) {
        show_null(b);
        return;
    }
    json_for_each (v, list) {
        buf_byte(b, before);
        show(b, t, v);
        before = ',';
    }
    buf_str_append(b, before == '[' ? STR("[]") : STR("]"));
}

static void show_members(struct buf *b, const struct table *t, const struct json *v)
{
    char before = '{';

    json_for_each_member (m, v) {
        buf_byte(b, before);
        json_print_string(b, m->name);
        buf_byte(b, ':');
        show(b, t, &m->value);
        before = ',';
    }
    buf_str_append(b, before == '{' ? STR("{}") : STR("}"));
}

static void show_pair(struct buf *b, const struct shown *f, const struct json *v)
{
    bool object = json_is(v, JSON_OBJECT);

    if (f->form == BOOL_OR)
        buf_printf(b, "{\"Allows\":%s,\"Schema\":", object || json_bool(v) ? "true" : "false");
    else
        buf_str_append(b, STR("{\"Schema\":"));
    if (object)
        show(b, f->of, v);
    else
        show_null(b);
    if (f->form == ITEMS) {
        buf_str_append(b, STR(",\"JSONSchemas\":"));
        show_list(b, f->of, v);
    }
    buf_byte(b, '}');
}

static void show_field(struct buf *b, const struct shown *f, const struct json *v)
{
    if (f->form == TEXT)
        json_print_string(b, json_str(v));
    else if (f->form == FLAG)
        buf_str_append(b, json_bool(v) ? STR("true") : STR("false"));
    else if (f->form == NUMBER && !v)
        buf_byte(b, '0');
    else if (!v)
        show_null(b);
    else if (f->form == OBJECT)
        show(b, f->of, v);
    else if (f->form == LIST)
        show_list(b, f->of, v);
    else if (f->form == MEMBERS)
        show_members(b, f->of, v);
    else if (f->form == BOOL_OR || f->form == ITEMS)
        show_pair(b, f, v);
    else
        json_print(b, v);
}

static void show(struct buf *b, const struct table *t, const struct json *v)
{
    for (size_t i = 0; i < t->n && !b->overflown; i++) {
        buf_byte(b, i ? ',' : '{');
        buf_printf(b, "\"%s\":", t->fields[i].to);
        show_field(b, &t->fields[i], crd_get(v, t->fields[i].from));
    }
    buf_byte(b, '}');
}

/* < > & as Go writes them in JSON. */
static str escaped(struct arena *a, str plain)
{
    scoped_buf b = { .max = 6 * plain.n };

    for (size_t i = 0; i < plain.n; i++) {
        unsigned char c = (unsigned char)plain.p[i];

        if (c == '<' || c == '>' || c == '&')
            buf_printf(&b, "\\u%04x", c);
        else
            buf_byte(&b, (char)c);
    }
    return str_dup(a, buf_str(&b));
}

static str internal(struct arena *a, const struct shown *f, const struct json *v)
{
    scoped_buf sent = { .max = 64 << 20 }, shown = { .max = SHOWN_MAX };
    const struct json *sorted = NULL;
    struct status ignored;

    status_init(&ignored, a);
    json_print_sorted(&sent, v);
    if (json_parse(a, buf_str(&sent), NULL, &sorted, &ignored) == 0)
        show_field(&shown, f, sorted);
    return sorted && !buf_overflown(&shown) ? escaped(a, buf_str(&shown))
                                            : str_dup(a, buf_str(&sent));
}

str crd_internal_schema(struct arena *a, const struct json *schema)
{
    return internal(a, &(struct shown){ .form = OBJECT, .of = &schema_table }, schema);
}

str crd_internal_rule(struct arena *a, const struct json *rule)
{
    return internal(a, &(struct shown){ .form = OBJECT, .of = &rule_table }, rule);
}

str crd_internal_versions(struct arena *a, const struct json *versions)
{
    return internal(a, &(struct shown){ .form = LIST, .of = &version_table }, versions);
}
