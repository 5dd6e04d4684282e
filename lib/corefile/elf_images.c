/* SPDX-License-Identifier: MIT */
/* Finds the images of an ELF core, and the files that replace text that the core does not contain. If there is an
 * NT_FILE, images are made of its lines. Cores without it (qemu-user) name the program in NT_AUXV and the libraries in
 * the loader's own list.
 *
 * A file is used only if it is proven to be the mapped one: by its build id, otherwise by its first page. */
#include "arch/any.h"
#include "lib/corefile/build.h"

#include <unspool/snapshot.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Number of bytes at an image's start that Linux dumps with coredump_filter's bit 4 (Linux
 * Documentation/filesystems/proc.rst). */
#define FIRST_PAGE 4096

/* Limits of the loader's list and of the names in it, which are untrusted data of the process. */
#define PATH_ROOM     4096
#define LIBRARIES_MAX 20000

struct work {
    struct uspi_core *core;
    const struct uspi_core_process *process;
    struct uspi_image_list *list;
    struct usp_memory memory;
    struct uspi_source source; /* the process's memory */
    bool main_found;
};

/* An image whose data is being collected. */
struct found {
    const char *path;
    usp_addr load, end;                    /* end: exclusive */
    uint32_t flags;                        /* enum usp_image_flags */
    const struct uspi_core_mapping *lines; /* of NT_FILE; those of other files have replaced the image's text */
    size_t line_count;
    bool described;      /* `elf` is valid */
    struct uspi_elf elf; /* in memory, or in the program's file if the core lacks its headers */
    struct uspi_build_id id;
};

static bool is_image(const struct uspi_elf *elf) { return elf->type == USPI_ET_EXEC || elf->type == USPI_ET_DYN; }

/* Reads the headers at found->load, if the core holds them. */
static bool describe_image(struct work *w, struct found *found) {
    struct uspi_elf_extent extent;
    struct uspi_bytes bytes = uspi_bytes_at(&w->source, found->load);
    if (uspi_elf_open_image(&found->elf, bytes, NULL) != USP_OK || !is_image(&found->elf) ||
        !uspi_core_may_read(w->core, found->elf.segment_count) || found->elf.arch != w->core->arch ||
        uspi_elf_extent(&found->elf, &extent, NULL) != USP_OK) {
        return false;
    }
    usp_addr end = found->load + (extent.high - found->elf.header_address);
    if (end <= found->load || extent.low < found->elf.header_address) return false;
    found->described = true;
    if (end > found->end) found->end = end;
    if (uspi_elf_build_id(&found->elf, &found->id, NULL) != USP_OK) found->id.size = 0;
    return true;
}

static void ask_for_program(struct uspi_core *core) {
    uspi_core_say(core, USP_SNAPSHOT_PROGRAM_MISSING,
                  "%s: the core neither holds the program's code nor names a file that could be proven: give the "
                  "program's file",
                  core->path);
}

/* ---- proving a file ---- */

struct candidate {
    struct work *work;
    const struct found *found;
    struct uspi_bytes bytes; /* the accepted file */
    struct uspi_elf elf;
    struct uspi_build_id id; /* its build id, which the core's memory has too; size 0: not compared */
    bool weak;               /* accepted without comparing build ids */
};

static void write_hex(char *to, const struct uspi_build_id *id) {
    static const char digits[] = "0123456789abcdef";
    for (uint32_t i = 0; i < id->size; i++) {
        *to++ = digits[id->bytes[i] >> 4];
        *to++ = digits[id->bytes[i] & 15];
    }
    *to = '\0';
}

static int compare_ids(struct candidate *c, struct uspi_error *error) {
    struct uspi_build_id id;
    const struct uspi_build_id *wanted = &c->found->id;
    char own[2 * sizeof id.bytes + 1], expected[2 * sizeof id.bytes + 1];
    int status = uspi_elf_build_id(&c->elf, &id, error);
    if (status != USP_OK) return status;
    if (id.size == wanted->size && memcmp(id.bytes, wanted->bytes, id.size) == 0) {
        c->id = id;
        return USP_OK;
    }
    write_hex(own, &id);
    write_hex(expected, wanted);
    return uspi_bytes_error(error, c->bytes, 0, USP_ERROR_MISMATCH,
                            "another build: its build-id is %s, the core's image has %s", own, expected);
}

/* Compares the build id with the memory at the address where the file maps it: no program header describes its note. */
static int compare_mapped_id(struct candidate *c, struct uspi_error *error) {
    const struct uspi_bytes image = uspi_bytes_at(&c->work->source, c->found->load);
    int status = uspi_elf_mapped_build_id(&c->elf, image, &c->id);
    if (status != USP_ERROR_MISMATCH) return status;
    return uspi_bytes_error(error, c->bytes, 0, USP_ERROR_MISMATCH,
                            "another build: the core has another build-id where this file maps its own");
}

/* Compares the first page. Returns the memory's status when the core does not have the page. */
static int compare_first_page(const struct candidate *c, struct uspi_error *error) {
    uint8_t own[FIRST_PAGE], core[FIRST_PAGE];
    size_t n = c->bytes.size < FIRST_PAGE ? (size_t)c->bytes.size : FIRST_PAGE;
    int status = uspi_core_memory_read(&c->work->core->memory, c->found->load, core, n);
    if (status != USP_OK) return status;
    status = uspi_bytes_read(c->bytes, 0, own, n, "first page", error);
    if (status != USP_OK) return status;
    if (memcmp(own, core, n) == 0) return USP_OK;
    return uspi_bytes_error(error, c->bytes, 0, USP_ERROR_MISMATCH,
                            "another build: without a build-id, its first page differs from the core's");
}

static int open_candidate(struct candidate *c, struct uspi_bytes bytes, struct uspi_error *error) {
    c->bytes = bytes;
    int status = uspi_elf_open(&c->elf, bytes, error);
    if (status != USP_OK) return status;
    if (is_image(&c->elf) && c->elf.arch == c->work->core->arch) return USP_OK;
    return uspi_bytes_error(error, bytes, 16, USP_ERROR_MISMATCH, "not a program or library of %s",
                            usp_arch_string(c->work->core->arch));
}

static bool same_file(const struct uspi_core_mapping *a, const struct uspi_core_mapping *b) {
    return strcmp(a->path, b->path) == 0;
}

/* ---- without headers in the core: how the file was mapped, and what its data has become ---- */

/* Maximum number of entries of a dynamic section that are compared. */
#define DYNAMIC_MAX 128

static int contradicts(const struct candidate *c, const char *what, struct uspi_error *error) {
    return uspi_bytes_error(error, c->bytes, 0, USP_ERROR_MISMATCH, "another build: %s", what);
}

static bool is_main(const struct found *found) { return (found->flags & USP_IMAGE_MAIN) != 0; }

/* Whether a segment of the file is mapped as a line of NT_FILE says. */
static bool maps_line(const struct candidate *c, const struct uspi_core_mapping *line) {
    const usp_addr slide = c->found->load - c->elf.header_address;
    struct uspi_elf_segment segment;
    for (uint64_t i = 0; i < c->elf.segment_count; i++) {
        if (uspi_elf_segment(&c->elf, i, &segment, NULL) != USP_OK) return false;
        const usp_addr start = slide + segment.address;
        if (segment.type != USPI_PT_LOAD || line->low + line->size <= start) continue;
        if (line->low >= start + segment.memory_size) continue;
        if (line->offset + (start - line->low) == segment.offset) return true;
    }
    return false;
}

/* Compares the dynamic section with memory, in which the loader may have added the slide to addresses. Returns the
 * number of entries that agree, or -1 when one differs. */
static int compare_dynamic(const struct candidate *c) {
    const usp_addr slide = c->found->load - c->elf.header_address;
    const unsigned word = c->elf.wide ? 8 : 4;
    const uint64_t mask = c->elf.wide ? UINT64_MAX : UINT32_MAX;
    struct uspi_elf_segment segment;
    struct uspi_bytes own;
    uint8_t file[16], memory[16];
    if (uspi_elf_find_segment(&c->elf, USPI_PT_DYNAMIC, &segment, NULL) != USP_OK ||
        uspi_elf_segment_bytes(&c->elf, &segment, &own, NULL) != USP_OK) {
        return 0;
    }
    for (int i = 0; i < DYNAMIC_MAX; i++) {
        const uint64_t at = (uint64_t)i * 2 * word;
        if (uspi_bytes_read(own, at, file, 2 * word, "dynamic section", NULL) != USP_OK ||
            uspi_core_memory_read(&c->work->core->memory, slide + segment.address + at, memory, 2 * word) != USP_OK) {
            return i;
        }
        const uint64_t tag = uspi_le(file, word), value = uspi_le(file + word, word);
        const uint64_t now = uspi_le(memory + word, word);
        if (tag != uspi_le(memory, word)) return -1;
        if (tag == USPI_DT_NULL) return i;
        if (tag != USPI_DT_DEBUG && now != value && now != ((value + slide) & mask)) return -1;
    }
    return DYNAMIC_MAX;
}

/* Compares the program with what the kernel passed to it. */
static bool is_started_program(const struct candidate *c) {
    const struct uspi_core_process *p = c->work->process;
    const usp_addr slide = c->found->load - c->elf.header_address;
    return p->program_header_count == c->elf.segment_count && p->entry == slide + c->elf.entry &&
           p->program_headers == slide + c->elf.header_address + c->elf.segment_offset;
}

static int compare_layout(const struct candidate *c, struct uspi_error *error) {
    const struct found *found = c->found;
    for (size_t i = 0; i < found->line_count; i++) {
        if (!same_file(&found->lines[i], found->lines) || maps_line(c, &found->lines[i])) continue;
        return contradicts(c, "its segments are not where the core says that the file was mapped", error);
    }
    const bool is_passed = is_main(found) && c->work->process->entry != 0;
    if (is_passed && !is_started_program(c)) {
        return contradicts(c, "its entry point and program headers are not the process's", error);
    }
    const int agreeing = compare_dynamic(c);
    if (agreeing < 0) return contradicts(c, "its dynamic section differs from the core's", error);
    if (found->line_count > 0 || is_passed || agreeing > 0) return USP_OK;
    return contradicts(c, "the core holds nothing to compare it with", error);
}

/* Implements uspi_judge for the file of an image that the core contains, or at least names. */
static int judge_image(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct candidate *c = context;
    int status = open_candidate(c, bytes, error);
    if (status != USP_OK) return status;
    c->weak = false;
    if (c->found->id.size > 0) return compare_ids(c, error);
    status = compare_mapped_id(c, error);
    if (status == USP_OK || status == USP_ERROR_MISMATCH || status == USP_ERROR_NO_MEMORY) return status;
    c->weak = true;
    status = compare_first_page(c, error);
    const bool is_compared = status == USP_OK || status == USP_ERROR_MISMATCH || status == USP_ERROR_TRUNCATED;
    if (is_compared) return status;
    if (!c->found->described) return compare_layout(c, error);
    return uspi_bytes_error(error, c->bytes, 0, USP_ERROR_MISMATCH,
                            "the core holds neither a build-id nor a first page to compare it with");
}

/* Implements uspi_judge for the program if the core has no headers of it: compares the values that the kernel passed to
 * it at its start. */
static int judge_program(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct candidate *c = context;
    const struct uspi_core_process *p = c->work->process;
    int status = open_candidate(c, bytes, error);
    if (status != USP_OK) return status;
    c->weak = true;
    usp_addr slide = p->entry - c->elf.entry;
    if (p->program_header_count == c->elf.segment_count &&
        p->program_headers == slide + c->elf.header_address + c->elf.segment_offset) {
        return USP_OK;
    }
    return uspi_bytes_error(error, bytes, 0, USP_ERROR_MISMATCH,
                            "another program: its entry point and program headers are not the process's");
}

static void back(struct work *w, usp_addr low, uint64_t size, struct uspi_bytes file, uint64_t offset) {
    uint64_t there = offset < file.size ? file.size - offset : 0;
    struct uspi_core_backing backing = {.low = low, .size = size};
    if (size == 0 || low + (size - 1) < low) return;
    if (uspi_bytes_sub(file, there == 0 ? 0 : offset, there < size ? there : size, "text", &backing.bytes, NULL) !=
            USP_OK ||
        uspi_core_memory_back(&w->core->memory, &backing) != USP_OK) {
        w->core->out_of_memory = true;
    }
}

/* Uses an accepted file for the memory at which it is mapped. */
static void back_image(struct work *w, const struct found *found, const struct candidate *c) {
    for (size_t i = 0; i < found->line_count; i++) {
        if (!same_file(&found->lines[i], found->lines)) continue;
        back(w, found->lines[i].low, found->lines[i].size, c->bytes, found->lines[i].offset);
    }
    struct uspi_elf_segment segment;
    for (uint64_t i = 0; found->line_count == 0 && i < c->elf.segment_count; i++) {
        if (uspi_elf_segment(&c->elf, i, &segment, NULL) != USP_OK) break;
        if (segment.type != USPI_PT_LOAD) continue;
        back(w, found->load + (segment.address - c->elf.header_address), segment.file_size, c->bytes, segment.offset);
    }
    if (c->weak) {
        uspi_core_say(w->core, 0, "%s: used without a build-id to compare; what could be compared agrees",
                      c->bytes.source->name);
    }
}

/* Whether the core lacks text or read-only data of an image. */
static bool lacks(const struct work *w, const struct found *found) {
    const struct uspi_core_memory *memory = &w->core->memory;
    for (size_t i = 0; i < found->line_count; i++) {
        if (!same_file(&found->lines[i], found->lines)) continue;
        if (uspi_core_memory_lacks(memory, found->lines[i].low, found->lines[i].size)) return true;
    }
    struct uspi_elf_segment segment;
    for (uint64_t i = 0; found->line_count == 0 && found->described && i < found->elf.segment_count; i++) {
        if (uspi_elf_segment(&found->elf, i, &segment, NULL) != USP_OK) return true;
        if (segment.type == USPI_PT_LOAD && (segment.flags & USPI_PF_W) == 0 &&
            uspi_core_memory_lacks(memory, found->load + (segment.address - found->elf.header_address),
                                   segment.file_size)) {
            return true;
        }
    }
    return found->line_count == 0 && !found->described;
}

/* Uses the build id and headers of an accepted file for an image of which the core lacks them. */
static void adopt_headers(struct found *found, const struct candidate *c) {
    struct uspi_elf_extent extent;
    if (found->id.size == 0 && uspi_elf_build_id(&c->elf, &found->id, NULL) != USP_OK) found->id.size = 0;
    if (found->described || uspi_elf_extent(&c->elf, &extent, NULL) != USP_OK) return;
    const usp_addr end = found->load + (extent.high - c->elf.header_address);
    if (end <= found->load || extent.low < c->elf.header_address) return;
    found->described = true;
    found->elf = c->elf;
    if (end > found->end) found->end = end;
}

/* Implements uspi_judge for the build id alone. */
static int judge_mapped_id(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct candidate *c = context;
    int status = open_candidate(c, bytes, error);
    return status == USP_OK ? compare_mapped_id(c, error) : status;
}

static void complete_from_file(struct work *w, struct found *found) {
    struct uspi_core *core = w->core;
    struct candidate c = {.work = w, .found = found};
    bool main = (found->flags & USP_IMAGE_MAIN) != 0;
    if ((found->flags & USP_IMAGE_KERNEL) != 0) return;
    if (!lacks(w, found)) {
        if (found->id.size > 0) return;
        uspi_core_show_files(core, found->path, main, judge_mapped_id, &c);
        found->id = c.id;
        return;
    }
    if (uspi_core_find_file(core, found->path, main, judge_image, &c)) {
        back_image(w, found, &c);
        found->id = c.id;
        adopt_headers(found, &c);
        if (found->path[0] == '\0') found->path = c.bytes.source->name;
    } else if (main && found->path[0] == '\0' && core->named_program == NULL) {
        ask_for_program(core);
    }
}

/* ---- the list ---- */

/* Sets the text range of an image whose headers the core lacks. */
static void text_from_segments(const struct work *w, struct usp_image *image) {
    const struct uspi_core_memory *memory = &w->core->memory;
    for (size_t i = uspi_core_memory_first(memory, image->load_address); i < memory->segment_count; i++) {
        const struct uspi_core_segment *segment = &memory->segments[i];
        if (segment->low >= image->end) break;
        if ((segment->access & USPI_CORE_EXECUTE) == 0) continue;
        if (image->text_high == 0) image->text_low = segment->low;
        image->text_high = segment->low + segment->size;
    }
}

static int add_image(struct work *w, const struct found *found) {
    struct usp_image image = {.path = found->path,
                              .load_address = found->load,
                              .end = found->end,
                              .slide = found->load,
                              .flags = found->flags,
                              .build_id_size = found->id.size};
    struct uspi_elf_extent extent;
    memcpy(image.build_id, found->id.bytes, sizeof image.build_id);
    if (found->described && uspi_elf_extent(&found->elf, &extent, NULL) == USP_OK) {
        image.arch = found->elf.arch;
        image.slide = found->load - found->elf.header_address;
        image.text_low = image.slide + extent.text_low;
        image.text_high = image.slide + extent.text_high;
        image.hole_offset = extent.hole_offset;
        image.hole_size = extent.hole_size;
    } else {
        text_from_segments(w, &image);
    }
    if ((found->flags & USP_IMAGE_MAIN) != 0 && found->path[0] != '\0') uspi_core_set_program(w->core, found->path);
    return uspi_image_list_add(w->list, &image);
}

/* ---- from NT_FILE ---- */

static bool executable(const struct work *w, const struct found *found) {
    for (size_t i = 0; i < found->line_count; i++) {
        const struct uspi_core_segment *segment = uspi_core_memory_find(&w->core->memory, found->lines[i].low);
        if (segment != NULL && (segment->access & USPI_CORE_EXECUTE) != 0) return true;
    }
    return false;
}

/* Implements uspi_judge: accepts any program or library of the core's processor. */
static int judge_any(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct candidate *c = context;
    int status = open_candidate(c, bytes, error);
    c->weak = status == USP_OK;
    return status;
}

/* Whether lines of a file may be an image, when the core has neither its headers nor its text: what the kernel passed
 * to the process points to it, or it is a program or library, or at least its name is a library's. */
static bool may_be_image(struct work *w, const struct found *found) {
    const struct uspi_core_process *p = w->process;
    struct candidate c = {.work = w, .found = found};
    if (found->lines[0].offset != 0) return false;
    if (p->program_headers - found->load < found->end - found->load || p->loader == found->load) return true;
    if (found->line_count < 2) return false;
    uspi_core_show_files(w->core, found->path, false, judge_any, &c);
    return c.weak || strstr(found->path, ".so") != NULL;
}

/* Whether a line of another file lies where the image's headers say that its text is: the program has replaced it. */
static bool replaces_text(struct work *w, const struct found *found, const struct uspi_core_mapping *line) {
    const usp_addr slide = found->load - found->elf.header_address;
    struct uspi_elf_segment segment;
    if (!uspi_core_may_read(w->core, found->elf.segment_count)) return false;
    for (uint64_t i = 0; i < found->elf.segment_count; i++) {
        if (uspi_elf_segment(&found->elf, i, &segment, NULL) != USP_OK) return false;
        if (segment.type != USPI_PT_LOAD || (segment.flags & USPI_PF_X) == 0) continue;
        const usp_addr start = slide + segment.address;
        if (line->low + line->size > start && line->low < start + segment.memory_size) return true;
    }
    return false;
}

/* Collects the image that begins at line i into *found; it has no lines if the mapping is not an image. Returns the
 * index after its lines. */
static size_t gather(struct work *w, size_t i, struct found *found) {
    const struct uspi_core_process *p = w->process;
    const struct uspi_core_mapping *first = &p->mappings[i], *last = &p->mappings[p->mapping_count - 1];
    const struct uspi_core_mapping *line = first;
    *found = (struct found){.path = first->path, .load = first->low};
    bool described = first->offset == 0 && describe_image(w, found);
    for (; line <= last; line++) {
        if (!same_file(line, first)) {
            if (!described || !replaces_text(w, found, line)) break;
            continue;
        }
        /* A file can be mapped again; its headers can also be mapped twice within one image. */
        if (line != first && described && line->low >= found->end) break;
        struct found other = {.load = line->low};
        if (line != first && !described && line->offset == 0 && describe_image(w, &other)) break;
    }
    found->lines = first;
    found->line_count = (size_t)(line - first);
    usp_addr end = line[-1].low + line[-1].size;
    if (end > found->end) found->end = end;
    if (!described && !executable(w, found) && !may_be_image(w, found)) found->line_count = 0;
    return i + (size_t)(line - first);
}

static int images_from_mappings(struct work *w) {
    const struct uspi_core_process *p = w->process;
    struct found found;
    for (size_t i = 0; i < p->mapping_count;) {
        i = gather(w, i, &found);
        if (found.line_count == 0) continue;
        if (found.lines[0].deleted) found.flags |= USP_IMAGE_DELETED;
        if (p->program_headers - found.load < found.end - found.load) {
            found.flags |= USP_IMAGE_MAIN;
            w->main_found = true;
        }
        if (p->loader == found.load) found.flags |= USP_IMAGE_LOADER;
        complete_from_file(w, &found);
        int status = add_image(w, &found);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

/* ---- without NT_FILE ---- */

/* Finds the program by the address of its program headers. `path` has PATH_ROOM bytes and outlives *found. */
static bool find_program(struct work *w, char *path, struct found *found) {
    struct uspi_core *core = w->core;
    const struct uspi_core_process *p = w->process;
    *found = (struct found){.path = path, .flags = USP_IMAGE_MAIN};
    if (p->program_headers == 0) return false;
    if (p->program_path == 0 ||
        uspi_bytes_string(uspi_bytes_at(&w->source, p->program_path), 0, path, PATH_ROOM, "path", NULL) != USP_OK) {
        path[0] = '\0';
    }
    /* In the output of all linkers, program headers directly follow the ELF header. */
    unsigned header = uspi_backend_any(core->arch)->word == 8 ? 64 : 52;
    found->load = p->program_headers - header;
    if (describe_image(w, found) && found->elf.segment_offset == header) {
        complete_from_file(w, found);
        return true;
    }
    struct candidate c = {.work = w, .found = found};
    found->described = false;
    struct uspi_elf_extent extent;
    if (core->named_program == NULL && path[0] == '\0') {
        ask_for_program(core);
        return false;
    }
    if (!uspi_core_find_file(core, path, true, judge_program, &c)) return false;
    if (uspi_elf_extent(&c.elf, &extent, NULL) != USP_OK) return false;
    if (path[0] == '\0') found->path = c.bytes.source->name;
    found->elf = c.elf;
    found->described = true;
    found->load = p->entry - c.elf.entry + c.elf.header_address;
    found->end = found->load + (extent.high - c.elf.header_address);
    if (uspi_elf_build_id(&c.elf, &found->id, NULL) != USP_OK) found->id.size = 0;
    back_image(w, found, &c);
    return true;
}

/* Returns the head of the loader's list of libraries: DT_DEBUG -> r_debug.r_map (glibc elf/link.h). */
static usp_addr first_library(struct work *w, const struct found *program) {
    struct uspi_elf_segment segment;
    struct uspi_bytes section, memory = uspi_bytes_at(&w->source, program->load);
    unsigned word = program->elf.wide ? 8 : 4;
    uint64_t debug, map;
    if (uspi_elf_find_segment(&program->elf, USPI_PT_DYNAMIC, &segment, NULL) != USP_OK ||
        uspi_bytes_sub(memory, segment.address - program->elf.header_address, segment.memory_size, "dynamic section",
                       &section, NULL) != USP_OK ||
        uspi_elf_dynamic(section, program->elf.wide, USPI_DT_DEBUG, &debug, NULL) != USP_OK || debug == 0 ||
        uspi_bytes_load(uspi_bytes_at(&w->source, debug), word, word, &map, "r_debug", NULL) != USP_OK) {
        return 0;
    }
    return map;
}

static int add_library(struct work *w, usp_addr load, usp_addr dynamic, const char *path) {
    struct found found = {.path = path, .load = load};
    const struct uspi_core_segment *last = uspi_core_memory_find(&w->core->memory, dynamic);
    if (load == w->process->loader) found.flags |= USP_IMAGE_LOADER;
    if (!describe_image(w, &found)) {
        if (last == NULL || last->low + last->size <= load) return USP_OK;
        found.end = last->low + last->size;
    }
    complete_from_file(w, &found);
    return add_image(w, &found);
}

/* Adds the images of the loader's list. struct link_map: l_addr, l_name, l_ld, l_next, l_prev; the first is the
 * program. */
static int images_from_loader(struct work *w, const struct found *program) {
    unsigned word = program->elf.wide ? 8 : 4;
    usp_addr at = first_library(w, program), watched = 0;
    char path[PATH_ROOM];
    for (unsigned i = 0; at != 0; i++) {
        /* Cycle detection: `watched` is the entry at the last power of two. */
        if (at == watched || i == LIBRARIES_MAX) {
            uspi_core_say(w->core, 0, "%s: the loader's list of libraries has no end", w->core->path);
            break;
        }
        if ((i & (i - 1)) == 0) watched = at;
        uint8_t raw[4 * 8];
        struct uspi_error error;
        if (uspi_bytes_read(uspi_bytes_at(&w->source, at), 0, raw, 4 * word, "the loader's list", &error) != USP_OK) {
            uspi_core_say(w->core, 0, "%s; libraries after it are not known", error.text);
            return USP_OK;
        }
        usp_addr load = uspi_le(raw, word), name = uspi_le(raw + word, word), dynamic = uspi_le(raw + 2 * word, word);
        at = uspi_le(raw + 3 * word, word);
        if (uspi_bytes_string(uspi_bytes_at(&w->source, name), 0, path, sizeof path, "path", NULL) != USP_OK) {
            path[0] = '\0';
        }
        if (i == 0 || load == w->process->vdso) continue;
        int status = add_library(w, load, dynamic, path);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

static int images_without_mappings(struct work *w) {
    struct found program;
    char *path = malloc(PATH_ROOM);
    if (path == NULL) return USP_ERROR_NO_MEMORY;
    int status = USP_OK;
    if (find_program(w, path, &program)) {
        w->main_found = true;
        status = add_image(w, &program);
        if (status == USP_OK) status = images_from_loader(w, &program);
    }
    free(path);
    return status;
}

int uspi_core_elf_images(struct uspi_core *core, const struct uspi_core_process *process,
                         struct uspi_image_list *list) {
    struct work w = {.core = core, .process = process, .list = list};
    w.memory = (struct usp_memory){uspi_core_memory_read, &core->memory};
    w.source = uspi_source_of_memory(&w.memory, core->path);
    int status = process->has_mappings ? images_from_mappings(&w) : images_without_mappings(&w);
    if (status != USP_OK) return status;
    if (!w.main_found && core->named_program != NULL) {
        uspi_core_say(core, USP_SNAPSHOT_FILES_REFUSED,
                      "%s: not used, because the core does not tell where the program was loaded", core->named_program);
    }
    struct found vdso = {.path = "[vdso]", .load = process->vdso, .flags = USP_IMAGE_KERNEL};
    if (process->vdso != 0 && describe_image(&w, &vdso)) status = add_image(&w, &vdso);
    uspi_core_memory_seal(&core->memory);
    return status;
}
