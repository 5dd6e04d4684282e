/* SPDX-License-Identifier: MIT */
/* See decompress.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "lib/images/decompress.h"

#include <stdlib.h>
#include <string.h>

#include <unspool/base.h>

#if defined(HAVE_LZMA) || defined(HAVE_ZLIB) || defined(HAVE_ZSTD)
#include "lib/os/os.h"

/* The file name of a library with the version of the binary interface that the included header describes. */
#ifdef __APPLE__
#define LIBRARY(name, version) "lib" name "." version ".dylib"
#else
#define LIBRARY(name, version) "lib" name ".so." version
#endif

/* Stores a library's function in the function pointer at `pointer`. Returns false when the library or the function is
 * not there. */
static bool find_function(const char *library, const char *name, void *pointer) {
    const char *const libraries[] = {library, NULL};
    uspi_os_function function;
    if (!uspi_os_find_function(libraries, name, &function)) return false;
    memcpy(pointer, &function, sizeof function);
    return true;
}
#endif

#ifdef HAVE_LZMA
#include <lzma.h>
#endif
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif
#if defined(HAVE_ZLIB) && defined(HAVE_DEFLATE)
#include <libdeflate.h>
#endif

#ifdef HAVE_ZLIB
/* The output that is kept already goes here. */
#define UNUSED_SIZE 4096u

struct uspi_zlib_steps {
    z_stream stream;
    int (*run)(z_streamp, int);
    int (*end)(z_streamp);
    uint8_t *to;
    size_t left; /* input bytes after those in stream.avail_in */
    size_t done, capacity, kept;
    uint8_t unused[UNUSED_SIZE];
};

static void *allocate(void *opaque, uInt count, uInt size) {
    (void)opaque;
    return calloc(count, size);
}

static void release(void *opaque, void *p) {
    (void)opaque;
    free(p);
}

/* Returns the part of n bytes that is given to zlib at once; z_stream counts in 32 bits. */
static uInt part_of(size_t n) { return n < UINT32_MAX / 2 ? (uInt)n : UINT32_MAX / 2; }

int uspi_zlib_begin(const void *from, size_t n, void *to, size_t capacity, size_t kept,
                    struct uspi_zlib_steps **steps) {
    int (*begin)(z_streamp, const char *, int);
    struct uspi_zlib_steps *made = calloc(1, sizeof *made);
    *steps = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->to = to;
    made->capacity = capacity;
    made->kept = kept;
    made->left = n;
    made->stream.zalloc = allocate;
    made->stream.zfree = release;
    /* zlib does not write to its input; next_in need not be const, depending on the header. */
    memcpy(&made->stream.next_in, &from, sizeof from);
    int status = USP_ERROR_UNSUPPORTED;
    if (find_function(LIBRARY("z", "1"), "inflateInit_", &begin) &&
        find_function(LIBRARY("z", "1"), "inflate", &made->run) &&
        find_function(LIBRARY("z", "1"), "inflateEnd", &made->end)) {
        const int result = begin(&made->stream, ZLIB_VERSION, (int)sizeof made->stream);
        status = result == Z_OK ? USP_OK : result == Z_MEM_ERROR ? USP_ERROR_NO_MEMORY : USP_ERROR_UNSUPPORTED;
    }
    if (status == USP_OK) {
        *steps = made;
    } else {
        free(made);
    }
    return status;
}

/* Chooses where the next output goes, at most up to `end`. Returns how much room is there. */
static uInt find_room(struct uspi_zlib_steps *steps, size_t end) {
    if (steps->done >= steps->kept) {
        steps->stream.next_out = steps->to + steps->done;
        return part_of(end - steps->done);
    }
    const size_t left = (steps->kept < end ? steps->kept : end) - steps->done;
    steps->stream.next_out = steps->unused;
    return left < UNUSED_SIZE ? (uInt)left : UNUSED_SIZE;
}

int uspi_zlib_step(struct uspi_zlib_steps *steps, size_t end) {
    z_stream *stream = &steps->stream;
    for (;;) {
        if (stream->avail_in == 0) {
            stream->avail_in = part_of(steps->left);
            steps->left -= stream->avail_in;
        }
        const uInt capacity = find_room(steps, end);
        stream->avail_out = capacity;
        const int result = steps->run(stream, Z_NO_FLUSH);
        const size_t got = capacity - stream->avail_out;
        steps->done += got;
        if (result == Z_STREAM_END) return steps->done == steps->capacity ? USP_OK : USP_ERROR_FORMAT;
        if (result == Z_MEM_ERROR) return USP_ERROR_NO_MEMORY;
        if (result != Z_OK && result != Z_BUF_ERROR) return USP_ERROR_FORMAT;
        if (steps->done == end && end < steps->capacity) return USP_OK;
        /* No output came, and no more input can be given. */
        if (got == 0 && (stream->avail_in != 0 || steps->left == 0)) return USP_ERROR_FORMAT;
    }
}

void uspi_zlib_end(struct uspi_zlib_steps *steps) {
    if (steps == NULL) return;
    steps->end(&steps->stream);
    free(steps);
}

/* The gzip format, with a window of any size (zlib.h, inflateInit2). */
#define GZIP_WINDOW (15 + 16)

/* The output of a gzip file, which doubles in size until all fits or the limit is reached. */
struct grown {
    uint8_t *to;
    size_t used, capacity, limit;
};

static int grow(struct grown *grown) {
    if (grown->used < grown->capacity) return USP_OK;
    if (grown->capacity >= grown->limit) return USP_ERROR_FORMAT;
    size_t larger = grown->capacity == 0                 ? 65536
                    : grown->capacity < grown->limit / 2 ? grown->capacity * 2
                                                         : grown->limit;
    if (larger > grown->limit) larger = grown->limit;
    uint8_t *to = realloc(grown->to, larger);
    if (to == NULL) return USP_ERROR_NO_MEMORY;
    grown->to = to;
    grown->capacity = larger;
    return USP_OK;
}

/* Decompresses all members of a gzip file. `left`: input bytes after those in stream->avail_in. */
static int run_gzip(z_stream *stream, size_t left, int (*run)(z_streamp, int), int (*reset)(z_streamp),
                    struct grown *grown) {
    for (;;) {
        const int status = grow(grown);
        if (status != USP_OK) return status;
        if (stream->avail_in == 0) {
            stream->avail_in = part_of(left);
            left -= stream->avail_in;
        }
        const uInt capacity = part_of(grown->capacity - grown->used);
        stream->next_out = grown->to + grown->used;
        stream->avail_out = capacity;
        const int result = run(stream, Z_NO_FLUSH);
        grown->used += capacity - stream->avail_out;
        if (result == Z_STREAM_END) {
            if (stream->avail_in == 0 && left == 0) return USP_OK;
            if (reset(stream) != Z_OK) return USP_ERROR_FORMAT;
            continue;
        }
        if (result == Z_MEM_ERROR) return USP_ERROR_NO_MEMORY;
        if (result != Z_OK && result != Z_BUF_ERROR) return USP_ERROR_FORMAT;
        /* There is room, and no more input can be given. */
        if (stream->avail_out != 0 && stream->avail_in == 0 && left == 0) return USP_ERROR_FORMAT;
    }
}

int uspi_decompress_gzip(const void *from, size_t n, size_t limit, uint8_t **to, size_t *size) {
    int (*begin)(z_streamp, int, const char *, int);
    int (*run)(z_streamp, int);
    int (*reset)(z_streamp);
    int (*end)(z_streamp);
    z_stream stream = {.zalloc = allocate, .zfree = release};
    struct grown grown = {.limit = limit};
    *to = NULL;
    *size = 0;
    if (!find_function(LIBRARY("z", "1"), "inflateInit2_", &begin) ||
        !find_function(LIBRARY("z", "1"), "inflate", &run) ||
        !find_function(LIBRARY("z", "1"), "inflateReset", &reset) ||
        !find_function(LIBRARY("z", "1"), "inflateEnd", &end)) {
        return USP_ERROR_UNSUPPORTED;
    }
    /* zlib does not write to its input; next_in need not be const, depending on the header. */
    memcpy(&stream.next_in, &from, sizeof from);
    if (begin(&stream, GZIP_WINDOW, ZLIB_VERSION, (int)sizeof stream) != Z_OK) return USP_ERROR_NO_MEMORY;
    const int status = run_gzip(&stream, n, run, reset, &grown);
    end(&stream);
    if (status != USP_OK) {
        free(grown.to);
        return status;
    }
    *to = grown.to;
    *size = grown.used;
    return USP_OK;
}
#else
int uspi_decompress_gzip(const void *from, size_t n, size_t limit, uint8_t **to, size_t *size) {
    (void)from, (void)n, (void)limit;
    *to = NULL;
    *size = 0;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_zlib_begin(const void *from, size_t n, void *to, size_t capacity, size_t kept,
                    struct uspi_zlib_steps **steps) {
    (void)from, (void)n, (void)to, (void)capacity, (void)kept;
    *steps = NULL;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_zlib_step(struct uspi_zlib_steps *steps, size_t end) {
    (void)steps, (void)end;
    return USP_ERROR_UNSUPPORTED;
}

void uspi_zlib_end(struct uspi_zlib_steps *steps) { (void)steps; }
#endif

bool uspi_inflate_at_once(const void *from, size_t n, void *to, size_t capacity) {
#if defined(HAVE_ZLIB) && defined(HAVE_DEFLATE)
    struct libdeflate_decompressor *(*create)(void);
    enum libdeflate_result (*run)(struct libdeflate_decompressor *, const void *, size_t, void *, size_t, size_t *);
    void (*end)(struct libdeflate_decompressor *);
    if (!find_function(LIBRARY("deflate", "0"), "libdeflate_alloc_decompressor", &create) ||
        !find_function(LIBRARY("deflate", "0"), "libdeflate_zlib_decompress", &run) ||
        !find_function(LIBRARY("deflate", "0"), "libdeflate_free_decompressor", &end)) {
        return false;
    }
    struct libdeflate_decompressor *decompressor = create();
    if (decompressor == NULL) return false;
    /* Without a place for the size, another size is a failure. */
    const bool is_done = run(decompressor, from, n, to, capacity, NULL) == LIBDEFLATE_SUCCESS;
    end(decompressor);
    if (!is_done) memset(to, 0, capacity);
    return is_done;
#else
    (void)from, (void)n, (void)to, (void)capacity;
    return false;
#endif
}

int uspi_decompress_zlib(const void *from, size_t n, void *to, size_t capacity) {
    struct uspi_zlib_steps *steps;
    if (uspi_inflate_at_once(from, n, to, capacity)) return USP_OK;
    int status = uspi_zlib_begin(from, n, to, capacity, 0, &steps);
    if (status == USP_OK) status = uspi_zlib_step(steps, capacity);
    uspi_zlib_end(steps);
    return status;
}

int uspi_decompress_zstd(const void *from, size_t n, void *to, size_t capacity) {
#ifdef HAVE_ZSTD
    size_t (*run)(void *, size_t, const void *, size_t);
    if (!find_function(LIBRARY("zstd", "1"), "ZSTD_decompress", &run)) return USP_ERROR_UNSUPPORTED;
    /* An error code is larger than any room. */
    return run(to, capacity, from, n) == capacity ? USP_OK : USP_ERROR_FORMAT;
#else
    (void)from, (void)n, (void)to, (void)capacity;
    return USP_ERROR_UNSUPPORTED;
#endif
}

#ifdef HAVE_ZSTD
struct uspi_zstd_stream {
    ZSTD_DStream *stream;
    size_t (*run)(ZSTD_DStream *, ZSTD_outBuffer *, ZSTD_inBuffer *);
    size_t (*end)(ZSTD_DStream *);
    unsigned (*is_error)(size_t);
};

int uspi_zstd_begin(struct uspi_zstd_stream **stream) {
    ZSTD_DStream *(*create)(void);
    struct uspi_zstd_stream *made = calloc(1, sizeof *made);
    *stream = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    if (!find_function(LIBRARY("zstd", "1"), "ZSTD_createDStream", &create) ||
        !find_function(LIBRARY("zstd", "1"), "ZSTD_decompressStream", &made->run) ||
        !find_function(LIBRARY("zstd", "1"), "ZSTD_freeDStream", &made->end) ||
        !find_function(LIBRARY("zstd", "1"), "ZSTD_isError", &made->is_error)) {
        free(made);
        return USP_ERROR_UNSUPPORTED;
    }
    made->stream = create();
    if (made->stream == NULL) {
        free(made);
        return USP_ERROR_NO_MEMORY;
    }
    *stream = made;
    return USP_OK;
}

int uspi_zstd_step(struct uspi_zstd_stream *stream, struct uspi_zstd_piece *piece) {
    ZSTD_inBuffer in = {piece->from, piece->n, 0};
    ZSTD_outBuffer out = {piece->to, piece->room, 0};
    const size_t result = stream->run(stream->stream, &out, &in);
    piece->from += in.pos;
    piece->n -= in.pos;
    piece->to += out.pos;
    piece->room -= out.pos;
    return stream->is_error(result) ? USP_ERROR_FORMAT : USP_OK;
}

void uspi_zstd_end(struct uspi_zstd_stream *stream) {
    if (stream == NULL) return;
    stream->end(stream->stream);
    free(stream);
}
#else
int uspi_zstd_begin(struct uspi_zstd_stream **stream) {
    *stream = NULL;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_zstd_step(struct uspi_zstd_stream *stream, struct uspi_zstd_piece *piece) {
    (void)stream, (void)piece;
    return USP_ERROR_UNSUPPORTED;
}

void uspi_zstd_end(struct uspi_zstd_stream *stream) { (void)stream; }
#endif

#ifdef HAVE_LZMA
/* The dictionary of the highest preset, xz -9e, takes 65 MiB to decompress (xz(1)). */
#define LZMA_MEMORY_MAX (UINT64_C(80) << 20)

#define LZMA_LIBRARY LIBRARY("lzma", "5")

typedef lzma_ret (*lzma_step)(lzma_stream *, lzma_action);

/* Decompresses into a buffer that doubles in size until all fits or the limit is reached. */
static int grow_and_run(lzma_step run, lzma_stream *stream, size_t limit, uint8_t **to, size_t *size) {
    size_t capacity = 0;
    for (;;) {
        if (stream->avail_out == 0) {
            size_t larger = capacity == 0 ? 65536 : capacity * 2;
            if (capacity >= limit) return USP_ERROR_FORMAT;
            if (larger > limit) larger = limit;
            uint8_t *grown = realloc(*to, larger);
            if (grown == NULL) return USP_ERROR_NO_MEMORY;
            *to = grown;
            stream->next_out = grown + capacity;
            stream->avail_out = larger - capacity;
            capacity = larger;
        }
        lzma_ret result = run(stream, LZMA_FINISH);
        *size = capacity - stream->avail_out;
        if (result == LZMA_STREAM_END) return USP_OK;
        if (result == LZMA_MEM_ERROR) return USP_ERROR_NO_MEMORY;
        if (result != LZMA_OK && !(result == LZMA_BUF_ERROR && stream->avail_out == 0)) return USP_ERROR_FORMAT;
        if (result == LZMA_OK && stream->avail_in == 0 && stream->avail_out != 0) return USP_ERROR_FORMAT;
    }
}
#endif

int uspi_decompress_xz(const void *from, size_t n, size_t limit, uint8_t **to, size_t *size) {
    *to = NULL;
    *size = 0;
#ifdef HAVE_LZMA
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_ret (*begin)(lzma_stream *, uint64_t, uint32_t);
    lzma_step run;
    void (*end)(lzma_stream *);
    if (!find_function(LZMA_LIBRARY, "lzma_stream_decoder", &begin) ||
        !find_function(LZMA_LIBRARY, "lzma_code", &run) || !find_function(LZMA_LIBRARY, "lzma_end", &end)) {
        return USP_ERROR_UNSUPPORTED;
    }
    if (begin(&stream, LZMA_MEMORY_MAX, 0) != LZMA_OK) return USP_ERROR_NO_MEMORY;
    stream.next_in = from;
    stream.avail_in = n;
    int status = grow_and_run(run, &stream, limit, to, size);
    end(&stream);
    if (status == USP_OK) return USP_OK;
    free(*to);
    *to = NULL;
    return status;
#else
    (void)from, (void)n, (void)limit;
    return USP_ERROR_UNSUPPORTED;
#endif
}
