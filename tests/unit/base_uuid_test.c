/* SPDX-License-Identifier: Apache-2.0 */
#include "base/uuid.h"

#include "tap.h"

TEST(version_4_has_its_marks_and_differs)
{
    char a[UUID_SIZE], b[UUID_SIZE], c[UUID_SIZE];

    for (int i = 0; i < 100; i++) {
        uuid_v4(a);
        uuid_v4(b);
        CHECK(uuid_v5(c, str_of(a), STR("")));
        CHECK(a[14] == '4');
        CHECK(strchr("89ab", a[19]) != NULL);
        CHECK(strcmp(a, b) != 0);
        CHECK(strspn(a, "0123456789abcdef-") == UUID_LEN);
    }
}

/* The DNS namespace of RFC 4122 and known results. */
TEST(version_5_is_the_real_one)
{
    static const char dns[] = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    char id[UUID_SIZE], long_name[200];

    CHECK(uuid_v5(id, STR("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), STR("www.example.com")));
    CHECK_STR(id, "2ed6657d-e927-568b-95e1-2665a8aea6a2");
    CHECK(uuid_v5(id, str_of(dns), STR("python.org")));
    CHECK_STR(id, "886313e1-3b8a-5372-9b90-0c9aee199e5d");
    memset(long_name, 'a', sizeof(long_name)); /* more than one block of the hash */
    CHECK(uuid_v5(id, str_of(dns), (str){ long_name, sizeof(long_name) }));
    CHECK_STR(id, "fe30bfa6-ef90-59b3-b108-118411d0f0ab");
    CHECK(uuid_v5(id, str_of(dns), STR("")));
    CHECK_STR(id, "4ebd0208-8328-5d69-8c44-ec50939c0967");
}

TEST(a_namespace_must_be_a_uuid)
{
    char id[UUID_SIZE] = "untouched";

    CHECK(!uuid_v5(id, STR("root"), STR("x")));
    CHECK(!uuid_v5(id, STR_NONE, STR("x")));
    CHECK_STR(id, "untouched");
}

TEST(form_is_checked)
{
    char id[UUID_SIZE];

    CHECK(uuid_v5(id, STR("6BA7B810-9dad-11d1-80b4-00c04fd430c8"), STR("x")));
    CHECK(!uuid_v5(id, STR("6ba7b810-9dad-11d1-80b4-00c04fd430c"), STR("x")));
    CHECK(!uuid_v5(id, STR("6ba7b810-9dad-11d1-80b4-00c04fd430c8a"), STR("x")));
    CHECK(!uuid_v5(id, STR("6ba7b810-9dad-11d1-80b4_00c04fd430c8"), STR("x")));
    CHECK(!uuid_v5(id, STR("6ba7b81g-9dad-11d1-80b4-00c04fd430c8"), STR("x")));
    CHECK(!uuid_v5(id, STR("6ba7b8109-dad-11d1-80b4-00c04fd430c8"), STR("x")));
}
