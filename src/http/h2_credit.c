/* SPDX-License-Identifier: Apache-2.0 */
#include "http/h2_credit.h"

#include <string.h>

#include "base/banned.h"
#include "http/h2_guard.h"

enum { WINDOW_UPDATE = 8, INCREMENT = 4, TOKEN_FRAME = 512 };

struct input {
    struct h2_credit *c;
    const struct h2_credit_ops *ops;
    void *arg;
    const unsigned char *from, *at, *end; /* what lies before `at` is to be fed as it is */
};

void h2_credit_init(struct h2_credit *c)
{
    *c = (struct h2_credit){ .pass = H2_PREFACE };
}

void h2_credit_release(struct h2_credit *c)
{
    h2_token_release(&c->token);
}

static uint32_t number(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static size_t length_of(const unsigned char *head)
{
    return (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
}

static bool is_update(const unsigned char *head)
{
    return head[3] == WINDOW_UPDATE && length_of(head) == INCREMENT;
}

static bool feed(struct input *in, const void *p, size_t n)
{
    return n == 0 || in->ops->feed(in->arg, p, n);
}

static bool feed_up_to_here(struct input *in)
{
    const unsigned char *from = in->from;

    in->from = in->at;
    return feed(in, from, (size_t)(in->at - from));
}

/* What nghttp2 is to hear of a WINDOW_UPDATE. */
static uint32_t rest_of(struct input *in, const unsigned char *head)
{
    uint32_t n = number(head + H2_FRAME_HEADER) & INT32_MAX;

    return n - in->ops->pay(in->arg, (int32_t)(number(head + 5) & INT32_MAX), n);
}

static bool feed_update(struct input *in, const unsigned char *head, uint32_t n)
{
    unsigned char frame[H2_CREDIT_HEAD];

    memcpy(frame, head, H2_FRAME_HEADER);
    frame[9] = (unsigned char)(n >> 24);
    frame[10] = (unsigned char)(n >> 16);
    frame[11] = (unsigned char)(n >> 8);
    frame[12] = (unsigned char)n;
    return feed(in, frame, sizeof(frame));
}

/* A WINDOW_UPDATE that lies before us; 0 is an error, which is nghttp2's to find. */
static bool update_here(struct input *in)
{
    const unsigned char *head = in->at;
    uint32_t was = number(head + H2_FRAME_HEADER) & INT32_MAX, n = rest_of(in, head);

    if (n == was) {
        in->at += H2_CREDIT_HEAD;
        return true;
    }
    if (!feed_up_to_here(in))
        return false;
    in->at = in->from = head + H2_CREDIT_HEAD;
    return n == 0 || feed_update(in, head, n);
}

/* A header that came in pieces. */
static bool head_grows(struct input *in)
{
    struct h2_credit *c = in->c;
    size_t n;
    bool ok;

    if (!feed_up_to_here(in))
        return false;
    while (in->at < in->end && c->head_n < H2_CREDIT_HEAD &&
           (c->head_n < H2_FRAME_HEADER || is_update(c->head)))
        c->head[c->head_n++] = *in->at++;
    in->from = in->at;
    n = c->head_n;
    if (n < H2_FRAME_HEADER || (n < H2_CREDIT_HEAD && is_update(c->head)))
        return true;
    c->head_n = 0;
    if (n == H2_FRAME_HEADER) {
        c->pass = length_of(c->head);
        return feed(in, c->head, n);
    }
    ok = number(c->head + H2_FRAME_HEADER) & INT32_MAX;
    n = rest_of(in, c->head);
    return (ok && n == 0) || feed_update(in, c->head, (uint32_t)n);
}

/* Such a frame by itself, with the credential or with what stands in for it. */
static bool feed_token(struct input *in, enum h2_token_way way, str frame, str sent)
{
    char out[TOKEN_FRAME];
    size_t n = frame.n - sent.n + H2_TOKEN_STAND_IN + 1;
    bool ok, known = way == H2_TOKEN_KNOWN && n <= sizeof(out);

    if (!feed_up_to_here(in))
        return false;
    in->at += frame.n;
    in->from = in->at;
    h2_token_begin(&in->c->token, known || way == H2_TOKEN_NEW ? way : H2_TOKEN_NONE, sent);
    if (known)
        n = h2_token_stand_in(&in->c->token, frame, sent, out);
    ok = known ? feed(in, out, n) : feed(in, frame.p, frame.n);
    h2_token_end(&in->c->token);
    return ok;
}

static bool step(struct input *in)
{
    struct h2_credit *c = in->c;
    size_t left = (size_t)(in->end - in->at);
    enum h2_token_way way;
    str frame, sent;

    if (c->pass > 0) {
        left = left < c->pass ? left : c->pass;
        in->at += left;
        c->pass -= left;
        return true;
    }
    if (c->head_n > 0 || left < H2_FRAME_HEADER || (is_update(in->at) && left < H2_CREDIT_HEAD))
        return head_grows(in);
    if (is_update(in->at))
        return update_here(in);
    c->pass = length_of(in->at);
    if (c->pass <= left - H2_FRAME_HEADER) {
        frame = (str){ (const char *)in->at, H2_FRAME_HEADER + c->pass };
        way = h2_token_look(&c->token, frame, &sent);
        if (way != H2_TOKEN_NONE) {
            c->pass = 0;
            return feed_token(in, way, frame, sent);
        }
    }
    in->at += H2_FRAME_HEADER;
    return true;
}

bool h2_credit_input(struct h2_credit *c, const void *p, size_t n, const struct h2_credit_ops *ops,
                     void *arg)
{
    struct input in = { .c = c, .ops = ops, .arg = arg, .from = p, .at = p };

    in.end = in.at + n;
    while (in.at < in.end)
        if (!step(&in))
            return false;
    return feed_up_to_here(&in);
}
