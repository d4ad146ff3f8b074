/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CEL_CEL_ADMISSION_H
#define OBJECT_CEL_CEL_ADMISSION_H

/*
 * The expressions of admission: conditions of webhooks, and all that a ValidatingAdmissionPolicy is
 * made of.  They see the write through the variables below; objects have no types when these run,
 * so what is wrong in them shows then; what types say of a policy is only told in its status.
 *
 * k8s: apiserver/pkg/admission/plugin/cel
 */

#include "object/cel/cel.h"

/* The order of values for cel_eval. */
enum cel_admission_var {
    ADMISSION_OBJECT,
    ADMISSION_OLD_OBJECT,
    ADMISSION_REQUEST,
    ADMISSION_AUTHORIZER,
    ADMISSION_REQUEST_RESOURCE,
    ADMISSION_NAMESPACE, /* from here on of policies only */
    ADMISSION_PARAMS,    /* if there is a paramKind */
    ADMISSION_VARIABLES,
    ADMISSION_VARS,
};

enum {
    ADMISSION_EXPRESSION_COST = 1000000, /* of one run */
    ADMISSION_POLICY_COST = 10000000,    /* of all of a policy on one write */
    ADMISSION_CONDITIONS_COST = 2500000, /* of all match conditions */
};

/* In which surroundings an expression stands. */
struct cel_admission {
    bool policy, params;
    const struct cel_type *object, *params_type; /* where they are known, else NULL */
    struct cel_var *variables; /* those before it, with the types of their results */
    size_t nvariables;
};

/* What an expression may give. */
enum cel_admission_result {
    ADMISSION_BOOL,
    ADMISSION_STRING,
    ADMISSION_STRING_OR_NULL,
    ADMISSION_ANY
};

/* NULL when it does not compile or gives something else: *why says it as Kubernetes does. */
const struct cel_program *cel_admission_compile(struct arena *a, str text,
                                                const struct cel_admission *scope,
                                                enum cel_admission_result result, str *why);

/*
 * What is wrong with an expression of a policy when its objects are of known types: NULL, and *why.
 * k8s: plugin/policy/validating/typechecking.go, which declares no authorizer.requestResource
 */
const struct cel_program *cel_admission_check(struct arena *a, str text,
                                              const struct cel_admission *scope, str *why);

#endif
