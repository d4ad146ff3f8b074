/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_H2_CREDIT_H
#define HTTP_H2_CREDIT_H

/*
 * Lets us send DATA frames that nghttp2 does not know of, and keeps the windows right: what such a
 * frame took is owed, and the window that nghttp2 knows less what is owed is the window there is.
 * A WINDOW_UPDATE of the client first pays what is owed; nghttp2 sees only the rest of it.  So its
 * windows are never larger than the client has once allowed, and it need not be told anything.
 *
 * Whole frames of requests pass h2_token.h on their way.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/h2_token.h"

enum { H2_CREDIT_HEAD = 13 }; /* bytes of a WINDOW_UPDATE */

struct h2_credit {
    size_t pass; /* bytes up to the next frame's header */
    unsigned char head[H2_CREDIT_HEAD];
    size_t head_n; /* bytes of it that are held back, until it is known what it is */
    struct h2_token token;
};

struct h2_credit_ops {
    /* Input for nghttp2; false to stop. */
    bool (*feed)(void *arg, const void *p, size_t n);
    /* A stream's window, or the connection's (0), grows: returns how much of that was owed. */
    uint32_t (*pay)(void *arg, int32_t id, uint32_t n);
};

void h2_credit_init(struct h2_credit *c);
void h2_credit_release(struct h2_credit *c);

/* Takes what the client has sent, in portions of any size; false when feed said so. */
bool h2_credit_input(struct h2_credit *c, const void *p, size_t n, const struct h2_credit_ops *ops,
                     void *arg);

#endif
