/* SPDX-License-Identifier: MIT */
/* Locates the unwind tables of a loaded Mach-O image: see formats.h. */
#include "lib/object/gopclntab_find.h"
#include "lib/object/macho_symbols.h"
#include "lib/unwind/tables/formats.h"

static struct usp_memory_range section_table(const struct uspi_macho *macho, const char *name, uint64_t slide) {
    struct uspi_macho_section section;
    if (uspi_macho_find_section(macho, name, &section, NULL) != USP_OK) return (struct usp_memory_range){0, 0};
    return (struct usp_memory_range){section.address + slide, section.size};
}

static struct usp_memory_range function_starts(const struct uspi_macho *macho) {
    struct uspi_macho_starts starts;
    if (uspi_macho_starts(macho, &starts, NULL) != USP_OK) return (struct usp_memory_range){0, 0};
    return (struct usp_memory_range){starts.bytes.from, starts.bytes.size};
}

static void find_macho_tables(const struct usp_image *image, const struct uspi_macho *macho,
                              struct usp_unwind_tables *tables) {
    tables->image = image->load_address;
    tables->slide = image->slide;
    tables->unwind_info = section_table(macho, "__unwind_info", image->slide);
    tables->eh_frame = section_table(macho, "__eh_frame", image->slide);
    tables->function_starts = function_starts(macho);
    struct uspi_go_table go;
    if (uspi_go_find_loaded_macho(macho, image->slide, &go) == USP_OK) uspi_take_go_table(&go, tables);
}

bool uspi_locate_macho_tables(const struct uspi_locating *l) {
    const struct usp_image *image = l->image;
    struct uspi_macho macho;
    if (uspi_macho_open(&macho, l->bytes, NULL) != USP_OK) return true;
    /* __TEXT also contains the tables. */
    if (l->still != NULL) uspi_add_still(l->still, image->text_low, image->text_high - image->text_low);
    if (l->tables != NULL) find_macho_tables(image, &macho, l->tables);
    return true;
}
