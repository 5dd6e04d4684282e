/* SPDX-License-Identifier: MIT */
/* Finds frames and images in JSON documents. See documents.h. */
#include "lib/report/read/documents.h"

#include "lib/base/array.h"
#include "lib/report/read/apple.h"
#include "lib/report/read/line.h"

/* The part of the text in which a list of images is valid, as positions in bytes. */
struct uspi_scope {
    size_t begin, end;
    size_t table;
    size_t outer; /* the scope around it; SIZE_MAX: none */
};

/* Number of a list's images whose names are looked for by their ids; a hostile text may list any number. */
#define NAMES_MAX 4096

void uspi_documents_clear(struct uspi_documents *documents) {
    uspi_json_clear(&documents->document);
    uspi_log_tables_clear(&documents->tables);
    free(documents->scopes);
    free(documents->levels);
    uspi_edits_clear(&documents->edits);
    free(documents->scratch);
    uspi_gathered_clear(&documents->gathered);
    *documents = (struct uspi_documents){.lines = documents->lines, .is_record = documents->is_record};
}

/* ---- strings ---- */

static bool has_escapes(struct uspi_span text) {
    return text.length > 0 && memchr(text.bytes, '\\', text.length) != NULL;
}

/* Makes room for a string with resolved escapes. Returns false when memory is exhausted. */
static bool reserve_scratch(struct uspi_documents *documents, size_t size) {
    void *grown = uspi_array_reserve(documents->scratch, &documents->scratch_capacity, size, 1);
    if (grown == NULL) return false;
    documents->scratch = grown;
    return true;
}

/* Resolves escapes in two strings of an image or a frame. If either has escapes, both then point into the scratch
 * buffer. Returns false when memory is exhausted. */
static bool resolve(struct uspi_documents *documents, struct uspi_span *a, struct uspi_span *b) {
    if (!has_escapes(*a) && !has_escapes(*b)) return true;
    if (!reserve_scratch(documents, a->length + b->length + 1)) return false;
    char *at = documents->scratch;
    *a = (struct uspi_span){at, uspi_json_decode(*a, at)};
    at += a->length;
    *b = (struct uspi_span){at, uspi_json_decode(*b, at)};
    return true;
}

/* ---- lists of images ---- */

static bool add_scope(struct uspi_documents *documents, size_t begin, size_t end, size_t table) {
    void *grown = uspi_array_reserve(documents->scopes, &documents->scope_capacity, documents->scope_count + 1,
                                     sizeof *documents->scopes);
    if (grown == NULL) return false;
    documents->scopes = grown;
    documents->scopes[documents->scope_count++] = (struct uspi_scope){begin, end, table, SIZE_MAX};
    return true;
}

/* Whether an object or array is cut off by the end of the text. */
static bool is_unclosed(const struct uspi_json_document *document, size_t node) {
    return document->nodes[node].kind <= USPI_JSON_ARRAY && document->nodes[node].length == 0;
}

/* Reads an element of a list of images. The lists of several shapes have the same key: the first shape is `shape`. */
static bool read_image(const struct uspi_json_object *object, const struct uspi_json_shape *shape,
                       struct uspi_read_image *image) {
    for (size_t i = 0; uspi_json_shapes[i] != NULL; i++) {
        const struct uspi_json_shape *other = uspi_json_shapes[i];
        const bool is_alike = other == shape || (other->images_above == shape->images_above &&
                                                 uspi_span_is(other->images_key, shape->images_key));
        if (!is_alike) continue;
        *image = (struct uspi_read_image){.first = 0};
        if (other->image(object, image)) return true;
    }
    return false;
}

static int read_images(struct uspi_documents *documents, const struct uspi_json_shape *shape, size_t list,
                       size_t around) {
    const struct uspi_json_document *document = &documents->document;
    const struct uspi_json_node *nodes = document->nodes;
    const size_t before = documents->tables.count;
    for (size_t i = list + 1; i < nodes[list].next; i = nodes[i].next) {
        struct uspi_json_object object = {.document = document, .node = i};
        struct uspi_read_image image = {.first = 0};
        /* Frames refer to elements by index, so elements that are not images are added too. */
        uspi_slots_read(&object);
        if (is_unclosed(document, i) || !read_image(&object, shape, &image))
            image = (struct uspi_read_image){.first = 0};
        if (!resolve(documents, &image.path, &image.ident)) return USP_ERROR_NO_MEMORY;
        if (!uspi_log_tables_add(&documents->tables, nodes[i].from, &image)) return USP_ERROR_NO_MEMORY;
    }
    uspi_log_tables_end(&documents->tables);
    if (!uspi_log_tables_settle(&documents->tables, true)) return USP_ERROR_NO_MEMORY;
    if (documents->tables.count == before) return USP_OK;
    size_t begin = nodes[around].from, end = begin + nodes[around].length;
    if (is_unclosed(document, around)) end = document->text.length;
    return add_scope(documents, begin, end, documents->tables.count - 1) ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* ---- walking through a document ---- */

struct walk {
    struct uspi_documents *documents;
    size_t depth;
    size_t scope;      /* the innermost scope around the node; SIZE_MAX: none */
    size_t next_scope; /* the first one that begins after the node */
    uspi_take_json_frame take;
    void *context;
};

static bool push_level(struct walk *walk, size_t node) {
    struct uspi_documents *documents = walk->documents;
    void *grown =
        uspi_array_reserve(documents->levels, &documents->level_capacity, walk->depth + 1, sizeof *documents->levels);
    if (grown == NULL) return false;
    documents->levels = grown;
    struct uspi_level *level = &documents->levels[walk->depth];
    *level = (struct uspi_level){.node = (uint32_t)node};
    if (walk->depth > 0) {
        level->is_in_crash = documents->levels[walk->depth - 1].is_in_crash;
        level->is_innermost_first = documents->levels[walk->depth - 1].is_innermost_first;
        level->is_stack = documents->levels[walk->depth - 1].is_stack;
    }
    const struct uspi_span key = uspi_json_key(&documents->document, node);
    if (uspi_metrickit_is_crash(key)) level->is_in_crash = true;
    if (uspi_metrickit_is_root_list(key)) {
        bool is_chain;
        level->is_innermost_first = uspi_metrickit_order(&documents->document, node, &is_chain) || level->is_in_crash;
        level->is_stack = level->is_in_crash || (level->is_innermost_first && is_chain);
    }
    walk->depth++;
    return true;
}

static bool has_key(const struct uspi_json_document *document, size_t object, struct uspi_span key) {
    return key.length > 0 && uspi_json_member(document, object, key) != USPI_JSON_NONE;
}

bool uspi_documents_is_cut(const struct uspi_documents *documents, const struct usp_reader_counts *before,
                           bool *is_readable) {
    const struct usp_reader_counts *counts = documents->lines->counts;
    const uint64_t frames = counts->frames - before->frames, unknown = counts->no_image - before->no_image;
    /* Frames with a name count as named, whether their image is known or not. */
    const uint64_t named = counts->named - before->named;
    *is_readable = unknown == 0 ? frames > 0 : frames > unknown + named;
    return documents->document.is_cut;
}

void uspi_documents_find_report(struct uspi_documents *documents, size_t depth, size_t *report, size_t *outer) {
    const struct uspi_json_document *document = &documents->document;
    size_t known = depth;
    while (known > 0 && !documents->levels[known - 1].is_report_known) known--;
    for (; known < depth; known++) {
        struct uspi_level *level = &documents->levels[known];
        level->report = known > 0 ? level[-1].report : 0;
        level->outer = known > 0 ? level[-1].outer : 0;
        level->is_report_known = true;
        for (size_t i = 0; uspi_json_shapes[i] != NULL; i++) {
            const struct uspi_json_shape *shape = uspi_json_shapes[i];
            if (has_key(document, level->node, shape->report_key)) level->report = (uint32_t)known + 1;
            for (size_t pair = 0; pair < sizeof shape->outer_keys / sizeof *shape->outer_keys; pair++) {
                const struct uspi_span *keys = shape->outer_keys[pair];
                if (!has_key(document, level->node, keys[0]) || !has_key(document, level->node, keys[1])) continue;
                level->outer = (uint32_t)known + 1;
            }
        }
    }
    *report = depth > 0 ? documents->levels[depth - 1].report : 0;
    *outer = depth > 0 ? documents->levels[depth - 1].outer : 0;
}

/* Leaves the objects and arrays that end before a node. */
static void pop_levels(struct walk *walk, size_t node) {
    const struct uspi_documents *documents = walk->documents;
    while (walk->depth > 0 && documents->document.nodes[documents->levels[walk->depth - 1].node].next <= node)
        walk->depth--;
}

/* Returns the shape whose list of images an array is, or NULL. *around becomes the object that contains the frames of
 * that list. */
static const struct uspi_json_shape *find_list(const struct walk *walk, size_t node, size_t *around) {
    const struct uspi_documents *documents = walk->documents;
    struct uspi_span key = uspi_json_key(&documents->document, node);
    if (key.length < 6) return NULL;
    for (size_t i = 0; uspi_json_shapes[i] != NULL; i++) {
        const struct uspi_json_shape *shape = uspi_json_shapes[i];
        if (shape->images_key.length == 0 || !uspi_span_is(key, shape->images_key)) continue;
        if (documents->document.nodes[node].kind != USPI_JSON_ARRAY && !shape->has_image_object) continue;
        if (walk->depth < shape->images_above) continue;
        *around = documents->levels[walk->depth - shape->images_above].node;
        /* Of two shapes with the key "images", one has its list in "debug_meta", the other in the report itself. */
        if (shape->images_above == 2) {
            size_t holder = documents->levels[walk->depth - 1].node;
            if (!uspi_span_is(uspi_json_key(&documents->document, holder), USPI_SPAN("debug_meta"))) continue;
        }
        return shape;
    }
    return NULL;
}

static int compare_scopes(const void *a, const void *b) {
    const struct uspi_scope *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->table < y->table ? -1 : x->table > y->table;
}

static int find_lists(struct walk *walk) {
    struct uspi_documents *documents = walk->documents;
    const struct uspi_json_node *nodes = documents->document.nodes;
    size_t around;
    int status = USP_OK;
    for (size_t i = 0; status == USP_OK && i < documents->document.count; i++) {
        if (nodes[i].kind > USPI_JSON_ARRAY) continue;
        pop_levels(walk, i);
        const struct uspi_json_shape *shape = nodes[i].key_length > 0 ? find_list(walk, i, &around) : NULL;
        if (shape != NULL) status = read_images(documents, shape, i, around);
        if (!push_level(walk, i)) return USP_ERROR_NO_MEMORY;
    }
    if (documents->scope_count > 0) {
        qsort(documents->scopes, documents->scope_count, sizeof *documents->scopes, compare_scopes);
    }
    walk->depth = 0;
    return status;
}

/* Goes on to a position in the text, and finds the innermost scope around it. Scopes are nested or disjoint. */
static void come_to(struct walk *walk, size_t position) {
    struct uspi_scope *scopes = walk->documents->scopes;
    for (;;) {
        const bool begins =
            walk->next_scope < walk->documents->scope_count && scopes[walk->next_scope].begin <= position;
        const size_t here = begins ? scopes[walk->next_scope].begin : position;
        while (walk->scope != SIZE_MAX && scopes[walk->scope].end <= here) walk->scope = scopes[walk->scope].outer;
        if (!begins) return;
        scopes[walk->next_scope].outer = walk->scope;
        walk->scope = walk->next_scope++;
    }
}

static size_t table_of(const struct walk *walk) {
    return walk->scope != SIZE_MAX ? walk->documents->scopes[walk->scope].table : SIZE_MAX;
}

/* ---- frames ---- */

/* Whether a frame with a name is a call that was inlined into the frame after it. */
static bool is_inlined(const struct uspi_json_object *object, const struct uspi_json_frame *frame) {
    if ((frame->frame.flags & USPI_FRAME_NAMED) == 0 || frame->shape->inlined_key.length == 0) return false;
    const size_t member = uspi_json_member(object->document, object->node, frame->shape->inlined_key);
    return member != USPI_JSON_NONE && uspi_span_is(uspi_json_text(object->document, member), USPI_SPAN("true"));
}

static const struct uspi_json_shape *find_shape(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    bool is_array = object->document->nodes[object->node].kind == USPI_JSON_ARRAY;
    for (size_t i = 0; uspi_json_shapes[i] != NULL; i++) {
        const struct uspi_json_shape *shape = uspi_json_shapes[i];
        if (shape->frame == NULL || shape->is_array != is_array || (object->has & shape->needs) != shape->needs)
            continue;
        if (shape->list_keys[0].length > 0 && !uspi_span_is(object->list_key, shape->list_keys[0]) &&
            !uspi_span_is(object->list_key, shape->list_keys[1])) {
            continue;
        }
        *frame = (struct uspi_json_frame){.node = object->node, .anchor = object->node};
        frame->name_member = frame->offset_member = USPI_JSON_NONE;
        frame->shape = shape;
        if (!shape->frame(object, frame)) continue;
        if (is_inlined(object, frame)) frame->frame.flags |= USPI_FRAME_INLINED;
        return shape;
    }
    return NULL;
}

static bool locate_in_table(const struct uspi_documents *documents, size_t table, const struct uspi_json_frame *frame,
                            struct uspi_located *located) {
    const struct uspi_text_tables *tables = &documents->tables;
    const struct uspi_image_entry *image = NULL;
    struct usp_place *place = &located->place;
    *place = (struct usp_place){.base = frame->frame.base, .offset = frame->frame.offset};
    if (table != SIZE_MAX && frame->has_image_index) {
        image = uspi_log_tables_image(tables, table, frame->image_index);
        /* An address outside of all images has an entry without a name and without a UUID. */
        if (image == NULL || (image->id_size == 0 && image->name.length == 0 && image->ident.length == 0)) return false;
        const uint64_t from = image->counts_from_0 ? 0 : image->first - image->base_offset;
        const uint64_t address = from + frame->frame.offset;
        uspi_place_in_image(place, image, address);
        if (image->counts_from_0) place->flags |= USP_PLACE_GUESS;
        if (image->first == 0) return true;
        located->frame.address = address;
        located->frame.flags |= USPI_FRAME_ADDRESS;
        return true;
    }
    if (frame->frame.id_size > 0 && (frame->frame.flags & USPI_FRAME_OFFSET) != 0) {
        return uspi_locate(NULL, &frame->frame, place);
    }
    if (table != SIZE_MAX && (frame->frame.flags & USPI_FRAME_ADDRESS) != 0) {
        for (unsigned strict = 2; image == NULL && strict-- > 0;) {
            image = uspi_log_tables_find(tables, table, &frame->frame, strict != 0);
        }
    }
    if (image != NULL) {
        uspi_place_in_image(place, image, frame->frame.address);
        return true;
    }
    return uspi_locate(documents->lines->given, &frame->frame, place);
}

/* ---- frames of the document ---- */

/* Looks up a frame's name. The name that it has is compared without its escapes. */
static int name_of_frame(struct uspi_documents *documents, struct uspi_located *located, struct usp_answer *answer) {
    const struct uspi_span raw = located->frame.name;
    if ((located->frame.flags & USPI_FRAME_NAMED) == 0 || !has_escapes(raw)) {
        return uspi_log_lines_ask(documents->lines, located, answer);
    }
    char *decoded = malloc(raw.length);
    if (decoded == NULL) return USP_ERROR_NO_MEMORY;
    located->frame.name = (struct uspi_span){decoded, uspi_json_decode(raw, decoded)};
    const int status = uspi_log_lines_ask(documents->lines, located, answer);
    located->frame.name = raw;
    free(decoded);
    return status;
}

/* Names the image of a frame that has only its id, by the list of images. */
static void take_image_name(const struct uspi_documents *documents, size_t table, struct uspi_frame *frame) {
    const struct uspi_image_entry *image;
    if (table == SIZE_MAX || frame->image.length > 0 || frame->id_size == 0) return;
    for (uint64_t n = 0; n < NAMES_MAX && (image = uspi_log_tables_image(&documents->tables, table, n)) != NULL; n++) {
        if (image->id_size != frame->id_size || memcmp(image->id, frame->id, frame->id_size) != 0) continue;
        frame->image = image->ident;
        return;
    }
}

static int take_frame(struct walk *walk, const struct uspi_json_object *object, struct uspi_json_frame *frame,
                      struct uspi_level *array) {
    struct uspi_documents *documents = walk->documents;
    struct uspi_located located = {.frame = frame->frame};
    struct usp_answer answer;
    struct uspi_span none = {"", 0};
    take_image_name(documents, object->table, &located.frame);
    if (!resolve(documents, &located.frame.image, &none)) return USP_ERROR_NO_MEMORY;
    frame->frame.image = located.frame.image;
    located.is_located = locate_in_table(documents, object->table, frame, &located);
    if (located.is_located) {
        struct uspi_span image = {located.place.image, located.place.image_length};
        if (image.length > 0 && uspi_span_is(frame->frame.name, image))
            located.frame.flags &= ~(unsigned)USPI_FRAME_NAMED;
        bool is_interrupted = array != NULL && array->trampoline != 0 && array->trampoline + 1 == array->elements;
        if ((frame->frame.flags & USPI_FRAME_CALL_SITE) != 0 || is_interrupted) located.place.flags |= USP_PLACE_EXACT;
    }
    /* An element cannot be replaced, and has no place for a line. */
    const bool is_array = documents->document.nodes[frame->node].kind == USPI_JSON_ARRAY;
    if (is_array || uspi_json_has_source(&documents->document, frame)) located.frame.flags |= USPI_FRAME_LINED;
    int status = name_of_frame(documents, &located, &answer);
    if (status != USP_OK) return status;
    frame->frame.flags = (frame->frame.flags & ~(unsigned)USPI_FRAME_NAMED) | (located.frame.flags & USPI_FRAME_NAMED);
    documents->lines->counts->format = frame->shape->name;
    bool is_trampoline = (located.frame.flags & USPI_FRAME_NAMED) != 0 ? uspi_is_trampoline(located.frame.name)
                                                                       : (answer.flags & USP_ANSWER_TRAMPOLINE) != 0;
    if (array != NULL) array->trampoline = is_trampoline ? array->elements : 0;
    if (walk->take != NULL) return walk->take(walk->context, object, frame, &located, &answer);
    if (answer.count > 0) return uspi_edits_add_frame(&documents->edits, &documents->document, frame, &answer);
    if ((answer.flags & USP_ANSWER_LINE) == 0) return USP_OK;
    return uspi_edits_add_line(&documents->edits, &documents->document, frame, &answer);
}

/* ---- texts in strings ---- */

/* Whether a string may contain a frame: only if it contains "0x", which few strings do. */
static bool may_have_frames(struct uspi_span text) {
    const char *x = text.length >= 12 ? memchr(text.bytes + 1, 'x', text.length - 1) : NULL;
    while (x != NULL && x[-1] != '0') {
        size_t left = (size_t)(text.bytes + text.length - x) - 1;
        x = left > 0 ? memchr(x + 1, 'x', left) : NULL;
    }
    return x != NULL;
}

/* Returns the end of the line that begins at `at`: the position of the escape "\n", or the end of the text. *next
 * becomes the position after it. */
static size_t end_of_line(struct uspi_span text, size_t at, size_t *next) {
    for (; at + 1 < text.length; at++) {
        if (text.bytes[at] != '\\') continue;
        if (text.bytes[at + 1] == 'n') {
            *next = at + 2;
            return at;
        }
        at++;
    }
    *next = text.length;
    return text.length;
}

/* Gives a line of a string with resolved escapes. It is in the scratch buffer if it had escapes. Returns false when
 * memory is exhausted. */
static bool line_of(struct uspi_documents *documents, struct uspi_span text, size_t from, size_t to,
                    struct uspi_span *line) {
    *line = uspi_span_part(text, from, to);
    if (!has_escapes(*line)) return true;
    if (!reserve_scratch(documents, line->length + 1)) return false;
    *line = (struct uspi_span){documents->scratch, uspi_json_decode(*line, documents->scratch)};
    return true;
}

/* A line of a string. */
struct text_line {
    struct uspi_span raw;       /* as in the document, with escapes */
    struct uspi_line_here here; /* with resolved escapes */
};

static int write_text_line(struct uspi_documents *documents, struct uspi_line_reader *lines,
                           const struct text_line *line) {
    struct uspi_edit_text edit;
    enum uspi_line_is is;
    char buffer[1024];
    struct uspi_text out = uspi_text_through(uspi_gathered_append, &documents->gathered, buffer, sizeof buffer);
    documents->gathered.size = 0;
    int status = uspi_log_lines_write(lines, &line->here, &out, &is);
    if (status == USP_OK) status = uspi_text_flush(&out);
    if (status != USP_OK || is != USPI_LINE_WRITTEN) return status;
    /* Escapes the line as a whole, because a character may be split between two pieces. */
    struct uspi_text *written = uspi_edit_begin(&documents->edits, &edit);
    uspi_put_json_text(written, uspi_gathered_span(&documents->gathered));
    size_t at = (size_t)(line->raw.bytes - documents->document.text.bytes);
    return uspi_edit_end(&documents->edits, &edit, at, line->raw.length);
}

/* Passes the frames of a string to the walk's `take`. `object` describes the string. */
struct text_taker {
    const struct walk *walk;
    struct uspi_json_object object;
};

static int take_text_frame(void *context, const struct uspi_located *located, const struct usp_answer *answer) {
    const struct text_taker *taker = context;
    const struct uspi_json_frame frame = {.frame = located->frame, .node = taker->object.node};
    return taker->walk->take(taker->walk->context, &taker->object, &frame, located, answer);
}

static int read_text_line(const struct walk *walk, struct uspi_line_reader *lines, const struct text_line *line,
                          size_t node) {
    const struct uspi_documents *documents = walk->documents;
    const struct uspi_level *around = walk->depth > 0 ? &documents->levels[walk->depth - 1] : NULL;
    struct text_taker taker = {.walk = walk};
    if (walk->take == NULL) return write_text_line(walk->documents, lines, line);
    taker.object.document = &documents->document;
    taker.object.node = node;
    /* The strings of an array, of a line each, are one stack. */
    size_t next;
    const struct uspi_span text = uspi_json_text(&documents->document, node);
    const bool is_line = end_of_line(text, 0, &next) == text.length;
    const bool is_element = around != NULL && documents->document.nodes[around->node].kind == USPI_JSON_ARRAY;
    taker.object.list = is_line && is_element ? around->node : node;
    taker.object.depth = (uint32_t)walk->depth;
    taker.object.table = table_of(walk);
    const bool is_member = around != NULL && documents->document.nodes[around->node].kind == USPI_JSON_OBJECT;
    taker.object.holder = is_member ? around->node : USPI_JSON_NONE;
    taker.object.list_key = uspi_json_key(&documents->document, node);
    if (taker.object.list_key.length == 0 && around != NULL) {
        taker.object.list_key = uspi_json_key(&documents->document, around->node);
    }
    return uspi_log_lines_read(lines, &line->here, take_text_frame, &taker);
}

static int read_text(struct walk *walk, size_t node) {
    struct uspi_documents *documents = walk->documents;
    struct uspi_span text = uspi_json_text(&documents->document, node);
    struct text_line line = {.here.is_last = true};
    struct uspi_line_reader lines = *documents->lines;
    const char *format = lines.counts->format;
    int status = USP_OK;
    size_t next;
    lines.tables = (struct uspi_text_tables){.tables = NULL};
    if (table_of(walk) != SIZE_MAX) {
        lines.given = &documents->tables;
        lines.given_table = table_of(walk);
    }
    uspi_log_lines_reset(&lines);
    for (size_t at = 0; at < text.length; at = next) {
        size_t end = end_of_line(text, at, &next);
        bool is_learned =
            line_of(documents, text, at, end, &line.here.text) && uspi_log_lines_learn(&lines, at, line.here.text);
        if (!is_learned) status = USP_ERROR_NO_MEMORY;
        if (status != USP_OK) break;
    }
    if (status == USP_OK && !uspi_log_lines_rewind(&lines, text.length)) status = USP_ERROR_NO_MEMORY;
    for (size_t at = 0; status == USP_OK && at < text.length; at = next) {
        size_t end = end_of_line(text, at, &next), after_next;
        line.here.following = (struct uspi_span){"", 0};
        /* Nodes of trees need the next line. Its escapes may stay, because only its depth counts. */
        if (next < text.length) line.here.following = uspi_span_part(text, next, end_of_line(text, next, &after_next));
        line.here.position = at;
        line.raw = uspi_span_part(text, at, end);
        if (!line_of(documents, text, at, end, &line.here.text)) status = USP_ERROR_NO_MEMORY;
        line.here.kind = uspi_line_kind_of(line.here.text);
        if (status == USP_OK) status = read_text_line(walk, &lines, &line, node);
    }
    uspi_log_lines_clear(&lines);
    /* The document's own format takes precedence over the formats of its strings. */
    if (format[0] != '\0') lines.counts->format = format;
    return status;
}

/* ---- documents ---- */

static int visit(struct walk *walk, size_t node) {
    struct uspi_documents *documents = walk->documents;
    const struct uspi_json_node *nodes = documents->document.nodes;
    struct uspi_level *around = walk->depth > 0 ? &documents->levels[walk->depth - 1] : NULL;
    const bool is_element = around != NULL && nodes[around->node].kind == USPI_JSON_ARRAY;
    struct uspi_json_frame frame;
    if (is_element) around->elements++;
    if (nodes[node].kind == USPI_JSON_STRING) {
        return may_have_frames(uspi_json_text(&documents->document, node)) ? read_text(walk, node) : USP_OK;
    }
    if (nodes[node].kind > USPI_JSON_ARRAY) return USP_OK;
    struct uspi_json_object object;
    object.document = &documents->document;
    object.node = node;
    object.depth = (uint32_t)walk->depth;
    object.table = table_of(walk);
    object.list = is_element ? around->node : USPI_JSON_NONE;
    object.holder = is_element && walk->depth > 1 ? documents->levels[walk->depth - 2].node : USPI_JSON_NONE;
    object.list_key = is_element ? uspi_json_key(&documents->document, around->node) : (struct uspi_span){"", 0};
    object.number = is_element ? around->elements : 0;
    object.is_first = is_element && around->elements == 1;
    object.is_last = is_element && nodes[node].next == nodes[around->node].next;
    object.is_innermost_first = around != NULL && around->is_innermost_first;
    object.is_stack = around != NULL && around->is_stack;
    uspi_slots_read(&object);
    if (is_unclosed(&documents->document, node) || find_shape(&object, &frame) == NULL) return USP_OK;
    return take_frame(walk, &object, &frame, is_element ? around : NULL);
}

int uspi_documents_read(struct uspi_documents *documents, uspi_take_json_frame take, void *context) {
    struct walk walk = {.documents = documents, .scope = SIZE_MAX, .take = take, .context = context};
    const struct usp_reader_counts before = *documents->lines->counts;
    documents->scope_count = 0;
    uspi_edits_reset(&documents->edits);
    uspi_log_tables_clear(&documents->tables);
    documents->document.takes_cut = !documents->is_record;
    int status = uspi_json_read(&documents->document);
    if (status == USP_OK) status = find_lists(&walk);
    /* The member with the counts of an earlier run will be replaced, so it is not searched for frames. */
    size_t counts = USPI_JSON_NONE;
    if (status == USP_OK && documents->is_record) {
        counts = uspi_json_member(&documents->document, 0, USPI_SPAN("unspool"));
    }
    for (size_t i = 0; status == USP_OK && i < documents->document.count; i++) {
        const struct uspi_json_node *node = &documents->document.nodes[i];
        if (i == counts) {
            i = node->next - 1;
            continue;
        }
        pop_levels(&walk, i);
        come_to(&walk, node->from);
        status = visit(&walk, i);
        if (status == USP_OK && node->kind <= USPI_JSON_ARRAY && !push_level(&walk, i)) status = USP_ERROR_NO_MEMORY;
    }
    if (status == USP_OK && documents->is_record && take == NULL) {
        status =
            uspi_edits_add_counts(&documents->edits, &documents->document, &before, documents->lines->counts, counts);
    }
    uspi_edits_sort(&documents->edits);
    return status;
}
