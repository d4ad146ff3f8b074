/* SPDX-License-Identifier: Apache-2.0 */
#include "http/h2_guard.h"

#include "base/banned.h"

enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, WINDOW_UPDATE = 8, CONTINUATION = 9 };
enum { END_STREAM = 0x1, END_HEADERS = 0x4, PADDED = 0x8 };

void h2_guard_init(struct h2_guard *g, const struct http_limits *limits)
{
    *g = (struct h2_guard){ .limits = limits, .preface = H2_PREFACE };
}

static bool spend(struct h2_budget *b, unsigned max, int64_t window_ms, int64_t now_ms)
{
    if (now_ms - b->since_ms >= window_ms)
        *b = (struct h2_budget){ .since_ms = now_ms };
    return ++b->n <= max;
}

bool h2_guard_reset(struct h2_guard *g, int64_t now_ms)
{
    return spend(&g->resets, g->limits->resets, g->limits->window_ms, now_ms);
}

/*
 * Frames that carry nothing of a request.  WINDOW_UPDATE is not among them: a client that reads
 * much sends many.  Padded DATA is: the padding is not counted as body.
 */
static bool is_control(unsigned char type, unsigned char flags, size_t length)
{
    if (type == DATA)
        return flags & PADDED || (length == 0 && !(flags & END_STREAM));
    if (type == HEADERS || type == CONTINUATION)
        return length == 0;
    return type != RST_STREAM && type != WINDOW_UPDATE;
}

static bool on_frame(struct h2_guard *g, int64_t now_ms)
{
    const unsigned char *h = g->header, type = h[3], flags = h[4];
    bool ok = true;

    g->payload = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
    if (type == HEADERS) {
        g->in_block = true;
        g->block = 0;
    }
    if (type == CONTINUATION) {
        g->block += H2_FRAME_HEADER + g->payload; /* empty ones count too */
        ok = g->block <= g->limits->continuation;
    }
    if ((type == HEADERS || type == CONTINUATION) && flags & END_HEADERS)
        g->in_block = false;
    if (ok && type == RST_STREAM)
        ok = h2_guard_reset(g, now_ms);
    if (ok && is_control(type, flags, g->payload))
        ok = spend(&g->controls, g->limits->controls, g->limits->window_ms, now_ms);
    return ok;
}

/* A slow upload is the business of its stream's timeout; everything else must come swiftly. */
static void note_progress(struct h2_guard *g, int64_t now_ms)
{
    bool whole = g->header_n == 0 && !g->in_block;
    bool data = g->header_n == H2_FRAME_HEADER && g->header[3] == DATA;

    if (whole || data)
        g->since_ms = 0;
    else if (!g->since_ms)
        g->since_ms = now_ms;
}

bool h2_guard_input(struct h2_guard *g, const void *p, size_t n, int64_t now_ms)
{
    const unsigned char *at = p, *end = at + n;

    if (g->preface) {
        size_t skip = n < g->preface ? n : g->preface;

        at += skip;
        g->preface -= skip;
    }
    while (at < end) {
        size_t left = (size_t)(end - at);

        if (g->header_n < H2_FRAME_HEADER) {
            g->header[g->header_n++] = *at++;
            if (g->header_n == H2_FRAME_HEADER && !on_frame(g, now_ms))
                return false;
            left = 0;
        }
        if (left > g->payload)
            left = g->payload;
        at += left;
        g->payload -= left;
        if (g->header_n == H2_FRAME_HEADER && !g->payload)
            g->header_n = 0;
    }
    note_progress(g, now_ms);
    return true;
}
