/* SPDX-License-Identifier: Apache-2.0 */

/* `kairship not-served`: what is accepted and not acted on, as docs/not-served.md has it. */

#include <stdio.h>

#include "base/banned.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "object/meta/unserved.h"

static bool is_rpc(const struct unserved *row)
{
    return str_is(str_of(row->group), "rpc");
}

static bool is_kind(const struct unserved *row)
{
    return !row->path;
}

static bool is_field(const struct unserved *row)
{
    return row->path && !is_rpc(row);
}

static void print_kind(const struct unserved *row)
{
    (void)printf("| `%s` (%s) | %s |\n", row->kind, row->group, row->why);
}

static void print_field(const struct unserved *row)
{
    (void)printf("| `%s` | `%s`", row->kind, row->path);
    if (row->unless)
        (void)printf(", unless it is `%s`", row->unless);
    (void)printf(" | %s |\n", row->why);
}

static void print_rpc(const struct unserved *row)
{
    (void)printf("| `%s/%s` | %s |\n", row->kind, row->path, row->why);
}

static const struct {
    const char *title, *head;
    bool (*is)(const struct unserved *row);
    void (*print)(const struct unserved *row);
} parts[] = {
    { "Kinds", "| kind | |\n|---|---|", is_kind, print_kind },
    { "Fields", "| kind | field | |\n|---|---|---|", is_field, print_field },
    { "RPCs", "| RPC | |\n|---|---|", is_rpc, print_rpc },
};

static const char opening[] =
    "# Accepted, not acted on\n"
    "\n"
    "Kairship serves the APIs of Karmada and of the product whole, so that clients and stored "
    "objects work. The work\n"
    "behind these parts of them is not built. A write that asks for one succeeds with a Warning "
    "and an Event `NotServed`, a\n"
    "kind that has conditions gets `Served=False`, and an RPC that could do nothing answers "
    "UNIMPLEMENTED (501), all with\n"
    "the same sentence. A field asks for something unless it is absent, false or empty.\n"
    "\n"
    "Printed by `kairship not-served`.\n";

int cmd_not_served(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship not-served",
        "Print the kinds, fields and RPCs that this version accepts but does not act on, as "
        "Markdown.",
        "  kairship not-served\n",
    };
    int rc = options_parse(&help, NULL, 0, argc, argv, NULL, 0, NULL);

    if (rc != OPTIONS_OK)
        return rc;
    (void)fputs(opening, stdout);
    for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
        (void)printf("\n## %s\n\n%s\n", parts[p].title, parts[p].head);
        for (size_t i = 0; i < unserved_count; i++)
            if (parts[p].is(&unserved_rows[i]))
                parts[p].print(&unserved_rows[i]);
    }
    return 0;
}
