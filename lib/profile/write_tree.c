/* SPDX-License-Identifier: MIT */
/* Writes a call tree for people in the format of sample(1) on Apple's systems, so that its readers can read this one. A
 * branch has its count, guides from the caller to its callees, function, image, offsets and addresses. Then follow the
 * functions in which threads were most often, and the images. */
#include "lib/base/path.h"
#include "lib/profile/writers.h"

#include <stdlib.h>

/* Maximum number of functions in the list of innermost functions. */
#define TOP_FUNCTIONS 40u

struct tree {
    struct uspi_writing *writing;
    struct uspi_branches branches;
    char *guides; /* for each depth the guide character that leads past a callee to the next one */
};

static void put_line(void *context, const char *line) {
    struct uspi_text *text = context;
    uspi_put_string(text, line);
    uspi_put(text, "\n", 1);
}

static void put_heading(struct uspi_writing *writing) {
    struct uspi_text *text = &writing->text;
    const struct usp_profile *profile = writing->profile;
    uspi_put_string(text, "Analysis of sampling ");
    uspi_put_harmless(text, uspi_span_of(uspi_profile_title(writing)), "");
    if (profile->options.pid != 0) {
        uspi_put_string(text, " (pid ");
        uspi_put_decimal(text, (uint64_t)profile->options.pid, 0);
        uspi_put_string(text, ")");
    }
    uspi_put_string(text, "\n");
    uspi_profile_describe_run(profile, put_line, text);
    uspi_put_string(text, "\nCall graph:\n");
}

/* Puts an amount. Time is in microseconds, so that it is a whole number like a count. */
static void put_amount(const struct tree *tree, uint64_t amount) {
    bool is_time = tree->writing->options.value != USP_PROFILE_SAMPLES;
    uspi_put_decimal(&tree->writing->text, is_time ? (amount + 500) / 1000 : amount, 0);
}

static const struct uspi_site *site_of(const struct uspi_profile_names *names, const struct uspi_branch *branch,
                                       uint32_t i) {
    return uspi_site(names, names->places[branch->places[i]].site);
}

/* Puts "file.c:12,14,…", like sample(1). */
static void put_lines(struct uspi_text *text, const struct uspi_profile_names *names,
                      const struct uspi_branch *branch) {
    const struct uspi_function *function = uspi_function(names, branch->function);
    uint32_t last = 0;
    if (!names->has_lines || function->file == NULL) return;
    for (uint32_t i = 0; i < branch->place_count && i < USPI_BRANCH_PLACES; i++) {
        uint32_t line = names->places[branch->places[i]].line;
        if (line == 0 || line == last) continue;
        if (last == 0) {
            uspi_put_string(text, "  ");
            uspi_put_harmless(text, uspi_span_of(uspi_last_component(function->file)), "");
        }
        uspi_put_string(text, last == 0 ? ":" : ",");
        uspi_put_decimal(text, line, 0);
        last = line;
    }
    if (last != 0 && branch->place_count > USPI_BRANCH_PLACES) uspi_put_string(text, ",...");
}

/* Puts "+ 20,34,…  [0x…,0x…,…]", or for a place without a name "load address 0x… + 0x…  [0x…]". An inlined call has no
 * offset of its own. */
static void put_sites(const struct tree *tree, const struct uspi_branch *branch) {
    struct uspi_text *text = &tree->writing->text;
    const struct uspi_profile_names *names = tree->branches.names;
    const struct uspi_function *function = uspi_function(names, branch->function);
    uint32_t shown = branch->place_count < USPI_BRANCH_PLACES ? branch->place_count : USPI_BRANCH_PLACES;
    bool is_more = branch->place_count > shown;
    if (function->symbol != NULL && !function->is_inlined && !function->is_given) {
        for (uint32_t i = 0; i < shown; i++) {
            uspi_put_string(text, i == 0 ? " + " : ",");
            uspi_put_decimal(text, site_of(names, branch, i)->offset - function->start, 0);
        }
        if (is_more) uspi_put_string(text, ",...");
    } else if (function->symbol == NULL && function->image != USPI_NONE) {
        uspi_put_string(text, "  load address ");
        uspi_put_hex(text, uspi_profile_image(names->profile, function->image)->image.load_address, 1);
        uspi_put_string(text, " + ");
        uspi_put_hex(text, function->start, 1);
    }
    for (uint32_t i = 0; i < shown; i++) {
        uspi_put_string(text, i == 0 ? "  [" : ",");
        uspi_put_hex(text, uspi_site_address(names->profile, site_of(names, branch, i)), 1);
    }
    uspi_put_string(text, is_more ? ",...]" : "]");
    put_lines(text, names, branch);
}

static void put_function(struct uspi_text *text, const struct uspi_profile_names *names,
                         const struct uspi_function *function) {
    uspi_put_harmless(text, uspi_span_of(function->symbol != NULL ? function->text : "???"), "");
    if (function->is_inlined) uspi_put_string(text, " [inlined]");
    if (function->image == USPI_NONE) return;
    uspi_put_string(text, "  (in ");
    uspi_put_harmless(text, uspi_span_of(uspi_profile_image_name(names->profile, function->image)), "");
    uspi_put_string(text, ")");
}

static void put_thread(struct uspi_text *text, const struct usp_thread_info *info) {
    uspi_put_string(text, "Thread_");
    uspi_put_decimal(text, info->thread.id, 0);
    if (info->name[0] != '\0') {
        uspi_put_string(text, ": ");
        uspi_put_harmless(text, uspi_span_of(info->name), "");
    }
    if (info->queue[0] != '\0') {
        uspi_put_string(text, "   DispatchQueue: ");
        uspi_put_harmless(text, uspi_span_of(info->queue), "");
    } else if ((info->flags & USP_THREAD_MAIN) != 0) {
        uspi_put_string(text, "   (main)");
    }
}

static void put_branch(const struct tree *tree, const struct uspi_branch *branch) {
    static const char guides[] = "+!:|";
    struct uspi_text *text = &tree->writing->text;
    const struct uspi_profile_names *names = tree->branches.names;
    uspi_put_string(text, "    ");
    for (uint32_t depth = 0; depth < branch->depth; depth++) {
        const char guide[2] = {tree->guides[depth], ' '};
        uspi_put(text, guide, 2);
    }
    /* A guide leads past this branch's callees to its next sibling; a thread's branch always has a guide. */
    bool leads_on = branch->next != USPI_NONE || branch->depth == 0;
    tree->guides[branch->depth] = ' ';
    if (leads_on) tree->guides[branch->depth] = guides[branch->depth % (sizeof guides - 1)];
    put_amount(tree, branch->all);
    uspi_put(text, " ", 1);
    if (branch->thread != USPI_NONE) {
        put_thread(text, &uspi_profile_thread(names->profile, branch->thread)->info);
    } else if (branch->function == USPI_NONE) {
        uspi_put_string(text, uspi_branch_text(&tree->branches, branch));
    } else {
        put_function(text, names, uspi_function(names, branch->function));
        put_sites(tree, branch);
    }
    uspi_put(text, "\n", 1);
}

/* ---- innermost functions ---- */

struct top {
    uint32_t function;
    uint64_t own;
};

static int by_own(const void *a, const void *b) {
    const struct top *x = a, *y = b;
    if (x->own != y->own) return x->own > y->own ? -1 : 1;
    return (x->function > y->function) - (x->function < y->function);
}

static int put_tops(const struct tree *tree) {
    const struct uspi_profile_names *names = tree->branches.names;
    struct uspi_text *text = &tree->writing->text;
    const uint32_t count = names->functions.begun;
    struct top *tops = calloc((size_t)count + 1, sizeof *tops);
    if (tops == NULL) return USP_ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) tops[i].function = i;
    for (uint32_t i = 0; i < tree->branches.pool.begun; i++) {
        const struct uspi_branch *branch = uspi_branch(&tree->branches, i);
        if (branch->function != USPI_NONE) tops[branch->function].own += branch->own;
    }
    qsort(tops, count, sizeof *tops, by_own);
    uspi_put_string(text, "\nSort by top of stack, same collapsed:\n");
    for (uint32_t i = 0; i < count && i < TOP_FUNCTIONS && tops[i].own > 0; i++) {
        uspi_put_string(text, "        ");
        put_function(text, names, uspi_function(names, tops[i].function));
        uspi_put_string(text, "        ");
        put_amount(tree, tops[i].own);
        uspi_put(text, "\n", 1);
    }
    free(tops);
    return USP_OK;
}

static void put_images(struct uspi_writing *writing) {
    struct uspi_text *text = &writing->text;
    uspi_put_string(text, "\nBinary Images:\n");
    for (uint32_t i = 0; i < writing->profile->images.begun; i++) {
        const struct uspi_profile_image *known = uspi_profile_image(writing->profile, i);
        const struct usp_image *image = &known->image;
        uspi_put_string(text, "    ");
        uspi_put_hex(text, image->load_address, 1);
        uspi_put_string(text, " - ");
        uspi_put_hex(text, image->end > image->load_address ? image->end - 1 : image->end, 1);
        uspi_put_string(text, "  ");
        uspi_put_harmless(text, uspi_span_of(uspi_last_component(image->path)), "");
        if (image->build_id_size > 0) {
            uspi_put_string(text, " <");
            uspi_put_build_id(text, image->build_id, image->build_id_size);
            uspi_put_string(text, ">");
        }
        uspi_put_string(text, " ");
        uspi_put_harmless(text, uspi_span_of(image->path), "");
        uspi_put(text, "\n", 1);
    }
}

int uspi_profile_write_tree(struct uspi_writing *writing) {
    struct tree tree = {.writing = writing};
    int status = uspi_branches_make(&tree.branches, &writing->names, &writing->options);
    tree.guides = status == USP_OK ? malloc((size_t)tree.branches.deepest + 1) : NULL;
    if (tree.guides == NULL) status = USP_ERROR_NO_MEMORY;
    if (status == USP_OK) {
        put_heading(writing);
        if (writing->options.value != USP_PROFILE_SAMPLES) {
            uspi_put_string(&writing->text, writing->options.value == USP_PROFILE_WALL
                                                ? "    in microseconds of time\n"
                                                : "    in microseconds on a processor\n");
        }
        for (uint32_t i = tree.branches.first; i != USPI_NONE; i = uspi_branch_next(&tree.branches, i)) {
            put_branch(&tree, uspi_branch(&tree.branches, i));
        }
        status = put_tops(&tree);
        put_images(writing);
    }
    free(tree.guides);
    uspi_branches_free(&tree.branches);
    return status;
}
