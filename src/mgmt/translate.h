/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MGMT_TRANSLATE_H
#define MGMT_TRANSLATE_H

/*
 * Kubernetes' objects as messages of api/: the tables of the messages say what is taken.
 *
 * Fields have the names that Kubernetes has, but for capitals; where the types differ, the value
 * is the same in the other form: times and quantities are numbers, what is a number or a word
 * ("25%") is a string, any JSON is its text.  What a message has no field for, and what does not
 * fit, is left out.
 */

#include "rpc/message.h"

const struct json *translate(struct arena *a, const struct rpc_message *m, const struct json *obj);

#endif
