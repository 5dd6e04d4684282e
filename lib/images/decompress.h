/* SPDX-License-Identifier: MIT */
/* Decompression of the formats that ELF files use (zlib, zstd, xz), and of gzip. A build may lack the libraries
 * (configure --without-zlib, --without-deflate, --without-zstd, --without-lzma). They are loaded when the first
 * compressed data is met, so that other processes do not carry them. The callers know what is compressed and how large
 * it may become. Do not call these functions where the loader must not be called. */
#ifndef USPI_IMAGES_DECOMPRESS_H
#define USPI_IMAGES_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decompresses to exactly `capacity` bytes; any other size is an error. Returns USP_OK, USP_ERROR_FORMAT,
 * USP_ERROR_NO_MEMORY, or USP_ERROR_UNSUPPORTED when the build or the machine lacks the library. */
int uspi_decompress_zlib(const void *from, size_t n, void *to, size_t capacity);
int uspi_decompress_zstd(const void *from, size_t n, void *to, size_t capacity);

/* Decompresses zlib data to exactly `capacity` bytes with libdeflate, which takes half of zlib's time. False when the
 * build or the machine lacks that library, memory lacks or the data is damaged: the functions for zlib then find out
 * what is wrong. `to` then has zeros or is unchanged. */
bool uspi_inflate_at_once(const void *from, size_t n, void *to, size_t capacity);

/* Decompresses zlib data in steps. A step continues until the first `end` bytes of `to` are there. `from` and `to` must
 * stay valid and in place until uspi_zlib_end. The first `kept` bytes of `to` are there already and are not written
 * again. A step whose `end` is `capacity` also checks that the stream ends there with the right checksum. After a step
 * failed, no other may follow. Returns what uspi_decompress_zlib returns. */
struct uspi_zlib_steps;

int uspi_zlib_begin(const void *from, size_t n, void *to, size_t capacity, size_t kept, struct uspi_zlib_steps **steps);
int uspi_zlib_step(struct uspi_zlib_steps *steps, size_t end);
void uspi_zlib_end(struct uspi_zlib_steps *steps); /* NULL is ignored */

/* Decompresses a zstd stream that comes in pieces; its frame need not end. A step reads from the piece as far as its room
 * suffices, and moves its pointers and numbers past what it has read and written. After a step failed, no other may
 * follow. Returns what uspi_decompress_zlib returns. */
struct uspi_zstd_stream;

struct uspi_zstd_piece {
    const uint8_t *from;
    size_t n; /* bytes at `from` */
    uint8_t *to;
    size_t room; /* bytes at `to` */
};

int uspi_zstd_begin(struct uspi_zstd_stream **stream);
int uspi_zstd_step(struct uspi_zstd_stream *stream, struct uspi_zstd_piece *piece);
void uspi_zstd_end(struct uspi_zstd_stream *stream); /* NULL is ignored */

/* Decompresses an .xz stream of unknown size; more than `limit` bytes are USP_ERROR_FORMAT. On success the caller frees
 * *to. Returns what uspi_decompress_zlib returns. */
int uspi_decompress_xz(const void *from, size_t n, size_t limit, uint8_t **to, size_t *size);

/* Decompresses a gzip file of unknown size in the same way. It may have several members (RFC 1952), whose checksums
 * must be right. Bytes after them are USP_ERROR_FORMAT. */
int uspi_decompress_gzip(const void *from, size_t n, size_t limit, uint8_t **to, size_t *size);

#endif
