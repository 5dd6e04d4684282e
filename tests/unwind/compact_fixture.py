#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a C file whose functions have all kinds of frames: every subset of the callee-saved registers that there are
encodings for, with and without calls, with little and much on the stack. A sample (tests/support/under.h) has a third of
the subsets where there are many, but for arm64, where a linker writes all kinds of pages for many encodings only.

    compact_fixture.py ARCH
"""
import itertools
import os
import sys

ARM64_PAIRS = [("x19", "x20"), ("x21", "x22"), ("x23", "x24"), ("x25", "x26"), ("x27", "x28")]
SAVED = {
    "arm64": ARM64_PAIRS + [("d8", "d9"), ("x20",)],
    "arm64_32": ARM64_PAIRS + [("d8", "d9"), ("x20",)],
    "x86_64": [("rbx",), ("r12",), ("r13",), ("r14",), ("r15",)],
    "i386": [("ebx",), ("edi",), ("esi",)],
    "armv7k": [("r4",), ("r5",), ("r6",), ("r8",), ("r10",), ("r11",), ("d8",), ("d9", "d10")],
}
# Stack sizes below and above the largest number in an encoding.
SIZES = (0, 24, 200, 3000, 70000)


def main():
    groups = SAVED[sys.argv[1]]
    subsets = [s for n in range(len(groups) + 1) for s in itertools.combinations(groups, n)]
    if int(os.environ.get("USP_TEST_SCALE") or 0) < 1 and sys.argv[1] != "arm64" and len(subsets) > 100:
        subsets = subsets[::3] + subsets[-1:]
    print("#include <stdarg.h>\nextern int outside(void *);")
    for number, (subset, size, calls) in enumerate(itertools.product(subsets, SIZES, (False, True))):
        if size not in SIZES[:2] and number // (2 * len(SIZES)) % 4 != 0:
            continue
        clobbers = ", ".join(f'"{register}"' for group in subset for register in group)
        # On armv7k a function with variable arguments stores them itself.
        varies = number % 7 == 3
        print(f"int f{number}(int n{', ...' if varies else ''}) {{")
        if varies:
            print("  va_list v; va_start(v, n); n += va_arg(v, int) * va_arg(v, int); va_end(v);")
        if size:
            print(f"  volatile char b[{size}]; b[0] = (char)n; b[{size - 1}] = (char)n;")
        print(f'  __asm__ volatile("" :::{clobbers} {", " if clobbers else ""}"memory");')
        print(f"  return {'outside((void *)b)' if size else 'outside(&n)'} + n;" if calls else "  return n;")
        print("}")
    if sys.argv[1].startswith("arm64"):
        # LLVM leaves out an object's CFI unless some function needs it.
        lines = (".p2align 2", "_f1000000:", ".cfi_startproc", "sub sp, sp, #32", ".cfi_def_cfa_offset 32", "str x19, [sp]",
                 ".cfi_offset w19, -32", "ldr x19, [sp]", "add sp, sp, #32", "ret", ".cfi_endproc")
        print("#ifndef WITHOUT_CFI")
        print("__asm__(" + " ".join(f'"{line}\\n"' for line in lines) + ");")
        print("#endif")
    print("int main(void) { return f0(1); }")


main()
