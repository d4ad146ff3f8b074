/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_PLUGIN_DESCRIPTOR_H
#define RPC_PLUGIN_DESCRIPTOR_H

/*
 * What protoc tells its plugins (google/protobuf/descriptor.proto and compiler/plugin.proto), as
 * tables written by hand: the beginning of all other tables.  Only what is looked at.
 */

#include "rpc/message.h"

extern const struct rpc_message code_generator_request, code_generator_response;

#endif
