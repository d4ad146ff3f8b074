/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/plugin/model.h"

#include "base/banned.h"
#include "base/pbwire.h"
#include "rpc/plugin/descriptor.h"

enum { TYPES_MAX = 4096, SERVICES_MAX = 256, NESTING_MAX = 16 };

static str text_of(const struct json *v, const char *name)
{
    return json_get_str(v, name);
}

struct model_type *model_type(const struct model *m, str type_name)
{
    return map_get(&m->by_name, str_from(type_name, 1));
}

struct model_type *model_field_type(const struct model *m, const struct json *field)
{
    str name = text_of(field, "type_name");

    return name.n ? model_type(m, name) : NULL;
}

bool field_is_repeated(const struct json *field)
{
    enum { LABEL_REPEATED = 3 };

    return json_int(json_path(field, "label"), 0) == LABEL_REPEATED;
}

/* ---- comments ---- */

/* One line of text, without the blanks of the source. */
static str one_line(struct arena *a, str s)
{
    char *p = arena_alloc(a, s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i] == '\n' ? ' ' : s.p[i];

        if (c != ' ' || (n && p[n - 1] != ' '))
            p[n++] = c;
    }
    while (n && p[n - 1] == ' ')
        n--;
    return (str){ p, n };
}

static void take_comments(struct model *m, const struct model_file *f)
{
    json_for_each (at, json_path(f->tree, "source_code_info.location")) {
        str text = text_of(at, "leading_comments");
        scoped_buf key = { .max = 4096 };
        str *value;

        if (!text.n)
            continue;
        buf_str_append(&key, f->name);
        buf_byte(&key, ':');
        json_for_each (part, json_path(at, "path")) {
            if (part != json_path(at, "path")->items)
                buf_byte(&key, ',');
            buf_i64(&key, json_int(part, 0));
        }
        value = arena_new_of(m->arena, str);
        *value = one_line(m->arena, text);
        (void)map_put(&m->comments, str_dup(m->arena, buf_str(&key)), value);
    }
}

static str comment_at(const struct model *m, const struct model_file *f, str path)
{
    const str *text =
        map_get(&m->comments, str_printf(m->arena, "%.*s:%.*s", STR_ARG(f->name), STR_ARG(path)));

    return text ? *text : STR_NONE;
}

str model_field_comment(const struct model *m, const struct model_type *t, size_t i)
{
    return comment_at(m, t->file, str_printf(m->arena, "%.*s,2,%zu", STR_ARG(t->path), i));
}

/* ---- types ---- */

/* NULL: there are too many. */
static struct model_type *add_type(struct model *m, const struct model_file *f,
                                   const struct json *tree, str scope, str path, bool is_enum,
                                   struct status *st)
{
    struct model_type *t = &m->types[m->ntypes];
    str name = text_of(tree, "name");

    if (m->ntypes == TYPES_MAX) {
        (void)status_set(st, REASON_TOO_LARGE, "there are too many types");
        return NULL;
    }
    m->ntypes++;
    *t = (struct model_type){
        .name = scope.n ? str_printf(m->arena, "%.*s.%.*s", STR_ARG(scope), STR_ARG(name)) : name,
        .tree = tree,
        .file = f,
        .path = path,
        .comment = comment_at(m, f, path),
        .is_enum = is_enum,
        .is_map_entry = json_bool(json_path(tree, "options.map_entry")),
    };
    (void)map_put(&m->by_name, t->name, t);
    return t;
}

static int add_enums(struct model *m, const struct model_file *f, const struct json *list,
                     str scope, const char *prefix, struct status *st)
{
    size_t i = 0;

    json_for_each (e, list)
        if (!add_type(m, f, e, scope, str_printf(m->arena, "%s,%zu", prefix, i++), true, st))
            return -1;
    return 0;
}

static int add_messages(struct model *m, const struct model_file *f, const struct json *list,
                        str scope, const char *prefix, int depth, struct status *st)
{
    struct model_type *t;
    size_t i = 0;

    if (depth > NESTING_MAX)
        return status_set(st, REASON_TOO_LARGE, "types are nested too deeply");
    json_for_each (msg, list) {
        const char *path = arena_printf(m->arena, "%s,%zu", prefix, i++);

        t = add_type(m, f, msg, scope, str_of(path), false, st);
        if (!t ||
            add_enums(m, f, json_path(msg, "enum_type"), t->name,
                      arena_printf(m->arena, "%s,4", path), st) < 0 ||
            add_messages(m, f, json_path(msg, "nested_type"), t->name,
                         arena_printf(m->arena, "%s,3", path), depth + 1, st) < 0)
            return -1;
    }
    return 0;
}

/* ---- services ---- */

/* What writes is recorded: by the last record, if by none before. */
static int check_recorded(const struct model_method *m, struct status *st)
{
    size_t n = json_len(m->recorded), i = 0;
    struct model_rule rule;

    if (n == 0 && method_rule(m, &rule) && strcmp(rule.verb, "GET") != 0)
        return status_set(st, REASON_BAD_REQUEST,
                          "%.*s writes: say in (kairship.io.api.recorded) what the audit records",
                          STR_ARG(m->name));
    json_for_each (r, m->recorded) {
        str object = text_of(r, "object"), when = text_of(r, "when");
        bool last = ++i == n;

        if ((str_find(object, '/', 0) < 0 && !str_is(object, "*")) || last != (when.n == 0) ||
            (!last && str_find(when, '=', 0) < 0))
            return status_set(st, REASON_BAD_REQUEST,
                              "%.*s: a record has an object like apps/v1/deployments, and \"when\" "
                              "like field=VALUE unless it is the last",
                              STR_ARG(m->name));
    }
    return 0;
}

static int load_method(struct model *m, const struct model_file *f, const struct json *tree,
                       const char *path, struct model_method *out, struct status *st)
{
    *out = (struct model_method){
        .name = text_of(tree, "name"),
        .comment = comment_at(m, f, str_of(path)),
        .input = model_type(m, text_of(tree, "input_type")),
        .output = model_type(m, text_of(tree, "output_type")),
        .client_streaming = json_bool(json_path(tree, "client_streaming")),
        .server_streaming = json_bool(json_path(tree, "server_streaming")),
        .http = json_path(tree, "options.http"),
        .recorded = json_path(tree, "options.recorded"),
    };
    if (!out->input || !out->output)
        return status_set(st, REASON_BAD_REQUEST, "%.*s has unknown types", STR_ARG(out->name));
    if (out->client_streaming != out->server_streaming)
        return status_set(st, REASON_BAD_REQUEST,
                          "%.*s streams on one side only, which is not served", STR_ARG(out->name));
    return check_recorded(out, st);
}

static int add_services(struct model *m, const struct model_file *f, struct status *st)
{
    size_t i = 0;

    json_for_each (tree, json_path(f->tree, "service")) {
        struct model_service *s = &m->services[m->nservices];
        const struct json *methods = json_path(tree, "method");
        size_t k = 0;

        if (m->nservices++ == SERVICES_MAX)
            return status_set(st, REASON_TOO_LARGE, "there are too many services");
        *s = (struct model_service){
            .name = text_of(tree, "name"),
            .file = f,
            .comment = comment_at(m, f, str_printf(m->arena, "6,%zu", i)),
            .methods = arena_array(m->arena, struct model_method, json_len(methods)),
            .nmethods = json_len(methods),
        };
        s->full_name = str_printf(m->arena, "%.*s.%.*s", STR_ARG(f->package), STR_ARG(s->name));
        json_for_each (method, methods) {
            const char *path = arena_printf(m->arena, "6,%zu,2,%zu", i, k);

            if (load_method(m, f, method, path, &s->methods[k++], st) < 0)
                return -1;
        }
        i++;
    }
    return 0;
}

bool method_rule(const struct model_method *m, struct model_rule *out)
{
    static const struct {
        const char *field, *verb;
    } verbs[] = {
        { "get", "GET" },       { "put", "PUT" },     { "post", "POST" },
        { "delete", "DELETE" }, { "patch", "PATCH" },
    };

    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        str path = text_of(m->http, verbs[i].field);

        if (!path.n)
            continue;
        *out = (struct model_rule){ verbs[i].verb, path, text_of(m->http, "body") };
        return true;
    }
    return false;
}

/* ---- what is used ---- */

static void use(struct model *m, struct model_type *t)
{
    if (!t || t->used)
        return;
    t->used = true;
    t->id = t->is_enum ? m->nenums++ : m->nmessages++;
    json_for_each (f, json_path(t->tree, "field"))
        use(m, model_field_type(m, f));
}

/* The name without its package; nested ones with those around them. */
static str name_in_package(struct arena *a, const struct model_type *t)
{
    str rest = t->file->package.n ? str_from(t->name, t->file->package.n + 1) : t->name;
    char *p = arena_alloc(a, rest.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] != '.')
            p[n++] = rest.p[i];
    return (str){ p, n };
}

/* "kairship.io.api.cluster.v1alpha1" says it in its last word but one. */
static str package_word(struct arena *a, str package)
{
    str last = STR_NONE, before = STR_NONE;
    char *p;

    for (str rest = package, part; str_split(&rest, '.', &part);) {
        before = last;
        last = part;
    }
    p = str_z(a, before.n ? before : last);
    if (*p >= 'a' && *p <= 'z')
        *p = (char)(*p - 'a' + 'A');
    return str_of(p);
}

static void name_types(struct model *m)
{
    struct map seen = { 0 };

    for (size_t i = 0; i < m->ntypes; i++) {
        struct model_type *t = &m->types[i], *other;

        if (!t->used)
            continue;
        t->short_name = name_in_package(m->arena, t);
        other = map_get(&seen, t->short_name);
        if (other)
            t->short_name =
                str_printf(m->arena, "%.*s%.*s", STR_ARG(package_word(m->arena, t->file->package)),
                           STR_ARG(t->short_name));
        (void)map_put(&seen, t->short_name, t);
    }
    map_release(&seen);
}

/* ---- loading ---- */

/* A file without its comments, which are half of it. */
static str without_comments(struct arena *a, str file)
{
    enum { SOURCE_CODE_INFO = 9 };
    struct pb_reader r = pb_reader(file);
    scoped_buf b = { .max = 16 << 20 };
    struct pb_field f;

    for (const uint8_t *from = r.p; pb_next(&r, &f); from = r.p)
        if (f.number != SOURCE_CODE_INFO)
            buf_append(&b, from, (size_t)(r.p - from));
    return str_dup(a, buf_str(&b));
}

static void load_files(struct model *m, str request, const struct json *tree)
{
    enum { PROTO_FILE = 15 };
    struct pb_reader r = pb_reader(request);
    const struct json *files = json_path(tree, "proto_file");
    struct pb_field f;

    m->files = arena_array(m->arena, struct model_file, json_len(files));
    while (pb_next(&r, &f)) {
        const struct json *file = json_at(files, m->nfiles);

        if (f.number != PROTO_FILE || !file)
            continue;
        m->files[m->nfiles++] =
            (struct model_file){ .name = text_of(file, "name"),
                                 .package = text_of(file, "package"),
                                 .descriptor = without_comments(m->arena, f.bytes),
                                 .tree = file };
    }
}

int model_load(struct model *m, struct arena *a, str request, struct status *st)
{
    const struct json *tree;

    *m = (struct model){ .arena = a };
    if (message_decode(a, &code_generator_request, request, &tree, st) < 0)
        return -1;
    m->types = arena_array(a, struct model_type, TYPES_MAX);
    m->services = arena_array(a, struct model_service, SERVICES_MAX);
    load_files(m, request, tree);
    for (size_t i = 0; i < m->nfiles; i++) {
        const struct model_file *f = &m->files[i];

        take_comments(m, f);
        if (add_enums(m, f, json_path(f->tree, "enum_type"), f->package, "5", st) < 0 ||
            add_messages(m, f, json_path(f->tree, "message_type"), f->package, "4", 0, st) < 0)
            return -1;
    }
    for (size_t i = 0; i < m->nfiles; i++)
        if (add_services(m, &m->files[i], st) < 0)
            return -1;
    for (size_t i = 0; i < m->nservices; i++)
        for (size_t k = 0; k < m->services[i].nmethods; k++) {
            use(m, m->services[i].methods[k].input);
            use(m, m->services[i].methods[k].output);
        }
    name_types(m);
    return 0;
}

void model_release(struct model *m)
{
    map_release(&m->by_name);
    map_release(&m->comments);
}
