/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include "tap.h"

static const char text[] = "constants come back when somebody looks";

TEST(what_is_cold_comes_back)
{
    mem_cold(text, sizeof(text));
    CHECK_STR(text, "constants come back when somebody looks");
}
