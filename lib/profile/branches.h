/* SPDX-License-Identifier: MIT */
/* A profile's call tree by functions, for people. Calls from different places of one function are one branch, and each
 * branch has its sum. profile.h has the tree by addresses. */
#ifndef USPI_PROFILE_BRANCHES_H
#define USPI_PROFILE_BRANCHES_H

#include "lib/profile/names.h"

/* Number of places in a function that are written for a branch. */
#define USPI_BRANCH_PLACES 3u

struct uspi_branch {
    struct uspi_item item;
    uint32_t thread;   /* number of the thread, in a thread's own branch; USPI_NONE in the branches of its functions */
    uint32_t function; /* USPI_NONE: a thread, or frames that were left out */
    uint32_t parent;   /* USPI_NONE: a root */
    uint32_t first;    /* heaviest callee; USPI_NONE: none */
    uint32_t next;     /* next sibling, which is not heavier; USPI_NONE: the last */
    uint32_t depth;    /* 0: a root */
    uint64_t all;      /* sum of the chosen value over the samples in this branch and its callees */
    uint64_t own;      /* sum over the samples whose innermost function this is */
    uint32_t places[USPI_BRANCH_PLACES];
    uint32_t place_count; /* number of different places; USPI_BRANCH_PLACES + 1: there are more */
};

struct uspi_branches {
    const struct uspi_profile_names *names;
    struct uspi_pool pool;
    struct uspi_allowance allowance;
    uint32_t first;   /* heaviest root; USPI_NONE: none */
    uint64_t all;     /* sum over all samples */
    uint32_t deepest; /* largest depth of a branch */
    uint32_t *path;   /* scratch: nodes of one path */
    size_t path_capacity;
};

/* Makes the tree: with a root for each thread, or of all threads together if `options` has USP_PROFILE_MERGE_THREADS.
 * Branches whose sum is 0 are left out. Returns USP_OK or USP_ERROR_NO_MEMORY; the caller calls uspi_branches_free in
 * both cases. */
int uspi_branches_make(struct uspi_branches *branches, const struct uspi_profile_names *names,
                       const struct usp_profile_write_options *options);

void uspi_branches_free(struct uspi_branches *branches);

static inline struct uspi_branch *uspi_branch(const struct uspi_branches *branches, uint32_t i) {
    return uspi_pool_at(&branches->pool, i);
}

/* Returns the branch after i in the order in which callees follow their caller directly; USPI_NONE at the end. Begins
 * with branches->first. */
uint32_t uspi_branch_next(const struct uspi_branches *branches, uint32_t i);

/* Returns a branch's name; "" for a thread's branch, and a text in brackets for frames that were left out. */
const char *uspi_branch_text(const struct uspi_branches *branches, const struct uspi_branch *branch);

/* Returns the chosen value (USP_PROFILE_WALL, ...) of a total. */
uint64_t uspi_total_value(const struct uspi_total *total, uint32_t value);

#endif
