/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUDIT_AUDIT_REDACT_H
#define APISERVER_AUDIT_AUDIT_REDACT_H

/*
 * Hides secrets in the bodies that the audit records.  At every audit level these values are
 * replaced by "REDACTED", at any depth, in objects, lists, tables, patches and manifests inside
 * other objects:
 *
 * - data and stringData of Secrets, and fields that a Secret does not have;
 * - strings under the names token, password, kubeconfig, tokenData, keyData;
 * - the last-applied-configuration annotation, which repeats all of these;
 * - the value of an operation (JSON patch, override) on a path that leads to one of them.
 *
 * Pure; the result shares what did not change.
 */

#include "apiserver/call/reqinfo.h"
#include "json/json.h"

#define AUDIT_REDACTED "REDACTED"

const struct json *audit_redact(struct arena *a, const struct json *v, const struct reqinfo *info,
                                bool omit_managed_fields);

/* Returns whether the bodies of the request are secrets as a whole, so that errors about them may
 * quote one. */
bool audit_is_sensitive(const struct reqinfo *info);

#endif
