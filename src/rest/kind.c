/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/kind.h"

#include "base/banned.h"

static const struct {
    enum verb verb;
    const char *name;
} verbs[] = {
    { VERB_GET, "get" },       { VERB_LIST, "list" },
    { VERB_WATCH, "watch" },   { VERB_CREATE, "create" },
    { VERB_UPDATE, "update" }, { VERB_PATCH, "patch" },
    { VERB_DELETE, "delete" }, { VERB_DELETE_COLLECTION, "deletecollection" },
};

const char *verb_name(enum verb v)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        if (verbs[i].verb == v)
            return verbs[i].name;
    return "";
}

const struct subresource *kind_subresource(const struct kind *k, str name)
{
    for (size_t i = 0; i < k->nsubresources; i++)
        if (str_eq(k->subresources[i].name, name))
            return &k->subresources[i];
    return NULL;
}

bool catalog_has_group(const struct catalog *c, str group, str version)
{
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        if (str_eq(k->group, group) && (str_empty(version) || str_eq(k->version, version)))
            return true;
    }
    return false;
}

const struct kind *catalog_find(const struct catalog *c, str group, str version, str plural)
{
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        if (str_eq(k->plural, plural) && str_eq(k->version, version) && str_eq(k->group, group))
            return k;
    }
    return NULL;
}

const struct kind *catalog_find_kind(const struct catalog *c, str api_version, str kind)
{
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        if (str_eq(k->kind, kind) && str_eq(k->api_version, api_version))
            return k;
    }
    return NULL;
}
