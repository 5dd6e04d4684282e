/* SPDX-License-Identifier: MIT */
/* Reads Mach-O cores as xnu, lldb and gcore write them: memory from LC_SEGMENT(_64), threads from LC_THREAD, the width
 * of addresses from LC_NOTE. macho_images.c finds the images in the memory.
 *
 * Sources: xnu bsd/kern/kern_core.c (what is written), osfmk/mach/arm/thread_status.h and
 * osfmk/mach/i386/thread_status.h (flavors and counts), osfmk/kern/kern_coredump.c and lldb's AddressableBits
 * ("addrable bits"). */
#include "lib/corefile/build.h"

#include <unspool/snapshot.h>

#include <inttypes.h>
#include <string.h>

#define ARM_THREAD_STATE  1
#define X86_THREAD_STATE  7
#define ARM_UNIFIED_COUNT 70
#define STATE_MAX         512

#define ADDRESS_BITS_NOTE "addrable bits"

/* Register files by the header's cputype, flavor and count. The kernel calls arm64_32 processes "arm": only the thread
 * state distinguishes them from armv7 (xnu bsd/kern/kern_core.c). */
static const struct {
    uint32_t cpu_type, flavor, count, arch;
} register_files[] = {
    {USPI_CPU_I386, 1, 16, USP_ARCH_I386},
    {USPI_CPU_X86_64, 4, 42, USP_ARCH_X86_64},
    {USPI_CPU_ARM, ARM_THREAD_STATE, 17, USP_ARCH_ARMV7},
    {USPI_CPU_ARM, 9, 17, USP_ARCH_ARMV7},
    {USPI_CPU_ARM, 6, 68, USP_ARCH_ARM64_32},
    {USPI_CPU_ARM64_32, 6, 68, USP_ARCH_ARM64_32},
    {USPI_CPU_ARM64, 6, 68, USP_ARCH_ARM64},
};

struct reading {
    struct uspi_core *core;
    struct uspi_macho macho;
    bool damaged;   /* load commands are missing or invalid */
    size_t faults;  /* number of threads whose exception state is a fault's */
    size_t faulted; /* the last of them */
};

static void damaged(struct reading *r, const struct uspi_error *error) {
    r->damaged = true;
    uspi_core_say(r->core, error->status == USP_ERROR_TRUNCATED ? USP_SNAPSHOT_TRUNCATED : 0, "%s", error->text);
}

/* ---- memory ---- */

static uint32_t access_of(uint32_t protection) {
    uint32_t access = 0;
    if ((protection & USPI_PROT_READ) != 0) access |= USPI_CORE_READ;
    if ((protection & USPI_PROT_WRITE) != 0) access |= USPI_CORE_WRITE;
    if ((protection & USPI_PROT_EXECUTE) != 0) access |= USPI_CORE_EXECUTE;
    return access;
}

static void add_segment(struct reading *r, const struct uspi_macho_command *command) {
    struct uspi_macho_segment segment;
    struct uspi_error error;
    if (uspi_macho_segment(command, &segment, &error) != USP_OK) {
        damaged(r, &error);
        return;
    }
    struct uspi_core_listed listed = {.low = segment.address,
                                      .size = segment.memory_size,
                                      .offset = segment.file_offset,
                                      .file_size = segment.file_size,
                                      .access = access_of(segment.protection),
                                      .last_address = command->kind == USPI_LC_SEGMENT_64 ? UINT64_MAX : UINT32_MAX};
    uspi_core_list_segment(r->core, &listed);
}

/* ---- threads ---- */

static bool unified(uint32_t cpu_type, const struct uspi_macho_state *state) {
    if (cpu_type == USPI_CPU_I386 || cpu_type == USPI_CPU_X86_64) return state->flavor == X86_THREAD_STATE;
    return state->flavor == ARM_THREAD_STATE && state->count == ARM_UNIFIED_COUNT;
}

/* Unwraps a unified state: {flavor, count}, then a state of that flavor. Returns false if it is invalid. */
static bool unwrap(struct uspi_macho_state *state) {
    uint8_t raw[8];
    if (uspi_bytes_read(state->bytes, 0, raw, sizeof raw, "thread state", NULL) != USP_OK) return false;
    state->flavor = uspi_le32(raw);
    state->count = uspi_le32(raw + 4);
    return uspi_bytes_array(state->bytes, (struct uspi_array){sizeof raw, state->count, 4, "thread state"},
                            &state->bytes, NULL) == USP_OK;
}

/* Reads the registers of a state. Returns false if the state is not one of register_files. */
static bool read_state(uint32_t cpu_type, struct uspi_macho_state state, struct usp_registers *registers) {
    uint8_t raw[STATE_MAX];
    if (unified(cpu_type, &state) && !unwrap(&state)) return false;
    for (size_t i = 0; i < sizeof register_files / sizeof *register_files; i++) {
        if (register_files[i].cpu_type != cpu_type || register_files[i].flavor != state.flavor ||
            register_files[i].count != state.count) {
            continue;
        }
        return uspi_bytes_read(state.bytes, 0, raw, (size_t)state.bytes.size, "thread state", NULL) == USP_OK &&
               usp_registers_from_state(registers, register_files[i].arch, USP_THREAD_STATE_MACH + state.flavor, raw,
                                        (size_t)state.bytes.size) == USP_OK;
    }
    return false;
}

/* Whether a state is the exception state of a fault. A core does not say which thread crashed, but has the exception
 * that each thread last entered the kernel by: a system call, unless it faulted. Sources: the flavors and structs of
 * osfmk/mach; exception classes of ESR_EL1 in the Arm Architecture Reference Manual; exceptions in the Intel SDM,
 * volume 3, 6.3.1. */
static bool is_fault(uint32_t cpu_type, const struct uspi_macho_state *state) {
    enum { ARM_EXCEPTION_STATE64 = 7, X86_EXCEPTION_STATE64 = 6, WORDS = 4, CLASS_SVC = 0x15 };
    uint8_t raw[WORDS * 4];
    if (state->count != WORDS || uspi_bytes_read(state->bytes, 0, raw, sizeof raw, "exception", NULL) != USP_OK) {
        return false;
    }
    if (cpu_type == USPI_CPU_X86_64) {
        const uint32_t trap = uspi_le32(raw) & 0xffff;
        /* Invalid opcode, segment, stack, protection, page, arithmetic and alignment faults, breakpoints. */
        return state->flavor == X86_EXCEPTION_STATE64 &&
               (trap == 3 || trap == 6 || (trap >= 11 && trap <= 14) || trap == 16 || trap == 17 || trap == 19);
    }
    const bool is_arm = cpu_type == USPI_CPU_ARM64 || cpu_type == USPI_CPU_ARM64_32 || cpu_type == USPI_CPU_ARM;
    const uint32_t esr = uspi_le32(raw + 8);
    return is_arm && state->flavor == ARM_EXCEPTION_STATE64 && esr != 0 && esr >> 26 != CLASS_SVC;
}

static void add_thread(struct reading *r, const struct uspi_macho_command *command) {
    struct uspi_core *core = r->core;
    struct uspi_macho_state state;
    struct uspi_error error;
    uint64_t offset = 0;
    int got;
    struct uspi_core_thread *thread = uspi_core_add_thread(core, core->thread_count + 1);
    if (thread == NULL) return;
    while ((got = uspi_macho_next_state(command, &offset, &state, &error)) > 0) {
        if (is_fault(r->macho.cpu_type, &state)) {
            r->faults++;
            r->faulted = core->thread_count - 1;
        }
        if (thread->status == USP_OK || !read_state(r->macho.cpu_type, state, &thread->registers)) continue;
        thread->status = USP_OK;
    }
    if (got < 0) damaged(r, &error);
    if (thread->status != USP_OK) {
        thread->status = USP_ERROR_UNSUPPORTED;
        uspi_core_say(core, 0, "%s: thread %" PRIu64 " has no register state that is known", core->path, thread->id);
        return;
    }
    /* The first thread state decides whether "arm" is armv7 or arm64_32. */
    if (core->arch == USP_ARCH_NONE) core->arch = thread->registers.arch;
    if (thread->registers.arch == core->arch) return;
    thread->status = USP_ERROR_FORMAT;
    uspi_core_say(core, 0, "%s: thread %" PRIu64 " has the registers of %s in a core of %s", core->path, thread->id,
                  usp_arch_string(thread->registers.arch), usp_arch_string(core->arch));
}

/* ---- notes ---- */

/* Reads the number of address bits. Version 3: {u32 version, u32 bits, u64 0}. Version 4: {u32 version, u32 bits of low
 * addresses, u32 bits of high addresses, u32 0}. */
static void read_note(struct reading *r, const struct uspi_macho_command *command) {
    struct uspi_macho_note note;
    struct uspi_error error;
    uint8_t raw[8];
    if (uspi_macho_note(&r->macho, command, &note, &error) != USP_OK) {
        damaged(r, &error);
        return;
    }
    if (strcmp(note.owner, ADDRESS_BITS_NOTE) != 0) return;
    if (uspi_bytes_read(note.bytes, 0, raw, sizeof raw, "number of address bits", &error) != USP_OK) {
        damaged(r, &error);
        return;
    }
    uint32_t version = uspi_le32(raw), bits = uspi_le32(raw + 4);
    if ((version == 3 || version == 4) && bits > 0 && bits <= 64) {
        r->core->address_bits = bits;
    } else {
        uspi_core_say(r->core, 0, "%s: version %" PRIu32 " of the number of address bits, %" PRIu32 ", is not known",
                      r->core->path, version, bits);
    }
}

/* ---- the whole core ---- */

static int read_commands(struct reading *r) {
    struct uspi_core *core = r->core;
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_command command;
    struct uspi_error error;
    int got;
    while (!core->out_of_memory && (got = uspi_macho_next(&r->macho, &cursor, &command, &error)) != 0) {
        if (got < 0) {
            damaged(r, &error);
            break;
        }
        switch (command.kind) {
        case USPI_LC_SEGMENT:
        case USPI_LC_SEGMENT_64: add_segment(r, &command); break;
        case USPI_LC_THREAD:
        case USPI_LC_UNIXTHREAD: add_thread(r, &command); break;
        case USPI_LC_NOTE: read_note(r, &command); break;
        default: break;
        }
    }
    uspi_core_seal_segments(core);
    return core->out_of_memory ? USP_ERROR_NO_MEMORY : USP_OK;
}

int uspi_core_read_macho(struct uspi_core *core, struct uspi_bytes bytes, struct uspi_error *error) {
    struct reading r = {.core = core};
    int status = uspi_macho_open(&r.macho, bytes, error);
    if (status != USP_OK) return status;
    if (r.macho.type != USPI_MH_CORE) {
        return uspi_bytes_error(error, bytes, 12, USP_ERROR_FORMAT, "a Mach-O file, but not a core");
    }
    if (r.macho.arch == USP_ARCH_NONE) {
        return uspi_bytes_error(error, bytes, 4, USP_ERROR_UNSUPPORTED,
                                "a core of cputype 0x%" PRIx32 " is not supported", r.macho.cpu_type);
    }
    core->os = USP_OS_DARWIN;
    core->arch = r.macho.cpu_type == USPI_CPU_ARM ? USP_ARCH_NONE : r.macho.arch;
    status = read_commands(&r);
    if (status != USP_OK) return status;
    if (core->arch == USP_ARCH_NONE) core->arch = r.macho.arch;
    if (r.faults == 1) core->crashed = r.faulted;
    struct uspi_image_list list = {0};
    status = uspi_core_macho_images(core, &list);
    if (status == USP_OK) status = uspi_image_list_seal(&list, &core->images);
    uspi_image_list_clear(&list);
    if (r.damaged) core->complete = false;
    return status;
}
