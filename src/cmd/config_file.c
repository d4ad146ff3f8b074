/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/buf.h"
#include "cmd/commands.h"
#include "json/yaml_text.h"

enum { KNOWN_MAX = 1024, FILES_MAX = 2 };

#define SERVER "up" /* whose options stand at the top */

struct known {
    const char *command, *name; /* without dashes */
    enum option_type type;
};

struct config {
    struct arena *arena;   /* while it is read */
    struct arena *lasting; /* what rows hold */
    struct known known[KNOWN_MAX];
    size_t count;
    const struct yaml_text *files[FILES_MAX]; /* the first that has an option counts */
    size_t nfiles;
    struct status *st;
};

/* Options that share their name with one of the server's, and mean something else. */
static const struct {
    const char *command, *name;
} own[] = {
    { "doctor", "data-dir" }, /* of a server that --kubeconfig may say is elsewhere */
    { "kubeconfig", "user" },
    { "login", "user" },
    { "simulate", "data-dir" },
};

/* ---- which options there are ---- */

static void learn(void *arg, const char *command, const struct command_help *help,
                  const struct option_row *rows, size_t n)
{
    struct config *c = arg;

    (void)help;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].type == OPTION_GROUP || !str_starts(str_of(rows[i].name), STR("--")))
            continue;
        if (c->count == KNOWN_MAX)
            abort(); /* the tables are ours */
        c->known[c->count++] =
            (struct known){ arena_printf(c->arena, "%s", command), rows[i].name + 2, rows[i].type };
    }
}

static const struct known *find(const struct config *c, str command, str name)
{
    for (size_t i = 0; i < c->count; i++)
        if ((command.n == 0 || str_is(command, c->known[i].command)) &&
            str_is(name, c->known[i].name))
            return &c->known[i];
    return NULL;
}

/* Does what stands at the top mean this option? */
static bool is_servers(const struct config *c, const char *command, const char *name)
{
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        if (strcmp(own[i].command, command) == 0 && strcmp(own[i].name, name) == 0)
            return false;
    return find(c, STR(SERVER), str_of(name)) != NULL;
}

static bool is_command(str name)
{
    for (size_t i = 0; i < ncommands; i++)
        if (commands[i].name && str_is(name, commands[i].name))
            return true;
    return false;
}

/* ---- values ---- */

static const char *wrong_list(const struct yaml_text *v)
{
    size_t n = 0;

    yaml_text_each (item, v)
        if (++n > CONFIG_ITEMS_MAX || item->type != YAML_TEXT_SCALAR)
            return n > CONFIG_ITEMS_MAX ? "has more than 16 items" : "needs a list of words";
    return NULL;
}

static const char *wrong_value(enum option_type type, const struct yaml_text *v)
{
    if (v->type == YAML_TEXT_NOTHING)
        return "has no value";
    if (type == OPTION_LIST && v->type == YAML_TEXT_LIST)
        return wrong_list(v);
    if (v->type != YAML_TEXT_SCALAR)
        return type == OPTION_LIST ? "needs a list" : "needs one value";
    return option_wrong(type, v->text);
}

static int bad_key(const struct config *c, const char *file, const struct yaml_text *key,
                   const char *why)
{
    return status_set(c->st, REASON_BAD_REQUEST, "%s: line %zu: %.*s %s", file, key->line,
                      STR_ARG(str_cut(key->name, 64)), why);
}

static int unknown_key(const struct config *c, const char *file, str section,
                       const struct yaml_text *key)
{
    const struct known *k = find(c, STR_NONE, key->name);
    const char *command = section.n ? section.p : SERVER;

    if (section.n == 0 && key->type == YAML_TEXT_MAPPING)
        return bad_key(c, file, key, "is no subcommand of kairship");
    if (!k || section.n)
        return bad_key(c, file, key,
                       arena_printf(c->arena, "is no option of kairship %s", command));
    return bad_key(c, file, key,
                   arena_printf(c->arena,
                                "is no option of kairship " SERVER
                                ", but of kairship %s: write it into a section %s:",
                                k->command, k->command));
}

static int check_keys(const struct config *c, const char *file, str section,
                      const struct yaml_text *mapping)
{
    yaml_text_each (key, mapping) {
        const struct known *k = find(c, section.n ? section : STR(SERVER), key->name);
        const char *why;

        if (section.n == 0 && key->type == YAML_TEXT_MAPPING && is_command(key->name)) {
            if (check_keys(c, file, key->name, key) < 0)
                return -1;
            continue;
        }
        if (!k)
            return unknown_key(c, file, section, key);
        why = wrong_value(k->type, key);
        if (why)
            return bad_key(c, file, key, why);
    }
    return 0;
}

/* ---- files ---- */

/* What others wrote must not say how the program of this user runs. */
static int check_owner(int fd, const char *file, struct status *st)
{
    struct stat about;

    if (fstat(fd, &about) < 0)
        return status_errno(st, errno, "cannot look at %s", file);
    if (about.st_uid != geteuid() && about.st_uid != 0)
        return status_set(st, REASON_BAD_REQUEST,
                          "%s belongs to user %u, and this process runs as %u: set HOME to its own "
                          "home, or say --config FILE",
                          file, (unsigned)about.st_uid, (unsigned)geteuid());
    if (about.st_mode & S_IWOTH)
        return status_set(st, REASON_BAD_REQUEST, "%s: everybody may write this file", file);
    return 0;
}

static int read_text(int fd, const char *file, struct buf *out, struct status *st)
{
    for (;;) {
        char *to = buf_reserve(out, 4096);
        ssize_t n = to ? read(fd, to, 4096) : -1;

        if (n == 0)
            return 0;
        if (n < 0)
            return status_errno(st, to ? errno : EFBIG, "cannot read %s", file);
        out->n += (size_t)n;
    }
}

static int open_file(struct config *c, const char *file, bool must, bool of_user)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC), rc;
    scoped_buf text = { .max = YAML_TEXT_BYTES_MAX + 4096 };
    const struct yaml_text *root;

    if (fd < 0 && !must && (errno == ENOENT || errno == ENOTDIR || (of_user && errno == EACCES)))
        return 0; /* a home that is closed to this user is not theirs */
    if (fd < 0)
        return status_errno(c->st, errno, "cannot open %s", file);
    rc = of_user ? check_owner(fd, file, c->st) : 0;
    if (rc == 0)
        rc = read_text(fd, file, &text, c->st);
    (void)close(fd);
    if (rc < 0)
        return -1;
    if (yaml_text_parse(c->arena, str_dup(c->arena, buf_str(&text)), &root, c->st) < 0)
        return status_wrap(c->st, "%s", file);
    if (root->type != YAML_TEXT_MAPPING && root->type != YAML_TEXT_NOTHING)
        return status_set(c->st, REASON_BAD_REQUEST, "%s: line %zu: this is no mapping of options",
                          file, root->line);
    c->files[c->nfiles++] = root;
    return check_keys(c, file, STR_NONE, root);
}

static const char *variable(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : NULL;
}

/* Where the XDG Base Directory Specification has it; NULL for who has no home. */
static const char *home_file(struct arena *a)
{
    const char *folder = variable("XDG_CONFIG_HOME"), *home = variable("HOME");

    if (folder && *folder == '/')
        return arena_printf(a, "%s/kairship.yaml", folder);
    return home ? arena_printf(a, "%s/.config/kairship.yaml", home) : NULL;
}

static int open_files(struct config *c, const char *file)
{
    const char *home = home_file(c->arena);

    if (!file)
        file = variable("KAIRSHIP_CONFIG");
    if (file)
        return open_file(c, file, true, false);
    if (home && open_file(c, home, false, true) < 0)
        return -1;
    return open_file(c, CONFIG_FILE, false, false);
}

/* ---- looking up ---- */

static const struct yaml_text *member(const struct yaml_text *mapping, const char *name)
{
    yaml_text_each (key, mapping)
        if (str_is(key->name, name))
            return key;
    return NULL;
}

static const struct yaml_text *in_file(const struct config *c, const struct yaml_text *root,
                                       const char *command, const char *name)
{
    const struct yaml_text *section = member(root, command), *v = NULL;

    if (section && section->type == YAML_TEXT_MAPPING)
        v = member(section, name);
    if (!v && is_servers(c, command, name))
        v = member(root, name);
    return v;
}

/* KAIRSHIP_DATA_DIR, KAIRSHIP_SIMULATE_DATA_DIR; a list has commas.  NULL if it is not set. */
static const struct yaml_text *in_environment(const struct config *c, const char *command,
                                              const char *name, enum option_type type)
{
    char *full = arena_printf(c->arena, "KAIRSHIP_%s%s%s", command, *command ? "_" : "", name);
    struct yaml_text *v = arena_new_of(c->arena, struct yaml_text), *last = NULL;
    str rest, part;

    for (char *p = full; *p; p++)
        *p = *p == '-' ? '_' : *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
    rest = str_of(variable(full));
    if (rest.n == 0)
        return NULL;
    *v = (struct yaml_text){ .type = YAML_TEXT_SCALAR, .name = str_of(full), .text = rest };
    if (type != OPTION_LIST)
        return v;
    v->type = YAML_TEXT_LIST;
    while (str_split(&rest, ',', &part)) {
        struct yaml_text *item = arena_new_of(c->arena, struct yaml_text);

        *item = (struct yaml_text){ .type = YAML_TEXT_SCALAR, .text = str_dup(c->arena, part) };
        *(last ? &last->next : &v->items) = item;
        last = item;
    }
    return v;
}

static int look_up(const struct config *c, const char *command, const char *name,
                   enum option_type type, const struct yaml_text **out)
{
    const struct yaml_text *v = in_environment(c, command, name, type);
    const char *why;

    if (!v && is_servers(c, command, name))
        v = in_environment(c, "", name, type);
    why = v ? wrong_value(type, v) : NULL;
    if (why)
        return status_set(c->st, REASON_BAD_REQUEST, "$%s %s", v->name.p, why);
    for (size_t i = 0; !v && i < c->nfiles; i++)
        v = in_file(c, c->files[i], command, name);
    *out = v;
    return 0;
}

static int fill_row(const struct config *c, const char *command, const struct option_row *row,
                    bool *set)
{
    const struct yaml_text *v = NULL;

    if (look_up(c, command, row->name + 2, row->type, &v) < 0)
        return -1;
    if (!v)
        return 0;
    *set = true;
    if (v->type == YAML_TEXT_SCALAR)
        (void)option_store(row, str_z(c->lasting, v->text));
    yaml_text_each (item, v)
        (void)option_store(row, str_z(c->lasting, item->text));
    return 0;
}

int config_fill(struct arena *a, const char *file, const char *command,
                const struct option_row *rows, size_t n, bool *set, struct status *st)
{
    scoped_arena scratch = arena_new();
    struct config *c = arena_new_of(scratch, struct config);
    const struct option_row where = { "--data-dir", OPTION_STRING, &options_server.data_dir, NULL,
                                      NULL };
    bool said;

    c->arena = scratch;
    c->lasting = a;
    c->st = st;
    commands_visit(learn, c);
    if (open_files(c, file) < 0 || fill_row(c, "", &where, &said) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!set[i] && rows[i].type != OPTION_GROUP &&
            str_starts(str_of(rows[i].name), STR("--")) &&
            fill_row(c, command, &rows[i], &set[i]) < 0)
            return -1;
    return 0;
}
