/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/token.h"

#include "base/banned.h"
#include "base/encode.h"
#include "store/store.h"
#include "json/json.h"

str token_print(struct arena *a, const struct token *t)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("v"), json_of_int(1));
    json_add(&o, STR("rv"), json_of_int((int64_t)t->rev));
    json_add(&o, STR("instance"), json_of_int(t->instance));
    json_add(&o, STR("after"), json_of_str(t->after));
    json_add(&o, STR("left"), json_of_int((int64_t)t->left));
    return base64_encode(a, BASE64_URL, json_text(a, json_object_done(&o)));
}

#define INVALID "invalid continue token: continue key is not valid: "

/* The first that is not in the alphabet, or what is left over. */
static size_t wrong_byte(str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            c != '-' && c != '_')
            return i;
    }
    return text.n ? text.n - 1 : 0;
}

int token_parse(struct arena *a, str text, struct token *out, struct status *st)
{
    const struct json *v;
    int64_t rev, instance, left;
    str raw, after;

    if (!base64_decode(a, BASE64_URL, text, &raw))
        return status_set(st, REASON_BAD_REQUEST, INVALID "illegal base64 data at input byte %zu",
                          wrong_byte(text));
    if (json_parse(a, raw, NULL, &v, st) < 0 || json_int(json_path(v, "v"), 0) != 1)
        return status_set(st, REASON_BAD_REQUEST,
                          INVALID "server does not recognize this encoded version ");
    rev = json_int(json_path(v, "rv"), -1);
    instance = json_int(json_path(v, "instance"), -1);
    left = json_int(json_path(v, "left"), -1);
    after = json_get_str(v, "after");
    if (rev < 0 || instance < 0 || instance > UINT32_MAX || left < 0 || after.n == 0 ||
        after.n > STORE_KEY_MAX)
        return status_set(st, REASON_BAD_REQUEST,
                          INVALID "server does not recognize this encoded version ");
    out->rev = (uint64_t)rev;
    out->instance = (uint32_t)instance;
    out->after = after;
    out->left = (uint64_t)left;
    return 0;
}
