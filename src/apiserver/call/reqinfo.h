/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_REQINFO_H
#define APISERVER_CALL_REQINFO_H

/*
 * What a request is about: its path, method and query read once, before anything else happens.  All
 * later steps (authorization, audit, routing) look only at the result, so they cannot disagree.
 *
 * Pure functions; memory comes from the request's arena, and where nothing was escaped the strings
 * point into the path and query given.  k8s: apiserver/pkg/endpoints/request/requestinfo.go
 */

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "rest/rest.h"

struct reqinfo {
    bool is_resource; /* below /api/<v>/ or /apis/<g>/<v>/; else authorized by path */
    bool watch_path;  /* the deprecated form /api/v1/watch/… */
    str instance;     /* "t1", "*" for all of them, empty for the root instance */
    str prefix;       /* "/clusters/t1", or empty: what URLs in answers begin with */
    str path;         /* decoded, without the prefix, always with a leading slash */
    /*
     * get list watch create update patch delete deletecollection (empty for a method a resource
     * does not know; HEAD counts as GET); not a resource: the method in lower case.
     */
    str verb;
    str api_prefix, group, version, namespace_, resource, name, subresource;
    str rest; /* what follows the subresource, without the slash: a proxy's path */
};

/*
 * BAD_REQUEST when the path does not begin with a slash, an escape is broken, a segment is `.` or
 * `..` or holds a NUL, an escaped slash or bytes that are not UTF-8, or when a value of the query
 * is broken in one of these ways.  A path with an empty segment inside is never a resource.
 * `/clusters/<x>` is 404 when x cannot be the name of an instance.
 */
int reqinfo_parse(struct arena *a, str method, str path, str query, struct reqinfo *out,
                  struct status *st) __attribute__((warn_unused_result));

/* ---- query ---- */

/*
 * First value of the parameter, decoded; false when it is not there.  `query` has gone through
 * reqinfo_parse, so its escapes are whole.
 */
bool query_get(struct arena *a, str query, str name, str *value);
/* As Kubernetes reads a boolean: there, and not "0" or "false". */
bool query_bool(struct arena *a, str query, str name);
/* Go's duration ("34s", "1m30s") in ms; false when it is none. */
bool parse_duration(str text, int64_t *ms);
/* ?timeout=, which shortens any request, in ms; 0 when not given. */
int query_timeout(struct arena *a, str query, int64_t *ms, struct status *st)
    __attribute__((warn_unused_result));

/* ---- options (rest/rest.h) ---- */

/* A number that is none is BAD_REQUEST; what may stand together is rest's business. */
int list_options_parse(struct arena *a, str query, struct list_options *out, struct status *st)
    __attribute__((warn_unused_result));

/* What the options are called in errors, and which rules hold. */
enum { FIELD_MANAGER_MAX = 128 }; /* bytes */
enum write_kind { WRITE_CREATE, WRITE_UPDATE, WRITE_PATCH, WRITE_APPLY };
/* INVALID, naming CreateOptions, UpdateOptions or PatchOptions, for values that do not exist. */
int write_options_parse(struct arena *a, str query, enum write_kind kind, struct write_options *out,
                        struct status *st) __attribute__((warn_unused_result));
/* BAD_REQUEST, or INVALID naming DeleteOptions. */
int delete_options_parse(struct arena *a, str query, struct delete_options *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
