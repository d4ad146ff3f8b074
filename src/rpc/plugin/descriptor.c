/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/plugin/descriptor.h"

#include "base/banned.h"

/* Fields are called by their names in the .proto, in the trees, too. */
#define FIELD(number, type, flags, name)                                      \
    {                                                                         \
        number, RPC_##type, flags, STR_INIT(name), STR_INIT(name), NULL, NULL \
    }
#define MESSAGE(number, flags, name, of)                                        \
    {                                                                           \
        number, RPC_MESSAGE, flags, STR_INIT(name), STR_INIT(name), &(of), NULL \
    }
#define TABLE(full, fields)                                          \
    {                                                                \
        STR_INIT(full), fields, sizeof(fields) / sizeof((fields)[0]) \
    }

static const struct rpc_field http_rule_fields[] = {
    FIELD(2, STRING, 0, "get"),    FIELD(3, STRING, 0, "put"),   FIELD(4, STRING, 0, "post"),
    FIELD(5, STRING, 0, "delete"), FIELD(6, STRING, 0, "patch"), FIELD(7, STRING, 0, "body"),
};
static const struct rpc_message http_rule = TABLE("google.api.HttpRule", http_rule_fields);

static const struct rpc_field recorded_fields[] = {
    FIELD(1, STRING, 0, "event"), FIELD(2, STRING, 0, "object"), FIELD(3, STRING, 0, "verb"),
    FIELD(4, STRING, 0, "name"),  FIELD(5, STRING, 0, "when"),
};
static const struct rpc_message recorded = TABLE("kairship.io.api.Recorded", recorded_fields);

static const struct rpc_field method_options_fields[] = {
    MESSAGE(72295728, 0, "http", http_rule),
    MESSAGE(72295801, RPC_REPEATED, "recorded", recorded),
};
static const struct rpc_message method_options =
    TABLE("google.protobuf.MethodOptions", method_options_fields);

static const struct rpc_field message_options_fields[] = {
    FIELD(7, BOOL, 0, "map_entry"),
};
static const struct rpc_message message_options =
    TABLE("google.protobuf.MessageOptions", message_options_fields);

static const struct rpc_field field_fields[] = {
    FIELD(1, STRING, 0, "name"),       FIELD(3, INT32, 0, "number"),
    FIELD(4, INT32, 0, "label"),       FIELD(5, INT32, 0, "type"),
    FIELD(6, STRING, 0, "type_name"),  FIELD(9, INT32, RPC_PRESENCE, "oneof_index"),
    FIELD(10, STRING, 0, "json_name"),
};
static const struct rpc_message field = TABLE("google.protobuf.FieldDescriptorProto", field_fields);

static const struct rpc_field enum_entry_fields[] = {
    FIELD(1, STRING, 0, "name"),
    FIELD(2, INT32, 0, "number"),
};
static const struct rpc_message enum_entry =
    TABLE("google.protobuf.EnumValueDescriptorProto", enum_entry_fields);

static const struct rpc_field enumeration_fields[] = {
    FIELD(1, STRING, 0, "name"),
    MESSAGE(2, RPC_REPEATED, "value", enum_entry),
};
static const struct rpc_message enumeration =
    TABLE("google.protobuf.EnumDescriptorProto", enumeration_fields);

static const struct rpc_message message;
static const struct rpc_field message_fields[] = {
    FIELD(1, STRING, 0, "name"),
    MESSAGE(2, RPC_REPEATED, "field", field),
    MESSAGE(3, RPC_REPEATED, "nested_type", message),
    MESSAGE(4, RPC_REPEATED, "enum_type", enumeration),
    MESSAGE(7, 0, "options", message_options),
};
static const struct rpc_message message = TABLE("google.protobuf.DescriptorProto", message_fields);

static const struct rpc_field method_fields[] = {
    FIELD(1, STRING, 0, "name"),           FIELD(2, STRING, 0, "input_type"),
    FIELD(3, STRING, 0, "output_type"),    MESSAGE(4, 0, "options", method_options),
    FIELD(5, BOOL, 0, "client_streaming"), FIELD(6, BOOL, 0, "server_streaming"),
};
static const struct rpc_message method =
    TABLE("google.protobuf.MethodDescriptorProto", method_fields);

static const struct rpc_field service_fields[] = {
    FIELD(1, STRING, 0, "name"),
    MESSAGE(2, RPC_REPEATED, "method", method),
};
static const struct rpc_message service =
    TABLE("google.protobuf.ServiceDescriptorProto", service_fields);

static const struct rpc_field location_fields[] = {
    FIELD(1, INT32, RPC_REPEATED, "path"),
    FIELD(3, STRING, 0, "leading_comments"),
};
static const struct rpc_message location =
    TABLE("google.protobuf.SourceCodeInfo.Location", location_fields);

static const struct rpc_field source_fields[] = {
    MESSAGE(1, RPC_REPEATED, "location", location),
};
static const struct rpc_message source = TABLE("google.protobuf.SourceCodeInfo", source_fields);

static const struct rpc_field file_fields[] = {
    FIELD(1, STRING, 0, "name"),
    FIELD(2, STRING, 0, "package"),
    FIELD(3, STRING, RPC_REPEATED, "dependency"),
    MESSAGE(4, RPC_REPEATED, "message_type", message),
    MESSAGE(5, RPC_REPEATED, "enum_type", enumeration),
    MESSAGE(6, RPC_REPEATED, "service", service),
    MESSAGE(9, 0, "source_code_info", source),
};
static const struct rpc_message file = TABLE("google.protobuf.FileDescriptorProto", file_fields);

static const struct rpc_field code_generator_request_fields[] = {
    FIELD(1, STRING, RPC_REPEATED, "file_to_generate"),
    FIELD(2, STRING, 0, "parameter"),
    MESSAGE(15, RPC_REPEATED, "proto_file", file),
};
const struct rpc_message code_generator_request =
    TABLE("google.protobuf.compiler.CodeGeneratorRequest", code_generator_request_fields);

static const struct rpc_field response_file_fields[] = {
    FIELD(1, STRING, 0, "name"),
    FIELD(15, STRING, 0, "content"),
};
static const struct rpc_message response_file =
    TABLE("google.protobuf.compiler.CodeGeneratorResponse.File", response_file_fields);

static const struct rpc_field code_generator_response_fields[] = {
    FIELD(1, STRING, 0, "error"),
    FIELD(2, UINT64, 0, "supported_features"),
    MESSAGE(15, RPC_REPEATED, "file", response_file),
};
const struct rpc_message code_generator_response =
    TABLE("google.protobuf.compiler.CodeGeneratorResponse", code_generator_response_fields);
