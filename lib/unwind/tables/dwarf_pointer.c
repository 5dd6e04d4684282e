/* SPDX-License-Identifier: MIT */
/* Reads encoded pointers of DWARF call frame information. See dwarf_section.h. */
#include "lib/unwind/tables/dwarf_section.h"

unsigned uspi_dwarf_width(const struct uspi_backend *backend, uint8_t encoding) {
    switch (encoding & USPI_PE_FORMAT) {
    case USPI_PE_ABSPTR:
    case USPI_PE_SIGNED: return backend->word;
    case USPI_PE_UDATA2:
    case USPI_PE_SDATA2: return 2;
    case USPI_PE_UDATA4:
    case USPI_PE_SDATA4: return 4;
    case USPI_PE_UDATA8:
    case USPI_PE_SDATA8: return 8;
    default: return 0;
    }
}

static int load_value(const struct uspi_dwarf_section *section, uint64_t *offset, uint8_t encoding, uint64_t *value) {
    static const char what[] = "encoded pointer";
    uint8_t format = encoding & USPI_PE_FORMAT;
    if (format == USPI_PE_ULEB128) return uspi_bytes_uleb(section->bytes, offset, value, what, NULL);
    if (format == USPI_PE_SLEB128) {
        int64_t number;
        int status = uspi_bytes_sleb(section->bytes, offset, &number, what, NULL);
        *value = status == USP_OK ? (uint64_t)number : 0;
        return status;
    }
    unsigned width = uspi_dwarf_width(section->backend, encoding);
    if (width == 0) return USP_ERROR_FORMAT;
    int status = uspi_bytes_load(section->bytes, *offset, width, value, what, NULL);
    if (status != USP_OK) return status;
    *offset += width;
    if ((format & USPI_PE_SIGNED) != 0) *value = (uint64_t)uspi_sign_extend(*value, 8 * width);
    return USP_OK;
}

int uspi_dwarf_pointer(const struct uspi_dwarf_section *section, uint64_t *offset, uint8_t encoding, usp_addr function,
                       usp_addr *value) {
    unsigned word = section->backend->word;
    if (encoding == USPI_PE_OMIT) return USP_ERROR_FORMAT;
    uint8_t base = encoding & USPI_PE_BASE;
    if (base == USPI_PE_ALIGNED) {
        /* An aligned pointer is a plain word at the next word boundary. */
        uint64_t past = (section->bytes.from + *offset) & (word - 1);
        if (past != 0) *offset += word - past;
        encoding = (encoding & USPI_PE_INDIRECT) | USPI_PE_ABSPTR;
        base = 0;
    }
    usp_addr position = section->bytes.from + *offset;
    int status = load_value(section, offset, encoding, value);
    if (status != USP_OK || *value == 0) return status;
    switch (base) {
    case 0: *value += section->slide; break;
    case USPI_PE_PCREL: *value += position; break;
    case USPI_PE_TEXTREL: *value += section->text_base; break;
    case USPI_PE_DATAREL: *value += section->data_base; break;
    case USPI_PE_FUNCREL: *value += function; break;
    default: return USP_ERROR_FORMAT;
    }
    *value &= section->backend->word_mask;
    if ((encoding & USPI_PE_INDIRECT) == 0) return USP_OK;
    return uspi_bytes_load(uspi_bytes_at(section->bytes.source, *value), 0, word, value, "indirect pointer", NULL);
}
