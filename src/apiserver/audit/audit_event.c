/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/audit/audit_event.h"

#include <arpa/inet.h>

#include "apiserver/audit/audit_redact.h"
#include "base/banned.h"
#include "base/clock.h"
#include "base/encode.h"
#include "rest/rest.h"
#include "json/scan.h"

enum { URI_MAX = 16 << 10, GROUPS_MAX = 256, NOTE_MAX = 10 << 10, NAME_BYTES = 1024 };
enum { BARE_MAX = 4 << 20 }; /* more than a request without its body can say */
enum { LINE = 2000 };        /* what nearly all have room in */

/* ---- filling in ---- */

void audit_note(struct audit_event *e, str key, str value)
{
    size_t at = e->nnotes;

    if (e->nnotes == AUDIT_NOTES)
        return;
    while (at > 0 && str_cmp(e->notes[at - 1].key, key) > 0)
        at--;
    if (at > 0 && str_eq(e->notes[at - 1].key, key))
        return;
    memmove(&e->notes[at + 1], &e->notes[at], (e->nnotes - at) * sizeof(*e->notes));
    e->notes[at] = (struct audit_note){ key, value };
    e->nnotes++;
}

static bool is_address(str s)
{
    char z[INET6_ADDRSTRLEN];
    struct in6_addr to;

    if (s.n == 0 || s.n >= sizeof(z))
        return false;
    memcpy(z, s.p, s.n);
    z[s.n] = '\0';
    return inet_pton(AF_INET, z, &to) == 1 || inet_pton(AF_INET6, z, &to) == 1;
}

str audit_address(str remote)
{
    size_t n = remote.n;

    while (n > 0 && remote.p[n - 1] != ':')
        n--;
    if (n == 0)
        return remote;
    remote = str_sub(remote, 0, n - 1);
    return str_starts(remote, STR("[")) ? str_sub(remote, 1, remote.n - 2) : remote;
}

/* k8s: apimachinery/pkg/util/net/http.go SourceIPs */
void audit_sources(struct audit_event *e, str forwarded, str real_ip, str remote)
{
    bool seen = false;
    str part;

    for (str rest = forwarded; rest.n && str_split(&rest, ',', &part);) {
        part = str_trim(part);
        if (is_address(part) && e->nsources + 2 < AUDIT_SOURCES)
            e->sources[e->nsources++] = part;
    }
    real_ip = str_trim(real_ip);
    for (size_t i = 0; i < e->nsources; i++)
        seen = seen || str_eq(e->sources[i], real_ip);
    if (!seen && is_address(real_ip))
        e->sources[e->nsources++] = real_ip;
    remote = audit_address(remote);
    if (is_address(remote) && (!e->nsources || !str_eq(e->sources[e->nsources - 1], remote)))
        e->sources[e->nsources++] = remote;
}

/* ---- printing ---- */

/* Bytes that are not UTF-8 would make the line no JSON. */
static void print_string(struct buf *b, str s)
{
    char *to = buf_reserve(b, s.n + 2);

    if (to && scan_copy_ascii(to + 1, s)) { /* as nearly all */
        to[0] = to[s.n + 1] = '"';
        b->n += s.n + 2;
        return;
    }
    if (str_utf8_valid(s)) {
        json_print_string(b, s);
        return;
    }
    buf_byte(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
            buf_byte(b, (char)c);
        else
            buf_printf(b, "\\u%04x", c);
    }
    buf_byte(b, '"');
}

/* ,"name":"value"; the name with what stands around it is a literal. */
static void print_member(struct buf *b, str name, str value)
{
    if (!value.n)
        return;
    buf_str_append(b, name);
    print_string(b, str_sub(value, 0, URI_MAX));
}
#define MEMBER(b, name, value) print_member((b), STR(",\"" name "\":"), (value))

static void print_strings(struct buf *b, const str *list, size_t n)
{
    buf_byte(b, '[');
    for (size_t i = 0; i < n && i < GROUPS_MAX; i++) {
        if (i)
            buf_byte(b, ',');
        print_string(b, list[i]);
    }
    buf_byte(b, ']');
}

/* k8s: authentication/v1 UserInfo */
static void print_user(struct buf *b, const struct identity *who)
{
    size_t at = b->n;

    if (who) {
        MEMBER(b, "username", who->user);
        MEMBER(b, "uid", who->uid);
        if (who->ngroups) {
            buf_lit(b, ",\"groups\":");
            print_strings(b, who->groups, who->ngroups);
        }
        for (size_t i = 0; i < who->nextra; i++) {
            buf_str_append(b, i ? STR(",") : STR(",\"extra\":{"));
            print_string(b, who->extra[i].key);
            buf_byte(b, ':');
            print_strings(b, who->extra[i].values, who->extra[i].nvalues);
        }
        if (who->nextra)
            buf_byte(b, '}');
    }
    if (b->n == at)
        buf_byte(b, '{');
    else if (!buf_overflown(b))
        b->p[at] = '{'; /* in place of the first comma */
    buf_byte(b, '}');
}

/* However it is written. */
static bool is_credential(struct arena *a, str name)
{
    static const char *const ends[] = { "token", "password", "kubeconfig", "secret", "api_key" };
    str plain;

    if (!percent_decode(a, PERCENT_QUERY, name, &plain))
        plain = name;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        str end = str_of(ends[i]);

        if (plain.n >= end.n && str_eq_nocase(str_from(plain, plain.n - end.n), end))
            return true;
    }
    return false;
}

/* The query as sent, but for values that could be a credential: nobody should send one there. */
static str shown_query(struct arena *a, str query)
{
    scoped_buf b = { .max = URI_MAX };
    bool any = false;
    str part, name;

    for (str rest = query; rest.n && str_split(&rest, '&', &part);) {
        str value = part;

        (void)str_split(&value, '=', &name);
        if (b.n)
            buf_byte(&b, '&');
        if (is_credential(a, name)) {
            buf_str_append(&b, name);
            buf_lit(&b, "=" AUDIT_REDACTED);
            any = true;
        } else {
            buf_str_append(&b, part);
        }
    }
    return any ? str_dup(a, buf_str(&b)) : query;
}

static void print_uri(struct arena *a, struct buf *b, const struct audit_event *e)
{
    str path = str_sub(e->path, 0, URI_MAX);
    str query = shown_query(a, str_sub(e->query, 0, URI_MAX));
    char *uri;

    buf_lit(b, ",\"requestURI\":");
    if (!query.n) {
        print_string(b, path);
        return;
    }
    uri = arena_alloc(a, path.n + 1 + query.n);
    memcpy(uri, path.p, path.n);
    uri[path.n] = '?';
    memcpy(uri + path.n + 1, query.p, query.n);
    print_string(b, (str){ uri, path.n + 1 + query.n });
}

static str or_else(str a, str b)
{
    return a.n ? a : b;
}

static void print_object_ref(struct buf *b, const struct audit_event *e)
{
    const struct reqinfo *i = e->info;
    size_t at;

    if (!i->is_resource)
        return;
    buf_lit(b, ",\"objectRef\":");
    at = b->n;
    MEMBER(b, "resource", i->resource);
    MEMBER(b, "namespace", or_else(i->namespace_, e->namespace_));
    MEMBER(b, "name", or_else(i->name, e->name));
    MEMBER(b, "uid", e->uid);
    MEMBER(b, "apiGroup", i->group);
    MEMBER(b, "apiVersion", i->version);
    MEMBER(b, "resourceVersion", e->revision);
    MEMBER(b, "subresource", i->subresource);
    if (buf_overflown(b))
        return;
    if (b->n == at)
        buf_byte(b, '{');
    else
        b->p[at] = '{';
    buf_byte(b, '}');
}

/* Returns whether the error message may quote a secret: the bodies are secrets and the code is one
 * whose message may quote them. */
static bool quotes_secrets(const struct audit_event *e)
{
    int code = status_http(e->failure);

    return audit_is_sensitive(e->info) && code != 401 && code != 403 && code != 404 &&
           code != 409 && code != 429;
}

static void print_response_status(struct buf *b, const struct audit_event *e)
{
    static const char type[] = "\"kind\":\"Status\",\"apiVersion\":\"v1\",";
    size_t at;

    if (!e->code)
        return;
    buf_lit(b, ",\"responseStatus\":");
    if (!e->failure || e->message.n || quotes_secrets(e)) {
        buf_lit(b, "{\"metadata\":{}");
        if (e->failure && !e->message.n) {
            buf_lit(b, ",\"status\":\"Failure\",\"message\":\"" AUDIT_REDACTED "\"");
            MEMBER(b, "reason", str_of(status_reason(e->failure)));
        }
        MEMBER(b, "message", e->message);
        buf_lit(b, ",\"code\":");
        buf_i64(b, e->code);
        buf_byte(b, '}');
        return;
    }
    at = b->n + 1; /* behind the brace */
    rest_status_print(b, e->failure);
    if (buf_overflown(b))
        return;
    memmove(b->p + at, b->p + at + sizeof(type) - 1, b->n - at - (sizeof(type) - 1));
    b->n -= sizeof(type) - 1;
}

static void print_bodies(struct arena *a, struct buf *b, const struct audit_event *e)
{
    bool omit = e->decision.omit_managed_fields;
    const struct json *v;
    struct status st;

    if (!e->info->is_resource)
        return;
    if (e->sent && e->decision.level >= AUDIT_REQUEST && e->stage != AUDIT_RECEIVED) {
        buf_lit(b, ",\"requestObject\":");
        json_print(b, audit_redact(a, e->sent, e->info, omit));
    }
    status_init(&st, a);
    if (e->answered.n && e->decision.level >= AUDIT_REQUEST_RESPONSE &&
        !(e->failure && quotes_secrets(e)) && json_parse(a, e->answered, NULL, &v, &st) == 0) {
        buf_lit(b, ",\"responseObject\":");
        json_print(b, audit_redact(a, v, e->info, omit));
    }
}

static void print_notes(struct buf *b, const struct audit_event *e, bool cut)
{
    bool first = true;

    for (size_t i = 0; i < e->nnotes; i++) {
        buf_str_append(b, first ? STR(",\"annotations\":{") : STR(","));
        first = false;
        print_string(b, str_sub(e->notes[i].key, 0, NAME_BYTES));
        buf_byte(b, ':');
        print_string(b, str_sub(e->notes[i].value, 0, cut ? NAME_BYTES : NOTE_MAX));
    }
    if (cut)
        buf_str_append(b, first ? STR(",\"annotations\":{\"audit.k8s.io/truncated\":\"true\"")
                                : STR(",\"audit.k8s.io/truncated\":\"true\""));
    if (!first || cut)
        buf_byte(b, '}');
}

static void print_time(struct buf *b, str name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    buf_str_append(b, name);
    buf_append(b, text, time_format_micro(text, us));
    buf_byte(b, '"');
}

static void print_event(struct arena *a, const struct audit_event *e, bool cut, struct buf *b)
{
    buf_lit(b, "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\"");
    MEMBER(b, "level", str_of(audit_level_name(e->decision.level)));
    MEMBER(b, "auditID", e->id);
    MEMBER(b, "stage", str_of(audit_stage_name(e->stage)));
    print_uri(a, b, e);
    buf_lit(b, ",\"verb\":");
    print_string(b, e->info->verb);
    buf_lit(b, ",\"user\":");
    print_user(b, e->user);
    if (e->impersonated) {
        buf_lit(b, ",\"impersonatedUser\":");
        print_user(b, e->impersonated);
    }
    if (e->nsources) {
        buf_lit(b, ",\"sourceIPs\":");
        print_strings(b, e->sources, e->nsources);
    }
    MEMBER(b, "userAgent", e->agent);
    print_object_ref(b, e);
    print_response_status(b, e);
    if (!cut)
        print_bodies(a, b, e);
    print_time(b, STR(",\"requestReceivedTimestamp\":\""), e->received_us);
    print_time(b, STR(",\"stageTimestamp\":\""), e->stage_us);
    print_notes(b, e, cut);
    buf_byte(b, '}');
}

void audit_event_print(struct arena *a, const struct audit_event *e, struct buf *out)
{
    buf_init(out, AUDIT_EVENT_MAX);
    (void)buf_reserve(out, LINE);
    print_event(a, e, false, out);
    if (!buf_overflown(out))
        return;
    buf_clear(out);
    out->max = BARE_MAX;
    print_event(a, e, true, out);
}
