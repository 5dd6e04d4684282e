/* SPDX-License-Identifier: MIT */
/* Messages about the crash that the C library, C++ and Apple's libraries leave in memory: the text with which glibc ends
 * a process (assert, a damaged heap or stack), the uncaught C++ exception, and __crash_info. No code of the program
 * runs: everything is copied, each copy is checked. Layouts: glibc include/stdlib.h (struct abort_msg_s), Itanium C++
 * ABI: Exception Handling 2.2 and C++ ABI 2.9.5, GCC libstdc++-v3/libsupc++/unwind-cxx.h, LLVM
 * libcxxabi/src/cxa_exception.h. */
#include "lib/crash/kit.h"

#include "lib/base/text.h"
#include "lib/object/macho.h"

#define WORD         sizeof(uintptr_t)
#define PAGE         4096u /* the smallest of our processors */
#define TYPE_ROOM    512u
#define BASES_MAX    16u
#define NESTING_MAX  16u
#define UNWIND_WORDS 3u /* struct _Unwind_Exception after its class: cleanup and two private words */

void uspi_crash_find_messages(struct uspi_crash_messages *messages) {
    messages->abort_message = uspi_os_find_symbol("__abort_msg");
    messages->exception_type = uspi_os_find_symbol("__cxa_current_exception_type");
    messages->exceptions = uspi_os_find_symbol("__cxa_get_globals_fast");
    messages->derived_type = uspi_os_find_symbol("_ZTVN10__cxxabiv120__si_class_type_infoE");
}

/* ---- checked copies ---- */

static uintptr_t read_word(uintptr_t at) {
    uintptr_t word = 0;
    return uspi_os_read(NULL, at, &word, sizeof word) == USP_OK ? word : 0;
}

/* Copies a text up to its NUL, the first unreadable page, or size - 1 bytes, cut at a whole character. Returns its
 * length. */
static size_t copy_text(uintptr_t from, char *to, size_t size) {
    size_t used = 0;
    bool is_whole = false;
    while (from != 0 && !is_whole && used < size - 1) {
        const size_t left = size - 1 - used, in_page = PAGE - (from + used) % PAGE;
        const size_t n = left < in_page ? left : in_page;
        if (uspi_os_read(NULL, from + used, to + used, n) != USP_OK) break;
        const size_t length = strnlen(to + used, n);
        used += length;
        is_whole = length < n;
    }
    if (!is_whole) used = uspi_utf8_whole(to, used);
    to[used] = '\0';
    return used;
}

/* ---- glibc ---- */

static bool read_abort_message(const struct uspi_crash_messages *messages, char *to, size_t size) {
    uint32_t stored;
    const uintptr_t message = messages->abort_message != 0 ? read_word(messages->abort_message) : 0;
    if (message == 0 || uspi_os_read(NULL, message, &stored, sizeof stored) != USP_OK) return false;
    if (stored <= sizeof stored) return false;
    const size_t limit = stored - sizeof stored + 1;
    size_t length = copy_text(message + sizeof stored, to, limit < size ? limit : size);
    while (length > 0 && to[length - 1] == '\n') to[--length] = '\0';
    return length > 0;
}

/* ---- C++ ---- */

/* Takes the decimal length and the identifier at *name. */
static bool put_identifier(struct uspi_text *text, const char **name) {
    size_t n = 0;
    while (**name >= '0' && **name <= '9' && n < TYPE_ROOM) n = n * 10 + (size_t)(*(*name)++ - '0');
    if (n == 0 || strnlen(*name, n) < n) return false;
    uspi_put(text, *name, n);
    *name += n;
    return true;
}

/* Demangles the name of a class that is no template. Others, and built-in types, keep the mangled name. */
static bool demangle_class(const char *name, char *to, size_t size) {
    struct uspi_text text = uspi_text_in(to, size);
    const bool is_nested = *name == 'N';
    name += is_nested;
    const bool is_standard = strncmp(name, "St", 2) == 0;
    if (is_standard) uspi_put_string(&text, "std::");
    name += is_standard ? 2 : 0;
    bool is_whole = put_identifier(&text, &name);
    for (unsigned i = 0; is_whole && is_nested && *name != 'E' && i < NESTING_MAX; i++) {
        uspi_put_string(&text, "::");
        is_whole = put_identifier(&text, &name);
    }
    (void)uspi_text_end(&text);
    return is_whole && strcmp(name, is_nested ? "E" : "") == 0;
}

/* Reads the mangled name of a type_info. An asterisk marks names that are not unique. */
static void read_type_name(uintptr_t type, char name[TYPE_ROOM]) {
    uintptr_t at = read_word(type + WORD);
    /* On Apple's arm64 the highest bit marks them (libc++ typeinfo, NonUniqueARMRTTIBit). */
    if (uspi_os_kind() == USP_OS_DARWIN && usp_arch_host() == USP_ARCH_ARM64) at &= UINTPTR_MAX >> 1;
    if (copy_text(at, name, TYPE_ROOM) > 0 && name[0] == '*') memmove(name, name + 1, strlen(name));
}

/* Whether a type is derived from one whose text both C++ libraries store as a pointer after the vtable's. */
static bool has_text(const struct uspi_crash_messages *messages, uintptr_t type) {
    char name[TYPE_ROOM];
    for (unsigned i = 0; type != 0 && i < BASES_MAX; i++) {
        read_type_name(type, name);
        if (strcmp(name, "St13runtime_error") == 0 || strcmp(name, "St11logic_error") == 0) return true;
        if (messages->derived_type == 0 || read_word(type) != messages->derived_type + 2 * WORD) return false;
        type = read_word(type + 2 * WORD);
    }
    return false;
}

/* Returns the address of the object that was thrown, or 0. */
static uintptr_t find_object(const struct uspi_crash_messages *messages, uintptr_t type) {
    /* type, destructor, two handlers, next, two counts, action, language's data, catch temp, adjusted pointer: then the
     * unwinder's header, which has the highest alignment. libc++abi has two words before them. */
    const size_t fields = 9 * WORD + 2 * sizeof(int), align = __BIGGEST_ALIGNMENT__ > 16 ? 16 : __BIGGEST_ALIGNMENT__;
    uintptr_t (*get)(void) = (uintptr_t (*)(void))messages->exceptions;
    const uintptr_t globals = get != NULL ? get() : 0, header = globals != 0 ? read_word(globals) : 0;
    uint64_t kind = 0;
    /* 32-bit arm has another header. */
    if (header == 0 || usp_arch_host() == USP_ARCH_ARMV7) return 0;
    const size_t before = read_word(header) == type ? 0 : read_word(header + 2 * WORD) == type ? 2 * WORD : SIZE_MAX;
    if (before == SIZE_MAX) return 0;
    const size_t unwinder = (before + fields + align - 1) / align * align;
    const size_t size = (unwinder + sizeof kind + UNWIND_WORDS * WORD + align - 1) / align * align;
    /* The class ends with 0, or with 1 for an exception that refers to another one. */
    if (uspi_os_read(NULL, header + unwinder, &kind, sizeof kind) != USP_OK || (kind & 0xff) != 0) return 0;
    return header + size;
}

/* Writes "TYPE: TEXT" of the exception that the calling thread has thrown. */
static bool read_exception(const struct uspi_crash_messages *messages, char *to, size_t size) {
    uintptr_t (*current)(void) = (uintptr_t (*)(void))messages->exception_type;
    char name[TYPE_ROOM];
    const uintptr_t type = current();
    if (type == 0) return false;
    read_type_name(type, name);
    if (!demangle_class(name, to, size < TYPE_ROOM ? size : TYPE_ROOM)) memcpy(to, name, strlen(name) + 1);
    size_t used = strlen(to);
    const uintptr_t object = has_text(messages, type) ? find_object(messages, type) : 0;
    if (object == 0 || used + 3 > size) return used > 0;
    memcpy(to + used, ": ", 3);
    used += 2;
    if (copy_text(read_word(object + WORD), to + used, size - used) == 0) to[used - 2] = '\0';
    return true;
}

/* Whether the thread runs code of the C++ library: then its thread-local data exists, and is not allocated now. */
static bool is_in_cxx(const struct uspi_crash_kit *kit, const struct usp_stack *stack) {
    const uintptr_t function = kit->messages.exception_type;
    const struct usp_image *image = NULL;
    for (size_t i = 0; i < kit->image_count; i++) {
        if (function >= kit->images[i].load_address && function < kit->images[i].end) image = &kit->images[i];
    }
    if (image == NULL || function == 0) return false;
    for (uint32_t i = 0; i < stack->count; i++) {
        if (stack->frames[i].pc >= image->load_address && stack->frames[i].pc < image->end) return true;
    }
    return false;
}

/* ---- Apple's __crash_info ---- */

/* Version 4 and later begin so, whatever follows: version, message, signature, backtrace, second message (libplatform
 * private/CrashReporterClient.h). All have 64 bits. */
enum { INFO_LEAST = 40, INFO_MESSAGE = 8, INFO_SECOND = 32, INFO_VERSION = 4 };

static size_t copy_info_text(const struct uspi_crash_kit *kit, uint64_t at, char *to, size_t size) {
    at &= ~kit->target.pac_mask;
    return at <= UINTPTR_MAX ? copy_text((uintptr_t)at, to, size) : 0;
}

bool uspi_crash_read_info(struct uspi_crash_kit *kit, const struct usp_image *image) {
    const struct usp_memory memory = {uspi_os_read, NULL};
    const struct uspi_source source = uspi_source_of_memory(&memory, "image");
    struct uspi_macho macho;
    struct uspi_macho_section section;
    uint8_t info[INFO_LEAST];
    char *const to = kit->callback_text;
    const size_t room = sizeof kit->callback_text;
    to[0] = '\0';
    if (uspi_macho_open(&macho, uspi_bytes_at(&source, image->load_address), NULL) != USP_OK) return false;
    if (uspi_macho_find_section(&macho, "__crash_info", &section, NULL) != USP_OK) return false;
    if (section.size < INFO_LEAST || uspi_os_read(NULL, section.address + image->slide, info, sizeof info) != USP_OK)
        return false;
    if (uspi_le64(info) < INFO_VERSION) return false;
    size_t used = copy_info_text(kit, uspi_le64(info + INFO_MESSAGE), to, room);
    if (used > 0 && to[used - 1] != '\n' && used + 2 < room) to[used++] = '\n';
    used += copy_info_text(kit, uspi_le64(info + INFO_SECOND), to + used, room - used);
    while (used > 0 && to[used - 1] == '\n') to[--used] = '\0';
    return used > 0;
}

bool uspi_crash_read_message(struct uspi_crash_kit *kit, const struct usp_stack *stack, unsigned i, const char **key) {
    char *to = kit->callback_text;
    *key = i == 0 ? "abort message" : "C++ exception";
    to[0] = '\0';
    if (i == 0) return read_abort_message(&kit->messages, to, sizeof kit->callback_text);
    return is_in_cxx(kit, stack) && read_exception(&kit->messages, to, sizeof kit->callback_text);
}
