/* SPDX-License-Identifier: MIT */
/* A library that is loaded and unloaded by the test of kept rules: a function that calls back, without a frame record, its
 * frame PLUGIN_ROOM bytes and more. Built twice with different frames and the same code but for them, so that at one return
 * address now this, now that rule holds. */
#include <stdint.h>

void plugin_call(void (*callback)(void), uintptr_t *returns_to);

/* *returns_to becomes the function's own return address. */
__attribute__((visibility("default"))) void plugin_call(void (*callback)(void), uintptr_t *returns_to) {
    volatile char room[PLUGIN_ROOM];
    room[PLUGIN_ROOM - 1] = 1;
    *returns_to = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
    callback();
    room[0] = room[PLUGIN_ROOM - 1];
}
