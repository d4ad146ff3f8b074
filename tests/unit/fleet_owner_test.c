/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/owner.h"

#include "fleet/syncer_internal.h"
#include "object/meta/karmada.h"
#include "tap.h"

/* Whose an object in a member is, by what stands in it. */

#define OWN   "kairship:0011223344556677:plane:89abcdef"
#define OTHER "kairship:ffeeddccbbaa9988:shop:01234567"

static const struct json *object(struct arena *a, const char *manager, const char *meta)
{
    const struct json *v = NULL;
    struct status st;
    str text = str_printf(a,
                          "{\"apiVersion\":\"v1\",\"metadata\":{\"managedFields\":[{\"manager\":"
                          "\"%s\",\"operation\":\"Update\"},{\"manager\":\"kubectl\"}]%s}}",
                          manager, meta);

    status_init(&st, a);
    CHECK(json_parse(a, text, NULL, &v, &st) == 0);
    return v;
}

#define LABELS(id) \
    ",\"labels\":{\"karmada.io/managed\":\"true\",\"work.karmada.io/permanent-id\":\"" id "\"}"
#define BY_HAND(ns)                                                                            \
    ",\"labels\":{\"karmada.io/managed\":\"true\"},\"annotations\":{\"work.karmada.io/name\":" \
    "\"w\",\"work.karmada.io/namespace\":\"" ns "\"}"

TEST(an_owner_is_known_by_its_id_and_what_has_none_by_its_work)
{
    static const struct {
        const char *manager, *meta;
        enum installation_origin origin;
        enum claim want;
    } rows[] = {
        { OWN, "", INSTALLATION_NEW, CLAIM_OURS },
        { OWN, LABELS("2"), INSTALLATION_COPIED, CLAIM_OURS },
        { OTHER, "", INSTALLATION_NEW, CLAIM_OTHERS },
        { OTHER, LABELS("1"), INSTALLATION_UPGRADED, CLAIM_OTHERS },
        { "kairship", LABELS("1"), INSTALLATION_UPGRADED, CLAIM_OURS },
        { "kairship", LABELS("2"), INSTALLATION_UPGRADED, CLAIM_OTHERS },
        { "kairship", LABELS("1"), INSTALLATION_COPIED, CLAIM_OTHERS },
        { "kairship", BY_HAND("karmada-es-m1"), INSTALLATION_UPGRADED, CLAIM_OURS },
        { "kairship", BY_HAND("karmada-es-m2"), INSTALLATION_UPGRADED, CLAIM_OTHERS },
        { "karmada-agent", LABELS("1"), INSTALLATION_NEW, CLAIM_OURS },
        { "karmada-agent", LABELS("2"), INSTALLATION_NEW, CLAIM_OTHERS },
        { "helm", "", INSTALLATION_NEW, CLAIM_FREE },
        { "kairship", "", INSTALLATION_UPGRADED, CLAIM_FREE }, /* it was released */
        { OWNER_RELEASED, "", INSTALLATION_NEW, CLAIM_FREE },
        { "kairship:", "", INSTALLATION_NEW, CLAIM_OTHERS },
    };
    struct syncer s = { .o.owner.name = STR(OWN), .namespace = STR("karmada-es-m1") };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        s.o.owner.origin = rows[i].origin;
        if (!CHECK(sync_manifest_claim(&s, object(a, "x", LABELS("1")),
                                       object(a, rows[i].manager, rows[i].meta),
                                       STR("w")) == rows[i].want))
            printf("# %zu: %s%s\n", i, rows[i].manager, rows[i].meta);
    }
}

TEST(people_are_told_the_instance)
{
    scoped_arena a = arena_new();

    CHECK_STR(str_z(a, owner_words(a, STR(OTHER))),
              "instance shop of installation ffeeddccbbaa9988");
}

static const char *managers(struct arena *a, const struct json *list)
{
    str out = STR_NONE;

    json_for_each (entry, list)
        out = str_printf(a, "%.*s%.*s ", STR_ARG(out), STR_ARG(json_get_str(entry, "manager")));
    return str_z(a, out);
}

TEST(an_older_program_is_followed_and_others_are_joined)
{
    const struct owner_mark m = { .own = STR(OWN), .now = STR("now"), .label = KARMADA_MANAGED };
    scoped_arena a = arena_new();
    const struct json *added = owner_marked(a, object(a, "karmada-agent", ""), &m);

    CHECK_STR(managers(a, owner_marked(a, object(a, "kairship", ""), &m)), OWN " kubectl ");
    CHECK_STR(managers(a, added), "karmada-agent kubectl " OWN " ");
    CHECK_STR(str_z(a, json_text(a, json_get(json_at(added, 2), STR("fieldsV1")))),
              "{\"f:metadata\":{\"f:labels\":{\"f:karmada.io/managed\":{}}}}");
    CHECK_STR(managers(a, owner_unmarked(a, object(a, OWN, ""), STR(OWN))),
              OWNER_RELEASED " kubectl ");
    CHECK(!owner_applied(a, object(a, "syncer", ""), STR(OWN))); /* that was an update */
}
