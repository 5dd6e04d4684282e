/* SPDX-License-Identifier: MIT */
/* Implements loop_wait.h: learns the run loop's callers, and recognizes them in a stack. */
#include "lib/monitor/loop_wait.h"

#include "lib/base/path.h"

/* Name prefixes of the libraries with the call in which a run loop waits: mach_msg, in a simulator too; poll of glibc
 * and musl. */
static const char *const system_libraries[] = {"libsystem_kernel.", "libsystem_sim_kernel", "libc.so", "libc.musl-",
                                               "ld-musl-"};

/* Maximum number of frames in the system's library: mach_msg calls several functions of its own. */
#define SYSTEM_FRAMES 6

static struct uspi_text_range text_of(const struct usp_image *image) {
    return (struct uspi_text_range){image->text_low, image->text_high};
}

static bool holds(const struct uspi_text_range *range, usp_addr address) {
    return address >= range->low && address < range->high;
}

static bool is_system_library(const char *path) {
    const char *name = uspi_last_component(path);
    for (size_t i = 0; i < sizeof system_libraries / sizeof *system_libraries; i++) {
        if (strncmp(name, system_libraries[i], strlen(system_libraries[i])) == 0) return true;
    }
    return false;
}

static bool find_system(const struct usp_images *images, struct uspi_text_range *range) {
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        if (!is_system_library(image->path)) continue;
        *range = text_of(image);
        return true;
    }
    return false;
}

static uint32_t skip(const struct usp_stack *stack, uint32_t i, const struct uspi_text_range *range) {
    while (i < stack->physical && holds(range, stack->frames[i].pc)) i++;
    return i;
}

void uspi_loop_wait_learn(struct uspi_loop_wait *wait, const struct usp_images *images, const struct usp_stack *stack) {
    if (atomic_load_explicit(&wait->is_learned, memory_order_relaxed) || stack->physical == 0) return;
    const struct usp_image *own = usp_images_find(images, stack->frames[0].pc);
    if (own == NULL || !find_system(images, &wait->system)) return;
    const struct uspi_text_range own_text = text_of(own);
    uint32_t i = skip(stack, 0, &own_text);
    const struct usp_image *loop = i < stack->physical ? usp_images_find(images, stack->frames[i].pc) : NULL;
    if (loop == NULL) return;
    wait->loop = text_of(loop);
    wait->count = 0;
    for (uint32_t end = skip(stack, i, &wait->loop); i < end && wait->count < USPI_LOOP_CALLERS; i++) {
        wait->callers[wait->count++] = stack->frames[i].pc;
    }
    atomic_store_explicit(&wait->is_learned, true, memory_order_release);
}

bool uspi_loop_wait_holds(const struct uspi_loop_wait *wait, const struct usp_stack *stack) {
    if (!atomic_load_explicit(&wait->is_learned, memory_order_acquire)) return false;
    uint32_t first = skip(stack, 0, &wait->system);
    if (first == 0 || first > SYSTEM_FRAMES) return false;
    uint32_t end = skip(stack, first, &wait->loop);
    for (uint32_t i = first + 1; i < end && i <= first + 2; i++) {
        for (uint32_t k = 0; k < wait->count; k++) {
            if (stack->frames[i].pc == wait->callers[k]) return true;
        }
    }
    return false;
}
