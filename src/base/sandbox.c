/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sandbox.h"

#include <errno.h>
#include <ftw.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/sandbox_internal.h"

#define DEFAULT_USER "kairship"

enum { OPEN_FOLDERS = 16, NAME_BUF = 4096 };

enum sandbox_mode { SANDBOX_AUTO, SANDBOX_OFF, SANDBOX_STRICT };

static struct { /* other threads look */
    atomic_int landlock, calls;
} state;

struct who {
    uid_t uid;
    gid_t gid;
    const char *name; /* NULL: a number */
};

struct sandbox_state sandbox_state(void)
{
    return (struct sandbox_state){ .landlock = state.landlock, .calls = state.calls };
}

static bool parse_mode(const char *text, enum sandbox_mode *out)
{
    static const char *const names[] = { "auto", "off", "strict" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum sandbox_mode)i;
            return true;
        }
    return false;
}

/* sandbox_drop has looked at it. */
static enum sandbox_mode mode_of(const struct sandbox_options *o)
{
    enum sandbox_mode m = SANDBOX_AUTO;

    (void)parse_mode(o->mode, &m);
    return m;
}

/* ---- the user ---- */

static bool find_name(const char *name, struct who *out)
{
    char buf[NAME_BUF];
    struct passwd pw, *found = NULL;

    if (getpwnam_r(name, &pw, buf, sizeof(buf), &found) != 0 || !found)
        return false;
    *out = (struct who){ pw.pw_uid, pw.pw_gid, name };
    return true;
}

/* "1000", "1000:100". */
static bool parse_numbers(str text, struct who *out)
{
    int64_t uid, gid;
    str part;

    if (!str_split(&text, ':', &part) || !str_to_i64(part, &uid))
        return false;
    gid = uid;
    if (str_split(&text, ':', &part) && !str_to_i64(part, &gid))
        return false;
    if (uid < 0 || gid < 0 || uid >= UINT32_MAX || gid >= UINT32_MAX)
        return false;
    *out = (struct who){ (uid_t)uid, (gid_t)gid, NULL };
    return true;
}

/* 1: this one; 0: stay; -1. */
static int choose_user(const struct sandbox_options *o, struct who *out, struct status *st)
{
    struct stat sb;

    if (o->user) {
        if (find_name(o->user, out) || parse_numbers(str_of(o->user), out))
            return 1;
        return status_set(st, REASON_BAD_REQUEST, "--user: there is no user %s", o->user);
    }
    if (o->dir && stat(o->dir, &sb) == 0 && sb.st_uid != 0) {
        *out = (struct who){ sb.st_uid, sb.st_gid, NULL };
        return 1;
    }
    return find_name(DEFAULT_USER, out);
}

static struct who heir; /* of what hand_over walks over */

static int hand_over_one(const char *path, const struct stat *sb, int type, struct FTW *at)
{
    (void)sb;
    (void)type;
    (void)at;
    return lchown(path, heir.uid, heir.gid);
}

/* Only what nobody but root could have put there. */
static int hand_over(const char *dir, const struct who *to, struct status *st)
{
    struct stat sb;

    if (!dir || stat(dir, &sb) < 0 || sb.st_uid != 0 || to->uid == 0)
        return 0;
    if (sb.st_mode & (S_IWGRP | S_IWOTH))
        return status_set(st, REASON_BAD_REQUEST,
                          "others may write to %s, so it is not given away: chown it yourself",
                          dir);
    heir = *to;
    if (nftw(dir, hand_over_one, OPEN_FOLDERS, FTW_PHYS | FTW_MOUNT) != 0)
        return status_errno(st, errno, "cannot give %s to its user", dir);
    return 0;
}

static int become(const struct who *w, struct status *st)
{
    int rc = w->name ? initgroups(w->name, w->gid) : setgroups(0, NULL);

    if (rc < 0 || setresgid(w->gid, w->gid, w->gid) < 0 || setresuid(w->uid, w->uid, w->uid) < 0)
        return status_errno(st, errno, "cannot become user %u", (unsigned)w->uid);
    if (w->uid != 0 && setuid(0) == 0)
        return status_set(st, REASON_INTERNAL, "became user %u, but not for good",
                          (unsigned)w->uid);
    return 0;
}

/* root's own folders are closed to others: what lies below is not reached either. */
static int reaches(const char *dir, const struct who *w, struct status *st)
{
    char id[32];

    if (access(dir, X_OK) == 0 || errno != EACCES)
        return 0;
    (void)snprintf(id, sizeof(id), "%u", (unsigned)w->uid);
    return status_set(st, REASON_FORBIDDEN,
                      "this runs as the user %s, who may not enter %s or a folder above it: choose "
                      "another folder",
                      w->name ? w->name : id, dir);
}

static int change_user(const struct sandbox_options *o, struct status *st)
{
    struct who w = { 0 };
    char *dir;
    int rc;

    if (geteuid() != 0) {
        if (o->user)
            return status_set(st, REASON_BAD_REQUEST, "--user is for root to say");
        return 0;
    }
    /* Started by one that has given this up already. */
    if (prctl(PR_CAPBSET_READ, CAP_SETUID) != 1)
        return 0;
    rc = choose_user(o, &w, st);
    if (rc <= 0)
        return rc;
    dir = o->dir ? realpath(o->dir, NULL) : NULL; /* NULL: it is yet to be made */
    rc = hand_over(o->dir, &w, st) < 0 ? -1 : become(&w, st);
    if (rc == 0 && o->dir)
        rc = reaches(dir ? dir : o->dir, &w, st);
    free(dir);
    return rc;
}

/* ---- privileges ---- */

static int drop_capabilities(struct status *st)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { { 0 } }, now[2] = { { 0 } };

    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (int cap = 0; prctl(PR_CAPBSET_DROP, cap) == 0; cap++)
        ; /* up to the last there is; who is not root has none to drop */
    /* Who has none may be under a filter already that refuses the second call. */
    if (syscall(SYS_capget, &head, now) == 0 && memcmp(now, none, sizeof(now)) == 0)
        return 0;
    if (syscall(SYS_capset, &head, none) < 0)
        return status_errno(st, errno, "cannot drop capabilities");
    return 0;
}

int sandbox_drop(const struct sandbox_options *o, struct status *st)
{
    const struct rlimit none = { 0, 0 };
    enum sandbox_mode mode;

    if (!parse_mode(o->mode, &mode))
        return status_set(st, REASON_BAD_REQUEST, "--sandbox is auto, strict or off, not \"%s\"",
                          o->mode);
    if (mode == SANDBOX_OFF)
        return 0;
    if (change_user(o, st) < 0 || drop_capabilities(st) < 0)
        return -1;
    if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_DUMPABLE, 0) < 0)
        return status_errno(st, errno, "cannot give up privileges");
    return 0;
}

int sandbox_enter(const struct sandbox_options *o, struct status *st)
{
    enum sandbox_mode mode = mode_of(o);

    if (mode == SANDBOX_OFF)
        return 0;
    state.landlock = SANDBOX_INSTRUMENTED ? 0 : sandbox_files_close(o, st);
    if (state.landlock < 0)
        return -1;
    if (state.landlock == 0 && mode == SANDBOX_STRICT)
        return status_set(st, REASON_UNAVAILABLE,
                          "--sandbox strict: this kernel or build has no Landlock");
    return 0;
}

int sandbox_filter(const struct sandbox_options *o, struct status *st)
{
    enum sandbox_mode mode = mode_of(o);
    bool able = mode != SANDBOX_OFF && !SANDBOX_INSTRUMENTED;
    int calls = able ? sandbox_calls_count(o->needs) : 0;

    if (calls == 0 && mode == SANDBOX_STRICT)
        return status_set(st, REASON_UNAVAILABLE,
                          "--sandbox strict: this kernel or build does not filter calls");
    /* Before: the first line of a log asks whether it goes to a terminal. */
    log_info("sandbox", log_z("mode", o->mode), log_int("uid", geteuid()),
             log_int("landlock", state.landlock), log_int("calls", calls));
    if (able && !(calls && state.landlock))
        log_warn("part of the sandbox is not in force: the kernel has it not, or a filter around "
                 "us refuses it; kairship doctor tells more");
    if (calls && sandbox_calls_close(o->needs, st) < 0)
        return -1;
    state.calls = calls;
    return 0;
}
