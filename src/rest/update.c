/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "rest/body.h"
#include "rest/heavy.h"
#include "rest/managed_fields.h"
#include "rest/refuse.h"

struct change {
    struct rest_op op;      /* first: callbacks get this */
    const struct json *obj; /* of an update */
    const struct json *patch;
    struct status *unread; /* why there is no patch, or NULL */
    bool of_managers; /* it may speak of managedFields, by name or as a part of something larger */
};

#define MODIFIED                                                                         \
    "the object has been modified; please apply your changes to the latest version and " \
    "try again"

/* True when, after this write, nothing holds the object any more. */
static bool vanishes(const struct rest_op *op)
{
    const struct kind_ops *ops = op->req->kind->ops;

    if (!json_path(op->obj, "metadata.deletionTimestamp") ||
        json_len(json_path(op->obj, "metadata.finalizers")))
        return false;
    return !ops || !ops->may_vanish || ops->may_vanish(op->obj);
}

static int missing(const struct rest_op *op, struct status *st)
{
    return status_not_found(st, op->req->kind->group, op->req->kind->plural, op->name);
}

int write_check_version(struct rest_op *op, const struct json *obj, struct status *st)
{
    const struct kind *k = op->req->kind;
    str rv = json_get_str(obj, "metadata.resourceVersion");
    uint64_t rev = 0;

    if (rv.n && !str_to_u64(rv, &rev))
        return status_set(st, REASON_UNKNOWN,
                          "metadata.resourceVersion: \"%.*s\" must be a revision", STR_ARG(rv));
    if (rev == 0 && !k->unconditional_update) {
        status_cause(st, CAUSE_INVALID, STR("metadata.resourceVersion"), STR("0"),
                     "must be specified for an update");
        return status_invalid(st, k->group, k->plural, op->name);
    }
    op->insists = rev != 0;
    if (rev && rev != op->current.rev)
        return status_conflict(st, k->group, k->plural, op->name, "%s", MODIFIED);
    return 0;
}

int write_change(struct rest_op *op, const struct json *obj, struct status *st)
{
    if (write_prepare_update(op, obj, st) < 0)
        return -1;
    op->what = vanishes(op) ? WRITE_REMOVE : WRITE_PUT;
    return 0;
}

/* k8s: registry/generic/registry/store.go Update, AllowCreateOnUpdate */
static int make_anew(struct rest_op *op, const struct json *obj, struct status *st)
{
    if (write_check_namespace(op, st) < 0)
        return -1;
    op->code = 201;
    op->what = WRITE_PUT;
    return write_prepare_create(op, obj, st);
}

static int make_update(struct rest_op *op, struct status *st)
{
    struct change *c = (struct change *)(void *)op;
    const struct kind *k = op->req->kind;
    bool creates = k->update_creates && op->req->subresource.n == 0;
    str uid = json_get_str(c->obj, "metadata.uid"), now = STR_NONE;

    op->code = 200;
    if (!op->found && !creates)
        return missing(op, st);
    if (op->found)
        now = json_get_str(op->old, "metadata.uid");
    if (uid.n && !str_eq(uid, now))
        return status_conflict(
            st, k->group, k->plural, op->name,
            "Precondition failed: UID in precondition: %.*s, UID in object meta: "
            "%.*s",
            STR_ARG(uid), STR_ARG(now));
    if (!op->found)
        return make_anew(op, c->obj, st);
    if (write_check_version(op, c->obj, st) < 0)
        return -1;
    return write_change(op, c->obj, st);
}

static struct change *change_new(struct rest_request *req,
                                 int (*make)(struct rest_op *op, struct status *st))
{
    struct change *c = arena_new_of(req->arena, struct change);

    c->op.req = req;
    c->op.make = make;
    c->op.code = 200;
    c->op.name = req->name;
    c->op.row = row_name(req->arena, req->kind, req->namespace_, req->name);
    return c;
}

void serve_update(struct rest_request *req)
{
    struct change *c = change_new(req, make_update);
    struct status *st = rest_status(req);

    if (body_object(req, &c->obj, st) < 0 || body_check_identity(req, c->obj, st) < 0)
        rest_fail(req, st);
    else
        write_run(&c->op);
}

/* ---- patch ---- */

/* k8s: a patch whose result cannot be decoded is Invalid, at the field `patch`, without a name */
static int bad_patch(struct status *st, str why)
{
    st->causes = st->last_cause = NULL;
    st->ncauses = 0;
    status_cause(st, CAUSE_INVALID, STR("patch"), STR_NONE, "%.*s", STR_ARG(why));
    return status_invalid(st, STR_NONE, STR_NONE, STR_NONE);
}

int write_check_uid(const struct rest_op *op, const struct json *obj, struct status *st)
{
    str uid = json_get_str(obj, "metadata.uid");

    if (uid.n == 0 || str_eq(uid, json_get_str(op->old, "metadata.uid")))
        return 0;
    status_cause(st, CAUSE_INVALID, STR("metadata.uid"),
                 str_printf(st->arena, "\"%.*s\"", STR_ARG(uid)), "field is immutable");
    return status_invalid(st, op->req->kind->group, op->req->kind->kind, op->name);
}

static bool may_speak_of_managers(const struct rest_request *req)
{
    return req->patch_type == PATCH_JSON || str_contains(req->body, STR("managedFields")) ||
           str_contains(req->body, STR("\\u"));
}

static const struct json *patched(struct change *c)
{
    const struct rest_request *req = c->op.req;

    /* A patch can copy what it does not know. */
    if (req->redacted)
        return req->kind->ops->redact(req->arena, managed_fields_show(&c->op, c->op.old));

    return c->of_managers ? managed_fields_show(&c->op, c->op.old) : c->op.old;
}

static int apply(struct rest_request *req, const struct kind *shape, const struct json *old,
                 const struct json *patch, const struct json **out, struct status *st)
{
    struct arena *a = req->arena;

    if (req->patch_type == PATCH_JSON) {
        if (json_patch(a, old, patch, out, st) < 0) {
            if (st->reason != REASON_INVALID)
                return -1;
            /* k8s: what is wrong is not said */
            (void)status_set(st, REASON_INVALID,
                             "the server rejected our request due to an error in our request");
            st->empty_details = true;
            return -1;
        }
        return 0;
    }
    if (req->patch_type == PATCH_STRATEGIC)
        return strategic_merge(a, shape->schema, old, patch, out, st);
    *out = json_merge_patch(a, old, patch);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* k8s: handlers/patch.go jsonPatchOp */
static void add_op_faults(struct rest_request *req, const struct json *patch,
                          struct schema_faults *all)
{
    static const char *const known[] = { "op", "path", "from", "value" };
    size_t i = 0;

    json_for_each (op, patch) {
        json_for_each_member (m, op) {
            bool found = false;

            for (size_t j = 0; j < sizeof(known) / sizeof(*known); j++)
                found |= str_is(m->name, known[j]);
            if (!found)
                schema_fault(req->arena, all, "json patch unknown field \"[%zu].%.*s\"", i,
                             STR_ARG(m->name));
        }
        i++;
    }
}

/* First those of the patch, then the fields that nobody knows, by name: the patched object is
 * written and read again. */
static str faults_of(struct rest_request *req, const struct json *patch,
                     const struct schema_faults *unknown)
{
    struct json_duplicates none = { 0 };
    struct schema_faults all = { 0 };
    bool ops = req->patch_type == PATCH_JSON;

    for (size_t i = 0; req->twice && i < req->twice->n; i++)
        schema_fault(req->arena, &all, "%sduplicate field \"%.*s\"", ops ? "json patch " : "",
                     STR_ARG(req->twice->all[i].path));
    if (ops)
        add_op_faults(req, patch, &all);
    if (unknown->n)
        qsort(unknown->texts, unknown->n, sizeof(*unknown->texts), by_text);
    for (size_t i = 0; i < unknown->n; i++)
        schema_fault(req->arena, &all, "%.*s", STR_ARG(unknown->texts[i]));
    return body_faults(req, &none, &all);
}

int patch_tree(struct rest_request *req, const struct kind *shape, const struct json *old,
               const struct json *patch, const struct json **out, struct status *st)
{
    struct schema_faults faults = { 0 };
    const struct json *raw;
    str strict, why;

    if (apply(req, shape, old, patch, &raw, st) < 0)
        return -1;
    req->resets_managers = managed_fields_is_emptied(raw);
    if (refuse_patched(req, shape, raw, &why, st) < 0)
        return why.n ? bad_patch(st, why) : -1;
    if (schema_decode(req->arena, shape->schema, raw, &faults, out, st) < 0)
        return bad_patch(st, st->message);
    req->gated = faults.gated ? raw : NULL;
    strict = faults_of(req, patch, &faults);
    if (strict.n)
        return bad_patch(st,
                         str_printf(req->arena, "strict decoding error: %.*s", STR_ARG(strict)));
    return 0;
}

static int make_patch(struct rest_op *op, struct status *st)
{
    struct change *c = (struct change *)(void *)op;
    const struct json *obj;

    if (!op->found)
        return missing(op, st);
    if (c->unread) {
        status_copy(st, c->unread);
        return -1;
    }
    if (patch_tree(op->req, op->req->kind, patched(c), c->patch, &obj, st) < 0 ||
        body_check_identity(op->req, obj, st) < 0 || write_check_version(op, obj, st) < 0)
        return -1;
    /* The patched object holds the version it was read at; only another one was the client's. */
    op->insists = json_path(c->patch, "metadata.resourceVersion") != NULL;
    return write_check_uid(op, obj, st) < 0 ? -1 : write_change(op, obj, st);
}

/* k8s: handlers/patch.go applyJSPatch reads all of them before the first is done */
static int check_ops(const struct json *patch, struct status *st)
{
    static const char *const words[] = { "op", "path", "from" };
    const char *lead = "error decoding patch: ";

    json_for_each (op, patch) {
        if (op->type != JSON_NULL && op->type != JSON_OBJECT)
            return status_set(st, REASON_BAD_REQUEST, "%san operation must be an object, not %s",
                              lead, json_type_name(op));
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
            const struct json *v = json_get(op, str_of(words[i]));

            if (v && v->type != JSON_STRING && v->type != JSON_NULL)
                return status_set(st, REASON_BAD_REQUEST, "%s%s: must be a string, not %s", lead,
                                  words[i], json_type_name(v));
        }
    }
    return 0;
}

int patch_read(struct rest_request *req, const struct json **patch, struct status *st)
{
    struct json_duplicates *dups = arena_new_of(req->arena, struct json_duplicates);
    bool wants_array = req->patch_type == PATCH_JSON;
    const char *said = req->patch_type == PATCH_STRATEGIC ? "" : "error decoding patch: ";
    int rc;

    if (heavy_was_read(req, patch, st, &rc))
        return rc;
    if (json_parse(req->arena, req->body, dups, patch, st) < 0)
        return status_set(st, st->reason, "%s%.*s", said, STR_ARG(st->message));
    req->sent = *patch;
    req->twice = dups;
    /* k8s: null stands for an empty list or map; a merge patch is more than that */
    if ((*patch)->type == JSON_NULL && req->patch_type != PATCH_MERGE)
        *patch = wants_array ? &json_empty_array : &json_empty_object;
    if ((*patch)->type == JSON_NULL)
        return status_set(st, REASON_BAD_REQUEST, "Invalid JSON Patch");
    if (!json_is(*patch, wants_array ? JSON_ARRAY : JSON_OBJECT))
        return status_set(st, REASON_BAD_REQUEST, "%smust be %s, not %s", said,
                          wants_array ? "an array" : "an object", json_type_name(*patch));
    return wants_array ? check_ops(*patch, st) : 0;
}

void serve_patch(struct rest_request *req)
{
    struct change *c;
    struct status *st;

    if (req->patch_type == PATCH_APPLY) {
        serve_apply(req);
        return;
    }
    c = change_new(req, make_patch);
    st = rest_status(req);
    c->of_managers = may_speak_of_managers(req); /* the body may go while the write waits */
    if (patch_read(req, &c->patch, st) < 0)
        c->unread = st;
    write_run(&c->op);
}
