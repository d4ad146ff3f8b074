/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/reach.h"

#include <stdio.h>

#include "base/banned.h"
#include "object/meta/names.h"

/* ---- options ---- */

static bool is_url(str text)
{
    return str_find(text, '/', 0) >= 0;
}

/* A name or an IP address, in the form that certificates are compared in. */
static int parse_host(struct arena *a, str text, bool wildcard, str *out, struct status *st)
{
    str name = str_lower(a, text);

    if (wildcard && str_starts(name, STR("*.")))
        name = str_from(name, 2);
    if (is_url(text))
        return status_set(st, REASON_BAD_REQUEST,
                          "give a name or an address, as kairship.example.com, not a URL");
    if (address_is_ip(text) && (address_is_any(text) || address_is_link_local(text)))
        return status_set(st, REASON_BAD_REQUEST,
                          "%.*s is not an address that clients can connect to", STR_ARG(text));
    if (address_normal(a, text, out))
        return 0;
    if (!name_is_valid(NAME_SUBDOMAIN, name))
        return status_set(st, REASON_BAD_REQUEST, "\"%.*s\" is neither a name nor an address",
                          STR_ARG(text));
    *out = str_lower(a, text);
    return 0;
}

/* "NAME", "ADDRESS", and both with ":PORT". */
static int parse_advertised(struct arena *a, str text, struct host_port *out, struct status *st)
{
    struct host_port r = { .host = text };

    if (str_starts(text, STR("[")) && str_ends(text, STR("]"))) {
        r.host = str_sub(text, 1, text.n - 2);
    } else if (!address_is_ip(text) && !is_url(text) && str_find(text, ':', 0) >= 0) {
        if (address_parse(text, &r, st) < 0)
            return -1;
        if (r.port == 0)
            return status_set(st, REASON_BAD_REQUEST,
                              "clients cannot connect to port 0; leave it out to take that of "
                              "--listen");
    }
    if (parse_host(a, r.host, false, &r.host, st) < 0)
        return -1;
    *out = r;
    return 0;
}

int reach_parse(struct arena *a, const char *listen, const struct option_list *advertise,
                const struct option_list *sans, const char *machine, struct reach_options *out,
                struct status *st)
{
    struct reach_options r = { 0 };

    if (address_parse(str_of(listen), &r.listen, st) < 0)
        return status_wrap(st, "--listen %s", listen);
    r.any = address_is_any(r.listen.host);
    (void)address_normal(a, r.listen.host, &r.listen.host);
    for (; r.nadvertise < advertise->n; r.nadvertise++)
        if (parse_advertised(a, str_of(advertise->items[r.nadvertise]), &r.advertise[r.nadvertise],
                             st) < 0)
            return status_wrap(st, "--advertise %s", advertise->items[r.nadvertise]);
    for (; r.nsans < sans->n; r.nsans++)
        if (parse_host(a, str_of(sans->items[r.nsans]), true, &r.sans[r.nsans], st) < 0)
            return status_wrap(st, "--tls-san %s", sans->items[r.nsans]);
    r.machine = str_lower(a, str_of(machine));
    if (!name_is_valid(NAME_SUBDOMAIN, r.machine))
        r.machine = STR_NONE;
    *out = r;
    return 0;
}

/* ---- interfaces ---- */

static const struct link *link_at(const struct links *l, int index)
{
    for (size_t i = 0; i < l->nlinks; i++)
        if (l->links[i].index == index)
            return &l->links[i];
    return NULL;
}

/*
 * What the kernel made for containers, virtual machines and overlays on this machine.  It says of
 * no veth which end is the host's: in a container it is the way out, so there the name decides.
 */
static const struct {
    const char *kind, *name; /* "": any name */
} inner[] = {
    { "dummy", "" },    { "vxlan", "" },    { "geneve", "" },  { "ipip", "" },
    { "veth", "veth" }, { "veth", "cali" }, { "veth", "lxc" }, { "wireguard", "flannel" },
};

static bool is_inner(const struct link *l)
{
    for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++)
        if (str_is(l->kind, inner[i].kind) && str_starts(l->name, str_of(inner[i].name)))
            return true;
    return false;
}

/* Kinds of ports that lead out of the machine; hardware has no kind. */
static bool leads_out(const struct link *port)
{
    static const char *const ways[] = { "", "bond", "team", "vlan", NULL };

    return str_is_any(port->kind, ways);
}

/* A bridge without a port that leads out joins containers (docker0, br-…, cni0, virbr0). */
static bool is_bridge_inside(const struct links *all, const struct link *l)
{
    if (!str_is(l->kind, "bridge"))
        return false;
    for (size_t i = 0; i < all->nlinks; i++)
        if (all->links[i].master == l->index && leads_out(&all->links[i]))
            return false;
    return true;
}

static bool counts(const struct reach_options *o, const struct links *all,
                   const struct link_address *d)
{
    const struct link *l = link_at(all, d->index);
    bool listened = str_find(o->listen.host, '.', 0) < 0 || !address_is_v6(d->ip);

    return l && l->up && !l->loopback && d->global && !d->passing && listened &&
           !address_is_link_local(d->ip) && !address_is_loopback(d->ip) && !is_inner(l) &&
           !is_bridge_inside(all, l);
}

/* ---- names ---- */

struct list {
    str *items;
    size_t n;
};

static void add(struct list *l, str name)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->items[i], name))
            return;
    if (name.n)
        l->items[l->n++] = name;
}

/* Where the server answers under an address of its own, without anybody having named one. */
static void add_open(const struct reach_options *o, const struct links *links, struct list *open)
{
    for (size_t i = 0; o->any && i < links->naddresses && open->n < REACH_ADDRESSES_MAX; i++)
        if (counts(o, links, &links->addresses[i]))
            add(open, links->addresses[i].ip);
    if (!o->any && !address_is_loopback(o->listen.host))
        add(open, o->listen.host);
}

void reach_find(struct arena *a, const struct reach_options *o, const struct links *links,
                struct reach *out)
{
    static const str always[] = { STR_INIT("localhost"), STR_INIT("127.0.0.1"), STR_INIT("::1"),
                                  STR_INIT("kubernetes"), STR_INIT("kubernetes.default.svc") };
    enum { ALWAYS = sizeof(always) / sizeof(*always) };
    struct list open = { arena_array(a, str, REACH_ASKED_MAX + REACH_ADDRESSES_MAX), 0 };
    struct list names = {
        arena_array(a, str, ALWAYS + 2 * REACH_ASKED_MAX + REACH_ADDRESSES_MAX + 2), 0
    };
    struct host_port here = { .host = o->any ? STR("127.0.0.1") : o->listen.host };

    for (size_t i = 0; i < o->nadvertise; i++)
        add(&open, o->advertise[i].host);
    if (o->nadvertise == 0)
        add_open(o, links, &open);
    for (size_t i = 0; i < ALWAYS; i++)
        add(&names, always[i]);
    add(&names, here.host);
    if (o->any && o->nadvertise == 0)
        add(&names, o->machine);
    for (size_t i = 0; i < open.n; i++)
        add(&names, open.items[i]);
    for (size_t i = 0; i < o->nsans; i++)
        add(&names, o->sans[i]);
    *out = (struct reach){ .names = names.items,
                           .nnames = names.n,
                           .open = open.items,
                           .nopen = open.n,
                           .here = here,
                           .admin = here,
                           .advertised = here };
    if (o->nadvertise)
        out->advertised = out->admin = o->advertise[0];
    else if (open.n)
        out->advertised.host = open.items[0];
}

str reach_print(struct arena *a, struct host_port to, unsigned port)
{
    return address_print(a, to.host, to.port ? to.port : port);
}

static struct host_port open_at(const struct reach_options *o, const struct reach *r, size_t i)
{
    return o->nadvertise ? o->advertise[i] : (struct host_port){ .host = r->open[i] };
}

void reach_greet(const struct reach_options *o, const struct reach *r, unsigned port)
{
    enum { SHOWN = 4 };
    size_t n = o->nadvertise ? o->nadvertise : r->nopen;
    scoped_arena a = arena_new();

    printf("Clients: ");
    if (n == 0)
        printf("this machine only; --listen 0.0.0.0:%u for others", port);
    for (size_t i = 0; i < n && i < SHOWN; i++)
        printf("%shttps://%.*s", i ? ", " : "", STR_ARG(reach_print(a, open_at(o, r, i), port)));
    if (n > SHOWN)
        printf(" and %zu more addresses", n - SHOWN);
    printf("\n");
}
