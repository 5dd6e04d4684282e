/* SPDX-License-Identifier: MIT */
/* See dwarf_row.h. */
#include "lib/unwind/tables/dwarf_row.h"
#include "lib/unwind/tables/dwarf_cursor.h"

/* Maximum number of states that are remembered at a time. GCC and LLVM remember one. */
#define REMEMBERED_MAX 6u
/* Maximum number of instructions up to a pc. Large functions have thousands. */
#define STEPS (1u << 17)

enum opcode {
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_MIPS_ADVANCE_LOC8 = 0x1d,
    CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
    CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* other processors: GNU_window_save */
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    CFA_ADVANCE_LOC = 0x40, /* this opcode and the next two have an operand in the low six bits */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0
};

struct machine {
    const struct uspi_dwarf_section *section;
    const struct uspi_dwarf_fde *fde;
    struct uspi_dwarf_cursor in; /* the instructions */
    usp_addr pc, location;
    bool has_initial;  /* the CIE's instructions were executed */
    bool has_undone;   /* an instruction has restored an earlier state */
    bool finds_undone; /* the program ends when has_undone becomes true */
    unsigned remembered_count;
    struct uspi_dwarf_row *row;
    struct uspi_dwarf_row initial;
    struct uspi_dwarf_row remembered[REMEMBERED_MAX];
};

/* Converts a number to an offset of 32 bits. Fails if it does not fit, because no frame is so large. */
static int32_t narrow(struct machine *m, int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) return (int32_t)value;
    uspi_dwarf_fail(&m->in, USP_ERROR_FORMAT);
    return 0;
}

static int32_t narrow_unsigned(struct machine *m, uint64_t value) {
    return narrow(m, value <= INT32_MAX ? (int64_t)value : INT64_MAX);
}

static int32_t factored(struct machine *m, int64_t value) {
    int64_t align = m->fde->cie.data_align;
    /* Both fit into 32 bits, so the product fits into 64. */
    return narrow(m, (int64_t)narrow(m, value) * narrow(m, align));
}

static int32_t factored_unsigned(struct machine *m, uint64_t value) { return factored(m, narrow_unsigned(m, value)); }

static void advance(struct machine *m, uint64_t delta) {
    uint64_t bytes;
    if (!uspi_product(delta, m->fde->cie.code_align, &bytes) || !uspi_sum(m->location, bytes, &m->location)) {
        uspi_dwarf_fail(&m->in, USP_ERROR_FORMAT);
    }
}

static void set_location(struct machine *m) {
    usp_addr location = uspi_dwarf_take_pointer(&m->in, m->fde->cie.encoding, m->fde->start);
    if (m->in.status != USP_OK) return;
    if (location < m->location) uspi_dwarf_fail(&m->in, USP_ERROR_FORMAT);
    m->location = location;
}

unsigned uspi_dwarf_column(const struct uspi_dwarf_section *section, const struct uspi_dwarf_cie *cie, uint64_t reg) {
    const struct uspi_backend *b = section->backend;
    if (section->swaps_sp_and_fp && (reg == b->sp || reg == b->fp)) reg = reg == b->sp ? b->fp : b->sp;
    if (reg < b->register_count) return (unsigned)reg;
    return reg == cie->return_column ? USPI_DWARF_REGISTERS : USPI_NO_REGISTER;
}

static void put(struct machine *m, uint64_t reg, uint8_t how, int32_t offset, uint32_t length) {
    unsigned column = uspi_dwarf_column(m->section, &m->fde->cie, reg);
    if (column == USPI_NO_REGISTER || m->in.status != USP_OK) return;
    m->row->places[column] = (struct uspi_dwarf_recovery){how, offset, length};
}

static void put_register(struct machine *m, uint64_t reg, uint64_t source) {
    unsigned column = uspi_dwarf_column(m->section, &m->fde->cie, source);
    /* The source is a register that walks do not restore. */
    bool lost = column >= USPI_DWARF_REGISTERS;
    put(m, reg, lost ? USPI_DWARF_UNDEFINED : USPI_DWARF_IN_REGISTER, lost ? 0 : (int32_t)column, 0);
}

static void restore(struct machine *m, uint64_t reg) {
    unsigned column = uspi_dwarf_column(m->section, &m->fde->cie, reg);
    if (!m->has_initial) {
        uspi_dwarf_fail(&m->in, USP_ERROR_FORMAT);
    } else if (column != USPI_NO_REGISTER) {
        m->row->places[column] = m->initial.places[column];
        m->has_undone = true;
    }
}

static void skip_block(struct machine *m, int32_t *offset, uint32_t *length) {
    uint64_t size = uspi_dwarf_take_uleb(&m->in);
    struct uspi_bytes block;
    *offset = narrow_unsigned(m, m->in.at);
    *length = (uint32_t)narrow_unsigned(m, size);
    if (m->in.status == USP_OK)
        m->in.status = uspi_bytes_sub(m->in.within.bytes, m->in.at, size, "expression", &block, NULL);
    if (m->in.status == USP_OK) m->in.at += size;
}

static void put_expression(struct machine *m, uint8_t how) {
    uint64_t reg = uspi_dwarf_take_uleb(&m->in);
    int32_t offset;
    uint32_t length;
    skip_block(m, &offset, &length);
    put(m, reg, how, offset, length);
}

static void set_cfa_register(struct machine *m, uint64_t reg) {
    unsigned column = uspi_dwarf_column(m->section, &m->fde->cie, reg);
    if (m->in.status != USP_OK) return;
    if (column >= USPI_DWARF_REGISTERS) {
        uspi_dwarf_fail(&m->in, USP_ERROR_UNSUPPORTED);
        return;
    }
    m->row->cfa_register = (uint8_t)column;
}

static void define_cfa(struct machine *m, int32_t offset) {
    m->row->cfa_is_known = true;
    m->row->cfa_is_expression = false;
    m->row->cfa_offset = offset;
}

/* An instruction that changes only the CFA's register or offset needs the other one. */
static void need_cfa_pair(struct machine *m) {
    if (!m->row->cfa_is_known || m->row->cfa_is_expression) uspi_dwarf_fail(&m->in, USP_ERROR_FORMAT);
}

static bool has_initial_cfa(const struct machine *m) {
    return !m->row->cfa_is_expression && m->row->cfa_register == m->initial.cfa_register &&
           m->row->cfa_offset == m->initial.cfa_offset;
}

static void step_cfa(struct machine *m, uint8_t op) {
    bool had_frame = m->has_initial && !has_initial_cfa(m);
    switch (op) {
    case CFA_DEF_CFA:
        set_cfa_register(m, uspi_dwarf_take_uleb(&m->in));
        define_cfa(m, narrow_unsigned(m, uspi_dwarf_take_uleb(&m->in)));
        break;
    case CFA_DEF_CFA_SF:
        set_cfa_register(m, uspi_dwarf_take_uleb(&m->in));
        define_cfa(m, factored(m, uspi_dwarf_take_sleb(&m->in)));
        break;
    case CFA_DEF_CFA_REGISTER:
        need_cfa_pair(m);
        set_cfa_register(m, uspi_dwarf_take_uleb(&m->in));
        break;
    case CFA_DEF_CFA_OFFSET:
        need_cfa_pair(m);
        m->row->cfa_offset = narrow_unsigned(m, uspi_dwarf_take_uleb(&m->in));
        break;
    case CFA_DEF_CFA_OFFSET_SF:
        need_cfa_pair(m);
        m->row->cfa_offset = factored(m, uspi_dwarf_take_sleb(&m->in));
        break;
    default:
        skip_block(m, &m->row->cfa_offset, &m->row->cfa_length);
        m->row->cfa_is_known = true;
        m->row->cfa_is_expression = true;
    }
    m->has_undone |= had_frame && has_initial_cfa(m);
}

static void remember(struct machine *m) {
    if (m->remembered_count == REMEMBERED_MAX) {
        uspi_dwarf_fail(&m->in, USP_ERROR_FORMAT);
    } else {
        m->remembered[m->remembered_count++] = *m->row;
    }
}

static void recall(struct machine *m) {
    if (m->remembered_count == 0) {
        uspi_dwarf_fail(&m->in, USP_ERROR_FORMAT);
    } else {
        *m->row = m->remembered[--m->remembered_count];
        m->has_undone = true;
    }
}

static void negate_signed(struct machine *m) {
    if (m->section->backend->has_signatures) {
        m->row->is_signed = !m->row->is_signed;
    } else {
        uspi_dwarf_fail(&m->in, USP_ERROR_UNSUPPORTED);
    }
}

/* Executes an instruction whose opcode is all eight bits. */
static void step_extended(struct machine *m, uint8_t op) {
    uint64_t reg;
    switch (op) {
    case CFA_NOP: break;
    case CFA_SET_LOC: set_location(m); break;
    case CFA_ADVANCE_LOC1: advance(m, uspi_dwarf_take(&m->in, 1)); break;
    case CFA_ADVANCE_LOC2: advance(m, uspi_dwarf_take(&m->in, 2)); break;
    case CFA_ADVANCE_LOC4: advance(m, uspi_dwarf_take(&m->in, 4)); break;
    case CFA_MIPS_ADVANCE_LOC8: advance(m, uspi_dwarf_take(&m->in, 8)); break;
    case CFA_RESTORE_EXTENDED: restore(m, uspi_dwarf_take_uleb(&m->in)); break;
    case CFA_UNDEFINED: put(m, uspi_dwarf_take_uleb(&m->in), USPI_DWARF_UNDEFINED, 0, 0); break;
    case CFA_SAME_VALUE: put(m, uspi_dwarf_take_uleb(&m->in), USPI_DWARF_SAME, 0, 0); break;
    case CFA_REGISTER:
        reg = uspi_dwarf_take_uleb(&m->in);
        put_register(m, reg, uspi_dwarf_take_uleb(&m->in));
        break;
    case CFA_OFFSET_EXTENDED:
        reg = uspi_dwarf_take_uleb(&m->in);
        put(m, reg, USPI_DWARF_AT_CFA, factored_unsigned(m, uspi_dwarf_take_uleb(&m->in)), 0);
        break;
    case CFA_OFFSET_EXTENDED_SF:
        reg = uspi_dwarf_take_uleb(&m->in);
        put(m, reg, USPI_DWARF_AT_CFA, factored(m, uspi_dwarf_take_sleb(&m->in)), 0);
        break;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        reg = uspi_dwarf_take_uleb(&m->in);
        put(m, reg, USPI_DWARF_AT_CFA, factored(m, -(int64_t)narrow_unsigned(m, uspi_dwarf_take_uleb(&m->in))), 0);
        break;
    case CFA_VAL_OFFSET:
        reg = uspi_dwarf_take_uleb(&m->in);
        put(m, reg, USPI_DWARF_IS_CFA, factored_unsigned(m, uspi_dwarf_take_uleb(&m->in)), 0);
        break;
    case CFA_VAL_OFFSET_SF:
        reg = uspi_dwarf_take_uleb(&m->in);
        put(m, reg, USPI_DWARF_IS_CFA, factored(m, uspi_dwarf_take_sleb(&m->in)), 0);
        break;
    case CFA_EXPRESSION: put_expression(m, USPI_DWARF_EXPRESSION); break;
    case CFA_VAL_EXPRESSION: put_expression(m, USPI_DWARF_VALUE_EXPRESSION); break;
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_SF:
    case CFA_DEF_CFA_REGISTER:
    case CFA_DEF_CFA_OFFSET:
    case CFA_DEF_CFA_OFFSET_SF:
    case CFA_DEF_CFA_EXPRESSION: step_cfa(m, op); break;
    case CFA_REMEMBER_STATE: remember(m); break;
    case CFA_RESTORE_STATE: recall(m); break;
    case CFA_GNU_ARGS_SIZE: uspi_dwarf_take_uleb(&m->in); break; /* matters to landing pads only */
    case CFA_AARCH64_NEGATE_RA_STATE:
    case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC: negate_signed(m); break;
    default: uspi_dwarf_fail(&m->in, USP_ERROR_UNSUPPORTED);
    }
}

static void step(struct machine *m) {
    uint8_t op = (uint8_t)uspi_dwarf_take(&m->in, 1), low = op & 0x3f;
    switch (op & 0xc0) {
    case CFA_ADVANCE_LOC: advance(m, low); break;
    case CFA_OFFSET: put(m, low, USPI_DWARF_AT_CFA, factored_unsigned(m, uspi_dwarf_take_uleb(&m->in)), 0); break;
    case CFA_RESTORE: restore(m, low); break;
    default: step_extended(m, op);
    }
}

/* Executes instructions until one leads beyond the pc, or to the end. */
static void run(struct machine *m, uint64_t from, uint64_t to) {
    m->in = uspi_dwarf_cursor(m->section, from, to);
    for (unsigned steps = 0; m->in.status == USP_OK && m->in.at < to && m->location <= m->pc; steps++) {
        if (m->finds_undone && m->has_undone) break;
        if (steps == STEPS) uspi_dwarf_fail(&m->in, USP_ERROR_FORMAT);
        step(m);
    }
}

static void begin_program(struct machine *m, const struct uspi_dwarf_section *section, const struct uspi_dwarf_fde *fde,
                          usp_addr pc, struct uspi_dwarf_row *row) {
    /* Only the first part is cleared: the rows are written before they are read. */
    memset(m, 0, offsetof(struct machine, initial));
    memset(row, 0, sizeof *row);
    m->section = section;
    m->fde = fde;
    m->pc = pc;
    m->location = fde->start;
    m->row = row;
    run(m, fde->cie.instructions, fde->cie.end);
    m->initial = *row;
    m->has_initial = true;
    m->remembered_count = 0;
    /* A CIE's instructions do not change the location. */
    m->location = fde->start;
}

int uspi_dwarf_row(const struct uspi_dwarf_section *section, const struct uspi_dwarf_fde *fde, usp_addr pc,
                   struct uspi_dwarf_row *row) {
    struct machine m;
    begin_program(&m, section, fde, pc, row);
    if (m.in.status == USP_OK) run(&m, fde->instructions, fde->instructions_end);
    return m.in.status;
}

enum uspi_dwarf_extent uspi_dwarf_extent(const struct uspi_dwarf_section *section, const struct uspi_dwarf_fde *fde) {
    struct uspi_dwarf_row row;
    struct machine m;
    begin_program(&m, section, fde, fde->start, &row);
    if (m.in.status == USP_OK) run(&m, fde->instructions, fde->instructions_end);
    if (m.in.status == USP_OK && !has_initial_cfa(&m)) return USPI_DWARF_PART;
    m.pc = UINT64_MAX;
    /* What follows an undone state does not matter. */
    m.finds_undone = true;
    if (m.in.status == USP_OK) run(&m, m.in.at, fde->instructions_end);
    bool is_whole = m.in.status != USP_OK || m.has_undone || has_initial_cfa(&m);
    return is_whole ? USPI_DWARF_WHOLE : USPI_DWARF_BODY;
}
