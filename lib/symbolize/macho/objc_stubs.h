/* SPDX-License-Identifier: MIT */
/* Objective-C message stubs, section __objc_stubs: since Xcode 14 code calls objc_msgSend$SELECTOR, which loads the selector
 * and goes on to objc_msgSend. Linkers give them local symbols, which stripping removes; the selector that a stub loads
 * names it still.
 * Source: LLVM lld/MachO/Arch/ARM64Common.h, ARM64.cpp, ARM64_32.cpp, X86_64.cpp (objcStubs…Code). */
#ifndef USPI_MACHO_OBJC_STUBS_H
#define USPI_MACHO_OBJC_STUBS_H

#include "lib/demangle/names.h"
#include "lib/object/fixups.h"

/* Bytes of the longest stub: eight instructions of arm64. */
#define USPI_OBJC_STUB_SIZE 32u

struct uspi_objc_stubs {
    struct uspi_bytes code; /* the section; of size 0: there is none */
    usp_addr address;       /* as linked */
    uint32_t arch;
    struct uspi_macho_space *space; /* owned, as what follows */
    struct uspi_fixups *fixups;
};

/* Of a file; an image in memory counts as one without. USP_OK, also when there are none, USP_ERROR_NO_MEMORY, or what
 * reading failed with; to be closed in each case. */
int uspi_objc_stubs_open(struct uspi_objc_stubs *stubs, const struct uspi_macho *macho);

void uspi_objc_stubs_close(struct uspi_objc_stubs *stubs);

/* The first stub at or behind *offset in the section, and where it lies. Returns whether there is one. */
bool uspi_objc_stubs_next(const struct uspi_objc_stubs *stubs, uint64_t *offset);

/* The name of the stub at an offset, kept in `names`. USP_OK, USP_ERROR_NO_MEMORY, or what reading failed with. */
int uspi_objc_stub_name(const struct uspi_objc_stubs *stubs, uint64_t offset, struct uspi_names *names,
                        const char **name);

#endif
