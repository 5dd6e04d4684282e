/* SPDX-License-Identifier: MIT */
/* Declarations that the files of lib/corefile/ share while a core is being opened. No other file includes this
 * header. */
#ifndef USPI_COREFILE_BUILD_H
#define USPI_COREFILE_BUILD_H

#include "lib/corefile/core.h"
#include "lib/images/image_list.h"
#include "lib/images/search.h"
#include "lib/object/elf.h"
#include "lib/object/macho.h"

/* Keeps a message for the user and sets flags (enum usp_snapshot_flags). The number of messages is limited: the last
 * one says that there are more. If memory is exhausted, opening the core fails in the end. */
void uspi_core_say(struct uspi_core *core, uint32_t flags, const char *format, ...) USPI_PRINTF(3, 4);

/* Appends a thread without registers. Returns NULL if memory is exhausted. The pointer is valid until the next call. */
struct uspi_core_thread *uspi_core_add_thread(struct uspi_core *core, uint64_t id);

/* Keeps an open file with the core. Returns false if memory is exhausted; then the caller still owns the file. */
bool uspi_core_keep_file(struct uspi_core *core, struct uspi_file *file);

/* Sets core->program to a copy. */
void uspi_core_set_program(struct uspi_core *core, const char *program);

/* Whether the headers of an image with this many entries (program headers, load commands) may be read. Returns false,
 * and says so once, if the core has more entries than a process can have. A small core can list the same bytes as any
 * number of images, and must not cost unlimited time. */
bool uspi_core_may_read(struct uspi_core *core, uint64_t entries);

/* Looks for the file of an image: the program named by option (if `main`), below the sysroot, as named, beside the
 * core. Returns true if `judge` accepts a candidate; the core keeps the first one open. Otherwise a message says what
 * was refused or is missing. An empty `path` is not looked for. */
bool uspi_core_find_file(struct uspi_core *core, const char *path, bool main, uspi_judge judge, void *context);

/* Shows the same candidates to `judge` until it accepts one, without messages, and keeps no file. */
void uspi_core_show_files(struct uspi_core *core, const char *path, bool main, uspi_judge judge, void *context);

/* A segment as the core lists it. */
struct uspi_core_listed {
    usp_addr low;
    uint64_t size, offset, file_size;
    uint32_t access;       /* enum uspi_core_access */
    usp_addr last_address; /* highest address that is possible in this core */
};

/* Sets core->crash from the signal and its information, and clears the signal if it does not end a process (crash.c). */
void uspi_core_describe_crash(struct uspi_core *core);

/* Adds the valid part of a segment to the core's memory; messages say what is invalid (segments.c). */
void uspi_core_list_segment(struct uspi_core *core, const struct uspi_core_listed *listed);

/* Closes the list: memory can be read afterwards. */
void uspi_core_seal_segments(struct uspi_core *core);

/* ELF: threads and memory from segments and notes (elf_core.c); images and their files (elf_images.c). */
int uspi_core_read_elf(struct uspi_core *core, struct uspi_bytes bytes, struct uspi_error *error);

/* The same without images. */
int uspi_core_read_elf_threads(struct uspi_core *core, struct uspi_bytes bytes, struct uspi_error *error);

/* A line of NT_FILE. */
struct uspi_core_mapping {
    usp_addr low;
    uint64_t size;
    uint64_t offset;  /* offset in the file, in bytes */
    const char *path; /* without the kernel's suffix " (deleted)" */
    bool deleted;
};

/* Information about the process as a whole in an ELF core's notes; 0: not there. */
struct uspi_core_process {
    struct uspi_core_mapping *mappings; /* sorted, not overlapping */
    size_t mapping_count;
    bool has_mappings;                                           /* there was an NT_FILE */
    usp_addr program_headers, entry, loader, vdso, program_path; /* NT_AUXV */
    uint64_t program_header_count;
};

int uspi_core_elf_images(struct uspi_core *core, const struct uspi_core_process *process, struct uspi_image_list *list);

/* Mach-O: threads and memory (macho_core.c); images and their files (macho_images.c). */
int uspi_core_read_macho(struct uspi_core *core, struct uspi_bytes bytes, struct uspi_error *error);
int uspi_core_macho_images(struct uspi_core *core, struct uspi_image_list *list);

#endif
