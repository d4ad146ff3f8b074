/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

static struct fixture namespaces(const char *subresource)
{
    struct fixture f = fixture_new("", "v1", "namespaces");

    f.c.namespace_ = STR_NONE;
    f.c.subresource = str_of(subresource);
    return f;
}

#define OLD                                                                                 \
    "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":" \
    "{\"phase\":\"Active\"}}"

TEST(a_new_namespace_gets_label_finalizer_and_phase)
{
    struct fixture f = namespaces("");
    const struct json *obj = fixture_read(&f, "{\"metadata\":{\"name\":\"x\"}}");

    CHECK_STR(fixture_print(&f, f.kind->ops->prepare_create(&f.c, obj)),
              "{\"metadata\":{\"labels\":{\"kubernetes.io/metadata.name\":\"x\"},\"name\":\"x\"},"
              "\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}");
    fixture_release(&f);
}

TEST(a_generated_name_becomes_the_label)
{
    struct fixture f = namespaces("");
    const struct json *obj = fixture_read(&f, "{\"metadata\":{\"generateName\":\"g-\"}}");

    f.c.name = STR("g-abcde");
    obj = f.kind->ops->prepare_create(&f.c, obj);
    CHECK_STR(fixture_print(&f, json_path(obj, "metadata.labels")),
              "{\"kubernetes.io/metadata.name\":\"g-abcde\"}");
    fixture_release(&f);
}

TEST(given_finalizers_are_kept_and_status_is_not)
{
    struct fixture f = namespaces("");
    const struct json *obj = fixture_read(
        &f, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"finalizers\":[\"a.b/c\"]},"
            "\"status\":{\"phase\":\"Terminating\",\"conditions\":[{\"type\":\"T\"}]}}");

    obj = f.kind->ops->prepare_create(&f.c, obj);
    CHECK_STR(fixture_print(&f, json_get(obj, STR("spec"))),
              "{\"finalizers\":[\"a.b/c\",\"kubernetes\"]}");
    CHECK_STR(fixture_print(&f, json_get(obj, STR("status"))), "{\"phase\":\"Active\"}");
    obj = f.kind->ops->prepare_create(&f.c, obj); /* kubernetes is not put twice */
    CHECK(json_len(json_path(obj, "spec.finalizers")) == 2);
    fixture_release(&f);
}

TEST(the_name_label_cannot_be_changed)
{
    struct fixture f = namespaces("");
    const struct json *obj = fixture_read(
        &f, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"kubernetes.io/metadata.name\":\"y\"}}}");

    CHECK_STR(fixture_print(&f, json_path(obj, "metadata.labels")),
              "{\"kubernetes.io/metadata.name\":\"x\"}");
    fixture_release(&f);
}

/* What an endpoint leaves of a body that changes everything. */
static void check_update(const char *subresource, const char *spec, const char *status)
{
    struct fixture f = namespaces(subresource);
    const struct json *old = fixture_read(&f, OLD);
    const struct json *obj =
        fixture_read(&f, "{\"metadata\":{\"name\":\"x\"},\"status\":{\"phase\":\"Terminating\"}}");

    obj = f.kind->ops->prepare_update(&f.c, obj, old);
    CHECK_STR(fixture_print(&f, json_get(obj, STR("spec"))), spec);
    CHECK_STR(fixture_print(&f, json_get(obj, STR("status"))), status);
    fixture_release(&f);
}

TEST(each_endpoint_changes_its_own_part)
{
    check_update("", "{\"finalizers\":[\"kubernetes\"]}", "{\"phase\":\"Active\"}");
    check_update("status", "{\"finalizers\":[\"kubernetes\"]}", "{\"phase\":\"Terminating\"}");
    check_update("finalize", "{}", "{\"phase\":\"Active\"}");
}

TEST(finalizers_are_qualified_or_well_known)
{
    struct fixture f = namespaces("");

    CHECK_STR(fixture_create_faults(&f, "{\"spec\":{\"finalizers\":[\"kubernetes\",\"orphan\","
                                        "\"example.com/x\"]}}"),
              "");
    CHECK_STR(fixture_create_faults(&f, "{\"spec\":{\"finalizers\":[\"mine\"]}}"),
              "spec.finalizers: Invalid value: \"mine\": name is neither a standard finalizer name "
              "nor is it fully qualified");
    fixture_release(&f);
}

TEST(status_must_agree_with_deletion)
{
    struct fixture f = namespaces("status");
    const struct json *old = fixture_read(&f, OLD);
    const struct json *going = fixture_read(
        &f, "{\"metadata\":{\"deletionTimestamp\":\"2020-01-02T03:04:05Z\"},\"status\":{\"phase\":"
            "\"Terminating\"}}");

    CHECK_STR(fixture_faults(&f, old, old), "");
    CHECK_STR(fixture_faults(&f, going, going), "");
    CHECK_STR(fixture_faults(&f, going, old),
              "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if "
              "`deletionTimestamp` is empty");
    CHECK_STR(fixture_faults(&f, old, going),
              "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if "
              "`deletionTimestamp` is not empty");
    fixture_release(&f);
}

TEST(three_namespaces_cannot_be_deleted)
{
    struct fixture f = namespaces("");

    f.c.name = STR("kube-system");
    CHECK(f.kind->ops->check_delete(&f.c, NULL, &f.st) < 0);
    CHECK(status_is(&f.st, REASON_FORBIDDEN));
    CHECK_STR(str_z(f.c.arena, f.st.message),
              "namespaces \"kube-system\" is forbidden: this namespace may not be deleted");
    f.c.name = STR("kube-node-lease");
    CHECK(f.kind->ops->check_delete(&f.c, NULL, &f.st) == 0);
    fixture_release(&f);
}

TEST(a_delete_makes_it_terminating_first)
{
    struct fixture f = namespaces("");
    const struct json *obj = fixture_read(&f, OLD), *again;

    obj = f.kind->ops->begin_delete(&f.c, obj);
    REQUIRE(obj != NULL);
    CHECK(str_is(json_get_str(obj, "status.phase"), "Terminating"));
    CHECK(str_is(json_get_str(obj, "metadata.deletionTimestamp"), "2020-01-02T03:04:05Z"));
    CHECK(!json_path(obj, "metadata.deletionGracePeriodSeconds"));
    CHECK(!f.kind->ops->may_vanish(obj));

    f.c.now_s += 60;
    again = f.kind->ops->begin_delete(&f.c, obj); /* changes nothing */
    CHECK(again && json_equal(again, obj));

    obj = json_set(f.c.arena, obj, "spec.finalizers", NULL);
    CHECK(f.kind->ops->may_vanish(obj));
    CHECK(f.kind->ops->begin_delete(&f.c, obj) == NULL);
    fixture_release(&f);
}

TEST(cells_are_name_status_age)
{
    struct fixture f = namespaces("");

    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"x\",\"creationTimestamp\":"
                                "\"2020-01-02T03:04:00Z\"},\"status\":{\"phase\":\"Active\"}}"),
              "[\"x\",\"Active\",\"5s\"]");
    fixture_release(&f);
}
