/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/outbound/front_proxy.h"

#include "apiserver/call/internal.h"
#include "base/banned.h"

enum { CERTIFICATE_DAYS = 30 };

/* The certificate's name for the instance with that uid. */
static str front_proxy_name(struct arena *a, str instance_uid)
{
    return str_printf(a, "front-proxy:%.*s", STR_ARG(instance_uid));
}

int front_proxy_sign(struct server *s, struct arena *a, str instance_uid, struct pki_pair *out,
                     struct status *st)
{
    struct pki_request req = { .cn = front_proxy_name(a, instance_uid),
                               .now_s = clock_wall_s(clock_real()), /* as who checks it has */
                               .days = CERTIFICATE_DAYS };

    return pki_sign(a, &s->front_ca, &req, out, st);
}

static struct json list_text(struct arena *a, str one)
{
    return json_of_str(str_printf(a, "[\"%.*s\"]", STR_ARG(one)));
}

struct json front_proxy_config(struct server *s, struct arena *a, str instance_uid)
{
    struct json_object o = json_object_new(a);

    /* No client-ca-file: our authorities of clients are those of all instances. */
    json_add(&o, STR("requestheader-allowed-names"),
             list_text(a, front_proxy_name(a, instance_uid)));
    json_add(&o, STR("requestheader-client-ca-file"), json_of_str(s->front_ca.cert));
    json_add(&o, STR("requestheader-extra-headers-prefix"), list_text(a, STR("X-Remote-Extra-")));
    json_add(&o, STR("requestheader-group-headers"), list_text(a, STR("X-Remote-Group")));
    json_add(&o, STR("requestheader-uid-headers"), list_text(a, STR("X-Remote-Uid")));
    json_add(&o, STR("requestheader-username-headers"), list_text(a, STR("X-Remote-User")));
    return json_object_value(&o);
}

/* ---- headers ---- */

static int add(struct arena *a, struct http_header *h, size_t *n, size_t end, str name, str value,
               struct status *st)
{
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < 0x20 || value.p[i] == 0x7f)
            return status_set(st, REASON_FORBIDDEN,
                              "a user, group or extra value of this name cannot be told to an "
                              "aggregated API server");
    if (*n == end)
        return status_set(st, REASON_FORBIDDEN,
                          "a user of so many groups cannot be told to an aggregated API server");
    h[(*n)++] = (struct http_header){ name, str_dup(a, value) };
    return 0;
}

/* As a header's name; what does not fit there is written by its bytes.  k8s: headerKeyEscape */
static str extra_name(struct arena *a, str key)
{
    scoped_buf b = { .max = 8 << 10 };

    buf_lit(&b, "x-remote-extra-");
    for (size_t i = 0; i < key.n; i++) {
        unsigned char ch = (unsigned char)key.p[i];

        if ((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') ||
            (ch && strchr("!#$&'*+-.^_`|~", ch)))
            buf_byte(&b, (char)ch);
        else
            buf_printf(&b, "%%%02x", ch);
    }
    return str_dup(a, buf_str(&b));
}

int front_proxy_headers(struct arena *a, const struct identity *who, struct http_header *h,
                        size_t *n, struct status *st)
{
    size_t end = *n + FRONT_PROXY_HEADERS;

    if (!who->user.n)
        return status_set(st, REASON_INTERNAL, "missing user");
    if (add(a, h, n, end, STR("x-remote-user"), who->user, st) < 0 ||
        (who->uid.n && add(a, h, n, end, STR("x-remote-uid"), who->uid, st) < 0))
        return -1;
    for (size_t i = 0; i < who->ngroups; i++)
        if (add(a, h, n, end, STR("x-remote-group"), who->groups[i], st) < 0)
            return -1;
    for (size_t i = 0; i < who->nextra; i++)
        for (size_t v = 0; v < who->extra[i].nvalues; v++)
            if (add(a, h, n, end, extra_name(a, who->extra[i].key), who->extra[i].values[v], st) <
                0)
                return -1;
    return 0;
}
