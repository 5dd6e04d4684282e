/* SPDX-License-Identifier: MIT */
/* Demangles names of C++, Rust, Swift and Kotlin/Native. Use it for output only: symbols keep the names that they have
 * in their files. */
#ifndef UNSPOOL_DEMANGLE_H
#define UNSPOOL_DEMANGLE_H

#include <unspool/base.h>

USP_BEGIN_DECLS

/* Opaque: a mode, and a cache of all answers. Many threads may use one at the same time. */
struct usp_demangler;

enum usp_demangle_style {
    USP_DEMANGLE_NO = 0, /* names stay as they are */
    /* The function's name only: without parameters, return type, template or generic arguments, and hash. */
    USP_DEMANGLE_SIMPLE = 1,
    /* Everything that the mangled name contains: core::fmt::Formatter::pad::h0123456789abcdef, std::vector<int,
     * std::allocator<int> >::push_back(int const&). SIMPLE: core::fmt::Formatter::pad, std::vector::push_back. */
    USP_DEMANGLE_FULL = 2,
    /* For stacks. Swift: the shortest form that still distinguishes functions, followed by "await" or "suspend" for
     * the parts of an async function. Other languages: as USP_DEMANGLE_SIMPLE. */
    USP_DEMANGLE_SHORT = 3
};

/* The language that mangled a name. The numbers are part of the interface. */
enum usp_mangling {
    USP_MANGLING_NONE = 0,
    USP_MANGLING_CXX = 1,         /* Itanium C++ ABI: _Z…; blocks in it: __Z…_block_invoke */
    USP_MANGLING_RUST_LEGACY = 2, /* the same with a hash as its last part: _ZN…17h0123456789abcdefE */
    USP_MANGLING_RUST_V0 = 3,     /* RFC 2603: _R… */
    USP_MANGLING_SWIFT = 4,       /* $s…, $S…, $e…, _$s…, _T0…, the Objective-C runtime's _TtC…, _TtGC…, _TtP… */
    USP_MANGLING_KOTLIN = 5       /* Kotlin/Native: kfun:… */
};

/* Returns the language (enum usp_mangling), judged by the name's form alone. Async-signal-safe, thread-safe. */
USP_API uint32_t usp_mangling_of(const char *name);

/* Makes a demangler. mode: enum usp_demangle_style. On success the caller frees *demangler.
 *
 * For C++ and old Rust names it uses a C++ runtime's __cxa_demangle, which it looks up at the first such name: that of
 * LLVM's libc++abi if it is loaded or installed, else that of the process, else libstdc++'s. If the runtime is installed
 * but not loaded, it is loaded and stays loaded. Names stay mangled if there is no runtime.
 * doc/symbolize.md lists names that it cannot demangle. The library itself demangles newer Rust names, without the
 * hashes that distinguish crates of the same name, and Swift names, the latter in the form of `swift demangle` or
 * `swift demangle --simplified`. Names of Kotlin/Native become PACKAGE.CLASS.NAME(TYPE, TYPE): RESULT.
 *
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it allocates. */
USP_API int usp_demangler_create(uint32_t mode, struct usp_demangler **demangler);

/* Frees a demangler and all names that it returned. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_demangler_free(struct usp_demangler *demangler);

/* Returns the demangled name. It is valid until the demangler is freed; equal names give the same pointer. Text after
 * an @ ("f@plt") is kept, and so are the words that a linker adds for code that only jumps to a function: DYLD-STUB$$,
 * __AArch64ADRPThunk_, __..._veneer. Blocks are named after the function that contains them. Old Rust's escapes ($LT$,
 * $u20$, …) are resolved; its hash, the last part ("::h" and 16 digits), is kept by USP_DEMANGLE_FULL and dropped by
 * USP_DEMANGLE_SIMPLE.
 *
 * Returns `name` itself when demangler is NULL, the mode is USP_DEMANGLE_NO, memory is exhausted, or the name
 *   - is not mangled, is malformed, or has a mangling without a demangler
 *   - is longer than 4096 bytes (Swift: 65536), or has parts in more than 256 levels (C++; Rust: 500)
 *   - refers to its own parts so often that the result might exceed 4 MB (Swift: 1 MB)
 * Thread-safe, not async-signal-safe: it allocates, takes locks, and may load the C++ runtime's library. */
USP_API const char *usp_demangle(struct usp_demangler *demangler, const char *name);

USP_END_DECLS

#endif
