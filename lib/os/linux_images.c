/* SPDX-License-Identifier: MIT */
/* What is loaded: in this process (the loader says it), in another one (its mappings and its memory say it), and the
 * loader's own lookup of a name. What stands in an ELF header is lib/object/'s to read. */
#define _GNU_SOURCE 1
#include "lib/image_list.h"
#include "lib/object/elf.h"
#include "lib/os/linux.h"
#include "lib/os/linux_linked.h"
#include "lib/os/linux_proc.h"
#include "lib/page_cache.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* Fills an image from its headers in memory. False when there are none, or they contradict themselves. */
static bool describe_image(const struct usp_memory *memory, usp_addr load, struct usp_image *image) {
    struct uspi_source source = uspi_source_of_memory(memory, "image");
    struct uspi_elf elf;
    struct uspi_elf_extent extent;
    struct uspi_build_id id;
    memset(image, 0, sizeof *image);
    if (uspi_elf_open_image(&elf, uspi_bytes_at(&source, load), NULL) != USP_OK ||
        (elf.type != USPI_ET_EXEC && elf.type != USPI_ET_DYN) || uspi_elf_extent(&elf, &extent, NULL) != USP_OK) {
        return false;
    }
    image->load_address = load;
    image->slide = load - elf.header_address;
    image->text_low = extent.text_low + image->slide;
    image->text_high = extent.text_high + image->slide;
    if (extent.text_high == 0) image->text_low = image->text_high = load;
    image->end = extent.high + image->slide;
    image->arch = elf.arch;
    if (image->end <= load) return false;
    if (uspi_elf_build_id(&elf, &id, NULL) == USP_OK) {
        image->build_id_size = id.size < USP_BUILD_ID_MAX ? id.size : USP_BUILD_ID_MAX;
        memcpy(image->build_id, id.bytes, image->build_id_size);
    }
    return true;
}

/* ---- this process ---- */

struct walk_loaded {
    struct uspi_image_list *list;
    struct usp_memory memory;
    usp_addr loader, vdso;
    char program[PATH_MAX];
    struct uspi_linked linked;
    int status;
};

/* Where the first byte of the file lies: below the lowest segment, which the loader maps from a page's beginning. */
static usp_addr header_of(const struct dl_phdr_info *info) {
    uintptr_t lowest = UINTPTR_MAX;
    uint64_t offset = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || p->p_vaddr >= lowest) continue;
        lowest = p->p_vaddr;
        offset = p->p_offset;
    }
    return lowest == UINTPTR_MAX ? 0 : info->dlpi_addr + (uintptr_t)(lowest - offset);
}

static int add_loaded(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    struct walk_loaded *w = context;
    struct usp_image image;
    usp_addr load = header_of(info);
    if (load == 0 || !describe_image(&w->memory, load, &image)) return 0;
    image.path = info->dlpi_name != NULL ? info->dlpi_name : "";
    if (load == w->vdso) {
        image.flags |= USP_IMAGE_KERNEL;
    } else if (image.path[0] == '\0') {
        image.flags |= USP_IMAGE_MAIN;
        image.path = w->program;
    }
    if (load == w->loader) image.flags |= USP_IMAGE_LOADER;
    bool stays = (image.flags & (USP_IMAGE_KERNEL | USP_IMAGE_LOADER)) != 0;
    if (uspi_linked_visit(&w->linked, info, (image.flags & USP_IMAGE_MAIN) != 0) || stays) {
        image.flags |= USP_IMAGE_PERMANENT;
    }
    w->status = uspi_image_list_add(w->list, &image);
    return w->status != USP_OK;
}

/* Marks the images whose files are gone. */
static void mark_deleted(struct uspi_image_list *list, int64_t pid) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    if (uspi_proc_maps_open(&maps, pid) < 0) return;
    while (uspi_proc_maps_next(&maps, &m)) {
        if (!m.deleted) continue;
        for (size_t i = 0; i < list->count; i++) {
            if (list->images[i].load_address == m.low) list->images[i].flags |= USP_IMAGE_DELETED;
        }
    }
    uspi_proc_maps_close(&maps);
}

/* The path of a process's program; "" when it cannot be told. */
static void read_program(int64_t pid, char *path, size_t n) {
    static const char deleted[] = " (deleted)";
    char link[USPI_PROC_PATH_MAX];
    uspi_proc_path(link, pid, 0, "exe");
    long length = uspi_linux->read_link(link, path, n - 1);
    if (length < 0) length = 0;
    size_t suffix = sizeof deleted - 1;
    path[length] = '\0';
    if ((size_t)length > suffix && strcmp(path + length - suffix, deleted) == 0) path[(size_t)length - suffix] = '\0';
}

int uspi_os_images_self(struct uspi_image_list *list) {
    struct walk_loaded w = {.list = list, .memory = {uspi_os_read, NULL}};
    /* An image's headers are read in pieces that lie in one page. */
    struct uspi_page_cache *pages = uspi_page_cache_before(&w.memory);
    uspi_linked_init(&w.linked);
    w.loader = getauxval(AT_BASE);
    w.vdso = getauxval(AT_SYSINFO_EHDR);
    read_program(0, w.program, sizeof w.program);
    dl_iterate_phdr(add_loaded, &w);
    free(pages);
    if (w.status == USP_OK) mark_deleted(list, 0);
    return w.status;
}

static int take_counters(struct dl_phdr_info *info, size_t size, void *context) {
    /* Both are there since glibc 2.4 and in musl; the first call tells all. */
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        *(uint64_t *)context = (uint64_t)info->dlpi_adds + (uint64_t)info->dlpi_subs;
    }
    return 1;
}

/* dl_iterate_phdr takes the loader's lock. */
int uspi_os_image_at(usp_addr address, struct usp_image *image, char *path, size_t path_size) {
    (void)address;
    (void)image;
    (void)path;
    (void)path_size;
    return USP_ERROR_UNSUPPORTED;
}

uint64_t uspi_os_images_generation(void) {
    uint64_t generation = 0;
    dl_iterate_phdr(take_counters, &generation);
    return generation;
}

/* ---- another process ---- */

/* What the kernel told the program at its start (getauxval(3)); 0: not told. */
struct auxiliary {
    usp_addr loader, vdso, headers; /* AT_BASE, AT_SYSINFO_EHDR, AT_PHDR */
};

static struct auxiliary read_auxiliary(int64_t pid, unsigned word) {
    uint8_t bytes[1024];
    struct auxiliary a = {0, 0, 0};
    long n = uspi_proc_read(pid, 0, "auxv", (char *)bytes, sizeof bytes);
    for (long at = 0; at + 2 * (long)word <= n; at += 2 * (long)word) {
        uint64_t value = uspi_le(bytes + at + word, word);
        switch (uspi_le(bytes + at, word)) {
        case AT_BASE: a.loader = value; break;
        case AT_SYSINFO_EHDR: a.vdso = value; break;
        case AT_PHDR: a.headers = value; break;
        default: break;
        }
    }
    return a;
}

static void flag_images(struct uspi_image_list *list, int64_t pid) {
    if (list->count == 0) return;
    uint32_t arch = list->images[0].arch;
    struct auxiliary a = read_auxiliary(pid, arch == USP_ARCH_ARM64 || arch == USP_ARCH_X86_64 ? 8 : 4);
    for (size_t i = 0; i < list->count; i++) {
        struct usp_image *image = &list->images[i];
        if (a.headers - image->load_address < image->end - image->load_address) image->flags |= USP_IMAGE_MAIN;
        if (a.loader == image->load_address) image->flags |= USP_IMAGE_LOADER;
        if (a.vdso == image->load_address) image->flags |= USP_IMAGE_KERNEL;
    }
}

/* An image is what has headers in the first mapping of its file and executable memory of the same file behind it: data
 * files and libraries that a tool only reads are mapped too. */
struct candidate {
    bool pending;
    uint64_t inode;
    struct usp_image image;
    char path[PATH_MAX];
};

static int take_mapping(struct candidate *c, const struct uspi_mapping *m, const struct usp_memory *memory,
                        struct uspi_image_list *list) {
    bool has_file = m->inode != 0, is_vdso = strcmp(m->path, "[vdso]") == 0;
    struct usp_image image;
    if (m->readable && m->offset == 0 && (has_file || is_vdso) && describe_image(memory, m->low, &image)) {
        c->image = image;
        snprintf(c->path, sizeof c->path, "%s", is_vdso ? "linux-vdso.so.1" : m->path);
        c->image.path = c->path;
        if (m->deleted) c->image.flags |= USP_IMAGE_DELETED;
        c->inode = m->inode;
        c->pending = true;
    }
    bool within = m->low >= c->image.load_address && m->low < c->image.end && m->inode == c->inode;
    if (!c->pending || !m->executable || !within) return USP_OK;
    c->pending = false;
    return uspi_image_list_add(list, &c->image);
}

int uspi_os_images_process(int64_t pid, struct uspi_image_list *list) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    struct candidate c = {.pending = false};
    int fd, status = USP_OK;
    if (pid <= 0 || pid > INT32_MAX) return USP_ERROR_NO_THREAD;
    long living = uspi_linux_living_thread(pid);
    if (living < 0) return uspi_linux_status(living);
    pid = living;
    int e = uspi_proc_memory_open(pid, &fd);
    if (e < 0) return uspi_linux_status(e);
    e = uspi_proc_maps_open(&maps, pid);
    if (e < 0) {
        uspi_linux->close(fd);
        return uspi_linux_status(e);
    }
    struct usp_memory memory = {uspi_proc_memory_read, (void *)(intptr_t)fd};
    struct uspi_page_cache *pages = uspi_page_cache_before(&memory);
    while (status == USP_OK && uspi_proc_maps_next(&maps, &m)) status = take_mapping(&c, &m, &memory, list);
    if (status == USP_OK && maps.error < 0) status = uspi_linux_status(maps.error);
    uspi_proc_maps_close(&maps);
    free(pages);
    uspi_linux->close(fd);
    if (status == USP_OK) flag_images(list, pid);
    return status;
}

/* ---- what stands behind an image ---- */

int uspi_os_mapped_file(int64_t pid, const struct usp_image *image, char path[USPI_OS_PATH_MAX]) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    int status = USP_ERROR_NOT_FOUND;
    if (pid < 0 || pid > INT32_MAX) return USP_ERROR_NO_THREAD;
    if ((image->flags & USP_IMAGE_MAIN) != 0) {
        /* Whoever may look at the process may open this one. */
        uspi_proc_path(path, pid, 0, "exe");
        return USP_OK;
    }
    int e = uspi_proc_maps_open(&maps, pid);
    if (e < 0) return uspi_linux_status(e);
    while (status != USP_OK && uspi_proc_maps_next(&maps, &m)) {
        if (m.low != image->load_address || m.offset != 0 || m.inode == 0) continue;
        /* proc_pid_map_files(5): opening one needs CAP_CHECKPOINT_RESTORE. */
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
