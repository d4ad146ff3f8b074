/* SPDX-License-Identifier: Apache-2.0 */

/* `kairship backup` copies a running server's data into a file, `kairship restore` makes a data
 * folder of one. */

#include "store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "apiserver/server/backup.h"
#include "base/banned.h"
#include "client/http_transport.h"
#include "cmd/admin_kubeconfig.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "kinds/installation.h"
#include "store/engine.h"

struct download {
    struct http_call call; /* first: callbacks get this */
    struct arena *arena;
    struct loop *loop;
    const char *path, *temp;
    int fd, code;
    uint64_t bytes;
    struct buf error; /* the body of an answer that is none */
    struct status st;
    bool failed;
};

static int complain(const char *what, str why)
{
    (void)fprintf(stderr, "kairship: %s: %.*s\n", what, STR_ARG(why));
    return 1;
}

static void on_head(struct http_call *call, int status, const struct http_header *h, size_t nh)
{
    struct download *d = (struct download *)(void *)call;

    (void)h;
    (void)nh;
    d->code = status;
}

static void on_data(struct http_call *call, str bytes)
{
    struct download *d = (struct download *)(void *)call;

    if (d->code != 200) {
        buf_str_append(&d->error, bytes);
        return;
    }
    d->bytes += bytes.n;
    while (bytes.n && !d->failed) {
        ssize_t n = write(d->fd, bytes.p, bytes.n);

        if (n < 0 && errno != EINTR) {
            (void)status_errno(&d->st, errno, "cannot write %s", d->temp);
            d->failed = true;
        }
        if (n > 0)
            bytes = str_from(bytes, (size_t)n);
    }
}

static void on_end(struct http_call *call, const struct status *why)
{
    struct download *d = (struct download *)(void *)call;

    if (why && !d->failed) {
        (void)status_set(&d->st, why->reason, "%.*s", STR_ARG(why->message));
        d->failed = true;
    }
    loop_stop(d->loop);
}

/* What came is a backup only when all of it is on the disk under its name. */
static int keep(struct download *d)
{
    if (!d->failed && d->code != 200) {
        (void)status_set(&d->st, REASON_UNKNOWN, "the server answered %d: %.*s", d->code,
                         STR_ARG(buf_str(&d->error)));
        d->failed = true;
    }
    if (!d->failed && (fsync(d->fd) < 0 || rename(d->temp, d->path) < 0)) {
        (void)status_errno(&d->st, errno, "cannot finish %s", d->path);
        d->failed = true;
    }
    if (d->failed) {
        (void)unlink(d->temp);
        return complain("backup failed", d->st.message);
    }
    printf("%s: %llu bytes\n", d->path, (unsigned long long)d->bytes);
    return 0;
}

static int download(struct download *d, const struct kubeconfig *k)
{
    struct client_transport *t;
    int rc;

    d->temp = arena_printf(d->arena, "%s.part", d->path);
    d->fd = open(d->temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (d->fd < 0)
        return complain(d->temp, str_of(strerrordesc_np(errno)));
    d->loop = loop_new();
    t = http_transport_new(d->loop, k, &d->st);
    if (t) {
        d->call = (struct http_call){ .method = STR("GET"),
                                      .path = STR(BACKUP_PATH),
                                      .head = on_head,
                                      .data = on_data,
                                      .end = on_end };
        t->call(t, &d->call);
        loop_run(d->loop);
        t->free(t);
    }
    d->failed |= !t;
    rc = keep(d);
    (void)close(d->fd);
    loop_free(d->loop);
    return rc;
}

int cmd_backup(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship backup FILE [options]",
        "Write a consistent copy of all data to a file, while the server runs.",
        "  kairship backup friday.kairship\n"
        "  kairship backup friday.kairship --kubeconfig admin.kubeconfig\n"
    };
    const char *kubeconfig = NULL, *context = NULL, *file = NULL;
    const struct option_row rows[] = {
        { "--kubeconfig", OPTION_STRING, &kubeconfig, "FILE", ADMIN_KUBECONFIG_HELP },
        { "--context", OPTION_STRING, &context, "NAME", ADMIN_CONTEXT_HELP },
    };
    scoped_arena a = arena_new();
    struct download d = { .arena = a };
    struct kubeconfig k;
    size_t n = 0;
    int rc = options_parse(&help, rows, 2, argc, argv, &file, 1, &n);

    if (rc != OPTIONS_OK)
        return rc;
    if (n != 1) {
        (void)fprintf(stderr, "kairship: which file?\nUsage: %s\n", help.usage);
        return USAGE;
    }
    status_init(&d.st, a);
    d.path = file;
    if (admin_kubeconfig(a, kubeconfig, context, &k, &d.st) < 0)
        return complain("backup failed", d.st.message);
    buf_init(&d.error, 1 << 16);
    rc = download(&d, &k);
    buf_release(&d.error);
    return rc;
}

static ssize_t read_file(void *arg, void *p, size_t n)
{
    return read(*(int *)arg, p, n);
}

/* Whose objects in members are not the copy's. */
static int make_new(const char *dir, struct status *st)
{
    struct engine_options o = { .dir = str_of(dir) };
    struct store *s = engine_open(&o, st);
    int rc = s ? installation_renew(s, st) : -1;

    if (s)
        store_close(s);
    return rc;
}

int cmd_restore(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship restore FILE [options]",
        "Create a data folder from a backup. It fails if the folder has content already.",
        "  kairship restore friday.kairship --data-dir ./restored\n"
        "  kairship restore friday.kairship --data-dir ./copy --as-new\n"
        "  kairship up --data-dir ./restored\n"
    };
    const char *dir = "./kairship-data", *file = NULL;
    bool as_new = false;
    const struct option_row rows[] = {
        { "--data-dir", OPTION_STRING, &dir, "DIR", "Create this folder." },
        { "--as-new", OPTION_FLAG, &as_new, NULL,
          "Make another installation of it, for a copy beside an original that goes on: what the "
          "original runs in member clusters stays the original's." },
    };
    scoped_arena a = arena_new();
    struct status st;
    size_t n = 0;
    int rc = options_parse(&help, rows, sizeof(rows) / sizeof(*rows), argc, argv, &file, 1, &n), fd;

    if (rc != OPTIONS_OK)
        return rc;
    if (n != 1) {
        (void)fprintf(stderr, "kairship: which file?\nUsage: %s\n", help.usage);
        return USAGE;
    }
    status_init(&st, a);
    fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return complain(file, str_of(strerrordesc_np(errno)));
    rc = store_restore(read_file, &fd, str_of(dir), &st);
    if (rc == 0 && as_new)
        rc = make_new(dir, &st);
    (void)close(fd);
    if (rc < 0)
        return complain("restore failed", st.message);
    printf("%s is ready; its Secrets open with the keys of encryption at rest of the server that "
           "made the backup:\nput its encryption.yaml there, or give it by "
           "--encryption-provider-config.  Then: kairship up --data-dir %s\n",
           dir, dir);
    return 0;
}
