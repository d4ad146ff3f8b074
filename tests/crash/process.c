/* SPDX-License-Identifier: Apache-2.0 */
#include "crash/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

enum { PATH_SIZE = 4096, LINE_SIZE = 1024, TICK_MS = 2 };

int64_t now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void path_in(char out[PATH_SIZE], const struct process *p, const char *name)
{
    (void)snprintf(out, PATH_SIZE, "%s/%s", p->dir, name);
}

/* In the child. */
__attribute__((noreturn)) static void become_server(const struct process *p, int out)
{
    char data[PATH_SIZE], log[PATH_SIZE];
    int err;

    path_in(data, p, "data");
    path_in(log, p, "server.log");
    err = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* no server outlives a test that was stopped */
    if (err < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(126);
    (void)execl(p->program, p->program, "up", "--data-dir", data, "--listen", "127.0.0.1:0",
                (char *)NULL);
    _exit(127);
}

bool process_start(struct process *p)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0) {
        printf("# pipe: %s\n", strerrordesc_np(errno));
        return false;
    }
    (void)fflush(stdout);
    p->pid = fork();
    if (p->pid == 0)
        become_server(p, fds[1]);
    (void)close(fds[1]);
    if (p->pid < 0) {
        p->pid = 0;
        (void)close(fds[0]);
        printf("# fork: %s\n", strerrordesc_np(errno));
        return false;
    }
    p->out = fds[0];
    return true;
}

bool process_ready(struct process *p, int64_t ms)
{
    int64_t until = now_us() + ms * 1000;
    char said[LINE_SIZE] = "";
    size_t n = 0;

    while (!strstr(said, "is ready at")) {
        struct pollfd fd = { .fd = p->out, .events = POLLIN };
        int64_t left = (until - now_us()) / 1000;
        ssize_t got;

        if (left <= 0 || n + 1 == sizeof(said)) {
            printf("# the server is not ready after %lld ms\n", (long long)ms);
            return false;
        }
        if (poll(&fd, 1, (int)left) <= 0)
            continue;
        got = read(p->out, said + n, sizeof(said) - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            printf("# the server ended instead of becoming ready\n");
            return false;
        }
        n += (size_t)got;
        said[n] = '\0';
    }
    return true;
}

void process_signal(const struct process *p, int sig)
{
    if (p->pid > 0)
        (void)kill(p->pid, sig);
}

bool process_ended(struct process *p, int by_signal, int64_t ms)
{
    int64_t until = now_us() + ms * 1000;
    pid_t pid;
    int state = 0;

    while ((pid = waitpid(p->pid, &state, WNOHANG)) == 0 && now_us() < until)
        (void)usleep(TICK_MS * 1000);
    if (pid == 0) {
        printf("# the server does not end within %lld ms\n", (long long)ms);
        return false;
    }
    p->pid = 0;
    (void)close(p->out);
    if (by_signal ? WIFSIGNALED(state) && WTERMSIG(state) == by_signal
                  : WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return true;
    if (WIFSIGNALED(state))
        printf("# the server died by signal %d\n", WTERMSIG(state));
    else
        printf("# the server ended by itself with %d\n", WEXITSTATUS(state));
    return false;
}

void process_show_log(const struct process *p)
{
    char path[PATH_SIZE], line[LINE_SIZE];
    FILE *f;

    path_in(path, p, "server.log");
    f = fopen(path, "re");
    if (!f)
        return;
    if (fseek(f, -6000, SEEK_END) != 0)
        rewind(f);
    while (fgets(line, sizeof(line), f))
        printf("# | %s%s", line, strchr(line, '\n') ? "" : "\n");
    (void)fclose(f);
}
