/* SPDX-License-Identifier: Apache-2.0 */

/* Addresses as people write them, well or not. */

#include "http/address.h"

#include "base/arena.h"
#include "base/banned.h"
#include "tap.h"

/* "host port", or the sentence. */
static const char *read_address(struct arena *a, const char *text)
{
    struct host_port out;
    struct status st;

    status_init(&st, a);
    if (address_parse(str_of(text), &out, &st) < 0)
        return str_z(a, st.message);
    return arena_printf(a, "%.*s %u", STR_ARG(out.host), out.port);
}

TEST(an_address_is_a_host_and_a_port)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "127.0.0.1:6443", "127.0.0.1 6443" },
        { "kairship.example.com:443", "kairship.example.com 443" },
        { ":6443", " 6443" },
        { "[::1]:0", "::1 0" },
        { "[2001:db8::1]:65535", "2001:db8::1 65535" },
        { "127.0.0.1:99999", "the port is a number from 0 to 65535, not \"99999\"" },
        { "127.0.0.1:65536", "the port is a number from 0 to 65535, not \"65536\"" },
        { "127.0.0.1:-1", "the port is a number from 0 to 65535, not \"-1\"" },
        { "127.0.0.1:https", "the port is a number from 0 to 65535, not \"https\"" },
        { "127.0.0.1:", "the port is a number from 0 to 65535, not \"\"" },
        { "127.0.0.1", "the port is missing, as in 127.0.0.1:6443" },
        { "[::1]", "the port is missing, as in [::1]:6443" },
        { "", "the port is missing, as in :6443" },
        { "::1", "an IPv6 address has brackets around it, as in [::1]:6443" },
        { "2001:db8::1:6443", "an IPv6 address has brackets around it, as in [::1]:6443" },
        { "[127.0.0.1]:1", "\"127.0.0.1\" in brackets is not an IPv6 address" },
        { "[]:1", "\"\" in brackets is not an IPv6 address" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();

        CHECK_STR(read_address(a, rows[i].text), rows[i].want);
    }
}

TEST(what_is_printed_is_read_again)
{
    scoped_arena a = arena_new();

    CHECK_STR(str_z(a, address_print(a, STR("::1"), 6443)), "[::1]:6443");
    CHECK_STR(str_z(a, address_print(a, STR("192.0.2.1"), 0)), "192.0.2.1:0");
    CHECK_STR(str_z(a, address_print(a, STR("a.example"), 443)), "a.example:443");
}

TEST(an_address_says_who_reaches_it)
{
    static const struct {
        const char *host, *kinds; /* i: an IP, 6: IPv6, a: any, l: loopback, k: link-local */
    } rows[] = {
        { "", "a" },
        { "0.0.0.0", "ia" },
        { "::", "i6a" },
        { "::ffff:0.0.0.0", "i6a" },
        { "127.0.0.1", "il" },
        { "127.9.9.9", "il" },
        { "::1", "i6l" },
        { "::ffff:127.0.0.1", "i6l" },
        { "localhost", "l" },
        { "LOCALHOST", "l" },
        { "169.254.169.254", "ik" },
        { "fe80::1", "i6k" },
        { "febf::1", "i6k" },
        { "fec0::1", "i6" },
        { "192.0.2.1", "i" },
        { "2001:db8::1", "i6" },
        { "1.2.3", "" },
        { "fe80::1%eth0", "" },
        { "host.example", "" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();
        str h = str_of(rows[i].host);

        CHECK_STR(arena_printf(a, "%s%s%s%s%s", address_is_ip(h) ? "i" : "",
                               address_is_v6(h) ? "6" : "", address_is_any(h) ? "a" : "",
                               address_is_loopback(h) ? "l" : "",
                               address_is_link_local(h) ? "k" : ""),
                  rows[i].kinds);
    }
}

TEST(an_ip_address_has_one_form)
{
    scoped_arena a = arena_new();
    str out = STR_NONE;

    CHECK(address_normal(a, STR("2001:DB8:0:0::1"), &out) && str_is(out, "2001:db8::1"));
    CHECK(address_normal(a, STR("192.0.2.1"), &out) && str_is(out, "192.0.2.1"));
    CHECK(!address_normal(a, STR("192.0.2.01"), &out));
    CHECK(!address_normal(a, STR("a.example"), &out));
}
