/* SPDX-License-Identifier: MIT */
/* Parses the type of a function as the optimizer sees it ("I"): how it is called, and how each parameter and result is
 * passed. (swift docs/ABI/Mangling.rst, impl-function-type) */
#include "lib/demangle/swift/parse.h"

#include <string.h>

/* A letter and its words. */
struct convention {
    char letter;
    const char *words;
};

static const struct convention callee_conventions[] = {{'y', "@callee_unowned"},
                                                       {'g', "@callee_guaranteed"},
                                                       {'x', "@callee_owned"},
                                                       {'t', "@convention(thin)"},
                                                       {0, NULL}};
static const struct convention function_conventions[] = {
    {'B', "block"},          {'C', "c"}, {'M', "method"}, {'O', "objc_method"}, {'K', "closure"},
    {'W', "witness_method"}, {0, NULL}};
static const struct convention coroutines[] = {
    {'A', "@yield_once"}, {'I', "@yield_once_2"}, {'G', "@yield_many"}, {0, NULL}};
static const struct convention parameter_conventions[] = {{'i', "@in"},
                                                          {'c', "@in_constant"},
                                                          {'l', "@inout"},
                                                          {'b', "@inout_aliasable"},
                                                          {'n', "@in_guaranteed"},
                                                          {'X', "@in_cxx"},
                                                          {'x', "@owned"},
                                                          {'g', "@guaranteed"},
                                                          {'e', "@deallocating"},
                                                          {'y', "@unowned"},
                                                          {'v', "@pack_owned"},
                                                          {'p', "@pack_guaranteed"},
                                                          {'m', "@pack_inout"},
                                                          {0, NULL}};
static const struct convention result_conventions[] = {{'r', "@out"},
                                                       {'o', "@owned"},
                                                       {'d', "@unowned"},
                                                       {'u', "@unowned_inner_pointer"},
                                                       {'a', "@autoreleased"},
                                                       {'k', "@pack_out"},
                                                       {'l', "@guaranteed_address"},
                                                       {'g', "@guaranteed"},
                                                       {'m', "@inout"},
                                                       {0, NULL}};

/* Reads a letter of the table. Returns its words; NULL: there is none, and nothing was read. */
static const char *read_convention(struct uspi_swift_parser *parser, const struct convention *table) {
    for (; table->words != NULL; table++) {
        if (uspi_swift_next_if(parser, table->letter)) return table->words;
    }
    return NULL;
}

static bool add_words(struct uspi_swift_parser *parser, struct uspi_swift_node *type, const char *words) {
    return words != NULL && uspi_swift_add(parser->memory, type,
                                           uspi_swift_node_with_string(parser->memory, SWIFT_IMPL_ATTRIBUTE, words));
}

/* "s", "I": types that replace the function's generic parameters. */
static bool parse_type_arguments(struct uspi_swift_parser *parser, struct uspi_swift_node *type) {
    for (unsigned round = 0; round < 2; round++) {
        bool is_pattern = round == 0;
        if (!uspi_swift_next_if(parser, is_pattern ? 's' : 'I')) continue;
        struct uspi_swift_node *lists = uspi_swift_node(parser->memory, SWIFT_TYPE_LIST), *conformances = NULL;
        if (!uspi_swift_pop_generic_arguments(parser, lists, &conformances)) return false;
        uint16_t kind = is_pattern ? SWIFT_IMPL_PATTERN_SUBSTITUTIONS : SWIFT_IMPL_INVOCATION_SUBSTITUTIONS;
        struct uspi_swift_node *arguments = uspi_swift_node(parser->memory, kind);
        if (is_pattern) {
            struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
            if (!uspi_swift_add(parser->memory, arguments, signature)) return false;
        } else if (lists->child_count != 1) {
            return false;
        }
        if (!uspi_swift_add(parser->memory, arguments, uspi_swift_first_child(lists))) return false;
        if (!uspi_swift_add(parser->memory, type, arguments)) return false;
    }
    return true;
}

/* Reads the function's calling convention for other languages. */
static bool parse_function_convention(struct uspi_swift_parser *parser, struct uspi_swift_node *type) {
    bool has_clang_type = false;
    char after = parser->at + 1 < parser->length ? parser->text[parser->at + 1] : '\0';
    if (uspi_swift_peek(parser) == 'z' && (after == 'B' || after == 'C')) {
        has_clang_type = true;
        parser->at++;
    }
    const char *name = read_convention(parser, function_conventions);
    if (name == NULL) return true;
    struct uspi_swift_node *convention =
        uspi_swift_node_with_string(parser->memory, SWIFT_IMPL_FUNCTION_CONVENTION, name);
    if (has_clang_type) uspi_swift_add(parser->memory, convention, uspi_swift_parse_clang_type(parser));
    return uspi_swift_add(parser->memory, type, convention);
}

/* Reads the attributes of the whole function. */
static bool parse_attributes(struct uspi_swift_parser *parser, struct uspi_swift_node *type) {
    struct uspi_region *memory = parser->memory;
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    if (signature != NULL && uspi_swift_next_if(parser, 'P')) {
        signature = uspi_swift_node_as(memory, SWIFT_PSEUDOGENERIC_SIGNATURE, signature);
    }
    if (uspi_swift_next_if(parser, 'e')) add_words(parser, type, "@escaping");
    if (uspi_swift_next_if(parser, 'A')) add_words(parser, type, "@isolated(any)");
    if (add_words(parser, type, uspi_swift_differentiability(uspi_swift_peek(parser)))) parser->at++;
    if (!add_words(parser, type, read_convention(parser, callee_conventions))) return false;
    if (!parse_function_convention(parser, type)) return false;
    add_words(parser, type, read_convention(parser, coroutines));
    if (uspi_swift_next_if(parser, 'h')) add_words(parser, type, "@Sendable");
    if (uspi_swift_next_if(parser, 'H')) uspi_swift_add(memory, type, uspi_swift_node(memory, SWIFT_IMPL_ASYNC));
    if (uspi_swift_next_if(parser, 'T')) {
        uspi_swift_add(memory, type, uspi_swift_node(memory, SWIFT_IMPL_SENDING_RESULT));
    }
    if (signature != NULL) uspi_swift_add(memory, type, signature);
    return true;
}

static bool add_qualifier(struct uspi_swift_parser *parser, struct uspi_swift_node *value, const char *words) {
    return uspi_swift_add(parser->memory, value,
                          uspi_swift_node_with_string(parser->memory, SWIFT_IMPL_QUALIFIER, words));
}

/* Reads a parameter or result without its type, which is on the stack. Adds it to the function's type, and to the list
 * of those that wait for their types, the last one first. False: there is none, or memory lacks. */
static bool parse_value(struct uspi_swift_parser *parser, struct uspi_swift_node *type, uint16_t kind,
                        struct uspi_swift_node *waiting) {
    bool is_parameter = kind == SWIFT_IMPL_PARAMETER, is_like_parameter = is_parameter || kind == SWIFT_IMPL_YIELD;
    const char *words = read_convention(parser, is_like_parameter ? parameter_conventions : result_conventions);
    if (words == NULL) return false;
    struct uspi_swift_node *value =
        uspi_swift_make(parser, kind, uspi_swift_node_with_string(parser->memory, SWIFT_IMPL_CONVENTION, words));
    if (is_parameter || kind == SWIFT_IMPL_RESULT) {
        add_qualifier(parser, value, uspi_swift_next_if(parser, 'w') ? "@noDerivative " : "");
    }
    if (is_parameter && uspi_swift_next_if(parser, 'T')) add_qualifier(parser, value, "sending ");
    if (is_parameter && uspi_swift_next_if(parser, 'I')) add_qualifier(parser, value, "isolated ");
    if (is_parameter && uspi_swift_next_if(parser, 'L')) add_qualifier(parser, value, "sil_implicit_leading_param ");
    return uspi_swift_add(parser->memory, type, value) && uspi_swift_add_first(parser->memory, waiting, value);
}

static bool parse_values(struct uspi_swift_parser *parser, struct uspi_swift_node *type,
                         struct uspi_swift_node *waiting) {
    while (parse_value(parser, type, SWIFT_IMPL_PARAMETER, waiting)) continue;
    while (parse_value(parser, type, SWIFT_IMPL_RESULT, waiting)) continue;
    while (uspi_swift_next_if(parser, 'Y')) {
        if (!parse_value(parser, type, SWIFT_IMPL_YIELD, waiting)) return false;
    }
    if (uspi_swift_next_if(parser, 'z') && !parse_value(parser, type, SWIFT_IMPL_ERROR_RESULT, waiting)) return false;
    return uspi_swift_next_if(parser, '_');
}

struct uspi_swift_node *uspi_swift_parse_impl_function_type(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *type = uspi_swift_node(parser->memory, kind);
    struct uspi_swift_node *waiting = uspi_swift_node(parser->memory, SWIFT_TYPE_LIST);
    if (type == NULL || waiting == NULL) return NULL;
    if (!parse_type_arguments(parser, type) || !parse_attributes(parser, type)) return NULL;
    if (!parse_values(parser, type, waiting)) return NULL;
    for (const struct uspi_swift_child *value = waiting->first; value != NULL; value = value->next) {
        if (!uspi_swift_add(parser->memory, value->node, uspi_swift_pop_type(parser))) return NULL;
    }
    return uspi_swift_type(parser, type);
}
