/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CEL_CEL_INTERNAL_H
#define OBJECT_CEL_CEL_INTERNAL_H

/* What the files of object/cel/cel.h share. */

#include "object/cel/cel.h"
#include "object/meta/pattern.h"

/* ---- words (cel_lex.c) ---- */

enum cel_token {
    TOKEN_END,
    TOKEN_IDENT,
    TOKEN_QUOTED_IDENT, /* `a-b` behind a dot */
    TOKEN_INT,
    TOKEN_UINT,
    TOKEN_DOUBLE,
    TOKEN_STRING,
    TOKEN_BYTES,
    TOKEN_OP,
    TOKEN_BAD, /* why */
};

struct cel_lexer {
    struct arena *arena;
    str text;
    size_t at;
    enum cel_token token;
    size_t start; /* of the token, or what is wrong with it */
    str word;     /* identifier or operator as it stands; a string's value */
    const char *why;
    union {
        int64_t i;
        uint64_t u;
        double f;
    };
};

void cel_lex(struct cel_lexer *l); /* moves to the next token */

/* ---- faults (cel_compile.c) ---- */

enum { CEL_NOWHERE = -1 }; /* the place of a fault that has none */

struct cel_finding {
    const char *why;
    int64_t at;
};

struct cel_findings {
    struct arena *arena;
    struct cel_finding *all;
    size_t n;    /* at most as many as cel-go tells */
    size_t more; /* than that */
};
__attribute__((format(printf, 3, 4))) void cel_finding(struct cel_findings *f, int64_t at,
                                                       const char *fmt, ...);

/* ---- trees (cel_parse.c) ---- */

enum cel_op {
    CEL_OP_CONST,
    CEL_OP_IDENT,  /* until it is checked */
    CEL_OP_VAR,    /* slot */
    CEL_OP_LOCAL,  /* slot */
    CEL_OP_SELECT, /* args[0] . name */
    CEL_OP_OPT_SELECT,
    CEL_OP_HAS,
    CEL_OP_INDEX,
    CEL_OP_OPT_INDEX,
    CEL_OP_AND,
    CEL_OP_OR,
    CEL_OP_IF,
    CEL_OP_LIST,
    CEL_OP_MAP, /* key, value, key, value … */
    CEL_OP_CALL,
    CEL_OP_LOOP,
};

enum cel_loop {
    CEL_ALL,
    CEL_EXISTS,
    CEL_EXISTS_ONE,
    CEL_FILTER,
    CEL_TO_LIST,  /* map, transformList: args are range, [condition,] result */
    CEL_TO_MAP,   /* transformMap */
    CEL_TO_ENTRY, /* transformMapEntry */
    CEL_OPT_MAP,
    CEL_OPT_FLAT_MAP,
    CEL_SORT_BY,
};

enum { CEL_ARGS_MAX = 4 };

struct cel_function;

struct cel_node {
    enum cel_op op : 8;
    enum cel_loop loop : 8;
    bool receiver : 1; /* a call with args[0] before the dot */
    bool two : 1;      /* a loop with two variables */
    bool rooted : 1;   /* a name behind a dot that has nothing before it */
    /* Names, fields and items are one thing to cel-go, an attribute, which has a cost of its own
     * but as an index or a choice: `unit`.  A choice has none. */
    bool attribute : 1, unit : 1;
    bool folded : 1; /* to `value`, which is what a run gives; its estimate is not */
    uint16_t depth;
    uint16_t slot; /* variable; of a loop its first local */
    uint32_t at;   /* byte of the text */
    uint32_t nargs;
    str name;  /* ident, field, function; of a loop its first variable */
    str name2; /* second variable */
    struct cel_node **args;
    const bool *optional;        /* which elements of a list or values of a map are `?` */
    const struct cel_type *type; /* once it is checked */
    struct cel_value value;      /* of a constant */
    /* Calls: the one overload it can be, or NULL and those of its name. */
    const struct cel_function *fn, *overloads;
    uint8_t kinds[CEL_ARGS_MAX];   /* of the arguments of fn; CEL_DYN: any */
    const struct pattern *pattern; /* of a constant regular expression */
};

static inline bool cel_is_constant(const struct cel_node *n)
{
    return n->op == CEL_OP_CONST || n->folded;
}

struct cel_program {
    struct arena *arena;
    struct cel_node *root;
    uint16_t nlocals;
    uint64_t used; /* variables, a bit each */
    str unmade;    /* cel_unmade() */
    const struct cel_var *vars;
    size_t nvars;
};

/* The tree, in the arena of the faults, or NULL and one of them: the first. */
struct cel_node *cel_parse(str text, struct cel_findings *faults);

/* ---- functions ---- */

typedef struct cel_value (*cel_fn)(struct cel_run *r, const struct cel_value *v);

/*
 * sig: one letter a type, the parameters, ':' and the result; '.' behind the first: it stands
 * before the dot.
 *   b bool  i int  u uint  d double  s string  y bytes  n null  t timestamp  D duration  T type
 *   * anything  A B type parameters  L<t> list  M<t><t> map  O<t> optional
 *   q quantity  U url  I ip  C cidr  V semver  F format
 *   a authorizer  P path check  G group check  R resource check  e decision
 * cost of a call, with s0 for the size of the first argument …, fractions rounded up:
 *   0 none  1 one  a the authorizer's  l of a selector  c C of ranges of addresses
 *   s s0/10  2 s0/5  j result/5  o result + 11  t a walk over all of the first
 *   x s0/10 × s1/10  r (s0+1)/10 × s1/4  v (s1+1)/10 × the format's
 *   f depth × s0 + 11  u s0² × 2 + 11  q s0 × s1 + 1  Q 2 × s0 × s1 + 1
 * and, where the overload is known before the run, else one:
 *   S s0/10  + (s0+s1)/10  = min(s0,s1)/10  i s1  U as u
 */
struct cel_function {
    const char *name, *sig;
    cel_fn fn;
    char cost;
};

/* The first overload of a name, or NULL; the others follow.  cel_functions.c */
const struct cel_function *cel_find(str name);

/* ---- types (cel_type.c) ---- */

struct cel_binding {
    const struct cel_type *a, *b;
};

/* The type of a field of an object, or NULL. */
const struct cel_type *cel_field_type(struct arena *a, const struct cel_type *t, str name);
/* The property that a name in an expression means; false when it cannot be one. */
bool cel_unescape(struct arena *a, str name, str *out);
bool cel_same_type(const struct cel_type *a, const struct cel_type *b);
/* What values of both are, or NULL. */
const struct cel_type *cel_join(const struct cel_type *a, const struct cel_type *b);
/* Whether a value of type t may stand for the type at *sig; moves *sig behind it. */
bool cel_sig_takes(struct arena *a, const char **sig, const struct cel_type *t,
                   struct cel_binding *bind);
const struct cel_type *cel_sig_type(struct arena *a, const char **sig,
                                    const struct cel_binding *bind);
/* Moves *sig behind a parameter; its kind, CEL_DYN for any. */
enum cel_kind cel_sig_next(const char **sig);
/* Whether a function has that form; *params is where its parameters begin. */
bool cel_sig_fits(const struct cel_function *f, bool receiver, size_t nargs);
str cel_type_below(struct arena *a, str name, str field); /* of an object inside of another */
const struct cel_type *cel_list_of(struct arena *a, const struct cel_type *item);
const struct cel_type *cel_map_of(struct arena *a, const struct cel_type *key,
                                  const struct cel_type *item);
bool cel_type_named(str name, enum cel_kind *out); /* "int", "google.protobuf.Timestamp" … */
const char *cel_kind_name(enum cel_kind kind);

/* ---- checking (cel_check.c) ---- */

/* Every fault is told: what is wrong is of this type then, which fits everywhere. */
extern const struct cel_type cel_wrong;

int cel_check(struct cel_program *p, struct cel_findings *faults);
/* The clauses of a constant format against the arguments, where these are a list. */
void cel_check_format(struct cel_findings *f, const struct cel_node *n);

/* ---- values (cel_value.c) ---- */

struct cel_value cel_error(struct cel_run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct cel_value cel_no_overload(struct cel_run *r);

static inline struct cel_value cel_bool(bool b)
{
    return (struct cel_value){ .kind = CEL_BOOL, .b = b };
}
static inline struct cel_value cel_int(int64_t i)
{
    return (struct cel_value){ .kind = CEL_INT, .i = i };
}
static inline struct cel_value cel_uint(uint64_t u)
{
    return (struct cel_value){ .kind = CEL_UINT, .u = u };
}
static inline struct cel_value cel_double(double f)
{
    return (struct cel_value){ .kind = CEL_DOUBLE, .f = f };
}
static inline struct cel_value cel_str(str s)
{
    return (struct cel_value){ .kind = CEL_STRING, .s = s };
}
static inline struct cel_value cel_duration(int64_t ns)
{
    return (struct cel_value){ .kind = CEL_DURATION, .i = ns };
}
static inline struct cel_value cel_thing(enum cel_kind kind, const void *thing)
{
    return (struct cel_value){ .kind = kind, .thing = thing };
}
struct cel_value cel_list(const struct cel_value *values, size_t n);

/* Elements, whatever the form. */
struct cel_value cel_item(struct cel_run *r, const struct cel_value *list, size_t i);
struct cel_value cel_key(const struct cel_value *map, size_t i);
struct cel_value cel_entry(struct cel_run *r, const struct cel_value *map, size_t i);
/* The value of a key; false when there is none. */
bool cel_lookup(struct cel_run *r, const struct cel_value *map, const struct cel_value *key,
                struct cel_value *out);

/* Charges; false, once and for all, beyond the limit. */
static inline bool cel_charge(struct cel_run *r, uint64_t cost)
{
    r->cost += cost;
    return r->cost <= r->limit;
}
enum { CEL_STEPS_MAX = 20 * 1000 * 1000 }; /* a third of a second */

/* Time and memory that cel-go does not count: bytes of text, eight for a value. */
static inline bool cel_work(struct cel_run *r, uint64_t steps)
{
    r->steps += steps;
    return r->steps <= CEL_STEPS_MAX;
}

bool cel_equal(struct cel_run *r, const struct cel_value *a, const struct cel_value *b);
/* <0, 0, >0; CEL_UNORDERED for NaN and for what has no order. */
enum { CEL_UNORDERED = 2 };
int cel_order(const struct cel_value *a, const struct cel_value *b);
uint64_t cel_size(const struct cel_value *v); /* bytes, items; 1 for all else */
int64_t cel_code_points(str s);
size_t cel_next_point(str s, size_t at); /* where the code point after the one at `at` begins */
bool cel_is_zero(const struct cel_value *v);

/* ---- times (cel_time.c) ---- */

bool cel_parse_duration(str s, int64_t *ns);
bool cel_parse_timestamp(str s, int64_t *sec, int32_t *ns);
bool cel_parse_date(str s, int64_t *sec);
str cel_print_duration(struct arena *a, int64_t ns);
str cel_print_timestamp(struct arena *a, int64_t sec, int32_t ns);

/* ---- things (cel_net.c, cel_things.c) ---- */

bool cel_thing_equal(const struct cel_value *a, const struct cel_value *b);
str cel_thing_text(struct arena *a, const struct cel_value *v); /* string() of ip and cidr */

/* ---- running (cel_eval.c) ---- */

struct cel_value cel_run_node(struct cel_run *r, const struct cel_node *n);
/* The conversion to a string, of format() and string(); an error where there is none. */
struct cel_value cel_to_string(struct cel_run *r, const struct cel_value *v);

/* ---- costs (cel_cost.c) ---- */

/* Tenths are rounded up. */
static inline uint64_t cel_tenth(uint64_t n)
{
    return n / 10 + (n % 10 != 0);
}
uint64_t cel_mul(uint64_t a, uint64_t b); /* UINT64_MAX beyond */
uint64_t cel_add(uint64_t a, uint64_t b);
/* Of a call with these arguments, which gave `out`. */
uint64_t cel_call_cost(struct cel_run *r, const struct cel_node *n, const struct cel_function *f,
                       const struct cel_value *v, const struct cel_value *out);
uint64_t cel_sort_cost(const struct cel_value *first, uint64_t n); /* of n such things */
uint64_t cel_format_cost(const struct cel_value *format);          /* cel_lib_things.c */

#endif
