/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ZONE_H
#define BASE_ZONE_H

/*
 * Time zones by name (Europe/Berlin), from the machine's time zone data base in
 * /usr/share/zoneinfo.  A zone is read when it is first asked for, and kept; so there are at most
 * as many as that folder has files.  UTC is known without any; where the folder is missing, it
 * alone.
 *
 * Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* As Go's time.LoadLocation; Local and the empty name are none. */
bool zone_known(str name);

/* Seconds east of UTC at that time; false, and nothing written, if there is no such zone. */
bool zone_offset(str name, int64_t unix_s, int32_t *seconds);

/* ---- the form of a file (RFC 8536), for tests ---- */

struct zone;

/* NULL unless it is one, of any version; bytes are not kept. */
struct zone *zone_parse(str bytes);
void zone_free(struct zone *z); /* NULL is fine */
int32_t zone_offset_in(const struct zone *z, int64_t unix_s);

#endif
