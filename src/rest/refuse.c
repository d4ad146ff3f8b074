/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/refuse.h"

#include "base/banned.h"
#include "rest/body.h"

#define NO_KIND "couldn't get version/kind; json parse error: "

static int unrecognized(str kind, struct status *st, const char *why, str text)
{
    return status_set(st, REASON_BAD_REQUEST,
                      "the object provided is unrecognized (must be of type %.*s): %s%.*s",
                      STR_ARG(kind), why, STR_ARG(text));
}

int refuse_unread(struct rest_request *req, str kind, struct status *st)
{
    if (st->reason != REASON_BAD_REQUEST)
        return -1;
    return unrecognized(kind, st, req->body_type == BODY_JSON ? NO_KIND : "", st->message);
}

static str version_of(str api_version)
{
    return str_from(api_version, (size_t)(str_find(api_version, '/', 0) + 1));
}

int refuse_fields(const struct rest_body_type *type, struct status *st)
{
    if (st->reason != REASON_BAD_REQUEST)
        return -1;
    return status_set(st, REASON_BAD_REQUEST,
                      "%.*s in version \"%.*s\" cannot be handled as a %.*s: %.*s",
                      STR_ARG(type->kind), STR_ARG(version_of(type->api_version)),
                      STR_ARG(type->kind), STR_ARG(st->message));
}

static str group_of(str api_version)
{
    ptrdiff_t slash = str_find(api_version, '/', 0);

    return slash < 0 ? STR_NONE : str_sub(api_version, 0, (size_t)slash);
}

static bool is_served(const struct catalog *c, str version, str kind)
{
    static const str list = STR_INIT("List");

    if (catalog_find_kind(c, version, kind))
        return true;
    return kind.n > list.n && str_ends(kind, list) &&
           catalog_find_kind(c, version, str_sub(kind, 0, kind.n - list.n));
}

str refuse_unknown(struct arena *a, str version, str kind)
{
    return str_printf(a, "no kind \"%.*s\" is registered for version \"%.*s\"", STR_ARG(kind),
                      STR_ARG(version));
}

/* Why an object cannot be what is meant: that kind is another, or none. */
static str no_such_type(const struct rest_request *req, const struct rest_body_type *type,
                        str version, str kind)
{
    if (is_served(req->catalog, version, kind))
        return str_printf(req->arena, "it must be of kind %.*s", STR_ARG(type->kind));
    return refuse_unknown(req->arena, version, kind);
}

static int other_version(str version, const struct rest_body_type *type, struct status *st)
{
    return status_set(st, REASON_BAD_REQUEST,
                      "the API version in the data (%.*s) does not match the expected API "
                      "version (%.*s)",
                      STR_ARG(version), STR_ARG(type->api_version));
}

static int other_type(struct rest_request *req, const struct rest_body_type *type, str version,
                      str kind, struct status *st)
{
    if (str_eq(kind, type->kind) && str_eq(group_of(version), group_of(type->api_version)) &&
        is_served(req->catalog, version, kind))
        return other_version(version, type, st);
    return status_set(st, REASON_BAD_REQUEST,
                      "%.*s in version \"%.*s\" cannot be handled as a %.*s: %.*s", STR_ARG(kind),
                      STR_ARG(version_of(version)), STR_ARG(type->kind),
                      STR_ARG(no_such_type(req, type, version, kind)));
}

/* k8s: apiextensions-apiserver/pkg/registry/customresource/validator.go, ValidateTypeMeta */
static int check_words(const struct rest_body_type *type, const struct json *sent,
                       struct status *st)
{
    const struct json *kind = json_get(sent, STR("kind"));
    const struct json *version = json_get(sent, STR("apiVersion"));

    if (!str_eq(json_str(kind), type->kind))
        status_cause(st, CAUSE_INVALID, STR("kind"), json_text(st->arena, kind), "must be %.*s",
                     STR_ARG(type->kind));
    if (!str_eq(json_str(version), type->api_version))
        status_cause(st, CAUSE_INVALID, STR("apiVersion"), json_text(st->arena, version),
                     "must be %.*s", STR_ARG(type->api_version));
    return status_invalid(st, group_of(json_str(version)), json_str(kind),
                          json_get_str(sent, "metadata.name"));
}

static int check_custom(struct rest_request *req, const struct rest_body_type *type,
                        const struct json *sent, struct status *st)
{
    str kind = json_get_str(sent, "kind"), version = json_get_str(sent, "apiVersion");

    if (kind.n == 0)
        return unrecognized(type->kind, st, "Object 'Kind' is missing", STR_NONE);
    if (!str_eq(version, type->api_version))
        return other_version(version, type, st);
    return body_check_identity(req, sent, st) < 0 ? -1 : check_words(type, sent, st);
}

/* The two words that say what an object is; NULL, or what is wrong with them. */
static const char *bad_words(struct arena *a, const struct json *sent)
{
    static const char *const words[] = { "apiVersion", "kind" };

    if (sent->type != JSON_OBJECT)
        return arena_printf(a, "must be an object, not %s", json_type_name(sent));
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        const struct json *word = json_get(sent, str_of(words[i]));

        if (word && word->type != JSON_STRING && word->type != JSON_NULL)
            return arena_printf(a, "%s: must be a string, not %s", words[i], json_type_name(word));
    }
    return NULL;
}

int refuse_others(struct rest_request *req, const struct rest_body_type *type,
                  const struct json *sent, struct status *st)
{
    const char *bad = bad_words(st->arena, sent);
    str version, kind;

    if (bad)
        return unrecognized(type->kind, st, NO_KIND, str_of(bad));
    version = json_get_str(sent, "apiVersion");
    kind = json_get_str(sent, "kind");
    if (str_find(version_of(version), '/', 0) >= 0)
        return unrecognized(type->kind, st, "unexpected GroupVersion string: ", version);
    if (type->schema->rules)
        return check_custom(req, type, sent, st);
    if ((!version.n || str_eq(version, type->api_version) || str_eq(version, type->old_version)) &&
        (!kind.n || str_eq(kind, type->kind)))
        return 0;
    return other_type(req, type, version.n ? version : type->api_version,
                      kind.n ? kind : type->kind, st);
}

/* Taken away by a patch.  k8s: apimachinery/pkg/runtime/error.go, NewMissingVersionErr */
static int no_version(struct status *st)
{
    static const char why[] = "Object 'apiVersion' is missing";

    status_cause(st, CAUSE_OTHER, STR_NONE, STR_NONE, "%s", why);
    return status_set(st, REASON_INTERNAL, "Internal error occurred: %s", why);
}

int refuse_patched(struct rest_request *req, const struct kind *shape, const struct json *raw,
                   str *why, struct status *st)
{
    struct rest_body_type type = { .kind = shape->kind, .api_version = shape->api_version };
    str version = json_get_str(raw, "apiVersion"), kind = json_get_str(raw, "kind");

    *why = STR_NONE;
    if (req->patch_type == PATCH_STRATEGIC)
        return 0;
    if (shape->schema->rules && kind.n && version.n == 0)
        return no_version(st);
    if (shape->schema->rules && kind.n)
        return check_words(&type, raw, st);
    if (shape->schema->rules)
        *why = STR("Object 'Kind' is missing");
    version = version.n ? version : shape->api_version;
    kind = kind.n ? kind : shape->kind;
    if (!shape->schema->rules &&
        (!str_eq(version, shape->api_version) || !str_eq(kind, shape->kind)))
        *why = no_such_type(req, &type, version, kind);
    return why->n ? -1 : 0;
}

int refuse_options(const struct rest_request *req, struct status *st)
{
    if (st->reason != REASON_BAD_REQUEST)
        return -1;
    return status_set(st, REASON_BAD_REQUEST, "%s%.*s", req->body_type == BODY_JSON ? NO_KIND : "",
                      STR_ARG(st->message));
}

int refuse_other_options(const struct json *sent, struct status *st)
{
    const char *bad = bad_words(st->arena, sent);
    str kind = json_get_str(sent, "kind"), version = json_get_str(sent, "apiVersion");

    if (bad)
        return status_set(st, REASON_BAD_REQUEST, "%s%s", NO_KIND, bad);
    if (!kind.n || str_is(kind, "DeleteOptions"))
        return 0;
    version = version.n ? version : STR("meta.k8s.io/v1");
    return status_set(st, REASON_BAD_REQUEST, "%.*s",
                      STR_ARG(refuse_unknown(st->arena, version, kind)));
}
