/* SPDX-License-Identifier: MIT */
/* See own_target.h. */
#include "lib/capture/own_target.h"

#include "arch/host.h"
#include "lib/capture/roots.h"
#include "lib/images/own_images.h"
#include "lib/os/os.h"
#include "lib/unwind/tables/image_tables.h"

void uspi_own_memory_init(struct uspi_own_memory *memory, const struct uspi_image_tables *tables) {
    memory->tables = tables;
    memory->still = (struct usp_memory_range){0, 0};
    memory->has_pages = false;
}

bool uspi_own_memory_read_still(struct uspi_own_memory *memory, usp_addr from, void *to, size_t n) {
    const struct usp_memory_range *still = &memory->still;
    if (from - still->address >= still->size) {
        struct usp_memory_range found = uspi_image_tables_still(memory->tables, from);
        if (found.size == 0) return false;
        memory->still = found;
    }
    if (n > still->size - (from - still->address)) return false;
    uspi_read_directly((uintptr_t)from, to, n);
    return true;
}

int uspi_own_memory_read(struct uspi_own_memory *memory, usp_addr from, void *to, size_t n) {
    if (uspi_own_memory_read_still(memory, from, to, n)) return USP_OK;
    if (!memory->has_pages) uspi_walk_pages_init(&memory->pages, (struct usp_memory){uspi_os_read, NULL});
    memory->has_pages = true;
    return uspi_page_cache_read(&memory->pages.cache, from, to, n);
}

static int read_own(void *context, usp_addr from, void *to, size_t n) {
    struct uspi_own_surroundings *own = context;
    if (!uspi_stack_view_holds(&own->stack, from, n)) return uspi_own_memory_read(&own->memory, from, to, n);
    uspi_read_directly((uintptr_t)from, to, n);
    return USP_OK;
}

static int read_own_code(void *context, usp_addr from, void *to, size_t n) {
    struct uspi_own_surroundings *own = context;
    return uspi_own_memory_read(&own->memory, from, to, n);
}

static int own_tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    const struct uspi_own_surroundings *own = context;
    return uspi_image_tables_at(own->tables, pc, tables);
}

/* Whether the listed library at `pc` was unloaded since, so that another library's code may be there. */
static bool is_outdated(const struct uspi_own_surroundings *own, usp_addr pc) {
    const struct usp_image *image = usp_images_find(own->shortcuts.images, pc);
    return image != NULL && !uspi_own_images_have(own->shortcuts.generation, image);
}

/* Finds the code region at `pc`. The thread's stacks contain no code: the one that the walk begins on, and the thread's
 * own while it handles a signal on another one. */
static int own_region_at(void *context, usp_addr pc, struct usp_region *region) {
    const struct uspi_own_surroundings *own = context;
    const struct uspi_own_stack thread = uspi_os_own_stack();
    if (pc >= thread.low && pc < thread.high) return USP_ERROR_NOT_FOUND;
    if (!own->stack.grows && pc >= own->stack.low && pc < own->stack.high) return USP_ERROR_NOT_FOUND;
    if (own->tables == NULL) return USP_ERROR_ABSENT;
    int status = uspi_image_tables_region_at(own->tables, pc, region);
    return status == USP_ERROR_NOT_FOUND && is_outdated(own, pc) ? USP_ERROR_ABSENT : status;
}

void uspi_own_target_init(struct usp_target *target, struct uspi_own_surroundings *own, uintptr_t sp) {
    struct uspi_own_code code;
    usp_target_init(target, USPI_HOST_ARCH);
    uspi_os_describe_self(target);
    uspi_roots_describe(target);
    own->ticket = uspi_own_code_enter(&code);
    own->shortcuts = (struct uspi_shortcuts){0};
    uspi_own_code_describe(&code, target, &own->shortcuts);
    uspi_own_memory_init(&own->memory, code.tables);
    own->tables = code.tables;
    if (code.tables != NULL) target->unwind_tables_at = own_tables_at;
    target->image_at = own_region_at;
    target->context = own;
    uspi_stack_view_init(&own->stack, sp);
    if (!own->stack.grows) {
        own->shortcuts.stack = (struct uspi_copied){(const uint8_t *)sp, sp, own->stack.high - sp};
    }
    target->memory = (struct usp_memory){read_own, own};
    target->code = (struct usp_memory){read_own_code, own};
}
