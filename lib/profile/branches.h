/* SPDX-License-Identifier: MIT */
/* A profile's tree by functions, for people: calls from different places of one function are one branch, and each branch knows
 * what it amounts to. The tree by addresses is profile.h's. */
#ifndef USPI_PROFILE_BRANCHES_H
#define USPI_PROFILE_BRANCHES_H

#include "lib/profile/names.h"

/* Places in a function, as many as are written for a branch. */
#define USPI_BRANCH_PLACES 3u

struct uspi_branch {
    struct uspi_item item;
    uint32_t thread;   /* a thread's own branch: its number; the callees' branches: USPI_NONE */
    uint32_t function; /* USPI_NONE: a thread, or frames that were left out */
    uint32_t parent;   /* USPI_NONE: a root */
    uint32_t first;    /* callee, the heaviest; USPI_NONE: none */
    uint32_t next;     /* sibling, none heavier; USPI_NONE: the last */
    uint32_t depth;    /* 0: a root */
    uint64_t all;      /* of the value by which samples are weighed, with the callees */
    uint64_t own;      /* that ended here */
    uint32_t places[USPI_BRANCH_PLACES];
    uint32_t place_count; /* of different places, also when that is more */
};

struct uspi_branches {
    const struct uspi_profile_names *names;
    struct uspi_pool pool;
    struct uspi_allowance allowance;
    uint32_t first; /* root, the heaviest; USPI_NONE: none */
    uint64_t all;
    uint32_t deepest; /* the largest depth of a branch that has something */
    uint32_t *path;   /* scratch */
    size_t path_room;
};

/* Makes the tree, of all threads as one or with a root for each. Branches that amount to nothing by that value are left out.
 * USP_OK or USP_ERROR_NO_MEMORY; uspi_branches_free must follow in any case. */
int uspi_branches_make(struct uspi_branches *branches, const struct uspi_profile_names *names,
                       const struct usp_profile_write_options *options);

void uspi_branches_free(struct uspi_branches *branches);

static inline struct uspi_branch *uspi_branch(const struct uspi_branches *branches, uint32_t i) {
    return uspi_pool_at(&branches->pool, i);
}

/* The branch after i when callees come right after their callers; USPI_NONE at the end. Begins with branches->first. */
uint32_t uspi_branch_next(const struct uspi_branches *branches, uint32_t i);

/* A branch's name, or what it is called that has none. *thread is set where it is a thread's. */
const char *uspi_branch_text(const struct uspi_branches *branches, const struct uspi_branch *branch);

/* What a total counts for. */
uint64_t uspi_total_value(const struct uspi_total *total, uint32_t value);

#endif
