/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_MESSAGE_H
#define RPC_MESSAGE_H

/*
 * Messages of the files in api/ as tables and trees, so that gRPC and REST are one code path and no
 * message has a struct (docs/adr/0016-messages-are-tables.md).
 *
 * A message is a tree (struct json): members have their JSON names, in any order; what is absent
 * has its default; 64-bit integers are integers (a uint64 beyond int64 is a string), enums are
 * names (or integers where the number has none), bytes are base64, numbers that are none are "NaN",
 * "Infinity", "-Infinity".  Pure functions, any thread.
 */

#include "json/json.h"

enum rpc_type {
    RPC_DOUBLE = 1, /* the numbers are descriptor.proto's */
    RPC_FLOAT = 2,
    RPC_INT64 = 3,
    RPC_UINT64 = 4,
    RPC_INT32 = 5,
    RPC_FIXED64 = 6,
    RPC_FIXED32 = 7,
    RPC_BOOL = 8,
    RPC_STRING = 9,
    RPC_MESSAGE = 11,
    RPC_BYTES = 12,
    RPC_UINT32 = 13,
    RPC_ENUM = 14,
    RPC_SFIXED32 = 15,
    RPC_SFIXED64 = 16,
    RPC_SINT32 = 17,
    RPC_SINT64 = 18,
};

enum rpc_field_flag {
    RPC_REPEATED = 1,
    RPC_MAP = 2,      /* its message is the entry: key 1, value 2 */
    RPC_PRESENCE = 4, /* optional or of a oneof: a default that was sent is kept */
};

struct rpc_message;

struct rpc_enum_value {
    str name;
    int32_t number;
};

struct rpc_enum {
    str name; /* "kairship.io.api.types.SortDir" */
    const struct rpc_enum_value *values;
    size_t nvalues;
};

struct rpc_field {
    uint32_t number;
    uint8_t type, flags;
    str name, json; /* "page_size", "pageSize" */
    const struct rpc_message *message;
    const struct rpc_enum *enumeration;
};

struct rpc_message {
    str name;                       /* "kairship.io.api.instance.v1alpha1.Instance" */
    const struct rpc_field *fields; /* by number */
    size_t nfields;
};

enum {
    RPC_DEPTH_MAX = 64,         /* of messages in messages */
    RPC_DECODED_MAX = 64 << 20, /* bytes that a decoded message may take in its arena */
};

/* The field of that name, in either form; NULL if there is none. */
const struct rpc_field *message_field(const struct rpc_message *m, str name);
bool enum_number(const struct rpc_enum *e, str name, int32_t *out);
const struct rpc_enum_value *enum_value(const struct rpc_enum *e, int32_t number); /* or NULL */

/* BAD_REQUEST about a field of a request: "field: must …", with the field as its one cause. */
int message_refuse(struct status *st, str field, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Protobuf to the tree.  Unknown fields are left out; BAD_REQUEST says what is wrong, and where. */
int message_decode(struct arena *a, const struct rpc_message *m, str bytes, const struct json **out,
                   struct status *st) __attribute__((warn_unused_result));

/*
 * JSON of a client to the tree: names of both forms, numbers as strings and the other way, enums by
 * name or number; null is absent; unknown members are left out.
 */
int message_read(struct arena *a, const struct rpc_message *m, const struct json *v,
                 const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* The tree as protobuf.  What does not fit the table is left out. */
void message_encode(struct buf *b, const struct rpc_message *m, const struct json *tree);

/* The tree as proto3 JSON for clients, with all defaults in it, as grpc-gateway prints it. */
void message_print(struct buf *b, const struct rpc_message *m, const struct json *tree);

#endif
