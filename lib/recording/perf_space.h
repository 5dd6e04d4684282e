/* SPDX-License-Identifier: MIT */
/* The processes of a recording: what is mapped in them, and from it the images, unwind tables and code that their
 * stacks need. These are made when a sample first needs them, and kept for the processes that were sampled last. */
#ifndef USPI_RECORDING_PERF_SPACE_H
#define USPI_RECORDING_PERF_SPACE_H

#include "lib/corefile/memory.h"
#include "lib/recording/perf_files.h"
#include "lib/unwind/rule_cache/kept_rules.h"
#include "lib/unwind/tables/image_tables.h"

/* Executable memory. */
struct uspi_perf_mapping {
    usp_addr low, high; /* high: exclusive */
    uint64_t offset;    /* in the file */
    uint32_t file;      /* number of the file */
};

/* Maps in the order of their addresses; they do not overlap. */
struct uspi_perf_maps {
    struct uspi_perf_mapping *all;
    size_t count, capacity;
};

/* What the stacks of a process need, as long as its maps stay the same. */
struct uspi_perf_view {
    uint32_t process;   /* its number; USPI_NONE: the view is not in use */
    uint64_t used;      /* larger: used later */
    size_t maps;        /* number of maps that it was made from, with the kernel's */
    size_t unrefreshed; /* number of uses since it was made from the maps */
    bool is_stale;      /* the maps have changed */
    bool has_changed;   /* memory of an image was mapped again: cached rules may be wrong */
    struct usp_images *images;
    struct uspi_image_tables *tables;
    struct uspi_core_memory memory; /* the images' files */
    struct uspi_rule_cache *rules;
};

struct uspi_perf_process {
    struct uspi_item item;
    uint32_t pid;
    struct uspi_perf_maps maps;
    struct uspi_perf_maps recent; /* newer ones, which replace those; file USPI_NONE: memory without code of a file */
    size_t copied;                /* how many of the maps a fork has copied to it */
    bool has_ended;               /* its first thread has */
    struct uspi_perf_view *view;  /* NULL: none now */
};

#define USPI_PERF_VIEWS 24u

/* The process that stands for the kernel, whose maps are in every process. */
#define USPI_PERF_KERNEL UINT32_MAX

struct uspi_perf_spaces {
    struct uspi_perf_files files;
    struct uspi_pool processes; /* of struct uspi_perf_process */
    struct uspi_allowance allowance;
    struct uspi_perf_view views[USPI_PERF_VIEWS];
    uint64_t use;           /* number of uses of views */
    size_t copied;          /* maps that forks have copied and that are not given up */
    size_t copied_to_ended; /* those of processes that have ended */
    uint64_t left_out;      /* maps of files for which there was no room */
    uint32_t arch;          /* enum usp_arch of images without a file */
};

/* `build_ids` as in struct usp_recording_options. Returns false when memory is exhausted. */
bool uspi_perf_spaces_init(struct uspi_perf_spaces *spaces, const char *sysroot, const char *build_ids);

void uspi_perf_spaces_clear(struct uspi_perf_spaces *spaces);

/* Maps memory in a process, in place of what was there. file USPI_NONE: memory without code of a file. Returns USP_OK
 * or USP_ERROR_NO_MEMORY. */
int uspi_perf_spaces_map(struct uspi_perf_spaces *spaces, uint32_t pid, const struct uspi_perf_mapping *map);

/* Unmaps everything: the process executes another program. */
void uspi_perf_spaces_exec(struct uspi_perf_spaces *spaces, uint32_t pid);

/* Copies the maps of a process to a new one, if all copies together are not too many; then those of processes that have
 * ended are given up first. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_perf_spaces_fork(struct uspi_perf_spaces *spaces, uint32_t pid, uint32_t parent);

/* Notes that a process has ended, and frees its view. */
void uspi_perf_spaces_end(struct uspi_perf_spaces *spaces, uint32_t pid);

/* Gives the view of a process, valid until the next call of any of these functions. NULL when memory is exhausted. */
struct uspi_perf_view *uspi_perf_spaces_view(struct uspi_perf_spaces *spaces, uint32_t pid);

#endif
