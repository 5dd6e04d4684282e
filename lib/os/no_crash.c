/* SPDX-License-Identifier: MIT */
/* Implements os.h's crashes where there are none, also on watchOS, where threads cannot be stopped: every call answers
 * "unsupported". */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN
#include <TargetConditionals.h>
#endif

#if USPI_OS != USPI_OS_LINUX
#include "lib/os/os.h"

int uspi_os_image_mapped(void *room, usp_addr address, struct uspi_images_found *found) {
    (void)room;
    (void)address;
    (void)found;
    return USP_ERROR_UNSUPPORTED;
}
#endif

#if USPI_OS == USPI_OS_NONE || (USPI_OS == USPI_OS_DARWIN && TARGET_OS_WATCH)

#include "lib/os/os.h"
#include "lib/os/run_lock.h"

int uspi_os_crash_install(const struct uspi_os_crash_hooks *hooks) {
    (void)hooks;
    return USP_ERROR_UNSUPPORTED;
}

bool uspi_os_crash_pause(void) { return false; }

void uspi_os_crash_resume(void) {}

void uspi_os_crash_uninstall(void) {}

void *uspi_os_crash_context(void) { return NULL; }

int uspi_os_crash_status(void) { return USP_ERROR_NOT_PREPARED; }

int uspi_os_crash_thread_begin(void) { return USP_ERROR_UNSUPPORTED; }

void uspi_os_crash_thread_end(void) {}

int uspi_os_crash_threads(uint64_t deadline, void (*each)(void *context, const struct uspi_stopped_thread *thread),
                          void *context) {
    (void)deadline;
    (void)each;
    (void)context;
    return USP_ERROR_UNSUPPORTED;
}

#if USPI_OS == USPI_OS_NONE
int uspi_os_images_mapped(void *room, struct uspi_images_found *found, struct uspi_os_place *place) {
    (void)room;
    (void)found;
    place->low = place->high = 0;
    return USP_ERROR_UNSUPPORTED;
}
#endif

int uspi_os_run_describe(struct uspi_os_run *run) {
    memset(run, 0, sizeof *run);
    return USP_ERROR_UNSUPPORTED;
}

bool uspi_os_run_lives(const struct uspi_os_run *run) {
    (void)run;
    return false;
}

void uspi_os_run_lock(int descriptor) { (void)descriptor; }

bool uspi_os_run_has_lock(const char *path) {
    (void)path;
    return false;
}

#endif
