/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_REFUSAL_H
#define KINDS_REFUSAL_H

/* Tests of kinds whose writes meet two walls, the schema's and a webhook's (kinds/own/karmada.h).
 */

#include "unit/kinds_fixture.h"

/* What the schema says of a manifest with ' for ", and if that is nothing what the webhook says. */
static inline const char *refusal(struct fixture *f, const struct json *obj, const struct json *old)
{
    const char *faults = fixture_faults(f, obj, old);

    if (*faults || !f->kind->ops->review)
        return faults;
    status_reset(&f->st);
    if (f->kind->ops->review(&f->c, obj, old, &f->st) == 0)
        return "";
    CHECK(status_is(&f->st, REASON_FORBIDDEN));
    CHECK(f->st.ncauses == 0);
    return str_z(f->c.arena, f->st.message);
}

static inline const char *create(struct fixture *f, const char *manifest)
{
    return refusal(f, fixture_read(f, fixture_quotes(f, manifest)), NULL);
}

static inline const char *update(struct fixture *f, const char *was, const char *now)
{
    const struct json *old = fixture_read(f, fixture_quotes(f, was));

    return refusal(f, fixture_read(f, fixture_quotes(f, now)), old);
}

#endif
