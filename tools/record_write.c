/* SPDX-License-Identifier: MIT */
/* Writes the profile of `unspool record`: its file, format and names. */
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/record.h"
#include "tools/text.h"

#include <stdlib.h>
#include <string.h>

uint32_t format_of_path(const char *path) {
    static const struct {
        const char *suffix;
        uint32_t format;
    } suffixes[] = {
        {".speedscope.json", USP_PROFILE_SPEEDSCOPE},
        {".firefox.json", USP_PROFILE_FIREFOX},
        {".json", USP_PROFILE_JSON},
        {".svg", USP_PROFILE_SVG},
        {".otlp", USP_PROFILE_OTLP},
        {".folded", USP_PROFILE_FOLDED},
        {".collapsed", USP_PROFILE_FOLDED},
        {".pb.gz", USP_PROFILE_PPROF},
        {".pprof", USP_PROFILE_PPROF},
        {".txt", USP_PROFILE_TREE},
    };
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i].suffix);
        if (length > n && strcmp(path + length - n, suffixes[i].suffix) == 0) return suffixes[i].format;
    }
    return 0;
}

bool record_output_option(int option, struct record_output *output, bool *is_wrong) {
    static const struct word formats[] = {
        {"tree", USP_PROFILE_TREE},       {"folded", USP_PROFILE_FOLDED},
        {"pprof", USP_PROFILE_PPROF},     {"speedscope", USP_PROFILE_SPEEDSCOPE},
        {"firefox", USP_PROFILE_FIREFOX}, {"json", USP_PROFILE_JSON},
        {"svg", USP_PROFILE_SVG},         {"otlp", USP_PROFILE_OTLP},
    };
    struct usp_profile_write_options *shape = &output->options;
    bool is_right = true;
    switch (option) {
    case OUTPUT_FORMAT:
        is_right = parse_word("format", optarg, formats, sizeof formats / sizeof *formats, &output->format);
        break;
    case OUTPUT_WALL: shape->value = USP_PROFILE_WALL; break;
    case OUTPUT_CPU: shape->value = USP_PROFILE_CPU; break;
    case OUTPUT_MERGE: shape->flags |= USP_PROFILE_MERGE_THREADS; break;
    case OUTPUT_NATIVE_IDS: shape->flags |= USP_PROFILE_NATIVE_IDS; break;
    case OUTPUT_DEMANGLE: is_right = parse_demangling(optarg, &output->demangling); break;
    case OUTPUT_NO_SYMBOLS: output->no_symbols = true; break;
    case OUTPUT_NO_LINES: output->no_lines = true; break;
    case OUTPUT_LINES: output->wants_lines = true; break;
    case OUTPUT_MAP_PATH: is_right = add_path_map(&output->lines, optarg); break;
    case OUTPUT_INDEX: take_index_store(&output->lines, optarg); break;
    case 'o': output->path = optarg; break;
    default: return false;
    }
    *is_wrong = !is_right;
    return is_right;
}

/* Chooses whether source lines and inlined calls are looked up. Users of folded stacks usually count functions: there
 * lines have to be requested. */
static bool choose_lines(struct record_output *output) {
    bool has_default = output->options.format != USP_PROFILE_FOLDED;
    if (output->wants_lines && (output->no_lines || output->no_symbols)) {
        complain("either --lines or --no-%s", output->no_lines ? "lines" : "symbols");
        return false;
    }
    if (output->wants_lines || (has_default && !output->no_lines)) output->options.flags |= USP_PROFILE_LINES;
    return true;
}

bool record_output_choose(struct record_output *output) {
    if (output->format == 0 && output->path != NULL) {
        output->format = format_of_path(output->path);
        if (output->format == 0) {
            complain("%s: no format has this ending; give --format", output->path);
            return false;
        }
    }
    if (output->format != 0) output->options.format = output->format;
    return choose_lines(output);
}

bool record_open(struct record_output *output) {
    if (output->path == NULL) {
        output->out = stdout;
    } else if (output_open(&output->file, output->path)) {
        output->out = output->file.file;
    }
    return output->out != NULL;
}

void record_discard(struct record_output *output) {
    if (output->path != NULL && output->out != NULL) (void)output_close(&output->file, false);
    output->out = NULL;
}

/* Prints messages about files that are not used. The profile's images are those in which samples lie. */
static void warn_of_files(struct usp_symbolizer *symbolizer, const struct usp_images *images) {
    struct looked_up looked_up;
    looked_up_create(&looked_up, images);
    for (size_t i = 0; i < usp_images_count(images); i++)
        looked_up_add(&looked_up, usp_images_get(images, i)->text_low);
    complain_of_files(&looked_up, symbolizer);
    looked_up_clear(&looked_up);
}

int record_put(void *context, const char *bytes, size_t n) {
    struct record_output *output = context;
    if (output->path == NULL) return write_to_file(output->out, bytes, n);
    return output_write(&output->file, bytes, n) ? USP_OK : USP_ERROR_SYSTEM;
}

static int write_named(struct record_output *output, struct usp_profile *profile, int64_t process) {
    struct usp_images *images = NULL;
    struct usp_symbolizer_options names;
    usp_symbolizer_options_init(&names);
    names.process = process;
    names.recorded_process = output->recorded;
    names.sysroot = output->sysroot;
    names.build_ids = output->build_ids;
    int status = usp_demangler_create(output->demangling, &output->options.demangler);
    if (status == USP_OK && !output->no_symbols && output->options.file == NULL) {
        status = usp_images_create_profile(profile, &images);
        char *store = use_line_options(&output->lines, &names);
        if (status == USP_OK) status = usp_symbolizer_create(images, &names, &output->options.symbolizer);
        free(store);
    }
    output->options.images = images;
    if (status == USP_OK && output->options.symbolizer != NULL) warn_of_files(output->options.symbolizer, images);
    if (status == USP_OK) status = usp_profile_write(profile, &output->options, record_put, output);
    usp_symbolizer_free(output->options.symbolizer);
    usp_demangler_free(output->options.demangler);
    usp_images_free(images);
    return status;
}

int record_close(struct record_output *output, int status) {
    bool is_written = true;
    /* main reports a failure to write standard output when it flushes it. */
    if (status != USP_OK && status != USP_ERROR_SYSTEM) complain("%s", usp_status_string(status));
    if (output->path != NULL) is_written = output_close(&output->file, status == USP_OK || status == USP_ERROR_SYSTEM);
    output->out = NULL;
    return is_written && (status == USP_OK || status == USP_ERROR_SYSTEM) ? EXIT_ALL_WELL : EXIT_FAILED;
}

int record_write(struct record_output *output, struct usp_profile *profile, int64_t process) {
    return record_close(output, write_named(output, profile, process));
}
