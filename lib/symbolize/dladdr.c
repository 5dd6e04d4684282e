/* SPDX-License-Identifier: MIT */
/* The strategy "dladdr": asks this process's own loader. The loader knows images that have no file (the vdso, a deleted
 * library). But it has only dynamic symbols, and searches all of them for each address. */
#include "arch/backend.h"
#include "lib/os/os.h"
#include "lib/symbolize/strategy.h"

#include <unspool/images.h>

#include <string.h>

/* Longer than any name that was written or mangled for a purpose. A longer name counts as no answer. */
#define NAME_MAX_BYTES 4096
#define PIECE          128

/* The maximum number of attempts. The loader is asked again when libraries were loaded or unloaded meanwhile. */
#define ATTEMPTS 4

/* Copies a name from a library that another thread may be unloading. Uses safe reads, which fail where a load would
 * crash. */
static int keep_name(struct uspi_names *names, const char *name, const char **kept) {
    char bytes[NAME_MAX_BYTES];
    size_t used = 0;
    while (used + PIECE <= sizeof bytes) {
        /* Read aligned pieces, because the page after the name may not be mapped. */
        usp_addr from = (usp_addr)(uintptr_t)name + used;
        size_t n = PIECE - (size_t)(from % PIECE);
        if (uspi_os_read(NULL, from, bytes + used, n) != USP_OK) return USP_ERROR_NOT_FOUND;
        const char *end = memchr(bytes + used, '\0', n);
        if (end != NULL) {
            *kept = uspi_names_keep(names, bytes, (size_t)(end - bytes));
            return *kept != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
        }
        used += n;
    }
    return USP_ERROR_NOT_FOUND;
}

/* Asks the loader once. The answer is invalid if a library was unloaded meanwhile. */
static int ask_loader(const struct uspi_query *query, struct uspi_symbol_answer *found) {
    const char *name, *path;
    uintptr_t start, load;
    size_t size;
    if (!uspi_os_dladdr((uintptr_t)query->address, &name, &start, &size, &path, &load)) return USP_ERROR_NOT_FOUND;
    /* Without a size, nothing shows that the symbol reaches the address. */
    if (name == NULL || size == 0 || load != query->image->load_address) return USP_ERROR_NOT_FOUND;
    const struct uspi_backend *backend = uspi_backend_find(query->image->arch);
    found->start = backend != NULL && backend->has_thumb ? start & ~(uintptr_t)1 : start;
    found->size = size;
    return keep_name(query->names, name, &found->name);
}

int uspi_find_by_loader(const struct uspi_query *query, struct uspi_symbol_answer *found) {
    if (!query->in_process || query->address > UINTPTR_MAX) return USP_ERROR_ABSENT;
    /* The index has the same dynamic symbols, from the same file. */
    if (uspi_module_has_symbols(query->module)) return USP_ERROR_NOT_FOUND;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        uint64_t generation = usp_images_generation();
        int status = ask_loader(query, found);
        if (status == USP_ERROR_NO_MEMORY || usp_images_generation() == generation) return status;
    }
    return USP_ERROR_NOT_FOUND;
}
