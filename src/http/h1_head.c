/* SPDX-License-Identifier: Apache-2.0 */
#include "http/h1_head.h"

#include "base/banned.h"

ptrdiff_t h1_head_end(str in, size_t *at)
{
    for (;;) {
        const char *lf = *at < in.n ? memchr(in.p + *at, '\n', in.n - *at) : NULL;
        size_t i;

        if (!lf)
            return 0;
        i = (size_t)(lf - in.p);
        if (i == 0 || in.p[i - 1] != '\r')
            return -1;
        /* An empty line: the one before it ended right in front of its CR. */
        if (i == 1 || in.p[i - 2] == '\n')
            return (ptrdiff_t)i + 1;
        *at = i + 1;
    }
}

static bool is_token(unsigned char c)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr(others, c));
}

static bool all_tokens(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_token((unsigned char)s.p[i]))
            return false;
    return s.n > 0;
}

/* Visible text with blanks and tabs, and bytes beyond ASCII: no other control characters. */
static bool is_value(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static int refuse(struct h1_head *h, int status, const char *why)
{
    h->error = why;
    return status;
}

/* "http://host/path" is as good as "/path"; only what follows the host counts. */
static str strip_origin(str target)
{
    ptrdiff_t slash;

    if (!str_starts(target, STR("http://")) && !str_starts(target, STR("https://")))
        return target;
    slash = str_find(target, '/', STR("https://").n);
    return slash < 0 ? STR("/") : str_from(target, (size_t)slash);
}

static int request_line(struct h1_head *h, str line)
{
    str rest = line, version;

    if (!str_split(&rest, ' ', &h->method) || !all_tokens(h->method) ||
        !str_split(&rest, ' ', &h->target) || !is_value(h->target) ||
        !str_split(&rest, ' ', &version) || rest.p || str_find(h->target, '\t', 0) >= 0)
        return refuse(h, 400, "malformed request line\n");
    if (!str_eq(version, STR("HTTP/1.1")) && !str_eq(version, STR("HTTP/1.0")))
        return str_starts(version, STR("HTTP/"))
                   ? refuse(h, 505, "versions 1.1 and 2 are served here\n")
                   : refuse(h, 400, "malformed request line\n");
    h->minor = version.p[version.n - 1] - '0';
    h->keep_alive = h->minor == 1;
    h->target = strip_origin(h->target);
    if (!str_starts(h->target, STR("/")) && !str_is(h->method, "CONNECT") &&
        !(str_is(h->target, "*") && str_is(h->method, "OPTIONS")))
        return refuse(h, 400, "malformed request target\n");
    return 0;
}

/* ---- headers that say where the request ends ---- */

static int on_length(struct h1_head *h, str value)
{
    if (h->has_length)
        return refuse(h, 400, "two Content-Length headers\n");
    h->has_length = true;
    return str_to_u64(value, &h->length) ? 0 : refuse(h, 400, "malformed Content-Length\n");
}

static int on_transfer_encoding(struct h1_head *h, str value)
{
    if (h->chunked)
        return refuse(h, 400, "two Transfer-Encoding headers\n");
    if (h->minor == 0)
        return refuse(h, 400, "Transfer-Encoding in HTTP/1.0\n");
    h->chunked = str_eq_nocase(value, STR("chunked"));
    return h->chunked ? 0 : refuse(h, 501, "the only transfer coding known here is chunked\n");
}

static int on_connection(struct h1_head *h, str value)
{
    for (str part; str_split(&value, ',', &part);) {
        part = str_trim(part);
        if (str_eq_nocase(part, STR("close")))
            h->keep_alive = false;
        else if (h->minor == 0 && str_eq_nocase(part, STR("keep-alive")))
            h->keep_alive = true;
    }
    return 0;
}

static int on_host(struct h1_head *h, str value)
{
    (void)value;
    return h->hosts++ == 0 ? 0 : refuse(h, 400, "two Host headers\n");
}

static int on_expect(struct h1_head *h, str value)
{
    h->expects_other = !str_eq_nocase(value, STR("100-continue"));
    return 0;
}

static const struct {
    str name;
    int (*fn)(struct h1_head *h, str value);
} known[] = {
    { STR_INIT("content-length"), on_length },
    { STR_INIT("transfer-encoding"), on_transfer_encoding },
    { STR_INIT("connection"), on_connection },
    { STR_INIT("host"), on_host },
    { STR_INIT("expect"), on_expect },
};

static int header_line(struct h1_head *h, char *p, size_t n, h1_header_fn *fn, void *arg)
{
    str line = { p, n }, name, value;
    ptrdiff_t colon = str_find(line, ':', 0);

    if (colon < 0)
        return refuse(h, 400, "a header line without a colon\n");
    name = str_sub(line, 0, (size_t)colon);
    value = str_trim(str_from(line, (size_t)colon + 1));
    /* A blank before the colon, or at the line's beginning (a folded line), is no token either. */
    if (!all_tokens(name) || !is_value(value))
        return refuse(h, 400, "malformed header line\n");
    for (size_t i = 0; i < name.n; i++)
        if (p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] + ('a' - 'A'));
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        int rc = str_eq(name, known[i].name) ? known[i].fn(h, value) : 0;

        if (rc)
            return rc;
    }
    fn(arg, name, value);
    return 0;
}

int h1_head_parse(struct h1_head *out, char *p, size_t n, h1_header_fn *fn, void *arg)
{
    char *end = p + n;
    bool first = true;
    int rc = 0;

    *out = (struct h1_head){ 0 };
    while (rc == 0) {
        char *lf = memchr(p, '\n', (size_t)(end - p));
        size_t len;

        if (!lf || lf == p || lf[-1] != '\r')
            return refuse(out, 400, "a line that does not end in CR LF\n");
        len = (size_t)(lf - 1 - p);
        if (len == 0)
            break;
        rc = first ? request_line(out, (str){ p, len }) : header_line(out, p, len, fn, arg);
        first = false;
        p = lf + 1;
    }
    if (rc == 0 && first)
        return refuse(out, 400, "no request line\n");
    if (rc == 0 && out->minor == 1 && out->hosts != 1)
        return refuse(out, 400, "no Host header\n");
    if (rc == 0 && out->chunked && out->has_length)
        return refuse(out, 400, "both Content-Length and Transfer-Encoding\n");
    return rc;
}

bool h1_chunk_size(str line, uint64_t *size)
{
    uint64_t n = 0;
    size_t i = 0;

    for (; i < line.n && line.p[i] != ';'; i++) {
        char c = line.p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;

        if (digit < 0 || i >= 8)
            return false;
        n = n << 4 | (unsigned)digit;
    }
    if (i == 0 || !is_value(str_from(line, i)))
        return false;
    *size = n;
    return true;
}
