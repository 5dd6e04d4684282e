/* SPDX-License-Identifier: MIT */
/* Opens a core: identifies its format and calls the reader for it. See core.h. */
#include "lib/base/packer.h"
#include "lib/corefile/build.h"
#include "lib/object/identify.h"

#include <stdlib.h>
#include <string.h>

static void find_stack(const struct uspi_core_memory *memory, uint32_t os, struct uspi_core_thread *thread) {
    usp_addr sp = usp_registers_sp(&thread->registers);
    const struct uspi_core_segment *segment = uspi_core_memory_find(memory, sp);
    if (segment == NULL || (segment->access & USPI_CORE_WRITE) == 0) return;
    const struct uspi_core_segment *last = segment, *end = memory->segments + memory->segment_count;
    /* Darwin's kernel lists one stack as several regions if their histories differ; a stack ends at a guard page. Linux
     * merges similar regions, so an adjacent region is not part of the stack. */
    while (os == USP_OS_DARWIN && last + 1 < end && last[1].low == last->low + last->size &&
           last[1].access == last->access) {
        last++;
    }
    usp_addr high = last->low + last->size;
    if (high <= segment->low) return;
    thread->stack_low = segment->low;
    thread->stack_high = high;
}

/* Says what to do with a compressed core; otherwise that the file is not a core. */
static int refuse_format(struct uspi_bytes bytes, struct uspi_error *error) {
    uint8_t head[USPI_PACKER_MAGIC];
    const size_t n = bytes.size < sizeof head ? (size_t)bytes.size : sizeof head;
    const bool is_read = uspi_bytes_read(bytes, 0, head, n, "magic", NULL) == USP_OK;
    const char *packer = is_read ? uspi_packer_of(head, n) : NULL;
    if (packer != NULL) {
        return uspi_error_set(error, USP_ERROR_FORMAT,
                              "%s: compressed; unpack it first: %s -dc %s > core, and give that file",
                              bytes.source->name, packer, bytes.source->name);
    }
    return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "neither an ELF nor a Mach-O core file");
}

static int read_core(struct uspi_core *core, struct uspi_error *error) {
    struct uspi_bytes bytes = uspi_file_bytes(core->files[0]);
    core->memory.core = bytes;
    int status;
    switch (uspi_identify(bytes)) {
    case USPI_FORMAT_ELF: status = uspi_core_read_elf(core, bytes, error); break;
    case USPI_FORMAT_MACHO: status = uspi_core_read_macho(core, bytes, error); break;
    default: return refuse_format(bytes, error);
    }
    if (status != USP_OK) return status;
    for (size_t i = 0; i < core->thread_count; i++) find_stack(&core->memory, core->os, &core->threads[i]);
    if (core->os == USP_OS_LINUX) uspi_core_describe_crash(core);
    if (core->thread_count == 0) {
        uspi_core_say(core, 0, "%s: the core holds no threads that can be read", core->path);
    }
    return USP_OK;
}

/* Sets the folder: the core's path without its last component. */
static void set_folder(struct uspi_core *core) {
    const char *slash = strrchr(core->path, '/');
    size_t length = slash != NULL ? (size_t)(slash + 1 - core->path) : 0;
    core->folder = malloc(length + 1);
    if (core->folder == NULL) {
        core->out_of_memory = true;
        return;
    }
    memcpy(core->folder, core->path, length);
    core->folder[length] = '\0';
}

static struct uspi_core *create(void) {
    struct uspi_core *core = calloc(1, sizeof *core);
    if (core != NULL) core->crashed = SIZE_MAX;
    return core;
}

int uspi_core_of_beginning(struct uspi_bytes bytes, const char *name, struct uspi_core **core,
                           struct uspi_error *error) {
    struct uspi_core *opened = *core = create();
    if (opened == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", name);
    opened->path = name;
    opened->memory.core = bytes;
    int status = uspi_core_read_elf_threads(opened, bytes, error);
    if (status == USP_OK && opened->out_of_memory) status = USP_ERROR_NO_MEMORY;
    if (status == USP_ERROR_NO_MEMORY) uspi_error_set(error, status, "%s: out of memory", name);
    if (status == USP_OK) return USP_OK;
    uspi_core_close(opened);
    *core = NULL;
    return status;
}

int uspi_core_of_file(struct uspi_file *file, const struct uspi_core_options *options, struct uspi_core **core,
                      struct uspi_error *error) {
    struct uspi_core *opened = create();
    *core = NULL;
    if (opened == NULL || !uspi_core_keep_file(opened, file)) {
        const int status = uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", uspi_file_path(file));
        uspi_file_close(file);
        free(opened);
        return status;
    }
    opened->path = uspi_file_path(file);
    set_folder(opened);
    if (options != NULL) {
        opened->sysroot = options->sysroot;
        opened->named_program = options->program;
        opened->is_below_sysroot = options->is_below_sysroot;
        opened->memory.live = options->live;
    }
    int status = opened->out_of_memory ? USP_ERROR_NO_MEMORY : read_core(opened, error);
    if (status == USP_OK && opened->out_of_memory) status = USP_ERROR_NO_MEMORY;
    if (status == USP_ERROR_NO_MEMORY) uspi_error_set(error, status, "%s: out of memory", opened->path);
    opened->sysroot = opened->named_program = NULL;
    if (status != USP_OK) {
        uspi_core_close(opened);
        return status;
    }
    *core = opened;
    return USP_OK;
}

int uspi_core_open(const char *path, const struct uspi_core_options *options, struct uspi_core **core,
                   struct uspi_error *error) {
    struct uspi_file *file;
    *core = NULL;
    const int status = uspi_file_open(path, &file, error);
    return status == USP_OK ? uspi_core_of_file(file, options, core, error) : status;
}
