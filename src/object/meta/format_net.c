/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/format_net.h"

#include <arpa/inet.h>

#include "base/banned.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Leading zeros are fine: old Go read them so, and Kubernetes still does. */
static bool is_dotted(str s)
{
    str part;
    unsigned n = 0;

    while (str_split(&s, '.', &part)) {
        uint64_t v;

        if (part.n == 0 || part.n > 20 || !str_to_u64(part, &v) || v > 255)
            return false;
        n++;
    }
    return n == 4;
}

static bool is_v6(str s)
{
    char z[INET6_ADDRSTRLEN + 1];
    struct in6_addr addr;

    if (s.n >= sizeof(z) || memchr(s.p ? s.p : "", '\0', s.n))
        return false;
    memcpy(z, s.p ? s.p : "", s.n);
    z[s.n] = '\0';
    return inet_pton(AF_INET6, z, &addr) == 1;
}

/* An IPv6 address whose end is written as IPv4 passes for both. */
bool format_is_ipv4(str s)
{
    return is_dotted(s) || (str_find(s, '.', 0) >= 0 && is_v6(s));
}

bool format_is_ipv6(str s)
{
    return is_v6(s);
}

bool format_is_cidr(str s)
{
    ptrdiff_t slash = str_find(s, '/', 0);
    str ip;
    uint64_t bits;

    if (slash < 0 || s.n - (size_t)slash > 5 || !str_to_u64(str_from(s, (size_t)slash + 1), &bits))
        return false;
    ip = str_sub(s, 0, (size_t)slash);
    return is_dotted(ip) ? bits <= 32 : is_v6(ip) && bits <= 128;
}

/* 6, 8 or 20 bytes: 01:23:…, 01-23-…, or 0123.4567.… */
bool format_is_mac(str s)
{
    char sep = s.n > 4 ? (s.p[2] == ':' || s.p[2] == '-' ? s.p[2] : s.p[4]) : '\0';
    size_t group = sep == '.' ? 4 : 2, bytes = 0;
    str part;

    if (sep != ':' && sep != '-' && sep != '.')
        return false;
    while (str_split(&s, sep, &part)) {
        if (part.n != group)
            return false;
        for (size_t i = 0; i < part.n; i++)
            if (!is_hex(part.p[i]))
                return false;
        bytes += group / 2;
    }
    return bytes == 6 || bytes == 8 || bytes == 20;
}

/* Letters of all languages are fine; those beyond ASCII are not looked at closer. */
static bool is_host_char(char c)
{
    return is_digit(c) || is_letter(c) || (c & 0x80) || strchr("$+<=>^`|~", c);
}

static bool is_plain(str s, bool dashes)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\0' || !(is_host_char(s.p[i]) || (dashes && s.p[i] == '-')))
            return false;
    return true;
}

static bool is_top_level(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_letter(s.p[i]) && !(s.p[i] & 0x80))
            return false;
    return s.n >= 2 && s.n <= 63;
}

static bool is_host_label(str s)
{
    return s.n >= 1 && s.n <= 63 && is_plain(s, true) && s.p[0] != '-' && s.p[s.n - 1] != '-';
}

/* A name without dots may have a dash only as its second character: so is Kubernetes' rule. */
bool format_is_hostname(str s)
{
    size_t dot = s.n;
    str rest = s, part;

    if (s.n == 0 || s.n > 255)
        return false;
    if (str_find(s, '.', 0) < 0) {
        if (s.n > 1 && s.p[1] == '-')
            return s.n <= 63 && s.p[0] != '-' && is_plain(str_sub(s, 0, 1), false) &&
                   is_plain(str_from(s, 2), false);
        return s.n <= 63 && is_plain(s, false);
    }
    while (s.p[dot - 1] != '.')
        dot--;
    if (!is_top_level(str_from(s, dot)))
        return false;
    for (rest.n = dot - 1; str_split(&rest, '.', &part);)
        if (!is_host_label(part))
            return false;
    return true;
}

static bool is_atom_char(char c)
{
    return is_digit(c) || is_letter(c) || (c & 0x80) || (c && strchr("!#$%&'*+-/=?^_`{|}~", c));
}

static bool is_dot_atom(str s)
{
    str part;

    if (s.n == 0)
        return false;
    while (str_split(&s, '.', &part)) {
        if (part.n == 0)
            return false;
        for (size_t i = 0; i < part.n; i++)
            if (!is_atom_char(part.p[i]))
                return false;
    }
    return true;
}

/* Where a quoted string that begins s ends, or 0. */
static size_t quoted(str s)
{
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '\\')
            i++;
        else if (s.p[i] == '"')
            return i + 1;
        else if (s.p[i] == '\n' || s.p[i] == '\r')
            return 0;
    }
    return 0;
}

static bool is_address(str s)
{
    size_t at = s.n;
    str local, domain;

    while (at > 0 && s.p[at - 1] != '@')
        at--;
    if (at == 0)
        return false;
    local = str_sub(s, 0, at - 1);
    domain = str_from(s, at);
    if (local.n && local.p[0] == '"') {
        if (quoted(local) != local.n)
            return false;
    } else if (!is_dot_atom(local)) {
        return false;
    }
    if (domain.n > 2 && domain.p[0] == '[')
        return domain.p[domain.n - 1] == ']' && str_find(domain, ' ', 0) < 0;
    return is_dot_atom(domain);
}

/* k8s: net/mail.ParseAddress: `a@b`, `<a@b>` or `Some One <a@b>`. */
bool format_is_email(str s)
{
    ptrdiff_t open;
    size_t from = 0;

    s = str_trim(s);
    if (s.n == 0 || s.p[s.n - 1] != '>')
        return is_address(s);
    if (s.p[0] == '"' && (from = quoted(s)) == 0)
        return false;
    open = str_find(s, '<', from);
    if (open < 0)
        return false;
    for (size_t i = from; i < (size_t)open; i++)
        if (s.p[i] != ' ' && s.p[i] != '.' && !is_atom_char(s.p[i]))
            return false;
    return is_address(str_sub(s, (size_t)open + 1, s.n - (size_t)open - 2));
}

/* Every % begins an escape. */
static bool escapes_fine(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '%' && (i + 2 >= s.n || !is_hex(s.p[i + 1]) || !is_hex(s.p[i + 2])))
            return false;
    return true;
}

static bool is_host_and_port(str s)
{
    size_t end = 0, at = s.n;

    while (at > 0 && s.p[at - 1] != '@')
        at--;
    s = str_from(s, at);
    if (s.n && s.p[0] == '[') {
        ptrdiff_t close = str_find(s, ']', 0);

        if (close < 0)
            return false;
        end = (size_t)close + 1;
    } else {
        while (end < s.n && s.p[end] != ':')
            if (strchr(" \"<>\\^`{|}", s.p[end++]))
                return false;
    }
    if (end < s.n && s.p[end] != ':')
        return false;
    for (size_t i = end + 1; i < s.n; i++)
        if (!is_digit(s.p[i]))
            return false;
    return true;
}

/* k8s: net/url.ParseRequestURI: absolute, or a path from the root. */
bool format_is_uri(str s)
{
    size_t i = 0, end;

    for (size_t k = 0; k < s.n; k++)
        if ((unsigned char)s.p[k] < ' ' || s.p[k] == 0x7f)
            return false;
    if (str_is(s, "*"))
        return true;
    if (s.n && s.p[0] != '/') {
        while (i < s.n && (is_letter(s.p[i]) || (i && (is_digit(s.p[i]) || strchr("+-.", s.p[i])))))
            i++;
        if (i == 0 || i == s.n || s.p[i] != ':')
            return false;
        s = str_from(s, i + 1);
    }
    if (s.n == 0 || s.p[0] != '/')
        return false;
    end = s.n;
    for (size_t k = s.n; k > 0; k--)
        if (s.p[k - 1] == '?')
            end = k - 1;
    s = str_sub(s, 0, end);
    if (i && str_starts(s, STR("//"))) {
        for (end = 2; end < s.n && s.p[end] != '/';)
            end++;
        if (!is_host_and_port(str_sub(s, 2, end - 2)))
            return false;
        s = str_from(s, end);
    }
    return escapes_fine(s);
}
