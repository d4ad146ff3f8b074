/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_GATE_H
#define APISERVER_CALL_GATE_H

/*
 * Stands between a long answer (a watch, what a member sends, a connection that was upgraded) and
 * its caller, and asks before each piece, either way, whether the caller may still have it
 * (struct call_chain, still).  Where the credential or the right was withdrawn nothing passes any
 * more, and the answer ends; a watch says why, by an event ERROR.  While it is not known, for some
 * milliseconds after a change, pieces wait here in their order; for a second, or beyond GATE_MAX,
 * the answer ends.
 *
 * An answer on which nothing happens stays open: it has nothing to tell.
 *
 * In the call's arena, on its loop.
 */

#include "apiserver/call/call.h"

enum { GATE_MAX = 4 << 20 }; /* bytes that wait, each way */

/* As the calls of struct call_ops, with the headers that were added. */
struct rest_sink *gate_stream(struct call *c, int code, void (*closed)(struct call *c));
struct rest_sink *gate_upgrade(struct call *c, void (*data)(struct call *c, str bytes),
                               void (*closed)(struct call *c));

#endif
