/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_SYNCER_INTERNAL_H
#define FLEET_SYNCER_INTERNAL_H

/*
 * What the files of the syncer share.  An item is an object of the source (a Work, or a labelled
 * object); a target is what it wants to be in the member; a watch sees all targets of one type
 * there.  A job is an item at work: one request after the other, each with the function that takes
 * its answer.
 *
 *   syncer.c            life, the queue, back-off, requests
 *   syncer_watch.c      types of the member, watches, drift
 *   syncer_manifest.c   pure: what to write, what to compare
 *   syncer_work.c       the feed of Works
 *   syncer_status.c       what a Work is told
 *   syncer_status_pace.c       and when
 *   syncer_label.c      the feed of labelled objects
 *   syncer_place.c      the namespaces of their copies
 *   syncer_heartbeat.c       signs of life
 */

#include "base/map.h"
#include "base/pace.h"
#include "client/informer.h"
#include "fleet/syncer.h"

struct item;
struct job;

struct target {
    struct item *item;
    struct watch *watch;
    uint64_t manifest;      /* hash of what was asked for; 0: nothing yet */
    uint64_t content;       /* of what the member had after our write; 0: nothing known */
    uint64_t written, seen; /* resourceVersions: of our last write or look, of the last event */
    bool drifted;           /* the member has something else, or nothing */
    unsigned ends;          /* how often it was told that the object is gone */
    int64_t fixed_ms;       /* when drift was last corrected, … */
    unsigned fights;        /* … and how often, without a minute of peace between */
    bool wanted;            /* by the Work as the last job saw it */
    size_t ordinal;         /* of the manifest */
    uint64_t told, telling; /* hashes of the status that the source has, and may have soon */
    char *status;           /* newer, as JSON, and not told yet; NULL: none */
    bool unfinished;        /* its controller there has more to do with it: it will have news */
    str key;                /* "namespace/name" there, behind the struct */
};

enum item_state {
    ITEM_IDLE,
    ITEM_QUEUED,
    ITEM_RUNNING,
    ITEM_WAITING, /* for its timer */
};

struct item {
    struct loop_timer timer; /* first: the timer is the item */
    struct syncer *syncer;
    struct item *next;      /* in the queue */
    struct sync_feed *feed; /* NULL: a Work */
    struct target **targets;
    size_t ntargets;
    uint64_t version;  /* hash of what was last heard of it */
    int64_t told_ms;   /* when its status was last written */
    int64_t news_ms;   /* since when there is something to tell; 0: there is not */
    char *conditions;  /* first ones, as JSON, not told yet; NULL: none */
    unsigned failures; /* one after the other */
    enum item_state state;
    bool dirty;   /* changed since its job began */
    bool calm;    /* waits to tell, not after a failure */
    bool settled; /* the one manifest of the Work is in place, as the last job has seen it */
    bool lost;    /* failed because somebody did not answer */
    str key;      /* "namespace/name" in the source, behind the struct */
};

/* A type of labelled objects. */
struct sync_feed {
    struct syncer *syncer;
    struct sync_feed *next;
    struct arena *arena; /* of the strings */
    struct syncer_type type;
    struct informer *informer;
    struct map items;
};

/* A type in the member, as its discovery has it. */
struct mapping {
    struct mapping *next;
    str api_version, kind, resource; /* behind the struct */
    bool namespaced;
    bool doubtful; /* it was not found: to be looked up again */
};

struct watch {
    struct loop_timer timer; /* first: the timer is the watch; set while nobody has a target */
    struct syncer *syncer;
    struct watch *next;
    struct arena *arena;   /* of the strings */
    struct client_ref ref; /* without namespace and name */
    str api_version, kind; /* which lists leave out */
    bool labels;           /* of the feed of labelled objects */
    struct informer *informer;
    struct map targets;
    size_t ntargets; /* more than in the map where two Works want one object */
};

typedef void job_fn(struct job *j, const struct json *object, const struct status *why);

struct job {
    struct job *next, **back;
    struct syncer *syncer;
    struct item *item;
    struct arena *arena;
    struct client_call call;
    bool at_target; /* whom the call asks */
    job_fn *then;

    const struct json *object; /* of the source */
    const struct json *wanted; /* what is being written */
    struct target *target;
    str api_version, kind; /* what sync_job_map() looks for, … */
    job_fn *mapped;
    job_fn *placed;                /* goes on when the namespace is known, or there */
    const struct mapping *mapping; /* … and found */
    size_t at;                     /* which manifest */
    size_t applied, nfailures;
    unsigned tries;        /* of a write that met another writer */
    unsigned ends;         /* of the target, when the member was asked last */
    struct status refused; /* why the member did not make it, if it has none; else OK */
    bool wrote;            /* this manifest */
    str failures;          /* what the Work is told, with commas between */
    struct status failed;  /* of the first; the job comes again later */
    int64_t again_ms;      /* when it ends: look again after; 0: not */
};

struct beat;  /* syncer_heartbeat.c */
struct await; /* syncer_await.c */
struct lister;

struct syncer {
    struct syncer_options o; /* strings are ours */
    struct arena *arena;     /* of them */
    struct loop *loop;
    str namespace; /* karmada-es-… */
    uint64_t k0, k1;
    enum syncer_mode mode;
    bool ended; /* being freed: nothing new */

    struct map items;           /* Works */
    struct item *first, **last; /* the queue */
    struct job *jobs;
    size_t nqueued, nrunning, nobjects;

    unsigned silent;    /* how often in a row somebody did not answer, … */
    bool silent_target; /* … the member, or else the source */
    struct loop_timer silence;

    struct informer *works;
    struct await *await;
    struct lister *lister;
    struct sync_feed *feeds;
    struct watch *watches;
    struct mapping *mappings;
    size_t nmappings;
    struct pace news, made; /* to be told to the source, and in the member */
    struct map places;      /* by namespace of the source: where its copies are */
    struct beat *beat;
    struct syncer_stats stats;
};

/* ---- syncer.c ---- */

void sync_wrote(struct syncer *s, bool to_member); /* else to the source; it is counted */

struct item *sync_item_new(struct syncer *s, struct sync_feed *feed, str key);
void sync_items_free(struct syncer *s, struct map *items); /* with their jobs */
void sync_item_wake(struct item *i, bool at_once); /* at_once: also if it waits after a failure */

void sync_item_wake_after(struct item *i, int64_t ms);
int64_t sync_growing(int64_t base, unsigned times, unsigned most); /* with chance in it */

struct client_ref sync_source_ref(const struct syncer *s, const struct item *i);

/* One request; the answer goes to `then`. */
void sync_job_source(struct job *j, struct client_request req, job_fn *then);
void sync_job_target(struct job *j, struct client_request req, job_fn *then);
/* A write to the source whose answer is not looked at. */
void sync_job_tell(struct job *j, struct client_request req, job_fn *then);
/* The end of a job, one of these. */
void sync_job_done(struct job *j);
void sync_job_gone(struct job *j); /* the item is to be forgotten, too */
void sync_job_failed(struct job *j, const struct status *why); /* comes again later */

/* Nobody answered: says nothing about the object. */
bool sync_status_silent(const struct status *why);

void syncer_pump(struct syncer *s);
struct client_query sync_source_query(void);                   /* who writes to the source, … */
struct client_query sync_target_query(const struct syncer *s); /* … and in the member */

/* Time in the source's words, in the arena. */
str syncer_now(const struct syncer *s, struct arena *a);

/* ---- syncer_watch.c ---- */

/* Finds the member's resource of that kind, then calls `then` with j->mapping, or why not. */
void sync_job_map(struct job *j, str api_version, str kind, job_fn *then);

void sync_mapping_doubt(struct syncer *s, const struct mapping *m);

/* The target of an item in that place, made (with the watch) if there is none; m == NULL: of a
 * labelled object. */
struct target *sync_target_at(struct item *i, const struct client_ref *ref,
                              const struct mapping *m);
void sync_target_free(struct target *t); /* leaves the watch; the item's list is the caller's */
/* What the member answered to a write or a look. */
void sync_job_observe(struct job *j, const struct json *object);
/* Drift has been corrected, and: how long the next time has to wait, if somebody insists. */
void sync_target_fixed(struct target *t);
int64_t sync_target_patience(const struct target *t);
/* Nothing new of it matters for now; it is looked at in full the next time. */
void sync_target_quiet(struct target *t);
/* Has told the source what it had at the time of `telling`. */
void sync_target_told(struct target *t);
void sync_watch_ensure(struct syncer *s, const struct client_ref *ref); /* of labelled objects */
void sync_watches_nudge(struct syncer *s); /* the member answers again */
void sync_watch_free(struct watch *w);

/* ---- syncer_place.c ---- */

/* Which namespace of the member stands for the item's: known when `then` is called, as all that
 * follows here demands. */
void sync_place_find(struct job *j, job_fn *then);
str sync_place_name(const struct job *j);
str sync_place_locator(const struct job *j);
bool sync_place_is_old(const struct job *j); /* its copies may be, too */
/* It is there and ours when `then` is called; or it was, and has gone. */
void sync_place_need(struct job *j, job_fn *then);
void sync_place_lost(struct job *j);
void sync_places_free(struct syncer *s);
str sync_locator_of(const struct json *observed);

/* ---- syncer_manifest.c ---- */

uint64_t sync_manifest_hash(const struct syncer *s, const struct json *v);
uint64_t sync_content_hash(const struct syncer *s, const struct json *object); /* never 0 */
uint64_t sync_text_hash(const struct syncer *s, str text);
const struct json *sync_manifest_bare(struct arena *a, const struct json *object);
const struct json *sync_manifest_owned(struct arena *a, const struct json *manifest,
                                       str work_namespace, str work_name);

/* Whose an object in the member is that a Work wants. */
enum claim {
    CLAIM_OURS,
    CLAIM_FREE,   /* no control plane made it */
    CLAIM_OTHERS, /* another one did, or another instance of this one */
};
enum claim sync_manifest_claim(const struct syncer *s, const struct json *wanted,
                               const struct json *observed, str work);
int sync_manifest_over(const struct syncer *s, struct arena *a, const struct json *wanted,
                       const struct json *observed, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
const struct json *sync_manifest_released(const struct syncer *s, struct arena *a,
                                          const struct json *observed);
const struct json *sync_delete_options(struct arena *a, const struct json *observed);
str sync_join_key(struct arena *a, str namespace, str name);
void sync_split_key(str key, str *namespace, str *name);

/* ---- feeds ---- */

enum { STATUS_GAP_MS = 100 }; /* between two writes of one object's status, at least */

void sync_work_start(struct job *j);
void sync_work_tell(struct job *j); /* status, then the end */

/* ---- syncer_status_pace.c ---- */

void sync_news(struct item *i);         /* there is something to tell */
int64_t sync_news_wait(struct item *i); /* until it may be told */
/* The answer to a write of status: the job ends. */
void sync_news_on_told(struct job *j, const struct json *none, const struct status *why);
/* The first words on a Work, which wait for more to come. */
void sync_news_hold(struct item *i, str conditions);
void sync_news_release(struct item *i);
/* Tells the Work without reading it; false: that cannot be. */
bool sync_news_tell(struct job *j);

str sync_work_status_text(const struct target *t, struct arena *a, const struct json *observed);
void sync_works_list(struct syncer *s);
void sync_works_watch(struct syncer *s); /* the instance has them */
void sync_lister_free(struct lister *l);

void sync_label_start(struct job *j);
str sync_label_status_text(struct arena *a, const struct json *observed);
void sync_label_stray(struct watch *w, const struct json *observed);

/* Watches the Works as soon as the instance has that type. */
struct await *sync_await_new(struct syncer *s);
void sync_await_free(struct await *w);

struct beat *sync_beat_new(struct syncer *s);
void sync_beat_now(struct beat *b); /* there is news; NULL is fine */
void sync_beat_free(struct beat *b);

#endif
