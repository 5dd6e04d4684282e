/* SPDX-License-Identifier: MIT */
/* Names and lines of generated code, which is in no image. Asks the GDB JIT interface, a jitdump and a perf map of a
 * process, in this order. Knows where these are and when they must be read again. gdb_jit.h, jitdump.h and perf_map.h
 * read them. */
#ifndef USPI_SYMBOLIZE_JIT_JIT_H
#define USPI_SYMBOLIZE_JIT_JIT_H

#include "lib/demangle/names.h"
#include "lib/images/image_sources.h"
#include "lib/symbolize/module_lines/frames.h"

#include <unspool/symbolize.h>

struct uspi_jit;

/* Makes the object without opening anything.
 *   places    the process or memory; must live as long as the result
 *   recorded  id of a process that has ended, whose files are searched for in the folders of places->search; 0: none
 * Returns NULL when memory is exhausted. */
struct uspi_jit *uspi_jit_create(const struct uspi_image_sources *places, int64_t recorded);

/* Frees the object. NULL is ignored. */
void uspi_jit_free(struct uspi_jit *jit);

/* Forgets everything that was read. */
void uspi_jit_clear(struct uspi_jit *jit);

struct uspi_jit_question {
    usp_addr address;
    const struct usp_images *images; /* none of them holds the address */
    uint64_t generation;             /* differs from the last call's when the images have changed */
    const struct uspi_source_paths *paths;
    struct usp_lines *lines; /* gets the source frames, if debug information has some; NULL: they are not wanted */
};

struct uspi_jit_answer {
    usp_addr start;
    uint64_t size;
    const char *name;  /* kept in the names */
    const char *path;  /* of the source file, kept in the names; NULL: not known */
    uint32_t line;     /* 0: not known */
    uint32_t strategy; /* enum usp_strategy: the source that named it */
    uint32_t object;   /* number of its GDB JIT object (object_lines.h); 0: none */
};

/* Finds the newest generated code that holds an address. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY.
 * Thread-safe. */
int uspi_jit_find(struct uspi_jit *jit, const struct uspi_jit_question *question, struct uspi_names *names,
                  struct uspi_jit_answer *answer);

#endif
