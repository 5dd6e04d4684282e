/* SPDX-License-Identifier: MIT */
/* A runtime that has the classes which a test writes down. The library that is tested finds its public functions by name,
 * as it finds Apple's, GNUstep's or GCC's; the test finds `scripted_classes` and `scripted_calls` the same way. */
#ifndef TESTS_OBJC_SCRIPTED_RUNTIME_H
#define TESTS_OBJC_SCRIPTED_RUNTIME_H

struct scripted_method {
    const char *selector;
    void (*implementation)(void);
};

struct scripted_class {
    const char *name;
    const struct scripted_class *metaclass;
    const struct scripted_method *methods;
    unsigned method_count;
};

struct scripted_script {
    const struct scripted_class *classes;
    _Atomic(int) count;
};

struct scripted_calls {
    _Atomic(unsigned) lists;        /* how often all classes were asked for */
    _Atomic(unsigned) method_lists; /* how often a class's methods were */
    _Atomic(unsigned) messages;     /* what sends a message or can initialize a class */
};

#endif
