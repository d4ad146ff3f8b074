/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_QUOTA_GATE_H
#define APISERVER_ADMISSION_QUOTA_GATE_H

/*
 * Runs the writes that charge the same ledger one after the other, in the order of their arrival.
 * The precondition on the ledger alone would be correct, but many concurrent writes would each be
 * repeated again and again until one happens to win.
 *
 * The gates keep state only for namespaces with such a write in progress.
 */

#include "rest/rest.h"

struct quota_gates;

struct quota_gates *quota_gates_new(void);
void quota_gates_free(struct quota_gates *g); /* when no write waits */

/*
 * Returns true when it is the request's turn, which lasts until quota_gates_leave().  Otherwise the
 * request waits, and rest_write_again() is called when its turn comes.  Any thread.
 */
bool quota_gates_enter(struct quota_gates *g, struct rest_request *req);
void quota_gates_leave(struct quota_gates *g, struct rest_request *req);

#endif
