/* SPDX-License-Identifier: Apache-2.0 */

/* Completion for bash, zsh and fish: subcommands, options, and files where an option takes one. */

#include "base/arena.h"
#include "base/banned.h"
#include "cmd/commands.h"
#include "cmd/manual.h"

struct shells {
    struct arena *arena;
    FILE *bash, *zsh, *fish;
};

/* ---- words ---- */

/* The first sentence without its full stop; in single quotes, with a mark before what has to have
 * one there. */
static void put_about(FILE *f, const char *help, const char *marked, const char *quote)
{
    const char *end = strstr(help, ". ");
    size_t n = end ? (size_t)(end - help) : strlen(help);

    if (n && help[n - 1] == '.')
        n--;
    for (size_t i = 0; i < n; i++)
        if (help[i] == '\'')
            (void)fputs(quote, f);
        else
            (void)fprintf(f, "%s%c", strchr(marked, help[i]) ? "\\" : "", help[i]);
}

static const char zsh_marked[] = "[]:\\", zsh_quote[] = "'\\''";
static const char fish_marked[] = "\\", fish_quote[] = "\\'";

static bool takes(const struct option_row *r, const char *arg)
{
    return r->arg && strcmp(r->arg, arg) == 0;
}

/* "kairship backup FILE [options]" */
static bool has_file(struct arena *a, const char *command, const struct command_help *help)
{
    return strstr(help->usage, arena_printf(a, "kairship %s FILE", command)) != NULL;
}

/* ---- bash ---- */

static const char bash_begin[] = "# bash completion for kairship\n"
                                 "\n"
                                 "_kairship() {\n"
                                 "\tlocal command=${COMP_WORDS[1]} cur=${COMP_WORDS[COMP_CWORD]} "
                                 "prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                                 "\tlocal options= files= folders= values= words= file=\n"
                                 "\t[ \"$cur\" != = ] || cur=\n"
                                 "\t[ \"$prev\" != = ] || prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
                                 "\t[ \"$COMP_CWORD\" != 1 ] || command=\n"
                                 "\tCOMPREPLY=()\n"
                                 "\tcase $command in\n";

static const char bash_end[] = "\tesac\n"
                               "\tcase \" $values \" in\n"
                               "\t*\" $prev \"*) return ;;\n"
                               "\tesac\n"
                               "\tcase \" $folders \" in\n"
                               "\t*\" $prev \"*) words=-d ;;\n"
                               "\tesac\n"
                               "\tcase \" $files \" in\n"
                               "\t*\" $prev \"*) words=-f ;;\n"
                               "\tesac\n"
                               "\tcase $words:$cur in\n"
                               "\t:-*) ;;\n"
                               "\t:*) [ \"$file\" != yes ] || words=-f ;;\n"
                               "\tesac\n"
                               "\tif [ -z \"$words\" ]; then\n"
                               "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
                               "\telse\n"
                               "\t\tcompopt -o filenames\n"
                               "\t\tmapfile -t COMPREPLY < <(compgen \"$words\" -- \"$cur\")\n"
                               "\tfi\n"
                               "}\n"
                               "complete -F _kairship kairship\n";

static bool is_file(const struct option_row *r)
{
    return takes(r, "FILE");
}

static bool is_folder(const struct option_row *r)
{
    return takes(r, "DIR");
}

static bool is_value(const struct option_row *r)
{
    return r->arg && !is_file(r) && !is_folder(r);
}

static bool is_option(const struct option_row *r)
{
    return r->type != OPTION_GROUP;
}

static void put_names(FILE *f, const char *what, bool (*is)(const struct option_row *r),
                      const struct option_row *rows, size_t n)
{
    (void)fprintf(f, "\t\t%s='", what);
    for (size_t i = 0; i < n; i++)
        if (is_option(&rows[i]) && is(&rows[i]))
            (void)fprintf(f, " %s", rows[i].name);
    for (size_t i = 0; n && i < OPTIONS_COMMON; i++)
        if (is_option(&options_common[i]) && is(&options_common[i]))
            (void)fprintf(f, " %s", options_common[i].name);
    (void)fprintf(f, "%s'\n", is == is_option ? " --help" : "");
}

static void bash_command(const struct shells *s, const char *command,
                         const struct command_help *help, const struct option_row *rows, size_t n)
{
    (void)fprintf(s->bash, "\t%s)\n", command);
    put_names(s->bash, "options", is_option, rows, n);
    put_names(s->bash, "files", is_file, rows, n);
    put_names(s->bash, "folders", is_folder, rows, n);
    put_names(s->bash, "values", is_value, rows, n);
    if (has_file(s->arena, command, help))
        (void)fprintf(s->bash, "\t\tfile=yes\n");
    (void)fprintf(s->bash, "\t\t;;\n");
}

/* ---- zsh ---- */

static void zsh_option(FILE *f, const struct option_row *r)
{
    if (!is_option(r))
        return;
    (void)fprintf(f, " \\\n\t\t'%s%s[", r->type == OPTION_LIST ? "*" : "", r->name);
    put_about(f, r->help, zsh_marked, zsh_quote);
    (void)fputc(']', f);
    if (r->arg) {
        (void)fputc(':', f);
        put_about(f, r->arg, zsh_marked, zsh_quote);
        (void)fprintf(f, ":%s", is_file(r) ? "_files" : is_folder(r) ? "_files -/" : " ");
    }
    (void)fputc('\'', f);
}

static void zsh_command(const struct shells *s, const char *command,
                        const struct command_help *help, const struct option_row *rows, size_t n)
{
    (void)fprintf(s->zsh, "\t%s)\n\t\t_arguments", command);
    for (size_t i = 0; i < n; i++)
        zsh_option(s->zsh, &rows[i]);
    for (size_t i = 0; n && i < OPTIONS_COMMON; i++)
        zsh_option(s->zsh, &options_common[i]);
    (void)fprintf(s->zsh, " \\\n\t\t'--help[Print examples and options]'%s\n",
                  has_file(s->arena, command, help) ? " ':FILE:_files'" : "");
    (void)fprintf(s->zsh, "\t\t;;\n");
}

/* ---- fish ---- */

static void fish_option(FILE *f, const char *command, const struct option_row *r)
{
    bool word = r->name[1] == '-';

    if (!is_option(r))
        return;
    (void)fprintf(f, "complete -c kairship -n '__fish_seen_subcommand_from %s' -%c %s", command,
                  word ? 'l' : 's', r->name + (word ? 2 : 1));
    if (r->arg)
        (void)fprintf(f, "%s",
                      is_file(r)     ? " -r -F"
                      : is_folder(r) ? " -x -a '(__fish_complete_directories)'"
                                     : " -x");
    (void)fprintf(f, " -d '");
    put_about(f, r->help, fish_marked, fish_quote);
    (void)fprintf(f, "'\n");
}

static void fish_command(const struct shells *s, const char *command,
                         const struct command_help *help, const struct option_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fish_option(s->fish, command, &rows[i]);
    for (size_t i = 0; n && i < OPTIONS_COMMON; i++)
        fish_option(s->fish, command, &options_common[i]);
    if (has_file(s->arena, command, help))
        (void)fprintf(s->fish, "complete -c kairship -n '__fish_seen_subcommand_from %s' -F\n",
                      command);
}

/* ---- all of them ---- */

static void put_command(void *arg, const char *command, const struct command_help *help,
                        const struct option_row *rows, size_t n)
{
    const struct shells *s = arg;

    bash_command(s, command, help, rows, n);
    zsh_command(s, command, help, rows, n);
    fish_command(s, command, help, rows, n);
}

static void begin(const struct shells *s)
{
    (void)fprintf(s->bash, "%s\t'')\n\t\toptions='", bash_begin);
    (void)fprintf(s->zsh, "#compdef kairship\n\n"
                          "local -a subcommands\n"
                          "subcommands=(\n");
    (void)fprintf(s->fish, "# fish completion for kairship\n\ncomplete -c kairship -f\n");
    for (size_t i = 0; i < ncommands; i++) {
        const char *name = commands[i].name;

        if (!name)
            continue;
        (void)fprintf(s->bash, " %s", name);
        (void)fprintf(s->zsh, "\t'%s:", name);
        put_about(s->zsh, commands[i].summary, zsh_marked, zsh_quote);
        (void)fprintf(s->zsh, "'\n");
        (void)fprintf(s->fish, "complete -c kairship -n __fish_use_subcommand -a %s -d '", name);
        put_about(s->fish, commands[i].summary, fish_marked, fish_quote);
        (void)fprintf(s->fish, "'\n");
    }
    (void)fprintf(s->bash, " --help'\n\t\t;;\n");
    (void)fprintf(s->zsh, ")\n"
                          "if (( CURRENT == 2 )); then\n"
                          "\t_describe subcommand subcommands\n"
                          "\treturn\n"
                          "fi\n"
                          "shift words\n"
                          "(( CURRENT-- ))\n"
                          "case $words[1] in\n");
}

int completion_write(struct arena *a, const char *dir, struct status *st)
{
    static const char *const names[] = { "bash-completion/completions/kairship",
                                         "zsh/site-functions/_kairship",
                                         "fish/vendor_completions.d/kairship.fish" };
    struct shells s = { .arena = a };
    FILE **const files[] = { &s.bash, &s.zsh, &s.fish };
    int rc = 0;

    for (size_t i = 0; i < 3; i++) {
        *files[i] = rc < 0 ? NULL : manual_open(a, dir, names[i], st);
        rc = *files[i] ? 0 : -1;
    }
    if (rc == 0) {
        begin(&s);
        commands_visit(put_command, &s);
        (void)fputs(bash_end, s.bash);
        (void)fputs("esac\n", s.zsh);
    }
    for (size_t i = 0; i < 3; i++)
        if (*files[i] && manual_close(*files[i], names[i], st) < 0)
            rc = -1;
    return rc;
}
