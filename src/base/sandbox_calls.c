/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The system calls of a running server, as a filter of the kernel (seccomp).  What is not in the
 * table is refused (EPERM) and logged by the kernel; what only an intruder would call ends the
 * process.  Arguments that are pointers cannot be looked at, which is why clone3 is said not to
 * be there (ENOSYS): the C library then uses clone, whose flags can.
 */

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/sandbox_internal.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0 /* its calls have not been looked at */
#endif

enum { OWN_PID = 1 };
enum { X32 = 0x40000000 }; /* the other calls of x86-64 */

struct call_row {
    int nr;
    unsigned needs;      /* who may: all of these; 0: everybody */
    unsigned char arg;   /* 1 to 6; 0: any arguments */
    unsigned char value; /* OWN_PID: want is our own */
    unsigned mask, want; /* of the argument's lower half */
};

#define NAMESPACES                                                                                \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET)

#define CALL(name)        \
    {                     \
        .nr = __NR_##name \
    }
#define CALL_FOR(n, name)               \
    {                                   \
        .nr = __NR_##name, .needs = (n) \
    }
#define CALL_IF(name, argument, bits, is)                                  \
    {                                                                      \
        .nr = __NR_##name, .arg = (argument), .mask = (bits), .want = (is) \
    }

/* Several rows of a call: one of them has to fit. */
static const struct call_row allowed[] = {
    /* clang-format off */
    /* what a loop does */
    CALL(futex), CALL(epoll_ctl), CALL(recvfrom), CALL(sendto), CALL(accept4), CALL(read),
    CALL(write), CALL(close), CALL(getpid), CALL(getrandom), CALL(shutdown), CALL(epoll_create1),
    CALL(eventfd2),
    /* connections to others, and their names: DNS, and which addresses we have */
    CALL_IF(socket, 1, ~0u, AF_INET), CALL_IF(socket, 1, ~0u, AF_INET6),
    CALL_IF(socket, 1, ~0u, AF_UNIX), CALL_IF(socket, 1, ~0u, AF_NETLINK),
    CALL(connect), CALL(bind), CALL(getsockname), CALL(getsockopt), CALL(setsockopt),
    CALL(recvmsg), CALL(sendmmsg),
    /* files */
    CALL(openat), CALL(pread64), CALL(pwrite64), CALL(writev), CALL(lseek), CALL(fstat),
    CALL(newfstatat), CALL(ftruncate), CALL(fdatasync), CALL(fsync), CALL(fcntl), CALL(fchmod),
    CALL(getdents64), CALL(geteuid), CALL(statfs),
    /* memory: nothing is written and run */
    CALL(brk), CALL(munmap), CALL(mremap), CALL(madvise), CALL_IF(mmap, 3, PROT_EXEC, 0),
    CALL_IF(mmap, 3, PROT_WRITE, 0), CALL_IF(mprotect, 3, PROT_EXEC, 0),
    /* threads and signals; no other processes */
    CALL_IF(clone, 1, CLONE_THREAD | NAMESPACES, CLONE_THREAD), CALL(set_robust_list),
    CALL(rseq), CALL(exit), CALL(exit_group), CALL(gettid), CALL(tgkill), CALL(rt_sigprocmask),
    CALL(rt_sigtimedwait), CALL(clock_nanosleep), CALL(restart_syscall), CALL(getrusage),
    CALL(sched_yield),
    { .nr = __NR_kill, .arg = 1, .value = OWN_PID, .mask = ~0u },
#ifdef __x86_64__
    CALL(epoll_wait), CALL(poll), CALL(access), CALL(mkdir), CALL(rename), CALL(unlink),
#else
    CALL(epoll_pwait), CALL(ppoll), CALL(faccessat), CALL(mkdirat), CALL(renameat),
    CALL(unlinkat),
#endif
    /* who has children */
    CALL_FOR(SANDBOX_CHILDREN, kill), CALL_FOR(SANDBOX_CHILDREN, wait4),
    /* who starts some; they find less in a list of their own */
    { .nr = __NR_clone, .needs = SANDBOX_STARTS, .arg = 1, .mask = NAMESPACES }, CALL_FOR(SANDBOX_STARTS, execve),
    CALL_FOR(SANDBOX_STARTS, pidfd_open), CALL_FOR(SANDBOX_STARTS, setpgid),
    CALL_FOR(SANDBOX_STARTS, prctl), CALL_FOR(SANDBOX_STARTS, set_tid_address),
    CALL_FOR(SANDBOX_STARTS, prlimit64), CALL_FOR(SANDBOX_STARTS, rt_sigaction),
    CALL_FOR(SANDBOX_STARTS, sysinfo), CALL_FOR(SANDBOX_STARTS, getppid),
    CALL_FOR(SANDBOX_STARTS, ioctl), CALL_FOR(SANDBOX_STARTS, getuid),
    CALL_FOR(SANDBOX_STARTS, getegid), CALL_FOR(SANDBOX_STARTS, getgid),
    CALL_FOR(SANDBOX_STARTS, uname), CALL_FOR(SANDBOX_STARTS, capget),
    CALL_FOR(SANDBOX_STARTS, capset),
    CALL_FOR(SANDBOX_STARTS, seccomp), CALL_FOR(SANDBOX_STARTS, landlock_create_ruleset),
    CALL_FOR(SANDBOX_STARTS, landlock_add_rule), CALL_FOR(SANDBOX_STARTS, landlock_restrict_self),
    CALL_FOR(SANDBOX_STARTS, listen), CALL_FOR(SANDBOX_STARTS, mprotect),
    CALL_FOR(SANDBOX_STARTS, getcwd), CALL_FOR(SANDBOX_STARTS, readlinkat),
#ifdef __x86_64__
    CALL_FOR(SANDBOX_STARTS, arch_prctl), CALL_FOR(SANDBOX_STARTS, dup2),
    CALL_FOR(SANDBOX_STARTS, readlink),
#else
    CALL_FOR(SANDBOX_STARTS, dup3),
#endif
    /* clang-format on */
};

/* Ends the process, where it is not in the other table. */
static const int deadly[] = {
    __NR_execve,
    __NR_execveat,
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_bpf,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_io_uring_setup,
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_kexec_load,
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_setns,
    __NR_unshare,
    __NR_open_by_handle_at,
    __NR_reboot,
    __NR_swapon,
};

enum {
    ALLOWED = sizeof(allowed) / sizeof(*allowed),
    DEADLY = sizeof(deadly) / sizeof(*deadly),
    FILTER_MAX = 9 + 6 * ALLOWED + 2 * DEADLY,
};

struct filter {
    struct sock_filter code[FILTER_MAX];
    unsigned short n;
};

static void add(struct filter *f, struct sock_filter s)
{
    f->code[f->n++] = s;
}

static void load(struct filter *f, size_t offset)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void answer(struct filter *f, unsigned action)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Steps over the next n, unless what is loaded is k. */
static void unless(struct filter *f, unsigned k, unsigned char n)
{
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, n));
}

static void add_row(struct filter *f, const struct call_row *r)
{
    if (!r->arg) {
        unless(f, (unsigned)r->nr, 1);
        answer(f, SECCOMP_RET_ALLOW);
        return;
    }
    unless(f, (unsigned)r->nr, 5);
    load(f, __builtin_offsetof(struct seccomp_data, args[r->arg - 1])); /* little end first */
    add(f, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, r->mask));
    unless(f, r->value == OWN_PID ? (unsigned)getpid() : r->want, 1);
    answer(f, SECCOMP_RET_ALLOW);
    load(f, __builtin_offsetof(struct seccomp_data, nr));
}

static bool is_for(const struct call_row *r, unsigned needs)
{
    return (r->needs & needs) == r->needs;
}

static void build(struct filter *f, unsigned needs)
{
    load(f, __builtin_offsetof(struct seccomp_data, arch));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
    answer(f, SECCOMP_RET_KILL_PROCESS);
    load(f, __builtin_offsetof(struct seccomp_data, nr));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1));
    answer(f, SECCOMP_RET_KILL_PROCESS);
    unless(f, __NR_clone3, 1);
    answer(f, SECCOMP_RET_ALLOW); /* by this filter; the other says that there is none */
    for (size_t i = 0; i < ALLOWED; i++)
        if (is_for(&allowed[i], needs))
            add_row(f, &allowed[i]);
    for (size_t i = 0; i < DEADLY; i++) {
        unless(f, (unsigned)deadly[i], 1);
        answer(f, SECCOMP_RET_KILL_PROCESS);
    }
    answer(f, SECCOMP_RET_ERRNO | EPERM);
}

static int count(unsigned needs)
{
    int n = 0;

    for (size_t i = 0; i < ALLOWED; i++) {
        bool seen = !is_for(&allowed[i], needs);

        for (size_t j = 0; j < i && !seen; j++)
            seen = allowed[j].nr == allowed[i].nr && is_for(&allowed[j], needs);
        n += !seen;
    }
    return n;
}

static int install(struct filter *f, unsigned flags)
{
    struct sock_fprog p = { .len = f->n, .filter = f->code };

    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}

/* An own filter, so that the kernel does not log each thread that is made. */
static void build_no_clone3(struct filter *f)
{
    load(f, __builtin_offsetof(struct seccomp_data, nr));
    unless(f, __NR_clone3, 1);
    answer(f, SECCOMP_RET_ERRNO | ENOSYS);
    answer(f, SECCOMP_RET_ALLOW);
}

int sandbox_calls_count(unsigned needs)
{
    uint32_t action = SECCOMP_RET_KILL_PROCESS;

    return ARCH && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 ? count(needs)
                                                                                   : 0;
}

int sandbox_calls_close(unsigned needs, struct status *st)
{
    enum { FLAGS = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW };
    struct filter *f;
    int rc;

    f = mem_zalloc(sizeof(*f));
    build_no_clone3(f);
    rc = install(f, FLAGS);
    if (rc == 0) {
        f->n = 0;
        build(f, needs);
        rc = install(f, FLAGS | SECCOMP_FILTER_FLAG_LOG);
    }
    free(f);
    if (rc > 0)
        return status_set(st, REASON_INTERNAL, "thread %d keeps its system calls", rc);
    return rc < 0 ? status_errno(st, errno, "cannot filter system calls") : 0;
}
