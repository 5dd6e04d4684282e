/* SPDX-License-Identifier: MIT */
/* Reads thin little-endian Mach-O, 32 and 64 bits: files, core files, and images in a target's memory. Reads load
 * commands and the data that they refer to, one at a time, without allocating. fat.h reads files with several slices.
 *
 * Sources of all layouts and numbers: xnu EXTERNAL_HEADERS/mach-o/loader.h, osfmk/mach/machine.h. Unless stated
 * otherwise, functions return USP_OK or a negative enum usp_status with *error written. Several threads may call them
 * for the same object. */
#ifndef USPI_OBJECT_MACHO_H
#define USPI_OBJECT_MACHO_H

#include "lib/object/bytes.h"

#include <unspool/images.h>

enum uspi_macho_type {
    USPI_MH_OBJECT = 1,
    USPI_MH_EXECUTE = 2,
    USPI_MH_CORE = 4,
    USPI_MH_DYLIB = 6,
    USPI_MH_DYLINKER = 7,
    USPI_MH_BUNDLE = 8,
    USPI_MH_DSYM = 10
};

enum uspi_macho_cpu {
    USPI_CPU_I386 = 7,
    USPI_CPU_ARM = 12,
    USPI_CPU_X86_64 = 0x01000007,
    USPI_CPU_ARM64 = 0x0100000c,
    USPI_CPU_ARM64_32 = 0x0200000c
};

/* A flag of the header: the image's segments lie apart from each other in the shared cache. */
#define USPI_MH_DYLIB_IN_CACHE 0x80000000u

enum uspi_macho_command_kind {
    USPI_LC_SEGMENT = 0x1,
    USPI_LC_SYMTAB = 0x2,
    USPI_LC_THREAD = 0x4,
    USPI_LC_UNIXTHREAD = 0x5,
    USPI_LC_DYSYMTAB = 0xb,
    USPI_LC_ID_DYLIB = 0xd,
    USPI_LC_ID_DYLINKER = 0xf,
    USPI_LC_SEGMENT_64 = 0x19,
    USPI_LC_UUID = 0x1b,
    USPI_LC_DYLD_INFO = 0x22,
    USPI_LC_VERSION_MIN_MACOSX = 0x24,
    USPI_LC_VERSION_MIN_IPHONEOS = 0x25,
    USPI_LC_FUNCTION_STARTS = 0x26,
    USPI_LC_VERSION_MIN_TVOS = 0x2f,
    USPI_LC_VERSION_MIN_WATCHOS = 0x30,
    USPI_LC_NOTE = 0x31,
    USPI_LC_BUILD_VERSION = 0x32
};

/* Commands whose kind has the bit LC_REQ_DYLD (the loader must know it). They are not in the enum because its constants
 * are ints. */
#define USPI_LC_DYLD_INFO_ONLY      0x80000022u
#define USPI_LC_DYLD_EXPORTS_TRIE   0x80000033u
#define USPI_LC_DYLD_CHAINED_FIXUPS 0x80000034u

enum uspi_macho_protection { USPI_PROT_READ = 1, USPI_PROT_WRITE = 2, USPI_PROT_EXECUTE = 4 };

struct uspi_macho {
    struct uspi_bytes bytes;    /* the file or slice, or target memory from the header on */
    struct uspi_bytes commands; /* the load commands */
    bool wide;                  /* mach_header_64 */
    uint32_t cpu_type;          /* enum uspi_macho_cpu */
    uint32_t arch;              /* enum usp_arch by cpu_type; USP_ARCH_NONE: a processor that unspool does not know */
    uint32_t variant;           /* enum usp_variant by the cpusubtype; never USP_VARIANT_NONE */
    uint32_t type;              /* enum uspi_macho_type */
    uint32_t flags;             /* USPI_MH_… */
    uint32_t command_count;
};

/* The sizes in bytes of a header, of a segment's command without sections, of one section in it, of a symbol, and of an
 * address. */
struct uspi_macho_sizes {
    uint8_t header, segment, section, symbol, word;
};
#define USPI_MACHO_SIZE_MAX 80

static inline struct uspi_macho_sizes uspi_macho_sizes(bool wide) {
    return wide ? (struct uspi_macho_sizes){32, 72, 80, 16, 8} : (struct uspi_macho_sizes){28, 56, 68, 12, 4};
}

/* Checks the header, and that all load commands together lie in the bytes; each command is checked when it is read. For
 * an image in memory, `bytes` begins at its load address. Other statuses: USP_ERROR_FORMAT, USP_ERROR_UNSUPPORTED
 * (big-endian). */
int uspi_macho_open(struct uspi_macho *macho, struct uspi_bytes bytes, struct uspi_error *error);

/* Returns the enum usp_arch of a cputype. */
uint32_t uspi_macho_arch(uint32_t cpu_type);

/* ---- load commands ---- */

struct uspi_macho_command {
    uint32_t kind;           /* enum uspi_macho_command_kind; other values occur */
    struct uspi_bytes bytes; /* the whole command with its kind and size */
};

/* The position of an iteration; begin with {0}. */
struct uspi_macho_cursor {
    uint32_t index;
    uint64_t offset;
};

/* Reads the next command. Returns 1, 0 past the last one, or a negative status. */
int uspi_macho_next(const struct uspi_macho *macho, struct uspi_macho_cursor *cursor,
                    struct uspi_macho_command *command, struct uspi_error *error);

/* Finds the first command of a kind; USP_ERROR_NOT_FOUND if there is none. */
int uspi_macho_find(const struct uspi_macho *macho, uint32_t kind, struct uspi_macho_command *command,
                    struct uspi_error *error);

/* ---- segments and sections ---- */

struct uspi_macho_segment {
    char name[17]; /* NUL-terminated */
    usp_addr address;
    uint64_t memory_size, file_offset, file_size;
    uint32_t protection; /* enum uspi_macho_protection: initprot */
    uint32_t section_count;
    struct uspi_bytes sections; /* their section headers */
};

/* Reads an LC_SEGMENT or LC_SEGMENT_64. */
int uspi_macho_segment(const struct uspi_macho_command *command, struct uspi_macho_segment *segment,
                       struct uspi_error *error);

/* Reads the next segment. Returns what uspi_macho_next returns. */
int uspi_macho_next_segment(const struct uspi_macho *macho, struct uspi_macho_cursor *cursor,
                            struct uspi_macho_segment *segment, struct uspi_error *error);

enum uspi_macho_section_flags {
    USPI_S_TYPE = 0xff,                   /* a mask: the section's type */
    USPI_S_SYMBOL_STUBS = 0x8,            /* a type */
    USPI_S_ATTR_SOME_INSTRUCTIONS = 0x400 /* it contains code */
};
#define USPI_S_ATTR_PURE_INSTRUCTIONS 0x80000000u /* it contains only code */

struct uspi_macho_section {
    char name[17], segment[17]; /* NUL-terminated */
    usp_addr address;
    uint64_t size;
    uint32_t file_offset;
    uint32_t flags; /* enum uspi_macho_section_flags */
    /* In a section of stubs, reserved1 is the indirect symbol table's index for the first stub, and reserved2 is
     * the size of one stub in bytes. */
    uint32_t reserved1, reserved2;
};

/* Reads section header i of a segment; USP_ERROR_NOT_FOUND past the last one. */
int uspi_macho_section(const struct uspi_macho *macho, const struct uspi_macho_segment *segment, uint32_t i,
                       struct uspi_macho_section *section, struct uspi_error *error);

/* Finds the first section with that name in any segment; USP_ERROR_NOT_FOUND if there is none. */
int uspi_macho_find_section(const struct uspi_macho *macho, const char *name, struct uspi_macho_section *section,
                            struct uspi_error *error);

/* The addresses of an image's segments, as linked. `header` is the address that its first byte was linked for. `high`
 * is the end of the last segment; for an image in the shared cache, the end of its text, since its other segments lie
 * elsewhere. text_low and text_high bound the executable segments; both are 0 if there are none. USP_ERROR_NOT_FOUND
 * when no segment contains the header, USP_ERROR_FORMAT when one wraps around. */
struct uspi_macho_extent {
    usp_addr header, high;
    usp_addr text_low, text_high;
};
int uspi_macho_extent(const struct uspi_macho *macho, struct uspi_macho_extent *extent, struct uspi_error *error);

/* Like uspi_macho_extent, and also for files that are never loaded. A dSYM has the segments of its image, and `header`
 * is the image's. The addresses of an unlinked object count from 0. */
int uspi_macho_layout(const struct uspi_macho *macho, struct uspi_macho_extent *extent, struct uspi_error *error);

/* Gives the `size` bytes at file offset `offset`, to which a load command refers. In target memory, the bytes are found
 * through the segment that contains that file offset: symbols, exports and the like lie in __LINKEDIT. */
int uspi_macho_part(const struct uspi_macho *macho, uint64_t offset, uint64_t size, const char *what,
                    struct uspi_bytes *part, struct uspi_error *error);

/* ---- the other commands ---- */

#define USPI_UUID_SIZE 16

/* Reads LC_UUID; USP_ERROR_NOT_FOUND if there is none. */
int uspi_macho_uuid(const struct uspi_macho *macho, uint8_t uuid[USPI_UUID_SIZE], struct uspi_error *error);

/* Fills *image from the headers of an image that is loaded at `load`; the path is left "". Other statuses: those of
 * uspi_macho_extent. A missing UUID is not an error. */
int uspi_macho_describe(const struct uspi_macho *macho, usp_addr load, struct usp_image *image,
                        struct uspi_error *error);

/* Copies the path in LC_ID_DYLIB or LC_ID_DYLINKER. USP_ERROR_NOT_FOUND if there is none; USP_ERROR_FULL when it is
 * longer than `capacity` − 1. */
int uspi_macho_install_name(const struct uspi_macho *macho, char *to, size_t capacity, struct uspi_error *error);

enum uspi_macho_platform {
    USPI_PLATFORM_MACOS = 1,
    USPI_PLATFORM_IOS = 2,
    USPI_PLATFORM_TVOS = 3,
    USPI_PLATFORM_WATCHOS = 4,
    USPI_PLATFORM_CATALYST = 6,
    USPI_PLATFORM_IOS_SIMULATOR = 7,
    USPI_PLATFORM_TVOS_SIMULATOR = 8,
    USPI_PLATFORM_WATCHOS_SIMULATOR = 9,
    USPI_PLATFORM_VISIONOS_SIMULATOR = 12
};

/* The platform and versions that a file was built for, from LC_BUILD_VERSION or the older LC_VERSION_MIN_*.
 * USP_ERROR_NOT_FOUND if it has neither. */
struct uspi_macho_version {
    uint32_t platform; /* enum uspi_macho_platform; other values occur */
    uint32_t minimum;  /* major << 16 | minor << 8 | patch */
    uint32_t sdk;
};
int uspi_macho_version(const struct uspi_macho *macho, struct uspi_macho_version *version, struct uspi_error *error);

/* One register state of an LC_THREAD or LC_UNIXTHREAD. */
struct uspi_macho_state {
    uint32_t flavor;
    uint32_t count; /* in words of 4 bytes */
    struct uspi_bytes bytes;
};

/* Reads the next register state of a thread; *offset begins with 0. Returns 1, 0 past the last one, or a negative
 * status. */
int uspi_macho_next_state(const struct uspi_macho_command *command, uint64_t *offset, struct uspi_macho_state *state,
                          struct uspi_error *error);

/* An LC_NOTE of a core file. USP_ERROR_TRUNCATED when its bytes lie outside the file. */
struct uspi_macho_note {
    char owner[17]; /* NUL-terminated */
    struct uspi_bytes bytes;
};
int uspi_macho_note(const struct uspi_macho *macho, const struct uspi_macho_command *command,
                    struct uspi_macho_note *note, struct uspi_error *error);

#endif
