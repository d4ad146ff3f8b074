/* SPDX-License-Identifier: Apache-2.0 */
#include "object/crdschema/structural.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

static const struct schema_field meta_fields[] = {
    { .name = STR_INIT("name"), .type = &(const struct schema){ .type = SCHEMA_STRING } },
};
static const struct schema object_meta = {
    .type = SCHEMA_OBJECT,
    .name = STR_INIT("ObjectMeta"),
    .fields = meta_fields,
    .nfields = 1,
};

static bool read(struct arena *a, str text, const struct json **out)
{
    struct status st;

    status_init(&st, a);
    return json_parse(a, text, NULL, out, &st) == 0;
}

static unsigned faults(struct arena *a, const struct schema *s, const struct json *obj,
                       const struct json *old)
{
    struct status st;

    status_init(&st, a);
    structural_validate(s, obj, old, &st);
    return st.ncauses;
}

/*
 * A schema, a line's end, an object.  Decoding twice is the same as once, nothing is unknown the
 * second time, and an object that does not change is as good as before.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str rest = { (const char *)data, size }, text;
    const struct json *openapi, *obj, *once, *twice;
    struct schema_faults first = { 0 }, second = { 0 };
    const struct schema *s;
    struct status st;

    if (size > 16384 || !str_split(&rest, '\n', &text) || !rest.p || !read(a, text, &openapi) ||
        !read(a, rest, &obj))
        return 0;
    status_init(&st, a);
    if (structural_compile(a, &object_meta, openapi, false, &s, &st) < 0) {
        assert(status_is(&st, REASON_INVALID));
        return 0;
    }
    (void)faults(a, s, obj, NULL);
    if (structural_decode(a, s, obj, STRUCTURAL_REQUEST, &first, &once, &st) < 0) {
        assert(status_is(&st, REASON_BAD_REQUEST));
        status_reset(&st);
        first.n = 0;
    }
    if (structural_decode(a, s, obj, STRUCTURAL_STORED, &first, &once, &st) < 0)
        assert(!"the store's objects can always be decoded");
    if (structural_decode(a, s, once, STRUCTURAL_STORED, &second, &twice, &st) < 0)
        assert(!"the store's objects can always be decoded");
    assert(second.n == 0 && json_equal(once, twice));
    /* Rules in CEL may ask for a change, and are run once there are no other faults. */
    assert(faults(a, s, once, once) <= faults(a, s, once, NULL) || s->rules->below_cel);
    return 0;
}
