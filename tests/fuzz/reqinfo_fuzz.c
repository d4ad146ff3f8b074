/* SPDX-License-Identifier: Apache-2.0 */

/* "METHOD path?query": what comes out must be safe to use as names, whatever goes in. */

#include <assert.h>

#include "apiserver/call/reqinfo.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"

static void check_segment(str s)
{
    assert(str_find(s, '/', 0) < 0);
    assert(!str_eq(s, STR(".")) && !str_eq(s, STR("..")));
    assert(s.n == 0 || (!memchr(s.p, '\0', s.n) && str_utf8_valid(s)));
}

static void check_info(const struct reqinfo *i)
{
    const str segments[] = { i->instance, i->group, i->version,    i->namespace_,
                             i->resource, i->name,  i->subresource };

    for (size_t k = 0; k < sizeof(segments) / sizeof(*segments); k++)
        check_segment(segments[k]);
    assert(i->path.n > 0 && i->path.p[0] == '/');
    assert((i->instance.n == 0) == (i->prefix.n == 0));
    if (!i->is_resource) {
        assert(i->resource.n == 0 && i->group.n == 0);
        return;
    }
    assert(i->resource.n > 0 && i->version.n > 0 && i->api_prefix.n > 0);
    assert(i->subresource.n == 0 || i->name.n > 0);
    assert(i->rest.n == 0 || i->subresource.n > 0);
    assert((i->group.n == 0) == str_eq(i->api_prefix, STR("api")));
}

static void check_options(struct arena *a, str query)
{
    struct list_options list = { 0 };
    struct write_options write = { 0 };
    struct delete_options del = { 0 };
    struct status st;
    int64_t ms = 0;

    status_init(&st, a);
    if (list_options_parse(a, query, &list, &st) == 0)
        assert(list.timeout_s >= 0 && list.limit <= INT64_MAX);
    status_reset(&st);
    if (write_options_parse(a, query, WRITE_PATCH, &write, &st) == 0)
        assert(write.field_manager.n <= 128 && !write.force_given);
    status_reset(&st);
    if (delete_options_parse(a, query, &del, &st) < 0)
        assert(st.message.n > 0);
    status_reset(&st);
    if (query_timeout(a, query, &ms, &st) == 0)
        assert(ms >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str all = { (const char *)data, size }, rest = all, method, path;
    struct reqinfo info;
    struct status st;

    status_init(&st, a);
    if (!str_split(&rest, ' ', &method) || !str_split(&rest, '?', &path))
        return 0;
    if (reqinfo_parse(a, method, path, rest, &info, &st) < 0) {
        assert(status_is(&st, REASON_BAD_REQUEST) || status_is(&st, REASON_NOT_FOUND));
        return 0;
    }
    check_info(&info);
    check_options(a, rest);
    return 0;
}
