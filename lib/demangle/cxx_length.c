/* SPDX-License-Identifier: MIT */
/* Bounds the length of a demangled C++ name. Follows the grammar of the Itanium C++ ABI (section 5.1) as far as it must,
 * to know which part each back reference (S1_) repeats, and adds up sizes instead of text. */
#include "lib/demangle/cxx_length.h"

#include <string.h>

/* The longest text that a demangler writes for one character of a name, except identifiers. "Dn" and "o" become
 * "std::nullptr_t" and "unsigned __int128". */
#define TOKEN_MAX 24u

/* The longest text for a back reference without a number: "Ss" becomes "std::basic_string<char, …". */
#define STANDARD_MAX 96u

/* Most parts of a name that a back reference can repeat, and most levels of nesting. */
#define PARTS_MAX 2048u
#define DEPTH_MAX 256u

/* A part of a name that a back reference can repeat. */
struct part {
    uint64_t size;
    uint64_t parameters; /* template parameters in it */
};

struct measure {
    const char *at, *end;
    unsigned depth;
    bool is_too_deep;            /* a part has more levels than DEPTH_MAX */
    bool is_conversion;          /* in the type of a conversion operator: template parameters are defined later */
    unsigned expressions;        /* expressions around this place */
    unsigned part_count;         /* parts that a back reference can repeat */
    unsigned uncertain;          /* how far demanglers may disagree about the number of a part */
    uint64_t largest_argument;   /* of the template arguments before this place */
    uint64_t pack, longest_pack; /* arguments of the longest argument pack: of the whole name, and up to this place */
    uint64_t last_name;          /* the last identifier, which a constructor repeats */
    uint64_t parameters;         /* template parameters up to this place, also those in parts that are repeated */
    uint64_t most_parameters;    /* in one of the template arguments before this place */
    unsigned encodings;          /* functions and variables in the name */
    struct part parts[PARTS_MAX];
};

/* Each of these functions reads one construct and adds its size to *size. They return false where they do not know the
 * construct. */
static bool read_type(struct measure *m, uint64_t *size);
static bool read_name(struct measure *m, uint64_t *size, bool *is_template);
static bool read_encoding(struct measure *m, uint64_t *size);
static bool read_expression(struct measure *m, uint64_t *size);
static bool read_arguments(struct measure *m, uint64_t *size);
static bool read_argument(struct measure *m, uint64_t *size);
static bool read_named_type(struct measure *m, uint64_t *size, bool *is_known);

/* Returns whether no level of nesting is left, and notes it. */
static bool is_deep(struct measure *m) {
    if (m->depth >= DEPTH_MAX) m->is_too_deep = true;
    return m->is_too_deep;
}

static uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

static uint64_t product(uint64_t a, uint64_t b) { return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b; }

static void add(uint64_t *size, uint64_t more) { *size = sum(*size, more); }

/* Returns the character `n` after the current one; NUL behind the end. */
static char look(const struct measure *m, size_t n) { return n < (size_t)(m->end - m->at) ? m->at[n] : '\0'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Skips `word` if it comes next. */
static bool skip(struct measure *m, const char *word, uint64_t *size) {
    const size_t length = strlen(word);
    if ((size_t)(m->end - m->at) < length || memcmp(m->at, word, length) != 0) return false;
    m->at += length;
    add(size, TOKEN_MAX * length);
    return true;
}

/* Skips the characters that are in `set`. */
static void skip_any(struct measure *m, const char *set, uint64_t *size) {
    while (look(m, 0) != '\0' && strchr(set, look(m, 0)) != NULL) {
        m->at++;
        add(size, TOKEN_MAX);
    }
}

static void skip_number(struct measure *m, uint64_t *size) { skip_any(m, "0123456789", size); }

/* Keeps a part, before which there were `before` template parameters. */
static bool keep(struct measure *m, uint64_t size, uint64_t before) {
    if (m->part_count == PARTS_MAX) return false;
    m->parts[m->part_count++] = (struct part){size, m->parameters - before};
    return true;
}

/* Adds the size of an expansion, which repeats its pattern for each argument of a pack. The demangler walks the pattern
 * once more, to find the pack. */
static void add_expansion(struct measure *m, uint64_t *size, uint64_t pattern, uint64_t before) {
    add(size, product(pattern, m->pack + 2));
    m->parameters = sum(before, product(m->parameters - before, m->pack + 2));
}

/* Reads a construct until `E`, which ends a list of them. */
static bool read_until_end(struct measure *m, uint64_t *size, bool (*read)(struct measure *, uint64_t *)) {
    while (!skip(m, "E", size)) {
        if (!read(m, size)) return false;
    }
    return true;
}

/* <source-name>: a length and an identifier. */
static bool read_identifier(struct measure *m, uint64_t *size) {
    size_t length = 0;
    if (!is_digit(look(m, 0))) return false;
    for (; is_digit(look(m, 0)); m->at++) {
        if (length > PARTS_MAX * 2) return false;
        length = length * 10 + (size_t)(*m->at - '0');
    }
    if (length == 0 || length > (size_t)(m->end - m->at)) return false;
    m->at += length;
    m->last_name = length + TOKEN_MAX;
    add(size, m->last_name);
    return true;
}

/* A back reference: S, and a letter for a name of std or a number and an underscore. */
static bool read_reference(struct measure *m, uint64_t *size) {
    uint64_t n = 0;
    if (look(m, 0) != 'S') return false;
    const char next = look(m, 1);
    if (next != '\0' && strchr("absiod", next) != NULL) {
        m->at += 2;
        add(size, STANDARD_MAX);
        m->last_name = STANDARD_MAX;
        return look(m, 0) != 'B';
    }
    m->at++;
    for (; look(m, 0) != '_'; m->at++) {
        const char c = look(m, 0);
        if (!is_digit(c) && (c < 'A' || c > 'Z')) return false;
        n = n * 36 + (uint64_t)(is_digit(c) ? c - '0' : c - 'A' + 10);
        if (n >= PARTS_MAX) return false;
    }
    if (next != '_') n++;
    m->at++;
    if (n >= m->part_count) return false;
    struct part largest = {0, 0};
    const uint64_t first = n > m->uncertain ? n - m->uncertain : 0;
    for (uint64_t i = first; i < m->part_count && i <= n + m->uncertain; i++) {
        if (m->parts[i].size > largest.size) largest.size = m->parts[i].size;
        if (m->parts[i].parameters > largest.parameters) largest.parameters = m->parts[i].parameters;
    }
    m->last_name = largest.size;
    add(size, sum(largest.size, TOKEN_MAX));
    add(&m->parameters, largest.parameters);
    return true;
}

/* <template-param>: T_, T0_, TL0__1_. Stands for a template argument before it. */
static bool read_parameter(struct measure *m, uint64_t *size) {
    /* The arguments of a conversion operator come after its type. */
    if (m->is_conversion || !skip(m, "T", size)) return false;
    if (skip(m, "L", size)) {
        skip_number(m, size);
        if (!skip(m, "__", size)) return false;
    }
    skip_number(m, size);
    add(size, m->largest_argument);
    add(&m->parameters, 1);
    return skip(m, "_", size);
}

/* ABI tags: B and an identifier, repeated. */
static bool read_tags(struct measure *m, uint64_t *size) {
    const uint64_t name = m->last_name;
    while (skip(m, "B", size)) {
        if (!read_identifier(m, size)) return false;
    }
    m->last_name = name;
    return true;
}

/* <template-param-decl> of a lambda: Ty, Tn and a type, Tt declarations E, Tp and a declaration. */
static bool read_declaration(struct measure *m, uint64_t *size) {
    if (skip(m, "Ty", size)) return true;
    if (skip(m, "Tn", size)) return read_type(m, size);
    if (skip(m, "Tt", size)) return read_until_end(m, size, read_declaration);
    return skip(m, "Tp", size) && look(m, 0) == 'T' && read_declaration(m, size);
}

static bool is_declaration(const struct measure *m) {
    return look(m, 0) == 'T' && look(m, 1) != '\0' && strchr("yntp", look(m, 1)) != NULL;
}

/* Ut_, UlvE_: an unnamed type, a lambda. */
static bool read_unnamed(struct measure *m, uint64_t *size) {
    if (skip(m, "Ul", size)) {
        while (is_declaration(m)) {
            if (!read_declaration(m, size)) return false;
        }
        do {
            if (!read_type(m, size)) return false;
        } while (!skip(m, "E", size));
    } else if (!skip(m, "Ut", size)) {
        return false;
    }
    skip_number(m, size);
    m->last_name = *size;
    return skip(m, "_", size);
}

/* C1, C2, CI1 and a base class's type, D0: a constructor or destructor, which repeats the class's name. */
static bool read_constructor(struct measure *m, uint64_t *size) {
    const bool is_constructor = look(m, 0) == 'C';
    m->at++;
    add(size, sum(TOKEN_MAX, m->last_name));
    const bool is_inherited = is_constructor && skip(m, "I", size);
    if (!is_digit(look(m, 0))) return false;
    m->at++;
    return !is_inherited || read_type(m, size);
}

/* <operator-name>: two lower-case letters. */
static bool read_operator(struct measure *m, uint64_t *size) {
    static const char known[] =
        " nw na dl da aw ps ng ad de co pl mi ml dv rm an or eo aS pL mI mL dV rM aN oR eO ls rs"
        " lS rS eq ne lt gt le ge ss nt aa oo pp mm cm pm pt cl ix qu ";
    if (skip(m, "cv", size)) {
        const bool was_conversion = m->is_conversion;
        m->is_conversion = true;
        const bool is_read = read_type(m, size);
        m->is_conversion = was_conversion;
        return is_read;
    }
    if (skip(m, "li", size)) return read_identifier(m, size);
    const char code[] = {' ', look(m, 0), look(m, 1), ' ', '\0'};
    if (code[1] == '\0' || code[2] == '\0' || strstr(known, code) == NULL) return false;
    m->at += 2;
    add(size, TOKEN_MAX * 2);
    return true;
}

/* <unqualified-name> with its ABI tags. */
static bool read_unqualified(struct measure *m, uint64_t *size) {
    const char c = look(m, 0), next = look(m, 1);
    bool is_read;
    if (c == 'L') skip(m, "L", size);
    if (is_digit(look(m, 0))) {
        is_read = read_identifier(m, size);
    } else if (c == 'U') {
        is_read = read_unnamed(m, size);
    } else if (c == 'D' && next == 'C') {
        m->at += 2;
        is_read = read_until_end(m, size, read_identifier);
    } else if (c == 'C' || (c == 'D' && is_digit(next))) {
        is_read = read_constructor(m, size);
    } else {
        is_read = c != 'L' && read_operator(m, size);
    }
    return is_read && read_tags(m, size);
}

/* <nested-name>: N, qualifiers, parts, E. Every beginning of it but the whole can be repeated. */
static bool read_nested(struct measure *m, uint64_t *size, bool *is_template) {
    const uint64_t before = m->parameters;
    uint64_t whole = 0;
    bool is_first = true, is_part = false;
    skip(m, "N", size);
    skip_any(m, "rVK", size);
    skip_any(m, "RO", size);
    for (; look(m, 0) != 'E'; is_first = false) {
        const char c = look(m, 0), next = look(m, 1);
        if (is_part && !keep(m, whole, before)) return false;
        is_part = true;
        bool was_template = *is_template;
        *is_template = false;
        if (is_first && c == 'S') {
            is_part = false;
            if (next == 't' ? !skip(m, "St", &whole) : !read_reference(m, &whole)) return false;
        } else if (c == 'I') {
            if (is_first || was_template || !read_arguments(m, &whole)) return false;
            *is_template = true;
        } else if (is_first && c == 'T') {
            if (!read_parameter(m, &whole)) return false;
        } else if (is_first && c == 'D' && (next == 't' || next == 'T')) {
            if (!skip(m, next == 't' ? "Dt" : "DT", &whole) || !read_expression(m, &whole) || !skip(m, "E", &whole))
                return false;
        } else if (!read_unqualified(m, &whole)) {
            return false;
        }
        /* A member whose initializer has a lambda. */
        if (is_part) skip(m, "M", &whole);
    }
    add(size, whole);
    /* A name that ends with a reference is not valid: demanglers then disagree about the parts. */
    return is_part && skip(m, "E", size);
}

/* A discriminator: _ and a digit, or __ and a number and _. */
static bool read_discriminator(struct measure *m, uint64_t *size) {
    if (look(m, 0) != '_' || (look(m, 1) != '_' && !is_digit(look(m, 1)))) return true;
    m->at++;
    if (is_digit(look(m, 0))) {
        m->at++;
        return true;
    }
    m->at++;
    skip_number(m, size);
    return skip(m, "_", size);
}

/* <local-name>: Z, the function, E, and what it contains. */
static bool read_local(struct measure *m, uint64_t *size, bool *is_template) {
    skip(m, "Z", size);
    if (!read_encoding(m, size) || !skip(m, "E", size)) return false;
    *is_template = false;
    if (skip(m, "s", size)) return read_discriminator(m, size);
    if (skip(m, "d", size)) {
        skip_number(m, size);
        return skip(m, "_", size) && read_name(m, size, is_template);
    }
    return read_name(m, size, is_template) && read_discriminator(m, size);
}

static bool read_name(struct measure *m, uint64_t *size, bool *is_template) {
    const uint64_t before = m->parameters;
    uint64_t whole = 0;
    *is_template = false;
    if (is_deep(m)) return false;
    if (look(m, 0) == 'N' || look(m, 0) == 'Z') {
        m->depth++;
        const bool is_read = look(m, 0) == 'N' ? read_nested(m, size, is_template) : read_local(m, size, is_template);
        m->depth--;
        return is_read;
    }
    const bool is_reference = look(m, 0) == 'S' && look(m, 1) != 't';
    if (is_reference) {
        if (!read_reference(m, &whole) || look(m, 0) != 'I') return false;
    } else {
        skip(m, "St", &whole);
        if (!read_unqualified(m, &whole)) return false;
    }
    if (look(m, 0) == 'I') {
        if (!is_reference && !keep(m, whole, before)) return false;
        if (!read_arguments(m, &whole)) return false;
        *is_template = true;
    }
    add(size, whole);
    return true;
}

/* <expr-primary>: L, a type, a value, E; L _Z and an encoding, E. */
static bool read_literal(struct measure *m, uint64_t *size) {
    if (!skip(m, "L", size)) return false;
    if (skip(m, "_Z", size) || skip(m, "Z", size)) return read_encoding(m, size) && skip(m, "E", size);
    if (look(m, 0) == 'U') return read_unnamed(m, size) && skip(m, "E", size);
    if (look(m, 0) == 'T' || !read_type(m, size)) return false;
    skip_any(m, "n", size);
    skip_any(m, "0123456789abcdef", size);
    return skip(m, "E", size);
}

/* J, the arguments of a pack, E. GCC 4.4 wrote I. */
static bool read_pack(struct measure *m, uint64_t *size) {
    uint64_t count = 0;
    m->at++;
    add(size, TOKEN_MAX);
    for (; !skip(m, "E", size); count++) {
        if (!read_argument(m, size)) return false;
    }
    if (count > m->longest_pack) m->longest_pack = count;
    return true;
}

/* <template-arg>, perhaps after the declaration of the template's parameter. */
static bool read_argument(struct measure *m, uint64_t *size) {
    const uint64_t before = m->parameters;
    uint64_t whole = 0;
    bool is_read = true;
    /* C++20 names template parameters that are constrained or explicit. */
    if (is_deep(m) || (is_declaration(m) && !read_declaration(m, &whole))) return false;
    m->depth++;
    switch (look(m, 0)) {
    case 'I':
    case 'J': is_read = read_pack(m, &whole); break;
    case 'L': is_read = read_literal(m, &whole); break;
    case 'X':
        skip(m, "X", &whole);
        is_read = read_expression(m, &whole) && skip(m, "E", &whole);
        break;
    default: is_read = read_type(m, &whole); break;
    }
    m->depth--;
    add(size, whole);
    if (whole > m->largest_argument) m->largest_argument = whole;
    if (m->parameters - before > m->most_parameters) m->most_parameters = m->parameters - before;
    return is_read;
}

/* <template-args>: I, arguments, E. */
static bool read_arguments(struct measure *m, uint64_t *size) {
    const uint64_t name = m->last_name;
    if (is_deep(m) || !skip(m, "I", size)) return false;
    m->depth++;
    const bool is_read = read_until_end(m, size, read_argument);
    m->depth--;
    m->last_name = name;
    return is_read;
}

/* ---- expressions ---- */

/* fp_, fp0_, fL0p_, fpT: a function's parameter. */
static bool read_function_parameter(struct measure *m, uint64_t *size) {
    if (skip(m, "fpT", size)) return true;
    if (skip(m, "fL", size)) {
        skip_number(m, size);
        if (!skip(m, "p", size)) return false;
    } else if (!skip(m, "fp", size)) {
        return false;
    }
    skip_any(m, "rVK", size);
    skip_number(m, size);
    return skip(m, "_", size);
}

/* An identifier and perhaps template arguments. */
static bool read_simple(struct measure *m, uint64_t *size) {
    return read_identifier(m, size) && (look(m, 0) != 'I' || read_arguments(m, size));
}

/* <unresolved-name> after "sr": a type or namespaces, and a name in it. Demanglers do not agree whether references can
 * repeat the type and its template. */
static bool read_unresolved(struct measure *m, uint64_t *size) {
    const uint64_t before = m->parameters;
    m->uncertain += 2;
    if (is_digit(look(m, 0))) {
        if (!read_simple(m, size) || !read_until_end(m, size, read_simple)) return false;
    } else if (look(m, 0) == 'T') {
        uint64_t parameter = 0;
        if (!read_parameter(m, &parameter) || !keep(m, parameter, before) || look(m, 0) == 'I') return false;
        add(size, parameter);
    } else if (look(m, 1) == 't') {
        uint64_t type = 0;
        bool is_known;
        if (!read_named_type(m, &type, &is_known) || !keep(m, type, before)) return false;
        add(size, type);
    } else {
        if (!read_reference(m, size)) return false;
        if (look(m, 0) == 'I' && !read_arguments(m, size)) return false;
    }
    if (!skip(m, "on", size)) return read_simple(m, size);
    return read_operator(m, size) && (look(m, 0) != 'I' || read_arguments(m, size));
}

static bool read_conversion(struct measure *m, uint64_t *size) {
    if (!read_type(m, size)) return false;
    return skip(m, "_", size) ? read_until_end(m, size, read_expression) : read_expression(m, size);
}

/* How the operands of a code are read: t: type, e: expression, E: expressions up to E, u: name in a scope, p: function's
 * parameter or template parameter, a: template arguments up to E. */
struct code {
    char name[3];
    char operands[4];
};

static bool read_operands(struct measure *m, uint64_t *size, const char *operands) {
    bool is_read = true;
    for (; is_read && *operands != '\0'; operands++) {
        switch (*operands) {
        case 't': is_read = read_type(m, size); break;
        case 'e': is_read = read_expression(m, size); break;
        case 'E': is_read = read_until_end(m, size, read_expression); break;
        case 'a': is_read = read_until_end(m, size, read_argument); break;
        case 'u': is_read = read_unresolved(m, size); break;
        case 'p': is_read = look(m, 0) == 'T' ? read_parameter(m, size) : read_function_parameter(m, size); break;
        default: is_read = read_conversion(m, size); break;
        }
    }
    return is_read;
}

static bool read_coded(struct measure *m, uint64_t *size) {
    static const struct code codes[] = {
        {"aN", "ee"}, {"aS", "ee"}, {"aa", "ee"}, {"ad", "e"},  {"an", "ee"},  {"at", "t"},  {"az", "e"},  {"cc", "te"},
        {"cl", "E"},  {"cm", "ee"}, {"co", "e"},  {"cv", "c"},  {"dV", "ee"},  {"dc", "te"}, {"de", "e"},  {"ds", "ee"},
        {"dt", "ee"}, {"dv", "ee"}, {"eO", "ee"}, {"eo", "ee"}, {"eq", "ee"},  {"ge", "ee"}, {"gt", "ee"}, {"il", "E"},
        {"ix", "ee"}, {"lS", "ee"}, {"le", "ee"}, {"ls", "ee"}, {"lt", "ee"},  {"mI", "ee"}, {"mL", "ee"}, {"mi", "ee"},
        {"ml", "ee"}, {"ne", "ee"}, {"ng", "e"},  {"nt", "e"},  {"nx", "e"},   {"oR", "ee"}, {"oo", "ee"}, {"or", "ee"},
        {"pL", "ee"}, {"pl", "ee"}, {"ps", "e"},  {"pt", "ee"}, {"qu", "eee"}, {"rM", "ee"}, {"rS", "ee"}, {"rc", "te"},
        {"rm", "ee"}, {"rs", "ee"}, {"sP", "a"},  {"sZ", "p"},  {"sc", "te"},  {"sp", "e"},  {"sr", "u"},  {"ss", "ee"},
        {"st", "t"},  {"sz", "e"},  {"te", "e"},  {"ti", "t"},  {"tl", "tE"},  {"tr", ""},   {"tw", "e"},
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const uint64_t before = m->parameters;
        uint64_t operands = 0;
        if (look(m, 0) != codes[i].name[0] || look(m, 1) != codes[i].name[1]) continue;
        m->at += 2;
        add(size, TOKEN_MAX * 2);
        if (!read_operands(m, &operands, codes[i].operands)) return false;
        if (codes[i].name[0] == 's' && strchr("pPZ", codes[i].name[1]) != NULL) {
            add_expansion(m, size, operands, before);
        } else {
            add(size, operands);
        }
        return true;
    }
    return false;
}

static bool read_expression(struct measure *m, uint64_t *size) {
    bool is_read;
    if (is_deep(m)) return false;
    m->depth++;
    switch (look(m, 0)) {
    case 'L': is_read = read_literal(m, size); break;
    case 'T': is_read = read_parameter(m, size); break;
    case 'f': is_read = read_function_parameter(m, size); break;
    case 'g': is_read = skip(m, "gs", size) && read_expression(m, size); break;
    default: is_read = is_digit(look(m, 0)) ? read_simple(m, size) : read_coded(m, size); break;
    }
    m->depth--;
    return is_read;
}

/* ---- types ---- */

/* <function-type>: perhaps noexcept, F, perhaps Y, types, perhaps a reference qualifier, E. */
static bool read_function_type(struct measure *m, uint64_t *size) {
    if (!skip(m, "Do", size)) skip(m, "Dx", size);
    if (!skip(m, "F", size)) return false;
    skip(m, "Y", size);
    while (!skip(m, "E", size)) {
        if ((look(m, 0) == 'R' || look(m, 0) == 'O') && look(m, 1) == 'E') {
            m->at++;
        } else if (!read_type(m, size)) {
            return false;
        }
    }
    return true;
}

/* A type that begins with D. Sets *is_builtin if no reference can repeat it. */
static bool read_d_type(struct measure *m, uint64_t *size, bool *is_builtin) {
    const uint64_t before = m->parameters;
    const char next = look(m, 1);
    uint64_t operand = 0;
    bool is_read;
    if (next == 'p') {
        m->at += 2;
        is_read = read_type(m, &operand);
        add(size, TOKEN_MAX);
        add_expansion(m, size, operand, before);
        return is_read;
    }
    if (next == 't' || next == 'T') {
        m->at += 2;
        is_read = read_expression(m, size) && skip(m, "E", size);
        add(size, TOKEN_MAX);
        return is_read;
    }
    if (next == 'o' || next == 'x') return read_function_type(m, size);
    if (next == 'v') {
        m->at += 2;
        if (!is_digit(look(m, 0))) return false;
        skip_number(m, size);
        return skip(m, "_", size) && (skip(m, "p", size) || read_type(m, size));
    }
    *is_builtin = true;
    m->at += 2;
    add(size, TOKEN_MAX * 2);
    if (next == 'F') {
        skip_number(m, size);
        return skip(m, "_", size) || skip(m, "b", size) || skip(m, "x", size);
    }
    return next != '\0' && strchr("defhsiuacn", next) != NULL;
}

/* A name as a type, or a reference to a part, perhaps with template arguments. */
static bool read_named_type(struct measure *m, uint64_t *size, bool *is_known) {
    bool is_template;
    if (look(m, 0) != 'S' || look(m, 1) == 't') return read_name(m, size, &is_template);
    if (!read_reference(m, size)) return false;
    *is_known = look(m, 0) != 'I';
    return *is_known || read_arguments(m, size);
}

/* Ts, Tu, Te and a name; a template parameter, perhaps with template arguments. */
static bool read_t_type(struct measure *m, uint64_t *size) {
    const uint64_t before = m->parameters;
    bool is_template;
    if (look(m, 1) != '\0' && strchr("sue", look(m, 1)) != NULL) {
        m->at += 2;
        add(size, TOKEN_MAX);
        return read_name(m, size, &is_template);
    }
    if (!read_parameter(m, size)) return false;
    return look(m, 0) != 'I' || (keep(m, *size, before) && read_arguments(m, size));
}

/* U, an identifier, perhaps template arguments, and a type: an extension's qualifier ("Ua10objc_object"). */
static bool read_extended_type(struct measure *m, uint64_t *size) {
    skip(m, "U", size);
    return read_identifier(m, size) && (look(m, 0) != 'I' || read_arguments(m, size)) && read_type(m, size);
}

/* A[n]_type */
static bool read_array_type(struct measure *m, uint64_t *size) {
    skip(m, "A", size);
    if (look(m, 0) != '_' && !is_digit(look(m, 0))) {
        if (!read_expression(m, size)) return false;
    }
    skip_number(m, size);
    return skip(m, "_", size) && read_type(m, size);
}

/* A type of an extension: u, an identifier, perhaps I type E. */
static bool read_vendor_type(struct measure *m, uint64_t *size) {
    skip(m, "u", size);
    if (!read_identifier(m, size)) return false;
    return !skip(m, "I", size) || (read_type(m, size) && skip(m, "E", size));
}

/* Qualifiers and the type: one part, also for a function's. */
static bool read_qualified_type(struct measure *m, uint64_t *size) {
    const char *const begin = m->at;
    skip_any(m, "rVK", size);
    /* Demanglers nest those after the third. */
    if (m->at - begin > 3 + (ptrdiff_t)(DEPTH_MAX - m->depth)) m->is_too_deep = true;
    const bool is_function = look(m, 0) == 'F' || (look(m, 0) == 'D' && (look(m, 1) == 'o' || look(m, 1) == 'x'));
    return is_function ? read_function_type(m, size) : read_type(m, size);
}

/* A type that begins with the letter `c`, which stands before another type. */
static bool read_modified_type(struct measure *m, uint64_t *size, char c) {
    m->at++;
    add(size, TOKEN_MAX);
    return read_type(m, size) && (c != 'M' || read_type(m, size));
}

static bool read_type(struct measure *m, uint64_t *size) {
    const uint64_t before = m->parameters;
    const char c = look(m, 0);
    uint64_t whole = 0;
    bool is_read, is_known = false;
    if (is_deep(m)) return false;
    m->depth++;
    switch (c) {
    case 'r':
    case 'V':
    case 'K': is_read = read_qualified_type(m, &whole); break;
    case 'P':
    case 'R':
    case 'O':
    case 'C':
    case 'G':
    case 'M': is_read = read_modified_type(m, &whole, c); break;
    case 'A': is_read = read_array_type(m, &whole); break;
    case 'D': is_read = read_d_type(m, &whole, &is_known); break;
    case 'F': is_read = read_function_type(m, &whole); break;
    case 'T': is_read = read_t_type(m, &whole); break;
    case 'U': is_read = read_extended_type(m, &whole); break;
    case 'u': is_read = read_vendor_type(m, &whole); break;
    default:
        is_known = c != '\0' && strchr("vwbcahstijlmxynofdegz", c) != NULL;
        if (is_known) {
            m->at++;
            whole = TOKEN_MAX;
            is_read = true;
        } else {
            is_read = read_named_type(m, &whole, &is_known);
        }
        break;
    }
    m->depth--;
    add(size, whole);
    return is_read && (is_known || keep(m, whole, before));
}

/* ---- whole names ---- */

/* Tv, Tc: an offset: h and a number, or v and two, each with its underscore. */
static bool read_offset(struct measure *m, uint64_t *size) {
    unsigned numbers = skip(m, "h", size) ? 1 : 2;
    if (numbers == 2) skip(m, "v", size);
    for (; numbers > 0; numbers--) {
        skip(m, "n", size);
        skip_number(m, size);
        if (!skip(m, "_", size)) return false;
    }
    return true;
}

/* <special-name>: what a compiler makes for a type, variable or function. */
static bool read_special(struct measure *m, uint64_t *size) {
    const char kind = look(m, 0), what = look(m, 1);
    bool is_template;
    m->at += 2;
    add(size, TOKEN_MAX * 3);
    if (kind == 'G') {
        if (what == 'T') return (skip(m, "t", size) || skip(m, "n", size)) && read_encoding(m, size);
        if (what == 'V') return read_name(m, size, &is_template);
        if (what != 'R' || !read_name(m, size, &is_template)) return false;
        skip_any(m, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", size);
        skip(m, "_", size);
        return true;
    }
    switch (what) {
    case 'V':
    case 'T':
    case 'I':
    case 'S': return read_type(m, size);
    case 'W':
    case 'H': return read_name(m, size, &is_template);
    case 'C':
        if (!read_type(m, size)) return false;
        skip_number(m, size);
        return skip(m, "_", size) && read_type(m, size);
    case 'c': return read_offset(m, size) && read_offset(m, size) && read_encoding(m, size);
    case 'h':
    case 'v': m->at--; return read_offset(m, size) && read_encoding(m, size);
    default: return false;
    }
}

/* <encoding>: a name and, for a function, its types. */
static bool read_encoding(struct measure *m, uint64_t *size) {
    static const char ends[] = "E._@";
    bool is_template = false;
    if (is_deep(m)) return false;
    if (look(m, 1) == '\0') return false;
    m->encodings++;
    if (look(m, 0) == 'T' || (look(m, 0) == 'G' && strchr("VRT", look(m, 1)) != NULL)) return read_special(m, size);
    m->depth++;
    bool is_read = read_name(m, size, &is_template);
    while (is_read && strchr(ends, look(m, 0)) == NULL) is_read = read_type(m, size);
    m->depth--;
    return is_read;
}

static bool read_whole(struct measure *m, const char *name, size_t length, uint64_t *size) {
    *size = 0;
    m->at = name + 2;
    m->end = name + length;
    m->depth = m->part_count = m->uncertain = 0;
    m->is_conversion = false;
    m->largest_argument = m->last_name = m->longest_pack = m->parameters = m->most_parameters = 0;
    m->encodings = 0;
    if (!read_encoding(m, size)) return false;
    /* A suffix that a compiler adds to a copy (".cold"). */
    if (look(m, 0) == '.') {
        add(size, sum(TOKEN_MAX, (uint64_t)(m->end - m->at)));
        m->at = m->end;
    }
    return m->at == m->end;
}

/* Adds what template parameters become when their arguments stand after them. Each may become the largest argument. The
 * parameters of that one become arguments of a function around it, and so on; a demangler enters each function at most
 * twice at a time. */
static void add_late_arguments(const struct measure *m, uint64_t *size) {
    uint64_t argument = product(m->parameters, m->largest_argument);
    for (unsigned i = 1; i < m->encodings && argument != UINT64_MAX && m->most_parameters != 0; i++) {
        argument = product(argument, m->most_parameters + 1);
        argument = product(argument, m->most_parameters + 1);
    }
    add(size, argument);
}

bool uspi_cxx_length(const char *name, size_t length, bool resolves_late, uint64_t *bound) {
    struct measure m;
    m.pack = 0;
    m.is_too_deep = false;
    if (length < 3 || name[0] != '_' || name[1] != 'Z') return false;
    /* The first reading finds how long argument packs are, which may stand after their expansions. */
    bool is_read = read_whole(&m, name, length, bound);
    if (is_read && m.longest_pack != 0) {
        m.pack = m.longest_pack;
        is_read = read_whole(&m, name, length, bound);
    }
    if (is_read && resolves_late) add_late_arguments(&m, bound);
    if (m.is_too_deep) *bound = UINT64_MAX;
    return is_read || m.is_too_deep;
}
