/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/refuse.h"

#include "rest_fixture.h"

TEST(what_cannot_be_read_is_refused_in_kubernetes_words)
{
#define UNREAD  "the object provided is unrecognized (must be of type Thing): "
#define NO_KIND UNREAD "couldn't get version/kind; json parse error: "
    static const struct {
        const char *body, *says;
    } table[] = {
        { "{", NO_KIND "unexpected end of JSON input" },
        { "{\"metadata\":{\"name\":\"abcdefgh\"}} x",
          NO_KIND "invalid character 'x' after top-level value (offset 33)" },
        { "[]", NO_KIND "must be an object, not an array" },
        { "{\"kind\":1}", NO_KIND "kind: must be a string, not a number" },
        { "{\"apiVersion\":\"a/b/c\"}", UNREAD "unexpected GroupVersion string: a/b/c" },
        { "{\"kind\":\"Other\"}", "Other in version \"v1\" cannot be handled as a Thing: no kind "
                                  "\"Other\" is registered for version \"example.com/v1\"" },
        { "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\"}",
          "Namespace in version \"v1\" cannot be handled as a Thing: it must be of kind Thing" },
        { "{\"spec\":{\"size\":\"x\"}}", "Thing in version \"v1\" cannot be handled as a Thing: "
                                         "spec.size: must be an integer of 64 bits, not a string" },
    };
    struct rig *r = rig_new();

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        CHECK_STR(
            rig_field(
                r,
                rig_ask(rig_call(r, VERB_CREATE, "", "things", "default", "", table[i].body), NULL),
                "message"),
            table[i].says);
    rig_free(r);
#undef UNREAD
#undef NO_KIND
}
