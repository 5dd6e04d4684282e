/* SPDX-License-Identifier: MIT */
/* Static assertions about Apple's structures and constants; no code. The library reads these structures as bytes, from
 * any task and on any host (arch/, lib/object/), so nothing else would notice a header that differs. Headers that only
 * Apple's SDK has are checked where they exist. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/darwin.h"

#include "arch/host.h"

#include <mach/thread_status.h>
#include <signal.h>
#include <stddef.h>

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (size_t)(offset), #type "." #field)
#define SIZE(type, size)        _Static_assert(sizeof(type) == (size), #type)
#define IS(what, value)         _Static_assert((what) == (value), #what)

/* ---- states of threads: xnu osfmk/mach/arm/_structs.h, osfmk/mach/i386/_structs.h ---- */

#ifdef ARM_THREAD_STATE64
IS(ARM_THREAD_STATE, 1);
IS(ARM_THREAD_STATE64, 6);
IS(ARM_THREAD_STATE32, 9);
SIZE(arm_thread_state64_t, 68 * 4);
SIZE(arm_thread_state32_t, 17 * 4);
AT(arm_thread_state64_t, __x[1], 8);
/* On arm64e these registers are opaque pointers. */
#if defined(__DARWIN_OPAQUE_ARM_THREAD_STATE64) && __DARWIN_OPAQUE_ARM_THREAD_STATE64
AT(arm_thread_state64_t, __opaque_fp, 232);
AT(arm_thread_state64_t, __opaque_lr, 240);
AT(arm_thread_state64_t, __opaque_sp, 248);
AT(arm_thread_state64_t, __opaque_pc, 256);
AT(arm_thread_state64_t, __opaque_flags, 268);
#else
AT(arm_thread_state64_t, __fp, 232);
AT(arm_thread_state64_t, __lr, 240);
AT(arm_thread_state64_t, __sp, 248);
AT(arm_thread_state64_t, __pc, 256);
AT(arm_thread_state64_t, __pad, 268);
#endif
AT(arm_thread_state64_t, __cpsr, 264);
AT(arm_thread_state32_t, __r[7], 28);
AT(arm_thread_state32_t, __r[11], 44);
AT(arm_thread_state32_t, __sp, 52);
AT(arm_thread_state32_t, __lr, 56);
AT(arm_thread_state32_t, __pc, 60);
AT(arm_thread_state32_t, __cpsr, 64);
#ifdef ARM_UNIFIED_THREAD_STATE_COUNT
/* The unified state: flavor and count, followed by one of the two states. */
IS(ARM_UNIFIED_THREAD_STATE, 1);
IS(ARM_UNIFIED_THREAD_STATE_COUNT, 70);
AT(arm_unified_thread_state_t, ash.flavor, 0);
AT(arm_unified_thread_state_t, ash.count, 4);
AT(arm_unified_thread_state_t, uts, 8);
#endif
#ifdef __DARWIN_ARM_THREAD_STATE64_FLAGS_NO_PTRAUTH
IS(__DARWIN_ARM_THREAD_STATE64_FLAGS_NO_PTRAUTH, 0x1);
IS(__DARWIN_ARM_THREAD_STATE64_FLAGS_IB_SIGNED_LR, 0x2);
#endif
#endif
#ifdef x86_THREAD_STATE64
IS(x86_THREAD_STATE32, 1);
IS(x86_THREAD_STATE64, 4);
SIZE(x86_thread_state64_t, 42 * 4);
SIZE(x86_thread_state32_t, 16 * 4);
#define ORDER64(field, i) AT(x86_thread_state64_t, field, 8 * (i))
#define ORDER32(field, i) AT(x86_thread_state32_t, field, 4 * (i))
ORDER64(__rax, 0);
ORDER64(__rbx, 1);
ORDER64(__rcx, 2);
ORDER64(__rdx, 3);
ORDER64(__rdi, 4);
ORDER64(__rsi, 5);
ORDER64(__rbp, 6);
ORDER64(__rsp, 7);
ORDER64(__r8, 8);
ORDER64(__r15, 15);
ORDER64(__rip, 16);
ORDER64(__rflags, 17);
ORDER32(__eax, 0);
ORDER32(__ebx, 1);
ORDER32(__ecx, 2);
ORDER32(__edx, 3);
ORDER32(__edi, 4);
ORDER32(__esi, 5);
ORDER32(__ebp, 6);
ORDER32(__esp, 7);
ORDER32(__eflags, 9);
ORDER32(__eip, 10);
#ifdef x86_THREAD_STATE_COUNT
/* The unified state: flavor and count, followed by one of the two states. */
IS(x86_THREAD_STATE, 7);
IS(x86_THREAD_STATE_COUNT, 44);
AT(x86_thread_state_t, tsh.flavor, 0);
AT(x86_thread_state_t, tsh.count, 4);
AT(x86_thread_state_t, uts, 8);
#endif
#endif

/* ---- a handler's context: xnu bsd/sys/_types/_ucontext.h, bsd/arm/_mcontext.h, bsd/i386/_mcontext.h ---- */

AT(ucontext_t, uc_mcontext, sizeof(void *) == 8 ? 48 : 28);

#if __has_include(<mach-o/dyld_images.h>)
/* In Apple's SDK the type that uc_mcontext points to is known. */
AT(__typeof__(*((ucontext_t *)0)->uc_mcontext), __ss,
   USPI_HOST_ARCH == USP_ARCH_ARMV7 || USPI_HOST_ARCH == USP_ARCH_I386 ? 12 : 16);

/* ---- the kernel's frame for a signal (lib/unwind/signals/sigframe.c); arm64_32: that of 64-bit processes ---- */

AT(siginfo_t, si_signo, 0);
SIZE(siginfo_t, sizeof(void *) == 8 ? 104 : 64);
AT(ucontext_t, uc_onstack, 0);
AT(ucontext_t, uc_link, sizeof(void *) == 8 ? 32 : 20);
AT(ucontext_t, uc_mcsize, sizeof(void *) == 8 ? 40 : 24);
SIZE(ucontext_t, sizeof(void *) == 8 ? 56 : 32);
#if defined(ARM_THREAD_STATE64)
SIZE(__typeof__(*((ucontext_t *)0)->uc_mcontext), USPI_HOST_ARCH == USP_ARCH_ARMV7 ? 340 : 816);
#elif defined(_STRUCT_MCONTEXT64)
/* Sizes in 64-bit processes, which depend on the compiler's alignment. */
#define WIDE_SIZE(type, size) _Static_assert(sizeof(void *) != 8 || sizeof(type) == (size), #type)
SIZE(_STRUCT_MCONTEXT32, 600);
SIZE(_STRUCT_MCONTEXT_AVX32, 792);
WIDE_SIZE(_STRUCT_MCONTEXT64, 712);
WIDE_SIZE(_STRUCT_MCONTEXT_AVX64, 1032);
#ifdef _STRUCT_MCONTEXT_AVX512_64
SIZE(_STRUCT_MCONTEXT_AVX512_32, 1112);
WIDE_SIZE(_STRUCT_MCONTEXT_AVX512_64, 2632);
#endif
#ifdef _STRUCT_MCONTEXT64_FULL
WIDE_SIZE(_STRUCT_MCONTEXT64_FULL, 744);
WIDE_SIZE(_STRUCT_MCONTEXT_AVX64_FULL, 1064);
#endif
#endif
#endif

/* ---- information from the kernel: xnu osfmk/mach/thread_info.h, osfmk/mach/task_info.h ---- */

IS(THREAD_IDENTIFIER_INFO, 4);
IS(THREAD_IDENTIFIER_INFO_COUNT, 6);
AT(struct thread_identifier_info, thread_id, 0);
AT(struct thread_identifier_info, thread_handle, 8);
AT(struct thread_identifier_info, dispatch_qaddr, 16);
IS(THREAD_EXTENDED_INFO, 5);
IS(THREAD_EXTENDED_INFO_COUNT, 28);
AT(struct thread_extended_info, pth_user_time, 0);
AT(struct thread_extended_info, pth_system_time, 8);
AT(struct thread_extended_info, pth_run_state, 24);
AT(struct thread_extended_info, pth_name, 48);
IS(sizeof(((struct thread_extended_info *)0)->pth_name), 64);
IS(TASK_DYLD_INFO, 17);
AT(struct task_dyld_info, all_image_info_addr, 0);
AT(struct task_dyld_info, all_image_info_format, 16);

/* ---- the loader's list: dyld include/mach-o/dyld_images.h ---- */

#if __has_include(<mach-o/dyld_images.h>)
#include <mach-o/dyld_images.h>
#define IN_LIST(field, wide, narrow) AT(struct dyld_all_image_infos, field, sizeof(void *) == 8 ? (wide) : (narrow))
IN_LIST(version, 0, 0);
IN_LIST(infoArrayCount, 4, 4);
IN_LIST(infoArray, 8, 8);
IN_LIST(dyldImageLoadAddress, 32, 20);
IN_LIST(uuidArrayCount, 88, 48);
IN_LIST(uuidArray, 96, 52);
IN_LIST(sharedCacheSlide, 152, 80);
IN_LIST(sharedCacheUUID, 160, 84);
IN_LIST(sharedCacheBaseAddress, 176, 100);
SIZE(struct dyld_image_info, 3 * sizeof(void *));
#endif

/* ---- Mach-O: xnu EXTERNAL_HEADERS/mach-o/loader.h, nlist.h, fat.h ---- */

#if __has_include(<mach-o/loader.h>)
#include <mach-o/loader.h>
IS(MH_MAGIC, 0xfeedface);
IS(MH_MAGIC_64, 0xfeedfacf);
SIZE(struct mach_header, 28);
SIZE(struct mach_header_64, 32);
IS(MH_DYLIB_IN_CACHE, 0x80000000);
IS(LC_SEGMENT, 1);
IS(LC_SYMTAB, 2);
IS(LC_THREAD, 4);
IS(LC_UNIXTHREAD, 5);
IS(LC_DYSYMTAB, 0xb);
IS(LC_ID_DYLIB, 0xd);
IS(LC_SEGMENT_64, 0x19);
IS(LC_UUID, 0x1b);
IS(LC_FUNCTION_STARTS, 0x26);
IS(LC_BUILD_VERSION, 0x32);
IS(LC_DYLD_CHAINED_FIXUPS, 0x80000034);
AT(struct segment_command_64, segname, 8);
AT(struct segment_command_64, vmaddr, 24);
AT(struct segment_command_64, vmsize, 32);
AT(struct segment_command_64, fileoff, 40);
AT(struct segment_command_64, filesize, 48);
AT(struct segment_command_64, nsects, 64);
SIZE(struct section_64, 80);
AT(struct symtab_command, symoff, 8);
AT(struct symtab_command, nsyms, 12);
AT(struct symtab_command, stroff, 16);
AT(struct symtab_command, strsize, 20);
#endif
#if __has_include(<mach-o/nlist.h>)
#include <mach-o/nlist.h>
SIZE(struct nlist, 12);
SIZE(struct nlist_64, 16);
AT(struct nlist_64, n_un, 0);
AT(struct nlist_64, n_type, 4);
AT(struct nlist_64, n_sect, 5);
AT(struct nlist_64, n_desc, 6);
AT(struct nlist_64, n_value, 8);
IS(N_STAB, 0xe0);
IS(N_TYPE, 0x0e);
IS(N_SECT, 0x0e);
IS(N_EXT, 0x01);
IS(N_ALT_ENTRY, 0x200);
IS(N_ARM_THUMB_DEF, 0x0008);
#endif
#if __has_include(<mach-o/fat.h>)
#include <mach-o/fat.h>
IS(FAT_MAGIC, 0xcafebabe);
IS(FAT_MAGIC_64, 0xcafebabf);
#endif
#if __has_include(<mach/machine.h>)
#include <mach/machine.h>
IS(CPU_TYPE_I386, 7);
IS(CPU_TYPE_X86_64, 0x01000007);
IS(CPU_TYPE_ARM, 12);
IS(CPU_TYPE_ARM64, 0x0100000c);
IS(CPU_TYPE_ARM64_32, 0x0200000c);
IS(CPU_SUBTYPE_ARM_V7, 9);
IS(CPU_SUBTYPE_ARM_V7S, 11);
IS(CPU_SUBTYPE_ARM_V7K, 12);
IS(CPU_SUBTYPE_ARM64E, 2);
#endif

/* ---- results of calls: xnu osfmk/mach/kern_return.h ---- */

IS(KERN_SUCCESS, 0);
IS(KERN_FAILURE, 5);
IS(KERN_TERMINATED, 37);

#endif
