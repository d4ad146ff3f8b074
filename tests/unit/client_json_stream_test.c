/* SPDX-License-Identifier: Apache-2.0 */
#include "client/json_stream.h"

#include "base/arena.h"
#include "base/banned.h"
#include "tap.h"

/* All values joined by '|', the stream cut every `step` bytes; "!" at an error. */
static void split(const char *text, size_t step, char out[256])
{
    scoped_arena a = arena_new();
    struct json_stream s;
    struct status st;
    str value;
    size_t n = 0, len = strlen(text);

    status_init(&st, a);
    json_stream_init(&s, 64);
    for (size_t at = 0; at < len; at += step) {
        str bytes = { text + at, at + step < len ? step : len - at };
        int rc;

        while ((rc = json_stream_next(&s, &bytes, &value, &st)) > 0)
            n += (size_t)snprintf(out + n, 256 - n, "%.*s|", STR_ARG(value));
        if (rc < 0) {
            (void)snprintf(out + n, 256 - n, "!");
            n++;
            break;
        }
    }
    if (!json_stream_at_end(&s))
        n += (size_t)snprintf(out + n, 256 - n, "...");
    out[n] = '\0';
    json_stream_release(&s);
}

TEST(values_are_found_wherever_the_bytes_are_cut)
{
    static const struct {
        const char *text, *want;
    } table[] = {
        { "{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}|{\"b\":2}|" },
        { "{\"a\":1}{\"b\":[{},{}]}", "{\"a\":1}|{\"b\":[{},{}]}|" },
        { "\r\n {\"a\":\n {}}\n", "{\"a\":\n {}}|" },
        { "{\"a\":\"}{\\\"}\\\\\"}[1]", "{\"a\":\"}{\\\"}\\\\\"}|[1]|" },
        { "{\"a\":1}\n{\"cut", "{\"a\":1}|..." },
        { "", "" },
        { "\n\n", "" },
        { "{} true", "{}|!" },
        { "{} }", "{}|!" },
        { "{\"x\":\"0123456789012345678901234567890123456789012345678901234567890\"}", "!" },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        for (size_t step = 1; step < 70; step++) {
            char out[256] = "";

            split(table[i].text, step, out);
            if (out[0] == '!' && out[1]) /* what is too large has begun, or not */
                out[1] = '\0';
            CHECK_STR(out, table[i].want);
        }
}
