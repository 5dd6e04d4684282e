/* SPDX-License-Identifier: MIT */
/* See objc_scripted_runtime.h. Without SCRIPTED_APPLE it lacks the functions that GCC's libobjc lacks: object_getClass
 * is only in that library's header. Classes, methods and selectors are opaque here, as for code that finds these
 * functions by name. A call through another function type would be undefined behaviour, which -fsanitize=function
 * reports. */
#include "tests/symbolize/objc_scripted_runtime.h"

#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED struct scripted_script scripted_classes;
EXPORTED struct scripted_calls scripted_calls;

int objc_getClassList(void **classes, int capacity);
void **class_copyMethodList(void *class, unsigned *count);
void (*method_getImplementation(void *method))(void);
void *method_getName(void *method);
const char *sel_getName(void *selector);
const char *class_getName(void *class);
void *object_getClass(void *object);
void *objc_getMetaClass(const char *name);
const void *objc_msgSend(const void *receiver, const char *selector);
const void *objc_msg_lookup(const void *receiver, const char *selector);
const void *class_getInstanceMethod(const void *class, const char *selector);

/* Removes const: the script is constant, the runtime's interface is not. */
static void *opaque(const void *p) {
    void *q;
    memcpy(&q, &p, sizeof q);
    return q;
}

EXPORTED int objc_getClassList(void **classes, int capacity) {
    if (classes != NULL) scripted_calls.lists++;
    for (int i = 0; classes != NULL && i < scripted_classes.count && i < capacity; i++) {
        classes[i] = opaque(&scripted_classes.classes[i]);
    }
    return scripted_classes.count;
}

EXPORTED void **class_copyMethodList(void *class, unsigned *count) {
    const struct scripted_class *scripted = class;
    scripted_calls.method_lists++;
    *count = scripted->method_count;
    if (scripted->method_count == 0) return NULL;
    void **methods = calloc(scripted->method_count + 1, sizeof *methods);
    if (methods == NULL) __builtin_trap();
    for (unsigned i = 0; i < scripted->method_count; i++) methods[i] = opaque(&scripted->methods[i]);
    return methods;
}

EXPORTED void (*method_getImplementation(void *method))(void) {
    return ((const struct scripted_method *)method)->implementation;
}

EXPORTED void *method_getName(void *method) { return opaque(((const struct scripted_method *)method)->selector); }

EXPORTED const char *sel_getName(void *selector) { return selector; }

EXPORTED const char *class_getName(void *class) { return ((const struct scripted_class *)class)->name; }

#ifdef SCRIPTED_APPLE
EXPORTED void *object_getClass(void *object) { return opaque(((const struct scripted_class *)object)->metaclass); }
#endif

EXPORTED void *objc_getMetaClass(const char *name) {
    for (int i = 0; i < scripted_classes.count; i++) {
        const struct scripted_class *scripted = &scripted_classes.classes[i];
        if (strcmp(scripted->name, name) == 0) return opaque(scripted->metaclass);
    }
    return NULL;
}

/* Functions that must not be called. */
EXPORTED const void *objc_msgSend(const void *receiver, const char *selector) {
    (void)selector;
    scripted_calls.messages++;
    return receiver;
}

EXPORTED const void *objc_msg_lookup(const void *receiver, const char *selector) {
    return objc_msgSend(receiver, selector);
}

EXPORTED const void *class_getInstanceMethod(const void *class, const char *selector) {
    return objc_msgSend(class, selector);
}
