/* SPDX-License-Identifier: MIT */
/* Lists the images of this process by the loader's own list, a chain of struct link_map that it keeps for debuggers
 * (System V gABI chapter 5 "Dynamic Section", DT_DEBUG; glibc and musl <link.h>).
 *
 * The chain is read without the loader's lock, as a debugger reads it: piece by piece, each copied with a check. The
 * copy counts if the chain is unchanged afterwards. dl_iterate_phdr takes the lock, and so waits as long as another
 * thread holds it, perhaps the very thread that is to be captured. And glibc's lock stays locked in a child that is
 * forked meanwhile. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/base/array.h"
#include "lib/base/page_cache.h"
#include "lib/object/elf.h"
#include "lib/os/linux/images.h"
#include "lib/os/linux/linked.h"
#include "lib/os/linux/linux.h"
#include "lib/os/linux/proc.h"

#include <limits.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* musl's dlclose does nothing (musl src/ldso/dlclose.c). musl has no macro of its own; the other libcs have. */
#if defined(__GLIBC__) || defined(__BIONIC__)
#define NEVER_UNLOADS false
#else
#define NEVER_UNLOADS true
#endif

/* Maximum number of images in a chain. A longer one is not a valid chain. */
#define NODES_MAX 65536u
/* Maximum number of attempts to read a chain that changes meanwhile. Libraries that are loaded and unloaded without a
 * pause still leave gaps. */
#define TRIES 256u
/* Number of bytes of an image that are compared to see whether it is still loaded. */
#define TRACE_SIZE 32u
/* Number of images whose own bytes are compared at one check: this many of those loaded last, and as many others in
 * turns. Each costs the kernel a third of a microsecond, because each lies in a page of its own. */
#define LATEST 16u
/* Number of pieces that one call reads. */
#define AT_ONCE 256u

/* The public part of struct link_map. */
struct node {
    uintptr_t slide, name, dynamic, next, previous;
};

_Static_assert(offsetof(struct link_map, l_next) == offsetof(struct node, next), "a link_map as <link.h> lays it out");
_Static_assert(offsetof(struct node, previous) <= TRACE_SIZE, "a node's trace has room");

/* Bytes by which an image, or its node in the chain, is recognised. */
struct trace {
    usp_addr at;
    uint32_t size; /* bytes that count, at most TRACE_SIZE */
    uint8_t bytes[TRACE_SIZE];
};

/* A link of the chain from a node that stays to one that may be unloaded, or to the end. */
struct link {
    uintptr_t at, next;
};

/* The changeable part of the chain at the time of the listing. The chain grows at its end, and loses nodes that do not
 * stay. If a new image replaces another one, and its node has the same address too, only the image's own bytes
 * differ. */
struct uspi_os_loaded {
    size_t link_count, node_count, image_count;
    struct link *links;
    struct trace *nodes;       /* the nodes of images that may be unloaded */
    struct trace *images;      /* bytes of those images themselves, in the order of the chain */
    _Atomic(size_t) others;    /* how many images were compared in turns so far */
    _Atomic(bool) has_changed; /* a difference was found; kept, because the next check compares other images */
};

/* An image that is being listed. */
struct listed {
    uintptr_t at; /* address of its node; 0: it is not in the chain */
    struct node node;
    char *name;             /* as in the chain; NULL: none */
    bool is_there;          /* its headers were read, and `image` is filled in */
    struct usp_image image; /* without its path */
    struct trace trace;
};

/* ---- the program ---- */

/* The program's headers as the kernel passed them. They are read directly, because they stay mapped. */
struct program {
    const ElfW(Phdr) * headers;
    size_t count;
    uintptr_t slide, load;
    char path[PATH_MAX];
};

/* Returns the slide of a program whose headers do not state their own address (PT_PHDR), such as a statically linked
 * one: they follow the file's header. 0: not known. */
static uintptr_t slide_by_header(const struct program *program) {
    const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)((uintptr_t)program->headers - sizeof *file);
    if (memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 || file->e_phoff != sizeof *file) return 0;
    for (size_t i = 0; i < program->count; i++) {
        const ElfW(Phdr) *p = &program->headers[i];
        if (p->p_type == PT_LOAD && p->p_offset == 0) return (uintptr_t)file - p->p_vaddr;
    }
    return 0;
}

static void find_program(struct program *program) {
    uintptr_t lowest = UINTPTR_MAX, offset = 0;
    program->headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    program->count = program->headers != NULL ? getauxval(AT_PHNUM) : 0;
    program->slide = program->headers != NULL ? slide_by_header(program) : 0;
    program->load = 0;
    program->path[0] = '\0';
    for (size_t i = 0; i < program->count; i++) {
        const ElfW(Phdr) *p = &program->headers[i];
        if (p->p_type == PT_PHDR) program->slide = (uintptr_t)program->headers - p->p_vaddr;
        if (p->p_type != PT_LOAD || p->p_vaddr >= lowest) continue;
        lowest = p->p_vaddr;
        offset = p->p_offset;
    }
    /* The address of the file's first byte: `offset` bytes below the lowest segment, which begins at a page. */
    if (lowest != UINTPTR_MAX) program->load = program->slide + lowest - offset;
}

/* Returns the head of the chain; 0 when the program was linked statically. */
static uintptr_t find_chain(const struct program *program) {
    const ElfW(Dyn) *dynamic = NULL;
    for (size_t i = 0; i < program->count; i++) {
        const ElfW(Phdr) *p = &program->headers[i];
        if (p->p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn) *)(program->slide + p->p_vaddr);
    }
    for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        const struct r_debug *debug = (const struct r_debug *)dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_DEBUG) return debug != NULL ? (uintptr_t)debug->r_map : 0;
    }
    return 0;
}

/* ---- the chain ---- */

struct listing {
    struct program program;
    usp_addr loader, vdso;
    struct usp_memory memory; /* this process's memory, read by pages */
    struct uspi_page_cache *pages;
    struct uspi_source source; /* the same memory */
    struct listed *images;
    size_t count, capacity;
    struct uspi_linked linked;
};

static struct listed *append(struct listing *listing) {
    struct listed *images = uspi_array_reserve(listing->images, &listing->capacity, listing->count + 1, sizeof *images);
    if (images == NULL) return NULL;
    listing->images = images;
    memset(&images[listing->count], 0, sizeof *images);
    return &images[listing->count++];
}

static void forget_images(struct listing *listing) {
    for (size_t i = 0; i < listing->count; i++) free(listing->images[i].name);
    listing->count = 0;
}

/* Copies a name; *name stays NULL for an empty one. Returns USP_ERROR_BUSY when there is no valid name: the chain has
 * changed. */
static int copy_name(const struct listing *listing, uintptr_t at, char **name) {
    char text[PATH_MAX];
    if (at == 0) return USP_OK;
    int status = uspi_bytes_string(uspi_bytes_at(&listing->source, at), 0, text, sizeof text, "name", NULL);
    if (status != USP_OK) return USP_ERROR_BUSY;
    if (text[0] == '\0') return USP_OK;
    *name = strdup(text);
    return *name != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int copy_chain(struct listing *listing, uintptr_t head) {
    forget_images(listing);
    if (listing->pages != NULL) uspi_page_cache_init(listing->pages, (struct usp_memory){uspi_os_read, NULL});
    for (uintptr_t at = head; at != 0; at = listing->images[listing->count - 1].node.next) {
        if (listing->count == NODES_MAX) return USP_ERROR_BUSY;
        struct listed *image = append(listing);
        if (image == NULL) return USP_ERROR_NO_MEMORY;
        image->at = at;
        if (listing->memory.read(listing->memory.context, at, &image->node, sizeof image->node) != USP_OK) {
            return USP_ERROR_BUSY;
        }
        int status = copy_name(listing, image->node.name, &image->name);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

/* Whether each node is as it was copied. Reads many nodes by one call, without the cached pages. */
static bool is_chain_unchanged(const struct listing *listing) {
    struct node now[AT_ONCE];
    usp_addr from[AT_ONCE];
    for (size_t i = 0; i < listing->count;) {
        size_t first = i, n = 0;
        for (; n < AT_ONCE && i < listing->count; i++) {
            if (listing->images[i].at != 0) from[n++] = listing->images[i].at;
        }
        if (uspi_os_read_pieces(from, n, now, sizeof now[0]) != USP_OK) return false;
        for (size_t k = 0; k < n; first++) {
            if (listing->images[first].at == 0) continue;
            if (memcmp(&now[k++], &listing->images[first].node, sizeof now[0]) != 0) return false;
        }
    }
    return true;
}

/* Whether the names of images that may be unloaded are as they were copied. Another image's node may have been
 * allocated at the same address. */
static bool are_names_unchanged(const struct listing *listing) {
    const struct usp_memory memory = {uspi_os_read, NULL};
    const struct uspi_source source = uspi_source_of_memory(&memory, "loader's list");
    char now[PATH_MAX];
    for (size_t i = 0; i < listing->count; i++) {
        const struct listed *image = &listing->images[i];
        size_t size = image->name != NULL ? strlen(image->name) + 1 : 0;
        if (size == 0 || image->at == 0 || (image->image.flags & USP_IMAGE_PERMANENT) != 0) continue;
        if (uspi_bytes_read(uspi_bytes_at(&source, image->node.name), 0, now, size, "name", NULL) != USP_OK ||
            memcmp(now, image->name, size) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- the images ---- */

/* Returns where the file is mapped that has a mapping at an address; 0: not known. Needed for libraries that were
 * linked for an address other than 0, because their slide is not their load address. */
static usp_addr find_beginning(const struct listing *listing, uintptr_t within) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    struct usp_image image;
    struct uspi_elf elf;
    usp_addr low = 0, end = 0;
    uint64_t inode = 0;
    bool is_found = false;
    if (within == 0 || uspi_proc_maps_open(&maps, 0) < 0) return 0;
    while (!is_found && uspi_proc_maps_next(&maps, &m)) {
        /* Several segments of one image may begin in the file's first page. */
        const bool is_again = m.inode == inode && m.low < end;
        if (m.offset == 0 && m.inode != 0 && !is_again) {
            low = m.low;
            inode = m.inode;
            end = uspi_linux_describe_image(&listing->source, low, &elf, &image) ? image.end : m.high;
        }
        is_found = within >= m.low && within < m.high && m.inode == inode && inode != 0;
    }
    uspi_proc_maps_close(&maps);
    return is_found ? low : 0;
}

static usp_addr find_load_address(const struct listing *listing, const struct listed *image) {
    uint8_t magic[4];
    const struct program *program = &listing->program;
    if (image->at == 0) return image->image.load_address;
    if (image->node.slide == program->slide && image->node.previous == 0) return program->load;
    bool is_header = uspi_bytes_read(uspi_bytes_at(&listing->source, image->node.slide), 0, magic, sizeof magic,
                                     "header", NULL) == USP_OK &&
                     memcmp(magic, ELFMAG, SELFMAG) == 0;
    return is_header ? image->node.slide : find_beginning(listing, image->node.dynamic);
}

/* Reads the bytes that show whether the image is still loaded: its build id's note, otherwise a part of its headers. */
static void read_trace(const struct uspi_elf *elf, struct trace *trace) {
    struct uspi_bytes id;
    /* The trace includes the end of the note's header and owner name, which precede the id. So nothing is read beyond a
     * short id. */
    bool has_id = uspi_elf_build_id_bytes(elf, &id, NULL) == USP_OK && id.size >= TRACE_SIZE / 2;
    trace->at = has_id ? id.from - TRACE_SIZE / 2 : elf->bytes.from + offsetof(ElfW(Ehdr), e_entry);
    trace->size = TRACE_SIZE;
    if (uspi_os_read(NULL, trace->at, trace->bytes, TRACE_SIZE) != USP_OK) trace->at = 0;
}

/* Fills in an image from its headers. An image without headers is left out: the chain has changed meanwhile. */
static void describe_image(struct listing *listing, struct listed *image) {
    struct uspi_elf elf;
    usp_addr load = find_load_address(listing, image);
    image->is_there = load != 0 && uspi_linux_describe_image(&listing->source, load, &elf, &image->image);
    if (!image->is_there) return;
    if (load == listing->program.load) image->image.flags |= USP_IMAGE_MAIN;
    if (load == listing->loader) image->image.flags |= USP_IMAGE_LOADER;
    if (load == listing->vdso) image->image.flags |= USP_IMAGE_KERNEL;
    bool is_program = (image->image.flags & USP_IMAGE_MAIN) != 0,
         stays = (image->image.flags & ~(uint32_t)USP_IMAGE_TEXT_OFFSET) != 0;
    if (uspi_linked_visit(&listing->linked, &elf, image->name, is_program) || stays || NEVER_UNLOADS) {
        image->image.flags |= USP_IMAGE_PERMANENT;
    }
    read_trace(&elf, &image->trace);
}

/* Appends an image that the kernel has loaded, unless the chain contains it. The chain of a statically linked program
 * lacks such images. */
static int append_unless_there(struct listing *listing, usp_addr load, const char *name) {
    if (load == 0) return USP_OK;
    for (size_t i = 0; i < listing->count; i++) {
        if (listing->images[i].is_there && listing->images[i].image.load_address == load) return USP_OK;
    }
    struct listed *image = append(listing);
    if (image == NULL) return USP_ERROR_NO_MEMORY;
    if (name != NULL && (image->name = strdup(name)) == NULL) return USP_ERROR_NO_MEMORY;
    image->image.load_address = load;
    describe_image(listing, image);
    return USP_OK;
}

/* Lists the images once. USP_ERROR_BUSY: the loader has changed its chain meanwhile. */
static int list_once(struct listing *listing, uintptr_t head) {
    int status = copy_chain(listing, head);
    /* The nodes must be valid before the images that they point to are read. */
    if (status == USP_OK && !is_chain_unchanged(listing)) status = USP_ERROR_BUSY;
    if (status != USP_OK) return status;
    uspi_linked_init(&listing->linked);
    for (size_t i = 0; i < listing->count; i++) describe_image(listing, &listing->images[i]);
    if (!is_chain_unchanged(listing) || !are_names_unchanged(listing)) return USP_ERROR_BUSY;
    status = append_unless_there(listing, listing->program.load, NULL);
    return status == USP_OK ? append_unless_there(listing, listing->vdso, "linux-vdso.so.1") : status;
}

/* Learns from the mappings what the loader does not say: which images' files are deleted, and the path of a program
 * that was started through the loader, where /proc/PID/exe is the loader. */
static void learn_of_mappings(struct listing *listing) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    if (uspi_proc_maps_open(&maps, 0) < 0) return;
    while (uspi_proc_maps_next(&maps, &m)) {
        for (size_t i = 0; i < listing->count; i++) {
            struct usp_image *image = &listing->images[i].image;
            if (image->load_address != m.low) continue;
            if (m.deleted) image->flags |= USP_IMAGE_DELETED;
            if ((image->flags & USP_IMAGE_MAIN) != 0 && m.path[0] == '/') {
                snprintf(listing->program.path, sizeof listing->program.path, "%s", m.path);
            }
        }
    }
    uspi_proc_maps_close(&maps);
}

/* Returns an image's path; "" when it has none. */
static const char *path_of(struct listing *listing, const struct listed *image) {
    char *path = listing->program.path;
    if ((image->image.flags & USP_IMAGE_MAIN) == 0) return image->name != NULL ? image->name : "";
    if (path[0] == '\0') uspi_linux_read_program(0, path, sizeof listing->program.path);
    return path;
}

static bool stays(const struct listed *image) { return (image->image.flags & USP_IMAGE_PERMANENT) != 0; }

static struct trace trace_of_node(const struct listed *image) {
    struct trace trace = {.at = image->at, .size = offsetof(struct node, previous)};
    memcpy(trace.bytes, &image->node, trace.size);
    return trace;
}

static struct uspi_os_loaded *remember(const struct listing *listing) {
    struct uspi_os_loaded *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    made->links = calloc(listing->count + 1, sizeof *made->links);
    made->nodes = calloc(listing->count + 1, sizeof *made->nodes);
    made->images = calloc(listing->count + 1, sizeof *made->images);
    if (made->links == NULL || made->nodes == NULL || made->images == NULL) {
        uspi_os_loaded_free(made);
        return NULL;
    }
    for (size_t i = 0; i < listing->count && listing->images[i].at != 0; i++) {
        const struct listed *image = &listing->images[i];
        bool is_last = i + 1 == listing->count || image[1].at == 0;
        if (!stays(image)) {
            made->nodes[made->node_count++] = trace_of_node(image);
            if (image->trace.at != 0) made->images[made->image_count++] = image->trace;
        } else if (is_last || !stays(&image[1])) {
            made->links[made->link_count++] = (struct link){image->at, image->node.next};
        }
    }
    return made;
}

static int hand_over(struct listing *listing, struct uspi_images_found *found) {
    int status = USP_OK;
    for (size_t i = 0; status == USP_OK && i < listing->count; i++) {
        struct listed *image = &listing->images[i];
        if (!image->is_there) continue;
        image->image.path = path_of(listing, image);
        status = found->add(found->context, &image->image);
    }
    return status;
}

int uspi_os_images_self(struct uspi_images_found *found, uint64_t deadline, struct uspi_os_loaded **loaded) {
    int status = USP_ERROR_BUSY;
    *loaded = NULL;
    struct listing *listing = calloc(1, sizeof *listing);
    if (listing == NULL) return USP_ERROR_NO_MEMORY;
    listing->memory = (struct usp_memory){uspi_os_read, NULL};
    /* Nodes and headers are read in small pieces, which usually share a page. */
    listing->pages = uspi_page_cache_before(&listing->memory);
    listing->source = uspi_source_of_memory(&listing->memory, "image");
    listing->loader = getauxval(AT_BASE);
    listing->vdso = getauxval(AT_SYSINFO_EHDR);
    find_program(&listing->program);
    uintptr_t head = find_chain(&listing->program);
    for (unsigned i = 0; i < TRIES && status == USP_ERROR_BUSY && (i == 0 || uspi_os_clock() < deadline); i++) {
        if (i > 0) sched_yield();
        status = list_once(listing, head);
    }
    struct uspi_os_loaded *made = status == USP_OK ? remember(listing) : NULL;
    if (status == USP_OK && made == NULL) status = USP_ERROR_NO_MEMORY;
    if (status == USP_OK) {
        learn_of_mappings(listing);
        status = hand_over(listing, found);
    }
    if (status == USP_OK) {
        *loaded = made;
    } else {
        uspi_os_loaded_free(made);
    }
    forget_images(listing);
    free(listing->images);
    free(listing->pages);
    free(listing);
    return status;
}

/* ---- later ---- */

void uspi_os_loaded_free(struct uspi_os_loaded *loaded) {
    if (loaded == NULL) return;
    free(loaded->links);
    free(loaded->nodes);
    free(loaded->images);
    free(loaded);
}

/* Returns how many images are compared at one check. */
static size_t images_of_look(const struct uspi_os_loaded *loaded) {
    return loaded->image_count < 2 * LATEST ? loaded->image_count : 2 * LATEST;
}

/* Returns the k-th image to compare.
 *   others  how many images were compared in turns before this check */
static const struct trace *image_of_look(const struct uspi_os_loaded *loaded, size_t k, size_t others) {
    if (loaded->image_count <= 2 * LATEST) return &loaded->images[k];
    const size_t rest = loaded->image_count - LATEST;
    return &loaded->images[k < LATEST ? rest + k : (others + k) % rest];
}

static bool are_unchanged(const struct trace *const *traces, size_t count) {
    uint8_t now[AT_ONCE][TRACE_SIZE];
    usp_addr from[AT_ONCE];
    for (size_t i = 0; i < count; i++) from[i] = traces[i]->at;
    if (uspi_os_read_pieces(from, count, now, TRACE_SIZE) != USP_OK) return false;
    for (size_t i = 0; i < count; i++) {
        if (memcmp(now[i], traces[i]->bytes, traces[i]->size) != 0) return false;
    }
    return true;
}

static bool is_unchanged(struct uspi_os_loaded *loaded) {
    const struct trace *traces[AT_ONCE];
    for (size_t i = 0; i < loaded->link_count; i++) {
        uintptr_t next;
        uspi_read_directly(loaded->links[i].at + offsetof(struct node, next), &next, sizeof next);
        if (next != loaded->links[i].next) return false;
    }
    const size_t others = atomic_fetch_add_explicit(&loaded->others, LATEST, memory_order_relaxed);
    const size_t all = loaded->node_count + images_of_look(loaded);
    size_t n = 0;
    for (size_t i = 0; i < all; i++) {
        traces[n++] =
            i < loaded->node_count ? &loaded->nodes[i] : image_of_look(loaded, i - loaded->node_count, others);
        if (n < AT_ONCE && i + 1 < all) continue;
        if (!are_unchanged(traces, n)) return false;
        n = 0;
    }
    return true;
}

bool uspi_os_loaded_is_current(struct uspi_os_loaded *loaded) {
    if (!atomic_load(&loaded->has_changed) && !is_unchanged(loaded)) atomic_store(&loaded->has_changed, true);
    return !atomic_load(&loaded->has_changed);
}

bool uspi_os_loaded_has(const struct uspi_os_loaded *loaded, const struct usp_image *image) {
    uint8_t now[TRACE_SIZE];
    for (size_t i = 0; i < loaded->image_count; i++) {
        const struct trace *trace = &loaded->images[i];
        if (trace->at - image->load_address >= image->end - image->load_address) continue;
        return uspi_os_read(NULL, trace->at, now, trace->size) == USP_OK && memcmp(now, trace->bytes, trace->size) == 0;
    }
    return true;
}

#endif
