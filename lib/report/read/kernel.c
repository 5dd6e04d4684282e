/* SPDX-License-Identifier: MIT */
/* Reads Linux's kernel log: faults of programs, and stacks of the kernel itself.
 *
 *   prog[8800]: segfault at 8 ip 000056395a266234 sp 00007fff060c20a0 error 6 in prog[1234,56395a266000+1000] likely …
 *   traps: prog[5384] trap invalid opcode ip:560868a23d33 sp:7ffc0fc7bb28 error:0 in prog[d33,560868a23000+1000]
 *   [   12.345678]  ? 0xffffffff81234567
 *   [   12.345678]  nft_do_chain+0x1f6/0x620 [nf_tables]
 *   [   12.345678]  [<ffffffff81234567>] 0xffffffff81234567
 *   [   12.345678] RIP: 0010:0xffffffff81234567
 *   [   12.345678] RIP: 0010:do_one_initcall+0x41/0x1c0
 *   [   12.345678] Kernel Offset: 0x1a000000 from 0xffffffff81000000 (relocation range: 0x…-0x…)
 *
 * After "in", kernels since 6.4 write the offset in the file, then the mapping (mm/memory.c print_vma_addr). The kernel
 * writes its own functions' names if it knows them; an address without a name is in vmlinux.
 * Sources: the running kernel; linux Documentation/admin-guide/bug-hunting.rst, arch/x86/kernel/setup.c. */
#include "lib/report/read/line.h"

/* ---- programs ---- */

static bool find_fault(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    static const struct uspi_span marks[] = {USPI_SPAN_INIT(" ip "), USPI_SPAN_INIT(" ip:")};
    size_t ip = line.length, open, at;
    uint64_t start, size;
    if (from > 0) return false;
    for (size_t i = 0; i < 2 && ip == line.length; i++) ip = uspi_span_find(line, 0, marks[i]);
    if (ip == line.length || !uspi_span_has(line, USPI_SPAN(" error"))) return false;
    at = ip + 4;
    if (!uspi_scan_hex_digits(line, &at, &frame->address)) return false;
    at = uspi_span_find(line, at, USPI_SPAN(" in "));
    open = uspi_span_find(line, at, USPI_SPAN("["));
    if (open == line.length || open < at + 5) return false;
    frame->image = uspi_span_part(line, at + 4, open);
    at = open + 1;
    if (!uspi_scan_hex_digits(line, &at, &start)) return false;
    frame->offset = start;
    frame->base = USP_PLACE_FILE;
    if (uspi_skip(line, &at, USPI_SPAN(","))) {
        if (!uspi_scan_hex_digits(line, &at, &start)) return false;
    } else {
        if (start > frame->address) return false;
        frame->offset = frame->address - start;
        frame->base = USP_PLACE_TEXT;
    }
    if (!uspi_skip(line, &at, USPI_SPAN("+")) || !uspi_scan_hex_digits(line, &at, &size)) return false;
    if (!uspi_skip(line, &at, USPI_SPAN("]"))) return false;
    frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_OFFSET | USPI_FRAME_CALL_SITE | USPI_FRAME_ONE_LINE;
    frame->replaced = uspi_span_part(line, at, at);
    if (!uspi_skip(line, &at, USPI_SPAN(" ("))) return true;
    /* A name that put_fault has written. */
    const size_t plus = uspi_span_find(line, at, USPI_SPAN("+0x"));
    const size_t close = uspi_span_find(line, plus < line.length ? plus : at, USPI_SPAN(")"));
    frame->name = uspi_span_part(line, at, close);
    frame->replaced = uspi_span_part(line, at, close < line.length ? close + 1 : close);
    frame->flags |= USPI_FRAME_NAMED;
    uspi_take_name_offset(line, frame);
    return true;
}

static void put_fault(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                      uint32_t which) {
    (void)frame;
    uspi_put_string(out, " (");
    uspi_put_source_name(out, answer, which);
    if (uspi_has_source_offset(answer, which)) {
        uspi_put_string(out, "+");
        uspi_put_hex(out, answer->offset, 1);
    }
    uspi_put_string(out, ")");
    uspi_put_source_line(out, answer, which);
}

static bool fault_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct {
        struct uspi_span mark;
        size_t skipped; /* bytes of the mark that do not belong to the event */
    } events[] = {
        {USPI_SPAN_INIT(": segfault at "), 2},
        {USPI_SPAN_INIT("] trap "), 2},
        {USPI_SPAN_INIT("] general protection "), 2},
        {USPI_SPAN_INIT("BUG: "), 0},
        {USPI_SPAN_INIT("Oops: "), 0},
        {USPI_SPAN_INIT("Unable to handle kernel "), 0},
        {USPI_SPAN_INIT("kernel BUG at "), 0},
        {USPI_SPAN_INIT("Kernel panic - "), 0},
        {USPI_SPAN_INIT("general protection fault"), 0},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        size_t at = uspi_span_find(line, 0, events[i].mark);
        if (at == line.length) continue;
        heading->kind = USPI_HEADING_FIELD;
        heading->field = USPI_FIELD_EXCEPTION_TYPE;
        heading->value = uspi_span_trim(uspi_span_after(line, at + events[i].skipped));
        return true;
    }
    if (!uspi_span_has(line, USPI_SPAN("Call Trace:")) && !uspi_span_has(line, USPI_SPAN("Call trace:"))) return false;
    heading->kind = USPI_HEADING_STACK;
    heading->name = USPI_SPAN("kernel");
    return true;
}

const struct uspi_line_shape uspi_kernel_faults = {
    .name = "linux-kernel",
    .frame_bytes = USPI_HAS_BRACKET | USPI_HAS_PLUS,
    .frame = find_fault,
    .heading = fault_heading,
    .put = put_fault,
};

/* ---- the kernel itself ---- */

/* Lowest address of code of the kernel. */
#define KERNEL_LOWEST UINT64_C(0xffff000000000000)

/* The text before a program counter, and the name of the register. */
static const struct {
    struct uspi_span text, name;
} counters[] = {
    {USPI_SPAN_INIT("RIP: 0010:"), USPI_SPAN_INIT("RIP")}, {USPI_SPAN_INIT("pc : "), USPI_SPAN_INIT("pc")},
    {USPI_SPAN_INIT("PC is at "), USPI_SPAN_INIT("PC")},   {USPI_SPAN_INIT("RIP: "), USPI_SPAN_INIT("RIP")},
    {USPI_SPAN_INIT("EIP: "), USPI_SPAN_INIT("EIP")},
};

/* Returns the position after the time that the log writes, and after the texts with which frames and program counters
 * begin. *counter becomes the name of the program counter; without one it is not changed. */
static size_t begin_of_address(struct uspi_span line, struct uspi_span *counter) {
    static const struct uspi_span callers[] = {USPI_SPAN_INIT("lr : "), USPI_SPAN_INIT("LR is at ")};
    size_t at = 0, close;
    uspi_skip_blanks(line, &at);
    if (uspi_span_has_at(line, at, USPI_SPAN("["))) {
        close = uspi_span_find(line, at, USPI_SPAN("]"));
        if (close < line.length && !uspi_span_has_at(line, at, USPI_SPAN("[<"))) at = close + 1;
    }
    uspi_skip_blanks(line, &at);
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        if (!uspi_skip(line, &at, counters[i].text)) continue;
        *counter = counters[i].name;
        break;
    }
    for (size_t i = 0; i < 2; i++) uspi_skip(line, &at, callers[i]);
    uspi_skip(line, &at, USPI_SPAN("? "));
    while (uspi_skip(line, &at, USPI_SPAN("[<"))) {
        close = uspi_span_find(line, at, USPI_SPAN(">]"));
        at = close < line.length ? close + 2 : line.length;
        uspi_skip_blanks(line, &at);
        uspi_skip(line, &at, USPI_SPAN("? "));
    }
    return at;
}

static bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '<' || c == '$' || c == '.';
}

/* Reads "NAME+0x41/0x1c0 [MODULE]" at `at`. The size is missing if a reader wrote the name. arm64 may write remarks
 * about the frame at the end of the line, in parentheses. */
static bool take_named(struct uspi_span line, size_t at, struct uspi_frame *frame) {
    const struct uspi_span word = uspi_scan_word(line, &at);
    if (word.length == 0 || !begins_name(word.bytes[0])) return false;
    const size_t slash = uspi_span_find_last(word, USPI_SPAN("/0x"));
    size_t size_at = slash + 1;
    uint64_t size;
    const bool has_size = slash < word.length && uspi_scan_hex(word, &size_at, &size) && size_at == word.length;
    frame->name = frame->replaced = has_size ? uspi_span_part(word, 0, slash) : word;
    frame->image = USPI_SPAN("vmlinux");
    frame->flags |= USPI_FRAME_NAMED;
    uspi_take_name_offset(line, frame);
    struct uspi_span rest = uspi_span_trim(uspi_span_after(line, at));
    if (uspi_span_begins(rest, USPI_SPAN("["))) {
        size_t name = 1;
        frame->image = uspi_scan_word(rest, &name);
        if (uspi_span_ends(frame->image, USPI_SPAN("]"))) frame->image.length--;
    } else if (rest.length > 0 && rest.bytes[0] != '(') {
        return false;
    }
    return (frame->flags & USPI_FRAME_NAME_OFFSET) != 0 && frame->name.length > 0;
}

static bool find_kernel(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    struct uspi_span counter = {"", 0};
    size_t begin = begin_of_address(line, &counter), at = begin;
    const bool is_exact = counter.length > 0;
    if (from > 0 || begin == 0) return false;
    if (is_exact) frame->flags |= USPI_FRAME_CALL_SITE;
    if (!uspi_scan_hex(line, &at, &frame->address)) return take_named(line, begin, frame);
    if (frame->address < KERNEL_LOWEST) return false;
    if (at < line.length && !uspi_is_blank(line.bytes[at])) return false;
    if (uspi_span_trim(uspi_span_after(line, at)).length > 0) return false;
    frame->replaced = uspi_span_part(line, begin, at);
    frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_OFFSET | USPI_FRAME_GUESS;
    frame->image = USPI_SPAN("vmlinux");
    frame->base = USP_PLACE_LINKED;
    frame->offset = frame->address;
    return true;
}

static bool kernel_heading(struct uspi_span line, struct uspi_heading *heading) {
    begin_of_address(line, &heading->name);
    heading->kind = USPI_HEADING_STACK;
    return heading->name.length > 0;
}

/* Reads how far the kernel was moved from the address that it was linked for. */
static bool find_offset(struct uspi_span line, struct uspi_read_image *image) {
    static const struct uspi_span mark = USPI_SPAN_INIT("Kernel Offset: ");
    size_t at = uspi_span_find(line, 0, mark);
    uint64_t moved;
    if (at == line.length) return false;
    at += mark.length;
    if (!uspi_scan_hex(line, &at, &moved) || !uspi_skip(line, &at, USPI_SPAN(" from "))) return false;
    if (!uspi_scan_hex(line, &at, &image->base_offset)) return false;
    image->first = image->base_offset + moved;
    if (image->first < KERNEL_LOWEST) return false;
    image->last = UINT64_MAX;
    image->ident = image->path = USPI_SPAN("vmlinux");
    image->base = USP_PLACE_LINKED;
    return true;
}

const struct uspi_line_shape uspi_kernel_stacks = {
    .name = "linux-kernel",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_0X | USPI_BEGINS_BRACKET | USPI_BEGINS_LETTER | USPI_BEGINS_OTHER,
    .image_bytes = USPI_HAS_X | USPI_HAS_PAREN,
    .frame = find_kernel,
    .heading = kernel_heading,
    .image = find_offset,
    .put = uspi_put_symbol_hex,
};
