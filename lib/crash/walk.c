/* SPDX-License-Identifier: MIT */
/* Walks stacks of a process that crashes. Their unwind tables are located by the images' headers in memory, or are those
 * of usp_prepare, if the program has called it. */
#include "lib/crash/kit.h"

#include "lib/capture/own_target.h"
#include "lib/capture/roots.h"
#include "lib/capture/thread_copy.h"
#include "lib/unwind/tables/image_tables.h"
#include "lib/unwind/unwind.h"

/* Memory and code of one walk. */
struct surroundings {
    struct uspi_crash_kit *kit;
    struct uspi_thread_copy *copy;
    struct uspi_own_code code; /* what usp_prepare, or a later capture, has published */
    struct uspi_own_memory memory;
};

void uspi_crash_forget_pages(struct uspi_crash_kit *kit) {
    uspi_page_cache_in(&kit->cache, USPI_CRASH_PAGE, USPI_CRASH_PAGES, kit->pages, kit->page_bytes,
                       (struct usp_memory){uspi_os_read, NULL});
    memset((void *)kit->rules, 0, sizeof kit->rules);
}

static int read_memory(void *context, usp_addr from, void *to, size_t n) {
    struct surroundings *s = context;
    const int status = uspi_read_stacks(s->copy, from, to, n);
    if (status != USP_ERROR_ABSENT || uspi_own_memory_read_still(&s->memory, from, to, n)) {
        return status != USP_ERROR_ABSENT ? status : USP_OK;
    }
    return uspi_page_cache_read(&s->kit->cache, from, to, n);
}

/* Whether the published tables are those of an image that is still there. */
static bool is_published(const struct uspi_own_code *code, const struct usp_image *image, usp_addr pc) {
    const struct usp_image *listed = code->tables != NULL ? usp_images_find(code->images, pc) : NULL;
    return listed != NULL && listed->load_address == image->load_address &&
           listed->build_id_size == image->build_id_size &&
           memcmp(listed->build_id, image->build_id, sizeof image->build_id) == 0;
}

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    struct surroundings *s = context;
    struct uspi_crash_kit *kit = s->kit;
    const struct usp_memory memory = {uspi_page_cache_read, &kit->cache};
    const struct usp_image *image = uspi_crash_image_at(kit, pc);
    if (image == NULL) return USP_ERROR_NOT_FOUND;
    if (is_published(&s->code, image, pc)) return uspi_image_tables_at(s->code.tables, pc, tables);
    const size_t i = (size_t)(image - kit->images);
    if (!kit->has_tables[i]) uspi_image_tables_locate(image, &memory, &kit->tables[i]);
    kit->has_tables[i] = true;
    *tables = kit->tables[i];
    return USP_OK;
}

static int region_at(void *context, usp_addr pc, struct usp_region *region) {
    const struct surroundings *s = context;
    const struct usp_image *image = uspi_crash_image_at(s->kit, pc);
    /* Generated code can be anywhere else. */
    if (image == NULL) return USP_ERROR_ABSENT;
    if (pc < image->text_low || pc >= image->text_high) return USP_ERROR_NOT_FOUND;
    *region = (struct usp_region){.text_low = image->text_low, .text_high = image->text_high};
    return USP_OK;
}

void uspi_crash_describe_process(struct uspi_crash_kit *kit) {
    usp_target_init(&kit->target, usp_arch_host());
    uspi_os_describe_self(&kit->target);
    uspi_roots_describe(&kit->target);
}

int uspi_crash_walk(struct uspi_crash_kit *kit, struct uspi_thread_copy *copy, bool has_crashed,
                    struct usp_stack *stack) {
    struct surroundings s = {.kit = kit, .copy = copy};
    struct uspi_shortcuts shortcuts = {.stack = copy->parts[0], .parts = copy->parts};
    struct usp_unwind_options options;
    const uint32_t ticket = uspi_own_code_enter(&s.code);
    struct usp_target target = kit->target;
    /* Without one, the calling thread is walked, or none is known. */
    if (!has_crashed || copy->swift_task_slot != 0) target.swift_task_slot = copy->swift_task_slot;
    uspi_own_memory_init(&s.memory, s.code.tables);
    target.stack_low = copy->stack_low;
    target.stack_high = copy->stack_high;
    target.memory = (struct usp_memory){read_memory, &s};
    target.image_at = region_at;
    target.unwind_tables_at = tables_at;
    target.context = &s;
    usp_unwind_options_init(&options);
    options.tail = kit->options.max_frames / 4;
    options.deadline = kit->deadline;
    usp_stack_init(stack, kit->frames, kit->options.max_frames);
    /* While the crashed thread is walked, other threads may unload code. */
    struct uspi_rule_cache rules = uspi_rule_cache_in(kit->rules, USPI_CRASH_RULES, true);
    if (!has_crashed) shortcuts.rules = &rules;
    const int status = uspi_unwind(&target, &copy->registers, false, &shortcuts, &options, stack);
    usp_images_release(ticket);
    return status;
}
