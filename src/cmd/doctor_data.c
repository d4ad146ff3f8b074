/* SPDX-License-Identifier: Apache-2.0 */

/* What the server keeps on its disk, and how: audit logs, and what is sealed. */

#include <string.h>
#include <unistd.h>

#include "apiserver/server/encryption_config.h"
#include "base/banned.h"
#include "base/file.h"
#include "base/rand.h"
#include "cmd/audit_flags.h"
#include "cmd/doctor.h"
#include "cmd/key_file.h"

enum { TAIL = 1 << 20, LOOKS = 30, LOOK_US = 100 * 1000 };

/* ---- audit ---- */

static bool tail_has(struct doctor *d, const char *path, const char *word)
{
    struct file *f = file_open(file_real(), path, FILE_READ);
    int64_t size = f ? file_size(f) : 0;
    char *text = arena_alloc(d->arena, TAIL);
    ssize_t n = f ? file_read(f, text, TAIL, (uint64_t)(size > TAIL ? size - TAIL : 0)) : 0;

    file_close(f);
    return n > 0 && memmem(text, (size_t)n, word, strlen(word));
}

/* Somebody asks for a Secret that is not there: the log has to tell of it. */
static struct doctor_finding try_log(struct doctor *d, const char *path)
{
    const char *name = arena_printf(d->arena, "kairship-doctor-%08x", rand_below(UINT32_MAX));

    if (access(path, R_OK) < 0)
        return doctor_fails(d, "there is no %s that we may read", path);
    (void)doctor_request(d, d->admin, "GET",
                         arena_printf(d->arena, "/api/v1/namespaces/kube-system/secrets/%s", name),
                         NULL, NULL, NULL);
    for (int i = 0; i < LOOKS; i++) {
        if (tail_has(d, path, name))
            return doctor_holds(d, "%s tells who looks at Secrets", path);
        (void)usleep(LOOK_US);
    }
    return doctor_fails(d, "%s does not tell who looks at Secrets: see the policy", path);
}

struct doctor_finding doctor_audited(struct doctor *d)
{
    str path = STR_NONE;

    if (!d->pid)
        return doctor_no_process(d);
    if (d->audit.why.n)
        return d->audit;
    if (!doctor_option(d, "--audit-log-path", &path))
        path = str_printf(d->arena, "%s/audit/audit.log", d->dir);
    if (path.n == 0)
        d->audit = doctor_fails(d, "there is none: --audit-log-path is empty");
    else if (str_is(path, "-"))
        d->audit = doctor_not_for_us("it goes to the standard output: whoever takes it keeps it");
    else
        d->audit = try_log(d, str_z(d->arena, path));
    return d->audit;
}

/* As it was started; what it was not told is what it does by itself. */
static struct doctor_finding kept(struct doctor *d, const char *option, long otherwise, long least,
                                  bool zero_is_all, const char *unit)
{
    struct doctor_finding f = doctor_audited(d);
    int64_t n = otherwise;
    str text;

    if (f.verdict != DOCTOR_HOLDS)
        return f;
    if (doctor_option(d, option, &text) && !str_to_i64(text, &n))
        n = -1;
    if (n == 0 && zero_is_all)
        return doctor_holds(d, "all of them");
    return n >= least ? doctor_holds(d, "%lld %s", (long long)n, unit)
                      : doctor_fails(d, "%lld %s: say %s %ld", (long long)n, unit, option, least);
}

struct doctor_finding doctor_audit_age(struct doctor *d)
{
    return kept(d, "--audit-log-maxage", AUDITING_DEFAULT.max_age, 30, true, "days");
}

struct doctor_finding doctor_audit_backups(struct doctor *d)
{
    return kept(d, "--audit-log-maxbackup", AUDITING_DEFAULT.max_backups, 10, true, "files");
}

struct doctor_finding doctor_audit_size(struct doctor *d)
{
    return kept(d, "--audit-log-maxsize", AUDITING_DEFAULT.max_size, 100, false, "MB");
}

/* ---- encryption ---- */

static struct doctor_finding sealing(struct doctor *d, const char *path,
                                     const struct encryption_config *c)
{
    static const struct {
        const char *group, *plural;
    } must[] = { { "", "secrets" }, { "work.karmada.io", "works" } };
    const struct encryption_key *k = NULL;

    for (size_t i = 0; i < sizeof(must) / sizeof(*must); i++) {
        k = encryption_config_writer(c, str_of(must[i].group), str_of(must[i].plural));
        if (!k)
            return doctor_fails(d, "%s has %s written as they are", path, must[i].plural);
    }
    return doctor_holds(d, "%s by key %.*s of %s", encryption_form_name(k->form), STR_ARG(k->name),
                        path);
}

/* The file that it was started with, which it takes up within seconds when it changes. */
struct doctor_finding doctor_encryption(struct doctor *d)
{
    scoped_arena a = arena_new(); /* keys are in it */
    const char *path = arena_printf(d->arena, "%s/encryption.yaml", d->dir ? d->dir : ".");
    struct encryption_config *c;
    struct doctor_finding f;
    struct status st;
    secret text;
    str named;

    if (!d->pid)
        return doctor_no_process(d);
    status_init(&st, d->arena);
    if (doctor_option(d, "--encryption-provider-config", &named))
        path = str_z(d->arena, named);
    if (key_file_read(a, path, &text, &st) < 0 || !(c = encryption_config_read(text, &st)))
        return doctor_fails(d, "%s: %.*s", path, STR_ARG(st.message));
    f = sealing(d, path, c);
    encryption_config_free(c);
    return f;
}
