/* SPDX-License-Identifier: MIT */
/* Lists the images of another process from its mappings and its memory. Also finds the files of images, and asks the
 * loader for names (dladdr). loaded.c lists this process's images, lib/object/ reads ELF headers. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/images.h"

#include "arch/backend.h"
#include "lib/base/array.h"
#include "lib/base/page_cache.h"
#include "lib/os/linux/linux.h"
#include "lib/os/linux/proc.h"
#include "lib/os/linux/refusal.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

bool uspi_linux_describe_image(const struct uspi_source *source, usp_addr load, struct uspi_elf *elf,
                               struct usp_image *image) {
    struct uspi_elf_extent extent;
    struct uspi_build_id id;
    memset(image, 0, sizeof *image);
    if (uspi_elf_open_image(elf, uspi_bytes_at(source, load), NULL) != USP_OK ||
        (elf->type != USPI_ET_EXEC && elf->type != USPI_ET_DYN) || uspi_elf_extent(elf, &extent, NULL) != USP_OK) {
        return false;
    }
    image->load_address = load;
    image->slide = load - elf->header_address;
    image->text_low = extent.text_low + image->slide;
    image->text_high = extent.text_high + image->slide;
    if (extent.text_high == 0) image->text_low = image->text_high = load;
    image->end = extent.high + image->slide;
    if (extent.has_text) {
        image->text_offset = extent.text_offset;
        image->flags = USP_IMAGE_TEXT_OFFSET;
    }
    image->hole_offset = extent.hole_offset;
    image->hole_size = extent.hole_size;
    image->arch = elf->arch;
    if (image->end <= load) return false;
    if (uspi_elf_build_id(elf, &id, NULL) == USP_OK) {
        image->build_id_size = id.size < USP_BUILD_ID_MAX ? id.size : USP_BUILD_ID_MAX;
        memcpy(image->build_id, id.bytes, image->build_id_size);
    }
    return true;
}

void uspi_linux_read_program(int64_t pid, char *path, size_t n) {
    static const char deleted[] = " (deleted)";
    char link[USPI_PROC_PATH_MAX];
    uspi_proc_path(link, pid, 0, "exe");
    long length = uspi_linux->read_link(link, path, n - 1);
    if (length < 0) length = 0;
    size_t suffix = sizeof deleted - 1;
    path[length] = '\0';
    if ((size_t)length > suffix && strcmp(path + length - suffix, deleted) == 0) path[(size_t)length - suffix] = '\0';
}

/* ---- another process ---- */

/* The auxiliary vector, which the kernel passed to the program at its start (getauxval(3)). */
struct auxiliary {
    uint8_t bytes[1024];
    long size;
};

/* Returns an entry's value; 0: there is none.
 *   word  bytes in a word of the process */
static usp_addr auxiliary_value(const struct auxiliary *auxiliary, uint64_t type, unsigned word) {
    for (long at = 0; at + 2 * (long)word <= auxiliary->size; at += 2 * (long)word) {
        if (uspi_le(auxiliary->bytes + at, word) == type) return uspi_le(auxiliary->bytes + at + word, word);
    }
    return 0;
}

/* Readable memory that is not executable. */
struct data {
    usp_addr low, high;
    bool is_anonymous; /* it has no file, and no name from the kernel: generated code can be written there */
};

/* An image that is being put together from mappings. */
struct candidate {
    bool is_open;   /* the other fields are valid */
    bool has_text;  /* memory that the headers call executable is executable */
    bool is_linear; /* the first mapping goes beyond the first segment: a tool reads the file */
    uint64_t inode; /* of the file that the path names; 0: none was found yet */
    bool is_deleted;
    struct usp_image image;
    struct uspi_elf elf; /* the headers in memory */
    char path[PATH_MAX];
};

/* An image has headers at the beginning of a mapping of its file, and executable memory where the headers say so. This
 * excludes data files, and libraries that a tool only reads. The program may have replaced its text by anonymous memory
 * or by another file (large pages): that still belongs to the image. */
struct uspi_image_listing {
    struct uspi_images_found *found;
    int status; /* USP_OK, or the first failure */
    struct uspi_header_pages pages;
    struct usp_memory memory;  /* the process's memory, through `pages` */
    struct uspi_source source; /* of `memory` */
    struct auxiliary auxiliary;
    usp_addr page; /* the size of a page */
    struct candidate candidate;
    bool is_text;      /* the mapping that was taken last has addresses of the candidate's code */
    uint64_t compared; /* number of program headers that were compared with mappings */
    struct data *data; /* by ascending address */
    size_t data_count, data_capacity;
    bool has_generated_code; /* anonymous memory outside images is executable */
};

static uint32_t flags_of(const struct uspi_image_listing *w, const struct usp_image *image) {
    const struct uspi_backend *b = uspi_backend_find(image->arch);
    unsigned word = b != NULL ? b->word : (unsigned)sizeof(void *);
    usp_addr headers = auxiliary_value(&w->auxiliary, AT_PHDR, word);
    uint32_t flags = 0;
    if (headers - image->load_address < image->end - image->load_address) flags |= USP_IMAGE_MAIN;
    if (auxiliary_value(&w->auxiliary, AT_BASE, word) == image->load_address) flags |= USP_IMAGE_LOADER;
    if (auxiliary_value(&w->auxiliary, AT_SYSINFO_EHDR, word) == image->load_address) flags |= USP_IMAGE_KERNEL;
    return flags;
}

/* Whether a mapping is anonymous. A name in the form "[anon…" was given by the program (PR_SET_VMA_ANON_NAME,
 * proc_pid_maps(5)). */
static bool is_anonymous(const struct uspi_mapping *m) {
    return m->inode == 0 && (m->path[0] == '\0' || strncmp(m->path, "[anon", 5) == 0);
}

/* How a mapping and an image's segments belong together. */
struct fit {
    bool is_file; /* a segment has this part of the file at this address */
    bool is_text; /* the mapping has addresses of an executable segment */
};

/* Maximum number of program headers that are compared with mappings: several times what the 65,530 mappings of a
 * process need. */
#define COMPARED_MAX (UINT64_C(4) << 20)

static struct fit fit_of(struct uspi_image_listing *w, const struct uspi_mapping *m) {
    const struct candidate *c = &w->candidate;
    struct fit fit = {false, false};
    struct uspi_elf_segment segment;
    if (w->compared > COMPARED_MAX) return fit;
    w->compared += c->elf.segment_count;
    for (uint64_t i = 0; i < c->elf.segment_count; i++) {
        if (uspi_elf_segment(&c->elf, i, &segment, NULL) != USP_OK) break;
        if (segment.type != USPI_PT_LOAD) continue;
        const usp_addr start = c->image.slide + segment.address, end = start + segment.memory_size;
        if (m->high <= start || m->low >= end) continue;
        if (m->offset + (start - m->low) == segment.offset) fit.is_file = true;
        if ((segment.flags & USPI_PF_X) != 0) fit.is_text = true;
    }
    return fit;
}

/* Whether a mapping goes beyond the page in which the segment at its beginning ends. */
static bool is_linear(const struct uspi_image_listing *w, const struct candidate *c, const struct uspi_mapping *m) {
    struct uspi_elf_segment segment;
    if (uspi_elf_find_segment(&c->elf, USPI_PT_LOAD, &segment, NULL) != USP_OK) return true;
    const uint64_t size = segment.address - c->elf.header_address + segment.memory_size;
    return m->high - m->low > size && m->high - m->low - size >= w->page;
}

/* Adds the candidate, if it has proven to be an image. */
static int close_candidate(struct uspi_image_listing *w) {
    struct candidate *c = &w->candidate;
    const bool is_image = c->is_open && c->has_text;
    c->is_open = false;
    if (!is_image) return USP_OK;
    c->image.path = c->path;
    c->image.flags |= flags_of(w, &c->image) | (c->is_deleted ? USP_IMAGE_DELETED : 0);
    /* Anonymous memory that has the headers of no file is not an image, unless the kernel says that it is the
     * program. */
    if (c->path[0] == '\0' && (c->image.flags & USP_IMAGE_MAIN) == 0) return USP_OK;
    return w->found->add(w->found->context, &c->image);
}

static void set_path(struct candidate *c, const char *path) {
    size_t length = strnlen(path, sizeof c->path - 1);
    memcpy(c->path, path, length);
    c->path[length] = '\0';
}

static void take_file(struct candidate *c, const struct uspi_mapping *m) {
    c->inode = m->inode;
    c->is_deleted = m->deleted;
    set_path(c, m->path);
}

/* Begins a candidate with the mapping, if headers are at its beginning. */
static int open_candidate(struct uspi_image_listing *w, const struct uspi_mapping *m) {
    const bool is_vdso = strcmp(m->path, "[vdso]") == 0, is_replaced = m->executable && is_anonymous(m);
    struct candidate *c = &w->candidate;
    struct usp_image image;
    struct uspi_elf elf;
    if (!m->readable || m->offset != 0 || (m->inode == 0 && !is_vdso && !is_replaced)) return USP_OK;
    if (!uspi_linux_describe_image(&w->source, m->low, &elf, &image)) return USP_OK;
    int status = close_candidate(w);
    memset(c, 0, offsetof(struct candidate, path));
    c->path[0] = '\0';
    c->is_open = true;
    c->image = image;
    c->elf = elf;
    c->is_linear = is_linear(w, c, m);
    if (m->inode != 0) take_file(c, m);
    if (is_vdso) set_path(c, "linux-vdso.so.1");
    return status;
}

static int take_mapping(struct uspi_image_listing *w, const struct uspi_mapping *m) {
    struct candidate *c = &w->candidate;
    const bool is_within = c->is_open && m->low >= c->image.load_address && m->low < c->image.end;
    struct fit fit = is_within ? fit_of(w, m) : (struct fit){false, false};
    w->is_text = false;
    /* Several segments of one image may begin in the file's first page, so that the headers are mapped again. */
    const bool is_part = fit.is_file && (c->inode == 0 || m->inode == c->inode);
    if (!is_part) {
        int status = open_candidate(w, m);
        if (status != USP_OK) return status;
        fit = c->is_open && m->low >= c->image.load_address && m->low < c->image.end ? fit_of(w, m) : fit;
    }
    if (!c->is_open || m->low >= c->image.end) return USP_OK;
    w->is_text = fit.is_text;
    if (fit.is_file && m->inode != 0 && (c->inode == 0 || (c->is_deleted && !m->deleted))) take_file(c, m);
    const bool is_own = m->inode == c->inode && m->inode != 0;
    if (m->executable && (is_own || (fit.is_text && !c->is_linear))) c->has_text = true;
    return USP_OK;
}

static int note_data(struct uspi_image_listing *w, const struct uspi_mapping *m) {
    const struct candidate *c = &w->candidate;
    /* The kernel may place generated code in a gap between an image's segments (arm64, where they are 64 KB apart). */
    const bool is_in_image = w->is_text && c->has_text && c->path[0] != '\0' && m->high <= c->image.end;
    if (m->executable && is_anonymous(m) && !is_in_image) w->has_generated_code = true;
    if (!m->readable || m->executable) return USP_OK;
    if (!uspi_room_for(&w->data, &w->data_capacity, w->data_count, 1, sizeof *w->data)) return USP_ERROR_NO_MEMORY;
    w->data[w->data_count++] = (struct data){m->low, m->high, is_anonymous(m)};
    return USP_OK;
}

/* Adds the ranges without code. In a process with generated code, anonymous memory is left out: it may have been
 * executable a moment earlier, or become so a moment later. */
static int hand_over_data(const struct uspi_image_listing *w) {
    int status = USP_OK;
    for (size_t i = 0; i < w->data_count && status == USP_OK; i++) {
        if (w->has_generated_code && w->data[i].is_anonymous) continue;
        status = w->found->add_data(w->found->context, w->data[i].low, w->data[i].high);
    }
    return status;
}

/* Initializes a listing that is all zero. */
static void init_listing(struct uspi_image_listing *w, int64_t living, struct usp_memory behind,
                         struct uspi_images_found *found) {
    w->found = found;
    w->memory = uspi_header_pages_init(&w->pages, behind);
    w->source = uspi_source_of_memory(&w->memory, "image");
    w->page = (usp_addr)getauxval(AT_PAGESZ);
    w->auxiliary.size = uspi_proc_read(living, 0, "auxv", (char *)w->auxiliary.bytes, sizeof w->auxiliary.bytes);
}

struct uspi_image_listing *uspi_image_listing_begin(int64_t living, int memory, struct uspi_images_found *found) {
    struct uspi_image_listing *w = calloc(1, sizeof *w);
    if (w == NULL) return NULL;
    found->files = uspi_os_files_seen(living);
    init_listing(w, living, (struct usp_memory){uspi_proc_memory_read, (void *)(intptr_t)memory}, found);
    return w;
}

void uspi_image_listing_take(struct uspi_image_listing *w, const struct uspi_mapping *mapping) {
    if (w->status == USP_OK) w->status = take_mapping(w, mapping);
    if (w->status == USP_OK) w->status = note_data(w, mapping);
}

int uspi_image_listing_end(struct uspi_image_listing *w) {
    int status = w->status == USP_OK ? close_candidate(w) : w->status;
    if (status == USP_OK) status = hand_over_data(w);
    free(w->data);
    free(w);
    return status;
}

/* Lists the images of a process whose memory is open. */
static int list_images(int64_t living, int memory, struct uspi_images_found *found, struct uspi_refusal *refusal) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    int e = uspi_proc_maps_open(&maps, living);
    if (e < 0) return uspi_refuse_system(refusal, e, "/proc/PID/maps");
    struct uspi_image_listing *listing = uspi_image_listing_begin(living, memory, found);
    while (listing != NULL && uspi_proc_maps_next(&maps, &m)) uspi_image_listing_take(listing, &m);
    int status = listing != NULL ? uspi_image_listing_end(listing) : USP_ERROR_NO_MEMORY;
    uspi_proc_maps_close(&maps);
    if (status != USP_OK)
        return uspi_refuse(refusal, status, "process %d: %s", refusal->pid, usp_status_string(status));
    return maps.error < 0 ? uspi_refuse_system(refusal, maps.error, "/proc/PID/maps") : USP_OK;
}

/* ---- this process, in a signal handler ---- */

struct mapped_listing {
    struct uspi_image_listing listing;
    struct uspi_proc_maps maps;
};

_Static_assert(sizeof(struct mapped_listing) <= USPI_OS_MAPPED_ROOM, "the listing has room");

static void note_place(const struct uspi_mapping *m, struct uspi_os_place *place) {
    if (place->address < m->low || place->address >= m->high) return;
    place->low = m->low;
    place->high = m->high;
    place->access = (m->readable ? USPI_OS_READABLE : 0u) | (m->writable ? USPI_OS_WRITABLE : 0u) |
                    (m->executable ? USPI_OS_EXECUTABLE : 0u);
}

int uspi_os_images_mapped(void *room, struct uspi_images_found *found, struct uspi_os_place *place) {
    struct mapped_listing *l = room;
    struct uspi_mapping m;
    memset(&l->listing, 0, sizeof l->listing);
    place->low = place->high = 0;
    int e = uspi_proc_maps_open(&l->maps, 0);
    if (e < 0) return uspi_linux_status(e);
    init_listing(&l->listing, 0, (struct usp_memory){uspi_os_read, NULL}, found);
    while (l->listing.status == USP_OK && uspi_proc_maps_next(&l->maps, &m)) {
        l->listing.status = take_mapping(&l->listing, &m);
        note_place(&m, place);
    }
    uspi_proc_maps_close(&l->maps);
    if (l->maps.error < 0) return uspi_linux_status(l->maps.error);
    return l->listing.status == USP_OK ? close_candidate(&l->listing) : l->listing.status;
}

/* ---- one image of this process, in a signal handler ---- */

/* How many pages before the first page of its file an image's segment may be, compared with its offset in the file: some
 * linkers begin each segment on a new page. */
#define PAGES_BEFORE 8u
/* Mappings that are looked at for one image. */
#define LOOKED_AT 64u

/* Passes on the image that has the address. */
struct wanted {
    struct uspi_images_found found;
    struct uspi_images_found *to;
    usp_addr address;
    bool is_found;
};

static int add_wanted(void *context, const struct usp_image *image) {
    struct wanted *wanted = context;
    if (wanted->address - image->load_address >= image->end - image->load_address) return USP_OK;
    wanted->is_found = true;
    return wanted->to->add(wanted->to->context, image);
}

/* Takes the mappings from where the image's headers may be until its end. */
static int take_around(struct mapped_listing *l, const struct uspi_mapping *within, usp_addr address) {
    struct uspi_image_listing *w = &l->listing;
    const struct candidate *c = &w->candidate;
    const uint64_t before = within->offset + PAGES_BEFORE * w->page;
    usp_addr at = within->low > before ? within->low - before : 0;
    struct uspi_mapping m;
    for (unsigned i = 0; i < LOOKED_AT && w->status == USP_OK; i++) {
        const long e = uspi_proc_maps_at(&l->maps, at, &m);
        if (e == -ENOENT) break;
        if (e < 0) return uspi_linux_status(e);
        if (m.low > address && !(c->is_open && m.low < c->image.end)) break;
        w->status = take_mapping(w, &m);
        at = m.high;
    }
    return w->status == USP_OK ? close_candidate(w) : w->status;
}

/* Finds the mapping of a file, or the vDSO, in which an address lies or after whose end an image's zero variables
 * begin. Returns USP_OK, USP_ERROR_NOT_FOUND, or USP_ERROR_UNSUPPORTED where only all mappings tell: for generated
 * code, and code that the program has moved. */
static int find_mapping(struct uspi_proc_maps *maps, usp_addr address, struct uspi_mapping *m) {
    long e = uspi_proc_maps_at(maps, address, m);
    if (e == -ENOENT || (e == 0 && address < m->low)) return USP_ERROR_NOT_FOUND;
    if (e < 0) return USP_ERROR_UNSUPPORTED;
    if (m->inode != 0 || strcmp(m->path, "[vdso]") == 0) return USP_OK;
    if (m->executable) return USP_ERROR_UNSUPPORTED;
    const usp_addr before = m->low;
    if (m->path[0] != '\0' || before == 0) return USP_ERROR_NOT_FOUND;
    e = uspi_proc_maps_at(maps, before - 1, m);
    return e == 0 && m->high == before && m->inode != 0 ? USP_OK : USP_ERROR_NOT_FOUND;
}

int uspi_os_image_mapped(void *room, usp_addr address, struct uspi_images_found *found) {
    struct mapped_listing *l = room;
    struct wanted wanted = {.found = {.add = add_wanted}, .to = found, .address = address};
    struct uspi_mapping m;
    memset(&l->listing, 0, sizeof l->listing);
    wanted.found.context = &wanted;
    if (uspi_proc_maps_open(&l->maps, 0) < 0) return USP_ERROR_UNSUPPORTED;
    int status = find_mapping(&l->maps, address, &m);
    if (status == USP_OK) {
        const bool is_within = address < m.high;
        init_listing(&l->listing, 0, (struct usp_memory){uspi_os_read, NULL}, &wanted.found);
        status = take_around(l, &m, address);
        /* Its headers may be elsewhere. */
        if (status == USP_OK && !wanted.is_found) status = is_within ? USP_ERROR_UNSUPPORTED : USP_ERROR_NOT_FOUND;
    }
    uspi_proc_maps_close(&l->maps);
    return status;
}

int uspi_os_images_process(int64_t pid, struct uspi_images_found *found, char *error, size_t error_size) {
    struct uspi_refusal refusal = {.text = error, .text_size = error_size};
    int memory;
    if (uspi_refuse_no_process(&refusal, pid) != USP_OK) return refusal.status;
    long living = uspi_linux_living_thread(pid);
    if (living < 0) return uspi_refuse_system(&refusal, living, "/proc/PID/task");
    int e = uspi_proc_memory_open(living, &memory);
    if (e < 0) return uspi_refuse_system(&refusal, e, "/proc/PID/mem");
    int status = list_images(living, memory, found, &refusal);
    uspi_linux->close(memory);
    return status;
}

/* ---- files and memory of images ---- */

int uspi_os_mapped_file(int64_t pid, const struct usp_image *image, char path[USPI_OS_PATH_MAX]) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    int status = USP_ERROR_NOT_FOUND;
    if (pid < 0 || pid > INT32_MAX) return USP_ERROR_NO_THREAD;
    if ((image->flags & USP_IMAGE_MAIN) != 0) {
        /* Opening this path needs no more than permission to examine the process. */
        uspi_proc_path(path, pid, 0, "exe");
        return USP_OK;
    }
    int e = uspi_proc_maps_open(&maps, pid);
    if (e < 0) return uspi_linux_status(e);
    while (status != USP_OK && uspi_proc_maps_next(&maps, &m)) {
        if (m.low != image->load_address || m.offset != 0 || m.inode == 0) continue;
        /* Opening a file of map_files needs CAP_CHECKPOINT_RESTORE (proc_pid_map_files(5)). */
        char name[48];
        snprintf(name, sizeof name, "map_files/%" PRIx64 "-%" PRIx64, m.low, m.high);
        uspi_proc_path(path, pid, 0, name);
        status = USP_OK;
    }
    uspi_proc_maps_close(&maps);
    return status;
}

int uspi_os_process_memory_open(int64_t pid, struct usp_memory *memory) {
    int fd;
    int e = uspi_proc_memory_open(pid, &fd);
    if (e < 0) return uspi_linux_status(e);
    *memory = (struct usp_memory){uspi_proc_memory_read, (void *)(intptr_t)fd};
    return USP_OK;
}

void uspi_os_process_memory_close(const struct usp_memory *memory) {
    uspi_linux->close((int)(intptr_t)memory->context);
}

/* ---- names ---- */

/* No loader on Linux lists its images without a lock in a form that suits a signal handler. */
int uspi_os_image_at(usp_addr address, struct usp_image *image, char *path, size_t path_size) {
    (void)address;
    (void)image;
    (void)path;
    (void)path_size;
    return USP_ERROR_UNSUPPORTED;
}

bool uspi_os_dladdr(uintptr_t address, const char **name, uintptr_t *start, size_t *size, const char **path,
                    uintptr_t *load) {
    Dl_info info;
    *size = 0;
#ifdef __GLIBC__
    ElfW(Sym) *symbol = NULL;
    if (dladdr1((void *)address, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0) return false;
    if (info.dli_sname != NULL && symbol != NULL) *size = symbol->st_size;
#else
    if (dladdr((void *)address, &info) == 0) return false;
#endif
    *path = info.dli_fname;
    *load = (uintptr_t)info.dli_fbase;
    *name = info.dli_sname;
    *start = info.dli_sname != NULL ? (uintptr_t)info.dli_saddr : 0;
    return true;
}

#endif
