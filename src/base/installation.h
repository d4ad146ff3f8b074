/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_INSTALLATION_H
#define BASE_INSTALLATION_H

/* Where an instance shows which installation it is of: a ConfigMap that every instance has. */

#define INSTALLATION_NAMESPACE "kube-public"
#define INSTALLATION_NAME      "kairship-installation"
#define INSTALLATION_ID        "id"     /* 16 hexadecimal digits */
#define INSTALLATION_ORIGIN    "origin" /* one of enum installation_origin */

enum { INSTALLATION_ID_SIZE = 16 + 1 };

enum installation_origin {
    INSTALLATION_NEW,      /* its first program already had an id */
    INSTALLATION_UPGRADED, /* an older one has written to members, without an id */
    INSTALLATION_COPIED,   /* restored beside the original: what is in members is the original's */
};

static const char *const installation_origins[] = { "new", "upgraded", "copied" };

#endif
