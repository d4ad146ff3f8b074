/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_TABLES_H
#define KINDS_TABLES_H

/* The texts of tables/, in the program: made by tools/embed when it is built. */

#include "base/str.h"

struct table {
    const char *name; /* of the file */
    str text;
};

extern const struct table tables[];
extern const size_t tables_count;

extern const struct table default_roles[]; /* default_roles.txt */
extern const size_t default_roles_count;

#endif
