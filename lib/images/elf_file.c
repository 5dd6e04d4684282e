/* SPDX-License-Identifier: MIT */
/* See elf_file.h. */
#include "lib/images/elf_file.h"

#include "lib/base/text.h"
#include "lib/object/debug_link.h"
#include "lib/os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folders of debugging symbols: one for files by the path of the stripped file, one for files by build id, whose
 * first byte names a subfolder. Sources: Debian Policy; gdb(1) "Debugging Information in Separate Files". */
#define DEBUG_ROOT   "/usr/lib/debug"
#define DEBUG_FOLDER DEBUG_ROOT "/.build-id/"

static int mismatch(struct uspi_bytes bytes, struct uspi_error *error) {
    return uspi_error_set(error, USP_ERROR_MISMATCH, "%s: another build than the one that was loaded",
                          bytes.source->name);
}

/* Compares the build id of a file with what the image's memory has at the id's address. Used for an image of which no
 * program header describes the note, so that its headers in memory do not lead to it. */
static int find_mapped_id(struct uspi_elf_wanted *wanted, const struct uspi_elf *elf) {
    struct uspi_image_memory memory;
    int status = uspi_image_memory_open(wanted->places, &memory);
    if (status != USP_OK) return status;
    const struct uspi_source source = uspi_source_of_memory(&memory.memory, "image");
    status = uspi_elf_mapped_build_id(elf, uspi_bytes_at(&source, wanted->image->load_address), &wanted->found);
    uspi_image_memory_close(&memory);
    return status;
}

/* Accepts a file with the image's build id, or without one if the image has none and `may_lack` permits it. */
static int judge_id(struct uspi_elf_wanted *wanted, struct uspi_bytes bytes, bool may_lack, struct uspi_error *error) {
    const struct usp_image *image = wanted->image;
    struct uspi_build_id id = {0};
    struct uspi_elf elf;
    int status = uspi_elf_open(&elf, bytes, error);
    if (status == USP_OK) status = uspi_elf_build_id(&elf, &id, error);
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND) return status;
    if (image->build_id_size > 0 || id.size == 0) {
        const bool is_same = id.size == image->build_id_size && memcmp(id.bytes, image->build_id, id.size) == 0;
        return is_same && (id.size > 0 || may_lack) ? USP_OK : mismatch(bytes, error);
    }
    status = find_mapped_id(wanted, &elf);
    if (status == USP_OK) return USP_OK;
    if (status == USP_ERROR_NO_MEMORY) return uspi_error_set(error, status, "%s: out of memory", bytes.source->name);
    if (status == USP_ERROR_MISMATCH) return mismatch(bytes, error);
    return uspi_error_set(error, USP_ERROR_MISMATCH,
                          "%s: it has a build-id, and that of what was loaded is not known to compare it with",
                          bytes.source->name);
}

int uspi_elf_judge(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct uspi_elf_wanted *wanted = context;
    const bool is_replaced = (wanted->image->flags & USP_IMAGE_DELETED) != 0;
    return judge_id(wanted, bytes, !is_replaced, error);
}

/* A uspi_judge for the file that is mapped at the image's address: accepts it if its build id is the image's, since
 * another file may have been mapped there. context: a struct uspi_elf_wanted. */
static int judge_mapped(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    return judge_id(context, bytes, true, error);
}

static int open_mapped(struct uspi_elf_wanted *wanted, struct uspi_file **file) {
    const struct uspi_image_sources *places = wanted->places;
    char mapped[USPI_OS_PATH_MAX];
    if (!places->in_process && places->process == 0) return USP_ERROR_NOT_FOUND;
    int status = uspi_os_mapped_file(places->process, wanted->image, mapped);
    if (status != USP_OK) return status;
    const struct uspi_search exact = {.file = mapped};
    return uspi_search_open(&exact, "", judge_mapped, wanted, file, NULL);
}

/* Puts ".build-id/", the id with a slash after its first byte, and what follows it. */
static void put_build_id_path(struct uspi_text *text, const struct usp_image *image, const char *end) {
    uspi_put_string(text, ".build-id/");
    uspi_put_bytes(text, image->build_id, 1);
    uspi_put_string(text, "/");
    uspi_put_bytes(text, image->build_id + 1, image->build_id_size - 1);
    uspi_put_string(text, end);
}

int uspi_kept_file_open(const struct usp_image *image, const struct uspi_image_sources *places, const char *name,
                        uspi_judge judge, void *context, struct uspi_file **file) {
    char end[32];
    *file = NULL;
    if (places->build_ids == NULL || image->build_id_size < 2 || image->build_id_size > USP_BUILD_ID_MAX)
        return USP_ERROR_NOT_FOUND;
    const size_t size = strlen(places->build_ids) + sizeof "/.build-id//" + 2 * USP_BUILD_ID_MAX + sizeof end;
    char *path = malloc(size);
    if (path == NULL) return USP_ERROR_NO_MEMORY;
    snprintf(end, sizeof end, "/%s", name);
    struct uspi_text text = uspi_text_in(path, size);
    uspi_put_string(&text, places->build_ids);
    uspi_put_string(&text, "/");
    put_build_id_path(&text, image, end);
    uspi_text_end(&text);
    const struct uspi_search exact = {.file = path};
    const int status = uspi_search_open(&exact, "", judge, context, file, NULL);
    free(path);
    return status;
}

int uspi_elf_elsewhere_open(struct uspi_elf_wanted *wanted, struct uspi_file **file) {
    int status = open_mapped(wanted, file);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    return uspi_kept_file_open(wanted->image, wanted->places, "elf", uspi_elf_judge, wanted, file);
}

static int open_own(struct uspi_elf_wanted *wanted, struct uspi_file **file, struct uspi_error *error) {
    struct uspi_search own;
    *file = NULL;
    int status = uspi_search_for_image(wanted->image, wanted->places, &own, error);
    if (status != USP_OK) return status;
    status = uspi_search_open(&own, wanted->image->path, uspi_elf_judge, wanted, file, error);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    return uspi_elf_elsewhere_open(wanted, file) == USP_OK ? USP_OK : status;
}

int uspi_elf_file_open(const struct usp_image *image, const struct uspi_image_sources *places, struct uspi_file **file,
                       struct uspi_error *error) {
    struct uspi_elf_wanted wanted = {.image = image, .places = places};
    return open_own(&wanted, file, error);
}

void uspi_elf_find_build_id(struct usp_image *image, const struct uspi_image_sources *places) {
    struct uspi_elf_wanted wanted = {.image = image, .places = places};
    struct uspi_file *file;
    if (image->build_id_size > 0 || (image->flags & USP_IMAGE_MACHO) != 0) return;
    if (open_own(&wanted, &file, NULL) != USP_OK) return;
    image->build_id_size = wanted.found.size;
    memcpy(image->build_id, wanted.found.bytes, sizeof image->build_id);
    uspi_file_close(file);
}

/* ---- debugging symbols ---- */

static int open_by_build_id(const struct usp_image *image, const struct uspi_search *installed,
                            struct uspi_file **debug, struct uspi_error *error) {
    char path[sizeof DEBUG_FOLDER + 2 * USP_BUILD_ID_MAX + sizeof "/.debug"];
    if (image->build_id_size < 2 || image->build_id_size > USP_BUILD_ID_MAX) {
        return uspi_error_set(error, USP_ERROR_NOT_FOUND, "it has no build-id");
    }
    struct uspi_text text = uspi_text_in(path, sizeof path);
    uspi_put_string(&text, DEBUG_ROOT "/");
    put_build_id_path(&text, image, ".debug");
    uspi_text_end(&text);
    static const struct uspi_image_sources nowhere = {0};
    struct uspi_elf_wanted wanted = {.image = image, .places = &nowhere};
    return uspi_search_open(installed, path, uspi_elf_judge, &wanted, debug, error);
}

/* A uspi_judge: accepts an ELF file with the link's checksum. context: the link. */
static int judge_checksum(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    const struct uspi_debug_link *link = context;
    struct uspi_elf elf;
    uint32_t crc;
    if (uspi_elf_open(&elf, bytes, NULL) != USP_OK) return mismatch(bytes, error);
    int status = uspi_debug_link_crc(bytes, &crc, error);
    if (status != USP_OK) return status;
    return crc == link->crc ? USP_OK : mismatch(bytes, error);
}

/* Tries the path that consists of `root`, the folder of `path`, `below`, and the link's name. */
static int open_linked(const struct uspi_search *search, const char *root, const char *path, const char *below,
                       struct uspi_debug_link *link, struct uspi_file **debug) {
    const char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    size_t capacity = strlen(root) + folder + strlen(below) + strlen(link->name) + 1;
    char *joined = malloc(capacity);
    if (joined == NULL) return USP_ERROR_NO_MEMORY;
    snprintf(joined, capacity, "%s%.*s%s%s", root, (int)folder, path, below, link->name);
    int status = uspi_search_open(search, joined, judge_checksum, link, debug, NULL);
    free(joined);
    return status;
}

static int open_by_link(const struct usp_image *image, const struct uspi_file *file, const struct uspi_search *search,
                        struct uspi_file **debug, struct uspi_error *error) {
    const struct uspi_search as_named = {.as_named = true,
                                         .within = search->within != NULL ? search->within : search->sysroot};
    const struct uspi_search named = uspi_search_of_names(search);
    struct uspi_debug_link link;
    struct uspi_elf elf;
    int status = uspi_elf_open(&elf, uspi_file_bytes(file), NULL);
    if (status == USP_OK) status = uspi_debug_link_read(&elf, &link, NULL);
    if (status != USP_OK) {
        return uspi_error_set(error, status, "%s",
                              status == USP_ERROR_NOT_FOUND ? "it names no debug file (.gnu_debuglink)"
                                                            : "the name of its debug file is damaged (.gnu_debuglink)");
    }
    status = open_linked(&as_named, "", uspi_file_path(file), "", &link, debug);
    if (status != USP_OK && status != USP_ERROR_NO_MEMORY) {
        status = open_linked(&as_named, "", uspi_file_path(file), ".debug/", &link, debug);
    }
    if (status != USP_OK && status != USP_ERROR_NO_MEMORY && image->path[0] == '/') {
        status = open_linked(&named, DEBUG_ROOT, uspi_search_inside(search, image->path), "", &link, debug);
    }
    if (status == USP_OK) return USP_OK;
    return uspi_error_set(error, status, "%s: %s", link.name, usp_status_string(status));
}

int uspi_elf_debug_open(const struct usp_image *image, const struct uspi_file *file,
                        const struct uspi_image_sources *places, struct uspi_file **debug, struct uspi_error *error) {
    const struct uspi_search installed = {.sysroot = places->search.sysroot, .as_named = true};
    struct uspi_error by_id = {0}, by_link = {0};
    *debug = NULL;
    int status = open_by_build_id(image, &installed, debug, &by_id);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    status = open_by_link(image, file, &places->search, debug, &by_link);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    return uspi_error_set(error, status, "%s; %s", by_id.text, by_link.text);
}
