/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRASH_PROCESS_H
#define CRASH_PROCESS_H

/* The server as a process: started, told to end, killed, looked at when it is dead. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    const char *program, *dir; /* dir/data is the server's, dir/server.log what it says */
    pid_t pid;                 /* 0: none runs */
    int out;                   /* its standard output */
};

/* Starts it; false with a line on standard output when that is not possible. */
bool process_start(struct process *p);

/* Waits for the line that says it is ready, at most ms; false when it is dead or silent. */
bool process_ready(struct process *p, int64_t ms);

void process_signal(const struct process *p, int sig);

/*
 * Waits for the end, at most ms, and checks that it came by this signal, or (0) by exit status 0.
 * False, with a line that says what happened instead.
 */
bool process_ended(struct process *p, int by_signal, int64_t ms);

/* The last lines of its log, as TAP diagnostics. */
void process_show_log(const struct process *p);

int64_t now_us(void);

#endif
