/* SPDX-License-Identifier: MIT */
/* The lines that logs and crash reports have for frames and for images, each by itself: what a line says, and which part
 * of it a name would replace. No line before it or behind it is known here, nor whether an image is one.
 *
 * Frames, with anything in front of them and behind them ("…" is what a name and an offset replace):
 *   INDEX IMAGE ADDRESS …            callStackSymbols, crash reports; INDEX may be missing (BSBacktraceLogger). … is
 *                                    IMAGE + OFFSET, LOAD + OFFSET, UUID + OFFSET, HEADER + OFFSET or <redacted> + OFFSET
 *   PATH(…) [ADDRESS]                backtrace_symbols(3) of glibc. … is +OFFSET or nothing
 *   INDEX … PATH                     USP_FORMAT_PORTABLE. … is ID + OFFSET
 *   …                                USP_FORMAT_PLAIN, alone in its line. … is IMAGE + OFFSET or UUID + OFFSET */
#ifndef TOOL_LOG_LINE_H
#define TOOL_LOG_LINE_H

#include <unspool/images.h>

#include "tools/log_scan.h"

enum log_notation {
    LOG_SYMBOL,      /* "name + 31" */
    LOG_PARENTHESES, /* "name+0x1f" */
};

enum log_frame_flags {
    LOG_FRAME_NAMED = 1 << 0,   /* it has a name already: nothing is to be replaced */
    LOG_FRAME_ADDRESS = 1 << 1, /* `address` is known */
    LOG_FRAME_OFFSET = 1 << 2,  /* `offset` from the image's load address is known */
    LOG_FRAME_INDEX = 1 << 3,   /* `index` is known */
    LOG_FRAME_PLAIN = 1 << 4    /* it looks like a frame only if there is an image of that name */
};

struct log_frame {
    enum log_notation notation;
    unsigned flags;       /* enum log_frame_flags */
    struct span replaced; /* by name and offset */
    struct span name;     /* that it has */
    struct span image;    /* name or path of its image, "" unknown; `before` ends with it when it stands there */
    struct span before;   /* what stands in front of the address, where the image may stand behind something else */
    uint64_t address, offset, index;
    uint8_t id[USP_BUILD_ID_MAX]; /* of its image */
    size_t id_size;               /* 0: the line does not tell */
};

/* Whether the line is a frame's. *frame points into the line. */
bool log_line_frame(struct span line, struct log_frame *frame);

/* A line of a crash report's Binary Images. */
struct log_image_line {
    uint64_t first, last; /* addresses */
    struct span ident;    /* its name or identifier, as frames have it */
    struct span path;
    uint32_t arch; /* enum usp_arch */
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size; /* 0: it has none */
};

bool log_line_image(struct span line, struct log_image_line *image);

/* The column in which callStackSymbols cuts an image's name (Libc gen/backtrace.c). */
#define LOG_IMAGE_WIDTH 35

/* Whether a name is none: what stands for a symbol that is hidden, for the image's header, an address. */
bool log_is_placeholder(struct span name);

/* Whether a function of that name calls signal handlers, so that its caller is where the signal came, not a call. */
bool log_is_trampoline(struct span name);

#endif
