/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/log.h"
#include "cmd/config_file.h"
#include "json/json.h"

enum {
    WIDTH = 80,   /* of --help */
    HELP_AT = 30, /* the column of the descriptions */
    IN_FORCE_MAX = 1 << 20,
};

struct options_log options_log = { "info", "auto" };
struct options_server options_server = { "./kairship-data" };

static struct arena *lasting; /* what options hold that came from elsewhere; until the end */
static str in_force;

static struct {
    options_visit_fn *fn;
    void *arg;
} visitor;

static const char *config;
const struct option_row options_common[OPTIONS_COMMON] = {
    OPTIONS_GROUP("Configuration"),
    { "--config", OPTION_STRING, &config, "FILE",
      "Read further options from this file, in YAML. Without this option: from "
      "~/.config/kairship.yaml and " CONFIG_FILE "." },
};

/* The words of one command line, while they are read. */
struct parsing {
    const struct command_help *help;
    const struct option_row *rows;
    size_t n;
    int argc;
    char **argv;
    bool *set; /* of each row: its value was given */
};

/* Prints the words of a text, from column *at on, in lines that begin at column `left`. */
static void print_words(const char *text, size_t left, size_t *at)
{
    for (const char *word = text + strspn(text, " \n"); *word; word += strspn(word, " \n")) {
        size_t n = strcspn(word, " \n");

        if (*at > left && *at + 1 + n > WIDTH) {
            printf("\n");
            *at = 0;
        }
        if (*at > left)
            *at += (size_t)printf(" ");
        *at += (size_t)printf("%*s%.*s", *at < left ? (int)(left - *at) : 0, "", (int)n, word);
        word += n;
    }
}

void option_default(const struct option_row *r, char out[OPTION_DEFAULT_MAX])
{
    const char *string = r->type == OPTION_STRING ? *(const char **)r->value : NULL;
    long number = r->type == OPTION_NUMBER ? *(long *)r->value : 0;

    *out = '\0';
    if (string && *string)
        (void)snprintf(out, OPTION_DEFAULT_MAX, "(default: %s)", string);
    else if (number)
        (void)snprintf(out, OPTION_DEFAULT_MAX, "(default: %ld)", number);
}

static void print_row(const struct option_row *r)
{
    char text[OPTION_DEFAULT_MAX];
    size_t at;

    if (r->type == OPTION_GROUP) {
        printf("\n%s:\n", r->name);
        return;
    }
    at = (size_t)printf("  %s%s%s", r->name, r->arg ? " " : "", r->arg ? r->arg : "");
    if (at + 2 > HELP_AT) {
        printf("\n");
        at = 0;
    }
    print_words(r->help, HELP_AT, &at);
    option_default(r, text);
    print_words(text, HELP_AT, &at);
    printf("\n");
}

static void print_help(const struct command_help *help, const struct option_row *rows, size_t n)
{
    size_t at = 0;

    print_words(help->summary, 0, &at);
    printf("\n\nExamples:\n%s\nUsage:\n  %s\n", help->examples, help->usage);
    if (n && rows[0].type != OPTION_GROUP)
        printf("\nOptions:\n");
    for (size_t i = 0; i < n; i++)
        print_row(&rows[i]);
    for (size_t i = 0; n && i < OPTIONS_COMMON; i++)
        print_row(&options_common[i]);
}

static int mistake(const struct command_help *help, const char *what, const char *word)
{
    (void)fprintf(stderr, "kairship: %s: %s\nUsage: %s\nSee --help for options and examples.\n",
                  what, word, help->usage);
    return USAGE;
}

static const struct option_row *find(const struct option_row *rows, size_t n, str name)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].type != OPTION_GROUP && str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

const char *option_wrong(enum option_type type, str text)
{
    int64_t number;

    if (type == OPTION_FLAG && !str_is(text, "true") && !str_is(text, "false"))
        return "takes no value but true or false";
    if (type == OPTION_NUMBER && !str_to_i64(text, &number))
        return "needs a number";
    return NULL;
}

bool option_store(const struct option_row *r, const char *text)
{
    int64_t number = 0;

    switch (r->type) {
    case OPTION_STRING:
        *(const char **)r->value = text;
        break;
    case OPTION_NUMBER:
        (void)str_to_i64(str_of(text), &number);
        *(long *)r->value = number;
        break;
    case OPTION_FLAG:
        *(bool *)r->value = strcmp(text, "true") == 0;
        break;
    case OPTION_LIST: {
        struct option_list *list = r->value;

        if (list->n == sizeof(list->items) / sizeof(*list->items))
            return false;
        list->items[list->n++] = text;
        break;
    }
    case OPTION_GROUP:
        break;
    }
    return true;
}

/* Two names may be of one value (-o, --output). */
static void mark_set(const struct parsing *p, const struct option_row *r)
{
    for (size_t i = 0; i < p->n; i++)
        p->set[i] |= p->rows[i].type != OPTION_GROUP && p->rows[i].value == r->value;
}

/* One option; *i is at it, and is moved over its value.  "--a=v" and "--a v" are the same. */
static int parse_option(const struct parsing *p, int *i)
{
    const char *word = p->argv[*i], *equals = strchr(word, '='), *value, *why;
    str name = equals ? (str){ word, (size_t)(equals - word) } : str_of(word);
    const struct option_row *r = find(p->rows, p->n, name);

    if (!r && p->n)
        r = find(options_common, OPTIONS_COMMON, name);
    if (!r)
        return mistake(p->help, "unknown option", word);
    if (equals)
        value = equals + 1;
    else if (r->type == OPTION_FLAG)
        value = "true";
    else if (*i + 1 < p->argc)
        value = p->argv[++*i];
    else
        return mistake(p->help, "this option needs a value", word);
    why = option_wrong(r->type, str_of(value));
    if (why)
        return mistake(p->help, arena_printf(lasting, "this option %s", why), word);
    if (!option_store(r, value))
        return mistake(p->help, "this option was repeated too often", word);
    mark_set(p, r);
    return OPTIONS_OK;
}

/* ---- what came of it ---- */

static void print_value(struct buf *b, const struct option_row *r)
{
    const struct option_list *list = r->value;

    buf_printf(b, "%s: ", r->name + 2);
    if (r->type == OPTION_STRING)
        json_print_string(b, str_of(*(const char **)r->value));
    else if (r->type == OPTION_NUMBER)
        buf_printf(b, "%ld", *(long *)r->value);
    else if (r->type == OPTION_FLAG)
        buf_printf(b, "%s", *(bool *)r->value ? "true" : "false");
    for (size_t i = 0; r->type == OPTION_LIST && i < list->n; i++) {
        buf_printf(b, i ? ", " : "[");
        json_print_string(b, str_of(list->items[i]));
    }
    buf_printf(b, r->type == OPTION_LIST ? "]\n" : "\n");
}

static void remember(const struct parsing *p)
{
    scoped_buf b;

    buf_init(&b, IN_FORCE_MAX);
    for (size_t i = 0; i < p->n; i++)
        if (p->set[i] && p->rows[i].name[1] == '-')
            print_value(&b, &p->rows[i]);
    in_force = str_dup(lasting, buf_str(&b));
}

str options_in_force(void)
{
    return in_force;
}

void options_visit(options_visit_fn *fn, void *arg)
{
    visitor.fn = fn;
    visitor.arg = arg;
}

static int fill(const struct parsing *p)
{
    struct status st;

    status_init(&st, lasting);
    if (p->n && config_fill(lasting, config, p->argv[0], p->rows, p->n, p->set, &st) < 0) {
        (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st.message));
        return USAGE;
    }
    remember(p);
    return OPTIONS_OK;
}

static int open_log(const struct command_help *help)
{
    enum log_level level;
    enum log_form form = log_form_for(STDERR_FILENO);

    if (!log_parse_level(str_of(options_log.level), &level))
        return mistake(help, "--log-level is debug, info, warn or error", options_log.level);
    if (strcmp(options_log.format, "auto") != 0 &&
        !log_parse_form(str_of(options_log.format), &form))
        return mistake(help, "--log-format is text, json or auto", options_log.format);
    log_open(STDERR_FILENO, level, form);
    return OPTIONS_OK;
}

/* All words; *nargs of them are not options. */
static int parse_words(const struct parsing *p, const char **args, size_t max, size_t *nargs)
{
    *nargs = 0;
    for (int i = 1; i < p->argc; i++) {
        int rc;

        if (strcmp(p->argv[i], "--help") == 0 || strcmp(p->argv[i], "-h") == 0) {
            print_help(p->help, p->rows, p->n);
            return 0;
        }
        if (p->argv[i][0] != '-') {
            if (*nargs == max)
                return mistake(p->help, "unexpected argument", p->argv[i]);
            args[(*nargs)++] = p->argv[i];
            continue;
        }
        rc = parse_option(p, &i);
        if (rc != OPTIONS_OK)
            return rc;
    }
    return OPTIONS_OK;
}

int options_parse(const struct command_help *help, const struct option_row *rows, size_t nrows,
                  int argc, char **argv, const char **args, size_t max, size_t *nargs)
{
    struct parsing p = { help, rows, nrows, argc, argv, NULL };
    size_t n;
    int rc;

    if (visitor.fn) {
        visitor.fn(visitor.arg, argv[0], help, rows, nrows);
        return 0;
    }
    if (!lasting)
        lasting = arena_new_lasting();
    p.set = arena_array(lasting, bool, nrows + 1);
    rc = parse_words(&p, args, max, &n);
    if (rc == OPTIONS_OK)
        rc = fill(&p);
    if (rc != OPTIONS_OK)
        return rc;
    if (nargs)
        *nargs = n;
    return open_log(help);
}
