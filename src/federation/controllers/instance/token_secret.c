/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Secrets of type kubernetes.io/service-account-token: filled in with a token that holds as long as
 * the Secret, and deleted with their account.  The token is an ordinary one, bound to the Secret;
 * its end is further away than anyone plans.
 *
 * k8s: pkg/controller/serviceaccount/tokens_controller.go
 */

#include "base/banned.h"
#include "base/encode.h"
#include "federation/controllers/instance/account.h"

#define TYPE     "kubernetes.io/service-account-token"
#define NAME_KEY "kubernetes.io/service-account.name"
#define UID_KEY  "kubernetes.io/service-account.uid"

static const int64_t TOKEN_S = (int64_t)1 << 32; /* the most that can be asked for */

enum { PAGE = 100 };

static str annotation(const struct json *obj, const char *key)
{
    return json_str(json_get(json_path(obj, "metadata.annotations"), str_of(key)));
}

static int delete_secret(struct client *client, struct arena *a, const struct client_ref *ref,
                         const struct json *kept, struct status *st)
{
    struct json_object o = json_object_new(a), uid = json_object_new(a);

    json_add(&uid, STR("uid"), json_of_str(json_get_str(kept, "metadata.uid")));
    json_add(&o, STR("preconditions"), json_object_value(&uid));
    if (client_delete(client, a, ref, json_object_done(&o), st) == 0)
        return 0;
    /* Gone, or another by now. */
    return status_is(st, REASON_NOT_FOUND) || status_is(st, REASON_CONFLICT) ? 0 : -1;
}

static struct json bound_to(struct arena *a, const struct json *kept)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("kind"), json_of_str(STR("Secret")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("name"), json_of_str(json_get_str(kept, "metadata.name")));
    json_add(&o, STR("uid"), json_of_str(json_get_str(kept, "metadata.uid")));
    return json_object_value(&o);
}

static int ask_token(struct client *client, struct arena *a, const struct client_ref *account,
                     const struct json *kept, secret *out, struct status *st)
{
    struct client_ref ref = *account;
    struct json_object o = json_object_new(a), spec = json_object_new(a);
    const struct json *answer;

    ref.subresource = STR("token");
    json_add(&spec, STR("boundObjectRef"), bound_to(a, kept));
    json_add(&spec, STR("expirationSeconds"), json_of_int(TOKEN_S));
    json_add(&o, STR("kind"), json_of_str(STR("TokenRequest")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("authentication.k8s.io/v1")));
    json_add(&o, STR("spec"), json_object_value(&spec));
    if (client_create(client, a, &ref, json_object_done(&o), &answer, st) < 0)
        return -1;
    *out = secret_of(json_get_str(answer, "status.token"));
    return 0;
}

static void put(struct json_object *data, str key, str bytes)
{
    json_put(data, key, json_of_str(base64_encode(data->arena, BASE64_STD, bytes)));
}

/* What is there already stays: a token that somebody uses is not replaced. */
static int fill(struct client *client, struct arena *a, const struct client_ref *ref,
                const struct client_ref *account_at, const struct json *kept,
                const struct json *account, struct status *st)
{
    const struct json *data = json_get(kept, STR("data"));
    struct json_object o = json_object_from(a, data ? data : &json_empty_object);
    struct json_object notes;
    str uid = json_get_str(account, "metadata.uid");
    secret token;

    if (json_str(json_get(data, STR("token"))).n == 0) {
        if (ask_token(client, a, account_at, kept, &token, st) < 0)
            return -1;
        put(&o, STR("token"), secret_reveal(token));
    }
    if (client_ca(client).n)
        put(&o, STR("ca.crt"), client_ca(client));
    put(&o, STR("namespace"), ref->namespace);
    data = json_object_done(&o);
    if (json_equal(data, json_get(kept, STR("data"))) && str_eq(annotation(kept, UID_KEY), uid))
        return 0;
    notes = json_object_from(a, json_path(kept, "metadata.annotations"));
    json_put(&notes, STR(UID_KEY), json_of_str(uid));
    kept = json_set(a, kept, "data", data);
    kept = json_set(a, kept, "metadata.annotations", json_object_done(&notes));
    return client_update(client, a, ref, kept, NULL, st);
}

static int reconcile_secret(void *arg, struct client *client, struct arena *a,
                            const struct informer_key *k, struct status *st)
{
    struct client_ref ref = account_ref(account_instance(k), "secrets", k->namespace, k->name);
    struct client_ref account_at =
        account_ref(ref.instance, "serviceaccounts", ref.namespace, STR_NONE);
    const struct json *kept, *account;
    str uid;

    (void)arg;
    if (client_get(client, a, &ref, &kept, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    account_at.name = annotation(kept, NAME_KEY);
    if (!str_is(json_get_str(kept, "type"), TYPE) || account_at.name.n == 0 ||
        json_path(kept, "metadata.deletionTimestamp") ||
        json_bool(json_get(kept, STR("immutable"))))
        return 0;
    if (client_get(client, a, &account_at, &account, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return delete_secret(client, a, &ref, kept, st);
    }
    uid = annotation(kept, UID_KEY);
    if (uid.n && !str_eq(uid, json_get_str(account, "metadata.uid")))
        return delete_secret(client, a, &ref, kept, st);
    return fill(client, a, &ref, &account_at, kept, account, st);
}

/* An account that is gone takes its Secrets along, and "default" comes again. */
static int reconcile_account(void *arg, struct client *client, struct arena *a,
                             const struct informer_key *k, struct status *st)
{
    struct client_ref all = account_ref(account_instance(k), "secrets", k->namespace, STR_NONE);
    struct client_query q = { .field_selector = STR("type=" TYPE), .limit = PAGE };
    const struct json *list;

    if (str_is(k->name, "default") && account_ensure_default(client, a, k, st) < 0)
        return -1;
    do {
        if (client_list(client, a, &all, &q, &list, st) < 0)
            return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
        json_for_each (kept, json_get(list, STR("items"))) {
            struct informer_key one = { .instance = k->instance,
                                        .namespace = k->namespace,
                                        .name = json_get_str(kept, "metadata.name") };

            if (str_eq(annotation(kept, NAME_KEY), k->name) &&
                reconcile_secret(arg, client, a, &one, st) < 0)
                return -1;
        }
        q.continue_token = json_get_str(list, "metadata.continue");
    } while (q.continue_token.n);
    return 0;
}

const struct controller_spec token_secret_controller = {
    .name = "token-secret-controller",
    .ref = { .instance = STR_INIT("*"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("secrets") },
    .field_selector = STR_INIT("type=" TYPE),
    .reconcile = reconcile_secret,
};

const struct controller_spec token_account_controller = {
    .name = "token-account-controller",
    .ref = { .instance = STR_INIT("*"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("serviceaccounts") },
    .reconcile = reconcile_account,
};
