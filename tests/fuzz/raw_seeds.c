/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_raw and fuzz_demangle into folders of these names below the given one: small captures, and
 * names of each kind. */
#include <unspool/unspool.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int create(const char *parent, const char *kind, unsigned number) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", parent, kind);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%u", parent, kind, number);
    return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
}

static int write_capture(const char *parent, uint32_t arch) {
    struct usp_frame frames[3] = {{.pc = 0x1000, .kind = USP_FRAME_KIND_INTERRUPTED},
                                  {.pc = 0x2000, .kind = USP_FRAME_KIND_RETURN_ADDRESS},
                                  {.pc = 0x3000, .kind = USP_FRAME_KIND_ASYNC_RESUME}};
    struct usp_thread_info info = {
        .thread = {.id = 1}, .name = "main", .queue = "com.example.queue", .flags = USP_THREAD_MAIN};
    struct usp_registers registers;
    struct usp_stack stack;
    struct usp_raw_capture raw;
    usp_registers_init(&registers, arch);
    usp_registers_set_pc(&registers, 0x1000);
    usp_stack_init(&stack, frames, 3);
    stack.arch = arch;
    stack.count = 3;
    stack.physical = 2;
    stack.async_join = 1;
    const struct usp_raw_thread thread = {.info = &info, .registers = &registers, .stack = &stack};
    usp_raw_capture_init(&raw);
    raw.arch = arch;
    raw.threads = &thread;
    raw.thread_count = 1;
    int fd = create(parent, "fuzz_raw", arch);
    int status = fd >= 0 ? usp_raw_write(fd, &raw) : USP_ERROR_SYSTEM;
    if (fd >= 0) close(fd);
    return status;
}

static int write_own_images(const char *parent) {
    struct usp_images *images = NULL;
    struct usp_raw_capture raw;
    usp_raw_capture_init(&raw);
    if (usp_images_create_self(&images) == USP_OK) raw.images = images;
    int fd = create(parent, "fuzz_raw", 0);
    int status = fd >= 0 ? usp_raw_write(fd, &raw) : USP_ERROR_SYSTEM;
    if (fd >= 0) close(fd);
    usp_images_free(images);
    return status;
}

static int write_names(const char *parent) {
    static const char *const names[] = {
        "_RNvCs15kBYyAo9fc_7mycrate7example",
        "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
        "_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std",
        "_RIC0KVNtC3foo3BarS1sRe616263_2chc78_5sliceRAh1_h2_h3_EEE",
        "_RINvC1a1bFG_RL0_hEuE",
        "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
        "std::vector<int> f<int>(int) const [clone .cold]",
        "f(int)::{lambda(int)#1}::operator()(int) const",
    };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        int fd = create(parent, "fuzz_demangle", i);
        ssize_t length = (ssize_t)strlen(names[i]);
        if (fd < 0 || write(fd, names[i], (size_t)length) != length) return USP_ERROR_SYSTEM;
        close(fd);
    }
    return USP_OK;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    mkdir(argv[1], 0777);
    int status = write_own_images(argv[1]);
    for (uint32_t arch = USP_ARCH_ARM64; arch <= USP_ARCH_I386 && status == USP_OK; arch++) {
        status = write_capture(argv[1], arch);
    }
    if (status == USP_OK) status = write_names(argv[1]);
    if (status != USP_OK) fprintf(stderr, "%s: %s\n", argv[1], usp_status_string(status));
    return status == USP_OK ? 0 : 1;
}
