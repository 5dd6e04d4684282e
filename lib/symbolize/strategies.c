/* SPDX-License-Identifier: MIT */
/* The list of all strategies. Those that search an index come before those that ask the system. */
#include "lib/symbolize/strategy.h"

const struct uspi_strategy *const uspi_strategies[] = {
    &uspi_strategy_symtab, &uspi_strategy_objc_metadata, &uspi_strategy_objc_runtime, &uspi_strategy_dladdr, NULL,
};
