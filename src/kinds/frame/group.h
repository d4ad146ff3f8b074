/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_GROUP_H
#define KINDS_FRAME_GROUP_H

/* What a file of one group gives to kinds.c; only the files of kinds/ include this. */

#include "rest/kind.h"

struct group {
    str name, version;
    const char *schemas;        /* OpenAPI names are this, a dot and the Kind */
    const struct group *stored; /* where these kinds are stored in another's form */
    struct kind *kinds;         /* kinds_init fills in what follows from the rest */
    size_t n;
};

#define GROUP_LEN(array)    (sizeof(array) / sizeof(*(array)))
#define LIST(member, array) .member = (array), .n##member = GROUP_LEN(array)
#define KIND_NAMES(one, many, lower) \
    .kind = STR_INIT(one), .plural = STR_INIT(many), .singular = STR_INIT(lower)

/* Columns of strings; most kinds begin with one of these and end with the other. */
#define COLUMN_OF(kind, title, fmt, prio, text)                                           \
    {                                                                                     \
        STR_INIT(title), STR_INIT(kind), STR_INIT(fmt), STR_INIT(text), .priority = prio, \
    }
#define COLUMN(title, fmt, prio, text) COLUMN_OF("string", title, fmt, prio, text)
#define COUNT_COLUMN(title, text)      COLUMN_OF("integer", title, "", 0, text)
#define NAME_COLUMN                    COLUMN("Name", "name", 0, "Name of the object.")
#define AGE_COLUMN                     COLUMN("Age", "", 0, "How long ago it was made.")

#endif
