/* SPDX-License-Identifier: MIT */
/* Implements `unspool symbolize` for addresses: reads words, and writes names in the lines of atos(1), or as JSON. */
#include "lib/base/source.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/log_input.h"
#include "tools/log_search.h"
#include "tools/symbolize.h"
#include "tools/text.h"

#include <unspool/lines.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maximum number of source frames of an address; of more inlined calls the outermost are cut. */
#define FRAMES 256

/* The text after a name, which names the image; made again if the next address is in another image. */
struct image_text {
    const char *path;
    char *text;
};

struct session {
    const struct address_options *options;
    struct image_choice image; /* of the options; its path may be replaced, and its base read in another way */
    char *found_path;          /* the file in a bundle, owned; NULL: the path is that of the options */
    bool is_settled;           /* how numbers are read was decided */
    bool reads_hex;            /* addresses are hexadecimal, also without a digit above 9 */
    uint64_t asked, fell;      /* addresses so far, and those in an image */
    struct image_text image_text;
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    struct usp_demangler *demangler;
    struct looked_up looked_up;
};

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static const char *image_text(struct image_text *kept, const char *path) {
    static const char before[] = " (in ", after[] = ")";
    const char *name = last_part(path);
    if (kept->path == path) return kept->text;
    int length = usp_format_escaped(NULL, 0, USP_ESCAPE_TERMINAL, name, strlen(name));
    char *text = length >= 0 ? malloc((size_t)length + sizeof before + sizeof after) : NULL;
    /* Without memory the line lacks its image. */
    if (text == NULL) return "";
    memcpy(text, before, sizeof before);
    char *at = text + sizeof before - 1;
    usp_format_escaped(at, (size_t)length + 1, USP_ESCAPE_TERMINAL, name, strlen(name));
    memcpy(at + length, after, sizeof after);
    free(kept->text);
    *kept = (struct image_text){path, text};
    return text;
}

/* Returns the function that holds the address, as debug information names it where the symbol table does not. */
static struct usp_symbol function_of(const struct usp_lines *lines) {
    const struct usp_source_frame *own = lines->count > 0 ? &lines->frames[lines->count - 1] : NULL;
    struct usp_symbol symbol = lines->symbol;
    if (own != NULL && own->function != NULL && own->start != 0 && own->named_by == USP_STRATEGY_DEBUG_INFO) {
        symbol.name = own->function;
        symbol.offset = own->address - own->start;
        symbol.strategy = own->named_by;
    }
    return symbol;
}

/* Puts a source frame like atos: with the line, or if that is not known, with the offset. */
static void put_frame(struct session *session, struct uspi_text *text, const struct usp_lines *lines, uint32_t i) {
    const struct usp_source_frame *frame = &lines->frames[i];
    const char *name = frame->function != NULL ? usp_demangle(session->demangler, frame->function) : "???";
    uspi_put_harmless(text, uspi_span_of(name), "");
    /* Generated code is outside all images. */
    if (lines->symbol.image_path != NULL) {
        uspi_put_string(text, image_text(&session->image_text, lines->symbol.image_path));
    }
    if (uspi_has_source(frame)) {
        uspi_put_source(text, frame, session->options->line_flags);
    } else if (i + 1 == lines->count) {
        uspi_put_string(text, " + ");
        uspi_put_decimal(text, function_of(lines).offset, 0);
    }
    uspi_put(text, "\n", 1);
}

/* Receives the names of the functions that share the code at an address. */
struct aliases {
    struct session *session;
    const char *shown;      /* the one that the answer names */
    struct uspi_text *text; /* where lines are written; NULL: nowhere */
    struct uspi_json *json; /* where strings are written; NULL: nowhere */
};

/* A usp_name_visitor. */
static int put_alias(void *context, const char *name) {
    const struct aliases *aliases = context;
    if (aliases->shown != NULL && strcmp(name, aliases->shown) == 0) return 0;
    name = usp_demangle(aliases->session->demangler, name);
    if (aliases->json != NULL) uspi_json_string(aliases->json, NULL, name);
    if (aliases->text == NULL) return 0;
    uspi_put_string(aliases->text, "    alias ");
    uspi_put_harmless(aliases->text, uspi_span_of(name), "");
    uspi_put(aliases->text, "\n", 1);
    return 0;
}

static bool are_folded(const struct usp_lines *lines) {
    return lines->count > 0 && (lines->frames[lines->count - 1].flags & USP_SOURCE_FOLDED) != 0;
}

static void visit_aliases(const struct usp_lines *lines, usp_addr address, struct aliases *aliases) {
    aliases->shown = lines->frames[lines->count - 1].function;
    usp_symbolizer_visit_names(aliases->session->symbolizer, address, put_alias, aliases);
}

static void put_lines(struct session *session, const char *word, usp_addr address, const struct usp_lines *lines) {
    char buffer[TEXT_ROOM];
    struct uspi_text text = uspi_text_through(write_to_file, stdout, buffer, sizeof buffer);
    if (lines->count == 0) {
        uspi_put_harmless(&text, uspi_span_of(word), "");
        uspi_put(&text, "\n", 1);
    }
    const uint32_t first = session->options->inlined || lines->count == 0 ? 0 : lines->count - 1;
    for (uint32_t i = first; i < lines->count; i++) put_frame(session, &text, lines, i);
    if (session->options->aliases && are_folded(lines)) {
        visit_aliases(lines, address, &(struct aliases){.session = session, .text = &text});
    }
    uspi_text_flush(&text);
}

static void put_json_inlined(const struct session *session, struct uspi_json *json, const struct usp_lines *lines) {
    if (lines->count < 2) return;
    uspi_json_begin_array(json, "inlined");
    for (uint32_t i = 0; i + 1 < lines->count; i++) {
        const struct usp_source_frame *frame = &lines->frames[i];
        uspi_json_begin_object(json, NULL);
        if (frame->function != NULL) {
            uspi_json_string(json, "symbol", usp_demangle(session->demangler, frame->function));
        }
        uspi_json_source(json, frame);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_json_function(struct session *session, struct uspi_json *json, usp_addr address,
                              const struct usp_lines *lines) {
    const struct usp_symbol symbol = function_of(lines);
    if (symbol.name == NULL) return;
    const char *name = usp_demangle(session->demangler, symbol.name);
    uspi_json_string(json, "symbol", name);
    if (strcmp(name, symbol.name) != 0) uspi_json_string(json, "mangled", symbol.name);
    uspi_json_number(json, "symbol_offset", symbol.offset);
    uspi_json_string(json, "named_by", usp_strategy_string(symbol.strategy));
    if (!are_folded(lines)) return;
    uspi_json_begin_array(json, "aliases");
    visit_aliases(lines, address, &(struct aliases){.session = session, .json = json});
    uspi_json_end_array(json);
}

static void put_json(struct session *session, const char *word, usp_addr address, const struct usp_lines *lines) {
    const struct usp_symbol *symbol = &lines->symbol;
    char buffer[TEXT_ROOM];
    struct uspi_text text = uspi_text_through(write_to_file, stdout, buffer, sizeof buffer);
    struct uspi_json json = {.out = &text, .flat = 1};
    uspi_json_begin_object(&json, NULL);
    uspi_json_string(&json, "input", word);
    if (symbol->image_path != NULL || symbol->name != NULL) uspi_json_address(&json, "address", address);
    if (symbol->image_path != NULL) {
        const struct usp_image *image = usp_images_find(session->images, address);
        uspi_json_string(&json, "image_path", symbol->image_path);
        uspi_json_build_id(&json, image != NULL && (image->flags & USP_IMAGE_MACHO) != 0, symbol->build_id,
                           symbol->build_id_size);
        uspi_json_address(&json, "image_offset", address - symbol->image_load);
    }
    put_json_function(session, &json, address, lines);
    /* Code of no function has lines, too: padding, and what is written in assembly language. */
    if (lines->count > 0 && lines->frames[lines->count - 1].file != NULL) {
        uspi_json_source(&json, &lines->frames[lines->count - 1]);
    } else if (symbol->name != NULL && symbol->source_file != NULL) {
        uspi_json_string(&json, "source_file", symbol->source_file);
    }
    put_json_inlined(session, &json, lines);
    uspi_json_end_object(&json);
    uspi_text_flush(&text);
}

/* ---- how numbers are read ---- */

static int create_symbolizer(const struct address_options *options, struct session *session) {
    struct usp_symbolizer_options names;
    usp_symbolizer_options_init(&names);
    names.process = options->process;
    char *store = use_line_options(&options->lines, &names);
    int status = usp_symbolizer_create(session->images, &names, &session->symbolizer);
    free(store);
    return status;
}

static bool read_word(const struct session *session, const char *word, uint64_t *address) {
    return session->reads_hex ? parse_hex(word, address) : parse_address(word, address);
}

/* Whether any of the words is an address in an image. */
static bool any_falls(const struct session *session, const struct usp_images *images, const char *const *words,
                      size_t count) {
    uint64_t address;
    for (size_t i = 0; i < count; i++) {
        if (read_word(session, words[i], &address) && usp_images_find(images, address) != NULL) return true;
    }
    return false;
}

static void close_symbolizer(struct session *session) {
    looked_up_clear(&session->looked_up);
    usp_symbolizer_free(session->symbolizer);
    usp_images_free(session->images);
    session->symbolizer = NULL;
    session->images = NULL;
}

/* Tries the load address as a decimal number. Returns false, and changes nothing, if it is not one or if no word is
 * in the image then. */
static bool try_decimal(struct session *session, const char *const *words, size_t count, int *status) {
    struct image_choice image = session->image;
    struct usp_images *images;
    if (image.path == NULL) return false;
    if (!parse_number(image.base_text, UINT64_MAX, &image.base) || image.base == session->image.base) return false;
    if (choose_image(&image, &images) != EXIT_ALL_WELL) return false;
    if (!any_falls(session, images, words, count)) {
        usp_images_free(images);
        return false;
    }
    close_symbolizer(session);
    session->image = image;
    session->images = images;
    *status = create_symbolizer(session->options, session);
    if (*status == USP_OK) looked_up_create(&session->looked_up, images);
    return true;
}

/* Decides how numbers are read, by the first words. As for atos, -l is hexadecimal, and an address without 0x and
 * letters is decimal. If no address is in the image then, the base is tried as decimal, or else the addresses as
 * hexadecimal. What puts an address into the image is used, with a message. Returns false when memory is exhausted. */
static bool settle(struct session *session, const char *const *words, size_t count) {
    const struct image_choice *image = &session->image;
    int status = USP_OK;
    if (session->is_settled) return true;
    session->is_settled = true;
    if (image->place == IMAGE_LINKED || image->base_text == NULL) return true;
    if (any_falls(session, session->images, words, count)) return true;
    if (try_decimal(session, words, count, &status)) {
        complain("-%c %s is read as a decimal number: as a hexadecimal one, no address is in the image",
                 image->place == IMAGE_SLID ? 's' : 'l', image->base_text);
        if (status != USP_OK) complain("%s", usp_status_string(status));
        return status == USP_OK;
    }
    session->reads_hex = true;
    if (any_falls(session, session->images, words, count)) {
        complain("addresses are read as hexadecimal numbers: as decimal ones, none is in the image");
    } else {
        session->reads_hex = false;
        /* The next word may decide. */
        session->is_settled = count != 1;
    }
    return true;
}

/* Says where the image is if no address was in it. */
static void complain_of_base(const struct session *session) {
    if (session->asked == 0 || session->fell > 0 || session->options->process != 0) return;
    if (session->image.path == NULL) {
        complain("no address is in an image of the shared cache%s",
                 session->image.place == IMAGE_SLID ? " with this slide" : "; -s gives the slide");
        return;
    }
    const struct usp_image *image = usp_images_get(session->images, 0);
    const bool is_given = session->image.place != IMAGE_LINKED;
    complain("%s: no address is in the image, which %s at 0x%" PRIx64 " - 0x%" PRIx64 "%s", image->path,
             is_given ? "the given base puts" : "was linked", image->load_address, image->end - 1,
             is_given ? "" : "; -l gives the load address, --offset says that addresses count from the image");
}

/* Answers one word. Returns false if memory is exhausted. */
static bool answer(struct session *session, const char *word) {
    struct usp_source_frame frames[FRAMES];
    struct usp_lines lines;
    uint64_t address = 0;
    if (!settle(session, &word, 1)) return false;
    usp_lines_init(&lines, frames, FRAMES);
    /* As in logs: people ask about call sites, where line 0 says nothing. */
    lines.flags = USP_LINES_FILL;
    const bool is_address = read_word(session, word, &address);
    session->asked += is_address;
    if (is_address && usp_symbolize_lines(session->symbolizer, address, &lines) == USP_ERROR_NO_MEMORY) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return false;
    }
    if (lines.count > FRAMES) lines.count = FRAMES;
    if (lines.symbol.image_path != NULL) looked_up_add(&session->looked_up, address);
    session->fell += lines.symbol.image_path != NULL;
    if (session->options->json) {
        put_json(session, word, address, &lines);
    } else {
        put_lines(session, word, address, &lines);
    }
    return true;
}

/* ---- reading words ---- */

struct input {
    char *bytes;
    size_t used, capacity;
    size_t seen; /* number of bytes known to contain no blank */
};

#define INPUT_ROOM ((size_t)1 << 16)

static bool is_blank(char character) { return strchr(" \t\r\n\v\f", character) != NULL; }

/* Answers the complete words in `input`, at the end of the input also the last one, and removes them. */
static bool answer_words(struct session *session, struct input *input, bool is_end) {
    size_t begin = 0;
    for (size_t i = input->seen; i < input->used; i++) {
        if (!is_blank(input->bytes[i])) continue;
        input->bytes[i] = '\0';
        if (i > begin && !answer(session, input->bytes + begin)) return false;
        begin = i + 1;
    }
    if (is_end && begin < input->used) {
        input->bytes[input->used] = '\0';
        return answer(session, input->bytes + begin);
    }
    input->used -= begin;
    input->seen = input->used;
    memmove(input->bytes, input->bytes + begin, input->used);
    return true;
}

/* Makes room for more bytes and a terminating NUL. */
static bool make_room(struct input *input) {
    if (input->capacity - input->used > INPUT_ROOM) return true;
    size_t capacity = input->capacity == 0 ? 2 * INPUT_ROOM : 2 * input->capacity;
    char *grown = realloc(input->bytes, capacity);
    if (grown == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return false;
    }
    input->bytes = grown;
    input->capacity = capacity;
    return true;
}

/* Answers words from a file or a pipe. A program that asks through a pipe may wait for an answer before the next
 * question, so output is flushed before more is read. */
static int answer_input(struct session *session, int descriptor, const char *name) {
    struct input input = {0};
    ssize_t got = 1;
    bool goes_on = true;
    while (goes_on && got > 0) {
        goes_on = fflush(stdout) == 0 && make_room(&input);
        if (!goes_on) break;
        (void)log_skip_hole(descriptor);
        do got = read(descriptor, input.bytes + input.used, INPUT_ROOM);
        while (got < 0 && errno == EINTR);
        if (got < 0) {
            complain("%s: %s", name, strerror(errno));
            break;
        }
        input.used += (size_t)got;
        goes_on = answer_words(session, &input, got == 0);
    }
    free(input.bytes);
    if (got < 0) return EXIT_NO_TARGET;
    return goes_on ? EXIT_ALL_WELL : EXIT_FAILED;
}

static int answer_file(struct session *session, const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        complain("%s: %s", path, strerror(errno));
        return EXIT_NO_TARGET;
    }
    int result = answer_input(session, descriptor, path);
    close(descriptor);
    return result;
}

static int answer_all(struct session *session) {
    const struct address_options *options = session->options;
    if (options->input != NULL) return answer_file(session, options->input);
    if (options->address_count == 0) return answer_input(session, STDIN_FILENO, "standard input");
    if (!settle(session, options->addresses, options->address_count)) return EXIT_FAILED;
    session->is_settled = true;
    for (size_t i = 0; i < options->address_count; i++) {
        if (!answer(session, options->addresses[i])) return EXIT_FAILED;
    }
    return EXIT_ALL_WELL;
}

/* ---- images and symbolizer ---- */

static bool is_folder(const char *path) {
    struct stat file;
    return stat(path, &file) == 0 && S_ISDIR(file.st_mode);
}

/* Whether a path has the name of a bundle in which files are searched. Any other folder may be large, and is refused as
 * not a file. */
static bool is_bundle(const char *path) {
    static const char *const endings[] = {".app", ".appex", ".bundle", ".framework", ".xcarchive", ".xcframework"};
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/') length--;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t n = strlen(endings[i]);
        if (length > n && memcmp(path + length - n, endings[i], n) == 0) return is_folder(path);
    }
    return false;
}

/* Finds the file in a bundle such as App.app or App.xcarchive: of the build that --uuid names, or of the only build of
 * the bundle's name. Complains. Returns an enum exit_status. */
static int find_in_bundle(struct session *session) {
    struct image_choice *image = &session->image;
    const char *const path = image->path;
    if (!is_bundle(path)) return EXIT_ALL_WELL;
    struct log_search *search;
    int status = log_search_create(&path, 1, NULL, &search);
    if (status != EXIT_ALL_WELL) return status;
    const struct log_file *file = NULL;
    status = log_search_choose(search, image, &file);
    if (status == EXIT_ALL_WELL) {
        image->path = session->found_path = strdup(file->path);
        if (image->path == NULL) {
            complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
            status = EXIT_FAILED;
        }
    }
    log_search_free(search);
    return status;
}

/* Lists the images of the shared cache. */
static int find_cached(struct session *session) {
    const struct image_choice *image = &session->image;
    const struct cached_choice choice = {
        .uuid = image->build_id_size == 16 ? image->build_id : NULL, .arch = image->arch, .variant = image->variant};
    return choose_cached_images(&session->options->lines.caches, &choice, image->base, false, &session->images);
}

static int find_images(struct session *session) {
    if (session->options->process != 0) return list_process(session->options->process, &session->images);
    if (session->image.path == NULL) return find_cached(session);
    const int status = find_in_bundle(session);
    return status == EXIT_ALL_WELL ? choose_image(&session->image, &session->images) : status;
}

int symbolize_addresses(const struct address_options *options) {
    struct session session = {.options = options, .image = options->image};
    int result = find_images(&session);
    if (result != EXIT_ALL_WELL) {
        free(session.found_path);
        return result;
    }
    int status = create_symbolizer(options, &session);
    if (status == USP_OK) status = usp_demangler_create(options->demangling, &session.demangler);
    if (status == USP_OK) {
        gather_output();
        looked_up_create(&session.looked_up, session.images);
        result = answer_all(&session);
        complain_of_base(&session);
        complain_of_files(&session.looked_up, session.symbolizer);
        complain_of_lines(&session.looked_up, session.symbolizer, options->inlined || options->line_flags != 0);
    } else {
        complain("%s", usp_status_string(status));
        result = EXIT_FAILED;
    }
    free(session.image_text.text);
    usp_demangler_free(session.demangler);
    close_symbolizer(&session);
    free(session.found_path);
    return result;
}
