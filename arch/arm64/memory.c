/* SPDX-License-Identifier: MIT */
/* Decodes A64 loads and stores, as far as they matter to stacks, for arm64 and arm64_32. decode.c decodes all other
 * instructions and names the source of the encodings. */
#include "arch/arm64/fields.h"

/* ---- effects on memory ---- */

static void load(struct decoding *d, unsigned reg, unsigned base, int64_t offset, unsigned bytes) {
    if (reg == ZERO_REGISTER) return;
    if (holds_pointer(d, bytes))
        uspi_add_effect(d->out, USPI_LOAD, reg, base, offset);
    else
        clobber(d, reg);
}

/* Stores something unknown to `bytes` bytes at base + offset. */
static void overwrite(struct decoding *d, unsigned base, int64_t offset, unsigned bytes) {
    int64_t word = d->ilp32 ? 4 : 8, end = offset + bytes;
    for (int64_t at = offset & ~(word - 1); at < end; at += word)
        uspi_add_effect(d->out, USPI_STORE, USPI_NO_REGISTER, base, at);
}

static void store(struct decoding *d, unsigned reg, unsigned base, int64_t offset, unsigned bytes) {
    if (reg != ZERO_REGISTER && holds_pointer(d, bytes))
        uspi_add_effect(d->out, USPI_STORE, reg, base, offset);
    else
        overwrite(d, base, offset, bytes);
}

/* ---- by group ---- */

/* ldxr, stxr, ldaxr, stlr, cas, casp … and their unprivileged forms */
static bool exclusive(struct decoding *d) {
    bool unprivileged = bit(d, 24), ordered = bit(d, 23), is_load = bit(d, 22), pair = bit(d, 21);
    unsigned size = bits(d, 30, 2), bytes = 1u << size, status = rm(d), compared = rm(d);
    bool swap = ordered && pair, swap_pair = !ordered && pair && size < 2;
    if (unprivileged) {
        if (pair) return false;
        swap = ordered && bit(d, 31);
        swap_pair = ordered && !bit(d, 31);
    }

    if (swap) {
        clobber(d, compared);
        overwrite(d, rn(d), 0, bytes);
    } else if (swap_pair) {
        if (compared % 2 != 0) return false;
        clobber(d, compared);
        clobber(d, compared + 1);
        overwrite(d, rn(d), 0, (size & 1) != 0 ? 16 : 8);
    } else if (ordered) {
        if (is_load)
            load(d, rt(d), rn(d), 0, bytes);
        else
            store(d, rt(d), rn(d), 0, bytes);
    } else if (pair) {
        clobber(d, is_load ? rt(d) : status);
        if (is_load)
            clobber(d, rt2(d));
        else
            overwrite(d, rn(d), 0, 2 * bytes);
    } else if (is_load) {
        load(d, rt(d), rn(d), 0, bytes);
    } else {
        clobber(d, status);
        overwrite(d, rn(d), 0, bytes);
    }
    return true;
}

static bool simd_structures(struct decoding *d) {
    bool single = bit(d, 24), post_index = bit(d, 23), is_load = bit(d, 22);
    unsigned bytes;
    if (bit(d, 31)) return false;
    if (single) {
        unsigned kind = bits(d, 14, 2), elements = (bits(d, 13, 1) << 1 | bits(d, 21, 1)) + 1;
        unsigned size = bits(d, 10, 2);
        if (kind < 2) size = kind;
        if (kind == 2) size = (size & 1) != 0 ? 3 : 2;
        bytes = elements << size;
    } else {
        /* by opcode: ld4 -, ld1 of four -, ld3 -, ld1 of three, of one, ld2 -, ld1 of two */
        static const uint8_t registers[16] = {4, 0, 4, 0, 3, 0, 3, 1, 2, 0, 2};
        if (bit(d, 21)) return false;
        bytes = registers[bits(d, 12, 4)] * (bit(d, 30) ? 16u : 8u);
        if (bytes == 0) return false;
    }
    if (!is_load) overwrite(d, rn(d), 0, bytes);
    if (post_index && rm(d) == 31)
        set_sum(d, rn(d), rn(d), bytes);
    else if (post_index)
        set_two_registers(d, rn(d), rn(d), rm(d), false);
    return true;
}

static bool load_literal(struct decoding *d) {
    unsigned kind = bits(d, 30, 2);
    bool vector = bit(d, 26), prefetch = kind == 3;
    usp_addr at = address(d, d->pc + (uint64_t)(signed_bits(d, 5, 19) * 4));
    if (!prefetch) d->out->data = at;
    if (vector) return kind != 3;
    if (prefetch || rt(d) == ZERO_REGISTER) return true;
    if (holds_pointer(d, kind == 1 ? 8 : 4))
        uspi_add_effect(d->out, USPI_LITERAL, rt(d), USPI_NO_REGISTER, (int64_t)at);
    else
        clobber(d, rt(d));
    return true;
}

/* cpy…, set…: the registers keep the address and size of the remaining work */
static bool memory_copy(struct decoding *d) {
    bool set = bits(d, 22, 2) == 3;
    clobber(d, rd(d));
    clobber(d, rn(d));
    if (!set) clobber(d, rm(d));
    return true;
}

static void index_base(struct decoding *d, int64_t value) { set_sum(d, rn(d), rn(d), value); }

/* stg, ldg, …: the memory tags of 16 bytes */
static bool memory_tags(struct decoding *d) {
    enum { WITHOUT_OFFSET, POST, OFFSET, PRE };
    unsigned mode = bits(d, 10, 2), operation = bits(d, 22, 2);
    int64_t offset = signed_bits(d, 12, 9) * 16;
    if (mode == WITHOUT_OFFSET) {
        if (bit(d, 22)) clobber(d, rt(d)); /* ldg, ldgm; stzgm and stgm are undefined for applications */
        return true;
    }
    bool zeroes = bit(d, 22), pair = operation >= 2;
    if (zeroes) overwrite(d, rn(d), mode == POST ? 0 : offset, pair ? 32 : 16);
    if (mode != OFFSET) index_base(d, offset);
    return true;
}

/* swpp, ldclrp, ldsetp; swpt, ldtadd …; rcwcas, rcwcasp */
static bool atomic_pair(struct decoding *d) {
    enum { PAIR, UNPRIVILEGED, CAS, CAS_PAIR };
    if (bit(d, 31)) return false;
    unsigned kind = bits(d, 10, 2);
    switch (kind) {
    case PAIR:
        clobber(d, rt(d));
        clobber(d, rm(d));
        break;
    case UNPRIVILEGED: clobber(d, rt(d)); break;
    case CAS: clobber(d, rm(d)); break;
    default:
        if (rm(d) % 2 != 0) return false;
        clobber(d, rm(d));
        clobber(d, rm(d) + 1);
    }
    overwrite(d, rn(d), 0, kind == PAIR || kind == CAS_PAIR ? 16 : 8);
    return true;
}

/* ldiapp, stilp; ldapr and stlr with write-back. Loads pop and stores push: the base moves by the size of the
 * transfer. */
static bool ordered_index(struct decoding *d) {
    bool is_load = bit(d, 22), single = bit(d, 23), indexed = single || bits(d, 12, 4) == 0;
    if (!bit(d, 31)) return false;
    unsigned bytes = 1u << bits(d, 30, 2);
    int64_t size = single ? bytes : 2 * (int64_t)bytes, access = indexed && !is_load ? -size : 0;
    if (is_load) {
        clobber(d, rt(d));
        if (!single) clobber(d, rm(d));
    } else {
        store(d, rt(d), rn(d), access, bytes);
        if (!single) store(d, rm(d), rn(d), access + bytes, bytes);
    }
    if (indexed) index_base(d, is_load ? size : -size);
    return true;
}

/* The common part of loads and stores of one register: the transfer, without the indexing of the base. */
static bool transfer(struct decoding *d, int64_t offset) {
    enum { STORE, LOAD, LOAD_SIGNED, LOAD_SIGNED_W };
    bool vector = bit(d, 26);
    unsigned size = bits(d, 30, 2), operation = bits(d, 22, 2), bytes = 1u << size;
    if (vector) {
        bool quad = operation >= 2, is_load = (operation & 1) != 0;
        if (quad && size != 0) return false;
        if (!is_load) overwrite(d, rn(d), offset, quad ? 16 : bytes);
        return true;
    }
    bool prefetch = size == 3 && operation == LOAD_SIGNED;
    if (size >= 2 && operation == LOAD_SIGNED_W) return false;
    if (operation == STORE)
        store(d, rt(d), rn(d), offset, bytes);
    else if (!prefetch)
        load(d, rt(d), rn(d), offset, bytes);
    return true;
}

/* Loads that are CONSTRAINED UNPREDICTABLE: one register twice, or the base that the same instruction indexes. */
static bool forget(struct decoding *d, unsigned first, unsigned second, bool indexed) {
    clobber(d, first);
    clobber(d, second);
    if (indexed) clobber_or_sp(d, rn(d));
    return true;
}

static bool unscaled_offset(struct decoding *d) {
    enum { OFFSET, POST, UNPRIVILEGED, PRE };
    unsigned mode = bits(d, 10, 2);
    int64_t offset = signed_bits(d, 12, 9);
    bool vector = bit(d, 26), indexed = mode == POST || mode == PRE;
    bool prefetch = !vector && bits(d, 30, 2) == 3 && bits(d, 22, 2) == 2;
    if ((vector && mode == UNPRIVILEGED) || (prefetch && mode != OFFSET)) return false;
    bool is_load = bits(d, 22, 2) != 0;
    if (!vector && is_load && indexed && rt(d) == rn(d) && rn(d) != SP) return forget(d, rt(d), rt(d), indexed);
    if (!transfer(d, mode == POST ? 0 : offset)) return false;
    if (indexed) index_base(d, offset);
    return true;
}

static bool unsigned_offset(struct decoding *d) {
    bool quad = bit(d, 26) && bit(d, 23);
    return transfer(d, (int64_t)bits(d, 10, 12) << (quad ? 4 : bits(d, 30, 2)));
}

static bool register_offset(struct decoding *d) {
    bool vector = bit(d, 26), prefetch = bits(d, 30, 2) == 3 && bits(d, 22, 2) >= 2, is_load = bits(d, 22, 2) != 0;
    if (!vector && is_load && !prefetch) clobber(d, rt(d));
    return true;
}

/* swp, ldadd …, ldapr, ld64b, st64b */
static bool atomic(struct decoding *d) {
    enum { ST64B = 9, ST64BV0, ST64BV, LDAPR, LD64B };
    bool vector = bit(d, 26), loads_only = false;
    unsigned bytes = 1u << bits(d, 30, 2);
    if (!vector) {
        bool block = bytes == 8 && bits(d, 22, 2) == 0;
        unsigned operation = bits(d, 12, 4);
        if (block && (operation == ST64B || operation == ST64BV || operation == ST64BV0)) {
            if (operation != ST64B) clobber(d, rm(d));
            overwrite(d, rn(d), 0, 64);
            return true;
        }
        if (block && operation == LD64B) {
            for (unsigned i = 0; i < 8; i++) clobber(d, (rt(d) + i) % 32);
            return true;
        }
        loads_only = operation == LDAPR;
        clobber(d, rt(d));
    }
    if (!loads_only) overwrite(d, rn(d), 0, bytes);
    return true;
}

/* ldraa, ldrab */
static bool load_authenticated(struct decoding *d) {
    if (bits(d, 30, 2) != 3 || bit(d, 26)) return false;
    clobber(d, rt(d));
    if (bit(d, 11)) clobber_or_sp(d, rn(d));
    return true;
}

static bool register_pair(struct decoding *d) {
    enum { NO_ALLOCATE, POST, OFFSET, PRE };
    unsigned kind = bits(d, 30, 2), mode = bits(d, 23, 2), base = rn(d), first = rt(d), second = rt2(d);
    bool vector = bit(d, 26), is_load = bit(d, 22), indexed = mode == POST || mode == PRE;
    unsigned bytes = kind == 0 ? 4 : 8;
    unsigned scale = bytes;
    if (vector) {
        bytes = scale = kind == 3 ? 16 : 4u << kind;
    } else if (kind == 1) {
        bytes = is_load ? 4 : 8; /* ldpsw, stgp */
        scale = is_load ? 4 : 16;
        if (mode == NO_ALLOCATE) return false;
    }
    int64_t offset = signed_bits(d, 15, 7) * (int64_t)scale, access = mode == POST ? 0 : offset;

    if (vector) {
        if (!is_load) overwrite(d, base, access, 2 * bytes);
    } else if (is_load) {
        bool indexed_and_loaded = indexed && base != SP && (first == base || second == base);
        if (indexed_and_loaded || first == second) return forget(d, first, second, indexed);
        /* Both addresses come from the base's old value. */
        if (first == base) load(d, second, base, access + bytes, bytes);
        load(d, first, base, access, bytes);
        if (first != base) load(d, second, base, access + bytes, bytes);
    } else {
        store(d, first, base, access, bytes);
        store(d, second, base, access + bytes, bytes);
    }
    if (indexed) index_base(d, offset);
    return true;
}

/* Bits 29:28 are 1, bit 24 is set: instructions added after the first version of the architecture. */
static bool later_loads_and_stores(struct decoding *d) {
    enum { ORDERED, COPY, INDEXED, GUARDED };
    bool vector = bit(d, 26), block = bit(d, 21);
    unsigned kind = bits(d, 10, 2);
    if (block) {
        if (vector) return false;
        return bits(d, 30, 2) == 3 ? memory_tags(d) : atomic_pair(d);
    }
    if (kind == COPY) return memory_copy(d);
    if (vector) return kind == INDEXED && transfer(d, signed_bits(d, 12, 9));
    if (kind == ORDERED) return transfer(d, signed_bits(d, 12, 9));
    if (kind == GUARDED) { /* gcsstr, gcssttr */
        store(d, rt(d), rn(d), 0, 8);
        return bits(d, 30, 2) == 3;
    }
    return kind == INDEXED && ordered_index(d);
}

bool uspi_arm64_loads_and_stores(struct decoding *d) {
    bool vector = bit(d, 26), upper = bit(d, 24);
    switch (bits(d, 28, 2)) {
    case 0: return vector ? simd_structures(d) : exclusive(d);
    case 1: return upper ? later_loads_and_stores(d) : load_literal(d);
    case 2: return register_pair(d);
    default: break;
    }
    if (upper) return unsigned_offset(d);
    if (!bit(d, 21)) return unscaled_offset(d);
    switch (bits(d, 10, 2)) {
    case 0: return atomic(d);
    case 2: return register_offset(d);
    default: return load_authenticated(d);
    }
}
