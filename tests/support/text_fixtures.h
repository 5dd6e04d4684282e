/* SPDX-License-Identifier: MIT */
/* Images, stacks and gathered text for the tests of output that is made of stacks. */
#ifndef TESTS_SUPPORT_TEXT_FIXTURES_H
#define TESTS_SUPPORT_TEXT_FIXTURES_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/images/image_list.h"

#include <unspool/unspool.h>

/* An image in a table, which ends with a path of NULL. */
struct made_image {
    const char *path;
    usp_addr load, size;
    uint32_t flags;
    const char *id; /* build id or UUID as text of any length; NULL: none */
};

static inline struct usp_images *make_images(const struct made_image *table, uint32_t arch) {
    struct uspi_image_list list = {0};
    struct usp_images *images;
    for (; table->path != NULL; table++) {
        struct usp_image image = {.path = table->path,
                                  .load_address = table->load,
                                  .text_low = table->load,
                                  .text_high = table->load + table->size,
                                  .end = table->load + table->size,
                                  .slide = table->load,
                                  .arch = arch,
                                  .flags = table->flags};
        /* A variant, which must stay with the image. */
        if (arch == USP_ARCH_ARM64 && (table->flags & USP_IMAGE_MACHO) != 0) image.variant = USP_VARIANT_ARM64E;
        if (table->id != NULL) {
            image.build_id_size = (uint32_t)strlen(table->id);
            memcpy(image.build_id, table->id, image.build_id_size);
        }
        ck_assert_int_eq(uspi_image_list_add(&list, &image), USP_OK);
    }
    ck_assert_int_eq(uspi_image_list_seal(&list, &images), USP_OK);
    return images;
}

/* A stack: an interrupted pc and return addresses, in the caller's frames. */
static inline struct usp_stack make_stack(struct usp_frame *frames, const usp_addr *pcs, uint32_t count) {
    struct usp_stack stack;
    usp_stack_init(&stack, frames, count);
    stack.arch = USP_ARCH_ARM64;
    stack.stop = USP_STOP_ROOT;
    stack.count = stack.physical = count;
    for (uint32_t i = 0; i < count; i++) {
        frames[i] = (struct usp_frame){.pc = pcs[i],
                                       .cfa = 0x7000 + 16 * i,
                                       .kind = i == 0 ? USP_FRAME_KIND_INTERRUPTED : USP_FRAME_KIND_RETURN_ADDRESS,
                                       .method = i == 0 ? USP_FRAME_METHOD_CONTEXT : USP_FRAME_METHOD_FRAME_POINTER};
    }
    return stack;
}

/* Text that a write function has received. */
struct gathered {
    char *text; /* NUL-terminated; to be freed */
    size_t length;
    unsigned pieces;
};

/* A usp_write_function. */
static inline int gather(void *context, const char *bytes, size_t n) {
    struct gathered *g = context;
    g->text = realloc(g->text, g->length + n + 1);
    memcpy(g->text + g->length, bytes, n);
    g->length += n;
    g->text[g->length] = '\0';
    g->pieces++;
    return USP_OK;
}

#endif
