/* SPDX-License-Identifier: MIT */
/* See goroutines.h. Reads the list of all goroutines that Go's run-time keeps, and of each one what the scheduler has
 * saved: pc, stack pointer and frame pointer. A live process runs meanwhile, so each goroutine is read twice. All of it
 * is untrusted: the places of members by debug information, addresses and counts by memory.
 *
 * Sources: Go src/runtime/runtime2.go (g, gobuf, the states, waitReasonStrings), src/runtime/proc.go (allgptr, allglen;
 * dropg clears g.m when a goroutine leaves its thread). */
#include "lib/snapshot/goroutines.h"

#include "lib/base/array.h"
#include "lib/base/processor.h"
#include "lib/images/elf_file.h"
#include "lib/images/file.h"
#include "lib/images/struct_members.h"
#include "lib/images/variables.h"
#include "lib/unwind/frame/walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX   10000u               /* goroutines that are listed */
#define LISTED_MAX  (UINT64_C(1) << 20)  /* elements of Go's list that are read; it keeps those that have ended */
#define STACK_MAX   ((size_t)1 << 20)    /* bytes of each stack, the innermost ones */
#define STACKS_MAX  (UINT64_C(64) << 20) /* bytes of all stacks */
#define G_MAX       4096u                /* bytes of a g that are read */
#define TRIES       4u                   /* how often a goroutine is read that changes */
#define STATUS_SCAN 0x1000u              /* added to a state while the garbage collector reads the stack */

enum { LOW, HIGH, SCHED, M, STATUS, ID, REASON, SP, PC, BP, MEMBERS };

static const struct uspi_struct_member wanted_members[MEMBERS] = {
    [LOW] = {.type = "runtime.g", .name = "stack"},           [HIGH] = {.type = "runtime.stack", .name = "hi"},
    [SCHED] = {.type = "runtime.g", .name = "sched"},         [M] = {.type = "runtime.g", .name = "m"},
    [STATUS] = {.type = "runtime.g", .name = "atomicstatus"}, [ID] = {.type = "runtime.g", .name = "goid"},
    [REASON] = {.type = "runtime.g", .name = "waitreason"},   [SP] = {.type = "runtime.gobuf", .name = "sp"},
    [PC] = {.type = "runtime.gobuf", .name = "pc"},           [BP] = {.type = "runtime.gobuf", .name = "bp"},
};

enum { LIST, LENGTH, REASONS, VARIABLES };

struct runtime {
    struct uspi_variable variables[VARIABLES];
    uint64_t at[MEMBERS]; /* where the members lie in a g */
    size_t g_size;        /* bytes of a g up to the last member */
    uint8_t word;
    const struct usp_memory *memory;
    bool is_live;
};

/* What is read of a goroutine: the values of the members. SCHED is not used. */
struct goroutine {
    uint64_t value[MEMBERS];
};

static bool read_number(const struct runtime *r, usp_addr from, unsigned width, uint64_t *value) {
    uint8_t bytes[8];
    if (r->memory->read(r->memory->context, from, bytes, width) != 0) return false;
    *value = uspi_le(bytes, width);
    return true;
}

/* ---- the run-time ---- */

static const struct usp_image *find_image(const struct usp_images *images, const struct uspi_image_sources *places,
                                          struct runtime *r) {
    const struct uspi_variable wanted[VARIABLES] = {
        {"runtime.allgptr", r->word, 0}, {"runtime.allglen", r->word, 0}, {"runtime.waitReasonStrings", 0, 0}};
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        if ((image->flags & (USP_IMAGE_MACHO | USP_IMAGE_KERNEL)) != 0) continue;
        memcpy(r->variables, wanted, sizeof wanted);
        uspi_variables_find(image, places, r->memory, r->variables, VARIABLES);
        if (r->variables[LIST].address != 0 && r->variables[LENGTH].address != 0) return image;
    }
    return NULL;
}

static bool find_members(struct uspi_file *file, struct uspi_struct_member *members) {
    struct uspi_debug_sections sections = {.source = NULL};
    struct uspi_error ignored = {0};
    struct uspi_elf elf;
    if (uspi_elf_open(&elf, uspi_file_bytes(file), NULL) != USP_OK) return false;
    const bool is_known = uspi_debug_sections_open_elf(&sections, &elf, USPI_DEBUG_WHOLE, &ignored) == USP_OK &&
                          uspi_struct_members_find(&sections, members, MEMBERS);
    uspi_debug_sections_close(&sections);
    return is_known;
}

/* Sets where the members lie in a g. Returns false if debug information does not say so. */
static bool find_layout(const struct usp_image *image, const struct uspi_image_sources *places, struct runtime *r) {
    struct uspi_struct_member members[MEMBERS];
    struct uspi_file *file;
    memcpy(members, wanted_members, sizeof members);
    if (uspi_elf_file_open(image, places, &file, NULL) != USP_OK) return false;
    const bool is_known = find_members(file, members);
    uspi_file_close(file);
    for (size_t i = 0; i < MEMBERS && is_known; i++) {
        r->at[i] = members[i].offset;
        if (i == HIGH) r->at[i] += members[LOW].offset;
        if (i == SP || i == PC || i == BP) r->at[i] += members[SCHED].offset;
        if (members[i].offset > G_MAX || r->at[i] > G_MAX - 8) return false;
        if (r->g_size < r->at[i] + 8) r->g_size = (size_t)r->at[i] + 8;
    }
    return is_known;
}

/* ---- goroutines ---- */

static bool read_goroutine(const struct runtime *r, usp_addr at, struct goroutine *g) {
    uint8_t bytes[G_MAX];
    if (r->memory->read(r->memory->context, at, bytes, r->g_size) != 0) return false;
    for (size_t i = 0; i < MEMBERS; i++) {
        const unsigned width = i == STATUS ? 4 : i == ID ? 8 : i == REASON ? 1 : r->word;
        g->value[i] = i == SCHED ? 0 : uspi_le(bytes + (size_t)r->at[i], width);
    }
    g->value[STATUS] &= ~(uint64_t)STATUS_SCAN;
    return true;
}

/* Returns a word for the state of a goroutine that no thread runs; NULL: for other states. */
static const char *state_of(const struct goroutine *g) {
    if (g->value[M] != 0 || g->value[ID] == 0) return NULL;
    switch (g->value[STATUS]) {
    case 1: return "runnable";  /* _Grunnable */
    case 4: return "waiting";   /* _Gwaiting */
    case 9: return "preempted"; /* _Gpreempted */
    case 10: return "leaked";   /* _Gleaked, since Go 1.26 */
    default: return NULL;
    }
}

/* Writes for what a waiting goroutine waits, in Go's words. */
static void read_reason(const struct runtime *r, const struct goroutine *g, char *to, size_t size) {
    const struct uspi_variable *table = &r->variables[REASONS];
    const uint64_t at = g->value[REASON] * 2 * r->word;
    uint64_t text, length;
    if (g->value[STATUS] != 4 || table->address == 0 || at + 2u * r->word > table->size) return;
    if (!read_number(r, table->address + at, r->word, &text)) return;
    if (!read_number(r, table->address + at + r->word, r->word, &length)) return;
    if (length == 0 || length >= size) return;
    if (r->memory->read(r->memory->context, text, to, (size_t)length) == 0) to[length] = '\0';
}

enum verdict { SHOWN, NOT_SHOWN, MISSED, NO_MEMORY };

/* Copies a goroutine. In a live process it has to be the same, with its stack, when it is read again. */
static enum verdict copy_goroutine(const struct runtime *r, usp_addr at, uint8_t *again, uint64_t *bytes_left,
                                   struct uspi_stopped_thread *to) {
    struct goroutine g, later;
    if (!read_goroutine(r, at, &g)) return MISSED;
    if (state_of(&g) == NULL) return NOT_SHOWN;
    const uint64_t low = g.value[SP], high = g.value[HIGH];
    if (low < g.value[LOW] || low >= high) return MISSED;
    const size_t size = (size_t)(high - low < STACK_MAX ? high - low : STACK_MAX);
    if (size > *bytes_left) return MISSED;
    *bytes_left -= size;
    uint8_t *bytes = malloc(size);
    if (bytes == NULL) return NO_MEMORY;
    bool is_good = r->memory->read(r->memory->context, low, bytes, size) == 0;
    if (is_good && r->is_live) {
        is_good = r->memory->read(r->memory->context, low, again, size) == 0 && memcmp(bytes, again, size) == 0 &&
                  read_goroutine(r, at, &later) && memcmp(&g, &later, sizeof g) == 0;
    }
    if (!is_good) {
        free(bytes);
        return MISSED;
    }
    to->info.thread = (struct usp_thread){.id = g.value[ID]};
    to->info.flags = USP_THREAD_GOROUTINE;
    snprintf(to->wait_channel, sizeof to->wait_channel, "%s", state_of(&g));
    read_reason(r, &g, to->wait_channel, sizeof to->wait_channel);
    usp_registers_set_pc(&to->copy.registers, g.value[PC]);
    usp_registers_set_sp(&to->copy.registers, low);
    usp_registers_set_fp(&to->copy.registers, g.value[BP]);
    to->copy.parts[0] = (struct uspi_copied){.from = low, .size = size, .bytes = bytes};
    to->copy.stack_low = g.value[LOW];
    to->copy.stack_high = high;
    to->copy.holes[0] = (struct uspi_hole){g.value[LOW], low};
    if (high - low > size) to->copy.holes[1] = (struct uspi_hole){low + size, high};
    return SHOWN;
}

static int add_all(const struct runtime *r, struct uspi_stopped_process *process, struct uspi_error *why) {
    size_t capacity = process->thread_count;
    const size_t most = capacity + SHOWN_MAX;
    uint64_t list, count, at, missed = 0, bytes_left = STACKS_MAX;
    /* In this order: the list grows before its length does. */
    if (!read_number(r, r->variables[LENGTH].address, r->word, &count) ||
        !read_number(r, r->variables[LIST].address, r->word, &list)) {
        uspi_error_set(why, USP_ERROR_UNREADABLE, "no goroutines: Go's list of them cannot be read");
        return USP_OK;
    }
    uint8_t *again = malloc(STACK_MAX);
    enum verdict verdict = again != NULL ? SHOWN : NO_MEMORY;
    for (uint64_t i = 0; i < count && verdict != NO_MEMORY; i++) {
        if (i == LISTED_MAX || process->thread_count == most || !read_number(r, list + i * r->word, r->word, &at)) {
            missed += count - i;
            break;
        }
        if (!uspi_room_for(&process->threads, &capacity, process->thread_count, 1, sizeof *process->threads)) {
            verdict = NO_MEMORY;
            break;
        }
        struct uspi_stopped_thread *to = &process->threads[process->thread_count];
        memset(to, 0, sizeof *to);
        uspi_registers_init(&to->copy.registers, process->arch);
        verdict = MISSED;
        for (unsigned k = 0; k < TRIES && verdict == MISSED; k++) {
            verdict = copy_goroutine(r, at, again, &bytes_left, to);
        }
        process->thread_count += verdict == SHOWN;
        missed += verdict == MISSED;
    }
    free(again);
    if (missed != 0) {
        uspi_error_set(why, USP_ERROR_FULL,
                       "%" PRIu64 " goroutines are not shown: they changed while they were read, are damaged, or are "
                       "beyond the limits of 10,000 and of 64 MB of stacks",
                       missed);
    }
    return verdict == NO_MEMORY ? USP_ERROR_NO_MEMORY : USP_OK;
}

int uspi_goroutines_add(const struct usp_images *images, const struct uspi_image_sources *places, bool is_live,
                        struct uspi_stopped_process *process, struct uspi_error *why) {
    const struct uspi_backend *backend = uspi_backend_find(process->arch);
    struct runtime r = {.memory = &process->live, .is_live = is_live};
    if (backend == NULL || images == NULL) return USP_OK;
    r.word = backend->word;
    const struct usp_image *image = find_image(images, places, &r);
    if (image != NULL && find_layout(image, places, &r)) return add_all(&r, process, why);
    uspi_error_set(why, USP_ERROR_NOT_FOUND, "no goroutines: %s%s", image != NULL ? image->path : "no image",
                   image != NULL ? " has no debug information of Go's run-time, which -ldflags=-w removes"
                                 : " has Go's symbol runtime.allgptr, which -ldflags=-s removes");
    return USP_OK;
}
