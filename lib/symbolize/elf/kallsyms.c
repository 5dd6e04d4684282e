/* SPDX-License-Identifier: MIT */
/* The symbols of a Linux kernel as /proc/kallsyms lists them, from the copy that perf keeps for the kernel's build id
 * (Linux tools/perf/Documentation/perf-buildid-cache.txt). A line is "ADDRESS TYPE NAME", with a tab and "[MODULE]" for
 * a module. Addresses of the kernel itself count from its first instruction: a recording says where that was, and a
 * kernel is loaded elsewhere each time. */
#include "lib/base/span.h"
#include "lib/images/elf_file.h"
#include "lib/symbolize/index/tables.h"

#include <stdlib.h>

/* Maximum size of a list in bytes. */
#define LIST_MAX (UINT64_C(256) << 20)

/* Maximum length of a line: names have at most 511 characters (KSYM_NAME_LEN), modules 55. */
#define LONGEST 1024u

/* Finding an address without an index costs less than reading this many bytes of the list for the index. */
#define DIRECT_BYTES 1024u

struct kallsyms {
    struct uspi_tables contract;
    struct uspi_file *file;
    struct uspi_bytes text;
    usp_addr base;           /* address in the list from which addresses count */
    struct uspi_span module; /* its name, in the image's path; empty: the kernel itself */
};

struct line {
    uint64_t from; /* its offset */
    usp_addr address;
    char type;
    struct uspi_span name; /* with the module; empty if the line is not a symbol */
    char copy[LONGEST];    /* where the name is, if the file's bytes are not in memory */
};

/* Reads the line at *at, and moves it to the next one. Returns false at the end, or if the list cannot be read. */
static bool next_line(const struct kallsyms *k, uint64_t *at, struct line *line) {
    const uint64_t left = k->text.size - *at;
    const size_t size = left < LONGEST ? (size_t)left : LONGEST;
    if (size == 0) return false;
    const char *from = (const char *)uspi_bytes_in_place(k->text, *at, size);
    if (from == NULL) {
        if (uspi_bytes_read(k->text, *at, line->copy, size, "kernel symbols", NULL) != USP_OK) return false;
        from = line->copy;
    }
    const char *end = memchr(from, '\n', size);
    const struct uspi_span of = {from, end != NULL ? (size_t)(end - from) : size};
    size_t in = 0;
    line->from = *at;
    line->address = 0;
    line->type = 0;
    line->name = (struct uspi_span){from, 0};
    *at += of.length + (end != NULL);
    if (!uspi_scan_hex_digits(of, &in, &line->address) || of.length - in < 4) return true;
    line->type = of.bytes[in + 1];
    line->name = (struct uspi_span){of.bytes + in + 3, of.length - in - 3};
    return true;
}

static bool is_of_module(const struct line *line) {
    return line->name.length > 0 && memchr(line->name.bytes, '\t', line->name.length) != NULL;
}

/* Returns whether a character of a module's name is that of its file's name, in which both may be used. */
static bool is_same(char a, char b) { return (a == '-' ? '_' : a) == (b == '-' ? '_' : b); }

/* Returns whether a line ends in a module's name in brackets, and cuts that off. */
static bool take_module(struct line *line, struct uspi_span module) {
    const struct uspi_span name = line->name;
    if (name.length < module.length + 3) return false;
    const char *at = name.bytes + name.length - module.length - 3;
    if (at[0] != '\t' || at[1] != '[' || name.bytes[name.length - 1] != ']') return false;
    for (size_t i = 0; i < module.length; i++) {
        if (!is_same(at[2 + i], module.bytes[i])) return false;
    }
    line->name.length = (size_t)(at - name.bytes);
    return true;
}

static bool is_function(const struct kallsyms *k, struct line *line) {
    if (line->address < k->base || line->name.length == 0 || memchr("tTwW", line->type, 4) == NULL) return false;
    return k->module.length > 0 ? take_module(line, k->module) : !is_of_module(line);
}

/* Aliases: a global one is preferred, then one with fewer underscores in front. */
static uint32_t rank_of(const struct line *line) {
    uint32_t rank = line->type == 'T' ? 0 : line->type == 'W' ? 16 : 32;
    for (size_t i = 0; i < line->name.length && i < 8 && line->name.bytes[i] == '_'; i++) rank++;
    return rank;
}

/* A symbol's number is the offset of its line. */
static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct kallsyms *k = (const struct kallsyms *)tables;
    struct line line;
    int status = USP_OK;
    uspi_bytes_need_whole(k->text);
    for (uint64_t at = 0; status == USP_OK && next_line(k, &at, &line);) {
        if (!is_function(k, &line)) continue;
        const usp_addr start = line.address - k->base;
        const struct uspi_gathered_symbol candidate = {
            .start = start, .end = start, .symbol = (uint32_t)line.from, .rank = rank_of(&line)};
        status = uspi_gather(gathering, &candidate);
    }
    return status;
}

/* Returns the offset behind the last line of the kernel itself with an address of at most `address`. A kernel lists its
 * own symbols in the order of their addresses, because it searches them itself, and those of modules after them. */
static uint64_t find_end(const struct kallsyms *k, usp_addr address) {
    struct line line;
    uint64_t low = 0, high = k->text.size, at;
    /* Each half of more than the longest line has a line that begins in it. */
    while (high - low > 2 * LONGEST) {
        at = low + (high - low) / 2;
        if (!next_line(k, &at, &line)) return low;
        const uint64_t from = at;
        if (!next_line(k, &at, &line)) return low;
        if (is_of_module(&line) || line.address > address)
            high = from;
        else
            low = at;
    }
    for (at = low; at < high && next_line(k, &at, &line) && !is_of_module(&line) && line.address <= address;) low = at;
    return low;
}

/* Finds the best function that begins last in the lines from `from` to `end`. Returns false if there is none, or if
 * aliases of it can be before `from`. */
static bool find_last(const struct kallsyms *k, uint64_t from, uint64_t end, uint32_t *number, usp_addr *start) {
    struct line line;
    usp_addr first = 0;
    uint32_t rank = 0;
    bool is_found = false;
    for (uint64_t at = from; at < end && next_line(k, &at, &line);) {
        if (line.from == from) first = line.address;
        if (!is_function(k, &line) || (is_found && line.address < *start)) continue;
        if (is_found && line.address == *start && rank_of(&line) >= rank) continue;
        is_found = true;
        *start = line.address;
        *number = (uint32_t)line.from;
        rank = rank_of(&line);
    }
    return is_found && (from == 0 || *start > first);
}

static bool find_directly(const struct uspi_tables *tables, usp_addr address, uint32_t *number,
                          struct uspi_symbol_answer *named) {
    const struct kallsyms *k = (const struct kallsyms *)tables;
    struct line line;
    usp_addr start = 0;
    const uint64_t end = find_end(k, address <= UINT64_MAX - k->base ? k->base + address : UINT64_MAX);
    *number = USPI_NO_SYMBOL;
    for (uint64_t size = 2 * LONGEST, from = 1; from > 0; size *= 4) {
        from = end > size ? end - size : 0;
        uint64_t at = from;
        if (from > 0 && !next_line(k, &at, &line)) return false;
        if (!find_last(k, at, end, number, &start)) continue;
        *named = (struct uspi_symbol_answer){.start = start - k->base};
        return true;
    }
    *number = USPI_NO_SYMBOL;
    return true;
}

/* A symbol's number is the offset of its line. */
static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names,
               struct uspi_symbol_answer *named) {
    const struct kallsyms *k = (const struct kallsyms *)tables;
    struct line line;
    uint64_t at = number;
    if (!next_line(k, &at, &line) || line.name.length == 0) return USP_ERROR_FORMAT;
    if (k->module.length > 0) (void)take_module(&line, k->module);
    named->name = uspi_names_keep(names, line.name.bytes, line.name.length);
    return named->name != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int prefer(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return (a > b) - (a < b);
}

static void close_tables(struct uspi_tables *tables) {
    struct kallsyms *k = (struct kallsyms *)tables;
    uspi_file_close(k->file);
    free(k);
}

/* Finds the address of the first instruction: perf's maps of a kernel begin at _text or, without it, at _stext. */
static bool find_base(struct kallsyms *k) {
    struct line line;
    for (uint64_t at = 0; next_line(k, &at, &line);) {
        const bool is_text = uspi_span_is(line.name, USPI_SPAN("_text"));
        if (!is_text && (k->base != 0 || !uspi_span_is(line.name, USPI_SPAN("_stext")))) continue;
        k->base = line.address;
        if (is_text) break;
    }
    /* A kernel lists zeros for those who may not see addresses. */
    return k->base != 0;
}

/* Returns a module's name in the path of its image: [NAME], or that of a file NAME.ko, which may be compressed. It is
 * empty for the kernel itself. */
static struct uspi_span module_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const bool is_kernel = strncmp(path, USPI_KERNEL_PATH, sizeof USPI_KERNEL_PATH - 1) == 0;
    const char *end = is_kernel ? NULL : strstr(name, ".ko");
    if (name[0] == '[' && !is_kernel) end = strchr(++name, ']');
    return (struct uspi_span){name, end != NULL ? (size_t)(end - name) : 0};
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
    const struct uspi_span module = module_of(image->path);
    const bool is_module = module.length > 0;
    int status = uspi_kept_file_open(is_module ? &places->kernel : image, places, "kallsyms", judge_any, NULL, &file);
    if (status != USP_OK) return status;
    const struct uspi_bytes text = uspi_file_bytes(file);
    struct kallsyms *k = text.size <= LIST_MAX ? calloc(1, sizeof *k) : NULL;
    if (k == NULL) {
        uspi_file_close(file);
        return text.size <= LIST_MAX ? USP_ERROR_NO_MEMORY : USP_ERROR_NOT_FOUND;
    }
    k->file = file;
    k->text = text;
    k->contract = (struct uspi_tables){.gather = gather,
                                       .get = get,
                                       .prefer = prefer,
                                       .close = close_tables,
                                       .memory = sizeof *k,
                                       .reads_all = true,
                                       .find_directly = find_directly,
                                       .direct_limit = text.size / DIRECT_BYTES};
    /* The list has the addresses of modules since one start of the kernel. At others they are elsewhere. */
    if (!find_base(k) || (is_module && k->base != places->kernel.load_address)) {
        close_tables(&k->contract);
        return USP_ERROR_NOT_FOUND;
    }
    if (is_module) {
        k->base = image->load_address;
        k->module = module;
        /* They are not listed in the order of their addresses. */
        k->contract.find_directly = NULL;
    }
    *tables = &k->contract;
    return USP_OK;
}
