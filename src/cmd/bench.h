/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_BENCH_H
#define CMD_BENCH_H

/* kairship bench: a load tool for any server of the Kubernetes API. */
int cmd_bench(int argc, char **argv);

#endif
