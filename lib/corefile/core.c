/* SPDX-License-Identifier: MIT */
/* Describes a core to the walker, and closes cores. See core.h. */
#include "lib/corefile/core.h"

#include "lib/images/file.h"
#include "lib/unwind/tables/image_tables.h"

#include <unspool/dyld_caches.h>

#include <stdlib.h>
#include <string.h>

/* Implements usp_target.image_at. */
static int region_at(void *context, usp_addr pc, struct usp_region *region) {
    const struct uspi_core *core = context;
    const struct uspi_core_segment *segment = uspi_core_memory_find(&core->memory, pc);
    memset(region, 0, sizeof *region);
    if (segment == NULL) {
        const struct usp_image *image = usp_images_find(core->images, pc);
        if (image != NULL && pc >= image->text_low && pc < image->text_high) {
            region->text_low = image->text_low;
            region->text_high = image->text_high;
            return USP_OK;
        }
        return core->complete ? USP_ERROR_NOT_FOUND : USP_ERROR_ABSENT;
    }
    if ((segment->access & USPI_CORE_EXECUTE) != 0) {
        region->text_low = segment->low;
        region->text_high = segment->low + segment->size;
        return USP_OK;
    }
    /* Stored bytes without any access right come from a writer that does not record access. */
    return segment->access == 0 && segment->promised != 0 ? USP_ERROR_ABSENT : USP_ERROR_NOT_FOUND;
}

/* Implements usp_target.unwind_tables_at. */
static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    const struct uspi_core *core = context;
    return core->tables != NULL ? uspi_image_tables_at(core->tables, pc, tables) : USP_ERROR_NOT_FOUND;
}

void uspi_core_target(const struct uspi_core *core, struct usp_target *target) {
    /* The callbacks' contexts are not const, but the callbacks never write to them. */
    union {
        const struct uspi_core *in;
        struct uspi_core *out;
    } unconst = {core};
    usp_target_init(target, core->arch);
    target->os = core->os;
    target->address_bits = core->address_bits;
    target->pac_mask = core->pac_mask;
    target->memory = (struct usp_memory){uspi_core_memory_read, &unconst.out->memory};
    /* No stack bounds: memory does not change and each read is checked. A walk may so leave an alternate signal stack
     * or a coroutine's stack for the one below it. */
    target->image_at = region_at;
    target->unwind_tables_at = tables_at;
    target->context = unconst.out;
}

void uspi_core_close(struct uspi_core *core) {
    if (core == NULL) return;
    for (size_t i = 0; i < core->message_count; i++) free(core->messages[i]);
    free(core->messages);
    free(core->threads);
    free(core->program);
    free(core->crash);
    free(core->folder);
    uspi_image_tables_free(core->tables);
    usp_images_free(core->images);
    usp_dyld_caches_free(core->dyld_caches);
    uspi_core_memory_clear(&core->memory);
    for (size_t i = 0; i < core->file_count; i++) uspi_file_close(core->files[i]);
    free(core->files);
    free(core);
}
