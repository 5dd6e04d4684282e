/* SPDX-License-Identifier: MIT */
/* Names as people write them, from names as linkers do: C++, Rust, Swift.
 * For output only: symbols keep the names that they have in their files. */
#ifndef UNSPOOL_DEMANGLE_H
#define UNSPOOL_DEMANGLE_H

#include <unspool/base.h>

USP_BEGIN_DECLS

/* Opaque: a mode, and every answer so far. Many threads may use one at a time. */
struct usp_demangler;

enum usp_demangle_style {
    USP_DEMANGLE_NO = 0,     /* names as they are */
    USP_DEMANGLE_SIMPLE = 1, /* which function, nothing more: without parameters, return type, template or generic
                                arguments, and hash */
    USP_DEMANGLE_FULL = 2,   /* everything that the name tells */
    USP_DEMANGLE_SHORT =
        3 /* for stacks: of Swift the shortest that still tells functions apart, with the parts of an async
                                function as "await" and "suspend" behind its name; else as USP_DEMANGLE_SIMPLE */
};

/* Which language mangled a name; the numbers are part of the interface. */
enum usp_mangling {
    USP_MANGLING_NONE = 0,
    USP_MANGLING_CXX = 1,         /* Itanium C++ ABI: _Z…; blocks in it: __Z…_block_invoke */
    USP_MANGLING_RUST_LEGACY = 2, /* the same with a hash as its last part: _ZN…17h0123456789abcdefE */
    USP_MANGLING_RUST_V0 = 3,     /* RFC 2603: _R… */
    USP_MANGLING_SWIFT = 4        /* $s…, $S…, $e…, _$s…, _T0… */
};

/* Which one it was, by the name's form alone. Async-signal-safe, thread-safe. */
USP_API uint32_t usp_mangling_of(const char *name);

/* mode: enum usp_demangle_style. On success *demangler is the caller's to free.
 * The C++ runtime's __cxa_demangle is looked for when the first name of C++ or old Rust comes. What is not loaded yet is
 * loaded where it is installed, and stays. Names that need what is not there stay mangled. Rust's newer names and Swift's are
 * demangled by the library itself, which writes the latter as `swift demangle` does, or `swift demangle --simplified`.
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
USP_API int usp_demangler_create(uint32_t mode, struct usp_demangler **demangler);

/* Frees it and all names it gave. NULL is ignored. No other call may use it any more. Not async-signal-safe. */
USP_API void usp_demangler_free(struct usp_demangler *demangler);

/* The name as the mode wants it: valid until the demangler is freed; the same pointer for the same name. `name` itself when
 * demangler is NULL, the mode is USP_DEMANGLE_NO, memory lacks, or the name is not mangled or cannot be demangled: there is
 * no demangler for it, it is not well-formed, it is longer than 4096 bytes (of Swift 65536), or it refers to its own parts so
 * often that the result might be longer than 128 MB (of Swift 1 MB). What stands behind an @ ("f@plt") is kept.
 * Old Rust's hash, its last part ("::h" and 16 digits), is kept by USP_DEMANGLE_FULL and dropped by USP_DEMANGLE_SIMPLE,
 * and its escapes ($LT$, $u20$, …) are resolved. Thread-safe, not async-signal-safe. */
USP_API const char *usp_demangle(struct usp_demangler *demangler, const char *name);

USP_END_DECLS

#endif
