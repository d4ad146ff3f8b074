/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/affected.h"

#include "base/banned.h"

enum { NAMED_MAX = 20, HASHED_MAX = 1000, COUNT_MAX = 100000 };

struct walk {
    struct affected *n;
    const struct kind *kind;
    uint64_t seen, max;
    struct status *st;
    bool failed;
};

static void add_name(struct affected *n, str kind, str namespace, str name)
{
    n->text = str_printf(n->arena, "%.*s%s%.*s%s%.*s%s%.*s", STR_ARG(n->text),
                         n->text.n ? ", " : "", STR_ARG(kind), kind.n ? " " : "",
                         STR_ARG(namespace), namespace.n ? "/" : "", STR_ARG(name));
    n->named++;
}

/* An object has a name in its metadata, a reference to one beside its kind. */
static void add_about(struct affected *n, const struct json *about)
{
    const struct json *metadata = json_get(about, STR("metadata"));
    const struct json *named = metadata ? metadata : about;

    if (json_get_str(named, "name").n)
        add_name(n, n->kinds ? json_get_str(about, "kind") : STR_NONE,
                 json_get_str(named, "namespace"), json_get_str(named, "name"));
}

static bool look(void *arg, const struct row *row)
{
    struct walk *w = arg;
    struct affected *n = w->n;
    const struct json *tree;
    str namespace, name;

    w->seen++;
    if (n->named < NAMED_MAX && n->about) {
        if (row_tree(n->arena, w->kind, row, STR_NONE, &tree, w->st) < 0) {
            w->failed = true;
            return false;
        }
        add_about(n, n->about(tree));
    } else if (n->named < NAMED_MAX) {
        row_split(w->kind, row->name, &namespace, &name);
        add_name(n, n->kinds ? w->kind->kind : STR_NONE, namespace, name);
    }
    return w->seen < w->max;
}

int affected_add(struct affected *n, struct rows_range *range, struct status *st)
{
    struct walk w = { .n = n, .kind = range->kind, .st = st };
    struct rows_range all = *range;
    uint64_t counted = 0;

    w.max = range->hash ? HASHED_MAX : NAMED_MAX + 1;
    if (rows_scan(n->rest, range, look, &w, st) < 0 || w.failed)
        return -1;
    n->more |= w.seen == w.max && range->hash;
    if (w.seen == w.max && !range->hash) {
        if (rows_count(n->rest, &all, COUNT_MAX, &counted, st) < 0)
            return -1;
        n->more |= counted == 0;
        w.seen = counted ? counted : COUNT_MAX;
    }
    n->n += w.seen;
    return 0;
}

str affected_text(const struct affected *n, const char *one, const char *many)
{
    str text = str_printf(n->arena, "%llu%s %s", (unsigned long long)n->n,
                          n->more ? " or more" : "", n->n == 1 ? one : many);

    if (n->named == 0)
        return text;
    if (n->n == n->named)
        return str_printf(n->arena, "%.*s (%.*s)", STR_ARG(text), STR_ARG(n->text));
    return str_printf(n->arena, "%.*s (%.*s and %llu more)", STR_ARG(text), STR_ARG(n->text),
                      (unsigned long long)(n->n - n->named));
}
