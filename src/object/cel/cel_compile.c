/* SPDX-License-Identifier: Apache-2.0 */

/* From the text of an expression to a program, and what is wrong with it as cel-go tells it. */

#include "object/cel/cel_internal.h"

#include "base/banned.h"
#include "base/buf.h"

/* k8s: cel-go common/errors.go, error.go */
enum { FAULTS_MAX = 100, SNIPPET_MAX = 16384 };

enum { TOLD_MAX = 256 << 10 }; /* bytes, and four times the text: each fault shows its line */

/* Sorted by their places. */
void cel_finding(struct cel_findings *f, int64_t at, const char *fmt, ...)
{
    struct cel_finding fault = { .at = at };
    va_list ap;
    size_t i;

    if (f->n == FAULTS_MAX) {
        f->more++;
        return;
    }
    if (!f->all)
        f->all = arena_array(f->arena, struct cel_finding, FAULTS_MAX);
    va_start(ap, fmt);
    fault.why = arena_vprintf(f->arena, fmt, ap);
    va_end(ap);
    for (i = f->n++; i > 0 && f->all[i - 1].at > at; i--)
        f->all[i] = f->all[i - 1];
    f->all[i] = fault;
}

/* The line, and below it dots to the column and an arrow, wide below wide characters. */
static void snippet(struct buf *b, str line, size_t at)
{
    if (line.n > SNIPPET_MAX)
        return;
    buf_str_append(b, STR("\n | "));
    for (size_t i = 0; i < line.n; i++)
        buf_str_append(b, line.p[i] == '\t' ? STR(" ") : str_sub(line, i, 1));
    buf_str_append(b, STR("\n | "));
    for (size_t i = 0; i < at && i < line.n;) {
        size_t next = cel_next_point(line, i);

        buf_str_append(b, next - i > 1 ? STR("\xef\xbc\x8e") : STR("."));
        i = next;
    }
    buf_str_append(b, at < line.n && cel_next_point(line, at) - at > 1 ? STR("\xef\xbc\xbe")
                                                                       : STR("^"));
}

static void place(struct buf *b, struct arena *a, str source, const struct cel_finding *f)
{
    size_t at = (size_t)f->at, line = 1, from = 0, end = at, column;

    if (f->at == CEL_NOWHERE) {
        buf_str_append(b, str_printf(a, "ERROR: <input>:-1:0: %s", f->why));
        return;
    }
    for (size_t i = 0; i < at && i < source.n; i++) {
        if (source.p[i] != '\n')
            continue;
        line++;
        from = i + 1;
    }
    while (end < source.n && source.p[end] != '\n')
        end++;
    column = (size_t)cel_code_points(str_sub(source, from, at - from)) + 1;
    buf_str_append(b, str_printf(a, "ERROR: <input>:%zu:%zu: %s", line, column, f->why));
    if (source.n)
        snippet(b, str_sub(source, from, end - from), at - from);
}

static str told(struct arena *a, str source, const struct cel_findings *f)
{
    scoped_buf b = { .max = TOLD_MAX + 4 * source.n };

    for (size_t i = 0; i < f->n; i++) {
        if (i)
            buf_str_append(&b, STR("\n"));
        place(&b, a, source, &f->all[i]);
    }
    if (f->more)
        buf_str_append(&b, str_printf(a, "\n%zu more errors were truncated", f->more));
    return str_dup(a, buf_overflown(&b) ? str_cut(buf_str(&b), b.n - 1) : buf_str(&b));
}

const struct cel_program *cel_compile(struct arena *a, str source, const struct cel_var *vars,
                                      size_t nvars, str *why)
{
    struct cel_program *p = arena_new_of(a, struct cel_program);
    struct cel_findings faults = { .arena = a };

    p->arena = a;
    p->vars = vars;
    p->nvars = nvars;
    p->root = cel_parse(source, &faults);
    if (p->root && cel_check(p, &faults) == 0)
        return p;
    *why = told(a, source, &faults);
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
