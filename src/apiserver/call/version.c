/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/version.h"

#include "base/banned.h"
#include "base/metric.h"

#define KUBERNETES \
    "v" VERSION_KUBERNETES_MAJOR "." VERSION_KUBERNETES_MINOR ".0+kairship-" KAIRSHIP_VERSION

#if defined(__x86_64__)
#define PLATFORM "linux/amd64"
#elif defined(__aarch64__)
#define PLATFORM "linux/arm64"
#else
#define PLATFORM "linux/other"
#endif

/* Dates and commits are left at the values Kubernetes has for a build that does not know them:
 * equal sources give equal programs. */
static const struct {
    str name, value;
} members[] = {
    { STR_INIT("major"), STR_INIT(VERSION_KUBERNETES_MAJOR) },
    { STR_INIT("minor"), STR_INIT(VERSION_KUBERNETES_MINOR) },
    { STR_INIT("gitVersion"), STR_INIT(KUBERNETES) },
    { STR_INIT("gitCommit"), STR_INIT("") },
    { STR_INIT("gitTreeState"), STR_INIT("") },
    { STR_INIT("buildDate"), STR_INIT("1970-01-01T00:00:00Z") },
    { STR_INIT("goVersion"), STR_INIT("none") },
    { STR_INIT("compiler"), STR_INIT(__VERSION__) },
    { STR_INIT("platform"), STR_INIT(PLATFORM) },
};

str version_own(void)
{
    return STR(KAIRSHIP_VERSION);
}

static void read_build_info(struct buf *out, const struct metric_spec *spec)
{
    const str own = version_own();

    metric_head(out, spec);
    metric_row(out, spec, &own, 1);
}
METRIC_READ(build_info, read_build_info, METRIC_GAUGE, "kairship_build_info",
            "1, with the version of the program.", "version")

str version_kubernetes(void)
{
    return STR(KUBERNETES);
}

const struct json *version_document(struct arena *a)
{
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        json_add(&o, members[i].name, json_of_str(members[i].value));
    return json_object_done(&o);
}
