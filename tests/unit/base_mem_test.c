/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include "tap.h"

static const char text[] = "constants come back when somebody looks";

TEST(a_cold_program_goes_on)
{
    mem_cold(text, sizeof(text));
    CHECK_STR(text, "constants come back when somebody looks");
    mem_cold_program();
    CHECK_STR(text, "constants come back when somebody looks");
}
