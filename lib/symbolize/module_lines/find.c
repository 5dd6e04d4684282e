/* SPDX-License-Identifier: MIT */
/* See module_lines.h: finds the blocks' answers for an address, and the strings of answers. */
#include "lib/symbolize/module_lines/state.h"

#include <string.h>

/* Returns whether `a` is the better answer: the function with the smaller range, if both are functions; otherwise the
 * one of the unit that is first in the file. Of equal sections a linker keeps the first, and the other units' addresses
 * may lead there too. Where the first unit has rows and no function, as in GCC's thunks, it is right about that too. */
static bool is_better(const struct uspi_lines_answer *a, const struct uspi_lines_answer *b) {
    const bool are_functions = a->place.node != 0 && b->place.node != 0;
    return are_functions && a->part.size != b->part.size ? a->part.size < b->part.size : a->number < b->number;
}

/* Asks one block. Returns 1 when it has an answer, 0 when it has none, or a status. */
static int ask_block(const struct uspi_lines *lines, const struct uspi_block *block, uint32_t number, uint64_t address,
                     struct uspi_lines_answer *answer) {
    if (block->entries == 0) return 0;
    answer->lines = lines;
    answer->moved = lines->moved;
    answer->block = block;
    answer->number = number;
    int status = uspi_block_find(block, address, &answer->place);
    if (status == USP_ERROR_NOT_FOUND) return 0;
    if (status != USP_OK) return status;
    if (answer->place.node == 0 && answer->place.file == 0) return 0;
    answer->part.size = 0;
    if (answer->place.node == 0) return 1;
    status = uspi_block_find_part(block, address, &answer->part);
    if (status == USP_ERROR_NOT_FOUND) answer->part.size = 0;
    return status == USP_OK || status == USP_ERROR_NOT_FOUND ? 1 : status;
}

static int ask_blocks(struct uspi_lines *lines, const struct uspi_map *map, uint64_t address,
                      struct uspi_lines_answer answers[USPI_MAP_BLOCKS]) {
    uint32_t numbers[USPI_MAP_BLOCKS];
    int count = 0, found = uspi_map_find(map, address, numbers);
    if (found < 0) return found;
    for (int i = 0; i < found; i++) {
        const struct uspi_block *block;
        int status = uspi_lines_block(lines, numbers[i], &block);
        if (status != USP_OK) return status;
        int answered = ask_block(lines, block, numbers[i], address, &answers[count]);
        if (answered < 0) return answered;
        count += answered;
    }
    return count;
}

/* Moves the best answer to the front, and after it the answers whose function has exactly the same code. Returns their
 * number. */
static int choose(struct uspi_lines_answer *answers, int count) {
    int best = 0, kept = 1;
    for (int i = 1; i < count; i++) {
        if (is_better(&answers[i], &answers[best])) best = i;
    }
    if (best != 0) {
        const struct uspi_lines_answer first = answers[0];
        answers[0] = answers[best];
        answers[best] = first;
    }
    for (int i = 1; i < count; i++) {
        const bool is_same = answers[i].part.size != 0 && answers[i].part.start == answers[0].part.start &&
                             answers[i].part.size == answers[0].part.size;
        if (is_same) answers[kept++] = answers[i];
    }
    return kept;
}

/* Finds the answers in the object file that the debug map gives for the address. */
static int find_in_object(struct uspi_lines *lines, uint64_t address,
                          struct uspi_lines_answer answers[USPI_MAP_BLOCKS]) {
    struct uspi_object_address place;
    int found = uspi_lines_object_place(lines, address, &place);
    if (found != 1) return found;
    int count = uspi_lines_find(place.lines, place.address, answers);
    for (int i = 0; i < count; i++) answers[i].moved += place.moved;
    return count;
}

int uspi_lines_find(struct uspi_lines *lines, uint64_t address, struct uspi_lines_answer answers[USPI_MAP_BLOCKS]) {
    if (lines->status != USP_OK) return 0;
    if (lines->objects != NULL) return find_in_object(lines, address, answers);
    if (atomic_load_explicit(&lines->fallback, memory_order_acquire) != NULL)
        return uspi_lines_fall_back(lines, address, answers);
    const uint64_t moved = address - lines->moved;
    int count = ask_blocks(lines, &lines->map, moved, answers);
    if (count == USP_ERROR_FORMAT && lines->index != NULL) return uspi_lines_fall_back(lines, address, answers);
    if (count == 0 && lines->unclaimed != NULL) {
        const struct uspi_map *unclaimed = uspi_lines_unclaimed(lines);
        if (unclaimed == NULL) return USP_ERROR_NO_MEMORY;
        count = ask_blocks(lines, unclaimed, moved, answers);
    }
    return count > 1 ? choose(answers, count) : count;
}

int uspi_lines_fall_back(struct uspi_lines *lines, uint64_t address,
                         struct uspi_lines_answer answers[USPI_MAP_BLOCKS]) {
    if (lines->index == NULL) return 0;
    struct uspi_lines *fallback = atomic_load_explicit(&lines->fallback, memory_order_acquire);
    if (fallback == NULL) {
        uspi_lock_take(lines->lock);
        fallback = atomic_load_explicit(&lines->fallback, memory_order_relaxed);
        if (fallback == NULL) {
            fallback = uspi_lines_open_without_index(lines->image, lines->places, lines->image_file, lines->cache);
            atomic_store_explicit(&lines->fallback, fallback, memory_order_release);
        }
        uspi_lock_give(lines->lock);
    }
    return fallback != NULL ? uspi_lines_find(fallback, address, answers) : USP_ERROR_NO_MEMORY;
}

/* ---- strings ---- */

/* Finds a string of lines that are not from an index. */
static int find_source_text(const struct uspi_lines_answer *answer, uint64_t text, struct uspi_names *names,
                            const char **found) {
    const struct uspi_block *block = answer->block;
    const struct uspi_line_source *source = answer->lines->source;
    const struct uspi_texts *texts = source->texts(source, answer->number);
    *found = uspi_text_at(texts, block->bytes + block->at_text, block->text_bytes, text);
    /* Copies strings that can be freed before `names`: strings in the block, and all strings of lines in memory. */
    const bool is_own = (text & ((1u << USPI_TEXT_KIND_BITS) - 1)) == USPI_TEXT_BLOCK;
    if (*found == NULL || (!is_own && !answer->lines->is_in_memory)) return USP_OK;
    *found = uspi_names_keep(names, *found, strlen(*found));
    return *found != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

int uspi_lines_find_text(const struct uspi_lines_answer *answer, uint64_t text, struct uspi_names *names,
                         const char **found) {
    *found = NULL;
    if (text == 0) return USP_OK;
    if (answer->lines->index != NULL) return uspi_index_text(answer->lines->index, text, names, found);
    return find_source_text(answer, text, names, found);
}

const char *uspi_lines_text(const struct uspi_lines_answer *answer, uint64_t text, struct uspi_names *names) {
    const char *found;
    uspi_lines_find_text(answer, text, names, &found);
    return found;
}
