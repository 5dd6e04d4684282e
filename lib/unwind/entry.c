/* SPDX-License-Identifier: MIT */
/* See entry.h. The kernel puts this on the first stack of a process (the System V ABI's process initialization):
 *
 *     | 0, 0 (AT_NULL)                |
 *     | auxiliary vector: type, value |  AT_ENTRY: the program's entry point
 *     | 0                             |
 *     | environment                   |
 *     | 0                             |
 *     | arguments                     |
 *     | their number                  |  the stack pointer at the entry point
 *     | return into the entry point   |  the first frames: a few hundred bytes
 *     | …                             |
 */
#include "lib/unwind/entry.h"

#include "lib/unwind/frame/return_address.h"
#include "lib/unwind/readers/decide.h"

/* Maximum numbers of slots between the frame and the number of arguments, of arguments and variables, and of entries of
 * the auxiliary vector (Linux has about 25). */
#define SLOTS   256u
#define STRINGS 8192u
#define ENTRIES 64u
/* Bytes of the code at the entry point. */
#define ENTRY_CODE 256u

/* Maximum number of instructions between clone's system call and the branch of the new thread. */
#define CLONE_MAX 4u
/* The register of a system call's result, on each processor. */
#define RESULT 0u

#define AUX_NULL  0u
#define AUX_PHDR  3u
#define AUX_PAGE  6u
#define AUX_ENTRY 9u

/* Skips pointers to strings, which are higher on the stack, and the 0 after them. */
static bool skip_strings(const struct uspi_walk *walk, usp_addr *at) {
    uint64_t word;
    for (unsigned i = 0; i < STRINGS && uspi_read_slot(walk, *at, &word); i++) {
        *at += walk->backend->slot;
        if (word == 0) return true;
        if (word < *at) return false;
    }
    return false;
}

/* Finds the entry point in the auxiliary vector. Returns 0 if there is none here. */
static usp_addr read_vector(const struct uspi_walk *walk, usp_addr at) {
    const unsigned slot = walk->backend->slot;
    usp_addr entry = 0;
    bool has_headers = false, has_page = false;
    uint64_t type, value;
    for (unsigned i = 0; i < ENTRIES; i++, at += 2u * slot) {
        if (!uspi_read_slot(walk, at, &type) || !uspi_read_slot(walk, at + slot, &value)) return 0;
        if (type == AUX_NULL) return has_headers && has_page ? entry : 0;
        if (type == AUX_ENTRY) entry = value;
        has_headers = has_headers || (type == AUX_PHDR && value != 0);
        has_page = has_page || (type == AUX_PAGE && value >= 4096 && (value & (value - 1)) == 0);
    }
    return 0;
}

/* Returns the entry point of the process if `count`, read below `at`, is its number of arguments; otherwise 0. */
static usp_addr entry_of(const struct uspi_walk *walk, usp_addr at, uint64_t count) {
    const usp_addr first = at;
    if (count >= STRINGS || !skip_strings(walk, &at)) return 0;
    if (at != first + (count + 1) * walk->backend->slot || !skip_strings(walk, &at)) return 0;
    return read_vector(walk, at);
}

USPI_APART bool uspi_calls_program(const struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    const unsigned slot = walk->backend->slot;
    struct uspi_code code;
    usp_addr at = (frame->low + slot - 1) & ~(usp_addr)(slot - 1), outer = 0, entry = 0;
    uint64_t word;
    if (walk->target.os != USP_OS_LINUX || frame->exact) return false;
    uspi_code_init(&code, walk->backend, uspi_code_memory(walk));
    for (unsigned i = 0; i < SLOTS && uspi_read_slot(walk, at, &word); i++, at += slot) {
        entry = entry_of(walk, at + slot, word);
        if (entry != 0) break;
        const struct uspi_return_address ra = uspi_judge_return_address(walk, &code, word);
        if (ra.credit == USPI_REFUTED) continue;
        if (outer != 0 && outer != ra.pc) return false;
        outer = ra.pc;
    }
    return entry != 0 && (outer == 0 || outer - entry < ENTRY_CODE);
}

USPI_APART bool uspi_begins_process(const struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    const unsigned slot = walk->backend->slot;
    uint64_t count;
    /* A call that pushes nothing leaves the stack pointer to the callee. */
    if (walk->target.os != USP_OS_LINUX || (frame->exact && walk->backend->call_push == 0)) return false;
    if (frame->low % slot != 0) return false;
    return uspi_read_slot(walk, frame->low, &count) && entry_of(walk, frame->low + slot, count) != 0;
}

/* Whether a table states that the code at pc has no caller. */
static bool is_outermost(const struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr pc) {
    struct uspi_walk other = *walk;
    struct uspi_frame_state at = *frame;
    struct uspi_step step;
    other.needs_root = true;
    usp_registers_set_pc(&at.registers, pc);
    return !uspi_find_caller(&other, &at, NULL, USP_READER_TABLES, &step) && step.is_settled &&
           step.stop == USP_STOP_ROOT;
}

USPI_APART bool uspi_begins_thread(const struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    struct uspi_code code;
    struct uspi_instruction i;
    const bool is_new = frame->exact && uspi_known(&frame->registers, RESULT) && frame->registers.value[RESULT] == 0;
    if (!is_new || walk->target.os != USP_OS_LINUX) return false;
    usp_addr pc = uspi_pc_of(walk, frame);
    uint32_t mode = uspi_frame_mode(walk, frame);
    uspi_code_init(&code, walk->backend, uspi_code_memory(walk));
    for (unsigned n = 0; n < CLONE_MAX && uspi_code_decode(&code, pc, mode, &i); n++) {
        if (i.flow == USPI_BRANCH && is_outermost(walk, frame, i.target)) return true;
        if (i.flow != USPI_BRANCH && i.flow != USPI_NEXT) return false;
        pc += i.length;
        mode = i.mode;
    }
    return false;
}
