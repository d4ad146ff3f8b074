/* SPDX-License-Identifier: Apache-2.0 */
#include "object/cel/cel_admission.h"

#include "base/banned.h"
#include "object/cel/cel_internal.h"

#define LEN(array) (sizeof(array) / sizeof(*(array)))

/* ---- the request (k8s: admission/v1 AdmissionRequest, without its objects) ---- */

static const struct cel_type strings = { .kind = CEL_LIST, .item = &cel_types[CEL_STRING] };
static const struct cel_type extra = { .kind = CEL_MAP,
                                       .key = &cel_types[CEL_STRING],
                                       .item = &strings };

static const struct cel_var kind_fields[] = {
    { STR_INIT("group"), &cel_types[CEL_STRING] },
    { STR_INIT("version"), &cel_types[CEL_STRING] },
    { STR_INIT("kind"), &cel_types[CEL_STRING] },
};
static const struct cel_type kind_type = { .kind = CEL_OBJECT,
                                           .name = STR_INIT("kubernetes.GroupVersionKind"),
                                           .fields = kind_fields,
                                           .nfields = LEN(kind_fields) };

static const struct cel_var resource_fields[] = {
    { STR_INIT("group"), &cel_types[CEL_STRING] },
    { STR_INIT("version"), &cel_types[CEL_STRING] },
    { STR_INIT("resource"), &cel_types[CEL_STRING] },
};
static const struct cel_type resource_type = { .kind = CEL_OBJECT,
                                               .name = STR_INIT("kubernetes.GroupVersionResource"),
                                               .fields = resource_fields,
                                               .nfields = LEN(resource_fields) };

static const struct cel_var user_fields[] = {
    { STR_INIT("username"), &cel_types[CEL_STRING] },
    { STR_INIT("uid"), &cel_types[CEL_STRING] },
    { STR_INIT("groups"), &strings },
    { STR_INIT("extra"), &extra },
};
static const struct cel_type user_type = { .kind = CEL_OBJECT,
                                           .name = STR_INIT("kubernetes.UserInfo"),
                                           .fields = user_fields,
                                           .nfields = LEN(user_fields) };

static const struct cel_var request_fields[] = {
    { STR_INIT("kind"), &kind_type },
    { STR_INIT("resource"), &resource_type },
    { STR_INIT("subResource"), &cel_types[CEL_STRING] },
    { STR_INIT("requestKind"), &kind_type },
    { STR_INIT("requestResource"), &resource_type },
    { STR_INIT("requestSubResource"), &cel_types[CEL_STRING] },
    { STR_INIT("name"), &cel_types[CEL_STRING] },
    { STR_INIT("namespace"), &cel_types[CEL_STRING] },
    { STR_INIT("operation"), &cel_types[CEL_STRING] },
    { STR_INIT("userInfo"), &user_type },
    { STR_INIT("dryRun"), &cel_types[CEL_BOOL] },
    { STR_INIT("options"), &cel_types[CEL_DYN] },
};
static const struct cel_type request_type = { .kind = CEL_OBJECT,
                                              .name = STR_INIT("kubernetes.AdmissionRequest"),
                                              .fields = request_fields,
                                              .nfields = LEN(request_fields) };

/* ---- the namespace (k8s: plugin/cel/compile.go BuildNamespaceType) ---- */

static const struct cel_type labels = { .kind = CEL_MAP,
                                        .key = &cel_types[CEL_STRING],
                                        .item = &cel_types[CEL_STRING] };
static const struct cel_type anything = { .kind = CEL_LIST, .item = &cel_types[CEL_DYN] };

static const struct cel_var metadata_fields[] = {
    { STR_INIT("name"), &cel_types[CEL_STRING] },
    { STR_INIT("generateName"), &cel_types[CEL_STRING] },
    { STR_INIT("namespace"), &cel_types[CEL_STRING] },
    { STR_INIT("labels"), &labels },
    { STR_INIT("annotations"), &labels },
    { STR_INIT("UID"), &cel_types[CEL_STRING] },
    { STR_INIT("creationTimestamp"), &cel_types[CEL_DYN] },
    { STR_INIT("deletionGracePeriodSeconds"), &cel_types[CEL_INT] },
    { STR_INIT("deletionTimestamp"), &cel_types[CEL_DYN] },
    { STR_INIT("generation"), &cel_types[CEL_INT] },
    { STR_INIT("resourceVersion"), &cel_types[CEL_STRING] },
    { STR_INIT("finalizers"), &strings },
};
static const struct cel_type metadata_type = { .kind = CEL_OBJECT,
                                               .name = STR_INIT("kubernetes.NamespaceMetadata"),
                                               .fields = metadata_fields,
                                               .nfields = LEN(metadata_fields) };
static const struct cel_var spec_fields[] = { { STR_INIT("finalizers"), &strings } };
static const struct cel_type spec_type = { .kind = CEL_OBJECT,
                                           .name = STR_INIT("kubernetes.NamespaceSpec"),
                                           .fields = spec_fields,
                                           .nfields = LEN(spec_fields) };
static const struct cel_var status_fields[] = {
    { STR_INIT("conditions"), &anything },
    { STR_INIT("phase"), &cel_types[CEL_STRING] },
};
static const struct cel_type status_type = { .kind = CEL_OBJECT,
                                             .name = STR_INIT("kubernetes.NamespaceStatus"),
                                             .fields = status_fields,
                                             .nfields = LEN(status_fields) };
static const struct cel_var namespace_fields[] = {
    { STR_INIT("metadata"), &metadata_type },
    { STR_INIT("spec"), &spec_type },
    { STR_INIT("status"), &status_type },
};
static const struct cel_type namespace_type = { .kind = CEL_OBJECT,
                                                .name = STR_INIT("kubernetes.Namespace"),
                                                .fields = namespace_fields,
                                                .nfields = LEN(namespace_fields) };

/* ---- compiling ---- */

static const struct cel_var all[ADMISSION_VARS] = {
    [ADMISSION_OBJECT] = { STR_INIT("object"), &cel_types[CEL_DYN] },
    [ADMISSION_OLD_OBJECT] = { STR_INIT("oldObject"), &cel_types[CEL_DYN] },
    [ADMISSION_REQUEST] = { STR_INIT("request"), &request_type },
    [ADMISSION_AUTHORIZER] = { STR_INIT("authorizer"), &cel_types[CEL_AUTHORIZER] },
    [ADMISSION_REQUEST_RESOURCE] = { STR_INIT("authorizer.requestResource"),
                                     &cel_types[CEL_RESOURCE_CHECK] },
    [ADMISSION_NAMESPACE] = { STR_INIT("namespaceObject"), &namespace_type },
    [ADMISSION_PARAMS] = { STR_INIT("params"), &cel_types[CEL_DYN] },
    [ADMISSION_VARIABLES] = { STR_INIT("variables"), NULL },
};

/* What is known of a variable where it is used.  k8s: composition.go convertCelTypeToDeclType */
static const struct cel_type *known_of(struct arena *a, const struct cel_type *t)
{
    if (t->kind == CEL_LIST)
        return cel_list_of(a, known_of(a, t->item));
    if (t->kind == CEL_MAP)
        return cel_map_of(a, known_of(a, t->key), known_of(a, t->item));
    return t->kind >= CEL_NULL && t->kind <= CEL_TIMESTAMP ? t : &cel_types[CEL_DYN];
}

/* What is not declared here has no name that an expression could say. */
static const struct cel_var *declare(struct arena *a, const struct cel_admission *scope,
                                     enum cel_admission_result result)
{
    struct cel_var *vars = arena_array(a, struct cel_var, ADMISSION_VARS);
    struct cel_type *variables = arena_new_of(a, struct cel_type);
    struct cel_var *known = arena_array(a, struct cel_var, scope->nvariables + 1);

    for (size_t i = 0; i < ADMISSION_VARS; i++)
        vars[i] = all[i];
    for (size_t i = 0; i < scope->nvariables; i++)
        known[i] =
            (struct cel_var){ scope->variables[i].name, known_of(a, scope->variables[i].type) };
    *variables = (struct cel_type){ .kind = CEL_OBJECT,
                                    .name = STR("kubernetes.variables"),
                                    .fields = known,
                                    .nfields = scope->nvariables };
    vars[ADMISSION_VARIABLES].type = variables;
    if (scope->object) {
        vars[ADMISSION_OBJECT].type = vars[ADMISSION_OLD_OBJECT].type = scope->object;
        vars[ADMISSION_REQUEST_RESOURCE].name = STR_NONE;
    }
    if (scope->params_type)
        vars[ADMISSION_PARAMS].type = scope->params_type;
    if (!scope->policy)
        vars[ADMISSION_NAMESPACE].name = vars[ADMISSION_VARIABLES].name = STR_NONE;
    if (!scope->params)
        vars[ADMISSION_PARAMS].name = STR_NONE;
    if (result == ADMISSION_STRING) /* a message asks nobody */
        vars[ADMISSION_AUTHORIZER].name = vars[ADMISSION_REQUEST_RESOURCE].name = STR_NONE;
    return vars;
}

static bool gives(const struct cel_type *t, enum cel_admission_result result)
{
    if (t->kind == CEL_PARAM || result == ADMISSION_ANY)
        return true;
    if (result == ADMISSION_BOOL)
        return t->kind == CEL_BOOL;
    return t->kind == CEL_STRING || (result == ADMISSION_STRING_OR_NULL && t->kind == CEL_NULL);
}

const struct cel_program *cel_admission_compile(struct arena *a, str text,
                                                const struct cel_admission *scope,
                                                enum cel_admission_result result, str *why)
{
    static const char *const wanted[] = {
        [ADMISSION_BOOL] = "bool",
        [ADMISSION_STRING] = "string",
        [ADMISSION_STRING_OR_NULL] = "one of [string null_type]",
        [ADMISSION_ANY] = "",
    };
    const struct cel_program *p =
        cel_compile(a, text, declare(a, scope, result), ADMISSION_VARS, why);

    if (!p) {
        *why = str_printf(a, "compilation failed: %.*s", STR_ARG(*why));
        return NULL;
    }
    if (gives(cel_result(p), result))
        return p;
    *why = str_printf(a, "must evaluate to %s but got %.*s", wanted[result],
                      STR_ARG(cel_type_text(a, cel_result(p))));
    return NULL;
}

const struct cel_program *cel_admission_check(struct arena *a, str text,
                                              const struct cel_admission *scope, str *why)
{
    return cel_compile(a, text, declare(a, scope, ADMISSION_ANY), ADMISSION_VARS, why);
}
