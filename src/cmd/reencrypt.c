/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `kairship reencrypt`: writes objects anew by the key that writes now, so that older keys may go.
 * A patch that changes nothing is written where an object was sealed by another key, or was not to
 * be sealed as it is, and only there; so it can be stopped and run again at any time.
 */

#include <stdio.h>

#include "base/banned.h"
#include "client/client.h"
#include "cmd/admin_kubeconfig.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "object/meta/obj.h"
#include "rest/instance.h"

enum { RESOURCES_MAX = 64, PAGE = 50, TELL = 1000, TRIES = 10 };

/* What encryption.yaml of a new data folder seals (cmd/encryption_keys.c). */
static const struct client_ref usual[] = {
    { .version = STR_INIT("v1"), .resource = STR_INIT("secrets") },
    { .group = STR_INIT("work.karmada.io"),
      .version = STR_INIT("v1alpha1"),
      .resource = STR_INIT("works") },
    { .group = STR_INIT("workload.kcp.dev"),
      .version = STR_INIT("v1alpha1"),
      .resource = STR_INIT("clusters") },
    { .group = STR_INIT("cluster.clusterpedia.io"),
      .version = STR_INIT("v1alpha2"),
      .resource = STR_INIT("pediaclusters") },
};

struct rewriting {
    struct client *client;
    struct client_ref of; /* all of it, of all instances */
    size_t seen, written, failed;
};

/* "deployments.v1.apps", "configmaps.v1" */
static bool parse(const char *text, struct client_ref *out)
{
    str rest = str_of(text);

    *out = (struct client_ref){ 0 };
    return str_split(&rest, '.', &out->resource) && str_split(&rest, '.', &out->version) &&
           out->resource.n && out->version.n && ((out->group = rest), true);
}

static void tell(const struct rewriting *r)
{
    printf("%.*s%s%.*s: %zu looked at, %zu written anew\n", STR_ARG(r->of.resource),
           r->of.group.n ? "." : "", STR_ARG(r->of.group), r->seen, r->written);
    (void)fflush(stdout);
}

static struct client_ref ref_of(const struct rewriting *r, const struct json *object)
{
    const struct json *notes = json_path(object, "metadata.annotations");
    struct client_ref ref = r->of;

    ref.instance = json_str(json_get(notes, STR(OBJ_INSTANCE_ANNOTATION)));
    if (str_is(ref.instance, INSTANCE_ROOT_NAME))
        ref.instance = STR_NONE;
    ref.namespace = json_get_str(object, "metadata.namespace");
    ref.name = json_get_str(object, "metadata.name");
    return ref;
}

/* One that is gone meanwhile needs no key. */
static void count(struct rewriting *r, const struct json *object, const struct client_item *item)
{
    const struct client_ref ref = ref_of(r, object);

    r->seen++;
    if (item->rc == 0)
        r->written += !str_eq(json_get_str(item->object, "metadata.resourceVersion"),
                              json_get_str(object, "metadata.resourceVersion"));
    else if (!status_is(&item->st, REASON_NOT_FOUND)) {
        r->failed++;
        (void)fprintf(stderr, "kairship: %.*s%s%.*s%s%.*s: %.*s\n", STR_ARG(ref.instance),
                      ref.instance.n ? " " : "", STR_ARG(ref.namespace), ref.namespace.n ? "/" : "",
                      STR_ARG(ref.name), STR_ARG(item->st.message));
    }
    if (r->seen % TELL == 0)
        tell(r);
}

static void rewrite_page(struct rewriting *r, struct arena *a, const struct json *list)
{
    const struct json *objects = json_get(list, STR("items"));
    size_t n = json_len(objects);
    struct client_item *items = arena_array(a, struct client_item, n + 1);

    for (size_t i = 0; i < n; i++) {
        struct client_ref ref = ref_of(r, json_at(objects, i));

        items[i].req = client_request_patch(a, &ref, NULL, CLIENT_PATCH_MERGE, &json_empty_object);
    }
    client_do_all(r->client, a, items, n);
    for (size_t i = 0; i < n; i++)
        count(r, json_at(objects, i), &items[i]);
}

/* 0 at the end, -1; EXPIRED when the pages took too long. */
static int rewrite_all(struct rewriting *r, struct status *st)
{
    scoped_arena kept = arena_new();
    struct client_query q = { .limit = PAGE };

    r->seen = r->failed = 0;
    do {
        scoped_arena a = arena_new();
        const struct json *list;
        struct status why;

        status_init(&why, a);
        if (client_list(r->client, a, &r->of, &q, &list, &why) < 0) {
            status_copy(st, &why);
            return -1;
        }
        rewrite_page(r, a, list);
        q.continue_token = str_dup(kept, json_get_str(list, "metadata.continue"));
    } while (q.continue_token.n);
    return 0;
}

static int rewrite(struct rewriting *r, struct status *st)
{
    int rc = -1;

    r->of.instance = STR("*");
    for (int i = 0; i < TRIES; i++) {
        status_reset(st);
        rc = rewrite_all(r, st);
        if (rc == 0 || !status_is(st, REASON_EXPIRED))
            break;
    }
    if (rc < 0)
        return status_wrap(st, "%.*s", STR_ARG(r->of.resource));
    tell(r);
    if (r->failed)
        return status_set(st, REASON_INTERNAL, "%zu could not be written anew: keep the old keys",
                          r->failed);
    return 0;
}

static int rewrite_each(struct arena *a, const char *kubeconfig, const struct client_ref *of,
                        size_t n)
{
    struct kubeconfig to;
    struct status st;
    struct client *c;
    int bad = 0;

    status_init(&st, a);
    c = admin_kubeconfig(a, kubeconfig, NULL, &to, &st) < 0 ? NULL : client_open(NULL, &to, &st);
    for (size_t i = 0; c && i < n; i++) {
        struct rewriting r = { .client = c, .of = of[i] };

        if (rewrite(&r, &st) == 0)
            continue;
        bad++;
        (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st.message));
    }
    if (!c)
        (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st.message));
    client_free(c);
    return !c || bad;
}

int cmd_reencrypt(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship reencrypt [RESOURCE.VERSION[.GROUP]...] [options]",
        "Write all objects of these resources again that are not encrypted with the current key, "
        "in all instances, while the server runs. Afterwards the older keys can be removed. "
        "Without resources: those that a new data folder encrypts.",
        "  kairship reencrypt\n  kairship reencrypt secrets.v1 configmaps.v1 deployments.v1.apps\n"
    };
    const char *kubeconfig = NULL, *args[RESOURCES_MAX];
    const struct option_row rows[] = {
        { "--kubeconfig", OPTION_STRING, &kubeconfig, "FILE", ADMIN_KUBECONFIG_HELP },
    };
    struct client_ref of[RESOURCES_MAX];
    scoped_arena a = arena_new();
    size_t n = 0;
    int rc = options_parse(&help, rows, 1, argc, argv, args, RESOURCES_MAX, &n);

    if (rc != OPTIONS_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        if (!parse(args[i], &of[i])) {
            (void)fprintf(stderr, "kairship: \"%s\" is not as deployments.v1.apps\n", args[i]);
            return USAGE;
        }
    if (n == 0)
        return rewrite_each(a, kubeconfig, usual, sizeof(usual) / sizeof(*usual));
    return rewrite_each(a, kubeconfig, of, n);
}
