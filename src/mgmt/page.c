/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "mgmt/mgmt_internal.h"

enum { SIZE_MAX_PAGE = 10000 };

int mgmt_page_read(const struct json *request, struct mgmt_page *out, struct status *st)
{
    str dir = json_get_str(request, "sortDir");

    if (!dir.n)
        dir = json_get_str(request, "orderBy"); /* one list calls it so */
    *out = (struct mgmt_page){ .page = json_int(json_path(request, "page"), 1),
                               .size = json_int(json_path(request, "pageSize"), 0),
                               .sort_by = json_get_str(request, "sortBy"),
                               .ascending = str_is(dir, "asc"),
                               .name = json_get_str(request, "name") };
    if (!out->name.n)
        out->name = json_get_str(request, "fuzzyName"); /* some lists have both words for it */
    if (out->page < 0)
        return message_refuse(st, STR("page"), "must not be negative");
    if (out->size < 0)
        return message_refuse(st, STR("pageSize"), "must not be negative; 0 shows all");
    if (out->page == 0)
        out->page = 1;
    if (out->size > SIZE_MAX_PAGE)
        out->size = SIZE_MAX_PAGE;
    return 0;
}

static const struct {
    const char *sort_by, *field, *path;
} orders[] = {
    { "field_name", "name", "metadata.name" },
    { "cluster", "cluster", "metadata.annotations.cluster" },
    { "namespace", "namespace", "metadata.namespace" },
    { "created_at", "created_at", "metadata.creationTimestamp" },
};
enum { ORDERS = sizeof(orders) / sizeof(*orders) };

static size_t order_of(const struct mgmt_page *p)
{
    size_t i = 0;

    while (i < ORDERS && !str_is(p->sort_by, orders[i].sort_by))
        i++;
    return i;
}

str mgmt_page_order(const struct mgmt_page *p)
{
    static const char *const down[] = { "name desc", "cluster desc", "namespace desc",
                                        "created_at desc" };
    size_t i = order_of(p);

    if (i == ORDERS)
        return STR_NONE;
    return str_of(p->ascending ? orders[i].field : down[i]);
}

struct sorting {
    const char *path;
    bool ascending;
};

static int compare(const void *va, const void *vb, void *arg)
{
    const struct json *a = *(const struct json *const *)va, *b = *(const struct json *const *)vb;
    const struct sorting *s = arg;
    int order = str_cmp(json_get_str(a, s->path), json_get_str(b, s->path));

    if (order)
        return s->ascending ? order : -order;
    return str_cmp(json_get_str(a, "metadata.name"), json_get_str(b, "metadata.name"));
}

struct json mgmt_pagination(struct arena *a, const struct mgmt_page *p, uint64_t total)
{
    struct json_object o = json_object_new(a);
    uint64_t size = p->size ? (uint64_t)p->size : total;

    json_add(&o, STR("total"), json_of_int((int64_t)total));
    json_add(&o, STR("page"), json_of_int(p->page));
    json_add(&o, STR("pageSize"), json_of_int((int64_t)size));
    json_add(&o, STR("pages"), json_of_int(size ? (int64_t)((total + size - 1) / size) : 0));
    return json_object_value(&o);
}

const struct json *mgmt_page_answer(struct arena *a, const struct mgmt_page *p,
                                    const struct json **objects, size_t n,
                                    struct json (*shape)(struct arena *a, const struct json *obj))
{
    struct json_object o = json_object_new(a);
    struct json_array items = json_array_new(a);
    size_t order = order_of(p), from, kept = 0;
    struct sorting s = { order < ORDERS ? orders[order].path : "metadata.name",
                         order == ORDERS || p->ascending };

    for (size_t i = 0; i < n; i++)
        if (str_contains(json_get_str(objects[i], "metadata.name"), p->name))
            objects[kept++] = objects[i];
    qsort_r(objects, kept, sizeof(*objects), compare, &s);
    from = p->size ? (size_t)(p->page - 1) * (size_t)p->size : p->page > 1 ? kept : 0;
    for (size_t i = from; i < kept && (!p->size || i < from + (size_t)p->size); i++)
        json_push(&items, shape(a, objects[i]));
    json_add(&o, STR("items"), json_array_value(&items));
    json_add(&o, STR("pagination"), mgmt_pagination(a, p, kept));
    return json_object_done(&o);
}
