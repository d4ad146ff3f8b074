/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kubeconfig_edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/encode.h"
#include "json/json.h"

enum {
    FILES_MAX = 16,
    TEXT_MAX = 4 << 20,
    LINKS_MAX = 16,
    PATH_ROOM = 4096,
    LOCK_TRIES = 50,
    LOCK_PAUSE_MS = 100,
};

struct kubefile {
    const char *path; /* as it was named; its lock stands beside that */
    const char *real; /* where the links lead */
    const struct json *doc;
    bool there, locked, changed;
};

struct edit {
    struct arena *arena;
    struct kubefile files[FILES_MAX]; /* in the order in which they are read */
    size_t n;
    struct kubefile *fresh; /* gets what none of them has */
    struct status *st;
};

/* ---- which files ---- */

/* Where a link leads, there or not yet. */
static const char *follow(struct arena *a, const char *path)
{
    char to[PATH_ROOM];

    for (int i = 0; i < LINKS_MAX; i++) {
        ssize_t n = readlink(path, to, sizeof(to));
        const char *slash = strrchr(path, '/');

        if (n <= 0 || n == sizeof(to))
            break;
        if (*to == '/' || !slash)
            path = arena_printf(a, "%.*s", (int)n, to);
        else
            path = arena_printf(a, "%.*s/%.*s", (int)(slash - path), path, (int)n, to);
    }
    return path;
}

static int add_file(struct edit *e, str path)
{
    struct kubefile *f = &e->files[e->n];

    for (size_t i = 0; i < e->n; i++)
        if (str_is(path, e->files[i].path))
            return 0;
    if (e->n == FILES_MAX)
        return status_set(e->st, REASON_BAD_REQUEST, "more than %d kubeconfig files", FILES_MAX);
    f->path = str_z(e->arena, path);
    f->real = follow(e->arena, f->path);
    f->there = access(f->real, F_OK) == 0;
    e->n++;
    return 0;
}

/* k8s: clientcmd/loader.go, GetDefaultFilename: the first of the list that is there, else its last
 */
static int find_files(struct edit *e, const char *path)
{
    const char *env = getenv("KUBECONFIG"), *home = getenv("HOME");
    str rest = str_of(env ? env : ""), one;

    if (path && *path)
        rest = STR_NONE;
    while (rest.n && str_split(&rest, ':', &one))
        if (one.n && add_file(e, one) < 0)
            return -1;
    if (path && *path && add_file(e, str_of(path)) < 0)
        return -1;
    if (!e->n && add_file(e, str_printf(e->arena, "%s/.kube/config", home ? home : "")) < 0)
        return -1;
    e->fresh = &e->files[e->n - 1];
    for (size_t i = e->n; i-- > 0;)
        if (e->files[i].there)
            e->fresh = &e->files[i];
    return 0;
}

/* ---- the lock ---- */

static const char *lock_path(struct edit *e, const struct kubefile *f)
{
    return arena_printf(e->arena, "%s.lock", f->path);
}

static int make_folder(struct edit *e, const struct kubefile *f)
{
    const char *slash = strrchr(f->path, '/');
    char *dir = slash ? arena_printf(e->arena, "%.*s", (int)(slash - f->path), f->path) : NULL;

    if (!dir || !*dir || mkdir(dir, 0700) == 0 || errno == EEXIST)
        return 0;
    return status_errno(e->st, errno, "%s", dir);
}

/* k8s: clientcmd/loader.go, lockFile; kubectl gives up at once */
static int lock(struct edit *e, struct kubefile *f)
{
    const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000L };
    const char *path = lock_path(e, f);
    int fd = -1;

    if (make_folder(e, f) < 0)
        return -1;
    for (int i = 0; i < LOCK_TRIES && fd < 0; i++) {
        fd = open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0);
        if (fd < 0 && errno != EEXIST)
            return status_errno(e->st, errno, "%s", path);
        if (fd < 0)
            (void)nanosleep(&pause, NULL);
    }
    if (fd < 0)
        return status_set(e->st, REASON_UNAVAILABLE,
                          "%s is there: another program changes %s, or was killed while it did; if "
                          "none runs, delete the lock and try again",
                          path, f->path);
    (void)close(fd);
    f->locked = true;
    return 0;
}

static int by_path(const void *x, const void *y)
{
    const struct kubefile *const *a = x, *const *b = y;

    return strcmp((*a)->path, (*b)->path);
}

/* In one order, whoever locks them. */
static int lock_all(struct edit *e)
{
    struct kubefile *sorted[FILES_MAX];
    size_t n = 0;

    for (size_t i = 0; i < e->n; i++)
        if (e->files[i].there || &e->files[i] == e->fresh)
            sorted[n++] = &e->files[i];
    qsort(sorted, n, sizeof(*sorted), by_path);
    for (size_t i = 0; i < n; i++)
        if (lock(e, sorted[i]) < 0)
            return -1;
    return 0;
}

static void unlock_all(struct edit *e)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->files[i].locked)
            (void)unlink(lock_path(e, &e->files[i]));
}

/* ---- reading and writing ---- */

static const char *const lists[] = { "clusters", "users", "contexts" };
enum { LISTS = sizeof(lists) / sizeof(*lists) };

static int check_form(struct edit *e, const struct kubefile *f)
{
    if (!json_is(f->doc, JSON_OBJECT))
        return status_set(e->st, REASON_BAD_REQUEST, "%s is no kubeconfig", f->path);
    for (size_t i = 0; i < LISTS; i++) {
        const struct json *list = json_get(f->doc, str_of(lists[i]));

        if (list && !json_is(list, JSON_ARRAY) && !json_is(list, JSON_NULL))
            return status_set(e->st, REASON_BAD_REQUEST, "%s: %s must be a list", f->path,
                              lists[i]);
    }
    return 0;
}

static int read_one(struct edit *e, struct kubefile *f)
{
    struct json_object fresh = json_object_new(e->arena);
    secret text;

    f->there = f->locked && access(f->real, F_OK) == 0; /* the lock keeps others from making it */
    if (f->there) {
        if (kubeconfig_read(e->arena, f->real, &text, e->st) < 0)
            return -1;
        if (json_parse_yaml(e->arena, secret_reveal(text), NULL, &f->doc, e->st) < 0)
            return status_wrap(e->st, "%s", f->path);
    }
    if (!f->there || json_is(f->doc, JSON_NULL)) {
        json_add(&fresh, STR("apiVersion"), json_of_str(STR("v1")));
        json_add(&fresh, STR("kind"), json_of_str(STR("Config")));
        f->doc = json_object_done(&fresh);
    }
    return check_form(e, f);
}

static int write_changed(struct edit *e)
{
    for (size_t i = 0; i < e->n; i++) {
        scoped_buf b = { .max = TEXT_MAX, .wipe = true };

        if (!e->files[i].changed)
            continue;
        json_print_yaml(&b, e->files[i].doc);
        if (kubeconfig_save(e->files[i].real, secret_of(buf_str(&b)), e->st) < 0)
            return -1;
    }
    return 0;
}

typedef int change_fn(struct edit *e, const void *arg);

/* Finds, locks and reads the files, lets `change` work on their documents, and writes those. */
static int change_files(struct arena *a, const char *path, change_fn *change, const void *arg,
                        struct status *st)
{
    struct edit e = { .arena = a, .st = st };
    int rc = 0;

    arena_wipe(a);
    if (find_files(&e, path) < 0)
        return -1;
    rc = lock_all(&e);
    for (size_t i = 0; rc == 0 && i < e.n; i++)
        rc = read_one(&e, &e.files[i]);
    if (rc == 0)
        rc = change(&e, arg);
    if (rc == 0)
        rc = write_changed(&e);
    unlock_all(&e);
    return rc;
}

/* ---- entries ---- */

static bool has(const struct kubefile *f, const char *list, str name)
{
    json_for_each (entry, json_get(f->doc, str_of(list)))
        if (str_eq(json_get_str(entry, "name"), name))
            return true;
    return false;
}

static struct kubefile *file_of(struct edit *e, const char *list, str name)
{
    for (size_t i = 0; i < e->n; i++)
        if (has(&e->files[i], list, name))
            return &e->files[i];
    return e->fresh;
}

typedef const struct json *shape_fn(struct arena *a, const struct json *was,
                                    const struct kubeconfig_entry *e);

static const struct json *cluster_of(struct arena *a, const struct json *was,
                                     const struct kubeconfig_entry *e)
{
    struct json_object o = json_object_from(a, was);

    json_put(&o, STR("server"), json_of_str(e->server));
    json_remove(&o, STR("insecure-skip-tls-verify"));
    json_remove(&o, STR("certificate-authority"));
    json_remove(&o, STR("certificate-authority-data"));
    if (e->ca_pem.n)
        json_add(&o, STR("certificate-authority-data"),
                 json_of_str(base64_encode(a, BASE64_STD, e->ca_pem)));
    return json_object_done(&o);
}

static const struct json *user_of(struct arena *a, const struct json *was,
                                  const struct kubeconfig_entry *e)
{
    struct json_object o = json_object_new(a);

    (void)was; /* another credential might be used in place of the token */
    json_add(&o, STR("token"), json_of_str(secret_reveal(e->token)));
    return json_object_done(&o);
}

static const struct json *context_of(struct arena *a, const struct json *was,
                                     const struct kubeconfig_entry *e)
{
    struct json_object o = json_object_from(a, was);

    json_put(&o, STR("cluster"), json_of_str(e->cluster));
    json_put(&o, STR("user"), json_of_str(e->user));
    return json_object_done(&o);
}

/* The entry of that name in one of the lists; `part` of it is shaped anew. */
static void put_one(struct edit *e, const char *list, const char *part, str name, shape_fn *shape,
                    const struct kubeconfig_entry *of)
{
    struct kubefile *f = file_of(e, list, name);
    struct json_array all = json_array_new(e->arena);
    struct json_object entry = json_object_new(e->arena);
    const struct json *was = &json_empty_object;

    json_for_each (x, json_get(f->doc, str_of(list))) {
        bool same = str_eq(json_get_str(x, "name"), name);

        if (same)
            entry = json_object_from(e->arena, x);
        if (same && json_is(json_get(x, str_of(part)), JSON_OBJECT))
            was = json_get(x, str_of(part));
        if (!same)
            json_push(&all, *x);
    }
    json_put(&entry, STR("name"), json_of_str(name));
    json_put(&entry, str_of(part), *shape(e->arena, was, of));
    json_push(&all, json_object_value(&entry));
    f->doc = json_set(e->arena, f->doc, list, json_array_done(&all));
    f->changed = true;
}

struct putting {
    const struct kubeconfig_entry *entry;
    str *file;
};

static int put(struct edit *e, const void *arg)
{
    const struct putting *p = arg;
    const struct kubeconfig_entry *of = p->entry;

    put_one(e, "clusters", "cluster", of->cluster, cluster_of, of);
    put_one(e, "users", "user", of->user, user_of, of);
    put_one(e, "contexts", "context", of->context, context_of, of);
    e->fresh->doc = json_set(e->arena, e->fresh->doc, "current-context",
                             json_box(e->arena, json_of_str(of->context)));
    e->fresh->changed = true;
    *p->file = str_of(file_of(e, "contexts", of->context)->path);
    return 0;
}

int kubeconfig_put(struct arena *a, const char *path, const struct kubeconfig_entry *e, str *file,
                   struct status *st)
{
    const struct putting p = { e, file };

    return change_files(a, path, put, &p, st);
}

/* ---- without a token ---- */

static struct json user_without(struct edit *e, struct kubefile *f, const struct json *user,
                                const secret *token)
{
    if (!str_eq(json_get_str(user, "user.token"), secret_reveal(*token)))
        return *user;
    f->changed = true;
    return *json_set(e->arena, user, "user.token", NULL);
}

static int forget(struct edit *e, const void *arg)
{
    bool had = false;

    for (size_t i = 0; i < e->n; i++) {
        struct kubefile *f = &e->files[i];
        struct json_array users = json_array_new(e->arena);

        json_for_each (u, json_get(f->doc, STR("users")))
            json_push(&users, user_without(e, f, u, arg));
        if (f->changed)
            f->doc = json_set(e->arena, f->doc, "users", json_array_done(&users));
        had |= f->changed;
    }
    if (had)
        return 0;
    return status_set(e->st, REASON_NOT_FOUND,
                      "the session has ended; its token is in none of the kubeconfig files, delete "
                      "it where it is");
}

int kubeconfig_forget_token(struct arena *a, const char *path, secret token, struct status *st)
{
    return change_files(a, path, forget, &token, st);
}
