/* SPDX-License-Identifier: MIT */
/* Functions that the readers of both core formats use: messages for the user, threads, files. See build.h. */
#include "lib/corefile/build.h"

#include "lib/base/array.h"
#include "lib/images/dsym.h"

#include <unspool/snapshot.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Maximum number of messages that are kept: more would be of no use to a reader. */
#define MESSAGES_MAX 64

/* Maximum number of entries in images' headers: several times what a process of 2000 images with 50 entries each
 * has. */
#define HEADER_ENTRIES_MAX 1000000

void uspi_core_say(struct uspi_core *core, uint32_t flags, const char *format, ...) {
    char text[USPI_ERROR_TEXT + 128];
    core->flags |= flags;
    if (core->message_count > MESSAGES_MAX) return;
    if (core->message_count == MESSAGES_MAX) {
        snprintf(text, sizeof text, "%s: there is more to say about this core than is kept", core->path);
    } else {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
    }
    char **grown = realloc(core->messages, (core->message_count + 1) * sizeof *grown);
    if (grown != NULL) core->messages = grown;
    char *copy = grown != NULL ? strdup(text) : NULL;
    if (copy != NULL) {
        core->messages[core->message_count++] = copy;
    } else {
        core->out_of_memory = true;
    }
}

struct uspi_core_thread *uspi_core_add_thread(struct uspi_core *core, uint64_t id) {
    struct uspi_core_thread *grown =
        uspi_array_reserve(core->threads, &core->thread_capacity, core->thread_count + 1, sizeof *grown);
    if (grown == NULL) {
        core->out_of_memory = true;
        return NULL;
    }
    core->threads = grown;
    struct uspi_core_thread *thread = &core->threads[core->thread_count++];
    memset(thread, 0, sizeof *thread);
    thread->id = id;
    thread->status = USP_ERROR_NOT_FOUND;
    usp_registers_init(&thread->registers, core->arch);
    return thread;
}

void uspi_core_set_program(struct uspi_core *core, const char *program) {
    char *copy = strdup(program);
    if (copy == NULL) {
        core->out_of_memory = true;
        return;
    }
    free(core->program);
    core->program = copy;
}

bool uspi_core_may_read(struct uspi_core *core, uint64_t entries) {
    if (core->header_entries > HEADER_ENTRIES_MAX) return false;
    core->header_entries += entries < HEADER_ENTRIES_MAX ? entries + 1 : HEADER_ENTRIES_MAX + 1;
    if (core->header_entries <= HEADER_ENTRIES_MAX) return true;
    uspi_core_say(core, 0, "%s: more images than a process can have; not all were looked at", core->path);
    return false;
}

/* ---- files ---- */

bool uspi_core_keep_file(struct uspi_core *core, struct uspi_file *file) {
    struct uspi_file **grown =
        uspi_array_reserve(core->files, &core->file_capacity, core->file_count + 1, sizeof *grown);
    if (grown == NULL) {
        core->out_of_memory = true;
        return false;
    }
    core->files = grown;
    core->files[core->file_count++] = file;
    return true;
}

/* Searches for a file. After USP_OK the core keeps it open. */
static int search(struct uspi_core *core, const struct uspi_search *where, const char *path, uspi_judge judge,
                  void *context, struct uspi_error *error) {
    struct uspi_file *file;
    int status = uspi_search_bundles(where, path, judge, context, &file, error);
    if (status == USP_OK && !uspi_core_keep_file(core, file)) {
        uspi_file_close(file);
        status = USP_ERROR_NO_MEMORY;
    }
    if (status == USP_ERROR_NO_MEMORY) core->out_of_memory = true;
    return status;
}

/* Where files that the core names are looked for. */
static struct uspi_search search_of(const struct uspi_core *core) {
    const bool is_below = core->is_below_sysroot;
    return (struct uspi_search){
        .sysroot = core->sysroot, .as_named = !is_below, .folder = is_below ? NULL : core->folder};
}

bool uspi_core_find_file(struct uspi_core *core, const char *path, bool main, uspi_judge judge, void *context) {
    const struct uspi_search option = {.file = core->named_program};
    const struct uspi_search elsewhere = search_of(core);
    struct uspi_error error;
    if (main && core->named_program != NULL) {
        /* Warns if a file that the caller named is not used, even if another file fits. */
        int status = search(core, &option, core->named_program, judge, context, &error);
        if (status == USP_OK) return true;
        uspi_core_say(core, status == USP_ERROR_NOT_FOUND ? USP_SNAPSHOT_FILES_MISSING : USP_SNAPSHOT_FILES_REFUSED,
                      "%s; not used", error.text);
    }
    if (path[0] == '\0') return false;
    int status = search(core, &elsewhere, path, judge, context, &error);
    if (status == USP_OK) return true;
    if (status == USP_ERROR_NOT_FOUND) {
        uspi_core_say(core, USP_SNAPSHOT_FILES_MISSING, "%s; the core does not hold its code", error.text);
    } else {
        uspi_core_say(core, USP_SNAPSHOT_FILES_REFUSED, "%s; not used", error.text);
    }
    return false;
}

void uspi_core_show_files(struct uspi_core *core, const char *path, bool main, uspi_judge judge, void *context) {
    struct uspi_search where = search_of(core);
    if (main) where.file = core->named_program;
    struct uspi_file *file;
    int status = uspi_search_bundles(&where, path, judge, context, &file, NULL);
    if (status == USP_OK) uspi_file_close(file);
    if (status == USP_ERROR_NO_MEMORY) core->out_of_memory = true;
}
