/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/audit/audit_records.h"

#include <stdlib.h>

#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "rest/made.h"

struct audit_records {
    struct rest *rest;
    const struct kind *kind;
    struct audit_log *writer;
};

/* ---- which requests ---- */

/* Native ones of the root instance; those of the management API say it in api/services. */
static const struct {
    const char *group, *resource, *what;
} natives[] = {
    { "tenancy.kairship.io", "instances", "Instance" },
    { "iam.kairship.io", "users", "User" },
    { "iam.kairship.io", "groups", "Group" },
    { "iam.kairship.io", "workspaces", "Workspace" },
    { "iam.kairship.io", "platformroles", "Platform Role" },
};

static const struct {
    const char *verb, *does;
} verbs[] = {
    { "create", "Create" }, { "update", "Update" },           { "patch", "Update" },
    { "delete", "Delete" }, { "deletecollection", "Delete" },
};

static const char *does(str verb)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        if (str_is(verb, verbs[i].verb))
            return verbs[i].does;
    return NULL;
}

/* What `kairship passwd` writes (apiserver/auth/login.c); without a name it may be one. */
static bool is_password(const struct reqinfo *i, str name)
{
    return !i->group.n && str_is(i->resource, "secrets") && str_is(i->namespace_, "kube-system") &&
           (!name.n || str_starts(name, STR("kairship-password-")));
}

static const char *what(const struct reqinfo *i, str name)
{
    if (i->subresource.n)
        return NULL;
    for (size_t n = 0; n < sizeof(natives) / sizeof(*natives); n++)
        if (str_is(i->group, natives[n].group) && str_is(i->resource, natives[n].resource))
            return natives[n].what;
    return is_password(i, name) ? "Password" : NULL;
}

/* Of this program, in this process or in another: what people ask of it is recorded where they do.
 */
static bool is_part(const struct call *c, str user)
{
    return c->local || c->server->chain->rights(c->server, user);
}

str audit_records_event(struct call *c, str user, str name)
{
    const struct reqinfo *i = &c->info;
    const char *noun;

    if (c->mount)
        return c->deed && !is_part(c, user) ? c->deed->event : STR_NONE;
    if (!i->is_resource || i->instance.n || !does(i->verb) || is_part(c, user))
        return STR_NONE;
    if (str_is(i->group, "iam.kairship.io") && str_is(i->resource, "logins"))
        return STR(AUDIT_LOGIN_EVENT);
    noun = what(i, i->name.n ? i->name : name);
    if (!noun || c->rest.write.dry_run || c->rest.delete.dry_run)
        return STR_NONE;
    return str_printf(c->arena, "%s-%s", does(i->verb), noun);
}

/* ---- making one ---- */

/* Names in certificates may be anything. */
static str shown(struct arena *a, str s)
{
    char *p;

    if (str_utf8_valid(s))
        return s;
    p = arena_alloc(a, s.n);
    for (size_t i = 0; i < s.n; i++)
        p[i] = (unsigned char)s.p[i] < 0x80 ? s.p[i] : '?';
    return (str){ p, s.n };
}

static void add(struct json_object *o, const char *name, str value)
{
    if (value.n)
        json_add(o, str_of(name), json_of_str(shown(o->arena, value)));
}

static struct json metadata(struct arena *a, const struct audit_event *e, str person)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("name"),
             json_of_str(str_printf(
                 a, "%016llx-%016llx-%08x", (unsigned long long)(INT64_MAX - e->stage_us),
                 (unsigned long long)str_hash(person, 1, 2), (unsigned)rand_u64())));
    return json_object_value(&o);
}

static struct json spec(struct arena *a, const struct audit_event *e,
                        const struct audit_record *more)
{
    struct json_object o = json_object_new(a);
    struct json_array sources = json_array_new(a);
    char *time = arena_alloc(a, TIME_TEXT_SIZE);

    add(&o, "event", more->event);
    json_add(&o, STR("time"), json_of_str((str){ time, time_format_micro(time, e->stage_us) }));
    json_add(&o, STR("person"), json_of_str(shown(a, more->person)));
    add(&o, "impersonated", e->impersonated ? e->impersonated->user : STR_NONE);
    add(&o, "verb", e->info->verb);
    add(&o, "group", e->info->group);
    add(&o, "resource", e->info->resource);
    add(&o, "subresource", e->info->subresource);
    add(&o, "namespace", e->info->namespace_.n ? e->info->namespace_ : e->namespace_);
    add(&o, "name", e->info->name.n ? e->info->name : e->name);
    add(&o, "instance", more->instance);
    add(&o, "instanceUID", more->instance_uid);
    json_add(&o, STR("code"), json_of_int(e->code));
    add(&o, "reason", e->failure ? str_of(status_reason(e->failure)) : STR_NONE);
    for (size_t i = 0; i < e->nsources; i++)
        json_push(&sources, json_of_str(e->sources[i]));
    if (e->nsources)
        json_add(&o, STR("sourceIPs"), json_array_value(&sources));
    add(&o, "auditID", e->id);
    return json_object_value(&o);
}

bool audit_records_put(struct audit_records *r, struct arena *a, const struct audit_event *e,
                       const struct audit_record *more)
{
    struct json_object o = json_object_new(a);
    struct bytes *b;
    str text;
    bool put;

    json_add(&o, STR("metadata"), metadata(a, e, more->person));
    json_add(&o, STR("spec"), spec(a, e, more));
    text = json_text(a, json_object_done(&o));
    b = bytes_new(text.n);
    memcpy(b->p, text.p, text.n);
    put = audit_log_put(r->writer, b);
    bytes_unref(b);
    return put;
}

bool audit_records_have_room(struct audit_records *r)
{
    return audit_log_has_room(r->writer);
}

/* ---- storing ---- */

static int store(void *arg, const str *lines, size_t n, size_t *done, struct status *st)
{
    struct audit_records *r = arg;
    scoped_arena a = arena_new();
    const struct json **objects = arena_array(a, const struct json *, n);

    *done = 0;
    for (size_t i = 0; i < n; i++)
        if (json_parse(a, lines[i], NULL, &objects[i], st) < 0)
            return -1;
    return rest_make(r->rest, r->kind, objects, n, done, st);
}

struct audit_records *audit_records_new(struct rest *rest, const struct kind *k, struct status *st)
{
    struct audit_records *r = mem_zalloc(sizeof(*r));

    r->rest = rest;
    r->kind = k;
    r->writer = audit_log_new_to(&(struct audit_sink){ "the store", store, r }, st);
    if (r->writer)
        return r;
    free(r);
    return NULL;
}

size_t audit_records_free(struct audit_records *r)
{
    size_t lost = r ? audit_log_free(r->writer) : 0;

    free(r);
    return lost;
}
