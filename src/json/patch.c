/* SPDX-License-Identifier: Apache-2.0 */

/*
 * JSON patch and merge patch.
 *
 * A JSON patch of many operations must not copy a large container for each: a container on the
 * path of an operation is copied once, when it is first changed, and is then this patch's own and
 * changed in place.  Nobody else can see such a container: it hangs in one place of the new
 * document only, as `copy` copies deeply.
 */

#include "base/banned.h"
#include "base/map.h"
#include "json/json.h"
#include "json/members.h"

/* Members and items looked at or moved: about a second of work. */
enum { WORK_MAX = 100 * 1000 * 1000 };

struct patch {
    struct arena *arena;
    struct status *st;
    struct json root;
    struct map64 own; /* address of the children of containers that are ours -> room for them */
    size_t copied;    /* bytes by copy operations */
    size_t work;
    const char *op;
    str pointer; /* the path or from that is being followed, for messages */
};

/* As much of s as belongs into a message. */
static str clipped(str s)
{
    size_t n = 128;

    if (s.n <= n)
        return s;
    while (n && ((unsigned char)s.p[n] & 0xc0) == 0x80) /* no half characters */
        n--;
    return str_sub(s, 0, n);
}

static int refuse(struct patch *p, const char *why)
{
    str pointer = clipped(p->pointer);

    /* k8s: apiserver endpoints/handlers/patch.go, applyJSPatch: the answer carries empty details.
     */
    p->st->empty_details = true;
    (void)status_set(p->st, REASON_INVALID,
                     "the server rejected our request due to an error in our request: "
                     "%s operation at \"%.*s\": %s",
                     p->op, STR_ARG(pointer), why);
    return -1;
}

static size_t child_size(const struct json *c)
{
    return c->type == JSON_ARRAY ? sizeof(struct json) : sizeof(struct json_member);
}

/* Both kinds of children by address: json.h keeps them const for everybody else. */
static void *children(const struct json *c)
{
    union {
        const void *shown;
        void *ours;
    } u = { .shown = c->type == JSON_ARRAY ? (const void *)c->items : (const void *)c->members };

    return u.ours;
}

static void set_children(struct json *c, void *p)
{
    if (c->type == JSON_ARRAY)
        c->items = p;
    else
        c->members = p;
}

/* Makes the container ours, with room for one more child. */
static void make_own(struct patch *p, struct json *c)
{
    void *was = children(c), *now;
    uintptr_t room = was ? (uintptr_t)map64_get(&p->own, (uintptr_t)was) : 0;

    if (room > c->n)
        return;
    room = 2 * (uintptr_t)c->n + 4;
    now = arena_alloc_raw(p->arena, room * child_size(c));
    if (was)
        memcpy(now, was, c->n * child_size(c));
    p->work += c->n;
    set_children(c, now);
    map64_put(&p->own, (uintptr_t)now, (void *)room);
}

/* Index of the member, or -1. */
static ptrdiff_t find(struct patch *p, const struct json *object, str name)
{
    for (uint32_t i = 0; i < object->n; i++) {
        if (str_eq(object->members[i].name, name)) {
            p->work += i;
            return i;
        }
    }
    p->work += object->n;
    return -1;
}

/*
 * An index into an array of n items, as evanphx/json-patch reads it: with a sign, negative ones
 * from the end, leading zeros allowed.
 */
static bool to_index(str token, size_t n, size_t *out)
{
    bool sign = token.n && (token.p[0] == '-' || token.p[0] == '+');
    uint64_t v;

    if (!str_to_u64(str_from(token, sign), &v))
        return false;
    if (sign && token.p[0] == '-' && v > 0) {
        if (v > n)
            return false;
        v = n - v;
    }
    if (v >= n)
        return false;
    *out = (size_t)v;
    return true;
}

/* ~1 is a slash, ~0 a tilde, any other tilde itself. */
static str unescape(struct arena *a, str token)
{
    char *to;
    size_t n = 0;

    if (str_find(token, '~', 0) < 0)
        return token;
    to = arena_alloc_raw(a, token.n);
    for (size_t i = 0; i < token.n; i++) {
        char next = token.p[i] == '~' && i + 1 < token.n ? token.p[i + 1] : 0;

        to[n++] = next == '1' ? '/' : token.p[i];
        i += next == '0' || next == '1';
    }
    return (str){ to, n };
}

/* Where a pointer leads: the container, and what the last token says in it. */
struct place {
    struct json *in;
    str token;
    size_t depth; /* of the container's children */
};

/* The child, or NULL. */
static const struct json *child(struct patch *p, const struct json *c, str token)
{
    ptrdiff_t at;
    size_t i;

    if (c->type == JSON_ARRAY)
        return to_index(token, c->n, &i) ? &c->items[i] : NULL;
    if (c->type != JSON_OBJECT)
        return NULL;
    at = find(p, c, token);
    return at < 0 ? NULL : &c->members[at].value;
}

/* The same as something that may be changed: a child of one of our own. */
static struct json *own_child(struct patch *p, struct json *c, str token)
{
    ptrdiff_t at;
    size_t i;

    if (c->type == JSON_ARRAY)
        return to_index(token, c->n, &i) ? (struct json *)children(c) + i : NULL;
    at = find(p, c, token);
    return at < 0 ? NULL : &((struct json_member *)children(c) + at)->value;
}

/* Follows the pointer to its last but one token, making all containers on the way our own. */
static int locate(struct patch *p, str pointer, struct place *out)
{
    struct json *at = &p->root;
    str rest = pointer, token;
    size_t depth = 0;

    p->pointer = pointer;
    if (pointer.n == 0 || pointer.p[0] != '/')
        return refuse(p, pointer.n ? "a path begins with a slash" : "not on the whole document");
    (void)str_split(&rest, '/', &token);
    for (;;) {
        (void)str_split(&rest, '/', &token);
        token = unescape(p->arena, token);
        if (at->type != JSON_OBJECT && at->type != JSON_ARRAY)
            return refuse(p, "the path does not exist");
        make_own(p, at);
        depth++;
        if (!rest.p)
            break;
        at = own_child(p, at, token);
        if (!at)
            return refuse(p, "the path does not exist");
    }
    *out = (struct place){ at, token, depth };
    return 0;
}

/* What the pointer leads to, or NULL; *found says whether at least its container is there. */
static const struct json *look(struct patch *p, str pointer, bool *found)
{
    const struct json *at = &p->root;
    str rest = pointer, token;

    p->pointer = pointer;
    *found = pointer.n == 0;
    if (pointer.n == 0)
        return at;
    if (pointer.p[0] != '/')
        return NULL;
    (void)str_split(&rest, '/', &token);
    while (at && str_split(&rest, '/', &token)) {
        *found = !rest.p && at->type == JSON_OBJECT;
        at = child(p, at, unescape(p->arena, token));
    }
    return at;
}

/*
 * Adds up about how long v is as text, and says false when it would stand too deep.  What is
 * looked at counts as work.
 */
static bool measure(struct patch *p, const struct json *v, size_t depth, size_t *bytes)
{
    if ((v->type == JSON_ARRAY || v->type == JSON_OBJECT) && ++depth > JSON_DEPTH_MAX)
        return false;
    p->work++;
    *bytes += v->type == JSON_STRING ? v->n + 3 : 5;
    json_for_each (it, v)
        if (!measure(p, it, depth, bytes))
            return false;
    json_for_each_member (m, v) {
        *bytes += m->name.n + 3;
        if (!measure(p, &m->value, depth, bytes))
            return false;
    }
    return true;
}

static void insert_at(struct patch *p, struct json *array, size_t i, struct json v)
{
    struct json *items = children(array);

    memmove(items + i + 1, items + i, (array->n - i) * sizeof(*items));
    p->work += array->n - i;
    items[i] = v;
    array->n++;
}

/* Checks that v may stand there. */
static int fits(struct patch *p, const struct place *to, const struct json *v)
{
    size_t bytes = 0;

    return measure(p, v, to->depth, &bytes) ? 0 : refuse(p, "exceeded max depth");
}

static int add_at(struct patch *p, const struct place *to, struct json v)
{
    size_t i = to->in->n;
    struct json *old;

    if (fits(p, to, &v) < 0)
        return -1;
    if (to->in->type == JSON_ARRAY) {
        if (!str_is(to->token, "-") && !to_index(to->token, (size_t)to->in->n + 1, &i))
            return refuse(p, "the array has no such index");
        insert_at(p, to->in, i, v);
        return 0;
    }
    old = own_child(p, to->in, to->token);
    if (old)
        *old = v;
    else
        ((struct json_member *)children(to->in))[to->in->n++] =
            (struct json_member){ to->token, v };
    return 0;
}

static int remove_at(struct patch *p, const struct place *from, struct json *removed)
{
    size_t size = child_size(from->in), i;
    const struct json *v = own_child(p, from->in, from->token);
    char *first = children(from->in);

    if (!v)
        return refuse(p, "there is nothing to remove");
    *removed = *v;
    i = (size_t)((const char *)v - first) / size;
    from->in->n--;
    p->work += from->in->n - i;
    memmove(first + i * size, first + (i + 1) * size, (from->in->n - i) * size);
    return 0;
}

struct operation {
    str path, from;
    bool has_path, has_from;
    const struct json *value; /* null where there is none, as evanphx/json-patch takes it */
};

static int op_add(struct patch *p, const struct operation *op)
{
    struct place to;

    return locate(p, op->path, &to) < 0 ? -1 : add_at(p, &to, *op->value);
}

static int op_remove(struct patch *p, const struct operation *op)
{
    struct place from;
    struct json removed;

    return locate(p, op->path, &from) < 0 ? -1 : remove_at(p, &from, &removed);
}

static int op_replace(struct patch *p, const struct operation *op)
{
    struct place to;
    struct json *old;

    if (op->path.n == 0) {
        p->pointer = op->path;
        if (op->value->type != JSON_OBJECT && op->value->type != JSON_ARRAY)
            return refuse(p, "a document is an object or an array");
        p->root = *op->value;
        return 0;
    }
    if (locate(p, op->path, &to) < 0)
        return -1;
    if (to.in->type == JSON_OBJECT)
        return add_at(p, &to, *op->value);
    old = own_child(p, to.in, to.token);
    if (!old)
        return refuse(p, "the array has no such index");
    if (fits(p, &to, op->value) < 0)
        return -1;
    *old = *op->value;
    return 0;
}

static int op_move(struct patch *p, const struct operation *op)
{
    struct place from, to;
    struct json v;

    if (locate(p, op->from, &from) < 0 || remove_at(p, &from, &v) < 0)
        return -1;
    return locate(p, op->path, &to) < 0 ? -1 : add_at(p, &to, v);
}

static int op_copy(struct patch *p, const struct operation *op)
{
    bool found;
    const struct json *v = look(p, op->from, &found);
    struct place to;

    /* evanphx/json-patch: a member that is not there is copied as null. */
    if (op->from.n == 0 || (!v && !found))
        return refuse(p, "there is nothing to copy");
    v = v ? v : &json_null;
    if (!measure(p, v, 0, &p->copied) || p->copied > JSON_PATCH_COPY_MAX)
        return refuse(p, "the copies of this patch are too large");
    v = json_dup(p->arena, v);
    return locate(p, op->path, &to) < 0 ? -1 : add_at(p, &to, *v);
}

static int op_test(struct patch *p, const struct operation *op)
{
    bool found;
    const struct json *v = look(p, op->path, &found);

    /* evanphx/json-patch: a member that is not there equals null. */
    if (!v && !found)
        return refuse(p, "the path does not exist");
    if (!json_equal(v ? v : &json_null, op->value))
        return refuse(p, "test failed");
    return 0;
}

static const struct {
    const char *name;
    int (*apply)(struct patch *p, const struct operation *op);
    bool needs_from;
} operations[] = {
    { "add", op_add, false },  { "remove", op_remove, false }, { "replace", op_replace, false },
    { "move", op_move, true }, { "copy", op_copy, true },      { "test", op_test, false },
};

static int apply(struct patch *p, const struct json *v)
{
    const struct json *path = json_get(v, STR("path")), *from = json_get(v, STR("from"));
    const struct json *value = json_get(v, STR("value"));
    struct operation op = { .path = json_str(path),
                            .from = json_str(from),
                            .has_path = json_is(path, JSON_STRING),
                            .has_from = json_is(from, JSON_STRING),
                            .value = value ? value : &json_null };
    str name = json_str(json_get(v, STR("op")));

    p->op = "unknown";
    p->pointer = op.path;
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (!str_is(name, operations[i].name))
            continue;
        p->op = operations[i].name;
        if (!op.has_path || (operations[i].needs_from && !op.has_from))
            return refuse(p, op.has_path ? "from is missing" : "path is missing");
        return operations[i].apply(p, &op);
    }
    return refuse(p, "there is no such operation");
}

static int apply_all(struct patch *p, const struct json *patch)
{
    json_for_each (op, patch) {
        if (op->type != JSON_OBJECT && op->type != JSON_NULL)
            return status_set(p->st, REASON_BAD_REQUEST,
                              "an operation of a JSON patch is an object, not %s",
                              json_type_name(op));
        if (apply(p, op) < 0)
            return -1;
        if (p->work > WORK_MAX)
            return status_set(p->st, REASON_TOO_LARGE,
                              "Request entity too large: the JSON patch is too much work");
    }
    return 0;
}

int json_patch(struct arena *a, const struct json *doc, const struct json *patch,
               const struct json **out, struct status *st)
{
    struct patch p = { .arena = a, .st = st, .root = *doc };
    int rc;

    if (!json_is(patch, JSON_ARRAY))
        return status_set(st, REASON_BAD_REQUEST, "a JSON patch is an array, not %s",
                          json_type_name(patch));
    if (patch->n > JSON_PATCH_OPS_MAX)
        return status_set(st, REASON_TOO_LARGE,
                          "Request entity too large: The allowed maximum operations in a JSON "
                          "patch is %d, got %u",
                          JSON_PATCH_OPS_MAX, patch->n);
    rc = apply_all(&p, patch);
    map64_release(&p.own);
    if (rc == 0)
        *out = json_box(a, p.root);
    return rc;
}

static bool holds_nulls(const struct json *v)
{
    json_for_each (it, v)
        if (holds_nulls(it))
            return true;
    json_for_each_member (m, v)
        if (m->value.type == JSON_NULL || holds_nulls(&m->value))
            return true;
    return false;
}

static struct json prune(struct arena *a, const struct json *v)
{
    struct json_array r = json_array_new(a);
    struct json_object o = json_object_new(a);

    if (v->type != JSON_ARRAY && v->type != JSON_OBJECT)
        return *v;
    json_for_each (it, v)
        json_push(&r, prune(a, it));
    json_for_each_member (m, v)
        if (m->value.type != JSON_NULL)
            json_add(&o, m->name, prune(a, &m->value));
    return v->type == JSON_ARRAY ? json_array_value(&r) : json_object_value(&o);
}

/* Without members that are null.  k8s: evanphx/json-patch merge.go looks into arrays, too. */
static struct json pruned(struct arena *a, const struct json *v)
{
    return holds_nulls(v) ? prune(a, v) : *v;
}

static struct json merge(struct arena *a, const struct json *doc, const struct json *patch)
{
    const struct json_member *few[MEMBERS_FEW], **sorted;
    struct json_object o = json_object_new(a);
    bool *met;

    if (!json_is(doc, JSON_OBJECT) || patch->type != JSON_OBJECT)
        return pruned(a, patch);
    sorted = members_sorted(patch->members, patch->n, few);
    met = arena_alloc(a, patch->n);
    json_for_each_member (m, doc) {
        const struct json_member *change = members_search(sorted, patch->n, m->name);

        if (change)
            met[change - patch->members] = true;
        if (!change)
            json_add(&o, m->name, m->value);
        else if (change->value.type != JSON_NULL)
            json_add(&o, m->name, merge(a, &m->value, &change->value));
    }
    members_sorted_free(sorted, few);
    json_for_each_member (m, patch)
        if (!met[m - patch->members] && m->value.type != JSON_NULL)
            json_add(&o, m->name, pruned(a, &m->value));
    return json_object_value(&o);
}

const struct json *json_merge_patch(struct arena *a, const struct json *doc,
                                    const struct json *patch)
{
    return json_box(a, merge(a, doc, patch));
}
