/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a profile of pprof or OTLP, which is written back, and whose samples are written in other
 * formats. Seeds: tests/fuzz/profile_file_seeds.c. */
#include <unspool/profile.h>
#include <unspool/profile_file.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ignore(void *context, const char *bytes, size_t n) {
    size_t *sum = context;
    for (size_t i = 0; i < n; i++) *sum += (uint8_t)bytes[i];
    return USP_OK;
}

static int add_sample(void *context, const struct usp_recording_sample *sample) {
    if (sample->stack->count == 0) return USP_OK;
    const struct usp_profile_sample added = {.thread = sample->thread,
                                             .stack = sample->stack,
                                             .images = sample->images,
                                             .time = sample->time,
                                             .wall = sample->duration,
                                             .cpu = sample->cpu,
                                             .count = sample->count};
    const int status = usp_profile_add(context, &added);
    return status == USP_ERROR_FULL ? USP_OK : status;
}

static void write_samples(struct usp_profile_file *file) {
    static const uint32_t formats[] = {USP_PROFILE_TREE, USP_PROFILE_PPROF, USP_PROFILE_JSON};
    struct usp_recording_options options;
    struct usp_profile_write_options shape;
    struct usp_profile *profile;
    size_t sum = 0;
    usp_recording_options_init(&options);
    usp_profile_write_options_init(&shape);
    shape.file = file;
    shape.flags = USP_PROFILE_LINES;
    if (usp_profile_create(NULL, &profile) != USP_OK) return;
    options.max_frames = 64;
    options.sample = add_sample;
    options.context = profile;
    usp_profile_file_samples(file, &options, NULL);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        shape.format = formats[i];
        usp_profile_write(profile, &shape, ignore, &sum);
    }
    usp_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct usp_profile_file *file;
    struct usp_profile_file_info info;
    struct usp_builds *builds;
    size_t sum = 0;
    /* A compressed profile takes memory in proportion to its decompressed size, not to that of the input. */
    if (size > 512 && data[0] == 0x1f && data[1] == 0x8b) return 0;
    if (usp_profile_file_open(data, size, &file, NULL, 0) != USP_OK) return 0;
    /* No file of this machine is read. */
    if (usp_builds_create(NULL, &builds) == USP_OK) {
        usp_profile_file_symbolicate(file, builds, NULL, USP_PROFILE_LINES);
        usp_builds_free(builds);
    }
    usp_profile_file_get_info(file, &info);
    const int status = usp_profile_file_write(file, ignore, &sum);
    if ((status == USP_OK) != (info.damage == USP_OK) && status != USP_ERROR_NO_MEMORY && status != USP_ERROR_FORMAT)
        abort();
    write_samples(file);
    usp_profile_file_free(file);
    return 0;
}
