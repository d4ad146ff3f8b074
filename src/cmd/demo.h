/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_DEMO_H
#define CMD_DEMO_H

/*
 * `kairship up --demo`: something to try it with.  The instance "demo", and three simulated member
 * clusters that have joined it.  The members are a process of their own (kairship simulate), and
 * nothing but their kubeconfigs connects the two; it ends with us, however we end.
 */

#include "base/status.h"

struct demo;

/*
 * Starts the members' process, with dir/members for its data; sandbox is its option.  Before this
 * process shuts itself in (base/sandbox.h).  *out is to be stopped even after -1.
 */
int demo_start(const char *dir, const char *sandbox, struct demo **out, struct status *st)
    __attribute__((warn_unused_result));
/*
 * dir/admin.kubeconfig is there, and the server answers at this host and port: makes the instance
 * and dir/demo.kubeconfig. Returns when the members are ready, or -1 with why not.  Not on a loop's
 * thread.
 */
int demo_join(struct demo *d, str host, unsigned port, struct status *st)
    __attribute__((warn_unused_result));
void demo_stop(struct demo *d); /* NULL is fine */

void demo_greet(const struct demo *d); /* what to type next */

#endif
