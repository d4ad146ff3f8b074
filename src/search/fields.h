/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_FIELDS_H
#define SEARCH_FIELDS_H

/*
 * Clusterpedia's field selectors: the operators of label selectors on paths of any depth.
 *
 *     status.phase!=Running,.spec.replicas in (1,2),metadata.annotations['a.io/b']=c,!spec.paused
 *
 * Elements of lists (a[0].b, a[].b) can be written but not be asked for: INVALID.  `>` and `<` are
 * refused: values are compared as text.
 */

#include "object/meta/selector.h"

struct field_term {
    const str *path;
    size_t npath;
    enum selector_op op; /* IN, NOT_IN, EXISTS or NOT_EXISTS */
    const str *values;
    size_t nvalues;
};

struct fields {
    struct field_term *terms;
    size_t n;
};

enum { FIELDS_TERMS_MAX = 64, FIELDS_VALUES_MAX = 256 };

int fields_parse(struct arena *a, str text, struct fields *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
