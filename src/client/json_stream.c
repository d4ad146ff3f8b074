/* SPDX-License-Identifier: Apache-2.0 */
#include "client/json_stream.h"

#include "base/banned.h"

void json_stream_init(struct json_stream *s, size_t value_max)
{
    *s = (struct json_stream){ 0 };
    buf_init(&s->part, value_max);
}

void json_stream_release(struct json_stream *s)
{
    buf_release(&s->part);
}

bool json_stream_at_end(const struct json_stream *s)
{
    return !s->begun;
}

/* From inside of a string to behind its closing quote, or to the end. */
static size_t skip_string(struct json_stream *s, str in, size_t i)
{
    const char *end = in.p + in.n, *quote = NULL, *slash;

    while (i < in.n) {
        if (s->escaped) {
            s->escaped = false;
            i++;
            continue;
        }
        if (!quote || quote < in.p + i) { /* each byte is looked at once for each of both */
            quote = memchr(in.p + i, '"', in.n - i);
            quote = quote ? quote : end;
        }
        slash = memchr(in.p + i, '\\', (size_t)(quote - in.p) - i);
        if (!slash) {
            s->in_string = quote == end;
            return quote == end ? in.n : (size_t)(quote - in.p) + 1;
        }
        s->escaped = true;
        i = (size_t)(slash - in.p) + 1;
    }
    return i;
}

/* Bytes of `in` up to the end of the value that has begun; in.n + 1 when it does not end here. */
static size_t find_end(struct json_stream *s, str in)
{
    size_t i = 0;

    while (i < in.n) {
        char c;

        if (s->in_string) {
            i = skip_string(s, in, i);
            continue;
        }
        c = in.p[i++];
        if (c == '"')
            s->in_string = true;
        else if (c == '{' || c == '[')
            s->depth++;
        else if ((c == '}' || c == ']') && --s->depth == 0)
            return i;
    }
    return in.n + 1;
}

static bool blank(char c)
{
    return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

static int too_large(const struct json_stream *s, struct status *st)
{
    return status_set(st, REASON_TOO_LARGE, "an event is larger than %zu bytes", s->part.max);
}

int json_stream_next(struct json_stream *s, str *bytes, str *value, struct status *st)
{
    size_t n;

    if (!s->begun) {
        buf_clear(&s->part);
        while (bytes->n && blank(bytes->p[0]))
            *bytes = str_from(*bytes, 1);
        if (!bytes->n)
            return 0;
        if (bytes->p[0] != '{' && bytes->p[0] != '[')
            return status_set(st, REASON_BAD_REQUEST, "the stream is not one of JSON objects");
        s->begun = true;
    }
    n = find_end(s, *bytes);
    if (n > bytes->n) {
        buf_str_append(&s->part, *bytes);
        *bytes = str_from(*bytes, bytes->n);
        return buf_overflown(&s->part) ? too_large(s, st) : 0;
    }
    s->begun = false;
    *value = str_sub(*bytes, 0, n);
    if (s->part.n) { /* it began in earlier bytes */
        buf_str_append(&s->part, *value);
        *value = buf_str(&s->part);
        if (buf_overflown(&s->part))
            return too_large(s, st);
    } else if (n > s->part.max) {
        return too_large(s, st);
    }
    *bytes = str_from(*bytes, n);
    return 1;
}
