/* SPDX-License-Identifier: MIT */
/* The three ways in which ELF files are compressed, by libraries that a build may lack (configure --without-zlib,
 * --without-zstd, --without-lzma), and that are loaded when something compressed is met: a process that has nothing of
 * that kind to read does not carry them. What is compressed, and how large it may become, the callers know. Not for where
 * the loader must not be called. */
#ifndef USPI_DECOMPRESS_H
#define USPI_DECOMPRESS_H

#include <stddef.h>
#include <stdint.h>

/* Exactly `room` bytes come out, or it is an error. USP_OK, USP_ERROR_FORMAT, USP_ERROR_NO_MEMORY, USP_ERROR_UNSUPPORTED
 * when the build or the machine lacks the library. */
int uspi_decompress_zlib(const void *from, size_t n, void *to, size_t room);
int uspi_decompress_zstd(const void *from, size_t n, void *to, size_t room);

/* The same for zlib in steps: each goes on in `to` until the first `end` bytes are there. All of `from` and `to` must stay
 * where it is. Where `end` is `room` the stream must end as well, and its checksum must be right. No step may follow one that
 * failed. Returns as above. */
struct uspi_zlib_steps;

int uspi_zlib_begin(const void *from, size_t n, void *to, size_t room, struct uspi_zlib_steps **steps);
int uspi_zlib_step(struct uspi_zlib_steps *steps, size_t end);
void uspi_zlib_end(struct uspi_zlib_steps *steps); /* NULL is ignored */

/* An .xz stream of unknown size; more than `limit` bytes are USP_ERROR_FORMAT. On success *to is the caller's to free.
 * Returns as above. */
int uspi_decompress_xz(const void *from, size_t n, size_t limit, uint8_t **to, size_t *size);

#endif
