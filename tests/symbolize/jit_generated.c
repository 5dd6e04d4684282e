/* SPDX-License-Identifier: MIT */
/* What jit_victim.c runs in memory of its own: compiled, and never linked, so nothing here may need a relocation. */
__attribute__((noinline, noclone)) static int generated_inner(int (*wait)(void)) {
    int volatile result = wait() + 1;
    return result;
}

int generated_outer(int (*wait)(void));
int generated_outer(int (*wait)(void)) {
    int volatile result = generated_inner(wait) + 1;
    return result;
}
