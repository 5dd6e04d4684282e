# SPDX-License-Identifier: MIT
"""What is built for the emulator: processors, systems, compilers and options, as data. How it is built stands in
build.py, what must come out in run.py."""

from dataclasses import dataclass, field

FRAMES = ["-fno-omit-frame-pointer"]
LEAF_FRAMES = ["-mno-omit-leaf-frame-pointer"]
NO_LEAF_FRAMES = ["-momit-leaf-frame-pointer"]
NO_GUARD = ["-fno-stack-protector"]
GUARD = ["-fstack-protector-strong"]
HARDENED = GUARD + ["-fstack-clash-protection"]

MAIN_LEVELS = ["-O0", "-O1", "-O2", "-Os"]
ALL_LEVELS = MAIN_LEVELS + ["-O3", "-Oz"]
GCC_LEVELS = MAIN_LEVELS + ["-O3"]


@dataclass(eq=False)
class Target:
    """One way of compiling and linking. A variant is a target with an optimisation level."""

    name: str
    arch: str  # the library's name
    compiler: list  # with its target
    linker: list  # with what it always needs
    flags: list
    stubs: str
    goal: float  # per cent of the instructions at which the stack has to be exact
    levels: list = field(default_factory=lambda: MAIN_LEVELS)
    all_levels: list = field(default_factory=lambda: ALL_LEVELS)
    bits: list = field(default_factory=lambda: [None])  # addressable bits; None: pointers are not signed
    is_async: bool = False
    assembler_flags: list = field(default_factory=list)
    runtime_flags: list = field(default_factory=lambda: ["-fno-builtin"])
    extra: list = field(default_factory=list)  # further sources
    triple: str = ""  # for the disassembler
    tables: bool = False  # walked with its unwind tables
    seeds: list = field(default_factory=list)  # further random programs
    bodies: bool = False  # they are of those that describe bodies only, and are compared apart as well


def clang(triple):
    return ["clang-19", "-target", triple]


STATIC = ["ld.lld-19", "-static", "-z", "noexecstack", "--build-id=none", "-e", "usp_workload"]
# Position-independent, with a procedure linkage table that the harness's loader fills in.
SHARED = ["ld.lld-19", "-shared", "-z", "now", "-z", "noexecstack", "--build-id=none", "-e", "usp_workload"]


def apple(arch, platform, version):
    return ["ld64.lld-19", "-arch", arch, "-platform_version", platform, version, version, "-no_fixup_chains",
            "-e", "_usp_workload"]


# ld64.lld 19 links neither armv7 nor i386; the linker of LLVM 13 does.
def old_apple(arch, minimum, version):
    return ["ld64.lld.darwinold-13", "-arch", arch, minimum, version, "-sdk_version", version, "-static",
            "-e", "_usp_workload"]


def arm64(name, triple, linker, flags, **more):
    return Target(name, "arm64", clang(triple), linker, FRAMES + flags, "stubs_arm64.S", 100.0, triple=triple, **more)


def armv7(name, triple, linker, thumb, **more):
    state = ["-mthumb" if thumb else "-marm"]
    macros = [f"-DUSE_THUMB={int(thumb)}", "-DFRAME=r7", f"-DPC_AHEAD={4 if thumb else 8}"]
    return Target(name, "armv7", clang(triple), linker, FRAMES + NO_GUARD + state + more.pop("flags", []),
                  "stubs_arm.S", 99.9, assembler_flags=state + macros, extra=["runtime_arm.S"],
                  triple=("thumb" if thumb else "arm") + "v7-" + triple.split("-", 1)[1], **more)


def x86(name, compiler, linker, flags, wide=True, **more):
    pops = [] if wide else ["-DCALLEE_POPS=__attribute__((stdcall))"]
    return Target(name, "x86_64" if wide else "i386", compiler, linker, FRAMES + flags + pops,
                  "stubs_x86_64.S" if wide else "stubs_i386.S", 99.9 if wide else 97.0, **more)


LINUX_ARM64, IOS, IOS_E = "aarch64-linux-gnu", "arm64-apple-ios14.0", "arm64e-apple-ios14.0"
WATCH, OLD_IOS, LINUX_ARM = "arm64_32-apple-watchos7.0", "armv7-apple-ios9.0", "armv7-linux-gnueabihf"
LINUX_X64, MAC_X64, LINUX_386, MAC_386 = ("x86_64-linux-gnu", "x86_64-apple-macos11.0", "i686-linux-gnu",
                                          "i386-apple-macos10.9")

LINK_IOS, LINK_IOS_E = apple("arm64", "ios", "14.0"), apple("arm64e", "ios", "14.0")
LINK_WATCH, LINK_MAC = apple("arm64_32", "watchos", "7.0"), apple("x86_64", "macos", "11.0")
LINK_OLD_IOS = old_apple("armv7", "-ios_version_min", "9.0")
LINK_OLD_MAC = old_apple("i386", "-macosx_version_min", "10.9")

GCC_ARM64 = ["aarch64-linux-gnu-gcc"]
GCC_386 = ["i686-linux-gnu-gcc"]
# GCC turns the loops of memcpy and memset into calls of themselves by default.
GCC_RUNTIME = ["-fno-builtin", "-fno-tree-loop-distribute-patterns"]
ASYNC = NO_GUARD + ["-fswift-async-fp=always"]
SOME = ["-O1", "-O2"]
# i386: LLVM 13's linker cannot link compact unwind.
NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-exceptions"]
LINUX_BITS, DARWIN_BITS = [39, 48], [39, 47]


# A freestanding program has unwind tables only on request.
TABLES = ["-funwind-tables"]
# Symbols to which EHABI's entries refer for exceptions.
NO_PERSONALITIES = ["--defsym=__aeabi_unwind_cpp_pr0=0", "--defsym=__aeabi_unwind_cpp_pr1=0"]


def by_tables(target, bodies=True, compared=True):
    """Walked with compact unwind or EHABI, or else with call frame information for every instruction."""
    target.goal, target.tables, target.bodies = 100.0, True, bodies and compared
    target.flags = target.flags + (TABLES if bodies else ["-fasynchronous-unwind-tables"])
    if target.linker[0] == "ld.lld-19":
        target.linker = target.linker + ["--eh-frame-hdr"]
    return target


def frameless(target, bodies=True, compared=True, outlined=False):
    """Compiled without frame pointers; outlined: also so that functions share pieces of code (LLVM for arm64, at -Oz)."""
    target.flags = [f for f in target.flags if f not in FRAMES] + ["-fomit-frame-pointer"]
    target.levels = MAIN_LEVELS + (["-Oz"] if outlined else [])
    return by_tables(target, bodies, compared)


def with_seeds(target, seeds):
    """Runs these random programs, which found something, at each level."""
    target.seeds = seeds
    return target


def gcc(target, levels=None):
    target.runtime_flags = GCC_RUNTIME
    target.all_levels = GCC_LEVELS
    if levels:
        target.levels = levels
    return target


TARGETS = [
    arm64("arm64 linux", LINUX_ARM64, STATIC, NO_GUARD),
    arm64("arm64 linux, leaf frames", LINUX_ARM64, STATIC, NO_GUARD + LEAF_FRAMES, levels=SOME),
    arm64("arm64 linux, shared", LINUX_ARM64, SHARED, NO_GUARD + ["-fPIC"], levels=SOME),
    arm64("arm64 linux, hardened", LINUX_ARM64, STATIC, HARDENED, levels=SOME),
    arm64("arm64 linux, pac-ret", LINUX_ARM64, STATIC, NO_GUARD + ["-mbranch-protection=pac-ret"], bits=LINUX_BITS),
    arm64("arm64 linux, pac-ret+leaf", LINUX_ARM64, STATIC, NO_GUARD + ["-mbranch-protection=pac-ret+leaf"],
          bits=LINUX_BITS, levels=SOME),
    arm64("arm64 linux, pac-ret+leaf+b-key", LINUX_ARM64, STATIC,
          NO_GUARD + ["-mbranch-protection=pac-ret+leaf+b-key"], bits=[48], levels=SOME),
    arm64("arm64 linux, standard, shared", LINUX_ARM64, SHARED + ["-z", "force-bti"],
          GUARD + ["-fPIC", "-mbranch-protection=standard", "-march=armv8.5-a"], bits=[48], levels=SOME),
    gcc(Target("arm64 linux, gcc", "arm64", GCC_ARM64, STATIC, FRAMES + NO_GUARD + ["-fno-pie"], "stubs_arm64.S", 100.0,
               triple=LINUX_ARM64)),
    gcc(Target("arm64 linux, gcc, hardened, pac-ret+leaf", "arm64", GCC_ARM64, SHARED,
               FRAMES + HARDENED + ["-fPIC", "-mbranch-protection=pac-ret+leaf"], "stubs_arm64.S", 100.0,
               bits=[48], triple=LINUX_ARM64), SOME),
    arm64("arm64 apple", IOS, LINK_IOS, NO_GUARD),
    arm64("arm64 apple, leaf frames, guard", IOS, LINK_IOS, GUARD + LEAF_FRAMES, levels=SOME),
    arm64("arm64e apple", IOS_E, LINK_IOS_E, NO_GUARD + ["-fptrauth-returns"], bits=DARWIN_BITS),
    arm64("arm64 linux, async", LINUX_ARM64, STATIC, ASYNC, is_async=True),
    arm64("arm64 apple, async", IOS, LINK_IOS, ASYNC, is_async=True),
    arm64("arm64e apple, async", IOS_E, LINK_IOS_E, ASYNC + ["-fptrauth-returns"], is_async=True, bits=DARWIN_BITS),
    Target("arm64_32 apple", "arm64_32", clang(WATCH), LINK_WATCH, FRAMES + NO_GUARD, "stubs_arm64.S", 100.0,
           triple=WATCH),
    Target("arm64_32 apple, leaf frames, guard", "arm64_32", clang(WATCH), LINK_WATCH, FRAMES + GUARD + LEAF_FRAMES,
           "stubs_arm64.S", 100.0, levels=SOME, triple=WATCH),
    Target("arm64_32 apple, async", "arm64_32", clang(WATCH), LINK_WATCH, FRAMES + ASYNC, "stubs_arm64.S", 100.0,
           is_async=True, triple=WATCH),
    armv7("armv7 apple, thumb", OLD_IOS, LINK_OLD_IOS, True),
    armv7("armv7 apple, arm", OLD_IOS, LINK_OLD_IOS, False),
    armv7("armv7 apple, thumb, leaf frames", OLD_IOS, LINK_OLD_IOS, True, flags=LEAF_FRAMES, levels=SOME),
    armv7("armv7 linux, thumb", LINUX_ARM, STATIC, True),
    armv7("armv7 linux, thumb, shared, guard", LINUX_ARM, SHARED, True, flags=GUARD + ["-fPIC"], levels=SOME),
    x86("x86_64 linux", clang(LINUX_X64), STATIC, NO_GUARD),
    x86("x86_64 linux, leaf frames", clang(LINUX_X64), STATIC, NO_GUARD + LEAF_FRAMES, levels=SOME),
    x86("x86_64 linux, no leaf frames", clang(LINUX_X64), STATIC, NO_GUARD + NO_LEAF_FRAMES, levels=SOME),
    x86("x86_64 linux, shared, cf-protection", clang(LINUX_X64), SHARED + ["-z", "force-ibt"],
        NO_GUARD + ["-fPIC", "-fcf-protection"]),
    x86("x86_64 linux, hardened", clang(LINUX_X64), STATIC, HARDENED, levels=SOME),
    x86("x86_64 apple", clang(MAC_X64), LINK_MAC, NO_GUARD),
    x86("x86_64 apple, guard", clang(MAC_X64), LINK_MAC, GUARD, levels=SOME),
    x86("x86_64 linux, async", clang(LINUX_X64), STATIC, ASYNC, is_async=True),
    x86("x86_64 apple, async", clang(MAC_X64), LINK_MAC, ASYNC, is_async=True),
    gcc(x86("x86_64 linux, gcc", ["gcc"], STATIC, NO_GUARD + ["-fno-pie", "-fcf-protection=none"])),
    gcc(x86("x86_64 linux, gcc, shared, hardened", ["gcc"], SHARED, HARDENED + ["-fPIC", "-fcf-protection"]), SOME),
    x86("i386 linux", clang(LINUX_386), STATIC, NO_GUARD, wide=False),
    x86("i386 linux, shared", clang(LINUX_386), SHARED, NO_GUARD + ["-fPIC"], wide=False),
    x86("i386 linux, hardened", clang(LINUX_386), STATIC, HARDENED + ["-mstack-protector-guard=global"], wide=False,
        levels=SOME),
    x86("i386 apple", clang(MAC_386), LINK_OLD_MAC, NO_GUARD + NO_TABLES, wide=False),
    gcc(x86("i386 linux, gcc", GCC_386, STATIC, NO_GUARD + ["-fno-pie"], wide=False)),
    gcc(x86("i386 linux, gcc, shared", GCC_386, SHARED, NO_GUARD + ["-fPIC"], wide=False), SOME),
    by_tables(arm64("arm64 apple, tables", IOS, LINK_IOS, NO_GUARD, levels=SOME)),
    # ld64.lld 19 keeps none of clang's encodings for arm64_32's frames: the tables name functions only.
    by_tables(Target("arm64_32 apple, tables", "arm64_32", clang(WATCH), LINK_WATCH, FRAMES + NO_GUARD,
                     "stubs_arm64.S", 100.0, levels=SOME, triple=WATCH), compared=False),
    by_tables(x86("x86_64 apple, tables", clang(MAC_X64), LINK_MAC, NO_GUARD, levels=SOME)),
    by_tables(armv7("armv7 linux, thumb, tables", LINUX_ARM, STATIC + NO_PERSONALITIES, True, levels=SOME)),
    # The levels at which the walk without tables misses an instruction are among these.
    by_tables(x86("x86_64 linux, tables", clang(LINUX_X64), STATIC, NO_GUARD, levels=["-O0", "-Os"]), bodies=False),
    by_tables(x86("i386 linux, tables", clang(LINUX_386), STATIC, NO_GUARD, wide=False, levels=["-O0", "-Os"]),
              bodies=False),
    with_seeds(frameless(arm64("arm64 apple, frameless", IOS, LINK_IOS, NO_GUARD), outlined=True), [101]),
    # Here the walk uses instructions, from the function starts that the image lists.
    with_seeds(frameless(Target("arm64_32 apple, frameless", "arm64_32", clang(WATCH), LINK_WATCH, NO_GUARD,
                                "stubs_arm64.S", 100.0, triple=WATCH), compared=False, outlined=True), [101, 112]),
    frameless(x86("x86_64 apple, frameless", clang(MAC_X64), LINK_MAC, NO_GUARD)),
    frameless(armv7("armv7 linux, thumb, frameless", LINUX_ARM, STATIC + NO_PERSONALITIES, True)),
    frameless(armv7("armv7 linux, arm, frameless", LINUX_ARM, STATIC + NO_PERSONALITIES, False)),
    frameless(arm64("arm64 linux, frameless", LINUX_ARM64, STATIC, NO_GUARD), bodies=False),
    frameless(x86("x86_64 linux, frameless", clang(LINUX_X64), STATIC, NO_GUARD), bodies=False),
    frameless(x86("i386 linux, frameless", clang(LINUX_386), STATIC, NO_GUARD, wide=False), bodies=False),
    gcc(frameless(Target("arm64 linux, gcc, frameless", "arm64", GCC_ARM64, STATIC, NO_GUARD + ["-fno-pie"],
                         "stubs_arm64.S", 100.0, triple=LINUX_ARM64), bodies=False), ["-O2"]),
    gcc(frameless(x86("x86_64 linux, gcc, frameless", ["gcc"], STATIC, NO_GUARD + ["-fno-pie", "-fcf-protection=none"]),
                  bodies=False), ["-O2", "-Os"]),
    gcc(frameless(x86("i386 linux, gcc, frameless", GCC_386, STATIC, NO_GUARD + ["-fno-pie"], wide=False),
                  bodies=False), ["-O2", "-Os"]),
]
