#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a C file for 32-bit ARM whose functions have all kinds of frames: subsets of the callee-saved registers, with and
without calls, vector registers, arguments that vary, little and much on the stack, a frame of unknown size.
"""
import itertools

SAVED = [("r4",), ("r5", "r6"), ("r8",), ("r9", "r10"), ("d8", "d9"), ("d10",), ("d14", "d15")]
# Sizes up to and above what one instruction of an unwind program can add.
SIZES = (0, 8, 300, 1500, 70000)


def main():
    print("#include <stdarg.h>\nextern int outside(void *);")
    subsets = [s for n in range(len(SAVED) + 1) for s in itertools.combinations(SAVED, n)]
    for number, (subset, size, calls) in enumerate(itertools.product(subsets, SIZES, (True, False))):
        if size not in SIZES[:2] and number // (2 * len(SIZES)) % 4 != 0:
            continue
        clobbers = "".join(f'"{register}", ' for group in subset for register in group)
        varies, dynamic = number % 7 == 3, number % 11 == 5
        print(f"int f{number}(int n{', ...' if varies else ''}) {{")
        if varies:
            print("  va_list v; va_start(v, n); n += va_arg(v, int) * va_arg(v, int); va_end(v);")
        if size:
            print(f"  volatile char b[{'n & 255' if dynamic else size}]; b[0] = (char)n;")
        print(f'  __asm__ volatile("" ::: {clobbers}"memory");')
        print(f"  return {'outside((void *)b)' if size else 'outside(&n)'} + n;" if calls else "  return n;")
        print("}")
    # A function with a personality routine.
    print("static void cleanup(int *n) { outside(n); }")
    print("int with_cleanup(int n) { __attribute__((cleanup(cleanup))) int m = n; return outside(&m) + outside(&n); }")


main()
