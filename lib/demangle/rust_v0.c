/* SPDX-License-Identifier: MIT */
/* See rust_v0.h: one pass of recursive descent over the grammar of RFC 2603, which prints at the same time. Functions
 * are named after the grammar's rules. Where the RFC leaves a choice, the output is that of llvm-cxxfilt. */
#include "lib/demangle/rust_v0.h"

#include "lib/base/punycode.h"
#include "lib/base/text.h"

#include <stdint.h>
#include <string.h>

/* Limits of the nesting of paths, types and constants, and of their number. Back references make a short name long, in
 * a hostile name exponentially. The depth is that of llvm-cxxfilt. */
#define MAX_DEPTH 500u
#define MAX_STEPS 100000u

/* The maximum number of characters in a Punycode identifier; each is inserted among the others. */
#define MAX_PUNYCODE 128u

struct demangling {
    const char *bytes; /* the name after "_R"; positions of back references count from here */
    size_t length, at;
    char *to;
    size_t capacity, used;
    unsigned depth, steps;
    unsigned quiet;           /* nonzero: parse without printing */
    uint64_t bound_lifetimes; /* number of lifetimes of all enclosing binders */
    bool in_expression;       /* inside a constant that is already in braces */
    bool simple, failed;
};

static void print_path(struct demangling *d, bool in_type);
static bool print_open_path(struct demangling *d, bool in_type);
static void print_type(struct demangling *d);
static void print_const(struct demangling *d);

static void fail(struct demangling *d) { d->failed = true; }

/* ---- output ---- */

static void put(struct demangling *d, const char *bytes, size_t n) {
    if (d->failed || d->quiet > 0) return;
    if (n >= d->capacity - d->used) {
        fail(d);
        return;
    }
    memcpy(d->to + d->used, bytes, n);
    d->used += n;
}

static void put_string(struct demangling *d, const char *string) { put(d, string, strlen(string)); }

static void put_number(struct demangling *d, uint64_t value) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    put(d, digits + at, sizeof digits - at);
}

/* Writes a valid character as UTF-8 (RFC 3629). */
static void put_character(struct demangling *d, uint32_t c) {
    char bytes[USPI_UTF8_MAX];
    put(d, bytes, uspi_utf8_encode(c, bytes));
}

/* ---- input ---- */

/* Returns the next byte, 0 at the end. */
static char look(const struct demangling *d) { return !d->failed && d->at < d->length ? d->bytes[d->at] : '\0'; }

static char take(struct demangling *d) {
    char c = look(d);
    if (c == '\0') {
        fail(d);
    } else {
        d->at++;
    }
    return c;
}

static bool take_if(struct demangling *d, char wanted) {
    if (look(d) != wanted) return false;
    d->at++;
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/* Computes value × base + digit; false when it does not fit into 64 bits. */
static bool append_digit(uint64_t *value, unsigned base, unsigned digit) {
    if (*value > (UINT64_MAX - digit) / base) return false;
    *value = *value * base + digit;
    return true;
}

/* decimal-number = "0" | nonzero digits */
static uint64_t decimal_number(struct demangling *d) {
    uint64_t value = 0;
    if (take_if(d, '0')) return 0;
    if (!is_digit(look(d))) fail(d);
    while (is_digit(look(d))) {
        if (!append_digit(&value, 10, (unsigned)(take(d) - '0'))) fail(d);
    }
    return value;
}

/* base-62-number = {digits} "_": "_" is 0, "0_" is 1, … */
static uint64_t base_62_number(struct demangling *d) {
    uint64_t value = 0;
    if (take_if(d, '_')) return 0;
    for (;;) {
        char c = take(d);
        unsigned digit;
        if (c == '_') break;
        if (is_digit(c)) {
            digit = (unsigned)(c - '0');
        } else if (is_lower(c)) {
            digit = 10u + (unsigned)(c - 'a');
        } else if (is_upper(c)) {
            digit = 36u + (unsigned)(c - 'A');
        } else {
            fail(d);
            return 0;
        }
        if (!append_digit(&value, 62, digit)) {
            fail(d);
            return 0;
        }
    }
    if (value == UINT64_MAX) {
        fail(d);
        return 0;
    }
    return value + 1;
}

/* [tag base-62-number], 0 where it is absent. */
static uint64_t optional_number(struct demangling *d, char tag) {
    if (!take_if(d, tag)) return 0;
    uint64_t value = base_62_number(d);
    if (value == UINT64_MAX) fail(d);
    return value + 1;
}

/* ---- identifiers ---- */

struct identifier {
    const char *bytes;
    size_t length;
    bool is_punycode;
};

/* undisambiguated-identifier = ["u"] decimal-number ["_"] bytes */
static struct identifier undisambiguated_identifier(struct demangling *d) {
    struct identifier identifier = {.is_punycode = take_if(d, 'u')};
    uint64_t length = decimal_number(d);
    take_if(d, '_');
    if (d->failed || length > d->length - d->at) {
        fail(d);
        return identifier;
    }
    identifier.bytes = d->bytes + d->at;
    identifier.length = (size_t)length;
    d->at += identifier.length;
    return identifier;
}

static void put_punycode(struct demangling *d, struct identifier identifier) {
    uint32_t characters[MAX_PUNYCODE];
    size_t count =
        uspi_punycode_decode(USPI_PUNYCODE_RUST, identifier.bytes, identifier.length, characters, MAX_PUNYCODE);
    if (count == 0) fail(d);
    for (size_t i = 0; i < count; i++) put_character(d, characters[i]);
}

static void put_identifier(struct demangling *d, struct identifier identifier) {
    if (d->failed || d->quiet > 0) return;
    if (identifier.is_punycode) {
        put_punycode(d, identifier);
    } else {
        put(d, identifier.bytes, identifier.length);
    }
}

/* ---- nesting ---- */

static bool enter(struct demangling *d) {
    if (d->depth >= MAX_DEPTH || d->steps >= MAX_STEPS) fail(d);
    d->depth++;
    d->steps++;
    return !d->failed;
}

static void leave(struct demangling *d) { d->depth--; }

/* backref = "B" base-62-number; its "B" has been read. Moves to the reference's target and returns the position to
 * return to. 0: nothing is to be printed, or the reference does not point backwards. */
static size_t begin_backref(struct demangling *d) {
    size_t tag = d->at - 1;
    uint64_t target = base_62_number(d);
    if (target >= tag) fail(d);
    if (d->failed || d->quiet > 0) return 0;
    size_t back = d->at;
    d->at = (size_t)target;
    return back;
}

static void end_backref(struct demangling *d, size_t back) { d->at = back; }

/* ---- lifetimes ---- */

static void put_lifetime_name(struct demangling *d, uint64_t depth) {
    char name[2] = {'\'', 'z'};
    if (depth < 26) name[1] = (char)('a' + depth);
    put(d, name, 2);
    if (depth >= 26) put_number(d, depth - 26 + 1);
}

/* 0 is erased, 1 the innermost bound one. */
static void put_lifetime(struct demangling *d, uint64_t index) {
    if (index == 0) {
        put_string(d, "'_");
    } else if (index - 1 >= d->bound_lifetimes) {
        fail(d);
    } else {
        put_lifetime_name(d, d->bound_lifetimes - index);
    }
}

/* binder = "G" base-62-number, optional. */
static void print_binder(struct demangling *d) {
    uint64_t count = optional_number(d, 'G');
    /* A name cannot use more lifetimes than it has bytes. */
    if (count > d->length || d->bound_lifetimes > d->length) fail(d);
    if (d->failed || count == 0) return;
    put_string(d, "for<");
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0) put_string(d, ", ");
        put_lifetime_name(d, d->bound_lifetimes++);
    }
    put_string(d, "> ");
}

/* ---- paths ---- */

static void print_generic_args(struct demangling *d) {
    for (size_t i = 0; !d->failed && !take_if(d, 'E'); i++) {
        if (i > 0) put_string(d, ", ");
        if (take_if(d, 'L')) {
            put_lifetime(d, base_62_number(d));
        } else if (take_if(d, 'K')) {
            print_const(d);
        } else {
            print_type(d);
        }
    }
}

/* "N": namespace path identifier. Upper-case namespaces are for unnamed items. */
static void print_nested_path(struct demangling *d, bool in_type) {
    char space = take(d);
    if (!is_lower(space) && !is_upper(space)) fail(d);
    print_path(d, in_type);
    uint64_t disambiguator = optional_number(d, 's');
    struct identifier identifier = undisambiguated_identifier(d);
    if (is_lower(space)) {
        if (identifier.length > 0) {
            put_string(d, "::");
            put_identifier(d, identifier);
        }
        return;
    }
    put_string(d, "::{");
    if (space == 'C') {
        put_string(d, "closure");
    } else if (space == 'S') {
        put_string(d, "shim");
    } else {
        put(d, &space, 1);
    }
    if (identifier.length > 0) {
        put_string(d, ":");
        put_identifier(d, identifier);
    }
    put_string(d, "#");
    put_number(d, disambiguator);
    put_string(d, "}");
}

/* impl-path = [disambiguator] path: the place of the impl, which is not printed. */
static void skip_impl_path(struct demangling *d) {
    d->quiet++;
    optional_number(d, 's');
    print_path(d, true);
    d->quiet--;
}

static void print_qualified(struct demangling *d, bool has_trait) {
    put_string(d, "<");
    print_type(d);
    if (has_trait) {
        put_string(d, " as ");
        print_path(d, true);
    }
    put_string(d, ">");
}

/* "I": path {generic-arg} "E". Returns whether the bracket was left open for more arguments. */
static bool print_generic_path(struct demangling *d, bool in_type, bool leave_open) {
    print_path(d, in_type);
    if (d->simple) d->quiet++;
    put_string(d, in_type ? "<" : "::<");
    print_generic_args(d);
    if (!leave_open) put_string(d, ">");
    if (d->simple) d->quiet--;
    return leave_open && !d->simple;
}

static bool print_any_path(struct demangling *d, bool in_type, bool leave_open) {
    bool is_open = false;
    if (!enter(d)) {
        leave(d);
        return false;
    }
    switch (take(d)) {
    case 'C':
        optional_number(d, 's');
        put_identifier(d, undisambiguated_identifier(d));
        break;
    case 'M':
        skip_impl_path(d);
        print_qualified(d, false);
        break;
    case 'X':
        skip_impl_path(d);
        print_qualified(d, true);
        break;
    case 'Y': print_qualified(d, true); break;
    case 'N': print_nested_path(d, in_type); break;
    case 'I': is_open = print_generic_path(d, in_type, leave_open); break;
    case 'B': {
        size_t back = begin_backref(d);
        if (back != 0) {
            is_open = print_any_path(d, in_type, leave_open);
            end_backref(d, back);
        }
        break;
    }
    default: fail(d); break;
    }
    leave(d);
    return is_open;
}

static void print_path(struct demangling *d, bool in_type) { print_any_path(d, in_type, false); }

static bool print_open_path(struct demangling *d, bool in_type) { return print_any_path(d, in_type, true); }

/* ---- types ---- */

static const char *basic_type(char c) {
    static const char *const names[26] = {"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
                                          "usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
                                          "i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!"};
    return is_lower(c) ? names[c - 'a'] : NULL;
}

/* The ABI's name has "_" where people write "-". */
static void print_abi(struct demangling *d) {
    put_string(d, "extern \"");
    if (take_if(d, 'C')) {
        put_string(d, "C");
    } else {
        struct identifier abi = undisambiguated_identifier(d);
        if (abi.is_punycode) fail(d);
        for (size_t i = 0; !d->failed && i < abi.length; i++) put(d, abi.bytes[i] == '_' ? "-" : abi.bytes + i, 1);
    }
    put_string(d, "\" ");
}

/* fn-sig = [binder] ["U"] ["K" abi] {type} "E" type */
static void print_function_type(struct demangling *d) {
    uint64_t bound = d->bound_lifetimes;
    print_binder(d);
    if (take_if(d, 'U')) put_string(d, "unsafe ");
    if (take_if(d, 'K')) print_abi(d);
    put_string(d, "fn(");
    for (size_t i = 0; !d->failed && !take_if(d, 'E'); i++) {
        if (i > 0) put_string(d, ", ");
        print_type(d);
    }
    put_string(d, ")");
    if (!take_if(d, 'u')) {
        put_string(d, " -> ");
        print_type(d);
    }
    d->bound_lifetimes = bound;
}

/* dyn-trait = path {"p" undisambiguated-identifier type}: the bindings join the trait's own arguments. */
static void print_dyn_trait(struct demangling *d) {
    bool is_open = print_open_path(d, true);
    if (d->simple) d->quiet++;
    while (take_if(d, 'p')) {
        put_string(d, is_open ? ", " : "<");
        is_open = true;
        put_identifier(d, undisambiguated_identifier(d));
        put_string(d, " = ");
        print_type(d);
    }
    if (is_open) put_string(d, ">");
    if (d->simple) d->quiet--;
}

/* "D": dyn-bounds lifetime; dyn-bounds = [binder] {dyn-trait} "E" */
static void print_dyn_type(struct demangling *d) {
    uint64_t bound = d->bound_lifetimes;
    put_string(d, "dyn ");
    print_binder(d);
    for (size_t i = 0; !d->failed && !take_if(d, 'E'); i++) {
        if (i > 0) put_string(d, " + ");
        print_dyn_trait(d);
    }
    d->bound_lifetimes = bound;
    if (!take_if(d, 'L')) {
        fail(d);
        return;
    }
    uint64_t lifetime = base_62_number(d);
    if (lifetime == 0) return;
    put_string(d, " + ");
    put_lifetime(d, lifetime);
}

static void print_tuple(struct demangling *d) {
    size_t count = 0;
    put_string(d, "(");
    for (; !d->failed && !take_if(d, 'E'); count++) {
        if (count > 0) put_string(d, ", ");
        print_type(d);
    }
    put_string(d, count == 1 ? ",)" : ")");
}

static void print_reference(struct demangling *d, bool is_mutable) {
    put_string(d, "&");
    if (take_if(d, 'L')) {
        uint64_t lifetime = base_62_number(d);
        if (lifetime != 0) {
            put_lifetime(d, lifetime);
            put_string(d, " ");
        }
    }
    if (is_mutable) put_string(d, "mut ");
    print_type(d);
}

static void print_compound_type(struct demangling *d, char tag) {
    switch (tag) {
    case 'A':
        put_string(d, "[");
        print_type(d);
        put_string(d, "; ");
        print_const(d);
        put_string(d, "]");
        break;
    case 'S':
        put_string(d, "[");
        print_type(d);
        put_string(d, "]");
        break;
    case 'T': print_tuple(d); break;
    case 'R': print_reference(d, false); break;
    case 'Q': print_reference(d, true); break;
    case 'P':
        put_string(d, "*const ");
        print_type(d);
        break;
    case 'O':
        put_string(d, "*mut ");
        print_type(d);
        break;
    case 'F': print_function_type(d); break;
    case 'D': print_dyn_type(d); break;
    case 'B': {
        size_t back = begin_backref(d);
        if (back != 0) {
            print_type(d);
            end_backref(d, back);
        }
        break;
    }
    default:
        d->at--;
        print_path(d, true);
        break;
    }
}

static void print_type(struct demangling *d) {
    if (enter(d)) {
        char tag = take(d);
        const char *basic = basic_type(tag);
        if (basic != NULL) {
            put_string(d, basic);
        } else if (!d->failed) {
            print_compound_type(d, tag);
        }
    }
    leave(d);
}

/* ---- constants ---- */

struct hex {
    const char *digits; /* without leading zeros */
    size_t length;
    uint64_t value; /* if it has at most 16 digits */
};

static int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    return c >= 'a' && c <= 'f' ? 10 + (c - 'a') : -1;
}

/* {hex-digit} "_", without leading zeros. */
static struct hex hex_number(struct demangling *d) {
    struct hex hex = {.digits = d->bytes + d->at};
    while (hex_digit(look(d)) >= 0) {
        hex.value = hex.value << 4 | (uint64_t)hex_digit(take(d));
        hex.length++;
    }
    if (!take_if(d, '_') || hex.length == 0 || (hex.length > 1 && hex.digits[0] == '0')) fail(d);
    return hex;
}

static void print_integer(struct demangling *d) {
    if (take_if(d, 'n')) put_string(d, "-");
    struct hex hex = hex_number(d);
    if (hex.length <= 16) {
        put_number(d, hex.value);
    } else {
        put_string(d, "0x");
        put(d, hex.digits, hex.length);
    }
}

static void put_escaped(struct demangling *d, uint32_t c, char quote) {
    static const char digits[] = "0123456789abcdef";
    switch (c) {
    case '\t': put_string(d, "\\t"); return;
    case '\r': put_string(d, "\\r"); return;
    case '\n': put_string(d, "\\n"); return;
    case '\\': put_string(d, "\\\\"); return;
    default: break;
    }
    if (c == (uint32_t)quote) put_string(d, "\\");
    if (c >= 0x20 && c < 0x7f) {
        put_character(d, c);
        return;
    }
    put_string(d, "\\u{");
    unsigned shift = 20;
    while (shift > 0 && c >> shift == 0) shift -= 4;
    for (;; shift -= 4) {
        put(d, &digits[c >> shift & 0xf], 1);
        if (shift == 0) break;
    }
    put_string(d, "}");
}

static void print_char(struct demangling *d) {
    struct hex hex = hex_number(d);
    if (hex.length > 6 || !uspi_is_character(hex.value)) {
        fail(d);
        return;
    }
    put_string(d, "'");
    put_escaped(d, (uint32_t)hex.value, '\'');
    put_string(d, "'");
}

static void print_bool(struct demangling *d) {
    struct hex hex = hex_number(d);
    if (hex.length != 1 || hex.value > 1) fail(d);
    put_string(d, hex.value != 0 ? "true" : "false");
}

/* Prints a string: its UTF-8 bytes, two digits each. */
static void print_str(struct demangling *d) {
    put_string(d, "\"");
    for (;;) {
        int high = hex_digit(look(d));
        if (high < 0) break;
        d->at++;
        int low = hex_digit(take(d));
        if (low < 0) {
            fail(d);
            return;
        }
        const char byte = (char)(high << 4 | low);
        if ((uint8_t)byte < 0x80) {
            put_escaped(d, (uint8_t)byte, '"');
        } else {
            put(d, &byte, 1);
        }
    }
    if (!take_if(d, '_')) fail(d);
    put_string(d, "\"");
}

static void print_const_list(struct demangling *d, const char *open, const char *close, bool is_tuple) {
    size_t count = 0;
    put_string(d, open);
    for (; !d->failed && !take_if(d, 'E'); count++) {
        if (count > 0) put_string(d, ", ");
        print_const(d);
    }
    if (is_tuple && count == 1) put_string(d, ",");
    put_string(d, close);
}

/* "V": path, then "U", "T" {const} "E" or "S" {identifier const} "E" ("v0 Symbol Format", const-fields). */
static void print_variant(struct demangling *d) {
    print_path(d, false);
    switch (take(d)) {
    case 'U': break;
    case 'T': print_const_list(d, "(", ")", false); break;
    case 'S':
        put_string(d, " { ");
        for (size_t i = 0; !d->failed && !take_if(d, 'E'); i++) {
            if (i > 0) put_string(d, ", ");
            optional_number(d, 's');
            put_identifier(d, undisambiguated_identifier(d));
            put_string(d, ": ");
            print_const(d);
        }
        put_string(d, " }");
        break;
    default: fail(d); break;
    }
}

static void print_reference_to_const(struct demangling *d, bool is_mutable) {
    put_string(d, is_mutable ? "&mut " : "&");
    print_const(d);
}

/* Prints an expression constant. Only the outermost one is in braces. */
static void print_expression(struct demangling *d, char tag) {
    bool was_in_expression = d->in_expression;
    if (!was_in_expression) put_string(d, "{");
    d->in_expression = true;
    switch (tag) {
    case 'e':
        put_string(d, "*");
        print_str(d);
        break;
    case 'R':
    case 'Q': print_reference_to_const(d, tag == 'Q'); break;
    case 'A': print_const_list(d, "[", "]", false); break;
    case 'T': print_const_list(d, "(", ")", true); break;
    default: print_variant(d); break;
    }
    d->in_expression = was_in_expression;
    if (!was_in_expression) put_string(d, "}");
}

static void print_const_of(struct demangling *d, char tag) {
    switch (tag) {
    case 'p': put_string(d, "_"); break;
    case 'a':
    case 's':
    case 'l':
    case 'x':
    case 'n':
    case 'i':
    case 'h':
    case 't':
    case 'm':
    case 'y':
    case 'o':
    case 'j': print_integer(d); break;
    case 'b': print_bool(d); break;
    case 'c': print_char(d); break;
    case 'R':
        if (take_if(d, 'e')) {
            print_str(d); /* a string literal */
        } else {
            print_expression(d, tag);
        }
        break;
    case 'e':
    case 'Q':
    case 'A':
    case 'T':
    case 'V': print_expression(d, tag); break;
    case 'B': {
        size_t back = begin_backref(d);
        if (back != 0) {
            print_const(d);
            end_backref(d, back);
        }
        break;
    }
    default: fail(d); break;
    }
}

static void print_const(struct demangling *d) {
    if (enter(d)) print_const_of(d, take(d));
    leave(d);
}

/* ---- the whole ---- */

int uspi_rust_v0(const char *mangled, size_t length, bool simple, char *to, size_t capacity) {
    /* A digit here would be the version of a later format; paths begin with an upper-case letter. */
    if (length < 3 || memcmp(mangled, "_R", 2) != 0 || !is_upper(mangled[2]) || capacity == 0) return -1;
    struct demangling d = {
        .bytes = mangled + 2, .length = length - 2, .to = to, .capacity = capacity, .simple = simple};
    /* vendor-specific-suffix = ("." | "$") bytes; compilers use "." */
    const char *suffix = memchr(d.bytes, '.', d.length);
    if (suffix != NULL) d.length = (size_t)(suffix - d.bytes);
    print_path(&d, false);
    if (!d.failed && d.at < d.length) {
        d.quiet++; /* the instantiating crate */
        print_path(&d, false);
        d.quiet--;
    }
    if (d.at != d.length) fail(&d);
    if (suffix != NULL && !simple) {
        put_string(&d, " (");
        put(&d, suffix, (size_t)(mangled + length - suffix));
        put_string(&d, ")");
    }
    if (d.failed) return -1;
    to[d.used] = '\0';
    return (int)d.used;
}
