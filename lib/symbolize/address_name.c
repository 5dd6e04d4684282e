/* SPDX-License-Identifier: MIT */
/* Implements usp_address_name: the demangled name of a function of this process. */
#include "lib/capture/state.h"

#include <unspool/demangle.h>
#include <unspool/symbolize.h>

static void *create_default(void) {
    struct usp_demangler *demangler;
    return usp_demangler_create(USP_DEMANGLE_FULL, &demangler) == USP_OK ? demangler : NULL;
}

static void free_default(void *demangler) { usp_demangler_free(demangler); }

const char *usp_address_name(const void *address) {
    static const struct uspi_default_kind kind = {create_default, free_default};
    struct usp_symbol symbol;
    if (usp_symbolize(NULL, (usp_addr)(uintptr_t)address, &symbol) != USP_OK) return NULL;
    return usp_demangle(uspi_default_get(USPI_DEFAULT_DEMANGLER, &kind), symbol.name);
}
