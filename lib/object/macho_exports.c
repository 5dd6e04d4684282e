/* SPDX-License-Identifier: MIT */
/* See macho_exports.h. A node consists of the size of its export (0: none), the export, a byte with the number of
 * children, and for each child a piece of name and the child's offset. */
#include "lib/object/macho_exports.h"
#include "lib/base/array.h"

#include <stdlib.h>

/* Where the two kinds of commands have the trie's offset; its size follows. */
#define DYLD_INFO_EXPORTS 40
#define LINKEDIT_DATA     8

static int find_trie(const struct uspi_macho *macho, struct uspi_bytes *trie, struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_command command;
    int got;
    while ((got = uspi_macho_next(macho, &cursor, &command, error)) > 0) {
        bool is_info = command.kind == USPI_LC_DYLD_INFO || command.kind == USPI_LC_DYLD_INFO_ONLY;
        uint8_t raw[8];
        if (!is_info && command.kind != USPI_LC_DYLD_EXPORTS_TRIE) continue;
        int status = uspi_bytes_read(command.bytes, is_info ? DYLD_INFO_EXPORTS : LINKEDIT_DATA, raw, sizeof raw,
                                     "exports command", error);
        if (status != USP_OK) return status;
        if (uspi_le32(raw + 4) == 0) continue;
        return uspi_macho_part(macho, uspi_le32(raw), uspi_le32(raw + 4), "exports", trie, error);
    }
    return got < 0 ? got : uspi_bytes_error(error, macho->bytes, 0, USP_ERROR_NOT_FOUND, "no exports");
}

static int add_node(struct uspi_macho_exports *exports, size_t *capacity, const struct uspi_export_node *node) {
    struct uspi_export_node *grown = uspi_array_reserve(exports->nodes, capacity, exports->count + 1, sizeof *grown);
    if (grown == NULL) return USP_ERROR_NO_MEMORY;
    exports->nodes = grown;
    exports->nodes[exports->count++] = *node;
    return USP_OK;
}

/* Moves *at past a string. */
static int skip_string(struct uspi_bytes trie, uint64_t *at, struct uspi_error *error) {
    uint64_t byte;
    do {
        int status = uspi_bytes_load(trie, *at, 1, &byte, "name of an export", error);
        if (status != USP_OK) return status;
        ++*at;
    } while (byte != 0);
    return USP_OK;
}

/* Adds the children of a node, and subtracts the node's size from *left. Nodes of a sound trie do not overlap, so all
 * together are no longer than the trie. A trie with cycles exceeds that and is refused. */
static int read_node(struct uspi_macho_exports *exports, uint32_t number, size_t *capacity, uint64_t *left,
                     struct uspi_error *error) {
    const struct uspi_bytes trie = exports->trie;
    const uint64_t begin = exports->nodes[number].at;
    uint64_t at = begin, size, children;
    int status = uspi_bytes_uleb(trie, &at, &size, "size of an export", error);
    struct uspi_bytes exported;
    if (status == USP_OK) status = uspi_bytes_sub(trie, at, size, "export", &exported, error);
    if (status != USP_OK) return status;
    at += size;
    status = uspi_bytes_load(trie, at++, 1, &children, "node of the exports", error);
    while (status == USP_OK && children-- > 0) {
        struct uspi_export_node child = {.parent = number, .piece = (uint32_t)at};
        uint64_t place;
        status = skip_string(trie, &at, error);
        if (status == USP_OK) status = uspi_bytes_uleb(trie, &at, &place, "place of a node", error);
        if (status != USP_OK) return status;
        if (at - begin > *left || place >= trie.size) {
            return uspi_bytes_error(error, trie, begin, USP_ERROR_FORMAT, "the exports are not a tree");
        }
        child.at = (uint32_t)place;
        status = add_node(exports, capacity, &child);
    }
    if (status != USP_OK) return status;
    if (at - begin > *left) {
        return uspi_bytes_error(error, trie, begin, USP_ERROR_FORMAT, "the exports are not a tree");
    }
    *left -= at - begin;
    return USP_OK;
}

int uspi_macho_exports_read(struct uspi_macho_exports *exports, struct uspi_bytes trie, struct uspi_error *error) {
    const struct uspi_export_node root = {0};
    size_t capacity = 0;
    uint64_t left = trie.size;
    *exports = (struct uspi_macho_exports){.trie = trie};
    if (trie.size > UINT32_MAX) return uspi_bytes_error(error, trie, 0, USP_ERROR_FORMAT, "too many exports");
    int status = add_node(exports, &capacity, &root);
    /* Reading ends at the first damaged node. The children that were read of it are usable. */
    struct uspi_error damage;
    for (uint32_t i = 0; status == USP_OK && i < exports->count; i++) {
        status = read_node(exports, i, &capacity, &left, &damage);
        if (status == USP_OK || status == USP_ERROR_NO_MEMORY || i == 0) continue;
        status = USP_OK;
        break;
    }
    if (status == USP_OK) {
        /* If shrinking fails, keep the larger block. */
        struct uspi_export_node *nodes = realloc(exports->nodes, exports->count * sizeof *nodes);
        if (nodes != NULL) exports->nodes = nodes;
        return USP_OK;
    }
    uspi_macho_exports_close(exports);
    if (status == USP_ERROR_NO_MEMORY) return uspi_bytes_error(error, trie, 0, status, "out of memory");
    return uspi_error_set(error, status, "%s", damage.text);
}

int uspi_macho_exports_open(struct uspi_macho_exports *exports, const struct uspi_macho *macho,
                            struct uspi_error *error) {
    struct uspi_bytes trie;
    *exports = (struct uspi_macho_exports){0};
    int status = find_trie(macho, &trie, error);
    return status == USP_OK ? uspi_macho_exports_read(exports, trie, error) : status;
}

void uspi_macho_exports_close(struct uspi_macho_exports *exports) {
    free(exports->nodes);
    *exports = (struct uspi_macho_exports){0};
}

int uspi_macho_export(const struct uspi_macho_exports *exports, uint32_t i, struct uspi_export *found,
                      struct uspi_error *error) {
    uint64_t at = exports->nodes[i].at, size;
    int status = uspi_bytes_uleb(exports->trie, &at, &size, "size of an export", error);
    if (status != USP_OK) return status;
    if (size == 0) return uspi_bytes_error(error, exports->trie, at, USP_ERROR_NOT_FOUND, "no export");
    *found = (struct uspi_export){0};
    status = uspi_bytes_uleb(exports->trie, &at, &found->flags, "flags of an export", error);
    if (status != USP_OK || (found->flags & USPI_EXPORT_REEXPORT) != 0) return status;
    return uspi_bytes_uleb(exports->trie, &at, &found->offset, "address of an export", error);
}

int uspi_macho_export_name(const struct uspi_macho_exports *exports, uint32_t i, char *to, size_t *length,
                           struct uspi_error *error) {
    const struct uspi_bytes trie = exports->trie;
    uint64_t total = 0;
    for (uint32_t node = i; node != 0; node = exports->nodes[node].parent) {
        uint64_t end = exports->nodes[node].piece;
        int status = skip_string(trie, &end, error);
        if (status != USP_OK) return status;
        total += end - 1 - exports->nodes[node].piece;
    }
    /* In a sound trie each piece occurs once, so a name is no longer than the trie. */
    if (total > trie.size) return uspi_bytes_error(error, trie, 0, USP_ERROR_FORMAT, "the exports are not a tree");
    *length = (size_t)total;
    if (to == NULL) return USP_OK;
    for (uint32_t node = i; node != 0; node = exports->nodes[node].parent) {
        uint64_t begin = exports->nodes[node].piece, end = begin;
        int status = skip_string(trie, &end, error);
        if (status != USP_OK) return status;
        total -= end - 1 - begin;
        status = uspi_bytes_read(trie, begin, to + total, (size_t)(end - 1 - begin), "name of an export", error);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}
