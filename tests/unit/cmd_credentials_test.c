/* SPDX-License-Identifier: Apache-2.0 */

/* The certificates of a data folder, when the names of the server change. */

#include "cmd/credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "http/pki.h"
#include "tap.h"

enum { NOW_S = 1700000000, DAY_S = 86400, NAMES = 8 };

struct folder {
    struct arena *arena;
    char path[64];
    struct status st;
};

static bool setup(struct folder *f)
{
    *f = (struct folder){ .arena = arena_new(), .path = "/tmp/credentials.XXXXXX" };
    status_init(&f->st, f->arena);
    return mkdtemp(f->path) != NULL;
}

static void teardown(struct folder *f)
{
    static const char *const files[] = { "ca", "signer", "front-proxy", "server", "admin" };

    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        (void)unlink(arena_printf(f->arena, "%s/pki/%s.crt", f->path, files[i]));
        (void)unlink(arena_printf(f->arena, "%s/pki/%s.key", f->path, files[i]));
    }
    (void)rmdir(arena_printf(f->arena, "%s/pki", f->path));
    CHECK(rmdir(f->path) == 0);
    arena_free(f->arena);
}

/* For the names in "a b c". */
static struct credentials open_for(struct folder *f, const char *list, int64_t now_s)
{
    struct credentials c = { 0 };
    str names[NAMES];
    size_t n = 0;

    for (str rest = str_of(list), part; *list && str_split(&rest, ' ', &part);)
        names[n++] = part;
    if (!CHECK(credentials_open(f->arena, str_of(f->path), names, n, now_s, &c, &f->st) == 0))
        printf("# %.*s\n", STR_ARG(f->st.message));
    return c;
}

TEST(other_names_make_another_certificate_by_the_same_authority)
{
    struct folder f;
    struct credentials before, after;

    REQUIRE(setup(&f));
    before = open_for(&f, "localhost 127.0.0.1", NOW_S);
    after = open_for(&f, "localhost 127.0.0.1 192.0.2.1", NOW_S + 1);
    CHECK(str_eq(before.ca, after.ca) && str_eq(before.admin_cert, after.admin_cert));
    CHECK(!pki_cert_covers(before.cert, STR("192.0.2.1")));
    CHECK(pki_cert_covers(after.cert, STR("192.0.2.1")));
    after = open_for(&f, "localhost 127.0.0.1", NOW_S + 2);
    CHECK(!pki_cert_covers(after.cert, STR("192.0.2.1")));
    teardown(&f);
}

TEST(the_same_names_in_any_order_keep_the_certificate)
{
    struct folder f;
    struct credentials before, after;

    REQUIRE(setup(&f));
    before = open_for(&f, "localhost 127.0.0.1 192.0.2.1", NOW_S);
    after = open_for(&f, "192.0.2.1 localhost 127.0.0.1", NOW_S + DAY_S);
    CHECK(str_eq(before.cert, after.cert) && secret_eq(before.key_pem, after.key_pem));
    after = open_for(&f, "192.0.2.1 localhost 127.0.0.1", NOW_S + 340 * DAY_S);
    CHECK(!str_eq(before.cert, after.cert)); /* it would end soon */
    teardown(&f);
}

TEST(without_names_there_is_no_certificate_of_our_own)
{
    struct folder f;
    struct credentials c;
    struct stat sb;

    REQUIRE(setup(&f));
    c = open_for(&f, "", NOW_S);
    CHECK(c.cert.n == 0 && c.ca.n > 0);
    CHECK(stat(arena_printf(f.arena, "%s/pki/server.crt", f.path), &sb) < 0);
    teardown(&f);
}
