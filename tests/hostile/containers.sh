#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests processes with another root and mount namespace, as in a container. Its paths exist inside and outside, with
# other names for the same code and the same build id, so that the names show which file was read. Files from outside
# must never be used: not through a link that is absolute or has "..", and not because the file is missing inside.
# Each case also runs without openat2, as on kernels before 5.6. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
[[ $(id -u) -eq 0 ]] || skip "only root can change the root folder"
unshare --mount true 2>/dev/null || skip "no mount namespace can be made here"
need_tools gcc nm objcopy strip chroot
cd "$work"

cat >waiting.c <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int NAME(int);
static inline __attribute__((always_inline)) int wait_often(int times) {
    while (times-- > 0) pause();
    return times;
}
int NAME(int times) { return wait_often(times); }
int main(void) {
    puts("ready");
    fflush(stdout);
    return NAME(1);
}
END
# build NAME FILE [OPTION...]: all have the same code, at the same addresses, and the same build id.
build() {
  local name=$1 file=$2
  shift 2
  gcc "$@" -O1 -static -no-pie -fno-omit-frame-pointer -DNAME="$name" -Wl,--build-id=0x0123456789abcdef0123 -o "$file" waiting.c
}
build name_running running -g0 2>/dev/null || skip "no static program can be made here"
strip running
here=$work/here other=$work/other root=$work/root
mkdir -p "$here" "$other" "$root$here" "$root$other"
build name_outside "$here/program"
build name_inside_ "$root$other/program"
cp "$here/program" "$other/program"

# prepare: puts the program where it is started. Its path inside also exists outside.
prepare() {
  rm -f "$root$here/program"
  cp running "$root$here/program"
}
# enter: starts it in a mount namespace with its own root.
enter() {
  prepare
  start "$work/enter_root" "$root" "$here/program"
}
# enter_jail: starts it below another root only.
# shellcheck disable=SC2317 # called by cases
enter_jail() {
  prepare
  start chroot "$root" "$here/program"
}

# Makes its folder the root of a mount namespace of its own, and runs a program there.
cat >enter.c <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **arguments) {
    if (count < 3 || unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(arguments[1], arguments[1], NULL, MS_BIND, NULL) != 0 || chdir(arguments[1]) != 0 ||
        syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0) {
        perror("enter");
        return 1;
    }
    execv(arguments[2], arguments + 2);
    perror(arguments[2]);
    return 1;
}
END
gcc -o enter_root enter.c
[[ $("$work/enter_root" "$root" /none 2>&1) == /none* ]] || skip "no root folder of its own can be made here"

cat >old_kernel.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
long syscall(long number, ...) {
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (number == 437) {
        errno = ENOSYS;
        return -1;
    }
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
END
gcc -shared -fPIC -o old_kernel.so old_kernel.c -ldl 2>/dev/null || : >old_kernel.so

# names WHAT NAME: every command gives this name for the code that waits, and none from outside. NAME '' : it has none.
names() {
  local what=$1 name=$2
  run 0 stack "$pid"
  cp out all
  run 0 symbolize -p "$pid" "$address"
  cat out >>all
  run 0 record --duration 0.05 --format folded -o profile "$pid"
  cat profile >>all
  grep -q name_outside all && fail "$what: a name from outside: $(grep -a name_ all)"
  [[ -z $name ]] || grep -q "$name" all || fail "$what: not $name: $(cat all)"
}

# both WHAT NAME: with and without openat2.
both() {
  names "$1" "$2"
  export LD_PRELOAD=$work/old_kernel.so
  if "$unspool" --version >/dev/null 2>&1; then names "$1, without openat2" "$2"; fi
  unset LD_PRELOAD
}

address=0x$(nm "$here/program" | awk '$3 == "name_outside" { print $1 }')
[[ $address == 0x$(nm "$root$other/program" | awk '$3 == "name_inside_" { print $1 }') ]] || fail "the programs differ"
# cases ENTER: all ways in which the path of the program can lead out of the process's root.
cases() {
  "$1"
  both "$1: the program is where it was" ''
  rm "$root$here/program"
  both "$1: the program was removed" ''
  ln -s "$other/program" "$root$here/program"
  both "$1: an absolute link" name_inside_
  ln -sfn "../../../../../../../../../..$other/program" "$root$here/program"
  both "$1: a link with .." name_inside_
  ln -sfn "/proc/self/root$other/program" "$root$here/program"
  both "$1: a link through /proc" ''
  rm "$root$here/program"
  mkfifo "$root$here/program"
  both "$1: a pipe" ''
  rm "$root$here/program"
  cp "$root$other/program" "$root$here/program"
  both "$1: another file" name_inside_
  mv "$root$other" "$root$work/moved"
  ln -sfn "$other/program" "$root$here/program"
  both "$1: a link to what exists only outside" ''
  mv "$root$work/moved" "$root$other"
  stop
}
cases enter
cases enter_jail

# Files beside the program: its debug file, and one split unit. Only they tell of the inlined call.
rm -f "$root$here/program" "$here/program"
# inlined WHAT YES: the inlined call is known (1) or not (0).
inlined() {
  run 0 stack "$pid"
  if [[ $2 == 1 ]]; then out_has wait_often; else out_lacks wait_often; fi
}

build name_running full -g
objcopy --only-keep-debug full "$other/program.debug"
cp full with_link
strip with_link
objcopy --add-gnu-debuglink="$other/program.debug" with_link
cp with_link running
enter
inlined "no debug file" 0
ln -s "$other/program.debug" "$root$here/program.debug"
inlined "an absolute link to a debug file outside" 0
cp "$other/program.debug" "$root$other/program.debug"
inlined "an absolute link to a debug file inside" 1
stop

build name_running running -g -gsplit-dwarf -gdwarf-5
dwo=(*.dwo)
if [[ -e ${dwo[0]} ]]; then
  enter
  inlined "a split unit outside" 0
  cp "${dwo[0]}" "$root$work/"
  inlined "a split unit inside" 1
  mv "${dwo[0]}" "$root$other/unit.dwo"
  ln -sfn "$other/unit.dwo" "$root$work/${dwo[0]}"
  inlined "a link to a split unit inside" 1
  cp "$root$other/unit.dwo" "$other/unit.dwo"
  rm "$root$other/unit.dwo"
  inlined "a link to a split unit outside" 0
  stop
fi
verdict
