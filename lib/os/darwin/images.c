/* SPDX-License-Identifier: MIT */
/* Lists the images of this process, which its loader announces, and of another task, by its loader's list. Also looks
 * up names by the loader. lib/object/ reads Mach-O headers. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/base/page_cache.h"
#include "lib/object/dyld_list.h"
#include "lib/object/macho.h"
#include "lib/os/darwin/darwin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* PATH_MAX of xnu bsd/sys/syslimits.h. */
#define PATH_ROOM 1024
/* Maximum number of attempts to read a list that is being changed. */
#define TRIES 3u

/* A list of images that is being made, and the task that they belong to. */
struct work {
    struct uspi_images_found *found;
    struct usp_memory memory, task;
    struct uspi_source source;
    struct uspi_page_cache *pages; /* a cache for small reads of headers; NULL: each read is a system call */
    bool is_own;
    char path[PATH_ROOM];
};

static struct work *begin_work(struct uspi_images_found *found, task_t task, bool is_own) {
    struct work *w = calloc(1, sizeof *w);
    if (w == NULL) return NULL;
    w->found = found;
    w->is_own = is_own;
    w->task = w->memory = (struct usp_memory){uspi_darwin_read_task, (void *)(uintptr_t)task};
    w->pages = uspi_page_cache_before(&w->memory);
    w->source = uspi_source_of_memory(&w->memory, "image");
    return w;
}

static void end(struct work *w) {
    free(w->pages);
    free(w);
}

/* Describes an image. Returns false when its headers are missing or invalid: it was being unloaded, or is not an image.
 *   path  address of its path; 0: not known
 *   name  receives the path; PATH_ROOM bytes */
static bool describe_image(const struct uspi_source *source, usp_addr load, usp_addr path, bool is_own,
                           struct usp_image *image, char *name) {
    struct uspi_macho macho;
    if (uspi_macho_open(&macho, uspi_bytes_at(source, load), NULL) != USP_OK ||
        uspi_macho_describe(&macho, load, image, NULL) != USP_OK || image->end <= load) {
        return false;
    }
    bool named =
        path != 0 && uspi_bytes_string(uspi_bytes_at(source, path), 0, name, PATH_ROOM, "path", NULL) == USP_OK;
    if (!named && uspi_macho_install_name(&macho, name, PATH_ROOM, NULL) != USP_OK) name[0] = '\0';
    image->path = name;
    bool stays =
        (image->flags & (USP_IMAGE_MAIN | USP_IMAGE_LOADER)) != 0 || (macho.flags & USPI_MH_DYLIB_IN_CACHE) != 0;
    if (is_own && stays) image->flags |= USP_IMAGE_PERMANENT;
    return true;
}

static int add_image(struct work *w, usp_addr load, usp_addr path) {
    struct usp_image image;
    if (!describe_image(&w->source, load, path, w->is_own, &image, w->path)) return USP_OK;
    return w->found->add(w->found->context, &image);
}

static int open_list(struct work *w, task_t task, struct uspi_dyld_list *list) {
    usp_addr infos = 0;
    bool wide = false;
    int status = uspi_darwin_dyld_infos(task, &infos, &wide);
    for (unsigned i = 0; i < TRIES && status == USP_OK; i++) {
        /* The cached pages are out of date. */
        if (w->pages != NULL) uspi_page_cache_init(w->pages, w->task);
        status = uspi_dyld_list_open(list, &w->source, infos, wide, NULL);
        if (status != USP_ERROR_BUSY) break;
        if (i + 1 < TRIES) status = USP_OK;
    }
    return status;
}

static void take_cache(struct uspi_images_found *found, const struct uspi_dyld_list *loader) {
    found->has_cache = loader->has_cache;
    found->cache = loader->cache;
}

/* For a listing without an allocation: the work with a cache of its own. */
#define MAPPED_PAGES     16u
#define MAPPED_PAGE_SIZE 1024u
struct mapped {
    struct work work;
    struct uspi_page_cache cache;
    struct uspi_cached_page pages[MAPPED_PAGES];
    uint8_t bytes[MAPPED_PAGES * MAPPED_PAGE_SIZE];
};
_Static_assert(sizeof(struct mapped) <= USPI_OS_MAPPED_ROOM, "the listing fits into the caller's room");

struct uspi_os_loaded {
    uint64_t generation;
};

/* Adds the images that the loader has announced, and the loader, which announces every image except itself. */
static int add_announced(struct work *w) {
    struct uspi_darwin_loaded loaded;
    struct uspi_dyld_list loader = {.loader = 0};
    int status = USP_OK;
    for (size_t at = 0; status == USP_OK && uspi_darwin_next_loaded(&at, &loaded);) {
        status = add_image(w, loaded.load, loaded.path);
    }
    if (status == USP_OK && open_list(w, mach_task_self(), &loader) == USP_OK) {
        take_cache(w->found, &loader);
        if (loader.loader != 0) status = add_image(w, loader.loader, 0);
    }
    return status;
}

static int list_own(struct uspi_images_found *found) {
    bool complete;
    struct work *w = begin_work(found, mach_task_self(), true);
    if (w == NULL) return USP_ERROR_NO_MEMORY;
    const int status = add_announced(w);
    end(w);
    uspi_darwin_loaded_generation(&complete);
    return status == USP_OK && !complete ? USP_ERROR_NO_MEMORY : status;
}

int uspi_os_images_self(struct uspi_images_found *found, uint64_t deadline, struct uspi_os_loaded **loaded) {
    bool complete;
    /* The loader's announcements are read only once, so no deadline is needed. */
    (void)deadline;
    *loaded = malloc(sizeof **loaded);
    if (*loaded == NULL) return USP_ERROR_NO_MEMORY;
    uspi_darwin_watch_images();
    /* The generation is read before the list is made, so that changes in between count. */
    (*loaded)->generation = uspi_darwin_loaded_generation(&complete);
    int status = list_own(found);
    if (status == USP_OK) return USP_OK;
    free(*loaded);
    *loaded = NULL;
    return status;
}

bool uspi_os_loaded_is_current(struct uspi_os_loaded *loaded) {
    bool complete;
    return uspi_darwin_loaded_generation(&complete) == loaded->generation;
}

bool uspi_os_loaded_has(const struct uspi_os_loaded *loaded, const struct usp_image *image) {
    (void)loaded;
    return uspi_darwin_is_loaded((uintptr_t)image->load_address);
}

void uspi_os_loaded_free(struct uspi_os_loaded *loaded) { free(loaded); }

/* For signal handlers: takes no lock, allocates nothing, calls no loader function. An image begins with its header. So
 * the only image that can contain an address is the one with the highest load address at or below it. The list has no
 * order. */
int uspi_os_image_at(usp_addr address, struct usp_image *image, char *path, size_t path_size) {
    const struct usp_memory memory = {uspi_darwin_read_task, (void *)(uintptr_t)mach_task_self()};
    const struct uspi_source source = uspi_source_of_memory(&memory, "image");
    struct uspi_dyld_list loader;
    usp_addr infos = 0, nearest = 0, its_path = 0;
    char name[PATH_ROOM];
    bool wide = false;
    int status = uspi_darwin_dyld_infos(mach_task_self(), &infos, &wide);
    if (status == USP_OK) status = uspi_dyld_list_open(&loader, &source, infos, wide, NULL);
    for (uint32_t i = 0; status == USP_OK && i < loader.count; i++) {
        usp_addr load, named;
        status = uspi_dyld_list_entry(&loader, i, &load, &named, NULL);
        if (status != USP_OK || load > address || load < nearest) continue;
        nearest = load;
        its_path = named;
    }
    if (status != USP_OK) return status;
    if (loader.loader <= address && loader.loader > nearest) {
        nearest = loader.loader;
        its_path = 0;
    }
    if (nearest == 0 || !describe_image(&source, nearest, its_path, true, image, name) || address >= image->end) {
        return USP_ERROR_NOT_FOUND;
    }
    uspi_image_move_path(image, path, path_size);
    return USP_OK;
}

int uspi_os_images_mapped(void *room, struct uspi_images_found *found, struct uspi_os_place *place) {
    struct mapped *m = room;
    struct work *w = &m->work;
    struct uspi_darwin_region region;
    memset(w, 0, sizeof *w);
    memset(&m->cache, 0, sizeof m->cache);
    place->low = place->high = 0;
    place->access = 0;
    if (uspi_darwin_region_at(mach_task_self(), place->address, &region) && region.low <= place->address) {
        place->low = region.low;
        place->high = region.high;
        place->access = region.access;
    }
    w->found = found;
    w->is_own = true;
    w->task = (struct usp_memory){uspi_darwin_read_task, (void *)(uintptr_t)mach_task_self()};
    w->pages = &m->cache;
    m->cache.pages = m->pages;
    m->cache.bytes = m->bytes;
    m->cache.page_count = MAPPED_PAGES;
    m->cache.page_size = MAPPED_PAGE_SIZE;
    uspi_page_cache_init(&m->cache, w->task);
    w->memory = (struct usp_memory){uspi_page_cache_read, &m->cache};
    w->source = uspi_source_of_memory(&w->memory, "image");
    return add_announced(w);
}

static int images_of(task_t task, struct uspi_images_found *found) {
    struct uspi_dyld_list loader;
    struct work *w = begin_work(found, task, false);
    if (w == NULL) return USP_ERROR_NO_MEMORY;
    int status = open_list(w, task, &loader);
    for (uint32_t i = 0; status == USP_OK && i < loader.count; i++) {
        usp_addr load, path;
        status = uspi_dyld_list_entry(&loader, i, &load, &path, NULL);
        if (status == USP_OK) status = add_image(w, load, path);
    }
    if (status == USP_OK && loader.loader != 0) status = add_image(w, loader.loader, 0);
    if (status == USP_OK) take_cache(found, &loader);
    end(w);
    return status;
}

int uspi_os_images_process(int64_t pid, struct uspi_images_found *found, char *error, size_t error_size) {
    task_t task;
    int status = uspi_darwin_task_of(pid, &task);
    if (status == USP_OK) {
        status = images_of(task, found);
        uspi_darwin_release(task);
        /* Unreadable memory or an invalid list means that the process is ending or damaged. */
        bool is_damaged = status == USP_ERROR_UNREADABLE || status == USP_ERROR_FORMAT || status == USP_ERROR_TRUNCATED;
        if (is_damaged) status = USP_ERROR_SYSTEM;
    }
    uspi_darwin_explain(status, pid, 0, error, error_size);
    return status;
}

/* Apple systems offer no other way to a mapped file than its path. */
int uspi_os_mapped_file(int64_t pid, const struct usp_image *image, char path[USPI_OS_PATH_MAX]) {
    (void)pid;
    (void)image;
    path[0] = '\0';
    return USP_ERROR_UNSUPPORTED;
}

/* No interface that this library uses says which files a process has mapped. */
int uspi_os_jit_file_of(int64_t pid, enum uspi_jit_file which, struct uspi_os_file *file, int64_t *named) {
    (void)pid;
    (void)which;
    (void)named;
    *file = (struct uspi_os_file){.descriptor = -1};
    return USP_ERROR_UNSUPPORTED;
}

/* ---- names ---- */

bool uspi_os_dladdr(uintptr_t address, const char **name, uintptr_t *start, size_t *size, const char **path,
                    uintptr_t *load) {
    Dl_info info;
    *size = 0;
    if (dladdr((const void *)address, &info) == 0) return false;
    *path = info.dli_fname;
    *load = (uintptr_t)info.dli_fbase;
    *name = info.dli_sname;
    *start = info.dli_sname != NULL ? (uintptr_t)info.dli_saddr : 0;
    return true;
}

uintptr_t uspi_os_find_symbol(const char *name) { return (uintptr_t)dlsym(RTLD_DEFAULT, name); }

/* lib/symbolize/ reads Apple's unwind tables; the system has no public function for this. */
bool uspi_os_function_start(uintptr_t address, uintptr_t *start) {
    (void)address;
    *start = 0;
    return false;
}

#endif
