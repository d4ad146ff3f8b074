/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_DEPOT_PARTS_H
#define SEARCH_DEPOT_PARTS_H

/* What the files of the depot share. */

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "base/map.h"
#include "search/depot.h"

enum {
    DEPOT_READERS = 4,     /* that are kept open */
    DEPOT_STATEMENTS = 32, /* a reader keeps */
    DEPOT_PAIRS_CACHE = 4096,
    DEPOT_APART = 2, /* of clusters.hidden in the file */
};

/* One cluster, or under the empty name all hidden ones. */
struct depot_known {
    struct depot_cluster cluster;
    char *name, *reason;
    struct depot_synced {
        int64_t type;
        char *version;
    } * synced;
    size_t nsynced;
    bool unsaved;
    struct depot_known *next; /* of those */
};

enum depot_what { DEPOT_PUT, DEPOT_DELETE, DEPOT_LIST_BEGIN, DEPOT_LIST_END, DEPOT_AT, DEPOT_DROP };

struct depot_op {
    struct depot_op *next;
    enum depot_what what;
    int64_t type;
    str cluster;
    struct entry_kind kind;
    struct entry entry;
    str version;
};

struct depot_batch {
    struct depot_batch *next;
    struct depot *depot;
    struct arena *arena;
    struct depot_op *first, **last;
    size_t n, size;
    uint64_t generation; /* of the file that it is meant for */
    void (*fill)(struct depot_batch *b, void *arg);
    void *fill_arg;
    void (*done)(void *arg);
    void *arg;
};

struct depot_listing;

struct depot_steps;

/* What only the writer's thread touches. */
struct depot_writer {
    sqlite3 *db;
    sqlite3_stmt **statements; /* by number, see depot_write.c */
    struct depot_listing *listings;
    struct {
        uint64_t hash;
        int64_t id;
    } pairs[DEPOT_PAIRS_CACHE];
    struct depot_steps **steps; /* by type: search/names.h */
    size_t nsteps;
    sqlite3_stmt **step_statements;
    /* The last counter that was touched, not yet written. */
    struct {
        int64_t type, delta;
        char *cluster, *namespace;
    } count;
};

struct depot_reader {
    struct depot_reader *next;
    struct depot *depot;
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

struct depot {
    char *path;
    struct entry_hash hash;
    struct depot_writer writer;
    pthread_t thread;

    pthread_mutex_t lock; /* what follows */
    pthread_cond_t wake;
    struct depot_batch *queue, **queue_last;
    size_t backlog, awaited; /* bytes that wait; batches whose end somebody waits for */
    struct timespec taken;   /* when the writer last took some, … */
    int64_t took_ms;         /* … and how long it wrote then; its own */
    bool stopping, started, running;
    uint64_t generation; /* counts files: which readers read, and batches are meant for */
    bool damaged;        /* a reader says so */
    bool lost;           /* until everybody begins again nothing is written */
    void (*on_loss)(void *arg);
    void *loss_arg;
    bool changed;                /* types are not yet in the file, */
    struct depot_known *unsaved; /* nor these clusters */
    struct depot_reader *readers;
    size_t nreaders;
    struct depot_type **types; /* by id - 1 */
    size_t ntypes;
    struct map clusters;    /* struct depot_known */
    struct depot_known all; /* of hidden clusters together */
};

/* A connection with our functions; NULL and why. */
void depot_reader_free(struct depot_reader *r);

sqlite3 *depot_connect(const char *path, bool write, struct status *st);

bool depot_is_damage(int code);
void depot_damaged(struct depot *d); /* any thread: the writer makes it anew */

/* An empty file in the place of what was there; what is in memory is not yet in it. */
int depot_make_anew(struct depot *d, struct status *st) __attribute__((warn_unused_result));

int depot_writer_open(struct depot *d, struct status *st) __attribute__((warn_unused_result));
void depot_writer_close(struct depot *d);
void *depot_writer_run(void *depot);
bool depot_writer_transact(struct depot *d,
                           struct depot_batch *first); /* false: nothing was done */
void depot_writer_close_file(struct depot *d);
void depot_writer_unsaved(struct depot *d); /* types and clusters are not in the file */

/* Under the lock. */
struct depot_known *depot_known(struct depot *d, str cluster, bool make);
void depot_known_synced(struct depot_known *k, int64_t type, str version);
void depot_known_forget(struct depot *d, str cluster, int64_t type);

#endif
