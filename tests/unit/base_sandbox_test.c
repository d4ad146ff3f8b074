/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The real filters, in processes of their own.  Built without sanitizers, whatever the others are
 * built with: these call and read what no server does.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/sandbox_internal.h"
#include "tap.h"

static char dir[] = "/tmp/kairship-sandbox-XXXXXX";
static bool made;

static const char *data_dir(void)
{
    if (!made)
        made = mkdtemp(dir) != NULL;
    return dir;
}

/* What a child says of itself: 0 is well, else the line that found fault. */
#define WANT(cond)           \
    do {                     \
        if (!(cond))         \
            _exit(__LINE__); \
    } while (0)

static int in_child(void (*fn)(void))
{
    pid_t pid = fork();
    int how = 0;

    if (pid == 0) {
        fn();
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &how, 0) != pid)
        return -1;
    return how;
}

static bool is_well(int how)
{
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
        return true;
    if (WIFEXITED(how))
        printf("# the child found fault at line %d (modulo 256)\n", WEXITSTATUS(how));
    else
        printf("# the child ended by signal %d\n", WTERMSIG(how));
    return false;
}

static struct sandbox_options options(unsigned needs)
{
    return (struct sandbox_options){
        .mode = "auto", .dir = data_dir(), .port = SANDBOX_NO_PORT, .needs = needs
    };
}

static struct arena *arena;
static struct status st;

static void shut_in(unsigned needs)
{
    struct sandbox_options o = options(needs);

    arena = arena_new();
    status_init(&st, arena);
    log_open(STDERR_FILENO, LOG_ERROR, LOG_JSON);
    WANT(sandbox_drop(&o, &st) == 0);
    WANT(sandbox_enter(&o, &st) == 0);
    WANT(sandbox_filter(&o, &st) == 0);
}

/* ---- privileges ---- */

static void child_privileges(void)
{
    struct sandbox_options o = options(0);
    struct rlimit core;
    char line[256], caps[64] = "";
    FILE *f;

    arena = arena_new();
    status_init(&st, arena);
    WANT(sandbox_drop(&o, &st) == 0);
    WANT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    WANT(prctl(PR_GET_DUMPABLE) == 0);
    WANT(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0);
    f = fopen("/proc/self/status", "re");
    WANT(f);
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "CapEff: %63s", caps) == 1 || sscanf(line, "CapPrm: %63s", caps) == 1 ||
            (geteuid() == 0 && sscanf(line, "CapBnd: %63s", caps) == 1))
            WANT(strspn(caps, "0") == strlen(caps));
    WANT(caps[0]);
}

TEST(privileges_are_dropped)
{
    CHECK(is_well(in_child(child_privileges)));
}

static void child_user(void)
{
    struct sandbox_options o = options(0);
    struct stat sb;

    arena = arena_new();
    status_init(&st, arena);
    o.user = "12345:23456";
    WANT(sandbox_drop(&o, &st) == 0);
    WANT(getuid() == 12345 && geteuid() == 12345 && getegid() == 23456);
    WANT(getgroups(0, NULL) == 0);
    WANT(setuid(0) < 0 && errno == EPERM);
    /* The folder of root's went with us. */
    WANT(stat(data_dir(), &sb) == 0 && sb.st_uid == 12345 && sb.st_gid == 23456);
}

static void child_owner(void)
{
    struct sandbox_options o = options(0);

    arena = arena_new();
    status_init(&st, arena);
    WANT(chown(data_dir(), 777, 778) == 0);
    WANT(sandbox_drop(&o, &st) == 0);
    WANT(geteuid() == 777 && getegid() == 778);
}

static char inner[sizeof(dir) + sizeof("/inner")];

static void child_shut_out(void)
{
    struct sandbox_options o = options(0);

    arena = arena_new();
    status_init(&st, arena);
    o.dir = inner;
    o.user = "12345:23456";
    WANT(sandbox_drop(&o, &st) < 0 && status_is(&st, REASON_FORBIDDEN));
    WANT(str_contains(st.message, STR("12345")) && str_contains(st.message, str_of(inner)));
}

TEST(root_becomes_the_user_that_is_named_or_owns_the_data)
{
    if (geteuid() != 0) {
        printf("# not root\n");
        return;
    }
    CHECK(is_well(in_child(child_user)));
    CHECK(is_well(in_child(child_owner)));
    CHECK(chown(data_dir(), 0, 0) == 0);
    (void)snprintf(inner, sizeof(inner), "%s/inner", data_dir());
    CHECK(mkdir(inner, 0700) == 0);
    CHECK(is_well(in_child(child_shut_out)));
    CHECK(rmdir(inner) == 0);
}

static void child_bad_words(void)
{
    struct sandbox_options o = options(0);

    arena = arena_new();
    status_init(&st, arena);
    o.mode = "perhaps";
    WANT(sandbox_drop(&o, &st) < 0 && status_is(&st, REASON_BAD_REQUEST));
    status_reset(&st);
    o.mode = "auto";
    o.user = "no such user";
    WANT(sandbox_drop(&o, &st) < 0 && status_is(&st, REASON_BAD_REQUEST));
    status_reset(&st);
    o.user = "1:4294967295"; /* -1: would change nothing */
    WANT(sandbox_drop(&o, &st) < 0);
    o = options(0);
    o.mode = "off";
    WANT(sandbox_drop(&o, &st) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
}

TEST(words_that_mean_nothing)
{
    CHECK(is_well(in_child(child_bad_words)));
}

static void child_open_to_others(void)
{
    struct sandbox_options o = options(0);

    arena = arena_new();
    status_init(&st, arena);
    o.user = "12345";
    WANT(chmod(data_dir(), 0777) == 0);
    WANT(sandbox_drop(&o, &st) < 0 && geteuid() == 0);
}

TEST(a_folder_that_others_write_to_is_not_given_away)
{
    if (geteuid() == 0)
        CHECK(is_well(in_child(child_open_to_others)));
    CHECK(chmod(data_dir(), 0700) == 0);
}

/* ---- files and ports ---- */

static int bind_to(unsigned short port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int rc = bind(fd, (struct sockaddr *)&sa, sizeof(sa)), err = errno;

    (void)close(fd);
    errno = err;
    return rc;
}

static void child_files(void)
{
    struct sandbox_options o = options(0);
    char path[128], other[128];
    int fd;

    arena = arena_new();
    status_init(&st, arena);
    WANT(sandbox_drop(&o, &st) == 0 && sandbox_enter(&o, &st) == 0);
    WANT(sandbox_state().landlock == sandbox_landlock_version());
    (void)snprintf(path, sizeof(path), "%s/a", data_dir());
    (void)snprintf(other, sizeof(other), "%s/b", data_dir());
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    WANT(fd >= 0 && ftruncate(fd, 10) == 0);
    WANT(rename(path, other) == 0 && unlink(other) == 0);
    WANT(open(data_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) >= 0);
    WANT(open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0);
    WANT(open("/proc/self/statm", O_RDONLY | O_CLOEXEC) >= 0);
    WANT(open("/etc/passwd", O_WRONLY | O_CLOEXEC) < 0 && errno == EACCES);
    WANT(open("/tmp/kairship-elsewhere", O_RDWR | O_CREAT | O_CLOEXEC, 0600) < 0 &&
         errno == EACCES);
    WANT(open("/usr/bin/env", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
    WANT(open("/proc/1/status", O_RDONLY | O_CLOEXEC) < 0);
    WANT(mkdir("/tmp/kairship-elsewhere", 0700) < 0 && errno == EACCES);
    if (sandbox_landlock_version() >= 4)
        WANT(bind_to(0) < 0 && errno == EACCES);
}

static void child_port(void)
{
    struct sandbox_options o = options(0);

    arena = arena_new();
    status_init(&st, arena);
    o.port = 0;
    WANT(sandbox_drop(&o, &st) == 0 && sandbox_enter(&o, &st) == 0);
    WANT(bind_to(0) == 0);
    WANT(bind_to(47123) < 0 && errno == EACCES);
}

TEST(files_and_ports_of_others_are_closed)
{
    if (sandbox_landlock_version() < 2) {
        printf("# this kernel has no Landlock\n");
        return;
    }
    CHECK(is_well(in_child(child_files)));
    if (sandbox_landlock_version() >= 4)
        CHECK(is_well(in_child(child_port)));
}

/* ---- system calls ---- */

static void *add_one(void *arg)
{
    (*(int *)arg)++;
    return NULL;
}

static void child_calls(void)
{
    pthread_t t;
    int n = 0;

    shut_in(0);
    WANT(pthread_create(&t, NULL, add_one, &n) == 0 && pthread_join(t, NULL) == 0 && n == 1);
    WANT(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
         MAP_FAILED);
    WANT(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
             MAP_FAILED &&
         errno == EPERM);
    WANT(fork() < 0);
    WANT(socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM);
    WANT(kill(1, 0) < 0 && errno == EPERM && kill(getpid(), 0) == 0);
    WANT(syscall(SYS_memfd_create, "x", 0) < 0 && errno == EPERM);
    WANT(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS);
    WANT(sandbox_state().calls > 30 && sandbox_state().calls <= 62);
}

static void child_executes(void)
{
    char *const argv[] = { NULL };

    shut_in(0);
    (void)execve("/bin/true", argv, argv);
}

static void child_traces(void)
{
    shut_in(0);
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void child_aborts(void)
{
    shut_in(0);
    abort();
}

TEST(calls_that_are_not_in_the_table)
{
    int how;

    CHECK(is_well(in_child(child_calls)));
    how = in_child(child_executes);
    CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGSYS);
    how = in_child(child_traces);
    CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGSYS);
    how = in_child(child_aborts);
    CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
}

static void *wait_and_run(void *arg)
{
    char *const argv[] = { NULL };
    char byte;

    while (read(*(int *)arg, &byte, 1) < 0)
        ;
    (void)execve("/bin/true", argv, argv);
    return NULL;
}

static void child_threads(void)
{
    pthread_t t;
    int ends[2];

    WANT(pipe2(ends, O_CLOEXEC) == 0);
    WANT(pthread_create(&t, NULL, wait_and_run, &ends[0]) == 0);
    shut_in(0);
    (void)close(ends[1]);
    (void)pthread_join(t, NULL);
}

TEST(threads_that_were_there_before_are_filtered)
{
    int how = in_child(child_threads);

    CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGSYS);
}

static void child_starts(void)
{
    int how = 0;
    pid_t pid;

    shut_in(SANDBOX_CHILDREN | SANDBOX_STARTS);
    pid = fork();
    if (pid == 0)
        _exit(3);
    WANT(pid > 0 && waitpid(pid, &how, 0) == pid && WEXITSTATUS(how) == 3);
}

TEST(who_starts_processes_may)
{
    CHECK(is_well(in_child(child_starts)));
}

TEST(it_cleans_up)
{
    CHECK(rmdir(data_dir()) == 0);
}
