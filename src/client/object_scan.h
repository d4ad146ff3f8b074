/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_OBJECT_SCAN_H
#define CLIENT_OBJECT_SCAN_H

/*
 * Which object a text is about, without parsing it: most events of a busy cluster are overtaken by
 * the next of the same object before anybody has to read them.
 */

#include "base/str.h"

struct object_scan {
    str namespace, name, version; /* slices of the text; version: resourceVersion */
    str instance;                 /* of objects from all instances, else empty */
};

/*
 * False when the text is not written as Kubernetes does it (white space, escapes in these values):
 * then it has to be parsed.  Says nothing about whether the rest is well-formed.
 */
bool object_scan(str text, bool with_instance, struct object_scan *out);

#endif
