/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/authn_config.h"
#include "apiserver/auth/issuer_keys.h"
#include "tap.h"

/* AuthenticationConfiguration: what is taken, and which field is named of what is not. */

#define HEAD "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
#define OWN  STR("https://kubernetes.default.svc")
#define GOOD                                                                \
    HEAD "jwt:\n- issuer: {url: 'https://a.example.com', audiences: [x]}\n" \
         "  claimMappings: {username: {claim: sub, prefix: ''}}\n"
#define ISSUER(issuer)                    \
    HEAD "jwt:\n- issuer: {" issuer "}\n" \
         "  claimMappings: {username: {claim: sub, prefix: ''}}\n"
#define MAPPINGS(mappings)                                                  \
    HEAD "jwt:\n- issuer: {url: 'https://a.example.com', audiences: [x]}\n" \
         "  claimMappings: {" mappings "}\n"
#define RULES(rules) GOOD "  " rules "\n"

TEST(a_whole_configuration)
{
    static const char text[] =
        HEAD "jwt:\n"
             "- issuer:\n"
             "    url: https://a.example.com/realms/r\n"
             "    discoveryURL: https://inside.example.com:8443/d\n"
             "    audiences: [x, z]\n"
             "    audienceMatchPolicy: MatchAny\n"
             "  claimValidationRules:\n"
             "  - {claim: hd, requiredValue: example.com}\n"
             "  - {expression: 'claims.email_verified == true', message: refused}\n"
             "  claimMappings:\n"
             "    username: {expression: 'claims.email'}\n"
             "    groups: {expression: 'claims.roles.split(\",\")'}\n"
             "    uid: {claim: sub}\n"
             "    extra:\n"
             "    - {key: example.com/tenant, valueExpression: claims.tenant}\n"
             "  userValidationRules:\n"
             "  - {expression: \"!user.username.startsWith('system:')\"}\n"
             "- issuer: {url: 'https://b.example.com', audiences: [z]}\n"
             "  claimMappings: {username: {claim: sub, prefix: 'b:'}, groups: {claim: groups, "
             "prefix: ''}}\n"
             "anonymous: {enabled: true, conditions: [{path: /livez}]}\n";
    scoped_arena a = arena_new();
    struct authn_config *c;
    struct status st;

    status_init(&st, a);
    c = authn_config_read(str_of(text), OWN, &st);
    if (!CHECK(c)) {
        printf("# %.*s\n", STR_ARG(st.message));
        return;
    }
    REQUIRE(c->nissuers == 2);
    CHECK(str_is(c->issuers[0].discovery_url, "https://inside.example.com:8443/d"));
    CHECK(c->issuers[0].naudiences == 2 && c->issuers[0].nrules == 2);
    CHECK(c->issuers[0].username.program && c->issuers[0].groups.program);
    CHECK(str_is(c->issuers[0].uid.claim, "sub") && c->issuers[0].nextra == 1);
    CHECK(c->issuers[0].nuser_rules == 1 && c->issuers[0].user_rules[0].program);
    CHECK(str_is(c->issuers[1].username.prefix, "b:"));
    CHECK(authn_config_open(c, STR("/livez")) && !authn_config_open(c, STR("/version")));
    authn_config_free(c);
}

TEST(nothing_is_a_configuration_too)
{
    scoped_arena a = arena_new();
    struct authn_config *c;
    struct status st;

    status_init(&st, a);
    c = authn_config_read(STR(HEAD), OWN, &st);
    REQUIRE(c);
    CHECK(c->nissuers == 0 && authn_config_open(c, STR("/version")));
    authn_config_free(c);
}

TEST(wrong_fields_are_named)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "", "must be an object, not null" },
        { "[]", "must be an object, not an array" },
        { "apiVersion: v1\nkind: AuthenticationConfiguration\n", "no kind" },
        { HEAD "jwts: []\n", "unknown field \"jwts\"" },
        { HEAD "jwt: {}\n", "jwt: must be an array, not an object" },
        { HEAD "kind: x\n", "already set" },
        { ISSUER("audiences: [x]"), "jwt[0].issuer.url: Required value" },
        { ISSUER("url: 'http://a', audiences: [x]"), "URL scheme must be https" },
        { ISSUER("url: 'https://u@a', audiences: [x]"), "username or password" },
        { ISSUER("url: 'https://a/?q', audiences: [x]"), "URL must not contain a query" },
        { ISSUER("url: 'https://a/#f', audiences: [x]"), "URL must not contain a fragment" },
        { ISSUER("url: 'https://a:0/', audiences: [x]"), "must be https://host" },
        { ISSUER("url: 'https://kubernetes.default.svc', audiences: [x]"), "disallowed issuers" },
        { ISSUER("url: 'https://a', discoveryURL: 'https://a/', audiences: [x]"),
          "discoveryURL must be different from URL" },
        { ISSUER("url: 'https://a'"), "at least one jwt[0].issuer.audiences is required" },
        { ISSUER("url: 'https://a', audiences: ['']"), "jwt[0].issuer.audiences[0]: Required" },
        { ISSUER("url: 'https://a', audiences: [x, x], audienceMatchPolicy: MatchAny"),
          "jwt[0].issuer.audiences[1]: Duplicate value: \"x\"" },
        { ISSUER("url: 'https://a', audiences: [x, z]"), "must be MatchAny for multiple" },
        { ISSUER("url: 'https://a', audiences: [x], audienceMatchPolicy: All"),
          "must be empty or MatchAny" },
        { ISSUER("url: 'https://a', audiences: [x], certificateAuthority: nonsense"),
          "jwt[0].issuer.certificateAuthority: Invalid value: \"<omitted>\"" },
        { ISSUER("url: 'https://a', audiences: [x], egressSelectorType: cluster"),
          "egress selectors are not supported" },
        { MAPPINGS(""), "jwt[0].claimMappings.username: Required value: claim or expression" },
        { MAPPINGS("username: {claim: sub}"), "jwt[0].claimMappings.username.prefix: Required" },
        { MAPPINGS("username: {claim: sub, expression: claims.sub}"), "can't both be set" },
        { MAPPINGS("username: {expression: claims.sub, prefix: x}"), "prefix can't be set" },
        { MAPPINGS("username: {expression: 'claims.'}"), "compilation failed" },
        { MAPPINGS("username: {expression: 'user.username'}"), "compilation failed" },
        { MAPPINGS("username: {expression: '1'}"), "must evaluate to string" },
        { MAPPINGS("username: {expression: 'claims.email'}"), "claims.email_verified must be" },
        { MAPPINGS("username: {claim: sub, prefix: ''}, groups: {claim: g}"), "groups.prefix" },
        { MAPPINGS("username: {claim: sub, prefix: ''}, groups: {expression: 'true'}"),
          "string or list of strings" },
        { MAPPINGS("username: {claim: sub, prefix: ''}, uid: {claim: a, expression: claims.b}"),
          "jwt[0].claimMappings.uid" },
        { MAPPINGS("username: {claim: sub, prefix: ''}, extra: [{key: foo, valueExpression: '\"\"'"
                   "}]"),
          "domain-prefixed path" },
        { MAPPINGS("username: {claim: sub, prefix: ''}, extra: [{key: a.io/Foo, valueExpression: "
                   "'\"\"'}]"),
          "must be lowercase" },
        { MAPPINGS("username: {claim: sub, prefix: ''}, extra: [{key: a.k8s.io/foo, "
                   "valueExpression: '\"\"'}]"),
          "reserved for Kubernetes use" },
        { MAPPINGS("username: {claim: sub, prefix: ''}, extra: [{key: a.io/foo}]"),
          "extra[0].valueExpression: Required value" },
        { RULES("claimValidationRules: [{}]"), "claim or expression is required" },
        { RULES("claimValidationRules: [{claim: a, message: b}]"), "may not be specified when" },
        { RULES("claimValidationRules: [{expression: 'true', requiredValue: b}]"),
          "may not be specified when expression" },
        { RULES("claimValidationRules: [{claim: a}, {claim: a}]"), "Rules[1].claim: Duplicate" },
        { RULES("claimValidationRules: [{expression: '\"x\"'}]"), "must evaluate to bool" },
        { RULES("userValidationRules: [{message: x}]"), "expression is required" },
        { RULES("userValidationRules: [{expression: 'user.nope'}]"), "compilation failed" },
        { GOOD "- issuer: {url: 'https://a.example.com', audiences: [x]}\n"
               "  claimMappings: {username: {claim: sub, prefix: ''}}\n",
          "jwt[1].issuer.url: Duplicate value" },
        { HEAD "anonymous: {conditions: [{path: /x}]}\n", "enabled should be set to true" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();
        struct authn_config *c;
        struct status st;

        status_init(&st, a);
        c = authn_config_read(str_of(rows[i].text), OWN, &st);
        if (!CHECK(!c && str_contains(st.message, str_of(rows[i].why))))
            printf("# %s\n# said: %.*s\n# want: %s\n", rows[i].text, STR_ARG(st.message),
                   rows[i].why);
        authn_config_free(c);
    }
}

TEST(documents_of_issuers)
{
    static const struct {
        const char *text, *why;
    } discovery[] = {
        { "", "no JSON object" },
        { "[]", "no JSON object" },
        { "{\"jwks_uri\":\"https://a/k\"}", "of the issuer \"\"" },
        { "{\"issuer\":\"https://a/\",\"jwks_uri\":\"https://a/k\"}", "of the issuer" },
        { "{\"issuer\":\"https://a\"}", "jwks_uri" },
        { "{\"issuer\":\"https://a\",\"jwks_uri\":\"http://a/k\"}", "jwks_uri" },
        { "{\"issuer\":\"https://a\",\"jwks_uri\":\"https://a/k\"}", "" },
    }, sets[] = {
        { "{}", "no list of keys" },
        { "{\"keys\":[]}", "no key that is known" },
        { "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}", "no key that is known" },
        { "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}", "no key that is known" },
        { "{\"keys\":[0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2]}",
          "more than 32 keys" },
        { "{\"keys\":[{\"kty\":\"EC\",\"use\":\"enc\",\"crv\":\"P-256\","
          "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
          "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}",
          "no key that is known" },
        { "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\","
          "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
          "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}",
          "" },
    };
    scoped_arena a = arena_new();
    struct status st;
    str uri;

    for (size_t i = 0; i < sizeof(discovery) / sizeof(*discovery); i++) {
        status_init(&st, a);
        CHECK((issuer_discovery_read(a, str_of(discovery[i].text), STR("https://a"), &uri, &st) ==
               0) == !*discovery[i].why);
        CHECK(str_contains(st.message, str_of(discovery[i].why)));
    }
    CHECK(str_is(uri, "https://a/k"));
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        struct issuer_keys *k;

        status_init(&st, a);
        k = issuer_keys_read(str_of(sets[i].text), &st);
        CHECK((k != NULL) == !*sets[i].why);
        CHECK(str_contains(st.message, str_of(sets[i].why)));
        issuer_keys_free(k);
    }
}
