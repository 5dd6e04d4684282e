/* SPDX-License-Identifier: MIT */
/* A core file as a stopped process: its threads, its memory, its images. ELF cores of Linux (x86_64, i386, aarch64, arm)
 * and Mach-O cores (all five processors), on any host. Nothing is walked or named here; snapshot.c puts the walker on it. */
#ifndef USPI_CORE_H
#define USPI_CORE_H

#include "lib/corefile/memory.h"

#include <unspool/images.h>
#include <unspool/registers.h>

struct uspi_file;         /* lib/images/file.h */
struct uspi_image_tables; /* lib/unwind/tables/image_tables.h */

struct uspi_core_thread {
    uint64_t id;    /* Linux: the thread's id; Mach-O cores hold none: the position in the core, from 1 on */
    int32_t status; /* USP_OK, or why there are no registers */
    uint32_t signal;
    struct usp_registers registers;
    usp_addr stack_low, stack_high; /* of the memory that holds sp; 0, 0 when none does */
};

/* Not changed once it is open: any number of threads may read it. */
struct uspi_core {
    uint32_t arch;         /* enum usp_arch */
    uint32_t os;           /* enum usp_os */
    uint32_t flags;        /* enum usp_snapshot_flags */
    uint32_t signal;       /* that ended the process; 0 unknown */
    uint32_t address_bits; /* of signed pointers; 0: not known */
    uint64_t pac_mask;     /* NT_ARM_PAC_MASK, for code; 0: not known */
    bool complete;         /* everything that is mapped is listed: what is not listed is no memory of the process */
    int64_t pid;           /* 0 unknown */
    char *program;         /* path or name of the main program; NULL unknown */
    struct uspi_core_thread *threads; /* in the core's order: the one that ended the process comes first on Linux */
    size_t thread_count, thread_room;
    struct uspi_core_memory memory;
    struct usp_images *images;
    struct uspi_image_tables *tables; /* of these images; NULL until they are learnt */
    char **messages;                  /* sentences about what is missing, cut or refused */
    size_t message_count;

    /* For those who build it (build.h). */
    const char *path;
    char *folder; /* of the core file, "" or with a slash at its end */
    const char *sysroot;
    const char *named_program;
    struct uspi_file **files; /* the core file itself is the first */
    size_t file_count, file_room;
    size_t cut_segments;     /* that the file's end cuts */
    uint64_t header_entries; /* that have been looked at in images' headers */
    bool out_of_memory;
};

struct uspi_core_options {
    const char *sysroot; /* where files that mappings name are looked for first; NULL: only as named */
    const char *program; /* the program's file, where the core does not tell it; NULL */
};

/* Opens a core. On success *core is the caller's, to be closed, with core->messages and core->flags saying what it
 * lacks; on failure NULL. The options are not kept. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION,
 * USP_ERROR_SYSTEM, USP_ERROR_FORMAT (no core, or nonsense), USP_ERROR_TRUNCATED (what describes the rest is cut off),
 * USP_ERROR_UNSUPPORTED (another processor), USP_ERROR_NO_MEMORY. Not async-signal-safe. */
int uspi_core_open(const char *path, const struct uspi_core_options *options, struct uspi_core **core,
                   struct uspi_error *error);

/* NULL is ignored. */
void uspi_core_close(struct uspi_core *core);

/* The surroundings of the core's threads, for the walker; valid until the core is closed. Thread-safe. */
void uspi_core_target(const struct uspi_core *core, struct usp_target *target);

#endif
