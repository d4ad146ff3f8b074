/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ENCODE_H
#define BASE_ENCODE_H

/*
 * Bytes as text: base64, hex, percent escapes.  Encoders cannot fail.  Decoders say false and leave
 * the output alone when the text is not exactly right; results live in the arena, with a NUL
 * behind.
 */

#include "base/str.h"

struct arena;

enum base64 {
    BASE64_STD, /* + and /, padded */
    BASE64_URL, /* - and _, not padded: continue tokens, JWTs */
    BASE64_GO,  /* as STD; decodes what Go's json does of a []byte: CR and LF are skipped, spare
                   bits of the last digit do not matter */
};

str base64_encode(struct arena *a, enum base64 form, str bytes);
bool base64_decode(struct arena *a, enum base64 form, str text, str *out);

/* Writes 2 n digits, lower case, and no NUL. */
void hex_encode(char *out, const void *bytes, size_t n);
/* Writes text.n / 2 bytes; digits of either case. */
bool hex_decode(str text, void *out);

/*
 * %XX and, in a query, + for a blank.  A % without two digits is false, as in Go's url package.
 * Text without escapes comes back as it is, not copied.
 */
enum percent { PERCENT_PATH, PERCENT_QUERY };
bool percent_decode(struct arena *a, enum percent where, str text, str *out);
/* Escapes all but letters, digits and -._~: right in a path segment and in a query. */
str percent_encode(struct arena *a, str text);

#endif
