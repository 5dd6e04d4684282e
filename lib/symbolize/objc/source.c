/* SPDX-License-Identifier: MIT */
/* See source.h. */
#include "lib/symbolize/objc/source.h"

#include "lib/symbolize/objc/names.h"

/* From dyld cache_builder/dyld_cache_format.h: the offset of dyld_cache_header.objcOptsOffset. A header has the field
 * if its size reaches that far; the mappings follow the header, so mappingOffset is its size. objcOptsOffset counts
 * from the start of the cache. */
#define MAPPING_OFFSET   0x10
#define OBJC_OPTS_OFFSET 0x1d0
/* From dyld common/DyldSharedCache.h: ObjCOptimizationHeader.relativeMethodSelectorBaseAddressOffset, which also counts
 * from the start of the cache. */
#define SELECTOR_BASE 48

/* The bits of user addresses on Darwin: 47, or 39 on iOS devices (xnu osfmk/arm64/proc_reg.h,
 * osfmk/mach/i386/vm_param.h). */
#define LOW_47 ((UINT64_C(1) << 47) - 1)
#define LOW_39 ((UINT64_C(1) << 39) - 1)

/* The bits below the top byte, which is a tag that loads ignore. */
#define BELOW_TOP_BYTE ((UINT64_C(1) << 56) - 1)

static usp_addr find_selectors(const struct uspi_objc_source *source, usp_addr cache) {
    static const char magic[] = "dyld_v1";
    char found[sizeof magic - 1];
    uint8_t size[4], raw[8];
    for (size_t i = 0; i < sizeof found; i++) found[i] = 0;
    if (cache == 0 || uspi_objc_read(source, cache, found, sizeof found) != USP_OK) return 0;
    for (size_t i = 0; i < sizeof found; i++) {
        if (found[i] != magic[i]) return 0;
    }
    if (uspi_objc_read(source, cache + MAPPING_OFFSET, size, sizeof size) != USP_OK) return 0;
    if (uspi_le32(size) < OBJC_OPTS_OFFSET + 8) return 0;
    if (uspi_objc_read(source, cache + OBJC_OPTS_OFFSET, raw, sizeof raw) != USP_OK || uspi_le64(raw) == 0) return 0;
    usp_addr options = cache + uspi_le64(raw);
    if (uspi_objc_read(source, options + SELECTOR_BASE, raw, sizeof raw) != USP_OK || uspi_le64(raw) == 0) return 0;
    return cache + uspi_le64(raw);
}

int uspi_objc_source_open(struct uspi_objc_source *source, const struct uspi_macho *macho,
                          const struct uspi_pointers *process) {
    *source = (struct uspi_objc_source){.word = macho->wide ? 8 : 4};
    int status = uspi_macho_space_open(&source->space, macho, NULL);
    if (status != USP_OK) return status;
    if (!source->space.is_loaded) {
        status = uspi_fixups_open(&source->fixups, &source->space, USPI_OBJC_CLASS_SYMBOL, NULL);
        if (status != USP_OK) uspi_macho_space_close(&source->space);
        return status;
    }
    if (process != NULL) {
        source->signature_mask = process->signature_mask;
        source->selectors =
            process->selectors != 0 ? process->selectors : find_selectors(source, process->shared_cache);
    }
    return USP_OK;
}

void uspi_objc_source_close(struct uspi_objc_source *source) {
    uspi_fixups_close(&source->fixups);
    uspi_macho_space_close(&source->space);
}

int uspi_objc_read(const struct uspi_objc_source *source, usp_addr at, void *to, size_t n) {
    struct uspi_bytes bytes;
    int status = uspi_macho_space_at(&source->space, at, "metadata", &bytes, NULL);
    return status == USP_OK ? uspi_bytes_read(bytes, 0, to, n, "metadata", NULL) : status;
}

int uspi_objc_word(const struct uspi_objc_source *source, usp_addr at, uint64_t *value) {
    uint8_t raw[8];
    int status = uspi_objc_read(source, at, raw, source->word);
    if (status == USP_OK) *value = uspi_le(raw, source->word);
    return status;
}

usp_addr uspi_objc_strip(const struct uspi_objc_source *source, uint64_t value) {
    uint8_t byte;
    if (source->word == 4) return (uint32_t)value;
    if (source->signature_mask != 0) return value & ~source->signature_mask & BELOW_TOP_BYTE;
    /* The kernel is not known: use 39 bits if only these give an address that can be read. */
    usp_addr wide = value & LOW_47, narrow = value & LOW_39;
    if (wide == narrow || source->space.macho.arch != USP_ARCH_ARM64) return wide;
    return uspi_objc_read(source, wide, &byte, 1) != USP_OK && uspi_objc_read(source, narrow, &byte, 1) == USP_OK
               ? narrow
               : wide;
}

int uspi_objc_pointer(const struct uspi_objc_source *source, usp_addr at, struct uspi_pointer *pointer) {
    uint64_t value;
    if (!source->space.is_loaded) return uspi_fixups_pointer(&source->fixups, at, pointer, NULL);
    int status = uspi_objc_word(source, at, &value);
    if (status == USP_OK) *pointer = (struct uspi_pointer){.target = uspi_objc_strip(source, value)};
    return status;
}

int uspi_objc_text_bytes(const struct uspi_objc_source *source, struct uspi_objc_text text, struct uspi_bytes *bytes) {
    const struct uspi_bytes file = source->space.macho.bytes;
    if (!text.is_import) return uspi_macho_space_at(&source->space, text.at, "name", bytes, NULL);
    if (text.at > file.size) return USP_ERROR_TRUNCATED;
    return uspi_bytes_sub(file, text.at, file.size - text.at, "name", bytes, NULL);
}
