/* SPDX-License-Identifier: MIT */
/* The crash kit's memory, one mapping that is reserved when it is installed. Pages that only a crash uses take no memory
 * before. doc/crash.md describes the reports, lib/os/linux/crash.c the handlers. */
#ifndef USPI_CRASH_KIT_H
#define USPI_CRASH_KIT_H

#include "lib/base/page_cache.h"
#include "lib/os/os.h"
#include "lib/snapshot/raw.h"
#include "lib/unwind/rule_cache/rule_cache.h"

#include <unspool/crash.h>

#define USPI_CRASH_PATH     1024u
#define USPI_CRASH_NAME     48u
#define USPI_CRASH_PROGRAM  64u /* of a program's file name in a run's file, which is cut */
#define USPI_CRASH_VALUES   64u
#define USPI_CRASH_CRUMBS   64u
#define USPI_CRASH_FRAMES   512u /* of an exception */
#define USPI_CRASH_IMAGES   4096u
#define USPI_CRASH_PATHS    ((size_t)1 << 20) /* bytes of all images' paths */
#define USPI_CRASH_PAGES    512u
#define USPI_CRASH_PAGE     1024u
#define USPI_CRASH_RULES    1024u
#define USPI_CRASH_RESERVED 262144u /* bytes that a report has on the disk beforehand */
#define USPI_CRASH_LEAST    4096u   /* the same where more does not fit */

/* How often a writer of an entry, or its reader at the crash, tries again while another thread writes it. */
#define USPI_CRASH_TRIES 1000u

/* A value or a breadcrumb. The version is odd while it is being written, 0 before it was written first. */
struct uspi_crash_value {
    _Atomic(uint32_t) version;
    char key[32], text[224]; /* key "": unused */
};
struct uspi_crash_crumb {
    _Atomic(uint32_t) version;
    uint64_t time;
    char text[120];
};

/* An exception that no code catches. The version is as above. */
struct uspi_crash_exception {
    _Atomic(uint32_t) version;
    uint32_t count;  /* frames */
    uint64_t thread; /* which threw it; 0: there is none */
    uint64_t total;  /* frames of its stack */
    char kind[32], text[1024];
    usp_addr frames[USPI_CRASH_FRAMES];
};

/* Addresses of what the C library and C++ have about a crash; 0: not found. */
struct uspi_crash_messages {
    uintptr_t abort_message;              /* glibc's variable __abort_msg */
    uintptr_t exception_type, exceptions; /* functions of the C++ ABI */
    uintptr_t derived_type;               /* the vtable of type_info objects of classes with one base class */
};

struct uspi_crash_kit {
    size_t size;                      /* of the mapping */
    struct usp_crash_options options; /* `directory` and `version` point to the following copies */
    char directory[USPI_CRASH_PATH], version[64];
    char run[USPI_CRASH_NAME]; /* the name of this run: its files begin with it */
    struct uspi_os_run facts;
    uint64_t started;
    uint32_t crashes; /* runs in a row that crashed before this one */
    struct uspi_crash_messages messages;

    struct uspi_crash_value values[USPI_CRASH_VALUES];
    struct uspi_crash_crumb crumbs[USPI_CRASH_CRUMBS];
    _Atomic(uint32_t) next_crumb;
    struct uspi_crash_exception exception;

    /* The report. The crashed thread alone uses the rest. */
    char open_path[USPI_CRASH_PATH + USPI_CRASH_NAME], report_path[USPI_CRASH_PATH + USPI_CRASH_NAME];
    struct uspi_os_kept_file file;
    uint32_t reports;  /* how many reports this run has begun */
    uint64_t written;  /* bytes of the report */
    bool is_published; /* report_path is the last report */
    struct uspi_raw_sink sink;
    uint32_t missing;         /* threads without a stack */
    struct usp_target target; /* of this process; describing it may call libpthread, which must not happen later */
    uint64_t deadline;

    /* The images that are known: those of the crashed thread's frames, then all. By ascending address, with their unwind
     * tables, which are located when a walk first asks for them. */
    struct usp_image images[USPI_CRASH_IMAGES];
    struct usp_unwind_tables tables[USPI_CRASH_IMAGES];
    bool has_tables[USPI_CRASH_IMAGES];
    size_t image_count, paths_used;
    bool adds_images; /* an image that a walk needs is searched for; otherwise all are known */
    union {
        uint64_t aligned;
        void *pointer;
        uint8_t bytes[USPI_OS_MAPPED_ROOM];
    } room;
    char paths[USPI_CRASH_PATHS];
    /* Code and tables that walks have read; threads that run may change them. */
    struct uspi_page_cache cache;
    struct uspi_cached_page pages[USPI_CRASH_PAGES];
    uint8_t page_bytes[USPI_CRASH_PAGES * USPI_CRASH_PAGE];
    /* Unwind rules of threads that are held. */
    _Alignas(USPI_RULE_WAYS * sizeof(struct uspi_kept_rule)) struct uspi_kept_rule rules[USPI_CRASH_RULES];
    char callback_text[USP_CRASH_CALLBACK_SIZE], note_text[USP_CRASH_CALLBACK_SIZE];
    struct uspi_crash_exception thrown;          /* a copy that is whole */
    uint8_t tail[USP_CRASH_CALLBACK_SIZE + 256]; /* the records that replace the end of a report */
    struct usp_frame frames[];                   /* options.max_frames */
};

/* The hooks of struct uspi_os_crash_hooks; context is the kit (record.c). Async-signal-safe. */
void uspi_crash_record(void *context, const struct uspi_os_crash *crash, uint64_t deadline);
void uspi_crash_tell(void *context);
void uspi_crash_retract(void *context);

/* Makes the file of the next report. Returns an enum usp_status. Async-signal-safe. */
int uspi_crash_make_file(struct uspi_crash_kit *kit);

/* Begin with no image, or with all of this process; fill *place as uspi_os_images_mapped does, and return its result
 * (images.c). Async-signal-safe. */
void uspi_crash_forget_images(struct uspi_crash_kit *kit);
int uspi_crash_find_images(struct uspi_crash_kit *kit, struct uspi_os_place *place);

/* Returns the image that contains an address, or NULL. Searches for it if kit->adds_images. Async-signal-safe. */
const struct usp_image *uspi_crash_image_at(struct uspi_crash_kit *kit, usp_addr address);

/* Copies a text, cut at a whole character, and fills the rest of `to` with zeros (texts.c). Async-signal-safe. */
void uspi_crash_copy_text(char *to, size_t size, const char *from);

/* Copies a text in which the names of home folders, below "/Users/" and "/home/" anywhere in it, read USER. It is cut at
 * a whole character if it exceeds `size`. Returns the length that it has without being cut (texts.c).
 * Async-signal-safe. */
size_t uspi_crash_hide_homes(char *to, size_t size, const char *from);

/* Empties the caches of what walks have read, and of the rules that they have found (walk.c). Async-signal-safe. */
void uspi_crash_forget_pages(struct uspi_crash_kit *kit);

/* Describes this process for walks, before other threads are held (walk.c). Async-signal-safe. */
void uspi_crash_describe_process(struct uspi_crash_kit *kit);

/* Walks the stack of a thread, whose memory `copy` shows (walk.c): of the crashed one, while others run, or of one that
 * is held. Async-signal-safe. */
int uspi_crash_walk(struct uspi_crash_kit *kit, struct uspi_thread_copy *copy, bool has_crashed,
                    struct usp_stack *stack);

/* Finds where the C library and C++ keep their messages (messages.c). Not async-signal-safe: it asks the loader. */
void uspi_crash_find_messages(struct uspi_crash_messages *messages);

/* Puts message i (0, 1) about a SIGABRT of the calling thread into kit->callback_text. Returns whether there is one.
 * *key: which one it is. The kit's images and the thread's stack must be known. Async-signal-safe. */
bool uspi_crash_read_message(struct uspi_crash_kit *kit, const struct usp_stack *stack, unsigned i, const char **key);

/* Puts the message that an image of an Apple system has left about the crash (section __crash_info: Swift's runtime,
 * libdispatch, libc, libc++abi) into kit->callback_text. Returns whether there is one. Async-signal-safe. */
bool uspi_crash_read_info(struct uspi_crash_kit *kit, const struct usp_image *image);

/* ---- files of a directory (folder.c) ---- */

/* A run, as its file says. */
struct uspi_crash_run_file {
    char name[USPI_CRASH_NAME];
    char version[64], program[USPI_CRASH_PROGRAM];
    struct uspi_os_run facts;
    uint64_t started, ended; /* ended: the clean end, or the crash; 0 unknown */
    bool has_ended;          /* cleanly */
    uint32_t crashes;        /* runs in a row that crashed before it */
    char report[USPI_CRASH_NAME];
    bool has_report; /* it crashed; the report may have been deleted since */
};

/* Writes a run's file. Returns what uspi_os_publish returns. */
int uspi_crash_write_run(const char *directory, const struct uspi_crash_run_file *run);

/* Returns whether a run's file is there, and no other user has replaced it. */
bool uspi_crash_has_run(const char *directory, const char *name);

/* Removes a run's file. */
void uspi_crash_remove_run(const char *directory, const char *name);

/* Returns whether a report is there. */
bool uspi_crash_has_report(const char *directory, const char *name);

/* Finds the path of this program in its list of images, if uspi_os_run_describe did not say it (program.c). */
void uspi_crash_find_program(struct uspi_os_run *run);

/* Makes of a program's path the name by which runs of the same program are recognised (program.c). */
void uspi_crash_name_program(char name[USPI_CRASH_PROGRAM], const char *path);

/* Settles runs that have ended: publishes torn reports, removes files that are of no use any more, and deletes reports
 * beyond the limits (0: none are deleted). *last becomes the last run of this program that has ended. `own`: the name of
 * this process's run, or "". The caller has the directory locked. Returns an enum usp_status; USP_ERROR_NOT_FOUND: there
 * is no such run. */
int uspi_crash_settle(const char *directory, const char *own, uint32_t max_reports, uint64_t max_bytes,
                      struct uspi_crash_run_file *last);

#endif
