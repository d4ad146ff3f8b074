/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/status.h"
#include "tap.h"

static int ends[2];
static char line[1 << 20];

/* Lines go into a pipe; read_line() empties it. */
static void capture(enum log_level min, enum log_form form)
{
    if (pipe(ends) < 0)
        abort();
    log_open(ends[1], min, form);
}

static const char *read_line(void)
{
    size_t n = 0;
    ssize_t got;

    (void)close(ends[1]);
    while ((got = read(ends[0], line + n, sizeof(line) - 1 - n)) > 0)
        n += (size_t)got;
    line[n] = '\0';
    (void)close(ends[0]);
    return line;
}

TEST(json_lines_have_time_level_message_and_fields)
{
    const char *got;

    capture(LOG_INFO, LOG_JSON);
    log_info("listening", log_z("address", "127.0.0.1:6443"), log_int("loops", -2),
             log_uint("rev", UINT64_MAX), log_bool("tls", true));
    got = read_line();
    CHECK(strncmp(got, "{\"time\":\"20", 11) == 0);
    CHECK_STR(
        strstr(got, "\"level\""),
        "\"level\":\"info\",\"msg\":\"listening\",\"address\":\"127.0.0.1:6443\",\"loops\":-2,"
        "\"rev\":18446744073709551615,\"tls\":true}\n");
}

TEST(text_lines_are_for_people)
{
    capture(LOG_INFO, LOG_TEXT);
    log_warn("slow disk", log_int("ms", 12), log_z("file", "a b"), log_z("plain", "x/y"),
             log_z("none", ""));
    CHECK_STR(strchr(read_line(), ' '), " warn  slow disk  ms=12  file=\"a b\"  plain=x/y  "
                                        "none=\"\"\n");
}

TEST(a_line_without_fields)
{
    capture(LOG_INFO, LOG_TEXT);
    log_error("stopping");
    CHECK_STR(strchr(read_line(), ' '), " error stopping\n");
}

static struct log_field must_not_run(bool *ran)
{
    *ran = true;
    return log_bool("ran", true);
}

TEST(below_the_level_nothing_is_written_or_computed)
{
    bool ran = false;

    capture(LOG_WARN, LOG_JSON);
    log_info("quiet", must_not_run(&ran));
    log_debug("quieter");
    CHECK_STR(read_line(), "");
    CHECK(!ran);
    CHECK(!log_enabled(LOG_INFO) && log_enabled(LOG_ERROR));
}

TEST(outside_bytes_cannot_break_a_line)
{
    capture(LOG_INFO, LOG_JSON);
    log_info("x", log_z("v", "a\"b\\c\nd\te\x01\x7f\xff\xc3\xa4\xed\xa0\x80"));
    CHECK_STR(strstr(read_line(), "\"v\":"),
              "\"v\":\"a\\\"b\\\\c\\nd\\te\\u0001\\u007f\xef\xbf\xbd\xc3\xa4"
              "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}\n");
    capture(LOG_INFO, LOG_TEXT);
    log_info("x", log_z("v", "a\x1b[31mb"));
    CHECK_STR(strstr(read_line(), "v="), "v=\"a\\u001b[31mb\"\n");
}

TEST(secrets_show_their_length_only)
{
    capture(LOG_INFO, LOG_JSON);
    log_info("login", log_secret("token", secret_of(STR("hunter2"))));
    CHECK_STR(strstr(read_line(), "\"token\""), "\"token\":\"(secret of 7 bytes)\"}\n");
}

TEST(secrets_compare_whole)
{
    CHECK(secret_eq(secret_of(STR("abc")), secret_of(STR("abc"))));
    CHECK(!secret_eq(secret_of(STR("abc")), secret_of(STR("abd"))));
    CHECK(!secret_eq(secret_of(STR("abc")), secret_of(STR("ab"))));
}

TEST(errors_have_a_field_of_their_own)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    (void)status_not_found(&st, STR(""), STR("configmaps"), STR("x"));
    capture(LOG_INFO, LOG_TEXT);
    log_error("failed", log_status(&st), log_errno(ENOSPC));
    CHECK_STR(strstr(read_line(), "error="),
              "error=\"configmaps \\\"x\\\" not found\"  error=\"No space left on device\"\n");
}

/* Whatever the length and place of a long value, the line stays whole, marked, and below the
 * maximum. */
TEST(long_lines_are_cut_and_stay_json)
{
    scoped_arena a = arena_new();
    char *big = arena_alloc(a, 9000);

    for (size_t n = 3900; n < 4100; n++) {
        const char *got;

        memset(big, n % 2 ? 'x' : '"', 9000);
        capture(LOG_INFO, LOG_JSON);
        log_info("long", log_str("v", (str){ big, n }), log_int("last", 1));
        got = read_line();
        REQUIRE(strlen(got) <= LOG_LINE_MAX);
        REQUIRE(strstr(got, "\"last\":1}\n") || strstr(got, "\",\"cut\":true}\n") ||
                strstr(got, "\\\"\",\"cut\":true}\n"));
    }
    capture(LOG_INFO, LOG_TEXT);
    memset(big, 'x', 9000);
    log_info("long", log_str("v", (str){ big, 9000 }), log_int("last", 1));
    CHECK(strstr(read_line(), "\"  cut=true\n"));
    CHECK(strlen(line) <= LOG_LINE_MAX);
}

static void *shout(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++)
        log_info("from a thread", log_z("filler", "0123456789012345678901234567890123456789"));
    return NULL;
}

TEST(lines_of_threads_do_not_mix)
{
    pthread_t t[2];
    size_t lines = 0;

    capture(LOG_INFO, LOG_JSON);
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&t[i], NULL, shout, NULL) == 0);
    for (int i = 0; i < 2; i++)
        (void)pthread_join(t[i], NULL);
    (void)read_line();
    for (const char *p = line, *nl; (nl = strchr(p, '\n')); p = nl + 1, lines++)
        REQUIRE(strncmp(p, "{\"time\":", 8) == 0 && nl[-1] == '}');
    CHECK(lines == 400);
}

TEST(levels_and_forms_have_names)
{
    enum log_level level = LOG_INFO;
    enum log_form form;

    CHECK(log_parse_level(STR("debug"), &level) && level == LOG_DEBUG);
    CHECK(log_parse_level(STR("error"), &level) && level == LOG_ERROR);
    CHECK(!log_parse_level(STR("loud"), &level) && level == LOG_ERROR);
    CHECK(log_parse_form(STR("text"), &form) && form == LOG_TEXT);
    CHECK(log_parse_form(STR("json"), &form) && form == LOG_JSON);
    CHECK(!log_parse_form(STR("xml"), &form));
}
