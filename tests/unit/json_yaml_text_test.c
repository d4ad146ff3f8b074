/* SPDX-License-Identifier: Apache-2.0 */
#include "json/yaml_text.h"

#include "base/banned.h"
#include "tap.h"

/* "2:name=text", lists in [], mappings in {}. */
static const char *show(struct arena *a, const struct yaml_text *v)
{
    str out = str_printf(a, "%zu:%.*s%s", v->line, STR_ARG(v->name), v->name.n ? "=" : "");
    const char *ends = v->type == YAML_TEXT_LIST ? "[]" : "{}";
    const char *separator = "";

    if (v->type == YAML_TEXT_NOTHING)
        return arena_printf(a, "%.*s-", STR_ARG(out));
    if (v->type == YAML_TEXT_SCALAR)
        return arena_printf(a, "%.*s'%s'", STR_ARG(out), v->text.p);
    out = str_printf(a, "%.*s%c", STR_ARG(out), ends[0]);
    yaml_text_each (item, v) {
        out = str_printf(a, "%.*s%s%s", STR_ARG(out), separator, show(a, item));
        separator = " ";
    }
    return arena_printf(a, "%.*s%c", STR_ARG(out), ends[1]);
}

static const char *parse(struct arena *a, const char *text)
{
    const struct yaml_text *v = NULL;
    struct status st;

    status_init(&st, a);
    if (yaml_text_parse(a, str_of(text), &v, &st) == 0)
        return show(a, v);
    CHECK(v == NULL);
    CHECK(status_is(&st, REASON_BAD_REQUEST));
    return str_z(a, st.message);
}

static void check(const char *text, const char *want)
{
    scoped_arena a = arena_new();

    CHECK_STR(parse(a, text), want);
}

TEST(scalars_stay_text)
{
    check("a: off\nb: 0640\nc: 1_000\nd: \"\"\ne: ~\n",
          "1:{1:a='off' 2:b='0640' 3:c='1_000' 4:d='' 5:e='~'}");
    check("listen: :6443\n", "1:{1:listen=':6443'}");
    check("a:\nb: 'x'\n", "1:{1:a=- 2:b='x'}");
}

TEST(lines_are_those_of_the_keys)
{
    check("# a comment\n\na:\n  - x\n  - y\nb:\n  c: |\n    long\n",
          "3:{3:a=[4:'x' 5:'y'] 6:b={7:c='long\n'}}");
    check("{a: [1, 2], b: {}}", "1:{1:a=[1:'1' 1:'2'] 1:b={}}");
    check("", "0:-");
    check("# nothing\n", "0:-");
}

TEST(what_is_refused_says_where)
{
    check("a: 1\nb: 2\na: 3\n", "line 3: the same key stands in line 1: a");
    check("a: &x 1\n", "line 1: anchors and tags are not understood here");
    check("a: 1\nb: *a\n", "line 2: aliases are not understood here");
    check("a: !!int 1\n", "line 1: anchors and tags are not understood here");
    check("<<: {a: 1}\n", "line 1: this cannot be a key: <<");
    check("? [a]\n: b\n", "line 1: a key is a word");
    check("a: 1\n---\nb: 2\n", "line 2: a second document begins");
    check("a: \"x\\0y\"\n", "line 1: a NUL byte");
    check("a: [1\nb: 2\n", "line 2: did not find expected ',' or ']'");
}

TEST(there_are_limits)
{
    scoped_arena a = arena_new();
    char *text = arena_alloc(a, YAML_TEXT_BYTES_MAX + 2);

    memset(text, ' ', YAML_TEXT_BYTES_MAX + 1);
    check(text, "line 1: the text has more than 65536 bytes");
    memset(text, '[', 17);
    text[17] = '\0';
    check(text, "line 1: the nesting is too deep");
}
