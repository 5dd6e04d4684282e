/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a core, as a file and as a stream, which is opened and whose threads are walked. Seeds:
 * tests/fuzz/object_seeds.c. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <unspool/unspool.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads memory that the core contains, and across its end. */
static void read_around(const struct usp_target *target, usp_addr at) {
    uint8_t raw[64];
    for (unsigned n = 1; n <= sizeof raw; n *= 4) {
        target->memory.read(target->memory.context, at, raw, n);
        target->memory.read(target->memory.context, at - n, raw, 2 * n < sizeof raw ? 2 * n : n);
    }
}

static void walk(const struct usp_snapshot *snapshot) {
    const struct usp_images *images = usp_snapshot_images(snapshot);
    const struct usp_snapshot_thread *thread;
    struct usp_target target;
    struct usp_region region;
    for (size_t i = 0; (thread = usp_snapshot_get_thread(snapshot, i)) != NULL && i < 64; i++) {
        if (usp_snapshot_target(snapshot, i, &target) != USP_OK) continue;
        read_around(&target, usp_registers_sp(&thread->registers));
        read_around(&target, thread->stack_high);
        for (size_t k = 0; k < usp_images_count(images) && k < 64; k++) {
            const struct usp_image *image = usp_images_get(images, k);
            read_around(&target, image->text_low);
            read_around(&target, image->end);
            target.image_at(target.context, image->text_high, &region);
        }
    }
}

struct input {
    const uint8_t *data;
    size_t size;
};

static int64_t read_input(void *context, void *to, size_t n) {
    struct input *input = context;
    if (n > input->size) n = input->size;
    memcpy(to, input->data, n);
    input->data += n;
    input->size -= n;
    return (int64_t)n;
}

/* Memory of a process that has the same bytes everywhere. */
static int read_ones(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    (void)from;
    memset(to, 1, n);
    return USP_OK;
}

/* The same bytes as a stream, with and without the process's memory. */
static void stream(const uint8_t *data, size_t size, const struct usp_snapshot_options *options) {
    struct input input = {data, size};
    struct usp_core_stream core;
    struct usp_snapshot *snapshot;
    char error[256];
    usp_core_stream_init(&core);
    core.read = read_input;
    core.context = &input;
    core.max_bytes = 1 << 20;
    if (size > 1 && (data[size - 2] & 1) != 0) core.memory.read = read_ones;
    const int status = usp_snapshot_read_core(&core, options, &snapshot, error, sizeof error);
    if ((status == USP_OK) != (snapshot != NULL) || (status != USP_OK) != (error[0] != '\0')) abort();
    if (status == USP_OK) walk(snapshot);
    usp_snapshot_free(snapshot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int file = -1;
    static char path[64];
    char error[256];
    struct usp_snapshot *snapshot;
    struct usp_snapshot_options options;
    if (file < 0) {
        file = memfd_create("core", 0);
        if (file < 0) abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size) abort();
    usp_snapshot_options_init(&options);
    options.max_frames = 64;
    options.unwind.step_limit = 256;
    /* The core file serves as its own program: a file that exists, of any format. */
    if (size > 0 && (data[size - 1] & 1) != 0) options.program = path;
    int status = usp_snapshot_open_core(path, &options, &snapshot, error, sizeof error);
    if ((status == USP_OK) != (snapshot != NULL) || (status != USP_OK) != (error[0] != '\0')) abort();
    if (status == USP_OK) walk(snapshot);
    usp_snapshot_free(snapshot);
    stream(data, size, &options);
    return 0;
}
