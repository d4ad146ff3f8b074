/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "rest/body.h"
#include "rest/heavy.h"
#include "rest/manage.h"
#include "rest/refuse.h"

struct change {
    struct rest_op op;      /* first: callbacks get this */
    const struct json *obj; /* of an update */
    const struct json *patch;
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

    if (rv.n && !str_to_u64(rv, &rev)) {
        status_cause(st, CAUSE_INVALID, STR("metadata.resourceVersion"),
                     str_printf(st->arena, "\"%.*s\"", STR_ARG(rv)), "must be a number");
        return status_invalid(st, k->group, k->kind, op->name);
    }
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

static int make_update(struct rest_op *op, struct status *st)
{
    struct change *c = (struct change *)(void *)op;
    const struct kind *k = op->req->kind;
    str uid = json_get_str(c->obj, "metadata.uid"), now;

    if (!op->found)
        return missing(op, st);
    now = json_get_str(op->old, "metadata.uid");
    if (uid.n && !str_eq(uid, now))
        return status_conflict(
            st, k->group, k->plural, op->name,
            "Precondition failed: UID in precondition: %.*s, UID in object meta: "
            "%.*s",
            STR_ARG(uid), STR_ARG(now));
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
static int bad_patch(const struct rest_request *req, const struct json *patch, struct status *st,
                     str why)
{
    str text = json_text(st->arena, patch);

    if (req->patch_type == PATCH_STRATEGIC) {
        struct json shown = json_of_str(json_go_text(st->arena, patch));

        text = json_text(st->arena, &shown);
    }

    st->causes = st->last_cause = NULL;
    st->ncauses = 0;
    status_cause(st, CAUSE_INVALID, STR("patch"), text, "%.*s", STR_ARG(why));
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
    if (req->veiled)
        return req->kind->ops->veil(req->arena, manage_show(&c->op, c->op.old));

    return c->of_managers ? manage_show(&c->op, c->op.old) : c->op.old;
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

int patch_tree(struct rest_request *req, const struct kind *shape, const struct json *old,
               const struct json *patch, const struct json **out, struct status *st)
{
    struct json_duplicates none = { 0 };
    struct schema_faults faults = { 0 };
    const struct json *raw;
    str strict;

    if (apply(req, shape, old, patch, &raw, st) < 0)
        return -1;
    if (!str_eq(json_get_str(raw, "kind"), shape->kind) ||
        !str_eq(json_get_str(raw, "apiVersion"), shape->api_version))
        return status_set(st, REASON_BAD_REQUEST, "a patch cannot change kind or apiVersion");
    if (schema_decode(req->arena, shape->schema, raw, &faults, out, st) < 0)
        return bad_patch(req, patch, st, st->message);
    strict = body_faults(req, &none, &faults);
    if (strict.n)
        return bad_patch(req, patch, st,
                         str_printf(req->arena, "strict decoding error: %.*s", STR_ARG(strict)));
    return 0;
}

static int make_patch(struct rest_op *op, struct status *st)
{
    struct change *c = (struct change *)(void *)op;
    const struct json *obj;

    if (!op->found)
        return missing(op, st);
    if (patch_tree(op->req, op->req->kind, patched(c), c->patch, &obj, st) < 0 ||
        body_check_identity(op->req, obj, st) < 0 || write_check_version(op, obj, st) < 0)
        return -1;
    /* The patched object holds the version it was read at; only another one was the client's. */
    op->insists = json_path(c->patch, "metadata.resourceVersion") != NULL;
    return write_check_uid(op, obj, st) < 0 ? -1 : write_change(op, obj, st);
}

int patch_read(struct rest_request *req, const struct json **patch, struct status *st)
{
    struct json_duplicates dups = { 0 };
    struct schema_faults none = { 0 };
    bool wants_array = req->patch_type == PATCH_JSON;
    str strict;
    int rc;

    if (heavy_was_read(req, patch, st, &rc))
        return rc;
    if (json_parse(req->arena, req->body, &dups, patch, st) < 0)
        return status_set(st, st->reason, "error decoding patch: %.*s",
                          STR_ARG(refuse_go_text(st->message)));
    req->sent = *patch;
    if (!json_is(*patch, wants_array ? JSON_ARRAY : JSON_OBJECT))
        return status_set(
            st, REASON_BAD_REQUEST,
            "error decoding patch: json: cannot unmarshal %s into Go value of type %s",
            json_type_name(*patch),
            wants_array ? "[]handlers.jsonPatchOp" : "map[string]interface {}");
    strict = body_faults(req, &dups, &none);
    if (strict.n)
        return bad_patch(req, *patch, st,
                         str_printf(req->arena, "strict decoding error: %.*s", STR_ARG(strict)));
    return 0;
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
        rest_fail(req, st);
    else
        write_run(&c->op);
}
