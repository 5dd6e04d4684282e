/* SPDX-License-Identifier: MIT */
/* Reads the entries of a section of call frame information: their headers, CIEs and FDEs. See dwarf_section.h. */
#include "lib/unwind/tables/dwarf_cursor.h"

/* Lengths from RESERVED_LENGTH on are reserved, except WIDE_LENGTH: a length of 64 bits follows (DWARF 5, 7.4). */
#define RESERVED_LENGTH 0xfffffff0u
#define WIDE_LENGTH     0xffffffffu

/* Room for an augmentation string. Compilers use up to five letters. */
#define AUGMENTATION_MAX 16

int uspi_dwarf_entry(const struct uspi_dwarf_section *section, uint64_t offset, struct uspi_dwarf_entry *entry) {
    struct uspi_bytes all = section->bytes;
    uint64_t length, id, at = offset;
    *entry = (struct uspi_dwarf_entry){.offset = offset};
    int status = uspi_bytes_load(all, at, 4, &length, "entry's length", NULL);
    if (status != USP_OK) return status;
    at += 4;
    if (length == WIDE_LENGTH) {
        entry->is_wide = true;
        status = uspi_bytes_load(all, at, 8, &length, "entry's length", NULL);
        if (status != USP_OK) return status;
        at += 8;
    } else if (length >= RESERVED_LENGTH) {
        return USP_ERROR_FORMAT;
    }
    if (length == 0) {
        entry->is_end = true;
        entry->next = at;
        return USP_OK;
    }
    /* .eh_frame's CIE pointer has four bytes in either format. */
    unsigned width = entry->is_wide && !section->is_eh ? 8 : 4;
    struct uspi_bytes contents;
    status = uspi_bytes_sub(all, at, length, "entry", &contents, NULL);
    if (status == USP_OK) status = uspi_bytes_load(contents, 0, width, &id, "CIE pointer", NULL);
    if (status != USP_OK) return status;
    entry->next = at + length;
    entry->contents = at + width;
    if (section->is_eh) {
        entry->is_cie = id == 0;
        /* The pointer is a distance back from its own position. */
        if (id > at) return USP_ERROR_FORMAT;
        entry->cie = entry->is_cie ? offset : at - id;
    } else {
        entry->is_cie = id == (entry->is_wide ? UINT64_MAX : UINT32_MAX);
        entry->cie = entry->is_cie ? offset : id;
    }
    return USP_OK;
}

/* Reads the augmentation data letter by letter. Fails at an unknown letter, because the size of its data is unknown
 * too. */
static void read_augmentation(struct uspi_dwarf_cursor *r, const char *letters, struct uspi_dwarf_cie *cie) {
    for (; *letters != '\0' && r->status == USP_OK; letters++) {
        switch (*letters) {
        case 'R': cie->encoding = (uint8_t)uspi_dwarf_take(r, 1); break;
        case 'L': cie->lsda_encoding = (uint8_t)uspi_dwarf_take(r, 1); break;
        case 'P': {
            /* Only the pointer's length matters, so an indirect pointer is not followed. */
            uint8_t encoding = (uint8_t)uspi_dwarf_take(r, 1);
            if (encoding != USPI_PE_OMIT) uspi_dwarf_take_pointer(r, encoding & (uint8_t)~USPI_PE_INDIRECT, 0);
            break;
        }
        case 'S': cie->is_signal_frame = true; break;
        case 'B': cie->signs_with_b_key = true; break;
        case 'G': break; /* tags memory (Arm DWARF for the Arm 64-bit Architecture, "Call frame instructions") */
        default: uspi_dwarf_fail(r, USP_ERROR_UNSUPPORTED);
        }
    }
}

int uspi_dwarf_cie(const struct uspi_dwarf_section *section, uint64_t offset, struct uspi_dwarf_cie *cie) {
    struct uspi_dwarf_entry entry;
    char letters[AUGMENTATION_MAX];
    int status = uspi_dwarf_entry(section, offset, &entry);
    if (status != USP_OK) return status;
    if (entry.is_end || !entry.is_cie) return USP_ERROR_FORMAT;
    struct uspi_dwarf_cursor r = uspi_dwarf_cursor(section, entry.contents, entry.next);
    *cie = (struct uspi_dwarf_cie){.encoding = USPI_PE_ABSPTR, .lsda_encoding = USPI_PE_OMIT, .end = entry.next};
    cie->version = (uint8_t)uspi_dwarf_take(&r, 1);
    if (r.status == USP_OK && cie->version != 1 && cie->version != 3 && cie->version != 4) return USP_ERROR_UNSUPPORTED;
    if (r.status == USP_OK) {
        r.status = uspi_bytes_string(r.within.bytes, r.at, letters, sizeof letters, "augmentation", NULL);
        if (r.status == USP_ERROR_FULL) r.status = USP_ERROR_UNSUPPORTED;
    }
    if (r.status != USP_OK) return r.status;
    r.at += strlen(letters) + 1;
    if (cie->version == 4) {
        uint64_t address_size = uspi_dwarf_take(&r, 1), selector_size = uspi_dwarf_take(&r, 1);
        if (address_size != section->backend->word || selector_size != 0) uspi_dwarf_fail(&r, USP_ERROR_UNSUPPORTED);
    }
    /* The augmentation of GCC 2, which has a pointer to GCC's own tables. */
    bool is_old = strncmp(letters, "eh", 2) == 0;
    if (is_old) uspi_dwarf_take(&r, section->backend->word);
    cie->code_align = uspi_dwarf_take_uleb(&r);
    cie->data_align = uspi_dwarf_take_sleb(&r);
    cie->return_column = cie->version == 1 ? uspi_dwarf_take(&r, 1) : uspi_dwarf_take_uleb(&r);
    cie->has_augmentation = letters[0] == 'z';
    if (cie->has_augmentation) {
        uint64_t length = uspi_dwarf_take_uleb(&r), after;
        if (!uspi_sum(r.at, length, &after) || after > entry.next) uspi_dwarf_fail(&r, USP_ERROR_TRUNCATED);
        read_augmentation(&r, letters + 1, cie);
        if (r.at > after) uspi_dwarf_fail(&r, USP_ERROR_FORMAT);
        r.at = after;
    } else {
        read_augmentation(&r, is_old ? letters + 2 : letters, cie);
    }
    cie->instructions = r.at;
    return r.status;
}

int uspi_dwarf_fde(const struct uspi_dwarf_section *section, const struct uspi_dwarf_entry *entry,
                   struct uspi_dwarf_fde *fde) {
    if (entry->is_end || entry->is_cie) return USP_ERROR_FORMAT;
    int status = uspi_dwarf_cie(section, entry->cie, &fde->cie);
    if (status != USP_OK) return status;
    struct uspi_dwarf_cursor r = uspi_dwarf_cursor(section, entry->contents, entry->next);
    fde->start = uspi_dwarf_take_pointer(&r, fde->cie.encoding, 0);
    /* The length has the format of the addresses, but no base and no slide. */
    struct uspi_dwarf_section *within = &r.within;
    usp_addr slide = within->slide;
    within->slide = 0;
    uint64_t length = uspi_dwarf_take_pointer(&r, fde->cie.encoding & USPI_PE_FORMAT & (uint8_t)~USPI_PE_SIGNED, 0);
    within->slide = slide;
    if (fde->cie.has_augmentation) {
        uint64_t skipped = uspi_dwarf_take_uleb(&r), after;
        if (!uspi_sum(r.at, skipped, &after) || after > entry->next) uspi_dwarf_fail(&r, USP_ERROR_TRUNCATED);
        r.at = after;
    }
    uint64_t end = 0;
    if (r.status == USP_OK && (!uspi_sum(fde->start, length, &end) || end > section->backend->word_mask)) {
        return USP_ERROR_FORMAT;
    }
    fde->end = end;
    fde->instructions = r.at;
    fde->instructions_end = entry->next;
    return r.status;
}
