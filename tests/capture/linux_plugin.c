/* SPDX-License-Identifier: MIT */
/* A library that the storm loads and unloads: a function that makes a frame record, notes its frame in a shadow stack
 * and calls back. It is built twice with different code (PLUGIN_PADDING), so that the same address holds one library,
 * then the other. */
#include "tests/support/linux_shadow.h"

void plugin_call(struct shadow *s, void (*callback)(void *), void *context, int depth);

static SHADOWED int pad(struct shadow *s, int n) {
    SHADOW_ENTER(s);
    volatile int sum = n;
#if PLUGIN_PADDING
    for (volatile int i = 0; i < 10; i++) sum += i;
    sum ^= n;
#endif
    int result = sum;
    SHADOW_LEAVE(s);
    return result;
}

__attribute__((visibility("default"))) SHADOWED void plugin_call(struct shadow *s, void (*callback)(void *),
                                                                 void *context, int depth) {
    SHADOW_ENTER(s);
    if (pad(s, depth) >= 0 && depth > 0) {
        plugin_call(s, callback, context, depth - 1);
    } else {
        callback(context);
    }
    SHADOW_LEAVE(s);
}
