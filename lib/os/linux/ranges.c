/* SPDX-License-Identifier: MIT */
/* See ranges.h. */
#include "lib/base/bisect.h"
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/ranges.h"

#include "lib/base/array.h"
#include "lib/os/linux/images.h"
#include "lib/os/linux/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

long uspi_ranges_read(struct uspi_ranges *ranges, int64_t pid, struct uspi_image_listing *listing) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    long mappings = 0;
    ranges->count = 0;
    int e = uspi_proc_maps_open(&maps, pid);
    if (e < 0) return e;
    while (uspi_proc_maps_next(&maps, &m)) {
        mappings++;
        if (listing != NULL) uspi_image_listing_take(listing, &m);
        if (!m.readable || !(m.writable || m.executable)) continue;
        if (!uspi_room_for(&ranges->list, &ranges->capacity, ranges->count, 1, sizeof *ranges->list)) {
            maps.error = -ENOMEM;
            break;
        }
        ranges->list[ranges->count++] = (struct uspi_range){
            m.low, m.high, m.writable, m.executable, strcmp(m.path, "[stack]") == 0, m.inode == 0 && !m.shared};
    }
    uspi_proc_maps_close(&maps);
    if (maps.error >= 0) return mappings;
    ranges->count = 0;
    return maps.error;
}

const struct uspi_range *uspi_ranges_above(const struct uspi_ranges *ranges, usp_addr address) {
    size_t i;
    USPI_FIRST(i, 0, ranges->count, ranges->list[i].high > address);
    return i < ranges->count ? &ranges->list[i] : NULL;
}

const struct uspi_range *uspi_ranges_find(const struct uspi_ranges *ranges, usp_addr address) {
    const struct uspi_range *r = uspi_ranges_above(ranges, address);
    if (r == NULL) return NULL;
    return address >= r->low || (r->grows && r->low - address < USPI_STACK_MAX) ? r : NULL;
}

void uspi_ranges_free(struct uspi_ranges *ranges) { free(ranges->list); }

#endif
