/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CEL_CEL_H
#define OBJECT_CEL_CEL_H

/*
 * CEL, the Common Expression Language, over JSON values: what x-kubernetes-validations (and later
 * admission policies) are written in.  https://github.com/google/cel-spec
 *
 *     cel_compile    parses and checks an expression against the types of its variables
 *     cel_estimate   what it may cost at most, given the limits in the schemas
 *     cel_eval       runs it; errors are values
 *
 * A program is frozen and lives in the arena it was compiled in: any thread may run it.  What a run
 * makes goes to the run's arena and is bounded by the run's limits: the cost, which is counted as
 * cel-go counts it, and steps for the work and memory that this leaves out.
 *
 * Values of JSON keep the schema they were found with, because it says what they are: a number of
 * `type: number` is a double also when it reads 1, a string of `format: date-time` a timestamp.
 * Without a schema (NULL) JSON's own types count.
 *
 * Functions: the standard ones and the libraries that Kubernetes 1.35 has: strings, lists, sets,
 * regex, url, ip, cidr, quantity, semver, format, optional types, comprehensions of two variables,
 * and the authorizer, which whoever runs a program brings along.
 */

#include "object/meta/schema.h"

enum {
    CEL_TEXT_MAX = 100 * 1000, /* characters of an expression */
    CEL_DEPTH_MAX = 250,       /* of its tree */
};

enum cel_kind {
    CEL_ERROR,
    CEL_DYN, /* only as a type: anything */
    CEL_NULL,
    CEL_BOOL,
    CEL_INT,
    CEL_UINT,
    CEL_DOUBLE,
    CEL_STRING,
    CEL_BYTES,
    CEL_DURATION,
    CEL_TIMESTAMP,
    CEL_LIST,
    CEL_MAP,
    CEL_OBJECT, /* a JSON object whose members are fields of its schema */
    CEL_TYPE,
    CEL_OPTIONAL,
    CEL_QUANTITY,
    CEL_URL,
    CEL_IP,
    CEL_CIDR,
    CEL_SEMVER,
    CEL_FORMAT,
    CEL_AUTHORIZER,
    CEL_PATH_CHECK,
    CEL_GROUP_CHECK,
    CEL_RESOURCE_CHECK,
    CEL_DECISION,
    CEL_PARAM, /* only as a type: nothing is known yet, as of the items of [] */
    CEL_KINDS,
};

struct cel_type {
    enum cel_kind kind;
    bool metadata;                /* an object of which only the names are to be seen */
    str name;                     /* of an object, in messages */
    const struct cel_type *key;   /* of a map */
    const struct cel_type *item;  /* of a list, map or optional */
    const struct schema *schema;  /* where it is from, or NULL */
    const struct cel_var *fields; /* of an object without schema: the names it may have, */
    size_t nfields;               /* and their types */
};

struct cel_value {
    enum cel_kind kind : 8;
    bool json : 1; /* a list, map or object that is JSON still */
    uint32_t n;    /* items of a list, entries of a map */
    union {
        bool b;
        int64_t i; /* also nanoseconds of a duration */
        uint64_t u;
        double f;
        str s; /* string, bytes, and the text of an error */
        struct {
            int64_t s;
            int32_t ns;
        } time;                   /* since 1970, UTC */
        const struct json *items; /* of a JSON list */
        const struct json_member *members;
        const struct cel_value *values; /* of a list; of a map key, value, key, value …; of an
                                           optional the value or NULL */
        enum cel_kind type;             /* of a type */
        const void *thing;              /* quantity, url, ip … */
    };
    const struct schema *schema; /* of what is JSON still */
};

struct cel_var {
    str name;
    const struct cel_type *type;
};

/* A question to the authorizer, as an expression has put it together. */
struct cel_check {
    const struct cel_authorizer *of;
    str account; /* "system:serviceaccount:ns:name" instead of the request's user */
    str account_namespace;
    bool is_resource; /* else a path: */
    str path, group, resource, subresource, namespace_, name, verb;
    str field_selector, label_selector;
};

/* Given as the value of a variable of type CEL_AUTHORIZER (cel_authorizer()). */
struct cel_authorizer {
    bool (*allowed)(const struct cel_authorizer *self, struct arena *a, const struct cel_check *c,
                    str *reason);
    void *user;
};

struct cel_program;

/* The basic types; lists, maps and optionals of anything. */
extern const struct cel_type cel_types[CEL_KINDS];
/* What values of a schema are in CEL, objects called `name` and after it; NULL when they are not to
 * be seen in it. */
const struct cel_type *cel_type_of(struct arena *a, const struct schema *s, str name);
/*
 * What objects of a kind are, by an OpenAPI v3 document of its group and version, with their whole
 * metadata.  NULL when the document does not have the kind, or it is too large.
 */
const struct cel_type *cel_type_of_openapi(struct arena *a, const struct json *document, str group,
                                           str version, str kind);
const struct cel_type *cel_optional_of(struct arena *a, const struct cel_type *t);

/* "map(string, int)" */
str cel_type_text(struct arena *a, const struct cel_type *t);

/* NULL when it does not compile; *why is then said as Kubernetes says it, with the place. */
const struct cel_program *cel_compile(struct arena *a, str text, const struct cel_var *vars,
                                      size_t nvars, str *why);
const struct cel_type *cel_result(const struct cel_program *p);
/* Why it can be checked, but not run: a constant that cannot be converted; else empty. */
str cel_unmade(const struct cel_program *p);
bool cel_uses(const struct cel_program *p, size_t var);

struct cel_run {
    struct arena *arena;
    uint64_t limit; /* more cost than this is an error; cel_over_limit() tells it from others */
    uint64_t cost;  /* of what was run with it so far */
    const struct cel_value *vars;
    struct cel_value *locals;
    const struct cel_node *node; /* the call under way */
    uint64_t steps;              /* work that has no cost in cel-go; limited too */
    const void *hint_of;         /* the JSON object in which a member was found last, */
    size_t hint;                 /* and where */
};

/* vars[] as they were declared.  The result may share memory with them and the program. */
struct cel_value cel_eval(const struct cel_program *p, const struct cel_value *vars,
                          struct cel_run *run);
bool cel_over_limit(const struct cel_run *run);

struct cel_value cel_of_json(struct cel_run *r, const struct json *v, const struct schema *s);
struct cel_value cel_optional(struct arena *a, const struct cel_value *v); /* NULL: none */

/* The variables `authorizer` and `authorizer.requestResource`; what they point to is kept. */
struct cel_value cel_authorizer(struct arena *a, const struct cel_authorizer *of);
struct cel_value cel_resource_check(const struct cel_check *c);

/* A map with these names; values may be errors, which show when they are asked for. */
struct cel_value cel_fields(struct arena *a, const str *names, const struct cel_value *values,
                            size_t n);

/* The name of a property in an expression: `x-y` is x__dash__y.  False: it has none. */
bool cel_escape(struct arena *a, str name, str *out);

#endif
