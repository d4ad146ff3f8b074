/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRASH_LEDGER_H
#define CRASH_LEDGER_H

/*
 * The book of all writes: what was sent, what was answered, what was seen.
 *
 * For each kind one watch over all instances is the thread of the story ("truth").  At the end of
 * each cycle, when it has caught up, it is read from the last cycle's end on and held against the
 * book:
 *
 *   - revisions rise; an object is added, modified, deleted in an order that makes sense;
 *   - each acknowledged write is in it exactly once, with the revision of the answer, on top of the
 *     version that the write demanded; each refused write not at all; each write in doubt (sent,
 *     but not answered) once or not at all;
 *   - each list shows what the story had led to at the list's revision, the last one to the end;
 *   - all other watches tell the same story, as far as it is theirs (expected = got).
 *
 * One thread.
 */

#include "base/map.h"
#include "client/client.h"
#include "crash/content.h"

enum { HOMES = 3, SPACES = 2 };
extern const char *const homes[HOMES];   /* instances that stay */
extern const char *const spaces[SPACES]; /* namespaces that stay, in each */

struct object {
    str key; /* "configmaps/root/default/a" */
    struct target at;
    int home; /* in homes, or -1: in an instance that goes */
    uint64_t hash;
    bool hot;       /* several writers at once */
    bool generated; /* the server chose the name */
    bool may_go;    /* its namespace or instance is being deleted */
    /* what answers have told: */
    struct version known;
    bool exists;
    unsigned in_flight; /* writes */
    unsigned deletions; /* sent so far */
    /* what the story has told: */
    struct version now;
    bool there;
    unsigned gone_session; /* of the watch that told its deletion */
    /* what the last list has told: */
    uint64_t listed_at, listed_rv;
};

enum op_kind { OP_CREATE, OP_UPDATE, OP_PATCH, OP_DELETE };
enum op_state { OP_SENT, OP_ACKNOWLEDGED, OP_REFUSED, OP_DOUBT };

struct op {
    uint64_t id;
    enum op_kind kind;
    enum op_state state;
    struct object *object; /* NULL: a name that the server chooses and has not told */
    struct target at;      /* as sent */
    uint64_t prev;         /* the version it must be on top of; 0: any */
    uint64_t rv;           /* of the answer */
    bool may_fail;         /* it may be refused */
    unsigned seen;
};

struct event {
    enum client_event type;
    struct object *object;
    struct version v;
    unsigned session;
};

struct events {
    struct event *p;
    size_t n, cap;
};
void events_add(struct events *e, const struct event *ev);
void events_release(struct events *e);

struct listed { /* a list that was answered */
    unsigned kind;
    int home; /* -1: all */
    uint64_t rv, sum;
    size_t n;
    const char *when;
    bool last; /* nothing is written any more */
};

struct ledger {
    uint64_t seed, next_op;
    struct arena *arena;   /* of objects */
    struct map objects;    /* by key */
    struct object **drawn; /* those whose names the server chose, live */
    size_t ndrawn, drawn_cap;
    struct op *ops; /* of this cycle */
    size_t nops, ops_cap;
    struct map64 op_index; /* id → 1 + place in ops */
    struct listed *lists;
    size_t nlists, lists_cap;
    struct events story[KINDS];
    uint64_t sum[KINDS][HOMES]; /* of what is there, by the story */
    size_t count[KINDS][HOMES];
    uint64_t last_rv[KINDS]; /* of the story */
    uint64_t seen_rv;        /* the highest ever seen */
    uint64_t restart_rv;     /* the same when the server was started; new writes are above */
    unsigned failures;
    /* of the cycle: */
    unsigned acknowledged, refused, doubtful, doubtful_seen;
};

void ledger_init(struct ledger *l, uint64_t seed);
void ledger_release(struct ledger *l);

/* Says what is wrong, as a TAP diagnostic; counts. */
void ledger_fail(struct ledger *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct object *ledger_object(struct ledger *l, const struct target *t); /* made if it is new */
void ledger_saw(struct ledger *l, uint64_t rv);

/* ---- writes ---- */

/* A new write, sent; its id is the number.  With `red`, one whose content is so. */
struct op *ledger_op(struct ledger *l, enum op_kind kind, const struct target *t, bool red);
struct op *ledger_find(struct ledger *l, uint64_t id);

/* Its end: the answer (a tree, or why not), or doubt. */
void ledger_answer(struct ledger *l, uint64_t id, const struct json *object);
void ledger_refuse(struct ledger *l, uint64_t id, const struct status *why);
void ledger_doubt(struct ledger *l, uint64_t id);

/* ---- what is read ---- */

/* The object that an answer, item or event shows: 1 and *out, 0 when it is none of ours, -1. */
int ledger_read(struct ledger *l, unsigned kind, str instance, const struct json *object,
                struct object **out, struct version *v);

/* Adds the items of a page to the list. */
void ledger_list(struct ledger *l, struct listed *to, str instance, const struct json *page);
void ledger_list_done(struct ledger *l, const struct listed *list);

/* ---- the end of a cycle ---- */

/* Called for each event of the story in order, with the version before it. */
typedef void ledger_story_fn(void *arg, unsigned kind, const struct event *ev, bool was_there,
                             const struct version *was);

/* Reads the story since the last time, checks it against the book, and begins a new page. */
void ledger_verify(struct ledger *l, ledger_story_fn *fn, void *arg);

#endif
