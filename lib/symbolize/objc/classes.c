/* SPDX-License-Identifier: MIT */
/* See classes.h. */
#include "lib/symbolize/objc/classes.h"

#include "lib/symbolize/objc/lists.h"

#include <string.h>

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

int uspi_objc_classes_walk(const struct uspi_objc_source *source, uint64_t *budget, uspi_objc_visit visit,
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
