/* SPDX-License-Identifier: Apache-2.0 */
#include "http/gzip.h"

#include <assert.h>
#include <zlib.h>

#include "base/banned.h"
#include "base/mem.h"

enum {
    WANT_IN = 32 << 10,    /* asked of the inner source at a time */
    IN_MAX = 256 << 20,    /* and given by it at most */
    OUT_STEP = 16 << 10,   /* room made in the output at a time */
    GZIP_WINDOW = 15 + 16, /* zlib: the largest window, with gzip's header and checksum */
};

struct gzip {
    struct http_source source; /* first */
    struct http_source *inner;
    struct buf in;
    z_stream z;
    bool inner_done;
};

static void gzip_release(void *arg)
{
    struct gzip *g = arg;

    (void)deflateEnd(&g->z);
    buf_release(&g->in);
}

/* Compresses what is in g->in; 0 when the stream is complete. */
static int deflate_in(struct gzip *g, struct buf *out)
{
    int rc;

    g->z.next_in = (Bytef *)g->in.p;
    g->z.avail_in = (uInt)g->in.n;
    do {
        char *room = buf_reserve(out, OUT_STEP);

        if (!room)
            return -1;
        g->z.next_out = (Bytef *)room;
        g->z.avail_out = OUT_STEP;
        rc = deflate(&g->z, g->inner_done ? Z_FINISH : Z_NO_FLUSH);
        assert(rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR);
        out->n += OUT_STEP - g->z.avail_out;
    } while (rc != Z_STREAM_END && g->z.avail_out == 0);
    buf_clear(&g->in);
    return rc != Z_STREAM_END;
}

/* zlib keeps much to itself: often there is nothing to give yet. */
static int gzip_pull(struct http_source *self, struct buf *out, size_t want)
{
    struct gzip *g = (struct gzip *)self;
    int rc = g->inner->pull(g->inner, &g->in, WANT_IN);

    (void)want;
    if (rc < 0 || buf_overflown(&g->in))
        return -1;
    g->inner_done = rc == 0;
    return deflate_in(g, out);
}

struct http_source *http_gzip_source(struct arena *a, struct http_source *inner)
{
    struct gzip *g = arena_new_of(a, struct gzip);

    g->source.pull = gzip_pull;
    g->inner = inner;
    buf_init(&g->in, IN_MAX);
    if (deflateInit2(&g->z, 1, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        mem_exhausted();
    arena_defer(a, gzip_release, g);
    return &g->source;
}
