/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_API_H
#define RPC_API_H

/* The files in api/ as tables; the build makes them (rpc/plugin/main.c). */

#include "rpc/handler.h"

extern const struct rpc_api kairship_api;

#endif
