/* SPDX-License-Identifier: MIT */
/* See objc_scripted_runtime.h. Without SCRIPTED_APPLE it lacks what GCC's libobjc lacks: object_getClass is in its header
 * only. */
#include "tests/objc_scripted_runtime.h"

#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED struct scripted_script scripted_classes;
EXPORTED struct scripted_calls scripted_calls;

int objc_getClassList(const void **classes, int capacity);
const struct scripted_method **class_copyMethodList(const struct scripted_class *class, unsigned *count);
void (*method_getImplementation(const struct scripted_method *method))(void);
const char *method_getName(const struct scripted_method *method);
const char *sel_getName(const char *selector);
const char *class_getName(const struct scripted_class *class);
const struct scripted_class *object_getClass(const struct scripted_class *class);
const struct scripted_class *objc_getMetaClass(const char *name);
const void *objc_msgSend(const void *receiver, const char *selector);
const void *objc_msg_lookup(const void *receiver, const char *selector);
const void *class_getInstanceMethod(const void *class, const char *selector);

EXPORTED int objc_getClassList(const void **classes, int capacity) {
    if (classes != NULL) scripted_calls.lists++;
    for (int i = 0; classes != NULL && i < scripted_classes.count && i < capacity; i++) {
        classes[i] = &scripted_classes.classes[i];
    }
    return scripted_classes.count;
}

EXPORTED const struct scripted_method **class_copyMethodList(const struct scripted_class *class, unsigned *count) {
    scripted_calls.method_lists++;
    *count = class->method_count;
    if (class->method_count == 0) return NULL;
    const struct scripted_method **methods = calloc(class->method_count + 1, sizeof *methods);
    if (methods == NULL) abort();
    for (unsigned i = 0; i < class->method_count; i++) methods[i] = &class->methods[i];
    return methods;
}

EXPORTED void (*method_getImplementation(const struct scripted_method *method))(void) { return method->implementation; }

EXPORTED const char *method_getName(const struct scripted_method *method) { return method->selector; }

EXPORTED const char *sel_getName(const char *selector) { return selector; }

EXPORTED const char *class_getName(const struct scripted_class *class) { return class->name; }

#ifdef SCRIPTED_APPLE
EXPORTED const struct scripted_class *object_getClass(const struct scripted_class *class) { return class->metaclass; }
#endif

EXPORTED const struct scripted_class *objc_getMetaClass(const char *name) {
    for (int i = 0; i < scripted_classes.count; i++) {
        if (strcmp(scripted_classes.classes[i].name, name) == 0) return scripted_classes.classes[i].metaclass;
    }
    return NULL;
}

/* What must not be called. */
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
