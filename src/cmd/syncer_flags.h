/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SYNCER_FLAGS_H
#define CMD_SYNCER_FLAGS_H

/* What the command line says of kcp's Clusters and their syncers, where the controllers run. */

#include "cmd/options.h"
#include "federation/controllers/members/api_importer.h"
#include "federation/controllers/members/syncer_manager.h"

struct syncer_flags {
    const char *mode, *server, *image;
    const char *resources;   /* types to import from the Clusters; NULL: the usual workloads */
    enum syncer_place place; /* the mode, after syncer_flags_read */
};

#define SYNCER_FLAGS_DEFAULT \
    {                        \
        .mode = "push"       \
    }

/* `where`: which server it is without --syncer-server. */
#define SYNCER_OPTIONS(f, where)                                                                 \
    OPTIONS_GROUP("Clusters of kcp (workload.kcp.dev)"),                                         \
        { "--resources-to-sync", OPTION_STRING, &(f)->resources, "LIST",                         \
          "Import these types from Clusters, separated by commas; *.GROUP is a whole group. "    \
          "Without this option: " API_IMPORTER_RESOURCES "." },                                  \
        { "--syncer-mode", OPTION_STRING, &(f)->mode, "MODE",                                    \
          "Run the syncers in this process (push), in the member clusters (pull), or not at "    \
          "all (none)." },                                                                       \
        { "--syncer-server", OPTION_STRING, &(f)->server, "URL",                                 \
          "In pull mode, syncers connect to the API server at this URL. Without this option: "   \
          "at " where "." },                                                                     \
    {                                                                                            \
        "--syncer-image", OPTION_STRING, &(f)->image, "IMAGE",                                   \
            "In pull mode, member clusters run this image of Kairship (docs/image.md). Without " \
            "this option no syncer is installed, and the Clusters say so."                       \
    }

enum { SYNCER_ROWS = 5 }; /* of SYNCER_OPTIONS, with the group's title */

/* BAD_REQUEST names the option that is wrong. */
int syncer_flags_read(struct syncer_flags *f, struct status *st)
    __attribute__((warn_unused_result));

#endif
