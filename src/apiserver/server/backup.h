/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_SERVER_BACKUP_H
#define APISERVER_SERVER_BACKUP_H

/*
 * GET /backup: a consistent copy of everything, while the server runs.  A worker writes it to a
 * nameless file beside the data, which is then sent as the client takes it; one at a time.
 */

#include "apiserver/call/call.h"

#define BACKUP_PATH         "/backup"
#define BACKUP_CONTENT_TYPE "application/vnd.kairship.backup"

void backup_serve(struct call *c);

#endif
