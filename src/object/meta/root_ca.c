/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/root_ca.h"

#include "base/banned.h"

#define NOTE "kubernetes.io/description"
#define TEXT                                                                                  \
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal " \
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is " \
    "guaranteed across distributions of Kubernetes clusters."

static struct json member(struct arena *a, str name, struct json value)
{
    struct json_object o = json_object_new(a);

    json_add(&o, name, value);
    return json_object_value(&o);
}

static struct json data_of(struct arena *a, str ca_pem)
{
    return member(a, STR("ca.crt"), json_of_str(ca_pem));
}

const struct json *root_ca_new(struct arena *a, str namespace, str ca_pem)
{
    struct json_object meta = json_object_new(a), o = json_object_new(a);

    json_add(&meta, STR("name"), json_of_str(STR(ROOT_CA_NAME)));
    if (namespace.n > 0)
        json_add(&meta, STR("namespace"), json_of_str(namespace));
    json_add(&meta, STR("annotations"), member(a, STR(NOTE), json_of_str(STR(TEXT))));
    json_add(&o, STR("kind"), json_of_str(STR("ConfigMap")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    json_add(&o, STR("data"), data_of(a, ca_pem));
    return json_object_done(&o);
}

const struct json *root_ca_mend(struct arena *a, const struct json *found, str ca_pem)
{
    const struct json *notes = json_path(found, "metadata.annotations");
    struct json data = data_of(a, ca_pem);
    struct json_object o;

    if (json_str(json_get(notes, STR(NOTE))).n == 0) {
        o = json_object_from(a, notes);
        json_put(&o, STR(NOTE), json_of_str(STR(TEXT)));
        found = json_set(a, found, "metadata.annotations", json_object_done(&o));
    }
    return json_equal(json_get(found, STR("data")), &data) ? found
                                                           : json_set(a, found, "data", &data);
}
