/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_INTERP_SCRIPTS_H
#define FEDERATION_INTERP_SCRIPTS_H

/*
 * What a kind means to propagation where an instance says so itself: the Lua scripts of its
 * ResourceInterpreterCustomizations for that kind, compiled; and every question of interp.h, which
 * they are asked first.  What they do not answer, and all of it with NULL, the table does.
 *
 * Shared and frozen; any thread.  A script that fails makes the question fail: -1, INVALID, with
 * what it did.  Its limits are in federation/interp/lua_sandbox.h.
 *
 * karmada: pkg/resourceinterpreter/customized/declarative
 */

#include "federation/interp/interp.h"

struct scripts;

/*
 * Of customizations of one kind, in the order of their names: the first that has a script for an
 * operation wins, of dependencies all are asked.  Scripts that do not compile are as if not there.
 */
struct scripts *scripts_new(const struct json *const *customizations, size_t n);
struct scripts *scripts_ref(struct scripts *s); /* NULL is fine, as in: */
void scripts_unref(struct scripts *s);
size_t scripts_size(const struct scripts *s); /* bytes */

/*
 * Whether a customization may be stored beside the others (an array, or NULL): all its scripts
 * compile, and an operation of a kind has one.  -1 says in Karmada's words what is wrong.
 */
int scripts_check(struct arena *a, const struct json *customization, const struct json *others,
                  struct status *st) __attribute__((warn_unused_result));

/* 1; 0 when it has no replicas. */
int scripts_replicas(const struct scripts *s, struct arena *a, const struct json *object,
                     struct interp_replicas *out, struct status *st)
    __attribute__((warn_unused_result));
int scripts_revise(const struct scripts *s, struct arena *a, const struct json *object,
                   int64_t replicas, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
int scripts_dependencies(const struct scripts *s, struct arena *a, const struct json *object,
                         const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
int scripts_aggregate(const struct scripts *s, struct arena *a, const struct json *object,
                      const struct json *aggregated, const struct interp_moment *m,
                      const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
int scripts_retain(const struct scripts *s, struct arena *a, const struct json *desired,
                   const struct json *observed, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
int scripts_reflect(const struct scripts *s, struct arena *a, const struct json *observed,
                    const struct json **out, struct status *st) __attribute__((warn_unused_result));
/* UNKNOWN when the script fails. */
enum interp_health scripts_health(const struct scripts *s, struct arena *a,
                                  const struct json *observed);

#endif
