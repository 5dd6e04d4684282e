/* SPDX-License-Identifier: MIT */
/* Parses identifiers of Swift names, and references to earlier parts: words of identifiers, substitutions, the standard
 * library's types. (swift docs/ABI/Mangling.rst, "Identifiers" and "Substitutions") */
#include "lib/base/punycode.h"
#include "lib/base/text.h"
#include "lib/demangle/swift/parse.h"

#include <string.h>

/* How often a substitution can be repeated in a row (swift include/swift/Demangling/ManglingUtils.h,
 * MaxRepeatCount). */
#define REPEAT_MAX 2048

/* The maximum length of a Punycode identifier; decoding takes time quadratic in the length. */
#define PUNYCODE_MAX 4096

/* ---- identifiers ---- */

/* The text of an identifier: a piece of the name itself, or joined pieces. */
struct joined {
    const char *text;
    char *own; /* memory with the joined pieces; NULL: there is only one piece, which is not copied */
    size_t length, capacity;
};

static bool join(struct uspi_swift_parser *parser, struct joined *joined, const char *piece, size_t length) {
    if (joined->length == 0) {
        joined->text = piece;
        joined->length = length;
        return true;
    }
    if (joined->own == NULL || joined->capacity - joined->length < length) {
        size_t capacity = (joined->length + length) * 2;
        char *own = uspi_region_take(parser->memory, capacity);
        if (own == NULL) return false;
        memcpy(own, joined->text, joined->length);
        joined->text = joined->own = own;
        joined->capacity = capacity;
    }
    memcpy(joined->own + joined->length, piece, length);
    joined->length += length;
    return true;
}

/* Adds the words of a piece of an identifier to those that can be referred to. Words are runs of characters other than
 * "_" that do not begin with a digit. An upper-case letter after another character begins a new word. A single
 * character is not a word. */
static void gather_words(struct uspi_swift_parser *parser, const char *piece, size_t length) {
    const char *begin = NULL, *end = piece + length;
    bool was_upper = false;
    if (parser->word_count == USPI_SWIFT_WORDS) return;
    for (const char *at = piece;; at++) {
        bool is_end = at == end || *at == '_', is_upper = !is_end && uspi_swift_is_upper(*at);
        if (begin != NULL && (is_end || (is_upper && !was_upper))) {
            if (at - begin >= 2) {
                parser->words[parser->word_count].text = begin;
                parser->words[parser->word_count++].length = (size_t)(at - begin);
                if (parser->word_count == USPI_SWIFT_WORDS) return;
            }
            begin = NULL;
        }
        if (at == end) return;
        if (begin == NULL && !is_end && !uspi_swift_is_digit(*at)) begin = at;
        was_upper = is_upper;
    }
}

/* Adds earlier words, which lower-case letters refer to, the last one in upper case. *is_last: that one was read. */
static bool join_words(struct uspi_swift_parser *parser, struct joined *joined, bool *is_last) {
    while (!*is_last) {
        char c = uspi_swift_peek(parser);
        *is_last = uspi_swift_is_upper(c);
        if (!*is_last && !uspi_swift_is_lower(c)) return true;
        parser->at++;
        unsigned word = (unsigned)(c - (*is_last ? 'A' : 'a'));
        if (word >= parser->word_count) return false;
        if (!join(parser, joined, parser->words[word].text, parser->words[word].length)) return false;
    }
    return true;
}

/* Returns the next `length` bytes of the name; NULL: there are fewer. */
static const char *take_piece(struct uspi_swift_parser *parser, int64_t length) {
    if (length <= 0 || (uint64_t)length > parser->length - parser->at) return NULL;
    const char *piece = parser->text + parser->at;
    parser->at += (size_t)length;
    return piece;
}

/* "0": words and pieces in turn; another "0" means that the last piece is missing. */
static struct uspi_swift_node *parse_joined(struct uspi_swift_parser *parser, uint16_t kind) {
    struct joined text = {0};
    for (bool is_last = false; !is_last;) {
        if (!join_words(parser, &text, &is_last)) return NULL;
        if (uspi_swift_next_if(parser, '0')) break;
        int64_t length = uspi_swift_natural(parser);
        const char *piece = take_piece(parser, length);
        if (piece == NULL || !join(parser, &text, piece, (size_t)length)) return NULL;
        gather_words(parser, piece, (size_t)length);
    }
    return text.length > 0 ? uspi_swift_node_with_text(parser->memory, kind, text.text, text.length) : NULL;
}

struct uspi_swift_node *uspi_swift_decode_punycode(struct uspi_region *memory, uint16_t kind, const char *piece,
                                                   size_t length) {
    if (length > PUNYCODE_MAX) return NULL;
    uint32_t *characters = uspi_region_take(memory, length * sizeof *characters);
    char *text = uspi_region_take(memory, length * USPI_UTF8_MAX);
    if (characters == NULL || text == NULL) return NULL;
    size_t count = uspi_punycode_decode(USPI_PUNYCODE_SWIFT, piece, length, characters, length), used = 0;
    for (size_t i = 0; i < count; i++) used += uspi_utf8_encode(characters[i], text + used);
    return count > 0 ? uspi_swift_node_with_text(memory, kind, text, used) : NULL;
}

/* "00": an identifier in Punycode. A "_" separates its length from a digit. */
static struct uspi_swift_node *parse_punycode(struct uspi_swift_parser *parser, uint16_t kind) {
    if (uspi_swift_peek(parser) == '0') return NULL;
    int64_t length = uspi_swift_natural(parser);
    uspi_swift_next_if(parser, '_');
    const char *piece = take_piece(parser, length);
    return piece != NULL ? uspi_swift_decode_punycode(parser->memory, kind, piece, (size_t)length) : NULL;
}

/* Parses an identifier whose text is written unchanged. */
static struct uspi_swift_node *parse_plain(struct uspi_swift_parser *parser, uint16_t kind) {
    int64_t length = uspi_swift_natural(parser);
    const char *piece = take_piece(parser, length);
    if (piece == NULL) return NULL;
    gather_words(parser, piece, (size_t)length);
    return uspi_swift_node_with_text(parser->memory, kind, piece, (size_t)length);
}

struct uspi_swift_node *uspi_swift_parse_identifier(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *name;
    if (!uspi_swift_is_digit(uspi_swift_peek(parser))) return NULL;
    if (!uspi_swift_next_if(parser, '0')) {
        name = parse_plain(parser, kind);
    } else if (uspi_swift_next_if(parser, '0')) {
        name = parse_punycode(parser, kind);
    } else {
        name = parse_joined(parser, kind);
    }
    return uspi_swift_remember(parser, name);
}

/* Writes the characters of an operator for its letters; `text` has room for as many. False: a letter means no
 * character. */
static bool operator_characters(const char *letters, size_t length, char *text) {
    static const char characters[26] = {'&', 0,   '@', '/', '=', 0,   '>', 0, 0, 0, 0,   '<', '*',
                                        '!', '|', '+', '?', '%', '-', '~', 0, 0, 0, '^', 0,   '.'};
    for (size_t i = 0; i < length; i++) {
        char c = letters[i];
        if ((uint8_t)c < 0x80) c = uspi_swift_is_lower(c) ? characters[c - 'a'] : '\0';
        if (c == '\0') return false;
        text[i] = c;
    }
    return true;
}

/* "o" after an identifier: its letters mean the characters of operators. */
struct uspi_swift_node *uspi_swift_parse_operator_identifier(struct uspi_swift_parser *parser, uint16_t kind) {
    const struct uspi_swift_node *name = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
    char *text = name != NULL ? uspi_region_take(parser->memory, name->length) : NULL;
    if (text == NULL || !operator_characters(name->text, name->length, text)) return NULL;
    switch (uspi_swift_next(parser)) {
    case 'i': kind = SWIFT_INFIX_OPERATOR; break;
    case 'p': kind = SWIFT_PREFIX_OPERATOR; break;
    case 'P': kind = SWIFT_POSTFIX_OPERATOR; break;
    default: return NULL;
    }
    return uspi_swift_node_with_text(parser->memory, kind, text, name->length);
}

/* "L": a name that is distinguished from others with the same text: by the file ("LL", or "Ll" for a file alone), by a
 * number, or by its role for another declaration (a letter). */
struct uspi_swift_node *uspi_swift_parse_local_identifier(struct uspi_swift_parser *parser, uint16_t kind) {
    (void)kind;
    char c = uspi_swift_peek(parser);
    if (uspi_swift_next_if(parser, 'L')) {
        struct uspi_swift_node *file = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
        struct uspi_swift_node *name = uspi_swift_pop_role(parser, USPI_SWIFT_NAME);
        return uspi_swift_make(parser, SWIFT_PRIVATE_NAME, file, name);
    }
    if (uspi_swift_next_if(parser, 'l')) {
        return uspi_swift_make(parser, SWIFT_PRIVATE_NAME, uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER));
    }
    if ((c >= 'a' && c <= 'j') || (c >= 'A' && c <= 'J')) {
        struct uspi_swift_node *related =
            uspi_swift_node_with_text(parser->memory, SWIFT_RELATED_NAME, parser->text + parser->at++, 1);
        return uspi_swift_add(parser->memory, related, uspi_swift_pop(parser)) ? related : NULL;
    }
    struct uspi_swift_node *number = uspi_swift_index_node(parser);
    struct uspi_swift_node *name = uspi_swift_pop_role(parser, USPI_SWIFT_NAME);
    return uspi_swift_make(parser, SWIFT_LOCAL_NAME, number, name);
}

/* ---- substitutions ---- */

/* Pushes a node `times` − 1 times, and returns it for the last time. */
static struct uspi_swift_node *repeat(struct uspi_swift_parser *parser, struct uspi_swift_node *node, int64_t times) {
    if (times > REPEAT_MAX) return NULL;
    for (; times > 1; times--) {
        if (!uspi_swift_push(parser, node)) return NULL;
    }
    return node;
}

static struct uspi_swift_node *substitution(const struct uspi_swift_parser *parser, uint64_t number) {
    return number < parser->substitutions.count ? parser->substitutions.items[number] : NULL;
}

/* "A": one substitution by its index, or several by their letters, the last one in upper case; a number before a letter
 * repeats it. */
struct uspi_swift_node *uspi_swift_parse_substitutions(struct uspi_swift_parser *parser, uint16_t kind) {
    int64_t times = -1;
    (void)kind;
    for (;;) {
        char c = uspi_swift_peek(parser);
        if (uspi_swift_is_digit(c)) {
            times = uspi_swift_natural(parser);
            if (times < 0) return NULL;
            continue;
        }
        uspi_swift_next(parser);
        if (c == '_') return substitution(parser, (uint64_t)(times + 27));
        if (uspi_swift_is_upper(c)) return repeat(parser, substitution(parser, (uint64_t)(c - 'A')), times);
        if (!uspi_swift_is_lower(c)) return NULL;
        struct uspi_swift_node *node = repeat(parser, substitution(parser, (uint64_t)(c - 'a')), times);
        if (!uspi_swift_push(parser, node)) return NULL;
        times = -1;
    }
}

/* ---- the standard library's types ---- */

/* swift docs/ABI/Mangling.rst, KNOWN-TYPE-KIND and KNOWN-TYPE-KIND-2, by the lower six bits of the letter. */
static const struct {
    const char *name;
    uint16_t kind;
} standard_types[2][64] = {
    {
        ['A' & 63] = {"AutoreleasingUnsafeMutablePointer", SWIFT_STRUCTURE},
        ['B' & 63] = {"BinaryFloatingPoint", SWIFT_PROTOCOL},
        ['D' & 63] = {"Dictionary", SWIFT_STRUCTURE},
        ['E' & 63] = {"Encodable", SWIFT_PROTOCOL},
        ['F' & 63] = {"FloatingPoint", SWIFT_PROTOCOL},
        ['G' & 63] = {"RandomNumberGenerator", SWIFT_PROTOCOL},
        ['H' & 63] = {"Hashable", SWIFT_PROTOCOL},
        ['I' & 63] = {"DefaultIndices", SWIFT_STRUCTURE},
        ['J' & 63] = {"Character", SWIFT_STRUCTURE},
        ['K' & 63] = {"BidirectionalCollection", SWIFT_PROTOCOL},
        ['L' & 63] = {"Comparable", SWIFT_PROTOCOL},
        ['M' & 63] = {"MutableCollection", SWIFT_PROTOCOL},
        ['N' & 63] = {"ClosedRange", SWIFT_STRUCTURE},
        ['O' & 63] = {"ObjectIdentifier", SWIFT_STRUCTURE},
        ['P' & 63] = {"UnsafePointer", SWIFT_STRUCTURE},
        ['Q' & 63] = {"Equatable", SWIFT_PROTOCOL},
        ['R' & 63] = {"UnsafeBufferPointer", SWIFT_STRUCTURE},
        ['S' & 63] = {"String", SWIFT_STRUCTURE},
        ['T' & 63] = {"Sequence", SWIFT_PROTOCOL},
        ['U' & 63] = {"UnsignedInteger", SWIFT_PROTOCOL},
        ['V' & 63] = {"UnsafeRawPointer", SWIFT_STRUCTURE},
        ['W' & 63] = {"UnsafeRawBufferPointer", SWIFT_STRUCTURE},
        ['X' & 63] = {"RangeExpression", SWIFT_PROTOCOL},
        ['Y' & 63] = {"RawRepresentable", SWIFT_PROTOCOL},
        ['Z' & 63] = {"SignedInteger", SWIFT_PROTOCOL},
        ['a' & 63] = {"Array", SWIFT_STRUCTURE},
        ['b' & 63] = {"Bool", SWIFT_STRUCTURE},
        ['d' & 63] = {"Double", SWIFT_STRUCTURE},
        ['e' & 63] = {"Decodable", SWIFT_PROTOCOL},
        ['f' & 63] = {"Float", SWIFT_STRUCTURE},
        ['h' & 63] = {"Set", SWIFT_STRUCTURE},
        ['i' & 63] = {"Int", SWIFT_STRUCTURE},
        ['j' & 63] = {"Numeric", SWIFT_PROTOCOL},
        ['k' & 63] = {"RandomAccessCollection", SWIFT_PROTOCOL},
        ['l' & 63] = {"Collection", SWIFT_PROTOCOL},
        ['m' & 63] = {"RangeReplaceableCollection", SWIFT_PROTOCOL},
        ['n' & 63] = {"Range", SWIFT_STRUCTURE},
        ['p' & 63] = {"UnsafeMutablePointer", SWIFT_STRUCTURE},
        ['q' & 63] = {"Optional", SWIFT_ENUM},
        ['r' & 63] = {"UnsafeMutableBufferPointer", SWIFT_STRUCTURE},
        ['s' & 63] = {"Substring", SWIFT_STRUCTURE},
        ['t' & 63] = {"IteratorProtocol", SWIFT_PROTOCOL},
        ['u' & 63] = {"UInt", SWIFT_STRUCTURE},
        ['v' & 63] = {"UnsafeMutableRawPointer", SWIFT_STRUCTURE},
        ['w' & 63] = {"UnsafeMutableRawBufferPointer", SWIFT_STRUCTURE},
        ['x' & 63] = {"Strideable", SWIFT_PROTOCOL},
        ['y' & 63] = {"StringProtocol", SWIFT_PROTOCOL},
        ['z' & 63] = {"BinaryInteger", SWIFT_PROTOCOL},
    },
    {
        ['A' & 63] = {"Actor", SWIFT_PROTOCOL},
        ['C' & 63] = {"CheckedContinuation", SWIFT_STRUCTURE},
        ['E' & 63] = {"CancellationError", SWIFT_STRUCTURE},
        ['F' & 63] = {"Executor", SWIFT_PROTOCOL},
        ['G' & 63] = {"TaskGroup", SWIFT_STRUCTURE},
        ['I' & 63] = {"AsyncIteratorProtocol", SWIFT_PROTOCOL},
        ['J' & 63] = {"UnownedJob", SWIFT_STRUCTURE},
        ['M' & 63] = {"MainActor", SWIFT_CLASS},
        ['P' & 63] = {"TaskPriority", SWIFT_STRUCTURE},
        ['S' & 63] = {"AsyncStream", SWIFT_STRUCTURE},
        ['T' & 63] = {"Task", SWIFT_STRUCTURE},
        ['c' & 63] = {"UnsafeContinuation", SWIFT_STRUCTURE},
        ['e' & 63] = {"UnownedSerialExecutor", SWIFT_STRUCTURE},
        ['f' & 63] = {"SerialExecutor", SWIFT_PROTOCOL},
        ['g' & 63] = {"ThrowingTaskGroup", SWIFT_STRUCTURE},
        ['h' & 63] = {"TaskExecutor", SWIFT_PROTOCOL},
        ['i' & 63] = {"AsyncSequence", SWIFT_PROTOCOL},
        ['s' & 63] = {"AsyncThrowingStream", SWIFT_STRUCTURE},
        ['t' & 63] = {"UnsafeCurrentTask", SWIFT_STRUCTURE},
    },
};

/* "Sg" after a type: an optional of it. */
static struct uspi_swift_node *optional(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *enumeration = uspi_swift_standard_type(parser->memory, SWIFT_ENUM, "Optional");
    struct uspi_swift_node *arguments = uspi_swift_make(parser, SWIFT_TYPE_LIST, uspi_swift_pop_type(parser));
    struct uspi_swift_node *bound = uspi_swift_make(parser, SWIFT_BOUND_GENERIC_ENUM, enumeration, arguments);
    return uspi_swift_remember(parser, uspi_swift_type(parser, bound));
}

/* "S": a type or module with its own letter. */
struct uspi_swift_node *uspi_swift_parse_standard_type(struct uspi_swift_parser *parser, uint16_t kind) {
    (void)kind;
    if (uspi_swift_next_if(parser, 'o')) return uspi_swift_node_with_string(parser->memory, SWIFT_MODULE, "__C");
    if (uspi_swift_next_if(parser, 'C')) {
        return uspi_swift_node_with_string(parser->memory, SWIFT_MODULE, "__C_Synthesized");
    }
    if (uspi_swift_next_if(parser, 'g')) return optional(parser);
    int64_t times = uspi_swift_natural(parser);
    unsigned level = uspi_swift_next_if(parser, 'c');
    char letter = uspi_swift_next(parser);
    if (!uspi_swift_is_upper(letter) && !uspi_swift_is_lower(letter)) return NULL;
    const char *name = standard_types[level][letter & 63].name;
    if (name == NULL) return NULL;
    return repeat(parser, uspi_swift_standard_type(parser->memory, standard_types[level][letter & 63].kind, name),
                  times);
}
