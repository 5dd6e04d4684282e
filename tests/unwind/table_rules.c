/* SPDX-License-Identifier: MIT */
/* Prints what the library decodes of a file's unwind tables, which the scripts of this folder compare with other tools:
 *
 *     table_rules FILE                  a Mach-O with __unwind_info, or 32-bit ARM ELF. Reads linked addresses in
 *                                       hexadecimal, writes "ADDRESS START END ANSWER" for each (0: not known)
 *     table_rules --encodings ARCH TEXT reads "START ENCODING", writes "ENCODING ANSWER"; TEXT is the code whose
 *                                       offsets the starts are
 *
 * ANSWER is a rule as tests/support/rule_text.h writes it, "cfi OFFSET", "none", "cannot" or "corrupt WHY". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/images/file.h"
#include "lib/object/elf.h"
#include "lib/object/identify.h"
#include "lib/object/macho_unwind_info.h"
#include "lib/unwind/tables/compact.h"
#include "lib/unwind/tables/ehabi.h"
#include "tests/support/rule_text.h"

static struct uspi_error error;

static void check(int status) {
    if (status >= 0) return;
    fprintf(stderr, "table_rules: %s\n", error.text[0] != '\0' ? error.text : usp_status_string(status));
    exit(1);
}

static void print_answer(uint32_t arch, enum uspi_described answer, const struct uspi_table_entry *entry) {
    char text[RULE_TEXT];
    switch (answer) {
    case USPI_DESCRIBED: printf("%s\n", rule_text(arch, &entry->rule, text)); break;
    case USPI_DESCRIBED_BY_CFI: printf("cfi %#" PRIx32 "\n", entry->cfi_offset); break;
    case USPI_NOT_DESCRIBED: printf("none\n"); break;
    case USPI_CANNOT_UNWIND: printf("cannot\n"); break;
    case USPI_TABLE_CORRUPT: printf("corrupt %s\n", error.text); break;
    }
}

static void print_found(uint32_t arch, usp_addr address, enum uspi_described answer,
                        const struct uspi_table_entry *entry) {
    printf("%#" PRIx64 " %#" PRIx64 " %#" PRIx64 " ", address, entry->start, entry->end);
    print_answer(arch, answer, entry);
}

static void find_in_macho(struct uspi_bytes file) {
    struct uspi_macho macho;
    struct uspi_unwind_starts starts;
    usp_addr address;
    check(uspi_macho_open(&macho, file, &error));
    check(uspi_unwind_starts(&macho, &starts, &error));
    const struct uspi_compact_table table = {
        .backend = uspi_backend_find(macho.arch), .image = starts.image, .text = file, .section = starts.info.bytes};
    while (scanf("%" SCNx64, &address) == 1) {
        struct uspi_table_entry entry;
        print_found(macho.arch, address, uspi_compact_find(&table, address, &entry, &error), &entry);
    }
}

static void find_in_elf(struct uspi_bytes file) {
    struct uspi_elf elf;
    struct uspi_elf_segment index, segment;
    struct uspi_ehabi_table table = {0};
    usp_addr address;
    check(uspi_elf_open(&elf, file, &error));
    check(uspi_elf_find_segment(&elf, 0x70000001 /* PT_ARM_EXIDX */, &index, &error));
    for (uint64_t i = 0; i < elf.segment_count; i++) {
        check(uspi_elf_segment(&elf, i, &segment, &error));
        if (segment.type != USPI_PT_LOAD || index.address < segment.address ||
            index.address - segment.address >= segment.file_size) {
            continue;
        }
        check(uspi_elf_segment_bytes(&elf, &segment, &table.image, &error));
        table.base = segment.address;
    }
    table.index = index.address;
    table.index_size = index.memory_size;
    while (scanf("%" SCNx64, &address) == 1) {
        struct uspi_table_entry entry;
        print_found(elf.arch, address, uspi_ehabi_find(&table, address, &entry, &error), &entry);
    }
}

static void decode_encodings(uint32_t arch, struct uspi_bytes text) {
    const struct uspi_compact_table table = {.backend = uspi_backend_find(arch), .text = text, .section = text};
    uint64_t start;
    uint32_t encoding;
    if (table.backend == NULL) check(USP_ERROR_UNSUPPORTED);
    while (scanf("%" SCNx64 " %" SCNx32, &start, &encoding) == 2) {
        struct uspi_table_entry entry = {.start = start};
        enum uspi_described answer = uspi_compact_decode(&table, encoding, &entry, &error);
        printf("%#" PRIx32 " ", encoding);
        print_answer(arch, answer, &entry);
    }
}

int main(int argc, char **argv) {
    struct uspi_file *file;
    const bool encodings = argc == 4 && strcmp(argv[1], "--encodings") == 0;
    if (argc != 2 && !encodings) {
        fprintf(stderr, "usage: table_rules FILE | table_rules --encodings ARCH TEXT\n");
        return 2;
    }
    check(uspi_file_open(argv[argc - 1], &file, &error));
    const struct uspi_bytes bytes = uspi_file_bytes(file);
    if (encodings) {
        decode_encodings(usp_arch_from_string(argv[2]), bytes);
    } else if (uspi_identify(bytes) == USPI_FORMAT_MACHO) {
        find_in_macho(bytes);
    } else {
        find_in_elf(bytes);
    }
    uspi_file_close(file);
    return 0;
}
