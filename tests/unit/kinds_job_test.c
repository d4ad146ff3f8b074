/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

#define PODS "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'a','image':'i'}]}}"
#define META "'metadata':{'name':'j','uid':'u-1'}"

static const struct json *made(struct fixture *f, const char *text)
{
    return f->kind->ops->prepare_create(&f->c, fixture_read(f, fixture_quotes(f, text)));
}

TEST(jobs_are_completed)
{
    struct fixture f = fixture_new("batch", "v1", "jobs");
    const struct json *job = made(&f, "{" META ",'spec':{" PODS "}}");
    const struct json *spec = json_set(f.c.arena, json_get(job, STR("spec")), "template", NULL);

    CHECK_STR(fixture_print(&f, spec),
              "{\"backoffLimit\":6,\"completionMode\":\"NonIndexed\",\"completions\":1,"
              "\"manualSelector\":false,\"parallelism\":1,\"podReplacementPolicy\":"
              "\"TerminatingOrFailed\",\"selector\":{\"matchLabels\":"
              "{\"batch.kubernetes.io/controller-uid\":\"u-1\"}},\"suspend\":false}");
    CHECK_STR(fixture_print(&f, json_path(job, "spec.template.metadata.labels")),
              "{\"batch.kubernetes.io/controller-uid\":\"u-1\",\"batch.kubernetes.io/job-name\":"
              "\"j\",\"controller-uid\":\"u-1\",\"job-name\":\"j\"}");
    CHECK_STR(fixture_print(&f, json_path(job, "metadata.labels")),
              "{\"batch.kubernetes.io/controller-uid\":\"u-1\",\"batch.kubernetes.io/job-name\":"
              "\"j\",\"controller-uid\":\"u-1\",\"job-name\":\"j\"}");
    CHECK_STR(fixture_faults(&f, job, NULL), "");
    fixture_release(&f);
}

#define INDEXED PODS ",'completionMode':'Indexed','completions':5"

TEST(jobs_have_rules)
{
    static const struct fixture_row rows[] = {
        { "'template':{'spec':{'containers':[{'name':'a','image':'i'}]}}",
          "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", "
          "\"Never\"" },
        { PODS ",'completions':-1",
          "spec.completions: Invalid value: -1: must be greater than or equal to 0" },
        { PODS ",'completionMode':'Indexed','parallelism':2",
          "spec.completions: Required value: when completion mode is Indexed" },
        { PODS ",'backoffLimitPerIndex':1",
          "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode" },
        { PODS ",'podFailurePolicy':{'rules':[{'action':'Nope','onExitCodes':{'operator':'In',"
               "'values':[2,1]}}]}",
          "spec.podFailurePolicy.rules[0].action: Unsupported value: \"Nope\": supported values: "
          "\"Count\", \"FailIndex\", \"FailJob\", \"Ignore\"; "
          "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: must be "
          "ordered" },
        { PODS ",'podFailurePolicy':{'rules':[{'onExitCodes':{'containerName':'b','operator':'In',"
               "'values':[1]}}]}",
          "spec.podFailurePolicy.rules[0].action: Required value: valid values: [\"Count\" "
          "\"FailIndex\" \"FailJob\" \"Ignore\"]; "
          "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"b\": must be "
          "one of the container or initContainer names in the pod template" },
        { PODS ",'managedBy':'x'",
          "spec.managedBy: Invalid value: \"x\": must be a domain-prefixed path (such as "
          "\"acme.io/foo\")" },
        { INDEXED ",'successPolicy':{'rules':[{'succeededIndexes':'0-2,4','succeededCount':4}]}",
          "" },
        { INDEXED ",'successPolicy':{'rules':[{'succeededIndexes':'0-1','succeededCount':3}]}",
          "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or "
          "equal "
          "to 2 (the number of indexes in the specified succeededIndexes field)" },
        { INDEXED ",'successPolicy':{'rules':[{'succeededIndexes':'3,1'},{'succeededIndexes':"
                  "'5'},{'succeededIndexes':'a'},{}]}",
          "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"3,1\": error parsing "
          "succeededIndexes: non-increasing order, previous: 3, current: 1; "
          "spec.successPolicy.rules[1].succeededIndexes: Invalid value: \"5\": error parsing "
          "succeededIndexes: too large index: \"5\"; "
          "spec.successPolicy.rules[2].succeededIndexes: Invalid value: \"a\": error parsing "
          "succeededIndexes: cannot convert string to integer for index: \"a\"; "
          "spec.successPolicy.rules[3]: Required value: at least one of succeededCount or "
          "succeededIndexes must be specified" },
    };
    struct fixture f = fixture_new("batch", "v1", "jobs");

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        str text = str_printf(f.c.arena, "{" META ",'spec':{%s}}", rows[i].manifest);

        CHECK_STR(fixture_faults(&f, made(&f, str_z(f.c.arena, text)), NULL), rows[i].faults);
    }
    fixture_release(&f);
}

TEST(the_template_of_a_job_stays)
{
    struct fixture f = fixture_new("batch", "v1", "jobs");
    const struct json *old = made(&f, "{" META ",'spec':{" PODS "}}");
    struct json two = json_of_int(2);
    const struct json *now = json_set(f.c.arena, old, "spec.parallelism", &two);

    CHECK_STR(fixture_faults(&f, now, old), "");
    now = json_set(f.c.arena, old, "spec.completions", &two);
    CHECK_STR(fixture_faults(&f, now, old),
              "spec.completions: Invalid value: 2: field is immutable");
    now = json_set(f.c.arena, old, "spec.template.spec.terminationGracePeriodSeconds", &two);
    CHECK(str_starts(str_of(fixture_faults(&f, now, old)), STR("spec.template: Invalid value:")));
    fixture_release(&f);
}

TEST(cells_of_jobs)
{
    struct fixture f = fixture_new("batch", "v1", "jobs");

    CHECK_STR(fixture_cells(
                  &f, fixture_quotes(&f, "{'metadata':{'name':'j','creationTimestamp':"
                                         "'2020-01-02T03:04:00Z'},'spec':{'completions':3," PODS
                                         "},'status':{'succeeded':3,'startTime':"
                                         "'2020-01-02T03:03:00Z','completionTime':"
                                         "'2020-01-02T03:03:10Z','conditions':[{'type':'Complete',"
                                         "'status':'True'}]}}")),
              "[\"j\",\"Complete\",\"3/3\",\"10s\",\"5s\",\"a\",\"i\",\"<none>\"]");
    fixture_release(&f);
}

TEST(cron_jobs)
{
    static const struct fixture_row rows[] = {
        { "'schedule':'*/5 * * * *'", "" },
        { "'schedule':''", "spec.schedule: Required value" },
        { "'schedule':'* * *'",
          "spec.schedule: Invalid value: \"* * *\": expected exactly 5 fields, found 3: [* * *]" },
        { "'schedule':'TZ=UTC 0 0 * * *'",
          "spec.schedule: Invalid value: \"TZ=UTC 0 0 * * *\": cannot use TZ or CRON_TZ in "
          "schedule, use timeZone field instead" },
        { "'schedule':'@daily','timeZone':'../x'",
          "spec.timeZone: Invalid value: \"../x\": unknown time zone ../x" },
        { "'schedule':'@daily','timeZone':'Europe/Berlin'", "" },
        { "'schedule':'@daily','timeZone':'Europe/Atlantis'",
          "spec.timeZone: Invalid value: \"Europe/Atlantis\": unknown time zone Europe/Atlantis" },
        { "'schedule':'@daily','timeZone':'local'",
          "spec.timeZone: Invalid value: \"local\": timeZone must be an explicit time zone as "
          "defined in https://www.iana.org/time-zones; "
          "spec.timeZone: Invalid value: \"local\": unknown time zone local" },
        { "'schedule':'@daily','concurrencyPolicy':'Nope'",
          "spec.concurrencyPolicy: Unsupported value: \"Nope\": supported values: \"Allow\", "
          "\"Forbid\", \"Replace\"" },
        { "'schedule':'@daily','failedJobsHistoryLimit':-1",
          "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0" },
    };
    struct fixture f = fixture_new("batch", "v1", "cronjobs");
    const struct json *obj;

    FIXTURE_ROWS(&f, "{'metadata':{'name':'c'},'spec':{%s,'jobTemplate':{'spec':{" PODS "}}}}",
                 rows);
    obj = fixture_read(&f, "{\"spec\":{}}");
    CHECK(json_int(json_path(obj, "spec.successfulJobsHistoryLimit"), 0) == 3);
    CHECK(json_int(json_path(obj, "spec.failedJobsHistoryLimit"), 0) == 1);
    CHECK(str_is(json_get_str(obj, "spec.concurrencyPolicy"), "Allow"));
    fixture_release(&f);
}

/* A zone that the data base lost, and TZ in a schedule, stay where they are. */
TEST(cron_jobs_of_before)
{
    struct fixture f = fixture_new("batch", "v1", "cronjobs");
    struct json none = json_of_str(STR("C/D")), daily = json_of_str(STR("@daily"));
    const struct json *old =
        made(&f, "{'metadata':{'name':'c'},'spec':{'schedule':'TZ=UTC @daily','timeZone':'A/B',"
                 "'jobTemplate':{'spec':{" PODS "}}}}");
    const struct json *now = json_set(f.c.arena, old, "spec.schedule", &daily);

    CHECK_STR(fixture_faults(&f, old, old),
              "spec.schedule: Invalid value: \"TZ=UTC @daily\": cannot use both timeZone field and "
              "TZ or CRON_TZ in schedule");
    CHECK_STR(fixture_faults(&f, now, old), "");
    CHECK_STR(fixture_faults(&f, json_set(f.c.arena, now, "spec.timeZone", &none), old),
              "spec.timeZone: Invalid value: \"C/D\": unknown time zone C/D");
    fixture_release(&f);
}
