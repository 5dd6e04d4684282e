/* SPDX-License-Identifier: MIT */
/* Reads kernel panics of Apple's systems: .panic and panic-full-….ips (a string in JSON), and what the kernel writes to
 * a console.
 *
 *   panic(cpu 3 caller 0xfffffe0013823d64): "…" @AppleT811xPCIePort.cpp:1644
 *   Kernel UUID: 3E4B2638-BBC1-36F7-BEE0-D2E41D599E88
 *   Kernel text base:  0xfffffe001057c000
 *   Kernel text exec base:  0xfffffe0011cf8000              arm64 only
 *   Panicked thread: 0xfffffe1974044790, backtrace: 0xfffffe647feeb6c0, tid: 255
 *               lr: 0xfffffe0011d54ae0  fp: 0xfffffe647feeb750                                                arm64
 *   0xffffffa3dc85bb30 : 0xffffff7f8ca98278                                                                   Intel
 *   0xffffffa3dc85b9b0 : 0xffffff800b95d771 mach_kernel : _thread_unstop + 0x1771   Intel, boot argument keepsyms=1
 *         Kernel Extensions in backtrace:
 *            com.apple.driver.AppleT8112PCIe(1.0)[7AFC049A-8EBC-3031-A08F-634289536312]@0xfffffe001381fbf0->0x…
 *               dependency: com.apple.driver.AppleARMPlatform(1.0.2)[…]@0x…->0x…
 *
 * On Intel the kernel and its extensions are loaded as a whole, and offsets count from their load addresses. The boot
 * loader of arm64 puts the code of all of them together, apart from their other segments. Only where code begins is
 * known: "Kernel text exec base", and the addresses of extensions. So offsets count from the code (the segment
 * __TEXT_EXEC). Every address of a backtrace is a return address.
 * Sources: xnu osfmk/arm/model_dep.c, osfmk/i386/AT386/model_dep.c, libkern/c++/OSKext.cpp (printSummary); reports in
 * public issues. */
#include "lib/report/read/line.h"
#include "lib/report/read/shapes.h"

/* ---- addresses ---- */

/* Kernels of Apple's systems are in the highest 2 TB. */
#define KERNEL_LOWEST UINT64_C(0xfffffe0000000000)

/* Whether an address is one of an arm64 kernel: macOS has it at 0xfffffe00…, the other systems at 0xfffffff0…. Intel's
 * kernel is at 0xffffff80…, its extensions at 0xffffff7f…. */
static bool is_arm64(uint64_t address) { return address >> 36 == 0xfffffff || address >> 40 == 0xfffffe; }

/* ---- frames ---- */

/* Reads the name of a frame, "mach_kernel : _thread_unstop + 0x1771", or without the image. */
static void take_name(struct uspi_span line, size_t at, struct uspi_frame *frame) {
    static const struct uspi_span divider = USPI_SPAN_INIT(" : "), plus = USPI_SPAN_INIT(" + 0x");
    const struct uspi_span rest = uspi_span_trim_right(uspi_span_after(line, at));
    const size_t divided = uspi_span_find(rest, 0, divider);
    if (divided < rest.length) frame->image = uspi_span_part(rest, 0, divided);
    frame->name = divided < rest.length ? uspi_span_after(rest, divided + divider.length) : rest;
    /* An answer begins with a blank. */
    const size_t begin = (size_t)(frame->name.bytes - line.bytes);
    frame->replaced = uspi_span_part(line, begin - 1, begin + frame->name.length);
    frame->flags |= USPI_FRAME_NAMED;
    const size_t offset = uspi_span_find_last(frame->name, plus);
    size_t end = offset + plus.length - 2;
    if (offset == frame->name.length || !uspi_scan_hex(frame->name, &end, &frame->name_offset)) return;
    frame->flags |= USPI_FRAME_NAME_OFFSET;
    /* A source line may follow the offset. */
    frame->replaced.length = end + 1;
    frame->name.length = offset;
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0;
    uint64_t record;
    if (from > 0) return false;
    uspi_skip_blanks(line, &at);
    if (uspi_skip(line, &at, USPI_SPAN("lr: "))) {
        if (!uspi_scan_hex(line, &at, &frame->address)) return false;
        uspi_skip_blanks(line, &at);
        if (!uspi_skip(line, &at, USPI_SPAN("fp: ")) || !uspi_scan_hex(line, &at, &record)) return false;
    } else {
        if (!uspi_scan_hex(line, &at, &record) || record < KERNEL_LOWEST) return false;
        if (!uspi_skip(line, &at, USPI_SPAN(" : ")) || !uspi_scan_hex(line, &at, &frame->address)) return false;
    }
    frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_RETURN;
    frame->replaced = uspi_span_part(line, at, at);
    if (uspi_span_trim(uspi_span_after(line, at)).length == 0) return true;
    if (!uspi_is_blank(line.bytes[at])) return false;
    uspi_skip_blanks(line, &at);
    take_name(line, at, frame);
    return true;
}

/* Writes " name + 0x1f (file.c:12)", as the kernel writes names it knows. */
static void put_name(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                     uint32_t which) {
    uspi_put_string(out, " ");
    uspi_put_symbol_spaced_hex(out, frame, answer, which);
}

/* ---- the kernel and its extensions ---- */

/* The kernel's number among the modules of a list. Its UUID and its address are in different lines. */
#define KERNEL_MODULE UINT64_MAX

static bool take_address(struct uspi_span line, size_t at, uint64_t *address) {
    uspi_skip_blanks(line, &at);
    return uspi_scan_hex(line, &at, address) && *address >= KERNEL_LOWEST;
}

static bool find_kernel(struct uspi_span line, struct uspi_read_image *image) {
    size_t at = 0;
    image->is_scattered = true;
    image->module = KERNEL_MODULE;
    image->ident = USPI_SPAN("kernel");
    /* Another panic follows, of a kernel at another address. */
    if (uspi_span_begins(line, USPI_SPAN("panic(cpu "))) {
        image->module_is = USPI_MODULE_RESET;
        return true;
    }
    if (!uspi_skip(line, &at, USPI_SPAN("Kernel "))) return false;
    if (uspi_skip(line, &at, USPI_SPAN("UUID: "))) {
        image->module_is = USPI_MODULE_TOLD;
        image->id_size = uspi_scan_id(uspi_span_trim(uspi_span_after(line, at)), image->id, sizeof image->id);
        return image->id_size > 0;
    }
    const bool is_code = uspi_skip(line, &at, USPI_SPAN("text exec base:"));
    if (!is_code && !uspi_skip(line, &at, USPI_SPAN("text base:"))) return false;
    if (!take_address(line, at, &image->first) || is_arm64(image->first) != is_code) return false;
    image->last = UINT64_MAX;
    image->module_is = USPI_MODULE_PLACE;
    image->base = is_code ? USP_PLACE_TEXT : USP_PLACE_LOAD;
    return true;
}

/* Reads "com.apple.driver.AppleT8112PCIe(1.0)[UUID]@0x…->0x…". Extensions on which these depend are not in the
 * backtrace. */
static bool find_extension(struct uspi_span line, struct uspi_read_image *image) {
    const struct uspi_span text = uspi_span_trim(line);
    const size_t version = uspi_span_find(text, 0, USPI_SPAN("(")), open = uspi_span_find(text, 0, USPI_SPAN(")["));
    const size_t close = uspi_span_find(text, open, USPI_SPAN("]@0x"));
    size_t at = close + 2;
    if (close == text.length || version > open || version == 0) return false;
    image->ident = uspi_span_part(text, 0, version);
    if (uspi_span_has(image->ident, USPI_SPAN(" "))) return false;
    image->id_size = uspi_scan_id(uspi_span_part(text, open + 2, close), image->id, sizeof image->id);
    if (image->id_size == 0 || !uspi_scan_hex(text, &at, &image->first)) return false;
    if (!uspi_skip(text, &at, USPI_SPAN("->")) || !uspi_scan_hex(text, &at, &image->last)) return false;
    if (image->first < KERNEL_LOWEST || image->last < image->first) return false;
    image->is_scattered = true;
    image->base = is_arm64(image->first) ? USP_PLACE_TEXT : USP_PLACE_LOAD;
    return true;
}

/* ---- headings ---- */

/* Reads the process: "Panicked task 0x…: 0 pages, 563 threads: pid 0: kernel_task", or "BSD process name corresponding
 * to current thread: kernel_task", which has the thread's address in parentheses since macOS 11. */
static bool take_process(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_span task = USPI_SPAN_INIT("Panicked task "), pid = USPI_SPAN_INIT(": pid "),
                                  current = USPI_SPAN_INIT("rocess name corresponding to current thread");
    size_t at = uspi_span_find(line, 0, uspi_span_begins(line, task) ? pid : current);
    if (at < line.length) at = uspi_span_find(line, at + 1, USPI_SPAN(": "));
    if (at == line.length) return false;
    heading->kind = USPI_HEADING_FIELD;
    heading->field = USPI_FIELD_PROCESS;
    heading->value = uspi_span_trim(uspi_span_after(line, at + 2));
    return true;
}

static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("panic(cpu "), USPI_FIELD_EXCEPTION_TYPE, true},
        {USPI_SPAN_INIT("OS version:"), USPI_FIELD_OS_VERSION, false},
        {USPI_SPAN_INIT("Mac OS version:"), USPI_FIELD_OS_VERSION, false},
        {USPI_SPAN_INIT("Kernel version:"), USPI_FIELD_VERSION, false},
        {USPI_SPAN_INIT("System model name:"), USPI_FIELD_HARDWARE, false},
    };
    const size_t tid = uspi_span_find(line, 0, USPI_SPAN(", tid: "));
    size_t at = tid + 7;
    if (take_process(line, heading) || uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading))
        return true;
    if (uspi_span_begins(line, USPI_SPAN("Panicked thread: ")) && tid < line.length) {
        heading->kind = USPI_HEADING_THREAD;
        heading->flags = USPI_THREAD_CRASHED;
        if (uspi_scan_decimal(line, &at, &heading->id)) heading->flags |= USPI_THREAD_ID;
        return true;
    }
    if (uspi_span_begins(line, USPI_SPAN("Backtrace (CPU "))) {
        heading->kind = USPI_HEADING_STACK;
        heading->name = USPI_SPAN("Panicked thread");
        return true;
    }
    /* The first also ends the kernel's version, which has a line of its own on Intel. */
    if (!uspi_span_begins(line, USPI_SPAN("Kernel UUID:")) &&
        !uspi_span_begins(uspi_span_trim(line), USPI_SPAN("Kernel Extensions in backtrace:"))) {
        return false;
    }
    heading->kind = USPI_HEADING_END;
    return true;
}

const struct uspi_line_shape uspi_panic_lines = {
    .name = "apple-panic",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_0X | USPI_BEGINS_OTHER,
    .image_begins = USPI_BEGINS_OTHER,
    .frame = find_frame,
    .image = find_kernel,
    .heading = find_heading,
    .put = put_name,
};

const struct uspi_line_shape uspi_panic_extensions = {
    .name = "apple-panic",
    .image_bytes = USPI_HAS_X | USPI_HAS_PAREN | USPI_HAS_BRACKET,
    .image_begins = USPI_BEGINS_LETTER | USPI_BEGINS_M | USPI_BEGINS_OTHER,
    .image = find_extension,
};
