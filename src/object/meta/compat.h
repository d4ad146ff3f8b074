/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_COMPAT_H
#define OBJECT_META_COMPAT_H

/*
 * Whether one structural schema (the openAPIV3Schema of a CRD) fits another, and what two have in
 * common.  Pure; for the negotiation of types that several clusters bring.
 *
 * compat_schema() asks: is every object that is valid by `existing` valid by `other`, too?  When it
 * may narrow it looks for the lowest common denominator instead: a schema whose objects are valid
 * by both.  What it cannot decide (patterns, rules, combinations of schemas that differ) it takes
 * for incompatible, so that an answer "compatible" can be trusted.  Fields that a schema does not
 * name are dropped by servers, and an object without them is not refused: hence a property that is
 * missing in `other` is a finding, one that is missing in `existing` is none.
 *
 * kcp: pkg/schemacompat, with its unsound and crashing cases put right
 */

#include "json/json.h"

enum {
    COMPAT_FINDINGS_MAX = 32,  /* more are counted only */
    COMPAT_STEPS_MAX = 200000, /* pairs of nodes looked at; beyond it: a finding */
};

struct compat_finding {
    str at; /* "spec.properties[replicas]": where in the schema, as kcp says it; empty: the root */
    str message;
};

struct compat_report {
    struct compat_finding findings[COMPAT_FINDINGS_MAX];
    size_t n;     /* of all findings, also of those beyond the maximum */
    bool warning; /* compatible, but defaults or embedded resources differ */
    size_t steps; /* of the comparison */
};

/*
 * `existing`, or when narrowing the schema that both have in common; NULL when they are not
 * compatible, and the report says why.  Never fails otherwise, whatever the trees are.
 */
const struct json *compat_schema(struct arena *a, const struct json *existing,
                                 const struct json *other, bool narrow, struct compat_report *r);

/* All findings in one sentence for people, at most max bytes of it. */
str compat_text(struct arena *a, const struct compat_report *r, size_t max);

#endif
