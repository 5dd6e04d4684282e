/* SPDX-License-Identifier: MIT */
/* Demangling: finds a name's language, calls its demangler, and caches the answers. rust_v0.c demangles Rust v0, swift/
 * demangles Swift. */
#include <unspool/demangle.h>

#include "lib/base/hash.h"
#include "lib/base/region.h"
#include "lib/demangle/cxx_length.h"
#include "lib/demangle/demangle_simple.h"
#include "lib/demangle/kotlin.h"
#include "lib/demangle/rust_v0.h"
#include "lib/demangle/swift/swift.h"
#include "lib/os/os.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cxx ---- */

/* Demangles C++ names with a C++ runtime's __cxa_demangle: LLVM's if there is one, because it knows more names than
 * GNU's. demangle.c decides which names are C++ names. */
/* Itanium C++ ABI, section 3.4. */
typedef char *(*demangle_function)(const char *mangled, char *buffer, size_t *size, int *status);

/* The demangling function, which is looked up for the first name. Initialise to zero. Callers must serialize all calls
 * for one struct with a lock. */
struct uspi_cxx {
    bool is_known;
    bool is_llvm;               /* it is that of libc++abi */
    demangle_function demangle; /* NULL: no C++ runtime is installed */
};

/* The maximum size of a demangled name in bytes; names whose result could be longer stay mangled. The platform's
 * demangler limits neither time nor output, and a C++ name that refers to its own parts can double every few
 * characters. */
#define OUTPUT_MAX (UINT64_C(1) << 22)

/* The maximum size in bytes of a name that is simplified: with nested brackets, a hostile name takes time quadratic in
 * its length. */
#define SIMPLIFIED_MAX 65536u

/* Returns whether `demangle` is LLVM's, which writes the suffix of a copy as it is. */
static bool is_of_llvm(demangle_function demangle) {
    int status = 0;
    char *text = demangle("_Z1fv.cold", NULL, NULL, &status);
    const bool is_llvm = text != NULL && strcmp(text, "f() (.cold)") == 0;
    free(text);
    return is_llvm;
}

/* Takes the demangler of one of the libraries. An empty name stands for the process. Returns whether it is LLVM's. */
static bool take_demangler(struct uspi_cxx *cxx, const char *const *libraries) {
    uspi_os_function found;
    if (!uspi_os_find_function(libraries, "__cxa_demangle", &found)) return false;
    cxx->demangle = (demangle_function)found;
    cxx->is_llvm = is_of_llvm(cxx->demangle);
    return cxx->is_llvm;
}

static void find_demangler(struct uspi_cxx *cxx) {
    static const char *const process[] = {"", NULL}, *const llvm[] = {"libc++abi.so.1", NULL},
                             *const gnu[] = {"libstdc++.so.6", NULL};
    if (cxx->is_known) return;
    cxx->is_known = true;
    if (take_demangler(cxx, process) || take_demangler(cxx, llvm) || cxx->demangle != NULL) return;
    take_demangler(cxx, gnu);
}

/* Returns the length of an Itanium C++ ABI back reference at `at`: "S" or "T", a number, "_"; 0: there is none. Letters
 * of an identifier may look like one; that only makes the estimate too high. */
static size_t reference_length(const char *at) {
    size_t n = 1;
    if (at[0] != 'S' && at[0] != 'T') return 0;
    while ((at[n] >= '0' && at[n] <= '9') || (at[n] >= 'A' && at[n] <= 'Z')) n++;
    return at[n] == '_' ? n + 1 : 0;
}

/* Bounds the length of a name that has parts which uspi_cxx_length does not know. With n references it is at most
 * 3^(n/3) times as long; levels of three references to the previous level reach that. A pack expansion ("Dp") repeats
 * what follows for each argument. */
static uint64_t rough_length(const char *name, size_t length) {
    uint64_t estimate = length;
    unsigned references = 0;
    while (*name != '\0' && estimate <= OUTPUT_MAX) {
        const size_t reference = reference_length(name);
        if (reference > 0 && ++references % 3 == 0) estimate *= 3;
        if (name[0] == 'D' && name[1] == 'p') estimate *= length / 32 + 2;
        name += reference > 0 ? reference : 1;
    }
    return estimate;
}

/* Returns whether the demangled name is certainly not too long. */
static bool is_moderate(const struct uspi_cxx *cxx, const char *name) {
    const size_t length = strlen(name);
    uint64_t bound;
    if (!uspi_cxx_length(name, length, false, &bound)) return rough_length(name, length) <= OUTPUT_MAX;
    if (bound > OUTPUT_MAX || cxx->is_llvm) return bound <= OUTPUT_MAX;
    if (uspi_cxx_length(name, length, true, &bound) && bound <= OUTPUT_MAX) return true;
    /* That bound is high for lambdas in templates. The rough one does not know expansions in expressions ("sp"). */
    return strstr(name, "sp") == NULL && rough_length(name, length) <= OUTPUT_MAX;
}

/* Demangles `name`, which begins with _Z. Returns a malloc'ed string. NULL: there is no C++ runtime, it does not know
 * the name, memory lacks, or the result might be longer than 4 MB. */
static char *cxx_demangle(struct uspi_cxx *cxx, const char *name) {
    int status = 0;
    find_demangler(cxx);
    if (cxx->demangle == NULL || !is_moderate(cxx, name)) return NULL;
    char *demangled = cxx->demangle(name, NULL, NULL, &status);
    if (status == 0) return demangled;
    free(demangled);
    return NULL;
}

/* Returns the length of an identifier with its preceding length at `at`, or of a literal's digits, which follow a
 * letter for its type. */
static size_t numbered_length(const char *name, const char *at) {
    const size_t left = strlen(at);
    const char *end = at;
    size_t length = 0;
    for (; *end >= '0' && *end <= '9'; end++) {
        /* Once the number exceeds what is left, its exact value does not matter. */
        if (length <= left) length = 10 * length + (size_t)(*end - '0');
    }
    const bool is_literal = at - name > 1 && at[-2] == 'L' && *end == 'E';
    const size_t digits = (size_t)(end - at);
    return digits + (!is_literal && length <= left - digits ? length : 0);
}

/* Returns the length of the ABI tags at `at`: B and an identifier, repeated. */
static size_t tags_length(const char *name, const char *at) {
    const char *end = at;
    while (end[0] == 'B' && end[1] >= '1' && end[1] <= '9') end += 1 + numbered_length(name, end + 1);
    return (size_t)(end - at);
}

/* Removes the ABI tags of constructor templates, in place. GNU's demangler takes such constructors for functions with a
 * return type: it leaves their names mangled, or shows the first parameter as the return type. */
static void drop_constructor_tags(char *name) {
    for (char *at = name; *at != '\0';) {
        const size_t reference = reference_length(at);
        if (*at == 'C' && at[1] >= '1' && at[1] <= '5' && at[2] == 'B') {
            char *end = at + 2 + tags_length(name, at + 2);
            if (*end == 'I') memmove(at + 2, end, strlen(end) + 1);
            at += 2;
        } else if (reference > 0) {
            at += reference;
        } else {
            at += *at >= '1' && *at <= '9' ? numbered_length(name, at) : 1;
        }
    }
}

/* Appends the suffix that a compiler gives to a copy of a function or variable (".cold"), in the form that the
 * demangler has for functions: " (.cold)" or " [clone .cold]". Frees or reuses `text`, which may be NULL. Returns a
 * malloc'ed string, or NULL when memory lacks or `text` is NULL. */
static char *cxx_append_clone(const struct uspi_cxx *cxx, char *text, const char *suffix) {
    static const char open[] = " [clone ";
    const size_t length = text != NULL ? strlen(text) : 0, room = length + sizeof open + strlen(suffix) + 1;
    char *whole = text != NULL ? realloc(text, room) : NULL;
    if (whole == NULL) {
        free(text);
        return NULL;
    }
    if (cxx->is_llvm) {
        snprintf(whole + length, room - length, " (%s)", suffix);
    } else {
        snprintf(whole + length, room - length, "%s%s]", open, suffix);
    }
    return whole;
}

/* Demangles Clang's name of a block's function, in llvm-cxxfilt's words. It has "__" before the enclosing function's
 * name (one "_" may have been removed as Mach-O's), and must have "_block_invoke" and a number after it. */
static char *demangle_block(struct uspi_cxx *cxx, char *name) {
    static const char words[] = "invocation function for block in ";
    *strstr(name, "_block_invoke") = '\0';
    char *function = cxx_demangle(cxx, strchr(name, 'Z') - 1);
    const size_t length = function != NULL ? strlen(function) : 0;
    char *whole = function != NULL ? malloc(sizeof words + length) : NULL;
    if (whole != NULL) {
        memcpy(whole, words, sizeof words - 1);
        memcpy(whole + sizeof words - 1, function, length + 1);
    }
    free(function);
    return whole;
}

/* Demangles a name of a C++ function, variable or block, with up to four underscores before its Z; changes `name`.
 * With is_simple, the result has no parameters and no suffix of a clone. Returns what cxx_demangle returns. */
static char *cxx_name(struct uspi_cxx *cxx, char *name, bool is_simple) {
    find_demangler(cxx);
    if (!cxx->is_llvm || is_simple) drop_constructor_tags(name);
    if (name[1] != 'Z' && strstr(name, "_block_invoke") != NULL) return demangle_block(cxx, name);
    name = strchr(name, 'Z') - 1;
    const size_t length = strcspn(name, ".");
    if (is_simple) name[length] = '\0';
    char *text = cxx_demangle(cxx, name);
    if (text == NULL && name[length] != '\0') {
        /* GNU's demangler knows suffixes only of functions. */
        name[length] = '\0';
        text = cxx_demangle(cxx, name);
        name[length] = '.';
        text = cxx_append_clone(cxx, text, name + length);
    }
    if (text != NULL && is_simple && strlen(text) <= SIMPLIFIED_MAX) uspi_demangle_simplify(text);
    return text;
}

/* The maximum length of C++, Rust and Kotlin names that are demangled. */
#define MANGLED_MAX 4096u

/* Room for the output of the demangler of Rust v0. */
#define DEMANGLED_ROOM 16384u

/* A cached answer. */
struct answer {
    uint64_t hash; /* of the mangled name: other names are rarely compared, and none is hashed again */
    /* The mangled name, a NUL, and the demangled one, which is empty if the name stays mangled. NULL: the slot is
     * empty. */
    const char *names;
};

struct usp_demangler {
    uint32_t mode;
    struct uspi_lock *lock; /* guards the fields below */
    struct uspi_cxx cxx;
    struct uspi_swift *swift;
    struct uspi_region kept; /* the strings of the answers */
    struct answer *answers;  /* open addressing */
    size_t capacity;         /* a power of two */
    size_t used;
};

#define INITIAL_ROOM 64u

/* ---- which language ---- */

/* Returns the value of a hexadecimal digit; 16 if it is none. */
static unsigned hex_digit(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    return c >= 'a' && c <= 'f' ? 10 + (unsigned)(c - 'a') : 16;
}

/* Returns whether the 16 bytes after an "h" are a legacy Rust hash, the last part of such a name
 * (rustc_symbol_mangling/src/legacy.rs). Like rustc-demangle and binutils, requires at least five different digits, so
 * that no C++ function with such a name is taken for Rust. */
static bool ends_with_hash(const char *digits) {
    unsigned seen = 0, different = 0;
    for (unsigned i = 0; i < 16; i++) {
        unsigned digit = hex_digit(digits[i]);
        if (digit == 16) return false;
        seen |= 1u << digit;
    }
    for (; seen != 0; seen &= seen - 1) different++;
    return different >= 5;
}

/* Returns the length of a legacy Rust name up to its "E", which a clone's suffix may follow; 0: it is none. Parts may
 * contain dots. */
static size_t legacy_rust_length(const char *name) {
    static const char last[] = "17h0123456789abcdefE";
    if (strncmp(name, "_ZN", 3) != 0) return 0;
    for (const char *at = strstr(name, "17h"); at != NULL; at = strstr(at + 1, "17h")) {
        if (!ends_with_hash(at + 3) || at[19] != 'E') continue;
        if (at[20] == '\0' || at[20] == '.' || at[20] == '@') return (size_t)(at - name) + sizeof last - 1;
    }
    return 0;
}

/* Returns whether a name begins with "-[" or "+[" and an Objective-C name of a Swift class. */
static bool is_method_of_swift(const char *name) {
    return (name[0] == '-' || name[0] == '+') && strncmp(name + 1, "[_Tt", 4) == 0;
}

/* The mangled part of a name. */
struct part {
    size_t before, length;
};

static bool ends_with(const char *name, size_t length, const char *ending) {
    const size_t n = strlen(ending);
    return length >= n && memcmp(name + length - n, ending, n) == 0;
}

/* Finds the function's name in the name of code with which a linker reaches a function; for other names, returns the
 * whole name. Sources: atos(1) for the names of Mach-O stubs; LLVM, lld/ELF/Thunks.cpp: __AArch64ADRPThunk_NAME,
 * __Thumbv7ABSLongThunk_NAME, ...; binutils, bfd/elfnn-aarch64.c, bfd/elf32-arm.c: __NAME_veneer, __NAME_from_arm,
 * __NAME_from_thumb. */
static struct part linked_part(const char *name) {
    static const char stub[] = "DYLD-STUB$$", thunk[] = "Thunk_";
    static const char *const veneers[] = {"_veneer", "_from_arm", "_from_thumb"};
    const size_t length = strlen(name);
    if (strncmp(name, stub, sizeof stub - 1) == 0) return (struct part){sizeof stub - 1, length - (sizeof stub - 1)};
    if (strncmp(name, "__", 2) != 0 || name[2] == 'Z') return (struct part){0, length};
    for (size_t i = 0; i < sizeof veneers / sizeof *veneers; i++) {
        if (!ends_with(name, length, veneers[i]) || length < 2 + strlen(veneers[i])) continue;
        return (struct part){2, length - 2 - strlen(veneers[i])};
    }
    const char *found = name[2] != '_' ? strstr(name, thunk) : NULL;
    const size_t before = found != NULL ? (size_t)(found - name) + sizeof thunk - 1 : 0;
    return (struct part){before, length - before};
}

/* Returns whether mangled names, or those of linkers' code, begin with a character. Most names of C begin with none of
 * them. */
static bool may_begin(char c) { return c != '\0' && strchr("_$@-+Dko", c) != NULL; }

uint32_t usp_mangling_of(const char *name) {
    if (name == NULL || !may_begin(name[0])) return USP_MANGLING_NONE;
    name += linked_part(name).before;
    if (uspi_kotlin_is_mangled(name)) return USP_MANGLING_KOTLIN;
    if (name[0] == '_' && name[1] == 'R' && name[2] >= 'A' && name[2] <= 'Z') return USP_MANGLING_RUST_V0;
    if (uspi_swift_is_mangled(name) || is_method_of_swift(name)) return USP_MANGLING_SWIFT;
    if (legacy_rust_length(name) > 0) return USP_MANGLING_RUST_LEGACY;
    /* Mach-O has one leading underscore more, which may have been removed; a block's function has two more. */
    bool is_cxx = strncmp(name, "_Z", 2) == 0 || strncmp(name, "__Z", 3) == 0 || strncmp(name, "___Z", 4) == 0 ||
                  strncmp(name, "____Z", 5) == 0;
    return is_cxx ? USP_MANGLING_CXX : USP_MANGLING_NONE;
}

/* ---- what demangles it ---- */

/* Returns whether a shorter form is wanted. The two shorter forms differ only for Swift. */
static bool is_to_be_simple(const struct usp_demangler *demangler) {
    return demangler->mode == USP_DEMANGLE_SIMPLE || demangler->mode == USP_DEMANGLE_SHORT;
}

/* These functions return a malloc'ed string, or NULL. */

/* Reads a character that legacy Rust writes as $…$ (rustc_symbol_mangling/src/legacy.rs). Returns the length of the
 * escape and sets *character; 0: it is none. */
static size_t rust_escape(const char *at, char *character) {
    static const struct {
        const char *name;
        char character;
    } escapes[] = {{"$SP$", '@'}, {"$BP$", '*'}, {"$RF$", '&'}, {"$LT$", '<'},
                   {"$GT$", '>'}, {"$LP$", '('}, {"$RP$", ')'}, {"$C$", ','}};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        size_t length = strlen(escapes[i].name);
        if (strncmp(at, escapes[i].name, length) != 0) continue;
        *character = escapes[i].character;
        return length;
    }
    /* $u7e$: a character's number; only printable ASCII occurs. */
    if (at[0] != '$' || at[1] != 'u' || hex_digit(at[2]) == 16 || hex_digit(at[3]) == 16 || at[4] != '$') return 0;
    unsigned value = hex_digit(at[2]) * 16 + hex_digit(at[3]);
    if (value < 0x20 || value > 0x7e) return 0;
    *character = (char)value;
    return 5;
}

/* Resolves what __cxa_demangle leaves of legacy Rust names: escapes, ".." for "::", a "_" before a part that begins
 * with an escape. Works in place, because the text only gets shorter. */
static void resolve_rust(char *text, bool drops_hash) {
    size_t length = strlen(text), to = 0;
    /* "::h" and 16 digits */
    if (drops_hash && length > 19 && strncmp(text + length - 19, "::h", 3) == 0) text[length - 19] = '\0';
    for (size_t from = 0; text[from] != '\0';) {
        char character;
        size_t escape = rust_escape(text + from, &character);
        bool begins_part = to == 0 || text[to - 1] == ':';
        if (escape > 0) {
            text[to++] = character;
            from += escape;
        } else if (begins_part && text[from] == '_' && text[from + 1] == '$') {
            from++;
        } else if (text[from] == '.' && text[from + 1] == '.') {
            text[to++] = ':';
            text[to++] = ':';
            from += 2;
        } else {
            text[to++] = text[from++];
        }
    }
    text[to] = '\0';
}

static char *demangle_legacy_rust(struct usp_demangler *demangler, char *name) {
    const size_t length = legacy_rust_length(name);
    const char first = name[length];
    name[length] = '\0';
    char *text = cxx_demangle(&demangler->cxx, name);
    name[length] = first;
    if (text != NULL) resolve_rust(text, is_to_be_simple(demangler));
    return first != '\0' && !is_to_be_simple(demangler) ? cxx_append_clone(&demangler->cxx, text, name + length) : text;
}

static char *demangle_v0(const struct usp_demangler *demangler, const char *name) {
    char *text = malloc(DEMANGLED_ROOM);
    if (text == NULL) return NULL;
    if (uspi_rust_v0(name, strlen(name), is_to_be_simple(demangler), text, DEMANGLED_ROOM) >= 0) return text;
    free(text);
    return NULL;
}

/* ---- answers ---- */

/* Returns the slot that has the name, or the empty one where it belongs. */
static struct answer *find_slot(const struct usp_demangler *demangler, const char *name, uint64_t hash) {
    struct answer *answers = demangler->answers;
    size_t i = (size_t)hash & (demangler->capacity - 1);
    while (answers[i].names != NULL && (answers[i].hash != hash || strcmp(answers[i].names, name) != 0))
        i = (i + 1) & (demangler->capacity - 1);
    return &answers[i];
}

/* Makes room for one more answer. False when memory lacks. */
static bool make_room(struct usp_demangler *demangler) {
    if (demangler->used < demangler->capacity / 4 * 3) return true;
    size_t capacity = demangler->capacity * 2;
    struct answer *answers = calloc(capacity, sizeof *answers);
    if (answers == NULL) return false;
    for (size_t i = 0; i < demangler->capacity; i++) {
        size_t to = (size_t)demangler->answers[i].hash & (capacity - 1);
        if (demangler->answers[i].names == NULL) continue;
        while (answers[to].names != NULL) to = (to + 1) & (capacity - 1);
        answers[to] = demangler->answers[i];
    }
    free(demangler->answers);
    demangler->answers = answers;
    demangler->capacity = capacity;
    return true;
}

/* Returns the function's own name without an @ and what follows it; for an Objective-C method, the class. */
static struct part mangled_part(const char *name) {
    struct part part = linked_part(name);
    name += part.before;
    if (uspi_kotlin_is_mangled(name)) return part;
    if (is_method_of_swift(name)) return (struct part){part.before + 2, strcspn(name + 2, " (")};
    /* A macro's name begins with an @. */
    const char *at = part.length > 0 ? memchr(name + 1, '@', part.length - 1) : NULL;
    if (at != NULL) part.length = (size_t)(at - name);
    return part;
}

/* A mangled name, and what replaces a part of it. */
struct replacement {
    const char *name;
    size_t length; /* of the name in bytes */
    struct part part;
    const char *text; /* not NUL-terminated; NULL: the name stays mangled */
    size_t text_length;
};

/* Returns the names of an answer (struct answer). NULL when memory lacks. */
static const char *keep(struct uspi_region *kept, const struct replacement *r) {
    const size_t end = r->part.before + r->part.length, rest = r->length - end;
    const size_t demangled_length = r->text != NULL ? r->part.before + r->text_length + rest : 0;
    char *names = uspi_region_take(kept, r->length + 1 + demangled_length + 1);
    if (names == NULL) return NULL;
    memcpy(names, r->name, r->length + 1);
    char *demangled = names + r->length + 1;
    demangled[demangled_length] = '\0';
    if (r->text == NULL) return names;
    memcpy(demangled, r->name, r->part.before);
    memcpy(demangled + r->part.before, r->text, r->text_length);
    memcpy(demangled + r->part.before + r->text_length, r->name + end, rest);
    return names;
}

/* Demangles C++, Rust or Kotlin, from a copy of the first `length` bytes of the name. Returns a malloc'ed string, or
 * NULL. */
static char *ask_copy(struct usp_demangler *demangler, const char *name, size_t length, uint32_t mangling) {
    char *bare = length <= MANGLED_MAX ? malloc(length + 1) : NULL, *text = NULL;
    if (bare == NULL) return NULL;
    memcpy(bare, name, length);
    bare[length] = '\0';
    switch (mangling) {
    case USP_MANGLING_CXX: text = cxx_name(&demangler->cxx, bare, is_to_be_simple(demangler)); break;
    case USP_MANGLING_RUST_LEGACY: text = demangle_legacy_rust(demangler, bare); break;
    case USP_MANGLING_RUST_V0: text = demangle_v0(demangler, bare); break;
    case USP_MANGLING_KOTLIN: text = uspi_kotlin(bare, is_to_be_simple(demangler)); break;
    default: break;
    }
    free(bare);
    return text;
}

/* Demangles a name of known length. Returns the names of its answer; NULL when memory lacks. */
static const char *demangle_as(struct usp_demangler *demangler, const char *name, size_t length, uint32_t mangling) {
    struct replacement r = {.name = name, .length = length, .part = mangled_part(name)};
    const char *mangled = name + r.part.before;
    if (mangling == USP_MANGLING_SWIFT) {
        r.text = uspi_swift_demangle(demangler->swift, mangled, r.part.length, demangler->mode, &r.text_length);
        return keep(&demangler->kept, &r);
    }
    char *text = ask_copy(demangler, mangled, r.part.length, mangling);
    if (text != NULL && text[0] != '\0') {
        r.text = text;
        r.text_length = strlen(text);
    }
    const char *names = keep(&demangler->kept, &r);
    free(text);
    return names;
}

/* Looks a name up in the cache, or demangles it. Returns NULL if it stays mangled. The caller holds the lock. */
static const char *demangle(struct usp_demangler *demangler, const char *name, uint32_t mangling) {
    const size_t length = strlen(name);
    const uint64_t hash = uspi_hash_bytes(name, length);
    if (!make_room(demangler)) return NULL;
    struct answer *slot = find_slot(demangler, name, hash);
    if (slot->names == NULL) {
        const char *names = demangle_as(demangler, name, length, mangling);
        if (names == NULL) return NULL;
        *slot = (struct answer){hash, names};
        demangler->used++;
    }
    const char *demangled = slot->names + length + 1;
    return demangled[0] != '\0' ? demangled : NULL;
}

int usp_demangler_create(uint32_t mode, struct usp_demangler **demangler) {
    if (demangler == NULL) return USP_ERROR_ARGUMENT;
    *demangler = NULL;
    if (mode > USP_DEMANGLE_SHORT) return USP_ERROR_ARGUMENT;
    struct usp_demangler *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->mode = mode;
    made->lock = uspi_lock_create();
    made->swift = uspi_swift_create();
    made->answers = calloc(INITIAL_ROOM, sizeof *made->answers);
    made->capacity = INITIAL_ROOM;
    uspi_region_begin(&made->kept, SIZE_MAX);
    if (made->lock == NULL || made->swift == NULL || made->answers == NULL) {
        usp_demangler_free(made);
        return USP_ERROR_NO_MEMORY;
    }
    *demangler = made;
    return USP_OK;
}

void usp_demangler_free(struct usp_demangler *demangler) {
    if (demangler == NULL) return;
    uspi_lock_free(demangler->lock);
    uspi_swift_free(demangler->swift);
    uspi_region_free(&demangler->kept);
    free(demangler->answers);
    free(demangler);
}

const char *usp_demangle(struct usp_demangler *demangler, const char *name) {
    if (demangler == NULL || name == NULL || demangler->mode == USP_DEMANGLE_NO) return name;
    uint32_t mangling = usp_mangling_of(name);
    if (mangling == USP_MANGLING_NONE) return name;
    uspi_lock_take(demangler->lock);
    const char *demangled = demangle(demangler, name, mangling);
    uspi_lock_give(demangler->lock);
    return demangled != NULL ? demangled : name;
}
