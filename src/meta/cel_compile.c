/* SPDX-License-Identifier: Apache-2.0 */

/* From the text of an expression to a program, and what is wrong with it as cel-go tells it. */

#include "meta/cel_parts.h"

#include "base/banned.h"
#include "base/buf.h"

enum { FAULTS_MAX = 100 };

/* Sorted by their places. */
void cel_fault(struct cel_faults *f, size_t at, const char *fmt, ...)
{
    struct cel_fault fault = { .at = at };
    va_list ap;
    size_t i;

    if (f->n == FAULTS_MAX)
        return;
    if (!f->all)
        f->all = arena_array(f->arena, struct cel_fault, FAULTS_MAX);
    va_start(ap, fmt);
    fault.why = arena_vprintf(f->arena, fmt, ap);
    va_end(ap);
    for (i = f->n++; i > 0 && f->all[i - 1].at > at; i--)
        f->all[i] = f->all[i - 1];
    f->all[i] = fault;
}

/* Dots to the column and an arrow, wide below wide characters. */
static str arrow(struct arena *a, str line, size_t at)
{
    scoped_buf b = { .max = 8 * (at + 2) };

    for (size_t i = 0; i < at && i < line.n;) {
        size_t next = cel_next_point(line, i);

        buf_str_append(&b, next - i > 1 ? STR("\xef\xbc\x8e") : STR("."));
        i = next;
    }
    buf_str_append(&b, at < line.n && cel_next_point(line, at) - at > 1 ? STR("\xef\xbc\xbe")
                                                                        : STR("^"));
    return str_dup(a, buf_str(&b));
}

/* k8s: cel-go common/error.go ToDisplayString */
static str place(struct arena *a, str source, const struct cel_fault *f)
{
    size_t line = 1, from = 0, end = f->at;
    str text;

    for (size_t i = 0; i < f->at && i < source.n; i++) {
        if (source.p[i] != '\n')
            continue;
        line++;
        from = i + 1;
    }
    while (end < source.n && source.p[end] != '\n')
        end++;
    text = str_sub(source, from, end - from);
    return str_printf(a, "ERROR: <input>:%zu:%zu: %s\n | %.*s\n | %.*s", line,
                      (size_t)cel_code_points(str_sub(source, from, f->at - from)) + 1, f->why,
                      STR_ARG(text), STR_ARG(arrow(a, text, f->at - from)));
}

const struct cel_program *cel_compile(struct arena *a, str source, const struct cel_var *vars,
                                      size_t nvars, str *why)
{
    struct cel_program *p = arena_new_of(a, struct cel_program);
    struct cel_faults faults = { .arena = a };
    const char *syntax = "";
    size_t at = 0;

    p->arena = a;
    p->vars = vars;
    p->nvars = nvars;
    p->root = cel_parse(a, source, &syntax, &at);
    if (!p->root)
        cel_fault(&faults, at, "%s", syntax);
    else if (cel_check(p, &faults) == 0)
        return p;
    *why = STR_NONE;
    for (size_t i = 0; i < faults.n; i++) {
        str told =
            source.n > CEL_TEXT_MAX ? str_of(faults.all[i].why) : place(a, source, &faults.all[i]);

        *why = why->n ? str_printf(a, "%.*s\n%.*s", STR_ARG(*why), STR_ARG(told)) : told;
    }
    return NULL;
}

const struct cel_type *cel_result(const struct cel_program *p)
{
    return p->root->type;
}

str cel_unmade(const struct cel_program *p)
{
    return p->unmade;
}

bool cel_uses(const struct cel_program *p, size_t var)
{
    return p->used >> (var & 63) & 1;
}
