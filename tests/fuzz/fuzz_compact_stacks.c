/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a compact backtrace and as a compact image map of Swift. A result that can be read is
 * written, and must be the same when read again. Seeds: tests/fuzz/compact_stacks_seeds.c. */
#include <unspool/compact.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FRAMES_MAX 256

static void must(bool holds) {
    if (!holds) abort();
}

static void read_stack(const uint8_t *data, size_t size, uint32_t arch) {
    struct usp_frame frames[FRAMES_MAX], again_frames[FRAMES_MAX];
    struct usp_stack stack, again;
    size_t needed, length;
    usp_stack_init(&stack, frames, FRAMES_MAX);
    usp_stack_init(&again, again_frames, FRAMES_MAX);
    int status = usp_compact_stack_read(data, size, arch, &stack, &needed);
    must((status == USP_OK) == (stack.status == USP_OK) && (status == USP_OK || stack.count == 0));
    if (status != USP_OK) return;
    must(needed == stack.count && stack.physical <= stack.count);
    must(usp_compact_stack_write(&stack, NULL, 0, &length) == USP_ERROR_FULL);
    uint8_t *bytes = malloc(length);
    if (bytes == NULL) return;
    must(usp_compact_stack_write(&stack, bytes, length, &length) == USP_OK);
    must(usp_compact_stack_read(bytes, length, arch, &again, &needed) == USP_OK);
    must(again.count == stack.count && again.physical == stack.physical && again.omitted == stack.omitted);
    for (uint32_t i = 0; i < stack.count; i++) {
        must(again.frames[i].pc == stack.frames[i].pc);
        must(again.frames[i].kind == stack.frames[i].kind);
    }
    free(bytes);
}

static void read_images(const uint8_t *data, size_t size) {
    struct usp_images *images, *again;
    char platform[256];
    size_t length;
    if (usp_compact_images_read(data, size, USP_ARCH_ARM64, &images, platform, sizeof platform) != USP_OK) return;
    must(usp_compact_images_write(images, USP_ARCH_ARM64, platform, NULL, 0, &length) == USP_ERROR_FULL);
    uint8_t *bytes = malloc(length);
    if (bytes != NULL) {
        must(usp_compact_images_write(images, USP_ARCH_ARM64, platform, bytes, length, &length) == USP_OK);
        must(usp_compact_images_read(bytes, length, USP_ARCH_ARM64, &again, NULL, 0) == USP_OK);
        must(usp_images_count(images) == usp_images_count(again));
        for (size_t i = 0; i < usp_images_count(images); i++) {
            const struct usp_image *a = usp_images_get(images, i), *b = usp_images_get(again, i);
            must(a->load_address == b->load_address && a->end == b->end && strcmp(a->path, b->path) == 0);
        }
        usp_images_free(again);
    }
    free(bytes);
    usp_images_free(images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_stack(data, size, USP_ARCH_ARM64);
    read_images(data, size);
    return 0;
}
