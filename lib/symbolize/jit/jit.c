/* SPDX-License-Identifier: MIT */
/* See jit.h. */
#include "lib/symbolize/jit/jit.h"

#include "lib/os/os.h"
#include "lib/symbolize/jit/gdb_jit.h"
#include "lib/symbolize/jit/jitdump.h"
#include "lib/symbolize/jit/perf_map.h"

#include <inttypes.h>
#include <stdio.h>

/* A live process may start to write a file at any time. So files are searched for again after this time, in ns. */
#define LOOK_AGAIN UINT64_C(1000000000)

/* The maximum number of bytes that are read from a file. */
#define FILE_MAX (UINT64_C(4) << 30)

/* The size of a buffer for small reads of a file that is read from start to end. */
#define WINDOW (32u << 10)

struct window {
    const struct uspi_os_file *file;
    uint64_t from;
    size_t size; /* valid bytes */
    uint8_t bytes[WINDOW];
};

/* A file of the process. */
struct code_file {
    struct uspi_os_file file;
    bool is_open, was_read;
    int64_t process; /* the id in its name */
    struct uspi_jit_map map;
};

struct uspi_jit {
    const struct uspi_image_sources *places;
    int64_t recorded;
    struct uspi_lock *lock; /* protects all members below */
    struct code_file files[USPI_JIT_FILES];
    struct uspi_perf_map perf_map;
    struct uspi_jitdump jitdump;
    bool has_looked;
    uint64_t looked; /* when files were last searched for, by uspi_os_clock */
    struct uspi_gdb_jit gdb;
    struct uspi_jit_map gdb_map;
    struct uspi_jit_objects objects;
    bool has_looked_for_variables;
    uint64_t generation; /* of the images in which the variables were searched for */
};

struct uspi_jit *uspi_jit_create(const struct uspi_image_sources *places, int64_t recorded) {
    struct uspi_jit *jit = calloc(1, sizeof *jit);
    if (jit == NULL) return NULL;
    jit->places = places;
    jit->recorded = recorded;
    jit->gdb.objects = &jit->objects;
    jit->lock = uspi_lock_create();
    if (jit->lock != NULL) return jit;
    free(jit);
    return NULL;
}

/* Closes a file and forgets what was read from it. */
static void drop_file(struct uspi_jit *jit, enum uspi_jit_file which) {
    struct code_file *file = &jit->files[which];
    if (file->is_open) uspi_os_file_close(&file->file);
    file->is_open = file->was_read = false;
    uspi_jit_map_clear(&file->map);
    if (which == USPI_JIT_PERF_MAP) memset(&jit->perf_map, 0, sizeof jit->perf_map);
    if (which == USPI_JIT_DUMP) uspi_jitdump_clear(&jit->jitdump);
}

void uspi_jit_clear(struct uspi_jit *jit) {
    if (jit == NULL) return;
    drop_file(jit, USPI_JIT_PERF_MAP);
    drop_file(jit, USPI_JIT_DUMP);
    uspi_jit_map_clear(&jit->gdb_map);
    uspi_jit_objects_clear(&jit->objects);
    jit->gdb = (struct uspi_gdb_jit){.objects = &jit->objects};
    jit->has_looked = jit->has_looked_for_variables = false;
}

void uspi_jit_free(struct uspi_jit *jit) {
    if (jit == NULL) return;
    uspi_jit_clear(jit);
    uspi_lock_free(jit->lock);
    free(jit);
}

/* ---- files ---- */

/* Opens the file of a process that has ended: beside the core, otherwise in /tmp below the system root. */
static int open_recorded(const struct uspi_jit *jit, enum uspi_jit_file which, struct uspi_os_file *file) {
    const struct uspi_search *search = &jit->places->search;
    char name[48];
    int status = USP_ERROR_NOT_FOUND;
    snprintf(name, sizeof name, which == USPI_JIT_PERF_MAP ? "perf-%" PRId64 ".map" : "jit-%" PRId64 ".dump",
             jit->recorded);
    if (search->folder != NULL) {
        status = uspi_os_trusted_file(search->folder[0] != '\0' ? search->folder : ".", name, file);
    }
    if (status == USP_OK || search->sysroot == NULL) return status;
    const size_t capacity = strlen(search->sysroot) + sizeof "/tmp";
    char *folder = malloc(capacity);
    if (folder == NULL) return USP_ERROR_NO_MEMORY;
    snprintf(folder, capacity, "%s/tmp", search->sysroot);
    status = uspi_os_trusted_file(folder, name, file);
    free(folder);
    return status;
}

static bool is_live(const struct uspi_jit *jit) { return jit->places->in_process || jit->places->process != 0; }

/* Opens the files that are not open, unless this was tried just before. */
static void open_files(struct uspi_jit *jit) {
    const uint64_t now = uspi_os_clock();
    if (jit->has_looked && (!is_live(jit) || now - jit->looked < LOOK_AGAIN)) return;
    if (!is_live(jit) && jit->recorded == 0) return;
    jit->has_looked = true;
    jit->looked = now;
    for (int which = 0; which < USPI_JIT_FILES; which++) {
        struct code_file *file = &jit->files[which];
        if (file->is_open) continue;
        const enum uspi_jit_file kind = (enum uspi_jit_file)which;
        file->process = jit->recorded;
        file->is_open = (is_live(jit) ? uspi_os_jit_file_of(jit->places->process, kind, &file->file, &file->process)
                                      : open_recorded(jit, kind, &file->file)) == USP_OK;
    }
}

/* A uspi_source.read function; the context is the window. */
static int read_window(void *context, uint64_t at, void *to, size_t n) {
    struct window *window = context;
    if (n >= sizeof window->bytes) return uspi_os_file_read(window->file, at, to, n);
    if (at < window->from || at - window->from > window->size || n > window->size - (size_t)(at - window->from)) {
        const uint64_t left = at < window->file->size ? window->file->size - at : 0;
        const size_t size = left < sizeof window->bytes ? (size_t)left : sizeof window->bytes;
        if (n > size) return USP_ERROR_TRUNCATED;
        window->size = 0;
        int status = uspi_os_file_read(window->file, at, window->bytes, size);
        if (status != USP_OK) return status;
        window->from = at;
        window->size = size;
    }
    memcpy(to, window->bytes + (size_t)(at - window->from), n);
    return USP_OK;
}

/* Reads what was added to a file. */
static int read_file(struct uspi_jit *jit, enum uspi_jit_file which) {
    struct code_file *file = &jit->files[which];
    const bool is_map = which == USPI_JIT_PERF_MAP;
    if (!file->is_open) return USP_OK;
    const uint64_t before = is_map ? jit->perf_map.offset : jit->jitdump.offset;
    const uint64_t known = file->file.size;
    if (uspi_os_file_measure(&file->file) != USP_OK || (file->was_read && file->file.size == known)) return USP_OK;
    file->was_read = true;
    if (file->file.size < before) {
        /* The file was started again, so what was read before is obsolete. */
        uspi_jit_map_clear(&file->map);
        memset(&jit->perf_map, 0, is_map ? sizeof jit->perf_map : 0);
        if (!is_map) uspi_jitdump_clear(&jit->jitdump);
    }
    struct window *window = malloc(sizeof *window);
    if (window == NULL) return USP_ERROR_NO_MEMORY;
    window->file = &file->file;
    window->from = window->size = 0;
    const struct uspi_source source = {.name = "file", .read = read_window, .context = window};
    const struct uspi_bytes bytes = {&source, 0, file->file.size < FILE_MAX ? file->file.size : FILE_MAX};
    int status = is_map ? uspi_perf_map_read(&jit->perf_map, bytes, &file->map)
                        : uspi_jitdump_read(&jit->jitdump, bytes, file->process, &file->map);
    free(window);
    if (status == USP_ERROR_FORMAT || status == USP_ERROR_MISMATCH) drop_file(jit, which);
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

/* ---- memory ---- */

/* Searches for variables again if libraries were loaded or unloaded, and reads their lists. */
static int read_gdb(struct uspi_jit *jit, const struct usp_images *images, uint64_t generation) {
    struct uspi_image_memory memory;
    const bool is_known = jit->has_looked_for_variables && jit->generation == generation;
    /* The contents of a core never change. */
    if (is_known && (jit->gdb.count == 0 || (jit->gdb.was_read && !is_live(jit)))) return USP_OK;
    if (uspi_image_memory_open(jit->places, &memory) != USP_OK) return USP_OK;
    if (!is_known) uspi_gdb_jit_look(&jit->gdb, images, jit->places, &memory.memory);
    jit->has_looked_for_variables = true;
    jit->generation = generation;
    int status = uspi_gdb_jit_read(&jit->gdb, &memory.memory, &jit->gdb_map);
    uspi_image_memory_close(&memory);
    return status;
}

/* ---- lookups ---- */

static int find_in(struct uspi_jit_map *map, uint32_t strategy, usp_addr address, struct uspi_names *names,
                   struct uspi_jit_answer *answer) {
    const struct uspi_jit_code *code;
    int status = uspi_jit_map_find(map, address, &code);
    if (status != USP_OK) return status;
    const char *name = uspi_names_keep(names, map->text + code->name, code->name_length);
    *answer = (struct uspi_jit_answer){
        .start = code->start, .size = code->size, .name = name, .strategy = strategy, .object = code->object};
    const struct uspi_jit_row *row = uspi_jit_map_row(map, code, address);
    if (row != NULL) {
        answer->path = uspi_names_keep(names, row->file, strlen(row->file));
        answer->line = row->line;
    }
    return name != NULL && (row == NULL || answer->path != NULL) ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Finds the source frames of code that an object describes. */
static int put_frames(struct uspi_jit *jit, const struct uspi_jit_question *question, struct uspi_names *names,
                      uint32_t object) {
    struct uspi_image_memory memory;
    if (question->lines == NULL || object == 0) return USP_OK;
    if (uspi_image_memory_open(jit->places, &memory) != USP_OK) return USP_OK;
    const struct uspi_jit_frames wanted = {jit->places, &memory.memory, question->paths, names, question->lines};
    int status = uspi_jit_object_frames(&jit->objects, object, question->address, &wanted);
    uspi_image_memory_close(&memory);
    return status;
}

static int find_code(struct uspi_jit *jit, const struct uspi_jit_question *question, struct uspi_names *names,
                     struct uspi_jit_answer *answer) {
    const usp_addr address = question->address;
    int status = find_in(&jit->gdb_map, USP_STRATEGY_GDB_JIT, address, names, answer);
    if (status == USP_OK) return put_frames(jit, question, names, answer->object);
    if (status != USP_ERROR_NOT_FOUND) return status;
    open_files(jit);
    status = read_file(jit, USPI_JIT_DUMP);
    if (status == USP_OK) {
        status = find_in(&jit->files[USPI_JIT_DUMP].map, USP_STRATEGY_JITDUMP, address, names, answer);
    }
    if (status != USP_ERROR_NOT_FOUND) return status;
    status = read_file(jit, USPI_JIT_PERF_MAP);
    if (status != USP_OK) return status;
    return find_in(&jit->files[USPI_JIT_PERF_MAP].map, USP_STRATEGY_PERF_MAP, address, names, answer);
}

int uspi_jit_find(struct uspi_jit *jit, const struct uspi_jit_question *question, struct uspi_names *names,
                  struct uspi_jit_answer *answer) {
    uspi_lock_take(jit->lock);
    int status = read_gdb(jit, question->images, question->generation);
    if (status == USP_OK) status = find_code(jit, question, names, answer);
    uspi_lock_give(jit->lock);
    return status;
}
