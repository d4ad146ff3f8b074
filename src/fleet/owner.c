/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/owner.h"

#include "base/banned.h"
#include "object/meta/karmada.h"

/* What programs before this one wrote as. */
#define OLDER        "kairship"
#define OLDER_COPIES "syncer"

/* ---- who we are ---- */

static int read_installation(const struct json *shown, struct ownership *out, struct status *st)
{
    str origin = json_get_str(shown, "data." INSTALLATION_ORIGIN);
    size_t n = sizeof(installation_origins) / sizeof(*installation_origins), i = 0;

    while (i < n && !str_is(origin, installation_origins[i]))
        i++;
    out->installation = json_get_str(shown, "data." INSTALLATION_ID);
    if (i == n || out->installation.n != INSTALLATION_ID_SIZE - 1)
        return status_set(st, REASON_INTERNAL,
                          "the ConfigMap " INSTALLATION_NAMESPACE "/" INSTALLATION_NAME
                          " does not say which installation this is");
    out->origin = (enum installation_origin)i;
    return 0;
}

static int get(struct client *c, struct arena *a, str instance, const struct json **out,
               struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .version = STR("v1"),
                              .resource = STR("configmaps"),
                              .namespace = STR(INSTALLATION_NAMESPACE),
                              .name = STR(INSTALLATION_NAME) };

    return client_get(c, a, &ref, out, st);
}

int owner_read(struct client *c, struct arena *a, str shows, str instance, str called,
               struct ownership *out, struct status *st)
{
    const struct json *shown, *own;
    str uid;

    if (get(c, a, shows, &shown, st) < 0 || read_installation(shown, out, st) < 0)
        return -1;
    own = shown;
    if (!str_eq(shows, instance) && get(c, a, instance, &own, st) < 0)
        return -1;
    uid = json_get_str(own, "metadata.uid"); /* the object's is another in each instance */
    out->name = str_printf(a, OWNER_PREFIX "%.*s:%.*s:%.*s", STR_ARG(out->installation),
                           STR_ARG(called.n ? called : STR("root")), STR_ARG(str_sub(uid, 0, 8)));
    return 0;
}

/* ---- whose it is ---- */

static const struct json *managers_of(const struct json *object)
{
    return json_path(object, "metadata.managedFields");
}

static str manager(const struct json *entry)
{
    return json_get_str(entry, "manager");
}

str owner_of(const struct json *object, str own)
{
    str other = STR_NONE;

    json_for_each (entry, managers_of(object)) {
        if (str_eq(manager(entry), own))
            return own;
        if (str_starts(manager(entry), STR(OWNER_PREFIX)))
            other = manager(entry);
    }
    return other;
}

str owner_words(struct arena *a, str owner)
{
    str rest = str_from(owner, sizeof(OWNER_PREFIX) - 1), installation, instance;

    (void)str_split(&rest, ':', &installation);
    (void)str_split(&rest, ':', &instance);
    return str_printf(a, "instance %.*s of installation %.*s", STR_ARG(instance),
                      STR_ARG(installation));
}

static struct json renamed(struct arena *a, const struct json *entry, str name)
{
    struct json_object o = json_object_from(a, entry);

    json_put(&o, STR("manager"), json_of_str(name));
    return json_object_value(&o);
}

static struct json label_entry(struct arena *a, const struct json *object,
                               const struct owner_mark *mark)
{
    struct json_object o = json_object_new(a), empty = json_object_new(a);
    struct json_object label = json_object_new(a), labels = json_object_new(a),
                       meta = json_object_new(a);

    json_add(&label, str_printf(a, "f:%s", mark->label), json_object_value(&empty));
    json_add(&labels, STR("f:labels"), json_object_value(&label));
    json_add(&meta, STR("f:metadata"), json_object_value(&labels));
    json_add(&o, STR("manager"), json_of_str(mark->own));
    json_add(&o, STR("operation"), json_of_str(STR("Update")));
    json_add(&o, STR("apiVersion"), json_of_str(json_get_str(object, "apiVersion")));
    json_add(&o, STR("time"), json_of_str(mark->now));
    json_add(&o, STR("fieldsType"), json_of_str(STR("FieldsV1")));
    json_add(&o, STR("fieldsV1"), json_object_value(&meta));
    return json_object_value(&o);
}

/* The entries of one manager become our own; *n of them. */
static struct json_array taken_over(struct arena *a, const struct json *object, const char *from,
                                    const char *operation, str own, size_t *n)
{
    struct json_array list = json_array_new(a);

    *n = 0;
    json_for_each (entry, managers_of(object)) {
        bool theirs = str_is(manager(entry), from) && !json_get_str(entry, "subresource").n &&
                      str_is(json_get_str(entry, "operation"), operation);

        json_push(&list, theirs ? renamed(a, entry, own) : *entry);
        *n += theirs;
    }
    return list;
}

const struct json *owner_marked(struct arena *a, const struct json *object,
                                const struct owner_mark *m)
{
    size_t n;
    struct json_array list = taken_over(a, object, OLDER, "Update", m->own, &n);

    if (!n)
        json_push(&list, label_entry(a, object, m));
    return json_array_done(&list);
}

const struct json *owner_applied(struct arena *a, const struct json *object, str own)
{
    size_t n;
    struct json_array list = taken_over(a, object, OLDER_COPIES, "Apply", own, &n);

    return n ? json_array_done(&list) : NULL;
}

const struct json *owner_unmarked(struct arena *a, const struct json *object, str own)
{
    struct json_array list = json_array_new(a);

    json_for_each (entry, managers_of(object))
        json_push(&list,
                  str_eq(manager(entry), own) ? renamed(a, entry, STR(OWNER_RELEASED)) : *entry);
    return json_array_done(&list);
}
