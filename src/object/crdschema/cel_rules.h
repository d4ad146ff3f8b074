/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CRDSCHEMA_CEL_RULES_H
#define OBJECT_CRDSCHEMA_CEL_RULES_H

/*
 * x-kubernetes-validations: rules in CEL at the nodes of a CRD's schema.  They are compiled with
 * the schema (object/crdschema/structural.h) and run after everything else that the schema says
 * holds.
 *
 * k8s: apiextensions-apiserver/pkg/apiserver/schema/cel; the wording is theirs.
 */

#include "object/cel/cel.h"

enum {
    CEL_RULE_COST_MAX = 1000000,    /* of one run */
    CEL_OBJECT_COST_MAX = 10000000, /* of all rules on one object */
    CEL_MESSAGE_MAX = 5 * 1024,     /* bytes that a messageExpression may give */
};

struct cel_rule {
    str rule, message; /* trimmed; message may be empty */
    enum cause_type reason;
    bool uses_old; /* a transition rule */
    bool optional_old;
    str field_path;                    /* below the node, "" if it was not said; or not valid */
    const struct cel_program *program; /* NULL: `error` says why, or it is empty */
    const struct cel_program *message_program;
    str error, message_error;
};

struct cel_rules {
    const struct cel_rule *all;
    size_t n;
    bool untyped; /* there is no type for self, so that none of them was compiled */
};

/* The rules of a node, whose schema is complete but for them; NULL when there are none. */
const struct cel_rules *cel_rules_compile(struct arena *a, const struct schema *s,
                                          const struct json *list);

/* Adds a cause for each rule that fails.  `old` is the stored object, or NULL on create: what did
 * not change is tolerated (status_tolerate()), but by rules about a change. */
void cel_rules_validate(const struct schema *s, const struct json *obj, const struct json *old,
                        struct status *st);

/* The same of a default at a path: it must hold where it stays and where it is new. */
void cel_rules_validate_default(const struct schema *s, str path, const struct json *value,
                                struct status *st);

#endif
