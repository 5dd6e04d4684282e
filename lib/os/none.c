/* SPDX-License-Identifier: MIT */
/* Implements os.h for an unknown operating system: whatever needs the system is unsupported. Stacks that are given as
 * bytes are walked as on any other system. Uses standard C only. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_NONE

#include "lib/os/os.h"

#include <string.h>
#include <time.h>

_Thread_local USPI_TLS_MODEL struct uspi_own_stack uspi_own_stack;

uint32_t uspi_os_kind(void) { return USP_OS_UNKNOWN; }

bool uspi_os_has_stack(uintptr_t sp, size_t n) {
    (void)sp, (void)n;
    return false;
}

bool uspi_os_learn_in_passing(uintptr_t sp) {
    (void)sp;
    return false;
}

int uspi_os_learn_thread(void) { return USP_ERROR_UNSUPPORTED; }

bool uspi_os_can_read(uintptr_t address) {
    (void)address;
    return false;
}

int uspi_os_read(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    (void)from;
    (void)to;
    return n == 0 ? USP_OK : USP_ERROR_UNREADABLE;
}

int uspi_os_read_pieces(const usp_addr *from, size_t count, void *to, size_t size) {
    (void)from;
    (void)to;
    return count == 0 || size == 0 ? USP_OK : USP_ERROR_UNREADABLE;
}

int uspi_os_context_registers(const void *ucontext, struct usp_registers *registers) {
    (void)ucontext;
    memset(registers, 0, sizeof *registers);
    return USP_ERROR_UNSUPPORTED;
}

void uspi_os_describe_self(struct usp_target *target) { target->os = USP_OS_UNKNOWN; }

bool uspi_os_swift_task(uint32_t *id) {
    *id = 0;
    return false;
}

/* Standard C has no monotonic clock. Deadlines are relative to this clock in any case. */
uint64_t uspi_os_clock(void) { return uspi_os_wall_clock(); }

uint64_t uspi_os_wall_clock(void) {
    struct timespec now;
    if (timespec_get(&now, TIME_UTC) != TIME_UTC) return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void uspi_os_undisturbed_begin(struct uspi_undisturbed *kept) { memset(kept, 0, sizeof *kept); }

void uspi_os_undisturbed_end(const struct uspi_undisturbed *kept) { (void)kept; }

int uspi_os_prepare(const struct usp_prepare_options *options) {
    (void)options;
    return USP_ERROR_UNSUPPORTED;
}

bool uspi_os_is_prepared(void) { return false; }

void uspi_os_shutdown(void) {}

size_t uspi_os_reserved(void) { return 0; }

int uspi_os_thread_self(struct usp_thread *thread) {
    memset(thread, 0, sizeof *thread);
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_thread_main(struct usp_thread *thread) { return uspi_os_thread_self(thread); }

int uspi_os_thread_from_pthread(uintptr_t pthread, struct usp_thread *thread) {
    (void)pthread;
    return uspi_os_thread_self(thread);
}

void uspi_os_thread_release(struct usp_thread *thread) { (void)thread; }

int uspi_os_threads(struct usp_thread_info *infos, size_t capacity, size_t *count) {
    (void)infos;
    (void)capacity;
    *count = 0;
    return USP_ERROR_UNSUPPORTED;
}

uint64_t uspi_os_capture_timeout(void) { return 0; }

int uspi_os_copy_thread(const struct usp_thread *thread, uint64_t deadline, struct uspi_thread_copy *copy) {
    (void)thread;
    (void)deadline;
    memset(copy, 0, sizeof *copy);
    return USP_ERROR_UNSUPPORTED;
}

void uspi_os_release_copy(struct uspi_thread_copy *copy) { memset(copy, 0, sizeof *copy); }

int uspi_os_stop_self(const struct uspi_stop_options *options, struct uspi_stopped_process *out) {
    (void)options;
    memset(out, 0, sizeof *out);
    return USP_ERROR_UNSUPPORTED;
}

static int refuse_process(char *error, size_t error_size) {
    static const char text[] = "this build of the library has no way to other processes";
    if (error != NULL && error_size > 0) {
        size_t n = sizeof text < error_size ? sizeof text - 1 : error_size - 1;
        memcpy(error, text, n);
        error[n] = '\0';
    }
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_stop_process(int64_t pid, const struct uspi_stop_options *options, struct uspi_stopped_process *out,
                         char *error, size_t error_size) {
    (void)pid;
    (void)options;
    memset(out, 0, sizeof *out);
    return refuse_process(error, error_size);
}

uint32_t uspi_os_thread_roots(usp_addr roots[USPI_THREAD_ROOTS]) {
    (void)roots;
    return 0;
}

usp_addr uspi_os_first_stack_top(void) { return 0; }

int uspi_os_images_self(struct uspi_images_found *found, uint64_t deadline, struct uspi_os_loaded **loaded) {
    (void)found;
    (void)deadline;
    *loaded = NULL;
    return USP_ERROR_UNSUPPORTED;
}

bool uspi_os_loaded_is_current(struct uspi_os_loaded *loaded) {
    (void)loaded;
    return true;
}

bool uspi_os_loaded_has(const struct uspi_os_loaded *loaded, const struct usp_image *image) {
    (void)loaded;
    (void)image;
    return true;
}

void uspi_os_loaded_free(struct uspi_os_loaded *loaded) { (void)loaded; }

int uspi_os_images_process(int64_t pid, struct uspi_images_found *found, char *error, size_t error_size) {
    (void)pid;
    (void)found;
    return refuse_process(error, error_size);
}

int uspi_os_image_at(usp_addr address, struct usp_image *image, char *path, size_t path_size) {
    (void)address;
    (void)image;
    (void)path;
    (void)path_size;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_mapped_file(int64_t pid, const struct usp_image *image, char path[USPI_OS_PATH_MAX]) {
    (void)pid;
    (void)image;
    path[0] = '\0';
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_jit_file_of(int64_t pid, enum uspi_jit_file which, struct uspi_os_file *file, int64_t *named) {
    (void)pid;
    (void)which;
    (void)named;
    *file = (struct uspi_os_file){.descriptor = -1};
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_process_memory_open(int64_t pid, struct usp_memory *memory) {
    (void)pid;
    (void)memory;
    return USP_ERROR_UNSUPPORTED;
}

void uspi_os_process_memory_close(const struct usp_memory *memory) { (void)memory; }

bool uspi_os_dladdr(uintptr_t address, const char **name, uintptr_t *start, size_t *size, const char **path,
                    uintptr_t *load) {
    (void)address;
    *name = *path = NULL;
    *start = *load = 0;
    *size = 0;
    return false;
}

uintptr_t uspi_os_find_symbol(const char *name) {
    (void)name;
    return 0;
}

bool uspi_os_function_start(uintptr_t address, uintptr_t *start) {
    (void)address;
    *start = 0;
    return false;
}

/* ---- the library's own threads, and queries about threads: unsupported ---- */

void uspi_os_name_thread(const char *name) { (void)name; }

int64_t uspi_os_process_id(void) { return 0; }

bool uspi_event_init(struct uspi_event *event) {
    (void)event;
    return false;
}

void uspi_event_free(struct uspi_event *event) { (void)event; }

void uspi_event_set(struct uspi_event *event) { (void)event; }

bool uspi_event_wait(struct uspi_event *event, uint64_t deadline) {
    (void)event;
    (void)deadline;
    return false;
}

int uspi_os_signal_open(int fds[2]) {
    fds[0] = fds[1] = -1;
    return USP_ERROR_UNSUPPORTED;
}

void uspi_os_signal_close(int fds[2]) { (void)fds; }

void uspi_os_signal_send(const int fds[2]) { (void)fds; }

void uspi_os_signal_clear(const int fds[2]) { (void)fds; }

int uspi_os_thread_cpu(const struct usp_thread *thread, uint64_t *ns) {
    (void)thread;
    *ns = 0;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_thread_describe(const struct usp_thread *thread, struct usp_thread_info *info) {
    (void)thread;
    memset(info, 0, sizeof *info);
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_listing_open(struct uspi_os_listing *listing) {
    *listing = (struct uspi_os_listing){.fd = -1};
    return USP_ERROR_UNSUPPORTED;
}

void uspi_os_listing_close(struct uspi_os_listing *listing) { (void)listing; }

int uspi_os_listing_count(const struct uspi_os_listing *listing, size_t *count) {
    (void)listing;
    *count = 0;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_listing_read(struct uspi_os_listing *listing, struct usp_thread *threads, size_t capacity, size_t *count) {
    (void)listing;
    (void)threads;
    (void)capacity;
    *count = 0;
    return USP_ERROR_UNSUPPORTED;
}

bool uspi_os_is_traced(void) { return false; }

#endif
