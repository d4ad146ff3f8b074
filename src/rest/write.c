/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/write.h"

#include <errno.h>

#include "base/banned.h"
#include "object/crdschema/structural.h"
#include "rest/body.h"
#include "rest/convert.h"
#include "rest/index.h"
#include "rest/lifecycle.h"
#include "rest/managed_fields.h"

#define MODIFIED                                                                         \
    "the object has been modified; please apply your changes to the latest version and " \
    "try again"

/* k8s: a Scale is written by the strategy of the main resource */
static bool is_scale(const struct rest_op *op)
{
    return str_is(op->req->subresource, "scale");
}

struct kind_context write_context(const struct rest_op *op)
{
    return (struct kind_context){ .arena = op->req->arena,
                                  .kind = op->req->kind,
                                  .has_grace = op->req->delete.has_grace,
                                  .grace_s = op->req->delete.grace_s,
                                  .evicts = op->req->delete.evicts,
                                  .who = op->req->who,
                                  .subresource = is_scale(op) ? STR_NONE : op->req->subresource,
                                  .namespace_ = op->req->namespace_,
                                  .name = op->name,
                                  .create = op->req->verb == VERB_CREATE || !op->found,
                                  .now_s = clock_wall_s(op->req->rest->clock) };
}

int write_check_namespace(struct rest_op *op, struct status *st)
{
    struct rest_request *req = op->req;
    const struct kind *k = catalog_find(req->catalog, STR_NONE, STR("v1"), STR("namespaces"));
    struct row row;
    int found;

    if (!req->kind->namespaced)
        return 0;
    found = rows_get(req->rest, req->arena, &req->instance, k, req->namespace_, 0, &row, st);
    if (found < 0)
        return -1;
    if (found == 0)
        return status_not_found(st, STR_NONE, STR("namespaces"), req->namespace_);
    op->namespace_ = (struct store_op){
        .kind = STORE_CHECK,
        .key = { .type = k->type_id, .instance = req->instance.id, .name = req->namespace_ },
        .expect = row.stored_rev,
    };
    if (!(row.obj.flags & OBJ_DELETING))
        return 0;
    status_cause(st, CAUSE_NAMESPACE_TERMINATING, STR("metadata.namespace"), STR_NONE,
                 "namespace %.*s is being terminated", STR_ARG(req->namespace_));
    return status_forbidden(st, req->kind->group, req->kind->plural, req->name,
                            "unable to create new content in namespace %.*s because it is being "
                            "terminated",
                            STR_ARG(req->namespace_));
}

/* ---- running ---- */

static str success_text(struct rest_op *op)
{
    struct status *done = rest_status(op->req);
    scoped_buf b = { .max = 1 << 16 };

    done->kind = op->req->kind->plural;
    done->group = op->req->kind->group;
    done->name = op->name;
    done->uid = json_get_str(op->obj, "metadata.uid");
    rest_status_print(&b, done);
    return str_dup(op->req->arena, buf_str(&b));
}

/* What would be stored of an object of a CRD, in the client's version. */
static const struct json *read_back(struct rest_op *op)
{
    const struct kind *k = op->req->kind;
    const struct json *out = op->to_store;

    if (k->storage->schema_id != k->schema_id &&
        structural_convert(op->req->arena, k->schema, out, &out, rest_status(op->req)) < 0)
        return op->obj;
    return out;
}

/*
 * What a dry run would have stored, or what was removed; an object that exists keeps its version,
 * one that was deleted has that of its end (k8s: storage/etcd3/store.go conditionalDelete).
 */
static str dry_text(struct rest_op *op)
{
    struct form f = form_of(op->req);
    struct arena *a = op->req->arena;
    const struct kind_ops *ops = op->req->kind->ops;
    const struct json *obj = op->obj;
    uint64_t rev = op->req->verb == VERB_DELETE && op->txn.rev ? op->txn.rev : op->current.rev;
    struct json rv =
        json_of_str(op->found ? str_printf(a, "%llu", (unsigned long long)rev) : op->sent_version);

    if (ops && ops->from_stored && op->to_store) /* as it would be read */
        obj = ops->from_stored(a, op->to_store);
    else if (op->to_store && op->req->kind->schema_id && !op->req->kind->conversion)
        obj = read_back(op);
    return form_tree(
        &f, a,
        managed_fields_show(op, rv.n ? json_set(a, obj, "metadata.resourceVersion", &rv) : obj));
}

/* What was written, or is there as it was wanted, in the version that the client speaks. */
static str converted_text(struct rest_op *op)
{
    struct form f = form_of(op->req);
    struct arena *a = op->req->arena;
    bool written = op->stored.n > 0;
    uint64_t rev = written ? op->txn.rev : op->current.rev;
    struct json rv = json_of_str(str_printf(a, "%llu", (unsigned long long)rev));

    if (!written)
        op->managed = op->current.obj.managed;
    return form_tree(&f, a,
                     json_set(a, managed_fields_show(op, written ? op->obj : op->old),
                              "metadata.resourceVersion", &rv));
}

static void finish(struct rest_op *op, const struct status *failure)
{
    struct rest_request *req = op->req;
    str *pieces = arena_array(req->arena, str, OBJ_PIECES);
    struct form f = form_of(req);
    struct row row = op->current; /* nothing was written: the row as it is */
    size_t n = 1;

    if (req->held)
        req->rest->admission->charged(req);
    if (op->then) {
        op->then(op, failure);
        return;
    }
    if (failure) {
        rest_fail(req, failure);
        return;
    }
    if (op->stored.n) {
        row = (struct row){ .instance = req->instance.id, .name = op->row, .rev = op->txn.rev };
        (void)obj_view(op->stored, &row.obj);
    }
    if (op->answers_status)
        pieces[0] = success_text(op);
    else if (!op->stored.n && op->what != WRITE_NOTHING)
        pieces[0] = dry_text(op);
    else if (req->kind->conversion && req->kind != req->kind->storage)
        pieces[0] = converted_text(op);
    else
        n = form_pieces(&f, req->arena, &row, pieces);
    rest_answer(req, op->code, pieces, n);
}

static bool may_try_again(struct rest_op *op)
{
    op->tries++;
    return op->tries < WRITE_TRIES_MIN ||
           (op->tries < WRITE_TRIES && arena_size(op->req->arena) < WRITE_MEMORY);
}

static void lost_race(struct rest_op *op)
{
    const struct kind *k = op->req->kind;
    struct status *st = rest_status(op->req);

    op->stage.at = STAGE_NONE;
    /* A client may insist on the version of its object, not on that of what goes with it. */
    if ((!op->insists || op->txn.failed_op > 0) && may_try_again(op)) {
        write_run(op);
        return;
    }
    if (op->insists)
        (void)status_conflict(st, k->group, k->plural, op->name, "%s", MODIFIED);
    else
        (void)status_conflict(st, k->group, k->plural, op->name,
                              "too many others change it at the same time, try again");
    finish(op, st);
}

static void committed(struct store_txn *txn)
{
    struct rest_op *op = (struct rest_op *)(void *)txn;
    struct status *st;

    if (txn->rev) {
        if (op->req->rest->admission && op->req->rest->admission->committed)
            op->req->rest->admission->committed(op->req, op->obj, op->what == WRITE_REMOVE);
        finish(op, NULL);
        return;
    }
    if (txn->failed_op >= 0 && txn->error == 0) {
        lost_race(op);
        return;
    }
    st = rest_status(op->req);
    if (txn->error == EOWNERDEAD)
        (void)status_not_found(st, STR("tenancy.kairship.io"), STR("instances"),
                               op->req->instance.name);
    else if (txn->error == EFBIG)
        (void)status_set(st, REASON_TOO_LARGE, "the object is too large to be stored");
    else
        (void)status_set(st, REASON_UNAVAILABLE,
                         "the store cannot write now (%s); nothing was changed, reads go on",
                         strerrordesc_np(txn->error));
    if (st->reason == REASON_UNAVAILABLE)
        st->retry_after_s = 1;
    finish(op, st);
}

static const struct json *to_stored(struct rest_request *req, const struct kind *k,
                                    const struct json *obj)
{
    const struct json *out = obj;
    struct status *st;

    if (k->ops && k->ops->to_stored)
        return k->ops->to_stored(req->arena, obj);
    /* Versions of a CRD: what the stored one does not know is not kept. */
    if (!k->schema_id || k->storage->schema_id == k->schema_id)
        return obj;
    st = rest_status(req);
    return schema_decode(req->arena, k->storage->schema, obj, NULL, &out, st) < 0 ? obj : out;
}

int rest_convert(struct rest_request *req, const struct kind *from, const struct kind *to,
                 const struct json *obj, const struct json **out, struct status *st)
{
    str value = obj_encode(req->arena, to_stored(req, from, obj), STR_NONE, 0), rv;
    struct row row = { .instance = req->instance.id };

    rv = json_get_str(obj, "metadata.resourceVersion");
    obj_stamp(value, from->storage->schema_id);
    if (!obj_view(value, &row.obj) || (rv.n && !str_to_u64(rv, &row.rev)))
        return status_set(st, REASON_INTERNAL, "the object cannot be converted");
    return row_tree(req->arena, to, &row, STR_NONE, out, st);
}

const struct json *rest_shown(struct rest_request *req, const struct json *obj, bool old)
{
    struct rest_op *op = req->op;
    str now = op ? op->managed : STR_NONE;
    struct json rv;

    if (!op) /* it is not stored */
        return obj;
    rv = json_of_str(str_printf(req->arena, "%llu", (unsigned long long)op->current.rev));
    if (old)
        op->managed = op->current.obj.managed;
    obj = managed_fields_show(op, obj);
    op->managed = now;
    return op->found ? json_set(req->arena, obj, "metadata.resourceVersion", &rv) : obj;
}

void rest_warn(struct rest_request *req, str text)
{
    body_warn(req, text);
}

void rest_note(struct rest_request *req, str key, str value)
{
    struct rest_note *n = arena_new_of(req->arena, struct rest_note);

    *n = (struct rest_note){ .next = req->notes, .key = key, .value = value };
    req->notes = n;
}

/*
 * The status that a create may not set is the schema's own, if it has one.
 * k8s: what was stored is read with defaults, for the answer, too (etcd3 store.go Create)
 */
static const struct json *with_status(struct rest_op *op, const struct json *obj)
{
    const struct kind *k = op->req->kind->storage;
    const struct schema_field *f = k->schema_id ? schema_field(k->schema, STR("status")) : NULL;

    if (!f || !f->default_value || json_get(obj, STR("status")))
        return obj;
    return json_set(op->req->arena, obj, "status", f->default_value);
}

/* What is written, in the version that is stored. */
static int make_stored(struct rest_op *op, struct status *st)
{
    int rc;

    if (op->what != WRITE_PUT)
        return 0;
    if (convert_failure(op->req)) {
        status_copy(st, convert_failure(op->req));
        return -1;
    }
    rc = convert_to_stored(op->req, op->obj, &op->to_store, rest_write_again, st);
    if (rc == 0 && !op->to_store)
        op->to_store = to_stored(op->req, op->req->kind, op->obj);
    if (rc == 0)
        op->to_store = with_status(op, op->to_store);
    return write_waits(op, rc);
}

/* The row's new content, or its end; a template's end is a row that hides it. */
static int row_op(struct rest_op *op, struct store_op *out, struct status *st)
{
    const struct kind *k = op->req->kind->storage;
    struct arena *a = op->req->arena;
    const struct json *tree = op->what == WRITE_PUT ? op->to_store : NULL;
    struct row hidden;
    int template;

    *out = (struct store_op){
        .kind = STORE_PUT,
        .key = { .type = k->type_id, .instance = op->req->instance.id, .name = op->row },
        .expect = op->current.stored_rev,
    };
    if (op->what == WRITE_PUT) {
        op->stored = obj_encode(a, tree, op->managed, 0);
        obj_stamp(op->stored, k->schema_id);
        out->value = seal_value(op->req->rest->seal, a, k, &out->key, op->stored);
        out->nhashes = index_hashes(a, k, tree, &out->hashes);
        return 0;
    }
    template = rows_template(op->req->rest, a, &op->req->instance, k, op->row, 0, &hidden, st);
    if (template == 0)
        out->kind = STORE_DELETE;
    else if (template == 1)
        out->value = obj_encode_hidden(a);
    return template <0 ? -1 : 0;
}

static bool unchanged(struct rest_op *op)
{
    struct obj now, was = op->current.obj;

    if (!op->found || op->what != WRITE_PUT || !obj_view(op->stored, &now))
        return false;
    /* k8s: what another key has sealed is written again though nothing changed (etcd3 store.go) */
    if (op->current.stored_rev &&
        !seal_is_current(op->req->rest->seal, op->req->kind->storage, op->current.sealed))
        return false;
    /* A template's text lacks what is the instance's; all of the object is in the tree. */
    if (!op->current.stored_rev &&
        !obj_view(
            obj_encode(op->req->arena, to_stored(op->req, op->req->kind, op->old), STR_NONE, 0),
            &was))
        return false;
    return str_eq(now.text, was.text) && managed_fields_same(op);
}

/* What admission adds to the transaction: a number of operations, -1, or REST_WAIT. */
static int charge(struct rest_op *op, struct store_op *out, struct status *st)
{
    const struct rest_admission *admission = op->req->rest->admission;
    struct rest_change change = {
        .obj = op->obj,
        .old = op->old,
        .removed = op->what == WRITE_REMOVE,
        .dry = op->req->write.dry_run || op->req->delete.dry_run,
        .bytes = op->ops[0].value.n,
        .old_bytes = op->current.sealed.n     ? op->current.sealed.n
                     : op->current.stored_rev ? op->current.obj.text.n + op->current.obj.managed.n
                                              : 0,
    };

    return admission && admission->charge ? admission->charge(op->req, &change, out, st) : 0;
}

int write_check_charge(struct rest_op *op, struct status *st)
{
    const struct rest_admission *admission = op->req->rest->admission;
    struct rest_change change = { .obj = op->obj, .dry = true };
    struct store_op unused[REST_CHARGES];

    if (!admission || !admission->charge)
        return 0;
    return admission->charge(op->req, &change, unused, st) < 0 ? -1 : 0;
}

static void commit(struct rest_op *op)
{
    struct status *st = rest_status(op->req);
    bool dry = op->req->write.dry_run || op->req->delete.dry_run;
    size_t n = 1;
    int extra;

    op->stored = STR_NONE;
    if (op->what == WRITE_NOTHING) {
        finish(op, NULL);
        return;
    }
    if (make_stored(op, st) < 0 || row_op(op, &op->ops[0], st) < 0) {
        if (!op->waiting)
            finish(op, st);
        return;
    }
    if (unchanged(op))
        op->what = WRITE_NOTHING;
    extra = op->what == WRITE_NOTHING ? 0 : charge(op, op->ops + n, st);
    if (extra == REST_WAIT)
        return;
    if (extra < 0) {
        finish(op, st);
        return;
    }
    n += (size_t)extra;
    if (dry || op->what == WRITE_NOTHING) {
        op->stored = STR_NONE;
        finish(op, NULL);
        return;
    }
    extra = lifecycle_ops(op, op->ops + n, st);
    if (extra < 0) {
        finish(op, st);
        return;
    }
    n += (size_t)extra;
    if (op->namespace_.key.name.n)
        op->ops[n++] = op->namespace_;
    op->txn = (struct store_txn){ .ops = op->ops, .nops = n, .done = committed };
    op->txn.loop = op->req->loop;
    op->txn.msg.whose = op->req->whose;
    store_commit(op->req->rest->store, &op->txn);
}

static int load_converted(struct rest_op *op, const struct row *plain, struct status *st)
{
    op->old = convert_find(op->req->converted, plain->name, plain->rev);
    if (op->old)
        return 0;
    if (convert_failure(op->req)) {
        status_copy(st, convert_failure(op->req));
        return -1;
    }
    if (convert_add(op->req, plain, st) < 0)
        return -1;
    convert_begin(op->req, rest_write_again);
    op->waiting = true;
    return -1;
}

int write_load(struct rest_op *op, struct status *st)
{
    const struct kind *k = op->req->kind;
    int found = rows_get(op->req->rest, op->req->arena, &op->req->instance, k->storage, op->row, 0,
                         &op->current, st);

    struct row plain;

    op->found = found == 1;
    op->old = NULL;
    op->managed = STR_NONE;
    if (found <= 0)
        return found;
    op->managed = op->current.obj.managed;
    plain = op->current;
    plain.obj.managed = STR_NONE; /* they stay beside the tree */
    if (convert_concerns(op->req, &plain))
        return load_converted(op, &plain, st);
    return row_tree(op->req->arena, k, &plain, STR_NONE, &op->old, st);
}

void rest_write_again(struct rest_request *req)
{
    write_run(req->op);
}

void write_run(struct rest_op *op)
{
    struct status *st = rest_status(op->req);

    op->req->op = op;
    op->req->seen = store_head(op->req->rest->store);
    if (!op->warnings) {
        op->warnings = &op->req->warnings;
        while (*op->warnings)
            op->warnings = &(*op->warnings)->next;
    }
    *op->warnings = NULL;
    op->req->notes = NULL;
    op->waiting = false;
    /* What a worker has looked at is written, if the row is still the same then. */
    if ((op->checked || write_load(op, st) >= 0) && op->make(op, st) >= 0)
        commit(op);
    else if (!op->waiting)
        finish(op, st);
}
