/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

TEST(of_an_accounts_secrets_only_names_are_kept)
{
    struct fixture f = fixture_new("", "v1", "serviceaccounts");
    const struct json *obj =
        fixture_read(&f, "{\"secrets\":[{\"name\":\"a\",\"kind\":\"Secret\"},{\"name\":\"b\"}],"
                         "\"automountServiceAccountToken\":false}");
    const char *want = "{\"metadata\":{},\"automountServiceAccountToken\":false,\"secrets\":"
                       "[{\"name\":\"a\"},{\"name\":\"b\"}]}";

    CHECK_STR(fixture_print(&f, f.kind->ops->prepare_create(&f.c, obj)), want);
    CHECK_STR(fixture_print(&f, f.kind->ops->prepare_update(&f.c, obj, obj)), want);
    fixture_release(&f);
}

TEST(an_old_annotation_is_warned_of_once)
{
    struct fixture f = fixture_new("", "v1", "serviceaccounts");
    const struct json *plain = fixture_read(&f, "{}");
    const struct json *marked = fixture_read(
        &f,
        "{\"metadata\":{\"annotations\":{\"kubernetes.io/enforce-mountable-secrets\":\"true\"}}}");
    struct schema_faults w = { 0 };

    f.kind->ops->warn(&f.c, plain, NULL, &w);
    f.kind->ops->warn(&f.c, marked, marked, &w);
    CHECK(w.n == 0);
    f.kind->ops->warn(&f.c, marked, NULL, &w);
    f.kind->ops->warn(&f.c, marked, plain, &w);
    CHECK(w.n == 2);
    fixture_release(&f);
}

TEST(a_deleted_account_is_answered_with_itself)
{
    struct fixture f = fixture_new("", "v1", "serviceaccounts");

    CHECK(f.kind->delete_returns_object);
    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"bot\",\"creationTimestamp\":"
                                "\"2020-01-02T03:04:00Z\"}}"),
              "[\"bot\",\"5s\"]");
    CHECK(f.kind->ncolumns == 2);
    fixture_release(&f);
}

TEST(secrets_of_an_account_are_merged_by_name)
{
    struct fixture f = fixture_new("", "v1", "serviceaccounts");
    const struct schema_field *secrets = schema_field(f.kind->schema, STR("secrets"));
    const struct schema_field *pull = schema_field(f.kind->schema, STR("imagePullSecrets"));

    REQUIRE(secrets && pull);
    CHECK(secrets->patch_merge && str_is(secrets->merge_key, "name"));
    CHECK(!pull->patch_merge);
    fixture_release(&f);
}

TEST(namespaces_have_two_subresources_and_no_deletecollection)
{
    struct fixture f = fixture_new("", "v1", "namespaces");
    const struct subresource *s;

    CHECK(!(f.kind->verbs & VERB_DELETE_COLLECTION) && f.kind->verbs & VERB_DELETE);
    CHECK(!f.kind->namespaced && f.kind->name_rule == NAME_LABEL);
    s = kind_subresource(f.kind, STR("finalize"));
    CHECK(s && s->verbs == VERB_UPDATE);
    s = kind_subresource(f.kind, STR("status"));
    CHECK(s && s->verbs == VERBS_STATUS);
    fixture_release(&f);
}
