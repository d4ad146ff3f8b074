/* SPDX-License-Identifier: Apache-2.0 */

/* Man pages, in the macros of man(7). */

#include "cmd/manual.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "apiserver/call/version.h"
#include "base/arena.h"
#include "base/banned.h"
#include "base/clock.h"
#include "cmd/commands.h"
#include "cmd/config_file.h"

enum { WIDTH = 72 };

struct manual {
    struct arena *arena;
    const char *dir;
    struct status *st;
    int rc;
};

/* ---- files ---- */

static int make_folders(struct arena *a, const char *path, struct status *st)
{
    for (ptrdiff_t at = 1; (at = str_find(str_of(path), '/', (size_t)at)) > 0; at++)
        if (mkdir(arena_printf(a, "%.*s", (int)at, path), 0755) < 0 && errno != EEXIST)
            return status_errno(st, errno, "cannot make the folder of %s", path);
    return 0;
}

FILE *manual_open(struct arena *a, const char *dir, const char *name, struct status *st)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    FILE *f;

    if (make_folders(a, path, st) < 0)
        return NULL;
    f = fopen(path, "we");
    if (!f)
        (void)status_errno(st, errno, "cannot write %s", path);
    return f;
}

int manual_close(FILE *f, const char *name, struct status *st)
{
    bool bad = ferror(f);

    if (fclose(f) != 0 || bad)
        return status_errno(st, errno, "cannot write %s", name);
    return 0;
}

/* ---- text ---- */

/* A minus is no hyphen, and quotes stay as they are typed. */
static void put_char(FILE *f, char c)
{
    static const struct {
        char c;
        const char *name;
    } escapes[] = { { '\\', "\\e" },  { '-', "\\-" },   { '\'', "\\(aq" }, { '`', "\\(ga" },
                    { '~', "\\(ti" }, { '^', "\\(ha" }, { '"', "\\(dq" } };

    for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++)
        if (c == escapes[i].c) {
            (void)fputs(escapes[i].name, f);
            return;
        }
    (void)fputc(c, f);
}

static void put(FILE *f, str text)
{
    if (text.n && text.p[0] == '.')
        (void)fputs("\\&", f);
    for (size_t i = 0; i < text.n; i++)
        put_char(f, text.p[i]);
}

/* Filled by who prints it; lines are cut so that they can be read. */
static void put_words(FILE *f, const char *text)
{
    size_t at = 0;

    for (const char *word = text + strspn(text, " \n"); *word; word += strspn(word, " \n")) {
        size_t n = strcspn(word, " \n");

        if (at)
            (void)fputc(at + n > WIDTH ? '\n' : ' ', f);
        at = at + n > WIDTH ? n + 1 : at + n + 1;
        put(f, (str){ word, n });
        word += n;
    }
    if (at)
        (void)fputc('\n', f);
}

/* As they stand, each line of its own. */
static void put_lines(FILE *f, const char *text)
{
    (void)fputs(".nf\n", f);
    for (str rest = str_of(text), line; str_split(&rest, '\n', &line);)
        if (line.n) {
            put(f, str_starts(line, STR("  ")) ? str_from(line, 2) : line);
            (void)fputc('\n', f);
        }
    (void)fputs(".fi\n", f);
}

/* ---- parts of a page ---- */

/* Of the release, so that two builds of it are the same; else of today. */
static void put_date(FILE *f)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    int64_t s = clock_wall_s(clock_real());
    char text[TIME_TEXT_SIZE];

    if (epoch)
        (void)str_to_i64(str_of(epoch), &s);
    (void)time_format_seconds(text, s);
    (void)fprintf(f, "%.10s", text);
}

static void put_title(FILE *f, str name, const char *summary)
{
    (void)fprintf(f, ".TH \"");
    for (size_t i = 0; i < name.n; i++)
        put_char(f,
                 name.p[i] >= 'a' && name.p[i] <= 'z' ? (char)(name.p[i] - 'a' + 'A') : name.p[i]);
    (void)fprintf(f, "\" 1 \"");
    put_date(f);
    (void)fprintf(f, "\" \"Kairship %.*s\" \"Kairship\"\n.nh\n.ad l\n.SH NAME\n",
                  STR_ARG(version_own()));
    put(f, name);
    (void)fputs(" \\- ", f);
    put(f, str_of(summary));
    (void)fputc('\n', f);
}

static void put_option(FILE *f, const struct option_row *r)
{
    char text[OPTION_DEFAULT_MAX];

    if (r->type == OPTION_GROUP) {
        (void)fprintf(f, ".SS %s\n", r->name);
        return;
    }
    (void)fputs(".TP\n\\fB", f);
    put(f, str_of(r->name));
    (void)fputs("\\fR", f);
    if (r->arg) {
        (void)fputs(" \\fI", f);
        put(f, str_of(r->arg));
        (void)fputs("\\fR", f);
    }
    (void)fputc('\n', f);
    put_words(f, r->help);
    option_default(r, text);
    put_words(f, text);
}

static void put_options(FILE *f, const struct option_row *rows, size_t n)
{
    if (!n)
        return;
    (void)fputs(".SH OPTIONS\n", f);
    for (size_t i = 0; i < n; i++)
        put_option(f, &rows[i]);
    for (size_t i = 0; i < OPTIONS_COMMON; i++)
        put_option(f, &options_common[i]);
}

static const char configuration[] =
    "What the command line does not say comes from the environment, then from "
    "~/.config/kairship.yaml, then from " CONFIG_FILE
    ". --config FILE is read instead of these two "
    "files. A key of such a file is the name of an option without its dashes, and its variable is "
    "KAIRSHIP_ and that name in capitals, with _ for each dash: KAIRSHIP_DATA_DIR.";

static const char sections[] =
    "At the top of a file stand options of kairship up, which hold for every subcommand that has "
    "them. A key that is named after a subcommand holds a mapping of options for that subcommand "
    "alone.";

static void put_end(FILE *f)
{
    (void)fputs(".SH EXIT STATUS\n", f);
    put_words(f, "0 on success, 1 when it failed, 2 when a word of the command line or a key of "
                 "the configuration is not understood.");
    (void)fputs(".SH CONFIGURATION\n", f);
    put_words(f, configuration);
    (void)fputs(".PP\n", f);
    put_words(f, sections);
}

/* ---- pages ---- */

static const char *summary_of(const char *command)
{
    for (size_t i = 0; i < ncommands; i++)
        if (commands[i].name && strcmp(commands[i].name, command) == 0)
            return commands[i].summary;
    return "";
}

static void write_page(void *arg, const char *command, const struct command_help *help,
                       const struct option_row *rows, size_t n)
{
    struct manual *m = arg;
    const char *name = arena_printf(m->arena, "man/man1/kairship-%s.1", command);
    FILE *f = m->rc < 0 ? NULL : manual_open(m->arena, m->dir, name, m->st);

    m->rc = -1;
    if (!f)
        return;
    put_title(f, str_printf(m->arena, "kairship-%s", command), summary_of(command));
    (void)fputs(".SH SYNOPSIS\n", f);
    put_lines(f, help->usage);
    (void)fputs(".SH DESCRIPTION\n", f);
    put_words(f, help->summary);
    put_options(f, rows, n);
    (void)fputs(".SH EXAMPLES\n", f);
    put_lines(f, help->examples);
    put_end(f);
    (void)fputs(".SH SEE ALSO\n.BR kairship (1)\n", f);
    m->rc = manual_close(f, name, m->st);
}

static int write_first(struct manual *m)
{
    static const char name[] = "man/man1/kairship.1";
    FILE *f = manual_open(m->arena, m->dir, name, m->st);

    if (!f)
        return -1;
    put_title(f, STR("kairship"), "a multi-cluster control plane for Kubernetes");
    (void)fputs(".SH SYNOPSIS\n", f);
    put_lines(f, "kairship COMMAND [options]\nkairship COMMAND --help");
    (void)fputs(".SH DESCRIPTION\n", f);
    put_words(f, "Kairship is a Kubernetes API server with a durable store inside, a control plane "
                 "that runs applications over many clusters, and a search over all of them.");
    (void)fputs(".SH COMMANDS\n", f);
    for (size_t i = 0; i < ncommands; i++) {
        if (!commands[i].name) {
            (void)fprintf(f, ".SS %s\n", commands[i].summary);
            continue;
        }
        (void)fputs(".TP\n.BR kairship\\-", f);
        put(f, str_of(commands[i].name));
        (void)fputs(" (1)\n", f);
        put_words(f, commands[i].summary);
    }
    put_end(f);
    (void)fputs(".SH FILES\n", f);
    put_words(f, "The folder that data-dir names, ./kairship-data if nothing does, holds all data. "
                 "Its admin.kubeconfig opens everything.");
    return manual_close(f, name, m->st);
}

int manual_write(const char *dir, struct status *st)
{
    scoped_arena a = arena_new();
    struct manual m = { .arena = a, .dir = dir, .st = st };

    m.rc = write_first(&m);
    commands_visit(write_page, &m);
    return m.rc < 0 ? -1 : completion_write(a, dir, st);
}
