/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client_h1_reader.h"

#include <string.h>

#include "base/banned.h"

enum { HEAD_MAX = 256 << 10, HEADERS_N = 128, CHUNK_LINE_MAX = 4096 };

void h1_reader_init(struct h1_reader *r)
{
    *r = (struct h1_reader){ .state = H1_DONE };
    buf_init(&r->line, HEAD_MAX);
}

void h1_reader_release(struct h1_reader *r)
{
    buf_release(&r->line);
}

void h1_reader_next(struct h1_reader *r, bool no_body)
{
    r->state = H1_HEAD;
    r->no_body = no_body;
    r->may_switch = false;
    r->keep_alive = false;
    buf_clear(&r->line);
}

static int broken(struct status *st, const char *what)
{
    return status_set(st, REASON_UNAVAILABLE, "the reply is not HTTP/1.1: %s", what);
}

/* ---- the head ---- */

struct head {
    int code;
    bool http10, chunked, close, keep, has_length;
    uint64_t length;
    struct http_header headers[HEADERS_N];
    size_t n;
};

static str next_line(str *rest)
{
    str line = STR_NONE;

    (void)str_split(rest, '\n', &line);
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static int status_line(str line, struct head *h, struct status *st)
{
    uint64_t code;

    if (!str_starts(line, STR("HTTP/1.")) || line.n < 12 || line.p[8] != ' ')
        return broken(st, "no status line");
    if (!str_to_u64(str_sub(line, 9, 3), &code) || code < 100 || code > 599)
        return broken(st, "no status code");
    h->http10 = line.p[7] == '0';
    h->code = (int)code;
    return 0;
}

static bool has_token(str list, const char *token)
{
    for (str rest = list, part; str_split(&rest, ',', &part);)
        if (str_eq_nocase(str_trim(part), str_of(token)))
            return true;
    return false;
}

static int known_header(const struct http_header *x, struct head *h, struct status *st)
{
    if (str_is(x->name, "content-length")) {
        uint64_t n;

        if (!str_to_u64(x->value, &n) || (h->has_length && n != h->length))
            return broken(st, "content-length");
        h->has_length = true;
        h->length = n;
    } else if (str_is(x->name, "transfer-encoding")) {
        if (!str_eq_nocase(x->value, STR("chunked")))
            return broken(st, "a transfer-encoding that we did not ask for");
        h->chunked = true;
    } else if (str_is(x->name, "connection")) {
        h->close |= has_token(x->value, "close");
        h->keep |= has_token(x->value, "keep-alive");
    }
    return 0;
}

static int header_line(char *base, str line, struct head *h, struct status *st)
{
    ptrdiff_t colon = str_find(line, ':', 0);
    struct http_header *x = &h->headers[h->n];
    char *name = base;

    if (colon <= 0)
        return broken(st, "a header line without a name");
    if (h->n == HEADERS_N)
        return broken(st, "too many headers");
    for (ptrdiff_t i = 0; i < colon; i++) {
        if ((unsigned char)name[i] <= ' ')
            return broken(st, "a blank in a header name");
        if (name[i] >= 'A' && name[i] <= 'Z')
            name[i] = (char)(name[i] + 'a' - 'A');
    }
    x->name = str_sub(line, 0, (size_t)colon);
    x->value = str_trim(str_from(line, (size_t)colon + 1));
    h->n++;
    return known_header(x, h, st);
}

static int parse_head(struct buf *text, struct head *h, struct status *st)
{
    str rest = buf_str(text);
    str line = next_line(&rest);

    if (status_line(line, h, st) < 0)
        return -1;
    for (;;) {
        line = next_line(&rest);
        if (!line.n)
            return 0;
        if (header_line(text->p + (line.p - text->p), line, h, st) < 0)
            return -1;
    }
}

static void body_form(struct h1_reader *r, const struct head *h)
{
    r->keep_alive = !r->may_switch && (h->http10 ? h->keep : !h->close);
    if (h->code == 101) {
        r->state = H1_UNTIL_CLOSE;
    } else if (r->no_body || h->code == 204 || h->code == 304) {
        r->state = H1_DONE;
    } else if (h->chunked) {
        r->state = H1_CHUNK_SIZE;
    } else if (h->has_length) {
        r->left = h->length;
        r->state = h->length ? H1_BODY : H1_DONE;
    } else {
        r->keep_alive = false;
        r->state = H1_UNTIL_CLOSE;
    }
}

static int head_done(struct h1_reader *r, struct status *st)
{
    struct head h = { 0 };

    if (parse_head(&r->line, &h, st) < 0)
        return -1;
    if (h.code == 101 && !r->may_switch)
        return broken(st, "it switches protocols unasked");
    if (h.code >= 200 || h.code == 101) {
        body_form(r, &h);
        r->head(r->arg, h.code, h.headers, h.n);
    }
    buf_clear(&r->line);
    return 0;
}

/* Whether the head in `b` ends with the byte just added: an empty line. */
static bool head_ends(const struct buf *b)
{
    size_t n = b->n;

    return (n >= 2 && b->p[n - 2] == '\n') ||
           (n >= 3 && b->p[n - 2] == '\r' && b->p[n - 3] == '\n');
}

/* Adds one line's bytes to r->line; true when the line is whole. */
static bool take_line(struct h1_reader *r, str *in)
{
    const char *nl = memchr(in->p, '\n', in->n);
    size_t n = nl ? (size_t)(nl - in->p) + 1 : in->n;

    buf_append(&r->line, in->p, n);
    *in = str_from(*in, n);
    return nl != NULL;
}

static int feed_head(struct h1_reader *r, str *in, struct status *st)
{
    if (!take_line(r, in))
        return buf_overflown(&r->line) ? broken(st, "the headers are too large") : 0;
    if (buf_overflown(&r->line))
        return broken(st, "the headers are too large");
    return head_ends(&r->line) ? head_done(r, st) : 0;
}

/* ---- bodies ---- */

static void feed_data(struct h1_reader *r, str *in, enum h1_reader_state then)
{
    str part = str_sub(*in, 0, r->left < SIZE_MAX ? (size_t)r->left : SIZE_MAX);

    *in = str_from(*in, part.n);
    r->left -= part.n;
    if (!r->left)
        r->state = then;
    r->data(r->arg, part);
}

static int parse_size(str line, uint64_t *out)
{
    size_t i = 0;

    for (*out = 0; i < line.n; i++) {
        char c = line.p[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 16;

        if (digit == 16)
            break;
        if (i == 15)
            return -1;
        *out = *out * 16 + digit;
    }
    /* Behind the number there may be extensions. */
    return i && (i == line.n || line.p[i] == ';' || line.p[i] == ' ') ? 0 : -1;
}

static int chunk_line(struct h1_reader *r, struct status *st)
{
    str line = str_trim(buf_str(&r->line));

    if (r->state == H1_CHUNK_SIZE) {
        if (parse_size(line, &r->left) < 0)
            return broken(st, "the size of a chunk");
        r->state = r->left ? H1_CHUNK : H1_TRAILER;
    } else if (r->state == H1_CHUNK_END) {
        if (line.n)
            return broken(st, "a chunk is longer than it says");
        r->state = H1_CHUNK_SIZE;
    } else if (!line.n) { /* trailers are ignored, as in Kubernetes */
        r->state = H1_DONE;
    }
    buf_clear(&r->line);
    return 0;
}

static int feed_chunk_line(struct h1_reader *r, str *in, struct status *st)
{
    bool whole = take_line(r, in);

    if (r->line.n > CHUNK_LINE_MAX)
        return broken(st, "a line between chunks is too long");
    return whole ? chunk_line(r, st) : 0;
}

static int feed_some(struct h1_reader *r, str *in, struct status *st)
{
    switch (r->state) {
    case H1_HEAD:
        return feed_head(r, in, st);
    case H1_BODY:
        feed_data(r, in, H1_DONE);
        return 0;
    case H1_CHUNK:
        feed_data(r, in, H1_CHUNK_END);
        return 0;
    case H1_UNTIL_CLOSE:
        r->left = in->n;
        feed_data(r, in, H1_UNTIL_CLOSE);
        return 0;
    case H1_CHUNK_SIZE:
    case H1_CHUNK_END:
    case H1_TRAILER:
        return feed_chunk_line(r, in, st);
    case H1_DONE:
        break;
    }
    return 0;
}

int h1_reader_feed(struct h1_reader *r, str bytes, size_t *used, const bool *stop,
                   struct status *st)
{
    str in = bytes;
    int rc = 0;

    while (rc == 0 && in.n && r->state != H1_DONE && !*stop)
        rc = feed_some(r, &in, st);
    *used = bytes.n - in.n;
    return rc;
}

bool h1_reader_eof(struct h1_reader *r)
{
    if (r->state != H1_UNTIL_CLOSE)
        return false;
    r->state = H1_DONE;
    return true;
}
