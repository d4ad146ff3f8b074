/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/status.h"

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug",
    [LOG_INFO] = "info",
    [LOG_WARN] = "warn",
    [LOG_ERROR] = "error",
};

static struct {
    atomic_int fd, min, form;
} out = { STDERR_FILENO, LOG_INFO, LOG_TEXT };

static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void open_default(void)
{
    atomic_store(&out.form, (int)log_form_for(STDERR_FILENO));
}

enum log_form log_form_for(int fd)
{
    return isatty(fd) ? LOG_TEXT : LOG_JSON;
}

void log_open(int fd, enum log_level min, enum log_form form)
{
    (void)pthread_once(&opened, open_default); /* so that it does not undo this later */
    atomic_store(&out.fd, fd);
    atomic_store(&out.min, (int)min);
    atomic_store(&out.form, (int)form);
}

bool log_parse_level(str name, enum log_level *level)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(*level_names); i++)
        if (str_is(name, level_names[i])) {
            *level = (enum log_level)i;
            return true;
        }
    return false;
}

bool log_parse_form(str name, enum log_form *form)
{
    *form = str_is(name, "text") ? LOG_TEXT : LOG_JSON;
    return *form == LOG_TEXT || str_is(name, "json");
}

bool log_enabled(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&out.min, memory_order_relaxed);
}

struct log_field log_status(const struct status *st)
{
    return log_str("error", st->message);
}

struct log_field log_errno(int err)
{
    return log_z("error", strerrordesc_np(err));
}

/* A line on the stack: a log line must be possible whatever the heap is like. */
struct line {
    size_t n;
    bool cut;
    char p[LOG_LINE_MAX];
};

/* Behind it stay 32 bytes: the end of a cut value, the mark that it was cut, the line's end. */
enum { LINE_FULL = LOG_LINE_MAX - 32 };

static void put(struct line *l, const char *p, size_t n)
{
    if (l->n + n > LINE_FULL) {
        l->cut = true;
        return;
    }
    memcpy(l->p + l->n, p, n);
    l->n += n;
}

static void put_z(struct line *l, const char *z)
{
    put(l, z, strlen(z));
}

/* For the tail: it always fits. */
static void end(struct line *l, const char *z)
{
    memcpy(l->p + l->n, z, strlen(z));
    l->n += strlen(z);
}

static void put_escaped(struct line *l, unsigned char c)
{
    char esc[7];

    switch (c) {
    case '"':
        put(l, "\\\"", 2);
        break;
    case '\\':
        put(l, "\\\\", 2);
        break;
    case '\n':
        put(l, "\\n", 2);
        break;
    case '\t':
        put(l, "\\t", 2);
        break;
    default:
        (void)snprintf(esc, sizeof(esc), "\\u%04x", c);
        put(l, esc, 6);
    }
}

/* Length of the longest valid UTF-8 sequence at the start of s, up to four bytes; 0 if none. */
static size_t sequence(str s)
{
    for (size_t n = 1; n <= 4 && n <= s.n; n++)
        if (str_utf8_valid(str_sub(s, 0, n)))
            return n;
    return 0;
}

/* Quoted for JSON; bytes that are not UTF-8 become U+FFFD.  Whole characters only are cut off. */
static void put_quoted(struct line *l, str s)
{
    put(l, "\"", 1);
    for (size_t i = 0, k; i < s.n && !l->cut; i += k ? k : 1) {
        unsigned char c = (unsigned char)s.p[i];

        k = sequence(str_from(s, i));
        if (k == 0)
            put_z(l, "\xef\xbf\xbd");
        else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            put_escaped(l, c);
        else
            put(l, s.p + i, k);
    }
    end(l, "\"");
}

/* On a terminal only what would be unclear is quoted; control bytes never reach it. */
static void put_text(struct line *l, str s)
{
    bool plain = s.n > 0 && str_utf8_valid(s);

    for (size_t i = 0; plain && i < s.n; i++)
        plain = (unsigned char)s.p[i] > ' ' && s.p[i] != '"' && s.p[i] != '=' && s.p[i] != 0x7f;
    if (!plain || s.n > LOG_LINE_MAX / 2)
        put_quoted(l, s);
    else
        put(l, s.p, s.n);
}

static void put_value(struct line *l, enum log_form form, const struct log_field *f)
{
    char number[48];

    switch (f->type) {
    case LOG_FIELD_STR:
        if (form == LOG_JSON)
            put_quoted(l, f->s);
        else
            put_text(l, f->s);
        return;
    case LOG_FIELD_BOOL:
        put_z(l, f->u ? "true" : "false");
        return;
    case LOG_FIELD_INT:
        (void)snprintf(number, sizeof(number), "%lld", (long long)f->u);
        break;
    case LOG_FIELD_UINT:
        (void)snprintf(number, sizeof(number), "%llu", (unsigned long long)f->u);
        break;
    case LOG_FIELD_SECRET:
        (void)snprintf(number, sizeof(number), "\"(secret of %llu bytes)\"",
                       (unsigned long long)f->u);
        break;
    }
    put_z(l, number);
}

static void put_head(struct line *l, enum log_form form, enum log_level level, const char *msg)
{
    char when[TIME_TEXT_SIZE], head[64];

    (void)time_format_micro(when, clock_wall_us(clock_real()));
    if (form == LOG_JSON) {
        (void)snprintf(head, sizeof(head), "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":", when,
                       level_names[level]);
        put_z(l, head);
        put_quoted(l, str_of(msg));
    } else {
        (void)snprintf(head, sizeof(head), "%.12s %-5s ", when + sizeof("2006-01-02T") - 1,
                       level_names[level]);
        put_z(l, head);
        put_z(l, msg);
    }
}

/* A field whose beginning does not fit is left out whole. */
static void put_field(struct line *l, enum log_form form, const struct log_field *f)
{
    size_t was = l->n;

    if (form == LOG_JSON) {
        put(l, ",", 1);
        put_quoted(l, str_of(f->key));
        put(l, ":", 1);
    } else {
        put(l, "  ", 2);
        put_z(l, f->key);
        put(l, "=", 1);
    }
    if (l->cut || l->n + 48 > LINE_FULL) {
        l->n = was;
        l->cut = true;
        return;
    }
    put_value(l, form, f);
}

void log_write(enum log_level level, const char *msg, const struct log_field *fields, size_t n)
{
    enum log_form form;
    struct line l;
    ssize_t rc;

    l.n = 0;
    l.cut = false;
    (void)pthread_once(&opened, open_default);
    form = (enum log_form)atomic_load(&out.form);
    put_head(&l, form, level, msg);
    for (size_t i = 0; i < n && !l.cut; i++)
        put_field(&l, form, &fields[i]);
    if (l.cut)
        end(&l, form == LOG_JSON ? ",\"cut\":true" : "  cut=true");
    end(&l, form == LOG_JSON ? "}\n" : "\n");
    do
        rc = write(atomic_load(&out.fd), l.p, l.n);
    while (rc < 0 && errno == EINTR);
    /* A log that cannot be written has nobody to tell. */
}
