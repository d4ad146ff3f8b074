/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUDIT_AUDIT_RECORDS_H
#define APISERVER_AUDIT_AUDIT_RECORDS_H

/*
 * What people did, as objects of the root instance (records.audit.kairship.io), so that every
 * server of a store answers the same: calls of the management API that have an event
 * (api/recorded.proto), and native requests about people, their roles and the life of instances
 * (the table in audit_records.c).  Recorded are failures, too, but not what was refused because
 * there was too much of it (429), what was a dry run, and what our own parts do.
 *
 * A record is made when the call ends, on its loop, and stored by a thread as the audit log is
 * (audit_log.h); the last instant is lost by a crash.  apiserver/upkeep removes old ones.
 */

#include "apiserver/audit/audit_event.h"
#include "apiserver/audit/audit_log.h"

struct call;
struct rest;
struct kind;
struct audit_records;

/*
 * "<time, the newest first>-<person>-<anything>", in hexadecimal digits: where the digits stand
 * that are the same for all records of a person.
 */
enum { AUDIT_RECORD_PERSON_AT = 17, AUDIT_RECORD_PERSON_SIZE = 16 };

struct audit_records *audit_records_new(struct rest *r, const struct kind *k, struct status *st);
/* Stores what waits.  Returns how many were lost. */
size_t audit_records_free(struct audit_records *r);

#define AUDIT_LOGIN_EVENT "Login"

/* The event that the call is, or empty: it makes no record.  user: who really asks; name: what a
 * body calls the object, empty before there is one. */
str audit_records_event(struct call *c, str user, str name);

/* What a record has beside what the audit's event has. */
struct audit_record {
    str event, person, instance, instance_uid;
};
/* False when there is no room.  On the call's loop. */
bool audit_records_put(struct audit_records *r, struct arena *a, const struct audit_event *e,
                       const struct audit_record *more);
bool audit_records_have_room(struct audit_records *r);

#endif
