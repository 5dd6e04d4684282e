/* SPDX-License-Identifier: MIT */
/* The contract of the readers: one for each shape that reports and logs have. A shape says where in a line or in a JSON
 * object a frame is, what is known of its place, and how an answer is written back. What a frame means beside its
 * neighbours (which image, whether it is a return address), and where names come from, no shape knows.
 *
 * A new shape is a file with a struct uspi_line_shape or uspi_json_shape, and its line in the list in shapes.c. */
#ifndef USPI_READ_H
#define USPI_READ_H

#include "lib/base/json_read.h"
#include "lib/base/text.h"

#include <unspool/report.h>

/* ---- frames ---- */

enum uspi_frame_flags {
    USPI_FRAME_NAMED = 1 << 0,     /* it has a name already, which is kept */
    USPI_FRAME_ADDRESS = 1 << 1,   /* `address` is known */
    USPI_FRAME_OFFSET = 1 << 2,    /* `offset` is known, and what it counts from in `base` */
    USPI_FRAME_INDEX = 1 << 3,     /* `index` is known */
    USPI_FRAME_GUESS = 1 << 4,     /* it looks like a frame only if there is an image of that name */
    USPI_FRAME_CALL_SITE = 1 << 5, /* the place is that of an instruction, not where a call returns to */
    USPI_FRAME_NODE = 1 << 6,      /* a node of a tree of samples: `depth` and `count` are known; roots are outermost */
    USPI_FRAME_LEAF = 1 << 7,      /* a node without others below it: its place is an instruction */
    USPI_FRAME_FLAT = 1 << 8,      /* a node that may stand in a list, where each node is below the one before it */
    USPI_FRAME_LIST = 1 << 9,      /* one of several addresses in a line; each gets a line of its own */
    USPI_FRAME_NAME_OFFSET = 1 << 10, /* `name_offset` is known */
    USPI_FRAME_INLINED = 1 << 11,     /* a call that was inlined in the frame of the next line */
    USPI_FRAME_UNSURE = 1 << 12,  /* a frame only below one of its shape, or if the next line tells its source line */
    USPI_FRAME_NOWHERE = 1 << 13, /* its address lies in no file; it gets no name */
    USPI_FRAME_ONE_LINE = 1 << 14 /* the line is not repeated for inlined calls: the innermost is written */
};

struct uspi_frame {
    const struct uspi_line_shape *shape; /* NULL in JSON */
    unsigned flags;                      /* enum uspi_frame_flags */
    uint32_t base;                       /* enum usp_place_base of `offset` */
    uint32_t depth;                      /* of a node, from its tree's root; only its order counts */
    struct uspi_span replaced;           /* what an answer replaces; empty: it is put there */
    struct uspi_span name;               /* that it has */
    struct uspi_span image;              /* name or path of its image, empty: not known; `before` ends with it if it
                                            stands there */
    struct uspi_span before;             /* what stands in front of the address, where an image may stand behind
                                            something else */
    uint64_t address, offset, index, count;
    uint64_t name_offset;         /* from the beginning of the function that it is named after */
    struct uspi_span file;        /* the source file of a frame that has a name; empty: not known */
    uint32_t line, column;        /* in that file; 0: not known */
    size_t end;                   /* where the line may have another frame; 0: nowhere */
    uint8_t id[USP_BUILD_ID_MAX]; /* of its image */
    size_t id_size;               /* 0: not known */
};

/* ---- images ---- */

enum uspi_module_is {
    USPI_MODULE_NONE,  /* images are listed as a whole */
    USPI_MODULE_TOLD,  /* this is the name and identity of a module; where it lies, other images tell */
    USPI_MODULE_PLACE, /* this is a part of the module of that number, which was listed before */
    USPI_MODULE_RESET  /* the list ends: another process follows */
};

struct uspi_read_image {
    uint64_t first, last;   /* addresses, inclusive; both 0: it is known by name alone */
    struct uspi_span ident; /* its name or identifier, as frames have it */
    struct uspi_span path;
    uint32_t arch;    /* enum usp_arch; 0 unknown */
    uint32_t variant; /* enum usp_variant */
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;       /* 0: not known */
    uint32_t base;        /* enum usp_place_base: what offsets in it count from, */
    uint64_t base_offset; /* and which of them `first` has: of a mapped part of a file, where it begins in the file */
    bool is_scattered;    /* one of a list that goes on through the text, frames between its lines */
    uint32_t module_is;   /* enum uspi_module_is */
    uint64_t module;      /* the number of a module (LLVM's markup) */
};

/* ---- what is said beside frames: for reports only ---- */

enum uspi_heading_kind {
    USPI_HEADING_THREAD, /* frames of a thread follow; or it was said what an earlier one is called */
    USPI_HEADING_STACK,  /* frames of something else follow: `name` says of what */
    USPI_HEADING_FIELD,  /* `field` has a value */
    USPI_HEADING_END     /* what follows belongs to no thread */
};

enum uspi_heading_flags {
    USPI_THREAD_CRASHED = 1 << 0,
    USPI_THREAD_NUMBER = 1 << 1,    /* `number` is known: the report's own count */
    USPI_THREAD_ID = 1 << 2,        /* `id` is known: the system's */
    USPI_THREAD_NAME_ONLY = 1 << 3, /* no frames follow: the heading names the thread of that number, which may come */
    USPI_THREAD_TREE = 1 << 4,      /* a tree of samples follows */
    USPI_THREAD_SAMPLE = 1 << 5     /* a single sample follows: many of a thread make a tree */
};

/* Fields that reports have in common; in the order in which they are shown. */
enum uspi_field {
    USPI_FIELD_PROCESS,
    USPI_FIELD_PROCESS_ID,
    USPI_FIELD_PATH,
    USPI_FIELD_IDENTIFIER,
    USPI_FIELD_VERSION,
    USPI_FIELD_CODE_TYPE,
    USPI_FIELD_PARENT,
    USPI_FIELD_INCIDENT,
    USPI_FIELD_HARDWARE,
    USPI_FIELD_OS_VERSION,
    USPI_FIELD_DATE,
    USPI_FIELD_END_DATE,
    USPI_FIELD_EVENT,
    USPI_FIELD_DURATION,
    USPI_FIELD_EXCEPTION_TYPE,
    USPI_FIELD_EXCEPTION_SUBTYPE,
    USPI_FIELD_EXCEPTION_CODES,
    USPI_FIELD_EXCEPTION_REASON,
    USPI_FIELD_TERMINATION,
    USPI_FIELD_FAULT_ADDRESS,
    USPI_FIELD_VM_REGION,
    USPI_FIELD_TRIGGERED_BY,
    USPI_FIELD_INFORMATION,
    USPI_FIELD_COUNT
};

struct uspi_heading {
    uint32_t kind;  /* enum uspi_heading_kind */
    uint32_t flags; /* enum uspi_heading_flags */
    uint32_t field; /* enum uspi_field */
    uint64_t number, id;
    struct uspi_span name;  /* of the thread, or what the stack is */
    struct uspi_span queue; /* the label of its dispatch queue */
    struct uspi_span value; /* of the field */
};

/* ---- lines of text ---- */

/* Which kinds of bytes a line has: what is asked of a line before its shapes are. */
enum uspi_line_bytes {
    USPI_HAS_PLUS = 1 << 0,    /* + */
    USPI_HAS_HASH = 1 << 1,    /* # */
    USPI_HAS_PAREN = 1 << 2,   /* ( */
    USPI_HAS_BRACKET = 1 << 3, /* [ */
    USPI_HAS_ANGLE = 1 << 4,   /* < */
    USPI_HAS_BRACE = 1 << 5,   /* { */
    USPI_HAS_X = 1 << 6,       /* x, of 0x */
    USPI_HAS_EQUAL = 1 << 7,   /* = */
    USPI_HAS_ALL = 0xff
};

/* What a line begins with, behind blanks: one of these. */
enum uspi_line_begins {
    USPI_BEGINS_0X = 1 << 0,
    USPI_BEGINS_DIGIT = 1 << 1,   /* another decimal digit */
    USPI_BEGINS_LETTER = 1 << 2,  /* a … f */
    USPI_BEGINS_HASH = 1 << 3,    /* # */
    USPI_BEGINS_BRACKET = 1 << 4, /* [ */
    USPI_BEGINS_MARK = 1 << 5,    /* what draws trees: * + ! : | */
    USPI_BEGINS_M = 1 << 6,
    USPI_BEGINS_OTHER = 1 << 7,
    USPI_BEGINS_ALL = 0xff
};

struct uspi_line_shape {
    const char *name;      /* as documents and counts have it */
    unsigned frame_bytes;  /* enum uspi_line_bytes: all that every frame of this shape has */
    unsigned frame_begins; /* enum uspi_line_begins: what its frames' lines may begin with; 0: anything */
    unsigned image_bytes;  /* the same for lines that tell images */
    unsigned image_begins;
    /* The first frame in the line at or behind `from`, which is 0 or the `end` of the frame before. *frame is cleared
     * before; its spans point into the line. NULL: the shape says nothing but images. */
    bool (*frame)(struct uspi_span line, size_t from, struct uspi_frame *frame);
    /* Whether the line tells the source line of the frame above it, which is of this shape: frame->file and the numbers.
     * May be NULL. */
    bool (*source)(struct uspi_span line, struct uspi_frame *frame);
    bool (*image)(struct uspi_span line, struct uspi_read_image *image);  /* *image is cleared before. May be NULL */
    bool (*heading)(struct uspi_span line, struct uspi_heading *heading); /* *heading is cleared before. May be NULL */
    /* Writes source frame `which` of an answer in place of frame->replaced. NULL: "name + 31 (file:line)". */
    void (*put)(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer, uint32_t which);
};

/* The list; it ends with NULL. Earlier shapes are asked first. */
extern const struct uspi_line_shape *const uspi_line_shapes[];

/* ---- JSON documents ---- */

/* Members that objects of reports have; which key each has stands in one table in json_slots.c. */
enum uspi_slot {
    USPI_SLOT_ADDRESS,
    USPI_SLOT_BASE,
    USPI_SLOT_BINARY_IMAGES,
    USPI_SLOT_BINARY_IMAGES_APPLE,
    USPI_SLOT_BINARY_NAME,
    USPI_SLOT_BINARY_UUID,
    USPI_SLOT_BUILD_ID,
    USPI_SLOT_CALL_STACK_TREE,
    USPI_SLOT_DEBUG_META,
    USPI_SLOT_EXACT,
    USPI_SLOT_FRAMES,
    USPI_SLOT_FUNCTION,
    USPI_SLOT_IMAGE,
    USPI_SLOT_IMAGE_ADDR,
    USPI_SLOT_IMAGE_INDEX,
    USPI_SLOT_IMAGE_MAP,
    USPI_SLOT_IMAGE_OFFSET,
    USPI_SLOT_INSTRUCTION_ADDR,
    USPI_SLOT_KIND,
    USPI_SLOT_LOAD_ADDRESS,
    USPI_SLOT_OBJECT_ADDR,
    USPI_SLOT_OBJECT_NAME,
    USPI_SLOT_OBJECT_UUID,
    USPI_SLOT_OFFSET,
    USPI_SLOT_OFFSET_INTO_SYMBOL,
    USPI_SLOT_PACKAGE,
    USPI_SLOT_SAMPLE_COUNT,
    USPI_SLOT_SUB_FRAMES,
    USPI_SLOT_SYMBOL,
    USPI_SLOT_SYMBOL_ADDR,
    USPI_SLOT_SYMBOL_LOCATION,
    USPI_SLOT_SYMBOL_NAME,
    USPI_SLOT_SYMBOL_NAME_APPLE,
    USPI_SLOT_TEXT_OFFSET,
    USPI_SLOT_USED_IMAGES,
    USPI_SLOT_UUID,
    USPI_SLOT_COUNT
};
#define USPI_SLOT_BIT(slot) (UINT64_C(1) << (slot))

/* An object, or an array that is a frame, and where it stands. */
struct uspi_json_object {
    const struct uspi_json_document *document;
    size_t node;
    size_t list, holder;             /* the array that holds it, the object that has that array; USPI_JSON_NONE: none */
    uint32_t depth;                  /* of objects and arrays around it */
    size_t table;                    /* the list of images that counts here; SIZE_MAX: none */
    struct uspi_span list_key;       /* of the array that holds it; empty: none does */
    bool is_first, is_last;          /* in that array */
    bool is_innermost_first;         /* of MetricKit's frames: what stands below one calls it */
    bool is_stack;                   /* of MetricKit's frames: each has no more than one below it */
    uint64_t has;                    /* USPI_SLOT_BIT of each member that it has, */
    uint32_t slots[USPI_SLOT_COUNT]; /* and their nodes */
};

/* A frame of a document, and where in it answers go. */
struct uspi_json_frame {
    struct uspi_frame frame; /* its spans may point into the document, escapes and all; `replaced` is not used */
    const struct uspi_json_shape *shape;
    size_t node;                       /* the object or array that it is */
    size_t anchor;                     /* the member behind which members are added */
    size_t name_member, offset_member; /* that hold no name and its offset, and are replaced; USPI_JSON_NONE: added */
    uint64_t image_index;              /* in the list of images, with has_image_index */
    bool has_image_index;
    bool is_hex; /* numbers are strings in hexadecimal */
};

struct uspi_json_shape {
    const char *name;
    bool is_array;                 /* its frames are arrays, otherwise objects */
    uint64_t needs;                /* USPI_SLOT_BIT of all members that every frame of this shape has */
    uint64_t reports;              /* USPI_SLOT_BIT of members by which an object is a report of its own */
    struct uspi_span list_keys[2]; /* its frames stand in arrays with one of these keys; empty: anywhere */
    /* Whether an object or array is a frame. *frame is cleared before. */
    bool (*frame)(const struct uspi_json_object *object, struct uspi_json_frame *frame);
    /* The keys under which a frame has its name; its offset in the function, or, with offset_is_start, the function's
     * address; its source file and line. In a frame that is an array the name and the offset are one more element. */
    struct uspi_span name_key, offset_key, file_key, line_key;
    bool offset_is_start;
    /* The key of the object in a frame that has file and line; empty: the frame has them itself. */
    struct uspi_span source_key;
    bool has_bare_files; /* source files are written without their folders */
    /* Inlined calls are frames in front of the one that they were inlined in, with this key and true, and copies of the members
     * that say where it is. Empty: that one has an array "inlined" of objects with its own keys. */
    struct uspi_span inlined_key, place_keys[2];
    /* The key of the list of images, and how many objects above the list its frames are: 1, the object that has the
     * list; 2, the one around that. Empty: none. */
    struct uspi_span images_key;
    unsigned images_above;
    /* An element of that list. *image is cleared before; its spans point into the document. */
    bool (*image)(const struct uspi_json_object *object, struct uspi_read_image *image);
};

/* The list; it ends with NULL. */
extern const struct uspi_json_shape *const uspi_json_shapes[];

#endif
