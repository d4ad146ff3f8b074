/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_PLUGIN_MODEL_H
#define RPC_PLUGIN_MODEL_H

/* The .proto files that protoc has read, laid out for those who write something from them. */

#include "base/map.h"
#include "json/json.h"

struct model_file {
    str name, package;
    str descriptor;          /* without comments */
    const struct json *tree; /* google.protobuf.FileDescriptorProto */
};

struct model_type {
    str name;                /* full, without a leading dot */
    str short_name;          /* unique among those that are used: for people */
    const struct json *tree; /* DescriptorProto or EnumDescriptorProto */
    const struct model_file *file;
    str comment;
    str path; /* "4,0,3,1", where comments are found */
    bool is_enum, is_map_entry;
    bool used; /* by a service */
    size_t id; /* its place among the used ones of its sort */
};

struct model_method {
    str name, comment;
    struct model_type *input, *output;
    bool client_streaming, server_streaming;
    const struct json *http;     /* google.api.HttpRule, or NULL */
    const struct json *recorded; /* a list of kairship.io.api.Recorded, or NULL */
};

struct model_service {
    str name, full_name, comment;
    const struct model_file *file;
    struct model_method *methods;
    size_t nmethods;
};

struct model {
    struct arena *arena;
    struct model_file *files;
    size_t nfiles;
    struct model_type *types;
    size_t ntypes, nmessages, nenums; /* of the latter two, those that are used */
    struct map by_name;
    struct map comments; /* "file:4,0,2,1" */
    struct model_service *services;
    size_t nservices;
};

/* From the bytes of a CodeGeneratorRequest. */
int model_load(struct model *m, struct arena *a, str request, struct status *st)
    __attribute__((warn_unused_result));
void model_release(struct model *m);

/* ".package.Type", as descriptors name it. */
struct model_type *model_type(const struct model *m, str type_name);
/* The type of a field, NULL if it is a scalar. */
struct model_type *model_field_type(const struct model *m, const struct json *field);
/* What stands above the i-th field of a message. */
str model_field_comment(const struct model *m, const struct model_type *t, size_t i);

bool field_is_repeated(const struct json *field);

struct model_rule { /* one way to call it */
    const char *verb;
    str path, body;
};
/* 0: the method has none. */
bool method_rule(const struct model_method *m, struct model_rule *out);

#endif
