/* SPDX-License-Identifier: Apache-2.0 */

/* The process of the server, its files, and the machine. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/file.h"
#include "cmd/doctor.h"
#include "cmd/text_file.h"
#include "http/pki.h"

enum { FILES_MIN = 4096, FREE_PERCENT = 10, EXPIRY_S = 7 * 86400, LANDLOCK_MIN = 2 };

/* Root's power is its capabilities and its files: without either it is a user like others. */
static struct doctor_finding user(struct doctor *d)
{
    int64_t landlock = 0;

    if (!d->pid)
        return doctor_no_process(d);
    if (!str_starts(doctor_proc_status(d, "Uid"), STR("0\t")))
        return doctor_holds(d, "it is not root");
    if (str_is(doctor_proc_status(d, "CapEff"), "0000000000000000") &&
        doctor_metric(d, "kairship_sandbox{part=\"landlock\"}", &landlock) &&
        landlock >= LANDLOCK_MIN)
        return doctor_holds(d, "root without capabilities, and its files are closed; better: make "
                               "a user kairship");
    return doctor_fails(d, "it runs as root: make a user kairship, or say --user");
}

static struct doctor_finding capabilities(struct doctor *d)
{
    str caps = d->pid ? doctor_proc_status(d, "CapEff") : STR_NONE;

    if (!d->pid)
        return doctor_no_process(d);
    return str_is(caps, "0000000000000000") && str_is(doctor_proc_status(d, "NoNewPrivs"), "1")
               ? doctor_holds(d, "none, and none can be had")
               : doctor_fails(d, "it has %.*s: do not say --sandbox off", STR_ARG(caps));
}

static struct doctor_finding calls(struct doctor *d)
{
    if (!d->pid)
        return doctor_no_process(d);
    return str_is(doctor_proc_status(d, "Seccomp"), "2")
               ? doctor_holds(d, "filtered")
               : doctor_fails(d,
                              "not filtered: --sandbox off, an old kernel, or a build for tests");
}

static struct doctor_finding landlock(struct doctor *d)
{
    int64_t version = 0;

    if (!doctor_metric(d, "kairship_sandbox{part=\"landlock\"}", &version))
        return doctor_unseen("the server does not say it at /metrics");
    if (version >= LANDLOCK_MIN)
        return doctor_holds(d, "by Landlock, version %lld", (long long)version);
    return doctor_fails(d,
                        version ? "Landlock is of version %lld: Linux 5.19 has what is needed"
                                : "Landlock is not in force (%lld): --sandbox off, a kernel "
                                  "without it (5.19, lsm=landlock), or a build for tests",
                        (long long)version);
}

/* Max open files  1024  1048576  files */
static struct doctor_finding limits(struct doctor *d)
{
    const char *path = arena_printf(d->arena, "/proc/%d/limits", d->pid);
    unsigned long files = 0;
    char line[256], core[64] = "";
    FILE *f = d->pid ? fopen(path, "re") : NULL;

    if (!f)
        return doctor_no_process(d);
    while (fgets(line, sizeof(line), f)) {
        (void)sscanf(line, "Max open files %lu", &files);
        (void)sscanf(line, "Max core file size %63s", core);
    }
    (void)fclose(f);
    if (strcmp(core, "0") != 0)
        return doctor_fails(d, "it may leave core dumps, which hold keys");
    return files >= FILES_MIN
               ? doctor_holds(d, "no core dumps, %lu files", files)
               : doctor_fails(d, "%lu open files are few: ulimit -n %d", files, FILES_MIN);
}

/* ---- files ---- */

struct modes {
    struct doctor *d;
    const char *dir, *bad;
};

static void look_at_mode(void *arg, const char *name)
{
    struct modes *m = arg;
    const char *path = arena_printf(m->d->arena, "%s/%s", m->dir, name);
    size_t n = strlen(name);
    struct stat sb;

    if (n > 4 && strcmp(name + n - 4, ".key") == 0 && stat(path, &sb) == 0 && sb.st_mode & 077)
        m->bad = path;
}

static struct doctor_finding modes(struct doctor *d)
{
    struct modes m = { .d = d };
    struct stat sb;

    if (!d->dir)
        return doctor_unseen("say --data-dir");
    if (stat(d->dir, &sb) < 0)
        return doctor_fails(d, "there is no %s", d->dir);
    if (sb.st_mode & 077)
        return doctor_fails(d, "others may look into %s: chmod 700", d->dir);
    m.dir = arena_printf(d->arena, "%s/pki", d->dir);
    (void)file_list(file_real(), m.dir, look_at_mode, &m);
    return m.bad ? doctor_fails(d, "others may read %s: chmod 600, and think of a new one", m.bad)
                 : doctor_holds(d, "the data and the keys are their user's alone");
}

static struct doctor_finding expiry(struct doctor *d)
{
    static const char *const names[] = { "ca.crt", "server.crt", "admin.crt" };
    int64_t from, to, now = clock_wall_s(clock_real());
    size_t seen = 0;

    if (!d->dir)
        return doctor_unseen("say --data-dir");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct status st;
        str pem;

        status_init(&st, d->arena);
        if (text_file_find(d->arena, arena_printf(d->arena, "%s/pki/%s", d->dir, names[i]), &pem,
                           &st) != 1 ||
            !pki_cert_times(pem, &from, &to))
            continue;
        seen++;
        if (to < now + EXPIRY_S)
            return doctor_fails(d, "pki/%s ends in %lld days: is the server running?", names[i],
                                (long long)((to - now) / 86400));
    }
    return seen ? doctor_holds(d, "%zu hold for more than a week", seen)
                : doctor_fails(d, "there are none in %s/pki", d->dir);
}

static struct doctor_finding disk(struct doctor *d)
{
    struct statvfs v;
    unsigned long percent;

    if (!d->dir || statvfs(d->dir, &v) < 0 || v.f_blocks == 0)
        return doctor_unseen("say --data-dir");
    percent = (unsigned long)(v.f_bavail * 100 / v.f_blocks);
    return percent >= FREE_PERCENT ? doctor_holds(d, "%lu %% are free", percent)
                                   : doctor_fails(d, "only %lu %% are free", percent);
}

static struct doctor_finding clock_synced(struct doctor *d)
{
    struct timex t = { .modes = 0 };

    if (adjtimex(&t) == TIME_ERROR || t.status & STA_UNSYNC)
        return doctor_unseen(
            "the kernel does not know whether its clock is right; run an NTP client");
    return doctor_holds(d, "the kernel says it is in step");
}

const struct doctor_check doctor_host[] = {
    { "user", "the server's user", user },  { "caps", "its capabilities", capabilities },
    { "calls", "its system calls", calls }, { "landlock", "files of others are closed", landlock },
    { "limits", "its limits", limits },     { "modes", "who may read keys", modes },
    { "expiry", "certificates", expiry },   { "disk", "room on the disk", disk },
    { "clock", "the clock", clock_synced },
};
const size_t doctor_nhost = sizeof(doctor_host) / sizeof(*doctor_host);
