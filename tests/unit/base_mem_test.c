/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdlib.h>

#include "tap.h"

static const char text[] = "constants come back when somebody looks";

TEST(what_is_cold_comes_back)
{
    mem_cold(text, sizeof(text));
    CHECK_STR(text, "constants come back when somebody looks");
}

/* Pointers in constants are written when the program is loaded: they must not be lost. */
static const char *const words[] = { "one", "two", "three" };

TEST(all_goes_on_after_settling)
{
    char *z = mem_strdup("kept");

    mem_settle();
    mem_settle();
    CHECK_STR(z, "kept");
    CHECK_STR(words[2], "three");
    CHECK_STR(text, "constants come back when somebody looks");
    free(z);
}
