/* SPDX-License-Identifier: Apache-2.0 */
#include "object/cel/cel_internal.h"

#include "base/banned.h"
#include "base/buf.h"
#include "object/meta/schema_rules.h"

enum { TYPE_TEXT_MAX = 4096 }; /* bytes of a type in a message */

const struct cel_type cel_types[CEL_KINDS] = {
    [CEL_ERROR] = { .kind = CEL_ERROR },
    [CEL_DYN] = { .kind = CEL_DYN },
    [CEL_NULL] = { .kind = CEL_NULL },
    [CEL_BOOL] = { .kind = CEL_BOOL },
    [CEL_INT] = { .kind = CEL_INT },
    [CEL_UINT] = { .kind = CEL_UINT },
    [CEL_DOUBLE] = { .kind = CEL_DOUBLE },
    [CEL_STRING] = { .kind = CEL_STRING },
    [CEL_BYTES] = { .kind = CEL_BYTES },
    [CEL_DURATION] = { .kind = CEL_DURATION },
    [CEL_TIMESTAMP] = { .kind = CEL_TIMESTAMP },
    [CEL_LIST] = { .kind = CEL_LIST, .item = &cel_types[CEL_DYN] },
    [CEL_MAP] = { .kind = CEL_MAP, .key = &cel_types[CEL_DYN], .item = &cel_types[CEL_DYN] },
    [CEL_OBJECT] = { .kind = CEL_OBJECT },
    [CEL_TYPE] = { .kind = CEL_TYPE },
    [CEL_OPTIONAL] = { .kind = CEL_OPTIONAL, .item = &cel_types[CEL_DYN] },
    [CEL_QUANTITY] = { .kind = CEL_QUANTITY },
    [CEL_URL] = { .kind = CEL_URL },
    [CEL_IP] = { .kind = CEL_IP },
    [CEL_CIDR] = { .kind = CEL_CIDR },
    [CEL_SEMVER] = { .kind = CEL_SEMVER },
    [CEL_FORMAT] = { .kind = CEL_FORMAT },
    [CEL_AUTHORIZER] = { .kind = CEL_AUTHORIZER },
    [CEL_PATH_CHECK] = { .kind = CEL_PATH_CHECK },
    [CEL_GROUP_CHECK] = { .kind = CEL_GROUP_CHECK },
    [CEL_RESOURCE_CHECK] = { .kind = CEL_RESOURCE_CHECK },
    [CEL_DECISION] = { .kind = CEL_DECISION },
    [CEL_PARAM] = { .kind = CEL_PARAM },
};

const struct cel_type cel_wrong = { .kind = CEL_DYN };

static const struct {
    enum cel_kind kind;
    const char *name; /* as a value: type(x) == name */
    const char *text; /* in messages, where it is another */
    char letter;      /* in signatures */
} names[] = {
    { CEL_NULL, "null_type", "null", 'n' },
    { CEL_BOOL, "bool", NULL, 'b' },
    { CEL_INT, "int", NULL, 'i' },
    { CEL_UINT, "uint", NULL, 'u' },
    { CEL_DOUBLE, "double", NULL, 'd' },
    { CEL_STRING, "string", NULL, 's' },
    { CEL_BYTES, "bytes", NULL, 'y' },
    { CEL_DURATION, "google.protobuf.Duration", "duration", 'D' },
    { CEL_TIMESTAMP, "google.protobuf.Timestamp", "timestamp", 't' },
    { CEL_LIST, "list", NULL, 'L' },
    { CEL_MAP, "map", NULL, 'M' },
    { CEL_TYPE, "type", NULL, 'T' },
    { CEL_OPTIONAL, "optional_type", NULL, 'O' },
    { CEL_QUANTITY, "kubernetes.Quantity", NULL, 'q' },
    { CEL_URL, "kubernetes.URL", NULL, 'U' },
    { CEL_IP, "net.IP", NULL, 'I' },
    { CEL_CIDR, "net.CIDR", NULL, 'C' },
    { CEL_SEMVER, "kubernetes.Semver", NULL, 'V' },
    { CEL_FORMAT, "kubernetes.NamedFormat", NULL, 'F' },
    { CEL_AUTHORIZER, "kubernetes.authorization.Authorizer", NULL, 'a' },
    { CEL_PATH_CHECK, "kubernetes.authorization.PathCheck", NULL, 'P' },
    { CEL_GROUP_CHECK, "kubernetes.authorization.GroupCheck", NULL, 'G' },
    { CEL_RESOURCE_CHECK, "kubernetes.authorization.ResourceCheck", NULL, 'R' },
    { CEL_DECISION, "kubernetes.authorization.Decision", NULL, 'e' },
    { CEL_OBJECT, "object", NULL, '{' },
    { CEL_DYN, "dyn", NULL, '*' },
    { CEL_PARAM, "dyn", NULL, '?' },
    { CEL_ERROR, "*error*", NULL, '!' },
};

bool cel_type_named(str name, enum cel_kind *out)
{
    for (size_t i = 0; names[i].kind != CEL_OBJECT; i++) {
        if (!str_is(name, names[i].name))
            continue;
        *out = names[i].kind;
        return true;
    }
    return false;
}

const char *cel_kind_name(enum cel_kind kind)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].kind == kind)
            return names[i].name;
    return "";
}

static const struct cel_type *of_letter(char letter)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].letter == letter)
            return &cel_types[names[i].kind];
    return &cel_types[CEL_DYN];
}

const struct cel_type *cel_list_of(struct arena *a, const struct cel_type *item)
{
    struct cel_type *t = arena_new_of(a, struct cel_type);

    t->kind = CEL_LIST;
    t->item = item;
    return t;
}

static bool has_items(enum cel_kind kind)
{
    return kind == CEL_LIST || kind == CEL_MAP || kind == CEL_OPTIONAL;
}

/* A run refuses keys that have items, and a type would be walked twice for each that is in it. */
const struct cel_type *cel_map_of(struct arena *a, const struct cel_type *key,
                                  const struct cel_type *item)
{
    struct cel_type *t = arena_new_of(a, struct cel_type);

    t->kind = CEL_MAP;
    t->key = has_items(key->kind) ? &cel_types[CEL_DYN] : key;
    t->item = item;
    return t;
}

const struct cel_type *cel_optional_of(struct arena *a, const struct cel_type *item)
{
    struct cel_type *t = arena_new_of(a, struct cel_type);

    t->kind = CEL_OPTIONAL;
    t->item = item;
    return t;
}

/* ---- of schemas ---- */

static enum cel_kind kind_of_string(const struct schema *s)
{
    str format = s->rules && s->rules->limits ? s->rules->limits->format_text : STR_NONE;

    if (str_is(format, "byte"))
        return CEL_BYTES;
    if (str_is(format, "duration"))
        return CEL_DURATION;
    if (str_is(format, "date") || str_is(format, "date-time"))
        return CEL_TIMESTAMP;
    return CEL_STRING;
}

static enum cel_kind kind_of(const struct schema *s)
{
    switch (s->type) {
    case SCHEMA_STRING:
        return kind_of_string(s);
    case SCHEMA_BYTES:
        return CEL_BYTES;
    case SCHEMA_BOOL:
        return CEL_BOOL;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        return CEL_INT;
    case SCHEMA_DOUBLE:
        return CEL_DOUBLE;
    case SCHEMA_TIME:
    case SCHEMA_MICROTIME:
        return CEL_TIMESTAMP;
    case SCHEMA_QUANTITY:
        return CEL_STRING;
    case SCHEMA_INT_OR_STRING:
    case SCHEMA_ANY:
        return CEL_DYN;
    case SCHEMA_OBJECT:
        return CEL_OBJECT;
    case SCHEMA_MAP: /* k8s: additionalProperties: true is an object of which nothing is known */
        return s->items == &schema_nothing ? CEL_OBJECT : CEL_MAP;
    case SCHEMA_LIST:
        return CEL_LIST;
    }
    return CEL_DYN;
}

str cel_type_below(struct arena *a, str name, str field)
{
    return str_printf(a, "%.*s.%.*s", STR_ARG(name), STR_ARG(field));
}

/* Where no type is said nothing is known: not to be seen.  Schemas are not deep. */
const struct cel_type *cel_type_of(struct arena *a, const struct schema *s, str name)
{
    struct cel_type t = { .kind = kind_of(s), .schema = s };

    if (s->type == SCHEMA_ANY)
        return NULL;
    if (t.kind == CEL_OBJECT)
        t.name = name;
    if (t.kind == CEL_LIST || t.kind == CEL_MAP) {
        str below = cel_type_below(a, name, t.kind == CEL_LIST ? STR("@idx") : STR("@elem"));

        t.item = s->items ? cel_type_of(a, s->items, below) : NULL;
        if (!t.item)
            return NULL;
        t.key = &cel_types[CEL_STRING];
    }
    struct cel_type *out = arena_new_of(a, struct cel_type);
    *out = t;
    return out;
}

const struct cel_type *cel_field_type(struct arena *a, const struct cel_type *t, str name)
{
    const struct schema_field *f;
    str property, below;

    for (size_t i = 0; i < t->nfields; i++)
        if (str_eq(t->fields[i].name, name))
            return t->fields[i].type;
    if (!cel_unescape(a, name, &property))
        return NULL;
    for (size_t i = 0; i < t->nfields; i++)
        if (str_eq(t->fields[i].name, property))
            return t->fields[i].type;
    if (!t->schema)
        return NULL;
    if (t->metadata && !str_is(property, "name") && !str_is(property, "generateName"))
        return NULL;
    f = schema_field(t->schema, property);
    if (!f)
        return NULL;
    below = cel_type_below(a, t->name, name);
    if (t->schema->rules && !f->type->rules && f->type->type == SCHEMA_OBJECT) {
        struct cel_type *meta = arena_new_of(a, struct cel_type);

        *meta = (struct cel_type){
            .kind = CEL_OBJECT, .metadata = true, .name = below, .schema = f->type
        };
        return meta;
    }
    return cel_type_of(a, f->type, below);
}

/* ---- names of properties ---- */

static const struct {
    const char *in, *out;
} escapes[] = {
    { "__", "__underscores__" }, { ".", "__dot__" }, { "-", "__dash__" }, { "/", "__slash__" }
};

static const char *const reserved[] = { "true",     "false",     "null",     "in",   "as",
                                        "break",    "const",     "continue", "else", "for",
                                        "function", "if",        "import",   "let",  "loop",
                                        "package",  "namespace", "return",   "var",  "void",
                                        "while" };

static bool is_reserved(str s)
{
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
        if (str_is(s, reserved[i]))
            return true;
    return false;
}

static bool is_name_char(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

bool cel_escape(struct arena *a, str name, str *out)
{
    scoped_buf b = { .max = 1 << 20 };

    if (is_reserved(name)) {
        *out = str_printf(a, "__%.*s__", STR_ARG(name));
        return true;
    }
    if (name.n == 0 || (name.p[0] >= '0' && name.p[0] <= '9'))
        return false;
    for (size_t i = 0; i < name.n;) {
        size_t k = 0;

        while (k < sizeof(escapes) / sizeof(*escapes) &&
               !str_starts(str_from(name, i), str_of(escapes[k].in)))
            k++;
        if (k < sizeof(escapes) / sizeof(*escapes)) {
            buf_str_append(&b, str_of(escapes[k].out));
            i += strlen(escapes[k].in);
        } else if (is_name_char(name.p[i], false)) {
            buf_byte(&b, name.p[i++]);
        } else {
            return false;
        }
    }
    *out = str_dup(a, buf_str(&b));
    return true;
}

bool cel_unescape(struct arena *a, str name, str *out)
{
    scoped_buf b = { .max = 1 << 20 };

    if (!str_contains(name, STR("__"))) {
        *out = name;
        return true;
    }
    if (name.n > 4 && str_starts(name, STR("__")) && str_ends(name, STR("__")) &&
        is_reserved(str_sub(name, 2, name.n - 4))) {
        *out = str_sub(name, 2, name.n - 4);
        return true;
    }
    for (size_t i = 0; i < name.n;) {
        size_t k = 0;

        if (!str_starts(str_from(name, i), STR("__"))) {
            buf_byte(&b, name.p[i++]);
            continue;
        }
        while (k < sizeof(escapes) / sizeof(*escapes) &&
               !str_starts(str_from(name, i), str_of(escapes[k].out)))
            k++;
        if (k == sizeof(escapes) / sizeof(*escapes))
            return false;
        buf_str_append(&b, str_of(escapes[k].in));
        i += strlen(escapes[k].out);
    }
    *out = str_dup(a, buf_str(&b));
    return true;
}

/* ---- relations ---- */

bool cel_same_type(const struct cel_type *a, const struct cel_type *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || (a->kind == CEL_MAP && !cel_same_type(a->key, b->key)))
        return false;
    if (a->kind == CEL_OBJECT)
        return a->schema == b->schema && a->metadata == b->metadata && str_eq(a->name, b->name);
    return !has_items(a->kind) || cel_same_type(a->item, b->item);
}

static bool takes_null(enum cel_kind kind)
{
    return kind == CEL_OBJECT || kind == CEL_DURATION || kind == CEL_TIMESTAMP ||
           kind == CEL_OPTIONAL || kind >= CEL_QUANTITY;
}

const struct cel_type *cel_join(const struct cel_type *a, const struct cel_type *b)
{
    const struct cel_type *item;

    if (a->kind == CEL_PARAM || b->kind == CEL_DYN)
        return a->kind == CEL_PARAM ? b : &cel_types[CEL_DYN];
    if (b->kind == CEL_PARAM || a->kind == CEL_DYN)
        return a;
    if (cel_same_type(a, b))
        return a;
    if (a->kind == CEL_NULL && takes_null(b->kind))
        return b;
    if (b->kind == CEL_NULL && takes_null(a->kind))
        return a;
    if (a->kind != b->kind || !has_items(a->kind))
        return NULL;
    item = cel_join(a->item, b->item);
    if (!item || (a->kind == CEL_MAP && !cel_join(a->key, b->key)))
        return NULL;
    /* One of them says more of the items. */
    if (cel_same_type(item, a->item) && (a->kind != CEL_MAP || a->key->kind != CEL_PARAM))
        return a;
    return cel_same_type(item, b->item) ? b : &cel_types[a->kind];
}

/* ---- signatures ---- */

enum cel_kind cel_sig_next(const char **sig)
{
    char c = *(*sig)++;

    if (c == 'M')
        (void)cel_sig_next(sig);
    if (c == 'L' || c == 'O' || c == 'M')
        (void)cel_sig_next(sig);
    if (**sig == '.')
        (*sig)++;
    return c == 'A' || c == 'B' ? CEL_DYN : of_letter(c)->kind;
}

bool cel_sig_fits(const struct cel_function *f, bool receiver, size_t nargs)
{
    const char *sig = f->sig;
    size_t n = 0;

    if (receiver != (strchr(sig, '.') != NULL))
        return false;
    while (*sig != ':') {
        (void)cel_sig_next(&sig);
        n++;
    }
    return n == nargs;
}

static bool bind_param(const struct cel_type **slot, const struct cel_type *t)
{
    const struct cel_type *joined = *slot ? cel_join(*slot, t) : t;

    if (!joined)
        return false;
    *slot = joined;
    return true;
}

static bool takes(struct arena *a, const char **sig, const struct cel_type *t,
                  struct cel_binding *bind)
{
    char c = *(*sig)++;
    const struct cel_type *want;

    if (c == 'A' || c == 'B')
        return bind_param(c == 'A' ? &bind->a : &bind->b, t);
    want = of_letter(c);
    if (!has_items(want->kind))
        return want->kind == CEL_DYN || t->kind == CEL_DYN || t->kind == CEL_PARAM ||
               t->kind == want->kind || (t->kind == CEL_NULL && takes_null(want->kind));
    if (t->kind == CEL_DYN || t->kind == CEL_PARAM) {
        if (c == 'M' && !takes(a, sig, &cel_types[CEL_DYN], bind))
            return false;
        return takes(a, sig, &cel_types[CEL_DYN], bind);
    }
    if (t->kind != want->kind)
        return false;
    if (c == 'M' && !takes(a, sig, t->key, bind))
        return false;
    return takes(a, sig, t->item, bind);
}

bool cel_sig_takes(struct arena *a, const char **sig, const struct cel_type *t,
                   struct cel_binding *bind)
{
    const char *next = *sig;

    if (!takes(a, sig, t, bind))
        return false;
    (void)cel_sig_next(&next);
    *sig = next;
    return true;
}

const struct cel_type *cel_sig_type(struct arena *a, const char **sig,
                                    const struct cel_binding *bind)
{
    char c = *(*sig)++;
    const struct cel_type *key, *item;

    if (c == 'A' || c == 'B') {
        const struct cel_type *t = c == 'A' ? bind->a : bind->b;

        return t ? t : &cel_types[CEL_PARAM];
    }
    if (c == 'L')
        return cel_list_of(a, cel_sig_type(a, sig, bind));
    if (c == 'O')
        return cel_optional_of(a, cel_sig_type(a, sig, bind));
    if (c != 'M')
        return of_letter(c);
    key = cel_sig_type(a, sig, bind);
    item = cel_sig_type(a, sig, bind);
    return cel_map_of(a, key, item);
}

static void put_type(struct buf *b, const struct cel_type *t)
{
    const char *name = cel_kind_name(t->kind);

    if (buf_overflown(b))
        return;
    if (t == &cel_wrong || t->name.n) {
        buf_str_append(b, t == &cel_wrong ? STR("!error!") : t->name);
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].kind == t->kind && names[i].text)
            name = names[i].text;
    buf_str_append(b, str_of(name));
    if (!has_items(t->kind))
        return;
    buf_byte(b, '(');
    if (t->kind == CEL_MAP) {
        put_type(b, t->key);
        buf_lit(b, ", ");
    }
    put_type(b, t->item);
    buf_byte(b, ')');
}

str cel_type_text(struct arena *a, const struct cel_type *t)
{
    scoped_buf b = { .max = TYPE_TEXT_MAX };

    put_type(&b, t);
    return str_dup(a, buf_str(&b));
}
