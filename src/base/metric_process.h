/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_METRIC_PROCESS_H
#define BASE_METRIC_PROCESS_H

/*
 * What every process tells of itself, under the names that Prometheus' own libraries use: memory,
 * time of the processors, open files, start.  metric_print() calls it.
 */

struct buf;

void metric_process_print(struct buf *out);

#endif
