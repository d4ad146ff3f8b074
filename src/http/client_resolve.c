/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client_resolve.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/mem.h"

/*
 * The thread cannot be stopped inside getaddrinfo, and may outlast the loop: so whoever is last of
 * the two frees, and the thread posts only while the other side has not cancelled.
 */
struct client_resolve {
    struct loop_msg msg;
    struct loop *loop;
    void (*done)(void *arg, const struct client_addrs *);
    void *arg;
    char *host, *port;
    struct client_addrs addrs;

    pthread_mutex_t mu;
    bool cancelled; /* guarded by mu */
};

static int lookup(const char *host, const char *port, int flags, struct client_addrs *out)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV };
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host, port, &hints, &list);

    if (rc != 0)
        return rc;
    for (struct addrinfo *i = list; i && out->n < CLIENT_ADDRS_MAX; i = i->ai_next) {
        memcpy(&out->addr[out->n], i->ai_addr, i->ai_addrlen);
        out->len[out->n++] = i->ai_addrlen;
    }
    freeaddrinfo(list);
    return 0;
}

bool client_resolve_number(str host, str port, struct client_addrs *out)
{
    char h[64], p[8];

    *out = (struct client_addrs){ 0 };
    if (host.n >= sizeof(h) || port.n >= sizeof(p))
        return false;
    (void)snprintf(h, sizeof(h), "%.*s", STR_ARG(host));
    (void)snprintf(p, sizeof(p), "%.*s", STR_ARG(port));
    return lookup(h, p, AI_NUMERICHOST, out) == 0;
}

static void resolve_free(struct client_resolve *r)
{
    (void)pthread_mutex_destroy(&r->mu);
    free(r->host);
    free(r->port);
    free(r);
}

static void on_loop(struct loop_msg *msg)
{
    struct client_resolve *r = (struct client_resolve *)msg;
    bool cancelled;

    /* The thread may still hold the lock for the last lines of its life. */
    (void)pthread_mutex_lock(&r->mu);
    cancelled = r->cancelled;
    (void)pthread_mutex_unlock(&r->mu);
    if (!cancelled)
        r->done(r->arg, &r->addrs);
    resolve_free(r);
}

static void *run(void *arg)
{
    struct client_resolve *r = arg;
    bool cancelled;

    r->addrs.error = lookup(r->host, r->port, AI_ADDRCONFIG, &r->addrs);
    (void)pthread_mutex_lock(&r->mu);
    cancelled = r->cancelled;
    if (!cancelled)
        loop_post(r->loop, &r->msg); /* on_loop waits for the lock before it frees */
    (void)pthread_mutex_unlock(&r->mu);
    if (cancelled)
        resolve_free(r);
    return NULL;
}

struct client_resolve *client_resolve_start(struct loop *l, str host, str port,
                                            void (*done)(void *arg, const struct client_addrs *),
                                            void *arg)
{
    struct client_resolve *r = mem_zalloc(sizeof(*r));
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_t thread;

    *r = (struct client_resolve){ .msg.fn = on_loop, .loop = l, .done = done, .arg = arg };
    r->host = strndup(host.p, host.n);
    r->port = strndup(port.p, port.n);
    if (!r->host || !r->port)
        mem_exhausted();
    (void)pthread_mutex_init(&r->mu, NULL);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals belong to the main thread */
    if (pthread_create(&thread, &attr, run, r) != 0) {
        r->addrs.error = EAI_MEMORY;
        loop_post(l, &r->msg);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return r;
}

void client_resolve_cancel(struct client_resolve *r)
{
    if (!r)
        return;
    (void)pthread_mutex_lock(&r->mu);
    r->cancelled = true;
    /* Not yet posted: the thread sees it and frees.  Posted: on_loop does. */
    (void)pthread_mutex_unlock(&r->mu);
}
