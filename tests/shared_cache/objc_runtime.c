/* SPDX-License-Identifier: MIT */
// A dylib of the made shared caches in the place of libobjc.A.dylib: what compiled Objective-C refers to, and the section
// in which older caches have the base of selectors (__TEXT,__objc_opt_ro, version 16).

#define KEPT __attribute__((noinline, used))

struct class_data {
    unsigned flags, start, size;
#ifdef __LP64__
    unsigned reserved;
#endif
    const void *ivar_layout;
    const char *name;
    const void *methods, *protocols, *ivars, *weak_layout, *properties;
};
struct class_object {
    const void *isa, *superclass, *cache, *vtable;
    const struct class_data *data;
};

void *empty_cache[2] __asm__("__objc_empty_cache");
static const struct class_data meta_data = {
    .flags = 3, .start = sizeof(struct class_object), .size = sizeof(struct class_object), .name = "NSObject"};
static const struct class_data root_data = {.flags = 2, .start = 0, .size = sizeof(void *), .name = "NSObject"};
extern struct class_object root __asm__("_OBJC_CLASS_$_NSObject");
struct class_object meta __asm__("_OBJC_METACLASS_$_NSObject") = {&meta, &root, empty_cache, 0, &meta_data};
struct class_object root __asm__("_OBJC_CLASS_$_NSObject") = {&meta, 0, empty_cache, 0, &root_data};
__attribute__((section("__DATA,__objc_classlist"), used)) static const void *const classes[] = {&root};

int sys_add(int a, int b);
KEPT static int lookup_method(int a) { return sys_add(a, 11); }
int objc_msgSend(int a) { return lookup_method(a) * 3; }
int objc_alloc_init(int a) { return lookup_method(a) * 5; }

// objc_opt_t of dyld's objc-shared-cache.h: 48 bytes, the base of selectors at 40. The writer of caches sets it.
struct opt {
    unsigned version, flags;
    int offsets[8];
    long long selector_base;
};
__attribute__((section("__TEXT,__objc_opt_ro"), used)) const struct opt objc_opt_data = {.version = 16};
