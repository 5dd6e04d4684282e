/* SPDX-License-Identifier: MIT */
/* Temporary files without a name: they are gone when the command ends, however it ends. */
#ifndef TOOLS_TEMPORARY_H
#define TOOLS_TEMPORARY_H

/* Returns the folder of temporary files: $TMPDIR, or `other` if that is not set. */
const char *temporary_folder(const char *other);

/* Opens a file without a name in a folder. Returns a descriptor, or -1 with errno. */
int temporary_open(const char *folder);

#endif
