/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

/*
 * Structured log lines: a fixed message and typed fields.
 *
 *     log_info("listening", log_str("address", addr), log_int("loops", n));
 *
 * On a terminal a line is text for people, elsewhere one JSON object.  Each line is one write(2),
 * so lines of several threads and processes do not mix.  A line has a maximum (LOG_LINE_MAX): long
 * values are cut and mark it, so a line from outside cannot flood.  Any thread.
 *
 * A function logs or returns an error, never both.  A secret (base/secret.h) shows as its length.
 */

#include <stdint.h>

#include "base/secret.h"
#include "base/str.h"

struct status;

enum { LOG_LINE_MAX = 4096 };

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_form { LOG_TEXT, LOG_JSON };

struct log_field {
    const char *key; /* a literal: [a-z0-9_]+ */
    enum { LOG_FIELD_STR, LOG_FIELD_INT, LOG_FIELD_UINT, LOG_FIELD_BOOL, LOG_FIELD_SECRET } type;
    str s;
    uint64_t u;
};

#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)

/* The fields are not looked at when the level is off. */
#define log_at(level, msg, ...)                                                        \
    do {                                                                               \
        if (log_enabled(level)) {                                                      \
            const struct log_field log_fields_[] = { { .key = NULL }, ##__VA_ARGS__ }; \
            log_write((level), "" msg, log_fields_ + 1,                                \
                      sizeof(log_fields_) / sizeof(*log_fields_) - 1);                 \
        }                                                                              \
    } while (0)

static inline struct log_field log_str(const char *key, str v)
{
    return (struct log_field){ .key = key, .type = LOG_FIELD_STR, .s = v };
}

static inline struct log_field log_z(const char *key, const char *v)
{
    return log_str(key, str_of(v));
}

static inline struct log_field log_int(const char *key, int64_t v)
{
    return (struct log_field){ .key = key, .type = LOG_FIELD_INT, .u = (uint64_t)v };
}

static inline struct log_field log_uint(const char *key, uint64_t v)
{
    return (struct log_field){ .key = key, .type = LOG_FIELD_UINT, .u = v };
}

static inline struct log_field log_bool(const char *key, bool v)
{
    return (struct log_field){ .key = key, .type = LOG_FIELD_BOOL, .u = v };
}

static inline struct log_field log_secret(const char *key, secret v)
{
    return (struct log_field){ .key = key, .type = LOG_FIELD_SECRET, .u = v.secret_bytes.n };
}

struct log_field log_status(const struct status *st); /* key "error" */
struct log_field log_errno(int err);                  /* key "error" */

/*
 * Where lines go, from which level on, in which form.  Before the first call: standard error, INFO,
 * the form log_form_for() finds.  Set it before other threads log.
 */
void log_open(int fd, enum log_level min, enum log_form form);
enum log_form log_form_for(int fd); /* text for a terminal, else JSON */

bool log_parse_level(str name, enum log_level *out); /* debug, info, warn, error */
bool log_parse_form(str name, enum log_form *out);   /* text, json */

bool log_enabled(enum log_level level);
void log_write(enum log_level level, const char *msg, const struct log_field *fields, size_t n);

#endif
