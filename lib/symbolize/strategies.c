/* SPDX-License-Identifier: MIT */
/* The one list of strategies: those that search an index before those that ask the system. */
#include "lib/symbolize/strategy.h"

const struct uspi_strategy *const uspi_strategies[] = {
    &uspi_strategy_symtab, &uspi_strategy_objc_metadata, &uspi_strategy_objc_runtime, &uspi_strategy_dladdr, NULL,
};
