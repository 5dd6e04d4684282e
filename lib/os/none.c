/* SPDX-License-Identifier: MIT */
/* The operating system about which nothing is known: every question gets the answer "unsupported". Stacks that are given
 * as bytes are walked here as everywhere. Standard C only. */
#include "lib/os.h"

#include <string.h>
#include <time.h>

_Thread_local __attribute__((tls_model("initial-exec"))) struct uspi_own_stack uspi_own_stack;

uint32_t uspi_os_kind(void) { return USP_OS_UNKNOWN; }

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

/* The best that standard C has; deadlines are relative to it in any case. */
uint64_t uspi_os_clock(void) { return uspi_os_wall_clock(); }

uint64_t uspi_os_wall_clock(void) {
    struct timespec now;
    if (timespec_get(&now, TIME_UTC) != TIME_UTC) return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int uspi_os_prepare(const struct usp_prepare_options *options) {
    (void)options;
    return USP_ERROR_UNSUPPORTED;
}

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

int uspi_os_copy_thread(const struct usp_thread *thread, struct uspi_thread_copy *copy) {
    (void)thread;
    memset(copy, 0, sizeof *copy);
    return USP_ERROR_UNSUPPORTED;
}

void uspi_os_release_copy(struct uspi_thread_copy *copy) { memset(copy, 0, sizeof *copy); }

int uspi_os_stop_self(uint64_t timeout, uint64_t only_thread, struct uspi_stopped_process *out) {
    (void)timeout;
    (void)only_thread;
    memset(out, 0, sizeof *out);
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_stop_process(int64_t pid, uint64_t timeout, uint64_t only_thread, struct uspi_stopped_process *out,
                         char *error, size_t error_size) {
    static const char text[] = "this build of the library has no way to other processes";
    (void)pid;
    if (error != NULL && error_size > 0) {
        size_t n = sizeof text < error_size ? sizeof text - 1 : error_size - 1;
        memcpy(error, text, n);
        error[n] = '\0';
    }
    return uspi_os_stop_self(timeout, only_thread, out);
}

uint32_t uspi_os_roots_in(const struct usp_images *images, usp_addr *roots, uint32_t capacity) {
    (void)images;
    (void)roots;
    (void)capacity;
    return 0;
}

int uspi_os_images_self(struct uspi_image_list *list) {
    (void)list;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_images_process(int64_t pid, struct uspi_image_list *list) {
    (void)pid;
    (void)list;
    return USP_ERROR_UNSUPPORTED;
}

uint64_t uspi_os_images_generation(void) { return 0; }

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
