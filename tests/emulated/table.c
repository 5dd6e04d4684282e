/* SPDX-License-Identifier: MIT */
/* See table.h. */
#include "table.h"

#include "arch/frame.h"
#include "lib/object/elf.h"
#include "lib/object/macho_unwind_info.h"
#include "lib/unwind/frame/apply.h"

#define PT_ARM_EXIDX 0x70000001u /* ELF for the Arm Architecture, 5.2 */

static int read_memory(void *context, usp_addr from, void *to, size_t n) {
    return machine_read(context, from, to, n) ? USP_OK : USP_ERROR_UNREADABLE;
}

static void find_compact(struct table *t) {
    const struct image *image = t->machine->image;
    struct uspi_macho macho;
    struct uspi_unwind_starts starts;
    /* The pages before the header are not memory of the image. */
    for (usp_addr at = image->low; at < image->high; at += IMAGE_PAGE) {
        const struct uspi_bytes bytes = uspi_bytes_at(&t->source, at);
        if (uspi_macho_open(&macho, bytes, NULL) != USP_OK) continue;
        if (uspi_unwind_starts(&macho, &starts, NULL) != USP_OK) return;
        t->compact = (struct uspi_compact_table){
            .backend = t->machine->backend, .image = at, .text = bytes, .section = starts.info.bytes};
        t->kind = TABLE_COMPACT;
        return;
    }
}

static void find_ehabi(struct table *t) {
    struct uspi_elf elf;
    struct uspi_elf_segment index;
    const struct uspi_bytes bytes = uspi_bytes_at(&t->source, t->machine->image->low);
    if (uspi_elf_open_image(&elf, bytes, NULL) != USP_OK ||
        uspi_elf_find_segment(&elf, PT_ARM_EXIDX, &index, NULL) != USP_OK) {
        return;
    }
    t->ehabi = (struct uspi_ehabi_table){.image = bytes,
                                         .base = bytes.from,
                                         .index = index.address - elf.header_address + bytes.from,
                                         .index_size = index.memory_size};
    t->kind = TABLE_EHABI;
}

void table_begin(struct table *t, const struct machine *machine, uint64_t address_mask) {
    memset(t, 0, sizeof *t);
    t->machine = machine;
    t->address_mask = address_mask;
    t->memory = (struct usp_memory){read_memory, (void *)machine};
    t->source = uspi_source_of_memory(&t->memory, "program");
    t->score.name = "table";
    if (machine->image->os == USP_OS_DARWIN) {
        find_compact(t);
    } else if (machine->image->arch == USP_ARCH_ARMV7) {
        find_ehabi(t);
    }
}

/* Applies the rule to the registers and compares the result with the true frame and its caller's registers. */
static const char *check_rule(const struct table *t, const struct uspi_rule *rule, const struct moment *now,
                              const struct truth_frame *frame, const struct usp_registers *of_caller) {
    const struct uspi_backend *b = t->machine->backend;
    struct uspi_walk walk = {.backend = b, .strip_mask = t->address_mask};
    struct uspi_frame_state state = {.registers = now->registers, .exact = true, .sp_known = true};
    struct uspi_applied applied;
    const struct usp_registers *caller = &applied.caller;
    walk.target.memory = t->memory;
    if (b->has_async) state.registers.value[b->fp] &= ~USPI_FP_TAG_MASK;
    if (!uspi_apply_rule(&walk, &state, rule, &applied)) return "the rule cannot be applied";
    if (caller->value[b->sp] != frame->cfa) return "the CFA";
    usp_addr ra = applied.return_address & t->address_mask;
    if ((b->has_thumb ? ra & ~UINT64_C(1) : ra) != frame->return_address) return "the return address";
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        uint64_t expected = of_caller->value[reg] & b->word_mask;
        if ((b->callee_saved >> reg & 1) == 0) continue;
        if (reg == b->fp && b->has_async) expected &= ~USPI_FP_TAG_MASK;
        if (!uspi_known(caller, reg) || caller->value[reg] != expected) return usp_register_name(b->arch, reg);
    }
    return NULL;
}

static enum uspi_described look_up(const struct table *t, usp_addr pc, struct uspi_table_entry *entry) {
    return t->kind == TABLE_COMPACT ? uspi_compact_find(&t->compact, pc, entry, NULL)
                                    : uspi_ehabi_find(&t->ehabi, pc, entry, NULL);
}

void table_check(struct table *t, const struct truth *truth, const struct moment *now) {
    struct uspi_table_entry entry;
    if (t->kind == TABLE_NONE || truth->depth == 0) return;
    struct table_frame *frame = &t->frames[truth->depth - 1];
    /* The last place is reserved for the call. */
    unsigned i = frame->check_count < TABLE_CHECKS_MAX ? frame->check_count++ : TABLE_CHECKS_MAX - 1;
    struct table_check *check = &frame->checks[i];
    *check = (struct table_check){.pc = now->pc, .answer = look_up(t, now->pc, &entry)};
    if (check->answer == USPI_DESCRIBED) {
        check->wrong = check_rule(t, &entry.rule, now, &truth->frames[truth->depth - 1], &frame->of_caller);
    } else if (check->answer == USPI_TABLE_CORRUPT) {
        check->wrong = "the table is called corrupt";
    }
}

static void count(struct table *t, const struct table_check *check) {
    if (check->answer == USPI_DESCRIBED_BY_CFI) {
        t->by_cfi++;
    } else if (check->answer == USPI_NOT_DESCRIBED || check->answer == USPI_CANNOT_UNWIND) {
        t->not_described++;
    } else {
        t->described++;
        t->score.verdicts[check->wrong == NULL ? VERDICT_EXACT : VERDICT_WRONG]++;
        if (check->wrong != NULL) score_miss(&t->score, check->pc, check->wrong);
    }
}

/* Counts the instructions of a body. Until its first call a function may be in its prologue. */
static void count_body(struct table *t, struct table_frame *frame, usp_addr call) {
    unsigned i = frame->has_called || frame->check_count == 0 ? 0 : frame->check_count - 1;
    if (!frame->has_called && frame->check_count > 0 && frame->checks[i].pc != call) i++;
    for (; i < frame->check_count; i++) count(t, &frame->checks[i]);
    frame->has_called = true;
    frame->check_count = 0;
}

static void begin_function(struct table_frame *frame, const struct image_symbol *function) {
    frame->function = function;
    frame->has_called = false;
    frame->check_count = 0;
}

void table_step(struct table *t, const struct truth *truth, const struct moment *before, const struct moment *now) {
    if (t->kind == TABLE_NONE || truth->depth == 0) return;
    const struct image_symbol *function = truth->frames[truth->depth - 1].function;
    struct table_frame *frame = &t->frames[truth->depth - 1];
    if (before == NULL || truth->called) {
        frame->of_caller = before != NULL ? before->registers : now->registers;
        begin_function(frame, function);
        if (truth->called && truth->depth >= 2) count_body(t, frame - 1, before->pc);
    } else if (frame->function != function || (function != NULL && now->pc == function->start)) {
        /* A tail call: the pc came through an epilogue and is in a prologue now. */
        begin_function(frame, function);
    }
}
