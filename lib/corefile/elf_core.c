/* SPDX-License-Identifier: MIT */
/* Reads ELF cores as Linux and qemu-user write them: memory from PT_LOAD, threads and the process from PT_NOTE.
 * elf_images.c finds the images in the memory.
 *
 * Sources: Linux fs/binfmt_elf.c (order of the notes, NT_FILE), include/linux/elfcore.h and elfcore-compat.h
 * (elf_prstatus, elf_prpsinfo), include/uapi/linux/elf.h and auxvec.h. */
#include "lib/corefile/build.h"

#include <unspool/snapshot.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NT_PRSTATUS     1
#define NT_PRPSINFO     3
#define NT_AUXV         6
#define NT_ARM_PAC_MASK 0x406
#define NT_SIGINFO      0x53494749
#define NT_FILE         0x46494c45

#define AT_PHDR         3
#define AT_PHNUM        5
#define AT_BASE         7
#define AT_ENTRY        9
#define AT_EXECFN       31
#define AT_SYSINFO_EHDR 33

/* Offsets in elf_prstatus of pr_cursig, pr_pid and pr_reg; TAIL: size of pr_fpvalid with its padding, after the
 * registers. */
#define PRSTATUS_SIGNAL       12
#define PRSTATUS_PID_64       32
#define PRSTATUS_PID_32       24
#define PRSTATUS_REGISTERS_64 112
#define PRSTATUS_REGISTERS_32 72
#define PRSTATUS_TAIL_64      8
#define PRSTATUS_TAIL_32      4

/* elf_prpsinfo ends, on every processor, with pid, ppid, pgrp, sid, fname[16], psargs[80]. The fields before differ in
 * the width of the user and group ids. Distances from the end: */
#define PRPSINFO_PID  112
#define PRPSINFO_NAME 96
#define NAME          16

/* Maximum size of NT_FILE. The kernel's limit is 16 MB at most (Linux fs/coredump.c, core_file_note_size_limit). */
#define FILE_NOTE_MAX (64u << 20)

#define DELETED " (deleted)"

struct reading {
    struct uspi_core *core;
    struct uspi_elf elf;
    unsigned word;
    struct uspi_core_process process;
    char *paths;    /* the strings of NT_FILE */
    bool in_thread; /* an NT_PRSTATUS was read: per-thread notes belong to the last thread */
    bool named;     /* NT_PRPSINFO had a name */
    char name[NAME + 1];
};

/* ---- memory ---- */

static uint32_t access_of(uint32_t flags) {
    uint32_t access = 0;
    if ((flags & USPI_PF_R) != 0) access |= USPI_CORE_READ;
    if ((flags & USPI_PF_W) != 0) access |= USPI_CORE_WRITE;
    if ((flags & USPI_PF_X) != 0) access |= USPI_CORE_EXECUTE;
    return access;
}

static int read_segments(struct reading *r, struct uspi_error *error) {
    struct uspi_elf_segment segment;
    for (uint64_t i = 0; i < r->elf.segment_count; i++) {
        int status = uspi_elf_segment(&r->elf, i, &segment, error);
        if (status != USP_OK) return status;
        if (segment.type != USPI_PT_LOAD) continue;
        struct uspi_core_listed listed = {.low = segment.address,
                                          .size = segment.memory_size,
                                          .offset = segment.offset,
                                          .file_size = segment.file_size,
                                          .access = access_of(segment.flags),
                                          .last_address = r->elf.wide ? UINT64_MAX : UINT32_MAX};
        uspi_core_list_segment(r->core, &listed);
        if (r->core->out_of_memory) return USP_ERROR_NO_MEMORY;
    }
    uspi_core_seal_segments(r->core);
    return USP_OK;
}

/* ---- notes ---- */

static void damaged(struct reading *r, const struct uspi_error *error) {
    uspi_core_say(r->core, error->status == USP_ERROR_TRUNCATED ? USP_SNAPSHOT_TRUNCATED : 0, "%s", error->text);
}

static int read_status(struct reading *r, struct uspi_bytes desc) {
    struct uspi_error error;
    uint8_t raw[512];
    size_t pid_at = r->elf.wide ? PRSTATUS_PID_64 : PRSTATUS_PID_32;
    size_t registers_at = r->elf.wide ? PRSTATUS_REGISTERS_64 : PRSTATUS_REGISTERS_32;
    size_t tail = r->elf.wide ? PRSTATUS_TAIL_64 : PRSTATUS_TAIL_32;
    size_t n = desc.size < sizeof raw ? (size_t)desc.size : sizeof raw;
    int status = uspi_bytes_read(desc, 0, raw, n, "NT_PRSTATUS", &error);
    if (status == USP_OK && n < registers_at) {
        status = uspi_bytes_error(&error, desc, 0, USP_ERROR_FORMAT, "an NT_PRSTATUS of %zu bytes", n);
    }
    if (status != USP_OK) {
        damaged(r, &error);
        return USP_OK;
    }
    struct uspi_core_thread *thread = uspi_core_add_thread(r->core, uspi_le32(raw + pid_at));
    if (thread == NULL) return USP_ERROR_NO_MEMORY;
    thread->signal = uspi_le16(raw + PRSTATUS_SIGNAL);
    if (r->core->signal == 0 && thread->signal != 0) {
        r->core->signal = thread->signal;
        r->core->crashed = r->core->thread_count - 1;
    }
    size_t registers = n - registers_at < tail ? 0 : n - registers_at - tail;
    thread->status = usp_registers_from_state(&thread->registers, r->core->arch, USP_THREAD_STATE_LINUX_PRSTATUS,
                                              raw + registers_at, registers);
    if (thread->status != USP_OK) {
        uspi_bytes_error(&error, desc, 0, USP_ERROR_FORMAT, "an NT_PRSTATUS of %" PRIu64 " bytes is none of %s",
                         desc.size, usp_arch_string(r->core->arch));
        damaged(r, &error);
    }
    return USP_OK;
}

static void read_process_info(struct reading *r, struct uspi_bytes desc) {
    struct uspi_error error;
    uint8_t raw[PRPSINFO_PID - PRPSINFO_NAME + NAME];
    if (desc.size < PRPSINFO_PID) {
        uspi_bytes_error(&error, desc, 0, USP_ERROR_FORMAT, "an NT_PRPSINFO of %" PRIu64 " bytes", desc.size);
        damaged(r, &error);
        return;
    }
    if (uspi_bytes_read(desc, desc.size - PRPSINFO_PID, raw, sizeof raw, "NT_PRPSINFO", &error) != USP_OK) {
        damaged(r, &error);
        return;
    }
    r->core->pid = (int32_t)uspi_le32(raw);
    memcpy(r->name, raw + (PRPSINFO_PID - PRPSINFO_NAME), NAME);
    r->named = r->name[0] != '\0';
}

static void read_auxiliary(struct reading *r, struct uspi_bytes desc) {
    struct uspi_core_process *p = &r->process;
    uint8_t raw[16];
    for (uint64_t at = 0; at + 2 * r->word <= desc.size; at += 2 * r->word) {
        struct uspi_error error;
        if (uspi_bytes_read(desc, at, raw, 2 * r->word, "NT_AUXV", &error) != USP_OK) {
            damaged(r, &error);
            return;
        }
        uint64_t value = uspi_le(raw + r->word, r->word);
        switch (uspi_le(raw, r->word)) {
        case AT_PHDR: p->program_headers = value; break;
        case AT_PHNUM: p->program_header_count = value; break;
        case AT_BASE: p->loader = value; break;
        case AT_ENTRY: p->entry = value; break;
        case AT_EXECFN: p->program_path = value; break;
        case AT_SYSINFO_EHDR: p->vdso = value; break;
        default: break;
        }
    }
}

/* Removes the suffix that the kernel appends to the path of a deleted file. Returns whether it was there. */
static bool cut_deleted(char *path) {
    size_t length = strlen(path), suffix = sizeof DELETED - 1;
    if (length <= suffix || strcmp(path + length - suffix, DELETED) != 0) return false;
    path[length - suffix] = '\0';
    return true;
}

/* NT_FILE: count, page size, count lines, then count names. */
struct file_note {
    unsigned word;
    uint64_t count, page;
    struct uspi_bytes lines;
    size_t names_size;
};

/* Reads a line: {start, end, offset in pages}. Each must begin at or after the previous one's end, `previous_end`. */
static int read_mapping(const struct file_note *note, uint64_t i, usp_addr previous_end,
                        struct uspi_core_mapping *mapping, struct uspi_error *error) {
    const struct uspi_bytes entries = note->lines;
    const unsigned word = note->word;
    uint8_t raw[24];
    int status = uspi_bytes_read(entries, i * 3 * word, raw, 3 * word, "a mapping of NT_FILE", error);
    if (status != USP_OK) return status;
    usp_addr low = uspi_le(raw, word), high = uspi_le(raw + word, word);
    if (low < previous_end || high <= low) {
        return uspi_bytes_error(error, entries, i * 3 * word, USP_ERROR_FORMAT,
                                "the mappings of NT_FILE are not in order");
    }
    *mapping = (struct uspi_core_mapping){.low = low, .size = high - low};
    if (!uspi_product(uspi_le(raw + 2 * word, word), note->page, &mapping->offset)) {
        return uspi_bytes_error(error, entries, i * 3 * word, USP_ERROR_FORMAT, "a file offset is too large");
    }
    return USP_OK;
}

/* Reads the lines with their names, up to the first invalid one. */
static int name_mappings(struct reading *r, const struct file_note *note, struct uspi_error *error) {
    struct uspi_core_process *p = &r->process;
    char *path = r->paths, *end = r->paths + note->names_size;
    usp_addr previous_end = 0;
    for (uint64_t i = 0; i < note->count; i++) {
        struct uspi_core_mapping *mapping = &p->mappings[i];
        int status = read_mapping(note, i, previous_end, mapping, error);
        if (status != USP_OK) return status;
        if (path >= end) {
            return uspi_bytes_error(error, note->lines, note->lines.size, USP_ERROR_TRUNCATED,
                                    "NT_FILE has names for %" PRIu64 " of its %" PRIu64 " mappings", i, note->count);
        }
        char *next = path + strlen(path) + 1;
        mapping->deleted = cut_deleted(path);
        mapping->path = path;
        previous_end = mapping->low + mapping->size;
        path = next;
        p->mapping_count++;
    }
    return USP_OK;
}

static int read_mappings(struct reading *r, struct uspi_bytes desc) {
    struct uspi_core_process *p = &r->process;
    struct uspi_error error;
    const unsigned word = r->word;
    struct file_note note = {.word = word};
    if (p->has_mappings) return USP_OK;
    p->has_mappings = true;
    int status = uspi_bytes_load(desc, 0, word, &note.count, "NT_FILE", &error);
    if (status == USP_OK) status = uspi_bytes_load(desc, word, word, &note.page, "NT_FILE", &error);
    if (status == USP_OK) {
        status = uspi_bytes_array(desc, (struct uspi_array){2 * word, note.count, 3 * word, "the mappings of NT_FILE"},
                                  &note.lines, &error);
    }
    if (status == USP_OK && (note.page == 0 || desc.size > FILE_NOTE_MAX)) {
        status = uspi_bytes_error(&error, desc, 0, USP_ERROR_FORMAT,
                                  "an NT_FILE of %" PRIu64 " bytes for pages of %" PRIu64, desc.size, note.page);
    }
    if (status == USP_OK && note.count > 0) {
        const size_t strings = (size_t)(desc.size - 2 * word - note.lines.size);
        note.names_size = strings;
        p->mappings = calloc((size_t)note.count, sizeof *p->mappings);
        r->paths = malloc(strings + 1);
        if (p->mappings == NULL || r->paths == NULL) return USP_ERROR_NO_MEMORY;
        status = uspi_bytes_read(desc, desc.size - strings, r->paths, strings, "the names of NT_FILE", &error);
        r->paths[strings] = '\0';
        if (status == USP_OK) status = name_mappings(r, &note, &error);
    }
    if (status != USP_OK) damaged(r, &error);
    return USP_OK;
}

/* Reads the first siginfo_t. gdb writes one for each thread, that of the thread with the signal first. */
static void read_signal(struct reading *r, struct uspi_bytes desc) {
    struct uspi_core *core = r->core;
    uint8_t raw[24];
    struct uspi_error error;
    /* si_signo, si_errno, si_code; a union with si_addr or si_pid, aligned as a pointer. */
    const size_t at = r->elf.wide ? 16 : 12;
    if (core->has_signal_code) return;
    if (uspi_bytes_read(desc, 0, raw, at + r->word, "NT_SIGINFO", &error) != USP_OK) {
        damaged(r, &error);
        return;
    }
    core->has_signal_code = true;
    core->signal = uspi_le32(raw);
    core->signal_code = (int32_t)uspi_le32(raw + 8);
    core->fault_address = uspi_le(raw + at, r->word);
    core->sender = uspi_le32(raw + at);
    core->crashed = core->thread_count > 0 ? core->thread_count - 1 : 0;
}

static int read_note(struct reading *r, const struct uspi_elf_note *note) {
    uint64_t value;
    if (strcmp(note->owner, "LINUX") == 0) {
        /* {u64 data_mask, u64 insn_mask}, the same for all threads: they follow from the kernel's address width (Linux
         * arch/arm64/include/uapi/asm/ptrace.h, user_pac_mask). */
        if (note->type == NT_ARM_PAC_MASK && r->core->arch == USP_ARCH_ARM64 &&
            uspi_bytes_load(note->desc, 8, 8, &value, "NT_ARM_PAC_MASK", NULL) == USP_OK) {
            r->core->pac_mask = value;
        }
        return USP_OK;
    }
    if (strcmp(note->owner, "GDB") == 0) r->core->is_of_debugger = true;
    if (strcmp(note->owner, "CORE") != 0) return USP_OK;
    switch (note->type) {
    case NT_PRSTATUS: return read_status(r, note->desc);
    case NT_PRPSINFO: read_process_info(r, note->desc); return USP_OK;
    case NT_AUXV: read_auxiliary(r, note->desc); return USP_OK;
    case NT_FILE: return read_mappings(r, note->desc);
    case NT_SIGINFO: read_signal(r, note->desc); return USP_OK;
    default: return USP_OK;
    }
}

static int read_notes(struct reading *r, const struct uspi_elf_segment *segment) {
    struct uspi_error error;
    struct uspi_elf_note note;
    struct uspi_bytes bytes, whole = r->elf.bytes;
    uint64_t there = segment->offset < whole.size ? whole.size - segment->offset : 0;
    uint64_t size = segment->file_size < there ? segment->file_size : there;
    if (size < segment->file_size) {
        uspi_core_say(r->core, USP_SNAPSHOT_TRUNCATED,
                      "%s: the file ends at offset 0x%" PRIx64 ", within the notes: threads may be missing",
                      r->core->path, whole.size);
    }
    if (size == 0) return USP_OK;
    int status = uspi_bytes_sub(whole, segment->offset, size, "notes", &bytes, NULL);
    if (status != USP_OK) return status;
    struct uspi_elf_notes notes = uspi_elf_notes(bytes, segment->align);
    int got;
    while ((got = uspi_elf_next_note(&notes, &note, &error)) > 0) {
        status = read_note(r, &note);
        if (status != USP_OK) return status;
    }
    if (got < 0) damaged(r, &error);
    return USP_OK;
}

/* ---- the whole core ---- */

static int read_threads(struct reading *r, struct uspi_error *error) {
    struct uspi_elf_segment segment;
    int status = read_segments(r, error);
    if (status != USP_OK) return status;
    for (uint64_t i = 0; i < r->elf.segment_count; i++) {
        status = uspi_elf_segment(&r->elf, i, &segment, error);
        if (status == USP_OK && segment.type == USPI_PT_NOTE) status = read_notes(r, &segment);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

static int read_images(struct reading *r) {
    struct uspi_core *core = r->core;
    if (r->named) uspi_core_set_program(core, r->name);
    /* Linux lists everything that is mapped, including memory that it does not dump. */
    core->complete = core->memory.segment_count > 0;
    struct uspi_image_list list = {0};
    int status = uspi_core_elf_images(core, &r->process, &list);
    if (status == USP_OK) status = uspi_image_list_seal(&list, &core->images);
    uspi_image_list_clear(&list);
    return status;
}

static int read_elf(struct uspi_core *core, struct uspi_bytes bytes, bool with_images, struct uspi_error *error) {
    struct reading r = {.core = core};
    int status = uspi_elf_open(&r.elf, bytes, error);
    if (status != USP_OK) return status;
    if (r.elf.type != USPI_ET_CORE) {
        return uspi_bytes_error(error, bytes, 16, USP_ERROR_FORMAT, "an ELF file, but not a core");
    }
    if (r.elf.arch == USP_ARCH_NONE) {
        char name[64];
        uspi_elf_machine_name(&r.elf, name, sizeof name);
        return uspi_bytes_error(error, bytes, 18, USP_ERROR_UNSUPPORTED, "a core of %s is not supported", name);
    }
    core->arch = r.elf.arch;
    core->os = USP_OS_LINUX;
    r.word = r.elf.wide ? 8 : 4;
    status = read_threads(&r, error);
    if (status == USP_OK && with_images) status = read_images(&r);
    free(r.process.mappings);
    free(r.paths);
    return status;
}

int uspi_core_read_elf(struct uspi_core *core, struct uspi_bytes bytes, struct uspi_error *error) {
    return read_elf(core, bytes, true, error);
}

int uspi_core_read_elf_threads(struct uspi_core *core, struct uspi_bytes bytes, struct uspi_error *error) {
    return read_elf(core, bytes, false, error);
}
