/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Landlock: which files and ports a process can still reach.  The kernel's numbers are written out
 * here, since the headers of older systems lack the later ones.
 */

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/sandbox_internal.h"

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    MAKE_CHAR = 1 << 6,
    MAKE_BLOCK = 1 << 11,
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,

    READ = READ_FILE | READ_DIR,
    RUN = READ | EXECUTE,
    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,

    BIND_TCP = 1 << 0,
};
enum { RULE_PATH = 1, RULE_PORT = 2, VERSION_FLAG = 1 };

/* What each version of the kernel's Landlock knows. */
static const uint64_t known[] = {
    0, (1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1
};
enum {
    KNOWN = sizeof(known) / sizeof(*known),
    FIRST = 2, /* the version before could not move a file between folders */
    PORTS = 4, /* the first that knows ports */
};

struct ruleset_attr {
    uint64_t files, ports;
};

struct path_attr {
    uint64_t allowed;
    int32_t fd;
} __attribute__((packed));

struct port_attr {
    uint64_t allowed, port;
};

struct rules {
    int fd;
    uint64_t files; /* what is ruled over */
};

/* Beside its data: names of hosts, time zones, authorities, what the C library looks at. */
static const struct {
    const char *path;
    unsigned allowed;
    unsigned needs;
} common[] = {
    { "/etc", READ, 0 }, /* whole: resolv.conf is replaced while we run */
    { "/usr/share/zoneinfo", READ, 0 },
    { "/usr/share/ca-certificates", READ, 0 },
    { "/sys/devices/system/cpu", READ, 0 },
    { "/proc/sys/vm/overcommit_memory", READ, 0 },
    { "/dev/null", READ_FILE | WRITE_FILE, 0 },
    { "/dev/urandom", READ_FILE, 0 },
    { "/usr/lib", READ, 0 }, /* modules that look up names */
    { "/lib", READ, 0 },
    { "/usr/lib", RUN, SANDBOX_STARTS },
    { "/lib", RUN, SANDBOX_STARTS },
    { "/lib64", RUN, SANDBOX_STARTS },
    { "/proc/self/exe", RUN, SANDBOX_STARTS },
};
enum { COMMON = sizeof(common) / sizeof(*common) };

int sandbox_landlock_version(void)
{
    int v = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);

    return v < 0 ? 0 : v;
}

/* What is not there needs no rule. */
static int allow_fd(const struct rules *r, int fd, uint64_t allowed)
{
    struct path_attr attr = { .fd = fd };
    struct stat sb;

    if (fstat(fd, &sb) < 0)
        return -1;
    attr.allowed = allowed & r->files & (S_ISDIR(sb.st_mode) ? ~UINT64_C(0) : (uint64_t)OF_FILES);
    return (int)syscall(SYS_landlock_add_rule, r->fd, RULE_PATH, &attr, 0);
}

static int allow(const struct rules *r, const char *path, uint64_t allowed)
{
    int fd = open(path, O_PATH | O_CLOEXEC), rc, err;

    if (fd < 0)
        return 0;
    rc = allow_fd(r, fd, allowed);
    err = errno;
    (void)close(fd);
    errno = err;
    return rc;
}

/* The folder of a file, and of the one that it is a link to: another may take its place. */
static int allow_folder_of(const struct rules *r, const char *file, uint64_t allowed)
{
    char *path = mem_strdup(file), *real = realpath(file, NULL);
    int rc = allow(r, dirname(path), allowed);

    if (rc == 0 && real)
        rc = allow(r, dirname(real), allowed);
    free(path);
    free(real);
    return rc;
}

/* Kept open, for ever: the kernel makes these folders anew when nobody holds them. */
static int allow_own_proc(const struct rules *r)
{
    int fd = open("/proc/self", O_PATH | O_CLOEXEC);

    return fd < 0 ? 0 : allow_fd(r, fd, READ);
}

static int allow_port(const struct rules *r, long port)
{
    struct port_attr attr = { .allowed = BIND_TCP, .port = (uint64_t)port };

    return (int)syscall(SYS_landlock_add_rule, r->fd, RULE_PORT, &attr, 0);
}

static int allow_all(const struct rules *r, const struct sandbox_options *o, bool ports)
{
    uint64_t all = r->files & ~(uint64_t)(EXECUTE | MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV);

    for (size_t i = 0; i < COMMON; i++)
        if ((common[i].needs & o->needs) == common[i].needs &&
            allow(r, common[i].path, common[i].allowed) < 0)
            return -1;
    for (size_t i = 0; i < o->nfiles; i++)
        if (o->files[i] && allow_folder_of(r, o->files[i], READ) < 0)
            return -1;
    if (allow_folder_of(r, "/etc/resolv.conf", READ) < 0 || allow_own_proc(r) < 0 ||
        (o->log && allow_folder_of(r, o->log, all) < 0))
        return -1;
    if (o->dir && allow(r, o->dir, all) < 0)
        return -1;
    return ports && o->port >= 0 ? allow_port(r, o->port) : 0;
}

int sandbox_files_close(const struct sandbox_options *o, struct status *st)
{
    int version = sandbox_landlock_version(), rc;
    bool ports = version >= PORTS && o->port != SANDBOX_ANY_PORT;
    struct ruleset_attr attr = { .files = known[version < KNOWN ? version : KNOWN - 1],
                                 .ports = ports ? BIND_TCP : 0 };
    struct rules r = { .files = attr.files };

    if (version < FIRST)
        return 0;
    r.fd = (int)syscall(SYS_landlock_create_ruleset, &attr,
                        version < PORTS ? sizeof(attr.files) : sizeof(attr), 0);
    rc = r.fd < 0 ? -1 : allow_all(&r, o, ports);
    if (rc == 0)
        rc = (int)syscall(SYS_landlock_restrict_self, r.fd, 0);
    if (rc < 0)
        (void)status_errno(st, errno, "cannot close the other files (Landlock)");
    if (r.fd >= 0)
        (void)close(r.fd);
    return rc < 0 ? -1 : version;
}
