/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_QUOTA_GATE_H
#define SERVER_QUOTA_GATE_H

/*
 * Writes that charge the same ledger go one after the other, in the order in which they came.  The
 * ledger's expectation alone would be right, too; but of many at once each would be made again and
 * again until it happens to win.
 *
 * Only namespaces in which such a write is under way are known here.
 */

#include "rest/rest.h"

struct quota_gates;

struct quota_gates *quota_gates_new(void);
void quota_gates_free(struct quota_gates *g); /* nothing waits any more */

/*
 * True: it is the request's turn, until quota_gates_leave.  False: it waits, and rest_write_again
 * is called for it when it is.  Any thread.
 */
bool quota_gates_enter(struct quota_gates *g, struct rest_request *req);
void quota_gates_leave(struct quota_gates *g, struct rest_request *req);

#endif
