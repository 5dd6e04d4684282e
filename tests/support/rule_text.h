/* SPDX-License-Identifier: MIT */
/* Writes an unwind rule as one line, for comparisons: "cfa=x29+16 ra=[x29+8] x29=[x29+0] x19=[x29-8]". Registers are in
 * the order of their numbers; those that the rule does not change are left out. */
#ifndef TESTS_SUPPORT_RULE_TEXT_H
#define TESTS_SUPPORT_RULE_TEXT_H

#include <stdio.h>
#include <string.h>

#include "lib/unwind/frame/rule.h"

#define RULE_TEXT 512

static inline void add_location(char *text, uint32_t arch, const char *what, struct uspi_location at) {
    char *to = text + strlen(text);
    const char *space = *text != '\0' ? " " : "",
               *base = at.base == USPI_BASE_CFA ? "cfa" : usp_register_name(arch, at.base);
    const size_t capacity = RULE_TEXT - strlen(text);
    switch (at.kind) {
    case USPI_REGISTER:
        snprintf(to, capacity, at.offset != 0 ? "%s%s=%s%+d" : "%s%s=%s", space, what, base, at.offset);
        break;
    case USPI_MEMORY:
        snprintf(to, capacity, at.addend != 0 ? "%s%s=[%s%+d]%+d" : "%s%s=[%s%+d]", space, what, base, at.offset,
                 at.addend);
        break;
    default: snprintf(to, capacity, "%s%s=?", space, what); break;
    }
}

/* Returns `text`. */
static inline const char *rule_text(uint32_t arch, const struct uspi_rule *rule, char text[RULE_TEXT]) {
    *text = '\0';
    add_location(text, arch, "cfa", rule->cfa);
    add_location(text, arch, "ra", rule->return_address);
    for (unsigned reg = 0; reg < USP_REGISTERS_MAX; reg++) {
        const struct uspi_location at = uspi_rule_of(rule, reg);
        if (at.kind != USPI_SAME) add_location(text, arch, usp_register_name(arch, reg), at);
    }
    return text;
}

#endif
