/* SPDX-License-Identifier: MIT */
/* Constants of the raw capture format that its writer and its reader share; doc/raw-format.md describes it. Numbers are
 * little-endian. */
#ifndef USPI_SNAPSHOT_RAW_H
#define USPI_SNAPSHOT_RAW_H

#include "lib/base/crc32.h"
#include "lib/object/bytes.h"

#include <unspool/raw.h>

/* The magic is not text. A transfer that converts line ends or clears the eighth bit damages it (after PNG's signature,
 * RFC 2083 section 3.1). */
#define USPI_RAW_MAGIC       "\x89USPRAW\n"
#define USPI_RAW_MAGIC_SIZE  8u
#define USPI_RAW_VERSION     1u
#define USPI_RAW_HEADER_SIZE 16u /* magic, u32 version, u32 0 */

/* A record: u32 type, u32 size of the payload, the payload, u32 checksum of everything before it. */
#define USPI_RAW_RECORD_HEADER 8u
#define USPI_RAW_CHECKSUM_SIZE 4u

enum uspi_raw_type {
    USPI_RAW_PROCESS = 1,
    USPI_RAW_IMAGE = 2,
    USPI_RAW_THREAD = 3,
    USPI_RAW_REGISTERS = 4, /* registers of the preceding thread record; STACK, FRAMES, QUEUE, LOCK belong to it too */
    USPI_RAW_STACK = 5,
    USPI_RAW_FRAMES = 6,
    USPI_RAW_END = 7,
    /* Added later: earlier readers ignore them. */
    USPI_RAW_QUEUE = 8,
    USPI_RAW_LOCK = 9,
    USPI_RAW_CRASH = 10,
    USPI_RAW_NOTE = 11,
    USPI_RAW_EXCEPTION = 12
};

/* Sizes of the fixed parts of payloads in bytes. Strings, registers and frames follow them. Later versions may append
 * more. */
#define USPI_RAW_PROCESS_SIZE   52u
#define USPI_RAW_IMAGE_SIZE     88u
#define USPI_RAW_THREAD_SIZE    56u
#define USPI_RAW_REGISTERS_SIZE 16u
#define USPI_RAW_STACK_SIZE     88u
#define USPI_RAW_FRAMES_SIZE    8u
#define USPI_RAW_FRAME_SIZE     32u
#define USPI_RAW_END_SIZE       8u
#define USPI_RAW_QUEUE_SIZE     4u
#define USPI_RAW_LOCK_SIZE      24u
#define USPI_RAW_CRASH_SIZE     64u
#define USPI_RAW_MACH_SIZE      24u /* after that: a Mach exception */
#define USPI_RAW_NOTE_SIZE      24u
#define USPI_RAW_EXCEPTION_SIZE 24u

enum uspi_raw_crash_flags {
    USPI_RAW_CRASH_ADDRESS = 1, /* fault_address is valid */
    USPI_RAW_CRASH_PLACE = 2    /* it is known what was mapped there */
};

/* What ended the process. */
struct uspi_raw_crash {
    uint32_t signal;
    int32_t code;
    uint32_t flags;  /* enum uspi_raw_crash_flags */
    uint32_t access; /* of the mapping: 1 readable, 2 writable, 4 executable */
    usp_addr fault_address;
    usp_addr place_low, place_high; /* the mapping that contains it; 0, 0: none */
    uint64_t thread;                /* the thread that got the signal */
    uint64_t sender;                /* the process that sent it; 0: none */
    uint64_t started;               /* when the program began to record: ns since 1970-01-01 UTC; 0 unknown */
    uint32_t mach_exception;        /* which became the signal; 0: none, or not known */
    uint64_t mach_codes[2];         /* its code and subcode */
};

enum uspi_raw_lock_flags {
    USPI_RAW_LOCK_ENDLESS = 1 /* the wait has no time limit */
};

/* Maximum number of frames in a record: a file that is cut off loses at most this many frames that were written. */
#define USPI_RAW_FRAMES_MAX 32u
/* The same of an exception's record. */
#define USPI_RAW_EXCEPTION_MAX 65535u

/* A capture that is being written (raw_write.c). Each record is passed to `write` before the next one begins, unless
 * records are gathered. */
struct uspi_raw_sink {
    int (*write)(void *to, const void *bytes, size_t n); /* returns an enum usp_status */
    void *to;
    int status; /* USP_OK, or the first failure */
    uint32_t crc, records;
    bool gathers; /* records are passed on when `bytes` is full, and at the end: far fewer system calls */
    size_t used;
    uint8_t bytes[1024];
};

/* The data of a thread except its registers and its stack. */
struct uspi_raw_about {
    const struct usp_thread_info *info;
    usp_addr stack_low, stack_high;
    uint64_t stopped_ns;
    int32_t status;
    usp_addr lock;   /* the lock that the thread waits for; 0 unknown */
    bool is_endless; /* that wait has no time limit */
};

/* Begin a capture, write one record each, and end it. All are async-signal-safe. */
void uspi_raw_begin(struct uspi_raw_sink *sink, int (*write)(void *to, const void *bytes, size_t n), void *to);
void uspi_raw_put_process(struct uspi_raw_sink *sink, const struct usp_snapshot_info *info, size_t images);
void uspi_raw_put_image(struct uspi_raw_sink *sink, const struct usp_image *image);
void uspi_raw_put_thread(struct uspi_raw_sink *sink, const struct uspi_raw_about *about);
void uspi_raw_put_registers(struct uspi_raw_sink *sink, const struct usp_registers *registers);
void uspi_raw_put_stack(struct uspi_raw_sink *sink, const struct usp_stack *stack);
void uspi_raw_put_crash(struct uspi_raw_sink *sink, const struct uspi_raw_crash *crash);
void uspi_raw_put_note(struct uspi_raw_sink *sink, const struct usp_snapshot_note *note);
/*   thread  which threw it
 *   frames  return addresses, `count` of `total` */
void uspi_raw_put_exception(struct uspi_raw_sink *sink, uint64_t thread, const usp_addr *frames, uint32_t count,
                            uint64_t total);
void uspi_raw_end(struct uspi_raw_sink *sink);

/* Reads a capture from bytes (raw_read.c); otherwise like usp_snapshot_open_raw. */
int uspi_raw_read(struct uspi_bytes bytes, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot,
                  struct uspi_error *error);

#endif
