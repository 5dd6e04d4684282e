/* SPDX-License-Identifier: MIT */
/* libFuzzer: call frame information from arbitrary bytes, for all five processors. Every entry that can be found is
 * executed, a sorted table is made of the entries, and a stack is walked by them. In addition to the sanitizers'
 * checks: the table is sorted and leads to entries that cover their addresses, a row is a rule or an error, and the
 * same walk gives the same frames. */
#include "tests/fuzz/cfi_input.h"
#include "tests/unwind/cfi_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 64

struct world {
    const uint8_t *tables, *stack;
    size_t table_size, stack_size;
};

static void require(bool condition) {
    if (!condition) abort();
}

static int read_world(void *context, usp_addr from, void *to, size_t n) {
    const struct world *w = context;
    int status = read_range(TABLE, w->tables, w->table_size, from, to, n);
    return status == USP_OK ? status : read_range(STACK, w->stack, w->stack_size, from, to, n);
}

static void check_fdes(const struct uspi_dwarf_section *section) {
    struct uspi_dwarf_entry entry;
    struct uspi_dwarf_fde fde;
    struct uspi_dwarf_row row;
    struct uspi_rule rule;
    uint64_t offset = 0;
    while (uspi_dwarf_next_fde(section, &offset, &entry, &fde) == 1) {
        require(offset == entry.next && entry.next <= section->bytes.size && fde.start < fde.end);
        const usp_addr places[] = {fde.start, fde.start + (fde.end - fde.start) / 2, fde.end - 1};
        for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
            if (uspi_dwarf_row(section, &fde, places[i], &row) != USP_OK) continue;
            if (uspi_dwarf_rule(section, &fde.cie, &row, &rule) != USP_OK) continue;
            require(row.cfa_is_known && rule.saved_count <= USPI_SAVED_MAX);
            require(rule.return_address.kind != USPI_LOST);
        }
    }
}

static void check_index(const struct uspi_dwarf_section *section) {
    uint8_t *bytes;
    size_t size;
    struct uspi_dwarf_entry entry;
    struct uspi_dwarf_fde fde;
    usp_addr before = 0;
    require(uspi_dwarf_make_index(section, &bytes, &size) == USP_OK && size >= 20 && (size - 20) % 16 == 0);
    for (size_t at = 20; at < size; at += 16) {
        usp_addr start = uspi_le64(bytes + at), place = uspi_le64(bytes + at + 8);
        require(start >= before && place >= section->bytes.from);
        require(uspi_dwarf_entry(section, place - section->bytes.from, &entry) == USP_OK);
        require(uspi_dwarf_fde(section, &entry, &fde) == USP_OK && fde.start == start);
        before = start;
    }
    free(bytes);
}

static struct usp_unwind_tables given;

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context, (void)pc;
    *tables = given;
    return USP_OK;
}

static void check_walk(const struct usp_target *target, const struct usp_registers *registers, uint32_t readers) {
    struct usp_frame frames[STEPS_MAX], again[STEPS_MAX];
    struct usp_stack stack, second;
    struct usp_unwind_options options;
    usp_unwind_options_init(&options);
    options.readers = readers;
    options.step_limit = STEPS_MAX;
    memset(frames, 0x55, sizeof frames);
    memset(again, 0xaa, sizeof again);
    usp_stack_init(&stack, frames, STEPS_MAX);
    usp_stack_init(&second, again, STEPS_MAX);
    require(usp_unwind(target, registers, &options, &stack) == USP_OK);
    require(usp_unwind(target, registers, &options, &second) == USP_OK);
    require(stack.stop != USP_STOP_NONE && stack.count == second.count && stack.stop == second.stop);
    require(memcmp(frames, again, stack.count * sizeof *frames) == 0);
    for (uint32_t i = 0; i < stack.count; i++) {
        require(frames[i].kind != USP_FRAME_KIND_NONE && frames[i].method != USP_FRAME_METHOD_NONE);
    }
}

static struct usp_memory_range take(size_t *used, size_t size, uint16_t wanted) {
    size_t n = wanted < size - *used ? wanted : size - *used;
    struct usp_memory_range table = {TABLE + *used, n};
    *used += n;
    return table;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct header header;
    struct world world;
    struct usp_target target;
    struct usp_registers registers;
    struct uspi_dwarf_image image;
    const struct usp_memory memory = {read_world, &world};
    size_t used = 0;
    if (size < sizeof header) return 0;
    memcpy(&header, data, sizeof header);
    world.tables = data + sizeof header;
    size -= sizeof header;

    memset(&given, 0, sizeof given);
    given.eh_frame = take(&used, size, header.eh_size);
    given.debug_frame = take(&used, size, header.debug_size);
    given.eh_frame_hdr = take(&used, size, header.hdr_size);
    if ((header.wishes & WISH_HDR_ONLY) != 0) given.eh_frame.size = 0;
    if ((header.wishes & WISH_AS_LINKED) != 0) given.flags = USP_UNWIND_TABLES_AS_LINKED;
    given.slide = CODE;
    world.table_size = used;
    world.stack = world.tables + used;
    world.stack_size = size - used;

    usp_target_init(&target, 1 + header.arch % 5);
    target.os = header.os % 3;
    target.memory = memory;
    target.unwind_tables_at = tables_at;
    if ((header.wishes & WISH_BOUNDS) != 0) {
        target.stack_low = STACK;
        target.stack_high = STACK + world.stack_size + 1;
    }
    const struct uspi_backend *backend = uspi_backend_find(target.arch);
    if (uspi_dwarf_image_init(&image, &given, &memory, backend, target.os) == USP_OK) {
        if (image.has_eh) check_fdes(&image.eh), check_index(&image.eh);
        if (image.has_debug) check_fdes(&image.debug), check_index(&image.debug);
    }
    require(usp_registers_init(&registers, target.arch) == USP_OK);
    for (unsigned i = 0; i < backend->register_count; i++) registers.value[i] = STACK + 8 * (i % 4);
    registers.known = (UINT64_C(1) << backend->register_count) - 1;
    usp_registers_set_sp(&registers, STACK);
    usp_registers_set_pc(&registers, CODE + (header.pc & ~3u));
    check_walk(&target, &registers, (header.wishes & WISH_RECORDS) != 0 ? USP_READER_ALL : USP_READER_CFI);
    return 0;
}
