/* SPDX-License-Identifier: MIT */
/* See stream.h. The kernel writes the ELF header, the program headers, the notes, and then the segments by ascending
 * address (Linux fs/binfmt_elf.c, elf_core_dump). So all threads' stack pointers are known before their stacks come. */
#include "lib/corefile/stream.h"

#include "lib/base/array.h"
#include "lib/base/bisect.h"
#include "lib/corefile/build.h"

#include <stdlib.h>
#include <string.h>

/* Header and notes: program headers of 65,535 mappings, registers of tens of thousands of threads, NT_FILE. */
#define BEGINNING_MAX (UINT64_C(64) << 20)

/* What is kept of a stack: below the stack pointer (a leaf function's red zone, probes), above it, and at its end. The
 * stack of the crashed thread, which may have overflowed, is kept whole if it has the usual 8 MB. */
#define BELOW             UINT64_C(512)
#define INNERMOST         (UINT64_C(4) << 20)
#define INNERMOST_CRASHED (UINT64_C(16) << 20)
#define OUTERMOST         (UINT64_C(256) << 10)

/* How far below its stack an overflow can have moved the stack pointer. */
#define GUARD_MAX (UINT64_C(1) << 20)

/* What is kept of any other segment: an image's headers, the vDSO, small variables, the ends of stacks that a thread has
 * left for an alternate signal stack. */
#define SEGMENT_BEGINNING (UINT64_C(64) << 10)

#define PIECE 65536u

/* A range of the file that is kept. Both bounds are multiples of USPI_BLOCK, except at the file's end. */
struct kept {
    uint64_t from, end;
    uint8_t *bytes;
};

struct stream {
    const struct usp_core_stream *from;
    const char *name;
    struct kept *kept; /* by ascending position, not overlapping */
    size_t kept_count, kept_capacity;
    uint64_t at;    /* position in the input */
    uint64_t size;  /* of the core, as its headers say; less if the input has ended before */
    uint64_t room;  /* how many bytes may still be kept */
    bool has_ended; /* the input */
    bool out_of_memory;
};

/* ---- the input ---- */

/* Reads n bytes. Returns USP_OK, USP_ERROR_TRUNCATED at the end of the input (then *got < n), or what `read` returns. */
static int read_input(struct stream *s, void *to, size_t n, size_t *got) {
    *got = 0;
    while (*got < n) {
        const int64_t result = s->from->read(s->from->context, (uint8_t *)to + *got, n - *got);
        if (result < 0) return (int)result;
        s->has_ended = result == 0;
        if (result == 0) return USP_ERROR_TRUNCATED;
        const size_t added = (uint64_t)result < n - *got ? (size_t)result : n - *got;
        *got += added;
        s->at += added;
    }
    return USP_OK;
}

/* Reads bytes up to a position that nothing needs. */
static int skip_input(struct stream *s, uint64_t to) {
    uint8_t piece[4096];
    size_t got;
    int status = USP_OK;
    while (s->at < to && status == USP_OK) {
        const uint64_t left = to - s->at;
        status = read_input(s, piece, left < sizeof piece ? (size_t)left : sizeof piece, &got);
    }
    return status;
}

/* ---- ranges ---- */

static size_t first_ending_after(const struct stream *s, uint64_t at) {
    size_t i;
    USPI_FIRST(i, 0, s->kept_count, s->kept[i].end > at);
    return i;
}

/* Makes room for a range before range i, and fills it in. */
static void insert_range(struct stream *s, size_t i, uint64_t from, uint64_t end) {
    struct kept *grown = uspi_array_reserve(s->kept, &s->kept_capacity, s->kept_count + 1, sizeof *grown);
    s->out_of_memory = s->out_of_memory || grown == NULL;
    if (grown == NULL) return;
    s->kept = grown;
    memmove(&grown[i + 1], &grown[i], (s->kept_count - i) * sizeof *grown);
    grown[i] = (struct kept){.from = from, .end = end};
    s->kept_count++;
    s->room -= end - from;
}

/* Keeps what is not kept yet of a range of the file, in whole blocks, as far as there is room. */
static void keep(struct stream *s, uint64_t from, uint64_t end) {
    from &= ~(USPI_BLOCK - 1);
    if (end > s->size) end = s->size;
    if (end < s->size - s->size % USPI_BLOCK)
        end = (end + USPI_BLOCK - 1) & ~(USPI_BLOCK - 1);
    else if (end % USPI_BLOCK != 0)
        end = s->size;
    for (size_t i = first_ending_after(s, from); from < end && !s->out_of_memory; i++) {
        const uint64_t next = i < s->kept_count ? s->kept[i].from : UINT64_MAX;
        uint64_t stop = next < end ? next : end;
        if (from < stop) {
            if (stop - from > s->room) stop = from + (s->room & ~(USPI_BLOCK - 1));
            if (from >= stop) return;
            insert_range(s, i++, from, stop);
        }
        if (i >= s->kept_count || next >= end) return;
        from = s->kept[i].end;
    }
}

/* Keeps what the core has of addresses low … last of a segment. */
static void keep_addresses(struct stream *s, const struct uspi_core_segment *segment, usp_addr low, usp_addr last) {
    const uint64_t begin = low > segment->low ? low - segment->low : 0;
    uint64_t end = segment->promised;
    if (last - segment->low < end) end = last - segment->low + 1;
    if (begin < end && segment->offset < s->size) keep(s, segment->offset + begin, segment->offset + end);
}

/* Returns the segment of a thread's stack; NULL: there is none. After an overflow sp is below it, in a guard page or in
 * no segment. */
static const struct uspi_core_segment *stack_at(const struct uspi_core_memory *memory, usp_addr sp) {
    for (size_t i = uspi_core_memory_first(memory, sp); i < memory->segment_count; i++) {
        const struct uspi_core_segment *segment = &memory->segments[i];
        if (segment->low > sp && segment->low - sp > GUARD_MAX) return NULL;
        if (segment->promised > 0 && (segment->access & USPI_CORE_WRITE) != 0) return segment;
    }
    return NULL;
}

static void keep_stack(struct stream *s, const struct uspi_core *core, const struct uspi_core_thread *thread) {
    usp_addr sp = usp_registers_sp(&thread->registers);
    const struct uspi_core_segment *segment = thread->status == USP_OK ? stack_at(&core->memory, sp) : NULL;
    if (segment == NULL) return;
    const usp_addr last = segment->low + (segment->size - 1);
    const bool has_crashed = thread == &core->threads[core->crashed < core->thread_count ? core->crashed : 0];
    const uint64_t innermost = has_crashed ? INNERMOST_CRASHED : INNERMOST;
    if (sp < segment->low) sp = segment->low;
    keep_addresses(s, segment, sp > BELOW ? sp - BELOW : 0, last - sp > innermost ? sp + innermost : last);
    if (last - sp >= OUTERMOST) keep_addresses(s, segment, last - (OUTERMOST - 1), last);
}

/* Keep the beginning of each segment, and the ends of those that can be written. */
static void keep_beginnings(struct stream *s, const struct uspi_core *core, uint64_t size) {
    for (size_t i = 0; i < core->memory.segment_count && s->room >= USPI_BLOCK; i++) {
        const struct uspi_core_segment *segment = &core->memory.segments[i];
        const usp_addr last = segment->low + (segment->size - 1);
        keep_addresses(s, segment, segment->low, segment->size <= size ? last : segment->low + (size - 1));
    }
}

static void keep_ends(struct stream *s, const struct uspi_core *core) {
    for (size_t i = 0; i < core->memory.segment_count && s->room >= USPI_BLOCK; i++) {
        const struct uspi_core_segment *segment = &core->memory.segments[i];
        const usp_addr last = segment->low + (segment->size - 1);
        if ((segment->access & USPI_CORE_WRITE) == 0) continue;
        keep_addresses(s, segment, segment->size > OUTERMOST ? last - (OUTERMOST - 1) : segment->low, last);
    }
}

/* Chooses what is kept: the crashed thread's stack, the other stacks, then the rest. Half of the room is for stacks. */
static void choose(struct stream *s, const struct uspi_core *core) {
    const uint64_t others = s->room / 2;
    s->room -= others;
    if (core->crashed < core->thread_count) keep_stack(s, core, &core->threads[core->crashed]);
    for (size_t i = 0; i < core->thread_count; i++) keep_stack(s, core, &core->threads[i]);
    s->room += others;
    /* First the headers of all images. */
    keep_beginnings(s, core, USPI_BLOCK);
    keep_beginnings(s, core, SEGMENT_BEGINNING);
    keep_ends(s, core);
}

/* Reads the chosen ranges. An input that ends before makes the core end there. */
static int read_ranges(struct stream *s) {
    int status = USP_OK;
    size_t got = 0;
    for (size_t i = 0; i < s->kept_count && status == USP_OK; i++) {
        struct kept *kept = &s->kept[i];
        if (kept->bytes != NULL) continue;
        status = skip_input(s, kept->from);
        if (status != USP_OK) break;
        kept->bytes = malloc((size_t)(kept->end - kept->from));
        if (kept->bytes == NULL) return USP_ERROR_NO_MEMORY;
        status = read_input(s, kept->bytes, (size_t)(kept->end - kept->from), &got);
        if (status == USP_ERROR_TRUNCATED) kept->end = kept->from + got;
    }
    return status == USP_ERROR_TRUNCATED ? USP_OK : status;
}

/* ---- the beginning ---- */

/* Makes the first range end at `end`, or at the end of the input. */
static int read_beginning(struct stream *s, uint64_t end, struct uspi_error *error) {
    struct kept *first = &s->kept[0];
    size_t got;
    if (end > BEGINNING_MAX)
        return uspi_error_set(error, USP_ERROR_FORMAT, "%s: headers and notes are too large", s->name);
    if (end <= first->end) return USP_OK;
    uint8_t *grown = realloc(first->bytes, (size_t)end);
    if (grown == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", s->name);
    first->bytes = grown;
    const int status = read_input(s, grown + first->end, (size_t)(end - first->end), &got);
    first->end += got;
    if (status == USP_OK || status == USP_ERROR_TRUNCATED) return USP_OK;
    return uspi_error_set(error, status, "%s: cannot be read", s->name);
}

static struct uspi_source beginning_of(const struct stream *s) {
    return (struct uspi_source){.name = s->name, .base = s->kept[0].bytes};
}

/* Reads as many bytes as the ELF header says that it and the program headers have. */
static int read_headers(struct stream *s, struct uspi_error *error) {
    int status = read_beginning(s, 64, error);
    const uint8_t *h = s->kept[0].bytes;
    if (status != USP_OK) return status;
    if (s->kept[0].end < 64 || memcmp(h, "\177ELF", 4) != 0) {
        return uspi_error_set(error, USP_ERROR_FORMAT, "%s: not an ELF core", s->name);
    }
    const bool is_wide = h[4] == 2;
    const uint64_t offset = is_wide ? uspi_le64(h + 32) : uspi_le32(h + 28);
    const uint64_t size = uspi_le16(h + (is_wide ? 54 : 42)), count = uspi_le16(h + (is_wide ? 56 : 44));
    if (offset > BEGINNING_MAX) return read_beginning(s, UINT64_MAX, error);
    if (count != USPI_PN_XNUM || size < (is_wide ? 56 : 32)) return read_beginning(s, offset + size * count, error);
    /* There are more; the first one says where the notes begin, which follow the last one. */
    status = read_beginning(s, offset + size, error);
    if (status != USP_OK || s->kept[0].end < offset + size) return status;
    h = s->kept[0].bytes + offset;
    return read_beginning(s, is_wide ? uspi_le64(h + 8) : uspi_le32(h + 4), error);
}

/* Reads the notes, and finds out how large the core is. */
static int read_notes(struct stream *s, struct uspi_error *error) {
    const struct uspi_source source = beginning_of(s);
    struct uspi_elf_segment segment;
    struct uspi_elf elf;
    uint64_t notes = 0, end = 0, memory = UINT64_MAX;
    int status = uspi_elf_open(&elf, (struct uspi_bytes){&source, 0, s->kept[0].end}, error);
    if (status != USP_OK) return status;
    for (uint64_t i = 0; i < elf.segment_count; i++) {
        status = uspi_elf_segment(&elf, i, &segment, error);
        if (status != USP_OK) return status;
        if (segment.offset > UINT64_MAX / 4 || segment.file_size > UINT64_MAX / 4 || segment.file_size == 0) continue;
        const uint64_t segment_end = segment.offset + segment.file_size;
        if (segment_end > end) end = segment_end;
        if (segment.type == USPI_PT_NOTE && segment_end > notes) notes = segment_end;
        if (segment.type == USPI_PT_LOAD && segment.offset < memory) memory = segment.offset;
    }
    if (notes == 0 || memory < notes) {
        return uspi_error_set(error, USP_ERROR_UNSUPPORTED, "%s: %s; only unspool stack FILE reads it", s->name,
                              notes == 0 ? "the core has no notes" : "the core's notes come after its memory");
    }
    s->size = end;
    status = read_beginning(s, notes, error);
    /* Whole blocks of the file are read, so the last one has to be whole. */
    const uint64_t whole = (s->kept[0].end + USPI_BLOCK - 1) & ~(USPI_BLOCK - 1);
    if (status == USP_OK) status = read_beginning(s, whole < end ? whole : end, error);
    return status;
}

/* ---- the file ---- */

/* Implements uspi_made_bytes.read. */
static int read_kept(void *context, uint64_t at, void *to, size_t n) {
    const struct stream *s = context;
    uint8_t *next = to;
    for (size_t i = first_ending_after(s, at); n > 0; i++) {
        if (i >= s->kept_count || s->kept[i].from > at || s->kept[i].bytes == NULL) return USP_ERROR_ABSENT;
        const uint64_t left = s->kept[i].end - at;
        const size_t part = left < n ? (size_t)left : n;
        memcpy(next, s->kept[i].bytes + (size_t)(at - s->kept[i].from), part);
        next += part;
        at += part;
        n -= part;
    }
    return USP_OK;
}

static void close_stream(void *context) {
    struct stream *s = context;
    for (size_t i = 0; i < s->kept_count; i++) free(s->kept[i].bytes);
    free(s->kept);
    free(s);
}

/* Reads the stacks and what else is kept. The stacks are found in a core of the beginning only. */
static int read_memory(struct stream *s, struct uspi_error *error) {
    const struct uspi_source source = beginning_of(s);
    struct uspi_core *beginning;
    int status = uspi_core_of_beginning((struct uspi_bytes){&source, 0, s->kept[0].end}, s->name, &beginning, error);
    if (status != USP_OK) return status;
    choose(s, beginning);
    uspi_core_close(beginning);
    status = s->out_of_memory ? USP_ERROR_NO_MEMORY : read_ranges(s);
    return status != USP_OK ? uspi_error_set(error, status, "%s: %s", s->name, usp_status_string(status)) : USP_OK;
}

static int read_stream(struct stream *s, struct uspi_error *error) {
    s->room = UINT64_MAX;
    insert_range(s, 0, 0, 0);
    if (s->out_of_memory) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", s->name);
    int status = read_headers(s, error);
    if (status == USP_OK) status = read_notes(s, error);
    s->room = s->from->max_bytes;
    if (status == USP_OK && s->from->memory.read == NULL) status = read_memory(s, error);
    if (s->has_ended && s->at < s->size) s->size = s->at;
    return status;
}

int uspi_core_open_stream(const struct usp_core_stream *stream, const struct uspi_core_options *options,
                          struct uspi_core **core, struct uspi_error *error) {
    struct stream *s = calloc(1, sizeof *s);
    struct uspi_file *file = NULL;
    *core = NULL;
    if (s == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "out of memory");
    s->from = stream;
    s->name = stream->name != NULL ? stream->name : "standard input";
    int status = read_stream(s, error);
    s->from = NULL;
    const struct uspi_made_bytes made = {.size = s->size, .read = read_kept, .close = close_stream, .context = s};
    if (status == USP_OK && uspi_file_of_made(s->name, &made, &file) != USP_OK) {
        status = uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", s->name);
    }
    if (status != USP_OK) {
        close_stream(s);
        return status;
    }
    return uspi_core_of_file(file, options, core, error);
}
