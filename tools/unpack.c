/* SPDX-License-Identifier: MIT */
/* Implements unpack.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/folders.h"
#include "tools/libarchive.h"
#include "tools/signals.h"
#include "tools/temporary.h"
#include "tools/unpack.h"

#include <unspool/base.h>

#include <stdio.h>

#ifdef HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits of an archive's contents. Debug information shrinks to about a fifth, zeros of a hostile archive to a
 * thousandth. */
#define ENTRIES_MAX  100000u
#define TIMES_MAX    UINT64_C(100)
#define BYTES_ALWAYS (UINT64_C(64) << 20)
#define BYTES_MAX    (UINT64_C(64) << 30)

/* Limits of folders. Each has to be made, listed and removed. A dSYM has four and takes two kilobytes at least. The
 * kernel looks at each part of a path again, so long paths take n * n steps. */
#define PARTS_MAX         64
#define FOLDERS_ALWAYS    1000
#define BYTES_OF_A_FOLDER 512

/* libarchive's functions, as archive.h declares them. */
struct library {
    struct archive *(*create)(void);
    int (*support_zip)(struct archive *);
    int (*open)(struct archive *, int, size_t);
    int (*next)(struct archive *, struct archive_entry **);
    la_ssize_t (*read)(struct archive *, void *, size_t);
    const char *(*error)(struct archive *);
    int (*release)(struct archive *);
    const char *(*path_of)(struct archive_entry *);
    __LA_MODE_T (*kind_of)(struct archive_entry *);
};

static bool load(struct library *library) {
    const struct libarchive_function functions[] = {
        {"archive_read_new", &library->create},        {"archive_read_support_format_zip", &library->support_zip},
        {"archive_read_open_fd", &library->open},      {"archive_read_next_header", &library->next},
        {"archive_read_data", &library->read},         {"archive_error_string", &library->error},
        {"archive_read_free", &library->release},      {"archive_entry_pathname", &library->path_of},
        {"archive_entry_filetype", &library->kind_of},
    };
    return load_libarchive(functions, sizeof functions / sizeof *functions);
}

struct unpacking {
    struct library library;
    struct archive *archive;
    int file;    /* descriptor of the archive */
    mode_t mode; /* of unpacked files: an index gets the permissions of the file that it is made of */
    const char *folder;
    uint64_t left;         /* bytes that may still be unpacked */
    uint64_t folders_left; /* folders that may still be made */
    uint32_t entries;
    char *error;
    size_t error_size;
};

static int refuse(const struct unpacking *u, int status, const char *what) {
    snprintf(u->error, u->error_size, "%s", what);
    return status;
}

static int refuse_system(const struct unpacking *u, const char *what) {
    snprintf(u->error, u->error_size, "%s: %s", what, strerror(errno));
    return USP_ERROR_SYSTEM;
}

static int refuse_archive(const struct unpacking *u) {
    const char *why = u->library.error(u->archive);
    return refuse(u, USP_ERROR_FORMAT, why != NULL ? why : "cannot be read");
}

/* Explains why a file or folder could not be made, by errno. */
static int refuse_creation(const struct unpacking *u) {
    if (errno == EEXIST || errno == ENOTDIR || errno == EISDIR || errno == ENAMETOOLONG) {
        return refuse(u, USP_ERROR_FORMAT, "has two files of one name, or names that are too long");
    }
    return refuse_system(u, "temporary file");
}

/* Whether a path stays below the folder. */
static bool is_below(const char *path) {
    if (path[0] == '/' || path[0] == '\0' || strchr(path, '\\') != NULL) return false;
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part += part[0] == '/';
        const size_t n = strcspn(part, "/");
        if (n == 2 && memcmp(part, "..", 2) == 0) return false;
    }
    return true;
}

/* Whether a file begins like ELF, Mach-O, fat Mach-O, GSYM in either byte order, or Breakpad's symbols. */
static bool is_object(const uint8_t *b, size_t n) {
    static const uint8_t magics[][4] = {{0x7f, 'E', 'L', 'F'},    {0xfe, 0xed, 0xfa, 0xce}, {0xfe, 0xed, 0xfa, 0xcf},
                                        {0xce, 0xfa, 0xed, 0xfe}, {0xcf, 0xfa, 0xed, 0xfe}, {0xca, 0xfe, 0xba, 0xbe},
                                        {0xca, 0xfe, 0xba, 0xbf}, {'G', 'S', 'Y', 'M'},     {'M', 'Y', 'S', 'G'},
                                        {'M', 'O', 'D', 'U'}};
    for (size_t i = 0; n >= 4 && i < sizeof magics / sizeof *magics; i++) {
        if (memcmp(b, magics[i], 4) == 0) return true;
    }
    return false;
}

/* Makes the folders of an entry below the folder for the whole archive, whose name has `top` bytes. */
static int make_entry_folders(struct unpacking *u, char *path, size_t top) {
    unsigned parts = 0;
    for (char *slash = strchr(path + top + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        if (++parts == PARTS_MAX) return refuse(u, USP_ERROR_FORMAT, "has a name of more than 64 parts");
        *slash = '\0';
        const int made = mkdir(path, 0700), error = errno;
        *slash = '/';
        if (made != 0 && error == EEXIST) continue;
        errno = error;
        if (made != 0) return refuse_creation(u);
        if (u->folders_left == 0)
            return refuse(u, USP_ERROR_FORMAT, "holds too many folders for an archive of its size");
        u->folders_left--;
    }
    return USP_OK;
}

/* Makes an entry's file, which must not exist. On success *file is its descriptor. */
static int create_file(struct unpacking *u, const char *name, int *file) {
    const size_t top = strlen(u->folder), capacity = top + strlen(name) + 2;
    char *path = malloc(capacity);
    if (path == NULL) return refuse(u, USP_ERROR_NO_MEMORY, "out of memory");
    snprintf(path, capacity, "%s/%s", u->folder, name);
    int status = make_entry_folders(u, path, top);
    if (status == USP_OK) {
        *file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, u->mode);
        if (*file < 0) status = refuse_creation(u);
    }
    free(path);
    return status;
}

static bool write_all(int file, const uint8_t *bytes, size_t n) {
    while (n > 0) {
        const ssize_t put = write(file, bytes, n);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        bytes += put;
        n -= (size_t)put;
    }
    return true;
}

/* Copies an entry's bytes to a file. The first n bytes are in `piece`. */
static int copy_entry(struct unpacking *u, int file, uint8_t *piece, size_t capacity, size_t n) {
    while (n > 0) {
        if (caught_signal() != 0) return refuse(u, USP_ERROR_SYSTEM, "interrupted");
        if (n > u->left) return refuse(u, USP_ERROR_FORMAT, "holds too much for an archive of its size");
        u->left -= n;
        if (!write_all(file, piece, n)) return refuse_system(u, "temporary file");
        const la_ssize_t got = u->library.read(u->archive, piece, capacity);
        if (got < 0) return refuse_archive(u);
        n = (size_t)got;
    }
    return USP_OK;
}

static int take_entry(struct unpacking *u, const char *name) {
    static uint8_t piece[1 << 16];
    const la_ssize_t got = u->library.read(u->archive, piece, sizeof piece);
    if (got < 0) return refuse_archive(u);
    if (!is_object(piece, (size_t)got)) return USP_OK;
    int file, status = create_file(u, name, &file);
    if (status != USP_OK) return status;
    status = copy_entry(u, file, piece, sizeof piece, (size_t)got);
    if (close(file) != 0 && status == USP_OK) status = refuse_system(u, "temporary file");
    return status;
}

static int take_entries(struct unpacking *u) {
    struct archive_entry *entry;
    int got;
    while ((got = u->library.next(u->archive, &entry)) == ARCHIVE_OK || got == ARCHIVE_WARN) {
        const char *name = u->library.path_of(entry);
        if (caught_signal() != 0) return refuse(u, USP_ERROR_SYSTEM, "interrupted");
        if (++u->entries > ENTRIES_MAX) return refuse(u, USP_ERROR_FORMAT, "holds too many files");
        if (name == NULL || !is_below(name)) {
            return refuse(u, USP_ERROR_FORMAT, "names a file outside of the archive");
        }
        /* Links and devices have no debug information. */
        if (u->library.kind_of(entry) != AE_IFREG) continue;
        int status = take_entry(u, name);
        if (status != USP_OK) return status;
    }
    return got == ARCHIVE_EOF ? USP_OK : refuse_archive(u);
}

static int open_archive(struct unpacking *u, const char *path) {
    struct stat found;
    /* Another user may have put a pipe there, which would not end. */
    u->file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (u->file < 0 || fstat(u->file, &found) != 0) {
        refuse_system(u, "cannot be read");
        return USP_ERROR_NOT_FOUND;
    }
    if (!S_ISREG(found.st_mode)) return refuse(u, USP_ERROR_FORMAT, "not a regular file");
    const uint64_t size = (uint64_t)found.st_size;
    u->mode = (found.st_mode & 04) != 0 ? 0644 : 0600;
    u->left = size < BYTES_MAX / TIMES_MAX ? size * TIMES_MAX + BYTES_ALWAYS : BYTES_MAX;
    u->folders_left = FOLDERS_ALWAYS + size / BYTES_OF_A_FOLDER;
    u->archive = u->library.create();
    if (u->archive == NULL) return refuse(u, USP_ERROR_NO_MEMORY, "out of memory");
    if (u->library.support_zip(u->archive) < ARCHIVE_WARN ||
        u->library.open(u->archive, u->file, 1 << 16) != ARCHIVE_OK) {
        return refuse_archive(u);
    }
    return USP_OK;
}

static char *make_folder(void) {
    const char *parent = temporary_folder("/tmp");
    const size_t capacity = strlen(parent) + sizeof "/unspool.XXXXXX";
    char *folder = malloc(capacity);
    if (folder == NULL) return NULL;
    snprintf(folder, capacity, "%s/unspool.XXXXXX", parent);
    if (mkdtemp(folder) != NULL) return folder;
    free(folder);
    return NULL;
}

int unpack_begin(const char *archive, char **folder, char *error, size_t error_size) {
    struct unpacking u = {.file = -1, .error = error, .error_size = error_size};
    *folder = NULL;
    if (!load(&u.library))
        return refuse(&u, USP_ERROR_UNSUPPORTED, "zip archives need libarchive, which is not installed");
    int status = open_archive(&u, archive);
    if (status == USP_OK && (*folder = make_folder()) == NULL) status = refuse_system(&u, "temporary folder");
    u.folder = *folder;
    if (status == USP_OK) status = take_entries(&u);
    if (u.archive != NULL) u.library.release(u.archive);
    if (u.file >= 0) close(u.file);
    return status;
}

void unpack_end(char *folder) {
    if (folder != NULL) remove_folder(folder);
    free(folder);
}

#else

int unpack_begin(const char *archive, char **folder, char *error, size_t error_size) {
    (void)archive;
    *folder = NULL;
    snprintf(error, error_size, "this unspool was built without libarchive, which reads zip archives");
    return USP_ERROR_UNSUPPORTED;
}

void unpack_end(char *folder) { (void)folder; }

#endif
