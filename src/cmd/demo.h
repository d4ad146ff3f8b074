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
 * dir: the data's; its admin.kubeconfig is there, and the server answers.  Makes dir/members and
 * dir/demo.kubeconfig.  Returns when the members are ready, or -1 with why not; *out is to be
 * stopped either way.  Not on a loop's thread.
 */
int demo_start(const char *dir, struct demo **out, struct status *st)
    __attribute__((warn_unused_result));
void demo_stop(struct demo *d); /* NULL is fine */

void demo_greet(const struct demo *d); /* what to type next */

#endif
