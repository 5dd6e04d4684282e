/* SPDX-License-Identifier: MIT */
/* A small text for every format that readers know, made after the source that each names, and what the reader writes
 * with the answers of tests/report/test_reader.c. Fuzzers use the texts as seeds. */
#ifndef TESTS_SUPPORT_REPORT_TEXTS_H
#define TESTS_SUPPORT_REPORT_TEXTS_H

#include <stddef.h>

#define UUID_A "0123ABCD-4567-89AB-CDEF-0123456789AB"
#define UUID_B "B0000000-0000-0000-0000-00000000000B"
#define ID_A   "0123abcd456789abcdef0123456789ab01234567"
#define ID_16  "0123abcd456789abcdef0123456789ab"

struct text {
    const char *format, *in;
    const char *out;  /* what the reader writes; NULL: the same as `in` */
    const char *once; /* what it writes if the text was not learned first; NULL: the same as `out` */
    unsigned frames;  /* number of frames in the text */
    unsigned again;   /* number of frames in what was written; 0: the same */
};

/* ---- Apple's texts ---- */

#define IMAGES                                                                                                         \
    "Binary Images:\n"                                                                                                 \
    "       0x100000000 -        0x10000ffff +App (1.0) <" UUID_A "> /Applications/App.app/App\n"                      \
    "       0x180000000 -        0x18000ffff  libz.dylib arm64e <" UUID_B "> /usr/lib/libz.dylib\n"

/* Panics of arm64: openzfsonosx/openzfs-fork issues 53 and 85, docker/for-mac issue 7597, libusb issue 1762. */
#define ARM64_PANIC                                                                                                    \
    "panic(cpu 8 caller 0xfffffe0010101d1c): Kernel data abort. at pc 0xfffffe0010a002f0, lr 0x2e9f7e0010a00200\n"     \
    "\t  x28: 0xfffffe003e037000 fp:  0xfffffe8fb473bcd0  lr:  0x2e9f7e0010a00200  sp:  0xfffffe8fb473bcb0\n"          \
    "Debugger message: panic\n"                                                                                        \
    "OS version: 25F84\n"                                                                                              \
    "Kernel version: Darwin Kernel Version 25.5.0: Tue Jun  9 22:28:24 PDT 2026; root:xnu/RELEASE_ARM64_T6020\n"       \
    "Fileset Kernelcache UUID: 3A9C5605D334A39D46BBF9DF6ABEAC9C\n"                                                     \
    "Kernel UUID: " UUID_A "\n"                                                                                        \
    "Kernel slide:      0x0000000008ffc000\n"                                                                          \
    "Kernel text base:  0xfffffe0010000000\n"                                                                          \
    "Kernel text exec slide: 0x00000000090fc000\n"                                                                     \
    "Kernel text exec base:  0xfffffe0010100000\n"                                                                     \
    "CORE 1: PC=0xfffffe0010100200, LR=0xfffffe0010100200, FP=0xfffffe4442673cf0\n"                                    \
    "Panicked task 0xfffffe200b09dd80: 0 pages, 600 threads: pid 0: kernel_task\n"                                     \
    "Panicked thread: 0xfffffe1b3e61f7b8, backtrace: 0xfffffe4440973800, tid: 255\n"
#define ARM64_KEXTS                                                                                                    \
    "         org.openzfsonosx.zfs(2.3.1)[" UUID_B "]@0xfffffe0010a00180->0xfffffe0010a0ffff\n"                        \
    "            dependency: com.apple.iokit.IOStorageFamily(2.1)[" UUID_A                                             \
    "]@0xfffffe0040f6b280->0xfffffe0040f8cff3\n"                                                                       \
    "\n"                                                                                                               \
    "last started kext at 3530862046: com.apple.filesystems.smbfs\t6.0 (addr 0xfffffe001115d280, size 111737)\n"

/* Panics of Intel: AdguardTeam/AdguardForMac issue 866, SongXiaoXi/AppleIGC issue 26. */
#define INTEL_PANIC                                                                                                    \
    "*** Panic Report ***\n"                                                                                           \
    "panic(cpu 4 caller 0xffffff8010147aea): \"tcp_lock: NO PCB! "                                                     \
    "lr=0xffffff7f91095d2c\\n\"@/xnu/bsd/netinet/tcp_subr.c:3309\n"                                                    \
    "Backtrace (CPU 4), Frame : Return Address\n"
#define INTEL_KEXTS                                                                                                    \
    "         com.adguard.nfext(27.0)[" UUID_B "]@0xffffff7f91093000->0xffffff7f910bffff\n"                            \
    "            dependency: com.apple.iokit.IOPCIFamily(2.9)[" UUID_A "]@0xffffff7f8ca69000\n"                        \
    "\n"                                                                                                               \
    "BSD process name corresponding to current thread: kernel_task\n"                                                  \
    "Boot args: keepsyms=1\n"                                                                                          \
    "\n"                                                                                                               \
    "Mac OS version:\n"                                                                                                \
    "19H15\n"                                                                                                          \
    "\n"                                                                                                               \
    "Kernel version:\n"                                                                                                \
    "Darwin Kernel Version 19.6.0: Thu Oct 29 22:56:45 PDT 2020; root:xnu-6153.141.2.2~1/RELEASE_X86_64\n"             \
    "Kernel UUID: " UUID_A "\n"                                                                                        \
    "Kernel slide:     0x000000000fe00000\n"                                                                           \
    "Kernel text base: 0xffffff8010000000\n"                                                                           \
    "__HIB  text base: 0xffffff800ff00000\n"                                                                           \
    "System model name: MacBookPro15,1 (Mac-937A206F2EE63C01)\n"

static const struct text apple_texts[] = {
    {"apple",
     "Thread 0 Crashed:\n"
     "0   App    \t0x0000000100000100 0x100000000 + 256\n"
     "1   libz.dylib   0x180000200 libz.dylib + 512\n"
     "2   libz.dylib   0x180000666 libz.dylib + 1638\n"
     "3   Missing      0x190000200 Missing + 512\n"
     "4   App          0x100000300 main + 20\n\n" IMAGES,
     "Thread 0 Crashed:\n"
     "0   App    \t0x0000000100000100 id.App:100! + 7\n"
     "1   libz.dylib   0x180000200 id.libz.dylib:200 + 7\n"
     "2   libz.dylib   0x180000666 libz.dylib + 1638\n"
     "3   Missing      0x190000200 Missing + 512\n"
     "4   App          0x100000300 main + 20\n\n" IMAGES,
     "Thread 0 Crashed:\n"
     "0   App    \t0x0000000100000100 App:100! + 7\n"
     "1   libz.dylib   0x180000200 libz.dylib:200 + 7\n"
     "2   libz.dylib   0x180000666 libz.dylib + 1638\n"
     "3   Missing      0x190000200 Missing + 512\n"
     "4   App          0x100000300 main + 20\n\n" IMAGES,
     5, 0},
    /* Instabug: flutter/flutter issue 110602, Instabug/Instabug-iOS issue 405. The list does not say where images end. */
    {"apple",
     "0    App                                      0x100000100     0x100000000\n"
     "1    App                                      0x100000200     0x100000000\n"
     "2    Other                                    0x400000300     0x400000000\n"
     "3    ???                                      0x400000300     0x0\n"
     "12   App   0x100000200     0x200000000\n"
     "\n"
     "0x100000000     App                                          arm64      " UUID_A " \n"
     "0x180000000     libz.dylib                                   arm64e     " UUID_B " \n",
     "0    App                                      0x100000100     id.App:100! + 7\n"
     "1    App                                      0x100000200     id.App:200 + 7\n"
     "2    Other                                    0x400000300     0x400000000\n"
     "3    ???                                      0x400000300     0x0\n"
     "12   App   0x100000200     0x200000000\n"
     "\n"
     "0x100000000     App                                          arm64      " UUID_A " \n"
     "0x180000000     libz.dylib                                   arm64e     " UUID_B " \n",
     "0    App                                      0x100000100     0x100000000\n"
     "1    App                                      0x100000200     0x100000000\n"
     "2    Other                                    0x400000300     0x400000000\n"
     "3    ???                                      0x400000300     0x0\n"
     "12   App   0x100000200     0x200000000\n"
     "\n"
     "0x100000000     App                                          arm64      " UUID_A " \n"
     "0x180000000     libz.dylib                                   arm64e     " UUID_B " \n",
     3, 0},
    /* CrashReporter for jailbroken devices: Matchstic/ReProvision issue 105, hippogamesunity/PixelStudioHub issue 99. The
     * last frame is Cr4shed's: Muirey03/Cr4shed issue 68. */
    {"apple",
     "Thread 6:\n"
     "0       libz.dylib                    \t0x180000100 0x180000000 + 0x100\t// mach_msg_trap + 0x8\n"
     "1       App                           \t0x100000200 0x100000000 + 0x200\t// 0x000001f0 + 0x10\n"
     "2       App                           \t0x100000300 0x100000000 + 0x300\n"
     "3       App                           \t0x100000300 App + 0x300\n"
     "4       App                           \t0x100000300 main + 0x14\n"
     "5   App                           \t0x0000000100000200 0x100000000 + 512      \t// -[View a:(b) c]\n\n" IMAGES,
     "Thread 6:\n"
     "0       libz.dylib                    \t0x180000100 0x180000000 + 0x100\t// mach_msg_trap + 0x8\n"
     "1       App                           \t0x100000200 id.App:200 + 7\n"
     "2       App                           \t0x100000300 id.App:300 + 7\n"
     "3       App                           \t0x100000300 id.App:300 + 7\n"
     "4       App                           \t0x100000300 main + 0x14\n"
     "5   App                           \t0x0000000100000200 0x100000000 + 512      \t// -[View a:(b) c]\n\n" IMAGES,
     "Thread 6:\n"
     "0       libz.dylib                    \t0x180000100 0x180000000 + 0x100\t// mach_msg_trap + 0x8\n"
     "1       App                           \t0x100000200 App:200 + 7\n"
     "2       App                           \t0x100000300 App:300 + 7\n"
     "3       App                           \t0x100000300 App:300 + 7\n"
     "4       App                           \t0x100000300 main + 0x14\n"
     "5   App                           \t0x0000000100000200 0x100000000 + 512      \t// -[View a:(b) c]\n\n" IMAGES,
     5, 0},
    /* Rosetta: dotnet/runtime issue 48877. An offset that contradicts the address. An entry that is not an image. */
    {"apple",
     "Thread 0:\n"
     "0   <translation info unavailable>\t0x0000000100000100 ???\n"
     "1   App                           \t0x0000000100000200 0x100000000 + 768\n"
     "2   ???                           \t0x0000000200000300 ???\n\n" IMAGES
     "               0x0 - 0xffffffffffffffff ??? (*) <00000000-0000-0000-0000-000000000000> ???\n",
     "Thread 0:\n"
     "0   <translation info unavailable>\t0x0000000100000100 id.App:100! + 7\n"
     "1   App                           \t0x0000000100000200 0x100000000 + 768\n"
     "2   ???                           \t0x0000000200000300 ???\n\n" IMAGES
     "               0x0 - 0xffffffffffffffff ??? (*) <00000000-0000-0000-0000-000000000000> ???\n",
     "Thread 0:\n"
     "0   <translation info unavailable>\t0x0000000100000100 ???\n"
     "1   App                           \t0x0000000100000200 0x100000000 + 768\n"
     "2   ???                           \t0x0000000200000300 ???\n\n" IMAGES
     "               0x0 - 0xffffffffffffffff ??? (*) <00000000-0000-0000-0000-000000000000> ???\n",
     3, 0},
    /* flutter/flutter issue 60189; Xcode's Organizer, which has no source line; an image whose name was removed. */
    {"apple",
     "Thread 0:\n"
     "0   libz.dylib                    \t0x0000000180000100 __pthread_kill :8 (in libz.dylib)\n"
     "1   libz.dylib                    \t0x0000000180000200 0x180000000 + 512 (:-1)\n"
     "2                                 \t0x0000000100000300 0x100000000 + 768\n\n" IMAGES,
     "Thread 0:\n"
     "0   libz.dylib                    \t0x0000000180000100 __pthread_kill :8 (in libz.dylib)\n"
     "1   libz.dylib                    \t0x0000000180000200 id.libz.dylib:200 + 7\n"
     "2                                 \t0x0000000100000300 id.App:300 + 7\n\n" IMAGES,
     "Thread 0:\n"
     "0   libz.dylib                    \t0x0000000180000100 __pthread_kill :8 (in libz.dylib)\n"
     "1   libz.dylib                    \t0x0000000180000200 libz.dylib:200 + 7\n"
     "2                                 \t0x0000000100000300 0x100000000 + 768\n\n" IMAGES,
     3, 0},
    /* Apple, "Adding identifiable symbol names to a crash report": addresses in parentheses. */
    {"apple-address-list",
     "Last Exception Backtrace:\n"
     "(0x180000100 0x100000200 0x7 0x100000666)\n" IMAGES,
     "Last Exception Backtrace:\n"
     "0   libz.dylib                    \t0x0000000180000100 id.libz.dylib:100 + 7\n"
     "1   App                           \t0x0000000100000200 id.App:200 + 7\n"
     "2   ???                           \t0x0000000000000007 ???\n"
     "3   App                           \t0x0000000100000666 0x100000000 + 1638\n" IMAGES,
     "Last Exception Backtrace:\n"
     "(0x180000100 0x100000200 0x7 0x100000666)\n" IMAGES,
     4, 0},
    {"apple-address-list", "*** First throw call stack:\n(0x7 0x8)\nlibc++abi: terminating\n",
     "*** First throw call stack:\n(0x7 0x8)\nlibc++abi: terminating\n", NULL, 2, 0},
    /* sample(1): a report in a public issue, and electron/symbolicate-mac's tests. The innermost frame is an
     * instruction address. */
    {"sample",
     "Call graph:\n"
     "    2797 Thread_1382747   DispatchQueue_1: com.apple.main-thread  (serial)\n"
     "    + 2797 start  (in dyld) + 3457  [0x7ff808443781]\n"
     "    +   2797 ???  (in App)  load address 0x100000000 + 0x100  [0x100000100]\n"
     "    +     2000 ???  (in App)  load address 0x100000000 + 0x200  [0x100000200]\n"
     "    +     ! 2000 ???  (in libz.dylib)  load address 0x180000000 + 0x300  [0x180000300]\n"
     "    +     797 ???  (in <unknown binary>)  [0x30000]\n"
     "\nTotal number in stack (recursive counted multiple, when >=5):\n\n" IMAGES,
     "Call graph:\n"
     "    2797 Thread_1382747   DispatchQueue_1: com.apple.main-thread  (serial)\n"
     "    + 2797 start  (in dyld) + 3457  [0x7ff808443781]\n"
     "    +   2797 id.App:100  (in App) + 7  [0x100000100]\n"
     "    +     2000 id.App:200  (in App) + 7  [0x100000200]\n"
     "    +     ! 2000 id.libz.dylib:300!  (in libz.dylib) + 7  [0x180000300]\n"
     "    +     797 ???  (in <unknown binary>)  [0x30000]\n"
     "\nTotal number in stack (recursive counted multiple, when >=5):\n\n" IMAGES,
     "Call graph:\n"
     "    2797 Thread_1382747   DispatchQueue_1: com.apple.main-thread  (serial)\n"
     "    + 2797 start  (in dyld) + 3457  [0x7ff808443781]\n"
     "    +   2797 App:100  (in App) + 7  [0x100000100]\n"
     "    +     2000 App:200  (in App) + 7  [0x100000200]\n"
     "    +     ! 2000 libz.dylib:300!  (in libz.dylib) + 7  [0x180000300]\n"
     "    +     797 ???  (in <unknown binary>)  [0x30000]\n"
     "\nTotal number in stack (recursive counted multiple, when >=5):\n\n" IMAGES,
     5, 0},
    /* A resource limit of iOS: "iOS Crash Dump Analysis" (faisalmemon), Resource limits; a hang report of macOS 12. */
    {"spindump",
     "{\"bug_type\":\"202\",\"app_name\":\"App\"}\n"
     "Event:            cpu usage\n"
     "Heaviest stack for the target process:\n"
     "  18  ??? (libz.dylib + 256) [0x180000100]\n"
     "  16  ??? (App + 512) [0x100000200]\n"
     "\n"
     "Powerstats for:   App [7877]\n"
     "  18  ??? (libz.dylib + 256) [0x180000100] 1-18\n"
     "    17  main + 40 (App.swift:31,1 in App + 400) [0x100000190] 1-17\n"
     "      16  ??? (App + 512) [0x100000200] (running) 1-16\n"
     "     *1   ??? (kernel + 1113914) [0xffffff800031ff3a]\n"
     "    1  ??? (<" UUID_B "> + 768) [0x180000300]\n"
     "\n"
     "  Binary Images:\n"
     "           0x100000000 -                ???  App                     <" UUID_A ">  /private/App\n"
     "           0x180000000 -        0x18000ffff  libz.dylib              <" UUID_B ">  /usr/lib/libz.dylib\n",
     "{\"bug_type\":\"202\",\"app_name\":\"App\"}\n"
     "Event:            cpu usage\n"
     "Heaviest stack for the target process:\n"
     "  18  id.libz.dylib:100 + 7 (libz.dylib + 256) [0x180000100]\n"
     "  16  id.App:200! + 7 (App + 512) [0x100000200]\n"
     "\n"
     "Powerstats for:   App [7877]\n"
     "  18  id.libz.dylib:100 + 7 (libz.dylib + 256) [0x180000100] 1-18\n"
     "    17  main + 40 (App.swift:31,1 in App + 400) [0x100000190] 1-17\n"
     "      16  id.App:200! + 7 (App + 512) [0x100000200] (running) 1-16\n"
     "     *1   kernel:10ff3a! + 7 (kernel + 1113914) [0xffffff800031ff3a]\n"
     "    1  id.:300! + 7 (<" UUID_B "> + 768) [0x180000300]\n"
     "\n"
     "  Binary Images:\n"
     "           0x100000000 -                ???  App                     <" UUID_A ">  /private/App\n"
     "           0x180000000 -        0x18000ffff  libz.dylib              <" UUID_B ">  /usr/lib/libz.dylib\n",
     "{\"bug_type\":\"202\",\"app_name\":\"App\"}\n"
     "Event:            cpu usage\n"
     "Heaviest stack for the target process:\n"
     "  18  libz.dylib:100 + 7 (libz.dylib + 256) [0x180000100]\n"
     "  16  App:200! + 7 (App + 512) [0x100000200]\n"
     "\n"
     "Powerstats for:   App [7877]\n"
     "  18  libz.dylib:100 + 7 (libz.dylib + 256) [0x180000100] 1-18\n"
     "    17  main + 40 (App.swift:31,1 in App + 400) [0x100000190] 1-17\n"
     "      16  App:200! + 7 (App + 512) [0x100000200] (running) 1-16\n"
     "     *1   kernel:10ff3a! + 7 (kernel + 1113914) [0xffffff800031ff3a]\n"
     "    1  id.:300! + 7 (<" UUID_B "> + 768) [0x180000300]\n"
     "\n"
     "  Binary Images:\n"
     "           0x100000000 -                ???  App                     <" UUID_A ">  /private/App\n"
     "           0x180000000 -        0x18000ffff  libz.dylib              <" UUID_B ">  /usr/lib/libz.dylib\n",
     7, 0},
    /* inket/MacSymbolicator StackFrameTests.swift. */
    {"apple",
     "Application Specific Information:\n"
     "abort() called\n\n"
     "Application Specific Backtrace 0:\n"
     "0   CoreFoundation                      0x00007ff813cb27b3 __exceptionPreprocess + 242\n"
     "1   App                                 0x0000000100000100 App + 256\n"
     "2   App                                 0x0000000100000200 0x100000000 + 512\n\n" IMAGES,
     "Application Specific Information:\n"
     "abort() called\n\n"
     "Application Specific Backtrace 0:\n"
     "0   CoreFoundation                      0x00007ff813cb27b3 __exceptionPreprocess + 242\n"
     "1   App                                 0x0000000100000100 id.App:100 + 7\n"
     "2   App                                 0x0000000100000200 id.App:200 + 7\n\n" IMAGES,
     "Application Specific Information:\n"
     "abort() called\n\n"
     "Application Specific Backtrace 0:\n"
     "0   CoreFoundation                      0x00007ff813cb27b3 __exceptionPreprocess + 242\n"
     "1   App                                 0x0000000100000100 App:100 + 7\n"
     "2   App                                 0x0000000100000200 App:200 + 7\n\n" IMAGES,
     3, 0},
    /* An extension that is not known yet is taken for a part of the kernel. */
    {"apple-panic",
     ARM64_PANIC "\t\t  lr: 0xfffffe0010100100  fp: 0xfffffe4440973890\n"
                 "lr: 0xfffffe0010a00200 fp: 0xfffffe4440973900\n"
                 "\t\t  lr: 0xfffffe0010100666  fp: 0xfffffe44409739c0\n"
                 "\t\t  lr: 0xfffffe000f000000  fp: 0x0000000000000000\n"
                 "      Kernel Extensions in backtrace:\n" ARM64_KEXTS,
     ARM64_PANIC "\t\t  lr: 0xfffffe0010100100  fp: 0xfffffe4440973890 id.kernel:T100 + 0x7\n"
                 "lr: 0xfffffe0010a00200 fp: 0xfffffe4440973900 id.org.openzfsonosx.zfs:T80 + 0x7\n"
                 "\t\t  lr: 0xfffffe0010100666  fp: 0xfffffe44409739c0\n"
                 "\t\t  lr: 0xfffffe000f000000  fp: 0x0000000000000000\n"
                 "      Kernel Extensions in backtrace:\n" ARM64_KEXTS,
     ARM64_PANIC "\t\t  lr: 0xfffffe0010100100  fp: 0xfffffe4440973890 id.kernel:T100 + 0x7\n"
                 "lr: 0xfffffe0010a00200 fp: 0xfffffe4440973900 id.kernel:T900200 + 0x7\n"
                 "\t\t  lr: 0xfffffe0010100666  fp: 0xfffffe44409739c0\n"
                 "\t\t  lr: 0xfffffe000f000000  fp: 0x0000000000000000\n"
                 "      Kernel Extensions in backtrace:\n" ARM64_KEXTS,
     4, 0},
    {"apple-panic",
     INTEL_PANIC "0xffffffa3eef0ba10 : 0xffffff8010000100 \n"
                 "0xffffffa3eef0ba60 : 0xffffff7f91093200 \n"
                 "0xfffffff05e9f3ab0 : 0xffffff8010000300 mach_kernel : _panic_trap_to_debugger + 0x206\n"
                 "      Kernel Extensions in backtrace:\n" INTEL_KEXTS,
     INTEL_PANIC "0xffffffa3eef0ba10 : 0xffffff8010000100 id.kernel:100 + 0x7 \n"
                 "0xffffffa3eef0ba60 : 0xffffff7f91093200 id.com.adguard.nfext:200 + 0x7 \n"
                 "0xfffffff05e9f3ab0 : 0xffffff8010000300 mach_kernel : _panic_trap_to_debugger + 0x206\n"
                 "      Kernel Extensions in backtrace:\n" INTEL_KEXTS,
     INTEL_PANIC "0xffffffa3eef0ba10 : 0xffffff8010000100 \n"
                 "0xffffffa3eef0ba60 : 0xffffff7f91093200 \n"
                 "0xfffffff05e9f3ab0 : 0xffffff8010000300 mach_kernel : _panic_trap_to_debugger + 0x206\n"
                 "      Kernel Extensions in backtrace:\n" INTEL_KEXTS,
     3, 0},
    /* firebase/firebase-ios-sdk issue 10606, firebase/quickstart-ios issue 933, fabric/fabric issue 1563. */
    {"crashlytics",
     "Crashed: com.apple.main-thread\n"
     "0  App                            0x100 (Missing UUID " ID_16 ")\n"
     "1  libz.dylib                     0x200 (Missing)\n"
     "2  TestApp                        0x1006d4d98 (Missing)\n"
     "3  CoreFoundation                 0x99288 __exceptionPreprocess\n"
     "4  App                            0x392a25 CLSHandler (CLSHandler.m:26)\n"
     "5  libdispatch.dylib              0x1b076083 _dispatch_client_callout + 22\n"
     "6  App                            0x666 (Missing UUID " ID_16 ")\n",
     "Crashed: com.apple.main-thread\n"
     "0  App                            0x100 id.App:100! + 7\n"
     "1  libz.dylib                     0x200 libz.dylib:200 + 7\n"
     "2  TestApp                        0x1006d4d98 (Missing)\n"
     "3  CoreFoundation                 0x99288 __exceptionPreprocess\n"
     "4  App                            0x392a25 CLSHandler (CLSHandler.m:26)\n"
     "5  libdispatch.dylib              0x1b076083 _dispatch_client_callout + 22\n"
     "6  App                            0x666 (Missing UUID " ID_16 ")\n",
     NULL, 7, 0},
    /* Code of a JavaScript engine is in no image: electron/symbolicate-mac, spec/fixtures/spindump.txt. */
    {"spindump",
     "  2  main + 40 (App + 400) [0x100000190] 1-2\n"
     "    2  ??? [0x4800047383] 1-2\n"
     "      1  ??? [0x48000475fb]\n",
     "  2  main + 40 (App + 400) [0x100000190] 1-2\n"
     "    2  ??? [0x4800047383] 1-2\n"
     "      1  ??? [0x48000475fb]\n",
     NULL, 3, 0},
    /* A page that a browser has translated: BatchLabs/Batch-iOS-SDK issue 33. Other columns are not Crashlytics'. */
    {"crashlytics",
     "0  libz.dylib                     0x200 (Manquant)\n"
     "11 ???                            0x1f3cc1948 (Manquant)\n"
     "1  libz.dylib  0x200 (Manquant)\n"
     "2  libz.dylib                     0x200 (tout manque)\n",
     "0  libz.dylib                     0x200 libz.dylib:200! + 7\n"
     "11 ???                            0x1f3cc1948 (Manquant)\n"
     "1  libz.dylib  0x200 (Manquant)\n"
     "2  libz.dylib                     0x200 (tout manque)\n",
     NULL, 2, 0},
    /* flutter/flutter issue 124381, pendo-io/pendo-mobile-sdk issue 118: names that the device hides. */
    {"crashlytics",
     "0  libz.dylib                     0x200 <redacted> + 160\n"
     "10 App                            0x300 <redacted> + 4\n",
     "0  libz.dylib                     0x200 libz.dylib:200! + 7\n"
     "10 App                            0x300 App:300 + 7\n",
     NULL, 2, 0},
    /* Unity on Windows: Tencent/puerts issue 1735, thmsndk/Screeps3D issue 233. */
    {"unity",
     "0x0000000100000100 (App) (function-name not available)\n"
     "  ERROR: SymGetSymFromAddr64, GetLastError: 'x' (Address: 794227CF)\n"
     "0x0000000100000200 (App) (function-name not available)\n"
     "0x000000001F68CACC (Mono JIT Code) [C:\\App\\Queue.cs:35] App.Queue:Take () \n"
     "0x0000000100000300 (App) take (at C:/App/queue.c:3115)\n"
     "0x0000000100000400 (two words) take\n" IMAGES,
     "0x0000000100000100 (App) id.App:100 + 7\n"
     "  ERROR: SymGetSymFromAddr64, GetLastError: 'x' (Address: 794227CF)\n"
     "0x0000000100000200 (App) id.App:200 + 7\n"
     "0x000000001F68CACC (Mono JIT Code) [C:\\App\\Queue.cs:35] App.Queue:Take () \n"
     "0x0000000100000300 (App) take (at C:/App/queue.c:3115)\n"
     "0x0000000100000400 (two words) take\n" IMAGES,
     "0x0000000100000100 (App) (function-name not available)\n"
     "  ERROR: SymGetSymFromAddr64, GetLastError: 'x' (Address: 794227CF)\n"
     "0x0000000100000200 (App) (function-name not available)\n"
     "0x000000001F68CACC (Mono JIT Code) [C:\\App\\Queue.cs:35] App.Queue:Take () \n"
     "0x0000000100000300 (App) take (at C:/App/queue.c:3115)\n"
     "0x0000000100000400 (two words) take\n" IMAGES,
     4, 0},
    /* Dart runtime/vm/object.cc; traces in the tests of getsentry/sentry-dart. Return addresses minus 1; the third is a
     * return address. */
    {"dart",
     "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***\n"
     "pid: 3081, tid: 6164033536, name io.flutter.1.ui\n"
     "os: ios arch: arm64 comp: no sim: no\n"
     "build_id: '" ID_16 "'\n"
     "isolate_dso_base: 100000000, vm_dso_base: 100000000\n"
     "isolate_instructions: 100004000, vm_instructions: 100002000\n"
     "    #00 abs 0000000100004103 virt 0000000000004103 _kDartIsolateSnapshotInstructions+0x103\n"
     "    #01 abs 0000000100004207 virt 0000000000004207\n"
     "<asynchronous suspension>\n"
     "    #02 abs 0000000100004304 _kDartIsolateSnapshotInstructions+0x304\n"
     "    #03 abs 0000000100004403 virt 0000000000004403 main+0x7\n"
     "flutter: *** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***\n"
     "flutter: build_id: '" ID_16 "'\n"
     "flutter: isolate_dso_base: 200000000, vm_dso_base: 200000000\n"
     "flutter:     #00 abs 0000000200004103 virt 0000000000004103 _kDartVmSnapshotInstructions+0x103\n",
     "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***\n"
     "pid: 3081, tid: 6164033536, name io.flutter.1.ui\n"
     "os: ios arch: arm64 comp: no sim: no\n"
     "build_id: '" ID_16 "'\n"
     "isolate_dso_base: 100000000, vm_dso_base: 100000000\n"
     "isolate_instructions: 100004000, vm_instructions: 100002000\n"
     "    #00 abs 0000000100004103 virt 0000000000004103 id.App:4103!+0x7\n"
     "    #01 abs 0000000100004207 virt 0000000000004207 id.App:4207!+0x7\n"
     "<asynchronous suspension>\n"
     "    #02 abs 0000000100004304 id.App:4304+0x7\n"
     "    #03 abs 0000000100004403 virt 0000000000004403 main+0x7\n"
     "flutter: *** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***\n"
     "flutter: build_id: '" ID_16 "'\n"
     "flutter: isolate_dso_base: 200000000, vm_dso_base: 200000000\n"
     "flutter:     #00 abs 0000000200004103 virt 0000000000004103 id.App:4103!+0x7\n",
     NULL, 5, 0},
    {"dart",
     "Fatal Exception: FlutterError\n"
     "0  ???                            0x0 (null).    #00 abs 0000000100000103 "
     "_kDartIsolateSnapshotInstructions+0x103\n"
     "1  ???                            0x0 (null).    #01 abs 0000000100000203\n" IMAGES,
     "Fatal Exception: FlutterError\n"
     "0  ???                            0x0 (null).    #00 abs 0000000100000103 id.App:103!+0x7\n"
     "1  ???                            0x0 (null).    #01 abs 0000000100000203 id.App:203!+0x7\n" IMAGES,
     "Fatal Exception: FlutterError\n"
     "0  ???                            0x0 (null).    #00 abs 0000000100000103 "
     "_kDartIsolateSnapshotInstructions+0x103\n"
     "1  ???                            0x0 (null).    #01 abs 0000000100000203\n" IMAGES,
     2, 0},
    /* compiler-rt sanitizer_procmaps_mac.cpp. Offsets in a program count from address 0, in a library from its load
     * address; those of dyld may wrap. */
    {"sanitizer",
     "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x107 at pc 0x1 bp 0x2 sp 0x3\n"
     "    #0 0x104e60004  (App:arm64+0x100004004)\n"
     "    #1 0x1856e8dc0 (UIKitCore:arm64e+0x28dc0)\n"
     "    #2 0x18e0b1050  (dyld:arm64e+0xfffffffffff77050)\n"
     "    #3 <null> <null> (App:x86_64+0x100004100)\n"
     "    #4 0x104e60040 in -[View draw:] (App:arm64+0x100004040)\n"
     "SUMMARY: AddressSanitizer: heap-use-after-free (App:arm64+0x100004004) \n",
     "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x107 at pc 0x1 bp 0x2 sp 0x3\n"
     "    #0 0x104e60004 in App:L100004004! (App:arm64+0x100004004)\n"
     "    #1 0x1856e8dc0 in UIKitCore:28dc0! (UIKitCore:arm64e+0x28dc0)\n"
     "    #2 0x18e0b1050  (dyld:arm64e+0xfffffffffff77050)\n"
     "    #3 App:L100004100! (App:x86_64+0x100004100)\n"
     "    #4 0x104e60040 in -[View draw:] (App:arm64+0x100004040)\n"
     "SUMMARY: AddressSanitizer: heap-use-after-free in App:L100004004! (App:arm64+0x100004004) \n",
     NULL, 6, 0},
    /* dotnet/runtime DeveloperExperience.cs; traces in getsentry/sentry-dotnet's tests. */
    {"dotnet",
     "Unhandled Exception: System.InvalidCastException: Arg_InvalidCastException\n"
     "   at System.Runtime.TypeCast.CheckCastClass(MethodTable*, Object) + 0x2b\n"
     "   at Spire.Doc.Base!<BaseAddress>+0x100\n"
     "App!<BaseAddress>+0x200 at offset 283 in file:line:column <filename unknown>:0:0\n"
     "   at Missing!<BaseAddress>+0x300\n",
     "Unhandled Exception: System.InvalidCastException: Arg_InvalidCastException\n"
     "   at System.Runtime.TypeCast.CheckCastClass(MethodTable*, Object) + 0x2b\n"
     "   at Spire.Doc.Base!Spire.Doc.Base:100 + 0x7\n"
     "App!App:200 + 0x7 at offset 283 in file:line:column <filename unknown>:0:0\n"
     "   at Missing!<BaseAddress>+0x300\n",
     NULL, 4, 3},
    /* mono/mini/mini-posix.c. */
    {"mono",
     "\tNative stacktrace:\n"
     "\t0x100000100 - /Applications/App.app/App : (null)\n"
     "\t0x100000200 - /Applications/App.app/App : _mh_execute_header\n"
     "\t0x100000300 - /Applications/App.app/App : mono_dump_native_crash_info\n"
     "\t0x180000400 - /usr/lib/libz.dylib :\n"
     "\t0x100000500 - App : (null)\n"
     "\t0x180000600 - .../bin/libcoreclr.dylib : monoeg_g_log\n"
     "0x100000600 - /App store/App.app/App : \n"
     "0x100000700 - App : (null)\n"
     "\t0x300000000 - Unknown\n" IMAGES,
     "\tNative stacktrace:\n"
     "\t0x100000100 - /Applications/App.app/App : id.App:100 + 7\n"
     "\t0x100000200 - /Applications/App.app/App : id.App:200 + 7\n"
     "\t0x100000300 - /Applications/App.app/App : mono_dump_native_crash_info\n"
     "\t0x180000400 - /usr/lib/libz.dylib : id.libz.dylib:400 + 7\n"
     "\t0x100000500 - App : id.App:500 + 7\n"
     "\t0x180000600 - .../bin/libcoreclr.dylib : monoeg_g_log\n"
     "0x100000600 - /App store/App.app/App : id.App:600 + 7 \n"
     "0x100000700 - App : (null)\n"
     "\t0x300000000 - Unknown\n" IMAGES,
     "\tNative stacktrace:\n"
     "\t0x100000100 - /Applications/App.app/App : (null)\n"
     "\t0x100000200 - /Applications/App.app/App : _mh_execute_header\n"
     "\t0x100000300 - /Applications/App.app/App : mono_dump_native_crash_info\n"
     "\t0x180000400 - /usr/lib/libz.dylib :\n"
     "\t0x100000500 - App : (null)\n"
     "\t0x180000600 - .../bin/libcoreclr.dylib : monoeg_g_log\n"
     "0x100000600 - /App store/App.app/App : \n"
     "0x100000700 - App : (null)\n"
     "\t0x300000000 - Unknown\n" IMAGES,
     8, 0},
    /* Logs of GitHub and Azure: a time before each line. */
    {"mono",
     "2026-01-02T03:04:05.6727037Z \tNative stacktrace:\n"
     "2026-01-02T03:04:05.6728285Z \t0x100000100 - /Applications/App.app/App : (null)\n"
     "2026-01-02T03:04:05Z \t0x300000000 - Unknown\n"
     "2026-01-02T03:04:05 \t0x100000200 - /Applications/App.app/App : (null)\n"
     "2026-01-02T03:04:05.1Z 0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     "2026-01-02T03:04:05.6727037Z \tNative stacktrace:\n"
     "2026-01-02T03:04:05.6728285Z \t0x100000100 - /Applications/App.app/App : id.App:100 + 7\n"
     "2026-01-02T03:04:05Z \t0x300000000 - Unknown\n"
     "2026-01-02T03:04:05 \t0x100000200 - /Applications/App.app/App : (null)\n"
     "2026-01-02T03:04:05.1Z 0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     "2026-01-02T03:04:05.6727037Z \tNative stacktrace:\n"
     "2026-01-02T03:04:05.6728285Z \t0x100000100 - /Applications/App.app/App : (null)\n"
     "2026-01-02T03:04:05Z \t0x300000000 - Unknown\n"
     "2026-01-02T03:04:05 \t0x100000200 - /Applications/App.app/App : (null)\n"
     "2026-01-02T03:04:05.1Z 0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     2, 0},
    /* A log of xharness: mono/mono issue 19009. */
    {"mono",
     "14:21:48.0194020 \tNative stacktrace:\n"
     "14:21:48.0196380 \t0x100000100 - /Applications/App.app/App : (null)\n"
     "14:21:48 \t0x100000200 - /Applications/App.app/App : (null)\n"
     "0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     "14:21:48.0194020 \tNative stacktrace:\n"
     "14:21:48.0196380 \t0x100000100 - /Applications/App.app/App : id.App:100 + 7\n"
     "14:21:48 \t0x100000200 - /Applications/App.app/App : (null)\n"
     "0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     "14:21:48.0194020 \tNative stacktrace:\n"
     "14:21:48.0196380 \t0x100000100 - /Applications/App.app/App : (null)\n"
     "14:21:48 \t0x100000200 - /Applications/App.app/App : (null)\n"
     "0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     1, 0},
    /* A log of flutter --verbose, whose first line is not an array: fluttercommunity/plus_plugins issue 2160. */
    {"lldb",
     "[        ]   * frame #0: 0x0000000100000100 App`___lldb_unnamed_symbol17$$App + 4\n"
     "[  +12 ms]     frame #1: 0x0000000100000200 App`___lldb_unnamed_symbol18$$App + 4\n"
     "[+1,201 ms]     frame #2: 0x0000000300000000\n"
     "[ 12 ms]     frame #3: 0x0000000300000000\n"
     "0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     "[        ]   * frame #0: 0x0000000100000100 App`id.App:100! + 7\n"
     "[  +12 ms]     frame #1: 0x0000000100000200 App`id.App:200 + 7\n"
     "[+1,201 ms]     frame #2: 0x0000000300000000\n"
     "[ 12 ms]     frame #3: 0x0000000300000000\n"
     "0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     "[        ]   * frame #0: 0x0000000100000100 App`___lldb_unnamed_symbol17$$App + 4\n"
     "[  +12 ms]     frame #1: 0x0000000100000200 App`___lldb_unnamed_symbol18$$App + 4\n"
     "[+1,201 ms]     frame #2: 0x0000000300000000\n"
     "[ 12 ms]     frame #3: 0x0000000300000000\n"
     "0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     3, 0},
    /* Old versions of lldb, and an image without a UUID. The last line has a slide. */
    {"lldb",
     "    frame #0: 0x0000000100000100 App`___lldb_unnamed_function122$$App + 4\n"
     "    frame #1: 0x0000000180000200 libbass.dylib`___lldb_unnamed_function1$$libbass.dylib + 4\n"
     "(lldb) image list\n"
     "[ 16] " UUID_A " 0x0000000100000000 /Applications/App.app/App\n"
     "[230]                                      0x0000000180000000 /Applications/App.app/libbass.dylib\n"
     "[  0] 0x0000000180000200 /Applications/App.app/Other\n",
     "    frame #0: 0x0000000100000100 App`id.App:100! + 7\n"
     "    frame #1: 0x0000000180000200 libbass.dylib`libbass.dylib:200 + 7\n"
     "(lldb) image list\n"
     "[ 16] " UUID_A " 0x0000000100000000 /Applications/App.app/App\n"
     "[230]                                      0x0000000180000000 /Applications/App.app/libbass.dylib\n"
     "[  0] 0x0000000180000200 /Applications/App.app/Other\n",
     "    frame #0: 0x0000000100000100 App`___lldb_unnamed_function122$$App + 4\n"
     "    frame #1: 0x0000000180000200 libbass.dylib`___lldb_unnamed_function1$$libbass.dylib + 4\n"
     "(lldb) image list\n"
     "[ 16] " UUID_A " 0x0000000100000000 /Applications/App.app/App\n"
     "[230]                                      0x0000000180000000 /Applications/App.app/libbass.dylib\n"
     "[  0] 0x0000000180000200 /Applications/App.app/Other\n",
     2, 0},
    /* lldb: functions without a name. The last line is another tool's, whose format is the text's. */
    {"apple",
     "  * frame #0: 0x0000000100000100 App\n"
     "-> frame #1: 0x0000000100000200 App\n"
     "    frame #2: 0x0000000100000300 App + 768\n"
     "(lldb) image list\n"
     "[  0] " UUID_A " 0x0000000100000000 /Applications/App.app/App\n",
     "  * frame #0: 0x0000000100000100 App`id.App:100! + 7\n"
     "-> frame #1: 0x0000000100000200 App`id.App:200 + 7\n"
     "    frame #2: 0x0000000100000300 App + 768\n"
     "(lldb) image list\n"
     "[  0] " UUID_A " 0x0000000100000000 /Applications/App.app/App\n",
     "  * frame #0: 0x0000000100000100 App\n"
     "-> frame #1: 0x0000000100000200 App\n"
     "    frame #2: 0x0000000100000300 App + 768\n"
     "(lldb) image list\n"
     "[  0] " UUID_A " 0x0000000100000000 /Applications/App.app/App\n",
     3, 0},
    /* Honeycomb's traces: a UUID of zeros is that of an image without one. */
    {"apple",
     "0   App      0x100000100   " UUID_A " + 256\n"
     "1   Library  0x180001234   00000000-0000-0000-0000-000000000000 + 4660\n",
     "0   App      0x100000100   id.App:100! + 7\n"
     "1   Library  0x180001234   Library:1234 + 7\n",
     NULL, 2, 0},
    /* Sentry's text of an Apple report has these words for functions without a name: electron/electron issue 20551. */
    {"apple",
     "0   App                             0x100000100         <unknown>\n"
     "1   App                             0x100000200         <unknown> + 512\n"
     "2   Electron Framework              0x7fff10255770      <unknown>\n" IMAGES,
     "0   App                             0x100000100         id.App:100! + 7\n"
     "1   App                             0x100000200         id.App:200 + 7\n"
     "2   Electron Framework              0x7fff10255770      <unknown>\n" IMAGES,
     "0   App                             0x100000100         <unknown>\n"
     "1   App                             0x100000200         <unknown> + 512\n"
     "2   Electron Framework              0x7fff10255770      <unknown>\n" IMAGES,
     3, 0},
    /* A heading after a time is one: the first address below that of a thread is an instruction. */
    {"apple",
     "2026-01-02T03:04:05.1Z Thread 0 Crashed:\n"
     "2026-01-02T03:04:05.1Z 0   App                                 0x0000000100000100 App + 256\n"
     "2026-01-02T03:04:05.1Z 1   App                                 0x0000000100000200 App + 512\n"
     "2026-01-02T03:04:05.1Z Call stack:\n"
     "2026-01-02T03:04:05.1Z 0   App                                 0x0000000100000300 App + 768\n"
     "2026-01-02T03:04:05.1Z 0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     "2026-01-02T03:04:05.1Z Thread 0 Crashed:\n"
     "2026-01-02T03:04:05.1Z 0   App                                 0x0000000100000100 id.App:100! + 7\n"
     "2026-01-02T03:04:05.1Z 1   App                                 0x0000000100000200 id.App:200 + 7\n"
     "2026-01-02T03:04:05.1Z Call stack:\n"
     "2026-01-02T03:04:05.1Z 0   App                                 0x0000000100000300 id.App:300 + 7\n"
     "2026-01-02T03:04:05.1Z 0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     "2026-01-02T03:04:05.1Z Thread 0 Crashed:\n"
     "2026-01-02T03:04:05.1Z 0   App                                 0x0000000100000100 App:100! + 7\n"
     "2026-01-02T03:04:05.1Z 1   App                                 0x0000000100000200 App:200 + 7\n"
     "2026-01-02T03:04:05.1Z Call stack:\n"
     "2026-01-02T03:04:05.1Z 0   App                                 0x0000000100000300 App:300 + 7\n"
     "2026-01-02T03:04:05.1Z 0x100000000 - 0x10000ffff App arm64  <" ID_16 "> /Applications/App.app/App\n",
     3, 0},
    /* lldb 1500 and 19. */
    {"lldb",
     "* thread #1, queue = 'com.apple.main-thread', stop reason = EXC_BAD_ACCESS (code=1, address=0x0)\n"
     "  * frame #0: 0x0000000100000100 App`___lldb_unnamed_symbol17$$App + 4\n"
     "    frame #1: 0x0000000100000200 App`___lldb_unnamed_symbol_1f3c + 44\n"
     "    frame #2: 0x0000000180000300 libz.dylib`start + 2236\n"
     "    frame #3: 0x0000000100000400 App`-[View draw:](self=0x0, _cmd=\"draw:\") + 44 at view.m:14:3 [opt]\n"
     "    frame #4: 0x0000000300000000\n"
     "       rip = 0x0000000180000500  libz.dylib`inflate + 10\n"
     "* thread #1: tid = 0x81b0d, 0x0000000180000500 libz.dylib`inflate + 10, queue = 'q'\n"
     "(lldb) image list\n"
     "[  0] " UUID_A " 0x0000000100000000 /Applications/App.app/App \n"
     "      /x/App.app.dSYM/Contents/Resources/DWARF/App\n"
     "[  1] " UUID_B " 0x0000000000000000 /usr/lib/libz.dylib (0x0000000180000000)\n",
     "* thread #1, queue = 'com.apple.main-thread', stop reason = EXC_BAD_ACCESS (code=1, address=0x0)\n"
     "  * frame #0: 0x0000000100000100 App`id.App:100! + 7\n"
     "    frame #1: 0x0000000100000200 App`id.App:200 + 7\n"
     "    frame #2: 0x0000000180000300 libz.dylib`start + 2236\n"
     "    frame #3: 0x0000000100000400 App`-[View draw:](self=0x0, _cmd=\"draw:\") + 44 at view.m:14:3 [opt]\n"
     "    frame #4: 0x0000000300000000\n"
     "       rip = 0x0000000180000500  libz.dylib`inflate + 10\n"
     "* thread #1: tid = 0x81b0d, 0x0000000180000500 libz.dylib`inflate + 10, queue = 'q'\n"
     "(lldb) image list\n"
     "[  0] " UUID_A " 0x0000000100000000 /Applications/App.app/App \n"
     "      /x/App.app.dSYM/Contents/Resources/DWARF/App\n"
     "[  1] " UUID_B " 0x0000000000000000 /usr/lib/libz.dylib (0x0000000180000000)\n",
     "* thread #1, queue = 'com.apple.main-thread', stop reason = EXC_BAD_ACCESS (code=1, address=0x0)\n"
     "  * frame #0: 0x0000000100000100 App`___lldb_unnamed_symbol17$$App + 4\n"
     "    frame #1: 0x0000000100000200 App`___lldb_unnamed_symbol_1f3c + 44\n"
     "    frame #2: 0x0000000180000300 libz.dylib`start + 2236\n"
     "    frame #3: 0x0000000100000400 App`-[View draw:](self=0x0, _cmd=\"draw:\") + 44 at view.m:14:3 [opt]\n"
     "    frame #4: 0x0000000300000000\n"
     "       rip = 0x0000000180000500  libz.dylib`inflate + 10\n"
     "* thread #1: tid = 0x81b0d, 0x0000000180000500 libz.dylib`inflate + 10, queue = 'q'\n"
     "(lldb) image list\n"
     "[  0] " UUID_A " 0x0000000100000000 /Applications/App.app/App \n"
     "      /x/App.app.dSYM/Contents/Resources/DWARF/App\n"
     "[  1] " UUID_B " 0x0000000000000000 /usr/lib/libz.dylib (0x0000000180000000)\n",
     5, 0},
    /* glog src/utilities.cc, abseil-cpp absl/debugging/internal/examine_stack.cc. */
    {"glog",
     "*** SIGSEGV received at time=1767323045 ***\n"
     "PC: @        0x100000100  (unknown)\n"
     "    @        0x100000200         80  (unknown)\n"
     "    @        0x100000300  (unknown)  (unknown)\n"
     "    @        0x100000400         96\n"
     "    @        0x180000500         48  main\n"
     "#     @        0x180000480         96  testing::Test::Run()\n"
     "*** Check failure stack trace: ***\n"
     "    @        0x100000600  (unknown)\n"
     "(pid=gcs_server)     @        0x180000700  google::LogMessage::Fail()\n" IMAGES,
     "*** SIGSEGV received at time=1767323045 ***\n"
     "PC: @        0x100000100  id.App:100!+0x7\n"
     "    @        0x100000200         80  id.App:200+0x7\n"
     "    @        0x100000300  (unknown)  id.App:300+0x7\n"
     "    @        0x100000400         96  id.App:400+0x7\n"
     "    @        0x180000500         48  main\n"
     "#     @        0x180000480         96  testing::Test::Run()\n"
     "*** Check failure stack trace: ***\n"
     "    @        0x100000600  id.App:600+0x7\n"
     "(pid=gcs_server)     @        0x180000700  google::LogMessage::Fail()\n" IMAGES,
     "*** SIGSEGV received at time=1767323045 ***\n"
     "PC: @        0x100000100  (unknown)\n"
     "    @        0x100000200         80  (unknown)\n"
     "    @        0x100000300  (unknown)  (unknown)\n"
     "    @        0x100000400         96\n"
     "    @        0x180000500         48  main\n"
     "#     @        0x180000480         96  testing::Test::Run()\n"
     "*** Check failure stack trace: ***\n"
     "    @        0x100000600  (unknown)\n"
     "(pid=gcs_server)     @        0x180000700  google::LogMessage::Fail()\n" IMAGES,
     8, 0},
    /* The same in a log with times. */
    {"minidump-stackwalk",
     "2026-01-02T03:04:05.1Z Thread 0 (crashed)\n"
     "2026-01-02T03:04:05.1Z  0  App + 0x100\n"
     "2026-01-02T03:04:05.1Z     Found by: given as instruction pointer in context\n"
     "2026-01-02T03:04:05.1Z  1  App + 0x200\n"
     "2026-01-02T03:04:05.1Z Loaded modules:\n"
     "2026-01-02T03:04:05.1Z 0x100000000 - 0x10000ffff  App  ???  (main)  (WARNING: No symbols, App, " ID_16 "0)\n",
     "2026-01-02T03:04:05.1Z Thread 0 (crashed)\n"
     "2026-01-02T03:04:05.1Z  0  App!id.App:100! + 0x7\n"
     "2026-01-02T03:04:05.1Z     Found by: given as instruction pointer in context\n"
     "2026-01-02T03:04:05.1Z  1  App!id.App:200 + 0x7\n"
     "2026-01-02T03:04:05.1Z Loaded modules:\n"
     "2026-01-02T03:04:05.1Z 0x100000000 - 0x10000ffff  App  ???  (main)  (WARNING: No symbols, App, " ID_16 "0)\n",
     "2026-01-02T03:04:05.1Z Thread 0 (crashed)\n"
     "2026-01-02T03:04:05.1Z  0  App!App:100! + 0x7\n"
     "2026-01-02T03:04:05.1Z     Found by: given as instruction pointer in context\n"
     "2026-01-02T03:04:05.1Z  1  App!App:200 + 0x7\n"
     "2026-01-02T03:04:05.1Z Loaded modules:\n"
     "2026-01-02T03:04:05.1Z 0x100000000 - 0x10000ffff  App  ???  (main)  (WARNING: No symbols, App, " ID_16 "0)\n",
     2, 0},
    /* breakpad src/processor/stackwalk_common.cc, rust-minidump process_state.rs. */
    {"minidump-stackwalk",
     "Operating system: iOS\n"
     "Thread 0 (crashed)\n"
     " 0  App + 0x100\n"
     "     x0 = 0x0000000000000000   pc = 0x0000000100000100\n"
     "    Found by: given as instruction pointer in context\n"
     " 1  libz.dylib + 0x200\n"
     "    Found by: previous frame's frame pointer\n"
     " 2  App!-[View draw:] [view.m : 14 + 0x4]\n"
     " 3  App!main + 0x10\n"
     " 4  0x7fff5fbff8a0\n"
     " 5  0xf00800 (unloaded many.dll@0x460|0x700) (unloaded solo.dll@0x5e0)\n"
     "10  libc.so.6 + 0x300\n"
     "\n"
     "Loaded modules:\n"
     "0x100000000 - 0x10000ffff  App  ???  (main)  (WARNING: No symbols, App, " ID_16 "0)\n"
     "0x180000000 - 0x18000ffff  libz.dylib  1.2.3.4\n"
     "0x7f3735d35000 - 0x7f3735ecefff  libc.so.6  ???  (WARNING: No symbols, libc.so.6, " ID_16 "0)\n",
     "Operating system: iOS\n"
     "Thread 0 (crashed)\n"
     " 0  App!id.App:100! + 0x7\n"
     "     x0 = 0x0000000000000000   pc = 0x0000000100000100\n"
     "    Found by: given as instruction pointer in context\n"
     " 1  libz.dylib!libz.dylib:200 + 0x7\n"
     "    Found by: previous frame's frame pointer\n"
     " 2  App!-[View draw:] [view.m : 14 + 0x4]\n"
     " 3  App!main + 0x10\n"
     " 4  0x7fff5fbff8a0\n"
     " 5  0xf00800 (unloaded many.dll@0x460|0x700) (unloaded solo.dll@0x5e0)\n"
     "10  libc.so.6!libc.so.6:300 + 0x7\n"
     "\n"
     "Loaded modules:\n"
     "0x100000000 - 0x10000ffff  App  ???  (main)  (WARNING: No symbols, App, " ID_16 "0)\n"
     "0x180000000 - 0x18000ffff  libz.dylib  1.2.3.4\n"
     "0x7f3735d35000 - 0x7f3735ecefff  libc.so.6  ???  (WARNING: No symbols, libc.so.6, " ID_16 "0)\n",
     "Operating system: iOS\n"
     "Thread 0 (crashed)\n"
     " 0  App!App:100! + 0x7\n"
     "     x0 = 0x0000000000000000   pc = 0x0000000100000100\n"
     "    Found by: given as instruction pointer in context\n"
     " 1  libz.dylib!libz.dylib:200 + 0x7\n"
     "    Found by: previous frame's frame pointer\n"
     " 2  App!-[View draw:] [view.m : 14 + 0x4]\n"
     " 3  App!main + 0x10\n"
     " 4  0x7fff5fbff8a0\n"
     " 5  0xf00800 (unloaded many.dll@0x460|0x700) (unloaded solo.dll@0x5e0)\n"
     "10  libc.so.6!libc.so.6:300 + 0x7\n"
     "\n"
     "Loaded modules:\n"
     "0x100000000 - 0x10000ffff  App  ???  (main)  (WARNING: No symbols, App, " ID_16 "0)\n"
     "0x180000000 - 0x18000ffff  libz.dylib  1.2.3.4\n"
     "0x7f3735d35000 - 0x7f3735ecefff  libc.so.6  ???  (WARNING: No symbols, libc.so.6, " ID_16 "0)\n",
     7, 0},
    /* sample(1): the list below the tree. */
    {"sample",
     "Sort by top of stack, same collapsed (when >= 5):\n"
     "        mach_msg2_trap  (in libsystem_kernel.dylib)        2797\n"
     "        ???  (in App)  load address 0x100000000 + 0x100  [0x100000100]        50\n"
     "        ???  (in <unknown binary>)  [0x30000]        7\n\n" IMAGES,
     "Sort by top of stack, same collapsed (when >= 5):\n"
     "        mach_msg2_trap  (in libsystem_kernel.dylib)        2797\n"
     "        id.App:100!  (in App) + 7  [0x100000100]        50\n"
     "        ???  (in <unknown binary>)  [0x30000]        7\n\n" IMAGES,
     "Sort by top of stack, same collapsed (when >= 5):\n"
     "        mach_msg2_trap  (in libsystem_kernel.dylib)        2797\n"
     "        App:100!  (in App) + 7  [0x100000100]        50\n"
     "        ???  (in <unknown binary>)  [0x30000]        7\n\n" IMAGES,
     2, 1},
    /* A frame of which the program knew nothing but the address, and a name that lldb made up. */
    {"apple",
     "0   App    \t0x0000000100000100 0x0 + 0\n"
     "1   App    \t0x0000000100000200 ___lldb_unnamed_symbol12$$App + 20\n" IMAGES,
     "0   App    \t0x0000000100000100 id.App:100! + 7\n"
     "1   App    \t0x0000000100000200 id.App:200 + 7\n" IMAGES,
     "0   App    \t0x0000000100000100 0x0 + 0\n"
     "1   App    \t0x0000000100000200 ___lldb_unnamed_symbol12$$App + 20\n" IMAGES,
     2, 0},
    /* The first address of callStackSymbols is a return address; that of a thread which was stopped is not. */
    {"apple",
     "(\n"
     "\t0   App                                 0x0000000100000100 App + 256\n"
     "\t1   App                                 0x0000000100000200 App + 512\n"
     ")\n"
     "Thread 7 \"worker\", running\n"
     "0   App                                 0x0000000100000300 App + 768\n"
     "1   App                                 0x0000000100000400 App + 1024\n"
     "0   App                                 0x0000000100000500 0x100000000 + 1280\n" IMAGES,
     "(\n"
     "\t0   App                                 0x0000000100000100 id.App:100 + 7\n"
     "\t1   App                                 0x0000000100000200 id.App:200 + 7\n"
     ")\n"
     "Thread 7 \"worker\", running\n"
     "0   App                                 0x0000000100000300 id.App:300! + 7\n"
     "1   App                                 0x0000000100000400 id.App:400 + 7\n"
     "0   App                                 0x0000000100000500 id.App:500! + 7\n" IMAGES,
     "(\n"
     "\t0   App                                 0x0000000100000100 App:100 + 7\n"
     "\t1   App                                 0x0000000100000200 App:200 + 7\n"
     ")\n"
     "Thread 7 \"worker\", running\n"
     "0   App                                 0x0000000100000300 App:300! + 7\n"
     "1   App                                 0x0000000100000400 App:400 + 7\n"
     "0   App                                 0x0000000100000500 App:500! + 7\n" IMAGES,
     5, 0},
    /* Mail's quotation marks. */
    {"apple",
     "> Thread 0 Crashed:\n"
     "> 0   App    \t0x0000000100000100 0x100000000 + 256\n"
     ">> 1   libz.dylib   0x180000200 libz.dylib + 512\n"
     "> Binary Images:\n"
     ">        0x100000000 -        0x10000ffff +App (1.0) <" UUID_A "> /Applications/App.app/App\n"
     "> > 0x180000000 -        0x18000ffff  libz.dylib arm64e <" UUID_B "> /usr/lib/libz.dylib\n",
     "> Thread 0 Crashed:\n"
     "> 0   App    \t0x0000000100000100 id.App:100! + 7\n"
     ">> 1   libz.dylib   0x180000200 id.libz.dylib:200 + 7\n"
     "> Binary Images:\n"
     ">        0x100000000 -        0x10000ffff +App (1.0) <" UUID_A "> /Applications/App.app/App\n"
     "> > 0x180000000 -        0x18000ffff  libz.dylib arm64e <" UUID_B "> /usr/lib/libz.dylib\n",
     "> Thread 0 Crashed:\n"
     "> 0   App    \t0x0000000100000100 App:100! + 7\n"
     ">> 1   libz.dylib   0x180000200 libz.dylib:200 + 7\n"
     "> Binary Images:\n"
     ">        0x100000000 -        0x10000ffff +App (1.0) <" UUID_A "> /Applications/App.app/App\n"
     "> > 0x180000000 -        0x18000ffff  libz.dylib arm64e <" UUID_B "> /usr/lib/libz.dylib\n",
     2, 0},
    /* A web page: tags, entities, blanks that do not break. */
    {"apple",
     "<pre>0   App    0x0000000100000100 0x100000000 + 256<br/>\n"
     "<li>1&nbsp;&nbsp;&nbsp;libz.dylib\xc2\xa0\xc2\xa0 0x180000200 libz.dylib + 512</li>\n"
     "`2   App    0x0000000100000300 App + 768`\n"
     "0x100000000 -  0x10000ffff +App (1.0) &lt;" UUID_A "&gt; /Applications/App.app/App<br>\n"
     "<p>0x180000000 -        0x18000ffff  libz.dylib arm64e <" UUID_B "> /usr/lib/libz.dylib</p>\n",
     "<pre>0   App    0x0000000100000100 id.App:100! + 7<br/>\n"
     "<li>1&nbsp;&nbsp;&nbsp;libz.dylib\xc2\xa0\xc2\xa0 0x180000200 id.libz.dylib:200 + 7</li>\n"
     "`2   App    0x0000000100000300 id.App:300 + 7`\n"
     "0x100000000 -  0x10000ffff +App (1.0) &lt;" UUID_A "&gt; /Applications/App.app/App<br>\n"
     "<p>0x180000000 -        0x18000ffff  libz.dylib arm64e <" UUID_B "> /usr/lib/libz.dylib</p>\n",
     "<pre>0   App    0x0000000100000100 App:100! + 7<br/>\n"
     "<li>1&nbsp;&nbsp;&nbsp;libz.dylib\xc2\xa0\xc2\xa0 0x180000200 libz.dylib:200 + 7</li>\n"
     "`2   App    0x0000000100000300 App:300 + 7`\n"
     "0x100000000 -  0x10000ffff +App (1.0) &lt;" UUID_A "&gt; /Applications/App.app/App<br>\n"
     "<p>0x180000000 -        0x18000ffff  libz.dylib arm64e <" UUID_B "> /usr/lib/libz.dylib</p>\n",
     3, 0},
    /* A report in one line, between written ends of lines. */
    {"apple",
     "error: Thread 0 Crashed:\\n0   App    \\t0x0000000100000100 0x100000000 + 256\\n1   libz.dylib   0x180000200 "
     "libz.dylib + 512\\n\\nBinary Images:\\n0x100000000 - 0x10000ffff +App (1.0) <" UUID_A
     "> /Applications/App.app/App\\n0x180000000 - 0x18000ffff libz.dylib arm64e <" UUID_B "> /usr/lib/libz.dylib\\n.\n",
     "error: Thread 0 Crashed:\\n0   App    \\t0x0000000100000100 id.App:100! + 7\\n1   libz.dylib   0x180000200 "
     "id.libz.dylib:200 + 7\\n\\nBinary Images:\\n0x100000000 - 0x10000ffff +App (1.0) <" UUID_A
     "> /Applications/App.app/App\\n0x180000000 - 0x18000ffff libz.dylib arm64e <" UUID_B "> /usr/lib/libz.dylib\\n.\n",
     "error: Thread 0 Crashed:\\n0   App    \\t0x0000000100000100 App:100! + 7\\n1   libz.dylib   0x180000200 "
     "libz.dylib:200 + 7\\n\\nBinary Images:\\n0x100000000 - 0x10000ffff +App (1.0) <" UUID_A
     "> /Applications/App.app/App\\n0x180000000 - 0x18000ffff libz.dylib arm64e <" UUID_B "> /usr/lib/libz.dylib\\n.\n",
     2, 0},
    /* Frames whose ends of lines were lost. */
    {"apple",
     "Stack: 0   App    0x0000000100000100 App + 256 1   libz.dylib   0x180000200 libz.dylib + 512 2   App  "
     "0x100000300 main + 20 3 App 0x0000000100000400 App + 1024\n" IMAGES,
     "Stack: 0   App    0x0000000100000100 id.App:100! + 7 1   libz.dylib   0x180000200 id.libz.dylib:200 + 7 2   App  "
     "0x100000300 main + 20 3 App 0x0000000100000400 id.App:400 + 7\n" IMAGES,
     "Stack: 0   App    0x0000000100000100 App:100! + 7 1   libz.dylib   0x180000200 libz.dylib:200 + 7 2   App  "
     "0x100000300 main + 20 3 App 0x0000000100000400 App:400 + 7\n" IMAGES,
     4, 0},
};

/* ---- texts of Linux and Android ---- */

static const struct text linux_texts[] = {
    {"backtrace_symbols", "./prog(+0x1252) [0x5555555252]\n/lib/libc.so.6(puts+0x85) [0x7f00]\n./fixed() [0x401234]\n",
     "./prog(prog:1252!+0x7) [0x5555555252]\n/lib/libc.so.6(puts+0x85) [0x7f00]\n./fixed(fixed:L401234+0x7) "
     "[0x401234]\n",
     NULL, 3, 0},
    {"backtrace_symbols", "./prog(+0x1252)[0x5555555252]\n", "./prog(prog:1252!+0x7)[0x5555555252]\n", NULL, 1, 0},
    {"gdb",
     "#0  0x0000555555555234 in ?? ()\n"
     "#1  0x000055555555540f in ?? () from /opt/prog\n"
     "#2  0x00007ffff7df824a in main (argc=1) at a.c:58\n"
     "          Start Addr           End Addr       Size     Offset  Perms  objfile\n"
     "      0x555555554000     0x555555555000     0x1000        0x0  r--p   /opt/prog\n"
     "      0x555555555000     0x555555556000     0x1000     0x1000  r-xp   /opt/prog\n"
     "      0x7ffff7dce000     0x7ffff7dd1000     0x3000        0x0  rw-p   \n",
     "#0  0x0000555555555234 in prog:1234!+7 ()\n"
     "#1  0x000055555555540f in prog:140f+7 () from /opt/prog\n"
     "#2  0x00007ffff7df824a in main (argc=1) at a.c:58\n"
     "          Start Addr           End Addr       Size     Offset  Perms  objfile\n"
     "      0x555555554000     0x555555555000     0x1000        0x0  r--p   /opt/prog\n"
     "      0x555555555000     0x555555556000     0x1000     0x1000  r-xp   /opt/prog\n"
     "      0x7ffff7dce000     0x7ffff7dd1000     0x3000        0x0  rw-p   \n",
     "#0  0x0000555555555234 in ?? ()\n"
     "#1  0x000055555555540f in ?? () from /opt/prog\n"
     "#2  0x00007ffff7df824a in main (argc=1) at a.c:58\n"
     "          Start Addr           End Addr       Size     Offset  Perms  objfile\n"
     "      0x555555554000     0x555555555000     0x1000        0x0  r--p   /opt/prog\n"
     "      0x555555555000     0x555555556000     0x1000     0x1000  r-xp   /opt/prog\n"
     "      0x7ffff7dce000     0x7ffff7dd1000     0x3000        0x0  rw-p   \n",
     3, 0},
    {"eu-stack",
     "TID 25651:\n"
     "#0  0x00007fe0ae097dd0 pause - /usr/lib/libc.so.6\n"
     "    [93ac61ec5a8eb1396f9fbd350e3169a558528a40]@0x7fe0adfc4000+0xd3dd0\n"
     "#1  0x00005557613c73a3 - /opt/prog\n"
     "    [" ID_A "]@0x5557613c6000+0x13a2\n",
     "TID 25651:\n"
     "#0  0x00007fe0ae097dd0 pause - /usr/lib/libc.so.6\n"
     "    [93ac61ec5a8eb1396f9fbd350e3169a558528a40]@0x7fe0adfc4000+0xd3dd0\n"
     "#1  0x00005557613c73a3 id.:13a3 - /opt/prog\n"
     "    [" ID_A "]@0x5557613c6000+0x13a2\n",
     "TID 25651:\n"
     "#0  0x00007fe0ae097dd0 pause - /usr/lib/libc.so.6\n"
     "    [93ac61ec5a8eb1396f9fbd350e3169a558528a40]@0x7fe0adfc4000+0xd3dd0\n"
     "#1  0x00005557613c73a3 - /opt/prog\n"
     "    [" ID_A "]@0x5557613c6000+0x13a2\n",
     2, 0},
    /* systemd src/shared/elf-util.c; the second form of a module is version 249's. */
    {"coredumpctl",
     "                Module libfoo.so, build-id=" ID_A "\n"
     "                Module prog with build-id 93ac61ec5a8eb1396f9fbd350e3169a558528a40\n"
     "                Stack trace of thread 1234:\n"
     "                #0  0x00007f3a1c0a8d3c n/a (libfoo.so + 0x8ed3c)\n"
     "                #1  0x000055d0c0001139 n/a (prog + 0x1139)\n"
     "                #2  0x000055d0c0001200 main (prog + 0x1200)\n",
     "                Module libfoo.so, build-id=" ID_A "\n"
     "                Module prog with build-id 93ac61ec5a8eb1396f9fbd350e3169a558528a40\n"
     "                Stack trace of thread 1234:\n"
     "                #0  0x00007f3a1c0a8d3c id.libfoo.so:8ed3c!+7 (libfoo.so + 0x8ed3c)\n"
     "                #1  0x000055d0c0001139 id.prog:1139+7 (prog + 0x1139)\n"
     "                #2  0x000055d0c0001200 main (prog + 0x1200)\n",
     NULL, 3, 0},
    {"sanitizer",
     "    #0 0x55ef3675de91  (/opt/san+0x10be91) (BuildId: " ID_A ")\n"
     "    #1 0x55ef3675deba in f(int) (/opt/san+0x10beba) (BuildId: " ID_A ")\n"
     "    #2 <null> <null> (race+0xe458e) (BuildId: " ID_A ")\n"
     "    #3 0x7f492942c249  (/opt/old+0x27249)\n"
     "SUMMARY: AddressSanitizer: SEGV (/opt/san+0x10bd52) (BuildId: " ID_A ") \n",
     "    #0 0x55ef3675de91 in id.san:L10be91! (/opt/san+0x10be91) (BuildId: " ID_A ")\n"
     "    #1 0x55ef3675deba in f(int) (/opt/san+0x10beba) (BuildId: " ID_A ")\n"
     "    #2 id.race:Le458e! (race+0xe458e) (BuildId: " ID_A ")\n"
     "    #3 0x7f492942c249 in old:L27249! (/opt/old+0x27249)\n"
     "SUMMARY: AddressSanitizer: SEGV in id.san:L10bd52! (/opt/san+0x10bd52) (BuildId: " ID_A ") \n",
     NULL, 5, 0},
    {"perf-script",
     "prog 25668  3751.393860: PERF_RECORD_MMAP2 25668/25668: [0x5591d1435000(0x1000) @ 0x1000 fe:00 16 21]: r-xp "
     "/opt/prog\n"
     "prog 25668  3751.393861:     250000 cpu-clock: \n"
     "\t            13ef [unknown] (/opt/other)\n"
     "\t    5591d143540f [unknown] (/opt/prog)\n"
     "\t    5591d143540f [unknown] (/opt/prog+0x140f)\n"
     "\t           2724a main+0x7a (/usr/lib/libc.so.6)\n"
     "\t               0 [unknown] ([unknown])\n",
     "prog 25668  3751.393860: PERF_RECORD_MMAP2 25668/25668: [0x5591d1435000(0x1000) @ 0x1000 fe:00 16 21]: r-xp "
     "/opt/prog\n"
     "prog 25668  3751.393861:     250000 cpu-clock: \n"
     "\t            13ef other:F13ef!+0x7 (/opt/other)\n"
     "\t    5591d143540f prog:F140f+0x7 (/opt/prog)\n"
     "\t    5591d143540f prog:F140f+0x7 (/opt/prog+0x140f)\n"
     "\t           2724a main+0x7a (/usr/lib/libc.so.6)\n"
     "\t               0 [unknown] ([unknown])\n",
     NULL, 4, 0},
    {"linux-kernel",
     "[1.2] prog[88]: segfault at 8 ip 000056395a266234 sp 00007ff error 6 in prog[1234,56395a266000+1000] likely on "
     "CPU 0\n"
     "[1.2] prog[88]: segfault at 8 ip 000056395a266234 sp 00007ff error 6 in prog[56395a266000+1000]\n"
     "[1.2] traps: prog[53] trap invalid opcode ip:560868a23d33 sp:7ffc error:0 in prog[d33,560868a23000+1000]\n",
     "[1.2] prog[88]: segfault at 8 ip 000056395a266234 sp 00007ff error 6 in prog[1234,56395a266000+1000] "
     "(prog:F1234!+0x7) likely on CPU 0\n"
     "[1.2] prog[88]: segfault at 8 ip 000056395a266234 sp 00007ff error 6 in prog[56395a266000+1000] "
     "(prog:T234!+0x7)\n"
     "[1.2] traps: prog[53] trap invalid opcode ip:560868a23d33 sp:7ffc error:0 in prog[d33,560868a23000+1000] "
     "(prog:Fd33!+0x7)\n",
     NULL, 3, 0},
    /* linux Documentation/admin-guide/bug-hunting.rst; arch/x86/kernel/setup.c for the offset. */
    {"linux-kernel",
     "[    1.200000] RIP: 0010:0xffffffff9b001234\n"
     "[    1.200000]  ? 0xffffffff9b002000\n"
     "[    1.200000]  [<ffffffff9b003000>] 0xffffffff9b003000\n"
     "[    1.200000]  do_one_initcall+0x41/0x1c0\n"
     "[    1.200000] Kernel Offset: 0x1a000000 from 0xffffffff81000000 (relocation range: "
     "0xffffffff80000000-0xffffffffbfffffff)\n",
     "[    1.200000] RIP: 0010:vmlinux:Lffffffff81001234!+0x7\n"
     "[    1.200000]  ? vmlinux:Lffffffff81002000+0x7\n"
     "[    1.200000]  [<ffffffff9b003000>] vmlinux:Lffffffff81003000+0x7\n"
     "[    1.200000]  do_one_initcall+0x41/0x1c0\n"
     "[    1.200000] Kernel Offset: 0x1a000000 from 0xffffffff81000000 (relocation range: "
     "0xffffffff80000000-0xffffffffbfffffff)\n",
     "[    1.200000] RIP: 0010:0xffffffff9b001234\n"
     "[    1.200000]  ? 0xffffffff9b002000\n"
     "[    1.200000]  [<ffffffff9b003000>] 0xffffffff9b003000\n"
     "[    1.200000]  do_one_initcall+0x41/0x1c0\n"
     "[    1.200000] Kernel Offset: 0x1a000000 from 0xffffffff81000000 (relocation range: "
     "0xffffffff80000000-0xffffffffbfffffff)\n",
     4, 0},
    /* Tombstones and logcat output in public issues; libunwindstack FormatFrame. */
    {"android",
     "pid: 1600, tid: 1664, name: worker  >>> com.example <<<\n"
     "      #00 pc 000000000001402c  /system/lib64/libapp.so (BuildId: " ID_A ")\n"
     "      #01 pc 0001402c  /data/app/my app/base.apk!libin.so (offset 0x5000) (BuildId: " ID_A ")\n"
     "01-16 17:46:12.240 F/DEBUG   (  321):       #02 pc 0000d630  /system/lib/libplain.so\n"
     "      #03 pc 000dcf1c  /system/lib/libc.so (free+32)\n"
     "      #04 pc 0000000000000012  <anonymous:7b1d>\n",
     "pid: 1600, tid: 1664, name: worker  >>> com.example <<<\n"
     "      #00 pc 000000000001402c  /system/lib64/libapp.so (id.libapp.so:L1402c!+7) (BuildId: " ID_A ")\n"
     "      #01 pc 0001402c  /data/app/my app/base.apk!libin.so (offset 0x5000) (id.libin.so:L1402c!+7) (BuildId: " ID_A
     ")\n"
     "01-16 17:46:12.240 F/DEBUG   (  321):       #02 pc 0000d630  /system/lib/libplain.so (libplain.so:Ld630!+7)\n"
     "      #03 pc 000dcf1c  /system/lib/libc.so (free+32)\n"
     "      #04 pc 0000000000000012  <anonymous:7b1d>\n",
     NULL, 5, 0},
    /* LLVM, "Symbolizer Markup Format". */
    {"llvm-markup",
     "{{{reset}}}\n"
     "{{{module:0:/opt/prog:elf:" ID_A "}}}\n"
     "{{{mmap:0x560088077000:0xdff95:load:0:rx:0x2c000}}}\n"
     "  {{{bt:0:0x560088077100:pc}}}\n"
     "  {{{bt:1:0x560088077200:ra}}}\n"
     "  {{{bt:2:0x10:ra}}}\n"
     "at {{{pc:0x560088077300}}} and {{{pc:0x560088077400:ra}}}, {{{symbol:_Z1fv}}}\n"
     "{{{reset}}}\n"
     "{{{module:0:other:elf:" ID_A "}}}\n"
     "{{{mmap:0x560088077000:0x1000:load:0:rx:0x0}}}\n"
     "{{{bt:0:0x560088077100:pc}}}\n",
     "{{{reset}}}\n"
     "{{{module:0:/opt/prog:elf:" ID_A "}}}\n"
     "{{{mmap:0x560088077000:0xdff95:load:0:rx:0x2c000}}}\n"
     "  #0 0x560088077100 in id.prog:L2c100!+0x7\n"
     "  #1 0x560088077200 in id.prog:L2c200+0x7\n"
     "  {{{bt:2:0x10:ra}}}\n"
     "at id.prog:L2c300!+0x7 and id.prog:L2c400+0x7, {{{symbol:_Z1fv}}}\n"
     "{{{reset}}}\n"
     "{{{module:0:other:elf:" ID_A "}}}\n"
     "{{{mmap:0x560088077000:0x1000:load:0:rx:0x0}}}\n"
     "#0 0x560088077100 in id.other:L100!+0x7\n",
     NULL, 6, 4},
    {"rust",
     "thread 'main' (36) panicked at p.rs:1:57:\n"
     "stack backtrace:\n"
     "   0:     0x5648b3aa71ca - <unknown>\n"
     "  18:     0x7f4554dd224a - __libc_start_call_main\n"
     "                               at ./a.h:58:16\n"
     "  21:                0x0 - <unknown>\n"
     "5648b3aa7000-5648b3aa8000 r-xp 00001000 fe:00 16    /opt/my prog\n",
     "thread 'main' (36) panicked at p.rs:1:57:\n"
     "stack backtrace:\n"
     "   0:     0x5648b3aa71ca - my prog:F11ca!\n"
     "  18:     0x7f4554dd224a - __libc_start_call_main\n"
     "                               at ./a.h:58:16\n"
     "  21:                0x0 - <unknown>\n"
     "5648b3aa7000-5648b3aa8000 r-xp 00001000 fe:00 16    /opt/my prog\n",
     "thread 'main' (36) panicked at p.rs:1:57:\n"
     "stack backtrace:\n"
     "   0:     0x5648b3aa71ca - <unknown>\n"
     "  18:     0x7f4554dd224a - __libc_start_call_main\n"
     "                               at ./a.h:58:16\n"
     "  21:                0x0 - <unknown>\n"
     "5648b3aa7000-5648b3aa8000 r-xp 00001000 fe:00 16    /opt/my prog\n",
     2, 0},
    {"go",
     "00400000-00401000 r-xp 00000000 fe:00 16    /opt/prog\n"
     "[signal SIGSEGV: segmentation violation code=0x1 addr=0x8 pc=0x400120]\n"
     "goroutine 1 [syscall]:\n"
     "non-Go function\n"
     "\tpc=0x400130\n"
     "main.main()\n"
     "\t/src/p.go:16 +0x25 fp=0xc00004af80 sp=0xc00004af60 pc=0x400140\n",
     "00400000-00401000 r-xp 00000000 fe:00 16    /opt/prog\n"
     "[signal SIGSEGV: segmentation violation code=0x1 addr=0x8 pc=0x400120 prog:120!+0x7]\n"
     "goroutine 1 [syscall]:\n"
     "non-Go function\n"
     "\tpc=0x400130 prog:130!+0x7\n"
     "main.main()\n"
     "\t/src/p.go:16 +0x25 fp=0xc00004af80 sp=0xc00004af60 pc=0x400140\n",
     NULL, 3, 0},
    {"hs_err",
     "# Problematic frame:\n"
     "# C  [libboom.so+0x1109]\n"
     "Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)\n"
     "C  [libboom.so+0x1109]\n"
     "j  Crash.boom()V+0\n"
     "V  [libjvm.so+0x8282d2]  JavaCalls::call_helper(JavaValue*)+0x302\n"
     "C  [libjli.so+0x4592]\n",
     "# Problematic frame:\n"
     "# C  [libboom.so+0x1109]  libboom.so:1109!+0x7\n"
     "Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)\n"
     "C  [libboom.so+0x1109]  libboom.so:1109!+0x7\n"
     "j  Crash.boom()V+0\n"
     "V  [libjvm.so+0x8282d2]  JavaCalls::call_helper(JavaValue*)+0x302\n"
     "C  [libjli.so+0x4592]  libjli.so:4592+0x7\n",
     NULL, 5, 0},
    {"swift",
     "*** Program crashed: Illegal instruction at 0x00007fd144d6df7f ***\n"
     "Thread 0 \"sw\" crashed:\n"
     "0      0x000055703bff4010\n"
     "1 [ra] 0x000055703bff4020\n"
     "  2 [ra] 0x000055703bff4030 <unknown> in sw\n"
     "  3 [ra] 0x000055703bff4040 outer(_:) + 41 in sw at /src/p.swift:2:52\n"
     "4      ...\n"
     "Images (12 omitted):\n"
     "0x000055703bff3000\xe2\x80\x93"
     "0x000055703bff4390 " ID_A " sw                          /opt/sw\n",
     "*** Program crashed: Illegal instruction at 0x00007fd144d6df7f ***\n"
     "Thread 0 \"sw\" crashed:\n"
     "0      0x000055703bff4010 id.sw:1010! + 7\n"
     "1 [ra] 0x000055703bff4020 id.sw:1020 + 7\n"
     "  2 [ra] 0x000055703bff4030 id.sw:1030 + 7 in sw\n"
     "  3 [ra] 0x000055703bff4040 outer(_:) + 41 in sw at /src/p.swift:2:52\n"
     "4      ...\n"
     "Images (12 omitted):\n"
     "0x000055703bff3000\xe2\x80\x93"
     "0x000055703bff4390 " ID_A " sw                          /opt/sw\n",
     "*** Program crashed: Illegal instruction at 0x00007fd144d6df7f ***\n"
     "Thread 0 \"sw\" crashed:\n"
     "0      0x000055703bff4010\n"
     "1 [ra] 0x000055703bff4020\n"
     "  2 [ra] 0x000055703bff4030 <unknown> in sw\n"
     "  3 [ra] 0x000055703bff4040 outer(_:) + 41 in sw at /src/p.swift:2:52\n"
     "4      ...\n"
     "Images (12 omitted):\n"
     "0x000055703bff3000\xe2\x80\x93"
     "0x000055703bff4390 " ID_A " sw                          /opt/sw\n",
     4, 0},
    /* Written by Swift 6.3.1 with format=text,symbolicate=off,images=mentioned; folders were renamed. */
    {"swift",
     "*** Program crashed: Illegal instruction at 0x00007f5896f6df7f ***\n"
     "\n"
     "Platform: x86_64 Linux (Debian GNU/Linux 12 (bookworm))\n"
     "\n"
     "Thread 0 \"Shop\" crashed:\n"
     "\n"
     "0      0x00007f5896f6df7f\n"
     "1 [ra] 0x00007f58970f961f\n"
     "2 [ra] 0x00007f58975e7f65\n"
     "3 [ra] 0x000055779e1e4005\n"
     "4 [ra] 0x000055779e1e4069\n"
     "5 [ra] 0x000055779e1e40dd\n"
     "6 [ra] 0x000055779e1e3f89\n"
     "7 [ra] 0x000055779e1e4189\n"
     "8      ...\n"
     "\n"
     "\n"
     "Images (12 omitted):\n"
     "\n"
     "0x000055779e1e3000\xe2\x80\x93"
     "0x000055779e1e4468 2e86ed0f5a2eaeeb837d4e57af2ffcb8c7939930 Shop                      "
     "   /srv/Shop\n"
     "0x00007f5896e00000\xe2\x80\x93"
     "0x00007f58973d2d40 b521f25fdeacf504eca83d97c7308e8fc11be729 libswiftCore.so           "
     "   /usr/lib/swift/linux/libswiftCore.so\n"
     "0x00007f58975bd000\xe2\x80\x93"
     "0x00007f58975fcbe0 69b6bdccf46113ed4a6095c5a7edc60ef06c78e5 libswiftSwiftOnoneSupport."
     "so /usr/lib/swift/linux/libswiftSwiftOnoneSupport.so\n"
     "\n"
     "Backtrace took 0.02s\n"
     "\n",
     "*** Program crashed: Illegal instruction at 0x00007f5896f6df7f ***\n"
     "\n"
     "Platform: x86_64 Linux (Debian GNU/Linux 12 (bookworm))\n"
     "\n"
     "Thread 0 \"Shop\" crashed:\n"
     "\n"
     "0      0x00007f5896f6df7f id.libswiftCore.so:16df7f! + 7\n"
     "1 [ra] 0x00007f58970f961f id.libswiftCore.so:2f961f + 7\n"
     "2 [ra] 0x00007f58975e7f65 id.libswiftSwiftOnoneSupport.so:2af65 + 7\n"
     "3 [ra] 0x000055779e1e4005 id.Shop:1005 + 7\n"
     "4 [ra] 0x000055779e1e4069 id.Shop:1069 + 7\n"
     "5 [ra] 0x000055779e1e40dd id.Shop:10dd + 7\n"
     "6 [ra] 0x000055779e1e3f89 id.Shop:f89 + 7\n"
     "7 [ra] 0x000055779e1e4189 id.Shop:1189 + 7\n"
     "8      ...\n"
     "\n"
     "\n"
     "Images (12 omitted):\n"
     "\n"
     "0x000055779e1e3000\xe2\x80\x93"
     "0x000055779e1e4468 2e86ed0f5a2eaeeb837d4e57af2ffcb8c7939930 Shop                      "
     "   /srv/Shop\n"
     "0x00007f5896e00000\xe2\x80\x93"
     "0x00007f58973d2d40 b521f25fdeacf504eca83d97c7308e8fc11be729 libswiftCore.so           "
     "   /usr/lib/swift/linux/libswiftCore.so\n"
     "0x00007f58975bd000\xe2\x80\x93"
     "0x00007f58975fcbe0 69b6bdccf46113ed4a6095c5a7edc60ef06c78e5 libswiftSwiftOnoneSupport."
     "so /usr/lib/swift/linux/libswiftSwiftOnoneSupport.so\n"
     "\n"
     "Backtrace took 0.02s\n"
     "\n",
     "*** Program crashed: Illegal instruction at 0x00007f5896f6df7f ***\n"
     "\n"
     "Platform: x86_64 Linux (Debian GNU/Linux 12 (bookworm))\n"
     "\n"
     "Thread 0 \"Shop\" crashed:\n"
     "\n"
     "0      0x00007f5896f6df7f\n"
     "1 [ra] 0x00007f58970f961f\n"
     "2 [ra] 0x00007f58975e7f65\n"
     "3 [ra] 0x000055779e1e4005\n"
     "4 [ra] 0x000055779e1e4069\n"
     "5 [ra] 0x000055779e1e40dd\n"
     "6 [ra] 0x000055779e1e3f89\n"
     "7 [ra] 0x000055779e1e4189\n"
     "8      ...\n"
     "\n"
     "\n"
     "Images (12 omitted):\n"
     "\n"
     "0x000055779e1e3000\xe2\x80\x93"
     "0x000055779e1e4468 2e86ed0f5a2eaeeb837d4e57af2ffcb8c7939930 Shop                      "
     "   /srv/Shop\n"
     "0x00007f5896e00000\xe2\x80\x93"
     "0x00007f58973d2d40 b521f25fdeacf504eca83d97c7308e8fc11be729 libswiftCore.so           "
     "   /usr/lib/swift/linux/libswiftCore.so\n"
     "0x00007f58975bd000\xe2\x80\x93"
     "0x00007f58975fcbe0 69b6bdccf46113ed4a6095c5a7edc60ef06c78e5 libswiftSwiftOnoneSupport."
     "so /usr/lib/swift/linux/libswiftSwiftOnoneSupport.so\n"
     "\n"
     "Backtrace took 0.02s\n"
     "\n",
     8, 0},
    /* debuggerd tombstone_proto_to_text.cpp: the map of memory. */
    {"gdb",
     "#0  0x00000074000010f0 in ?? ()\n"
     "    00000074'00000000-00000074'00000fff r--         0      1000  /system/lib64/libc.so (BuildId: " ID_A ")\n"
     "    00000074'00001000-00000074'00001fff r-x      1000      1000  /system/lib64/libc.so (load bias 0x1000)\n",
     "#0  0x00000074000010f0 in libc.so:10f0!+7 ()\n"
     "    00000074'00000000-00000074'00000fff r--         0      1000  /system/lib64/libc.so (BuildId: " ID_A ")\n"
     "    00000074'00001000-00000074'00001fff r-x      1000      1000  /system/lib64/libc.so (load bias 0x1000)\n",
     "#0  0x00000074000010f0 in ?? ()\n"
     "    00000074'00000000-00000074'00000fff r--         0      1000  /system/lib64/libc.so (BuildId: " ID_A ")\n"
     "    00000074'00001000-00000074'00001fff r-x      1000      1000  /system/lib64/libc.so (load bias 0x1000)\n",
     1, 0},
};

/* ---- JSON ---- */

static const struct text documents[] = {
    /* Apple, "Interpreting the JSON format of a crash report". A signal interrupts the third frame; strings contain
     * lines. */
    {"ips",
     "{\"app_name\":\"App\",\"bug_type\":\"309\"}\n"
     "{\"threads\":[{\"frames\":[\n"
     "  {\"imageOffset\":16,\"imageIndex\":0},\n"
     "  {\"imageOffset\":32,\"symbol\":\"_sigtramp\",\"symbolLocation\":8,\"imageIndex\":1},\n"
     "  {\"symbol\":\"<redacted>\",\"imageOffset\":48,\"symbolLocation\":1,\"imageIndex\":1},\n"
     "  {\"imageOffset\": 64, \"imageIndex\": 2}]}],\n"
     " \"asiBacktraces\":[\"0   App  0x0000000100000020 App + 32\\n1   \\\"libz\\\"  0x5 f + 5\\n\"],\n"
     " \"usedImages\":[{\"base\":4294967296,\"size\":65536,\"uuid\":\"" UUID_A
     "\",\"path\":\"\\/x\\/App\",\"name\":\"App\"},"
     "{\"base\":0,\"size\":0,\"uuid\":\"" UUID_B "\",\"name\":\"lib\"},{\"size\":0,\"base\":0}]}\n",
     "{\"app_name\":\"App\",\"bug_type\":\"309\"}\n"
     "{\"threads\":[{\"frames\":[\n"
     "  {\"imageOffset\":16,\"symbol\":\"id.App:10!\",\"symbolLocation\":7,\"imageIndex\":0},\n"
     "  {\"imageOffset\":32,\"symbol\":\"_sigtramp\",\"symbolLocation\":8,\"imageIndex\":1},\n"
     "  {\"symbol\":\"id.lib:30!\",\"imageOffset\":48,\"symbolLocation\":7,\"imageIndex\":1},\n"
     "  {\"imageOffset\": 64, \"imageIndex\": 2}]}],\n"
     " \"asiBacktraces\":[\"0   App  0x0000000100000020 id.App:20! + 7\\n1   \\\"libz\\\"  0x5 f + 5\\n\"],\n"
     " \"usedImages\":[{\"base\":4294967296,\"size\":65536,\"uuid\":\"" UUID_A
     "\",\"path\":\"\\/x\\/App\",\"name\":\"App\"},"
     "{\"base\":0,\"size\":0,\"uuid\":\"" UUID_B "\",\"name\":\"lib\"},{\"size\":0,\"base\":0}]}\n",
     NULL, 6, 0},
    /* xnu kcdata.py: [image, offset]; images are [UUID, load address, kind]. */
    {"stackshot",
     "{\"bug_type\":\"288\"}\n"
     "{\"processByPid\":{\"1\":{\"threadById\":{\"7\":{\"userFrames\":[[0,16],[0,32]],\"kernelFrames\":[[1,8,\"x\"]]}}}"
     "},"
     "\"binaryImages\":[[\"" UUID_A "\",4096,\"P\"],[\"" UUID_B "\",0,\"U\"]]}",
     "{\"bug_type\":\"288\"}\n"
     "{\"processByPid\":{\"1\":{\"threadById\":{\"7\":{\"userFrames\":[[0,16,\"id.:10! + 7\"],[0,32,\"id.:20 + 7\"]],"
     "\"kernelFrames\":[[1,8,\"x\"]]}}}},"
     "\"binaryImages\":[[\"" UUID_A "\",4096,\"P\"],[\"" UUID_B "\",0,\"U\"]]}",
     NULL, 3, 0},
    /* MetricKit, crash of iOS 14: the "offset" is the load address (ChimeHQ/Meter, ios_uncaught_exception_payload).
     * Indented like Apple's encoder's output, with its order of keys; one frame has no name. */
    {"metrickit",
     "{\n  \"crashDiagnostics\" : [\n    {\"callStackTree\" : {\"callStacks\" : [ {\"callStackRootFrames\" : [\n"
     "      {\n"
     "        \"binaryUUID\" : \"" UUID_A "\",\n"
     "        \"offsetIntoBinaryTextSegment\" : 4295000064,\n"
     "        \"subFrames\" : [\n"
     "          { \"binaryUUID\" : \"" UUID_B "\", \"offsetIntoBinaryTextSegment\" : 512, \"address\" : 4295033344 }\n"
     "        ],\n"
     "        \"binaryName\" : \"App\",\n"
     "        \"address\" : 4295000080\n"
     "      }\n    ] } ] } }\n  ]\n}\n",
     "{\n  \"crashDiagnostics\" : [\n    {\"callStackTree\" : {\"callStacks\" : [ {\"callStackRootFrames\" : [\n"
     "      {\n"
     "        \"binaryUUID\" : \"" UUID_A "\",\n"
     "        \"offsetIntoBinaryTextSegment\" : 4295000064,\n"
     "        \"subFrames\" : [\n"
     "          { \"binaryUUID\" : \"" UUID_B "\", \"offsetIntoBinaryTextSegment\" : 512, \"address\" : 4295033344, "
     "\"symbolName\" : \"id.:200\", \"offsetIntoSymbol\" : 7 }\n"
     "        ],\n"
     "        \"binaryName\" : \"App\",\n"
     "        \"address\" : 4295000080,\n"
     "        \"symbolName\" : \"id.App:10!\",\n"
     "        \"offsetIntoSymbol\" : 7\n"
     "      }\n    ] } ] } }\n  ]\n}\n",
     NULL, 2, 0},
    /* MetricKit, CPU of iOS 16: the offsets of frames with callees are those of the call (getsentry/sentry-cocoa,
     * metric-kit-callstack-tree-real-cpu). */
    {"metrickit",
     "{\"cpuExceptionDiagnostics\":[{\"callStackTree\":{\"callStacks\":[{\"callStackRootFrames\":[{\"binaryUUID\":"
     "\"" UUID_A "\",\"offsetIntoBinaryTextSegment\":2967,\"sampleCount\":60,\"subFrames\":[{\"binaryUUID\":\"" UUID_B
     "\",\"offsetIntoBinaryTextSegment\":10108,\"sampleCount\":60,\"address\":7803938684}],\"binaryName\":\"App\","
     "\"address\":4294970264}]}]}}]}",
     "{\"cpuExceptionDiagnostics\":[{\"callStackTree\":{\"callStacks\":[{\"callStackRootFrames\":[{\"binaryUUID\":"
     "\"" UUID_A "\",\"offsetIntoBinaryTextSegment\":2967,\"sampleCount\":60,\"subFrames\":[{\"binaryUUID\":\"" UUID_B
     "\",\"offsetIntoBinaryTextSegment\":10108,\"sampleCount\":60,\"address\":7803938684,\"symbolName\":\"id.:277c!\","
     "\"offsetIntoSymbol\":7}],\"binaryName\":\"App\","
     "\"address\":4294970264,\"symbolName\":\"id.App:b98\",\"offsetIntoSymbol\":7}]}]}}]}",
     NULL, 2, 0},
    /* App Store Connect API, DiagnosticLogCallStackNode: every value is a string. */
    {"metrickit",
     "{\"productData\":[{\"diagnosticLogs\":[{\"callStackTree\":[{\"callStacks\":[{\"callStackRootFrames\":[{"
     "\"sampleCount\":\"3\",\"isBlameFrame\":true,\"symbolName\":\"\",\"offsetIntoSymbol\":\"\",\"binaryName\":\"App\","
     "\"binaryUUID\":\"" UUID_A "\",\"address\":\"0x100000010\",\"offsetIntoBinaryTextSegment\":\"16\"}]}]}]}]}]}",
     "{\"productData\":[{\"diagnosticLogs\":[{\"callStackTree\":[{\"callStacks\":[{\"callStackRootFrames\":[{"
     "\"sampleCount\":\"3\",\"isBlameFrame\":true,\"symbolName\":\"id.App:10!\",\"offsetIntoSymbol\":\"7\","
     "\"binaryName\":"
     "\"App\","
     "\"binaryUUID\":\"" UUID_A "\",\"address\":\"0x100000010\",\"offsetIntoBinaryTextSegment\":\"16\"}]}]}]}]}]}",
     NULL, 1, 0},
    /* KSCrash, Example-Reports. */
    {"kscrash",
     "{\"crash\":{\"threads\":[{\"backtrace\":{\"contents\":[{\"instruction_addr\":4294967312,\"object_addr\":"
     "4294967296,"
     "\"object_name\":\"App\",\"symbol_addr\":0,\"symbol_name\":\"<redacted>\"},{\"instruction_addr\":4294967328,"
     "\"object_addr\":4294967296,\"object_name\":\"App\"}]}}]},\"binary_images\":[{\"image_addr\":4294967296,"
     "\"image_size\":65536,\"name\":\"\\/x\\/App\",\"uuid\":\"" UUID_A "\"}]}",
     "{\"crash\":{\"threads\":[{\"backtrace\":{\"contents\":[{\"instruction_addr\":4294967312,\"object_addr\":"
     "4294967296,"
     "\"object_name\":\"App\",\"symbol_addr\":4294967305,\"symbol_name\":\"id.App:10!\"},{\"instruction_addr\":"
     "4294967328,"
     "\"symbol_name\":\"id.App:20\",\"symbol_addr\":4294967321,"
     "\"object_addr\":4294967296,\"object_name\":\"App\"}]}}]},\"binary_images\":[{\"image_addr\":4294967296,"
     "\"image_size\":65536,\"name\":\"\\/x\\/App\",\"uuid\":\"" UUID_A "\"}]}",
     NULL, 2, 0},
    /* KSCrash 2.6: the frames of a profile are instructions, to which samples refer; a frame outside of all images. */
    {"kscrash",
     "{\"crash\":{\"error\":{\"type\":\"profile\",\"profile\":{\"name\":\"startup\",\"frames\":[{\"instruction_addr\":"
     "4294967312,\"object_addr\":4294967296,\"object_name\":\"App\"},{\"instruction_addr\":4294967328,\"object_addr\":"
     "4294967296,\"object_name\":\"App\"}],\"samples\":[{\"duration\":1,\"frames\":[0,1]},{\"frames\":[1]},{\"frames\":"
     "[]}]"
     "}},\"threads\":[{\"backtrace\":{\"contents\":[{\"instruction_addr\":16}]}}]},\"binary_images\":[{\"image_addr\":"
     "4294967296,\"image_size\":65536,\"name\":\"App\",\"uuid\":\"" UUID_A "\"}]}",
     "{\"crash\":{\"error\":{\"type\":\"profile\",\"profile\":{\"name\":\"startup\",\"frames\":[{\"instruction_addr\":"
     "4294967312,\"symbol_name\":\"id.App:10!\",\"symbol_addr\":4294967305,\"object_addr\":4294967296,\"object_name\":"
     "\"App\"},{\"instruction_addr\":4294967328,\"symbol_name\":\"id.App:20!\",\"symbol_addr\":4294967321,"
     "\"object_addr\":"
     "4294967296,\"object_name\":\"App\"}],\"samples\":[{\"duration\":1,\"frames\":[0,1]},{\"frames\":[1]},{\"frames\":"
     "[]}]"
     "}},\"threads\":[{\"backtrace\":{\"contents\":[{\"instruction_addr\":16}]}}]},\"binary_images\":[{\"image_addr\":"
     "4294967296,\"image_size\":65536,\"name\":\"App\",\"uuid\":\"" UUID_A "\"}]}",
     NULL, 3, 0},
    /* MetricKit's DiagnosticReport (iOS 27), by Apple's description of its types: offsets alone, names by UUID. */
    {"metrickit",
     "{\"environment\":{\"osVersion\":\"27.0\"},\"result\":{\"crash\":{\"_0\":{\"callStackTree\":{\"callStackThreads\":"
     "[{"
     "\"rootFrames\":[{\"binaryUUID\":\"" UUID_A
     "\",\"offsetIntoBinaryTextSegment\":16,\"subFrames\":[{\"binaryUUID\":\"" UUID_B
     "\",\"offsetIntoBinaryTextSegment\":32}]}]}],\"binaryInfo\":[\"" UUID_A "\",{\"binaryName\":\"App\"},\"" UUID_B
     "\",{\"binaryName\":\"lib\"}]}}}}}",
     "{\"environment\":{\"osVersion\":\"27.0\"},\"result\":{\"crash\":{\"_0\":{\"callStackTree\":{\"callStackThreads\":"
     "[{"
     "\"rootFrames\":[{\"binaryUUID\":\"" UUID_A "\",\"offsetIntoBinaryTextSegment\":16,\"symbolName\":\"id.App:10!\","
     "\"offsetIntoSymbol\":7,\"subFrames\":[{\"binaryUUID\":\"" UUID_B
     "\",\"offsetIntoBinaryTextSegment\":32,\"symbolName\":\"id.lib:20\",\"offsetIntoSymbol\":7}]}]}],\"binaryInfo\":["
     "\"" UUID_A "\",{\"binaryName\":\"App\"},\"" UUID_B "\",{\"binaryName\":\"lib\"}]}}}}}",
     NULL, 2, 0},
    /* xctrace(1): elements are written once, then referred to. The innermost frame of a backtrace is an instruction; the
     * address of the others is that in the name. A name that the recording has is kept. */
    {"xctrace",
     "<?xml version=\"1.0\"?>\n<!-- \"exported -->\n<trace-query-result>\n<node><row><thread id=\"1\" fmt=\"Main "
     "&lt;1&gt;\"><tid "
     "id=\"2\">7</tid></thread><backtrace id=\"3\"><frame id=\"4\" name=\"0x100000100\" addr=\"0x100000100\"><binary "
     "id=\"5\" "
     "name=\"App\" UUID=\"" UUID_A
     "\" arch=\"arm64\" load-addr=\"0x100000000\"/></frame><frame id=\"6\" name=\"0x100000200\" "
     "addr=\"0x100000201\"><binary ref=\"5\"/></frame><frame id='7' name='a&lt;b&gt;' addr='0x100000301'><binary "
     "ref='5'/></frame>"
     "</backtrace></row>\n<row><thread ref=\"1\"/><backtrace ref=\"3\"/></row><row><backtrace id=\"8\"><frame "
     "id=\"9\" name=\"0x5\" addr=\"0x5\"/></backtrace></row></node></trace-query-result>\n",
     "<?xml version=\"1.0\"?>\n<!-- \"exported -->\n<trace-query-result>\n<node><row><thread id=\"1\" fmt=\"Main "
     "&lt;1&gt;\"><tid "
     "id=\"2\">7</tid></thread><backtrace id=\"3\"><frame id=\"4\" name=\"id.App:100!\" addr=\"0x100000100\"><binary "
     "id=\"5\" "
     "name=\"App\" UUID=\"" UUID_A
     "\" arch=\"arm64\" load-addr=\"0x100000000\"/></frame><frame id=\"6\" name=\"id.App:200\" "
     "addr=\"0x100000201\"><binary ref=\"5\"/></frame><frame id='7' name='a&lt;b&gt;' addr='0x100000301'><binary "
     "ref='5'/></frame>"
     "</backtrace></row>\n<row><thread ref=\"1\"/><backtrace ref=\"3\"/></row><row><backtrace id=\"8\"><frame "
     "id=\"9\" name=\"0x5\" addr=\"0x5\"/></backtrace></row></node></trace-query-result>\n",
     NULL, 4, 0},
    /* bugsnag-cocoa, BugsnagStackframe.m: only a frame with isPC is an instruction. */
    {"bugsnag",
     "{\"events\":[{\"exceptions\":[{\"stacktrace\":[{\"frameAddress\":\"0x100000010\",\"machoLoadAddress\":"
     "\"0x100000000\","
     "\"machoFile\":\"App\",\"machoUUID\":\"" UUID_A
     "\",\"isPC\":true},{\"frameAddress\":\"0x100000020\",\"machoLoadAddress\":"
     "\"0x100000000\",\"machoFile\":\"App\",\"machoUUID\":\"" UUID_A
     "\",\"method\":null}]}],\"threads\":[{\"id\":\"3\","
     "\"errorReportingThread\":true,\"stacktrace\":[{\"frameAddress\":\"0x5\",\"method\":\"main\"}]}]}]}",
     "{\"events\":[{\"exceptions\":[{\"stacktrace\":[{\"frameAddress\":\"0x100000010\",\"method\":\"id.App:10!\","
     "\"symbolAddress\":\"0x100000009\",\"machoLoadAddress\":\"0x100000000\","
     "\"machoFile\":\"App\",\"machoUUID\":\"" UUID_A
     "\",\"isPC\":true},{\"frameAddress\":\"0x100000020\",\"symbolAddress\":"
     "\"0x100000019\",\"machoLoadAddress\":"
     "\"0x100000000\",\"machoFile\":\"App\",\"machoUUID\":\"" UUID_A
     "\",\"method\":\"id.App:20\"}]}],\"threads\":[{\"id\":\"3\","
     "\"errorReportingThread\":true,\"stacktrace\":[{\"frameAddress\":\"0x5\",\"method\":\"main\"}]}]}]}",
     NULL, 3, 0},
    /* rust-minidump, json-schema.md: all addresses are those of calls; members without a value are null. */
    {"minidump-json",
     "{\"crash_info\":{\"crashing_thread\":0},\"modules\":[{\"base_addr\":\"0x1000\",\"end_addr\":\"0x9000\","
     "\"filename\":"
     "\"App\",\"debug_id\":\"0123ABCD456789ABCDEF0123456789AB0\",\"code_id\":null}],\"threads\":[{\"thread_id\":7,"
     "\"frames\":[{"
     "\"file\":null,\"function\":null,\"function_offset\":null,\"inlines\":null,\"line\":null,\"module\":\"App\","
     "\"module_offset\":\"0x10\",\"offset\":\"0x1010\"},{\"module\":null,\"module_offset\":null,\"offset\":\"0x20\"}]}]"
     "}",
     "{\"crash_info\":{\"crashing_thread\":0},\"modules\":[{\"base_addr\":\"0x1000\",\"end_addr\":\"0x9000\","
     "\"filename\":"
     "\"App\",\"debug_id\":\"0123ABCD456789ABCDEF0123456789AB0\",\"code_id\":null}],\"threads\":[{\"thread_id\":7,"
     "\"frames\":[{"
     "\"file\":null,\"function\":\"id.App:10!\",\"function_offset\":\"0x7\",\"inlines\":null,\"line\":null,\"module\":"
     "\"App\","
     "\"module_offset\":\"0x10\",\"offset\":\"0x1010\"},{\"module\":null,\"module_offset\":null,\"offset\":\"0x20\"}]}]"
     "}",
     NULL, 2, 0},
    /* log(1) --style ndjson: return addresses; the event names its images. */
    {"log-show",
     "{\"traceID\":1,\"processImagePath\":\"\\/x\\/App\",\"processImageUUID\":\"" UUID_A
     "\",\"backtrace\":{\"frames\":[{"
     "\"imageOffset\":16,\"imageUUID\":\"" UUID_A "\"}]}}\n{\"traceID\":2,\"backtrace\":{\"frames\":[]}}\n",
     "{\"traceID\":1,\"processImagePath\":\"\\/x\\/App\",\"processImageUUID\":\"" UUID_A
     "\",\"backtrace\":{\"frames\":[{"
     "\"imageOffset\":16,\"symbol\":\"id.App:10\",\"symbolLocation\":7,\"imageUUID\":\"" UUID_A
     "\"}]}}\n{\"traceID\":2,\"backtrace\":{\"frames\":[]}}\n",
     NULL, 1, 0},
    /* Sentry, "Stack Trace Interface", "Debug Meta Interface": the last frame is the innermost. */
    {"sentry",
     "{\"exception\":{\"values\":[{\"stacktrace\":{\"frames\":[{\"function\":\"<redacted>\",\"instruction_addr\":"
     "\"0x100000020\","
     "\"package\":\"\\/x\\/"
     "App\"},{\"instruction_addr\":\"0x100000010\"}]}}]},\"debug_meta\":{\"images\":[{\"type\":\"macho\","
     "\"debug_id\":\"" UUID_A "\",\"image_addr\":\"0x100000000\",\"image_size\":65536,\"code_file\":\"\\/x\\/App\"}]}}",
     "{\"exception\":{\"values\":[{\"stacktrace\":{\"frames\":[{\"function\":\"id.App:20\",\"instruction_addr\":"
     "\"0x100000020\","
     "\"symbol_addr\":\"0x100000019\","
     "\"package\":\"\\/x\\/App\"},{\"instruction_addr\":\"0x100000010\",\"function\":\"id.App:10!\",\"symbol_addr\":"
     "\"0x100000009\"}]}}]},\"debug_meta\":{\"images\":[{\"type\":\"macho\","
     "\"debug_id\":\"" UUID_A "\",\"image_addr\":\"0x100000000\",\"image_size\":65536,\"code_file\":\"\\/x\\/App\"}]}}",
     NULL, 2, 0},
    /* swift-backtrace of Swift 6.3, format=json. */
    {"swift-json",
     "{ \"kind\": \"crashReport\", \"threads\": [ { \"crashed\": true, \"frames\": [ { \"kind\": \"programCounter\", "
     "\"address\": \"0x0000000100000010\" }, { \"kind\": \"returnAddress\", \"address\": \"0x0000000100000020\" }, "
     "{ \"kind\": \"truncated\" } ] } ], \"images\": [ { \"name\": \"App\", \"buildId\": \"" ID_A
     "\", \"path\": \"/x/App\", "
     "\"baseAddress\": \"0x0000000100000000\", \"endOfText\": \"0x0000000100000fd0\" } ] }\n",
     "{ \"kind\": \"crashReport\", \"threads\": [ { \"crashed\": true, \"frames\": [ { \"kind\": \"programCounter\", "
     "\"address\": \"0x0000000100000010\", \"symbol\": \"id.App:10!\", \"offset\": 7 }, { \"kind\": \"returnAddress\", "
     "\"address\": \"0x0000000100000020\", \"symbol\": \"id.App:20\", \"offset\": 7 }, "
     "{ \"kind\": \"truncated\" } ] } ], \"images\": [ { \"name\": \"App\", \"buildId\": \"" ID_A
     "\", \"path\": \"/x/App\", "
     "\"baseAddress\": \"0x0000000100000000\", \"endOfText\": \"0x0000000100000fd0\" } ] }\n",
     NULL, 2, 0},
    /* Written by Swift 6.3.1 with format=json,symbolicate=off,images=mentioned; folders were renamed. */
    {"swift-json",
     "{ \"timestamp\": \"2026-11-23T17:22:05.304340Z\", \"kind\": \"crashReport\", \"description\": \"Illegal i"
     "nstruction\", \"faultAddress\": \"0x00007f5e1cf6df7f\", \"platform\": \"Linux (Debian GNU/Linux 12 (bookw"
     "orm))\", \"architecture\": \"x86_64\", \"threads\": [ { \"name\": \"Shop\", \"crashed\": true, \"register"
     "s\": {\"rax\": \"0x0000000000000000\", \"rdx\": \"0x00000000000002b4\", \"rcx\": \"0x0000000000000001\", "
     "\"rbx\": \"0x00005564464ecf9c\", \"rsi\": \"0x0000000000000001\", \"rdi\": \"0x0000000000000002\", \"rbp"
     "\": \"0x00007ffd5da8c490\", \"rsp\": \"0x00007ffd5da8c470\", \"r8\": \"0x0000000000000007\", \"r9\": \"0x"
     "00005561105fced0\", \"r10\": \"0xf0bad5c112e43c92\", \"r11\": \"0x0000000000000012\", \"r12\": \"0x000000"
     "0000000000\", \"r13\": \"0x00007ffd5da8c788\", \"r14\": \"0x0000000000000001\", \"r15\": \"0x000000000000"
     "000b\", \"rip\": \"0x00007f5e1cf6df7f\", \"rflags\": \"0x0000000000010202\", \"cs\": \"0x0000000000000033"
     "\", \"fs\": \"0x0000000000000000\", \"gs\": \"0x0000000000000000\" }, \"frames\": [ { \"kind\": \"program"
     "Counter\", \"address\": \"0x00007f5e1cf6df7f\" }, { \"kind\": \"returnAddress\", \"address\": \"0x00007f5"
     "e1d0f961f\" }, { \"kind\": \"returnAddress\", \"address\": \"0x00007f5e1d652f65\" }, { \"kind\": \"return"
     "Address\", \"address\": \"0x00005560f612d005\" }, { \"kind\": \"returnAddress\", \"address\": \"0x0000556"
     "0f612d069\" }, { \"kind\": \"returnAddress\", \"address\": \"0x00005560f612d0dd\" }, { \"kind\": \"return"
     "Address\", \"address\": \"0x00005560f612cf89\" }, { \"kind\": \"returnAddress\", \"address\": \"0x0000556"
     "0f612d189\" }, { \"kind\": \"truncated\" } ] } ], \"capturedMemory\": { \"0x00007ffd5da8c470\": \"0000000"
     "0000000000000000000000000\", \"0x00005561105fced0\": \"9ccf4e4664550000923ce412c1d5baf0\", \"0x00007ffd5d"
     "a8c788\": \"31eaa85dfd7f0000d5eaa85dfd7f0000\", \"0x00007ffd5da8c490\": \"40c5a85dfd7f00001f960f1d5e7f000"
     "0\", \"0x00007f5e1cf6df7f\": \"0f0b4883ec08488d0564504900488d3d\" }, \"omittedImages\": 12, \"images\": ["
     " { \"name\": \"Shop\", \"buildId\": \"2e86ed0f5a2eaeeb837d4e57af2ffcb8c7939930\", \"path\": \"/srv/Shop\""
     ", \"baseAddress\": \"0x00005560f612c000\", \"endOfText\": \"0x00005560f612d468\" }, { \"name\": \"libswif"
     "tCore.so\", \"buildId\": \"b521f25fdeacf504eca83d97c7308e8fc11be729\", \"path\": \"/usr/lib/swift/linux/l"
     "ibswiftCore.so\", \"baseAddress\": \"0x00007f5e1ce00000\", \"endOfText\": \"0x00007f5e1d3d2d40\" }, { \"n"
     "ame\": \"libswiftSwiftOnoneSupport.so\", \"buildId\": \"69b6bdccf46113ed4a6095c5a7edc60ef06c78e5\", \"pat"
     "h\": \"/usr/lib/swift/linux/libswiftSwiftOnoneSupport.so\", \"baseAddress\": \"0x00007f5e1d628000\", \"en"
     "dOfText\": \"0x00007f5e1d667be0\" } ] , \"backtraceTime\": 0.014005964000000001 }\n",
     "{ \"timestamp\": \"2026-11-23T17:22:05.304340Z\", \"kind\": \"crashReport\", \"description\": \"Illegal i"
     "nstruction\", \"faultAddress\": \"0x00007f5e1cf6df7f\", \"platform\": \"Linux (Debian GNU/Linux 12 (bookw"
     "orm))\", \"architecture\": \"x86_64\", \"threads\": [ { \"name\": \"Shop\", \"crashed\": true, \"register"
     "s\": {\"rax\": \"0x0000000000000000\", \"rdx\": \"0x00000000000002b4\", \"rcx\": \"0x0000000000000001\", "
     "\"rbx\": \"0x00005564464ecf9c\", \"rsi\": \"0x0000000000000001\", \"rdi\": \"0x0000000000000002\", \"rbp"
     "\": \"0x00007ffd5da8c490\", \"rsp\": \"0x00007ffd5da8c470\", \"r8\": \"0x0000000000000007\", \"r9\": \"0x"
     "00005561105fced0\", \"r10\": \"0xf0bad5c112e43c92\", \"r11\": \"0x0000000000000012\", \"r12\": \"0x000000"
     "0000000000\", \"r13\": \"0x00007ffd5da8c788\", \"r14\": \"0x0000000000000001\", \"r15\": \"0x000000000000"
     "000b\", \"rip\": \"0x00007f5e1cf6df7f\", \"rflags\": \"0x0000000000010202\", \"cs\": \"0x0000000000000033"
     "\", \"fs\": \"0x0000000000000000\", \"gs\": \"0x0000000000000000\" }, \"frames\": [ { \"kind\": \"program"
     "Counter\", \"address\": \"0x00007f5e1cf6df7f\", \"symbol\": \"id.libswiftCore.so:16df7f!\", \"offset\": 7"
     " }, { \"kind\": \"returnAddress\", \"address\": \"0x00007f5e1d0f961f\", \"symbol\": \"id.libswiftCore.so:"
     "2f961f\", \"offset\": 7 }, { \"kind\": \"returnAddress\", \"address\": \"0x00007f5e1d652f65\", \"symbol\""
     ": \"id.libswiftSwiftOnoneSupport.so:2af65\", \"offset\": 7 }, { \"kind\": \"returnAddress\", \"address\":"
     " \"0x00005560f612d005\", \"symbol\": \"id.Shop:1005\", \"offset\": 7 }, { \"kind\": \"returnAddress\", \""
     "address\": \"0x00005560f612d069\", \"symbol\": \"id.Shop:1069\", \"offset\": 7 }, { \"kind\": \"returnAdd"
     "ress\", \"address\": \"0x00005560f612d0dd\", \"symbol\": \"id.Shop:10dd\", \"offset\": 7 }, { \"kind\": "
     "\"returnAddress\", \"address\": \"0x00005560f612cf89\", \"symbol\": \"id.Shop:f89\", \"offset\": 7 }, { "
     "\"kind\": \"returnAddress\", \"address\": \"0x00005560f612d189\", \"symbol\": \"id.Shop:1189\", \"offset"
     "\": 7 }, { \"kind\": \"truncated\" } ] } ], \"capturedMemory\": { \"0x00007ffd5da8c470\": \"0000000000000"
     "0000000000000000000\", \"0x00005561105fced0\": \"9ccf4e4664550000923ce412c1d5baf0\", \"0x00007ffd5da8c788"
     "\": \"31eaa85dfd7f0000d5eaa85dfd7f0000\", \"0x00007ffd5da8c490\": \"40c5a85dfd7f00001f960f1d5e7f0000\", "
     "\"0x00007f5e1cf6df7f\": \"0f0b4883ec08488d0564504900488d3d\" }, \"omittedImages\": 12, \"images\": [ { \""
     "name\": \"Shop\", \"buildId\": \"2e86ed0f5a2eaeeb837d4e57af2ffcb8c7939930\", \"path\": \"/srv/Shop\", \"b"
     "aseAddress\": \"0x00005560f612c000\", \"endOfText\": \"0x00005560f612d468\" }, { \"name\": \"libswiftCore"
     ".so\", \"buildId\": \"b521f25fdeacf504eca83d97c7308e8fc11be729\", \"path\": \"/usr/lib/swift/linux/libswi"
     "ftCore.so\", \"baseAddress\": \"0x00007f5e1ce00000\", \"endOfText\": \"0x00007f5e1d3d2d40\" }, { \"name\""
     ": \"libswiftSwiftOnoneSupport.so\", \"buildId\": \"69b6bdccf46113ed4a6095c5a7edc60ef06c78e5\", \"path\": "
     "\"/usr/lib/swift/linux/libswiftSwiftOnoneSupport.so\", \"baseAddress\": \"0x00007f5e1d628000\", \"endOfTe"
     "xt\": \"0x00007f5e1d667be0\" } ] , \"backtraceTime\": 0.014005964000000001 }\n",
     NULL, 8, 0},
    /* A backtrace of Swift 6.3.1 written by JSONEncoder; its frames and images are made up
     * (tests/report/test_compact_stacks.c). */
    {"swift-json",
     "{\"architecture\":\"x86_64\",\"backtrace\":\"AhQBAABKECEQADEQADGl8A\",\"imageMap\":\"AgptYWNPUyAxNS4wCyIB"
     "AAAAAACAABAAAQIDBAUGBwgJCgsMDQ4PhEVDQXBwS2l0KX\\/4AAIAABB\\/EBAREhMUFRYXGBkaGxwdHh+ERUFQaG90b3ORAgAAIH8QI"
     "CEiIyQlJicoKSorLC0uL4GADG9iamMuQS5keWxpYgCRAgAAMH8QMDEyMzQ1Njc4OTo7PD0+P4GACXouMS5keWxpYgCRAgAAQH8UQEFCQ0"
     "RFRkdISUpLTE1OT1BRUlOBGS9zd2lmdC9saWJzd2lmdENvcmUuZHlsaWIAkQIAAFB\\/AIGADlN5c3RlbS5CLmR5bGliAJECAABgfxBgY"
     "WJjZGVmZ2hpamtsbW5vgYALYysrLjEuZHlsaWIAkQIAAHB\\/EHBxcnN0dXZ3eHl6e3x9fn+BoIAXc3dpZnRfQ29uY3VycmVuY3kuZHls"
     "aWIAkgIAAACAfxCAgYKDhIWGh4iJiouMjY6PiR0vU2hvcC5hcHAvQ29udGVudHMvTWFjT1MvU2hvcACSAgAAAJB\\/EJCRkpOUlZaXmJm"
     "am5ydnp+JoiovRnJhbWV3b3Jrcy9DYXJ0LmZyYW1ld29yay9WZXJzaW9ucy9BL0NhcnQAkgIAAACgfxCgoaKjpKWmp6ipqqusra6vAA\""
     "}\n",
     "{\"architecture\":\"x86_64\",\"backtrace\":\"AhQBAABKECEQADEQADGl8A\",\"imageMap\":\"AgptYWNPUyAxNS4wCyIB"
     "AAAAAACAABAAAQIDBAUGBwgJCgsMDQ4PhEVDQXBwS2l0KX\\/4AAIAABB\\/EBAREhMUFRYXGBkaGxwdHh+ERUFQaG90b3ORAgAAIH8QI"
     "CEiIyQlJicoKSorLC0uL4GADG9iamMuQS5keWxpYgCRAgAAMH8QMDEyMzQ1Njc4OTo7PD0+P4GACXouMS5keWxpYgCRAgAAQH8UQEFCQ0"
     "RFRkdISUpLTE1OT1BRUlOBGS9zd2lmdC9saWJzd2lmdENvcmUuZHlsaWIAkQIAAFB\\/AIGADlN5c3RlbS5CLmR5bGliAJECAABgfxBgY"
     "WJjZGVmZ2hpamtsbW5vgYALYysrLjEuZHlsaWIAkQIAAHB\\/EHBxcnN0dXZ3eHl6e3x9fn+BoIAXc3dpZnRfQ29uY3VycmVuY3kuZHls"
     "aWIAkgIAAACAfxCAgYKDhIWGh4iJiouMjY6PiR0vU2hvcC5hcHAvQ29udGVudHMvTWFjT1MvU2hvcACSAgAAAJB\\/EJCRkpOUlZaXmJm"
     "am5ydnp+JoiovRnJhbWV3b3Jrcy9DYXJ0LmZyYW1ld29yay9WZXJzaW9ucy9BL0NhcnQAkgIAAACgfxCgoaKjpKWmp6ipqqusra6vAA\""
     ",\"threads\":[{\"frames\":[{\"kind\":\"programCounter\",\"address\":\"0x0000000100004a10\",\"symbol\":\"i"
     "d.AppKit:4a10!\",\"offset\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000100005a10\",\"symbol\":"
     "\"id.AppKit:5a10\",\"offset\":7},{\"kind\":\"asyncResumePoint\",\"address\":\"0x0000000100006a10\",\"symb"
     "ol\":\"id.AppKit:6a10!\",\"offset\":7},{\"kind\":\"asyncResumePoint\",\"address\":\"0x0000000100001000\","
     "\"symbol\":\"id.AppKit:1000!\",\"offset\":7}]}],\"images\":[{\"name\":\"AppKit\",\"path\":\"/System/Libra"
     "ry/Frameworks/AppKit.framework/Versions/C/AppKit\",\"buildId\":\"000102030405060708090a0b0c0d0e0f\",\"bas"
     "eAddress\":\"0x0000000100000000\",\"endOfText\":\"0x0000000100008000\"},{\"name\":\"Photos\",\"path\":\"/"
     "System/Library/Frameworks/Photos.framework/Versions/A/Photos\",\"buildId\":\"101112131415161718191a1b1c1d"
     "1e1f\",\"baseAddress\":\"0x00007ff800020000\",\"endOfText\":\"0x00007ff80002107f\"},{\"name\":\"libobjc.A"
     ".dylib\",\"path\":\"/usr/lib/libobjc.A.dylib\",\"buildId\":\"202122232425262728292a2b2c2d2e2f\",\"baseAdd"
     "ress\":\"0x00007ff800040000\",\"endOfText\":\"0x00007ff80004207f\"},{\"name\":\"libz.1.dylib\",\"path\":"
     "\"/usr/lib/libz.1.dylib\",\"buildId\":\"303132333435363738393a3b3c3d3e3f\",\"baseAddress\":\"0x00007ff800"
     "060000\",\"endOfText\":\"0x00007ff80006307f\"},{\"name\":\"libswiftCore.dylib\",\"path\":\"/usr/lib/swift"
     "/libswiftCore.dylib\",\"buildId\":\"404142434445464748494a4b4c4d4e4f50515253\",\"baseAddress\":\"0x00007f"
     "f800080000\",\"endOfText\":\"0x00007ff80008407f\"},{\"name\":\"libSystem.B.dylib\",\"path\":\"/usr/lib/li"
     "bSystem.B.dylib\",\"baseAddress\":\"0x00007ff8000a0000\",\"endOfText\":\"0x00007ff8000a507f\"},{\"name\":"
     "\"libc++.1.dylib\",\"path\":\"/usr/lib/libc++.1.dylib\",\"buildId\":\"606162636465666768696a6b6c6d6e6f\","
     "\"baseAddress\":\"0x00007ff8000c0000\",\"endOfText\":\"0x00007ff8000c607f\"},{\"name\":\"libswift_Concurr"
     "ency.dylib\",\"path\":\"/usr/lib/swift/libswift_Concurrency.dylib\",\"buildId\":\"707172737475767778797a7"
     "b7c7d7e7f\",\"baseAddress\":\"0x00007ff8000e0000\",\"endOfText\":\"0x00007ff8000e707f\"},{\"name\":\"Shop"
     "\",\"path\":\"/Applications/Shop.app/Contents/MacOS/Shop\",\"buildId\":\"808182838485868788898a8b8c8d8e8f"
     "\",\"baseAddress\":\"0x00007ff800100000\",\"endOfText\":\"0x00007ff80010807f\"},{\"name\":\"Cart\",\"path"
     "\":\"/Applications/Shop.app/Contents/Frameworks/Cart.framework/Versions/A/Cart\",\"buildId\":\"9091929394"
     "95969798999a9b9c9d9e9f\",\"baseAddress\":\"0x00007ff800120000\",\"endOfText\":\"0x00007ff80012907f\"},{\""
     "buildId\":\"a0a1a2a3a4a5a6a7a8a9aaabacadaeaf\",\"baseAddress\":\"0x00007ff800140000\",\"endOfText\":\"0x0"
     "0007ff80014a07f\"}]}\n",
     NULL, 4, 0},
    /* A run, a gap, a second run, a truncated end; padding. Before and after it is the same stack without images, which
     * gets no names and stays as it is. */
    {"swift-json",
     "{\"architecture\":\"arm64\",\"backtrace\":\"AhEQAIdeISAAiAoB\"}\n"
     "{\"level\": \"error\", \"crash\": {\"backtrace\": \"AhEQAIdeISAAiAoB\", \"architecture\": \"arm64\", \"im"
     "ageMap\": \"AgABCRAAcAAUASOrzUVniavN7wEjRWeJqwEjRWcIL3Nydi9ydW4A\"}, \"after\": 1}\n"
     "{\"architecture\":\"arm64\",\"backtrace\":\"AhEQAIdeISAAiAoB\"}\n",
     "{\"architecture\":\"arm64\",\"backtrace\":\"AhEQAIdeISAAiAoB\"}\n"
     "{\"level\": \"error\", \"crash\": {\"backtrace\": \"AhEQAIdeISAAiAoB\", \"architecture\": \"arm64\", \"im"
     "ageMap\": \"AgABCRAAcAAUASOrzUVniavN7wEjRWeJqwEjRWcIL3Nydi9ydW4A\",\"threads\":[{\"frames\":[{\"kind\":\""
     "programCounter\",\"address\":\"0x0000000000001000\",\"symbol\":\"id.run:0!\",\"offset\":7},{\"kind\":\"pr"
     "ogramCounter\",\"address\":\"0x0000000000001000\",\"symbol\":\"id.run:0!\",\"offset\":7},{\"kind\":\"prog"
     "ramCounter\",\"address\":\"0x0000000000001000\",\"symbol\":\"id.run:0!\",\"offset\":7},{\"kind\":\"progra"
     "mCounter\",\"address\":\"0x0000000000001000\",\"symbol\":\"id.run:0!\",\"offset\":7},{\"kind\":\"programC"
     "ounter\",\"address\":\"0x0000000000001000\",\"symbol\":\"id.run:0!\",\"offset\":7},{\"kind\":\"programCou"
     "nter\",\"address\":\"0x0000000000001000\",\"symbol\":\"id.run:0!\",\"offset\":7},{\"kind\":\"programCount"
     "er\",\"address\":\"0x0000000000001000\",\"symbol\":\"id.run:0!\",\"offset\":7},{\"kind\":\"programCounter"
     "\",\"address\":\"0x0000000000001000\",\"symbol\":\"id.run:0!\",\"offset\":7},{\"kind\":\"programCounter\""
     ",\"address\":\"0x0000000000001000\",\"symbol\":\"id.run:0!\",\"offset\":7},{\"kind\":\"omittedFrames\",\""
     "count\":31},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"o"
     "ffset\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"of"
     "fset\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"off"
     "set\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"offs"
     "et\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"offse"
     "t\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"offset"
     "\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"offset"
     "\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"offset"
     "\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"offset"
     "\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"offset"
     "\":7},{\"kind\":\"returnAddress\",\"address\":\"0x0000000000003000\",\"symbol\":\"id.run:2000\",\"offset"
     "\":7},{\"kind\":\"truncated\"}]}],\"images\":[{\"name\":\"run\",\"path\":\"/srv/run\",\"buildId\":\"0123a"
     "bcd456789abcdef0123456789ab01234567\",\"baseAddress\":\"0x0000000000001000\",\"endOfText\":\"0x0000000000"
     "008000\"}]}, \"after\": 1}\n"
     "{\"architecture\":\"arm64\",\"backtrace\":\"AhEQAIdeISAAiAoB\"}\n",
     NULL, 60, 0},
    /* Several reports, each with its own images. */
    {"ips",
     "[{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}],\"usedImages\":[{\"uuid\":\"" UUID_A
     "\",\"name\":\"A\"}]},\n"
     " {\"usedImages\":[{\"uuid\":\"" UUID_B
     "\",\"name\":\"B\"}],\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]},\n"
     " {\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]}]",
     "[{\"frames\":[{\"imageOffset\":16,\"symbol\":\"id.A:10!\",\"symbolLocation\":7,\"imageIndex\":0}],\"usedImages\":"
     "[{\"uuid\":\"" UUID_A "\",\"name\":\"A\"}]},\n"
     " {\"usedImages\":[{\"uuid\":\"" UUID_B
     "\",\"name\":\"B\"}],\"frames\":[{\"imageOffset\":16,\"symbol\":\"id.B:10!\","
     "\"symbolLocation\":7,\"imageIndex\":0}]},\n"
     " {\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]}]",
     NULL, 3, 0},
    /* A log of JSON lines, one of which has a stack's lines in a string. */
    {"apple", "{\"level\":\"error\",\"stack\":\"0   App 0x0000000100000020 App + 32\"}\n{\"level\":\"info\"}\n",
     "{\"level\":\"error\",\"stack\":\"0   App 0x0000000100000020 App:20! + 7\"}\n{\"level\":\"info\"}\n", NULL, 1, 0},
    /* Reports in lines of a text log, before a frame on a line of its own: MetricKit's, an .ips report, a damaged
     * one. */
    {"apple",
     "10:00 App[5] begins\n"
     "10:01 App[5] {\"callStackRootFrames\":[{\"address\":4294967328,\"offsetIntoBinaryTextSegment\":32,\"binaryUUID\":"
     "\"" UUID_A "\",\"binaryName\":\"App\"}],\"callStackTree\":0} 0x7\n"
     "10:02 App[5] {\"usedImages\":[{\"uuid\":\"" UUID_B
     "\",\"name\":\"B\"}],\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]}\n"
     "10:03 App[5] {\"callStackTree\":{\"offsetIntoBinaryTextSegment\":32\n"
     "0   App  0x0000000100000020 App + 32\n",
     "10:00 App[5] begins\n"
     "10:01 App[5] "
     "{\"callStackRootFrames\":[{\"address\":4294967328,\"symbolName\":\"id.App:20!\",\"offsetIntoSymbol\":7,"
     "\"offsetIntoBinaryTextSegment\":32,\"binaryUUID\":"
     "\"" UUID_A "\",\"binaryName\":\"App\"}],\"callStackTree\":0} 0x7\n"
     "10:02 App[5] {\"usedImages\":[{\"uuid\":\"" UUID_B
     "\",\"name\":\"B\"}],\"frames\":[{\"imageOffset\":16,\"symbol\":\"id.B:10!\",\"symbolLocation\":7,\"imageIndex\":"
     "0}]}\n"
     "10:03 App[5] {\"callStackTree\":{\"offsetIntoBinaryTextSegment\":32\n"
     "0   App  0x0000000100000020 App:20! + 7\n",
     NULL, 3, 0},
    /* The panic of arm64 above, in a file panic-full-….ips: blacktop/ipsw pkg/crashlog/ips.go. */
    {"apple-panic",
     "{\"bug_type\":\"210\",\"timestamp\":\"2026-07-18 10:00:00.00 +0200\",\"os_version\":\"macOS 26.5.2 "
     "(25F84)\",\"incident_id\":\"1\"}\n"
     "{\n"
     "  \"product\" : \"Mac14,9\",\n"
     "  \"panicString\" : \""
     "panic(cpu 8 caller 0xfffffe0010101d1c): Kernel data abort. at pc 0xfffffe0010a002f0, lr 0x2e9f7e0010a00200\\n"
     "OS version: 25F84\\n"
     "Kernel version: Darwin Kernel Version 25.5.0: Tue Jun  9 22:28:24 PDT 2026; root:xnu/RELEASE_ARM64_T6020\\n"
     "Kernel UUID: " UUID_A "\\n"
     "Kernel slide:      0x0000000008ffc000\\n"
     "Kernel text base:  0xfffffe0010000000\\n"
     "Kernel text exec slide: 0x00000000090fc000\\n"
     "Kernel text exec base:  0xfffffe0010100000\\n"
     "Panicked task 0xfffffe200b09dd80: 0 pages, 600 threads: pid 0: kernel_task\\n"
     "Panicked thread: 0xfffffe1b3e61f7b8, backtrace: 0xfffffe4440973800, tid: 255\\n"
     "\\t\\t  lr: 0xfffffe0010100100  fp: 0xfffffe4440973890\\n"
     "lr: 0xfffffe0010a00200 fp: 0xfffffe4440973900\\n"
     "\\t\\t  lr: 0xfffffe0010100666  fp: 0xfffffe44409739c0\\n"
     "\\t\\t  lr: 0xfffffe000f000000  fp: 0x0000000000000000\\n"
     "      Kernel Extensions in backtrace:\\n"
     "         org.openzfsonosx.zfs(2.3.1)[" UUID_B "]@0xfffffe0010a00180->0xfffffe0010a0ffff\\n"
     "            dependency: com.apple.iokit.IOStorageFamily(2.1)[" UUID_A
     "]@0xfffffe0040f6b280->0xfffffe0040f8cff3\\n"
     "\\n"
     "\",\n  \"panicFlags\" : \"0x2\"\n}\n",
     "{\"bug_type\":\"210\",\"timestamp\":\"2026-07-18 10:00:00.00 +0200\",\"os_version\":\"macOS 26.5.2 "
     "(25F84)\",\"incident_id\":\"1\"}\n"
     "{\n"
     "  \"product\" : \"Mac14,9\",\n"
     "  \"panicString\" : \""
     "panic(cpu 8 caller 0xfffffe0010101d1c): Kernel data abort. at pc 0xfffffe0010a002f0, lr 0x2e9f7e0010a00200\\n"
     "OS version: 25F84\\n"
     "Kernel version: Darwin Kernel Version 25.5.0: Tue Jun  9 22:28:24 PDT 2026; root:xnu/RELEASE_ARM64_T6020\\n"
     "Kernel UUID: " UUID_A "\\n"
     "Kernel slide:      0x0000000008ffc000\\n"
     "Kernel text base:  0xfffffe0010000000\\n"
     "Kernel text exec slide: 0x00000000090fc000\\n"
     "Kernel text exec base:  0xfffffe0010100000\\n"
     "Panicked task 0xfffffe200b09dd80: 0 pages, 600 threads: pid 0: kernel_task\\n"
     "Panicked thread: 0xfffffe1b3e61f7b8, backtrace: 0xfffffe4440973800, tid: 255\\n"
     "\\t\\t  lr: 0xfffffe0010100100  fp: 0xfffffe4440973890 id.kernel:T100 + 0x7\\n"
     "lr: 0xfffffe0010a00200 fp: 0xfffffe4440973900 id.org.openzfsonosx.zfs:T80 + 0x7\\n"
     "\\t\\t  lr: 0xfffffe0010100666  fp: 0xfffffe44409739c0\\n"
     "\\t\\t  lr: 0xfffffe000f000000  fp: 0x0000000000000000\\n"
     "      Kernel Extensions in backtrace:\\n"
     "         org.openzfsonosx.zfs(2.3.1)[" UUID_B "]@0xfffffe0010a00180->0xfffffe0010a0ffff\\n"
     "            dependency: com.apple.iokit.IOStorageFamily(2.1)[" UUID_A
     "]@0xfffffe0040f6b280->0xfffffe0040f8cff3\\n"
     "\\n"
     "\",\n  \"panicFlags\" : \"0x2\"\n}\n",
     NULL, 4, 0},
};

/* ---- texts that already have names: they must not change ---- */

/* Written by the programs themselves on Debian 12, apart from folders and cut lines. The kernel's are made after Linux
 * Documentation/admin-guide/bug-hunting.rst, and Documentation/arch/arm64 for the marks after frames. */
static const struct text named_texts[] = {
    /* google/clusterfuzz, stack_analyzer_data. */
    {"sanitizer",
     "    #12 0x5332f2c94118 in fuzzer::FuzzerDriver(int*, char***, int (*)(unsigned char const*, unsigned long))\n"
     "    #13 0x5332f2c94118 in MakeItSo<void (cc::ProxyMain::*const &)(int), (anonymous namespace)::T>\n",
     NULL, NULL, 2, 0},
    {"gdb", "#14 0x00005332f2c94118 in call (f=0x5332f2c94110 <g(int (*)(void))>)\n", NULL, NULL, 1, 0},
    /* Sentry's text of an Apple report: getsentry/sentry, applecrashreport.py; getsentry/sentry-dotnet issue 3280. */
    {"apple",
     "Thread 0 Crashed:\n"
     "0   libsystem_kernel.dylib          0x39fe95fbc         __pthread_kill\n"
     "1   MyApp                           0x20499ce8c         [inlined] check\n"
     "2   MyApp                           0x20499ce8c         xamarin_assertion_message (runtime.m:1461)\n"
     "3   MyApp                           0x20499ce8c  check\n",
     NULL, NULL, 2, 0},
    {"apple",
     "Thread 0 Crashed:\n"
     "0   App                           \t0x0000000100000100 inner [inlined] (b.c:3)\n"
     "0   App                           \t0x0000000100000100 main + 20 (main.m:12)\n"
     "1   App                           \t0x0000000100000200 -[View draw] (View.m:42)\n",
     NULL, NULL, 2, 0},
    {"sanitizer",
     "==1621==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000000 (pc 0x55df72cc52bc bp 0x7ffd T0)\n"
     "    #0 0x55df72cc52bc in deep /src/my prog.c:10:3\n"
     "    #1 0x7f0764445249 in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58\n"
     "    #2 0x55df72cc53aa in std::function<void (int)>::operator()(int) const /usr/include/c++/function.h:9:1\n"
     "    #3 0x55df72cc5140 in _start (/opt/prog+0x1140)\n"
     "    #4 0x7f0764440000  (<unknown module>)\n"
     "\n"
     "SUMMARY: AddressSanitizer: SEGV /src/my prog.c:10:3 in deep\n",
     NULL, NULL, 6, 0},
    {"sanitizer",
     "WARNING: ThreadSanitizer: data race (pid=1639)\n"
     "  Read of size 4 at 0x55ca0fb6d05c by main thread:\n"
     "    #0 touch /src/race.c:4 (race+0x11d7)\n"
     "    #1 main /src/race.c:6 (race+0x1249)\n",
     NULL, NULL, 2, 0},
    {"linux-kernel",
     "[    1.200000] Oops: 0002 [#1] SMP PTI\n"
     "[    1.200000] RIP: 0010:do_one_initcall+0x41/0x1c0\n"
     "[    1.200000] RSP: 0018:ffffb0f3c0013e30 EFLAGS: 00010246\n"
     "[    1.200000] Call Trace:\n"
     "[    1.200000]  <TASK>\n"
     "[    1.200000]  ? kernel_init_freeable+0x1f6/0x270\n"
     "[    1.200000]  nft_do_chain+0x1f6/0x620 [nf_tables]\n"
     "[    1.200000]  kernel_init+0x1a/0x130\n"
     "[    1.200000]  </TASK>\n"
     "[    2.200000] pc : cpu_startup_entry+0x24/0x30\n"
     "[    2.200000] lr : rest_init+0xd0/0xdc\n"
     "[    2.200000] Call trace:\n"
     "[    2.200000]  cpu_startup_entry+0x24/0x30 (P)\n",
     NULL, NULL, 7, 0},
    {"gdb",
     "Program received signal SIGSEGV, Segmentation fault.\n"
     "#0  inner_most (p=p@entry=0x0, text=0x55 \"a) b\") at prog.c:13\n"
     "#1  <signal handler called>\n"
     "#2  0x000055555555524d in std::function<void (int)>::operator() (this=0x1) at /src/function.h:16\n"
     "#3  0x00007ffff7e5ef4f in raise () from /usr/lib/libc.so.6\n",
     NULL, NULL, 4, 0},
    {"eu-stack",
     "TID 1193:\n"
     "#0  0x00007f5809ce3dd0     __libc_pause - /usr/lib/libc.so.6\n"
     "    ../sysdeps/unix/sysv/linux/pause.c:29:10\n"
     "#1  0x000055f70607b1f7 - 1 inner_most - /opt/prog\n"
     "    /src/prog.c:13:78\n",
     NULL, NULL, 2, 0},
    {"perf-script",
     "prog 25668  3751.393861:     250000 cpu-clock: \n"
     "\t            1201 deep+0x78 (inlined)\n"
     "\t            1201 inner_most+0x78 (/opt/prog)\n"
     "\tffffffff81234567 [unknown] ([kernel.kallsyms])\n"
     "\t    7f1200000000 [unknown] ([unknown])\n"
     "\t               0 [unknown] ([unknown])\n",
     NULL, NULL, 3, 0},
    {"rust",
     "thread 'main' (1557) panicked at p.rs:2:40:\n"
     "index out of bounds: the len is 3 but the index is 4\n"
     "stack backtrace:\n"
     "   0: __rustc::rust_begin_unwind\n"
     "             at /rustc/5980/library/std/src/panicking.rs:689:5\n"
     "   1: prog::main\n"
     "   2: core::ops::function::FnOnce::call_once\n"
     "             at ./ops/function.rs:250:5\n"
     "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n"
     "   3: not a frame\n",
     NULL, NULL, 3, 0},
    {"go",
     "panic: runtime error: index out of range [5] with length 3\n"
     "\n"
     "goroutine 1 [running]:\n"
     "main.(*shop).work(0xc000012345, {0x4, 0x5})\n"
     "\t/src/p.go:10 +0x1d\n"
     "main.main()\n"
     "\t/src/p.go:16 +0x25 fp=0xc00004af80 sp=0xc00004af60 pc=0x400140\n"
     "created by main.start in goroutine 7\n"
     "\t/src/p.go:20 +0x30\n"
     "exit status 2 (failed)\n",
     NULL, NULL, 3, 0},
    {"hs_err",
     "# Problematic frame:\n"
     "# C  [libboom.so+0x1109]  inner_most+0x0\n"
     "#\n"
     "Current thread (0x00007f8550017fb0):  JavaThread \"main\" [_thread_in_native, id=1889]\n"
     "\n"
     "Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)\n"
     "C  [libboom.so+0x1109]  inner_most+0x0\n"
     "C  0x00007f8559374109\n"
     "J 123% c2 Crash.middle()V java.base@17.0.15 (5 bytes) @ 0x00007f8540e2f1ac [0x00007f8540e2f160+0x4c]\n"
     "j  Crash.main([Ljava/lang/String;)V+13\n"
     "v  ~StubRoutines::call_stub\n"
     "V  [libjvm.so+0x8282d2]  JavaCalls::call_helper(JavaValue*, JavaThread*)+0x302\n"
     "\n"
     "Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)\n"
     "j  Crash.main([Ljava/lang/String;)V+13\n",
     NULL, NULL, 8, 0},
    /* Swift 6.3.1, of a program built with -O. */
    {"swift",
     "Thread 0 \"sw\" crashed:\n"
     "\n"
     "  0 [inlined] [system] 0x0000557ef6494d58 specialized Array.subscript.getter in sw at //<compiler-generated>\n"
     "  1 [inlined]          0x0000557ef6494d58 deep(_:_:) in sw at /src/sw.swift:1:68\n"
     "  2                    0x0000557ef6494d58 outer(_:) + 24 in sw at /src/sw.swift:2:53\n"
     "  3 [ra]               0x0000557ef6494d70 closure #1 in main() + 12 in sw at /src/sw.swift:9:1\n",
     NULL, NULL, 2, 0},
    {"sample",
     "    2797 Thread_1382747   DispatchQueue_1: com.apple.main-thread  (serial)\n"
     "    + 2797 start  (in dyld) + 3457  [0x7ff808443781]\n"
     "    +   2797 draw  (in App) + 16,24,...  [0x109d25910,0x109d25918,...]  View.m:31\n",
     NULL, NULL, 2, 0},
    {"backtrace_symbols", "./prog(main+0x1b) [0x55d0c0001139]\n[0x7ffd12345678]\n", NULL, NULL, 2, 0},
};

#endif
