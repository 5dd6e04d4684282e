/* SPDX-License-Identifier: MIT */
/* Finds backends among those that are linked: the host's, and all of arch/backends.h if the program uses others
 * (any.h). */
#include "arch/any.h"
#include "arch/host.h"

/* Whether threads of this host may run a processor's code: its own, with pointers of each width. */
#define IS_ARM(arch)  ((arch) == USP_ARCH_ARM64 || (arch) == USP_ARCH_ARM64_32 || (arch) == USP_ARCH_ARMV7)
#define IS_X86(arch)  ((arch) == USP_ARCH_X86_64 || (arch) == USP_ARCH_I386)
#define IS_HOST(arch) ((IS_ARM(arch) && USPI_HOST_IS_ARM) || (IS_X86(arch) && IS_X86(USPI_HOST_ARCH)))

#define ENTRY(arch, backend) [USP_ARCH_##arch] = IS_HOST(USP_ARCH_##arch) ? &backend : NULL,
static const struct uspi_backend *const of_host[] = {USPI_BACKENDS(ENTRY)};

#define COUNT (sizeof of_host / sizeof *of_host)

__attribute__((weak)) const struct uspi_backend *const *uspi_backends(void) { return of_host; }

const struct uspi_backend *uspi_backend_find(uint32_t arch) {
    if (arch >= COUNT) return NULL;
    return of_host[arch] != NULL ? of_host[arch] : uspi_backends()[arch];
}

const struct uspi_backend *uspi_backend_of_elf(uint32_t machine, unsigned word) {
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct uspi_backend *b = uspi_backends()[i];
        if (b != NULL && b->elf_machine == machine && b->elf_machine != 0 && b->word == word) return b;
    }
    return NULL;
}

const struct uspi_backend *uspi_backend_of_macho(uint32_t cpu) {
    for (uint32_t i = 0; i < COUNT; i++) {
        if (uspi_backends()[i] != NULL && uspi_backends()[i]->macho_cpu == cpu && cpu != 0) return uspi_backends()[i];
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
    for (uint32_t i = 0; name != NULL && i < COUNT; i++) {
        const struct uspi_backend *b = uspi_backends()[i];
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
    for (uint32_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; uspi_backends()[i] != NULL && k < uspi_backends()[i]->name_count; k++) {
            if (uspi_backends()[i]->names[k].variant == variant) return true;
        }
    }
    return false;
}
