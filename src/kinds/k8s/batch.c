/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/k8s/groups.h"

/* ---- columns; k8s: pkg/printers/internalversion/printers.go ---- */

static const struct column job_columns[] = {
    NAME_COLUMN,
    COLUMN("Status", "", 0, "What became of it."),
    COLUMN("Completions", "", 0, "Pods that have succeeded, of those wanted."),
    COLUMN("Duration", "", 0, "How long it took, or takes."),
    AGE_COLUMN,
    COLUMN("Containers", "", 1, "Names of the containers."),
    COLUMN("Images", "", 1, "Images of the containers."),
    COLUMN("Selector", "", 1, "Which pods it is in charge of."),
};

static const struct column cronjob_columns[] = {
    NAME_COLUMN,
    COLUMN("Schedule", "", 0, "When, in cron format."),
    COLUMN("Timezone", "", 0, "Time zone of the schedule."),
    COLUMN_OF("boolean", "Suspend", "", 0, "Whether it waits."),
    COUNT_COLUMN("Active", "Jobs that run."),
    COLUMN("Last Schedule", "", 0, "When a job was made last."),
    AGE_COLUMN,
    COLUMN("Containers", "", 1, "Names of the containers."),
    COLUMN("Images", "", 1, "Images of the containers."),
    COLUMN("Selector", "", 1, "Which pods it is in charge of."),
};

/* ---- the kinds, in the order of names ---- */

static const str cronjob_short[] = { STR_INIT("cj") };
static const str everything[] = { STR_INIT("all") };

static const struct field_label job_labels[] = {
    { .label = STR_INIT("status.successful"), .path = "status.succeeded", .zero = "0" },
};

static const struct subresource status_only[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        .kind = STR_INIT("CronJob"),
        .plural = STR_INIT("cronjobs"),
        .singular = STR_INIT("cronjob"),
        LIST(short_names, cronjob_short),
        LIST(categories, everything),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .unconditional_update = true,
        LIST(subresources, status_only),
        LIST(columns, cronjob_columns),
        .ops = &cronjob_ops,
    },
    {
        .kind = STR_INIT("Job"),
        .plural = STR_INIT("jobs"),
        .singular = STR_INIT("job"),
        LIST(categories, everything),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .orphans = true, /* k8s: DefaultGarbageCollectionPolicy of batch/v1 */
        .orphans_warning =
            STR_INIT("child pods are preserved by default when jobs are deleted; set "
                     "propagationPolicy=Background to remove them or set "
                     "propagationPolicy=Orphan to suppress this warning"),
        .unconditional_update = true,
        LIST(subresources, status_only),
        LIST(columns, job_columns),
        LIST(field_labels, job_labels),
        .ops = &job_ops,
    },
};

const struct group group_batch = {
    .name = STR_INIT("batch"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.batch.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
