/* SPDX-License-Identifier: MIT */
/* Work on several threads at once, and files that appear all at once, for all our systems: POSIX threads, rename. */
#include "lib/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS_MAX 64

struct share {
    void (*run)(void *context);
    void *context;
};

static void *run_share(void *context) {
    const struct share *share = context;
    share->run(share->context);
    return NULL;
}

void uspi_os_parallel(unsigned count, void (*run)(void *context), void *context) {
    pthread_t threads[THREADS_MAX];
    struct share share = {run, context};
    unsigned started = 0;
    while (started + 1 < count && started < THREADS_MAX &&
           pthread_create(&threads[started], NULL, run_share, &share) == 0) {
        started++;
    }
    run(context);
    for (unsigned i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

unsigned uspi_os_processors(void) {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 && count <= THREADS_MAX ? (unsigned)count : 1;
}

/* Makes the folders of a path. */
static int make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int made = mkdir(path, 0777);
        *slash = '/';
        if (made != 0 && errno != EEXIST)
            return errno == EACCES || errno == EROFS ? USP_ERROR_PERMISSION : USP_ERROR_SYSTEM;
    }
    return USP_OK;
}

int uspi_os_publish(const char *path, const void *bytes, size_t n) {
    const size_t room = strlen(path) + 48;
    char *temporary = malloc(room);
    if (temporary == NULL) return USP_ERROR_NO_MEMORY;
    /* Of its own name, so that others may write the same file meanwhile. */
    snprintf(temporary, room, "%s.%ld.XXXXXX", path, (long)getpid());
    int status = make_folders(temporary);
    const int file = status == USP_OK ? mkstemp(temporary) : -1;
    if (status == USP_OK && file < 0)
        status = errno == EACCES || errno == EROFS ? USP_ERROR_PERMISSION : USP_ERROR_SYSTEM;
    if (file >= 0) {
        status = uspi_os_write(file, bytes, n);
        const mode_t mask = umask(0);
        umask(mask);
        if (status == USP_OK && fchmod(file, 0666 & ~mask) != 0) status = USP_ERROR_SYSTEM;
        if (close(file) != 0 && status == USP_OK) status = USP_ERROR_SYSTEM;
        if (status == USP_OK && rename(temporary, path) != 0) status = USP_ERROR_SYSTEM;
        if (status != USP_OK) unlink(temporary);
    }
    free(temporary);
    return status;
}
