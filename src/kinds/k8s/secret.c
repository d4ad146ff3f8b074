/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/encode.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"

#define ACCOUNT_KEY "kubernetes.io/service-account.name"

/* stringData is for writing only; each of its values replaces the one in data. */
static const struct json *fold(struct arena *a, const struct json *obj)
{
    const struct json *plain = json_get(obj, STR("stringData"));
    struct json_object o = json_object_new(a);

    if (!plain)
        return obj;
    json_for_each_member (m, plain) {
        json_add(&o, m->name, json_of_str(base64_encode(a, BASE64_STD, json_str(&m->value))));
    }
    obj =
        json_set(a, obj, "data", check_union(a, json_object_done(&o), json_get(obj, STR("data"))));
    return json_set(a, obj, "stringData", NULL);
}

static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    obj = fold(c->arena, obj);
    if (json_get_str(obj, "type").n)
        return obj;
    return json_set(c->arena, obj, "type", json_box(c->arena, json_of_str(STR("Opaque"))));
}

static str decode(struct arena *a, const struct json *data, const char *key)
{
    str out = STR_NONE;

    (void)base64_decode(a, BASE64_GO, json_str(json_get(data, str_of(key))), &out);
    return out;
}

/* ---- what each type needs; k8s: validation.go ValidateSecret ---- */

static void required(struct status *st, const char *key)
{
    status_cause(st, CAUSE_REQUIRED, str_printf(st->arena, "data[%s]", key), STR_NONE, "%s", "");
}

static void check_account(const struct json *obj, struct status *st)
{
    const struct json *annotations = json_path(obj, "metadata.annotations");

    if (json_str(json_get(annotations, STR(ACCOUNT_KEY))).n == 0)
        status_cause(st, CAUSE_REQUIRED, STR("metadata.annotations[" ACCOUNT_KEY "]"), STR_NONE,
                     "%s", "");
}

static void check_docker(const struct json *obj, struct status *st, const char *key)
{
    const struct json *data = json_get(obj, STR("data")), *v;
    struct status fault;

    if (!json_get(data, str_of(key))) {
        required(st, key);
        return;
    }
    status_init(&fault, st->arena);
    if (json_parse(st->arena, decode(st->arena, data, key), NULL, &v, &fault) == 0 &&
        !json_is(v, JSON_OBJECT) && !json_is(v, JSON_NULL))
        (void)status_set(&fault, REASON_BAD_REQUEST, "must be an object, not %s",
                         json_type_name(v));
    if (!status_is(&fault, REASON_OK))
        status_cause(st, CAUSE_INVALID, str_printf(st->arena, "data[%s]", key),
                     STR("\"<secret contents redacted>\""), "%.*s", STR_ARG(fault.message));
}

static void check_dockercfg(const struct json *obj, struct status *st)
{
    check_docker(obj, st, ".dockercfg");
}

static void check_dockerconfigjson(const struct json *obj, struct status *st)
{
    check_docker(obj, st, ".dockerconfigjson");
}

static void check_basic_auth(const struct json *obj, struct status *st)
{
    const struct json *data = json_get(obj, STR("data"));

    if (json_get(data, STR("username")) || json_get(data, STR("password")))
        return;
    required(st, "username");
    required(st, "password");
}

static void check_ssh_auth(const struct json *obj, struct status *st)
{
    if (json_str(json_get(json_get(obj, STR("data")), STR("ssh-privatekey"))).n == 0)
        required(st, "ssh-privatekey");
}

static void check_tls(const struct json *obj, struct status *st)
{
    static const char *const keys[] = { "tls.crt", "tls.key" };

    for (size_t i = 0; i < GROUP_LEN(keys); i++)
        if (!json_get(json_get(obj, STR("data")), str_of(keys[i])))
            required(st, keys[i]);
}

static const struct {
    const char *type;
    void (*check)(const struct json *obj, struct status *st);
} types[] = {
    { "kubernetes.io/service-account-token", check_account },
    { "kubernetes.io/dockercfg", check_dockercfg },
    { "kubernetes.io/dockerconfigjson", check_dockerconfigjson },
    { "kubernetes.io/basic-auth", check_basic_auth },
    { "kubernetes.io/ssh-auth", check_ssh_auth },
    { "kubernetes.io/tls", check_tls },
};

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    str type = json_get_str(obj, "type");

    (void)c;
    if (check_data(st, "data", obj, true) > CHECK_DATA_MAX)
        status_cause(st, CAUSE_TOO_LONG, STR("data"), STR_NONE, "may not be more than %d bytes",
                     CHECK_DATA_MAX);
    for (size_t i = 0; i < GROUP_LEN(types); i++)
        if (str_is(type, types[i].type))
            types[i].check(obj, st);
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    (void)c;
    check_immutable(st, "type", obj, old);
    check_frozen(st, obj, old, (const char *const[]){ "data", NULL });
}

/* ---- the warning about certificates ---- */

/* Each beginning costs a search of all that follows; a chain has a handful of blocks. */
enum { PEM_BLOCKS_MAX = 32 };

/* X of a line `-----BEGIN X-----`. */
static bool pem_begin(str line, str *type)
{
    str begin = STR("-----BEGIN "), dashes = STR("-----");

    line = str_trim(line);
    if (line.n <= begin.n + dashes.n || !str_starts(line, begin) || !str_ends(line, dashes))
        return false;
    *type = str_sub(line, begin.n, line.n - begin.n - dashes.n);
    return true;
}

/* Whether a block's type ends so. */
static bool pem_has(struct arena *a, str text, str wanted)
{
    unsigned tries = PEM_BLOCKS_MAX;

    for (str rest = text, line, type; tries && str_split(&rest, '\n', &line);) {
        if (!pem_begin(line, &type))
            continue;
        tries--;
        if (str_ends(type, wanted) &&
            str_contains(rest, str_printf(a, "-----END %.*s-----", STR_ARG(type))))
            return true;
    }
    return false;
}

/* k8s: tls.X509KeyPair stops at the first fault; whether key and certificate belong together is
 * not seen. */
static void warn_pem(struct arena *a, const struct json *data, struct schema_faults *warnings)
{
    if (!pem_has(a, decode(a, data, "tls.crt"), STR("CERTIFICATE")))
        schema_fault(a, warnings, "tls: failed to find any PEM data in certificate input");
    else if (!pem_has(a, decode(a, data, "tls.key"), STR("PRIVATE KEY")))
        schema_fault(a, warnings, "tls: failed to find any PEM data in key input");
}

static void warn(const struct kind_context *c, const struct json *obj, const struct json *old,
                 struct schema_faults *warnings)
{
    (void)old;
    if (str_is(json_get_str(obj, "type"), "kubernetes.io/tls"))
        warn_pem(c->arena, json_get(obj, STR("data")), warnings);
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "type");
    json_push(cells, json_of_int((int64_t)json_len(json_get(obj, STR("data")))));
    cell_age(cells, obj, now_s);
}

const struct kind_ops secret_ops = {
    .defaults = defaults,
    .validate = validate,
    .validate_update = validate_update,
    .warn = warn,
    .cells = cells,
};
