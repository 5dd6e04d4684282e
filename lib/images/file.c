/* SPDX-License-Identifier: MIT */
/* See file.h. */
#include "lib/images/file.h"

#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

/* How many blocks are read at once where bytes are read one after the other. */
#define BLOCKS_AHEAD 4u

struct uspi_file {
    struct uspi_os_file file;
    struct uspi_source source;
    uint8_t *taken;              /* the heap block, if the file was made of one; otherwise NULL */
    struct uspi_made_bytes made; /* its bytes, if they are made; otherwise made.read is NULL */
    uint8_t *base;               /* reserved memory: room for the bytes and then for the blocks' states; NULL: none */
    _Atomic(uint8_t) *blocks;    /* enum uspi_block_state */
    struct uspi_lock *lock;      /* of the thread that fills blocks */
    struct uspi_filled_ranges filled;
    _Atomic(int) damage;    /* USP_OK, or why a block could not be filled */
    struct uspi_bytes part; /* all bytes of the file, or the part that it was narrowed to */
    size_t root;            /* number of bytes of the path that name the folder below which links end; 0: none */
    char path[];
};

/* The `read` function of struct uspi_source. */
static int read_piece(void *context, uint64_t at, void *to, size_t n) {
    const struct uspi_file *file = context;
    struct uspi_os_file again;
    if (file->made.read != NULL) return file->made.read(file->made.context, at, to, n);
    if (uspi_os_file_is_open(&file->file)) return uspi_os_file_read(&file->file, at, to, n);
    int status = uspi_os_file_open_again(&file->file, file->path, file->root, &again);
    if (status != USP_OK) return status;
    status = uspi_os_file_read(&again, at, to, n);
    uspi_os_file_close(&again);
    return status;
}

/* ---- filling ---- */

static uint8_t state_of(const struct uspi_file *file, uint64_t block) {
    return atomic_load_explicit(&file->blocks[block], memory_order_acquire);
}

/* Reads the blocks from `first` up to `end`, and sets their states. The caller holds the lock. */
static int fill_blocks(struct uspi_file *file, uint64_t first, uint64_t end) {
    const uint64_t at = first * USPI_BLOCK, left = file->file.size - at;
    const uint64_t n = left / USPI_BLOCK < end - first ? left : (end - first) * USPI_BLOCK;
    uspi_os_reserve_whole(file->base + (size_t)at, (size_t)n);
    const int status = read_piece(file, at, file->base + (size_t)at, (size_t)n);
    for (uint64_t i = first; status == USP_OK && i < end; i++) {
        atomic_store_explicit(&file->blocks[i], USPI_BLOCK_FILLED, memory_order_release);
    }
    return status;
}

/* Reads blocks of which some cannot be read. */
static void fill_whole_blocks(struct uspi_file *file, uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; i++) {
        const int status = fill_blocks(file, i, i + 1);
        if (status == USP_OK) continue;
        atomic_store_explicit(&file->blocks[i], USPI_BLOCK_BROKEN, memory_order_relaxed);
        int none = USP_OK;
        atomic_compare_exchange_strong(&file->damage, &none, status);
    }
}

/* The `fill` function of struct uspi_source. A block that could not be read once stays broken, so that answers do not
 * depend on when a file was short. */
static bool fill(void *context, uint64_t at, uint64_t n) {
    struct uspi_file *file = context;
    if (at > file->file.size || n > file->file.size - at) return false;
    if (n == 0) return true;
    const uint64_t count = (file->file.size - 1) / USPI_BLOCK + 1, last = (at + n - 1) / USPI_BLOCK;
    bool is_whole = true;
    /* If this thread continues after a fork, the blocks that another one was filling are still empty. */
    (void)uspi_lock_take(file->lock);
    for (uint64_t i = at / USPI_BLOCK; i <= last;) {
        if (state_of(file, i) != USPI_BLOCK_EMPTY) {
            is_whole = is_whole && state_of(file, i) == USPI_BLOCK_FILLED;
            i++;
            continue;
        }
        const bool goes_on = i > 0 && state_of(file, i - 1) == USPI_BLOCK_FILLED;
        const uint64_t wanted = goes_on && last - i < BLOCKS_AHEAD ? i + BLOCKS_AHEAD : last + 1;
        uint64_t end = i + 1;
        while (end < count && end < wanted && state_of(file, end) == USPI_BLOCK_EMPTY) end++;
        if (fill_blocks(file, i, end) != USP_OK) fill_whole_blocks(file, i, end);
        is_whole = is_whole && state_of(file, i) == USPI_BLOCK_FILLED;
        i++;
    }
    uspi_lock_give(file->lock);
    return is_whole;
}

/* The `note` function of struct uspi_source. Ranges for which there is no room are not remembered. */
static void note(void *context, uint64_t at, uint64_t n) {
    struct uspi_file *file = context;
    (void)uspi_lock_take(file->lock);
    const uint32_t count = atomic_load_explicit(&file->filled.count, memory_order_relaxed);
    if (count < sizeof file->filled.of / sizeof file->filled.of[0]) {
        file->filled.of[count].from = at;
        file->filled.of[count].end = at + n;
        atomic_store_explicit(&file->filled.count, count + 1, memory_order_release);
    }
    uspi_lock_give(file->lock);
}

/* The `damage` function of struct uspi_source. */
static int damage(void *context) {
    const struct uspi_file *file = context;
    return atomic_load_explicit(&file->damage, memory_order_relaxed);
}

/* Reserves memory for the bytes. Without it the file is read piece by piece. Returns USP_OK or USP_ERROR_NO_MEMORY. */
static int reserve(struct uspi_file *file) {
    const uint64_t size = file->file.size, blocks = size / USPI_BLOCK + 1;
    if (size == 0 || size > SIZE_MAX / 2) return USP_OK;
    file->base = uspi_os_reserve((size_t)(size + blocks));
    if (file->base == NULL) return USP_OK;
    file->lock = uspi_lock_create();
    if (file->lock == NULL) return USP_ERROR_NO_MEMORY;
    file->blocks = (_Atomic(uint8_t) *)(file->base + (size_t)size);
    file->source.base = file->base;
    file->source.blocks = file->blocks;
    file->source.fill = fill;
    file->source.note = note;
    file->source.filled = &file->filled;
    file->source.damage = damage;
    return USP_OK;
}

/* ---- opening ---- */

static struct uspi_file *create(const char *path) {
    const size_t length = strlen(path);
    struct uspi_file *made = calloc(1, sizeof *made + length + 1);
    if (made == NULL) return NULL;
    made->file.descriptor = -1;
    memcpy(made->path, path, length + 1);
    return made;
}

int uspi_file_of_bytes(const char *path, uint8_t *bytes, size_t size, struct uspi_file **file) {
    struct uspi_file *made = *file = create(path);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->file.size = size;
    made->taken = bytes;
    made->source = (struct uspi_source){.name = made->path, .base = bytes};
    made->part = (struct uspi_bytes){&made->source, 0, size};
    return USP_OK;
}

/* Returns the length of `within` without slashes at its end, if the path is below it; otherwise 0. */
static size_t root_of(const char *path, const char *within) {
    size_t length = within != NULL ? strlen(within) : 0;
    while (length > 0 && within[length - 1] == '/') length--;
    return length > 0 && strncmp(path, within, length) == 0 && path[length] == '/' ? length : 0;
}

int uspi_file_open(const char *path, struct uspi_file **file, struct uspi_error *error) {
    return uspi_file_open_within(path, NULL, file, error);
}

int uspi_file_of_made(const char *path, const struct uspi_made_bytes *bytes, struct uspi_file **file) {
    struct uspi_file *made = *file = create(path);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->file.size = bytes->size;
    made->file.withheld = bytes->withheld;
    made->made = *bytes;
    made->source = (struct uspi_source){.name = made->path, .read = read_piece, .context = made};
    if (reserve(made) != USP_OK) {
        made->made = (struct uspi_made_bytes){0};
        uspi_file_close(made);
        *file = NULL;
        return USP_ERROR_NO_MEMORY;
    }
    made->part = (struct uspi_bytes){&made->source, 0, bytes->size};
    return USP_OK;
}

void *uspi_file_context(const struct uspi_file *file, int (*read)(void *context, uint64_t at, void *to, size_t n)) {
    return file != NULL && file->made.read == read ? file->made.context : NULL;
}

static int open_file(const char *path, const char *within, bool is_kept, struct uspi_file **file,
                     struct uspi_error *error) {
    struct uspi_file *opened = create(path);
    *file = NULL;
    if (opened == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    opened->root = root_of(path, within);
    int status = uspi_os_file_open(path, opened->root, &opened->file, error);
    if (status != USP_OK) {
        free(opened);
        return status;
    }
    opened->source = (struct uspi_source){.name = opened->path, .read = read_piece, .context = opened};
    if (is_kept) status = reserve(opened);
    if (status != USP_OK) {
        uspi_file_close(opened);
        return uspi_error_set(error, status, "%s: out of memory", path);
    }
    uspi_os_file_spare(&opened->file);
    opened->part = (struct uspi_bytes){&opened->source, 0, opened->file.size};
    *file = opened;
    return USP_OK;
}

int uspi_file_open_within(const char *path, const char *within, struct uspi_file **file, struct uspi_error *error) {
    return open_file(path, within, true, file, error);
}

int uspi_file_open_unkept(const char *path, struct uspi_file **file, struct uspi_error *error) {
    return open_file(path, NULL, false, file, error);
}

void uspi_file_close(struct uspi_file *file) {
    if (file == NULL) return;
    if (file->made.close != NULL) file->made.close(file->made.context);
    if (file->base != NULL) uspi_os_unreserve(file->base, (size_t)(file->file.size + file->file.size / USPI_BLOCK + 1));
    uspi_os_file_close(&file->file);
    uspi_lock_free(file->lock);
    free(file->taken);
    free(file);
}

struct uspi_bytes uspi_file_bytes(const struct uspi_file *file) { return file->part; }

void uspi_file_narrow(struct uspi_file *file, struct uspi_bytes part) { file->part = part; }

const char *uspi_file_path(const struct uspi_file *file) { return file->path; }

uint32_t uspi_file_withheld(const struct uspi_file *file) { return file != NULL ? file->file.withheld : 0; }

uint64_t uspi_file_modified(const struct uspi_file *file) { return file->file.modified; }
