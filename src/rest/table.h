/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_TABLE_H
#define REST_TABLE_H

/*
 * The rows and columns of meta.k8s.io/v1 Table: objects as `kubectl get` shows them.  Who writes
 * the frame around them (rest/form.h) also puts the commas between rows, so that a list of any
 * length streams.
 */

#include "rest/kind.h"

/* What a row carries beside its cells. */
enum table_include { TABLE_METADATA, TABLE_NONE, TABLE_OBJECT };

/* The query parameter includeObject; BAD_REQUEST on an unknown value. */
int table_include_parse(str text, enum table_include *out, struct status *st)
    __attribute__((warn_unused_result));

/* The array columnDefinitions: the kind's own, or Name and Created At. */
void table_columns(struct buf *b, const struct kind *k);

/* obj is the object in the version of k; kind and apiVersion need not be in it. */
void table_row(struct buf *b, struct arena *a, const struct kind *k, const struct json *obj,
               enum table_include include, int64_t now_s);

#endif
