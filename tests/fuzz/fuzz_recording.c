/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a recording, read as a file and as a pipe that gives few bytes at once. Seeds:
 * tests/fuzz/recording_seeds.c. */
#include <unspool/recording.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size, piece;
    uint64_t sum;
};

static int64_t read_input(void *context, uint64_t offset, void *to, size_t n) {
    const struct input *input = context;
    if (offset >= input->size) return 0;
    if (n > input->size - offset) n = input->size - (size_t)offset;
    if (n > input->piece) n = input->piece;
    memcpy(to, input->data + offset, n);
    return (int64_t)n;
}

static int use_sample(void *context, const struct usp_recording_sample *sample) {
    struct input *input = context;
    for (uint32_t i = 0; i < sample->stack->count; i++) {
        const struct usp_image *image = usp_images_find(sample->images, sample->stack->frames[i].pc);
        if (image != NULL) input->sum += strlen(image->path) + image->build_id_size;
    }
    input->sum += strlen(sample->event) + strlen(sample->thread->name);
    return USP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct usp_recording_options options;
    struct input input = {.data = data, .size = size};
    usp_recording_options_init(&options);
    options.read = read_input;
    options.sample = use_sample;
    options.context = &input;
    /* No file of this machine is read. */
    options.sysroot = "/nonexistent";
    for (unsigned pass = 0; pass < 2; pass++) {
        input.piece = pass == 0 ? SIZE_MAX : 5;
        options.file_size = pass == 0 ? size : UINT64_MAX;
        usp_recording_read(&options, NULL, NULL, 0);
    }
    return 0;
}
