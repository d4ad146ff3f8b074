/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_NUMBER_H
#define JSON_NUMBER_H

/* Doubles as text, for the readers and writers of this folder. */

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the decimal number that begins at z, whose syntax the caller has checked and behind which
 * stands a byte that cannot continue it.  False when it is out of range; too small gives 0.
 */
bool number_parse(const char *z, double *out);

enum { NUMBER_TEXT_MAX = 32 };

/*
 * The shortest decimal that reads back equal, in Go's JSON form: an exponent only below 1e-6 and
 * from 1e21 on.  Returns the bytes written; f must be finite.
 */
size_t number_print(char text[NUMBER_TEXT_MAX], double f);

/* As Go's strconv.FormatFloat(f, 'g', -1, 32): what sigs.k8s.io/yaml makes of a float as a key. */
size_t number_print_key(char text[NUMBER_TEXT_MAX], double f);

#endif
