/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_SELECTOR_H
#define OBJECT_META_SELECTOR_H

/* Label and field selectors (spec/apimachinery 7.4, 7.5). */

#include "json/json.h"

enum selector_op {
    SELECTOR_IN, /* also = and == */
    SELECTOR_NOT_IN,
    SELECTOR_EXISTS,
    SELECTOR_NOT_EXISTS,
    SELECTOR_GT,
    SELECTOR_LT,
};

struct selector_term {
    str key;
    enum selector_op op;
    const str *values; /* sorted, each once */
    size_t nvalues;
    int64_t number; /* of GT and LT */
};

struct selector { /* all terms must hold; none: everything matches */
    const struct selector_term *terms;
    size_t nterms;
};

/* BAD_REQUEST with Kubernetes' wording.  An empty text matches everything. */
int selector_parse_labels(struct arena *a, str text, struct selector *out, struct status *st)
    __attribute__((warn_unused_result));
/* Only IN and NOT_IN with one value.  Which fields a kind knows is checked by the kind. */
int selector_parse_fields(struct arena *a, str text, struct selector *out, struct status *st)
    __attribute__((warn_unused_result));

/* A metav1.LabelSelector; BAD_REQUEST when it makes no sense. */
int selector_of_tree(struct arena *a, const struct json *tree, struct selector *out,
                     struct status *st) __attribute__((warn_unused_result));

/* A metav1.LabelSelector as a query says it, `a=b,c in (d,e),!f` in order of keys; "" if it is
 * empty. */
str selector_print(struct arena *a, const struct json *tree);

bool selector_matches(const struct selector *s, const struct json *labels); /* labels may be NULL */
bool selector_term_matches(const struct selector_term *t, bool present, str value);

#endif
