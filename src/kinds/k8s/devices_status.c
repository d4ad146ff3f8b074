/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/devices_status.h"

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/conditions.h"
#include "kinds/k8s/devices_check.h"
#include "kinds/k8s/podspec.h"

enum {
    RESULTS_MAX = 32,
    USERS_MAX = 256,
    CONDITIONS_MAX = 8,
    INTERFACE_MAX = 256,
    HARDWARE_MAX = 128,
    ADDRESSES_MAX = 16,
};

/* ---- names of requests ---- */

void devices_gather_names(struct arena *a, const struct json *spec, struct map *names)
{
    json_for_each (r, json_path(spec, "devices.requests")) {
        str name = json_get_str(r, "name");

        (void)site_seen(names, name);
        json_for_each (way, json_get(r, STR("firstAvailable")))
            (void)site_seen(names, str_printf(a, "%.*s/%.*s", STR_ARG(name),
                                              STR_ARG(json_get_str(way, "name"))));
    }
}

void devices_check_mention(struct status *st, const struct site *name, const struct map *names)
{
    static const char *const why = "must be the name of a request in the claim or the name of a "
                                   "request and a subrequest separated by '/'";
    str rest = json_str(name->v), all = rest, part;
    size_t slashes = 0;

    for (size_t i = 0; i < all.n; i++)
        slashes += all.p[i] == '/';
    if (slashes > 1) {
        site_invalid(st, name, why);
        return;
    }
    do {
        ptrdiff_t slash = str_find(rest, '/', 0);
        struct json text;
        struct site shown = *name;

        part = slash < 0 ? rest : str_sub(rest, 0, (size_t)slash);
        rest = slash < 0 ? STR_NONE : str_from(rest, (size_t)slash + 1);
        text = json_of_str(part);
        shown.v = &text;
        (void)site_name(st, &shown, NAME_LABEL);
    } while (slashes--);
    if (!map_get(names, all))
        site_invalid(st, name, why);
}

/* ---- devices ---- */

static void check_names(struct status *st, const struct site *at)
{
    struct site driver = site_word_in(at, "driver"), pool = site_word_in(at, "pool");
    struct site device = site_word_in(at, "device");

    devices_check_driver(st, &driver);
    devices_check_pool(st, &pool);
    (void)site_name(st, &device, NAME_LABEL);
}

/* As Kubernetes shows it, which is as good a key as another. */
static const struct json *device_id(struct arena *a, const struct json *device)
{
    static const char *const members[][2] = {
        { "Driver", "driver" }, { "Pool", "pool" }, { "Device", "device" }, { "ShareID", "shareID" }
    };
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        json_add(&o, str_of(members[i][0]), json_of_str(json_get_str(device, members[i][1])));
    return json_object_done(&o);
}

/* An address with the length of its prefix. */
static void check_interface(struct status *st, const struct site *address)
{
    str text = json_str(address->v);
    ptrdiff_t slash = str_find(text, '/', 0);
    int family = slash < 0 ? 0 : site_ip_family(str_sub(text, 0, (size_t)slash));
    uint64_t bits = 0;

    if (!family || !str_to_u64(str_from(text, (size_t)slash + 1), &bits) ||
        bits > (family == 4 ? 32 : 128))
        site_invalid(st, address,
                     "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)");
}

static void check_network(struct status *st, const struct site *net)
{
    struct site name = site_in(net, "interfaceName"), hardware = site_in(net, "hardwareAddress");
    struct site addresses = site_in(net, "ips");
    struct map seen = { 0 };

    if (json_str(name.v).n > INTERFACE_MAX)
        site_fault(st, &name, CAUSE_TOO_LONG, "may not be more than %d bytes", INTERFACE_MAX);
    if (json_str(hardware.v).n > HARDWARE_MAX)
        site_fault(st, &hardware, CAUSE_TOO_LONG, "may not be more than %d bytes", HARDWARE_MAX);
    devices_check_count(st, &addresses, ADDRESSES_MAX);
    site_each(ip, &addresses) check_interface(st, &ip);
    site_each(ip, &addresses) if (site_seen_any(&seen, json_str(ip.v))) site_duplicate(st, &ip);
    map_release(&seen);
}

static void check_devices(struct status *st, const struct site *list, const struct map *given)
{
    struct map seen = { 0 };

    site_each(d, list)
    {
        struct site conditions = site_in(&d, "conditions"), net = site_in(&d, "networkData");
        struct site shown = d;

        shown.v = device_id(st->arena, d.v);
        check_names(st, &d);
        if (!map_get(given, json_text(st->arena, shown.v)))
            site_invalid(st, &shown, "must be an allocated device in the claim");
        conditions_check(st, &conditions);
        devices_check_count(st, &conditions, CONDITIONS_MAX);
        check_network(st, &net);
        if (site_seen(&seen, json_text(st->arena, shown.v)))
            site_duplicate(st, &shown);
    }
    map_release(&seen);
}

/* ---- what was allocated ---- */

static void check_config(struct status *st, const struct site *config, const struct map *names)
{
    static const char *const sources[] = { "FromClaim", "FromClass", NULL };
    struct site source = site_word_in(config, "source"), requests = site_in(config, "requests");
    struct map seen = { 0 };

    if (!site_required(st, &source))
        site_enum(st, &source, sources);
    devices_check_count(st, &requests, RESULTS_MAX);
    site_each(name, &requests) devices_check_mention(st, &name, names);
    site_each(name, &requests) if (site_seen(&seen, json_str(name.v))) site_duplicate(st, &name);
    map_release(&seen);
    devices_check_opaque(st, config);
}

static void check_allocation(struct status *st, const struct site *allocation,
                             const struct json *obj)
{
    struct site devices = site_in(allocation, "devices"), results = site_in(&devices, "results");
    struct site configs = site_in(&devices, "config"), nodes = site_in(allocation, "nodeSelector");
    struct map names = { 0 };

    devices_gather_names(st->arena, json_get(obj, STR("spec")), &names);
    devices_check_count(st, &results, RESULTS_MAX);
    site_each(r, &results)
    {
        struct site request = site_word_in(&r, "request");

        devices_check_mention(st, &request, &names);
        check_names(st, &r);
    }
    devices_check_count(st, &configs, 2 * RESULTS_MAX); /* k8s: of the class and of the claim */
    site_each(config, &configs) check_config(st, &config, &names);
    if (nodes.v)
        podspec_check_node_selector(st, &nodes);
    map_release(&names);
}

static void check_users(struct status *st, const struct site *list)
{
    static const char *const needed[] = { "resource", "name", "uid" };
    struct map seen = { 0 };

    site_each(user, list)
    {
        struct site shown = user;

        for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
            struct site word = site_in(&user, needed[i]);

            (void)site_required(st, &word);
        }
        shown.v = json_get(user.v, STR("uid"));
        if (site_seen(&seen, json_str(shown.v)))
            site_duplicate(st, &shown);
    }
    map_release(&seen);
}

void devices_check_status(struct status *st, const struct json *obj, const struct json *old)
{
    struct site root = site_root(obj), status = site_in(&root, "status");
    struct site users = site_in(&status, "reservedFor"), devices = site_in(&status, "devices");
    struct site allocation = site_in(&status, "allocation");
    const struct json *was = json_path(old, "status.allocation");
    struct map given = { 0 };

    json_for_each (r, json_path(allocation.v, "devices.results"))
        (void)site_seen(&given, json_text(st->arena, device_id(st->arena, r)));
    devices_check_count(st, &users, USERS_MAX);
    check_users(st, &users);
    check_devices(st, &devices, &given);
    map_release(&given);
    if (json_len(users.v) && !allocation.v)
        site_forbidden(st, &users, "may not be specified when `allocated` is not set");
    if (allocation.v && was)
        check_immutable(st, "status.allocation", obj, old);
    else if (allocation.v)
        check_allocation(st, &allocation, obj);
}
