/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_MODEL_H
#define STORE_MODEL_H

/*
 * The store as simply as it can be said: sorted rows, every version kept, one lock.  Tests compare
 * the engine with it.  Nothing is durable, nothing is freed before it is closed, and the floor
 * moves only when it is told to.
 */

#include "store/store.h"

struct store *model_open(void);

#endif
