/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IAM_PERMISSIONS_H
#define IAM_PERMISSIONS_H

/*
 * The permission cache: who has which role where, as Global Management says it (iam.kairship.io).
 *
 * Fed by list and watch (iam/feed.h); asked by the API server on every request of a person, without
 * a lock: what is asked is a frozen snapshot, replaced as a whole a moment after a change.  Rights
 * only add up: of several roles the highest counts.
 */

#include "base/identity.h"
#include "json/json.h"

struct permissions;

enum iam_role { IAM_NONE, IAM_VIEWER, IAM_EDITOR, IAM_ADMIN, IAM_PLATFORM };

/* The kinds of object that it is made of. */
enum iam_kind { IAM_USERS, IAM_GROUPS, IAM_WORKSPACES, IAM_PLATFORM_ROLES, IAM_KINDS };

struct permissions *permissions_new(void);
void permissions_free(struct permissions *p); /* nobody asks any more */

/* ---- one thread: the feed's ---- */

/* The object as it is now; NULL: it is gone.  Takes effect with the next publish. */
void permissions_set(struct permissions *p, enum iam_kind kind, str name,
                     const struct json *object);
void permissions_publish(struct permissions *p);

/* ---- any thread that is in an epoch ---- */

bool permissions_filled(const struct permissions *p); /* published at least once */

/* IAM_PLATFORM for an identity with all rights everywhere; instance empty: checks only that. */
enum iam_role permissions_role(const struct permissions *p, const struct identity *who,
                               str instance);

/* The instances that this identity has a role in, in no order, each once; with IAM_PLATFORM the
 * answer is "all" and the list empty. */
struct iam_grant {
    str instance;
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
