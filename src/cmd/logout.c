/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `kairship logout`: ends the session of the login that a kubeconfig's token is of, and takes the
 * token out of the file.
 */

#include <stdio.h>

#include "base/banned.h"
#include "client/client.h"
#include "client/kubeconfig_edit.h"
#include "cmd/commands.h"
#include "cmd/options.h"

#define CREDENTIAL_ID "authentication.kubernetes.io/credential-id"

static const struct client_ref sessions = { .group = STR_INIT("iam.kairship.io"),
                                            .version = STR_INIT("v1alpha1"),
                                            .resource = STR_INIT("sessions") };

struct leaver {
    const char *kubeconfig, *context;
    bool all;
    struct kubeconfig of;
};

/* Who the server says we are, and by which login. */
static int ask_who(struct client *c, struct arena *a, str *user, str *session, struct status *st)
{
    struct client_ref reviews = { .group = STR("authentication.k8s.io"),
                                  .version = STR("v1"),
                                  .resource = STR("selfsubjectreviews") };
    const struct json *review, *extra;
    str id, prefix = STR("JTI=");

    if (client_create(c, a, &reviews, &json_empty_object, &review, st) < 0)
        return -1;
    *user = json_get_str(review, "status.userInfo.username");
    extra = json_get(json_path(review, "status.userInfo.extra"), STR(CREDENTIAL_ID));
    id = json_str(json_at(extra, 0));
    *session = str_starts(id, prefix) ? str_from(id, prefix.n) : STR_NONE;
    return 0;
}

static int end_sessions(const struct leaver *l, struct client *c, struct arena *a,
                        struct status *st)
{
    struct client_query own = { 0 };
    struct client_ref ref = sessions;
    struct client_request req;
    const struct json *answer;
    str user;

    if (ask_who(c, a, &user, &ref.name, st) < 0)
        return -1;
    if (l->all) {
        ref.name = STR_NONE;
        own.field_selector = str_printf(a, "spec.user.name=%.*s", STR_ARG(user));
    }
    req = client_request_delete(a, &ref, &own, NULL);
    return client_do(c, a, &req, &answer, st);
}

/* One that the server refuses already has ended, which is what was wanted. */
static int leave(const struct leaver *l, struct arena *a, struct status *st)
{
    struct client *c = client_open(NULL, &l->of, st);
    int rc = c ? end_sessions(l, c, a, st) : -1;

    client_free(c);
    if (rc < 0 && !status_is(st, REASON_UNAUTHORIZED) && !status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return kubeconfig_forget_token(a, l->kubeconfig, l->of.token, st);
}

static int run(struct leaver *l, struct arena *a)
{
    struct status st;
    int rc;

    status_init(&st, a);
    rc = kubeconfig_load(a, l->kubeconfig, str_of(l->context ? l->context : ""), &l->of, &st);
    l->of.prefix = STR_NONE; /* people log in at the root instance */
    if (rc == 0 && (secret_empty(l->of.token) || l->of.exec))
        rc = status_set(&st, REASON_BAD_REQUEST,
                        "the context %.*s has no token in its kubeconfig: there is nothing to log "
                        "out of",
                        STR_ARG(l->of.context));
    if (rc == 0)
        rc = leave(l, a, &st);
    if (rc == 0)
        printf("Logged out%s.\n", l->all ? " everywhere" : "");
    else
        (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st.message));
    return rc < 0;
}

int cmd_logout(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship logout [options]",
        "End the session of the login that a kubeconfig's token is of, and take the token out of "
        "the file.",
        "  kairship logout\n"
        "  kairship logout --all\n"
        "  kairship logout --kubeconfig jane.kubeconfig\n"
    };
    scoped_arena a = arena_new();
    struct leaver l = { 0 };
    const struct option_row rows[] = {
        { "--all", OPTION_FLAG, &l.all, NULL, "End all sessions of the same user." },
        { "--kubeconfig", OPTION_STRING, &l.kubeconfig, "FILE",
          "Log out of this kubeconfig. Without this option: of $KUBECONFIG, else of "
          "~/.kube/config." },
        { "--context", OPTION_STRING, &l.context, "NAME",
          "Use this context of the kubeconfig. Without this option: its current context." },
    };
    size_t n = 0;
    int rc = options_parse(&help, rows, sizeof(rows) / sizeof(*rows), argc, argv, NULL, 0, &n);

    return rc == OPTIONS_OK ? run(&l, a) : rc;
}
