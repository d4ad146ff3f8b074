/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_H2_TOKEN_H
#define HTTP_H2_TOKEN_H

/*
 * A credential that comes with every request of a connection, unpacked once.
 *
 * Clients that may not let others guess at it (RFC 7541 7.1.3: all that are made with nghttp2) send
 * the authorization header whole each time: a kilobyte of Huffman code, and more work than what is
 * asked for.  Here a header block is looked through without unpacking it.  Where the same bytes
 * stand as the last time, nghttp2 gets a stand-in that no client can know, and the value of the
 * last time takes its place again when the header comes out.  A literal of this kind is in no
 * table, so nothing else of the block means anything else without it.
 *
 * What a value is comes from a block in which it was the only credential: requests of several
 * people may share a connection, and none of them says what another's bytes mean.
 */

#include <stdbool.h>

#include "base/str.h"

enum {
    H2_TOKEN_MIN = 64, /* bytes as sent; */
    H2_TOKEN_MAX = 8192,
    H2_TOKEN_STAND_IN = 16,
};

enum h2_token_way { H2_TOKEN_NONE, H2_TOKEN_NEW, H2_TOKEN_KNOWN };

struct h2_token {
    enum h2_token_way way; /* of the frame that is fed at this moment */
    unsigned seen;         /* credentials in it */
    char *sent, *value;    /* as they came, with their length in front; unpacked */
    size_t nsent, nvalue;
    char stand_in[H2_TOKEN_STAND_IN + 1]; /* random, as text */
};

void h2_token_release(struct h2_token *t);

/*
 * What a whole frame, its header included, has: nothing, or in *sent a credential that is new or
 * the one that is known.  Then nothing else is fed between h2_token_begin and h2_token_end; of one
 * that is known, feed what stands in for it.
 */
enum h2_token_way h2_token_look(const struct h2_token *t, str frame, str *sent);
/* Into out, which has room for the whole frame; how many bytes it takes. */
size_t h2_token_stand_in(const struct h2_token *t, str frame, str sent, char *out);

void h2_token_begin(struct h2_token *t, enum h2_token_way way, str sent);
str h2_token_value(struct h2_token *t, str name, str value); /* of a header that has come out */
void h2_token_end(struct h2_token *t);

#endif
