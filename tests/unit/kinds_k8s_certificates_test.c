/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

static struct fixture requests(void)
{
    return fixture_new("certificates.k8s.io", "v1", "certificatesigningrequests");
}

#define SIGNER "\"signerName\":\"kubernetes.io/kube-apiserver-client\""
#define SPEC   "\"spec\":{\"request\":\"eA==\"," SIGNER ",\"usages\":[\"client auth\"]}"

static const char *spec_faults(struct fixture *f, const char *spec)
{
    return fixture_create_faults(
        f, arena_printf(f->c.arena, "{\"spec\":{\"request\":\"eA==\",%s}}", spec));
}

TEST(who_asks_is_what_the_server_knows)
{
    const str groups[] = { STR_INIT("devs"), STR_INIT("system:authenticated") };
    const str values[] = { STR_INIT("v") };
    const struct identity_extra extra = { .key = STR("k"), .values = values, .nvalues = 1 };
    const struct identity alice = { .user = STR("alice"),
                                    .uid = STR("42"),
                                    .groups = groups,
                                    .ngroups = 2,
                                    .extra = &extra,
                                    .nextra = 1 };
    struct fixture f = requests();
    const struct json *obj = fixture_read(
        &f, "{\"spec\":{\"request\":\"eA==\"," SIGNER
            ",\"usages\":[\"any\"],\"username\":\"root\",\"uid\":\"0\",\"groups\":[\"system:"
            "masters\"],\"extra\":{\"x\":[\"y\"]}},\"status\":{\"certificate\":\"eA==\","
            "\"conditions\":[{\"type\":\"Approved\",\"status\":\"True\"}]}}");

    f.c.who = &alice;
    obj = f.kind->ops->prepare_create(&f.c, obj);
    CHECK_STR(fixture_print(&f, json_get(obj, STR("spec"))),
              "{\"extra\":{\"k\":[\"v\"]},\"groups\":[\"devs\",\"system:authenticated\"],"
              "\"request\":\"eA==\"," SIGNER
              ",\"uid\":\"42\",\"usages\":[\"any\"],\"username\":\"alice\"}");
    CHECK_STR(fixture_print(&f, json_get(obj, STR("status"))), "{}");
    fixture_release(&f);
}

TEST(what_may_be_asked_for)
{
    struct fixture f = requests();

    CHECK_STR(spec_faults(&f, SIGNER ",\"usages\":[\"client auth\"],\"expirationSeconds\":600"),
              "");
    CHECK_STR(spec_faults(&f, SIGNER), "spec.usages: Required value");
    CHECK_STR(spec_faults(&f, SIGNER ",\"usages\":[\"any\",\"any\"]"),
              "spec.usages[1]: Duplicate value: \"any\"");
    CHECK(strstr(spec_faults(&f, SIGNER ",\"usages\":[\"x\"]"),
                 "spec.usages[0]: Unsupported value: \"x\": supported values: \"any\", "));
    CHECK_STR(spec_faults(&f, SIGNER ",\"usages\":[\"any\"],\"expirationSeconds\":599"),
              "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than "
              "600 seconds (10 minutes)");
    fixture_release(&f);
}

TEST(names_of_signers)
{
    static const struct {
        const char *name, *fault;
    } rows[] = {
        { "example.com/x", "" },
        { "a.b/x.y", "" },
        { "", "spec.signerName: Required value" },
        { "x", "must be a fully qualified domain and path of the form 'example.com/signer-name'" },
        { "a.b/c/d", "must be a fully qualified domain and path" },
        { "com/x", "should be a domain with at least two segments separated by dots" },
        { "A.b/x", "validating label \"A\": a lowercase RFC 1123 label must consist of" },
        { "a..b/x", "validating label \"\": a lowercase RFC 1123 label must consist of" },
        { "a.b/", "validating label \"\": a lowercase RFC 1123 subdomain must consist of" },
        { "a.b/X", "validating label \"X\": a lowercase RFC 1123 subdomain must consist of" },
        { "kubernetes.io/legacy-unknown",
          "the legacy signerName is not allowed via this API version" },
    };
    struct fixture f = requests();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *got =
            spec_faults(&f, arena_printf(f.c.arena, "\"usages\":[\"any\"],\"signerName\":\"%s\"",
                                         rows[i].name));

        if (!CHECK(*rows[i].fault ? strstr(got, rows[i].fault) != NULL : *got == '\0'))
            printf("# %s: %s\n", rows[i].name, got);
    }
    fixture_release(&f);
}

/* ---- updates ---- */

static const struct json *object(struct fixture *f, const char *conditions, const char *cert)
{
    return fixture_read(
        f, arena_printf(f->c.arena, "{" SPEC ",\"status\":{\"conditions\":[%s]%s}}", conditions,
                        *cert ? arena_printf(f->c.arena, ",\"certificate\":\"%s\"", cert) : ""));
}

/* Members in the order of storage, as they are printed. */
#define COND(type, status)                                                          \
    "{\"lastTransitionTime\":\"2020-01-01T00:00:00Z\",\"lastUpdateTime\":\"2020-01" \
    "-01T00:00:00Z\",\"status\":\"" status "\",\"type\":\"" type "\"}"
#define APPROVED COND("Approved", "True")
#define DENIED   COND("Denied", "True")
#define FAILED   COND("Failed", "True")

/* What is stored, or what is wrong. */
static const char *update(struct fixture *f, const char *sub, const struct json *obj,
                          const struct json *old)
{
    f->c.subresource = str_of(sub);
    obj = f->kind->ops->prepare_update(&f->c, obj, old);
    {
        const char *faults = fixture_faults(f, obj, old);

        return *faults ? faults : fixture_print(f, json_get(obj, STR("status")));
    }
}

TEST(each_endpoint_changes_its_own_part)
{
    struct fixture f = requests();
    const struct json *plain = object(&f, "", ""), *yes = object(&f, APPROVED, "");
    const struct json *done = object(&f, APPROVED, "eA==");

    CHECK_STR(update(&f, "", done, plain), "{}");
    CHECK_STR(update(&f, "approval", done, plain), "{\"conditions\":[" APPROVED "]}");
    CHECK_STR(update(&f, "status", done, yes),
              "{\"certificate\":\"eA==\",\"conditions\":[" APPROVED "]}");
    CHECK_STR(update(&f, "status", yes, plain),
              "status.conditions: Forbidden: updates may not add a condition of type "
              "\"Approved\"");
    CHECK_STR(update(&f, "status", object(&f, APPROVED, "eQ=="), done),
              "status.certificate: Forbidden: updates may not modify existing certificate "
              "content");
    fixture_release(&f);
}

TEST(decisions_stay)
{
    struct fixture f = requests();
    const struct json *plain = object(&f, "", ""), *yes = object(&f, APPROVED, "");

    CHECK_STR(update(&f, "approval", plain, yes),
              "status.conditions: Forbidden: updates may not remove a condition of type "
              "\"Approved\"");
    CHECK_STR(update(&f, "approval", object(&f, APPROVED "," DENIED, ""), yes),
              "status.conditions: Invalid value: \"Denied\": Approved and Denied "
              "conditions are mutually exclusive");
    CHECK_STR(update(&f, "status", object(&f, APPROVED "," FAILED "," FAILED, ""), yes),
              "status.conditions[2].type: Duplicate value: \"Failed\"");
    CHECK_STR(update(&f, "approval", object(&f, COND("Approved", "False"), ""), plain),
              "status.conditions[0].status: Unsupported value: \"False\": supported values: "
              "\"True\"");
    CHECK_STR(update(&f, "status", object(&f, COND("Other", "Maybe"), ""), plain),
              "status.conditions[0].status: Unsupported value: \"Maybe\": supported values: "
              "\"False\", \"True\", \"Unknown\"");
    /* The words of an approval are its author's: who signs keeps them. */
    CHECK_STR(
        update(&f, "status",
               object(&f, "{\"type\":\"Approved\",\"status\":\"True\",\"message\":\"mine\"}", ""),
               yes),
        "{\"conditions\":[" APPROVED "]}");
    fixture_release(&f);
}

TEST(times_are_filled_in)
{
    struct fixture f = requests();
    const struct json *plain = object(&f, "", "");
    const struct json *denied = object(&f, "{\"type\":\"Denied\",\"status\":\"True\"}", "");

    CHECK_STR(update(&f, "approval", denied, plain),
              "{\"conditions\":[{\"lastTransitionTime\":\"2020-01-02T03:04:05Z\","
              "\"lastUpdateTime\":\"2020-01-02T03:04:05Z\",\"status\":\"True\",\"type\":"
              "\"Denied\"}]}");
    fixture_release(&f);
}

TEST(cells_say_what_was_decided)
{
    static const struct {
        const char *conditions, *cert, *want;
    } rows[] = {
        { "", "", "Pending" },
        { APPROVED, "", "Approved" },
        { APPROVED, "eA==", "Approved,Issued" },
        { APPROVED "," FAILED, "", "Approved,Failed" },
        { DENIED, "", "Denied" },
    };
    struct fixture f = requests();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct json *obj = object(&f, rows[i].conditions, rows[i].cert);
        struct json_array cells = json_array_new(f.c.arena);

        f.kind->ops->cells(f.c.arena, obj, f.c.now_s, &cells);
        CHECK(str_is(json_str(json_at(json_array_done(&cells), 5)), rows[i].want));
    }
    fixture_release(&f);
}
