/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SANDBOX_INTERNAL_H
#define BASE_SANDBOX_INTERNAL_H

/* Between the files of base/sandbox.h. */

#include "base/sandbox.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANDBOX_INSTRUMENTED 1
#endif
#endif
#ifndef SANDBOX_INSTRUMENTED
#define SANDBOX_INSTRUMENTED 0
#endif

/* The version of Landlock that is in force from now on in this thread, 0: the kernel has none that
 * does; -1. */
int sandbox_files_close(const struct sandbox_options *o, struct status *st);

/* How many calls are let through, 0: kernel or machine cannot; and from now on in all threads. */
int sandbox_calls_count(unsigned needs);
int sandbox_calls_close(unsigned needs, struct status *st);

#endif
