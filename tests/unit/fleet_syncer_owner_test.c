/* SPDX-License-Identifier: Apache-2.0 */
#include "syncer_work_rig.h"

/* Two control planes that want an object of one name in one member. */

#define CONFS   MEMBER "/api/v1/namespaces/d/configmaps"
#define OTHERS  "kairship:ffeeddccbbaa9988:shop:01234567"
#define REFUSED "False/AppliedFailed"

#define OF_WORK(id)                                                                       \
    ",\"labels\":{\"karmada.io/managed\":\"true\",\"work.karmada.io/permanent-id\":\"" id \
    "\"},\"annotations\":{\"work.karmada.io/conflict-resolution\":\"overwrite\"}"

static const char *made_by(const char *manager)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s?fieldManager=%s", CONFS, manager);
    return path;
}

static bool is_managed_by(struct pair *p, const char *manager)
{
    return strstr(pair_at(p, CONF, "metadata.managedFields"),
                  arena_printf(p->rig.arena, "\"manager\":\"%s\"", manager)) != NULL;
}

static const char *message(struct pair *p)
{
    return str_z(p->rig.arena, json_get_str(condition(p, WORKS "/w", "Applied"), "message"));
}

TEST(what_another_owner_made_stays_as_it_is)
{
    struct pair p;

    pair_open(&p);
    pair_make(&p, made_by(OTHERS), conf(&p, "conf", "theirs", OF_WORK("1")));
    pair_do(&p, pair_start);
    pair_make(&p, WORKS, work_of(&p, "w", conf(&p, "conf", "ours", OF_WORK("1")), ""));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", REFUSED));
    CHECK(strstr(message(&p), "resource(kind=ConfigMap, d/conf) in the cluster m1 is owned by "
                              "instance shop of installation ffeeddccbbaa9988"));
    CHECK_STR(pair_at(&p, CONF, "data.k"), "theirs");
    CHECK(ask_api(&p.rig, "DELETE", WORKS "/w", "", NULL) == 200);
    CHECK(pair_comes(&p, WORKS "/w", "kind", "-"));
    CHECK_STR(pair_at(&p, CONF, "data.k"), "theirs");
    pair_close(&p);
}

TEST(what_is_ours_says_so_until_it_is_released)
{
    struct pair p;

    pair_open(&p);
    pair_do(&p, pair_start);
    pair_make(&p, WORKS,
              work_of(&p, "w", conf(&p, "conf", "ours", OF_WORK("1")),
                      ",\"preserveResourcesOnDeletion\":true"));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    CHECK(is_managed_by(&p, PAIR_OWNER));
    CHECK(ask_api(&p.rig, "DELETE", WORKS "/w", "", NULL) == 200);
    CHECK(pair_comes(&p, WORKS "/w", "kind", "-"));
    CHECK(!is_managed_by(&p, PAIR_OWNER));
    CHECK(is_managed_by(&p, "kairship-released"));
    /* Then the next who may overwrite it has it. */
    pair_make(&p, WORKS, work_of(&p, "w2", conf(&p, "conf", "next", OF_WORK("2")), ""));
    CHECK(condition_comes(&p, WORKS "/w2", "Applied", "True/AppliedSuccessful"));
    CHECK(is_managed_by(&p, PAIR_OWNER));
    CHECK_STR(pair_at(&p, CONF, "data.k"), "next");
    pair_close(&p);
}

/* The same bytes: nothing but the name of the owner changes. */
TEST(an_older_program_is_followed_by_the_very_work)
{
    static const struct {
        const char *manager, *id;
        enum installation_origin origin;
        bool taken;
    } rows[] = {
        { "kairship", "1", INSTALLATION_UPGRADED, true },
        { "karmada-agent", "1", INSTALLATION_NEW, true },
        { "kairship", "2", INSTALLATION_UPGRADED, false },
        { "kairship", "1", INSTALLATION_COPIED, false },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        bool first = rows[i].id[0] == '1';
        struct pair p;

        pair_open(&p);
        pair_make(&p, made_by(rows[i].manager),
                  conf(&p, "conf", "v", first ? OF_WORK("1") : OF_WORK("2")));
        p.options.owner.origin = rows[i].origin;
        pair_do(&p, pair_start);
        pair_make(&p, WORKS, work_of(&p, "w", conf(&p, "conf", "v", OF_WORK("1")), ""));
        CHECK(condition_comes(&p, WORKS "/w", "Applied",
                              rows[i].taken ? "True/AppliedSuccessful" : REFUSED));
        if (!CHECK(is_managed_by(&p, PAIR_OWNER) == rows[i].taken))
            printf("# row %zu: %s\n", i, pair_at(&p, CONF, "metadata.managedFields"));
        CHECK(!rows[i].taken || !is_managed_by(&p, "kairship"));
        pair_close(&p);
    }
}
