/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/form.h"

#include "base/banned.h"
#include "rest/convert.h"
#include "rest/schemas.h"

#define META_V1 "\"apiVersion\":\"meta.k8s.io/v1\""

enum { FORM_MAX = 16 << 20 };

struct form form_of(const struct rest_request *req)
{
    return (struct form){ .rest = req->rest,
                          .kind = req->kind,
                          .form = req->form,
                          .include = req->include,
                          .now_s = clock_wall_s(req->rest->clock),
                          .converted = req->converted,
                          .redacted = req->redacted,
                          .wildcard = req->instance.id == STORE_ALL };
}

/* Kind and version of an object that stands alone, without the opening brace. */
static str type_of(const struct kind *k)
{
    return str_from(k->type_prefix, 1);
}

static struct obj_frame frame_of(const struct form *f, struct arena *a, const struct row *row,
                                 str type)
{
    struct obj_frame frame = {
        .type = type, .rev = row->rev, .uid = row->uid, .created = row->created
    };
    struct instances *in = f->rest->instances;
    struct status st;

    if (!f->wildcard)
        return frame;
    status_init(&st, a);
    if (instance_name(in, a, row->instance, f->at, &frame.instance, &st) < 0 &&
        instance_name(in, a, row->instance, 0, &frame.instance, &st) < 0)
        frame.instance = STR_NONE;
    return frame;
}

/* The object in the asked version, as a tree; the empty object if it cannot be read. */
static const struct json *tree_of(const struct form *f, struct arena *a, const struct row *row)
{
    struct obj_frame frame = frame_of(f, a, row, STR_NONE);
    const struct json *tree = convert_find(f->converted, row->name, row->rev);
    struct status st;

    status_init(&st, a);
    if (!tree && row_tree(a, f->kind, row, frame.instance, &tree, &st) < 0)
        return &json_empty_object;
    return f->redacted ? f->kind->ops->redact(a, tree) : tree;
}

static bool is_plain(const struct form *f, const struct row *row)
{
    if (f->redacted)
        return false;
    return f->form == FORM_PARTIAL ||
           (f->form == FORM_OBJECT && !(f->kind->ops && f->kind->ops->from_stored) &&
            row_is_current(f->kind, row));
}

/* Of a list over all instances: what this one is, by the schema that wrote it. */
static str own_type(const struct form *f, struct arena *a, const struct row *row)
{
    struct schema_record record;
    struct status st;

    status_init(&st, a);
    if (schema_record_get(f->rest->store, a, f->kind->type_id, row->obj.schema, &record, &st) == 1)
        return str_from(record.type_prefix, 1);
    return type_of(f->kind);
}

static void write_plain(const struct form *f, struct buf *b, const struct row *row, str type)
{
    scoped_arena a = f->wildcard ? arena_new() : NULL;
    struct obj_frame frame = frame_of(f, a, row, type);

    if (f->kind->any && f->form == FORM_OBJECT)
        frame.type = own_type(f, a, row);
    if (f->form == FORM_PARTIAL)
        obj_write_partial(b, &row->obj, &frame);
    else
        obj_write(b, &row->obj, &frame);
}

static str plain_type(const struct form *f)
{
    return f->form == FORM_PARTIAL ? STR("\"kind\":\"PartialObjectMetadata\"," META_V1 ",")
                                   : type_of(f->kind);
}

static void table_open(const struct form *f, struct buf *b, uint64_t rev, bool columns)
{
    buf_lit(b, "{\"kind\":\"Table\"," META_V1 ",\"metadata\":{\"resourceVersion\":\"");
    buf_u64(b, rev);
    buf_lit(b, "\"},\"columnDefinitions\":");
    if (columns)
        table_columns(b, f->kind);
    else
        buf_lit(b, "null");
    buf_lit(b, ",\"rows\":[");
}

static void print_tree(const struct form *f, struct buf *b, const struct json *tree)
{
    if (f->form != FORM_PARTIAL) {
        json_print(b, tree);
        return;
    }
    buf_byte(b, '{');
    buf_str_append(b, plain_type(f));
    buf_lit(b, "\"metadata\":");
    json_print(b, json_get(tree, STR("metadata")));
    buf_byte(b, '}');
}

static void write_object(const struct form *f, struct buf *b, const struct row *row, bool columns)
{
    scoped_arena a = NULL;

    if (is_plain(f, row)) {
        write_plain(f, b, row, plain_type(f));
        return;
    }
    a = arena_new();
    if (f->form == FORM_TABLE) {
        table_open(f, b, row->rev, columns);
        table_row(b, a, f->kind, tree_of(f, a, row), f->include, f->now_s);
        buf_lit(b, "]}");
        return;
    }
    print_tree(f, b, tree_of(f, a, row));
}

void form_object(const struct form *f, struct buf *b, const struct row *row)
{
    write_object(f, b, row, true);
}

size_t form_pieces(const struct form *f, struct arena *a, const struct row *row,
                   str pieces[OBJ_PIECES])
{
    scoped_buf b = { .max = FORM_MAX };

    if (is_plain(f, row) && f->form == FORM_OBJECT) {
        struct obj_frame frame = frame_of(f, a, row, type_of(f->kind));

        return obj_pieces(a, &row->obj, &frame, pieces);
    }
    form_object(f, &b, row);
    pieces[0] = str_dup(a, buf_str(&b));
    return 1;
}

/* k8s: items of a typed list carry no kind and apiVersion, those of custom resources do */
static const struct json *without_type(struct arena *a, const struct json *tree)
{
    struct json_object o = json_object_from(a, tree);

    json_remove(&o, STR("kind"));
    json_remove(&o, STR("apiVersion"));
    return json_object_done(&o);
}

int64_t form_rank(const struct form *f, const struct row *row)
{
    scoped_arena a = arena_new();

    return json_int(json_path(tree_of(f, a, row), f->kind->row_rank), 0);
}

void form_item(const struct form *f, struct buf *b, const struct row *row)
{
    scoped_arena a = NULL;

    if (is_plain(f, row)) {
        write_plain(f, b, row,
                    f->form == FORM_PARTIAL || f->kind->schema_id || f->kind->any ? plain_type(f)
                                                                                  : STR_NONE);
        return;
    }
    a = arena_new();
    if (f->form == FORM_TABLE)
        table_row(b, a, f->kind, tree_of(f, a, row), f->include, f->now_s);
    else
        print_tree(f, b,
                   f->kind->schema_id ? tree_of(f, a, row) : without_type(a, tree_of(f, a, row)));
}

/* k8s: a list of custom resources always says `continue`, also when there is no more. */
static void write_list_meta(const struct form *f, struct buf *b, const struct form_list *meta)
{
    bool always = f->form == FORM_OBJECT && f->kind->schema_id;

    buf_lit(b, "\"metadata\":{\"resourceVersion\":\"");
    buf_u64(b, meta->rev);
    buf_byte(b, '"');
    if (meta->continue_token.n || always) {
        buf_lit(b, ",\"continue\":\"");
        buf_str_append(b, meta->continue_token);
        buf_byte(b, '"');
    }
    if (meta->remaining) {
        buf_lit(b, ",\"remainingItemCount\":");
        buf_u64(b, meta->remaining);
    }
    buf_byte(b, '}');
}

void form_list_begin(const struct form *f, struct buf *b, const struct form_list *meta)
{
    if (f->form == FORM_TABLE)
        buf_lit(b, "{\"kind\":\"Table\"," META_V1 ",");
    else if (f->form == FORM_PARTIAL)
        buf_lit(b, "{\"kind\":\"PartialObjectMetadataList\"," META_V1 ",");
    else
        buf_printf(b, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",", STR_ARG(f->kind->list_kind),
                   STR_ARG(f->kind->api_version));
    if (meta) {
        write_list_meta(f, b, meta);
        buf_byte(b, ',');
    }
    if (f->form == FORM_TABLE) {
        buf_lit(b, "\"columnDefinitions\":");
        table_columns(b, f->kind);
        buf_lit(b, ",\"rows\":[");
    } else {
        buf_lit(b, "\"items\":[");
    }
}

void form_list_end(const struct form *f, struct buf *b, const struct form_list *meta)
{
    buf_byte(b, ']');
    if (meta) {
        buf_byte(b, ',');
        write_list_meta(f, b, meta);
    }
    buf_byte(b, '}');
}

void form_event(const struct form *f, struct buf *b, const char *type, const struct row *row,
                bool columns)
{
    buf_lit(b, "{\"type\":\"");
    buf_str_append(b, str_of(type));
    buf_lit(b, "\",\"object\":");
    write_object(f, b, row, columns);
    buf_lit(b, "}\n");
}

void form_event_tree(const struct form *f, struct buf *b, const char *type, const struct json *tree,
                     uint64_t rev, bool columns)
{
    scoped_arena a = arena_new();

    if (f->redacted)
        tree = f->kind->ops->redact(a, tree);
    buf_printf(b, "{\"type\":\"%s\",\"object\":", type);
    if (f->form == FORM_TABLE) {
        table_open(f, b, rev, columns);
        table_row(b, a, f->kind, tree, f->include, f->now_s);
        buf_lit(b, "]}}\n");
        return;
    }
    print_tree(f, b, tree);
    buf_lit(b, "}\n");
}

/* k8s: a bookmark is an empty object of the kind with a resourceVersion, printed as any other. */
static const struct json *bookmark_of(const struct form *f, struct arena *a, uint64_t rev,
                                      bool initial_end)
{
    static const struct json yes = { .type = JSON_STRING, .n = 4, .s = "true" };
    struct json_object metadata = json_object_new(a), notes = json_object_new(a);
    struct json_object o = json_object_new(a);

    json_add(&metadata, STR("resourceVersion"),
             json_of_str(str_printf(a, "%llu", (unsigned long long)rev)));
    if (initial_end) {
        json_add(&notes, STR("k8s.io/initial-events-end"), yes);
        json_add(&metadata, STR("annotations"), json_object_value(&notes));
    }
    json_add(&o, STR("kind"), json_of_str(f->kind->kind));
    json_add(&o, STR("apiVersion"), json_of_str(f->kind->api_version));
    json_add(&o, STR("metadata"), json_object_value(&metadata));
    if (f->kind->any) /* of many kinds, so without a schema */
        return json_object_done(&o);
    json_for_each_member (m, schema_zero(a, f->kind->schema))
        if (!str_is(m->name, "metadata"))
            json_add(&o, m->name, m->value);
    return json_object_done(&o);
}

void form_bookmark(const struct form *f, struct buf *b, uint64_t rev, bool initial_end,
                   bool columns)
{
    scoped_arena a = arena_new();
    struct form bare = *f;

    bare.redacted = false; /* there is nothing to hide */
    form_event_tree(&bare, b, "BOOKMARK", bookmark_of(f, a, rev, initial_end), rev, columns);
}

str form_tree(const struct form *f, struct arena *a, const struct json *tree)
{
    scoped_buf b = { .max = FORM_MAX };

    if (f->redacted)
        tree = f->kind->ops->redact(a, tree);
    if (f->form == FORM_TABLE) {
        table_open(f, &b, 0, true);
        table_row(&b, a, f->kind, tree, f->include, f->now_s);
        buf_lit(&b, "]}");
    } else {
        print_tree(f, &b, tree);
    }
    return str_dup(a, buf_str(&b));
}
