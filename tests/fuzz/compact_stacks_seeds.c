/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_compact_stacks into a folder of that name below the given one: backtraces with every
 * instruction, and this program's images. */
#include <unspool/unspool.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int write_seed(const char *parent, const char *name, const uint8_t *bytes, size_t n) {
    char path[1024];
    snprintf(path, sizeof path, "%s/fuzz_compact_stacks", parent);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/fuzz_compact_stacks/%s", parent, name);
    FILE *file = fopen(path, "w");
    if (file == NULL) return USP_ERROR_SYSTEM;
    bool is_written = fwrite(bytes, 1, n, file) == n;
    return fclose(file) == 0 && is_written ? USP_OK : USP_ERROR_SYSTEM;
}

static int write_stack(const char *parent, const char *name, uint64_t omitted, uint32_t run) {
    struct usp_frame frames[40] = {{.pc = 0x1000, .kind = USP_FRAME_KIND_INTERRUPTED}};
    struct usp_stack stack;
    uint8_t bytes[256];
    size_t n;
    usp_stack_init(&stack, frames, 40);
    stack.arch = USP_ARCH_ARM64;
    stack.count = 1;
    for (; stack.count <= run; stack.count++) {
        frames[stack.count] = (struct usp_frame){.pc = 0x7fff12345678, .kind = USP_FRAME_KIND_RETURN_ADDRESS};
    }
    stack.physical = stack.count;
    frames[stack.count++] = (struct usp_frame){.pc = 0xffffffff80000000, .kind = USP_FRAME_KIND_ASYNC_RESUME};
    stack.omitted = omitted;
    stack.omitted_at = 1;
    int status = usp_compact_stack_write(&stack, bytes, sizeof bytes, &n);
    return status == USP_OK ? write_seed(parent, name, bytes, n) : status;
}

static int write_images(const char *parent) {
    struct usp_images *images;
    size_t n;
    int status = usp_images_create_self(&images);
    if (status != USP_OK) return status;
    usp_compact_images_write(images, usp_arch_host(), "Linux", NULL, 0, &n);
    uint8_t *bytes = malloc(n);
    status =
        bytes != NULL ? usp_compact_images_write(images, usp_arch_host(), "Linux", bytes, n, &n) : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) status = write_seed(parent, "images", bytes, n);
    free(bytes);
    usp_images_free(images);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    mkdir(argv[1], 0777);
    int status = write_stack(argv[1], "gap", 7, 3);
    if (status == USP_OK) status = write_stack(argv[1], "run", 1000, 30);
    if (status == USP_OK) status = write_images(argv[1]);
    if (status != USP_OK) fprintf(stderr, "%s: %s\n", argv[1], usp_status_string(status));
    return status == USP_OK ? 0 : 1;
}
