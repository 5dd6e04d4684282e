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
    USPI_RAW_REGISTERS = 4, /* registers of the preceding thread record; STACK, FRAMES and QUEUE belong to it too */
    USPI_RAW_STACK = 5,
    USPI_RAW_FRAMES = 6,
    USPI_RAW_END = 7,
    USPI_RAW_QUEUE = 8 /* added later: earlier readers ignore it */
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

/* Maximum number of frames in a record: a file that is cut off loses at most this many frames that were written. */
#define USPI_RAW_FRAMES_MAX 32u

/* Reads a capture from bytes (raw_read.c); otherwise like usp_snapshot_open_raw. */
int uspi_raw_read(struct uspi_bytes bytes, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot,
                  struct uspi_error *error);

#endif
