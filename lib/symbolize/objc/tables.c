/* SPDX-License-Identifier: MIT */
/* See tables.h. A symbol's number is the number of methods in all lists before its own, plus its position there. So no
 * memory is needed for a single method. */
#include "lib/symbolize/objc/tables.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"
#include "lib/symbolize/macho/ends.h"
#include "lib/symbolize/objc/lists.h"
#include "lib/symbolize/objc/names.h"

#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

/* Walks the classes and categories of an image to their method lists.
 * Source of the layouts: Apple objc4 runtime/objc-runtime-new.h (objc_class, class_ro_t, class_rw_t, class_rw_ext_t,
 * category_t), runtime/isa.h. */
/* Where a list was found. If two lists name the same method, the one with the lower value is better. */
enum uspi_objc_origin {
    USPI_OBJC_OF_CATEGORY, /* the category's own list */
    USPI_OBJC_OF_CLASS,    /* the list with which the class was compiled */
    USPI_OBJC_AT_RUN_TIME  /* all methods that the runtime has collected, including those of categories */
};

struct uspi_objc_owner {
    struct uspi_objc_text class_name, category; /* category.at 0: none */
    bool is_meta;                               /* class methods */
    enum uspi_objc_origin origin;
};

/* Receives a method list. Returns USP_OK or another status, of which only USP_ERROR_NO_MEMORY ends the walk. */
typedef int (*uspi_objc_visit)(void *context, const struct uspi_objc_owner *owner, usp_addr list);

/* The words of objc_class: isa, superclass, cache (two), data. The words of category_t: name, class, instance methods,
 * class methods. */
enum { CLASS_DATA = 4 };
enum { CATEGORY_NAME = 0, CATEGORY_CLASS = 1, CATEGORY_INSTANCE_METHODS = 2, CATEGORY_CLASS_METHODS = 3 };

/* The low bits of the data word mark Swift classes and classes with their own retain/release methods (FAST_*). */
#define DATA_TAGS_64 7u
#define DATA_TAGS_32 3u

/* class_ro_t.flags and class_rw_t.flags. */
#define RO_META     0x1u
#define RW_REALIZED 0x80000000u

#define RW_POINTER 8 /* class_rw_t.ro_or_rw_ext */
#define IS_RW_EXT  1u

/* From isa.h: the isa of a realized class is packed if bit 0 is set. There is an ISA_MASK each for arm64 before
 * signatures, for arm64e (whose signature is removed as usual), and for x86_64. */
#define IS_PACKED       1u
#define ISA_MASK_ARM64  UINT64_C(0x0000000ffffffff8)
#define ISA_MASK_ARM64E UINT64_C(0x007ffffffffffff8)
#define ISA_MASK_X86_64 UINT64_C(0x00007ffffffffff8)

/* What is read from a class. */
struct class {
    usp_addr ro;
    usp_addr ext;   /* class_rw_ext_t; 0: none */
    uint32_t flags; /* of class_ro_t */
    struct uspi_objc_text name;
};

struct walk {
    const struct uspi_objc_source *source;
    uint64_t *budget;
    uspi_objc_visit visit;
    void *context;
    struct uspi_objc_owner owner;
};

/* class_ro_t has three numbers of 32 bits, four in 64-bit code; then words: layout, name, methods. */
static usp_addr ro_name(const struct uspi_objc_source *source, usp_addr ro) {
    return ro + (source->word == 8 ? 16 : 12) + source->word;
}

static usp_addr ro_methods(const struct uspi_objc_source *source, usp_addr ro) {
    return ro_name(source, ro) + source->word;
}

static int read_flags(const struct uspi_objc_source *source, usp_addr at, uint32_t *flags) {
    uint8_t raw[4];
    int status = uspi_objc_read(source, at, raw, sizeof raw);
    if (status == USP_OK) *flags = uspi_le32(raw);
    return status;
}

/* Follows class_rw_t to class_ro_t, directly or through class_rw_ext_t, whose first word points to it. */
static int read_realized(const struct uspi_objc_source *source, usp_addr rw, struct class *class) {
    struct uspi_pointer pointer;
    int status = uspi_objc_pointer(source, rw + RW_POINTER, &pointer);
    if (status != USP_OK) return status;
    class->ro = pointer.target;
    if ((class->ro & IS_RW_EXT) == 0) return USP_OK;
    class->ext = class->ro - IS_RW_EXT;
    status = uspi_objc_pointer(source, class->ext, &pointer);
    class->ro = pointer.target;
    return status;
}

static int read_class(const struct uspi_objc_source *source, usp_addr at, struct class *class) {
    struct uspi_pointer pointer;
    *class = (struct class){0};
    int status = uspi_objc_pointer(source, at + CLASS_DATA * source->word, &pointer);
    if (status != USP_OK) return status;
    usp_addr data = pointer.target & ~(usp_addr)(source->word == 8 ? DATA_TAGS_64 : DATA_TAGS_32);
    if (pointer.is_import || data == 0) return USP_ERROR_NOT_FOUND;
    status = read_flags(source, data, &class->flags);
    if (status != USP_OK) return status;
    class->ro = data;
    if (source->space.is_loaded && (class->flags & RW_REALIZED) != 0) {
        status = read_realized(source, data, class);
        if (status == USP_OK) status = read_flags(source, class->ro, &class->flags);
    }
    if (status == USP_OK) status = uspi_objc_pointer(source, ro_name(source, class->ro), &pointer);
    if (status != USP_OK) return status;
    class->name.at = pointer.target;
    return pointer.target != 0 && !pointer.is_import ? USP_OK : USP_ERROR_FORMAT;
}

static int visit_list(void *context, usp_addr list) {
    struct walk *walk = context;
    int status = walk->visit(walk->context, &walk->owner, list);
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

static int walk_lists(struct walk *walk, usp_addr at, enum uspi_objc_lists_kind kind, enum uspi_objc_origin origin) {
    walk->owner.origin = origin;
    int status = uspi_objc_lists_walk(walk->source, at, kind, walk->budget, visit_list, walk);
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

static int walk_methods(struct walk *walk, const struct class *class) {
    int status = walk_lists(walk, ro_methods(walk->source, class->ro), USPI_OBJC_BASE_METHODS, USPI_OBJC_OF_CLASS);
    if (status != USP_OK || class->ext == 0) return status;
    return walk_lists(walk, class->ext + walk->source->word, USPI_OBJC_ALL_METHODS, USPI_OBJC_AT_RUN_TIME);
}

static bool is_meta(const struct uspi_objc_source *source, usp_addr at, struct class *class) {
    return at != 0 && read_class(source, at, class) == USP_OK && (class->flags & RO_META) != 0;
}

/* Reads the metaclass of a class. A realized class's isa can be packed in a way that depends on the runtime; the
 * metaclass's own flag shows which mask is right. Where isa is an index into a table of the runtime (arm64_32), the
 * metaclass cannot be found. */
static bool read_metaclass(const struct uspi_objc_source *source, usp_addr at, struct class *class) {
    struct uspi_pointer pointer;
    uint64_t isa;
    if (uspi_objc_pointer(source, at, &pointer) != USP_OK || pointer.is_import) return false;
    if (!source->space.is_loaded || source->word == 4) return is_meta(source, pointer.target, class);
    if (uspi_objc_word(source, at, &isa) != USP_OK) return false;
    if ((isa & IS_PACKED) == 0) return is_meta(source, pointer.target, class);
    if (source->space.macho.arch == USP_ARCH_X86_64) return is_meta(source, isa & ISA_MASK_X86_64, class);
    return is_meta(source, isa & ISA_MASK_ARM64, class) ||
           is_meta(source, uspi_objc_strip(source, isa & ISA_MASK_ARM64E), class);
}

static int walk_class(struct walk *walk, usp_addr at) {
    struct class class, metaclass;
    if (read_class(walk->source, at, &class) != USP_OK) return USP_OK;
    walk->owner = (struct uspi_objc_owner){.class_name = class.name};
    int status = walk_methods(walk, &class);
    if (status != USP_OK || !read_metaclass(walk->source, at, &metaclass)) return status;
    walk->owner.is_meta = true;
    return walk_methods(walk, &metaclass);
}

/* Reads the name of the class that a category extends, which may be in another image. */
static int read_extended(const struct uspi_objc_source *source, usp_addr at, struct uspi_objc_text *name) {
    struct uspi_pointer pointer;
    struct class class;
    int status = uspi_objc_pointer(source, at, &pointer);
    if (status != USP_OK) return status;
    if (pointer.is_import) {
        *name = (struct uspi_objc_text){pointer.name, true};
        return USP_OK;
    }
    if (pointer.target == 0) return USP_ERROR_NOT_FOUND;
    status = read_class(source, pointer.target, &class);
    *name = class.name;
    return status;
}

static int walk_category(struct walk *walk, usp_addr at) {
    const struct uspi_objc_source *source = walk->source;
    const unsigned word = source->word;
    struct uspi_objc_text class_name;
    struct uspi_pointer name;
    if (read_extended(source, at + CATEGORY_CLASS * word, &class_name) != USP_OK) return USP_OK;
    if (uspi_objc_pointer(source, at + CATEGORY_NAME * word, &name) != USP_OK) return USP_OK;
    walk->owner = (struct uspi_objc_owner){.class_name = class_name, .category = {.at = name.target}};
    int status = walk_lists(walk, at + CATEGORY_INSTANCE_METHODS * word, USPI_OBJC_BASE_METHODS, USPI_OBJC_OF_CATEGORY);
    if (status != USP_OK) return status;
    walk->owner.is_meta = true;
    return walk_lists(walk, at + CATEGORY_CLASS_METHODS * word, USPI_OBJC_BASE_METHODS, USPI_OBJC_OF_CATEGORY);
}

/* Walks a section, which is an array of pointers to classes or to categories. */
static int walk_section(struct walk *walk, const struct uspi_macho_section *section, bool is_categories) {
    const struct uspi_objc_source *source = walk->source;
    usp_addr at = section->address + source->space.slide;
    int status = USP_OK;
    for (uint64_t i = 0; status == USP_OK && i < section->size / source->word; i++, at += source->word) {
        struct uspi_pointer pointer;
        /* If one pointer cannot be read, the rest of the section cannot be read either. */
        if (*walk->budget == 0 || uspi_objc_pointer(source, at, &pointer) != USP_OK) break;
        --*walk->budget;
        if (pointer.target == 0) continue;
        status = is_categories ? walk_category(walk, pointer.target) : walk_class(walk, pointer.target);
    }
    return status;
}

enum section_kind { OTHER, CLASSES, CATEGORIES };

/* Returns the kind of a section. The sections of non-lazy classes repeat what is in the others, unless a linker left it
 * out there. */
static enum section_kind kind_of(const char *name) {
    static const char *const classes[] = {"__objc_classlist", "__objc_nlclslist"};
    static const char *const categories[] = {"__objc_catlist", "__objc_catlist2", "__objc_nlcatlist"};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strcmp(name, classes[i]) == 0) return CLASSES;
    }
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (strcmp(name, categories[i]) == 0) return CATEGORIES;
    }
    return OTHER;
}

/* Visits the method lists of all classes and categories. A class that cannot be read is skipped. *budget limits the
 * number of classes, categories and lists together, and counts down. Returns USP_OK, USP_ERROR_NOT_FOUND when the image
 * has no Objective-C, USP_ERROR_NO_MEMORY, or what is wrong with the load commands. */
static int objc_classes_walk(const struct uspi_objc_source *source, uint64_t *budget, uspi_objc_visit visit,
                             void *context) {
    struct walk walk = {.source = source, .budget = budget, .visit = visit, .context = context};
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    bool is_there = false;
    int got, status = USP_OK;
    while (status == USP_OK && (got = uspi_macho_next_segment(&source->space.macho, &cursor, &segment, NULL)) != 0) {
        if (got < 0) return got;
        for (uint32_t i = 0; status == USP_OK && i < segment.section_count; i++) {
            struct uspi_macho_section section;
            status = uspi_macho_section(&source->space.macho, &segment, i, &section, NULL);
            if (status != USP_OK) break;
            enum section_kind kind = kind_of(section.name);
            if (kind == OTHER) continue;
            is_there = true;
            status = walk_section(&walk, &section, kind == CATEGORIES);
        }
    }
    if (status != USP_OK) return status;
    return is_there ? USP_OK : USP_ERROR_NOT_FOUND;
}

/* The maximum number of methods that are read. Lists may overlap and be referred to many times, so the number must be
 * limited. For a file, its size is the limit: a method, a class or a list with its reference takes at least 12 bytes.
 * In memory, the limit is more than the largest images have. */
#define BYTES_AT_LEAST   12
#define BUDGET_IN_MEMORY (UINT64_C(1) << 22)
#define NUMBERS_MAX      (USPI_NO_SYMBOL - 1)

struct list {
    struct uspi_objc_list list;
    struct uspi_objc_owner owner;
    uint32_t first; /* number of its first method */
};

struct objc_tables {
    struct uspi_tables contract;
    struct uspi_objc_source source;
    struct list *lists;
    size_t count, capacity;
    uint32_t numbers; /* given so far */
};

/* ---- reading everything once ---- */

struct visit {
    struct objc_tables *tables;
    uint64_t methods; /* how many more methods are accepted */
};

/* A uspi_objc_visit function: adds a list. */
static int add_list(void *context, const struct uspi_objc_owner *owner, usp_addr at) {
    struct visit *visit = context;
    struct objc_tables *t = visit->tables;
    struct list added = {.owner = *owner, .first = t->numbers};
    int status = uspi_objc_list_open(&t->source, at, &added.list);
    if (status != USP_OK) return status;
    uint32_t count = added.list.count;
    if (count == 0 || count > visit->methods || count > NUMBERS_MAX - t->numbers) return USP_ERROR_FORMAT;
    if (!uspi_room_for(&t->lists, &t->capacity, t->count, 1, sizeof *t->lists)) return USP_ERROR_NO_MEMORY;
    visit->methods -= count;
    t->numbers += count;
    t->lists[t->count++] = added;
    return USP_OK;
}

/* Returns the start of a method's code, as linked. */
static usp_addr start_of(const struct objc_tables *t, usp_addr implementation) {
    return (implementation & uspi_macho_address_mask(t->source.space.macho.arch)) - t->source.space.slide;
}

static int gather_list(const struct objc_tables *t, const struct list *list, struct uspi_macho_ends *ends,
                       struct uspi_gathering *gathering) {
    for (uint32_t i = 0; i < list->list.count; i++) {
        struct uspi_objc_method method;
        /* A list is contiguous, so the entries after this one cannot be read either. */
        if (uspi_objc_method(&t->source, &list->list, i, &method) != USP_OK) break;
        usp_addr start = start_of(t, method.implementation);
        /* A class can have methods from categories of other images. */
        if (method.selector == 0 || !uspi_macho_code_holds_any(ends->code, start)) continue;
        struct uspi_gathered_symbol candidate = {.start = start, .symbol = list->first + i, .rank = list->owner.origin};
        const usp_addr thumb_bit = method.implementation & ~uspi_macho_address_mask(t->source.space.macho.arch);
        uspi_macho_bound(ends, thumb_bit != 0, &candidate);
        int status = uspi_gather(gathering, &candidate);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

/* Adds all methods. Metadata has no sizes: a method reaches to the next function or the end of its section. If the file
 * does not have the starts of all functions, it reaches as far as control flow does. */
static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct objc_tables *t = (const struct objc_tables *)tables;
    const struct uspi_macho *macho = &t->source.space.macho;
    struct uspi_macho_code code;
    struct uspi_macho_ends ends;
    int status = uspi_macho_code_read(macho, &code);
    uspi_macho_ends_init(&ends, macho, &t->source.space, &code, false);
    for (size_t i = 0; status == USP_OK && i < t->count; i++) status = gather_list(t, &t->lists[i], &ends, gathering);
    return status == USP_OK
               ? uspi_macho_gather_bounds(macho, &code, uspi_macho_address_mask(t->source.space.macho.arch), gathering)
               : status;
}

/* ---- one method ---- */

static const struct list *list_of(const struct objc_tables *t, uint32_t number) {
    size_t i;
    USPI_FIRST(i, 1, t->count, t->lists[i].first > number);
    return &t->lists[i - 1];
}

/* Builds the name of a method. The caller frees *text. */
static int build_name(const struct objc_tables *t, uint32_t number, usp_addr *start, char **text, size_t *length) {
    const struct list *list = list_of(t, number);
    struct uspi_objc_method method;
    int status = uspi_objc_method(&t->source, &list->list, number - list->first, &method);
    if (status != USP_OK) return status;
    struct uspi_objc_method_name name = {list->owner.class_name, list->owner.category, method.selector,
                                         list->owner.is_meta};
    *start = start_of(t, method.implementation);
    return uspi_objc_format_name(&t->source, &name, text, length);
}

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names,
               struct uspi_symbol_answer *named) {
    char *text;
    size_t length;
    int status = build_name((const struct objc_tables *)tables, number, &named->start, &text, &length);
    if (status != USP_OK) return status;
    named->size = 0;
    named->name = uspi_names_keep(names, text, length);
    free(text);
    return named->name != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Prefers the alphabetically first of methods that share their code, as when linkers fold equal functions. So every
 * host gives the same answer. */
static int prefer(const void *context, uint32_t a, uint32_t b) {
    const uint32_t numbers[2] = {a, b};
    char *texts[2] = {NULL, NULL};
    size_t length;
    usp_addr start;
    int statuses[2];
    for (unsigned i = 0; i < 2; i++) statuses[i] = build_name(context, numbers[i], &start, &texts[i], &length);
    int order = 0;
    if (statuses[0] == USP_OK && statuses[1] == USP_OK) {
        order = strcmp(texts[0], texts[1]);
    } else if (statuses[0] != statuses[1]) {
        order = statuses[0] == USP_OK ? -1 : 1;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (statuses[i] == USP_OK) free(texts[i]);
    }
    return order;
}

static void close_tables(struct uspi_tables *tables) {
    struct objc_tables *t = (struct objc_tables *)tables;
    uspi_objc_source_close(&t->source);
    free(t->lists);
    free(t);
}

int uspi_objc_tables_open(const struct uspi_macho *macho, const struct uspi_pointers *process,
                          struct uspi_tables **tables) {
    struct objc_tables *t = calloc(1, sizeof *t);
    if (t == NULL) return USP_ERROR_NO_MEMORY;
    t->contract = (struct uspi_tables){.gather = gather, .get = get, .prefer = prefer, .close = close_tables};
    int status = uspi_objc_source_open(&t->source, macho, process);
    if (status != USP_OK) {
        free(t);
        return status;
    }
    uint64_t budget = t->source.space.is_loaded ? BUDGET_IN_MEMORY : macho->bytes.size / BYTES_AT_LEAST;
    struct visit visit = {t, budget};
    status = objc_classes_walk(&t->source, &budget, add_list, &visit);
    if (status == USP_OK && t->count == 0) status = USP_ERROR_NOT_FOUND;
    if (status != USP_OK) {
        close_tables(&t->contract);
        return status;
    }
    t->contract.memory = sizeof *t + t->capacity * sizeof *t->lists;
    *tables = &t->contract;
    return USP_OK;
}
