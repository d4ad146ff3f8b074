/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/prompt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "base/banned.h"

bool prompt_on_terminal(void)
{
    return isatty(STDIN_FILENO) == 1;
}

/* Byte by byte, since what a buffer of stdio has read cannot be wiped. */
static bool read_line(char *to, size_t max, size_t *n)
{
    ssize_t got;
    char c;

    for (*n = 0;;) {
        do
            got = read(STDIN_FILENO, &c, 1);
        while (got < 0 && errno == EINTR);
        if (got < 0 || (got == 0 && *n == 0))
            return false;
        if (got == 0 || c == '\n')
            break;
        if (*n == max)
            return false;
        to[(*n)++] = c;
    }
    if (*n && to[*n - 1] == '\r')
        --*n;
    return true;
}

static void ask(const char *question)
{
    if (prompt_on_terminal())
        (void)fprintf(stderr, "%s", question);
}

bool prompt_line(struct arena *a, const char *question, size_t max, str *out)
{
    char *line = arena_array(a, char, max);
    size_t n;

    ask(question);
    if (!read_line(line, max, &n))
        return false;
    *out = (str){ line, n };
    return true;
}

/* ---- without echo ---- */

static const int deadly[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
enum { DEADLY = sizeof(deadly) / sizeof(*deadly) };

static struct termios shown;

static void show_again(int signal_number)
{
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    (void)raise(signal_number); /* which ends the program now */
}

bool prompt_secret(struct arena *a, const char *question, size_t max, secret *out)
{
    struct sigaction restore = { .sa_handler = show_again, .sa_flags = (int)SA_RESETHAND };
    struct sigaction before[DEADLY];
    bool hidden = prompt_on_terminal() && tcgetattr(STDIN_FILENO, &shown) == 0, ok;
    char *line = secret_room(a, max);
    struct termios quiet = shown;
    size_t n;

    for (size_t i = 0; hidden && i < DEADLY; i++)
        (void)sigaction(deadly[i], &restore, &before[i]);
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    if (hidden) /* before the question: what was typed until now is thrown away */
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    ask(question);
    ok = read_line(line, max, &n);
    if (hidden)
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    for (size_t i = 0; hidden && i < DEADLY; i++)
        (void)sigaction(deadly[i], &before[i], NULL);
    if (hidden)
        (void)fprintf(stderr, "\n");
    if (ok)
        *out = secret_of((str){ line, n });
    return ok;
}
