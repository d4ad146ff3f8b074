/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_OWNER_H
#define FLEET_OWNER_H

/*
 * Whose an object in a member is.  A syncer writes there as the field manager
 *
 *     kairship:<installation>:<instance>:<first 8 digits of a uid of the instance's>
 *
 * which no other installation and no other instance has, so that metadata.managedFields says who
 * made an object, and no label or annotation changes.  Two that share a member and want an object
 * of the same name do not overwrite each other: the later one is told whose it is.
 *
 * Programs before this one wrote as "kairship", and Karmada's write under names of theirs: what
 * they made is known by its labels only, so it is taken over by the very Work that it is of.
 */

#include "base/installation.h"
#include "client/client.h"

#define OWNER_PREFIX "kairship:"

struct ownership {
    str name; /* the field manager */
    str installation;
    enum installation_origin origin;
};

/* Of the installation, as the instance `shows` it (empty: the root instance of the server), and of
 * that instance, which people call `called`.  Strings live in the arena. */
int owner_read(struct client *c, struct arena *a, str shows, str instance, str called,
               struct ownership *out, struct status *st) __attribute__((warn_unused_result));

/* Pure. */

/* Who owns it: `own` if it is among them, else another one that has this prefix; empty: no one. */
str owner_of(const struct json *object, str own);
/* For people: "instance demo of installation 9f2c…". */
str owner_words(struct arena *a, str owner);
/* The object's managedFields, with `own` among them: in the place of an older program of ours if
 * that is there, else as an owner of `label`, since a manager of nothing is forgotten. */
struct owner_mark {
    str own, now;
    const char *label;
};
const struct json *owner_marked(struct arena *a, const struct json *object,
                                const struct owner_mark *m);
/* The same, of a copy that programs before this one applied; NULL: they have not. */
const struct json *owner_applied(struct arena *a, const struct json *object, str own);
/* The managedFields with OWNER_RELEASED in the place of `own`: the object has no owner then. */
const struct json *owner_unmarked(struct arena *a, const struct json *object, str own);

#define OWNER_RELEASED "kairship-released" /* who writes that */

#endif
