/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_PLUGIN_GEN_H
#define RPC_PLUGIN_GEN_H

/* What is written from the model, each to a buffer. */

#include "base/buf.h"
#include "rpc/plugin/model.h"

/* C: the tables of rpc/handler.h, as `const struct rpc_api <name>`, with both documents. */
void gen_tables(struct buf *b, const struct model *m, str name, str openapi, str openapi3);

/* OpenAPI, version 2. */
void gen_openapi(struct buf *b, const struct model *m);

/* Version 3.1. */
void gen_openapi3(struct buf *b, const struct model *m);

/* TypeScript: types, and a client that speaks REST. */
void gen_client(struct buf *b, const struct model *m);

#endif
