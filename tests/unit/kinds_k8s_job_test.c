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
          "spec.podFailurePolicy.rules[0].action: Required value; "
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

#define OWN(pods, now)                                                                           \
    "{" META ",'spec':{'manualSelector':true,'selector':{'matchLabels':{'a':'b'}},'template':{"  \
    "'metadata':{'labels':{'a':'b'}},'spec':{'restartPolicy':'Never','containers':[{'name':'c'," \
    "'image':'i:1'}]" pods "}}" now "}}"

/* What a kube-apiserver 1.35.4 says: the template as Go has it inside. */
TEST(a_template_that_changes_is_shown_as_go_has_it)
{
    struct fixture f = fixture_new("batch", "v1", "jobs");

    CHECK_STR(
        fixture_update_faults(
            &f, OWN("", ""), OWN(",'hostNetwork':true,'volumes':[{'name':'v','emptyDir':{}}]", "")),
        "spec.template: Invalid value: "
        "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"i:1\",\"resources\":{},"
        "\"terminationMessagePath\":\"/dev/"
        "termination-log\",\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":"
        "\"IfNotPresent\"}],\"hostNetwork\":true,\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],"
        "\"dnsPolicy\":\"ClusterFirst\",\"schedulerName\":\"default-scheduler\","
        "\"securityContext\":{},\"terminationGracePeriodSeconds\":30}}: field is immutable");
    fixture_release(&f);
}

/* metadata.labels of a new Job as it is stored. */
static const char *labels_of(struct fixture *f, const char *meta)
{
    str text = str_printf(f->c.arena,
                          "{'metadata':{'name':'j','uid':'u-1'%s},'spec':{'template':{'metadata':{"
                          "'labels':{'a':'b'}},'spec':{'restartPolicy':'Never','containers':[{"
                          "'name':'c','image':'i'}]}}}}",
                          meta);
    const struct json *obj = fixture_read(f, fixture_quotes(f, str_z(f->c.arena, text)));

    obj = f->kind->ops->prepare_create(&f->c, obj);
    return fixture_print(f, json_path(obj, "metadata.labels"));
}

TEST(a_job_without_labels_has_those_of_its_template)
{
    struct fixture f = fixture_new("batch", "v1", "jobs");

    CHECK_STR(labels_of(&f, ""),
              "{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u-1\","
              "\"batch.kubernetes.io/job-name\":\"j\",\"controller-uid\":\"u-1\","
              "\"job-name\":\"j\"}");
    CHECK_STR(labels_of(&f, ",'labels':{'a':'b'}"), "{\"a\":\"b\"}");
    fixture_release(&f);
}

TEST(generated_labels_and_completions_stay)
{
    struct fixture f = fixture_new("batch", "v1", "jobs");

    CHECK_STR(fixture_update_faults(&f, OWN("", ""), OWN("", ",'completions':3")),
              "spec.completions: Invalid value: 3: field is immutable");
    CHECK_STR(fixture_update_faults(
                  &f, OWN("", ",'completionMode':'Indexed','completions':2,'parallelism':2"),
                  OWN("", ",'completionMode':'Indexed','completions':3,'parallelism':2")),
              "spec.completions: Invalid value: 3: can only be modified in tandem with "
              "spec.parallelism");
    CHECK_STR(fixture_update_faults(
                  &f, OWN("", ""),
                  "{" META ",'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{"
                  "'labels':{'a':'b'}},'spec':{'restartPolicy':'Never','containers':[{'name':'c',"
                  "'image':'i:1'}]}}}}"),
              "spec.template.metadata.labels[controller-uid]: Required value: must be 'u-1'; "
              "spec.template.metadata.labels[job-name]: Required value: must be 'j'; "
              "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\"}}: `selector` not "
              "auto-generated");
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

#define STARTED    "'startTime':'2020-01-02T03:03:00Z'"
#define ENDED      "'completionTime':'2020-01-02T03:03:10Z'"
#define SAYS(type) "{'type':'" type "','status':'True'}"

static const struct json *with_status(struct fixture *f, const char *status)
{
    const char *text = str_z(f->c.arena, str_printf(f->c.arena,
                                                    "{'metadata':{'name':'j'},'spec':{" PODS
                                                    ",'completions':3},'status':{%s}}",
                                                    status));

    return fixture_read(f, fixture_quotes(f, text));
}

/* What a status may say, and what of an older one it may take back. */
TEST(a_status_of_a_job_is_weighed)
{
    static const struct {
        const char *was, *now, *faults;
    } rows[] = {
        { "", "'active':1", "" },
        { "",
          "'conditions':[" SAYS("Complete") "," SAYS("SuccessCriteriaMet") "]," STARTED "," ENDED,
          "" },
        { "", "'conditions':[" SAYS("Failed") "," SAYS("FailureTarget") "]," STARTED, "" },
        { "", "'conditions':[" SAYS("Failed") "]," STARTED,
          "status.conditions: Invalid value: cannot set Failed=True condition without the "
          "FailureTarget=true condition" },
        { "", "'conditions':[" SAYS("Complete") "],'active':1",
          "status.conditions: Invalid value: cannot set Complete=True condition without the "
          "SuccessCriteriaMet=true condition; "
          "status.completionTime: Required value: completionTime is required for Complete jobs; "
          "status.startTime: Required value: startTime is required for finished job; "
          "status.active: Invalid value: 1: active>0 is invalid for finished job" },
        { "", "'ready':1",
          "status.ready: Invalid value: 1: cannot set more ready pods than active" },
        { "", "'completedIndexes':'0,x'",
          "status.completedIndexes: Invalid value: \"0,x\": error parsing completedIndexes: cannot "
          "convert string to integer for index: \"x\"; "
          "status.completedIndexes: Invalid value: \"0,x\": cannot set non-empty "
          "completedIndexes when non-indexed completion mode" },
        { "'succeeded':2,'failed':1", "'succeeded':1,'failed':1",
          "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter" },
        { "'conditions':[" SAYS("FailureTarget") "]", "",
          "status.conditions: Invalid value: cannot disable the terminal FailureTarget=True "
          "condition" },
        { STARTED, "",
          "status.startTime: Required value: startTime cannot be removed for unsuspended job" },
        { "", "'uncountedTerminatedPods':{'succeeded':['a'],'failed':['a','']}",
          "status.uncountedTerminatedPods.failed[0]: Duplicate value: \"a\"; "
          "status.uncountedTerminatedPods.failed[1]: Invalid value: \"\": must not be empty" },
        /* An old fault does not hinder. */
        { "'conditions':[" SAYS("Failed") "]", "'conditions':[" SAYS("Failed") "],'terminating':0",
          "" },
    };
    struct fixture f = fixture_new("batch", "v1", "jobs");

    f.c.subresource = STR("status");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(fixture_faults(&f, with_status(&f, rows[i].now), with_status(&f, rows[i].was)),
                  rows[i].faults);
    fixture_release(&f);
}
