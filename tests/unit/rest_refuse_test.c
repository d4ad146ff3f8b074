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
        { "{", NO_KIND "unexpected end of JSON input ({)" },
        { "{\"metadata\":{\"name\":\"abcdefgh\"}} x", NO_KIND
          "invalid character 'x' after top-level value ({\"metadata\":{\"name\":\"abcdefgh\" "
          "...)" },
        { "[]", NO_KIND "json: cannot unmarshal array into Go value of type struct { APIVersion "
                        "string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                        "\"json:\\\"kind,omitempty\\\"\" } (5b5d)" },
        { "{\"kind\":1}",
          NO_KIND "json: cannot unmarshal number into Go struct field .kind of type "
                  "string ({\"kind\":1})" },
        { "{\"apiVersion\":\"a/b/c\"}",
          UNREAD "unexpected GroupVersion string: a/b/c ({\"apiVersion\":\"a/b/c\"})" },
        { "{\"kind\":\"Other\"}", "Other in version \"v1\" cannot be handled as a Thing: no kind "
                                  "\"Other\" is registered for "
                                  "version \"example.com/v1\" in scheme "
                                  "\"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\"" },
        { "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\"}",
          "Namespace in version \"v1\" cannot be handled as a Thing: converting (v1.Namespace) to "
          "(example.Thing): unknown conversion" },
        { "{\"spec\":{\"size\":\"x\"}}", "Thing in version \"v1\" cannot be handled as a Thing: "
                                         "json: cannot unmarshal string into "
                                         "Go struct field Spec.spec.size of type int64" },
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
