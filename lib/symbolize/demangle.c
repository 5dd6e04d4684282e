/* SPDX-License-Identifier: MIT */
/* Demangling: which language a name is of, who can demangle it, and the answers so far. Rust v0 is rust_v0.c's. */
#include <unspool/demangle.h>

#include "lib/os.h"
#include "lib/symbolize/demangle_simple.h"
#include "lib/symbolize/names.h"
#include "lib/symbolize/rust_v0.h"

#include <stdlib.h>
#include <string.h>

/* Longer names stay as they are. */
#define MANGLED_MAX 4096u

/* The platform's demanglers bound neither their time nor their output, and a C++ name that refers to its own parts can
 * double at every few characters. Names that could become longer than this stay as they are: 3 of the 91,000 of libLLVM,
 * libclang-cpp (19) and libstdc++. In bytes. */
#define CXX_OUTPUT_MAX (UINT64_C(1) << 27)

/* What is longer is not made shorter: the brackets of a hostile name can be nested so that this takes the square of its
 * length. In bytes. */
#define SIMPLIFIED_MAX 65536u

/* Room for what our own demangler and libswiftDemangle write. */
#define DEMANGLED_ROOM 16384u

/* Itanium C++ ABI, section 3.4. */
typedef char *(*cxa_demangle)(const char *mangled, char *buffer, size_t *size, int *status);
/* swift stdlib/public/runtime/Demangle.cpp; flags must be 0. */
typedef char *(*swift_demangle)(const char *mangled, size_t length, char *buffer, size_t *size, uint32_t flags);
/* swift include/swift/SwiftDemangle/SwiftDemangle.h: what snprintf would return. */
typedef size_t (*swift_demangle_into)(const char *mangled, char *to, size_t room);

struct platform {
    bool is_known;
    cxa_demangle cxa;
    swift_demangle swift;
    swift_demangle_into swift_full, swift_simple;
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

static bool begins_with_any(const char *name, const char *const *beginnings) {
    for (; *beginnings != NULL; beginnings++) {
        if (strncmp(name, *beginnings, strlen(*beginnings)) == 0) return true;
    }
    return false;
}

uint32_t usp_mangling_of(const char *name) {
    /* swift docs/ABI/Mangling.rst; one leading underscore may have been taken for Mach-O's. */
    static const char *const swift[] = {"$s", "$S", "$e", "_$s", "_$S", "_$e", "_T0", NULL};
    static const char *const cxx[] = {"_Z", "__Z", "___Z", NULL};
    if (name == NULL) return USP_MANGLING_NONE;
    if (name[0] == '_' && name[1] == 'R' && name[2] >= 'A' && name[2] <= 'Z') return USP_MANGLING_RUST_V0;
    if (begins_with_any(name, swift)) return USP_MANGLING_SWIFT;
    if (legacy_rust_length(name) > 0) return USP_MANGLING_RUST_LEGACY;
    return begins_with_any(name, cxx) ? USP_MANGLING_CXX : USP_MANGLING_NONE;
}

/* ---- who can demangle it ---- */

static void find_platform(struct platform *platform) {
    static const char *const cxx[] = {"libc++abi.dylib", "libstdc++.so.6", "libc++abi.so.1", NULL};
    static const char *const core[] = {"/usr/lib/swift/libswiftCore.dylib", "libswiftCore.so", NULL};
    static const char *const tool[] = {"libswiftDemangle.dylib", "libswiftDemangle.so", NULL};
    static const char *const loaded[] = {NULL};
    if (platform->is_known) return;
    platform->is_known = true;
    uspi_os_function found;
    if (uspi_os_find_function(cxx, "__cxa_demangle", &found)) platform->cxa = (cxa_demangle)found;
    if (uspi_os_find_function(loaded, "swift_demangle", &found) ||
        uspi_os_find_function(core, "swift_demangle", &found)) {
        platform->swift = (swift_demangle)found;
    }
    if (uspi_os_find_function(tool, "swift_demangle_getDemangledName", &found)) {
        platform->swift_full = (swift_demangle_into)found;
    }
    if (uspi_os_find_function(tool, "swift_demangle_getSimplifiedDemangledName", &found)) {
        platform->swift_simple = (swift_demangle_into)found;
    }
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
    bool is_to_be_short = demangler->mode == USP_DEMANGLE_SIMPLE && !is_block;
    if (text != NULL && is_to_be_short && strlen(text) <= SIMPLIFIED_MAX) uspi_demangle_simplify(text);
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
    bool is_simple = demangler->mode == USP_DEMANGLE_SIMPLE;
    if (is_simple) name[legacy_rust_length(name)] = '\0';
    char *text = demangle_cxa(&demangler->platform, name);
    if (text != NULL) resolve_rust(text, is_simple);
    return text;
}

static char *demangle_v0(const struct usp_demangler *demangler, const char *name) {
    char *text = malloc(DEMANGLED_ROOM);
    if (text == NULL) return NULL;
    if (uspi_rust_v0(name, strlen(name), demangler->mode == USP_DEMANGLE_SIMPLE, text, DEMANGLED_ROOM) >= 0) {
        return text;
    }
    free(text);
    return NULL;
}

static char *demangle_swift(const struct usp_demangler *demangler, const char *name) {
    const struct platform *platform = &demangler->platform;
    swift_demangle_into into = demangler->mode == USP_DEMANGLE_SIMPLE ? platform->swift_simple : platform->swift_full;
    if (into == NULL) {
        return platform->swift != NULL ? platform->swift(name, strlen(name), NULL, NULL, 0) : NULL;
    }
    char *text = malloc(DEMANGLED_ROOM);
    if (text == NULL) return NULL;
    size_t length = into(name, text, DEMANGLED_ROOM);
    if (length > 0 && length < DEMANGLED_ROOM) return text;
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

/* The text with what stood behind an @, kept. */
static const char *keep_with_suffix(struct uspi_names *names, const char *text, const char *suffix) {
    size_t length = strlen(text), suffix_length = strlen(suffix);
    char *whole = malloc(length + suffix_length + 1);
    if (whole == NULL) return NULL;
    memcpy(whole, text, length);
    memcpy(whole + length, suffix, suffix_length + 1);
    const char *kept = uspi_names_keep(names, whole, length + suffix_length);
    free(whole);
    return kept;
}

/* NULL: it stays mangled. */
static const char *ask(struct usp_demangler *demangler, const char *name, uint32_t mangling) {
    const char *at = strchr(name, '@');
    size_t length = at != NULL ? (size_t)(at - name) : strlen(name);
    if (length > MANGLED_MAX) return NULL;
    char *bare = malloc(length + 1), *text = NULL;
    if (bare == NULL) return NULL;
    memcpy(bare, name, length);
    bare[length] = '\0';
    if (mangling != USP_MANGLING_RUST_V0) find_platform(&demangler->platform);
    switch (mangling) {
    case USP_MANGLING_CXX: text = demangle_cxx(demangler, bare); break;
    case USP_MANGLING_RUST_LEGACY: text = demangle_legacy_rust(demangler, bare); break;
    case USP_MANGLING_RUST_V0: text = demangle_v0(demangler, bare); break;
    case USP_MANGLING_SWIFT: text = demangle_swift(demangler, bare); break;
    default: break;
    }
    const char *kept =
        text != NULL && text[0] != '\0' ? keep_with_suffix(demangler->names, text, at != NULL ? at : "") : NULL;
    free(text);
    free(bare);
    return kept;
}

/* Under the lock. */
static const char *demangle(struct usp_demangler *demangler, const char *name, uint32_t mangling) {
    const char *key = uspi_names_keep(demangler->names, name, strlen(name));
    if (key == NULL) return NULL;
    struct answer *slot = find_slot(demangler->answers, demangler->room, key);
    if (slot->mangled != NULL) return slot->demangled;
    if (!make_room(demangler)) return NULL;
    const char *demangled = ask(demangler, name, mangling);
    slot = find_slot(demangler->answers, demangler->room, key);
    *slot = (struct answer){key, demangled};
    demangler->used++;
    return demangled;
}

int usp_demangler_create(uint32_t mode, struct usp_demangler **demangler) {
    if (demangler == NULL) return USP_ERROR_ARGUMENT;
    *demangler = NULL;
    if (mode > USP_DEMANGLE_FULL) return USP_ERROR_ARGUMENT;
    struct usp_demangler *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->mode = mode;
    made->names = uspi_names_create();
    made->lock = uspi_lock_create();
    made->answers = calloc(INITIAL_ROOM, sizeof *made->answers);
    made->room = INITIAL_ROOM;
    if (made->names == NULL || made->lock == NULL || made->answers == NULL) {
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
