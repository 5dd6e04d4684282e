/* SPDX-License-Identifier: MIT */
/* See rule.h. */
#include "lib/unwind/frame/rule.h"

void uspi_rule_add(struct uspi_rule *rule, unsigned reg, struct uspi_location at) {
    if (at.kind == USPI_SAME || rule->saved_count == USPI_SAVED_MAX) return;
    rule->saved[rule->saved_count].reg = (uint8_t)reg;
    rule->saved[rule->saved_count++].at = at;
}

struct uspi_location uspi_rule_of(const struct uspi_rule *rule, unsigned reg) {
    for (unsigned i = 0; i < rule->saved_count; i++) {
        if (rule->saved[i].reg == reg) return rule->saved[i].at;
    }
    return (struct uspi_location){.kind = USPI_SAME, .base = (uint8_t)reg};
}
