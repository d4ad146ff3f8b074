/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_REACH_H
#define CMD_REACH_H

/*
 * By which names and addresses clients reach this server: which of them its certificate has, and
 * which one is written into what others are given (docs/reach.md).  Pure functions of the options
 * and the interfaces, so that every case is a row of a table in the tests.
 */

#include "cmd/links.h"
#include "cmd/options.h"
#include "http/address.h"

enum {
    REACH_ASKED_MAX = sizeof(((struct option_list *)0)->items) / sizeof(const char *),
    REACH_ADDRESSES_MAX = 32, /* of this machine */
};

/* The command line, understood.  Strings are its own. */
struct reach_options {
    struct host_port listen;
    bool any;                                    /* listens at every address of this machine */
    struct host_port advertise[REACH_ASKED_MAX]; /* port 0: the listener's */
    size_t nadvertise;
    str sans[REACH_ASKED_MAX];
    size_t nsans;
    str machine; /* the name of this host; empty: it has none that a certificate can have */
};

/* BAD_REQUEST names the option and says what to write instead. */
int reach_parse(struct arena *a, const char *listen, const struct option_list *advertise,
                const struct option_list *sans, const char *machine, struct reach_options *out,
                struct status *st) __attribute__((warn_unused_result));

struct reach {
    const str *names; /* in the certificate; each once */
    size_t nnames;
    struct host_port advertised; /* in what others are given; port 0: the listener's */
    struct host_port admin;      /* in the admin's kubeconfig: here, unless an address was named */
    struct host_port here;       /* where this machine itself finds the listener */
    const str *open; /* hosts that other machines can call; of these, advertised comes first */
    size_t nopen;    /* 0: this machine only */
};

/* `links` may be empty.  Everything lives in the arena or in `o`. */
void reach_find(struct arena *a, const struct reach_options *o, const struct links *links,
                struct reach *out);

/* The address with the port of the listener where it has none of its own. */
str reach_print(struct arena *a, struct host_port to, unsigned port);

/* Tells who can connect, on standard output. */
void reach_greet(const struct reach_options *o, const struct reach *r, unsigned port);

#endif
