/* SPDX-License-Identifier: MIT */
/* Finds backends in the list of arch/backends.h. */
#include "arch/backend.h"

#define ENTRY(arch, backend) [USP_ARCH_##arch] = &backend,
static const struct uspi_backend *const backends[] = {USPI_BACKENDS(ENTRY)};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const struct uspi_backend *uspi_backend_find(uint32_t arch) { return arch < COUNT(backends) ? backends[arch] : NULL; }

const struct uspi_backend *uspi_backend_of_elf(uint32_t machine, unsigned word) {
    for (uint32_t i = 0; i < COUNT(backends); i++) {
        const struct uspi_backend *b = backends[i];
        if (b != NULL && b->elf_machine == machine && b->elf_machine != 0 && b->word == word) return b;
    }
    return NULL;
}

const struct uspi_backend *uspi_backend_of_macho(uint32_t cpu) {
    for (uint32_t i = 0; i < COUNT(backends); i++) {
        if (backends[i] != NULL && backends[i]->macho_cpu == cpu && cpu != 0) return backends[i];
    }
    return NULL;
}

/* Only functions over bytes may be called in this folder, no strcmp. */
static bool is_same(const char *a, const char *b) {
    while (*a == *b && *a != '\0') a++, b++;
    return *a == *b;
}

const struct uspi_backend *uspi_backend_of_name(const char *name, uint32_t *variant) {
    *variant = USP_VARIANT_NONE;
    for (uint32_t i = 0; name != NULL && i < COUNT(backends); i++) {
        const struct uspi_backend *b = backends[i];
        if (b == NULL) continue;
        if (is_same(name, b->name)) {
            *variant = USP_VARIANT_PLAIN;
            return b;
        }
        for (size_t k = 0; k < b->name_count; k++) {
            if (!is_same(name, b->names[k].name)) continue;
            *variant = b->names[k].variant;
            return b;
        }
    }
    return NULL;
}

bool uspi_arch_is_known(uint32_t arch) { return arch == USP_ARCH_NONE || uspi_backend_find(arch) != NULL; }

bool uspi_variant_is_known(uint32_t variant) {
    if (variant <= USP_VARIANT_PLAIN) return true;
    for (uint32_t i = 0; i < COUNT(backends); i++) {
        for (size_t k = 0; backends[i] != NULL && k < backends[i]->name_count; k++) {
            if (backends[i]->names[k].variant == variant) return true;
        }
    }
    return false;
}
