/* SPDX-License-Identifier: MIT */
/* The symbols of a Linux kernel as /proc/kallsyms lists them, from the copy that perf keeps for the kernel's build id
 * (Linux tools/perf/Documentation/perf-buildid-cache.txt). A line is "ADDRESS TYPE NAME", with a tab and "[MODULE]" for
 * a module. Addresses count from the first instruction: a recording says where that was, and a kernel is loaded
 * elsewhere each time. */
#include "lib/base/array.h"
#include "lib/base/span.h"
#include "lib/images/elf_file.h"
#include "lib/symbolize/index/tables.h"

#include <stdlib.h>

/* Maximum size of a list in bytes. */
#define LIST_MAX (UINT64_C(256) << 20)

/* A function of the kernel itself, not of a module. */
struct function {
    usp_addr start; /* counted from the first instruction */
    uint32_t line;  /* offset of its line */
    uint32_t rank;
};

struct kallsyms {
    struct uspi_tables contract;
    struct uspi_span text;
    usp_addr base; /* address of the first instruction in the list */
    struct function *functions;
    size_t count, capacity;
};

struct line {
    usp_addr address;
    char type;
    struct uspi_span name;
};

/* Reads the line at *at, and moves it to the next one. Returns false at the end. A line that is not a symbol has an
 * empty name. */
static bool next_line(struct uspi_span text, size_t *at, struct line *line) {
    *line = (struct line){.type = 0};
    if (*at >= text.length) return false;
    const char *from = text.bytes + *at, *end = memchr(from, '\n', text.length - *at);
    const struct uspi_span of = {from, end != NULL ? (size_t)(end - from) : text.length - *at};
    size_t in = 0;
    *at += of.length + (end != NULL);
    if (!uspi_scan_hex_digits(of, &in, &line->address) || of.length - in < 4) return true;
    line->type = of.bytes[in + 1];
    line->name = (struct uspi_span){of.bytes + in + 3, of.length - in - 3};
    return true;
}

static bool is_function(const struct kallsyms *k, const struct line *line) {
    if (line->address < k->base || line->name.length == 0 || memchr("tTwW", line->type, 4) == NULL) return false;
    return memchr(line->name.bytes, '\t', line->name.length) == NULL;
}

/* Aliases: a global one is preferred, then one with fewer underscores in front. */
static uint32_t rank_of(const struct line *line) {
    uint32_t rank = line->type == 'T' ? 0 : line->type == 'W' ? 16 : 32;
    for (size_t i = 0; i < line->name.length && i < 8 && line->name.bytes[i] == '_'; i++) rank++;
    return rank;
}

static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct kallsyms *k = (const struct kallsyms *)tables;
    int status = USP_OK;
    for (size_t i = 0; i < k->count && status == USP_OK; i++) {
        const struct function *f = &k->functions[i];
        const struct uspi_gathered_symbol candidate = {
            .start = f->start, .end = f->start, .symbol = f->line, .rank = f->rank};
        status = uspi_gather(gathering, &candidate);
    }
    return status;
}

/* A symbol's number is the offset of its line. */
static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names,
               struct uspi_symbol_answer *named) {
    const struct kallsyms *k = (const struct kallsyms *)tables;
    struct line line;
    size_t at = number;
    if (!next_line(k->text, &at, &line) || line.name.length == 0) return USP_ERROR_FORMAT;
    named->name = uspi_names_keep(names, line.name.bytes, line.name.length);
    return named->name != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int prefer(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return (a > b) - (a < b);
}

static void close_tables(struct uspi_tables *tables) {
    struct kallsyms *k = (struct kallsyms *)tables;
    free((char *)(uintptr_t)k->text.bytes);
    free(k->functions);
    free(k);
}

/* Finds the address of the first instruction: perf's maps of a kernel begin at _text or, without it, at _stext. */
static bool find_base(struct kallsyms *k) {
    struct line line;
    for (size_t at = 0; next_line(k->text, &at, &line);) {
        const bool is_text = uspi_span_is(line.name, USPI_SPAN("_text"));
        if (!is_text && (k->base != 0 || !uspi_span_is(line.name, USPI_SPAN("_stext")))) continue;
        k->base = line.address;
        if (is_text) break;
    }
    /* A kernel lists zeros for those who may not see addresses. */
    return k->base != 0;
}

/* Returns USP_OK, USP_ERROR_NOT_FOUND when there is no function, or USP_ERROR_NO_MEMORY. */
static int read_functions(struct kallsyms *k) {
    struct line line;
    if (!find_base(k)) return USP_ERROR_NOT_FOUND;
    for (size_t at = 0, from = 0; next_line(k->text, &at, &line); from = at) {
        if (!is_function(k, &line)) continue;
        if (!uspi_room_for(&k->functions, &k->capacity, k->count, 1, sizeof *k->functions)) return USP_ERROR_NO_MEMORY;
        k->functions[k->count++] = (struct function){line.address - k->base, (uint32_t)from, rank_of(&line)};
    }
    return k->count > 0 ? USP_OK : USP_ERROR_NOT_FOUND;
}

static int judge_any(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    (void)context;
    (void)bytes;
    (void)error;
    return USP_OK;
}

int uspi_kallsyms_open(const struct usp_image *image, const struct uspi_image_sources *places,
                       struct uspi_tables **tables) {
    struct uspi_file *file;
    int status = uspi_kept_file_open(image, places, "kallsyms", judge_any, NULL, &file);
    if (status != USP_OK) return status;
    const struct uspi_bytes bytes = uspi_file_bytes(file);
    const size_t size = bytes.size <= LIST_MAX ? (size_t)bytes.size : 0;
    struct kallsyms *k = calloc(1, sizeof *k);
    char *text = malloc(size + 1);
    status =
        k != NULL && text != NULL ? uspi_bytes_read(bytes, 0, text, size, "kernel symbols", NULL) : USP_ERROR_NO_MEMORY;
    uspi_file_close(file);
    if (status == USP_OK) {
        k->text = (struct uspi_span){text, size};
        status = read_functions(k);
    }
    if (status != USP_OK) {
        if (k != NULL) free(k->functions);
        free(text);
        free(k);
        return status;
    }
    k->contract = (struct uspi_tables){.gather = gather,
                                       .get = get,
                                       .prefer = prefer,
                                       .close = close_tables,
                                       .memory = sizeof *k + size + k->capacity * sizeof *k->functions,
                                       .reads_all = true};
    *tables = &k->contract;
    return USP_OK;
}
