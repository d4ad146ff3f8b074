/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `kairship passwd USER`: sets the password of a user of Global Management.  It is read from
 * standard input, and only what a login is compared with leaves this program.
 */

#include <stdio.h>

#include "base/banned.h"
#include "base/encode.h"
#include "client/client.h"
#include "cmd/admin_kubeconfig.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd/prompt.h"
#include "http/password.h"

static const struct json *secret_object(struct arena *a, str user, const struct json *owner,
                                        str hash)
{
    static const char *const fields[][2] = { { "apiVersion", "v1" },
                                             { "kind", "Secret" },
                                             { "type", "kairship.io/password" },
                                             { "metadata.namespace", "kube-system" } };
    str name = str_printf(a, "kairship-password-%.*s", STR_ARG(user));
    struct json_object ref = json_object_new(a);
    struct json_array refs = json_array_new(a);
    const struct json *v = &json_empty_object;

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        v = json_set(a, v, fields[i][0], json_box(a, json_of_str(str_of(fields[i][1]))));
    json_add(&ref, STR("apiVersion"), json_of_str(STR("iam.kairship.io/v1alpha1")));
    json_add(&ref, STR("kind"), json_of_str(STR("User")));
    json_add(&ref, STR("name"), json_of_str(user));
    json_add(&ref, STR("uid"), json_of_str(json_get_str(owner, "metadata.uid")));
    json_push(&refs, json_object_value(&ref)); /* it goes with the user */
    v = json_set(a, v, "metadata.ownerReferences", json_array_done(&refs));
    v = json_set(a, v, "metadata.name", json_box(a, json_of_str(name)));
    return json_set(a, v, "data.hash",
                    json_box(a, json_of_str(base64_encode(a, BASE64_STD, hash))));
}

static int set_password(struct client *client, struct arena *a, str user, str hash,
                        struct status *st)
{
    struct client_ref users = { .group = STR("iam.kairship.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("users"),
                                .name = user };
    struct client_ref ref = { .version = STR("v1"),
                              .resource = STR("secrets"),
                              .namespace = STR("kube-system") };
    struct client_ref sessions = { .group = users.group,
                                   .version = users.version,
                                   .resource = STR("sessions") };
    struct client_query theirs = { .field_selector =
                                       str_printf(a, "spec.user.name=%.*s", STR_ARG(user)) };
    struct client_request end = client_request_delete(a, &sessions, &theirs, NULL);
    const struct json *owner, *object, *answer;

    if (client_get(client, a, &users, &owner, st) < 0)
        return -1;
    object = secret_object(a, user, owner, hash);
    ref.name = json_get_str(object, "metadata.name");
    if (client_apply(client, a, &ref, STR("kairship-passwd"), object, NULL, st) < 0)
        return -1;
    /* With the password they are over; this only clears the list, as the server does later. */
    if (client_do(client, a, &end, &answer, st) < 0)
        status_reset(st);
    return 0;
}

/* Of an answer; a file that is not there is not found, too. */
static const char *hint_for(const struct status *st)
{
    if (status_is(st, REASON_NOT_FOUND))
        return "Create the User first; kairship passwd --help shows how.\n";
    return "";
}

int cmd_passwd(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship passwd USER [options]",
        "Set the password of a User (iam.kairship.io), which is read from standard input. All "
        "sessions of the user end.",
        "  kubectl create -f - <<< \\\n"
        "    '{apiVersion: iam.kairship.io/v1alpha1, kind: User, metadata: {name: jane}}'\n"
        "  kairship passwd jane\n"
    };
    scoped_arena a = arena_new();
    const char *user = NULL, *kubeconfig = NULL;
    const struct option_row rows[] = {
        { "--kubeconfig", OPTION_STRING, &kubeconfig, "FILE", ADMIN_KUBECONFIG_HELP },
    };
    secret password = SECRET_NONE;
    struct client *client;
    struct kubeconfig to;
    struct status st;
    size_t n = 0;
    int rc = options_parse(&help, rows, 1, argc, argv, &user, 1, &n);
    str hash;

    if (rc != OPTIONS_OK)
        return rc;
    if (n != 1) {
        (void)fprintf(stderr, "kairship: whose password? usage: %s\n", help.usage);
        return USAGE;
    }
    if (!prompt_secret(a, "New password: ", PASSWORD_MAX, &password) ||
        secret_reveal(password).n < PASSWORD_MIN) {
        (void)fprintf(stderr, "kairship: a password has %d to %d bytes\n", PASSWORD_MIN,
                      PASSWORD_MAX);
        return 1;
    }
    hash = password_hash(a, password);
    status_init(&st, a);
    client =
        admin_kubeconfig(a, kubeconfig, NULL, &to, &st) < 0 ? NULL : client_open(NULL, &to, &st);
    rc = client ? set_password(client, a, str_of(user), hash, &st) : -1;
    if (rc < 0)
        (void)fprintf(stderr, "kairship: %.*s\n%s", STR_ARG(st.message),
                      client ? hint_for(&st) : "");
    else
        printf("%s has a new password. All sessions of %s have ended.\n", user, user);
    client_free(client);
    return rc < 0;
}
