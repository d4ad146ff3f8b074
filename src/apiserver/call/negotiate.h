/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_NEGOTIATE_H
#define APISERVER_CALL_NEGOTIATE_H

/*
 * Which form an answer takes and which form a body has: Accept, Content-Type, Accept-Encoding,
 * pretty.  Pure functions of header values; nothing is allocated but errors.
 * k8s: apiserver/pkg/endpoints/handlers/negotiation
 */

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

enum media { MEDIA_JSON, MEDIA_YAML };

enum transform {
    TRANSFORM_NONE,
    TRANSFORM_TABLE,        /* meta.k8s.io Table */
    TRANSFORM_PARTIAL,      /* PartialObjectMetadata: of one object, or of each event of a watch */
    TRANSFORM_PARTIAL_LIST, /* PartialObjectMetadataList */
    TRANSFORM_DISCOVERY,    /* apidiscovery.k8s.io APIGroupDiscoveryList */
};

/* What the endpoint can answer with. */
enum accept_endpoint {
    ACCEPT_PLAIN,     /* JSON or YAML as it is: documents, reviews */
    ACCEPT_OBJECT,    /* one object: also a Table, PartialObjectMetadata */
    ACCEPT_LIST,      /* a list: also a Table, PartialObjectMetadataList */
    ACCEPT_WATCH,     /* also a Table, PartialObjectMetadata in each event; JSON only */
    ACCEPT_DISCOVERY, /* /api and /apis: also aggregated discovery */
};

struct accept {
    enum media media;
    enum transform transform;
    str version;      /* of the transform: "v1", "v1beta1"; "v2", "v2beta1" */
    str content_type; /* to send back, exactly */
};

/*
 * The first of the client's choices (by q, then as written) that the endpoint can meet; without a
 * header that is JSON.  NOT_ACCEPTABLE when there is none, and also when the choice is the partial
 * form of the other of object and list: k8s does not try the next one then.  Protobuf is never
 * met; clients that ask for it name JSON too.
 */
int accept_negotiate(str header, enum accept_endpoint endpoint, struct accept *out,
                     struct status *st) __attribute__((warn_unused_result));

/*
 * Which of the offered media types (lower case, first = default) the client likes best, or -1: for
 * documents with types of their own, such as OpenAPI's protobuf.
 */
int accept_offer(str header, const str *offers, size_t n);

/* What a body is. */
enum content {
    CONTENT_JSON,
    CONTENT_YAML,
    CONTENT_PROTOBUF,
    CONTENT_JSON_PATCH,
    CONTENT_MERGE_PATCH,
    CONTENT_STRATEGIC_PATCH,
    CONTENT_APPLY_PATCH,
};
/* One of the first three; no Content-Type is JSON.  UNSUPPORTED_MEDIA_TYPE. */
int content_of_body(str content_type, enum content *out, struct status *st)
    __attribute__((warn_unused_result));
/* One of the patches; UNSUPPORTED_MEDIA_TYPE with empty details, also without a Content-Type. */
int content_of_patch(str content_type, enum content *out, struct status *st)
    __attribute__((warn_unused_result));

/* Accept-Encoding names gzip, and not with q=0. */
bool accepts_gzip(str accept_encoding);

/* ?pretty= decides, else who asks: curl, Wget and browsers get indented text. */
bool wants_pretty(struct arena *a, str query, str user_agent);

#endif
