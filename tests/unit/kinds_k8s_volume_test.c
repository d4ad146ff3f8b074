/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

#define SIZE "'capacity':{'storage':'1Gi'}"

TEST(volumes)
{
    static const struct fixture_row rows[] = {
        { "'accessModes':['ReadWriteOnce']," SIZE ",'hostPath':{'path':'/x'}", "" },
        { "'accessModes':['ReadWriteOnce']," SIZE,
          "spec: Required value: must specify a volume type" },
        { SIZE ",'hostPath':{'path':'/x'}", "spec.accessModes: Required value" },
        { "'accessModes':['ReadWriteOnce'],'hostPath':{'path':'/x'}",
          "spec.capacity: Required value; spec.capacity: Unsupported value: \"\": supported "
          "values: \"storage\"" },
        { "'accessModes':['ReadWriteOnce','ReadWriteOncePod']," SIZE ",'nfs':{'server':'s',"
          "'path':'x'}",
          "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes; "
          "spec.nfs.path: Invalid value: \"x\": must be an absolute path" },
        { "'accessModes':['Nope']," SIZE ",'local':{'path':'/x'}",
          "spec.accessModes: Unsupported value: \"Nope\": supported values: \"ReadOnlyMany\", "
          "\"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"; spec.nodeAffinity: Required "
          "value: Local volume requires node affinity" },
    };
    struct fixture f = fixture_new("", "v1", "persistentvolumes");

    FIXTURE_ROWS(&f, "{'spec':{%s}}", rows);
    CHECK(str_starts(str_of(fixture_update_faults(
                         &f,
                         "{'spec':{'accessModes':['ReadWriteOnce']," SIZE ",'hostPath':{'path':"
                         "'/x'}}}",
                         "{'spec':{'accessModes':['ReadWriteOnce']," SIZE ",'hostPath':{'path':"
                         "'/y'}}}")),
                     STR("spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is "
                         "immutable after creation")));
    fixture_release(&f);
}

TEST(a_volume_tells_when_its_phase_changed)
{
    struct fixture f = fixture_new("", "v1", "persistentvolumes");
    const struct json *old, *now;
    struct json bound = json_of_str(STR("Bound"));

    f.c.now_s = 1577934245;
    old = f.kind->ops->prepare_create(&f.c, fixture_read(&f, "{\"spec\":{}}"));
    CHECK_STR(fixture_print(&f, json_get(old, STR("status"))),
              "{\"lastPhaseTransitionTime\":\"2020-01-02T03:04:05Z\",\"phase\":\"Pending\"}");
    f.c.subresource = STR("status");
    f.c.now_s++;
    now = json_set(f.c.arena, old, "status.lastPhaseTransitionTime", NULL);
    now = f.kind->ops->prepare_update(&f.c, now, old);
    CHECK_STR(str_z(f.c.arena, json_get_str(now, "status.lastPhaseTransitionTime")),
              "2020-01-02T03:04:05Z");
    now = f.kind->ops->prepare_update(&f.c, json_set(f.c.arena, old, "status.phase", &bound), old);
    CHECK_STR(str_z(f.c.arena, json_get_str(now, "status.lastPhaseTransitionTime")),
              "2020-01-02T03:04:06Z");
    fixture_release(&f);
}

#define ASK(size) "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'" size "'}}"

TEST(claims)
{
    static const struct fixture_row rows[] = {
        { ASK("1Gi"), "" },
        { "'accessModes':['ReadWriteOnce']", "spec.resources[storage]: Required value" },
        { "'resources':{'requests':{'storage':'0'}}",
          "spec.accessModes: Required value: at least 1 access mode is required; "
          "spec.resources[storage]: Invalid value: \"0\": must be greater than zero" },
        { ASK("1Gi") ",'volumeMode':'Nope'",
          "spec.volumeMode: Unsupported value: \"Nope\": supported values: \"Block\", "
          "\"Filesystem\"" },
    };
    struct fixture f = fixture_new("", "v1", "persistentvolumeclaims");

    FIXTURE_ROWS(&f, "{'spec':{%s}}", rows);
    fixture_release(&f);
}

#define CLAIM_STAYS                                                                    \
    "spec: Forbidden: spec is immutable after creation except resources.requests and " \
    "volumeAttributesClassName for bound claims"

TEST(a_bound_claim_can_grow)
{
    struct fixture f = fixture_new("", "v1", "persistentvolumeclaims");

    CHECK_STR(fixture_update_faults(&f, "{'spec':{" ASK("1Gi") "},'status':{'phase':'Bound'}}",
                                    "{'spec':{" ASK("2Gi") "},'status':{'phase':'Bound'}}"),
              "");
    CHECK_STR(fixture_update_faults(&f, "{'spec':{" ASK("1Gi") "}}", "{'spec':{" ASK("2Gi") "}}"),
              CLAIM_STAYS);
    CHECK_STR(fixture_update_faults(&f, "{'spec':{" ASK("1Gi") "}}",
                                    "{'spec':{" ASK("1Gi") ",'volumeName':'v'}}"),
              "");
    fixture_release(&f);
}

TEST(what_a_claim_was_given)
{
    static const struct fixture_row rows[] = {
        { "'capacity':{'storage':'1Gi'},'allocatedResources':{'storage':'1Gi','a.io/b':'1'},"
          "'allocatedResourceStatuses':{'storage':'NodeResizePending'}",
          "" },
        { "'capacity':{'storage':'-1500m'}",
          "status.capacity[storage]: Invalid value: -2: must be a valid resource quantity" },
        { "'allocatedResources':{'cpu':'1'}",
          "status.allocatedResources: Unsupported value: \"cpu\": supported values: "
          "\"storage\"" },
        { "'allocatedResourceStatuses':{'storage':'Nope'}",
          "status.allocatedResourceStatuses: Unsupported value: \"storage\": supported values: "
          "\"ControllerResizeInProgress\", \"ControllerResizeInfeasible\", "
          "\"NodeResizeInProgress\", \"NodeResizeInfeasible\", \"NodeResizePending\"" },
    };
    struct fixture f = fixture_new("", "v1", "persistentvolumeclaims");

    f.c.subresource = STR("status");
    FIXTURE_ROWS(&f, "{'status':{%s}}", rows);
    fixture_release(&f);
}

TEST(cells_of_a_claim)
{
    struct fixture f = fixture_new("", "v1", "persistentvolumeclaims");

    CHECK_STR(fixture_cells(
                  &f, fixture_quotes(&f, "{'metadata':{'name':'c','creationTimestamp':"
                                         "'2020-01-02T03:04:00Z'},'spec':{'volumeName':'v',"
                                         "'storageClassName':'fast'},'status':{'phase':'Bound',"
                                         "'accessModes':['ReadWriteOnce'],'capacity':{'storage':"
                                         "'1Gi'}}}")),
              "[\"c\",\"Bound\",\"v\",\"1Gi\",\"RWO\",\"fast\",\"<unset>\",\"5s\",\"Filesystem\"]");
    fixture_release(&f);
}

TEST(sources_of_claims)
{
    static const struct {
        const char *given, *source, *ref;
    } rows[] = {
        { "'dataSource':{'kind':'Pod','name':'p'}", NULL, NULL },
        { "'dataSource':{'kind':'PersistentVolumeClaim','name':'p'}", "PersistentVolumeClaim",
          "PersistentVolumeClaim" },
        { "'dataSourceRef':{'apiGroup':'x.y','kind':'Z','name':'p'}", "Z", "Z" },
        { "'dataSourceRef':{'apiGroup':'x.y','kind':'Z','name':'p','namespace':'n'}", NULL, NULL },
    };
    struct fixture f = fixture_new("", "v1", "persistentvolumeclaims");

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        str text = str_printf(f.c.arena, "{'spec':{%s}}", rows[i].given);
        const struct json *obj = f.kind->ops->prepare_create(
            &f.c, fixture_read(&f, fixture_quotes(&f, str_z(f.c.arena, text))));

        CHECK(str_eq(json_get_str(obj, "spec.dataSource.kind"),
                     str_of(rows[i].source ? rows[i].source : "")));
        CHECK(str_eq(json_get_str(obj, "spec.dataSourceRef.kind"),
                     str_of(rows[i].ref ? rows[i].ref : "")));
    }
    fixture_release(&f);
}
