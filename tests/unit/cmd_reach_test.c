/* SPDX-License-Identifier: Apache-2.0 */

/* Options and interfaces to the names of a certificate and to what clients are told. */

#include "cmd/reach.h"

#include "base/banned.h"
#include "tap.h"

/* A machine with everything that makes interfaces. */
static const struct link links[] = {
    { .index = 1, .name = STR_INIT("lo"), .up = true, .loopback = true },
    { .index = 2, .name = STR_INIT("eth0"), .up = true },
    { .index = 3, .name = STR_INIT("eth1"), .up = false },
    { .index = 4, .name = STR_INIT("docker0"), .kind = STR_INIT("bridge"), .up = true },
    { .index = 5, .name = STR_INIT("vethabc"), .kind = STR_INIT("veth"), .up = true, .master = 4 },
    { .index = 6, .name = STR_INIT("vmbr0"), .kind = STR_INIT("bridge"), .up = true },
    { .index = 7, .name = STR_INIT("eth2"), .up = true, .master = 6 },
    { .index = 8, .name = STR_INIT("virbr0"), .kind = STR_INIT("bridge"), .up = true },
    { .index = 9, .name = STR_INIT("vnet0"), .kind = STR_INIT("tun"), .up = true, .master = 8 },
    { .index = 10, .name = STR_INIT("kube-ipvs0"), .kind = STR_INIT("dummy"), .up = true },
    { .index = 11, .name = STR_INIT("flannel.1"), .kind = STR_INIT("vxlan"), .up = true },
    { .index = 12, .name = STR_INIT("flannel-wg"), .kind = STR_INIT("wireguard"), .up = true },
    { .index = 13, .name = STR_INIT("wg0"), .kind = STR_INIT("wireguard"), .up = true },
    { .index = 14, .name = STR_INIT("cali12"), .kind = STR_INIT("veth"), .up = true },
    { .index = 15, .name = STR_INIT("eth3"), .kind = STR_INIT("veth"), .up = true },
    { .index = 16, .name = STR_INIT("tunl0"), .kind = STR_INIT("ipip"), .up = true },
    { .index = 17, .name = STR_INIT("br-0a1b"), .kind = STR_INIT("bridge"), .up = true },
    { .index = 18, .name = STR_INIT("br0"), .kind = STR_INIT("bridge"), .up = true },
    { .index = 19, .name = STR_INIT("bond0"), .kind = STR_INIT("bond"), .up = true, .master = 18 },
};

/* What `--listen :6443` finds when one link has one address. */
static const char *found(struct arena *a, int index, const char *ip, bool global, bool passing)
{
    const struct link_address address = { index, str_of(ip), global, passing };
    const struct links all = { links, sizeof(links) / sizeof(*links), &address, 1 };
    const struct reach_options o = { .any = true };
    struct reach r;

    reach_find(a, &o, &all, &r);
    return r.nopen ? str_z(a, r.open[0]) : "";
}

TEST(addresses_count_that_lead_out_of_the_machine)
{
    static const struct {
        int index;
        const char *ip;
        bool local, passing, counts;
    } rows[] = {
        { 1, "192.0.2.1", false, false, false }, /* on lo */
        { 1, "127.0.0.1", true, false, false },
        { 2, "192.0.2.1", false, false, true },
        { 2, "2001:db8::1", false, false, true },
        { 2, "2001:db8::1", false, true, false },
        { 2, "fe80::1", true, false, false },
        { 2, "fe80::1", false, false, false }, /* whatever scope it was given */
        { 2, "169.254.3.4", false, false, false },
        { 3, "192.0.2.1", false, false, false },  /* down */
        { 4, "172.17.0.1", false, false, false }, /* a bridge of containers */
        { 5, "172.17.0.9", false, false, false },
        { 6, "192.0.2.1", false, false, true },      /* a bridge to hardware */
        { 8, "192.168.122.1", false, false, false }, /* a bridge of virtual machines */
        { 10, "10.96.0.1", false, false, false },
        { 11, "10.244.0.0", false, false, false },
        { 12, "10.244.0.1", false, false, false },
        { 13, "10.8.0.1", false, false, true }, /* a tunnel of people */
        { 14, "10.244.0.2", false, false, false },
        { 15, "172.17.0.2", false, false, true }, /* seen from inside a container */
        { 16, "10.244.0.3", false, false, false },
        { 17, "172.18.0.1", false, false, false }, /* without any port */
        { 18, "192.0.2.1", false, false, true },   /* over a bond */
        { 99, "192.0.2.1", false, false, false },  /* of a link that has just come */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();

        if (!CHECK((*found(a, rows[i].index, rows[i].ip, !rows[i].local, rows[i].passing) != 0) ==
                   rows[i].counts))
            printf("# row %zu: %s\n", i, rows[i].ip);
    }
}

static struct option_list list_of(const char *text)
{
    static char words[8][64];
    struct option_list list = { .n = 0 };

    for (str rest = str_of(text), part; *text && str_split(&rest, ' ', &part);) {
        (void)snprintf(words[list.n], sizeof(*words), "%.*s", STR_ARG(part));
        list.items[list.n] = words[list.n];
        list.n++;
    }
    return list;
}

static const struct link_address addresses[] = {
    { 1, STR_INIT("127.0.0.1"), false, false }, { 2, STR_INIT("192.0.2.1"), true, false },
    { 4, STR_INIT("172.17.0.1"), true, false }, { 13, STR_INIT("10.8.0.1"), true, false },
    { 1, STR_INIT("::1"), false, false },       { 2, STR_INIT("2001:db8::1"), true, false },
    { 2, STR_INIT("fe80::1"), false, false },
};
static const struct links machine = { links, sizeof(links) / sizeof(*links), addresses,
                                      sizeof(addresses) / sizeof(*addresses) };

/* "advertised | admin's | here | names behind those that are always there"; or what is wrong. */
static const char *reach_of(struct arena *a, const char *listen, const char *advertise,
                            const char *sans, const char *name)
{
    struct option_list sans_list = list_of(sans), advertise_list;
    struct reach_options o;
    struct reach r;
    struct status st;
    str all;

    for (size_t i = 0; i < sans_list.n; i++)
        sans_list.items[i] = arena_printf(a, "%s", sans_list.items[i]);
    advertise_list = list_of(advertise);
    status_init(&st, a);
    if (reach_parse(a, listen, &advertise_list, &sans_list, name, &o, &st) < 0)
        return str_z(a, st.message);
    reach_find(a, &o, &machine, &r);
    all = str_printf(a, "%.*s | %.*s | %.*s |", STR_ARG(reach_print(a, r.advertised, 6443)),
                     STR_ARG(reach_print(a, r.admin, 6443)), STR_ARG(reach_print(a, r.here, 6443)));
    for (size_t i = 5; i < r.nnames; i++)
        all = str_printf(a, "%.*s %.*s", STR_ARG(all), STR_ARG(r.names[i]));
    CHECK(str_is(r.names[0], "localhost") && str_is(r.names[1], "127.0.0.1") &&
          str_is(r.names[2], "::1") && str_is(r.names[4], "kubernetes.default.svc"));
    return str_z(a, all);
}

TEST(options_say_who_can_connect_and_where)
{
    static const struct {
        const char *listen, *advertise, *sans, *name, *want;
    } rows[] = {
        { "127.0.0.1:6443", "", "", "box", "127.0.0.1:6443 | 127.0.0.1:6443 | 127.0.0.1:6443 |" },
        { "[::1]:6443", "", "", "box", "[::1]:6443 | [::1]:6443 | [::1]:6443 |" },
        { "localhost:6443", "", "", "box", "localhost:6443 | localhost:6443 | localhost:6443 |" },
        { "192.0.2.1:6443", "", "", "box",
          "192.0.2.1:6443 | 192.0.2.1:6443 | 192.0.2.1:6443 | 192.0.2.1" },
        { ":6443", "", "", "Box.example.com",
          "192.0.2.1:6443 | 127.0.0.1:6443 | 127.0.0.1:6443 | box.example.com 192.0.2.1 10.8.0.1 "
          "2001:db8::1" },
        { "[::]:6443", "", "", "box",
          "192.0.2.1:6443 | 127.0.0.1:6443 | 127.0.0.1:6443 | box 192.0.2.1 10.8.0.1 "
          "2001:db8::1" },
        { "0.0.0.0:6443", "", "", "box",
          "192.0.2.1:6443 | 127.0.0.1:6443 | 127.0.0.1:6443 | box 192.0.2.1 10.8.0.1" },
        { "0.0.0.0:6443", "", "", "my_box",
          "192.0.2.1:6443 | 127.0.0.1:6443 | 127.0.0.1:6443 | 192.0.2.1 10.8.0.1" },
        { "0.0.0.0:6443", "", "", "localhost",
          "192.0.2.1:6443 | 127.0.0.1:6443 | 127.0.0.1:6443 | 192.0.2.1 10.8.0.1" },
        { ":6443", "Kairship.example.com", "", "box",
          "kairship.example.com:6443 | kairship.example.com:6443 | 127.0.0.1:6443 | "
          "kairship.example.com" },
        { ":6443", "k.example:443 10.0.0.9 [2001:DB8::2]:8443", "*.example.org 10.0.0.9", "box",
          "k.example:443 | k.example:443 | 127.0.0.1:6443 | k.example 10.0.0.9 2001:db8::2 "
          "*.example.org" },
        { ":6443", "2001:db8::3", "", "box",
          "[2001:db8::3]:6443 | [2001:db8::3]:6443 | 127.0.0.1:6443 | 2001:db8::3" },
        { ":6443", "[2001:db8::3]", "", "box",
          "[2001:db8::3]:6443 | [2001:db8::3]:6443 | 127.0.0.1:6443 | 2001:db8::3" },
        { "192.0.2.1:6443", "k.example", "", "box",
          "k.example:6443 | k.example:6443 | 192.0.2.1:6443 | 192.0.2.1 k.example" },
        { ":6443", "", "k.example", "",
          "192.0.2.1:6443 | 127.0.0.1:6443 | 127.0.0.1:6443 | 192.0.2.1 10.8.0.1 2001:db8::1 "
          "k.example" },
        { "127.0.0.1", "", "", "",
          "--listen 127.0.0.1: the port is missing, as in 127.0.0.1:6443" },
        { ":6443", "https://k.example", "", "",
          "--advertise https://k.example: give a name or an address, as kairship.example.com, not "
          "a URL" },
        { ":6443", "k.example:x", "", "",
          "--advertise k.example:x: the port is a number from 0 to 65535, not \"x\"" },
        { ":6443", "k.example:0", "", "",
          "--advertise k.example:0: clients cannot connect to port 0; leave it out to take that of "
          "--listen" },
        { ":6443", "0.0.0.0", "", "",
          "--advertise 0.0.0.0: 0.0.0.0 is not an address that clients can connect to" },
        { ":6443", "fe80::1", "", "",
          "--advertise fe80::1: fe80::1 is not an address that clients can connect to" },
        { ":6443", "*.example", "", "",
          "--advertise *.example: \"*.example\" is neither a name nor an address" },
        { ":6443", "", "a,DNS:b", "",
          "--tls-san a,DNS:b: \"a,DNS:b\" is neither a name nor an "
          "address" },
        { ":6443", "", "k.example:443", "",
          "--tls-san k.example:443: \"k.example:443\" is neither a name nor an address" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();

        CHECK_STR(reach_of(a, rows[i].listen, rows[i].advertise, rows[i].sans, rows[i].name),
                  rows[i].want);
    }
}

TEST(a_machine_without_a_network_is_reached_by_itself)
{
    scoped_arena a = arena_new();
    const struct reach_options o = { .any = true };
    struct reach r;

    reach_find(a, &o, &(struct links){ 0 }, &r);
    CHECK(r.nopen == 0 && r.nnames == 5);
    CHECK(str_is(r.advertised.host, "127.0.0.1"));
}

TEST(a_certificate_has_at_most_so_many_addresses)
{
    scoped_arena a = arena_new();
    struct link_address many[100];
    const struct links all = { links, 2, many, 100 };
    const struct reach_options o = { .any = true };
    struct reach r;

    for (int i = 0; i < 100; i++)
        many[i] = (struct link_address){ 2, str_printf(a, "10.0.0.%d", i), true, false };
    reach_find(a, &o, &all, &r);
    CHECK(r.nopen == REACH_ADDRESSES_MAX && r.nnames == 5 + REACH_ADDRESSES_MAX);
    CHECK(str_is(r.advertised.host, "10.0.0.0"));
}

/* Whatever machine this is: the kernel is understood. */
TEST(the_kernel_tells_of_the_loopback)
{
    scoped_arena a = arena_new();
    struct links all;
    struct status st;
    size_t i = 0;

    status_init(&st, a);
    REQUIRE(links_read(a, &all, &st) == 0);
    while (i < all.nlinks && !str_is(all.links[i].name, "lo"))
        i++;
    REQUIRE(i < all.nlinks);
    CHECK(all.links[i].loopback && all.links[i].index == 1 && !all.links[i].kind.n);
}
