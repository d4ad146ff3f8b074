/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the server takes in TLS, by saying hello to it: once as old clients do, with ciphers that
 * are too weak, once in TLS 1.1, and once as it should be, lest a server that takes nothing looks
 * safe. The hellos are written by hand, since our own library would not say such things.
 */

#include <sys/socket.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/rand.h"
#include "cmd/doctor.h"
#include "http/dial.h"

enum { RECORD_HANDSHAKE = 22, HELLO_MAX = 512, ROOM = 8 };

struct hello {
    unsigned char at[HELLO_MAX];
    size_t n;
};

static void put(struct hello *h, unsigned value, size_t bytes)
{
    for (; bytes > 0 && h->n < HELLO_MAX; bytes--)
        h->at[h->n++] = (unsigned char)(value >> (bytes - 1) * 8);
}

/* The length of what has followed since `from`, in two bytes before it. */
static void close_at(struct hello *h, size_t from)
{
    h->at[from - 2] = (unsigned char)((h->n - from) >> 8);
    h->at[from - 1] = (unsigned char)(h->n - from);
}

static void extension(struct hello *h, unsigned type, const unsigned *values, size_t n)
{
    put(h, type, 2);
    put(h, (unsigned)(2 * n + 2), 2);
    put(h, (unsigned)(2 * n), 2);
    for (size_t i = 0; i < n; i++)
        put(h, values[i], 2);
}

static void say_hello(struct hello *h, unsigned version, const unsigned *ciphers, size_t n)
{
    static const unsigned groups[] = { 0x001d, 0x0017, 0x0018 };
    static const unsigned signatures[] = { 0x0403, 0x0503, 0x0603, 0x0807,
                                           0x0804, 0x0401, 0x0203, 0x0201 };
    char random[32];

    rand_bytes(random, sizeof(random));
    h->n = 0;
    put(h, RECORD_HANDSHAKE, 1);
    put(h, 0x0301, 2);
    put(h, 0, 2); /* of the record, from 5 */
    put(h, 1, 1); /* ClientHello */
    put(h, 0, 3); /* of the message, from 9 */
    put(h, version, 2);
    for (size_t i = 0; i < sizeof(random); i++)
        put(h, (unsigned char)random[i], 1);
    put(h, 0, 1); /* no session */
    put(h, (unsigned)(2 * n), 2);
    for (size_t i = 0; i < n; i++)
        put(h, ciphers[i], 2);
    put(h, 0x0100, 2); /* one compression: none */
    put(h, 0, 2);
    extension(h, 10, groups, sizeof(groups) / sizeof(*groups));
    extension(h, 13, signatures, sizeof(signatures) / sizeof(*signatures));
    close_at(h, 9 + 2 + 32 + 1 + 2 + 2 * n + 2 + 2);
    close_at(h, 9);
    close_at(h, 5);
}

/* 1: it goes on, 0: it does not, -1: it cannot be reached. */
static int takes(struct doctor *d, unsigned version, const unsigned *ciphers, size_t n)
{
    unsigned char answer[ROOM];
    struct hello h;
    struct status st;
    ssize_t got;
    int fd;

    status_init(&st, d->arena);
    fd = dial(d->arena, d->to.host, d->to.port, DOCTOR_CALL_MS / 1000, &st);
    if (fd < 0)
        return -1;
    say_hello(&h, version, ciphers, n);
    got = send(fd, h.at, h.n, MSG_NOSIGNAL) == (ssize_t)h.n ? recv(fd, answer, ROOM, 0) : 0;
    (void)close(fd);
    return got > 0 && answer[0] == RECORD_HANDSHAKE;
}

struct doctor_finding doctor_ciphers(struct doctor *d)
{
    /* ECDHE with AES-GCM or ChaCha20; then RC4, 3DES, CBC and such without forward secrecy. */
    static const unsigned strong[] = { 0xc02b, 0xc02c, 0xc02f, 0xc030, 0xcca8, 0xcca9 };
    static const unsigned weak[] = { 0x0004, 0x0005, 0x000a, 0x002f, 0x0033, 0x0035, 0x003c,
                                     0x003d, 0x009c, 0x009d, 0xc008, 0xc009, 0xc00a, 0xc011,
                                     0xc012, 0xc013, 0xc014, 0xc023, 0xc024, 0xc027, 0xc028 };
    enum { STRONG = sizeof(strong) / sizeof(*strong), WEAK = sizeof(weak) / sizeof(*weak) };

    if (d->to.proxy_host.n)
        return doctor_unseen("there is a proxy between");
    if (!d->to.tls)
        return doctor_fails(d, "the server is asked without TLS");
    if (takes(d, 0x0303, strong, STRONG) != 1)
        return doctor_fails(d, "no hello of TLS 1.2 with strong ciphers is answered");
    if (takes(d, 0x0303, weak, WEAK) != 0)
        return doctor_fails(d, "a cipher without forward secrecy, CBC or older, is taken");
    if (takes(d, 0x0302, weak, WEAK) != 0)
        return doctor_fails(d, "TLS 1.1 is taken");
    return doctor_holds(d, "TLS 1.1 and %d weak ciphers are refused", WEAK);
}
