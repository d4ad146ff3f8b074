/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "sim/podfiles.h"

enum {
    BACKOFF_MS = 500,
    BACKOFF_MAX_MS = 30000,
    STEADY_MS = 60000, /* who ran that long begins anew with the back-off */
    KILL_MS = 2000,
    WORDS_MAX = 256,
    RENEW_MS = 6 * 3600 * 1000,
};

struct process {
    struct loop_fd fd; /* first: a pidfd; -1 when it does not run */
    struct loop_timer kill;
    struct processes *all;
    struct process *next;
    pid_t pid;
    int64_t started_ms, next_ms, wait_ms, restarts;
    bool stopping, adopted;
    char *pod, *container; /* the pod's key */
};

struct processes {
    struct processes_options o;
    pthread_mutex_t mu;
    pthread_cond_t ended;
    struct process *first; /* guarded by mu, with what is in it */
};

struct processes *processes_new(const struct processes_options *o)
{
    struct processes *p = mem_zalloc(sizeof(*p));

    p->o = *o;
    (void)pthread_mutex_init(&p->mu, NULL);
    (void)pthread_cond_init(&p->ended, NULL);
    return p;
}

static void process_free(struct process *c)
{
    if (c->fd.fd >= 0)
        (void)close(c->fd.fd);
    free(c->pod);
    free(c->container);
    free(c);
}

void processes_free(struct processes *p)
{
    if (!p)
        return;
    for (struct process *c = p->first, *next; c; c = next) {
        next = c->next;
        process_free(c);
    }
    (void)pthread_cond_destroy(&p->ended);
    (void)pthread_mutex_destroy(&p->mu);
    free(p);
}

/* ---- which ---- */

/* "kairship" of "registry.example.com:5000/x/kairship:v1@sha256:…". */
static bool is_ours(const struct json *container)
{
    str image = json_get_str(container, "image"), last = image;
    ptrdiff_t slash, end;

    while ((slash = str_find(last, '/', 0)) >= 0)
        last = str_from(last, (size_t)slash + 1);
    end = str_find(last, ':', 0);
    if (end < 0)
        end = str_find(last, '@', 0);
    return str_is(end < 0 ? last : str_sub(last, 0, (size_t)end), "kairship");
}

bool process_wanted(const struct json *pod)
{
    json_for_each (c, json_path(pod, "spec.containers"))
        if (is_ours(c))
            return true;
    return false;
}

static struct process *find_locked(struct processes *p, str pod, str container)
{
    for (struct process *c = p->first; c; c = c->next)
        if (str_is(pod, c->pod) && str_is(container, c->container))
            return c;
    return NULL;
}

struct process_view process_look(struct processes *p, const struct informer_key *k, str container)
{
    scoped_arena a = arena_new();
    struct process_view v = { 0 };
    struct process *c;

    (void)pthread_mutex_lock(&p->mu);
    c = find_locked(p, informer_key_text(a, k), container);
    if (c)
        v = (struct process_view){ c->restarts > 0 ? c->restarts : 0, c->fd.fd < 0 };
    (void)pthread_mutex_unlock(&p->mu);
    return v;
}

/* ---- their ends, on the loop ---- */

static void forget_locked(struct processes *p, struct process *c)
{
    struct process **at = &p->first;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

/* True when it is not to start again, since the pod goes. */
static bool reap_locked(struct process *c)
{
    int64_t now = clock_now_ms(clock_real());

    if (now - c->started_ms > STEADY_MS || c->wait_ms == 0)
        c->wait_ms = BACKOFF_MS;
    else
        c->wait_ms = c->wait_ms * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : c->wait_ms * 2;
    (void)close(c->fd.fd);
    c->fd.fd = -1;
    c->adopted = false;
    c->next_ms = now + c->wait_ms;
    return c->stopping;
}

static void on_exit_of(struct loop_fd *f, uint32_t events)
{
    struct process *c = (struct process *)(void *)f;
    struct processes *p = c->all;
    scoped_arena a = arena_new();
    struct informer_key k;
    bool last;
    int how = 0;
    str key;

    (void)events;
    if (waitpid(c->pid, &how, WNOHANG) == 0)
        return;
    loop_fd_remove(p->o.loop, f);
    loop_timer_cancel(p->o.loop, &c->kill);
    (void)pthread_mutex_lock(&p->mu);
    key = str_dup(a, str_of(c->pod));
    log_info("a container's process has ended", log_str("pod", key),
             log_z("container", c->container), log_int("status", how));
    last = reap_locked(c);
    if (last)
        forget_locked(p, c);
    (void)pthread_cond_broadcast(&p->ended);
    (void)pthread_mutex_unlock(&p->mu);
    if (last)
        process_free(c);
    else if (informer_key_parse(key, &k))
        p->o.ended(p->o.arg, &k);
}

static void on_kill(struct loop_timer *t)
{
    struct process *c =
        (struct process *)(void *)((char *)t - __builtin_offsetof(struct process, kill));

    (void)kill(c->pid, SIGKILL);
}

static void adopt(void *arg)
{
    struct process *c = arg;

    if (loop_fd_add(c->all->o.loop, &c->fd) < 0)
        log_error("cannot watch a process", log_errno(errno));
}

/* ---- their ends, from anywhere ---- */

struct stop {
    struct processes *p;
    char *pod;
};

static void arm_kills(void *arg)
{
    struct stop *s = arg;

    (void)pthread_mutex_lock(&s->p->mu);
    for (struct process *c = s->p->first; c; c = c->next)
        if (c->stopping && c->adopted && strcmp(c->pod, s->pod) == 0)
            loop_timer_set(s->p->o.loop, &c->kill, KILL_MS);
    (void)pthread_mutex_unlock(&s->p->mu);
    free(s->pod);
    free(s);
}

/* True if some have to be waited for. */
static bool stop_pod_locked(struct processes *p, const char *pod)
{
    bool any = false;

    for (struct process **at = &p->first, *c; (c = *at) != NULL;) {
        if (strcmp(c->pod, pod) != 0 || c->stopping) {
            at = &c->next;
            continue;
        }
        if (c->fd.fd < 0) { /* it does not run just now */
            *at = c->next;
            process_free(c);
            continue;
        }
        c->stopping = true;
        (void)kill(c->pid, SIGTERM);
        any = true;
        at = &c->next;
    }
    return any;
}

void processes_stop(struct processes *p, const struct informer_key *k)
{
    scoped_arena a = arena_new();
    const char *pod = str_z(a, informer_key_text(a, k));
    struct stop *s;
    bool any;

    (void)pthread_mutex_lock(&p->mu);
    any = stop_pod_locked(p, pod);
    (void)pthread_mutex_unlock(&p->mu);
    if (!any)
        return;
    s = mem_alloc(sizeof(*s));
    *s = (struct stop){ p, mem_strdup(pod) };
    loop_call(p->o.loop, arm_kills, s);
}

static void end_locked(struct processes *p, int signal)
{
    for (struct process *c = p->first; c; c = c->next) {
        c->stopping = true;
        if (c->fd.fd >= 0)
            (void)kill(c->pid, signal);
    }
}

static bool runs_locked(const struct processes *p)
{
    for (const struct process *c = p->first; c; c = c->next)
        if (c->fd.fd >= 0)
            return true;
    return false;
}

void processes_stop_all(struct processes *p)
{
    struct timespec until;
    int signals[] = { SIGTERM, SIGKILL };

    (void)pthread_mutex_lock(&p->mu);
    for (size_t i = 0; i < 2; i++) {
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += KILL_MS / 1000;
        end_locked(p, signals[i]);
        while (runs_locked(p) && pthread_cond_timedwait(&p->ended, &p->mu, &until) == 0)
            ;
    }
    (void)pthread_mutex_unlock(&p->mu);
}

/* ---- their beginnings ---- */

str process_relocate(struct arena *a, str text, const struct process_mount *m, size_t n)
{
    scoped_buf b = { .max = 1 << 20 };

    for (size_t at = 0; at < text.n;) {
        const struct process_mount *best = NULL;
        str rest = str_from(text, at);

        for (size_t i = 0; i < n; i++) {
            bool whole = rest.n == m[i].at.n || (rest.n > m[i].at.n && rest.p[m[i].at.n] == '/');

            if (m[i].at.n > 1 && whole && str_starts(rest, m[i].at) &&
                (!best || m[i].at.n > best->at.n))
                best = &m[i];
        }
        if (best) {
            buf_str_append(&b, best->dir);
            at += best->at.n;
        } else {
            buf_byte(&b, text.p[at++]);
        }
    }
    return str_dup(a, buf_str(&b));
}

/* NULL-ended words for execve. */
struct argument_words {
    char *word[WORDS_MAX + 1];
    size_t n;
};

static void word(struct argument_words *w, struct arena *a, str s)
{
    if (w->n < WORDS_MAX)
        w->word[w->n++] = str_z(a, s);
}

static void command(const struct processes *p, struct arena *a, const struct json *container,
                    const struct podfiles *f, struct argument_words *out)
{
    static const char *const lists[] = { "command", "args" };

    word(out, a, str_of(p->o.program)); /* whatever the image calls it */
    for (size_t i = 0; i < 2; i++) {
        const struct json *list = json_get(container, str_of(lists[i]));

        json_for_each (v, list)
            if (i != 0 || v != json_at(list, 0))
                word(out, a, process_relocate(a, json_str(v), f->mounts, f->nmounts));
    }
}

static void environment(const struct processes *p, struct arena *a, str address,
                        const struct podfiles *f, struct argument_words *out)
{
    ptrdiff_t colon = str_find(address, ':', 0);
    const char *path = getenv("PATH");

    (void)p;
    word(out, a, str_printf(a, "PATH=%s", path ? path : "/usr/bin:/bin"));
    word(out, a, str_printf(a, "HOME=%s", f->dir));
    word(out, a, str_printf(a, "KAIRSHIP_SERVICE_ACCOUNT_DIR=%s/serviceaccount", f->dir));
    if (colon > 0) {
        word(out, a,
             str_printf(a, "KUBERNETES_SERVICE_HOST=%.*s",
                        STR_ARG(str_sub(address, 0, (size_t)colon))));
        word(out, a,
             str_printf(a, "KUBERNETES_SERVICE_PORT=%.*s",
                        STR_ARG(str_from(address, (size_t)colon + 1))));
    }
    for (size_t i = 0; i < f->nenv; i++)
        word(out, a, process_relocate(a, f->env[i], f->mounts, f->nmounts));
}

/* Between fork and exec: only what is safe there. */
__attribute__((noreturn)) static void become(const char *log_path, char *const *argv,
                                             char *const *env)
{
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t all;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0); /* a Ctrl-C is for us; we end them */
    (void)sigemptyset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (log < 0 || none < 0 || dup2(none, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(126);
    (void)execve(argv[0], argv, env);
    _exit(127);
}

static int spawn(struct process *c, const char *log_path, const struct argument_words *argv,
                 const struct argument_words *env, struct status *st)
{
    c->pid = fork();
    if (c->pid < 0)
        return status_errno(st, errno, "cannot start a process");
    if (c->pid == 0)
        become(log_path, argv->word, env->word);
    c->fd.fd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    if (c->fd.fd < 0) {
        int err = errno;

        (void)kill(c->pid, SIGKILL);
        (void)waitpid(c->pid, NULL, 0);
        return status_errno(st, err, "cannot watch a process");
    }
    c->started_ms = clock_now_ms(clock_real());
    c->adopted = true;
    return 0;
}

static struct process *new_locked(struct processes *p, str pod, str container)
{
    struct process *c = mem_zalloc(sizeof(*c));
    scoped_arena a = arena_new();

    c->fd = (struct loop_fd){ .fd = -1, .fn = on_exit_of };
    c->kill.fn = on_kill;
    c->all = p;
    c->pod = mem_strdup(str_z(a, pod));
    c->container = mem_strdup(str_z(a, container));
    c->restarts = -1;
    c->next = p->first;
    p->first = c;
    return c;
}

/* Milliseconds until it has to be looked at again, or -1. */
static int start(struct processes *p, struct arena *a, const struct informer_key *k,
                 const struct json *container, const struct podfiles *f, struct status *st)
{
    str pod = informer_key_text(a, k), name = json_get_str(container, "name");
    struct argument_words argv = { .n = 0 }, env = { .n = 0 };
    int64_t now = clock_now_ms(clock_real());
    struct process *c;
    int rc = RENEW_MS;

    command(p, a, container, f, &argv);
    environment(p, a, p->o.address_of(p->o.address_arg, a, k->instance), f, &env);
    (void)pthread_mutex_lock(&p->mu);
    c = find_locked(p, pod, name);
    if (!c)
        c = new_locked(p, pod, name);
    if (c->fd.fd < 0 && now < c->next_ms) {
        rc = (int)(c->next_ms - now);
    } else if (c->fd.fd < 0 && !c->stopping) {
        const char *log_path = arena_printf(a, "%s/%.*s.log", f->dir, STR_ARG(name));

        if (spawn(c, log_path, &argv, &env, st) < 0) {
            rc = -1;
        } else {
            c->restarts++;
            loop_call(p->o.loop, adopt, c);
        }
    }
    (void)pthread_mutex_unlock(&p->mu);
    return rc;
}

int process_ensure(struct processes *p, struct client *client, struct arena *a,
                   const struct informer_key *k, const struct json *pod, struct status *st)
{
    struct podfiles_options o = { .dir = p->o.dir, .ca_pem = p->o.ca_pem };

    int again = RENEW_MS, one;

    if (!p->o.program)
        return 0;
    json_for_each (c, json_path(pod, "spec.containers")) {
        struct podfiles f;

        if (!is_ours(c))
            continue;
        if (podfiles_write(&o, client, a, k, pod, c, &f, st) < 0)
            return -1;
        one = start(p, a, k, c, &f, st);
        if (one < 0)
            return -1;
        again = one < again ? one : again;
    }
    return again;
}
