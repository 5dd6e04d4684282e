/* SPDX-License-Identifier: MIT */
/* Implements usp_profile_write: its options, the table of formats, and the clone with names that a format writes. */
#include "lib/base/sized.h"
#include "lib/profile/writers.h"

#include <string.h>

/* Size in bytes of the buffer, on the stack, that collects text for the caller's function. */
#define GATHERED 512

static const struct {
    const char *name;
    int (*write)(struct uspi_writing *writing);
} formats[] = {
    [USP_PROFILE_TREE] = {"tree", uspi_profile_write_tree},
    [USP_PROFILE_FOLDED] = {"folded", uspi_profile_write_folded},
    [USP_PROFILE_PPROF] = {"pprof", uspi_profile_write_pprof},
    [USP_PROFILE_SPEEDSCOPE] = {"speedscope", uspi_profile_write_speedscope},
    [USP_PROFILE_FIREFOX] = {"firefox", uspi_profile_write_firefox},
    [USP_PROFILE_JSON] = {"json", uspi_profile_write_json},
    [USP_PROFILE_SVG] = {"svg", uspi_profile_write_svg},
    [USP_PROFILE_OTLP] = {"otlp", uspi_profile_write_otlp},
};

static bool is_format(uint32_t format) {
    return format >= USP_PROFILE_TREE && format < sizeof formats / sizeof *formats;
}

const char *usp_profile_format_string(uint32_t format) { return is_format(format) ? formats[format].name : "unknown"; }

void usp_profile_write_options_init(struct usp_profile_write_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->format = USP_PROFILE_TREE;
}

static bool complete(const struct usp_profile_write_options *given, struct usp_profile_write_options *options) {
    const uint32_t known = USP_PROFILE_MERGE_THREADS | USP_PROFILE_NATIVE_IDS | USP_PROFILE_LINES;
    usp_profile_write_options_init(options);
    return USPI_COMPLETE(options, given) && is_format(options->format) && options->value <= USP_PROFILE_CPU &&
           (options->flags & ~known) == 0;
}

int usp_profile_write(struct usp_profile *profile, const struct usp_profile_write_options *options,
                      usp_write_function write, void *context) {
    char gathered[GATHERED];
    struct uspi_writing writing = {.text = uspi_text_through(write, context, gathered, sizeof gathered)};
    if (profile == NULL || write == NULL || !complete(options, &writing.options)) return USP_ERROR_ARGUMENT;
    struct usp_profile *clone = uspi_profile_clone(profile);
    if (clone == NULL) return USP_ERROR_NO_MEMORY;
    writing.profile = clone;
    int status = uspi_profile_names_find(&writing.names, clone, &writing.options);
    if (status == USP_OK) status = formats[writing.options.format].write(&writing);
    uspi_profile_names_free(&writing.names);
    usp_profile_free(clone);
    int written = uspi_text_flush(&writing.text);
    return status != USP_OK ? status : written;
}
