/* SPDX-License-Identifier: MIT */
/* Reads a whole index file to check that it is intact (index_file.h), and returns what it says about itself
 * (lines.h). */
#include "lib/base/sized.h"
#include "lib/symbolize/store/index_file.h"

#include <unspool/lines.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct checking {
    const struct uspi_block *block;
    const struct uspi_string_pool *strings;
    uint32_t last_node; /* the node that was followed last */
};

/* Follows a node to the function that was not inlined. Returns false when something on the way is damaged. */
static bool follow_node(const struct checking *checking, uint32_t node) {
    struct uspi_block_node of;
    struct uspi_block_function function;
    while (node != 0) {
        if (uspi_block_node(checking->block, node, &of) != USP_OK || of.caller >= node) return false;
        if (of.function != 0) {
            if (uspi_block_function(checking->block, of.function, &function) != USP_OK) return false;
            if (function.name > checking->strings->count) return false;
        }
        node = of.caller;
    }
    return true;
}

/* A uspi_block_visitor: checks a place. */
static int check_place(void *context, const struct uspi_block_entry *place) {
    struct checking *checking = context;
    const struct uspi_block *block = checking->block;
    uint64_t folder, name;
    if (place->end < place->start) return USP_ERROR_FORMAT;
    if (place->node != checking->last_node && !follow_node(checking, place->node)) return USP_ERROR_FORMAT;
    checking->last_node = place->node;
    if (place->file == 0) return USP_OK;
    int status = uspi_block_file(block, place->file, &folder, &name);
    const bool is_there = folder <= checking->strings->count && name <= checking->strings->count;
    return status == USP_OK && is_there ? USP_OK : USP_ERROR_FORMAT;
}

/* A uspi_call_visitor: checks that the callee begins with a part or has a name. */
static int check_call(void *context, const struct uspi_block_call *call) {
    const struct checking *checking = context;
    struct uspi_block_part part = {.is_cold = false};
    if (call->name > checking->strings->count) return USP_ERROR_FORMAT;
    if (call->part != 0 && uspi_block_part(checking->block, call->part - 1, &part) != USP_OK) return USP_ERROR_FORMAT;
    return part.is_cold ? USP_ERROR_FORMAT : USP_OK;
}

static int check_block(const struct uspi_index_file *index, uint64_t number) {
    struct checking checking = {NULL, &index->strings, 0};
    int status = uspi_index_block(index, number, &checking.block);
    if (status == USP_OK) status = uspi_block_visit(checking.block, check_place, &checking);
    return status == USP_OK ? uspi_block_visit_calls(checking.block, check_call, &checking) : status;
}

static bool check_symbols(const struct uspi_index_file *index) {
    struct uspi_index_cursor cursor = {0};
    struct uspi_index_symbol symbol;
    const uint64_t count = uspi_index_symbol_count(index);
    int got;
    /* The section is not empty but has no valid count, so the table is damaged. */
    if (count == 0 && index->sections[USPI_INDEX_SYMBOLS].size > 8) return false;
    while ((got = uspi_index_next_symbol(index, &cursor, &symbol)) > 0) {
        if (symbol.name > index->strings.count) return false;
    }
    return got == 0;
}

int uspi_index_file_check(const struct uspi_index_file *index, struct uspi_error *error) {
    const struct uspi_bytes all = uspi_file_bytes(index->file);
    const uint8_t *bytes = index->checked.bytes;
    uint64_t damage = 0;
    if (!uspi_checked_range(&index->checked, bytes, index->checked.size)) {
        (void)uspi_checked_damage(&index->checked, &damage);
        return uspi_bytes_error(error, all, damage, USP_ERROR_FORMAT, "a checksum of the index is wrong");
    }
    for (uint64_t i = 0; i < index->blocks; i++) {
        int status = check_block(index, i);
        if (status == USP_OK) continue;
        if (status == USP_ERROR_NO_MEMORY) return status;
        return uspi_bytes_error(error, index->sections[USPI_INDEX_BLOCKS], 0, USP_ERROR_FORMAT,
                                "block %" PRIu64 " of the index is damaged", i);
    }
    if (check_symbols(index)) return USP_OK;
    return uspi_bytes_error(error, index->sections[USPI_INDEX_SYMBOLS], 0, USP_ERROR_FORMAT,
                            "the symbols of the index are damaged");
}

void usp_index_info_init(struct usp_index_info *info) {
    memset(info, 0, sizeof *info);
    info->size = sizeof *info;
}

int usp_index_examine(const char *path, uint32_t flags, struct usp_index_info *info, char *error, size_t error_size) {
    struct uspi_error why = {0};
    struct uspi_index_file *index;
    if (path == NULL || info == NULL || info->size < USPI_LEAST_SIZE(info)) {
        return USP_ERROR_ARGUMENT;
    }
    int status = uspi_index_file_open(path, &index, &why);
    if (status == USP_OK && (flags & USP_INDEX_CHECK) != 0) status = uspi_index_file_check(index, &why);
    if (status == USP_OK) {
        info->arch = index->arch;
        info->variant = index->variant;
        info->flags = (index->flags & USPI_INDEX_MACHO) != 0 ? USP_IMAGE_MACHO : 0;
        info->build_id_size = index->build_id_size;
        memcpy(info->build_id, index->build_id, sizeof info->build_id);
        memcpy(info->name, index->name, sizeof index->name);
        info->index_bytes = uspi_file_bytes(index->file).size;
        info->blocks = index->blocks;
        info->symbols = uspi_index_symbol_count(index);
    }
    uspi_index_file_close(index);
    if (error != NULL && error_size > 0) {
        snprintf(error, error_size, "%s",
                 why.text[0] != '\0' || status == USP_OK ? why.text : usp_status_string(status));
    }
    return status;
}
