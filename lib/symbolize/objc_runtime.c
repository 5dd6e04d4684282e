/* SPDX-License-Identifier: MIT */
/* See objc_runtime.h. Also has the strategy "Objective-C runtime". */
#include "lib/symbolize/objc_runtime.h"
#include "lib/base/bisect.h"

#include "arch/backend.h"
#include "lib/base/array.h"
#include "lib/os/os.h"
#include "lib/symbolize/strategy.h"

#include <unspool/images.h>

#include <stdlib.h>
#include <string.h>

/* The runtime's public functions (Apple <objc/runtime.h>; GCC libobjc objc/runtime.h; GNUstep libobjc2
 * objc/runtime.h). */
struct functions {
    int (*get_class_list)(void **classes, int capacity);      /* objc_getClassList */
    void **(*copy_method_list)(void *class, unsigned *count); /* class_copyMethodList; to be freed with free() */
    void (*(*get_implementation)(void *method))(void);        /* method_getImplementation */
    void *(*get_selector)(void *method);                      /* method_getName */
    const char *(*selector_name)(void *selector);             /* sel_getName */
    const char *(*class_name)(void *class);                   /* class_getName */
    void *(*get_class)(void *object);                         /* object_getClass; inline in GCC's header */
    void *(*get_metaclass)(const char *name);                 /* objc_getMetaClass; where get_class is NULL */
};

struct method {
    usp_addr start;
    const char *class_name, *selector; /* owned by the runtime; read them safely, see keep_name */
    bool is_class_method;
};

struct uspi_objc_runtime {
    struct uspi_lock *lock; /* protects all members */
    struct functions functions;
    uint64_t signature_mask;
    uint64_t generation; /* of the images when the methods were read */
    int class_count;
    bool is_read;
    struct method *methods; /* sorted by address */
    size_t count, capacity;
};

struct uspi_objc_runtime *uspi_objc_runtime_create(uint64_t signature_mask) {
    struct uspi_objc_runtime *runtime = calloc(1, sizeof *runtime);
    if (runtime == NULL) return NULL;
    runtime->signature_mask = signature_mask;
    runtime->lock = uspi_lock_create();
    if (runtime->lock != NULL) return runtime;
    free(runtime);
    return NULL;
}

void uspi_objc_runtime_free(struct uspi_objc_runtime *runtime) {
    if (runtime == NULL) return;
    uspi_lock_free(runtime->lock);
    free(runtime->methods);
    free(runtime);
}

/* ---- reading all methods ---- */

/* Stores a function's address in a pointer to a function, for which ISO C has no cast. */
static bool find_function(const char *name, void *function) {
    uintptr_t found = uspi_os_find_symbol(name);
    memcpy(function, &found, sizeof found);
    return found != 0;
}

static bool find_functions(struct functions *f) {
    bool has_class = find_function("object_getClass", &f->get_class),
         has_metaclass = find_function("objc_getMetaClass", &f->get_metaclass);
    return find_function("objc_getClassList", &f->get_class_list) &&
           find_function("class_copyMethodList", &f->copy_method_list) &&
           find_function("method_getImplementation", &f->get_implementation) &&
           find_function("method_getName", &f->get_selector) && find_function("sel_getName", &f->selector_name) &&
           find_function("class_getName", &f->class_name) && (has_class || has_metaclass);
}

static usp_addr without_thumb_bit(usp_addr code) {
    const struct uspi_backend *backend = uspi_backend_find(usp_arch_host());
    return backend != NULL && backend->has_thumb ? code & ~(usp_addr)1 : code;
}

static int add_method(struct uspi_objc_runtime *runtime, const struct method *method) {
    if (!uspi_room_for(&runtime->methods, &runtime->capacity, runtime->count, 1, sizeof *method)) {
        return USP_ERROR_NO_MEMORY;
    }
    runtime->methods[runtime->count++] = *method;
    return USP_OK;
}

/* Adds a class's own methods. With the metaclass as `class`, they are its class methods. */
static int add_methods(struct uspi_objc_runtime *runtime, void *class, const char *name, bool is_class_method) {
    const struct functions *f = &runtime->functions;
    unsigned count = 0;
    int status = USP_OK;
    void **methods = f->copy_method_list(class, &count);
    for (unsigned i = 0; methods != NULL && status == USP_OK && i < count; i++) {
        struct method method = {.class_name = name, .is_class_method = is_class_method};
        void *selector = f->get_selector(methods[i]);
        method.selector = selector != NULL ? f->selector_name(selector) : NULL;
        usp_addr implementation = (uintptr_t)f->get_implementation(methods[i]);
        method.start = without_thumb_bit(implementation & ~runtime->signature_mask);
        if (method.start != 0 && method.selector != NULL) status = add_method(runtime, &method);
    }
    free(methods);
    return status;
}

static int add_class(struct uspi_objc_runtime *runtime, void *class) {
    const struct functions *f = &runtime->functions;
    const char *name = f->class_name(class);
    if (name == NULL) return USP_OK;
    int status = add_methods(runtime, class, name, false);
    if (status != USP_OK) return status;
    void *metaclass = f->get_class != NULL ? f->get_class(class) : f->get_metaclass(name);
    return metaclass != NULL ? add_methods(runtime, metaclass, name, true) : USP_OK;
}

/* Sorts by start. Of methods that share their code, the alphabetically first one comes first and is found. */
static int by_start(const void *a, const void *b) {
    const struct method *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    int order = strcmp(x->class_name, y->class_name);
    if (order == 0) order = (int)x->is_class_method - (int)y->is_class_method;
    return order != 0 ? order : strcmp(x->selector, y->selector);
}

static int read_classes(struct uspi_objc_runtime *runtime) {
    int known = runtime->functions.get_class_list(NULL, 0);
    int capacity = known > 0 ? known : 0;
    if (capacity == 0) {
        runtime->class_count = 0;
        return USP_OK;
    }
    void **classes = calloc((size_t)capacity, sizeof *classes);
    if (classes == NULL) return USP_ERROR_NO_MEMORY;
    /* The runtime may have more classes by now. They do not fit into the list; has_more_classes notices them by the
     * number. */
    int all = runtime->functions.get_class_list(classes, capacity), status = USP_OK;
    int count = all < capacity ? all : capacity;
    for (int i = 0; status == USP_OK && i < count; i++) {
        if (classes[i] != NULL) status = add_class(runtime, classes[i]);
    }
    free(classes);
    runtime->class_count = known;
    return status;
}

static int read_methods(struct uspi_objc_runtime *runtime, uint64_t generation) {
    runtime->count = 0;
    runtime->is_read = false;
    if (!find_functions(&runtime->functions)) {
        memset(&runtime->functions, 0, sizeof runtime->functions);
        runtime->class_count = 0;
    } else {
        int status = read_classes(runtime);
        if (status != USP_OK) {
            runtime->count = 0;
            return status;
        }
        if (runtime->count > 0) qsort(runtime->methods, runtime->count, sizeof *runtime->methods, by_start);
    }
    runtime->generation = generation;
    runtime->is_read = true;
    return USP_OK;
}

/* ---- one address ---- */

/* Returns the first of the methods with the highest start at or below the address. */
static const struct method *search(const struct uspi_objc_runtime *runtime, usp_addr address) {
    size_t i;
    USPI_FIRST(i, 0, runtime->count, runtime->methods[i].start > address);
    if (i == 0) return NULL;
    const struct method *found = &runtime->methods[i - 1];
    while (found > runtime->methods && found[-1].start == found->start) found--;
    return found;
}

/* Finds the start of the function that holds an address without a symbol. Returns USP_OK, USP_ERROR_NOT_FOUND,
 * USP_ERROR_NO_MEMORY. */
static int find_nameless_start(const struct uspi_query *query, usp_addr *start) {
    struct uspi_symbol_answer function;
    uintptr_t found;
    if (query->image != NULL && (query->image->flags & USP_IMAGE_MACHO) != 0) {
        usp_addr slide = query->image->slide;
        int status = uspi_module_find(query->module, USPI_TABLE_STARTS, query->address - slide, query->expected,
                                      query->names, &function);
        if (status == USP_OK) *start = function.start + slide;
        return status == USP_ERROR_ABSENT ? USP_ERROR_NOT_FOUND : status;
    }
    if (!uspi_os_function_start((uintptr_t)query->address, &found)) return USP_ERROR_NOT_FOUND;
    *start = without_thumb_bit(found);
    return USP_OK;
}

/* Finds the method that holds the address. A runtime knows where a method begins, not where it ends. So the function at
 * the address must begin where the method does. A symbol, the image's function starts or unwind information give that
 * function's start. Returns as find_nameless_start does. */
static int find_method(const struct uspi_objc_runtime *runtime, const struct uspi_query *query,
                       const struct method **found) {
    usp_addr start;
    *found = search(runtime, query->address);
    if (*found == NULL) return USP_ERROR_NOT_FOUND;
    if ((*found)->start == query->address) return USP_OK;
    if (query->is_named && query->named_start >= (*found)->start) {
        start = query->named_start;
    } else {
        /* A symbol that begins below the method may only be the nearest one that stripping has left. */
        int status = find_nameless_start(query, &start);
        if (status != USP_OK) return status;
    }
    return start == (*found)->start ? USP_OK : USP_ERROR_NOT_FOUND;
}

static int append(char *text, size_t capacity, size_t *used, const char *piece) {
    const struct usp_memory memory = {uspi_os_read, NULL};
    struct uspi_source source = uspi_source_of_memory(&memory, "runtime");
    /* Use safe reads, because the image of the class may be being unloaded. */
    int status =
        uspi_bytes_string(uspi_bytes_at(&source, (uintptr_t)piece), 0, text + *used, capacity - *used, "name", NULL);
    if (status == USP_OK) *used += strlen(text + *used);
    return status;
}

static int keep_name(const struct method *method, struct uspi_names *names, const char **kept) {
    const size_t capacity = (size_t)1 << 16;
    char *text = malloc(capacity);
    if (text == NULL) return USP_ERROR_NO_MEMORY;
    text[0] = method->is_class_method ? '+' : '-';
    text[1] = '[';
    size_t used = 2;
    int status = append(text, capacity - 2, &used, method->class_name);
    if (status == USP_OK) {
        text[used++] = ' ';
        status = append(text, capacity - 1, &used, method->selector);
    }
    if (status == USP_OK) {
        text[used++] = ']';
        *kept = uspi_names_keep(names, text, used);
        status = *kept != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
    } else {
        status = USP_ERROR_NOT_FOUND;
    }
    free(text);
    return status;
}

static bool has_more_classes(const struct uspi_objc_runtime *runtime) {
    return runtime->functions.get_class_list != NULL &&
           runtime->functions.get_class_list(NULL, 0) != runtime->class_count;
}

static int find_locked(struct uspi_objc_runtime *runtime, const struct uspi_query *query,
                       struct uspi_symbol_answer *named) {
    uint64_t generation = usp_images_generation();
    const struct method *found;
    int status = USP_OK;
    if (!runtime->is_read || runtime->generation != generation) status = read_methods(runtime, generation);
    if (status != USP_OK) return status;
    status = find_method(runtime, query, &found);
    if (status == USP_ERROR_NOT_FOUND && !query->is_named && has_more_classes(runtime)) {
        status = read_methods(runtime, generation);
        if (status == USP_OK) status = find_method(runtime, query, &found);
    }
    if (status == USP_ERROR_NOT_FOUND && runtime->functions.get_class_list == NULL) return USP_ERROR_ABSENT;
    if (status != USP_OK) return status;
    named->start = found->start;
    named->size = 0;
    return keep_name(found, query->names, &named->name);
}

int uspi_objc_runtime_find(struct uspi_objc_runtime *runtime, const struct uspi_query *query,
                           struct uspi_symbol_answer *named) {
    uspi_lock_take(runtime->lock);
    int status = find_locked(runtime, query, named);
    uspi_lock_give(runtime->lock);
    return status;
}

int uspi_find_by_runtime(const struct uspi_query *query, struct uspi_symbol_answer *found) {
    if (query->runtime == NULL || query->address > UINTPTR_MAX) return USP_ERROR_ABSENT;
    int status = uspi_objc_runtime_find(query->runtime, query, found);
    /* In GCC's symbols of methods (_i_Class__selector_), colons and underscores look the same. Mach-O symbols are the
     * methods' names themselves, and include the category. */
    found->wins_ties = (query->image->flags & USP_IMAGE_MACHO) == 0;
    return status;
}
