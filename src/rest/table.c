/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/table.h"

#include "base/banned.h"
#include "object/meta/jsonpath.h"
#include "rest/duration.h"

/* k8s: apiserver/pkg/registry/rest/table.go: kinds without columns of their own. */
static const struct column default_columns[] = {
    { STR_INIT("Name"), STR_INIT("string"), STR_INIT("name"), STR_INIT("Name of the object."),
      .priority = 0 },
    { STR_INIT("Created At"), STR_INIT("date"), STR_INIT(""), STR_INIT("When it was made."),
      .priority = 0 },
};

static const struct {
    const char *text;
    enum table_include include;
} includes[] = {
    { "", TABLE_METADATA },
    { "Metadata", TABLE_METADATA },
    { "None", TABLE_NONE },
    { "Object", TABLE_OBJECT },
};

int table_include_parse(str text, enum table_include *out, struct status *st)
{
    for (size_t i = 0; i < sizeof(includes) / sizeof(*includes); i++) {
        if (str_is(text, includes[i].text)) {
            *out = includes[i].include;
            return 0;
        }
    }
    return status_set(st, REASON_BAD_REQUEST,
                      "Unable to convert to Table as requested: includeObject: Invalid value: "
                      "\"%.*s\": must be 'Metadata', 'Object', 'None', or empty",
                      STR_ARG(text));
}

static void member(struct buf *b, const char *name, str value)
{
    buf_printf(b, "\"%s\":", name);
    json_print_string(b, value);
}

void table_columns(struct buf *b, const struct kind *k)
{
    bool own = k->ncolumns != 0;
    const struct column *c = own ? k->columns : default_columns;
    size_t n = own ? k->ncolumns : sizeof(default_columns) / sizeof(*default_columns);

    buf_byte(b, '[');
    for (size_t i = 0; i < n; i++, c++) {
        buf_str_append(b, i ? STR(",{") : STR("{"));
        member(b, "name", c->name);
        buf_byte(b, ',');
        member(b, "type", c->type);
        buf_byte(b, ',');
        member(b, "format", c->format);
        buf_byte(b, ',');
        member(b, "description", c->description);
        buf_printf(b, ",\"priority\":%d}", c->priority);
    }
    buf_byte(b, ']');
}

/* k8s: apiextensions-apiserver pkg/registry/customresource/tableconvertor */
static struct json cell_of(struct arena *a, const struct column *c, const struct json *v,
                           int64_t now_s)
{
    bool number = json_is(v, JSON_INT) || json_is(v, JSON_FLOAT);

    if (!v || v->type == JSON_NULL)
        return json_null;
    if (str_is(c->type, "string"))
        return v->type == JSON_STRING ? *v : json_of_str(json_text(a, v));
    if (str_is(c->type, "date"))
        return v->type == JSON_STRING ? json_of_str(duration_since(a, json_str(v), now_s))
                                      : json_null;
    if (str_is(c->type, "boolean"))
        return v->type == JSON_BOOL ? *v : json_null;
    if (str_is(c->type, "integer") && v->type == JSON_FLOAT)
        return json_of_int((int64_t)v->f);
    return number ? *v : json_null;
}

static void cells(struct buf *b, struct arena *a, const struct kind *k, const struct json *obj,
                  int64_t now_s)
{
    struct json_array out = json_array_new(a);
    str created;

    if (k->ncolumns && k->columns[0].path) {
        for (size_t i = 0; i < k->ncolumns; i++)
            json_push(&out,
                      cell_of(a, &k->columns[i], jsonpath_first(k->columns[i].path, obj), now_s));
    } else if (k->ncolumns && k->ops && k->ops->cells) {
        k->ops->cells(a, obj, now_s, &out);
    } else {
        json_push(&out, json_of_str(json_get_str(obj, "metadata.name")));
        created = json_get_str(obj, "metadata.creationTimestamp");
        json_push(&out, json_of_str(created.n ? created : STR("0001-01-01T00:00:00Z")));
    }
    json_print(b, json_array_done(&out));
}

/* The members of the object behind its kind and apiVersion, which come from k. */
static void whole_object(struct buf *b, const struct kind *k, const struct json *obj)
{
    buf_str_append(b, str_sub(k->type_prefix, 0, k->type_prefix.n - 1)); /* without its comma */
    json_for_each_member (m, obj) {
        if (str_is(m->name, "kind") || str_is(m->name, "apiVersion"))
            continue;
        buf_byte(b, ',');
        json_print_string(b, m->name);
        buf_byte(b, ':');
        json_print(b, &m->value);
    }
    buf_byte(b, '}');
}

static void row_object(struct buf *b, const struct kind *k, const struct json *obj,
                       enum table_include include)
{
    const struct json *metadata;

    switch (include) {
    case TABLE_NONE:
        buf_lit(b, "null");
        return;
    case TABLE_OBJECT:
        whole_object(b, k, obj);
        return;
    case TABLE_METADATA:
        break;
    }
    metadata = json_get(obj, STR("metadata"));
    buf_lit(b, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
               "\"metadata\":");
    json_print(b, metadata ? metadata : &json_empty_object);
    buf_byte(b, '}');
}

void table_row(struct buf *b, struct arena *a, const struct kind *k, const struct json *obj,
               enum table_include include, int64_t now_s)
{
    buf_lit(b, "{\"cells\":");
    cells(b, a, k, obj, now_s);
    buf_lit(b, ",\"object\":");
    row_object(b, k, obj, include);
    buf_byte(b, '}');
}
