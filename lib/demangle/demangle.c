/* SPDX-License-Identifier: MIT */
/* Demangling: which language a name is of, what demangles it, and the answers so far. Rust v0 is rust_v0.c's, Swift
 * swift/'s. */
#include <unspool/demangle.h>

#include "lib/demangle/demangle_simple.h"
#include "lib/demangle/names.h"
#include "lib/demangle/rust_v0.h"
#include "lib/demangle/swift/swift.h"
#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

/* Longer names of C++ and Rust stay as they are. */
#define MANGLED_MAX 4096u

/* The platform's demangler bounds neither its time nor its output, and a C++ name that refers to its own parts can
 * double at every few characters. Names that could become longer than this stay as they are: 3 of the 91,000 of libLLVM,
 * libclang-cpp (19) and libstdc++. In bytes. */
#define CXX_OUTPUT_MAX (UINT64_C(1) << 27)

/* What is longer is not made shorter: the brackets of a hostile name can be nested so that this takes the square of its
 * length. In bytes. */
#define SIMPLIFIED_MAX 65536u

/* Room for what our own demangler of Rust writes. */
#define DEMANGLED_ROOM 16384u

/* Itanium C++ ABI, section 3.4. */
typedef char *(*cxa_demangle)(const char *mangled, char *buffer, size_t *size, int *status);

struct platform {
    bool is_known;
    cxa_demangle cxa;
};

/* A name that was asked for; its key is the pointer that uspi_names_keep gives for it. */
struct answer {
    const char *mangled, *demangled; /* demangled NULL: it stays mangled */
};

struct usp_demangler {
    uint32_t mode;
    struct uspi_names *names;
    struct uspi_lock *lock; /* for what follows */
    struct platform platform;
    struct uspi_swift *swift;
    struct answer *answers; /* open addressing by the address of `mangled` */
    size_t room;            /* a power of two */
    size_t used;
};

#define INITIAL_ROOM 64u

/* ---- which language ---- */

/* 16 where it is none. */
static unsigned hex_digit(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    return c >= 'a' && c <= 'f' ? 10 + (unsigned)(c - 'a') : 16;
}

/* Old Rust: the last part is "h" and 16 digits (rustc_symbol_mangling/src/legacy.rs). Five different digits at least, as
 * rustc-demangle and binutils want them, so that a C++ function that is called so is not taken for it. */
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

/* The length of an old Rust name up to its "E", behind which a clone's suffix may stand; 0: it is none. Parts may hold dots
 * themselves. */
static size_t legacy_rust_length(const char *name) {
    static const char last[] = "17h0123456789abcdefE";
    if (strncmp(name, "_ZN", 3) != 0) return 0;
    for (const char *at = strstr(name, "17h"); at != NULL; at = strstr(at + 1, "17h")) {
        if (!ends_with_hash(at + 3) || at[19] != 'E') continue;
        if (at[20] == '\0' || at[20] == '.' || at[20] == '@') return (size_t)(at - name) + sizeof last - 1;
    }
    return 0;
}

/* "-[" or "+[" and the name that Objective-C knows a class of Swift by. */
static bool is_method_of_swift(const char *name) {
    return (name[0] == '-' || name[0] == '+') && strncmp(name + 1, "[_Tt", 4) == 0;
}

uint32_t usp_mangling_of(const char *name) {
    if (name == NULL) return USP_MANGLING_NONE;
    if (name[0] == '_' && name[1] == 'R' && name[2] >= 'A' && name[2] <= 'Z') return USP_MANGLING_RUST_V0;
    if (uspi_swift_is_mangled(name) || is_method_of_swift(name)) return USP_MANGLING_SWIFT;
    if (legacy_rust_length(name) > 0) return USP_MANGLING_RUST_LEGACY;
    /* One leading underscore may have been taken for Mach-O's; a block's function has two more. */
    bool is_cxx = strncmp(name, "_Z", 2) == 0 || strncmp(name, "__Z", 3) == 0 || strncmp(name, "___Z", 4) == 0;
    return is_cxx ? USP_MANGLING_CXX : USP_MANGLING_NONE;
}

/* ---- what demangles it ---- */

static void find_platform(struct platform *platform) {
    /* The commonest first: where a library is missing, the loader looks for it in a hundred places. */
    static const char *const cxx[] = {"", "libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib", NULL};
    uspi_os_function found;
    if (platform->is_known) return;
    platform->is_known = true;
    if (uspi_os_find_function(cxx, "__cxa_demangle", &found)) platform->cxa = (cxa_demangle)found;
}

/* Whether the shorter forms are wanted; they differ for Swift alone. */
static bool is_to_be_simple(const struct usp_demangler *demangler) {
    return demangler->mode == USP_DEMANGLE_SIMPLE || demangler->mode == USP_DEMANGLE_SHORT;
}

/* The length of an Itanium C++ ABI back reference at `at`: "S" or "T", a number, "_"; 0: there is none. Letters of an
 * identifier may look like one, which only makes the estimate too high. */
static size_t reference_length(const char *at) {
    size_t n = 1;
    if (at[0] != 'S' && at[0] != 'T') return 0;
    while ((at[n] >= '0' && at[n] <= '9') || (at[n] >= 'A' && at[n] <= 'Z')) n++;
    return at[n] == '_' ? n + 1 : 0;
}

/* Whether the demangled name is surely not too long. With n references it is at most 3^(n/3) times as long: levels of three
 * references to the level before make the most of them. A pack expansion ("Dp") repeats what follows for each argument. */
static bool is_moderate(const char *name) {
    uint64_t length = strlen(name), estimate = length;
    unsigned references = 0;
    while (*name != '\0' && estimate <= CXX_OUTPUT_MAX) {
        size_t reference = reference_length(name);
        if (reference > 0 && ++references % 3 == 0) estimate *= 3;
        if (name[0] == 'D' && name[1] == 'p') estimate *= length / 32 + 2;
        name += reference > 0 ? reference : 1;
    }
    return estimate <= CXX_OUTPUT_MAX;
}

/* All of these give a malloc'ed string, or NULL. */

static char *demangle_cxa(const struct platform *platform, const char *name) {
    int status = 0;
    if (platform->cxa == NULL || !is_moderate(name)) return NULL;
    char *demangled = platform->cxa(name, NULL, NULL, &status);
    if (status == 0) return demangled;
    free(demangled);
    return NULL;
}

/* Clang's name for a block's function: "__" before the function's own, of which one may have been taken for Mach-O's;
 * "_block_invoke" and a number behind it, which must be there. llvm-cxxfilt's words. */
static char *demangle_block(const struct platform *platform, char *name) {
    static const char words[] = "invocation function for block in ";
    *strstr(name, "_block_invoke") = '\0';
    char *function = demangle_cxa(platform, strchr(name, 'Z') - 1);
    size_t length = function != NULL ? strlen(function) : 0;
    char *whole = function != NULL ? malloc(sizeof words + length) : NULL;
    if (whole != NULL) {
        memcpy(whole, words, sizeof words - 1);
        memcpy(whole + sizeof words - 1, function, length + 1);
    }
    free(function);
    return whole;
}

static char *demangle_cxx(const struct usp_demangler *demangler, char *name) {
    bool is_block = name[1] != 'Z' && strstr(name, "_block_invoke") != NULL;
    char *text = is_block ? demangle_block(&demangler->platform, name)
                          : demangle_cxa(&demangler->platform, strchr(name, 'Z') - 1);
    bool is_simplified = is_to_be_simple(demangler) && !is_block;
    if (text != NULL && is_simplified && strlen(text) <= SIMPLIFIED_MAX) uspi_demangle_simplify(text);
    return text;
}

/* The characters that old Rust writes as $…$ (rustc_symbol_mangling/src/legacy.rs): returns the length of the escape, and
 * its character; 0: it is none. */
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

/* What __cxa_demangle leaves of old Rust's parts: escapes, ".." for "::", a "_" before a part that begins with an escape.
 * In place: the text gets shorter. */
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

static char *demangle_legacy_rust(const struct usp_demangler *demangler, char *name) {
    bool is_simple = is_to_be_simple(demangler);
    if (is_simple) name[legacy_rust_length(name)] = '\0';
    char *text = demangle_cxa(&demangler->platform, name);
    if (text != NULL) resolve_rust(text, is_simple);
    return text;
}

static char *demangle_v0(const struct usp_demangler *demangler, const char *name) {
    char *text = malloc(DEMANGLED_ROOM);
    if (text == NULL) return NULL;
    if (uspi_rust_v0(name, strlen(name), is_to_be_simple(demangler), text, DEMANGLED_ROOM) >= 0) return text;
    free(text);
    return NULL;
}

/* ---- answers ---- */

static struct answer *find_slot(struct answer *answers, size_t room, const char *mangled) {
    /* Fibonacci hashing (Knuth, TAOCP 6.4): addresses differ in their middle bits. */
    size_t i = (size_t)((uint64_t)(uintptr_t)mangled * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (room - 1);
    while (answers[i].mangled != NULL && answers[i].mangled != mangled) i = (i + 1) & (room - 1);
    return &answers[i];
}

static bool make_room(struct usp_demangler *demangler) {
    if (demangler->used < demangler->room / 2) return true;
    size_t room = demangler->room * 2;
    struct answer *answers = calloc(room, sizeof *answers);
    if (answers == NULL) return false;
    for (size_t i = 0; i < demangler->room; i++) {
        const struct answer *old = &demangler->answers[i];
        if (old->mangled != NULL) *find_slot(answers, room, old->mangled) = *old;
    }
    free(demangler->answers);
    demangler->answers = answers;
    demangler->room = room;
    return true;
}

/* Where in a name its mangled part is. */
struct part {
    size_t before, length;
};

/* All of it but what stands behind an @; of an Objective-C method the class. */
static struct part mangled_part(const char *name) {
    if (is_method_of_swift(name)) return (struct part){2, strcspn(name + 2, " (")};
    /* A macro's name begins with an @. */
    const char *at = name[0] != '\0' ? strchr(name + 1, '@') : NULL;
    return (struct part){0, at != NULL ? (size_t)(at - name) : strlen(name)};
}

/* The name with the text in place of its mangled part, kept. */
static const char *keep(struct uspi_names *names, const char *name, struct part part, const char *text, size_t length) {
    const char *behind = name + part.before + part.length;
    size_t behind_length = strlen(behind);
    if (part.before == 0 && behind_length == 0) return uspi_names_keep(names, text, length);
    char *whole = malloc(part.before + length + behind_length);
    if (whole == NULL) return NULL;
    memcpy(whole, name, part.before);
    memcpy(whole + part.before, text, length);
    memcpy(whole + part.before + length, behind, behind_length);
    const char *kept = uspi_names_keep(names, whole, part.before + length + behind_length);
    free(whole);
    return kept;
}

/* C++ or Rust, by a copy of the name without what stands behind an @. A malloc'ed string, or NULL. */
static char *ask_copy(struct usp_demangler *demangler, const char *name, size_t length, uint32_t mangling) {
    char *bare = length <= MANGLED_MAX ? malloc(length + 1) : NULL, *text = NULL;
    if (bare == NULL) return NULL;
    memcpy(bare, name, length);
    bare[length] = '\0';
    if (mangling != USP_MANGLING_RUST_V0) find_platform(&demangler->platform);
    switch (mangling) {
    case USP_MANGLING_CXX: text = demangle_cxx(demangler, bare); break;
    case USP_MANGLING_RUST_LEGACY: text = demangle_legacy_rust(demangler, bare); break;
    case USP_MANGLING_RUST_V0: text = demangle_v0(demangler, bare); break;
    default: break;
    }
    free(bare);
    return text;
}

/* NULL: it stays mangled. */
static const char *demangle_as(struct usp_demangler *demangler, const char *name, uint32_t mangling) {
    struct part part = mangled_part(name);
    const char *mangled = name + part.before;
    if (mangling == USP_MANGLING_SWIFT) {
        size_t length;
        const char *text = uspi_swift_demangle(demangler->swift, mangled, part.length, demangler->mode, &length);
        return text != NULL ? keep(demangler->names, name, part, text, length) : NULL;
    }
    char *text = ask_copy(demangler, mangled, part.length, mangling);
    bool is_answer = text != NULL && text[0] != '\0';
    const char *kept = is_answer ? keep(demangler->names, name, part, text, strlen(text)) : NULL;
    free(text);
    return kept;
}

/* Under the lock. */
static const char *demangle(struct usp_demangler *demangler, const char *name, uint32_t mangling) {
    const char *key = uspi_names_keep(demangler->names, name, strlen(name));
    if (key == NULL) return NULL;
    struct answer *slot = find_slot(demangler->answers, demangler->room, key);
    if (slot->mangled != NULL) return slot->demangled;
    if (!make_room(demangler)) return NULL;
    const char *demangled = demangle_as(demangler, name, mangling);
    slot = find_slot(demangler->answers, demangler->room, key);
    *slot = (struct answer){key, demangled};
    demangler->used++;
    return demangled;
}

int usp_demangler_create(uint32_t mode, struct usp_demangler **demangler) {
    if (demangler == NULL) return USP_ERROR_ARGUMENT;
    *demangler = NULL;
    if (mode > USP_DEMANGLE_SHORT) return USP_ERROR_ARGUMENT;
    struct usp_demangler *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->mode = mode;
    made->names = uspi_names_create();
    made->lock = uspi_lock_create();
    made->swift = uspi_swift_create();
    made->answers = calloc(INITIAL_ROOM, sizeof *made->answers);
    made->room = INITIAL_ROOM;
    if (made->names == NULL || made->lock == NULL || made->swift == NULL || made->answers == NULL) {
        usp_demangler_free(made);
        return USP_ERROR_NO_MEMORY;
    }
    *demangler = made;
    return USP_OK;
}

void usp_demangler_free(struct usp_demangler *demangler) {
    if (demangler == NULL) return;
    uspi_names_free(demangler->names);
    uspi_lock_free(demangler->lock);
    uspi_swift_free(demangler->swift);
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
