/* SPDX-License-Identifier: MIT */
/* A core file as a stopped process: its threads, memory and images. Reads ELF cores of Linux (x86_64, i386, aarch64,
 * arm) and Mach-O cores (all five processors), on any host. It neither walks stacks nor finds names;
 * lib/snapshot/core.c combines it with the walker. */
#ifndef USPI_COREFILE_CORE_H
#define USPI_COREFILE_CORE_H

#include "lib/corefile/memory.h"

#include <unspool/images.h>
#include <unspool/registers.h>

struct uspi_file;         /* lib/images/file.h */
struct uspi_image_tables; /* lib/unwind/tables/image_tables.h */

struct uspi_core_thread {
    uint64_t id;    /* Linux: the thread's id; Mach-O cores have no ids: the position in the core, starting with 1 */
    int32_t status; /* USP_OK, or why there are no registers */
    uint32_t signal;
    struct usp_registers registers;
    usp_addr stack_low, stack_high; /* bounds of the memory that contains sp; 0, 0: none does */
};

/* An open core. It does not change, so any number of threads may read it. */
struct uspi_core {
    uint32_t arch;       /* enum usp_arch */
    uint32_t os;         /* enum usp_os */
    uint32_t flags;      /* enum usp_snapshot_flags */
    uint32_t signal;     /* signal that ended the process; 0: unknown */
    int32_t signal_code; /* its si_code; valid if has_signal_code is true */
    bool has_signal_code;
    uint32_t sender;        /* the process that sent the signal; 0: unknown, or none */
    usp_addr fault_address; /* valid with USP_SNAPSHOT_FAULT in `flags` */
    size_t crashed;         /* number of the thread that got the signal; SIZE_MAX: none did */
    char *crash;            /* the signal in words; NULL: none ended the process */
    uint32_t address_bits;  /* number of address bits in a signed pointer; 0: not known */
    uint64_t pac_mask;      /* NT_ARM_PAC_MASK, for code; 0: not known */
    bool is_of_debugger;    /* gdb wrote it */
    bool complete; /* the core lists everything that is mapped: other addresses are not memory of the process */
    int64_t pid;   /* 0: unknown */
    char *program; /* path or name of the main program; NULL: unknown */
    struct uspi_core_thread *threads; /* in the core's order: on Linux, the thread that ended the process is first */
    size_t thread_count, thread_capacity;
    struct uspi_core_memory memory;
    struct usp_images *images;
    struct uspi_image_tables *tables;    /* unwind tables of the images; NULL until they are found */
    struct usp_dyld_caches *dyld_caches; /* shared caches below the sysroot; NULL: not needed so far */
    char **messages;                     /* sentences about what is missing, cut or refused */
    size_t message_count;

    /* Used while the core is being opened (build.h). */
    const char *path;
    char *folder; /* folder of the core file: "", or with a slash at its end */
    const char *sysroot;
    const char *named_program;
    bool is_below_sysroot;    /* files are looked for below the sysroot only */
    struct uspi_file **files; /* the core file itself is the first */
    size_t file_count, file_capacity;
    size_t cut_segments;     /* number of segments that the end of the file cuts off */
    uint64_t header_entries; /* number of entries read in images' headers */
    bool out_of_memory;
};

struct uspi_core_options {
    const char *sysroot;    /* folder in which files that mappings name are looked for first; NULL: only as named */
    const char *program;    /* the program's file, if the core does not name it; NULL: not given */
    bool is_below_sysroot;  /* files are looked for below the sysroot only */
    struct usp_memory live; /* memory of the process that is being dumped; read NULL: the core's */
};

/* Opens a core. After USP_OK the caller closes *core; core->messages and core->flags say what is missing. Otherwise
 * *core is NULL. The options are not kept. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM,
 * USP_ERROR_FORMAT (not a core, or invalid), USP_ERROR_TRUNCATED (headers are cut off), USP_ERROR_UNSUPPORTED (another
 * processor), USP_ERROR_NO_MEMORY. Not async-signal-safe. */
int uspi_core_open(const char *path, const struct uspi_core_options *options, struct uspi_core **core,
                   struct uspi_error *error);

/* The same, of an open file, which the core owns from then on, also on failure. */
int uspi_core_of_file(struct uspi_file *file, const struct uspi_core_options *options, struct uspi_core **core,
                      struct uspi_error *error);

/* Opens what the headers and notes of an ELF core say: threads with registers, and segments, of whose bytes none may be
 * there. The bytes and the name must outlive the core. */
int uspi_core_of_beginning(struct uspi_bytes bytes, const char *name, struct uspi_core **core,
                           struct uspi_error *error);

/* Closes a core. NULL is ignored. */
void uspi_core_close(struct uspi_core *core);

/* Describes the core for the walker, without a thread; valid until the core is closed. Thread-safe. */
void uspi_core_target(const struct uspi_core *core, struct usp_target *target);

#endif
