/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/server/encryption_config.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/mem.h"
#include "json/json.h"

enum { RULES_MAX = 64, RESOURCES_MAX = 1024, PROVIDERS_MAX = 64 };

enum provider_kind { PROVIDER_KEYS, PROVIDER_IDENTITY, PROVIDER_REFUSED };

static const struct provider {
    const char *name;
    enum provider_kind kind;
    enum aead_form form;
    const char *why; /* of one that is refused */
} providers[] = {
    { "aesgcm", PROVIDER_KEYS, AEAD_AESGCM, NULL },
    { "aescbc", PROVIDER_KEYS, AEAD_AESCBC, NULL },
    { "identity", PROVIDER_IDENTITY, 0, NULL },
    { "secretbox", PROVIDER_REFUSED, 0, "secretbox is not supported here: use aesgcm" },
    { "kms", PROVIDER_REFUSED, 0, "kms plugins are not supported here: use aesgcm" },
};
enum { PROVIDERS = sizeof(providers) / sizeof(*providers) };

const char *encryption_form_name(enum aead_form form)
{
    for (size_t i = 0; i < PROVIDERS; i++)
        if (providers[i].kind == PROVIDER_KEYS && providers[i].form == form)
            return providers[i].name;
    return "";
}

/* ---- what it says ---- */

/* k8s: apiserver/pkg/apis/apiserver/validation: group and resource, each of them may be all */
static bool resource_matches(str pattern, str group, str plural)
{
    ptrdiff_t dot = str_find(pattern, '.', 0);
    str name = dot < 0 ? pattern : str_sub(pattern, 0, (size_t)dot);
    str of = dot < 0 ? STR_NONE : str_from(pattern, (size_t)dot + 1);

    return (str_is(name, "*") || str_eq(name, plural)) && (str_is(of, "*") || str_eq(of, group));
}

const struct encryption_key *encryption_config_writer(const struct encryption_config *c, str group,
                                                      str plural)
{
    for (size_t i = 0; i < c->nrules; i++)
        for (size_t j = 0; j < c->rules[i].n; j++)
            if (resource_matches(c->rules[i].resources[j], group, plural))
                return c->rules[i].writer;
    return NULL;
}

struct encryption_config *encryption_config_new(void)
{
    struct encryption_config *c = mem_zalloc(sizeof(*c));

    c->arena = arena_new_lasting();
    return c;
}

void encryption_config_free(struct encryption_config *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->nkeys; i++)
        aead_key_free(c->keys[i].key);
    arena_free(c->arena);
    free(c);
}

/* ---- reading ---- */

struct reading {
    struct encryption_config *config;
    struct arena *arena; /* of the reading; no secret is left there when it ends */
    str at;              /* the field */
    struct status *st;
};

__attribute__((format(printf, 2, 3))) static int wrong(const struct reading *r, const char *fmt,
                                                       ...)
{
    char *text;
    va_list ap;

    va_start(ap, fmt);
    text = arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    return status_set(r->st, REASON_INVALID, "%.*s: %s", STR_ARG(r->at), text);
}

/* The value must be an object that has no other members than these. */
static int check_members(const struct reading *r, const struct json *v, const char *const *known)
{
    if (!json_is(v, JSON_OBJECT))
        return wrong(r, "must be an object");
    json_for_each_member (m, v) {
        const char *const *k = known;

        while (*k && !str_is(m->name, *k))
            k++;
        if (!*k)
            return wrong(r, "unknown field \"%.*s\"", STR_ARG(m->name));
    }
    return 0;
}

static int check_list(const struct reading *r, const struct json *v, size_t max)
{
    if (!json_is(v, JSON_ARRAY) || json_len(v) == 0)
        return wrong(r, "at least one is required");
    return json_len(v) > max ? wrong(r, "must have at most %zu items", max) : 0;
}

static struct reading inside(const struct reading *r, const char *name, size_t i)
{
    struct reading in = *r;

    in.at = str_printf(r->arena, "%.*s%s%s", STR_ARG(r->at), r->at.n ? "." : "", name);
    if (i != SIZE_MAX)
        in.at = str_printf(r->arena, "%.*s[%zu]", STR_ARG(in.at), i);
    return in;
}

/* k8s: validation_encryption.go validateResourceNames */
static int check_resource(const struct reading *r, str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] >= 'A' && name.p[i] <= 'Z')
            return wrong(r, "resource name should not contain capital letters");
    if (str_is(name, "*"))
        return wrong(r, "use '*.' for all resources of the core group, '*.*' for all of all");
    if (str_starts(name, STR("*.")) || str_find(name, '*', 0) < 0) {
        if (str_ends(name, STR(".events.k8s.io")))
            return wrong(r, "objects of events.k8s.io are stored as those of the core group: use "
                            "'events'");
        return name.n == 0 || name.n > 253 ? wrong(r, "is no resource") : 0;
    }
    if (str_ends(name, STR(".*")) && str_find(name, '.', 0) == (ptrdiff_t)name.n - 2)
        return wrong(r, "encrypting the same resource across groups is not supported");
    return wrong(r, "is no resource");
}

/* Two of one list that both name something would hide a mistake. */
static int check_overlap(const struct reading *r, const str *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t dot = str_find(list[n], '.', 0), other = str_find(list[i], '.', 0);
        str plural = dot < 0 ? list[n] : str_sub(list[n], 0, (size_t)dot);
        str group = dot < 0 ? STR_NONE : str_from(list[n], (size_t)dot + 1);
        str plural_i = other < 0 ? list[i] : str_sub(list[i], 0, (size_t)other);
        str group_i = other < 0 ? STR_NONE : str_from(list[i], (size_t)other + 1);

        if (str_eq(list[i], list[n]))
            return wrong(r, "the same resource cannot be specified multiple times");
        if (resource_matches(list[i], group, plural) ||
            resource_matches(list[n], group_i, plural_i))
            return wrong(r, "using overlapping resources such as 'secrets' and '*.' in the same "
                            "resource list is not allowed as they will be masked");
    }
    return 0;
}

static int read_resources(const struct reading *r, const struct json *list,
                          struct encryption_rule *rule)
{
    str *out = arena_array(r->config->arena, str, json_len(list) + 1);

    if (check_list(r, list, RESOURCES_MAX) < 0)
        return -1;
    for (; rule->n < json_len(list); rule->n++) {
        struct reading in = *r;

        in.at = str_printf(r->arena, "%.*s[%zu]", STR_ARG(r->at), rule->n);
        out[rule->n] = str_dup(r->config->arena, json_str(json_at(list, rule->n)));
        if (check_resource(&in, out[rule->n]) < 0 || check_overlap(&in, out, rule->n) < 0)
            return -1;
    }
    rule->resources = out;
    return 0;
}

static int read_key(const struct reading *r, enum aead_form form, const struct json *v)
{
    static const char *const known[] = { "name", "secret", NULL };
    struct encryption_config *c = r->config;
    struct encryption_key *k = &c->keys[c->nkeys];
    str bytes = STR_NONE, name = json_get_str(v, "name");
    struct reading in;

    if (check_members(r, v, known) < 0)
        return -1;
    in = inside(r, "name", SIZE_MAX);
    if (name.n == 0)
        return wrong(&in, "name is a required field for a %s key", encryption_form_name(form));
    if (name.n > ENCRYPTION_NAME_MAX)
        return wrong(&in, "must be no more than %d bytes", ENCRYPTION_NAME_MAX);
    in = inside(r, "secret", SIZE_MAX);
    if (json_get_str(v, "secret").n == 0)
        return wrong(&in, "secret is a required field for a %s key", encryption_form_name(form));
    if (!base64_decode(r->arena, BASE64_STD, json_get_str(v, "secret"), &bytes))
        return wrong(&in, "secrets must be base64 encoded");
    *k = (struct encryption_key){ .form = form, .name = str_dup(c->arena, name) };
    k->key = aead_key_new(form, secret_of(bytes), r->st);
    if (!k->key)
        return status_wrap(r->st, "%.*s", STR_ARG(in.at));
    c->nkeys++;
    return 0;
}

static int read_keys(const struct reading *r, enum aead_form form, const struct json *v)
{
    static const char *const known[] = { "keys", NULL };
    const struct json *list = json_get(v, STR("keys"));
    struct reading in = inside(r, "keys", SIZE_MAX);

    if (check_members(r, v, known) < 0 || check_list(&in, list, ENCRYPTION_KEYS_MAX) < 0)
        return -1;
    if (r->config->nkeys + json_len(list) > ENCRYPTION_KEYS_MAX)
        return wrong(&in, "the configuration has more than %d keys", ENCRYPTION_KEYS_MAX);
    for (size_t i = 0; i < json_len(list); i++) {
        struct reading one = inside(r, "keys", i);

        if (read_key(&one, form, json_at(list, i)) < 0)
            return -1;
        for (size_t j = 0; j < i; j++)
            if (str_eq(json_get_str(json_at(list, j), "name"),
                       json_get_str(json_at(list, i), "name")))
                return wrong(&one, "the name is there twice");
    }
    return 0;
}

static int read_provider(const struct reading *r, const struct json *v,
                         const struct encryption_key **writer)
{
    static const char *const none[] = { NULL };
    const struct json_member *m = json_is(v, JSON_OBJECT) && v->n == 1 ? &v->members[0] : NULL;
    size_t first = r->config->nkeys;
    struct reading in;

    if (!m)
        return wrong(r, "must have exactly one provider, as 'aesgcm: {keys: …}'");
    in = inside(r, arena_printf(r->arena, "%.*s", STR_ARG(m->name)), SIZE_MAX);
    for (size_t i = 0; i < PROVIDERS; i++) {
        if (!str_is(m->name, providers[i].name))
            continue;
        if (providers[i].kind == PROVIDER_REFUSED)
            return wrong(&in, "%s", providers[i].why);
        *writer = NULL;
        if (providers[i].kind == PROVIDER_IDENTITY)
            return json_is(&m->value, JSON_NULL) ? 0 : check_members(&in, &m->value, none);
        *writer = &r->config->keys[first];
        return read_keys(&in, providers[i].form, &m->value);
    }
    return wrong(r, "\"%.*s\" is no provider: aesgcm, aescbc or identity", STR_ARG(m->name));
}

static int read_rule(const struct reading *r, const struct json *v, struct encryption_rule *rule)
{
    static const char *const known[] = { "resources", "providers", NULL };
    const struct json *list = json_get(v, STR("providers"));
    struct reading resources = inside(r, "resources", SIZE_MAX);
    struct reading all = inside(r, "providers", SIZE_MAX);

    if (check_members(r, v, known) < 0 ||
        read_resources(&resources, json_get(v, STR("resources")), rule) < 0 ||
        check_list(&all, list, PROVIDERS_MAX) < 0)
        return -1;
    for (size_t i = 0; i < json_len(list); i++) {
        struct reading in = inside(r, "providers", i);
        const struct encryption_key *writer = NULL;

        if (read_provider(&in, json_at(list, i), &writer) < 0)
            return -1;
        if (i == 0)
            rule->writer = writer;
    }
    return 0;
}

static int read_all(const struct reading *r, const struct json *doc)
{
    static const char *const known[] = { "apiVersion", "kind", "resources", NULL };
    struct encryption_config *c = r->config;
    const struct json *list = json_get(doc, STR("resources"));
    struct reading all = inside(r, "resources", SIZE_MAX);

    if (!str_is(json_get_str(doc, "kind"), "EncryptionConfiguration") ||
        !str_is(json_get_str(doc, "apiVersion"), "apiserver.config.k8s.io/v1"))
        return status_set(r->st, REASON_INVALID,
                          "this is no EncryptionConfiguration of apiserver.config.k8s.io/v1");
    if (check_members(&all, doc, known) < 0 || check_list(&all, list, RULES_MAX) < 0)
        return -1;
    c->rules = arena_array(c->arena, struct encryption_rule, json_len(list));
    c->keys = arena_array(c->arena, struct encryption_key, ENCRYPTION_KEYS_MAX);
    for (; c->nrules < json_len(list); c->nrules++) {
        struct reading in = inside(r, "resources", c->nrules);

        if (read_rule(&in, json_at(list, c->nrules), &c->rules[c->nrules]) < 0)
            return -1;
    }
    return 0;
}

struct encryption_config *encryption_config_read(secret text, struct status *st)
{
    struct encryption_config *c;
    const struct json *doc = NULL;
    struct json_duplicates twice = { 0 };
    scoped_arena a = arena_new();
    struct reading r = { .arena = a, .st = st };
    int rc;

    if (secret_reveal(text).n > ENCRYPTION_TEXT_MAX) {
        (void)status_set(st, REASON_INVALID, "has more than %d bytes", ENCRYPTION_TEXT_MAX);
        return NULL;
    }
    arena_wipe(a); /* who knows in which string a key stands when it is not where it should be */
    /* What a parser says may show a piece of the text. */
    if (json_parse_yaml(a, secret_reveal(text), &twice, &doc, st) < 0) {
        (void)status_set(st, REASON_INVALID, "this is not YAML");
        return NULL;
    }
    r.config = c = encryption_config_new();
    rc = twice.n ? status_set(st, REASON_INVALID, "%.*s is there twice", STR_ARG(twice.all[0].path))
                 : read_all(&r, doc);
    if (rc == 0)
        return c;
    encryption_config_free(c);
    return NULL;
}
