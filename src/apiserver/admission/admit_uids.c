/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rights are given to names, on names, and hold for the objects that had these names then: an entry
 * of a Workspace, a Group or a PlatformRole gets the uid of its object when it is added.
 *
 * A client chooses none: it may say the one that is stored, or that of the object that is there
 * now.  Where it says none, the entry is for the object that is there now, as one that is added; if
 * none is there it keeps its uid.  An entry without a uid (a person who logs in
 * elsewhere) stays without, so that no unrelated change makes it one for the User who got the name.
 */

#include "apiserver/admission/admission.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/map.h"

enum { ENTRIES_MAX = 1000 }; /* of each list: the kind refuses more */

struct write {
    struct rest_request *req;
    struct map stored; /* uids by what they name, empty for none */
    bool warned;
};

static str key_of(struct arena *a, const struct named_entry *e)
{
    return str_printf(a, "%d/%.*s", (int)e->what, STR_ARG(e->name));
}

static int note(void *arg, const struct named_entry *e, str *uid, struct status *st)
{
    struct write *w = arg;
    str *kept = arena_new_of(w->req->arena, str);

    (void)uid;
    (void)st;
    *kept = e->uid;
    (void)map_put(&w->stored, key_of(w->req->arena, e), kept);
    return 0;
}

/* Once: of a long list the first is enough. */
static void warn(struct write *w, const struct named_entry *e, const char *why)
{
    if (w->warned || (e->what != NAMED_USER && e->what != NAMED_GROUP))
        return;
    w->warned = true;
    rest_warn(w->req, str_printf(w->req->arena, "%.*s: %s \"%.*s\" %s", STR_ARG(e->field),
                                 e->what == NAMED_USER ? "User" : "Group", STR_ARG(e->name), why));
}

static int settle(void *arg, const struct named_entry *e, str *uid, struct status *st)
{
    struct write *w = arg;
    struct arena *a = w->req->arena;
    const str *was = map_get(&w->stored, key_of(a, e));
    str now;

    if (!e->name.n || (was && was->n && str_eq(*was, e->uid)))
        return 0; /* the kind asks for a name */
    if (kinds_named_uid(w->req->rest, a, e->what, e->name, &now, st) < 0)
        return -1;
    if (e->uid.n) {
        if (!str_eq(e->uid, now))
            status_cause(st, CAUSE_INVALID, e->field,
                         json_text(a, json_box(a, json_of_str(e->uid))),
                         "is not the uid of what has this name now; the server fills it in");
        return 0;
    }
    if (was && !was->n && now.n) {
        warn(w, e,
             "is newer than this entry, which is for people of that name who log in "
             "elsewhere; remove it and add it again");
        return 0;
    }
    if (!was && !now.n)
        warn(w, e, "does not exist: the entry is for people of that name who log in elsewhere");
    *uid = now.n || !was ? now : *was; /* of what is gone, until another has the name */
    return 0;
}

static int mutate(const struct admission *a, const struct json **obj, struct status *st)
{
    struct write w = { .req = a->req };
    const struct json *old = a->old, *new = *obj;
    int rc;

    if (json_len(json_path(*obj, "spec.members")) > ENTRIES_MAX ||
        json_len(json_path(*obj, "spec.resources")) > ENTRIES_MAX)
        return 0;
    if (old && kinds_named_each(a->req->arena, &old, note, &w, st) < 0)
        return -1;
    rc = kinds_named_each(a->req->arena, &new, settle, &w, st);
    map_release(&w.stored);
    if (rc < 0)
        return -1;
    *obj = new;
    return status_invalid(st, a->req->kind->group, a->req->kind->kind, a->req->name);
}

const struct admission_plugin admit_uids = {
    .name = "NamedUids",
    .group = "iam.kairship.io",
    .resource = "*",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .mutate = mutate,
};
