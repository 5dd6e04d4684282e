/* SPDX-License-Identifier: MIT */
/* Describes the image of an index, to symbolicate without the image's file (lines.h). */
#include "arch/any.h"
#include "lib/symbolize/store/index_file.h"

#include <unspool/lines.h>

#include <string.h>

int usp_index_image(const char *store, const uint8_t *build_id, uint32_t build_id_size, struct usp_image *image) {
    struct usp_image made = {.path = "", .build_id_size = build_id_size};
    struct uspi_index_file *index;
    if (store == NULL || build_id == NULL || image == NULL || build_id_size > sizeof made.build_id) {
        return USP_ERROR_ARGUMENT;
    }
    memcpy(made.build_id, build_id, build_id_size);
    int status = uspi_index_file_find(store, &made, false, &index, NULL);
    if (status != USP_OK) return status;
    made.arch = index->arch;
    made.variant = index->variant;
    made.flags = (index->flags & USPI_INDEX_MACHO) != 0 ? USP_IMAGE_MACHO : 0;
    made.load_address = index->header;
    /* An index does not say where the image ends. So it ends with the processor's address space. */
    const struct uspi_backend *backend = uspi_backend_any(index->arch);
    uspi_index_file_close(index);
    /* An index made from a file that does not name its processor can have any address. */
    const uint64_t last = backend != NULL ? backend->word_mask : UINT64_MAX;
    if ((backend == NULL && made.arch != USP_ARCH_NONE) || made.load_address >= last) return USP_ERROR_FORMAT;
    made.end = last;
    *image = made;
    return USP_OK;
}
