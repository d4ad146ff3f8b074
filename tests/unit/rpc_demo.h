/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIT_RPC_DEMO_H
#define UNIT_RPC_DEMO_H

/* The API of tests/proto/demo.proto, for the tests of rpc. */

#include <stdio.h>
#include <stdlib.h>

#include "rpc/handler.h"

extern const struct rpc_api demo_api;

static inline const struct rpc_method *demo_method(const char *name)
{
    for (size_t f = 0; f < demo_api.nfiles; f++)
        for (size_t s = 0; s < demo_api.files[f].nservices; s++) {
            const struct rpc_service *service = &demo_api.files[f].services[s];

            for (size_t i = 0; i < service->nmethods; i++)
                if (str_is(service->methods[i].name, name))
                    return &service->methods[i];
        }
    printf("Bail out! no method %s\n", name);
    exit(1);
}

static inline const struct rpc_message *demo_thing(void)
{
    return demo_method("PutThing")->input;
}

#endif
