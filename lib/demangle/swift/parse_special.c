/* SPDX-License-Identifier: MIT */
/* Operators of thunks and of other compiler-generated code and data, if a row of operators.c cannot describe them:
 * reabstraction, key paths, outlined code, value witnesses, derivatives. (swift docs/ABI/Mangling.rst, "Globals") */
#include "lib/demangle/swift/parse.h"

#include <string.h>

/* ---- thunks ---- */

/* The children: a signature if there is one, the dynamic Self if it is captured, the type that is made, the type that
 * it is made from. */
struct uspi_swift_node *uspi_swift_parse_reabstraction_thunk(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_region *memory = parser->memory;
    struct uspi_swift_node *thunk = uspi_swift_node(memory, kind);
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    if (signature != NULL) uspi_swift_add(memory, thunk, signature);
    for (unsigned types = kind == SWIFT_REABSTRACTION_THUNK_HELPER_WITH_SELF ? 3 : 2; types > 0; types--) {
        if (!uspi_swift_add(memory, thunk, uspi_swift_pop_type(parser))) return NULL;
    }
    return thunk;
}

/* The children: the block's type, the result's type, how an error is thrown, and a signature if there is one. */
struct uspi_swift_node *uspi_swift_parse_completion_handler(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *flag = uspi_swift_index_node(parser);
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    struct uspi_swift_node *result = uspi_swift_pop_type(parser), *block = uspi_swift_pop_type(parser);
    return signature != NULL ? uspi_swift_make(parser, kind, block, result, flag, signature)
                             : uspi_swift_make(parser, kind, block, result, flag);
}

static void add_serialized(struct uspi_swift_parser *parser, struct uspi_swift_node *node, bool is_serialized) {
    if (is_serialized) {
        uspi_swift_add(parser->memory, node, uspi_swift_node(parser->memory, SWIFT_IS_SERIALIZED));
    }
}

static bool add_all(struct uspi_swift_parser *parser, struct uspi_swift_node *node,
                    const struct uspi_swift_node *children) {
    if (node == NULL || children == NULL) return false;
    for (const struct uspi_swift_child *child = children->first; child != NULL; child = child->next) {
        if (!uspi_swift_add(parser->memory, node, child->node)) return false;
    }
    return true;
}

/* The children: a declaration, a signature if there is one, and types. */
struct uspi_swift_node *uspi_swift_parse_key_path_accessor(struct uspi_swift_parser *parser, uint16_t kind) {
    if (parser->length - parser->at >= 2) {
        const char *more = parser->text + parser->at;
        bool is_unapplied = memcmp(more, "mu", 2) == 0, is_applied = memcmp(more, "MA", 2) == 0;
        if (is_unapplied || is_applied) parser->at += 2;
        if (is_unapplied) kind = SWIFT_KEY_PATH_UNAPPLIED_METHOD;
        if (is_applied) kind = SWIFT_KEY_PATH_APPLIED_METHOD;
    }
    bool is_serialized = uspi_swift_next_if(parser, 'q');
    struct uspi_swift_node *types = uspi_swift_node(parser->memory, SWIFT_TYPE_LIST), *type, *node;
    while ((type = uspi_swift_pop_type(parser)) != NULL) {
        if (!uspi_swift_add_first(parser->memory, types, type)) return NULL;
    }
    if (types == NULL || types->child_count == 0) return NULL;
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    struct uspi_swift_node *declaration = uspi_swift_pop(parser);
    node = signature != NULL ? uspi_swift_make(parser, kind, declaration, signature)
                             : uspi_swift_make(parser, kind, declaration);
    if (!add_all(parser, node, types)) return NULL;
    add_serialized(parser, node, is_serialized);
    return node;
}

/* The function that compares or hashes the keys of a key path. The children: types, and a signature if there is one. */
struct uspi_swift_node *uspi_swift_parse_key_path_operator(struct uspi_swift_parser *parser, uint16_t kind) {
    bool is_serialized = uspi_swift_next_if(parser, 'q');
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    struct uspi_swift_node *node = uspi_swift_node(parser->memory, kind), *type;
    while ((type = uspi_swift_pop(parser)) != NULL) {
        if (type->kind != SWIFT_TYPE || !uspi_swift_add_first(parser->memory, node, type)) return NULL;
    }
    if (signature != NULL) uspi_swift_add(parser->memory, node, signature);
    add_serialized(parser, node, is_serialized);
    return node != NULL && node->child_count > 0 ? node : NULL;
}

/* ---- outlined code ---- */

struct uspi_swift_node *uspi_swift_parse_outlined_variable(struct uspi_swift_parser *parser, uint16_t kind) {
    int64_t index = uspi_swift_index(parser);
    if (index < 0) return NULL;
    /* Any character is accepted here, as in the Swift compiler's demangler. */
    if (uspi_swift_next(parser) == 'r') kind = SWIFT_OUTLINED_READ_ONLY_OBJECT;
    return uspi_swift_node_with_index(parser->memory, kind, (uint64_t)index);
}

/* bridge-spec: a letter for the method, and one for each parameter and for the result, up to "_". */
struct uspi_swift_node *uspi_swift_parse_bridged_method(struct uspi_swift_parser *parser, uint16_t kind) {
    const char *begin = parser->text + parser->at;
    char letter = uspi_swift_next(parser);
    if (letter == '\0' || strchr("opam", letter) == NULL) return NULL;
    size_t length = 1;
    while (!uspi_swift_next_if(parser, '_')) {
        letter = uspi_swift_next(parser);
        if (letter == '\0' || strchr("nbg", letter) == NULL) return NULL;
        length++;
    }
    return uspi_swift_node_with_text(parser->memory, kind, begin, length);
}

struct uspi_swift_node *uspi_swift_parse_outlined_copy(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    struct uspi_swift_node *type = uspi_swift_pop_type(parser);
    return signature != NULL ? uspi_swift_make(parser, kind, type, signature) : uspi_swift_make(parser, kind, type);
}

struct uspi_swift_node *uspi_swift_parse_outlined_enum(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *number = uspi_swift_index_node(parser);
    struct uspi_swift_node *node = uspi_swift_parse_outlined_copy(parser, kind);
    return uspi_swift_add(parser->memory, node, number) ? node : NULL;
}

/* ---- witnesses ---- */

struct uspi_swift_node *uspi_swift_parse_field_offset(struct uspi_swift_parser *parser, uint16_t kind) {
    char letter = uspi_swift_next(parser);
    if (letter != 'd' && letter != 'i') return NULL;
    struct uspi_swift_node *directness =
        uspi_swift_node_with_string(parser->memory, SWIFT_DIRECTNESS, letter == 'd' ? "direct" : "indirect");
    return uspi_swift_make(parser, kind, directness, uspi_swift_pop_entity(parser));
}

/* Returns the name of the value witness with these two letters, or NULL. */
static const char *witness_name(char first, char second) {
    static const struct {
        char letters[3];
        const char *name;
    } witnesses[] = {
        {"al", "allocateBuffer"},
        {"ca", "assignWithCopy"},
        {"ta", "assignWithTake"},
        {"de", "deallocateBuffer"},
        {"xx", "destroy"},
        {"XX", "destroyBuffer"},
        {"Xx", "destroyArray"},
        {"CP", "initializeBufferWithCopyOfBuffer"},
        {"Cp", "initializeBufferWithCopy"},
        {"cp", "initializeWithCopy"},
        {"Tk", "initializeBufferWithTake"},
        {"tk", "initializeWithTake"},
        {"pr", "projectBuffer"},
        {"TK", "initializeBufferWithTakeOfBuffer"},
        {"Cc", "initializeArrayWithCopy"},
        {"Tt", "initializeArrayWithTakeFrontToBack"},
        {"tT", "initializeArrayWithTakeBackToFront"},
        {"xs", "storeExtraInhabitant"},
        {"xg", "getExtraInhabitantIndex"},
        {"ug", "getEnumTag"},
        {"up", "destructiveProjectEnumData"},
        {"ui", "destructiveInjectEnumTag"},
        {"et", "getEnumTagSinglePayload"},
        {"st", "storeEnumTagSinglePayload"},
    };
    for (size_t i = 0; i < sizeof witnesses / sizeof *witnesses; i++) {
        if (witnesses[i].letters[0] == first && witnesses[i].letters[1] == second) return witnesses[i].name;
    }
    return NULL;
}

struct uspi_swift_node *uspi_swift_parse_value_witness(struct uspi_swift_parser *parser, uint16_t kind) {
    char first = uspi_swift_next(parser);
    const char *name = witness_name(first, uspi_swift_next(parser));
    if (name == NULL) return NULL;
    struct uspi_swift_node *witness = uspi_swift_node_with_string(parser->memory, kind, name);
    return uspi_swift_add(parser->memory, witness, uspi_swift_pop_type(parser)) ? witness : NULL;
}

/* Code that initialises global variables once. The children: the context, the variables. */
struct uspi_swift_node *uspi_swift_parse_once(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *names = uspi_swift_node(parser->memory, SWIFT_ONCE_DECLARATIONS);
    while (uspi_swift_pop_kind(parser, SWIFT_FIRST_ELEMENT) != NULL) {
        if (!uspi_swift_add_first(parser->memory, names, uspi_swift_pop_role(parser, USPI_SWIFT_NAME))) return NULL;
    }
    return uspi_swift_make(parser, kind, uspi_swift_pop_context(parser), names);
}

/* ---- derivatives ---- */

const char *uspi_swift_differentiability(char c) {
    switch (c) {
    case 'd': return "@differentiable";
    case 'l': return "@differentiable(_linear)";
    case 'f': return "@differentiable(_forward)";
    case 'r': return "@differentiable(reverse)";
    default: return NULL;
    }
}

/* Reads an INDEX-SUBSET, which must end with the letter `end`. */
static struct uspi_swift_node *read_index_subset(struct uspi_swift_parser *parser, char end) {
    const char *begin = parser->text + parser->at;
    size_t length = 0;
    while (uspi_swift_peek(parser) == 'S' || uspi_swift_peek(parser) == 'U') {
        parser->at++;
        length++;
    }
    if (length == 0 || !uspi_swift_next_if(parser, end)) return NULL;
    return uspi_swift_node_with_text(parser->memory, SWIFT_INDEX_SUBSET, begin, length);
}

/* AUTODIFF-FUNCTION-KIND */
static const char *derivative_words(char c) {
    switch (c) {
    case 'f': return "forward-mode derivative";
    case 'r': return "reverse-mode derivative";
    case 'd': return "differential";
    case 'p': return "pullback";
    default: return NULL;
    }
}

/* Adds all nodes of the stack as children, in their order. */
static bool pop_all(struct uspi_swift_parser *parser, struct uspi_swift_node *node) {
    while (parser->stack.count > 0) {
        if (!uspi_swift_add_first(parser->memory, node, uspi_swift_pop(parser))) return false;
    }
    return node != NULL;
}

/* Adds, as the last children, the parameters and results for which a derivative is made; then, for a thunk, its own
 * parameters. */
static bool add_subsets(struct uspi_swift_parser *parser, struct uspi_swift_node *node, bool has_more) {
    return uspi_swift_add(parser->memory, node, read_index_subset(parser, 'p')) &&
           uspi_swift_add(parser->memory, node, read_index_subset(parser, 'r')) &&
           (!has_more || uspi_swift_add(parser->memory, node, read_index_subset(parser, 'P')));
}

/* A thunk that moves Self among the parameters. The children: the two types, and a signature if there is one. */
static struct uspi_swift_node *parse_self_reordering(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    struct uspi_swift_node *to = uspi_swift_pop_type(parser), *from = uspi_swift_pop_type(parser);
    const char *words = derivative_words(uspi_swift_next(parser));
    if (words == NULL) return NULL;
    struct uspi_swift_node *thunk = uspi_swift_node_with_string(parser->memory, kind, words);
    if (!uspi_swift_add(parser->memory, thunk, from) || !uspi_swift_add(parser->memory, thunk, to)) return NULL;
    if (signature != NULL) uspi_swift_add(parser->memory, thunk, signature);
    return thunk;
}

/* A derivative, or a thunk for one; its text says which. The children: the nodes that it was made from, then the
 * subsets. */
struct uspi_swift_node *uspi_swift_parse_auto_diff(struct uspi_swift_parser *parser, uint16_t kind) {
    if (kind == SWIFT_AUTO_DIFF_SELF_REORDERING_THUNK) return parse_self_reordering(parser, kind);
    /* The operator's letter, which was read, selects the function. */
    if (kind == SWIFT_AUTO_DIFF_FUNCTION) parser->at--;
    const char *words = derivative_words(uspi_swift_next(parser));
    if (words == NULL) return NULL;
    struct uspi_swift_node *node = uspi_swift_node_with_string(parser->memory, kind, words);
    if (!pop_all(parser, node)) return NULL;
    return add_subsets(parser, node, kind == SWIFT_AUTO_DIFF_SUBSET_THUNK) ? node : NULL;
}

/* The children: the nodes that it was made from, the subsets, and a signature if there is one. */
struct uspi_swift_node *uspi_swift_parse_differentiability_witness(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    const char *words;
    switch (uspi_swift_next(parser)) {
    case 'f': words = "forward-mode"; break;
    case 'r': words = "reverse-mode"; break;
    case 'd': words = "normal"; break;
    case 'l': words = "linear"; break;
    default: return NULL;
    }
    struct uspi_swift_node *witness = uspi_swift_node_with_string(parser->memory, kind, words);
    if (!pop_all(parser, witness) || !add_subsets(parser, witness, false)) return NULL;
    if (signature != NULL) uspi_swift_add(parser->memory, witness, signature);
    return witness;
}
