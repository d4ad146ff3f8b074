/* SPDX-License-Identifier: Apache-2.0 */
#include "http/shard.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/banned.h"
#include "base/mem.h"
#include "http/conn.h"
#include "http/tls.h"

static size_t memory_read(void *arg, char *p, size_t n)
{
    struct shard *sh = arg;

    if (n > sh->given.n)
        n = sh->given.n;
    if (n)
        memcpy(p, sh->given.p, n);
    sh->given = str_from(sh->given, n);
    return n;
}

static void memory_write(void *arg, const char *p, size_t n)
{
    struct shard *sh = arg;

    buf_append(&sh->wire, p, n);
}

bool shard_has_turn(struct shard *sh, uint64_t whose)
{
    return !sh->whose || loop_has_turn(sh->loop, whose);
}

void shard_run_again(struct conn *c)
{
    if (loop_waits(&c->turn) || c->shard->ended)
        return;
    c->turn.whose = c->whose;
    loop_wait(c->shard->loop, &c->turn);
}

static void run_closer(struct loop_defer *d)
{
    struct shard *sh = (struct shard *)((char *)d - offsetof(struct shard, closer));

    while (sh->closing)
        reply_closed(sh->closing);
}

void shard_close_later(struct shard *sh, struct http_stream *s)
{
    assert(s->list == &sh->closing);
    if (!sh->ended)
        loop_defer(sh->loop, &sh->closer);
}

void shard_init(struct shard *sh, struct loop *l, struct tls *tls, const struct http_limits *limits,
                http_handler *handler, void *arg)
{
    *sh = (struct shard){ .loop = l,
                          .tls = tls,
                          .limits = *limits,
                          .handler = handler,
                          .arg = arg,
                          .closer.fn = run_closer };
    sh->memory = (struct tls_memory){ memory_read, memory_write, sh };
    sh->bio = tls_bio(&sh->memory);
    sh->in = mem_alloc(SHARD_IN);
    sh->text = mem_alloc(SHARD_TEXT);
    buf_init(&sh->plain, SHARD_OUT_MAX);
    buf_init(&sh->wire, SHARD_OUT_MAX + (SHARD_OUT_MAX >> 4));
}

void shard_release(struct shard *sh)
{
    sh->ended = true;
    shard_close_all(sh);
    while (sh->closing)
        reply_closed(sh->closing);
    while (sh->orphans)
        stream_free(sh->orphans);
    BIO_free(sh->bio);
    free(sh->in);
    free(sh->text);
    buf_release(&sh->plain);
    buf_release(&sh->wire);
}

void shard_close_all(struct shard *sh)
{
    for (struct conn *c = sh->conns, *next; c; c = next) {
        next = c->next;
        if (sh->ended)
            conn_destroy(c);
        else
            conn_kill(c);
    }
}

void shard_stop(struct shard *sh)
{
    sh->stopping = true;
    for (struct conn *c = sh->conns; c; c = c->next)
        if (c->state == CONN_HANDSHAKE)
            conn_kill(c);
        else if (conn_is_open(c))
            c->proto->drain(c);
    if (!sh->conns && sh->drained)
        sh->drained(sh);
}

void shard_freeze(struct shard *sh, bool frozen)
{
    sh->frozen = frozen;
    for (struct conn *c = sh->conns; c && !frozen; c = c->next) {
        conn_arm(c, loop_now_ms(sh->loop));
        conn_again(c); /* frees nothing */
    }
}

void shard_conn_gone(struct shard *sh)
{
    if (sh->stopping && !sh->ended && !sh->conns && sh->drained)
        sh->drained(sh);
}

str shard_date(struct shard *sh)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t now = time(NULL);
    struct tm tm;

    if (now != sh->date_s && gmtime_r(&now, &tm)) {
        sh->date_s = now;
        (void)snprintf(sh->date, sizeof(sh->date), "%.3s, %02d %.3s %d %02d:%02d:%02d GMT",
                       days + tm.tm_wday * 3, tm.tm_mday % 32, months + tm.tm_mon * 3,
                       (tm.tm_year + 1900) % 10000, tm.tm_hour % 24, tm.tm_min % 60,
                       tm.tm_sec % 61);
    }
    return (str){ sh->date, DATE_SIZE - 1 };
}
