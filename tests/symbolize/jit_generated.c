/* SPDX-License-Identifier: MIT */
/* The code that jit_victim.c copies into its memory and runs. It is compiled but never linked, so it must not need a
 * relocation. */
__attribute__((noinline, noclone)) static int generated_inner(int (*wait)(void)) {
    int volatile result = wait() + 1;
    return result;
}

int generated_outer(int (*wait)(void));
int generated_outer(int (*wait)(void)) {
    int volatile result = generated_inner(wait) + 1;
    return result;
}
