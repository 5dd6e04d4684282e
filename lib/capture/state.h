/* SPDX-License-Identifier: MIT */
/* The capturing state of this process above the operating system, one object: what captures keep between calls. Each
 * part is used by the file that its comment names. lib/os/linux/capturing.h, lib/os/darwin/capturing.h and
 * lib/images/own_images.c have the state of their layers; no other file of the library has any.
 *
 * A child after a fork inherits all of it. Its locks know that a holder was not copied (os.h); everything else changes
 * in atomic steps, or is not published before it is complete.
 *
 * usp_shutdown gives each part back, so that the state is as before the first usp_prepare. No other call may be running
 * then (capture.h). */
#ifndef USPI_CAPTURE_STATE_H
#define USPI_CAPTURE_STATE_H

#include "lib/base/page_cache.h"
#include "lib/os/os.h"

#define USPI_CALL_SITES 2048u
#define USPI_TEXT_PAGES 8u
#define USPI_ROOTS      (1 + USPI_THREAD_ROOTS)

struct uspi_rules; /* own_code.c */

/* A frame after a call. */
struct uspi_call_frame {
    uintptr_t pc, sp, fp;
};

/* The walk by unwind rules (by_rules.h). Both functions are async-signal-safe and need 24 KB of stack. */
struct uspi_by_rules {
    bool (*has_record)(const struct uspi_call_frame *frame); /* whether fp points to the frame's record */
    /* Writes the addresses of this frame and its callers. Returns how many. */
    size_t (*walk)(const struct uspi_call_frame *from, void **buffer, size_t size);
};
#define USPI_BY_RULES_STACK 24576u

/* A root's position in the image that contains it, which may also be loaded in another process. */
struct uspi_portable_root {
    uint64_t offset;
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: unknown, so the root is of no use in other processes */
};

/* Settings for the data about code that is made with the next list of images (own_code.c). */
struct uspi_code_settings {
    struct uspi_lock lock;  /* protects the rest; its holder may allocate, but waits for nothing else */
    _Atomic(bool) are_used; /* such data is made with each list; read without the lock */
    bool is_limited;        /* usp_prepare has set table_limit; otherwise it is USPI_TABLE_LIMIT */
    uint64_t table_limit;
    struct uspi_rules *rules; /* NULL: none */
};

/* Return addresses at which stacks end (roots.c). The holder of the lock appends; any thread reads the first `count`
 * without it, also in signal handlers. */
struct uspi_known_roots {
    struct uspi_lock lock;
    bool main_known, threads_known; /* used by the holder of the lock */
    _Atomic(uint32_t) count;
    usp_addr addresses[USPI_ROOTS]; /* in this process */
    struct uspi_portable_root portable[USPI_ROOTS];
};

/* How an object of a later layer that exists once in a process is created and freed. `create` returns NULL when memory
 * is exhausted. */
struct uspi_default_kind {
    void *(*create)(void);
    void (*destroy)(void *object);
};

enum uspi_default { USPI_DEFAULT_SYMBOLIZER, USPI_DEFAULT_DEMANGLER, USPI_DEFAULTS };

/* An object that exists once in a process (defaults.c). Any thread sets `kind`, always to the same value, and then the
 * object, if there is none. */
struct uspi_default_object {
    _Atomic(void *) object; /* NULL: not made */
    _Atomic(const struct uspi_default_kind *) kind;
};

struct uspi_capture_state {
    /* Return addresses that were verified; those of callers without a frame record are complemented (call_sites.h). Any
     * thread and signal handler reads and writes one word at a time. The first member, so that the fast walk needs no
     * offset. usp_shutdown forgets them. */
    _Atomic(uintptr_t) call_sites[USPI_CALL_SITES];
    /* The code that signal handlers return to; 0 until it is found. It is not among the call sites, so that the fast
     * walk's loop needs no comparison for it. Used like them. */
    _Atomic(uintptr_t) signal_return;

    /* NULL: fast walks use frame records alone. usp_prepare sets it, usp_shutdown removes it. */
    _Atomic(const struct uspi_by_rules *) by_rules;

    /* Caches of code for captures of other threads (capture.c); NULL: none, or in use. A capture exchanges a place with
     * NULL, and so owns the cache until it puts it back. usp_shutdown frees them. */
    struct uspi_page_cache *_Atomic text_pages[USPI_TEXT_PAGES];

    /* usp_prepare has prepared everything; false: nothing, or only what stops threads (uspi_capture_prepare_stops). */
    _Atomic(bool) is_prepared;

    struct uspi_code_settings code; /* usp_shutdown frees the rules and restores the defaults */
    struct uspi_known_roots roots;  /* usp_shutdown forgets them */

    struct uspi_default_object defaults[USPI_DEFAULTS]; /* usp_shutdown frees them */

    struct uspi_lock crash_kit; /* held while the crash kit is being installed (lib/crash/install.c) */
};

extern struct uspi_capture_state uspi_capture_state;

/* Calls usp_prepare with its defaults unless the program has called it: options that the program chose stay in force.
 * For every function that needs it and is not async-signal-safe. Returns as usp_prepare does. (capture.c) */
int uspi_capture_prepare(void);

/* Prepares what stops other threads, with the defaults of usp_prepare, unless that was done: no list of images, no
 * unwind tables. Its cost does not depend on the images. Returns as usp_prepare does. (capture.c) */
int uspi_capture_prepare_stops(void);

/* Returns the process's object, which the first call makes, or NULL when memory is exhausted. `kind` is the same for
 * each call with this `which`. Thread-safe: it takes no lock; of two objects that are made at once, one is freed. */
void *uspi_default_get(enum uspi_default which, const struct uspi_default_kind *kind);

/* Returns the process's object, or NULL when it was not made. */
void *uspi_default_made(enum uspi_default which);

/* Frees all of them. No other thread may use one. */
void uspi_defaults_free(void);

#endif
