/* SPDX-License-Identifier: MIT */
/* A library that the test of the rule cache loads and unloads. Its function has no frame record, calls back, and has a
 * frame of at least PLUGIN_ROOM bytes. It is built twice with different frame sizes and otherwise the same code, so
 * that one return address needs different rules at different times. */
#include <stdint.h>

void plugin_call(void (*callback)(void), uintptr_t *returns_to);

/* Calls the callback, and sets *returns_to to this function's own return address. */
__attribute__((visibility("default"))) void plugin_call(void (*callback)(void), uintptr_t *returns_to) {
    volatile char space[PLUGIN_ROOM];
    space[PLUGIN_ROOM - 1] = 1;
    *returns_to = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
    callback();
    space[0] = space[PLUGIN_ROOM - 1];
}
