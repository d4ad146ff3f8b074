/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_OUTBOUND_CONVERT_H
#define APISERVER_OUTBOUND_CONVERT_H

/*
 * ConversionReview, apiextensions.k8s.io/v1: objects of a CRD in another version, by its webhook.
 *
 * k8s: apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go
 */

#include "rest/rest.h"

/* What rest asks (rest/rest.h). */
void server_convert(struct rest_question *q);
void server_convert_cancel(struct rest_question *q);

/*
 * The objects that an answer has for those that were sent, as many and in the same order; of their
 * metadata only labels and annotations may be others.  INTERNAL with the reason.
 */
int conversion_read(struct arena *a, str text, str uid, const struct json *sent, str to,
                    const struct json **out, struct status *st) __attribute__((warn_unused_result));

#endif
