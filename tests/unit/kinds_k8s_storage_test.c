/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

TEST(drivers_of_a_node_stay_as_they_were)
{
    static const char was[] = "{'spec':{'drivers':[{'name':'a.b','nodeID':'n','topologyKeys':["
                              "'k'],'allocatable':{'count':1}}]}}";
    static const struct fixture_row rows[] = {
        { "{'name':'a.b','nodeID':'n','topologyKeys':['k'],'allocatable':{'count':2}}", "" },
        { "{'name':'c.d','nodeID':'m','topologyKeys':null}", "" },
        { "{'name':'c.d','nodeID':'m'},{'name':'a.b','nodeID':'m','topologyKeys':['k']}",
          "spec.drivers: Invalid value: "
          "{\"name\":\"a.b\",\"nodeID\":\"m\",\"topologyKeys\":[\"k\"]}: field is immutable" },
        { "{'name':'a.b','nodeID':'n','topologyKeys':null}",
          "spec.drivers: Invalid value: {\"name\":\"a.b\",\"nodeID\":\"n\",\"topologyKeys\":null}: "
          "field is immutable" },
    };
    struct fixture f = fixture_new("storage.k8s.io", "v1", "csinodes");

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(
            fixture_update_faults(
                &f, was, arena_printf(f.c.arena, "{'spec':{'drivers':[%s]}}", rows[i].manifest)),
            rows[i].faults);
    fixture_release(&f);
}

TEST(an_attachment_is_shown_as_kubernetes_has_it)
{
    static const char was[] = "{'spec':{'attacher':'a.b','nodeName':'n','source':{"
                              "'persistentVolumeName':'p'}}}",
                      now[] = "{'spec':{'attacher':'a.b','nodeName':'m','source':{"
                              "'persistentVolumeName':'p'}}}";
    struct fixture f = fixture_new("storage.k8s.io", "v1", "volumeattachments");

    f.c.create = false;
    CHECK_STR(fixture_update_faults(&f, was, now),
              "spec: Invalid value: "
              "{\"attacher\":\"a.b\",\"nodeName\":\"m\",\"source\":{\"persistentVolumeName\":\"p\"}"
              "}: field is immutable");
    fixture_release(&f);
}

TEST(what_is_not_looked_at)
{
    static const struct fixture_row sizes[] = {
        { "'maximumVolumeSize':'-1'", "" },
        { "'capacity':'-1'",
          "capacity: Invalid value: \"-1\": must be greater than or equal to 0" },
    };
    static const struct fixture_row policies[] = {
        { "'reclaimPolicy':''", "" },
        { "'reclaimPolicy':'x'",
          "reclaimPolicy: Unsupported value: \"x\": supported values: \"Delete\", \"Retain\"" },
    };
    struct fixture f = fixture_new("storage.k8s.io", "v1", "csistoragecapacities");

    FIXTURE_ROWS(&f, "{'storageClassName':'c',%s}", sizes);
    fixture_release(&f);
    f = fixture_new("storage.k8s.io", "v1", "storageclasses");
    FIXTURE_ROWS(&f, "{'provisioner':'a.b',%s}", policies);
    fixture_release(&f);
}
