/* SPDX-License-Identifier: MIT */
/* Implements branches.h: builds the tree and sorts siblings. */
#include "lib/profile/branches.h"

#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

uint64_t uspi_total_value(const struct uspi_total *total, uint32_t value) {
    return value == USP_PROFILE_WALL ? total->wall : value == USP_PROFILE_CPU ? total->cpu : total->samples;
}

static bool is_same_branch(const void *item, const void *key) {
    const struct uspi_branch *a = item, *b = key;
    return a->parent == b->parent && a->function == b->function && a->thread == b->thread;
}

/* Finds the branch under a parent, or adds it. Returns USPI_NONE if memory is exhausted. */
static uint32_t know_branch(struct uspi_branches *branches, const struct uspi_branch *like) {
    uint32_t hash = (uint32_t)uspi_mix(uspi_mix(like->parent, like->function), like->thread);
    uint32_t i = uspi_pool_find(&branches->pool, hash, is_same_branch, like);
    if (i != USPI_NONE) return i;
    i = uspi_pool_add(&branches->pool, hash);
    if (i == USPI_NONE) return i;
    struct uspi_branch *branch = uspi_branch(branches, i);
    branch->parent = like->parent;
    branch->function = like->function;
    branch->thread = like->thread;
    branch->depth = like->parent != USPI_NONE ? uspi_branch(branches, like->parent)->depth + 1 : 0;
    branch->first = branch->next = USPI_NONE;
    if (branch->depth > branches->deepest) branches->deepest = branch->depth;
    return i;
}

static void note_place(struct uspi_branch *branch, uint32_t place) {
    for (uint32_t i = 0; i < branch->place_count && i < USPI_BRANCH_PLACES; i++) {
        if (branch->places[i] == place) return;
    }
    if (branch->place_count < USPI_BRANCH_PLACES) branch->places[branch->place_count] = place;
    /* If there are more, writers only say so. */
    if (branch->place_count <= USPI_BRANCH_PLACES) branch->place_count++;
}

/* Adds an amount to the branch of a place under `at`; place USPI_NONE: frames that were left out. Returns the branch,
 * or USPI_NONE if memory is exhausted. */
static uint32_t add_place(struct uspi_branches *branches, uint32_t at, uint32_t place, uint64_t amount) {
    struct uspi_branch like = {.parent = at, .thread = USPI_NONE, .function = USPI_NONE};
    if (place != USPI_NONE) like.function = branches->names->places[place].function;
    at = know_branch(branches, &like);
    if (at == USPI_NONE) return at;
    struct uspi_branch *branch = uspi_branch(branches, at);
    branch->all += amount;
    if (place != USPI_NONE) note_place(branch, place);
    return at;
}

/* Adds an amount to the path from a node's outermost frame to the node. The functions of a frame run from the one that
 * was not inlined to the innermost inlined one. */
static int add_path(struct uspi_branches *branches, uint32_t node, uint32_t root, uint64_t amount) {
    const struct uspi_profile_names *names = branches->names;
    size_t depth = 0;
    do {
        uint32_t *grown = uspi_array_reserve(branches->path, &branches->path_capacity, depth + 1, sizeof *grown);
        if (grown == NULL) return USP_ERROR_NO_MEMORY;
        branches->path = grown;
        grown[depth++] = node;
    } while (uspi_node_ascend(names->profile, &node));
    uint32_t at = root;
    if (root != USPI_NONE) uspi_branch(branches, root)->all += amount;
    while (depth-- > 0) {
        uint32_t number = names->site_of[branches->path[depth]];
        const struct uspi_site *site = number != USPI_NONE ? uspi_site(names, number) : NULL;
        for (uint32_t i = site != NULL ? site->count : 1; i-- > 0;) {
            at = add_place(branches, at, site != NULL ? site->first + i : USPI_NONE, amount);
            if (at == USPI_NONE) return USP_ERROR_NO_MEMORY;
        }
    }
    uspi_branch(branches, at)->own += amount;
    branches->all += amount;
    return USP_OK;
}

/* ---- order ---- */

const char *uspi_branch_text(const struct uspi_branches *branches, const struct uspi_branch *branch) {
    if (branch->function != USPI_NONE) return uspi_function(branches->names, branch->function)->text;
    return branch->thread != USPI_NONE ? "" : "[frames left out]";
}

/* What a comparison needs to know of a branch: qsort passes it no context. */
struct rank {
    uint64_t all;
    const char *text;
    uint64_t thread;
    uint32_t parent, branch;
};

/* Sorts siblings together, the lightest first: each is then inserted before its siblings that are already linked. */
static int by_rank(const void *a, const void *b) {
    const struct rank *x = a, *y = b;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    if (x->all != y->all) return x->all < y->all ? -1 : 1;
    if (x->thread != y->thread) return x->thread > y->thread ? -1 : 1;
    int by_text = strcmp(y->text, x->text);
    return by_text != 0 ? by_text : (x->branch < y->branch) - (x->branch > y->branch);
}

static int link_siblings(struct uspi_branches *branches) {
    const uint32_t count = branches->pool.begun;
    struct rank *ranks = malloc(((size_t)count + 1) * sizeof *ranks);
    if (ranks == NULL) return USP_ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const struct uspi_branch *b = uspi_branch(branches, i);
        const struct usp_profile *profile = branches->names->profile;
        uint64_t id = b->thread != USPI_NONE ? uspi_profile_thread(profile, b->thread)->info.thread.id : 0;
        ranks[i] = (struct rank){b->all, uspi_branch_text(branches, b), id, b->parent, i};
    }
    qsort(ranks, count, sizeof *ranks, by_rank);
    for (uint32_t i = 0; i < count; i++) {
        struct uspi_branch *b = uspi_branch(branches, ranks[i].branch);
        if (b->all == 0) continue;
        uint32_t *first = b->parent != USPI_NONE ? &uspi_branch(branches, b->parent)->first : &branches->first;
        b->next = *first;
        *first = ranks[i].branch;
    }
    free(ranks);
    return USP_OK;
}

int uspi_branches_make(struct uspi_branches *branches, const struct uspi_profile_names *names,
                       const struct usp_profile_write_options *options) {
    const struct usp_profile *profile = names->profile;
    *branches = (struct uspi_branches){.names = names, .first = USPI_NONE, .allowance = {.limit = UINT64_MAX}};
    if (!uspi_pool_init(&branches->pool, sizeof(struct uspi_branch), 256, false, &branches->allowance)) {
        return USP_ERROR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < profile->totals.begun; i++) {
        const struct uspi_total *total = uspi_total(profile, i);
        uint64_t amount = uspi_total_value(total, options->value);
        if (amount == 0) continue;
        const struct uspi_branch like = {.thread = total->thread, .function = USPI_NONE, .parent = USPI_NONE};
        uint32_t root = USPI_NONE;
        if ((options->flags & USP_PROFILE_MERGE_THREADS) == 0) {
            root = know_branch(branches, &like);
            if (root == USPI_NONE) return USP_ERROR_NO_MEMORY;
        }
        int status = add_path(branches, total->node, root, amount);
        if (status != USP_OK) return status;
    }
    return link_siblings(branches);
}

uint32_t uspi_branch_next(const struct uspi_branches *branches, uint32_t i) {
    const struct uspi_branch *branch = uspi_branch(branches, i);
    if (branch->first != USPI_NONE) return branch->first;
    while (branch->next == USPI_NONE) {
        if (branch->parent == USPI_NONE) return USPI_NONE;
        branch = uspi_branch(branches, branch->parent);
    }
    return branch->next;
}

void uspi_branches_free(struct uspi_branches *branches) {
    uspi_pool_free(&branches->pool);
    free(branches->path);
    memset(branches, 0, sizeof *branches);
}
