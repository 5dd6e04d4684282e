/* SPDX-License-Identifier: MIT */
/* The interface of the readers, one for each shape of reports and logs. A shape finds a frame in a line or a JSON
 * object, reads its place, and writes an answer. It does not know what follows from neighbouring frames (the image,
 * whether it is a return address), nor where names come from.
 *
 * To add a shape of lines, add a file with a struct uspi_line_shape, its declaration to shapes.h, and an entry to the
 * list in shapes.c. To add a shape of JSON, add a struct uspi_json_shape and an entry to the list in shapes.h. */
#ifndef USPI_REPORT_READ_READ_H
#define USPI_REPORT_READ_READ_H

#include "lib/base/json_read.h"
#include "lib/base/text.h"

#include <unspool/report.h>

/* ---- frames ---- */

enum uspi_frame_flags {
    USPI_FRAME_NAMED = 1 << 0,     /* it already has a name */
    USPI_FRAME_ADDRESS = 1 << 1,   /* `address` is known */
    USPI_FRAME_OFFSET = 1 << 2,    /* `offset` is known, and `base` says what it counts from */
    USPI_FRAME_INDEX = 1 << 3,     /* `index` is known */
    USPI_FRAME_GUESS = 1 << 4,     /* it is a frame only if there is an image of that name */
    USPI_FRAME_CALL_SITE = 1 << 5, /* the place is that of an instruction, not a return address */
    USPI_FRAME_NODE = 1 << 6,      /* a node of a tree of samples: `depth` and `count` are known; roots are outermost */
    USPI_FRAME_LEAF = 1 << 7,      /* a node without children: its place is an instruction */
    /* A node that may be in a list in which each node is the child of the previous one. */
    USPI_FRAME_FLAT = 1 << 8,
    USPI_FRAME_LIST = 1 << 9,         /* one of several addresses in a line; each is written on a line of its own */
    USPI_FRAME_NAME_OFFSET = 1 << 10, /* `name_offset` is known */
    USPI_FRAME_INLINED = 1 << 11,     /* a call that was inlined into the next line's frame */
    USPI_FRAME_UNSURE = 1 << 12,      /* a frame only below one of its shape, or if the next line has its source line */
    USPI_FRAME_NOWHERE = 1 << 13,     /* its address is in no file; it gets no name */
    USPI_FRAME_ONE_LINE = 1 << 14,    /* the line is not repeated for inlined calls; only the innermost is written */
    USPI_FRAME_RETURN = 1 << 15,      /* the address is a return address, also that of a stack's first frame */
    USPI_FRAME_LINED = 1 << 16,       /* it has a name and a source line */
    /* As USPI_FRAME_RETURN, but below a heading of a thread, whose first frame is an instruction. */
    USPI_FRAME_CALL_STACK = 1 << 17,
    USPI_FRAME_REPEATED = 1 << 18, /* one of several frames in a line, whose columns are repeated for inlined calls */
    /* It has no function's name, but the text counts from the symbol `name` too: `name_offset` is known. */
    USPI_FRAME_FROM_SYMBOL = 1 << 19
};

struct uspi_frame {
    const struct uspi_line_shape *shape; /* NULL in JSON */
    unsigned flags;                      /* enum uspi_frame_flags */
    uint32_t base;                       /* enum usp_place_base of `offset` */
    uint32_t depth;                      /* of a node, from the root of its tree; only the order of values matters */
    /* The text that an answer replaces; empty: the answer is inserted there. Of a frame with a name it includes the
     * name, and the offset if that is directly after it; otherwise the frame stays as it is. */
    struct uspi_span replaced;
    struct uspi_span name; /* the frame's name */
    /* Name or path of its image; empty: not known. If it is directly before the address, `before` ends with it. */
    struct uspi_span image;
    struct uspi_span before; /* Text before the address, if an image may be in it after something else. */
    uint64_t address, offset, index, count;
    uint64_t name_offset;         /* from the beginning of the named function */
    uint32_t arch;                /* enum usp_arch of its image; 0: the line does not state it */
    struct uspi_span file;        /* source file of a frame with a name; empty: not known */
    uint32_t line, column;        /* in that file; 0: not known */
    size_t end;                   /* where the search for the line's next frame begins; 0: there is none */
    uint8_t id[USP_BUILD_ID_MAX]; /* id of its image */
    size_t id_size;               /* 0: not known */
};

/* ---- images ---- */

enum uspi_module_is {
    USPI_MODULE_NONE,  /* an image of its own */
    USPI_MODULE_TOLD,  /* name and id of a module; other entries say where it is loaded */
    USPI_MODULE_PLACE, /* a part of the module with that number, which was listed before */
    USPI_MODULE_RESET  /* the list ends, and another process follows */
};

struct uspi_read_image {
    uint64_t first, last;   /* addresses, inclusive; both 0: only its name is known */
    struct uspi_span ident; /* name or identifier, as frames refer to it */
    struct uspi_span path;
    uint32_t arch;    /* enum usp_arch; 0 unknown */
    uint32_t variant; /* enum usp_variant */
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;       /* 0: not known */
    uint32_t base;        /* enum usp_place_base: what offsets in it count from */
    uint64_t base_offset; /* the offset at `first`: for a mapped part of a file, its offset in the file */
    bool is_scattered;    /* an entry of a list that continues through the text, with frames between its lines */
    uint32_t module_is;   /* enum uspi_module_is */
    uint64_t module;      /* number of a module (LLVM's markup) */
    bool counts_from_0;   /* offsets in it are addresses */
};

/* ---- data besides frames, for reports only ---- */

enum uspi_heading_kind {
    USPI_HEADING_THREAD, /* frames of a thread follow, or an earlier thread gets a name */
    USPI_HEADING_STACK,  /* frames of another stack follow; `name` says of what */
    USPI_HEADING_FIELD,  /* `field` has a value */
    USPI_HEADING_STATE,  /* the registers of the thread with that number follow */
    USPI_HEADING_END     /* the following lines belong to no thread */
};

enum uspi_heading_flags {
    USPI_THREAD_CRASHED = 1 << 0,
    USPI_THREAD_NUMBER = 1 << 1, /* `number` is known: the report's own numbering */
    USPI_THREAD_ID = 1 << 2,     /* `id` is known: the system's thread id */
    /* No frames follow: the heading names the thread with that number, which may come later. */
    USPI_THREAD_NAME_ONLY = 1 << 3,
    USPI_THREAD_TREE = 1 << 4,   /* a tree of samples follows */
    USPI_THREAD_SAMPLE = 1 << 5, /* a single sample follows; several of a thread make a tree */
    /* A program logged the exception, whose name is `name`. In the text of another field the line is that text. */
    USPI_FIELD_IS_LOGGED = 1 << 6,
    USPI_FIELD_IS_REPEATED = 1 << 7, /* it may say what a logged exception above says */
    USPI_FIELD_IS_OPEN = 1 << 8,     /* the value goes on in the next lines, up to one that ends with a quote */
    /* The stack is that of an exception, whose reason may be between the heading and the frames. */
    USPI_STACK_HAS_REASON = 1 << 9
};

/* Fields that reports share, in the order of display. */
enum uspi_field {
    USPI_FIELD_PROCESS,
    USPI_FIELD_PROCESS_ID,
    USPI_FIELD_LARGEST_PROCESS, /* of the processes that a report without stacks lists */
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
    USPI_FIELD_ACTION, /* what the system did when a limit of resources was exceeded */
    USPI_FIELD_USAGE,  /* what was used, and that limit */
    USPI_FIELD_DURATION,
    USPI_FIELD_EXCEPTION_TYPE,
    USPI_FIELD_EXCEPTION_SUBTYPE,
    USPI_FIELD_EXCEPTION_CODES,
    USPI_FIELD_EXCEPTION_NOTE,
    USPI_FIELD_EXCEPTION_REASON,
    USPI_FIELD_TERMINATION,
    USPI_FIELD_TERMINATING_PROCESS,
    USPI_FIELD_FAULT_ADDRESS,
    USPI_FIELD_VM_REGION,
    USPI_FIELD_TRIGGERED_BY,
    USPI_FIELD_INFORMATION,
    USPI_FIELD_KERNEL_TRIAGE, /* what the kernel has recorded about the failure */
    USPI_FIELD_COUNT
};

struct uspi_heading {
    uint32_t kind;  /* enum uspi_heading_kind */
    uint32_t flags; /* enum uspi_heading_flags */
    uint32_t field; /* enum uspi_field */
    uint64_t number, id;
    struct uspi_span name;  /* name of the thread, of the stack, or of a logged exception */
    struct uspi_span queue; /* label of the thread's dispatch queue */
    struct uspi_span stack; /* of a logged exception whose stack follows: the description of that stack */
    struct uspi_span value; /* of the field; the heading of a stack may have one, too */
};

/* ---- lines of text ---- */

/* Kinds of bytes in a line. They are checked before the line's shapes. */
enum uspi_line_bytes {
    USPI_HAS_PLUS = 1 << 0,    /* + */
    USPI_HAS_HASH = 1 << 1,    /* # */
    USPI_HAS_PAREN = 1 << 2,   /* ( */
    USPI_HAS_BRACKET = 1 << 3, /* [ */
    USPI_HAS_ANGLE = 1 << 4,   /* < */
    USPI_HAS_BRACE = 1 << 5,   /* { */
    USPI_HAS_X = 1 << 6,       /* x, of 0x */
    USPI_HAS_EQUAL = 1 << 7,   /* = */
    USPI_HAS_ALL = 0xff,
    /* & or a backslash, or the first byte of a blank that does not break: the line may be quoted. No shape needs it. */
    USPI_HAS_QUOTE = 1 << 8
};

/* How a line begins after blanks: one of these. */
enum uspi_line_begins {
    USPI_BEGINS_0X = 1 << 0,
    USPI_BEGINS_DIGIT = 1 << 1,   /* another decimal digit */
    USPI_BEGINS_LETTER = 1 << 2,  /* a … f */
    USPI_BEGINS_HASH = 1 << 3,    /* # */
    USPI_BEGINS_BRACKET = 1 << 4, /* [ */
    USPI_BEGINS_MARK = 1 << 5,    /* a character that draws trees: * + ! : | */
    USPI_BEGINS_M = 1 << 6,
    USPI_BEGINS_OTHER = 1 << 7,
    USPI_BEGINS_ALL = 0xff
};

struct uspi_line_shape {
    const char *name;      /* as in documents and counts */
    unsigned frame_bytes;  /* enum uspi_line_bytes: bytes that every frame of this shape has */
    unsigned frame_begins; /* enum uspi_line_begins: possible beginnings of its frames' lines; 0: any */
    unsigned image_bytes;  /* the same for lines with images */
    unsigned image_begins;
    /* Finds the first frame in the line at or after `from`, which is 0 or the previous frame's `end`. *frame was
     * cleared; its spans point into the line. NULL: the shape has only images. */
    bool (*frame)(struct uspi_span line, size_t from, struct uspi_frame *frame);
    /* Returns whether the line has the source line of the frame above it, which has this shape, and sets frame->file
     * and the numbers. May be NULL. */
    bool (*source)(struct uspi_span line, struct uspi_frame *frame);
    bool (*image)(struct uspi_span line, struct uspi_read_image *image);  /* *image was cleared before. May be NULL */
    bool (*heading)(struct uspi_span line, struct uspi_heading *heading); /* *heading was cleared before. May be NULL */
    /* Writes source frame `which` of an answer instead of frame->replaced. NULL: "name + 31 (file:line)". */
    void (*put)(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer, uint32_t which);
    bool takes_line;  /* a frame without a name is still recognized with " (file:line)" after frame->replaced */
    bool names_above; /* the line directly above the first frame of a stack is the thread's name */
};

/* The list of shapes, NULL-terminated. Earlier shapes take precedence. */
extern const struct uspi_line_shape *const uspi_line_shapes[];

/* ---- JSON documents ---- */

/* Members of frames that are found while an object is read for the first time, each with its key. This is the only list
 * of them: what follows from it are enum uspi_slot, and the table of keys and their lengths in json_slots.c. A shape
 * whose frames are in arrays with known keys needs none of these: uspi_member_text and uspi_member_uint find any
 * member. */
#define USPI_SLOTS(X)                                                                                                  \
    X(ADDRESS, "address")                                                                                              \
    X(BASE, "base")                                                                                                    \
    X(BINARY_NAME, "binaryName")                                                                                       \
    X(BINARY_UUID, "binaryUUID")                                                                                       \
    X(BUILD_ID, "build_id")                                                                                            \
    X(EXACT, "exact")                                                                                                  \
    X(FRAMES, "frames")                                                                                                \
    X(FUNCTION, "function")                                                                                            \
    X(IMAGE, "image")                                                                                                  \
    X(IMAGE_ADDR, "image_addr")                                                                                        \
    X(IMAGE_INDEX, "imageIndex")                                                                                       \
    X(IMAGE_MAP, "imageMap")                                                                                           \
    X(IMAGE_OFFSET, "imageOffset")                                                                                     \
    X(INSTRUCTION_ADDR, "instruction_addr")                                                                            \
    X(KIND, "kind")                                                                                                    \
    X(LOAD_ADDRESS, "load_address")                                                                                    \
    X(OBJECT_ADDR, "object_addr")                                                                                      \
    X(OBJECT_NAME, "object_name")                                                                                      \
    X(OBJECT_UUID, "object_uuid")                                                                                      \
    X(OFFSET, "offset")                                                                                                \
    X(TEXT_OFFSET, "offsetIntoBinaryTextSegment")                                                                      \
    X(OFFSET_INTO_SYMBOL, "offsetIntoSymbol")                                                                          \
    X(PACKAGE, "package")                                                                                              \
    X(SAMPLE_COUNT, "sampleCount")                                                                                     \
    X(SUB_FRAMES, "subFrames")                                                                                         \
    X(SYMBOL, "symbol")                                                                                                \
    X(SYMBOL_ADDR, "symbol_addr")                                                                                      \
    X(SYMBOL_LOCATION, "symbolLocation")                                                                               \
    X(SYMBOL_NAME, "symbol_name")                                                                                      \
    X(SYMBOL_NAME_APPLE, "symbolName")                                                                                 \
    X(SYMBOL_OFFSET, "symbol_offset")                                                                                  \
    X(UUID, "uuid")

enum uspi_slot {
#define USPI_SLOT_VALUE(slot, key) USPI_SLOT_##slot,
    USPI_SLOTS(USPI_SLOT_VALUE)
#undef USPI_SLOT_VALUE
        USPI_SLOT_COUNT
};
#define USPI_SLOT_BIT(slot) (UINT64_C(1) << (slot))

/* An object, or an array that is a frame, and its position. */
struct uspi_json_object {
    const struct uspi_json_document *document;
    size_t node;
    /* The array that contains it, and the object that has this array; USPI_JSON_NONE: none. */
    size_t list, holder;
    uint32_t depth;                  /* number of objects and arrays around it */
    size_t table;                    /* index of the list of images to use; SIZE_MAX: none */
    struct uspi_span list_key;       /* key of the array that contains it; empty: none */
    uint32_t number;                 /* in the array that contains it, counted from 1 */
    bool is_first, is_last;          /* in the array that contains it */
    bool is_innermost_first;         /* MetricKit: a frame's children are its callers */
    bool is_stack;                   /* MetricKit: each frame has at most one child */
    uint64_t has;                    /* USPI_SLOT_BIT of each member that it has */
    uint32_t slots[USPI_SLOT_COUNT]; /* nodes of these members */
};

/* A frame in a document, and where answers go. */
struct uspi_json_frame {
    struct uspi_frame frame; /* its spans may point into the document and include escapes; `replaced` is not used */
    const struct uspi_json_shape *shape;
    size_t node;   /* the object or array that is the frame */
    size_t anchor; /* the member after which members are added */
    /* Members without a name and offset, whose values are replaced; USPI_JSON_NONE: members are added. */
    size_t name_member, offset_member;
    uint64_t image_index; /* in the list of images; valid with has_image_index */
    bool has_image_index;
    bool is_hex;    /* numbers are hexadecimal strings */
    bool is_string; /* numbers are decimal strings */
};

/* What a number in a report means. Strings mean themselves. */
enum uspi_json_means {
    USPI_MEANS_ITSELF,
    USPI_MEANS_EXCEPTION,   /* a Mach exception, which is written by its name; 0: none */
    USPI_MEANS_SIGNAL,      /* a signal on Apple's systems, which is written by its name; 0: none */
    USPI_MEANS_EXIT_CODE,   /* why the system ended a process */
    USPI_MEANS_TIME,        /* seconds or microseconds since 1970 */
    USPI_MEANS_NANOSECONDS, /* a duration; with `more`, the time that has passed since that */
    USPI_MEANS_KIND         /* KSCrash: the kind of report, unless it is a crash with an exception or a signal */
};

/* Where a report has a field. A path leads from the report's object: keys separated by dots. [] means the first element
 * of an array, a * at the end all strings inside the value, at any depth; | divides alternatives, of which the first
 * that exists counts. The value at `more` is written after the field's value, in parentheses. Of several entries for
 * one field, the first with a value counts. */
struct uspi_json_field {
    enum uspi_field field;
    const char *path, *more;
    const char *unless; /* a path that must have no value; NULL: none */
    const char *says;   /* if the value is true, a number but 0 or a string: what is written instead; before a string */
    enum uspi_json_means means, more_means;
    bool is_id; /* `more` is a process id, which is written in brackets */
};

/* A key in a report, and what it means for the frames below it. */
struct uspi_json_label {
    struct uspi_span key, label;
};

/* A format of JSON: all that is known about it. Frames and images are read for every purpose, the members from
 * `report_key` on only by `unspool report`. */
struct uspi_json_shape {
    const char *name;
    bool is_array;                 /* its frames are arrays instead of objects */
    uint64_t needs;                /* USPI_SLOT_BIT of the members that every frame of this shape has */
    struct uspi_span list_keys[2]; /* keys of the arrays that may contain its frames; empty: any */
    /* Texts, with their quotation marks, that reports of this shape contain, besides those that reader.c looks for in
     * all texts. Without any of them, text that is not valid JSON is read as lines. */
    struct uspi_span marks[2];
    /* Returns whether an object or array is a frame. *frame was cleared before. NULL: frames are lines in strings. */
    bool (*frame)(const struct uspi_json_object *object, struct uspi_json_frame *frame);
    /* A frame's keys for its name; for its offset in the function or, with offset_is_start, the function's address;
     * and for its source file and line. In a frame that is an array, name and offset are appended as one element. */
    struct uspi_span name_key, offset_key, file_key, line_key;
    bool offset_is_start;
    /* The key of a frame's object with file and line; empty: they are in the frame itself. */
    struct uspi_span source_key;
    bool has_bare_files;          /* source files are written without their folders */
    struct uspi_span inlines_key; /* of the array of inlined calls; empty: "inlined" */
    /* Inlined calls are written as frames before the one that they were inlined into. They have this key with the
     * value true, and copies of the members that give the place. Empty: the frame gets an array of objects with its
     * keys. */
    struct uspi_span inlined_key, place_keys[2];
    /* The key of the list of images, and how many objects above the list the frames are: 1: in the object that has the
     * list; 2: in the object around that. Empty: none. */
    struct uspi_span images_key;
    unsigned images_above;
    bool has_image_object; /* the list may be an object, whose members are the images */
    /* Reads an element of that list. *image was cleared before; its spans point into the document. */
    bool (*image)(const struct uspi_json_object *object, struct uspi_read_image *image);

    /* An object with this member is a report of its own; empty: a document is a report. */
    struct uspi_span report_key;
    /* An object with both members of a pair contains reports, and has outer_fields of all of them. */
    struct uspi_span outer_keys[2][2];
    const struct uspi_json_field *fields, *outer_fields; /* the last one has no path. May be NULL */
    /* Keys around a report that say what happened; keys around an array of frames, or around the object that has it,
     * that say what these are the stack of, instead of a thread. The last one has no key. May be NULL. */
    const struct uspi_json_label *events, *stacks;
    /* If the object that has an array of frames has this member, an array of objects, the frames are not a stack: each
     * object is a sample, and its array "frames" has the numbers of its frames, the innermost first. Empty: none. */
    struct uspi_span samples_key;
    /* Keys of an object that has an array of frames, besides those that model_json.c knows: the name of the thread, its
     * id, whether it crashed. Empty: none. */
    struct uspi_span thread_name_key, id_key, crashed_key;
    /* Keys of the object two levels around such an object, if that is a process: its name and its id. The report has
     * threads of many processes, which their ids distinguish. Empty: none. */
    struct uspi_span owner_keys[2];
    struct uspi_span kernel_key; /* of an array of frames that are the kernel's; empty: none */
    /* Returns whether the frames of such an object repeat those of another one, so that a report leaves them out. May
     * be NULL. */
    bool (*is_copy)(const struct uspi_json_document *document, size_t holder);
};

/* The most outer_fields of a shape. */
#define USPI_OUTER_FIELDS_MAX 8

/* The list of shapes, NULL-terminated. */
extern const struct uspi_json_shape *const uspi_json_shapes[];

#endif
