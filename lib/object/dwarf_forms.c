/* SPDX-License-Identifier: MIT */
/* See dwarf_forms.h. */
#include "lib/object/dwarf_forms.h"

#include "lib/object/dwarf_constants.h"

uint32_t uspi_form_width(uint64_t form, struct uspi_encoding encoding) {
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const: return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1: return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2: return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3: return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4: return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8: return 8;
    case DW_FORM_data16: return 16;
    case DW_FORM_addr: return encoding.address_size;
    case DW_FORM_ref_addr: return encoding.version <= 2 ? encoding.address_size : encoding.offset_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt: return encoding.offset_size;
    case DW_FORM_string:
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_exprloc:
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_indirect:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
    case DW_FORM_LLVM_addrx_offset: return USPI_FORM_VARIABLE;
    default: return USPI_FORM_UNKNOWN;
    }
}

uint64_t uspi_form_indirect(struct uspi_cursor_at *c) {
    const uint64_t form = uspi_cursor_uleb(c);
    if (form == DW_FORM_indirect || form == DW_FORM_implicit_const) uspi_cursor_fail(c);
    return form;
}

bool uspi_form_skip(struct uspi_cursor_at *c, uint64_t form, struct uspi_encoding encoding) {
    if (form == DW_FORM_indirect) form = uspi_form_indirect(c);
    const uint32_t width = uspi_form_width(form, encoding);
    if (width == USPI_FORM_UNKNOWN) return false;
    if (width != USPI_FORM_VARIABLE) {
        uspi_cursor_skip(c, width);
        return true;
    }
    switch (form) {
    case DW_FORM_string: uspi_cursor_skip_string(c); break;
    case DW_FORM_block1: uspi_cursor_skip(c, uspi_cursor_byte(c)); break;
    case DW_FORM_block2: uspi_cursor_skip(c, uspi_cursor_number(c, 2)); break;
    case DW_FORM_block4: uspi_cursor_skip(c, uspi_cursor_number(c, 4)); break;
    case DW_FORM_block:
    case DW_FORM_exprloc: uspi_cursor_skip(c, uspi_cursor_uleb(c)); break;
    case DW_FORM_LLVM_addrx_offset:
        uspi_cursor_uleb(c);
        uspi_cursor_skip(c, 4);
        break;
    default: uspi_cursor_uleb(c); break;
    }
    return true;
}
