/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/format.h"

#include "tap.h"

struct row {
    const char *format, *good[8], *bad[8];
};

/* k8s: kube-openapi/pkg/validation/strfmt; recorded: crd-schema/formats-good, formats-bad. */
static const struct row rows[] = {
    { "date",
      { "2020-01-02", "2020-02-29" },
      { "", "2020-1-2", "2021-02-29", "2020-13-01", "2020-00-10", "2020-01-02T" } },
    { "date-time",
      { "2020-01-02T03:04:05Z", "2020-01-02t03:04:05.123456z", "2020-01-02T03:04:05+02:00",
        "2020-01-02T03:04:05.5-07:00" },
      { "2020-01-02", "2020-01-02T03:04Z", "2020-01-02T24:00:00Z", "2020-01-02T03:04:05",
        "2020-01-02 03:04:05Z", "T03:04:05Z" } },
    { "duration",
      { "1h2m", "-1.5h", "0", "300ms", "3 days", "2 weeks", "1 hour and 2 mins", "5\xc2\xb5s" },
      { "", "h", "1", "abc", "1.2.3", "5 parsecs" } },
    { "email",
      { "a@example.com", "Some One <a@b.c>", "<a@b>", "\"q q\"@b.c", "a.b+c@d" },
      { "", "@@ not valid @@", "a", "a@", "@b", "a..b@c", "a@b@c d" } },
    { "hostname",
      { "a", "example.com", "a.example.com", "a-b.example.com", "x-y" },
      { "", "my-host", "-a.com", "a-.com", "a..com", "a.c0m", "a.b.c.1", "a b" } },
    { "ipv4", { "10.0.0.1", "010.0.0.1", "::ffff:1.2.3.4" }, { "", "10.0.0", "256.0.0.1", "::1" } },
    { "ipv6", { "fe80::1", "::", "::ffff:1.2.3.4" }, { "", "1.2.3.4", "fe80::1::2", "g::" } },
    { "cidr",
      { "10.0.0.0/8", "fd00::/64", "0.0.0.0/0" },
      { "10.0.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "/8", "10.0.0.0/-1" } },
    { "mac",
      { "01:23:45:67:89:ab", "01-23-45-67-89-AB", "0123.4567.89ab", "01:23:45:67:89:ab:cd:ef" },
      { "", "01:23:45:67:89", "01:23:45:67:89:gg", "0123.4567", "01:23-45:67:89:ab" } },
    { "uri",
      { "https://example.com/x", "/path", "http://[::1]:80/", "a://b?c=%zz", "*" },
      { "", "example.com", "@@ not valid @@", "http://a b/", "http://x:y/", "mailto:a@b",
        "/%zz" } },
    { "uuid",
      { "12345678-1234-4234-8234-123456789abc", "12345678123442348234123456789ABC" },
      { "", "12345678-1234-4234-8234-123456789ab", "1234567-81234-4234-8234-123456789abc",
        "12345678--1234-4234-8234-123456789abc" } },
    { "uuid3",
      { "12345678-1234-3234-0234-123456789abc" },
      { "12345678-1234-4234-8234-123456789abc" } },
    { "uuid4",
      { "12345678-1234-4234-8234-123456789abc" },
      { "12345678-1234-4234-0234-123456789abc", "12345678-1234-5234-8234-123456789abc" } },
    { "uuid5",
      { "12345678-1234-5234-a234-123456789abc" },
      { "12345678-1234-4234-8234-123456789abc" } },
    { "byte", { "aGk=", "aGkh", "YQ==" }, { "", "a", "aGk", "a===", "aG k", "_-__" } },
    { "isbn",
      { "0321751043", "978-0321751041", "080442957X" },
      { "", "0321751044", "978-0321751042" } },
    { "isbn10", { "0-321-75104-3" }, { "9780321751041", "X321751043" } },
    { "isbn13", { "978 0321751041" }, { "0321751043" } },
    { "creditcard",
      { "4111 1111 1111 1111", "5555-5555-5555-4444", "378282246310005" },
      { "", "4111111111111112", "1234567812345670" } },
    { "ssn", { "123-45-6789", "123 45 6789" }, { "", "123456789", "123-456-789", "123-45-678a" } },
    { "hexcolor", { "#FFFFFF", "abc" }, { "", "#FFFF", "#GGG" } },
    { "rgbcolor", { "rgb(0, 10,255)" }, { "", "rgb(0,0)", "rgb(0,0,256)", "rgb(01,0,0)", "rgb(" } },
    { "bsonobjectid", { "507f1f77bcf86cd799439011" }, { "", "507f1f77bcf86cd79943901" } },
    { "k8s-short-name", { "a-b" }, { "", "A", "a.b" } },
    { "k8s-long-name", { "a-b.c" }, { "", "A", "a..b" } },
};

TEST(formats)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        format_check *check = format_find(str_of(rows[i].format));

        REQUIRE(check);
        for (size_t k = 0; k < 8 && rows[i].good[k]; k++)
            if (!CHECK(check(str_of(rows[i].good[k]))))
                printf("# not a %s: %s\n", rows[i].format, rows[i].good[k]);
        for (size_t k = 0; k < 8 && rows[i].bad[k]; k++)
            if (!CHECK(!check(str_of(rows[i].bad[k]))))
                printf("# a %s: %s\n", rows[i].format, rows[i].bad[k]);
    }
}

TEST(what_is_not_checked)
{
    CHECK(!format_find(STR("password")) && !format_find(STR("zipcode")) && !format_find(STR("")));
    CHECK(!format_find(STR("int32")));
    CHECK(format_find(STR("datetime")) == format_find(STR("date-time")));
    CHECK(!format_find(STR("a-very-long-name-of-a-format-that-nobody-has-ever-heard-of")));
}
