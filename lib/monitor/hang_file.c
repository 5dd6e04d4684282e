/* SPDX-License-Identifier: MIT */
/* Implements hang_file.h. Numbers are little-endian, except the duration: it has the machine's byte order. */
#include "lib/monitor/hang_file.h"

#include "arch/little_endian.h"
#include "lib/base/crc32.h"
#include "lib/profile/profile.h"

#include <stdlib.h>
#include <string.h>

/* The first byte is not ASCII: the file is not text, and a transfer that clears the eighth bit damages it. */
static const uint8_t magic[8] = {0x89, 'U', 'S', 'P', 'H', 'A', 'N', 'G'};
#define VERSION 1u

/* Layout: magic; u32 version; u32 0; u64 size of a slot in bytes; u64 duration of the hang in the machine's byte order;
 * at AT_HEADERS two headers; at AT_SLOTS two slots. */
#define AT_VERSION  8u
#define AT_SLOT     16u
#define AT_DURATION 24u
#define AT_HEADERS  64u
#define AT_SLOTS    USPI_HANG_FILE_HEAD
#define HEADER_SIZE 64u

/* A header: u64 sequence (0: none), u32 state (0: no hang), u32 slot, u64 size of the slot's contents in bytes, u32
 * their checksum, u32 checksum of the header up to here. */
#define HEADER_USED 28u

/* Number of u64 numbers at the start of a slot. Each profile follows, with its size before it (u64). */
#define NUMBERS 13u

static uint32_t checksum(const uint8_t *bytes, size_t n) { return ~uspi_crc32(UINT32_MAX, bytes, n); }

/* ---- writing ---- */

/* Writes the first bytes of the file whole: if the file was shortened, they are there again. Those of the newer header
 * stay as they are. */
static void write_head(struct uspi_hang_file *file) {
    (void)uspi_os_kept_file_write(&file->file, 0, file->head, sizeof file->head);
}

int uspi_hang_file_make(struct uspi_hang_file *file, const char *path, size_t slot) {
    memset(file, 0, sizeof *file);
    if (slot > (SIZE_MAX - AT_SLOTS) / 2) return USP_ERROR_ARGUMENT;
    uint8_t *state = malloc(slot);
    if (state == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_os_kept_file_make(path, AT_SLOTS + 2 * (uint64_t)slot, &file->file);
    if (status != USP_OK) {
        free(state);
        memset(file, 0, sizeof *file);
        return status;
    }
    file->state = state;
    file->slot = slot;
    uspi_store_le(file->head + AT_VERSION, VERSION, 4);
    uspi_store_le(file->head + AT_SLOT, slot, 8);
    memcpy(file->head, magic, sizeof magic);
    write_head(file);
    return USP_OK;
}

void uspi_hang_file_close(struct uspi_hang_file *file) {
    if (file->state != NULL) uspi_os_kept_file_close(&file->file);
    free(file->state);
    memset(file, 0, sizeof *file);
}

/* Replaces the older header. `n` bytes of the state are in its slot already. */
static void write_header(struct uspi_hang_file *file, uint32_t state, uint32_t slot, size_t n) {
    uint64_t sequence = file->sequence + 1;
    uint8_t *header = file->head + AT_HEADERS + sequence % 2 * HEADER_SIZE;
    uspi_store_le(header, sequence, 8);
    uspi_store_le(header + 8, state, 4);
    uspi_store_le(header + 12, slot, 4);
    uspi_store_le(header + 16, n, 8);
    uspi_store_le(header + 24, checksum(file->state, n), 4);
    uspi_store_le(header + HEADER_USED, checksum(header, HEADER_USED), 4);
    write_head(file);
    file->sequence = sequence;
}

static void set_duration(struct uspi_hang_file *file, uint64_t duration) {
    memcpy(file->head + AT_DURATION, &duration, sizeof duration);
}

void uspi_hang_file_touch(struct uspi_hang_file *file, uint64_t duration) {
    if (file->state == NULL) return;
    set_duration(file, duration);
    (void)uspi_os_kept_file_write(&file->file, AT_DURATION, file->head + AT_DURATION, sizeof duration);
}

static bool write_profile(struct usp_profile *profile, uint8_t *to, size_t capacity, size_t *used) {
    size_t n;
    if (capacity < 8 || uspi_profile_save(profile, to + 8, capacity - 8, &n) != USP_OK) return false;
    uspi_store_le(to, n, 8);
    *used = n + 8;
    return true;
}

void uspi_hang_file_write(struct uspi_hang_file *file, const struct usp_hang *hang, uint64_t now) {
    if (file->state == NULL) return;
    const uint64_t numbers[NUMBERS] = {hang->id,
                                       hang->flags,
                                       (uint64_t)hang->pid,
                                       hang->thread.id,
                                       hang->wall_start,
                                       hang->duration,
                                       hang->taken_off,
                                       hang->interval,
                                       hang->samples,
                                       hang->first_after,
                                       (uint64_t)(int64_t)hang->capture_status,
                                       now,
                                       0};
    /* The slot to which the newest header does not refer. */
    uint32_t slot = (uint32_t)((file->sequence + 1) % 2);
    uint8_t *to = file->state;
    size_t used = NUMBERS * 8, n;
    for (unsigned i = 0; i < NUMBERS; i++) uspi_store_le(to + (size_t)i * 8, numbers[i], 8);
    if (!write_profile(hang->profile, to + used, file->slot - used, &n)) return;
    used += n;
    if (!write_profile(hang->threads, to + used, file->slot - used, &n)) return;
    used += n;
    /* A header must not refer to a state that is not there. */
    if (uspi_os_kept_file_write(&file->file, AT_SLOTS + (uint64_t)slot * file->slot, to, used) != USP_OK) return;
    set_duration(file, hang->duration);
    write_header(file, 1, slot, used);
}

void uspi_hang_file_end(struct uspi_hang_file *file) {
    if (file->state == NULL || file->sequence == 0) return;
    write_header(file, 0, (uint32_t)((file->sequence + 1) % 2), 0);
}

/* ---- reading ---- */

/* A report that owns what it points to. The public struct comes first, so that it is freed by its address. */
struct opened {
    struct usp_hang hang;
    struct usp_stack first;
};

struct found {
    uint64_t sequence;
    uint32_t state, checksum;
    uint64_t at; /* offset in the file */
    uint8_t *bytes;
    size_t size;
};

/* Finds the state to which the newest valid header refers. The older header's state is not used: it may be half
 * overwritten.
 *   head  the file's first AT_SLOTS bytes
 *   size  the file's size, at least AT_SLOTS */
static int find_state(const uint8_t *head, uint64_t size, struct found *found) {
    if (memcmp(head, magic, sizeof magic) != 0 || uspi_le(head + AT_VERSION, 4) != VERSION) return USP_ERROR_FORMAT;
    uint64_t slot = uspi_le(head + AT_SLOT, 8);
    if (slot > (size - AT_SLOTS) / 2) return USP_ERROR_TRUNCATED;
    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *header = head + AT_HEADERS + i * HEADER_SIZE;
        uint64_t sequence = uspi_le(header, 8), which = uspi_le(header + 12, 4), n = uspi_le(header + 16, 8);
        if (sequence <= found->sequence || checksum(header, HEADER_USED) != uspi_le(header + HEADER_USED, 4)) continue;
        if (which > 1 || n > slot) return USP_ERROR_FORMAT;
        *found = (struct found){.sequence = sequence,
                                .state = (uint32_t)uspi_le(header + 8, 4),
                                .checksum = (uint32_t)uspi_le(header + 24, 4),
                                .at = AT_SLOTS + which * slot,
                                .size = (size_t)n};
    }
    return found->sequence != 0 && found->state == 1 ? USP_OK : USP_ERROR_NOT_FOUND;
}

static int read_profile(const uint8_t *bytes, size_t size, size_t *at, struct usp_profile **profile) {
    if (size - *at < 8) return USP_ERROR_TRUNCATED;
    uint64_t n = uspi_le(bytes + *at, 8);
    *at += 8;
    if (n > size - *at) return USP_ERROR_TRUNCATED;
    int status = uspi_profile_load(bytes + *at, (size_t)n, profile);
    *at += (size_t)n;
    return status;
}

static int read_state(const struct found *found, uint64_t duration, struct opened *opened) {
    uint64_t numbers[NUMBERS];
    struct usp_hang *hang = &opened->hang;
    size_t at = NUMBERS * 8;
    if (found->size < at) return USP_ERROR_TRUNCATED;
    for (unsigned i = 0; i < NUMBERS; i++) numbers[i] = uspi_le(found->bytes + (size_t)i * 8, 8);
    *hang = (struct usp_hang){.id = numbers[0],
                              .state = USP_HANG_KILLED,
                              .flags = (uint32_t)numbers[1],
                              .pid = (int64_t)numbers[2],
                              .thread = {numbers[3], 0},
                              .wall_start = numbers[4],
                              .duration = duration > numbers[5] ? duration : numbers[5],
                              .taken_off = numbers[6],
                              .interval = numbers[7],
                              .samples = numbers[8],
                              .first_after = numbers[9],
                              .capture_status = (int32_t)(int64_t)numbers[10],
                              .program = ""};
    int status = read_profile(found->bytes, found->size, &at, &hang->profile);
    if (status == USP_OK) status = read_profile(found->bytes, found->size, &at, &hang->threads);
    if (status != USP_OK) return status;
    hang->program = hang->profile->program;
    struct usp_profile *clone = uspi_profile_clone(hang->profile);
    if (clone == NULL) return USP_ERROR_NO_MEMORY;
    status = uspi_profile_marked(clone, &opened->first);
    usp_profile_free(clone);
    if (status == USP_OK) hang->first = &opened->first;
    return status != USP_ERROR_NO_MEMORY ? USP_OK : status;
}

/* A hang's file is small. */
#define FILE_MAX ((uint64_t)1 << 30)

/* Reads the newest state into a block that the caller frees, and nothing else: the file may be large and empty. */
static int read_newest(const struct uspi_os_file *file, struct found *found, uint64_t *duration) {
    uint8_t head[AT_SLOTS];
    if (file->size < AT_SLOTS || file->size > FILE_MAX) return USP_ERROR_TRUNCATED;
    int status = uspi_os_file_read(file, 0, head, sizeof head);
    if (status == USP_OK) status = find_state(head, file->size, found);
    if (status != USP_OK) return status;
    memcpy(duration, head + AT_DURATION, sizeof *duration);
    found->bytes = malloc(found->size + 1);
    if (found->bytes == NULL) return USP_ERROR_NO_MEMORY;
    status = uspi_os_file_read(file, found->at, found->bytes, found->size);
    if (status != USP_OK) return status;
    return checksum(found->bytes, found->size) == found->checksum ? USP_OK : USP_ERROR_FORMAT;
}

int usp_hang_open(const char *path, struct usp_hang **hang) {
    struct found found = {.bytes = NULL};
    struct uspi_os_file file;
    uint64_t duration = 0;
    if (path == NULL || hang == NULL) return USP_ERROR_ARGUMENT;
    *hang = NULL;
    int status = uspi_os_file_open(path, 0, &file, NULL);
    if (status != USP_OK) return status;
    status = read_newest(&file, &found, &duration);
    uspi_os_file_close(&file);
    struct opened *opened = calloc(1, sizeof *opened);
    if (status == USP_OK && opened == NULL) status = USP_ERROR_NO_MEMORY;
    if (status == USP_OK) status = read_state(&found, duration, opened);
    free(found.bytes);
    if (status == USP_OK) {
        *hang = &opened->hang;
    } else if (opened != NULL) {
        usp_hang_free(&opened->hang);
    }
    return status;
}

void usp_hang_free(struct usp_hang *hang) {
    if (hang == NULL) return;
    struct opened *opened = (struct opened *)(void *)hang;
    usp_profile_free(hang->profile);
    usp_profile_free(hang->threads);
    free(opened->first.frames);
    free(opened);
}
