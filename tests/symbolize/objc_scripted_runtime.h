/* SPDX-License-Identifier: MIT */
/* A runtime with the classes of a script. The library under test finds its public functions by name, as it finds
 * Apple's, GNUstep's or GCC's. The test finds `scripted_classes` and `scripted_calls` in the same way. */
#ifndef TESTS_SYMBOLIZE_OBJC_SCRIPTED_RUNTIME_H
#define TESTS_SYMBOLIZE_OBJC_SCRIPTED_RUNTIME_H

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
    _Atomic(unsigned) method_lists; /* how often a class's methods were asked for */
    _Atomic(unsigned) messages;     /* calls that send a message or can initialize a class */
};

#endif
