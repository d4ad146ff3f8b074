/* SPDX-License-Identifier: Apache-2.0 */
#include "syncer_work_rig.h"

/* The feed of Works, against a whole control plane and a whole member. */

#define DEPLOY MEMBER "/apis/apps/v1/namespaces/d/deployments/web"

static void open_with_conf(struct pair *p)
{
    pair_open(p);
    pair_do(p, pair_start);
    pair_make(p, WORKS, work_of(p, "w", conf(p, "conf", "v", ",\"labels\":{\"a\":\"1\"}"), ""));
    CHECK(condition_comes(p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
}

TEST(a_work_becomes_an_object_and_says_so)
{
    struct pair p;

    open_with_conf(&p);
    CHECK_STR(pair_at(&p, CONF, "data"), "{\"k\":\"v\"}");
    CHECK(strstr(pair_at(&p, CONF, "metadata.labels"), "\"karmada.io/managed\":\"true\""));
    CHECK(strstr(pair_at(&p, CONF, "metadata.annotations"), "\"work.karmada.io/name\":\"w\""));
    CHECK(condition_comes(&p, WORKS "/w", "Dispatching", "True/Dispatching"));
    CHECK(pair_comes(&p, WORKS "/w", "status.manifestStatuses",
                     "[{\"health\":\"Healthy\",\"identifier\":{\"kind\":\"ConfigMap\",\"name\":"
                     "\"conf\",\"namespace\":\"d\",\"ordinal\":0,\"resource\":\"\",\"version\":"
                     "\"v1\"}}]"));
    pair_close(&p);
}

TEST(a_changed_manifest_follows)
{
    struct pair p;

    open_with_conf(&p);
    set_manifest(&p, WORKS "/w", conf(&p, "conf", "v2", ""));
    CHECK(pair_comes(&p, CONF, "data", "{\"k\":\"v2\"}"));
    pair_close(&p);
}

TEST(what_is_edited_or_deleted_in_the_member_is_put_back)
{
    struct pair p;

    open_with_conf(&p);
    patch(&p, CONF,
          "{\"data\":{\"k\":\"edited\",\"z\":\"y\"},\"metadata\":{\"labels\":{\"local\":\"yes\"},"
          "\"annotations\":{\"local\":\"yes\"}}}");
    CHECK(pair_comes(&p, CONF, "data", "{\"k\":\"v\"}"));
    CHECK(pair_comes(&p, CONF, "metadata.labels.local", "yes"));
    CHECK(pair_comes(&p, CONF, "metadata.annotations.local", "yes"));
    CHECK(ask_api(&p.rig, "DELETE", CONF, "", NULL) == 200);
    CHECK(pair_comes(&p, CONF, "data", "{\"k\":\"v\"}"));
    CHECK_STR(pair_at(&p, CONF, "metadata.labels.local"), "-");
    patch(&p, CONF, "{\"metadata\":{\"labels\":{\"karmada.io/managed\":null}}}");
    CHECK(pair_comes(&p, CONF, "metadata.labels", "{\"a\":\"1\",\"karmada.io/managed\":\"true\"}"));
    pair_close(&p);
}

TEST(what_others_note_on_it_is_theirs)
{
    static const char managed[] =
        ",\"labels\":{\"a\":\"1\"},\"annotations\":{\"resourcetemplate.karmada.io/managed-labels\":"
        "\"a\",\"resourcetemplate.karmada.io/managed-annotations\":\"note\",\"note\":\"n\"}";
    const char *version;
    struct pair p;

    open_with_conf(&p);
    set_manifest(&p, WORKS "/w", conf(&p, "conf", "v", managed));
    CHECK(pair_comes(&p, CONF, "metadata.annotations.note", "n"));
    patch(&p, CONF,
          "{\"metadata\":{\"labels\":{\"local\":\"1\"},\"annotations\":{\"local\":\"1\"}}}");
    version = pair_at(&p, CONF, "metadata.resourceVersion");
    (void)usleep(100000);
    CHECK_STR(pair_at(&p, CONF, "metadata.resourceVersion"), version); /* nobody wrote */
    patch(&p, CONF, "{\"metadata\":{\"labels\":{\"a\":\"2\"}}}");
    CHECK(pair_comes(&p, CONF, "metadata.labels.a", "1"));
    patch(&p, CONF, "{\"metadata\":{\"annotations\":{\"note\":null}}}");
    CHECK(pair_comes(&p, CONF, "metadata.annotations.note", "n"));
    patch(&p, CONF, "{\"metadata\":{\"labels\":{\"karmada.io/managed\":null}}}");
    CHECK(pair_comes(&p, CONF, "metadata.labels",
                     "{\"a\":\"1\",\"karmada.io/managed\":\"true\",\"local\":\"1\"}"));
    CHECK(pair_comes(&p, CONF, "metadata.annotations.local", "1"));
    pair_close(&p);
}

TEST(a_label_that_the_template_has_no_more_goes)
{
    static const char managed[] = ",\"labels\":{\"a\":\"1\"},\"annotations\":{"
                                  "\"resourcetemplate.karmada.io/managed-labels\":\"a\"}";
    struct pair p;

    open_with_conf(&p);
    set_manifest(&p, WORKS "/w", conf(&p, "conf", "v", managed));
    CHECK(pair_comes(&p, CONF, "metadata.labels.a", "1"));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    patch(&p, CONF, "{\"metadata\":{\"labels\":{\"local\":\"yes\"}}}");
    (void)usleep(50000);
    set_manifest(&p, WORKS "/w", conf(&p, "conf", "v3", ""));
    CHECK(pair_comes(&p, CONF, "data", "{\"k\":\"v3\"}"));
    CHECK(pair_comes(&p, CONF, "metadata.labels",
                     "{\"karmada.io/managed\":\"true\",\"local\":\"yes\"}"));
    pair_close(&p);
}

TEST(somebody_elses_object_is_left_alone)
{
    const struct json *c;
    struct pair p;

    pair_open(&p);
    pair_make(&p, MEMBER "/api/v1/namespaces/d/configmaps",
              "{\"metadata\":{\"name\":\"conf\",\"labels\":{\"pre\":\"existing\"}},\"data\":{"
              "\"extra\":\"e\",\"k\":\"old\"}}");
    pair_do(&p, pair_start);
    pair_make(&p, WORKS, work_of(&p, "w", conf(&p, "conf", "v", ""), ""));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "False/AppliedFailed"));
    c = condition(&p, WORKS "/w", "Applied");
    CHECK_STR(str_z(p.rig.arena, json_get_str(c, "message")),
              "Failed to apply all manifests (0/1): resource(kind=ConfigMap, d/conf) already "
              "exists in the cluster m1 and the work.karmada.io/conflict-resolution strategy "
              "value is empty, Karmada will not manage this resource");
    CHECK_STR(pair_at(&p, CONF, "data.k"), "old");
    CHECK(ask_api(&p.rig, "DELETE", WORKS "/w", "", NULL) == 200);
    CHECK(pair_comes(&p, WORKS "/w", "kind", "-"));
    CHECK_STR(pair_at(&p, CONF, "data"), "{\"extra\":\"e\",\"k\":\"old\"}");
    pair_close(&p);
}

TEST(unless_it_is_to_be_overwritten)
{
    struct pair p;

    pair_open(&p);
    pair_make(&p, MEMBER "/api/v1/namespaces/d/configmaps",
              "{\"metadata\":{\"name\":\"conf\",\"labels\":{\"pre\":\"existing\"}},\"data\":{"
              "\"extra\":\"e\",\"k\":\"old\"}}");
    pair_do(&p, pair_start);
    pair_make(&p, WORKS,
              work_of(&p, "w",
                      conf(&p, "conf", "v",
                           ",\"annotations\":{\"work.karmada.io/conflict-resolution\":"
                           "\"overwrite\"}"),
                      ""));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    CHECK_STR(pair_at(&p, CONF, "data"), "{\"k\":\"v\"}");
    CHECK_STR(pair_at(&p, CONF, "metadata.labels"),
              "{\"karmada.io/managed\":\"true\",\"pre\":\"existing\"}");
    pair_close(&p);
}

TEST(a_deleted_work_takes_its_object_along)
{
    struct pair p;

    open_with_conf(&p);
    CHECK(ask_api(&p.rig, "DELETE", WORKS "/w", "", NULL) == 200);
    CHECK(pair_comes(&p, WORKS "/w", "kind", "-"));
    CHECK(pair_comes(&p, CONF, "kind", "-"));
    pair_close(&p);
}

TEST(or_lets_it_go)
{
    struct pair p;

    pair_open(&p);
    pair_do(&p, pair_start);
    pair_make(&p, WORKS,
              work_of(&p, "w",
                      conf(&p, "conf", "v",
                           ",\"labels\":{\"own\":\"label\"},\"annotations\":{\"own\":\"note\","
                           "\"work.karmada.io/conflict-resolution\":\"abort\"}"),
                      ",\"preserveResourcesOnDeletion\":true"));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    CHECK(ask_api(&p.rig, "DELETE", WORKS "/w", "", NULL) == 200);
    CHECK(pair_comes(&p, WORKS "/w", "kind", "-"));
    CHECK_STR(pair_at(&p, CONF, "metadata.labels"), "{\"own\":\"label\"}");
    CHECK_STR(pair_at(&p, CONF, "metadata.annotations"),
              "{\"own\":\"note\",\"work.karmada.io/conflict-resolution\":\"abort\"}");
    pair_close(&p);
}

TEST(a_suspended_work_holds_its_changes_back)
{
    struct pair p;

    open_with_conf(&p);
    patch(&p, WORKS "/w", "{\"spec\":{\"suspendDispatching\":true}}");
    CHECK(condition_comes(&p, WORKS "/w", "Dispatching", "False/SuspendDispatching"));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    set_manifest(&p, WORKS "/w", conf(&p, "conf", "v2", ""));
    (void)usleep(100000);
    CHECK_STR(pair_at(&p, CONF, "data.k"), "v");
    patch(&p, WORKS "/w", "{\"spec\":{\"suspendDispatching\":false}}");
    CHECK(pair_comes(&p, CONF, "data.k", "v2"));
    CHECK(condition_comes(&p, WORKS "/w", "Dispatching", "True/Dispatching"));
    pair_close(&p);
}

TEST(what_is_edited_meanwhile_waits_quietly_and_is_put_back_then)
{
    struct pair p;
    size_t calls;

    open_with_conf(&p);
    patch(&p, WORKS "/w", "{\"spec\":{\"suspendDispatching\":true}}");
    CHECK(condition_comes(&p, WORKS "/w", "Dispatching", "False/SuspendDispatching"));
    patch(&p, CONF, "{\"data\":{\"k\":\"edited\"}}");
    (void)usleep(50000);
    calls = p.road->calls;
    (void)usleep(100000);
    CHECK(p.road->calls - calls < 5);
    CHECK_STR(pair_at(&p, CONF, "data.k"), "edited");
    patch(&p, WORKS "/w", "{\"spec\":{\"suspendDispatching\":false}}");
    CHECK(pair_comes(&p, CONF, "data.k", "v"));
    pair_close(&p);
}

TEST(somebody_who_insists_is_corrected_ever_more_slowly)
{
    struct pair p;
    uint64_t writes;

    open_with_conf(&p);
    writes = pair_stats(&p).writes;
    for (int i = 0; i < 200; i++) {
        patch(&p, CONF, arena_printf(p.rig.arena, "{\"data\":{\"k\":\"e%d\"}}", i));
        (void)usleep(2000);
    }
    writes = pair_stats(&p).writes - writes;
    CHECK(writes >= 2);
    CHECK(writes <= 12);
    CHECK(pair_comes(&p, CONF, "data.k", "v"));
    pair_close(&p);
}

TEST(a_kind_that_the_member_lacks_fails_until_it_comes)
{
    struct pair p;

    pair_open(&p);
    pair_do(&p, pair_start);
    pair_make(&p, WORKS,
              work_of(&p, "w",
                      "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"t\"}"
                      "}",
                      ""));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "False/AppliedFailed"));
    CHECK_STR(str_z(p.rig.arena, json_get_str(condition(&p, WORKS "/w", "Applied"), "message")),
              "Failed to apply all manifests (0/1): no matches for kind \"Thing\" in version "
              "\"x.io/v1\"");
    CHECK(ask_api(&p.rig, "DELETE", WORKS "/w", "", NULL) == 200);
    CHECK(pair_comes(&p, WORKS "/w", "kind", "-"));
    pair_close(&p);
}

#define QUOTAS MEMBER "/api/v1/namespaces/d/resourcequotas"

static const char *service(struct pair *p, const char *value)
{
    return arena_printf(p->rig.arena,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\","
                        "\"namespace\":\"d\",\"labels\":{\"v\":\"%s\"}},\"spec\":{\"type\":"
                        "\"NodePort\",\"ports\":[{\"port\":1,\"nodePort\":30080}]}}",
                        value);
}

/* A new syncer knows of no object; the member refuses it before it finds that it has it already. */
TEST(what_is_there_is_found_where_it_could_not_be_made)
{
    struct pair p;

    open_with_conf(&p);
    pair_make(
        &p, QUOTAS,
        "{\"metadata\":{\"name\":\"full\"},\"spec\":{\"hard\":{\"count/configmaps\":\"1\"}}}");
    CHECK(ask_api(&p.rig, "POST", MEMBER "/api/v1/namespaces/d/configmaps",
                  "{\"metadata\":{\"name\":\"more\"}}", NULL) == 403);
    pair_make(&p, WORKS, work_of(&p, "s", service(&p, "1"), ""));
    CHECK(condition_comes(&p, WORKS "/s", "Applied", "True/AppliedSuccessful"));
    pair_do(&p, pair_stop);
    set_manifest(&p, WORKS "/w", conf(&p, "conf", "v2", ""));
    set_manifest(&p, WORKS "/s", service(&p, "2"));
    pair_do(&p, pair_start);
    CHECK(pair_comes(&p, CONF, "data.k", "v2"));
    CHECK(pair_comes(&p, MEMBER "/api/v1/namespaces/d/services/s", "metadata.labels.v", "2"));
    CHECK(condition_comes(&p, WORKS "/s", "Applied", "True/AppliedSuccessful"));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    /* What is not there is refused in the member's words. */
    pair_make(&p, WORKS, work_of(&p, "x", conf(&p, "more", "v", ""), ""));
    CHECK(condition_comes(&p, WORKS "/x", "Applied", "False/AppliedFailed"));
    CHECK(str_contains(json_get_str(condition(&p, WORKS "/x", "Applied"), "message"),
                       STR("configmaps \"more\" is forbidden")));
    CHECK(ask_api(&p.rig, "DELETE", QUOTAS "/full", "", NULL) == 200);
    CHECK(condition_comes(&p, WORKS "/x", "Applied", "True/AppliedSuccessful"));
    pair_close(&p);
}

TEST(a_watch_that_nothing_is_wanted_of_ends)
{
    struct pair p;

    pair_open(&p);
    p.options.idle_ms = 50;
    pair_do(&p, pair_start);
    for (int i = 0; i < 2; i++) {
        pair_make(&p, WORKS, work_of(&p, "w", conf(&p, "conf", "v", ""), ""));
        CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
        (void)usleep(100000);
        CHECK(pair_stats(&p).watches == 1);
        patch(&p, CONF, "{\"data\":{\"k\":\"edited\"}}");
        CHECK(pair_comes(&p, CONF, "data.k", "v"));
        CHECK(ask_api(&p.rig, "DELETE", WORKS "/w", "", NULL) == 200);
        CHECK(pair_comes(&p, WORKS "/w", "kind", "-"));
        for (int n = 0; n < 500 && pair_stats(&p).watches; n++)
            (void)usleep(10000);
        CHECK(pair_stats(&p).watches == 0);
    }
    pair_close(&p);
}

TEST(a_namespace_that_the_member_lacks_fails_until_it_comes)
{
    struct pair p;

    pair_open(&p);
    pair_do(&p, pair_start);
    CHECK(ask_api(&p.rig, "DELETE", MEMBER "/api/v1/namespaces/d", "", NULL) == 200);
    CHECK(ask_api(&p.rig, "PUT", MEMBER "/api/v1/namespaces/d/finalize",
                  "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"finalizers\":[]}}", NULL) == 200);
    pair_make(&p, WORKS, work_of(&p, "w", conf(&p, "conf", "v", ""), ""));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "False/AppliedFailed"));
    CHECK_STR(str_z(p.rig.arena, json_get_str(condition(&p, WORKS "/w", "Applied"), "message")),
              "Failed to apply all manifests (0/1): namespaces \"d\" not found");
    pair_make(&p, MEMBER "/api/v1/namespaces", "{\"metadata\":{\"name\":\"d\"}}");
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    pair_close(&p);
}

static const char *deployment(struct pair *p, int replicas)
{
    return arena_printf(p->rig.arena,
                        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{"
                        "\"name\":\"web\",\"namespace\":\"d\"},\"spec\":{\"replicas\":%d,"
                        "\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{"
                        "\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
                        "\"image\":\"i\"}]}}}}",
                        replicas);
}

static const char *ready(struct pair *p, int n)
{
    return arena_printf(p->rig.arena,
                        "{\"status\":{\"replicas\":2,\"updatedReplicas\":2,\"readyReplicas\":%d,"
                        "\"availableReplicas\":%d,\"observedGeneration\":1}}",
                        n, n);
}

static uint64_t status_writes(struct pair *p)
{
    return pair_stats(p).status_writes;
}

TEST(status_comes_back_and_many_changes_make_few_writes)
{
    struct pair p;
    uint64_t before;
    const struct json *v = NULL;

    pair_open(&p);
    pair_do(&p, pair_start);
    pair_make(&p, WORKS, work_of(&p, "w", deployment(&p, 2), ""));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    (void)usleep(100000);
    before = status_writes(&p);
    for (int i = 0; i < 200; i++)
        patch(&p, DEPLOY "/status", ready(&p, i % 2));
    patch(&p, DEPLOY "/status", ready(&p, 2));
    for (int i = 0; i < 500; i++) {
        CHECK(ask_api(&p.rig, "GET", WORKS "/w", "", &v) == 200);
        v = json_at(json_path(v, "status.manifestStatuses"), 0);
        if (json_int(json_path(v, "status.readyReplicas"), 0) == 2)
            break;
        (void)usleep(10000);
    }
    CHECK(json_int(json_path(v, "status.readyReplicas"), 0) == 2);
    CHECK_STR(str_z(p.rig.arena, json_get_str(v, "health")), "Healthy");
    (void)usleep(150000);
    CHECK(status_writes(&p) - before <= 60);
    CHECK_STR(pair_at(&p, DEPLOY, "metadata.generation"), "1"); /* and nothing was written there */
    pair_close(&p);
}

/* Its first words and what the member says of it at once are one write, where that is quick. */
TEST(what_nobody_has_seen_there_is_not_told_alone)
{
    struct pair p;
    int64_t began, took = 1000;
    uint64_t before = 0;

    pair_open(&p);
    pair_do(&p, pair_start);
    for (int i = 0; i < 20 && took > 100; i++) { /* a busy machine is not quick */
        const char *name = arena_printf(p.rig.arena, "w%d", i);
        const char *path = arena_printf(p.rig.arena, WORKS "/%s", name);

        before = status_writes(&p);
        began = clock_now_ms(clock_real());
        pair_make(&p, WORKS, work_of(&p, name, deployment(&p, 2), ""));
        CHECK(pair_comes(&p, DEPLOY, "spec.replicas", "2"));
        patch(&p, DEPLOY "/status", ready(&p, 1));
        took = clock_now_ms(clock_real()) - began;
        CHECK(condition_comes(&p, path, "Applied", "True/AppliedSuccessful"));
        (void)usleep(150000);
        if (took <= 100)
            CHECK(status_writes(&p) == before + 1);
        CHECK(ask_api(&p.rig, "DELETE", path, "", NULL) == 200);
        CHECK(pair_comes(&p, DEPLOY, "kind", "-"));
    }
    pair_close(&p);
}

TEST(a_work_that_changes_while_it_is_carried_out_is_read_again)
{
    struct pair p;
    bool follows = true;

    pair_open(&p);
    pair_do(&p, pair_start);
    pair_make(&p, WORKS, work_of(&p, "w", deployment(&p, 1), ""));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    p.road->slow = true;
    for (int i = 0; i < 20 && follows; i++) {
        set_manifest(&p, WORKS "/w", deployment(&p, 2 * i + 2));
        (void)usleep(SLOW_MS * 500); /* it is under way, and there are news to tell */
        patch(&p, DEPLOY "/status", ready(&p, i % 2));
        set_manifest(&p, WORKS "/w", deployment(&p, 2 * i + 3));
        follows =
            pair_comes(&p, DEPLOY, "spec.replicas", arena_printf(p.rig.arena, "%d", 2 * i + 3));
    }
    CHECK(follows);
    pair_close(&p);
}

TEST(a_member_that_is_away_is_served_when_it_is_back)
{
    struct pair p;

    open_with_conf(&p);
    p.road->cut = true;
    set_manifest(&p, WORKS "/w", conf(&p, "conf", "v2", ""));
    for (int i = 0; i < 60; i++)
        pair_make(&p, WORKS,
                  work_of(&p, arena_printf(p.rig.arena, "w%d", i),
                          conf(&p, arena_printf(p.rig.arena, "c%d", i), "v", ""), ""));
    (void)usleep(200000);
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    CHECK_STR(pair_at(&p, CONF, "data.k"), "v");
    CHECK(pair_stats(&p).failures < 40); /* one at a time asks */
    p.road->cut = false;
    CHECK(pair_comes(&p, CONF, "data.k", "v2"));
    for (int i = 0; i < 60; i++)
        CHECK(pair_comes(&p,
                         arena_printf(p.rig.arena, MEMBER "/api/v1/namespaces/d/configmaps/c%d", i),
                         "data.k", "v"));
    pair_close(&p);
}

static void pause_it(struct pair *p)
{
    syncer_set_mode(p->syncer, SYNCER_PAUSED);
}

static void resume(struct pair *p)
{
    syncer_set_mode(p->syncer, SYNCER_RUNNING);
}

static void abandon(struct pair *p)
{
    syncer_set_mode(p->syncer, SYNCER_ABANDONED);
}

TEST(a_paused_syncer_waits_and_an_abandoned_one_lets_works_go)
{
    struct pair p;

    open_with_conf(&p);
    pair_do(&p, pause_it);
    set_manifest(&p, WORKS "/w", conf(&p, "conf", "v2", ""));
    (void)usleep(100000);
    CHECK_STR(pair_at(&p, CONF, "data.k"), "v");
    pair_do(&p, resume);
    CHECK(pair_comes(&p, CONF, "data.k", "v2"));
    p.road->cut = true;
    pair_do(&p, pause_it);
    CHECK(ask_api(&p.rig, "DELETE", WORKS "/w", "", NULL) == 200);
    (void)usleep(50000);
    CHECK_STR(pair_at(&p, WORKS "/w", "kind"), "Work");
    pair_do(&p, abandon);
    CHECK(pair_comes(&p, WORKS "/w", "kind", "-"));
    CHECK_STR(pair_at(&p, CONF, "data.k"), "v2");
    pair_close(&p);
}

/* A watch that failed meanwhile would be tried again ever later. */
TEST(drift_is_seen_as_soon_as_the_member_is_back)
{
    struct pair p;
    int ms = 0;

    pair_open(&p);
    p.options.idle_ms = 1;
    pair_do(&p, pair_start);
    pair_make(&p, WORKS, work_of(&p, "first", conf(&p, "first", "v", ""), ""));
    CHECK(condition_comes(&p, WORKS "/first", "Applied", "True/AppliedSuccessful"));
    CHECK(ask_api(&p.rig, "DELETE", WORKS "/first", "", NULL) == 200);
    CHECK(pair_comes(&p, WORKS "/first", "kind", "-"));
    p.road->cut = true;
    pair_make(&p, WORKS, work_of(&p, "w", conf(&p, "conf", "v", ""), ""));
    (void)usleep(3700000); /* three lists have failed: 3.2 s or more until the next */
    p.road->cut = false;
    pair_do(&p, pause_it);
    pair_do(&p, resume);
    CHECK(pair_comes(&p, CONF, "data.k", "v"));
    patch(&p, CONF, "{\"data\":{\"k\":\"edited\"}}");
    for (; ms < 5000 && strcmp(pair_at(&p, CONF, "data.k"), "v") != 0; ms += 10)
        (void)usleep(10000);
    CHECK(ms < 1000);
    pair_close(&p);
}

TEST(a_member_that_forgets_revisions_is_listed_anew)
{
    struct pair p;

    pair_open(&p);
    p.road->forgetful = true;
    pair_do(&p, pair_start);
    pair_make(&p, WORKS, work_of(&p, "w", conf(&p, "conf", "v", ""), ""));
    CHECK(condition_comes(&p, WORKS "/w", "Applied", "True/AppliedSuccessful"));
    patch(&p, CONF, "{\"data\":{\"k\":\"edited\"}}");
    CHECK(pair_comes(&p, CONF, "data.k", "v"));
    p.road->forgetful = false;
    CHECK(ask_api(&p.rig, "DELETE", CONF, "", NULL) == 200);
    CHECK(pair_comes(&p, CONF, "data.k", "v"));
    pair_close(&p);
}

/* ---- killed at any moment ---- */

enum { NAMES = 12 };

struct model {
    char value[NAMES]; /* 0: no Work */
};

static const char *work_path(struct pair *p, uint32_t i)
{
    return arena_printf(p->rig.arena, WORKS "/w%u", i);
}

static const char *conf_path(struct pair *p, uint32_t i)
{
    return arena_printf(p->rig.arena, MEMBER "/api/v1/namespaces/d/configmaps/c%u", i);
}

static void set_work(struct pair *p, struct model *m, uint32_t i, char value)
{
    char *text = arena_printf(p->rig.arena, "%c", value);
    const char *manifest = conf(p, arena_printf(p->rig.arena, "c%u", i), text, "");

    if (m->value[i])
        set_manifest(p, work_path(p, i), manifest);
    else if (ask_api(&p->rig, "POST", WORKS,
                     work_of(p, arena_printf(p->rig.arena, "w%u", i), manifest, ""), NULL) != 200)
        return; /* the one before it is still on its way out */
    m->value[i] = value;
}

static void random_step(struct pair *p, struct model *m, struct rand_seq *r)
{
    uint32_t i = rand_seq_below(r, NAMES);

    switch (rand_seq_below(r, 5)) {
    case 0:
        pair_do(p, pair_stop);
        pair_do(p, pair_start);
        break;
    case 1:
        if (m->value[i] && ask_api(&p->rig, "DELETE", work_path(p, i), "", NULL) == 200)
            m->value[i] = 0;
        break;
    case 2:
        (void)ask_api(&p->rig, "PATCH", conf_path(p, i), "{\"data\":{\"k\":\"x\"}}", NULL);
        break;
    case 3:
        (void)ask_api(&p->rig, "DELETE", conf_path(p, i), "", NULL);
        break;
    default:
        set_work(p, m, i, (char)('a' + rand_seq_below(r, 20)));
    }
}

TEST(killed_at_any_moment_it_ends_in_the_same_state)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct rand_seq r = { seed };
        struct model m = { 0 };
        struct pair p;

        pair_open(&p);
        pair_do(&p, pair_start);
        for (int i = 0; i < 150; i++)
            random_step(&p, &m, &r);
        for (uint32_t i = 0; i < NAMES; i++) {
            char want[2] = { m.value[i] ? m.value[i] : '-' };

            CHECK(pair_comes(&p, conf_path(&p, i), "data.k", want));
            CHECK(pair_comes(&p, work_path(&p, i), "kind", m.value[i] ? "Work" : "-"));
        }
        pair_close(&p);
    }
}

/* ---- many ---- */

TEST(a_thousand_works)
{
    enum { MANY = 1000 };
    struct syncer_stats s;
    struct pair p;
    int64_t began;
    int n = 0;

    pair_open(&p);
    for (int i = 0; i < MANY; i++)
        pair_make(&p, WORKS,
                  work_of(&p, arena_printf(p.rig.arena, "w%d", i),
                          conf(&p, arena_printf(p.rig.arena, "c%d", i), "v", ""), ""));
    began = clock_now_ms(clock_real());
    pair_do(&p, pair_start);
    for (int i = 0; i < MANY; i++)
        CHECK(condition_comes(&p, arena_printf(p.rig.arena, WORKS "/w%d", i), "Applied",
                              "True/AppliedSuccessful"));
    n = (int)(clock_now_ms(clock_real()) - began);
    s = pair_stats(&p);
    printf("# %d works in %d ms (with the member's and the test's own time)\n", MANY, n);
    CHECK(s.objects == MANY);
    CHECK(s.writes == MANY);
    CHECK(s.status_writes <= MANY + MANY / 10);
    CHECK(s.failures == 0);
    pair_close(&p);
}
