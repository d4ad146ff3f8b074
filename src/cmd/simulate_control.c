/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/simulate_control.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/log.h"

enum {
    LINE_MAX_BYTES = 512,
    ANSWER_MAX = 64 << 10,
    PATIENCE_S = 2,
    SLOW_MS = 500,
    SLOW_MAX = 600000
};

static const struct {
    const char *word;
    enum listener_mode mode;
} commands[] = {
    { "kill", LISTENER_DOWN },
    { "stop", LISTENER_HUNG },
    { "slow", LISTENER_SLOW },
    { "start", LISTENER_UP },
};

enum { COMMANDS = sizeof(commands) / sizeof(*commands) };

bool simulate_control_knows(const char *word)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(word, commands[i].word) == 0)
            return true;
    return strcmp(word, "status") == 0;
}

static int address_of(const char *dir, struct sockaddr_un *out, struct status *st)
{
    int n;

    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    n = snprintf(out->sun_path, sizeof(out->sun_path), "%s/control.sock", dir);
    if (n < 0 || (size_t)n >= sizeof(out->sun_path))
        return status_set(st, REASON_BAD_REQUEST, "the name of the folder %s is too long", dir);
    return 0;
}

int simulate_control_listen(const char *dir, struct status *st)
{
    struct sockaddr_un sa;
    mode_t old;
    int fd, rc;

    if (address_of(dir, &sa, st) < 0)
        return -1;
    (void)unlink(sa.sun_path); /* the folder is ours: the store has locked it */
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    old = umask(077);
    rc = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&sa, sizeof(sa));
    (void)umask(old);
    if (rc == 0 && listen(fd, 8) == 0)
        return fd;
    rc = errno;
    if (fd >= 0)
        (void)close(fd);
    return status_errno(st, rc, "cannot listen at %s", sa.sun_path);
}

/* ---- our side ---- */

static void status_text(const struct members *m, struct buf *out)
{
    for (size_t i = 0; i < members_count(m); i++) {
        str name = members_name(m, i);

        buf_printf(out, "%.*s\t%s\thttps://%.*s\n", STR_ARG(name), members_mode(m, i),
                   STR_ARG(members_address(m, name)));
    }
}

static int obey(struct members *m, str line, struct buf *out, struct status *st)
{
    str word = STR_NONE, name = STR_NONE, number = STR_NONE;
    int64_t ms = SLOW_MS;

    (void)str_split(&line, ' ', &word);
    (void)str_split(&line, ' ', &name);
    (void)str_split(&line, ' ', &number);
    if (str_is(word, "status")) {
        status_text(m, out);
        return 0;
    }
    if (number.n && (!str_to_i64(number, &ms) || ms < 1 || ms > SLOW_MAX))
        return status_set(st, REASON_BAD_REQUEST, "slow takes 1 to %d milliseconds", SLOW_MAX);
    for (size_t i = 0; i < COMMANDS; i++) {
        if (!str_is(word, commands[i].word))
            continue;
        if (members_set(m, name, commands[i].mode, ms, st) < 0)
            return -1;
        log_info("a member is told", log_z("to", commands[i].word), log_str("member", name));
        buf_lit(out, "ok\n");
        return 0;
    }
    return status_set(st, REASON_BAD_REQUEST, "unknown command %.*s", STR_ARG(word));
}

static void serve_one(int fd, struct members *m)
{
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    scoped_arena a = arena_new();
    scoped_buf out = { .max = ANSWER_MAX };
    char line[LINE_MAX_BYTES];
    size_t n = 0;
    struct status st;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    while (n < sizeof(line) && !memchr(line, '\n', n)) {
        ssize_t got = recv(fd, line + n, sizeof(line) - n, 0);

        if (got <= 0)
            return;
        n += (size_t)got;
    }
    status_init(&st, a);
    if (obey(m, str_trim((str){ line, n }), &out, &st) < 0) {
        buf_clear(&out);
        buf_printf(&out, "error: %.*s\n", STR_ARG(st.message));
    }
    (void)!send(fd, out.p, out.n, MSG_NOSIGNAL);
}

void simulate_control_serve(int fd, struct members *m)
{
    for (;;) {
        struct sockaddr_un from;
        socklen_t n = sizeof(from);
        int one = accept4(fd, (struct sockaddr *)&from, &n, SOCK_CLOEXEC);

        if (one < 0)
            return;
        serve_one(one, m);
        (void)close(one);
    }
}

/* ---- the other side ---- */

static int connect_to(const char *dir, struct status *st)
{
    struct sockaddr_un sa;
    int fd;

    if (address_of(dir, &sa, st) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return status_set(st, REASON_UNAVAILABLE,
                      "no simulation runs in %s; start one with kairship simulate, or say "
                      "--data-dir",
                      dir);
}

static int talk(int fd, str line, struct buf *answer, struct status *st)
{
    char part[4096];
    ssize_t n;

    if (send(fd, line.p, line.n, MSG_NOSIGNAL) != (ssize_t)line.n)
        return status_errno(st, errno, "cannot tell it");
    while ((n = recv(fd, part, sizeof(part), 0)) > 0)
        buf_append(answer, part, (size_t)n);
    if (answer->n == 0)
        return status_set(st, REASON_UNAVAILABLE, "it has not answered");
    return 0;
}

int simulate_control_say(const char *dir, const char *const *words, size_t n)
{
    scoped_arena a = arena_new();
    scoped_buf line = { .max = LINE_MAX_BYTES }, answer = { .max = ANSWER_MAX };
    struct status st;
    int fd, rc;

    status_init(&st, a);
    for (size_t i = 0; i < n; i++)
        buf_printf(&line, "%s%s", i ? " " : "", words[i]);
    buf_byte(&line, '\n');
    fd = connect_to(dir, &st);
    rc = fd < 0 ? -1 : talk(fd, buf_str(&line), &answer, &st);
    if (fd >= 0)
        (void)close(fd);
    if (rc == 0 && !str_starts(buf_str(&answer), STR("error: "))) {
        (void)fwrite(answer.p, 1, answer.n, stdout);
        return 0;
    }
    if (rc == 0)
        (void)fprintf(stderr, "kairship: %.*s", STR_ARG(str_from(buf_str(&answer), 7)));
    else
        (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st.message));
    return 1;
}
