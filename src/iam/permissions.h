/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IAM_PERMISSIONS_H
#define IAM_PERMISSIONS_H

/*
 * The permission cache: who has which role where, as Global Management says it (iam.kairship.io).
 *
 * Fed and kept up to date by the API server (apiserver/auth/people.h), which asks it on every
 * request of a person, without a lock: what is asked is a frozen snapshot, replaced as a whole, and
 * it carries the revision of the store that it was made from.  Rights only add up: of several roles
 * the highest counts.
 *
 * A role is given to a name on a name, and holds between the objects that had these names then:
 * their uids are in the entry (apiserver/admission/admit_iam.c fills them in).  An entry whose
 * object is gone gives nothing, whatever has its name now.  A member without a uid is one who logs
 * in elsewhere; such an entry is not for the User or the members of the Group that get the name.
 */

#include <stdint.h>

#include "base/identity.h"
#include "json/json.h"

struct permissions;

enum iam_role { IAM_NONE, IAM_VIEWER, IAM_EDITOR, IAM_ADMIN, IAM_PLATFORM };

/* The kinds of object that it is made of. */
enum iam_kind { IAM_USERS, IAM_GROUPS, IAM_WORKSPACES, IAM_PLATFORM_ROLES, IAM_KINDS };

/* Instances and clusters are many, and idle: their uids are asked for, not kept.  In an epoch. */
struct permissions_live {
    /* The uid of the one that has the name now; false: there is none. */
    bool (*uid)(void *arg, struct arena *a, bool cluster, str name, str *out);
    void *arg;
};

struct permissions *permissions_new(const struct permissions_live *live);
void permissions_free(struct permissions *p); /* nobody asks any more */

/* ---- one thread at a time: whoever feeds it ---- */

/* The object as it is now; NULL: it is gone.  Takes effect with the next publish. */
void permissions_set(struct permissions *p, enum iam_kind kind, str name,
                     const struct json *object);
/* What was set is all that there is at this revision, or later. */
void permissions_publish(struct permissions *p, uint64_t rev);

/* ---- any thread that is in an epoch ---- */

uint64_t permissions_revision(const struct permissions *p); /* 0: not published yet */

/* IAM_PLATFORM for an identity with all rights everywhere; instance empty: checks only that. */
enum iam_role permissions_role(const struct permissions *p, const struct identity *who,
                               str instance);
/* The same for a caller who has looked up which instance has the name. */
enum iam_role permissions_role_in(const struct permissions *p, const struct identity *who,
                                  str instance, str uid);

/* The instances that this identity has a role in, in no order, each once; with IAM_PLATFORM the
 * answer is "all" and the list empty. */
struct iam_grant {
    str instance, uid;
    enum iam_role role;
};
enum iam_role permissions_grants(const struct permissions *p, struct arena *a,
                                 const struct identity *who, const struct iam_grant **out,
                                 size_t *n);

/* The same of members by themselves (Clusters of the fleet's registry): `instance` is their name.
 */
enum iam_role permissions_cluster_grants(const struct permissions *p, struct arena *a,
                                         const struct identity *who, const struct iam_grant **out,
                                         size_t *n);

/* There is such an object, and it says that they may not. */
bool permissions_is_disabled(const struct permissions *p, str name);

/* "Viewer" */
const char *iam_role_name(enum iam_role role);

#endif
