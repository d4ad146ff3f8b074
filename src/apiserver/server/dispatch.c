/* SPDX-License-Identifier: Apache-2.0 */

/* From a request that may pass to the resource or document it is about. */

#include "apiserver/auth/authz.h"
#include "apiserver/call/catalogs.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/negotiate.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/outbound/aggregate.h"
#include "apiserver/outbound/proxy.h"
#include "apiserver/server/mount_requests.h"
#include "apiserver/server/special.h"
#include "base/banned.h"
#include "rest/schemas.h"

static const struct {
    const char *word;
    enum verb verb;
    enum accept_endpoint accept;
} verbs[] = {
    { "get", VERB_GET, ACCEPT_OBJECT },
    { "list", VERB_LIST, ACCEPT_LIST },
    { "watch", VERB_WATCH, ACCEPT_WATCH },
    { "create", VERB_CREATE, ACCEPT_OBJECT },
    { "update", VERB_UPDATE, ACCEPT_OBJECT },
    { "patch", VERB_PATCH, ACCEPT_OBJECT },
    { "delete", VERB_DELETE, ACCEPT_OBJECT },
    { "deletecollection", VERB_DELETE_COLLECTION, ACCEPT_LIST },
};

/* k8s: of a custom resource that is known, the answer names it */
static void unknown_resource(struct call *c, const struct kind *k)
{
    struct status *st = call_status(c);

    if (k && k->schema_id)
        (void)status_not_found(st, k->group, k->plural, c->info.name);
    else
        (void)status_set(st, REASON_NOT_FOUND, "the server could not find the requested resource");
    st->empty_details = !(k && k->schema_id);
    call_fail(c, st);
}

/* k8s: customresource_handler.go says which verb, of which kind */
static void wrong_method(struct call *c, const struct kind *k)
{
    struct status *st = call_status(c);

    if (k->schema_id && c->info.subresource.n && c->info.verb.n) {
        (void)status_set(st, REASON_METHOD_NOT_ALLOWED,
                         "%.*s is not supported on resources of kind \"%.*s.%.*s\"",
                         STR_ARG(c->info.verb), STR_ARG(k->plural), STR_ARG(k->group));
        st->group = k->group;
        st->kind = k->plural;
        call_fail(c, st);
        return;
    }
    (void)status_set(st, REASON_METHOD_NOT_ALLOWED,
                     "the server does not allow this method on the requested resource");
    st->empty_details = true;
    call_fail(c, st);
}

/* The place of the path fits the kind's scope: 1; 0: no such path; -1: a path without this method.
 */
static int scope_fits(const struct call *c, const struct kind *k)
{
    const struct reqinfo *i = &c->info;
    bool reads = str_is(i->verb, "list") || str_is(i->verb, "watch");
    /* A namespace is said to be in itself, for the sake of its rights. */
    bool is_namespace = str_is(i->resource, "namespaces") && i->group.n == 0 && i->name.n;

    if (k->transient && i->name.n) /* what is not kept has no name to be asked for */
        return 0;
    if (!k->namespaced)
        return i->namespace_.n == 0 || is_namespace;
    if (i->namespace_.n)
        return 1;
    if (i->name.n)
        return 0;
    return reads ? 1 : -1;
}

/* k8s: HEAD is not served on resources */
static unsigned verbs_of(const struct call *c, const struct kind *k)
{
    const struct subresource *sub;

    if (str_is(c->method, "HEAD"))
        return 0;
    if (c->info.subresource.n == 0)
        return k->verbs;
    sub = kind_subresource(k, c->info.subresource);
    return sub ? sub->verbs : 0;
}

/*
 * Clients know Kubernetes' own kinds by heart and patch them strategically, whether they are native
 * here or came from a member as a CRD.  Its old groups have no domain.
 */
static bool is_kubernetes(str group)
{
    return str_find(group, '.', 0) < 0 || str_is(group, "networking.k8s.io") ||
           str_is(group, "storage.k8s.io");
}

static int read_patch_type(struct call *c, str type, struct status *st)
{
    struct rest_request *r = &c->rest;
    enum content content = CONTENT_JSON;
    bool custom = r->kind->schema->rules && !is_kubernetes(r->kind->group);
    bool known = content_of_patch(type, &content, st) == 0;

    if (!known && !custom)
        return -1;
    if (custom && (!known || content == CONTENT_STRATEGIC_PATCH))
        return status_set(st, REASON_UNSUPPORTED_MEDIA_TYPE,
                          "the body of the request was in an unknown format - accepted media types "
                          "include: application/json-patch+json, application/merge-patch+json, "
                          "application/apply-patch+yaml");
    r->patch_type = content == CONTENT_JSON_PATCH    ? PATCH_JSON
                    : content == CONTENT_MERGE_PATCH ? PATCH_MERGE
                    : content == CONTENT_APPLY_PATCH ? PATCH_APPLY
                                                     : PATCH_STRATEGIC;
    return 0;
}

/* Who writes, if it does not say: its program.  k8s: managerOrUserAgent */
static str manager_of(struct call *c)
{
    str agent = call_header(c, "user-agent");
    ptrdiff_t slash = str_find(agent, '/', 0);
    size_t n = slash < 0 ? agent.n : (size_t)slash;

    return str_sub(agent, 0, n < FIELD_MANAGER_MAX ? n : FIELD_MANAGER_MAX);
}

static int read_write_options(struct call *c, struct status *st)
{
    struct rest_request *r = &c->rest;
    enum content content = CONTENT_JSON;
    str type = call_header(c, "content-type");
    enum write_kind kind;

    if (r->verb == VERB_PATCH ? read_patch_type(c, type, st) < 0
                              : content_of_body(type, &content, st) < 0)
        return -1;
    kind = r->verb == VERB_CREATE         ? WRITE_CREATE
           : r->verb == VERB_UPDATE       ? WRITE_UPDATE
           : r->patch_type == PATCH_APPLY ? WRITE_APPLY
                                          : WRITE_PATCH;
    r->body_type = content == CONTENT_PROTOBUF ? BODY_PROTOBUF
                   : content == CONTENT_YAML   ? BODY_YAML
                                               : BODY_JSON;
    if (write_options_parse(c->arena, c->query, kind, &r->write, st) < 0)
        return -1;
    r->write.manager_said = r->write.field_manager.n > 0;
    if (!r->write.manager_said)
        r->write.field_manager = manager_of(c);
    return 0;
}

static int read_delete_options(struct call *c, struct status *st)
{
    enum content content = CONTENT_JSON;

    if (c->body.n && content_of_body(call_header(c, "content-type"), &content, st) < 0)
        return -1;
    c->rest.body_type = content == CONTENT_PROTOBUF ? BODY_PROTOBUF
                        : content == CONTENT_YAML   ? BODY_YAML
                                                    : BODY_JSON;
    /* k8s: a body is all that counts */
    return c->body.n ? 0 : delete_options_parse(c->arena, c->query, &c->rest.delete, st);
}

static int read_form(struct call *c, enum accept_endpoint endpoint, struct status *st)
{
    struct accept accept;
    str include = STR_NONE;

    if (accept_negotiate(call_header(c, "accept"), endpoint, &accept, st) < 0)
        return -1;
    c->content_type = accept.content_type;
    c->rest.form = accept.transform == TRANSFORM_TABLE  ? FORM_TABLE
                   : accept.transform == TRANSFORM_NONE ? FORM_OBJECT
                                                        : FORM_PARTIAL;
    (void)query_get(c->arena, c->query, STR("includeObject"), &include);
    return c->rest.form == FORM_TABLE ? table_include_parse(include, &c->rest.include, st) : 0;
}

static int read_request(struct call *c, enum accept_endpoint endpoint, struct status *st)
{
    struct rest_request *r = &c->rest;
    unsigned lists = VERB_LIST | VERB_WATCH | VERB_DELETE_COLLECTION | VERB_GET;

    if (read_form(c, endpoint, st) < 0)
        return -1;
    if (c->body_too_large)
        return status_set(st, REASON_TOO_LARGE, "Request entity too large: limit is %d", 3 << 20);
    if ((r->verb & lists) && list_options_parse(c->arena, c->query, &r->list, st) < 0)
        return -1;
    r->list.watch = r->verb == VERB_WATCH;
    if (r->verb & (VERB_DELETE | VERB_DELETE_COLLECTION))
        return read_delete_options(c, st);
    if (r->verb & (VERB_CREATE | VERB_UPDATE | VERB_PATCH))
        return read_write_options(c, st);
    return 0;
}

static void rest_done(struct rest_request *req, const struct rest_reply *reply)
{
    call_answer_rest(req->user, reply);
}

/* Credentials inside of an object are for who may read the Secrets they could be in as well. */
static bool is_redacted(struct call *c)
{
    const struct kind *k = c->rest.kind;
    struct access x = { .who = &c->who,
                        .instance = &c->rest.instance,
                        .verb = STR("get"),
                        .is_resource = true,
                        .resource = STR("secrets"),
                        .namespace_ = STR("kube-system") };

    return k->ops && k->ops->redact && !access_allowed(c->server, c->arena, &x, NULL);
}

/* k8s: handlers/get.go ListResource: an object that is watched by its path */
static int watch_by_name(struct call *c, struct status *st)
{
    struct list_options *o = &c->rest.list;
    str wanted;

    if (c->rest.verb != VERB_WATCH || c->rest.name.n == 0)
        return 0;
    wanted = str_printf(c->arena, "metadata.name=%.*s", STR_ARG(c->rest.name));
    if (o->field_selector.n && !str_eq(o->field_selector, wanted))
        return status_set(st, REASON_BAD_REQUEST,
                          "fieldSelector metadata.name doesn't match requested name");
    o->field_selector = wanted;
    c->rest.name = STR_NONE;
    return 0;
}

static void serve(struct call *c, size_t verb)
{
    call_handler *special = special_find(c->rest.kind, c->rest.subresource, verbs[verb].verb);
    struct status *st = call_status(c);

    enum accept_endpoint accept = verbs[verb].accept;

    /* k8s: what is not kept is no row of a table */
    if (c->rest.kind->transient && accept == ACCEPT_OBJECT)
        accept = ACCEPT_PLAIN;
    c->rest.verb = verbs[verb].verb;
    c->pretty = c->rest.verb != VERB_WATCH &&
                wants_pretty(c->arena, c->query, call_header(c, "user-agent"));
    c->gzip = c->rest.verb != VERB_WATCH && accepts_gzip(call_header(c, "accept-encoding"));
    /* What a member is sent is read there; and of a collection each is a write of its own. */
    if ((special || c->rest.kind->conversion || c->rest.verb == VERB_DELETE_COLLECTION) &&
        call_go_home(c))
        return;
    if (special != cluster_proxy && (read_request(c, accept, st) < 0 || watch_by_name(c, st) < 0))
        call_fail(c, st);
    else if (special)
        special_serve(c);
    else
        rest_serve(&c->rest);
}

/* A collection is posted to, an object is put; a subresource has its parent's name either way. */
static bool name_fits(const struct call *c, enum verb verb)
{
    unsigned wants_name = VERB_GET | VERB_UPDATE | VERB_PATCH | VERB_DELETE;

    if (verb == VERB_CREATE && c->info.subresource.n)
        return c->info.name.n > 0;
    if (verb == VERB_WATCH && c->info.watch_path)
        return c->info.subresource.n == 0;
    return (c->info.name.n > 0) == ((verb & wants_name) != 0);
}

static void find_verb(struct call *c, const struct kind *k)
{
    unsigned allowed = verbs_of(c, k);

    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        if (!str_is(c->info.verb, verbs[i].word))
            continue;
        /* Over all instances only lists and watches make sense. */
        if (c->rest.instance.id == STORE_ALL && !(verbs[i].verb & (VERB_LIST | VERB_WATCH)))
            break;
        if (!(allowed & verbs[i].verb) || !name_fits(c, verbs[i].verb))
            break;
        serve(c, i);
        return;
    }
    wrong_method(c, k);
}

/* Only what is sent on has paths of its own below it.  k8s: of custom resources nobody looks. */
static bool is_beyond(const struct reqinfo *i, const struct kind *k)
{
    return i->rest.n && !k->schema_id && !str_is(i->subresource, "proxy");
}

/* Over all instances a resource may be any CRD's. */
static const struct kind *find_kind(struct call *c)
{
    const struct reqinfo *i = &c->info;
    const struct kind *k = catalog_find(c->rest.catalog, i->group, i->version, i->resource);
    struct status *st;

    if (k || c->rest.instance.id != STORE_ALL)
        return k;
    st = call_status(c);
    if (schema_any_kind(c->server->store, c->arena, i->group, i->version, i->resource, &k, st) < 0)
        return NULL;
    return k;
}

void dispatch_resource(struct call *c)
{
    const struct reqinfo *i = &c->info;
    const struct catalog *catalog = c->rest.catalog;
    const struct kind *k = find_kind(c);
    int fits;

    if (!k && !discovery_is_native(catalog, i->group)) {
        not_found_page(c);
        return;
    }
    fits = k ? scope_fits(c, k) : 0;
    if (fits == 0 && k && k->schema_id) {
        not_found_page(c);
        return;
    }
    if (!k || (i->subresource.n && !kind_subresource(k, i->subresource)) || is_beyond(i, k)) {
        unknown_resource(c, k);
        return;
    }
    if (fits <= 0) {
        if (fits == 0)
            unknown_resource(c, NULL);
        else
            wrong_method(c, k);
        return;
    }
    c->rest.kind = k;
    c->rest.namespace_ = k->namespaced ? i->namespace_ : STR_NONE;
    c->rest.name = i->name;
    c->rest.subresource = i->subresource;
    c->rest.body = c->body;
    c->rest.rest = c->server->rest;
    c->rest.arena = c->arena;
    c->rest.loop = c->loop;
    c->rest.who = &c->who;
    c->rest.admitter = c->server;
    c->rest.done = rest_done;
    c->rest.user = c;
    c->rest.redacted = is_redacted(c);
    find_verb(c, k);
}

static void dispatched(struct call *c)
{
    if (c->info.is_resource)
        dispatch_resource(c);
    else if (!route_document(c))
        not_found_page(c);
}

void dispatch(struct call *c)
{
    if (!c->no_instance && (c->mount || !c->info.is_resource) && call_go_home(c))
        return;
    if (c->no_instance)
        call_fail(c, c->no_instance);
    else if (c->mount)
        mount_serve(c);
    else if (c->rest.instance.attached && !c->who.rights)
        instance_proxy(c); /* our own parts see what is here of it */
    else if (!aggregate_serve(c))
        catalogs_get(c->server->catalogs, c, dispatched);
}
