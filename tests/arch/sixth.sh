#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Adds a made-up processor by the steps of doc/adding-an-architecture.md, to a copy of the headers and of arch/, and
# tests that the library accepts it (sixth.c). Only the changed files are compiled; the rest is the library of this
# build, in which nothing may depend on the number of processors.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
libraries=("$PWD/lib/.libs/libunspool-core.a" "$PWD/arch/.libs/libunspool-arch.a")
[[ -f ${libraries[0]} ]] || skip "lib/libunspool-core.la was not built"
need_tools perl
make_work
read -ra compiler <<<"${CC:-cc}"

# ---- the steps
mkdir "$work/tree"
cp -R "$top/include" "$top/arch" "$work/tree"
chmod -R u+w "$work/tree"
perl -0pi -e 's/(USP_ARCH_I386 = 5)\n/$1,\n    USP_ARCH_MADE_UP = 6\n/ or die' "$work/tree/include/unspool/base.h"
perl -0pi -e 's/(    X\(I386, uspi_i386\))\n/$1 \\\n    X(MADE_UP, uspi_made_up)\n/ or die' "$work/tree/arch/backends.h"
mkdir "$work/tree/arch/made_up"
cat >"$work/tree/arch/made_up/made_up.c" <<'END'
#include "arch/backend.h"

enum { R0, SP, FP, PC, REGISTER_COUNT };
static const char *const register_names[REGISTER_COUNT] = {"r0", "sp", "fp", "pc"};
static const struct uspi_arch_name other_names[] = {{"invented", USP_VARIANT_NONE, 0}};
static const struct uspi_run runs[] = {{.first = R0, .count = REGISTER_COUNT, .width = 4, .stride = 4, .offset = 0}};
static const struct uspi_state_layout states[] = {
    {.state = USP_THREAD_STATE_LINUX_PRSTATUS, .size = 16, .run_count = 1, .runs = runs}};

static bool decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out) {
    (void)bytes, (void)n, (void)pc, (void)mode, (void)out;
    return false;
}

static bool follows_call(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target) {
    (void)before, (void)n, (void)return_address, (void)thumb;
    *target = 0;
    return true;
}

const struct uspi_backend uspi_made_up = {
    .arch = USP_ARCH_MADE_UP,
    .name = "made_up",
    .names = other_names,
    .name_count = 1,
    .crash_name = "Made up",
    .elf_machine = 0x1234,
    .macho_cpu = 0x1234,
    .register_count = REGISTER_COUNT,
    .pc = PC,
    .sp = SP,
    .fp = FP,
    .lr = USPI_NO_REGISTER,
    .word = 4,
    .wide_align = 8,
    .slot = 4,
    .record_align = 4,
    .call_push = 4,
    .code_align = 4,
    .instruction_max = 4,
    .call_window = 4,
    .word_mask = UINT32_MAX,
    .callee_saved = 0,
    .register_names = register_names,
    .states = states,
    .state_count = 1,
    .decode = decode,
    .follows_call = follows_call,
};
END

# ---- the new files come first, so that the linker does not take the archive's table
"${compiler[@]}" -std=gnu11 -g -I "$work/tree" -I "$work/tree/include" -I "$top" -o "$work/sixth" \
  "$work"/tree/arch/{any,table}.c "$work/tree/arch/made_up/made_up.c" "$top/tests/arch/sixth.c" "${libraries[@]}" -lpthread || fail "it does not compile"
[[ ! -x $work/sixth ]] || "$work/sixth" "$work" || fail "the made-up processor is not accepted"
verdict
