/* SPDX-License-Identifier: MIT */
/* Demangling: finds a name's language, calls its demangler, and caches the answers. rust_v0.c demangles Rust v0, swift/
 * demangles Swift. */
#include <unspool/demangle.h>

#include "lib/base/hash.h"
#include "lib/base/region.h"
#include "lib/demangle/cxx.h"
#include "lib/demangle/rust_v0.h"
#include "lib/demangle/swift/swift.h"
#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

/* The maximum length of C++ and Rust names that are demangled. */
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
    size_t room;             /* a power of two */
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

uint32_t usp_mangling_of(const char *name) {
    if (name == NULL) return USP_MANGLING_NONE;
    name += linked_part(name).before;
    if (name[0] == '_' && name[1] == 'R' && name[2] >= 'A' && name[2] <= 'Z') return USP_MANGLING_RUST_V0;
    if (uspi_swift_is_mangled(name) || is_method_of_swift(name)) return USP_MANGLING_SWIFT;
    if (legacy_rust_length(name) > 0) return USP_MANGLING_RUST_LEGACY;
    /* One leading underscore may have been removed as Mach-O's; a block's function has two more. */
    bool is_cxx = strncmp(name, "_Z", 2) == 0 || strncmp(name, "__Z", 3) == 0 || strncmp(name, "___Z", 4) == 0;
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
    char *text = uspi_cxx_demangle(&demangler->cxx, name);
    name[length] = first;
    if (text != NULL) resolve_rust(text, is_to_be_simple(demangler));
    return first != '\0' && !is_to_be_simple(demangler) ? uspi_cxx_append_clone(text, name + length) : text;
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
    size_t i = (size_t)hash & (demangler->room - 1);
    while (answers[i].names != NULL && (answers[i].hash != hash || strcmp(answers[i].names, name) != 0))
        i = (i + 1) & (demangler->room - 1);
    return &answers[i];
}

/* Makes room for one more answer. False when memory lacks. */
static bool make_room(struct usp_demangler *demangler) {
    if (demangler->used < demangler->room / 4 * 3) return true;
    size_t room = demangler->room * 2;
    struct answer *answers = calloc(room, sizeof *answers);
    if (answers == NULL) return false;
    for (size_t i = 0; i < demangler->room; i++) {
        size_t to = (size_t)demangler->answers[i].hash & (room - 1);
        if (demangler->answers[i].names == NULL) continue;
        while (answers[to].names != NULL) to = (to + 1) & (room - 1);
        answers[to] = demangler->answers[i];
    }
    free(demangler->answers);
    demangler->answers = answers;
    demangler->room = room;
    return true;
}

/* Returns the function's own name without an @ and what follows it; for an Objective-C method, the class. */
static struct part mangled_part(const char *name) {
    struct part part = linked_part(name);
    name += part.before;
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

/* Demangles C++ or Rust, from a copy of the first `length` bytes of the name. Returns a malloc'ed string, or NULL. */
static char *ask_copy(struct usp_demangler *demangler, const char *name, size_t length, uint32_t mangling) {
    char *bare = length <= MANGLED_MAX ? malloc(length + 1) : NULL, *text = NULL;
    if (bare == NULL) return NULL;
    memcpy(bare, name, length);
    bare[length] = '\0';
    switch (mangling) {
    case USP_MANGLING_CXX: text = uspi_cxx_name(&demangler->cxx, bare, is_to_be_simple(demangler)); break;
    case USP_MANGLING_RUST_LEGACY: text = demangle_legacy_rust(demangler, bare); break;
    case USP_MANGLING_RUST_V0: text = demangle_v0(demangler, bare); break;
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
    made->room = INITIAL_ROOM;
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
