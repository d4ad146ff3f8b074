/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/encryption_keys.h"

#include <errno.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "cmd/key_file.h"

enum { KEY_BYTES = 32, TEXT_MAX = 4096 };

#define DEFAULT_NAME "encryption.yaml"

/* What holds credentials: of a Work the Secrets in its manifests, of clusters their kubeconfigs. */
static const char DEFAULT_TEXT[] =
    "# The keys by which Secrets and credentials of clusters are sealed in this folder.\n"
    "# Whoever has this file can read them; without it nobody can, from a backup neither:\n"
    "# keep a copy elsewhere.  A new key goes in front of the old ones; then `kairship\n"
    "# reencrypt`; then the old ones may go.  A change is taken up within seconds.\n"
    "apiVersion: apiserver.config.k8s.io/v1\n"
    "kind: EncryptionConfiguration\n"
    "resources:\n"
    "- resources:\n"
    "  - secrets\n"
    "  - works.work.karmada.io\n"
    "  - clusters.workload.kcp.dev\n"
    "  - pediaclusters.cluster.clusterpedia.io\n"
    "  providers:\n"
    "  - aesgcm:\n"
    "      keys:\n"
    "      - name: key-%.*s\n"
    "        secret: %.*s\n"
    "  - identity: {}\n";

static int make_default(struct arena *a, const char *path, int64_t now_s, struct status *st)
{
    char *text = secret_room(a, TEXT_MAX), bytes[KEY_BYTES];
    str name = key_file_time(a, now_s), key;
    int n;

    rand_bytes(bytes, sizeof(bytes));
    key = base64_encode(a, BASE64_STD, (str){ bytes, sizeof(bytes) });
    mem_wipe(bytes, sizeof(bytes));
    n = snprintf(text, TEXT_MAX, DEFAULT_TEXT, STR_ARG(name), STR_ARG(key));
    return key_file_write(a, path, secret_of((str){ text, (size_t)n }), st);
}

static const char *path_of(const struct encryption_keys *e, struct arena *a)
{
    return e->file ? e->file : arena_printf(a, "%s/" DEFAULT_NAME, e->dir);
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int load(struct encryption_keys *e, struct arena *a, struct status *st)
{
    const char *path = path_of(e, a);
    secret text;

    if (stat(path, &e->seen) < 0)
        return status_errno(st, errno, "cannot open %s", path);
    if (e->seen.st_mode & (S_IRWXG | S_IRWXO))
        log_warn("others may read the keys of encryption at rest", log_str("file", str_of(path)));
    if (key_file_read(a, path, &text, st) < 0)
        return -1;
    if (encryption_load(e->encryption, text, st) < 0)
        return status_wrap(st, "%s", path);
    return 0;
}

int encryption_keys_open(struct encryption_keys *e, int64_t now_s, struct status *st)
{
    scoped_arena a = arena_new();

    e->encryption = encryption_new();
    if (!e->file && access(path_of(e, a), F_OK) < 0 && errno == ENOENT &&
        make_default(a, path_of(e, a), now_s, st) < 0)
        return -1;
    return load(e, a, st);
}

void encryption_keys_close(struct encryption_keys *e)
{
    encryption_free(e->encryption);
    e->encryption = NULL;
}

void encryption_keys_refresh(struct encryption_keys *e, bool forced)
{
    scoped_arena a = arena_new();
    const char *path = path_of(e, a);
    struct stat now;
    struct status st;

    status_init(&st, a);
    if (!forced && (stat(path, &now) < 0 || same(&now, &e->seen)))
        return;
    if (load(e, a, &st) < 0)
        log_error("the keys of encryption at rest stay as they were", log_str("why", st.message));
    else
        log_info("keys of encryption at rest are loaded", log_str("file", str_of(path)));
}
