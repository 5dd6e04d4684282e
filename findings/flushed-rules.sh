#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# unw_flush_cache of libunwind 1.6.2 leaves out the cache of unw_backtrace on x86-64. unw_set_caching_policy(3) asks for
# a flush after a library is unloaded, and unw_step then finds the right callers. But unw_backtrace, and backtrace(),
# which libunwind replaces, keep a cache of their own for each thread. If another library is loaded at the same
# addresses, they apply the frame sizes of the old one and lose the callers. Turning the caching off
# (UNW_CACHE_NONE) does not help after that cache has rules either. They report no error.
# An expert expects the documented call to flush all that is cached, and both functions to find the same callers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 libclang-common-19-dev=1:19.1.7-3~deb12u1
  libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1 libunwind8=1.6.2-3 libunwind-dev=1.6.2-3
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

# Two libraries of the same layout, whose function needs 24 and 40 bytes of stack.
for size in 24 40; do
  cat >"size$size.s" <<END
.globl enter
.type enter, @function
enter:
  .cfi_startproc
  sub \$$size, %rsp
  .cfi_adjust_cfa_offset $size
  call *%rdi
  add \$$size, %rsp
  .cfi_adjust_cfa_offset -$size
  ret
  .cfi_endproc
.size enter, . - enter
.section .note.GNU-stack, "", @progbits
END
  clang-19 -shared -nostdlib -fuse-ld=lld-19 -o "size$size.so" "size$size.s"
done
cat >walks.c <<'END'
#define _GNU_SOURCE 1
#define UNW_LOCAL_ONLY 1
#include <dlfcn.h>
#include <libunwind.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int is_in_main(void *address) {
  Dl_info info;
  return dladdr((char *)address - 1, &info) && info.dli_sname && strcmp(info.dli_sname, "main") == 0;
}

__attribute__((noinline)) static void step(void) {
  unw_context_t context;
  unw_cursor_t cursor;
  unw_word_t address;
  int has_main = 0;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  while (unw_step(&cursor) > 0 && unw_get_reg(&cursor, UNW_REG_IP, &address) == 0) {
    has_main |= is_in_main((void *)address);
  }
  printf(" unw_step %s", has_main ? "main" : "lost");
}

__attribute__((noinline)) static void trace(void) {
  void *addresses[64];
  int has_main = 0;
  for (int i = unw_backtrace(addresses, 64); i-- > 0;) has_main |= is_in_main(addresses[i]);
  printf(" unw_backtrace %s", has_main ? "main" : "lost");
}

static void walk(void) {
  step();
  trace();
}

/* Calls both libraries, with a flush after each is unloaded. */
int main(int count, char **names) {
  uintptr_t first = 0;
  for (int i = 1; i < count; i++) {
    void *library = dlopen(names[i], RTLD_NOW);
    void (*enter)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, "enter");
    if (first == 0) first = (uintptr_t)enter;
    printf("%s address,", first == (uintptr_t)enter ? "same" : "other");
    enter(walk);
    printf(i + 1 < count ? "; " : "\n");
    dlclose(library);
    unw_flush_cache(unw_local_addr_space, 0, 0);
#ifdef OFF
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
#endif
  }
  return 0;
}
END
# callers OPTION LIBRARY...: what the program prints when it is compiled with the option.
callers() {
  clang-19 -O1 -w "$1" -Iroot/usr/include -Iroot/usr/include/x86_64-linux-gnu -rdynamic -fuse-ld=lld-19 \
    -o walks walks.c -Lroot/usr/lib/x86_64-linux-gnu -lunwind -ldl
  ./walks "${@:2}"
}
expect 'one library twice' \
  'same address, unw_step main unw_backtrace main; same address, unw_step main unw_backtrace main' \
  "$(callers -DON ./size24.so ./size24.so)"
expect 'two libraries, flushed' \
  'same address, unw_step main unw_backtrace main; same address, unw_step main unw_backtrace lost' \
  "$(callers -DON ./size24.so ./size40.so)"
expect 'two libraries, caching turned off' \
  'same address, unw_step main unw_backtrace main; same address, unw_step main unw_backtrace lost' \
  "$(callers -DOFF ./size24.so ./size40.so)"
