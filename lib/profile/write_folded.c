/* SPDX-License-Identifier: MIT */
/* Writes folded stacks, one per line: thread;outermost;…;innermost value. flamegraph.pl and similar tools read them. */
#include "lib/profile/writers.h"

#include <stdlib.h>

static void put_branch(struct uspi_writing *writing, const struct uspi_branches *branches,
                       const struct uspi_branch *branch) {
    if (branch->thread != USPI_NONE) {
        const struct uspi_profile_thread *thread = uspi_profile_thread(writing->profile, branch->thread);
        uspi_put_profile_thread(&writing->text, &thread->info, (writing->options.flags & USP_PROFILE_NATIVE_IDS) != 0);
    } else {
        uspi_put_harmless(&writing->text, uspi_span_of(uspi_branch_text(branches, branch)), ";");
    }
}

/* Puts one line. The path is collected from the innermost branch outwards, because branches refer to their callers. */
static void put_line(struct uspi_writing *writing, const struct uspi_branches *branches, uint32_t i, uint32_t *path) {
    uint32_t depth = 0;
    for (uint32_t at = i; at != USPI_NONE; at = uspi_branch(branches, at)->parent) path[depth++] = at;
    while (depth-- > 0) {
        put_branch(writing, branches, uspi_branch(branches, path[depth]));
        uspi_put(&writing->text, depth > 0 ? ";" : " ", 1);
    }
    uspi_put_decimal(&writing->text, uspi_branch(branches, i)->own, 0);
    uspi_put(&writing->text, "\n", 1);
}

int uspi_profile_write_folded(struct uspi_writing *writing) {
    struct uspi_branches branches;
    int status = uspi_branches_make(&branches, &writing->names, &writing->options);
    uint32_t *path = status == USP_OK ? malloc(((size_t)branches.deepest + 1) * sizeof *path) : NULL;
    if (path == NULL) status = USP_ERROR_NO_MEMORY;
    for (uint32_t i = branches.first; status == USP_OK && i != USPI_NONE; i = uspi_branch_next(&branches, i)) {
        if (uspi_branch(&branches, i)->own > 0) put_line(writing, &branches, i, path);
    }
    free(path);
    uspi_branches_free(&branches);
    return status;
}
