/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Instances do not see each other.  Two of them are full of things whose every name and text holds
 * a word of their own; whatever one of them answers to its own admin is searched for the other's.
 */

#include "apiserver/call/catalogs.h"
#include "apiserver/server/dispatch_check.h"
#include "base/metric.h"
#include "server_people.h"

#define MINE   "aardwolf"
#define THEIRS "babirusa"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/* ---- two instances, full ---- */

/* %W is the word of the instance, %M metadata that hold it. */
static const struct {
    const char *path, *body;
} things[] = {
    { "/api/v1/namespaces", "{\"metadata\":{%M}}" },
    { CONFIGMAPS, "{\"metadata\":{%M},\"data\":{\"key-%W\":\"text of %W\"}}" },
    { "/api/v1/namespaces/%W/configmaps", "{\"metadata\":{%M}}" },
    { SECRETS, "{\"metadata\":{%M},\"stringData\":{\"k\":\"%W\"}}" },
    { ACCOUNTS, "{\"metadata\":{%M}}" },
    { "/api/v1/nodes", "{\"metadata\":{%M}}" },
    { PODS, "{\"metadata\":{%M},\"spec\":{\"containers\":[{\"name\":\"%W\","
            "\"image\":\"%W\"}]}}" },
    { "/api/v1/namespaces/default/services",
      "{\"metadata\":{%M},\"spec\":{\"ports\":[{\"port\":80}],\"selector\":{\"a\":\"%W\"}}}" },
    { "/api/v1/namespaces/default/events",
      "{\"metadata\":{%M},\"involvedObject\":{\"namespace\":\"default\",\"name\":\"%W\"},"
      "\"message\":\"%W\"}" },
    { "/apis/apps/v1/namespaces/default/deployments",
      "{\"metadata\":{%M},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"%W\"}},"
      "\"template\":{\"metadata\":{\"labels\":{\"a\":\"%W\"}},\"spec\":{\"containers\":[{"
      "\"name\":\"c\",\"image\":\"%W\"}]}}}}" },
    { ROLES "/clusterroles",
      "{\"metadata\":{%M},\"rules\":[{\"apiGroups\":[\"%W\"],\"resources\":[\"*\"],"
      "\"verbs\":[\"get\"]}]}" },
    { ROLES "/clusterrolebindings",
      "{\"metadata\":{%M},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
      "\"kind\":\"ClusterRole\",\"name\":\"%W\"},\"subjects\":[{\"kind\":\"User\","
      "\"name\":\"%W\"}]}" },
    { ROLES "/namespaces/default/rolebindings",
      "{\"metadata\":{%M},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
      "\"kind\":\"ClusterRole\",\"name\":\"%W\"},\"subjects\":[{\"kind\":\"User\","
      "\"name\":\"%W\"}]}" },
    { "/apis/coordination.k8s.io/v1/namespaces/default/leases",
      "{\"metadata\":{%M},\"spec\":{\"holderIdentity\":\"%W\"}}" },
    { CRDS,
      "{\"metadata\":{\"name\":\"%Ws.%W.example.com\"},\"spec\":{\"group\":\"%W.example."
      "com\","
      "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%Ws\",\"kind\":\"Kind%W\"},"
      "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"deprecated\":true,"
      "\"deprecationWarning\":\"%W is old\",\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
      "\"description\":\"what %W is\",\"properties\":{\"spec\":{\"type\":\"object\","
      "\"properties\":{\"%W\":{\"type\":\"string\"}}}}}}}]}}" },
};

static const char *prefix_of(struct host *h, const char *word)
{
    return arena_printf(h->arena, "/clusters/%s", word);
}

static const char *fill_in(struct host *h, const char *text, const char *word)
{
    const char *meta = arena_printf(h->arena,
                                    "\"name\":\"%s\",\"labels\":{\"l\":\"%s\"},\"annotations\":{"
                                    "\"n\":\"%s\"}",
                                    word, word, word);
    scoped_buf out = { .max = 1 << 16 };

    for (; *text; text++) {
        if (strncmp(text, "%M", 2) && strncmp(text, "%W", 2))
            buf_byte(&out, *text);
        else
            buf_str_append(&out, str_of(*++text == 'M' ? meta : word));
    }
    return str_z(h->arena, buf_str(&out));
}

/* As the controller of CRDs does, which does not run here. */
static void establish(struct host *h, const char *word)
{
    struct ask *a = ask(
        h, "PATCH",
        arena_printf(h->arena, "/clusters/%s" CRDS "/%ss.%s.example.com/status", word, word, word));

    ask_header(a, "content-type", "application/merge-patch+json");
    CHECK_STR(code_of(ask_body(
                  a, arena_printf(h->arena,
                                  "{\"status\":{\"storedVersions\":[\"v1\"],\"acceptedNames\":{"
                                  "\"plural\":\"%ss\",\"singular\":\"kind%s\",\"kind\":\"Kind%s\","
                                  "\"listKind\":\"Kind%sList\"},\"conditions\":["
                                  "{\"type\":\"NamesAccepted\",\"status\":\"True\","
                                  "\"reason\":\"r\",\"message\":\"m\"},"
                                  "{\"type\":\"Established\",\"status\":\"True\","
                                  "\"reason\":\"r\",\"message\":\"m\"}]}}",
                                  word, word, word, word))),
              "200");
}

static const char *custom_path(struct host *h, const char *word)
{
    return arena_printf(h->arena, "/apis/%s.example.com/v1/namespaces/default/%ss", word, word);
}

static void fill(struct host *h, const char *word)
{
    const char *prefix = prefix_of(h, word);

    CHECK_STR(make_instance(h, word), "201");
    for (size_t i = 0; i < sizeof(things) / sizeof(*things); i++) {
        const char *path = fill_in(h, things[i].path, word);
        const char *got = post(h, prefix, path, fill_in(h, things[i].body, word));

        if (!CHECK(strcmp(got, "201") == 0))
            printf("# %s: %s\n", path, got);
    }
    establish(h, word);
    CHECK_STR(post(h, prefix, custom_path(h, word),
                   arena_printf(h->arena,
                                "{\"apiVersion\":\"%s.example.com/v1\",\"kind\":\"Kind%s\","
                                "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"%s\":\"%s\"}}",
                                word, word, word, word, word)),
              "201");
}

struct pair {
    struct host *h;
    const struct http_peer *admin; /* of MINE */
    const char *uid;               /* of THEIRS */
    unsigned asked, shown, own;
};

static void pair_open(struct pair *p)
{
    *p = (struct pair){ .h = host_new(0, 0) };
    fill(p->h, THEIRS);
    fill(p->h, MINE);
    p->admin = cert_of(p->h, MINE, "admin", "system:masters");
    p->uid = uid_of_instance(p->h, THEIRS);
}

static struct ask *ask_mine(struct pair *p, const char *method, const char *path)
{
    struct ask *a = ask(p->h, method, arena_printf(p->h->arena, "/clusters/" MINE "%s", path));

    a->call->peer = p->admin;
    return a;
}

/* Nothing of theirs in the body or the headers. */
static bool is_clean(struct pair *p, struct ask *a, const char *path)
{
    bool clean = !str_contains(buf_str(&a->text), STR(THEIRS)) &&
                 !str_contains(buf_str(&a->text), str_of(p->uid));

    for (size_t i = 0; i < a->ngot; i++)
        clean = clean && !str_contains(a->got[i].value, STR(THEIRS));
    p->asked++;
    p->own += str_contains(buf_str(&a->text), STR(MINE));
    if (!clean) {
        p->shown++;
        printf("# %s shows it\n", path);
    }
    return clean;
}

static void search(struct pair *p, const char *method, const char *path, const char *accept,
                   int want)
{
    struct ask *a = ask_mine(p, method, path);

    if (accept)
        ask_header(a, "accept", accept);
    ask_send(a);
    CHECK(host_until(p->h, ask_done, a));
    (void)is_clean(p, a, path);
    if (want && !CHECK(a->code == want))
        printf("# %s %s: %d\n", method, path, a->code);
    ask_free(a);
}

/* ---- everything that can be read ---- */

static void search_kind(struct pair *p, const struct kind *k)
{
    static const char table[] = "application/json;as=Table;v=v1;g=meta.k8s.io";
    static const char partial[] =
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    struct arena *a = p->h->arena;
    const char *all = str_z(a, route_path(a, k, STR_NONE));
    const char *in = str_z(a, route_path(a, k, STR("default")));

    if (k->verbs & VERB_LIST) {
        search(p, "GET", all, NULL, 200);
        search(p, "GET", in, NULL, 200);
        search(p, "GET", all, table, 200);
        search(p, "GET", all, partial, 200);
        search(p, "GET", arena_printf(a, "%s?limit=1", all), NULL, 200);
        search(p, "GET", arena_printf(a, "%s?resourceVersion=0", all), NULL, 200);
        search(p, "GET", arena_printf(a, "%s?labelSelector=l", all), NULL, 200);
        search(p, "GET", arena_printf(a, "%s?fieldSelector=metadata.name%%3Dx", all), NULL, 200);
    }
    search(p, "GET", arena_printf(a, "%s/" MINE, in), NULL, 0);
    search(p, "GET", arena_printf(a, "%s/x", in), NULL, 0);
    for (size_t i = 0; i < k->nsubresources; i++)
        search(p, "GET", arena_printf(a, "%s/" MINE "/%.*s", in, STR_ARG(k->subresources[i].name)),
               NULL, 0);
    search(p, "OPTIONS", all, NULL, 0);
}

static void search_documents(struct pair *p)
{
    static const char aggregated[] =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    static const char *const paths[] = {
        "/",
        "/api",
        "/api/v1",
        "/apis",
        "/version",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/healthz",
        "/openid/v1/jwks",
        "/.well-known/openid-configuration",
        "/livez?verbose",
    };

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        search(p, "GET", paths[i], NULL, 200);
    search(p, "GET", "/api", aggregated, 200);
    search(p, "GET", "/apis", aggregated, 200);
    search(p, "GET", "/kairship/backup", NULL, 404);
    search(p, "GET", "/nowhere", NULL, 404);
}

TEST(nothing_that_one_can_read_shows_the_other)
{
    struct pair p;
    const struct catalog *c;
    struct instance mine;
    struct status st;

    pair_open(&p);
    status_init(&st, p.h->arena);
    search_documents(&p);
    epoch_enter();
    CHECK(instance_find(rest_instances(p.h->server->rest), p.h->arena, STR(MINE), &mine, &st) == 0);
    epoch_exit();
    c = catalogs_make(p.h->server->catalogs, p.h->arena, &mine);
    CHECK(c->nkinds > kinds_catalog_instance()->nkinds); /* with the CRD's */
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        search_kind(&p, k);
        search(&p, "GET",
               k->group.n ? arena_printf(p.h->arena, "/apis/%.*s/%.*s", STR_ARG(k->group),
                                         STR_ARG(k->version))
                          : "/api/v1",
               NULL, 200);
        search(&p, "GET",
               k->group.n ? arena_printf(p.h->arena, "/openapi/v3/apis/%.*s/%.*s",
                                         STR_ARG(k->group), STR_ARG(k->version))
                          : "/openapi/v3/api/v1",
               NULL, 200);
    }
    printf("# %u answers, %u with one's own word, %u with the other's\n", p.asked, p.own, p.shown);
    CHECK(p.shown == 0);
    CHECK(p.own > 100); /* it is found where it should be */
    host_free(p.h);
}

/* ---- asking for the other's things by name ---- */

/* The same as for what never existed: word for word, but for the word itself. */
static void check_same(struct pair *p, const char *method, const char *pattern)
{
    const char *words[] = { THEIRS, "nonsense" };
    str texts[2];
    int codes[2];

    for (int i = 0; i < 2; i++) {
        const char *path = fill_in(p->h, pattern, words[i]);
        struct ask *a = ask_body(ask_mine(p, method, path), "{}");

        ask_header(a, "content-type",
                   strcmp(method, "PATCH") == 0 ? "application/merge-patch+json"
                                                : "application/json");
        ask_send(a);
        CHECK(host_until(p->h, ask_done, a));
        codes[i] = a->code;
        texts[i] = str_dup(p->h->arena, buf_str(&a->text));
        for (const char *at; (at = memmem(texts[i].p, texts[i].n, words[i], 8));)
            memcpy((char *)(uintptr_t)at, "--------", 8);
        ask_free(a);
    }
    if (!CHECK(codes[0] == codes[1] && codes[0] >= 400 && str_eq(texts[0], texts[1])))
        printf("# %s %s: %d %d %.*s\n", method, pattern, codes[0], codes[1], STR_ARG(texts[0]));
}

TEST(what_the_other_has_is_what_nobody_has)
{
    static const char *const verbs[] = { "GET", "PUT", "PATCH", "DELETE" };
    static const char *const names[] = {
        "/apis/%W.example.com",
        "/apis/%W.example.com/v1",
        "/apis/%W.example.com/v1/%Ws",
        "/apis/%W.example.com/v1/namespaces/default/%Ws/%W",
        "/openapi/v3/apis/%W.example.com/v1",
        "/api/v1/namespaces/%W",
        "/api/v1/namespaces/%W/configmaps/%W",
        CRDS "/%Ws.%W.example.com",
        CONFIGMAPS "/%W",
        SECRETS "/%W",
        PODS "/%W/status",
        ACCOUNTS "/%W",
        ROLES "/clusterroles/%W",
    };
    struct pair p;

    pair_open(&p);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        for (size_t v = 0; v < sizeof(verbs) / sizeof(*verbs); v++)
            check_same(&p, verbs[v], names[i]);
    check_same(&p, "POST", "/api/v1/namespaces/%W/configmaps");
    check_same(&p, "POST", ACCOUNTS "/%W/token");
    host_free(p.h);
}

/* The whole answer of who may not know, with the name of the instance taken out. */
static str answer_without_name(struct host *h, const struct http_peer *peer, const char *token,
                               const char *method, const char *instance, const char *path)
{
    struct ask *a =
        ask_body(ask(h, method, arena_printf(h->arena, "/clusters/%s%s", instance, path)), "{}");
    str text;

    a->call->peer = peer;
    ask_header(a, "audit-id", "one");
    if (token)
        ask_header(a, "authorization", arena_printf(h->arena, "Bearer %s", token));
    ask_send(a);
    CHECK(host_until(h, ask_done, a));
    CHECK(strlen(instance) == sizeof(THEIRS) - 1);
    text = str_printf(h->arena, "%d %.*s", a->code, STR_ARG(buf_str(&a->text)));
    for (size_t i = 0; i < a->ngot; i++)
        text = str_printf(h->arena, "%.*s\n%.*s: %.*s", STR_ARG(text), STR_ARG(a->got[i].name),
                          STR_ARG(a->got[i].value));
    for (const char *at; strcmp(instance, THEIRS) != 0 &&
                         (at = memmem(text.p, text.n, instance, strlen(instance)));)
        memcpy((char *)(uintptr_t)at, THEIRS, sizeof(THEIRS) - 1); /* also the name of objects */
    ask_free(a);
    return text;
}

/* Whether there is an instance, and what it holds, cannot be found out from outside. */
TEST(an_instance_looks_from_outside_like_none)
{
    static const char *const paths[] = {
        "",
        "/",
        "/api",
        "/apis",
        "/metrics",
        "/version",
        "/healthz",
        "/readyz?verbose",
        "/livez",
        "/openapi/v2",
        "/openid/v1/jwks",
        "/.well-known/openid-configuration",
        "/nowhere",
        CONFIGMAPS,
        CONFIGMAPS "/" THEIRS,
        CONFIGMAPS "/nonsense",
        CONFIGMAPS "?watch=1",
        SECRETS "/" THEIRS,
        "/apis/" THEIRS ".example.com/v1/namespaces/default/" THEIRS "s",
        CRDS,
        ACCOUNTS "/" THEIRS "/token",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    };
    static const char *const verbs[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE" };
    struct pair p;
    const struct http_peer *peers[2];
    const char *token;

    pair_open(&p);
    peers[0] = NULL;
    peers[1] = p.admin;
    token = token_of(p.h, "/clusters/" MINE, "bot", "{}");
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        for (size_t v = 0; v < sizeof(verbs) / sizeof(*verbs); v++)
            for (int who = 0; who < 3; who++) {
                const struct http_peer *peer = who < 2 ? peers[who] : NULL;
                const char *bearer = who == 2 ? token : NULL;
                str is = answer_without_name(p.h, peer, bearer, verbs[v], THEIRS, paths[i]);
                str not = answer_without_name(p.h, peer, bearer, verbs[v], "unknowns", paths[i]);

                if (!CHECK(str_eq(is, not )))
                    printf("# %d %s %s: %.*s\n# and %.*s\n", who, verbs[v], paths[i], STR_ARG(is),
                           STR_ARG(not ));
            }
    host_free(p.h);
}

/* ---- pages, watches and revisions ---- */

static const char *continue_of(struct host *h, const char *prefix, const char *query)
{
    struct ask *a = ask(h, "GET", arena_printf(h->arena, "%s" CONFIGMAPS "%s", prefix, query));
    const char *token;

    CHECK_STR(answer(a), "200");
    token = answer_field(a, "metadata.continue");
    CHECK(*token);
    ask_free(a);
    return token;
}

TEST(a_page_of_one_goes_on_in_that_one)
{
    static const char *const places[] = { "/clusters/" THEIRS, "/clusters/" MINE, "" };
    struct pair p;

    pair_open(&p);
    for (size_t i = 0; i < 3; i++)
        for (int n = 0; n < 4; n++)
            CHECK_STR(make_configmap(p.h, places[i],
                                     arena_printf(p.h->arena, "%s-%d",
                                                  i == 0   ? "a-" THEIRS
                                                  : i == 1 ? "b-" MINE
                                                           : "c-" THEIRS,
                                                  n)),
                      "201");
    for (size_t i = 0; i < 3; i++)
        for (int limit = 1; limit < 4; limit++) {
            const char *token =
                continue_of(p.h, places[i], arena_printf(p.h->arena, "?limit=%d", limit));

            search(&p, "GET", arena_printf(p.h->arena, CONFIGMAPS "?limit=2&continue=%s", token),
                   NULL, 0);
            search(&p, "GET", arena_printf(p.h->arena, CONFIGMAPS "?continue=%s", token), NULL, 0);
            search(&p, "GET", arena_printf(p.h->arena, SECRETS "?continue=%s", token), NULL, 0);
        }
    /* Of all instances: it says where it stopped, and that is a place of theirs. */
    search(&p, "GET",
           arena_printf(p.h->arena, CONFIGMAPS "?continue=%s",
                        continue_of(p.h, "/clusters/*", "?limit=1")),
           NULL, 0);
    CHECK(p.shown == 0);
    host_free(p.h);
}

TEST(a_watch_hears_of_its_own_instance)
{
    static const char *const watched[] = {
        CONFIGMAPS, "/api/v1/namespaces",  "/api/v1/configmaps", CRDS, SECRETS,
        PODS,       ROLES "/clusterroles",
    };
    enum { N = sizeof(watched) / sizeof(*watched) };
    struct ask *watches[2 * N];
    struct pair p;

    pair_open(&p);
    for (size_t i = 0; i < 2 * N; i++) {
        watches[i] =
            ask_mine(&p, "GET",
                     arena_printf(p.h->arena, "%s?watch=1%s", watched[i % N],
                                  i < N ? "" : "&resourceVersion=1&allowWatchBookmarks=1"));
        ask_send(watches[i]);
    }
    CHECK_STR(make_configmap(p.h, "/clusters/" THEIRS, "more-" THEIRS), "201");
    CHECK_STR(delete_at(p.h, "/clusters/" THEIRS, SECRETS "/" THEIRS), "200");
    CHECK_STR(post(p.h, "/clusters/" THEIRS, "/api/v1/namespaces",
                   "{\"metadata\":{\"name\":\"more-" THEIRS "\"}}"),
              "201");
    CHECK_STR(delete_at(p.h, INSTANCES, "/" THEIRS), "200"); /* ends its own watches, no others */
    CHECK_STR(make_configmap(p.h, "/clusters/" MINE, "more-" MINE), "201");
    host_turn(p.h);
    for (size_t i = 0; i < 2 * N; i++) {
        (void)is_clean(&p, watches[i], watched[i % N]);
        if (i < N)
            CHECK(watches[i]->streaming);
        ask_free(watches[i]);
    }
    CHECK(p.own >= N);
    CHECK(p.shown == 0);
    host_free(p.h);
}

/* ---- naming what is another's ---- */

#define ADMIN_FOR(subject)                                                                       \
    "{\"metadata\":{\"name\":\"wide\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\"," \
    "\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"},\"subjects\":[" subject "]}"

TEST(a_binding_is_about_people_of_its_own_instance)
{
    struct pair p;
    const struct http_peer *alice;
    const char *token;
    struct ask *a;

    pair_open(&p);
    alice = cert_of(p.h, MINE, "alice", "devs");
    token = token_of(p.h, "/clusters/" MINE, "bot", "{}");
    /* The other one gives everything to people of these names; they are its own people. */
    CHECK_STR(post(p.h, "/clusters/" THEIRS, ROLES "/clusterrolebindings",
                   ADMIN_FOR("{\"kind\":\"User\",\"name\":\"alice\"},"
                             "{\"kind\":\"Group\",\"name\":\"system:authenticated\"},"
                             "{\"kind\":\"ServiceAccount\",\"namespace\":\"default\","
                             "\"name\":\"bot\"}")),
              "201");
    for (int i = 0; i < 2; i++) {
        const char *places[] = { "/clusters/" MINE CONFIGMAPS, "/clusters/" THEIRS CONFIGMAPS };

        a = ask(p.h, "GET", places[i]);
        a->call->peer = alice;
        CHECK_STR(code_of(a), i ? "401 Unauthorized" : "403 Forbidden");
        a = ask_header(ask(p.h, "GET", places[i]), "authorization",
                       arena_printf(p.h->arena, "Bearer %s", token));
        a->call->peer = NULL;
        CHECK_STR(code_of(a), i ? "401 Unauthorized" : "403 Forbidden");
    }
    /* Reviews know no other instance, either. */
    a = ask_body(ask_mine(&p, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
                 "{\"spec\":{\"user\":\"alice\",\"resourceAttributes\":{\"verb\":\"get\","
                 "\"resource\":\"secrets\"}}}");
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_field(a, "status.allowed"), "false");
    (void)is_clean(&p, a, "subjectaccessreviews");
    ask_free(a);
    token = token_of(p.h, "/clusters/" THEIRS, "bot", "{}");
    a = ask_body(ask_mine(&p, "POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
                 arena_printf(p.h->arena, "{\"spec\":{\"token\":\"%s\"}}", token));
    CHECK_STR(answer(a), "201");
    CHECK(strcmp(answer_field(a, "status.authenticated"), "true") != 0);
    CHECK_STR(answer_field(a, "status.user.username"), "");
    (void)is_clean(&p, a, "tokenreviews");
    ask_free(a);
    CHECK(p.shown == 0);
    host_free(p.h);
}

/* ---- what ends ---- */

static void check_whole(struct pair *p, const char *word)
{
    struct ask *a;

    for (size_t i = 0; i < sizeof(things) / sizeof(*things); i++) {
        const char *path = fill_in(p->h, things[i].path, word);
        bool crd = strcmp(things[i].path, CRDS) == 0;

        CHECK_STR(field_at(p->h, prefix_of(p->h, word),
                           arena_printf(p->h->arena, crd ? "%s/%ss.%s.example.com" : "%s/%s", path,
                                        word, word),
                           "metadata.deletionTimestamp"),
                  "");
    }
    a = ask(p->h, "GET",
            arena_printf(p->h->arena, "/clusters/%s%s/%s", word, custom_path(p->h, word), word));
    CHECK_STR(code_of(a), "200");
}

TEST(deleting_in_one_leaves_the_other_whole)
{
    static const char *const doomed[] = {
        CONFIGMAPS, SECRETS,         PODS "?gracePeriodSeconds=0", ACCOUNTS,
        CRDS,       "/api/v1/nodes", ROLES "/clusterroles",        ROLES "/clusterrolebindings",
    };
    struct pair p;

    pair_open(&p);
    check_whole(&p, THEIRS);
    for (size_t i = 0; i < sizeof(doomed) / sizeof(*doomed); i++)
        CHECK_STR(code_of(ask_mine(&p, "DELETE", doomed[i])), "200");
    CHECK_STR(code_of(ask_mine(&p, "DELETE", "/api/v1/namespaces/" MINE)), "200");
    check_whole(&p, THEIRS);
    CHECK_STR(delete_at(p.h, INSTANCES, "/" MINE), "200");
    check_whole(&p, THEIRS);
    host_free(p.h);
}

/* ---- numbers ---- */

static const char *metric(struct pair *p, struct ask *a, const char *resource)
{
    const char *series =
        arena_printf(p->h->arena, "apiserver_storage_objects{resource=\"%s\"} ", resource);

    for (str rest = buf_str(&a->text), line; str_split(&rest, '\n', &line);)
        if (str_starts(line, str_of(series)))
            return str_z(p->h->arena, str_from(line, strlen(series)));
    return "none";
}

TEST(an_instance_has_numbers_of_its_own)
{
    struct pair p;
    struct ask *a;

    pair_open(&p);
    CHECK_STR(make_configmap(p.h, "/clusters/" MINE, "second"), "201");
    for (int i = 0; i < 3; i++)
        CHECK_STR(make_configmap(p.h, "/clusters/" THEIRS, arena_printf(p.h->arena, "m%d", i)),
                  "201");
    a = ask_mine(&p, "GET", "/metrics");
    ask_send(a);
    CHECK(host_until(p.h, ask_done, a));
    CHECK(a->code == 200);
    CHECK_STR(answer_header(a, "content-type"), METRIC_CONTENT_TYPE);
    CHECK_STR(metric(&p, a, "namespaces"), "5"); /* four are every instance's */
    CHECK_STR(metric(&p, a, "secrets"), "1");
    CHECK_STR(metric(&p, a, "deployments.apps"), "1");
    CHECK_STR(metric(&p, a, MINE "s." MINE ".example.com"), "1");
    CHECK_STR(metric(&p, a, THEIRS "s." THEIRS ".example.com"), "none");
    CHECK_STR(metric(&p, a, "instances.tenancy.kairship.io"), "none");
    CHECK(!str_contains(buf_str(&a->text), STR("process_")));
    (void)is_clean(&p, a, "/metrics");
    CHECK(p.shown == 0);
    ask_free(a);
    CHECK_STR(code_of(ask(p.h, "GET", "/clusters/*/metrics")), "404");
    CHECK_STR(code_of(ask(p.h, "GET", "/clusters/nowhere/metrics")), "404 NotFound");
    a = ask(p.h, "GET", "/clusters/" MINE "/metrics");
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "403 Forbidden");
    host_free(p.h);
}
