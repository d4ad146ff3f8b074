/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_SELECT_H
#define REST_SELECT_H

/* Which rows a list, a watch or a deletecollection is about. */

#include "object/meta/selector.h"
#include "rest/rows.h"

struct selection {
    const struct kind *kind;
    struct selector labels, fields;
    str prefix;           /* of row names: the namespace */
    str namespace_, name; /* from metadata.name= and the path, or empty */
    uint64_t hash;        /* index row to go by, or 0 */
    bool all;             /* no selector: every row of the prefix */
    bool but_root;        /* of all instances, but not of root: kairship.io/instance!=root */
};

/* From the path and the options; BAD_REQUEST for a bad selector. */
int selection_init(struct selection *s, struct rest_request *req, struct status *st)
    __attribute__((warn_unused_result));

/* Label selectors read the labels only, field selectors of the kind the whole object. */
bool selection_matches(const struct selection *s, struct arena *a, const struct row *row);
/* The same of a row that was converted to the request's version: into this tree; NULL: it was not.
 */
bool selection_sees(const struct selection *s, struct arena *a, const struct row *row,
                    const struct json *tree);

#endif
