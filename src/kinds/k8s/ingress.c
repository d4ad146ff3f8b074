/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* k8s: pkg/apis/networking/validation, pkg/registry/networking/ingress and ingressclass */

#define CLASS_ANNOTATION "kubernetes.io/ingress.class"

enum { HOSTS_SHOWN = 3 };

/* ---- ingresses ---- */

/* Of a rule; what a certificate is for may be anything that is a name. */
static void check_host(struct status *st, const struct site *host, bool rule)
{
    str name = json_str(host->v);

    if (rule && site_ip_family_loose(name))
        site_invalid(st, host, "must be a DNS name, not an IP address");
    if (!str_starts(name, STR("*."))) {
        (void)site_name(st, host, NAME_SUBDOMAIN);
        return;
    }
    if (!name_is_valid(NAME_SUBDOMAIN, str_from(name, 2)))
        site_invalid(st, host,
                     "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
                     "subdomain");
}

static void check_service_port(struct status *st, const struct site *backend,
                               const struct site *service)
{
    struct site port = site_in(service, "port"), name = site_in(&port, "name");
    struct site number = site_in(&port, "number");

    if (name.v && number.v)
        site_invalid(st, backend, "cannot set both port name & port number");
    else if (name.v)
        site_port_name(st, &name);
    else if (number.v)
        site_port(st, &number);
    else
        site_missing(st, backend, "port name or number is required");
}

static void check_reference(struct status *st, const struct site *ref)
{
    struct site group = site_in(ref, "apiGroup"), kind = site_in(ref, "kind");
    struct site name = site_in(ref, "name");

    if (json_is(group.v, JSON_STRING))
        (void)site_name(st, &group, NAME_SUBDOMAIN);
    if (!site_required(st, &kind))
        (void)site_name(st, &kind, NAME_PATH);
    if (!site_required(st, &name))
        (void)site_name(st, &name, NAME_PATH);
}

static void check_backend(struct status *st, const struct site *backend)
{
    struct site service = site_in(backend, "service"), resource = site_in(backend, "resource");
    struct site name = site_in(&service, "name");

    if (service.v && resource.v) {
        site_invalid(st, backend, "cannot set both resource and service backends");
    } else if (resource.v) {
        check_reference(st, &resource);
    } else if (service.v) {
        if (!site_required(st, &name))
            (void)site_name(st, &name, NAME_LABEL_1035);
        check_service_port(st, backend, &service);
    } else {
        site_invalid(st, backend, "resource or service backend is required");
    }
}

static void check_absolute(struct status *st, const struct site *path)
{
    static const char *const inside[] = { "//", "/./", "/../", "%2f", "%2F" };
    static const char *const behind[] = { "/..", "/." };
    str text = json_str(path->v);

    for (size_t i = 0; i < GROUP_LEN(inside); i++)
        if (str_contains(text, str_of(inside[i])))
            site_fault(st, path, CAUSE_INVALID, "must not contain '%s'", inside[i]);
    for (size_t i = 0; i < GROUP_LEN(behind); i++)
        if (str_ends(text, str_of(behind[i])))
            site_fault(st, path, CAUSE_INVALID, "cannot end with '%s'", behind[i]);
}

static void check_path(struct status *st, const struct site *at)
{
    static const char *const types[] = { "Exact", "ImplementationSpecific", "Prefix", NULL };
    struct site path = site_in(at, "path"), type = site_in(at, "pathType");
    struct site backend = site_in(at, "backend");
    bool loose = str_is(json_str(type.v), "ImplementationSpecific");

    if (!type.v) {
        site_missing(st, &type, "pathType must be specified");
        return;
    }
    site_enum(st, &type, types);
    if (str_is(json_str(type.v), "Exact") || str_is(json_str(type.v), "Prefix") ||
        (loose && json_str(path.v).n)) {
        if (!str_starts(json_str(path.v), STR("/")))
            site_invalid(st, &path, "must be an absolute path");
        if (!loose)
            check_absolute(st, &path);
    }
    check_backend(st, &backend);
}

static void check_rules(struct status *st, const struct site *rules)
{
    site_each(rule, rules)
    {
        struct site host = site_in(&rule, "host"), http = site_in(&rule, "http");
        struct site paths = site_in(&http, "paths");

        if (host.v)
            check_host(st, &host, true);
        if (http.v && json_len(paths.v) == 0)
            site_missing(st, &paths, "");
        site_each(p, &paths) check_path(st, &p);
    }
}

static void check_tls(struct status *st, const struct site *list)
{
    site_each(t, list)
    {
        struct site hosts = site_in(&t, "hosts"), secret = site_in(&t, "secretName");

        site_each(h, &hosts) check_host(st, &h, false);
        if (json_str(secret.v).n)
            (void)site_name(st, &secret, NAME_SUBDOMAIN);
    }
}

static void check_points(struct status *st, const struct site *root)
{
    struct site status = site_in(root, "status"), lb = site_in(&status, "loadBalancer");
    struct site points = site_in(&lb, "ingress");

    site_each(p, &points)
    {
        struct site ip = site_in(&p, "ip"), host = site_in(&p, "hostname");

        site_ip(st, &ip);
        if (!json_str(host.v).n)
            continue;
        (void)site_name(st, &host, NAME_SUBDOMAIN);
        if (site_ip_family_loose(json_str(host.v)))
            site_invalid(st, &host, "must be a DNS name, not an IP address");
    }
}

static void ingress_validate(const struct kind_context *c, const struct json *obj,
                             struct status *st)
{
    struct site root = site_root(obj), meta = site_in(&root, "metadata");
    struct site notes = site_in(&meta, "annotations"), spec = site_in(&root, "spec");
    struct site rules = site_in(&spec, "rules"), backend = site_in(&spec, "defaultBackend");
    struct site tls = site_in(&spec, "tls"), class = site_in(&spec, "ingressClassName");
    const struct json *old_class = json_get(notes.v, STR(CLASS_ANNOTATION));
    struct site old = site_key(&notes, STR(CLASS_ANNOTATION), old_class);

    if (str_is(c->subresource, "status")) {
        check_points(st, &root);
        return;
    }
    if (c->create && class.v && old_class) {
        old.up = &notes;
        site_fault(st, &old, CAUSE_INVALID, "can not be set when the class field is also set");
    }
    if (json_len(rules.v) == 0 && !backend.v) {
        rules.v = rules.v ? rules.v : &json_null;
        rules.name = "spec";
        rules.up = &root;
        site_invalid(st, &rules, "either `defaultBackend` or `rules` must be specified");
        rules.v = NULL;
    }
    if (backend.v)
        check_backend(st, &backend);
    check_rules(st, &rules);
    check_tls(st, &tls);
    if (class.v)
        (void)site_name(st, &class, NAME_SUBDOMAIN);
}

/* k8s: printers.go, formatHosts: what is behind the third counts, whether it has a host or not */
static str hosts_text(struct arena *a, const struct json *obj)
{
    const struct json *rules = json_path(obj, "spec.rules");
    scoped_buf b = { .max = 1 << 20 };
    size_t shown = 0;
    bool more = false;

    json_for_each (rule, rules) {
        str host = json_get_str(rule, "host");

        more = more || shown == HOSTS_SHOWN;
        if (!more && host.n)
            buf_printf(&b, "%s%.*s", shown++ ? "," : "", STR_ARG(host));
    }
    if (more)
        buf_printf(&b, " + %zu more...", json_len(rules) - HOSTS_SHOWN);
    return b.n ? str_dup(a, buf_str(&b)) : STR("*");
}

static str points_text(struct arena *a, const struct json *obj)
{
    scoped_buf b = { .max = 1 << 20 };

    json_for_each (p, json_path(obj, "status.loadBalancer.ingress")) {
        str ip = json_get_str(p, "ip");

        if (ip.n == 0)
            ip = json_get_str(p, "hostname");
        if (ip.n)
            buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(ip));
    }
    return str_dup(a, buf_str(&b));
}

static void ingress_cells(struct arena *a, const struct json *obj, int64_t now_s,
                          struct json_array *cells)
{
    str class = json_get_str(obj, "spec.ingressClassName");

    cell_str(cells, obj, "metadata.name");
    cell_text(cells, class.n ? class : STR("<none>"));
    cell_text(cells, hosts_text(a, obj));
    cell_text(cells, points_text(a, obj));
    cell_text(cells, json_len(json_path(obj, "spec.tls")) ? STR("80, 443") : STR("80"));
    cell_age(cells, obj, now_s);
}

const struct kind_ops ingress_ops = {
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = ingress_validate,
    .warn = warn_ingress,
    .cells = ingress_cells,
};

/* ---- classes ---- */

static const struct json *class_defaults(const struct kind_context *c, const struct json *obj)
{
    if (!json_path(obj, "spec.parameters"))
        return obj;
    return workload_put_missing(c->arena, obj, "spec.parameters.scope",
                                json_of_str(STR("Cluster")));
}

static void check_parameters(struct status *st, const struct site *p)
{
    static const char *const scopes[] = { "Cluster", "Namespace", NULL };
    struct site scope = site_in(p, "scope"), namespace_ = site_in(p, "namespace");
    bool cluster = str_is(json_str(scope.v), "Cluster");

    check_reference(st, p);
    if (!scope.v) {
        site_missing(st, &scope, "");
        return;
    }
    site_enum(st, &scope, scopes);
    if (cluster && namespace_.v)
        site_forbidden(st, &namespace_, "`parameters.scope` is set to 'Cluster'");
    if (!str_is(json_str(scope.v), "Namespace"))
        return;
    if (!namespace_.v)
        site_missing(st, &namespace_, "`parameters.scope` is set to 'Namespace'");
    else
        (void)site_name(st, &namespace_, NAME_LABEL);
}

static void check_controller(struct status *st, const struct site *controller)
{
    if (json_str(controller->v).n > 250)
        site_fault(st, controller, CAUSE_TOO_LONG, "may not be more than 250 bytes");
    site_domain_path(st, controller);
}

static void check_class(struct status *st, const struct json *obj)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site controller = site_in(&spec, "controller"), p = site_in(&spec, "parameters");

    if (!site_required(st, &controller))
        check_controller(st, &controller);
    if (p.v)
        check_parameters(st, &p);
}

static void class_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    if (c->create)
        check_class(st, obj);
}

static void class_update(const struct kind_context *c, const struct json *obj,
                         const struct json *old, struct status *st)
{
    (void)c;
    check_immutable(st, "spec.controller", obj, old); /* k8s: before the rest */
    check_class(st, obj);
}

static void class_cells(struct arena *a, const struct json *obj, int64_t now_s,
                        struct json_array *cells)
{
    const struct json *p = json_path(obj, "spec.parameters");
    str group = json_get_str(p, "apiGroup");

    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.controller");
    cell_text(cells,
              p ? str_printf(a, "%.*s%s%.*s/%.*s", STR_ARG(json_get_str(p, "kind")),
                             group.n ? "." : "", STR_ARG(group), STR_ARG(json_get_str(p, "name")))
                : STR("<none>"));
    cell_age(cells, obj, now_s);
}

const struct kind_ops ingressclass_ops = {
    .defaults = class_defaults,
    .validate = class_validate,
    .validate_update = class_update,
    .cells = class_cells,
};
