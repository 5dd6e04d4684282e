/* SPDX-License-Identifier: MIT */
/* Implements output.h. On Linux a file has no name while it is written, so that a command that is killed leaves nothing
 * behind. Elsewhere, and on file systems without such files, it has a name that no log has. */
#define _GNU_SOURCE 1
#include "tools/output.h"

#include "tools/command.h"
#include "tools/folders.h"
#include "tools/signals.h"

#include <unspool/base.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- temporary files ---- */

#define ENDING        ".unspool-"
#define RANDOM_DIGITS 6
/* Number of attempts to find a name that no file has. */
#define TRIES 100

static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";

/* Makes a name for a temporary file from the output's. It need not be secret: a file that exists is never opened. */
static void make_name(const char *name, char temporary[OUTPUT_NAME_MAX + 1]) {
    struct timespec now;
    char ending[RANDOM_DIGITS + 1];
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t random =
        ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 40) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < RANDOM_DIGITS; i++, random >>= 9) {
        ending[i] = digits[(random >> 8) % (sizeof digits - 1)];
    }
    ending[RANDOM_DIGITS] = '\0';
    snprintf(temporary, OUTPUT_NAME_MAX + 1, "%.*s" ENDING "%s",
             (int)(OUTPUT_NAME_MAX - (sizeof ENDING - 1) - RANDOM_DIGITS), name, ending);
}

bool output_is_temporary(const char *path) {
    const size_t length = strlen(path), n = sizeof ENDING - 1 + RANDOM_DIGITS;
    if (length < n || memcmp(path + length - n, ENDING, sizeof ENDING - 1) != 0) return false;
    for (const char *c = path + length - RANDOM_DIGITS; *c != '\0'; c++) {
        const bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!is_letter && (*c < '0' || *c > '9')) return false;
    }
    return true;
}

/* Opens a file without a name in a folder. Returns -1 where it could not be given one later. */
static int open_nameless(int folder) {
#if defined(O_TMPFILE) && defined(__linux__)
    char link[64];
    const int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (faccessat(AT_FDCWD, link, F_OK, 0) == 0) return fd;
    close(fd);
#else
    (void)folder;
#endif
    return -1;
}

/* Opens a new file with a temporary name. */
static int open_named(struct output *output) {
    sigset_t former;
    int fd = -1;
    hold_signals(&former);
    for (unsigned i = 0; i < TRIES && fd < 0; i++) {
        make_name(output->name, output->temporary);
        fd = openat(output->folder, output->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd >= 0) remove_at_signal(output->folder, output->temporary);
    if (fd < 0) output->temporary[0] = '\0';
    let_signals(&former);
    return fd;
}

/* ---- permissions ---- */

static mode_t mode_of_new_file(void) {
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Permissions of an output. Those of a file that is replaced count if it is the caller's own. */
static void choose_permissions(struct output *output, enum output_kind kind, const struct stat *source) {
    struct stat old;
    output->mode = mode_of_new_file();
    /* What a profile says, others cannot ask of the process. */
    if (kind == OUTPUT_NEW) output->mode &= 0600;
    if (fstatat(output->folder, output->name, &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode) &&
        old.st_uid == geteuid()) {
        output->mode = old.st_mode & 0777;
    }
    /* A pipe's permissions say nothing about who may read what comes out of it. */
    if (source == NULL || !S_ISREG(source->st_mode)) return;
    output->is_owned = kind == OUTPUT_REPLACEMENT;
    output->is_copy = kind == OUTPUT_COPY;
    output->owner = source->st_uid;
    output->group = source->st_gid;
    output->mode = kind == OUTPUT_REPLACEMENT ? source->st_mode & 0777 : output->mode & source->st_mode;
}

/* Called when the content is written. The owner comes first, because the mode counts for another one otherwise. */
static bool set_permissions(const struct output *output, int fd) {
    struct stat file;
    mode_t mode = output->mode;
    if (fstat(fd, &file) != 0) return false;
    if (output->is_owned && fchown(fd, output->owner, output->group) != 0) mode &= 0700;
    if (output->is_copy && file.st_gid != output->group) {
        /* The two groups have other members, who may do what both the group and all others may. */
        const mode_t both = (mode_t)(mode & mode >> 3 & 7);
        mode = (mode_t)((mode & 0700) | both << 3 | both);
    }
    return fchmod(fd, mode) == 0;
}

/* ---- opening ---- */

static bool fail(const char *path, int error) {
    complain("%s: %s", path, strerror(error));
    return false;
}

static void clear(struct output *output) {
    if (output->folder >= 0) close(output->folder);
    free(output->name);
    free(output->path);
    *output = (struct output){.folder = -1};
}

/* Opens a stream for a descriptor, which it owns. */
static bool open_stream(struct output *output, int fd) {
    output->file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (output->file != NULL) return true;
    const int error = errno;
    if (fd >= 0) close(fd);
    fail(output->path, error);
    clear(output);
    return false;
}

bool output_open_in(struct output *output, int folder, const char *name, const char *path, enum output_kind kind,
                    const struct stat *source) {
    *output = (struct output){.folder = folder, .path = strdup(path), .name = strdup(name)};
    if (output->path == NULL || output->name == NULL) {
        clear(output);
        return fail(path, ENOMEM);
    }
    choose_permissions(output, kind, source);
    int fd = open_nameless(folder);
    if (fd < 0) fd = open_named(output);
    return open_stream(output, fd);
}

/* Opens what is not a regular file: a device or a pipe. */
static bool open_special(struct output *output, int folder, const char *name, const char *path) {
    struct stat file;
    const int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    const int error = errno;
    close(folder);
    if (fd < 0) return fail(path, error);
    /* It can have changed since its status was read. */
    if (fstat(fd, &file) != 0 || S_ISREG(file.st_mode)) {
        close(fd);
        return fail(path, EAGAIN);
    }
    *output = (struct output){.folder = -1, .path = strdup(path)};
    return open_stream(output, fd);
}

/* Returns the number of the open descriptor that a path stands for, or -1. */
static int descriptor_of(const char *path) {
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const size_t n = strlen(folders[i]);
        if (strncmp(path, folders[i], n) != 0 || path[n] < '0' || path[n] > '9') continue;
        char *end;
        const long number = strtol(path + n, &end, 10);
        if (*end == '\0' && number <= INT_MAX) return (int)number;
    }
    return -1;
}

/* Returns the path that a link names, which the caller frees; NULL with errno. */
static char *read_link(const char *path) {
    char target[PATH_MAX];
    const ssize_t n = readlink(path, target, sizeof target);
    if (n < 0 || n == (ssize_t)sizeof target) return NULL;
    const char *slash = strrchr(path, '/');
    const size_t folder = target[0] != '/' && slash != NULL ? (size_t)(slash + 1 - path) : 0;
    char *whole = malloc(folder + (size_t)n + 1);
    if (whole == NULL) return NULL;
    memcpy(whole, path, folder);
    memcpy(whole + folder, target, (size_t)n);
    whole[folder + (size_t)n] = '\0';
    return whole;
}

static bool is_trusted(const struct stat *file) { return file->st_uid == geteuid() || file->st_uid == 0; }

#define LINKS_MAX 16

static bool open_path(struct output *output, const char *path, unsigned links);

static bool open_link(struct output *output, const char *path, unsigned links) {
    char *target = links < LINKS_MAX ? read_link(path) : NULL;
    if (target == NULL) return fail(path, links < LINKS_MAX ? errno : ELOOP);
    const bool is_open = open_path(output, target, links + 1);
    free(target);
    return is_open;
}

static bool open_path(struct output *output, const char *path, unsigned links) {
    struct stat file;
    const char *name;
    const int descriptor = descriptor_of(path);
    if (descriptor >= 0) {
        *output = (struct output){.folder = -1, .path = strdup(path)};
        return open_stream(output, fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    }
    const int folder = open_folder_of(path, &name);
    if (folder < 0) return fail(path, errno);
    if (name[0] == '\0') {
        close(folder);
        return fail(path, EISDIR);
    }
    const bool exists = fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists || S_ISREG(file.st_mode)) return output_open_in(output, folder, name, path, OUTPUT_NEW, NULL);
    const bool is_link = S_ISLNK(file.st_mode), is_pipe = S_ISFIFO(file.st_mode);
    if ((is_link || is_pipe) && !is_trusted(&file)) {
        close(folder);
        complain("%s: is a %s of another user", path, is_link ? "symbolic link" : "pipe");
        return false;
    }
    if (!is_link) return open_special(output, folder, name, path);
    close(folder);
    return open_link(output, path, links);
}

bool output_open(struct output *output, const char *path) {
    *output = (struct output){.folder = -1};
    return open_path(output, path, 0);
}

/* ---- closing ---- */

/* Gives the file a temporary name, or its own if no file has it. Returns false with errno. */
static bool name_file(struct output *output, int fd) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, link, output->folder, output->name, AT_SYMLINK_FOLLOW) == 0) return true;
    for (unsigned i = 0; i < TRIES && errno == EEXIST; i++) {
        make_name(output->name, output->temporary);
        if (linkat(AT_FDCWD, link, output->folder, output->temporary, AT_SYMLINK_FOLLOW) == 0) return true;
    }
    output->temporary[0] = '\0';
    return false;
}

/* Puts the finished file in its place. No signal comes between its name and the end. Returns false with errno. */
static bool publish(struct output *output, int fd) {
    if (!set_permissions(output, fd)) return false;
    if (output->temporary[0] == '\0' && !name_file(output, fd)) return false;
    if (output->temporary[0] == '\0') return true;
    if (renameat(output->folder, output->temporary, output->folder, output->name) != 0) return false;
    output->temporary[0] = '\0';
    return true;
}

bool output_write(struct output *output, const char *bytes, size_t n) {
    errno = 0;
    const bool is_written = fwrite(bytes, 1, n, output->file) == n;
    if (!is_written && output->error == 0) output->error = errno;
    return is_written;
}

const char *output_reason(int error, char *text, size_t size) {
    snprintf(text, size, "%s%s", error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
    return text;
}

bool output_close(struct output *output, bool is_whole) {
    sigset_t former;
    char reason[256];
    if (output->file == NULL) return true;
    /* The stream keeps no reason of a failure to write that came before. */
    errno = 0;
    bool is_written = fflush(output->file) == 0 && ferror(output->file) == 0;
    /* Network file systems report some errors when a descriptor is closed. */
    if (is_written) is_written = close(dup(fileno(output->file))) == 0;
    if (is_whole && !is_written) {
        const int error = output->error != 0 ? output->error : errno;
        complain("%s: could not be written%s", output->path, output_reason(error, reason, sizeof reason));
    }
    if (output->folder >= 0) {
        hold_signals(&former);
        if (is_whole && is_written && !publish(output, fileno(output->file))) {
            is_written = fail(output->path, errno);
        }
        if (output->temporary[0] != '\0') unlinkat(output->folder, output->temporary, 0);
        remove_at_signal(-1, NULL);
        let_signals(&former);
    }
    fclose(output->file);
    clear(output);
    return !is_whole || is_written;
}
