/* SPDX-License-Identifier: Apache-2.0 */

/* Where connections named by tenants may go: each refused form by name. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include "fleet/egress.h"
#include "tap.h"

static socklen_t address(const char *text, unsigned port, struct sockaddr_storage *ss)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ss;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;

    memset(ss, 0, sizeof(*ss));
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return sizeof(*v4);
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
        return 0;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    return sizeof(*v6);
}

static const char *why(const struct egress *e, const char *text, unsigned port)
{
    struct sockaddr_storage ss;
    socklen_t n = address(text, port, &ss);

    return n ? egress_refuses(e, (const struct sockaddr *)&ss, n) : "not an address";
}

static void refused(const char *text, const char *reason)
{
    const char *got = why(&egress_default, text, 443);

    if (!CHECK(got && strstr(got, reason)))
        printf("# %s: %s\n", text, got ? got : "allowed");
}

TEST(ordinary_addresses_are_allowed)
{
    CHECK(!why(&egress_default, "10.0.0.1", 443));
    CHECK(!why(&egress_default, "192.168.1.1", 6443));
    CHECK(!why(&egress_default, "172.16.0.9", 6443));
    CHECK(!why(&egress_default, "8.8.8.8", 443));
    CHECK(!why(&egress_default, "169.253.255.255", 443));
    CHECK(!why(&egress_default, "169.255.0.0", 443));
    CHECK(!why(&egress_default, "2001:db8::1", 443));
    CHECK(!why(&egress_default, "fd12:3456::1", 443));
    CHECK(!why(&egress_default, "::ffff:10.0.0.1", 443));
}

TEST(link_local_is_refused)
{
    refused("169.254.1.1", "link-local");
    refused("fe80::1", "link-local");
    refused("febf::1", "link-local");
    refused("fec0::1", "site-local");
}

TEST(metadata_services_are_refused)
{
    refused("169.254.169.254", "link-local");
    refused("100.100.100.200", "metadata");
    refused("192.0.0.192", "metadata");
    refused("168.63.129.16", "metadata");
    refused("fd00:ec2::254", "metadata");
    refused("fd20:ce::254", "metadata");
}

TEST(unspecified_addresses_are_refused)
{
    refused("0.0.0.0", "unspecified");
    refused("0.1.2.3", "unspecified");
    refused("::", "unspecified");
}

TEST(multicast_and_broadcast_are_refused)
{
    refused("224.0.0.1", "multicast");
    refused("255.255.255.255", "broadcast");
    refused("240.0.0.1", "reserved");
    refused("ff02::1", "multicast");
}

TEST(ipv4_inside_of_ipv6_counts_as_ipv4)
{
    refused("::ffff:169.254.169.254", "link-local");
    refused("::ffff:127.0.0.1", "loopback");
    refused("::127.0.0.1", "loopback");
    refused("64:ff9b::169.254.169.254", "link-local");
    refused("64:ff9b:1::169.254.169.254", "link-local");
    refused("2002:a9fe:a9fe::1", "link-local");
    refused("2002:7f00:1::", "loopback");
}

TEST(loopback_is_refused_unless_a_flag_allows_it)
{
    const struct egress open = { .loopback = true };

    refused("127.0.0.1", "loopback");
    refused("127.8.8.8", "loopback");
    refused("::1", "loopback");
    CHECK(!why(&open, "127.0.0.1", 443));
    CHECK(!why(&open, "::1", 443));
    CHECK(!why(&open, "::ffff:127.0.0.1", 443));
    CHECK(why(&open, "169.254.169.254", 443));
    CHECK(why(&open, "0.0.0.0", 443));
}

TEST(our_own_listener_is_refused_even_where_loopback_is_allowed)
{
    struct egress e = { .loopback = true, .nlisteners = 1 };

    (void)address("127.0.0.1", 6443, &e.listeners[0]);
    CHECK(why(&e, "127.0.0.1", 6443));
    CHECK(why(&e, "::ffff:127.0.0.1", 6443));
    CHECK(!why(&e, "127.0.0.1", 6444));
    CHECK(!why(&e, "127.0.0.2", 6443));
}

TEST(a_listener_at_every_address_is_refused_at_each)
{
    struct egress e = { .loopback = true, .nlisteners = 1 };

    (void)address("0.0.0.0", 6443, &e.listeners[0]);
    CHECK(why(&e, "127.0.0.1", 6443));
    CHECK(why(&e, "127.9.9.9", 6443));
    CHECK(!why(&e, "127.0.0.1", 6444));
    CHECK(!why(&e, "192.0.2.1", 6443)); /* a documentation address: not this machine's */
    (void)address("::", 6443, &e.listeners[0]);
    CHECK(why(&e, "127.0.0.1", 6443));
}

TEST(other_families_are_refused)
{
    struct sockaddr_storage ss = { .ss_family = AF_UNIX };

    CHECK(egress_refuses(&egress_default, (const struct sockaddr *)&ss, sizeof(ss)) != NULL);
    (void)address("10.0.0.1", 443, &ss);
    CHECK(egress_refuses(&egress_default, (const struct sockaddr *)&ss, 4) != NULL);
}
