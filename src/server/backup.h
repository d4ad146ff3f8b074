/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_BACKUP_H
#define SERVER_BACKUP_H

/*
 * GET /backup: a consistent copy of everything, while the server runs.  A worker writes it to a
 * nameless file beside the data, which is then sent as the client takes it; one at a time.
 */

#include "server/call.h"

#define BACKUP_PATH         "/backup"
#define BACKUP_CONTENT_TYPE "application/vnd.kairship.backup"

void backup_serve(struct call *c);

#endif
