/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_DOCTOR_H
#define CMD_DOCTOR_H

/*
 * `kairship doctor`: what is looked at, and what was found.  Checks look at the running server, its
 * process and its files, never at what they think the defaults are.
 */

#include "client/client.h"

enum { DOCTOR_CALL_MS = 10000 };

enum doctor_verdict { DOCTOR_HOLDS, DOCTOR_NOT_APPLICABLE, DOCTOR_UNSEEN, DOCTOR_FAILS };

struct doctor_finding {
    enum doctor_verdict verdict;
    str why; /* and for one that fails, what to do */
};

struct doctor {
    struct arena *arena;
    const char *dir; /* NULL: not on this machine, or not told */
    int pid;         /* of the server that has the folder; 0: nobody has */
    struct kubeconfig to;
    struct client *admin, *anonymous;
    bool silent;                     /* the server takes no connection */
    const struct json *token;        /* of the probe of tokens: its TokenRequest; NULL: none */
    bool token_survives;             /* its account's end */
    str metrics;                     /* of the server; empty: not asked for yet */
    const struct yaml_text *options; /* of the server; NULL: not read yet */
    struct doctor_finding audit;     /* `why` is empty: not looked at yet */
};

struct doctor_check {
    const char *id, *what;
    struct doctor_finding (*look)(struct doctor *d);
};

extern const struct doctor_check doctor_cis[], doctor_host[];
extern const size_t doctor_ncis, doctor_nhost;

/* Findings, for the checks. */
struct doctor_finding doctor_holds(struct doctor *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct doctor_finding doctor_fails(struct doctor *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct doctor_finding doctor_not_for_us(const char *why);
struct doctor_finding doctor_unseen(const char *why);

/* A line of /proc/PID/status, empty if there is none. */
str doctor_proc_status(struct doctor *d, const char *name);
/* The value of an option that the server was started with. */
bool doctor_option(struct doctor *d, const char *name, str *value);

/* Why a process was not looked at. */
struct doctor_finding doctor_no_process(const struct doctor *d);

/* The HTTP status of a request, and what it gives. */
int doctor_request(struct doctor *d, struct client *c, const char *method, const char *path,
                   const char *body, const struct identity *as, const struct json **out);
/* What the running server says of itself at /metrics: name{label="value"}. */
bool doctor_metric(struct doctor *d, const char *name, int64_t *value);

/* Checks of other files than the tables'. */
struct doctor_finding doctor_audited(struct doctor *d); /* doctor_data.c */
struct doctor_finding doctor_audit_age(struct doctor *d);
struct doctor_finding doctor_audit_backups(struct doctor *d);
struct doctor_finding doctor_audit_size(struct doctor *d);
struct doctor_finding doctor_encryption(struct doctor *d);
struct doctor_finding doctor_ciphers(struct doctor *d); /* doctor_tls.c */

#endif
