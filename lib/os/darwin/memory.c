/* SPDX-License-Identifier: MIT */
/* Reads and maps memory of this task and of others by calls to the kernel, which check the addresses. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/darwin.h"

#include <TargetConditionals.h>

/* Only macOS has calls for tasks of any address width. Elsewhere <mach/mach_vm.h> is an error (xnu
 * libsyscall/xcodescripts/mach_install_mig.sh), and all tasks have the width of this one. That also holds for systems
 * with Mac Catalyst, which counts as iOS here. */
#if TARGET_OS_OSX
#include <mach/mach_vm.h>
typedef mach_vm_address_t any_address;
typedef mach_vm_size_t any_size;
#define ADDRESS_MAX              UINT64_MAX
#define READ(t, f, n, to, g)     mach_vm_read_overwrite(t, f, n, to, g)
#define REGION(t, a, n, i, c, o) mach_vm_region(t, a, n, VM_REGION_BASIC_INFO_64, i, c, o)
#else
typedef vm_address_t any_address;
typedef vm_size_t any_size;
#define ADDRESS_MAX              UINTPTR_MAX
#define READ(t, f, n, to, g)     vm_read_overwrite(t, f, n, to, g)
#define REGION(t, a, n, i, c, o) vm_region_64(t, a, n, VM_REGION_BASIC_INFO_64, i, c, o)
#endif

int uspi_darwin_status(kern_return_t result) {
    switch (result) {
    case KERN_SUCCESS: return USP_OK;
    case KERN_TERMINATED:
    case KERN_INVALID_ARGUMENT: /* the port is of another kind */
    case KERN_INVALID_NAME:
    case KERN_INVALID_TASK:
    case KERN_INVALID_RIGHT:
    case MACH_SEND_INVALID_DEST: return USP_ERROR_NO_THREAD;
    case KERN_NO_ACCESS:
    case KERN_PROTECTION_FAILURE: return USP_ERROR_PERMISSION;
    case KERN_NO_SPACE:
    case KERN_RESOURCE_SHORTAGE: return USP_ERROR_NO_MEMORY;
    case KERN_NOT_SUPPORTED: return USP_ERROR_UNSUPPORTED;
    case KERN_OPERATION_TIMED_OUT: return USP_ERROR_TIMEOUT;
    default: return USP_ERROR_SYSTEM;
    }
}

int uspi_darwin_read(task_t task, usp_addr from, void *to, size_t n) {
    any_size got = 0;
    if (n == 0) return USP_OK;
    if (from > ADDRESS_MAX || n - 1 > ADDRESS_MAX - from) return USP_ERROR_UNREADABLE;
    kern_return_t result = READ(task, (any_address)from, (any_size)n, (any_address)(uintptr_t)to, &got);
    return result == KERN_SUCCESS && got == n ? USP_OK : USP_ERROR_UNREADABLE;
}

int uspi_darwin_read_task(void *context, usp_addr from, void *to, size_t n) {
    return uspi_darwin_read((task_t)(uintptr_t)context, from, to, n);
}

bool uspi_darwin_region_at(task_t task, usp_addr address, struct uspi_darwin_region *region) {
    vm_region_basic_info_data_64_t info;
    mach_msg_type_number_t count = VM_REGION_BASIC_INFO_COUNT_64;
    /* Kernels no longer give a right here (xnu osfmk/vm/vm_map.c, vm_map_region). */
    mach_port_t object = MACH_PORT_NULL;
    if (address > ADDRESS_MAX) return false;
    any_address low = (any_address)address;
    any_size size = 0;
    if (REGION(task, &low, &size, (vm_region_info_t)&info, &count, &object) != KERN_SUCCESS) return false;
    if (size == 0 || size - 1 > ADDRESS_MAX - low) return false;
    region->low = low;
    region->high = (usp_addr)low + size;
    _Static_assert(VM_PROT_READ == USPI_OS_READABLE, "the bits are the same");
    region->access = (uint32_t)info.protection & (USPI_OS_READABLE | USPI_OS_WRITABLE | USPI_OS_EXECUTABLE);
    region->readable = (info.protection & VM_PROT_READ) != 0;
    return region->high > address;
}

void *uspi_darwin_map(size_t n) {
    vm_address_t at = 0;
    return vm_allocate(mach_task_self(), &at, n, VM_FLAGS_ANYWHERE) == KERN_SUCCESS ? (void *)at : NULL;
}

void uspi_darwin_unmap(void *at, size_t n) {
    if (at != NULL) vm_deallocate(mach_task_self(), (vm_address_t)at, n);
}

#endif
