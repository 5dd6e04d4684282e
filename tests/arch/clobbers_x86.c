/* SPDX-License-Identifier: MIT */
/* Compares lengths and overwritten registers with Zydis's over all opcodes of all maps, with every ModRM and the usual
 * prefixes: also where emulated/effects_x86.c cannot go, because Unicorn knows neither AVX nor system instructions. Not
 * compared: effects, and instructions that Zydis refuses.
 *
 *   clobbers_x86 x86_64|i386
 * Exit status 1 when a length differs, or a register that Zydis says is written is neither in `clobbers` nor described.
 * Registers that are listed without need are counted. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "arch/backend.h"

#define BYTES 24

struct comparison {
    const struct uspi_backend *backend;
    ZydisMachineMode mode;
    ZydisDecoder decoder;
    unsigned long same, differ, refused, needless;
    uint32_t random;
};

/* Returns the backend's number of a general register or of a part of one, −1 for other registers. */
static int number_of(const struct comparison *c, ZydisRegister reg) {
    static const int low[8] = {0, 2, 1, 3, 7, 6, 4, 5};
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(c->mode, reg);
    if (whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_RDI) return low[whole - ZYDIS_REGISTER_RAX];
    if (whole >= ZYDIS_REGISTER_R8 && whole <= ZYDIS_REGISTER_R15) return 8 + (int)(whole - ZYDIS_REGISTER_R8);
    if (whole >= ZYDIS_REGISTER_EAX && whole <= ZYDIS_REGISTER_EDI) return (int)(whole - ZYDIS_REGISTER_EAX);
    return -1;
}

/* Instructions on which Zydis need not agree. sysenter and sysexit set rsp to the kernel's value. Zydis lists the
 * register that lwpins and lwpval read as written (AMD APM volume 3 lists it as a source). Knights Corner's own
 * instructions exist on no other processor. */
static bool is_excepted(const ZydisDecodedInstruction *i) {
    return i->mnemonic == ZYDIS_MNEMONIC_SYSENTER || i->mnemonic == ZYDIS_MNEMONIC_LWPINS ||
           i->mnemonic == ZYDIS_MNEMONIC_LWPVAL || i->meta.isa_ext == ZYDIS_ISA_EXT_KNC ||
           i->meta.isa_ext == ZYDIS_ISA_EXT_KNCE || i->meta.isa_ext == ZYDIS_ISA_EXT_KNCV;
}

static uint64_t written_registers(const struct comparison *c, const ZydisDecodedInstruction *i,
                                  const ZydisDecodedOperand *operands) {
    uint64_t written = 0;
    for (unsigned k = 0; k < i->operand_count; k++) {
        bool writes = operands[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      (operands[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
        int number = writes ? number_of(c, operands[k].reg.value) : -1;
        if (number >= 0) written |= UINT64_C(1) << number;
    }
    return written;
}

static void compare(struct comparison *c, const uint8_t *bytes) {
    ZydisDecodedInstruction i;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    struct uspi_instruction our = {.length = 0};
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&c->decoder, bytes, BYTES, &i, operands)) || is_excepted(&i)) {
        c->refused++;
        return;
    }
    bool decoded = c->backend->decode(bytes, BYTES, 0x10000, 0, &our);
    uint64_t ours = our.clobbers;
    for (unsigned k = 0; k < our.effect_count; k++) {
        if (our.effects[k].op != USPI_STORE) ours |= UINT64_C(1) << our.effects[k].reg;
    }
    uint64_t written = our.flow == USPI_CALL || our.flow == USPI_END ? 0 : written_registers(c, &i, operands);
    if (decoded && our.length == i.length && (written & ~ours) == 0) {
        c->same++;
        c->needless += (ours & ~written & ~(UINT64_C(1) << c->backend->pc)) != 0;
        return;
    }
    if (c->differ++ >= 20) return;
    printf("%s:", ZydisMnemonicGetString(i.mnemonic));
    for (unsigned k = 0; k < i.length; k++) printf(" %02x", bytes[k]);
    printf(": length %u, decoder %u; written %llx, decoder %llx\n", i.length, decoded ? our.length : 0u,
           (unsigned long long)written, (unsigned long long)ours);
}

static void fill(struct comparison *c, uint8_t *bytes, size_t n) {
    for (; n < BYTES; n++) {
        c->random = c->random * 1664525u + 1013904223u;
        bytes[n] = (uint8_t)(c->random >> 24);
    }
}

/* prefix… [REX] [0F | 0F 38 | 0F 3A] opcode ModRM */
static void compare_legacy(struct comparison *c) {
    static const char *const prefixes[] = {"",     "\x66",     "\xf2",     "\xf3", "\x67",
                                           "\x64", "\x66\xf2", "\x66\xf3", "\xf0", "\x3e"};
    static const char *const maps[] = {"", "\x0f", "\x0f\x38", "\x0f\x3a"};
    static const uint8_t rexes[] = {0, 0x40, 0x41, 0x42, 0x44, 0x48, 0x49, 0x4c, 0x4f};
    size_t rex_count = c->mode == ZYDIS_MACHINE_MODE_LONG_64 ? sizeof rexes : 1;
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++) {
        for (size_t r = 0; r < rex_count; r++) {
            for (unsigned k = 0; k < 4 << 16; k++) {
                uint8_t bytes[BYTES];
                const char *map = maps[k >> 16];
                size_t n = strlen(prefixes[p]);
                memcpy(bytes, prefixes[p], n);
                if (rexes[r] != 0) bytes[n++] = rexes[r];
                memcpy(bytes + n, map, strlen(map));
                n += strlen(map);
                bytes[n++] = (uint8_t)(k >> 8);
                bytes[n++] = (uint8_t)k;
                fill(c, bytes, n);
                compare(c, bytes);
            }
        }
    }
}

/* VEX, EVEX and XOP: every map, register extension, second byte and opcode, and a few ModRMs. */
static void compare_vector(struct comparison *c) {
    static const uint8_t first[] = {0xc4, 0x62, 0x8f};
    for (unsigned k = 0; k < 3 << 5; k++) {
        for (unsigned extension = 0; extension < 8; extension++) {
            for (unsigned m = 0; m < 1 << 18; m++) {
                bool evex = first[k >> 5] == 0x62;
                uint8_t second = (uint8_t)(extension << 5 | (k & 31));
                /* 32-bit mode lacks R and X: with these bits clear the bytes are another instruction. */
                if (c->mode != ZYDIS_MACHINE_MODE_LONG_64) second |= 0xc0;
                uint8_t bytes[BYTES] = {first[k >> 5], second, (uint8_t)(m >> 10)};
                size_t n = 3;
                if (evex) {
                    bytes[1] |= 0x10;
                    bytes[2] |= 4;
                    fill(c, bytes, n++);
                }
                bytes[n++] = (uint8_t)(m >> 2);
                fill(c, bytes, n);
                compare(c, bytes);
            }
        }
    }
}

int main(int argc, char **argv) {
    bool narrow = argc > 1 && strcmp(argv[1], "i386") == 0;
    struct comparison c = {.backend = narrow ? &uspi_i386 : &uspi_x86_64,
                           .mode = narrow ? ZYDIS_MACHINE_MODE_LEGACY_32 : ZYDIS_MACHINE_MODE_LONG_64};
    ZydisDecoderInit(&c.decoder, c.mode, narrow ? ZYDIS_STACK_WIDTH_32 : ZYDIS_STACK_WIDTH_64);
    compare_legacy(&c);
    compare_vector(&c);
    printf("%s: %lu instructions agree (%lu list more than is written), %lu differ, %lu are refused by Zydis\n",
           c.backend->name, c.same, c.needless, c.differ, c.refused);
    return c.differ != 0 || c.same == 0;
}
