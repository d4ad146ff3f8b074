/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/own/groups.h"

/*
 * Records of what people did (apiserver/audit/audit_records.h).  Served in the root instance only,
 * and to be read only: no verb of the API writes them.
 */

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *to)
{
    str group = json_get_str(obj, "spec.group");

    cell_str(to, obj, "metadata.name");
    cell_str(to, obj, "spec.event");
    cell_str(to, obj, "spec.person");
    json_push(
        to, json_of_str(str_printf(a, "%.*s%s%.*s/%.*s",
                                   STR_ARG(json_get_str(obj, "spec.resource")), group.n ? "." : "",
                                   STR_ARG(group), STR_ARG(json_get_str(obj, "spec.name")))));
    cell_str(to, obj, "spec.instance");
    json_push(to, json_of_int(json_int(json_path(obj, "spec.code"), 0)));
    cell_age(to, obj, now_s);
}

static const struct column columns[] = {
    NAME_COLUMN,
    COLUMN("Event", "", 0, "Name of the event."),
    COLUMN("Person", "", 0, "Who did it."),
    COLUMN("Object", "", 0, "What it was done to."),
    COLUMN("Instance", "", 0, "The instance that it is about."),
    COUNT_COLUMN("Code", "HTTP status code of the outcome."),
    AGE_COLUMN,
};

/* Those that most lists are cut by have index rows. */
static const struct field_label labels[] = {
    { .label = STR_INIT("spec.person"), .path = "spec.person", .indexed = true },
    { .label = STR_INIT("spec.instanceUID"), .path = "spec.instanceUID", .indexed = true },
    { .label = STR_INIT("spec.event"), .path = "spec.event", .indexed = true },
    { .label = STR_INIT("spec.instance"), .path = "spec.instance" },
    { .label = STR_INIT("spec.verb"), .path = "spec.verb" },
    { .label = STR_INIT("spec.resource"), .path = "spec.resource" },
    { .label = STR_INIT("spec.name"), .path = "spec.name" },
};

static const struct kind_ops ops = { .cells = cells };

static struct kind kinds[] = {
    {
        KIND_NAMES("Record", "records", "record"),
        .verbs = VERB_GET | VERB_LIST | VERB_WATCH,
        .name_rule = NAME_SUBDOMAIN,
        .no_dependents = true,
        .json_only = true,
        LIST(columns, columns),
        LIST(field_labels, labels),
        .ops = &ops,
    },
};

const struct group group_audit = {
    .name = STR_INIT("audit.kairship.io"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "io.kairship.audit.v1alpha1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
