/* SPDX-License-Identifier: MIT */
/* Implements search_index.h. The file: a line with the version, then the folder's path, then for each file its path,
 * all terminated by NUL; after a file's path its size, times, inode, and the size of its ids, as 8 bytes each in this
 * machine's order, then the ids. */
#define _GNU_SOURCE 1 /* for realpath */
#include "tools/search_index.h"

#include "lib/base/array.h"
#include "tools/fetched.h"
#include "tools/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char version[] = "unspool search 1\n";

/* Folders with fewer files need no index. */
#define FILES_MIN 64

/* A larger file is not an index of this program. */
#define SIZE_MAXIMUM ((off_t)1 << 30)

/* What must be equal for a file to count as unchanged, and the size of its ids. */
struct facts {
    uint64_t size, modified, changed, inode, ids;
};

struct entry {
    const char *path;
    struct facts facts;
    const uint8_t *ids;
    bool is_owned; /* path and ids are one block of memory, which this entry owns */
    bool is_found;
};

struct search_index {
    char *file, *folder; /* paths of the index and of its folder */
    char *bytes;         /* the contents of the file; entries point into it */
    struct entry *entries;
    size_t count, capacity;
    size_t *slots; /* hash table of entries by path: indexes plus 1; its size is a power of two */
    size_t slot_count;
    size_t found;
    bool has_new;
};

static uint64_t hash_of(const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

/* ---- entries ---- */

static size_t *slot_of(const struct search_index *index, const char *path) {
    size_t i = (size_t)hash_of(path) & (index->slot_count - 1);
    while (index->slots[i] != 0 && strcmp(index->entries[index->slots[i] - 1].path, path) != 0) {
        i = (i + 1) & (index->slot_count - 1);
    }
    return &index->slots[i];
}

/* Makes the hash table anew, with at most half of the slots used. Returns false when memory is exhausted. */
static bool make_slots(struct search_index *index) {
    size_t count = 1024;
    while (count / 4 < index->count + 1) count *= 2;
    size_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL) return false;
    free(index->slots);
    index->slots = slots;
    index->slot_count = count;
    for (size_t i = 0; i < index->count; i++) *slot_of(index, index->entries[i].path) = i + 1;
    return true;
}

/* Adds an entry, or replaces that of its path. Returns false when memory is exhausted. */
static bool add_entry(struct search_index *index, const struct entry *entry) {
    if (2 * (index->count + 1) > index->slot_count && !make_slots(index)) return false;
    size_t *slot = slot_of(index, entry->path);
    if (*slot != 0) {
        struct entry *old = &index->entries[*slot - 1];
        if (old->is_owned) free((char *)(uintptr_t)old->path);
        *old = *entry;
        return true;
    }
    if (!uspi_room_for(&index->entries, &index->capacity, index->count, 1, sizeof *index->entries)) return false;
    index->entries[index->count++] = *entry;
    *slot = index->count;
    return true;
}

/* ---- reading ---- */

/* Reads the next NUL-terminated text. NULL: there is none. */
static const char *take_text(const char **at, const char *end) {
    const char *text = *at, *nul = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
    if (nul == NULL) return NULL;
    *at = nul + 1;
    return text;
}

static bool parse(struct search_index *index, size_t size) {
    const char *at = index->bytes, *end = at + size, *text = take_text(&at, end);
    if (text == NULL || strcmp(text, version) != 0) return false;
    text = take_text(&at, end);
    if (text == NULL || strcmp(text, index->folder) != 0) return false;
    while ((text = take_text(&at, end)) != NULL) {
        struct entry entry = {.path = text};
        if ((size_t)(end - at) < sizeof entry.facts) return false;
        memcpy(&entry.facts, at, sizeof entry.facts);
        at += sizeof entry.facts;
        if ((uint64_t)(end - at) < entry.facts.ids) return false;
        entry.ids = (const uint8_t *)at;
        at += entry.facts.ids;
        if (!add_entry(index, &entry)) return false;
    }
    return at == end;
}

/* Reads the whole file if it is a regular file that only this user can write. */
static char *read_file(const char *path, size_t *size) {
    struct stat file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return NULL;
    char *bytes = NULL;
    const bool is_own = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
                        (file.st_mode & (S_IWGRP | S_IWOTH)) == 0 && file.st_size > 0 && file.st_size < SIZE_MAXIMUM;
    if (is_own) bytes = malloc((size_t)file.st_size);
    *size = 0;
    while (bytes != NULL && *size < (size_t)file.st_size) {
        const ssize_t got = read(fd, bytes + *size, (size_t)file.st_size - *size);
        if (got <= 0) break;
        *size += (size_t)got;
    }
    close(fd);
    return bytes;
}

static void forget(struct search_index *index) {
    for (size_t i = 0; i < index->count; i++) {
        if (index->entries[i].is_owned) free((char *)(uintptr_t)index->entries[i].path);
    }
    index->count = 0;
    free(index->slots);
    index->slots = NULL;
    index->slot_count = 0;
}

struct search_index *search_index_open(const char *folder) {
    struct search_index *index = calloc(1, sizeof *index);
    char name[64];
    size_t size;
    if (index == NULL) return NULL;
    index->folder = realpath(folder, NULL);
    if (index->folder != NULL) {
        snprintf(name, sizeof name, "unspool/search/%016llx", (unsigned long long)hash_of(index->folder));
        index->file = fetch_in_cache(name);
    }
    if (index->file == NULL) {
        free(index->folder);
        free(index);
        return NULL;
    }
    index->bytes = read_file(index->file, &size);
    if (index->bytes != NULL && !parse(index, size)) forget(index);
    return index;
}

/* ---- files ---- */

static struct facts facts_of(const struct stat *file) {
    return (struct facts){.size = (uint64_t)file->st_size,
                          .modified = (uint64_t)file->st_mtime,
                          .changed = (uint64_t)file->st_ctime,
                          .inode = (uint64_t)file->st_ino};
}

bool search_index_find(struct search_index *index, const char *path, const struct stat *file, struct search_ids *ids) {
    if (index == NULL || index->slot_count == 0) return false;
    const size_t *slot = slot_of(index, path);
    if (*slot == 0) return false;
    struct entry *entry = &index->entries[*slot - 1];
    struct facts facts = facts_of(file);
    facts.ids = entry->facts.ids;
    if (memcmp(&facts, &entry->facts, sizeof facts) != 0) return false;
    index->found += !entry->is_found;
    entry->is_found = true;
    *ids = (struct search_ids){entry->ids, (size_t)entry->facts.ids};
    return true;
}

void search_index_add(struct search_index *index, const char *path, const struct stat *file,
                      const struct search_ids *ids) {
    const size_t length = strlen(path) + 1;
    struct entry entry = {.facts = facts_of(file), .is_owned = true, .is_found = true};
    /* Times count seconds: another change within this one would not show. */
    if (index == NULL || file->st_ctime + 1 >= time(NULL)) return;
    char *copy = malloc(length + ids->size);
    if (copy == NULL) return;
    memcpy(copy, path, length);
    if (ids->size > 0) memcpy(copy + length, ids->bytes, ids->size);
    entry.path = copy;
    entry.ids = (const uint8_t *)copy + length;
    entry.facts.ids = ids->size;
    if (!add_entry(index, &entry)) {
        free(copy);
        return;
    }
    index->found++;
    index->has_new = true;
}

/* ---- writing ---- */

static bool put_entries(FILE *out, const struct search_index *index) {
    bool is_put = fwrite(version, sizeof version, 1, out) == 1;
    is_put = is_put && fwrite(index->folder, strlen(index->folder) + 1, 1, out) == 1;
    for (size_t i = 0; is_put && i < index->count; i++) {
        const struct entry *entry = &index->entries[i];
        /* Files that are gone are left out. */
        if (!entry->is_found) continue;
        is_put = fwrite(entry->path, strlen(entry->path) + 1, 1, out) == 1 &&
                 fwrite(&entry->facts, sizeof entry->facts, 1, out) == 1 &&
                 (entry->facts.ids == 0 || fwrite(entry->ids, (size_t)entry->facts.ids, 1, out) == 1);
    }
    return is_put;
}

/* Writes the index to a new file and gives that its name. Without a place for it, the next search reads all files. */
static void write_index(struct search_index *index) {
    static const char ending[] = ".XXXXXX";
    if (!make_folders_of(index->file, 0700)) return;
    const size_t length = strlen(index->file);
    char *path = malloc(length + sizeof ending);
    if (path == NULL) return;
    memcpy(path, index->file, length);
    memcpy(path + length, ending, sizeof ending);
    const int fd = mkstemp(path);
    FILE *out = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (out != NULL) {
        const bool is_put = put_entries(out, index);
        if (fclose(out) != 0 || !is_put || rename(path, index->file) != 0) unlink(path);
    } else if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    free(path);
}

void search_index_close(struct search_index *index) {
    if (index == NULL) return;
    const bool differs = index->has_new || index->found < index->count;
    if (differs && index->found >= FILES_MIN) write_index(index);
    forget(index);
    free(index->entries);
    free(index->bytes);
    free(index->file);
    free(index->folder);
    free(index);
}
