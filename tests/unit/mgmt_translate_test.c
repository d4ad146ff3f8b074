/* SPDX-License-Identifier: Apache-2.0 */
#include "mgmt/translate.h"

#include "rpc/api.h"
#include "tap.h"

/* Objects as messages: what has another name or type there. */

static const struct rpc_message *output_of(const char *method)
{
    for (size_t f = 0; f < kairship_api.nfiles; f++)
        for (size_t s = 0; s < kairship_api.files[f].nservices; s++)
            for (size_t m = 0; m < kairship_api.files[f].services[s].nmethods; m++)
                if (str_is(kairship_api.files[f].services[s].methods[m].name, method))
                    return kairship_api.files[f].services[s].methods[m].output;
    return NULL;
}

/* As clients see it, without what has its default: the tree itself. */
static void translated(const char *method, const char *object, const char *want)
{
    scoped_arena a = arena_new();
    const struct json *v, *w;
    struct status st;

    status_init(&st, a);
    REQUIRE(json_parse(a, str_of(object), NULL, &v, &st) == 0);
    REQUIRE(json_parse(a, str_of(want), NULL, &w, &st) == 0);
    v = translate(a, output_of(method), v);
    if (!CHECK(json_equal(v, w)))
        printf("#  got: %.*s\n# want: %s\n", STR_ARG(json_text(a, v)), want);
}

#define POD(spec) "{\"spec\":{\"template\":{\"spec\":{" spec "}}}}"

TEST(times_and_quantities_are_numbers)
{
    translated("GetConfigMap",
               "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2020-01-02T03:04:05Z\","
               "\"deletionTimestamp\":null,\"generation\":7}}",
               "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":1577934245}}");
    translated("GetDeployment",
               POD("\"volumes\":[{\"name\":\"v\",\"emptyDir\":{\"sizeLimit\":\"1Ki\"}},"
                   "{\"name\":\"w\",\"emptyDir\":{\"sizeLimit\":\"1500m\"}},"
                   "{\"name\":\"x\",\"emptyDir\":{\"sizeLimit\":\"rubbish\"}}]"),
               POD("\"volumes\":[{\"name\":\"v\",\"emptyDir\":{\"sizeLimit\":1024}},"
                   "{\"name\":\"w\",\"emptyDir\":{\"sizeLimit\":2}},"
                   "{\"name\":\"x\",\"emptyDir\":{}}]"));
}

TEST(numbers_or_words_are_words)
{
    translated("GetDeployment",
               "{\"spec\":{\"strategy\":{\"rollingUpdate\":{\"maxSurge\":1,"
               "\"maxUnavailable\":\"25%\"}}}}",
               "{\"spec\":{\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"1\","
               "\"maxUnavailable\":\"25%\"}}}}");
    translated("GetService", "{\"spec\":{\"ports\":[{\"port\":80,\"targetPort\":8080}]}}",
               "{\"spec\":{\"ports\":[{\"port\":80,\"targetPort\":\"8080\"}]}}");
}

TEST(capitals_are_the_messages)
{
    translated("GetDeployment",
               POD("\"containers\":[{\"lifecycle\":{\"postStart\":{\"tcpSocket\":{\"port\":1}}},"
                   "\"env\":[{\"name\":\"e\",\"valueFrom\":{\"configMapKeyRef\":{\"key\":\"k\"}}}"
                   "]}]"),
               POD("\"containers\":[{\"lifecycle\":{\"PostStart\":{\"TCPSocket\":{\"port\":1}}},"
                   "\"env\":[{\"name\":\"e\",\"valueFrom\":{\"ConfigMapKeyRef\":{\"key\":\"k\"}}}"
                   "]}]"));
    translated("GetService", "{\"spec\":{\"ipFamilies\":[\"IPv4\"]}}",
               "{\"spec\":{\"IPFamilies\":[\"IPv4\"]}}");
}

TEST(enums_are_known_words)
{
    translated("GetService", "{\"spec\":{\"type\":\"NodePort\"}}",
               "{\"spec\":{\"type\":\"NodePort\"}}");
    translated("GetService", "{\"spec\":{\"type\":\"Teleport\",\"clusterIP\":7}}",
               "{\"spec\":{\"clusterIP\":\"7\"}}");
}

TEST(any_json_is_its_text)
{
    translated("GetOverridePolicy",
               "{\"overridePolicy\":{\"spec\":{\"overrideRules\":[{\"overriders\":{\"plaintext\":["
               "{\"path\":\"/a\",\"operator\":\"add\",\"value\":{\"a\":\"b\"}},"
               "{\"path\":\"/b\",\"operator\":\"add\",\"value\":3}]}}]}}}",
               "{\"overridePolicy\":{\"spec\":{\"overrideRules\":[{\"overriders\":{\"plaintext\":["
               "{\"path\":\"/a\",\"operator\":\"add\",\"value\":{\"raw\":\"eyJhIjoiYiJ9\"}},"
               "{\"path\":\"/b\",\"operator\":\"add\",\"value\":{\"raw\":\"Mw==\"}}]}}]}}}");
}

TEST(what_does_not_fit_is_left_out)
{
    translated("GetDeployment", "{\"spec\":[],\"status\":{\"conditions\":[1,{\"type\":\"a\"}]}}",
               "{\"status\":{\"conditions\":[{\"type\":\"a\"}]}}");
}
