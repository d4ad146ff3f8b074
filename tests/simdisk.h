/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMDISK_H
#define SIMDISK_H

/*
 * A disk in memory behind the file layer (base/file.h), as unkind as a real one may be.
 *
 * What is written is seen at once, but lasts only after a sync.  When the power is cut each sector
 * (512 bytes) written since is kept or lost on its own, and so is each name made or removed since
 * its folder was synced.  After the cut everything fails with EIO until simdisk_restart().
 *
 * A sync that is made to fail behaves as Linux does: what was to be written is in doubt, and a
 * later sync that works does not vouch for it.
 *
 * One folder; paths are told apart by their last part.  Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

struct simdisk;

struct simdisk *simdisk_new(uint64_t seed);
void simdisk_free(struct simdisk *d); /* all files closed and mappings out of use */
struct file_layer *simdisk_layer(struct simdisk *d);

/* Cuts the power at the n-th operation from now that changes something (1: the next one). */
void simdisk_cut_after(struct simdisk *d, uint64_t n);
bool simdisk_is_cut(struct simdisk *d);
void simdisk_restart(struct simdisk *d); /* all files closed, of course; cuts now if it was not */

enum simdisk_op { SIMDISK_WRITE, SIMDISK_SYNC, SIMDISK_SYNC_DIR, SIMDISK_OPS };
/* The n-th operation of that kind from now, and `times` - 1 more after it, fail with err. */
void simdisk_fail(struct simdisk *d, enum simdisk_op op, uint64_t n, uint64_t times, int err);

/* Bytes all files may have together; writes that need more fail with ENOSPC. */
void simdisk_capacity(struct simdisk *d, uint64_t bytes);

uint64_t simdisk_operations(struct simdisk *d); /* that changed something, so far */
size_t simdisk_files(struct simdisk *d);

/* Changes a byte where it is, durably. */
void simdisk_corrupt(struct simdisk *d, const char *name, uint64_t offset, uint8_t with);
uint64_t simdisk_file_bytes(struct simdisk *d, const char *name); /* 0 when there is none */
bool simdisk_remove(struct simdisk *d, const char *name);         /* durably */

#endif
