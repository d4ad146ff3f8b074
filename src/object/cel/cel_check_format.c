/* SPDX-License-Identifier: Apache-2.0 */

/* k8s: cel-go ext/formatting.go, stringFormatValidator */

#include "object/cel/cel_internal.h"

#include "base/banned.h"

/* A bit a kind. */
#define KIND(kind) (1ull << CEL_##kind)

static const struct {
    char letter;
    uint64_t kinds;
    const char *why;
} clauses[] = {
    { 'd', KIND(INT) | KIND(UINT), "decimal clause can only be used on integers" },
    { 'o', KIND(INT) | KIND(UINT), "octal clause can only be used on integers" },
    { 'f', KIND(DOUBLE) | KIND(STRING), "fixed-point clause can only be used on doubles" },
    { 'e', KIND(DOUBLE) | KIND(STRING), "scientific clause can only be used on doubles" },
    { 'b', KIND(INT) | KIND(UINT) | KIND(BOOL),
      "only integers and bools can be formatted as binary" },
    { 'x', KIND(INT) | KIND(UINT) | KIND(STRING) | KIND(BYTES),
      "only integers, byte buffers, and strings can be formatted as hex" },
    { 'X', KIND(INT) | KIND(UINT) | KIND(STRING) | KIND(BYTES),
      "only integers, byte buffers, and strings can be formatted as hex" },
    { 's',
      KIND(LIST) | KIND(MAP) | KIND(INT) | KIND(UINT) | KIND(DOUBLE) | KIND(BOOL) | KIND(STRING) |
          KIND(TIMESTAMP) | KIND(BYTES) | KIND(DURATION) | KIND(TYPE) | KIND(NULL),
      "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
      "durations, and timestamps" },
};

/* The argument, or what of a list or map in it the clause cannot show; NULL where it can. */
static const struct cel_node *unfit(const struct cel_node *n, uint64_t kinds, bool inside)
{
    enum cel_kind kind = n->type->kind;

    if (kind != CEL_DYN && kind != CEL_PARAM && !(kinds >> kind & 1))
        return n;
    for (size_t i = 0; inside && (n->op == CEL_OP_LIST || n->op == CEL_OP_MAP) && i < n->nargs;
         i++) {
        const struct cel_node *bad = unfit(n->args[i], kinds, inside);

        if (bad)
            return bad;
    }
    return NULL;
}

/* Behind "%."; 0 and *why where it is none. */
static size_t precision(struct arena *a, str s, const char **why)
{
    size_t i = 1;

    if (s.n == 0 || s.p[0] != '.')
        return 0;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    if (i == s.n)
        *why = "could not find end of precision specifier";
    else if (i == 1 || i > 19)
        *why =
            arena_printf(a,
                         "error while converting precision to integer: strconv.Atoi: parsing "
                         "\"%.*s\": %s",
                         (int)(i - 1), s.p + 1, i == 1 ? "invalid syntax" : "value out of range");
    return i;
}

/* The clause at the beginning of s, of an argument; its length, or 0 with the fault told. */
static size_t clause(struct cel_findings *f, const struct cel_node *n, str s,
                     const struct cel_node *arg)
{
    const char *why = NULL;
    size_t at = precision(f->arena, s, &why);

    if (why) {
        cel_finding(f, n->at,
                    "could not parse formatting clause: error while parsing precision: %s", why);
        return 0;
    }
    for (size_t i = 0; i < sizeof(clauses) / sizeof(*clauses); i++) {
        const struct cel_node *bad;

        if (clauses[i].letter != s.p[at])
            continue;
        bad = unfit(arg, clauses[i].kinds, s.p[at] == 's');
        if (bad)
            cel_finding(f, bad->at, "error during formatting: %s, was given %s", clauses[i].why,
                        cel_kind_name(bad->type->kind));
        return bad ? 0 : at + 1;
    }
    cel_finding(f, n->at,
                "could not parse formatting clause: unrecognized formatting clause \"%c\"",
                s.p[at]);
    return 0;
}

void cel_check_format(struct cel_findings *f, const struct cel_node *n)
{
    const struct cel_node *text = n->args[0], *list = n->args[1];
    size_t given = list->op == CEL_OP_CONST ? list->value.n : list->nargs, used = 0;
    str s;

    if (text->op != CEL_OP_CONST || text->value.kind != CEL_STRING ||
        (list->op != CEL_OP_LIST && (list->op != CEL_OP_CONST || list->value.kind != CEL_LIST)))
        return;
    s = text->value.s;
    for (size_t i = 0; i < s.n;) {
        size_t n_read;

        if (s.p[i] != '%' || (i + 1 < s.n && s.p[i + 1] == '%')) {
            i += s.p[i] == '%' ? 2 : 1;
            continue;
        }
        if (i + 1 == s.n) {
            cel_finding(f, n->at, "unexpected end of string");
            return;
        }
        if (used == given) {
            cel_finding(f, n->at, "index %zu out of range", used);
            return;
        }
        n_read = clause(f, n, str_from(s, i + 1), list->args[used]);
        if (!n_read)
            return;
        i += 1 + n_read;
        used++;
    }
    if (given > used)
        cel_finding(f, n->at,
                    "too many arguments supplied to string.format (expected %zu, got %zu)", used,
                    given);
}
