/* SPDX-License-Identifier: MIT */
/* The raw capture format, as doc/raw-format.md describes it: what its writer and its reader agree on. Numbers are
 * little-endian. */
#ifndef USPI_RAW_H
#define USPI_RAW_H

#include "lib/base/crc32.h"
#include "lib/object/bytes.h"

#include <unspool/raw.h>

/* Not text, and damaged by what changes line ends or cuts the eighth bit (after PNG's signature, RFC 2083 section 3.1). */
#define USPI_RAW_MAGIC       "\x89USPRAW\n"
#define USPI_RAW_MAGIC_SIZE  8u
#define USPI_RAW_VERSION     1u
#define USPI_RAW_HEADER_SIZE 16u /* magic, u32 version, u32 0 */

/* A record: u32 type, u32 size of what follows up to the checksum, that, u32 checksum of all before it. */
#define USPI_RAW_RECORD_HEADER 8u
#define USPI_RAW_CHECKSUM_SIZE 4u

enum uspi_raw_type {
    USPI_RAW_PROCESS = 1,
    USPI_RAW_IMAGE = 2,
    USPI_RAW_THREAD = 3,
    USPI_RAW_REGISTERS = 4, /* of the thread before it; so are the two below, and the queue */
    USPI_RAW_STACK = 5,
    USPI_RAW_FRAMES = 6,
    USPI_RAW_END = 7,
    USPI_RAW_QUEUE = 8 /* came later: readers of the first ones pass over it */
};

/* Bytes of the fixed parts; strings, registers and frames follow them. Later versions may put more behind. */
#define USPI_RAW_PROCESS_SIZE   52u
#define USPI_RAW_IMAGE_SIZE     88u
#define USPI_RAW_THREAD_SIZE    56u
#define USPI_RAW_REGISTERS_SIZE 16u
#define USPI_RAW_STACK_SIZE     88u
#define USPI_RAW_FRAMES_SIZE    8u
#define USPI_RAW_FRAME_SIZE     32u
#define USPI_RAW_END_SIZE       8u
#define USPI_RAW_QUEUE_SIZE     4u

/* Frames in one record at most: what a cut costs. */
#define USPI_RAW_FRAMES_MAX 32u

/* Reads a capture from bytes (raw_read.c); the rest is as for usp_snapshot_open_raw. */
int uspi_raw_read(struct uspi_bytes bytes, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot,
                  struct uspi_error *error);

#endif
