/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/rand.h"
#include "base/uuid.h"
#include "rest/body.h"
#include "rest/write.h"

enum { GENERATE_BASE_MAX = 58 }; /* k8s: 63 less the suffix */

struct creation {
    struct rest_op op; /* first: callbacks get this */
    const struct json *obj;
    str generate;
    unsigned generated;
};

static void new_name(struct creation *c)
{
    char suffix[RAND_SUFFIX_LEN + 1];

    rand_suffix(suffix);
    c->op.name = str_concat(c->op.req->arena, str_sub(c->generate, 0, GENERATE_BASE_MAX),
                            (str){ suffix, RAND_SUFFIX_LEN }, STR_NONE);
    c->op.row = row_name(c->op.req->arena, c->op.req->kind, c->op.req->namespace_, c->op.name);
    c->generated++;
}

static int taken(struct rest_op *op, struct status *st)
{
    const struct creation *c = (const struct creation *)(const void *)op;
    const struct kind *k = op->req->kind;

    (void)status_already_exists(st, k->group, k->plural, op->name);
    /* k8s: also where the name was said, too */
    if (json_get_str(c->obj, "metadata.generateName").n) {
        (void)status_set(st, REASON_ALREADY_EXISTS,
                         "%.*s, the server was not able to generate a unique name for the object",
                         STR_ARG(st->message));
        st->retry_after_s = 1;
    }
    if (op->current.obj.flags & OBJ_DELETING)
        (void)status_wrap(st, "object is being deleted");
    return -1;
}

static int make(struct rest_op *op, struct status *st)
{
    struct creation *c = (struct creation *)(void *)op;

    if (op->tries && write_check_namespace(op, st) < 0)
        return -1;
    while (op->found && c->generate.n && c->generated < GENERATE_TRIES) {
        new_name(c);
        if (write_load(op, st) < 0)
            return -1;
    }
    op->what = WRITE_PUT;
    if (write_prepare_create(op, c->obj, st) < 0)
        return -1;
    if (!op->found)
        return 0;
    /* k8s: admission, quotas included, comes before the name is looked up */
    return write_check_charge(op, st) < 0 ? -1 : taken(op, st);
}

/* k8s: registry/core/limitrange/strategy.go */
static void name_by_uuid(struct creation *c)
{
    char *uuid = arena_alloc(c->op.req->arena, UUID_SIZE);

    uuid_v4(uuid);
    c->op.name = (str){ uuid, UUID_LEN };
    c->op.row = row_name(c->op.req->arena, c->op.req->kind, c->op.req->namespace_, c->op.name);
}

/* What no client says of a new object; nobody comes to own it, either.
 * k8s: registry/rest/meta.go WipeObjectMetaSystemFields */
static const struct json *without_end(struct arena *a, const struct json *obj)
{
    static const char *const paths[] = { "metadata.deletionTimestamp",
                                         "metadata.deletionGracePeriodSeconds" };

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        if (json_path(obj, paths[i]))
            obj = json_set(a, obj, paths[i], NULL);
    return obj;
}

/* k8s: registry/rest/create.go BeforeCreate */
static int begin(struct creation *c, struct status *st)
{
    struct rest_request *req = c->op.req;
    str rv, name;

    if (body_object(req, &c->obj, st) < 0 || body_check_identity(req, c->obj, st) < 0)
        return -1;
    c->obj = without_end(req->arena, c->obj);
    rv = json_get_str(c->obj, "metadata.resourceVersion");
    name = json_get_str(c->obj, "metadata.name");
    c->generate = name.n ? STR_NONE : json_get_str(c->obj, "metadata.generateName");
    req->name = name; /* messages of admission name it */
    if (write_check_namespace(&c->op, st) < 0)
        return -1;
    if (req->kind->closed.n)
        return status_forbidden(st, req->kind->group, req->kind->plural, name, "%.*s",
                                STR_ARG(req->kind->closed));
    c->op.sent_version = rv;
    if (rv.n && !str_is(rv, "0") && !req->write.dry_run)
        return status_set(st, REASON_UNKNOWN,
                          "resourceVersion should not be set on objects to be created");
    c->op.name = name;
    c->op.row = row_name(req->arena, req->kind, req->namespace_, name);
    if (c->generate.n)
        new_name(c);
    if (c->op.name.n == 0 && req->kind->named_by_uuid)
        name_by_uuid(c);
    return 0;
}

void serve_create(struct rest_request *req)
{
    struct creation *c = arena_new_of(req->arena, struct creation);
    struct status *st = rest_status(req);

    c->op.req = req;
    c->op.make = make;
    c->op.code = 201;
    if (begin(c, st) < 0)
        rest_fail(req, st);
    else
        write_run(&c->op);
}
