/* SPDX-License-Identifier: MIT */
/* See perf_images.h. */
#include "lib/recording/perf_images.h"

#include "lib/base/array.h"
#include "lib/images/file.h"
#include "lib/images/image_list.h"

#include <stdlib.h>

/* Sizes of pages: the smallest, and the largest of arm64's kernels. */
#define PAGE       UINT64_C(4096)
#define PAGE_LARGE UINT64_C(65536)

/* Returns the size of the largest page at whose beginning a segment's map can begin, before the segment itself. */
static uint64_t page_of(const struct uspi_elf_segment *segment) {
    if ((segment->flags & USPI_PF_X) == 0 || segment->align <= PAGE) return PAGE;
    return segment->align < PAGE_LARGE ? segment->align : PAGE_LARGE;
}

/* Finds the slide of a file's map. Of two segments that share a page of the file, the executable one is mapped.
 * Returns false if no segment is there. */
static bool find_slide(const struct uspi_perf_file *file, const struct uspi_perf_mapping *map, uint64_t *slide) {
    struct uspi_elf_segment segment;
    bool is_found = false;
    for (uint64_t i = 0; uspi_elf_segment(&file->elf, i, &segment, NULL) == USP_OK; i++) {
        if (segment.type != USPI_PT_LOAD || segment.file_size == 0) continue;
        const uint64_t from = segment.offset & ~(page_of(&segment) - 1);
        if (map->offset < from || map->offset - from >= segment.file_size + (segment.offset - from)) continue;
        const bool has_code = (segment.flags & USPI_PF_X) != 0;
        if (is_found && !has_code) continue;
        *slide = map->low - (segment.address - segment.offset + map->offset);
        is_found = true;
        if (has_code) break;
    }
    return is_found;
}

/* Adds the segments of a file that are not written to, which hold code and unwind tables, to the memory. */
static bool add_segments(struct uspi_core_memory *memory, const struct uspi_perf_file *file, uint64_t slide) {
    struct uspi_elf_segment segment;
    for (uint64_t i = 0; uspi_elf_segment(&file->elf, i, &segment, NULL) == USP_OK; i++) {
        if (segment.type != USPI_PT_LOAD || (segment.flags & USPI_PF_W) != 0 || segment.file_size == 0) continue;
        struct uspi_core_backing backing = {.low = segment.address + slide, .size = segment.file_size};
        if (uspi_bytes_sub(uspi_file_bytes(file->file), segment.offset, segment.file_size, "segment", &backing.bytes,
                           NULL) != USP_OK) {
            continue;
        }
        if (uspi_core_memory_back(memory, &backing) != USP_OK) return false;
    }
    return true;
}

/* Describes the image of a map whose file is there. Returns false if the file does not fit the map. */
static bool describe(const struct uspi_perf_file *file, const struct uspi_perf_mapping *map, struct usp_image *image) {
    uint64_t slide;
    const struct uspi_elf_extent *extent = &file->extent;
    if (!find_slide(file, map, &slide)) return false;
    image->slide = slide;
    image->load_address = slide + file->elf.header_address;
    image->end = slide + extent->high;
    image->text_low = slide + extent->text_low;
    image->text_high = slide + extent->text_high;
    image->hole_offset = extent->hole_offset;
    image->hole_size = extent->hole_size;
    image->arch = file->elf.arch;
    if (extent->has_text) {
        image->text_offset = extent->text_offset;
        image->flags |= USP_IMAGE_TEXT_OFFSET;
    }
    return image->load_address <= map->low && map->low < image->end && image->load_address <= image->text_low &&
           image->text_high <= image->end;
}

/* Describes a map of which only the path is known. */
static void describe_unknown(const struct uspi_perf_mapping *map, uint32_t arch, struct usp_image *image) {
    image->load_address = map->offset <= map->low ? map->low - map->offset : map->low;
    image->slide = image->load_address;
    image->text_low = map->low;
    image->text_high = image->end = map->high;
    image->arch = arch;
}

/* Maximum number of images between two maps of an image. */
#define NEAR 32u

/* Returns the image that an earlier map has made of the same file at the same address; NULL: none. The maps come in the
 * order of their addresses. */
static struct uspi_perf_image *find_known(const struct uspi_perf_image_builder *builder, uint32_t file,
                                          const struct usp_image *image) {
    const size_t end = builder->count > NEAR ? builder->count - NEAR : 0;
    for (size_t i = builder->count; i-- > end;) {
        struct uspi_perf_image *known = &builder->all[i];
        if (known->file == file && known->image.load_address == image->load_address) return known;
    }
    return NULL;
}

/* Adds the image of one map. */
static bool add_map(struct uspi_perf_image_builder *builder, const struct uspi_perf_mapping *map, bool is_kernel) {
    struct uspi_perf_file *file =
        is_kernel ? uspi_perf_file(builder->files, map->file) : uspi_perf_files_open(builder->files, map->file);
    struct usp_image image = {.path = file->path};
    const bool has_file = file->file != NULL && describe(file, map, &image);
    if (!has_file) {
        image.flags = 0;
        describe_unknown(map, builder->arch, &image);
        if (is_kernel) image.load_address = image.slide = map->low;
    }
    if (is_kernel || uspi_perf_is_vdso(file)) image.flags |= USP_IMAGE_KERNEL;
    if (file->is_deleted) image.flags |= USP_IMAGE_DELETED;
    const struct uspi_build_id *id = file->was_opened ? &file->build : &file->id;
    image.build_id_size = id->size;
    memcpy(image.build_id, id->bytes, id->size);
    struct uspi_perf_image *known = find_known(builder, map->file, &image);
    if (known != NULL) {
        /* Without the file, its pieces are one image from the first to the last. */
        if (!has_file && image.end > known->image.end) known->image.end = known->image.text_high = image.end;
        return true;
    }
    if (!uspi_room_for(&builder->all, &builder->capacity, builder->count, 1, sizeof *builder->all)) return false;
    builder->all[builder->count++] = (struct uspi_perf_image){image, map->file, has_file};
    return !has_file || add_segments(builder->memory, file, image.slide);
}

bool uspi_perf_images_add(struct uspi_perf_image_builder *builder, const struct uspi_perf_mapping *maps, size_t count,
                          bool is_kernel) {
    bool is_done = true;
    for (size_t i = 0; i < count && is_done; i++) is_done = add_map(builder, &maps[i], is_kernel);
    return is_done;
}

/* Cuts the part before the code of images without a file, whose beginning is computed from the map's offset, where
 * other images are: a package or a cache of compiled code is mapped in parts, between which libraries lie. */
static void cut_beginnings(struct uspi_perf_image_builder *builder) {
    usp_addr end = 0;
    for (size_t i = 0; i < builder->count; i++) {
        struct usp_image *image = &builder->all[i].image;
        const usp_addr low = end < image->text_low ? end : image->text_low;
        if (!builder->all[i].has_file && image->load_address < low) image->load_address = low;
        if (image->end > end) end = image->end;
    }
}

static int by_address(const void *a, const void *b) {
    const struct usp_image *x = &((const struct uspi_perf_image *)a)->image;
    const struct usp_image *y = &((const struct uspi_perf_image *)b)->image;
    if (x->load_address != y->load_address) return x->load_address < y->load_address ? -1 : 1;
    return (x->text_low > y->text_low) - (x->text_low < y->text_low);
}

/* Cuts images that overlap, which happens where only a part of an image is still mapped. Code decides: an image ends
 * before the next one if its own code does. Returns false if `next` has to be left out. */
static bool cut_overlap(struct usp_image *image, struct usp_image *next) {
    if (next->load_address >= image->end) return true;
    if (image->hole_size > 0) {
        const usp_addr low = image->load_address + image->hole_offset;
        if (next->load_address >= low && next->end <= low + image->hole_size) return true;
    }
    if (image->text_high <= next->load_address) {
        image->end = next->load_address;
        if (image->hole_size > 0) image->hole_offset = image->hole_size = 0;
        return true;
    }
    if (next->text_low < image->end || next->text_low >= next->text_high) return false;
    next->load_address = next->text_low;
    return true;
}

bool uspi_perf_images_seal(struct uspi_perf_image_builder *builder, struct usp_images **images) {
    struct uspi_image_list list = {.count = 0};
    int status = USP_OK;
    *images = NULL;
    cut_beginnings(builder);
    if (builder->count > 1) qsort(builder->all, builder->count, sizeof *builder->all, by_address);
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < builder->count; i++) {
        struct uspi_perf_image *image = &builder->all[i];
        if (last != SIZE_MAX && !cut_overlap(&builder->all[last].image, &image->image)) {
            image->image.end = image->image.load_address;
            continue;
        }
        last = i;
    }
    for (size_t i = 0; i < builder->count && status == USP_OK; i++) {
        if (builder->all[i].image.end > builder->all[i].image.load_address)
            status = uspi_image_list_add(&list, &builder->all[i].image);
    }
    free(builder->all);
    builder->all = NULL;
    if (status == USP_OK) return uspi_image_list_seal(&list, images) == USP_OK;
    uspi_image_list_clear(&list);
    return false;
}
