/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/version.h"

#include <stdio.h>

#include "base/banned.h"
#include "cmd/commands.h"

int cmd_version(int argc, char **argv)
{
    static const struct command_help help = { "kairship version", "Print the version.",
                                              "  kairship version\n" };
    int rc = options_parse(&help, NULL, 0, argc, argv, NULL, 0, NULL);

    if (rc != OPTIONS_OK)
        return rc;
    printf("kairship %.*s (Kubernetes API %.*s)\n", STR_ARG(version_own()),
           STR_ARG(version_kubernetes()));
    return 0;
}
