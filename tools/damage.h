/* SPDX-License-Identifier: MIT */
/* Messages about files that a command uses although something is wrong with them. */
#ifndef TOOLS_DAMAGE_H
#define TOOLS_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reports if the names of symbols in an image's file are damaged or cut off. `shown` is the path that the message
 * contains in addition to the library's sentence; NULL: none. Returns whether it reported that. */
bool complain_of_names(const char *path, const uint8_t *id, size_t id_size, const char *shown);

/* Whether two files are dSYMs with different contents. Files for several processors are not compared, because others
 * may contain a part of them. */
bool are_different_dsyms(const char *path, const char *other);

#endif
