/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

#define GROUP "rbac.authorization.k8s.io"
#define REF   "\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"r\"}"

static void check_faults(const char *plural, const char *const (*rows)[2], size_t n)
{
    struct fixture f = fixture_new(GROUP, "v1", plural);

    for (size_t i = 0; i < n; i++)
        CHECK_STR(fixture_create_faults(&f, rows[i][0]), rows[i][1]);
    fixture_release(&f);
}

TEST(rules_name_verbs_groups_and_resources)
{
    static const char *const rows[][2] = {
        { "{}", "" },
        { "{\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]}", "" },
        { "{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]}",
          "rules[0].verbs: Required value: verbs must contain at least one value" },
        { "{\"rules\":[{\"verbs\":[\"get\"]}]}",
          "rules[0].apiGroups: Required value: resource rules must supply at least one api group; "
          "rules[0].resources: Required value: resource rules must supply at least one resource" },
        { "{\"rules\":[{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/x\"]}]}",
          "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to "
          "non-resource URLs" },
    };

    check_faults("roles", rows, sizeof(rows) / sizeof(*rows));
}

TEST(cluster_roles_may_name_paths_and_collect)
{
    static const char *const rows[][2] = {
        { "{\"rules\":[{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/x\"]}]}", "" },
        { "{\"rules\":[{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/x\"],\"resources\":[\"y\"]}]}",
          "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular "
          "resources and non-resource URLs" },
        { "{\"aggregationRule\":{}}",
          "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector "
          "required if aggregationRule is non-nil" },
        { "{\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchLabels\":{\"a\":\"b\"}}]}}",
          "" },
        { "{\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchExpressions\":["
          "{\"key\":\"a\",\"operator\":\"In\"},{\"key\":\"a\",\"operator\":\"Exists\","
          "\"values\":[\"x\"]},{\"key\":\"a\",\"operator\":\"Near\"}]}]}}",
          "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value: "
          "must be specified when `operator` is 'In' or 'NotIn'; "
          "aggregationRule.clusterRoleSelectors[0].matchExpressions[1].values: Forbidden: "
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'; "
          "aggregationRule.clusterRoleSelectors[0].matchExpressions[2].operator: Invalid value: "
          "\"Near\": not a valid selector operator; aggregationRule.clusterRoleSelectors[0]: "
          "Invalid value: null: invalid "
          "label selector." },
    };

    check_faults("clusterroles", rows, sizeof(rows) / sizeof(*rows));
}

TEST(bindings_name_a_role_and_subjects)
{
    static const char *const rows[][2] = {
        { "{\"roleRef\":{\"kind\":\"Role\",\"name\":\"r\"}}", "" },
        { "{" REF ",\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"x\"}]}", "" },
        { "{\"roleRef\":{\"apiGroup\":\"x\",\"kind\":\"Robot\"}}",
          "roleRef.apiGroup: Unsupported value: \"x\": supported values: \"" GROUP "\"; "
          "roleRef.kind: Unsupported value: \"Robot\": supported values: \"Role\", "
          "\"ClusterRole\"; roleRef.name: Required value" },
        { "{" REF ",\"subjects\":[{\"kind\":\"User\"},{\"kind\":\"Alien\",\"name\":\"x\"},"
          "{\"kind\":\"ServiceAccount\",\"apiGroup\":\"g\",\"name\":\"X\"},"
          "{\"kind\":\"Group\",\"apiGroup\":\"g\",\"name\":\"x\"}]}",
          "subjects[0].name: Required value; "
          "subjects[1].kind: Unsupported value: \"Alien\": supported values: \"ServiceAccount\", "
          "\"User\", \"Group\"; "
          "subjects[2].name: Invalid value: \"X\": a lowercase RFC 1123 subdomain must consist of "
          "lower case alphanumeric characters, '-' or '.', and must start and end with an "
          "alphanumeric character (e.g. 'example.com', regex used for validation is "
          "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); "
          "subjects[2].apiGroup: Unsupported value: \"g\": supported values: \"\"; "
          "subjects[3].apiGroup: Unsupported value: \"g\": supported values: \"" GROUP "\"" },
    };

    check_faults("rolebindings", rows, sizeof(rows) / sizeof(*rows));
}

TEST(cluster_bindings_name_cluster_roles_and_whole_accounts)
{
    static const char *const rows[][2] = {
        { "{" REF "}", "" },
        { "{\"roleRef\":{\"kind\":\"Role\",\"name\":\"r\"}}",
          "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"" },
        { "{" REF ",\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"x\"}]}",
          "subjects[0].namespace: Required value" },
    };

    check_faults("clusterrolebindings", rows, sizeof(rows) / sizeof(*rows));
}

TEST(groups_are_filled_in)
{
    struct fixture f = fixture_new(GROUP, "v1", "rolebindings");
    const struct json *obj =
        fixture_read(&f, "{" REF ",\"subjects\":[{\"kind\":\"User\",\"name\":\"u\"},"
                         "{\"kind\":\"ServiceAccount\",\"name\":\"s\"}]}");

    CHECK_STR(fixture_print(&f, obj),
              "{\"metadata\":{},\"roleRef\":{\"apiGroup\":\"" GROUP "\",\"kind\":\"ClusterRole\","
              "\"name\":\"r\"},\"subjects\":[{\"apiGroup\":\"" GROUP "\",\"kind\":\"User\","
              "\"name\":\"u\"},{\"kind\":\"ServiceAccount\",\"name\":\"s\"}]}");
    fixture_release(&f);
}

TEST(a_role_once_bound_stays)
{
    struct fixture f = fixture_new(GROUP, "v1", "rolebindings");
    const struct json *old = fixture_read(&f, "{" REF "}");

    CHECK_STR(fixture_faults(&f, fixture_read(&f, "{" REF ",\"subjects\":[]}"), old), "");
    CHECK_STR(
        fixture_faults(
            &f, fixture_read(&f, "{\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"s\"}}"), old),
        "roleRef: Invalid value: {\"kind\":\"ClusterRole\",\"name\":\"s\",\"apiGroup\":\"" GROUP
        "\"}: cannot change roleRef");
    fixture_release(&f);
}

TEST(cells_of_roles_and_bindings)
{
    struct fixture f = fixture_new(GROUP, "v1", "clusterroles");

    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"r\",\"creationTimestamp\":"
                                "\"2020-01-02T03:04:05Z\"}}"),
              "[\"r\",\"2020-01-02T03:04:05Z\"]");
    fixture_release(&f);
    f = fixture_new(GROUP, "v1", "rolebindings");
    CHECK_STR(fixture_cells(
                  &f, "{\"metadata\":{\"name\":\"b\"}," REF ",\"subjects\":[{\"kind\":\"User\","
                      "\"name\":\"u\"},{\"kind\":\"User\",\"name\":\"v\"},{\"kind\":\"Group\","
                      "\"name\":\"g\"},{\"kind\":\"ServiceAccount\",\"namespace\":\"n\",\"name\":"
                      "\"s\"}]}"),
              "[\"b\",\"ClusterRole/r\",\"<unknown>\",\"u, v\",\"g\",\"n/s\"]");
    fixture_release(&f);
}
