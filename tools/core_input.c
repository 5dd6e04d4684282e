/* SPDX-License-Identifier: MIT */
/* Implements core_input.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Offsets beyond 2 GB on 32-bit hosts. */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "tools/core_input.h"

#include "lib/base/packer.h"
#include "tools/command.h"
#include "tools/libarchive.h"
#include "tools/temporary.h"

#include <unspool/base.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The largest unpacked file. systemd-coredump stores cores of at most 32 GB (coredump.conf(5), ExternalSizeMax). */
#define BYTES_MAX (UINT64_C(64) << 30)

/* Part of the file system, and limit of it, that stays free; how many bytes are written between two checks. */
#define FREE_PART  64
#define FREE_MAX   (UINT64_C(256) << 20)
#define CHECK_STEP (UINT64_C(4) << 20)

/* The folder of temporary files without $TMPDIR. */
#define OTHER_FOLDER "/tmp"

/* Blocks of zeros of this size become holes. */
#define BLOCK 4096u
#define PIECE (16 * BLOCK)

struct copying {
    const char *name;
    int from, to;
    uint64_t size;                   /* bytes so far, holes included */
    uint64_t unchecked;              /* bytes written since the free space was checked */
    uint8_t head[USPI_PACKER_MAGIC]; /* the first bytes, which are read to identify the format */
    size_t head_size;
    uint8_t piece[PIECE], packed[PIECE];
    char *error;
    size_t error_size;
};

static int refuse(const struct copying *c, int status, const char *what) {
    snprintf(c->error, c->error_size, "%s: %s", c->name, what);
    return status;
}

static int refuse_system(const struct copying *c, const char *what) {
    snprintf(c->error, c->error_size, "%s: %s: %s", c->name, what, strerror(errno));
    return USP_ERROR_SYSTEM;
}

/* ---- the temporary file ---- */

/* Refuses to write `wanted` more bytes if too little space would stay free. */
static int check_space(const struct copying *c, uint64_t wanted) {
    struct statvfs space;
    if (fstatvfs(c->to, &space) != 0 || space.f_frsize == 0) return USP_OK;
    const uint64_t unit = space.f_frsize, all = (uint64_t)space.f_blocks * unit, left = (uint64_t)space.f_bavail * unit;
    const uint64_t kept = all / FREE_PART < FREE_MAX ? all / FREE_PART : FREE_MAX;
    if (left >= kept && left - kept >= wanted) return USP_OK;
    snprintf(c->error, c->error_size, "%s: too little space in %s; set TMPDIR to a folder with more", c->name,
             temporary_folder(OTHER_FOLDER));
    return USP_ERROR_SYSTEM;
}

static int write_at(struct copying *c, const uint8_t *bytes, size_t n, uint64_t at) {
    int status = c->unchecked + n >= CHECK_STEP ? check_space(c, CHECK_STEP) : USP_OK;
    if (status != USP_OK) return status;
    c->unchecked = c->unchecked + n >= CHECK_STEP ? 0 : c->unchecked + n;
    while (n > 0) {
        const ssize_t put = pwrite(c->to, bytes, n, (off_t)at);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return refuse_system(c, "temporary file");
        bytes += put;
        at += (uint64_t)put;
        n -= (size_t)put;
    }
    return USP_OK;
}

static bool is_zero(const uint8_t *bytes, size_t n) { return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0; }

/* Appends n > 0 bytes of c->piece, without the blocks of zeros. All pieces but the last are whole. */
static int append_piece(struct copying *c, size_t n) {
    if (n > BYTES_MAX - c->size) return refuse(c, USP_ERROR_FORMAT, "more than 64 GB; unpack it to a file yourself");
    size_t from = 0;
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t size = n - at < BLOCK ? n - at : BLOCK;
        if (!is_zero(c->piece + at, size)) continue;
        int status = at > from ? write_at(c, c->piece + from, at - from, c->size + from) : USP_OK;
        if (status != USP_OK) return status;
        from = at + size;
    }
    int status = n > from ? write_at(c, c->piece + from, n - from, c->size + from) : USP_OK;
    c->size += n;
    return status;
}

/* ---- the bytes ---- */

static ssize_t read_some(int file, void *to, size_t n) {
    ssize_t got;
    do {
        got = read(file, to, n);
    } while (got < 0 && errno == EINTR);
    return got;
}

static bool read_head(struct copying *c) {
    while (c->head_size < sizeof c->head) {
        const ssize_t got = read_some(c->from, c->head + c->head_size, sizeof c->head - c->head_size);
        if (got < 0) return false;
        if (got == 0) break;
        c->head_size += (size_t)got;
    }
    return true;
}

/* Reads bytes of the input, those of the head first. Returns 0 at the end, -1 with errno. */
static ssize_t read_input(struct copying *c, void *to, size_t n) {
    if (c->head_size == 0) return read_some(c->from, to, n);
    const size_t taken = c->head_size;
    memcpy(to, c->head, taken);
    c->head_size = 0;
    return (ssize_t)taken;
}

/* Copies the input as it is. */
static int copy_plain(struct copying *c) {
    for (bool ends = false; !ends;) {
        size_t n = 0;
        while (n < PIECE && !ends) {
            const ssize_t got = read_input(c, c->piece + n, PIECE - n);
            if (got < 0) return refuse_system(c, "cannot be read");
            ends = got == 0;
            n += (size_t)got;
        }
        int status = n > 0 ? append_piece(c, n) : USP_OK;
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

#ifdef HAVE_LIBARCHIVE

#include <archive.h>

/* libarchive's functions, as archive.h declares them. */
struct library {
    struct archive *(*create)(void);
    int (*support[5])(struct archive *);
    int (*open)(struct archive *, void *, archive_open_callback *, archive_read_callback *, archive_close_callback *);
    int (*next)(struct archive *, struct archive_entry **);
    la_ssize_t (*read)(struct archive *, void *, size_t);
    const char *(*error)(struct archive *);
    int (*release)(struct archive *);
};

static bool load(struct library *library) {
    const struct libarchive_function functions[] = {
        {"archive_read_new", &library->create},
        {"archive_read_support_filter_zstd", &library->support[0]},
        {"archive_read_support_filter_xz", &library->support[1]},
        {"archive_read_support_filter_lz4", &library->support[2]},
        {"archive_read_support_filter_gzip", &library->support[3]},
        {"archive_read_support_format_raw", &library->support[4]},
        {"archive_read_open", &library->open},
        {"archive_read_next_header", &library->next},
        {"archive_read_data", &library->read},
        {"archive_error_string", &library->error},
        {"archive_read_free", &library->release},
    };
    return load_libarchive(functions, sizeof functions / sizeof *functions);
}

static la_ssize_t give_bytes(struct archive *archive, void *context, const void **bytes) {
    struct copying *c = context;
    (void)archive;
    *bytes = c->packed;
    return (la_ssize_t)read_input(c, c->packed, PIECE);
}

/* Unpacks what libarchive has opened. What comes before damage is used: a core may have been cut off. */
static int copy_unpacked(struct copying *c, const struct library *library, struct archive *archive) {
    for (bool ends = false; !ends;) {
        size_t n = 0;
        la_ssize_t got = 0;
        while (n < PIECE && !ends) {
            got = library->read(archive, c->piece + n, PIECE - n);
            ends = got <= 0;
            n += got > 0 ? (size_t)got : 0;
        }
        int status = n > 0 ? append_piece(c, n) : USP_OK;
        if (status != USP_OK) return status;
        if (got >= 0) continue;
        const char *why = library->error(archive);
        if (c->size == 0) return refuse(c, USP_ERROR_FORMAT, why != NULL ? why : "cannot be unpacked");
        complain("%s: cut off or damaged (%s); what precedes that is used", c->name, why != NULL ? why : "no reason");
    }
    return USP_OK;
}

/* Returns USP_ERROR_UNSUPPORTED, with *error unchanged and nothing read, when libarchive cannot unpack the format. */
static int unpack(struct copying *c) {
    struct library library;
    struct archive_entry *entry;
    if (!load(&library)) return USP_ERROR_UNSUPPORTED;
    struct archive *archive = library.create();
    if (archive == NULL) return refuse(c, USP_ERROR_NO_MEMORY, "out of memory");
    /* A format for which libarchive would start a program gives a warning and is left out. */
    int status = USP_OK;
    for (size_t i = 0; i < sizeof library.support / sizeof *library.support; i++) {
        if (library.support[i](archive) != ARCHIVE_OK) status = USP_ERROR_UNSUPPORTED;
    }
    if (status == USP_OK && (library.open(archive, c, NULL, give_bytes, NULL) != ARCHIVE_OK ||
                             library.next(archive, &entry) != ARCHIVE_OK)) {
        const char *why = library.error(archive);
        status = refuse(c, USP_ERROR_FORMAT, why != NULL ? why : "cannot be unpacked");
    }
    if (status == USP_OK) status = copy_unpacked(c, &library, archive);
    library.release(archive);
    return status;
}

#else

static int unpack(struct copying *c) {
    (void)c;
    return USP_ERROR_UNSUPPORTED;
}

#endif

/* ---- the input ---- */

void core_input_take(int file, const char *name, struct core_input *input) {
    *input = (struct core_input){.path = input->copy, .name = name, .file = file};
#ifdef __linux__
    snprintf(input->copy, sizeof input->copy, "/proc/self/fd/%d", file);
#else
    snprintf(input->copy, sizeof input->copy, "/dev/fd/%d", file);
#endif
}

/* Copies the input to a temporary file. `at_least`: the number of bytes that it has, packed; 0: not known. */
static int copy_input(struct copying *c, uint64_t at_least, bool is_packed, struct core_input *input) {
    c->to = temporary_open(temporary_folder(OTHER_FOLDER));
    if (c->to < 0) return refuse_system(c, "temporary file");
    int status = at_least > BYTES_MAX ? refuse(c, USP_ERROR_FORMAT, "more than 64 GB; unpack it to a file yourself")
                                      : check_space(c, at_least);
    if (status == USP_OK) status = is_packed ? unpack(c) : copy_plain(c);
    if (status == USP_OK && ftruncate(c->to, (off_t)c->size) != 0) status = refuse_system(c, "temporary file");
    if (status != USP_OK) {
        close(c->to);
        return status;
    }
    core_input_take(c->to, c->name, input);
    return USP_OK;
}

/* Whether the library can read standard input, a regular file, by a path. */
static bool can_open_again(struct core_input *input) {
    const int again = lseek(STDIN_FILENO, 0, SEEK_CUR) == 0 ? open("/dev/stdin", O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    if (again < 0) return false;
    close(again);
    input->path = "/dev/stdin";
    input->name = "standard input";
    return true;
}

/* Decides by the kind of the file and its first bytes whether it is copied. */
static int take_file(struct copying *c, bool is_standard, struct core_input *input) {
    struct stat found;
    /* Standard input can be closed: reading it fails, whatever its file is (unspool.c). */
    if (fstat(c->from, &found) != 0 || (is_standard && read(c->from, NULL, 0) != 0)) {
        return refuse_system(c, "cannot be read");
    }
    const bool is_regular = S_ISREG(found.st_mode);
    if (!is_regular && !S_ISFIFO(found.st_mode) && !S_ISSOCK(found.st_mode)) {
        return is_standard ? refuse(c, USP_ERROR_FORMAT, "not a file or a pipe") : USP_OK;
    }
    const bool can_stay = is_regular && (!is_standard || can_open_again(input));
    if (!read_head(c)) return refuse_system(c, "cannot be read");
    const char *packer = uspi_packer_of(c->head, c->head_size);
    if (packer == NULL && can_stay) return USP_OK;
    int status = copy_input(c, is_regular ? (uint64_t)found.st_size : 0, packer != NULL, input);
    if (status != USP_ERROR_UNSUPPORTED || can_stay) return status == USP_ERROR_UNSUPPORTED ? USP_OK : status;
    snprintf(c->error, c->error_size, "%s: compressed; unpack it first: %s -dc", c->name, packer);
    return status;
}

int core_input_begin(const char *path, struct core_input *input, char *error, size_t error_size) {
    static struct copying copying;
    struct stat found;
    const bool is_standard = strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0;
    *input = (struct core_input){.path = path, .file = -1};
    copying = (struct copying){.name = path, .from = STDIN_FILENO, .error = error, .error_size = error_size};
    if (is_standard) {
        copying.name = "standard input";
        return take_file(&copying, true, input);
    }
    /* The library's messages say why other files cannot be read. Opening a device can have effects. */
    if (stat(path, &found) != 0 || (!S_ISREG(found.st_mode) && !S_ISFIFO(found.st_mode))) return USP_OK;
    copying.from = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (copying.from < 0) return USP_OK;
    int status = take_file(&copying, false, input);
    close(copying.from);
    return status;
}

bool core_input_is_other(const struct core_input *input) { return input->name != NULL; }

const char *core_input_message(const struct core_input *input, const char *message, char *room, size_t size) {
    const size_t length = input->name != NULL ? strlen(input->path) : 0;
    if (input->name == NULL || strncmp(message, input->path, length) != 0) return message;
    snprintf(room, size, "%s%s", input->name, message + length);
    return room;
}

void core_input_end(struct core_input *input) {
    if (input->file >= 0) close(input->file);
    input->file = -1;
}
