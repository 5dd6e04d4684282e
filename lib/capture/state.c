/* SPDX-License-Identifier: MIT */
/* See state.h. */
#include "lib/capture/state.h"

#include "lib/capture/own_code.h"

/* 0 is not a return address: its place must not contain it. */
struct uspi_capture_state uspi_capture_state = {
    .call_sites = {UINTPTR_MAX},
    .code = {.table_limit = USPI_TABLE_LIMIT},
};
