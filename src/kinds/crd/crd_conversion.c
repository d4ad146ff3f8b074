/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/crd/crd.h"

#include "base/banned.h"
#include "kinds/frame/group.h"
#include "object/meta/names.h"

/* k8s: apiserver/pkg/util/webhook/validation.go */
static void check_url(struct status *st, const struct crd_at *at, const struct json *url)
{
    static const char form[] = "; desired format: https://host[/path]";
    str text = json_str(url), rest, host;
    ptrdiff_t colon = str_find(text, ':', 0), slash;
    struct json scheme = json_of_str(colon < 0 ? STR("") : str_sub(text, 0, (size_t)colon));
    static const struct {
        char c;
        const char *why;
    } parts[] = {
        { '#', "fragments are not permitted in the URL" },
        { '?', "query parameters are not permitted in the URL" },
    };

    if (!str_is(json_str(&scheme), "https"))
        crd_fault(st, CAUSE_INVALID, at, &scheme, "'https' is the only allowed URL scheme%s", form);
    rest = str_from(text, colon < 0 ? 0 : (size_t)colon + 1);
    host = str_starts(rest, STR("//")) ? str_from(rest, 2) : STR("");
    slash = str_find(host, '/', 0);
    if (slash >= 0)
        host = str_sub(host, 0, (size_t)slash);
    if (host.n == 0)
        crd_fault(st, CAUSE_INVALID, at, &(struct json){ .type = JSON_STRING, .s = "" },
                  "host must be specified%s", form);
    if (str_find(host, '@', 0) >= 0)
        crd_fault(st, CAUSE_INVALID, at, url, "user information is not permitted in the URL");
    for (size_t i = 0; i < GROUP_LEN(parts); i++)
        if (str_find(text, parts[i].c, 0) >= 0)
            crd_fault(st, CAUSE_INVALID, at, url, "%s", parts[i].why);
}

static void check_service(struct status *st, const struct crd_at *at, const struct json *service)
{
    const struct json *path = crd_get(service, "path"), *port = crd_get(service, "port");

    if (json_get_str(service, "name").n == 0)
        crd_fault(st, CAUSE_REQUIRED, CRD_AT(at, "name"), NULL, "service name is required");
    if (json_get_str(service, "namespace").n == 0)
        crd_fault(st, CAUSE_REQUIRED, CRD_AT(at, "namespace"), NULL,
                  "service namespace is required");
    if (port && (json_int(port, 0) < 1 || json_int(port, 0) > 65535))
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "port"), port,
                  "port is not valid: must be between 1 and 65535, inclusive");
    if (path && !str_starts(json_str(path), STR("/")))
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "path"), path, "must start with a '/'");
    if (str_contains(json_str(path), STR("//")))
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "path"), path, "segment[0] may not be empty");
}

static void check_client(struct status *st, const struct crd_at *at, const struct json *client)
{
    const struct json *url = crd_get(client, "url"), *service = crd_get(client, "service");

    if (!client)
        crd_fault(st, CAUSE_REQUIRED, at, NULL, "required when strategy is set to Webhook");
    else if (!url == !service)
        crd_fault(st, CAUSE_REQUIRED, at, NULL, "exactly one of url or service is required");
    else if (url)
        check_url(st, CRD_AT(at, "url"), url);
    else
        check_service(st, CRD_AT(at, "service"), service);
}

static void check_review_versions(struct status *st, const struct crd_at *up, const char *word,
                                  const struct json *versions)
{
    static const char *const known[] = { "v1", "v1beta1", NULL };
    bool accepted = false;

    if (json_len(versions) == 0)
        crd_fault(st, CAUSE_REQUIRED, CRD_AT(up, word), NULL, "%s", "");
    for (size_t i = 0; i < json_len(versions); i++) {
        const struct json *v = &versions->items[i];
        size_t k = 0;

        while (k < i && !str_eq(json_str(v), json_str(&versions->items[k])))
            k++;
        if (k < i)
            crd_fault(st, CAUSE_INVALID, CRD_AT_ITEM(up, word, i), v, "duplicate version");
        else
            crd_check_label(st, CRD_AT_ITEM(up, word, i), json_str(v), "");
        accepted = accepted || str_is_any(json_str(v), known);
        if (st->ncauses == STATUS_CAUSES_MAX)
            return;
    }
    if (json_len(versions) && !accepted)
        crd_fault(st, CAUSE_INVALID, CRD_AT(up, word), versions,
                  "must include at least one of v1, v1beta1");
}

void crd_check_conversion(struct status *st, const struct crd_at *at, const struct json *conversion)
{
    static const char *const strategies[] = { "None", "Webhook", NULL };
    const struct json *strategy = crd_get(conversion, "strategy");
    const struct json *hook = crd_get(conversion, "webhook");
    const struct json *client = crd_get(hook, "clientConfig");
    const struct json *versions = crd_get(hook, "conversionReviewVersions");

    if (!conversion)
        return;
    if (json_str(strategy).n == 0)
        crd_fault(st, CAUSE_REQUIRED, CRD_AT(at, "strategy"), NULL, "%s", "");
    else if (!str_is_any(json_str(strategy), strategies))
        crd_unsupported(st, CRD_AT(at, "strategy"), strategy, strategies);
    if (str_is(json_str(strategy), "Webhook")) {
        check_client(st, CRD_AT(at, "webhookClientConfig"), client);
        check_review_versions(st, at, "conversionReviewVersions", versions);
        return;
    }
    if (client)
        crd_fault(st, CAUSE_FORBIDDEN, CRD_AT(at, "webhookClientConfig"), NULL,
                  "should not be set when strategy is not set to Webhook");
    if (json_len(versions))
        crd_fault(st, CAUSE_FORBIDDEN, CRD_AT(at, "conversionReviewVersions"), NULL,
                  "should not be set when strategy is not set to Webhook");
}
