/* SPDX-License-Identifier: Apache-2.0 */

/* What is found out of a server by its certificates, for each way to trust it. */

#include "http/presented.h"

#include <signal.h>
#include <time.h>

#include "base/banned.h"
#include "http/pki.h"
#include "http_client_peer.h"
#include "tap.h"

enum { DAY = 86400 };

static void serve_nothing(struct peer *p)
{
    (void)p;
}

static X509 *cert_of(str pem)
{
    BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);

    BIO_free(b);
    return x;
}

/* A server whose certificate an authority of ours has signed. */
struct place {
    struct arena *arena;
    struct pki_pair ca, leaf;
    struct server server;
    struct status st;
};

static void place_open(struct place *p, str host, int64_t made_days_ago, bool with_ca)
{
    int64_t now = (int64_t)time(NULL);
    struct pki_request req = {
        .cn = STR("s"), .hosts = &host, .nhosts = 1, .now_s = now - made_days_ago * DAY, .days = 2
    };
    secret key;
    struct pki tls = { 0 };
    BIO *b;

    (void)signal(SIGPIPE, SIG_IGN);
    *p = (struct place){ .arena = arena_new(), .server.serve = serve_nothing };
    status_init(&p->st, p->arena);
    if (pki_make_ca(p->arena, STR("ca"), now - 10 * DAY, 20, &p->ca, &p->st) < 0 ||
        pki_sign(p->arena, &p->ca, &req, &p->leaf, &p->st) < 0)
        abort();
    key = p->leaf.key_pem;
    b = BIO_new_mem_buf(secret_reveal(key).p, (int)secret_reveal(key).n);
    tls.key = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
    BIO_free(b);
    tls.cert = cert_of(p->leaf.cert);
    server_start(&p->server, &tls);
    if (with_ca)
        (void)SSL_CTX_add0_chain_cert(p->server.tls, cert_of(p->ca.cert));
    pki_free(&tls);
}

static void place_close(struct place *p)
{
    server_stop(&p->server);
    buf_release(&p->server.seen);
    arena_free(p->arena);
}

static struct presented look(struct place *p, str ca, str hash)
{
    struct presented_order o = {
        .host = STR("127.0.0.1"), .port = str_of(p->server.port), .ca_pem = ca, .key_hash = hash
    };
    struct presented out = { .verdict = PRESENTED_BAD };

    if (!CHECK(presented_look(p->arena, &o, &out, &p->st) == 0))
        printf("# %.*s\n", STR_ARG(p->st.message));
    return out;
}

static str hash_of(struct place *p, str cert)
{
    str hash = STR_NONE;

    CHECK(pki_public_key_hash(p->arena, cert, &hash, &p->st) == 0);
    return hash;
}

TEST(an_authority_is_taken_by_its_hash_and_by_nothing_else)
{
    struct place p, other;
    struct presented out;

    place_open(&p, STR("127.0.0.1"), 0, true);
    place_open(&other, STR("127.0.0.1"), 0, true);
    out = look(&p, STR_NONE, hash_of(&p, p.ca.cert));
    CHECK(out.verdict == PRESENTED_GOOD && str_eq(out.authority, p.ca.cert));
    CHECK(str_eq(out.top_hash, hash_of(&p, p.ca.cert)) && str_is(out.names, "127.0.0.1"));
    out = look(&p, STR_NONE, hash_of(&p, other.ca.cert));
    CHECK(out.verdict == PRESENTED_OTHER_KEY && !out.authority.n);
    out = look(&p, STR_NONE, hash_of(&p, p.leaf.cert)); /* the server's own key */
    CHECK(out.verdict == PRESENTED_GOOD && str_eq(out.authority, p.leaf.cert));
    CHECK(look(&p, p.ca.cert, STR_NONE).verdict == PRESENTED_GOOD);
    CHECK(look(&p, p.leaf.cert, STR_NONE).verdict == PRESENTED_GOOD); /* as in Go */
    CHECK(look(&p, other.ca.cert, STR_NONE).verdict == PRESENTED_UNKNOWN);
    CHECK(look(&p, STR_NONE, STR_NONE).verdict == PRESENTED_UNKNOWN);
    place_close(&p);
    place_close(&other);
}

/* An authority that stands in the chain, but has not signed: a stranger can present anybody's. */
TEST(an_authority_that_is_only_shown_vouches_for_nothing)
{
    struct place p, stranger;

    place_open(&p, STR("127.0.0.1"), 0, true);
    place_open(&stranger, STR("127.0.0.1"), 0, false);
    (void)SSL_CTX_add0_chain_cert(stranger.server.tls, cert_of(p.ca.cert));
    CHECK(look(&stranger, STR_NONE, hash_of(&p, p.ca.cert)).verdict == PRESENTED_UNKNOWN);
    place_close(&p);
    place_close(&stranger);
}

TEST(what_is_wrong_with_a_certificate_is_told_apart)
{
    static const struct {
        const char *host;
        int made_days_ago;
        enum presented_verdict verdict;
        const char *names;
    } cases[] = {
        { "127.0.0.1", 0, PRESENTED_GOOD, "127.0.0.1" },
        { "127.0.0.1", 5, PRESENTED_EXPIRED, "127.0.0.1" },
        { "127.0.0.1", -1, PRESENTED_EARLY, "127.0.0.1" },
        { "127.0.0.2", 0, PRESENTED_OTHER_NAME, "127.0.0.2" },
        { "2001:db8::1", 0, PRESENTED_OTHER_NAME, "2001:db8::1" },
        { "kairship.example.com", 0, PRESENTED_OTHER_NAME, "kairship.example.com" },
        { "a\033[31mb", 0, PRESENTED_OTHER_NAME, "" }, /* not for a terminal */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct presented out;
        struct place p;

        place_open(&p, str_of(cases[i].host), cases[i].made_days_ago, false);
        out = look(&p, p.ca.cert, STR_NONE);
        if (!CHECK(out.verdict == cases[i].verdict))
            printf("# %s: %d, %.*s\n", cases[i].host, out.verdict, STR_ARG(out.why));
        CHECK(str_is(out.names, cases[i].names) && out.not_after - out.not_before > 2 * DAY);
        place_close(&p);
    }
}

TEST(what_speaks_no_tls_is_no_server)
{
    struct server plain = { .serve = serve_nothing }; /* closes at once */
    scoped_arena a = arena_new();
    struct presented_order o = { .host = STR("127.0.0.1") };
    struct presented out;
    struct status st;

    status_init(&st, a);
    server_start(&plain, NULL);
    o.port = str_of(plain.port);
    CHECK(presented_look(a, &o, &out, &st) < 0 && status_is(&st, REASON_UNAVAILABLE));
    CHECK(str_contains(st.message, STR("does not speak TLS")));
    server_stop(&plain);
    buf_release(&plain.seen);
    status_reset(&st);
    CHECK(presented_look(a, &o, &out, &st) < 0 && status_is(&st, REASON_UNAVAILABLE));
    CHECK(str_contains(st.message, STR("refused")));
}
