/* SPDX-License-Identifier: Apache-2.0 */
#include "search/entry.h"

#include "base/banned.h"
#include "base/clock.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
#define INSTANCE     "kairship.io/instance"

static const struct {
    str group, resource;
    const char *fields[6];
} tagged[] = {
    { STR_INIT(""),
      STR_INIT("pods"),
      { ".spec.nodeName", ".status.phase", ".spec.serviceAccountName" } },
    { STR_INIT(""), STR_INIT("secrets"), { ".type" } },
    { STR_INIT(""), STR_INIT("services"), { ".spec.type" } },
    { STR_INIT(""), STR_INIT("namespaces"), { ".status.phase" } },
    { STR_INIT(""), STR_INIT("persistentvolumeclaims"), { ".status.phase" } },
    { STR_INIT(""),
      STR_INIT("events"),
      { ".involvedObject.kind", ".involvedObject.name", ".involvedObject.uid", ".reason",
        ".type" } },
};
enum { TAGGED = sizeof(tagged) / sizeof(*tagged), FIELDS = 6 };

int64_t entry_hash_of(const struct entry_hash *h, str uid)
{
    uint64_t v;

    if (uid.n == 0)
        return 0;
    v = str_hash(uid, h->k0, h->k1);
    return v ? (int64_t)v : 1;
}

/* Events belong to what they are about, so that they are found with it. */
static str owner_of(const struct entry_kind *k, const struct json *object)
{
    if (str_empty(k->group) && str_is(k->resource, "events"))
        return json_get_str(object, "involvedObject.uid");
    json_for_each (ref, json_path(object, "metadata.ownerReferences")) {
        if (json_bool(json_get(ref, STR("controller"))))
            return json_str(json_get(ref, STR("uid")));
    }
    return STR_NONE;
}

static void print_member(struct buf *b, str name, const struct json *value)
{
    buf_byte(b, ',');
    json_print_string(b, name);
    buf_byte(b, ':');
    json_print(b, value);
}

static void print_meta(struct buf *b, const struct json *meta)
{
    json_for_each_member (m, json_get(meta, STR("annotations"))) {
        if (!str_is(m->name, LAST_APPLIED) && !str_is(m->name, INSTANCE))
            print_member(b, m->name, &m->value);
    }
    buf_byte(b, '}');
    json_for_each_member (m, meta) {
        if (!str_is(m->name, "annotations") && !str_is(m->name, "managedFields"))
            print_member(b, m->name, &m->value);
    }
    buf_byte(b, '}');
}

/* The names of its keys stay, as `kubectl describe` shows them. */
static void print_hidden(struct buf *b, const struct json_member *m)
{
    bool first = true;

    if (!str_is(m->name, "data"))
        return;
    buf_lit(b, ",\"data\":{");
    json_for_each_member (v, &m->value) {
        if (!first)
            buf_byte(b, ',');
        first = false;
        json_print_string(b, v->name);
        buf_lit(b, ":\"\"");
    }
    buf_byte(b, '}');
}

/* Credentials that stand elsewhere than in Secrets, and the Secrets in what is sent to members. */
static const struct {
    str group, resource;
    const char *paths[4];
} credentials[] = {
    { STR_INIT("work.karmada.io"), STR_INIT("works"), { "spec.workload" } },
    { STR_INIT("workload.kcp.dev"), STR_INIT("clusters"), { "spec.kubeconfig" } },
    { STR_INIT("cluster.clusterpedia.io"),
      STR_INIT("pediaclusters"),
      { "spec.kubeconfig", "spec.tokenData", "spec.keyData" } },
};

static const struct json *without_credentials(struct arena *a, const struct entry_kind *k,
                                              const struct json *object)
{
    for (size_t i = 0; i < sizeof(credentials) / sizeof(*credentials); i++) {
        if (!str_eq(k->group, credentials[i].group) ||
            !str_eq(k->resource, credentials[i].resource))
            continue;
        for (size_t j = 0; credentials[i].paths[j]; j++)
            if (json_path(object, credentials[i].paths[j]))
                object = json_set(a, object, credentials[i].paths[j], NULL);
    }
    return object;
}

static bool is_secret(const struct entry_kind *k)
{
    return str_empty(k->group) && str_is(k->resource, "secrets");
}

static void print_rest(struct buf *b, const struct entry_kind *k, const struct json *object)
{
    bool secret = is_secret(k);

    json_for_each_member (m, object) {
        if (str_is(m->name, "kind") || str_is(m->name, "apiVersion") || str_is(m->name, "metadata"))
            continue;
        if (!secret || str_is(m->name, "type") || str_is(m->name, "immutable"))
            print_member(b, m->name, &m->value);
        else
            print_hidden(b, m);
    }
    buf_byte(b, '}');
}

bool entry_make(struct arena *a, const struct entry_hash *h, const struct entry_kind *k,
                const struct json *object, struct entry *out)
{
    const struct json *meta = json_get(object, STR("metadata"));
    scoped_buf b;
    uint64_t version = 0;

    buf_init(&b, ENTRY_OBJECT_MAX);
    *out = (struct entry){ .namespace = str_dup(a, json_str(json_get(meta, STR("namespace")))),
                           .name = str_dup(a, json_str(json_get(meta, STR("name")))) };
    if (str_empty(out->name))
        return false;
    out->uid = entry_hash_of(h, json_str(json_get(meta, STR("uid"))));
    out->owner = entry_hash_of(h, owner_of(k, object));
    (void)str_to_u64(json_str(json_get(meta, STR("resourceVersion"))), &version);
    out->version = (int64_t)version;
    (void)time_parse_seconds(json_str(json_get(meta, STR("creationTimestamp"))), &out->created);
    print_meta(&b, meta);
    out->meta = (uint32_t)b.n;
    print_rest(&b, k, without_credentials(a, k, object));
    if (buf_overflown(&b)) {
        buf_clear(&b);
        print_meta(&b, meta);
        out->meta = (uint32_t)b.n;
        buf_byte(&b, '}');
    }
    out->text = str_dup(a, buf_str(&b));
    return !buf_overflown(&b);
}

/* ---- looking into the text, which is ours and therefore well-formed ---- */

static size_t skip_string(str t, size_t at)
{
    at++;
    while (at < t.n) {
        const char *quote = memchr(t.p + at, '"', t.n - at);
        size_t end = quote ? (size_t)(quote - t.p) : t.n, slashes = end;

        while (slashes > at && t.p[slashes - 1] == '\\')
            slashes--;
        at = end + 1;
        if ((end - slashes) % 2 == 0)
            break; /* it is not escaped */
    }
    return at;
}

/* Behind the value that begins at `at`. */
static size_t skip_value(str t, size_t at)
{
    unsigned depth = 0;

    if (at < t.n && t.p[at] == '"')
        return skip_string(t, at);
    while (at < t.n) {
        char c = t.p[at];

        if (c == '"') {
            at = skip_string(t, at);
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        else if (depth && (c == '}' || c == ']')) {
            if (--depth == 0)
                return at + 1;
        } else if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return at;
        at++;
    }
    return at;
}

/*
 * Members from `at` (at a comma, a quote or a closing brace) up to the brace that closes them; the
 * value of that name, and where the brace is.
 */
static bool find_member(str t, size_t at, str name, str *value, size_t *end)
{
    bool found = false;

    while (at < t.n && t.p[at] != '}') {
        size_t key, key_end, to;

        if (t.p[at] == ',')
            at++;
        key = at;
        key_end = skip_string(t, at);
        at = key_end + 1; /* behind the colon */
        to = skip_value(t, at);
        if (!found && name.n && key_end - key == name.n + 2 &&
            memcmp(t.p + key + 1, name.p, name.n) == 0) {
            *value = str_sub(t, at, to - at);
            found = true;
            if (!end)
                return true;
        }
        at = to;
    }
    if (end)
        *end = at;
    return found;
}

static bool below(str value, const str *path, size_t n, str *raw)
{
    for (size_t i = 0; i < n; i++)
        if (value.n == 0 || value.p[0] != '{' || !find_member(value, 1, path[i], &value, NULL))
            return false;
    *raw = value;
    return !str_is(value, "null");
}

bool entry_field(str text, uint32_t meta, const str *path, size_t n, str *raw)
{
    size_t end;
    str value;

    if (n == 0)
        return false;
    if (!str_is(path[0], "metadata"))
        return find_member(text, meta, path[0], &value, NULL) && below(value, path + 1, n - 1, raw);
    if (n == 1) {
        *raw = str_sub(text, 0, meta);
        return true;
    }
    (void)find_member(text, 0, STR_NONE, &value, &end);
    if (!str_is(path[1], "annotations"))
        return find_member(text, end + 1, path[1], &value, NULL) &&
               below(value, path + 2, n - 2, raw);
    if (n == 2) {
        *raw = str_sub(text, 0, end);
        return true;
    }
    return find_member(text, 0, path[2], &value, NULL) && below(value, path + 3, n - 3, raw);
}

bool entry_field_text(struct arena *a, str text, uint32_t meta, const str *path, size_t n, str *out)
{
    const struct json *v;
    struct status st;

    if (!entry_field(text, meta, path, n, out))
        return false;
    if (out->n < 2 || out->p[0] != '"')
        return true;
    if (str_find(*out, '\\', 0) < 0) {
        *out = str_sub(*out, 1, out->n - 2);
        return true;
    }
    status_init(&st, a);
    if (json_parse(a, *out, NULL, &v, &st) < 0)
        return false;
    *out = json_str(v);
    return true;
}

static const char *const *fields_of(const struct entry_kind *k)
{
    for (size_t i = 0; i < TAGGED; i++)
        if (str_eq(tagged[i].group, k->group) && str_eq(tagged[i].resource, k->resource))
            return tagged[i].fields;
    return NULL;
}

bool entry_field_is_tag(const struct entry_kind *k, str dotted)
{
    const char *const *fields = fields_of(k);

    for (size_t i = 0; fields && i < FIELDS && fields[i]; i++)
        if (str_is(dotted, fields[i]))
            return true;
    return false;
}

size_t entry_tags(struct arena *a, const struct entry_kind *k, str text, uint32_t meta,
                  struct entry_tag *out, size_t max)
{
    static const str labels[] = { STR_INIT("metadata"), STR_INIT("labels") };
    const char *const *fields = fields_of(k);
    const struct json *v;
    struct status st;
    size_t n = 0;
    str raw;

    status_init(&st, a);
    if (entry_field(text, meta, labels, 2, &raw) && json_parse(a, raw, NULL, &v, &st) == 0) {
        json_for_each_member (m, v) {
            if (n < max)
                out[n++] = (struct entry_tag){ m->name, json_str(&m->value) };
        }
    }
    for (size_t i = 0; fields && i < FIELDS && fields[i]; i++) {
        str path[ENTRY_FIELD_PARTS], rest = str_from(str_of(fields[i]), 1);
        size_t parts = 0;

        while (parts < ENTRY_FIELD_PARTS && str_split(&rest, '.', &path[parts]))
            parts++;
        if (n < max && entry_field_text(a, text, meta, path, parts, &raw))
            out[n++] = (struct entry_tag){ str_of(fields[i]), raw };
    }
    return n;
}
