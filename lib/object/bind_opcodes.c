/* SPDX-License-Identifier: MIT */
/* See bind_opcodes.h. */
#include "lib/object/bind_opcodes.h"

#define IMMEDIATE_MASK 0x0f
#define BIND_OFFSET    16 /* dyld_info_command.bind_off; bind_size follows */

enum opcode {
    DONE = 0x00,
    SET_DYLIB_ORDINAL_IMM = 0x10,
    SET_DYLIB_ORDINAL_ULEB = 0x20,
    SET_DYLIB_SPECIAL_IMM = 0x30,
    SET_SYMBOL_TRAILING_FLAGS_IMM = 0x40,
    SET_TYPE_IMM = 0x50,
    SET_ADDEND_SLEB = 0x60,
    SET_SEGMENT_AND_OFFSET_ULEB = 0x70,
    ADD_ADDR_ULEB = 0x80,
    DO_BIND = 0x90,
    DO_BIND_ADD_ADDR_ULEB = 0xa0,
    DO_BIND_ADD_ADDR_IMM_SCALED = 0xb0,
    DO_BIND_ULEB_TIMES_SKIPPING_ULEB = 0xc0
};

struct machine {
    const struct uspi_macho_space *space;
    uspi_bind_visit visit;
    void *context;
    struct uspi_error *error;
    struct uspi_bytes code;
    uint64_t at; /* in code */
    unsigned width;
    usp_addr location;
    uint64_t name;
    bool has_name;
    const struct uspi_macho_range *segment;
    uint64_t left; /* how many more binds are accepted */
};

static int refuse(const struct machine *m, const char *what) {
    return uspi_bytes_error(m->error, m->code, m->at, USP_ERROR_FORMAT, "bind opcodes: %s", what);
}

static int number(struct machine *m, uint64_t *value) {
    return uspi_bytes_uleb(m->code, &m->at, value, "bind opcode", m->error);
}

static int bind_once(struct machine *m) {
    const struct uspi_macho_range *segment = m->segment;
    if (segment == NULL || !m->has_name) return refuse(m, "a bind without a place or a name");
    if (m->left == 0) return refuse(m, "more binds than the file has bytes");
    m->left--;
    bool is_inside =
        m->location >= segment->low && m->location < segment->high && segment->high - m->location >= m->width;
    if (!is_inside) return refuse(m, "a place outside of its segment");
    int status = m->visit(m->context, m->location, m->name, m->error);
    m->location += m->width;
    return status;
}

static int bind_times(struct machine *m) {
    uint64_t count, skip;
    int status = number(m, &count);
    if (status == USP_OK) status = number(m, &skip);
    while (status == USP_OK && count-- > 0) {
        status = bind_once(m);
        m->location += skip;
    }
    return status;
}

static int set_segment(struct machine *m, uint32_t segment) {
    uint64_t offset;
    int status = number(m, &offset);
    if (status != USP_OK) return status;
    if (segment >= m->space->segment_count) return refuse(m, "a segment that does not exist");
    m->segment = &m->space->segments[segment];
    m->location = m->segment->low + offset;
    return USP_OK;
}

static int set_name(struct machine *m) {
    uint64_t byte;
    m->name = m->code.from - m->space->macho.bytes.from + m->at;
    m->has_name = true;
    do {
        int status = uspi_bytes_load(m->code, m->at, 1, &byte, "imported name", m->error);
        if (status != USP_OK) return status;
        m->at++;
    } while (byte != 0);
    return USP_OK;
}

static int add_address(struct machine *m) {
    uint64_t distance;
    int status = number(m, &distance);
    if (status == USP_OK) m->location += distance;
    return status;
}

static int carry_out(struct machine *m, uint8_t opcode, uint8_t immediate) {
    uint64_t ignored;
    int status;
    switch (opcode) {
    case SET_DYLIB_ORDINAL_IMM:
    case SET_DYLIB_SPECIAL_IMM:
    case SET_TYPE_IMM: return USP_OK;
    case SET_DYLIB_ORDINAL_ULEB: return number(m, &ignored);
    /* Read as an unsigned number, which has the same length as a signed one and the same limit of 64 bits. */
    case SET_ADDEND_SLEB: return number(m, &ignored);
    case SET_SYMBOL_TRAILING_FLAGS_IMM: return set_name(m);
    case SET_SEGMENT_AND_OFFSET_ULEB: return set_segment(m, immediate);
    case ADD_ADDR_ULEB: return add_address(m);
    case DO_BIND: return bind_once(m);
    case DO_BIND_ADD_ADDR_ULEB: status = bind_once(m); return status == USP_OK ? add_address(m) : status;
    case DO_BIND_ADD_ADDR_IMM_SCALED:
        status = bind_once(m);
        m->location += (uint64_t)immediate * m->width;
        return status;
    case DO_BIND_ULEB_TIMES_SKIPPING_ULEB: return bind_times(m);
    default: return refuse(m, "an opcode that does not exist");
    }
}

static int find_opcodes(const struct uspi_macho_space *space, struct uspi_bytes *code, struct uspi_error *error) {
    struct uspi_macho_command command;
    int status = uspi_macho_find(&space->macho, USPI_LC_DYLD_INFO_ONLY, &command, error);
    if (status == USP_ERROR_NOT_FOUND) status = uspi_macho_find(&space->macho, USPI_LC_DYLD_INFO, &command, error);
    if (status != USP_OK) return status;
    uint8_t raw[8];
    status = uspi_bytes_read(command.bytes, BIND_OFFSET, raw, sizeof raw, "LC_DYLD_INFO", error);
    if (status != USP_OK) return status;
    return uspi_macho_part(&space->macho, uspi_le32(raw), uspi_le32(raw + 4), "bind opcodes", code, error);
}

int uspi_bind_opcodes_walk(const struct uspi_macho_space *space, uspi_bind_visit visit, void *context,
                           struct uspi_error *error) {
    struct machine m = {.space = space, .visit = visit, .context = context, .error = error};
    int status = find_opcodes(space, &m.code, error);
    if (status == USP_ERROR_NOT_FOUND) return USP_OK;
    m.width = space->macho.wide ? 8 : 4;
    m.left = space->macho.bytes.size;
    while (status == USP_OK && m.at < m.code.size) {
        uint64_t byte;
        status = uspi_bytes_load(m.code, m.at, 1, &byte, "bind opcode", error);
        if (status != USP_OK) break;
        m.at++;
        uint8_t immediate = byte & IMMEDIATE_MASK, opcode = (uint8_t)(byte - immediate);
        if (opcode == DONE) break;
        status = carry_out(&m, opcode, immediate);
    }
    return status;
}
