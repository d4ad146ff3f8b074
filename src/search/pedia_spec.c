/* SPDX-License-Identifier: Apache-2.0 */
#include "search/pedia_spec.h"

#include "base/banned.h"
#include "base/encode.h"

static const str *strings(struct arena *a, const struct json *list, size_t *n)
{
    str *out = arena_array(a, str, json_len(list));

    *n = 0;
    json_for_each (v, list)
        out[(*n)++] = json_str(v);
    return out;
}

size_t pedia_wants(struct arena *a, const struct json *list, struct source_want *out, size_t max)
{
    size_t n = 0;

    json_for_each (w, list) {
        if (n == max)
            break;
        out[n].group = json_get_str(w, "group");
        out[n].versions = strings(a, json_get(w, STR("versions")), &out[n].nversions);
        out[n].resources = strings(a, json_get(w, STR("resources")), &out[n].nresources);
        out[n].events = json_len(json_get(w, STR("eventsInvolvedResources")));
        n++;
    }
    return n;
}

int pedia_kubeconfig(struct arena *a, const struct json *spec, struct kubeconfig *out,
                     struct status *st)
{
    static const char *const names[] = { "caData", "tokenData", "certData", "keyData" };
    str text, data[4];
    struct kubeconfig k = { .context = STR("pedia"), .server = json_get_str(spec, "apiserver") };

    if (!base64_decode(a, BASE64_STD, json_get_str(spec, "kubeconfig"), &text))
        return status_set(st, REASON_INVALID, "spec.kubeconfig is not base64");
    if (!str_empty(text))
        return kubeconfig_parse(a, secret_of(text), KUBECONFIG_OBJECT, STR_NONE, STR_NONE, out, st);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!base64_decode(a, BASE64_STD, json_get_str(spec, names[i]), &data[i]))
            return status_set(st, REASON_INVALID, "spec.%s is not base64", names[i]);
    if (str_empty(k.server))
        return status_set(st, REASON_INVALID, "spec.kubeconfig or spec.apiserver is required");
    k.ca_pem = data[0];
    k.token = secret_of(data[1]);
    k.cert_pem = data[2];
    k.key_pem = secret_of(data[3]);
    return kubeconfig_parse(a, kubeconfig_write(a, &k, 1), KUBECONFIG_OBJECT, STR_NONE, STR_NONE,
                            out, st);
}
