/* SPDX-License-Identifier: MIT */
/* Objective-C message stubs, section __objc_stubs. Since Xcode 14 code calls objc_msgSend$SELECTOR, which loads the
 * selector and jumps to objc_msgSend. Linkers give the stubs local symbols, which stripping removes. The selector that
 * a stub loads still gives its name.
 * Source: LLVM lld/MachO/Arch/ARM64Common.h, ARM64.cpp, ARM64_32.cpp, X86_64.cpp (objcStubs…Code). */
#ifndef USPI_SYMBOLIZE_MACHO_OBJC_STUBS_H
#define USPI_SYMBOLIZE_MACHO_OBJC_STUBS_H

#include "lib/demangle/names.h"
#include "lib/object/fixups.h"

/* Bytes of the longest stub: eight instructions of arm64. */
#define USPI_OBJC_STUB_SIZE 32u

struct uspi_objc_stubs {
    struct uspi_bytes code; /* the section; size 0: there is none */
    usp_addr address;       /* as linked */
    uint32_t arch;
    struct uspi_macho_space *space; /* owned, as is `fixups` */
    struct uspi_fixups *fixups;
};

/* Opens the stubs of a file. An image in memory has none. Returns USP_OK, also when there are none,
 * USP_ERROR_NO_MEMORY, or the status with which reading failed. The stubs must be closed in every case. */
int uspi_objc_stubs_open(struct uspi_objc_stubs *stubs, const struct uspi_macho *macho);

void uspi_objc_stubs_close(struct uspi_objc_stubs *stubs);

/* Finds the first stub at or after *offset in the section, and sets *offset to it. Returns false when there is none. */
bool uspi_objc_stubs_next(const struct uspi_objc_stubs *stubs, uint64_t *offset);

/* Finds the name of the stub at an offset, and keeps it in `names`. Returns USP_OK, USP_ERROR_NO_MEMORY, or the status
 * with which reading failed. */
int uspi_objc_stub_name(const struct uspi_objc_stubs *stubs, uint64_t offset, struct uspi_names *names,
                        const char **name);

#endif
