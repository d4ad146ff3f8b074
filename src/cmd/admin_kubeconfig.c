/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/admin_kubeconfig.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "cmd/key_file.h"
#include "cmd/options.h"
#include "http/address.h"

static int not_readable(const char *path, struct status *st)
{
    if (errno != ENOENT && errno != ENOTDIR)
        return status_errno(st, errno,
                            "cannot read %s; run this as root or as the user of the server, or say "
                            "--kubeconfig FILE",
                            path);
    return status_set(st, REASON_NOT_FOUND,
                      "there is no %s; say --kubeconfig FILE or set KUBECONFIG (kairship up writes "
                      "admin.kubeconfig into its data folder, --data-dir; kairship login writes "
                      "~/.kube/config)",
                      path);
}

int admin_kubeconfig_of(struct arena *a, const char *dir, const char *context,
                        struct kubeconfig *out, struct status *st)
{
    const char *path = arena_printf(a, "%s/admin.kubeconfig", dir);
    str of = str_of(context ? context : "");
    struct stat about;
    secret text;

    if (access(path, R_OK) < 0 || stat(dir, &about) < 0)
        return not_readable(path, st);
    if (about.st_uid == geteuid())
        return kubeconfig_load(a, path, of, out, st);
    if (key_file_read(a, path, &text, st) < 0)
        return -1;
    if (kubeconfig_parse(a, text, KUBECONFIG_OBJECT, STR_NONE, of, out, st) < 0)
        return status_wrap(st, "%s belongs to another user and may hold inline data only", path);
    return 0;
}

int admin_kubeconfig(struct arena *a, const char *path, const char *context, struct kubeconfig *out,
                     struct status *st)
{
    const char *env = getenv("KUBECONFIG");

    if ((path && *path) || (env && *env))
        return kubeconfig_load(a, path, str_of(context ? context : ""), out, st);
    return admin_kubeconfig_of(a, options_server.data_dir, context, out, st);
}

int admin_kubeconfig_elsewhere(struct arena *a, struct client *c, const struct kubeconfig *k,
                               str instance, str *url, struct status *st)
{
    const struct client_request ask = {
        .method = STR("GET"),
        .path = instance.n ? str_printf(a, "/clusters/%.*s/api", STR_ARG(instance)) : STR("/api")
    };
    const struct json *api;
    str advertised = STR_NONE;
    struct host_port to;

    *url = STR_NONE;
    if (!address_is_loopback(k->host))
        return 0;
    if (client_do(c, a, &ask, &api, st) < 0)
        return -1;
    json_for_each (place, json_get(api, STR("serverAddressByClientCIDRs")))
        if (!advertised.n)
            advertised = json_get_str(place, "serverAddress");
    if (!advertised.n) /* by an older server */
        return 0;
    if (address_parse(advertised, &to, st) < 0)
        return status_wrap(st, "the server advertises %.*s", STR_ARG(advertised));
    if (!address_is_loopback(to.host))
        *url = str_printf(a, "https://%.*s", STR_ARG(advertised));
    return 0;
}
