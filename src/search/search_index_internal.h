/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_SEARCH_INDEX_INTERNAL_H
#define SEARCH_SEARCH_INDEX_INTERNAL_H

/* What the files of the search_index share. */

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "base/map.h"
#include "search/search_index.h"

enum {
    DEPOT_READERS = 4,     /* that are kept open */
    DEPOT_STATEMENTS = 32, /* a reader keeps */
    DEPOT_PAIRS_CACHE = 4096,
    DEPOT_APART = 2,      /* of clusters.hidden in the file */
    DEPOT_EVERYWHERE = 2, /* of types.custom */
};

/* One cluster, or under the empty name all hidden ones. */
struct search_index_known {
    struct search_index_cluster cluster;
    char *name, *uid, *reason;
    struct search_index_synced {
        int64_t type;
        char *version;
    } * synced;
    size_t nsynced;
    bool unsaved;
    struct search_index_known *next; /* of those */
};

enum search_index_what {
    DEPOT_PUT,
    DEPOT_DELETE,
    DEPOT_LIST_BEGIN,
    DEPOT_LIST_END,
    DEPOT_AT,
    DEPOT_DROP
};

struct search_index_op {
    struct search_index_op *next;
    enum search_index_what what;
    int64_t type;
    str cluster;
    struct entry_kind kind;
    struct entry entry;
    str version;
};

struct search_index_batch {
    struct search_index_batch *next;
    struct search_index *search_index;
    struct arena *arena;
    struct search_index_op *first, **last;
    size_t n, size;
    uint64_t generation;  /* of the file that it is meant for */
    int64_t submitted_ms; /* monotonic */
    void (*fill)(struct search_index_batch *b, void *arg);
    void *fill_arg;
    void (*done)(void *arg);
    void *arg;
};

struct search_index_listing;

struct search_index_steps;

/* What only the writer's thread touches. */
struct search_index_writer {
    sqlite3 *db;
    sqlite3_stmt **statements; /* by number, see search_index_write.c */
    struct search_index_listing *listings;
    struct {
        uint64_t hash;
        int64_t id;
    } pairs[DEPOT_PAIRS_CACHE];
    struct search_index_steps **steps; /* by type: search/names.h */
    size_t nsteps;
    sqlite3_stmt **step_statements;
    /* The last counter that was touched, not yet written. */
    struct {
        int64_t type, delta;
        char *cluster, *namespace;
    } count;
};

struct search_index_reader {
    struct search_index_reader *next;
    struct search_index *search_index;
    uint64_t generation; /* of the file that it reads */
    sqlite3 *db;
    struct {
        char *sql;
        size_t n;
        sqlite3_stmt *stmt;
    } statements[DEPOT_STATEMENTS];
    size_t next_statement;
};

enum { DEPOT_BYTES_AT_ONCE = 4 << 20 }; /* of batches in one transaction, about */

struct search_index {
    char *path;
    struct entry_hash hash;
    struct search_index_writer writer;
    pthread_t thread;

    pthread_mutex_t lock; /* what follows */
    pthread_cond_t wake;
    struct search_index_batch *queue, **queue_last;
    size_t backlog, awaited; /* bytes that wait; batches whose end somebody waits for */
    struct timespec taken;   /* when the writer last took some, … */
    int64_t took_ms;         /* … and how long it wrote then; its own */
    bool stopping, started, running;
    uint64_t generation; /* counts files: which readers read, and batches are meant for */
    bool damaged;        /* a reader says so */
    bool lost;           /* until everybody begins again nothing is written */
    void (*on_loss)(void *arg);
    void *loss_arg;
    bool changed;                       /* types are not yet in the file, */
    struct search_index_known *unsaved; /* nor these clusters */
    struct search_index_reader *readers;
    size_t nreaders;
    struct search_index_type **types; /* by id - 1 */
    size_t ntypes;
    struct map clusters;           /* struct search_index_known */
    struct map unhealthy;          /* those of them that are collected by themselves */
    struct search_index_known all; /* of hidden clusters together */
};

/* It waits no more; its successor, or else the queue, comes next. */
void search_index_written(const struct search_index_batch *b);

/* A connection with our functions; NULL and why. */
void search_index_reader_free(struct search_index_reader *r);

sqlite3 *search_index_connect(const char *path, bool write, struct status *st);

bool search_index_is_damage(int code);
void search_index_damaged(struct search_index *d); /* any thread: the writer makes it anew */

/* An empty file in the place of what was there; what is in memory is not yet in it. */
int search_index_make_anew(struct search_index *d, struct status *st)
    __attribute__((warn_unused_result));

int search_index_writer_open(struct search_index *d, struct status *st)
    __attribute__((warn_unused_result));
void search_index_writer_close(struct search_index *d);
void *search_index_writer_run(void *search_index);
bool search_index_writer_transact(struct search_index *d,
                                  struct search_index_batch *first); /* false: nothing was done */
void search_index_writer_close_file(struct search_index *d);
void search_index_writer_unsaved(
    struct search_index *d); /* types and clusters are not in the file */

/* Under the lock. */
struct search_index_known *search_index_known(struct search_index *d, str cluster, bool make);
void search_index_known_synced(struct search_index_known *k, int64_t type, str version);
void search_index_known_forget(struct search_index *d, str cluster, int64_t type);

#endif
