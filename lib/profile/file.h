/* SPDX-License-Identifier: MIT */
/* A profile of pprof or OTLP in memory: its tables, as numbers and positions in the file. file_read.c fills it,
 * file_saved.c reads unspool's own format, file_name.c finds names, file_write.c writes it,
 * file_images.c and file_samples.c make samples of it. */
#ifndef USPI_PROFILE_FILE_H
#define USPI_PROFILE_FILE_H

#include "lib/base/pool.h"
#include "lib/base/protobuf.h"
#include "lib/base/region.h"

#include <unspool/profile_file.h>

/* Field numbers of a format's messages. 0: the format has no such field. */
struct uspi_file_layout {
    uint32_t format; /* enum usp_profile_file_format */
    /* The field of the file whose message has the tables; 0: the file itself has them. */
    uint8_t dictionary;
    uint8_t mappings, locations, functions, strings, attributes, stacks; /* in that message */
    struct {
        uint8_t id, start, limit, offset, path, build_id, has_functions, attributes;
    } mapping;
    struct {
        uint8_t id, mapping, address, lines;
    } location;
    struct {
        uint8_t id, name, system_name, file, line;
    } function;
};

/* Fields of a line, in both formats. */
enum { USPI_LINE_FUNCTION = 1, USPI_LINE_LINE, USPI_LINE_COLUMN };

/* A table of items that begin with their id. Items are in the file's order. */
struct uspi_file_table {
    void *items;
    size_t size; /* of an item */
    size_t count, capacity;
    struct uspi_file_id *by_id; /* sorted; NULL: id i is item i − 1 in pprof, item i in OTLP */
};

struct uspi_file_id {
    uint64_t id;
    uint32_t number; /* of the item */
};

struct uspi_file_mapping {
    uint64_t id;
    uint64_t start, limit, offset;
    struct uspi_span message; /* in the file */
    struct uspi_span path;
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size;
    bool is_other_id; /* it has a build id in a form that is not known: no file can be compared with it */
    bool has_names, has_lines, has_inlined; /* from usp_profile_file_symbolicate */
    uint32_t image;                         /* its number in images_made (file_images.c) */
};

struct uspi_file_function {
    uint64_t id;
    uint64_t name, system_name, file; /* numbers of strings */
    uint64_t line;                    /* where it begins; 0: not known */
};

struct uspi_file_line {
    uint64_t function; /* its number; USPI_NONE: none. While the tables are read, its id */
    uint64_t line, column;
};

struct uspi_file_location {
    uint64_t id, address;
    uint64_t start;                  /* address of the function that holds the code; UINT64_MAX: not known */
    usp_addr pc;                     /* its address in file->images (file_images.c) */
    uint64_t mapping;                /* its number; USPI_NONE: none. While the tables are read, its id */
    uint32_t first_line, line_count; /* the innermost inlined call first */
    bool is_found;                   /* its lines are new */
    uint8_t kind;                    /* enum usp_frame_kind of its frames */
    bool is_thumb;                   /* its code is Thumb */
};

/* A stack of a profile that unspool saved: a frame with its callers. */
struct uspi_saved_node {
    uint32_t caller;   /* its number, which is lower; USPI_NONE: this is the outermost frame */
    uint32_t location; /* USPI_NONE: it stands for frames that were left out, and its caller does not */
};

struct uspi_saved_thread {
    uint64_t id;
    struct uspi_span name, queue;
    bool is_main;
};

struct uspi_saved_sample {
    uint64_t time; /* of day, if that is known; 0: not known */
    uint64_t count, wall, cpu;
    uint32_t thread, node;
};

/* What a profile that unspool saved has besides the tables. */
struct uspi_saved {
    struct uspi_saved_node *nodes;
    struct uspi_saved_thread *threads;
    struct uspi_saved_sample *totals; /* of samples that are not in `line` */
    struct uspi_saved_sample *line;
    size_t node_count, thread_count, total_count, line_count;
    const char *program;
    uint32_t arch;
    int64_t pid;
    uint64_t wall_start, start, length, interval;
};

struct usp_profile_file {
    const struct uspi_file_layout *layout;
    struct uspi_span bytes; /* of the file, decompressed */
    uint8_t *unpacked;      /* owns the bytes; NULL: they are the caller's */
    bool was_packed;
    int damage;
    size_t read;
    struct uspi_file_table mappings, locations, functions;
    size_t known_functions; /* those of the file; later ones are new */
    uint64_t last_id;       /* the largest id of a function */
    struct uspi_file_line *lines;
    size_t line_count, line_capacity;
    /* Strings of the file, stacks and attributes: positions of their fields in `bytes`. */
    uint32_t *strings, *stacks, *attributes;
    size_t string_count, string_capacity, stack_count, stack_capacity, attribute_count, attribute_capacity;
    uint64_t named, found;
    struct uspi_span *added; /* new strings, whose numbers follow those of the file */
    size_t added_count, added_capacity;
    struct uspi_region region; /* their bytes */
    struct uspi_saved *saved;  /* of a profile that unspool saved; otherwise NULL */
    struct uspi_allowance allowance;
    /* Of file_images.c: */
    struct usp_images *images;    /* NULL: not made */
    struct uspi_pool images_made; /* images with mappings */
    struct uspi_pool places;      /* which location is at an offset of an image */
    usp_addr past_all;            /* past all images */
};

/* ---- file.c ---- */

/* Returns the bytes of the field at a position that the tables have. */
struct uspi_span uspi_file_bytes_at(const struct usp_profile_file *file, uint32_t at);

/* Returns a string of the file, or a new one; empty if there is none. */
struct uspi_span uspi_file_string(const struct usp_profile_file *file, uint64_t number);

/* Returns the number of the item with an id; USPI_NONE: none. In OTLP, id 0 is not an item. */
uint32_t uspi_file_find(const struct usp_profile_file *file, const struct uspi_file_table *table, uint64_t id);

static inline struct uspi_file_mapping *uspi_file_mapping(const struct usp_profile_file *file, uint32_t i) {
    return (struct uspi_file_mapping *)file->mappings.items + i;
}

static inline struct uspi_file_function *uspi_file_function(const struct usp_profile_file *file, uint32_t i) {
    return (struct uspi_file_function *)file->functions.items + i;
}

static inline struct uspi_file_location *uspi_file_location(const struct usp_profile_file *file, uint32_t i) {
    return (struct uspi_file_location *)file->locations.items + i;
}

/* The numbers of a repeated field of a message, packed or not. Begin with the message and the field, the rest zero. */
struct uspi_file_numbers {
    struct uspi_span message;
    uint64_t field;
    size_t at;               /* in the message */
    struct uspi_span packed; /* the field that is being read */
    size_t packed_at;
    size_t passed; /* fields that are not one number */
};

/* Gives the next number. Returns false after the last one. */
bool uspi_file_next_number(struct uspi_file_numbers *numbers, uint64_t *value);

/* A key and its value: a label of pprof or an attribute of OTLP. */
struct uspi_file_pair {
    struct uspi_span key, text;
    uint64_t number; /* with an empty text */
};

/* Reads attribute `number` of OTLP. Returns false if there is none. */
bool uspi_file_attribute(const struct usp_profile_file *file, uint64_t number, struct uspi_file_pair *pair);

/* ---- file_read.c ---- */

/* Maximum number of items of a table, several times that of the largest known profiles. Empty messages of two bytes,
 * which OTLP allows, would take far more memory than they have bytes. */
#define USPI_FILE_ITEMS_MAX ((size_t)1 << 22)

/* Adds an item, all zero, to a table; NULL if there are too many or memory is exhausted. */
void *uspi_file_add_item(struct uspi_file_table *table);

/* Reads the tables. file->bytes are set. Returns USP_OK, USP_ERROR_FORMAT if it is neither format, or
 * USP_ERROR_NO_MEMORY. */
int uspi_file_read(struct usp_profile_file *file);

/* Whether the function that holds a location's code has a name. */
bool uspi_file_is_named(const struct usp_profile_file *file, const struct uspi_file_location *location);

/* ---- file_saved.c ---- */

/* Whether a file with these first bytes may be a profile that unspool saved. */
bool uspi_file_may_be_saved(struct uspi_span head);

/* Reads such a profile. file->bytes are set. Returns as uspi_file_read does. */
int uspi_file_read_saved(struct usp_profile_file *file);

void uspi_saved_free(struct uspi_saved *saved);

/* ---- file_images.c ---- */

/* Makes the images, and sets each location's pc. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_file_place(struct usp_profile_file *file);

/* What the file says of a frame by its kind (struct uspi_node) and offset in an image; NULL: nothing. The code of a
 * return address is the call before it, so frames of other kinds at that offset have other code. */
const struct uspi_file_location *uspi_file_location_at(const struct usp_profile_file *file,
                                                       const struct usp_image *image, uint64_t offset, uint32_t kind);

#endif
