/* SPDX-License-Identifier: MIT */
/* Names and lines of generated code, which no image holds: what the GDB JIT interface, a jitdump and a perf map of a process
 * say, asked in this order. It knows where they are and when they have to be read again; reading is gdb_jit.h's, jitdump.h's and
 * perf_map.h's. */
#ifndef USPI_JIT_H
#define USPI_JIT_H

#include "lib/demangle/names.h"
#include "lib/images/image_file.h"
#include "lib/symbolize/module_lines/frames.h"

#include <unspool/symbolize.h>

struct uspi_jit;

/* Opens nothing yet.
 *   places  say which process or memory it is; they must live as long as the result
 *   recorded  the id of a process that has ended, whose files are looked for in the folders of places->search; 0: none
 * NULL when memory lacks. */
struct uspi_jit *uspi_jit_create(const struct uspi_places *places, int64_t recorded);

/* NULL is ignored. */
void uspi_jit_free(struct uspi_jit *jit);

/* Forgets all that was read. */
void uspi_jit_clear(struct uspi_jit *jit);

struct uspi_jit_question {
    usp_addr address;
    const struct usp_images *images; /* in none of which the address lies */
    uint64_t generation;             /* another one where the images are other ones than the last time */
    const struct uspi_source_paths *paths;
    struct usp_lines *lines; /* gets the source frames, if debug information knows some; NULL: they are not wanted */
};

struct uspi_jit_answer {
    usp_addr start;
    uint64_t size;
    const char *name;  /* kept in the names */
    const char *path;  /* of the source file, likewise; NULL: not known */
    uint32_t line;     /* 0: not known */
    uint32_t strategy; /* enum usp_strategy: which source named it */
    uint32_t object;   /* of the GDB JIT interface, that it is of (object_lines.h); 0: none */
};

/* The newest generated code that holds an address. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY. Thread-safe. */
int uspi_jit_find(struct uspi_jit *jit, const struct uspi_jit_question *question, struct uspi_names *names,
                  struct uspi_jit_answer *answer);

#endif
