/* SPDX-License-Identifier: MIT */
/* Functions for profiles that a monitor fills while a thread hangs, which may hold any lock. Everything that needs
 * memory is done beforehand. */
#include "lib/profile/profile.h"

#include "lib/os/os.h"

static void forget_image(struct usp_profile *p, uint32_t i) {
    struct uspi_profile_image *image = uspi_profile_image(p, i);
    image->is_kept = false;
    if (--image->uses == 0) uspi_profile_remove_image(p, i);
}

void uspi_profile_keep_images(struct usp_profile *profile, const struct usp_images *images) {
    uspi_lock_take(profile->lock);
    for (uint32_t i = 0; i < profile->images.begun; i++) uspi_profile_image(profile, i)->is_listed = false;
    for (size_t k = 0; k < usp_images_count(images); k++) {
        uint32_t i = uspi_profile_know_image(profile, usp_images_get(images, k));
        if (i == USPI_NONE) break;
        struct uspi_profile_image *image = uspi_profile_image(profile, i);
        if (!image->is_kept) image->uses++;
        image->is_kept = image->is_listed = true;
    }
    for (uint32_t i = 0; i < profile->images.begun; i++) {
        const struct uspi_profile_image *image = uspi_profile_image(profile, i);
        if (image->uses > 0 && image->is_kept && !image->is_listed) forget_image(profile, i);
    }
    uspi_lock_give(profile->lock);
}

void uspi_profile_clear(struct usp_profile *profile) {
    uspi_lock_take(profile->lock);
    uspi_pool_clear(&profile->threads);
    uspi_pool_clear(&profile->totals);
    uspi_pool_clear(&profile->nodes);
    for (uint32_t i = 0; i < profile->images.begun; i++) {
        struct uspi_profile_image *image = uspi_profile_image(profile, i);
        if (image->uses == 0) continue;
        image->uses = 1;
        if (!image->is_kept) forget_image(profile, i);
    }
    profile->line.first = profile->line.count = 0;
    profile->samples = profile->in_line = profile->evicted = profile->refused = profile->wall = profile->cpu = 0;
    profile->marked = USPI_NONE;
    uspi_lock_give(profile->lock);
}

void uspi_profile_list(struct usp_profile *profile, const struct usp_thread_info *info, int32_t status) {
    uspi_lock_take(profile->lock);
    const uint32_t thread = uspi_profile_know_thread(profile, info);
    if (thread != USPI_NONE) {
        uspi_profile_mark_listed(profile, thread, status);
    } else {
        profile->refused++;
    }
    uspi_lock_give(profile->lock);
}

void uspi_profile_mark(struct usp_profile *profile, uint64_t thread) {
    uint32_t node = USPI_NONE;
    uspi_lock_take(profile->lock);
    for (uint32_t i = 0; i < profile->threads.begun; i++) {
        const struct uspi_profile_thread *known = uspi_profile_thread(profile, i);
        if (known->uses > 0 && !known->has_ended && known->info.thread.id == thread) node = known->last;
    }
    if (node != USPI_NONE) {
        uspi_node(profile, node)->uses++;
        uspi_profile_give_up_node(profile, profile->marked);
        profile->marked = node;
    }
    uspi_lock_give(profile->lock);
}
