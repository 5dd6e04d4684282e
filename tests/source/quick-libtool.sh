#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests tools/quick-libtool against Libtool: objects, libraries of them and test programs must be the same, byte for
# byte, and it must leave other commands to Libtool. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
make_work
built=$PWD
read -r form flags < <(sed -nE "s/^LIBTOOL = .*quick-libtool (pic|non_pic) '([^']*)'.*/\1 \2/p" Makefile) || {
  echo "this build does not use tools/quick-libtool"
  exit 0
}
read -r once < <(sed -n 's/^LIBRARY_ONCE = //p' Makefile)
read -ra compiler <<<"${CC:-cc}"
# What runs instead of Libtool notes that it has been asked.
printf '#!/bin/sh\necho "$*" >>%s\nexec "%s" "$@"\n' "$work/asked" "$built/libtool" >"$work/libtool"
chmod +x "$work/libtool"
quick=(sh "$top/tools/quick-libtool" "$form" "$flags" "$work/libtool")
# libtool ARGUMENT...: runs the command by $kind, one of the two.
libtool() {
  if [[ $kind == quick ]]; then "${quick[@]}" --silent "$@"; else "$built/libtool" --silent "$@"; fi
}
cd "$work"

# asked TIMES WHAT: how often Libtool was asked since the last call.
asked() {
  local n=0
  [[ ! -e $work/asked ]] || n=$(wc -l <"$work/asked")
  rm -f "$work/asked"
  [[ $n -eq $1 ]] || fail "$2: Libtool is asked $n times, not $1"
}

echo 'int answer(void); int answer(void) { return TEXT[0]; }' >answer.c
printf '#include <math.h>\nint answer(void);\nint main(int n, char **all) { (void)all; return answer() + (int)sqrt(n); }\n' >main.c
"${compiler[@]}" -c main.c -o main.o
for kind in slow quick; do
  mkdir "$kind"
  mv "$kind" tree
  # One name for both, because objects have the names of their folders.
  cd tree
  mkdir objects
  # shellcheck disable=SC2016,SC2086 # as the compiler is to see it; no word or one
  libtool --tag=CC $once --mode=compile "${compiler[@]}" -g -O1 -I'a folder' '-DTEXT="a b; $c"' -MT objects/answer.lo \
    -MD -MP -MF answer.d -c -o objects/answer.lo ../answer.c
  cd "$work"
  [[ $kind == slow ]] || asked 0 'a compilation'
  cd tree
  "$work/libtool" --silent --tag=CC --mode=link "${compiler[@]}" -o libanswer.la objects/answer.lo -lm
  rm -f "$work/asked"
  # shellcheck disable=SC2086 # no word or one
  libtool --tag=CC $once --mode=link "${compiler[@]}" -g -no-install -Wl,-u,answer -o program ../main.o libanswer.la
  cd "$work"
  [[ $kind == slow ]] || asked 0 'a link'
  mv tree "$kind"
done
object=objects/answer.o
[[ $form != pic ]] || object=objects/.libs/answer.o
for file in $object answer.d program; do cmp "slow/$file" "quick/$file" || fail "$file differs"; done
# The same variables, but for comments.
diff <(grep -vE '^(#|$)' slow/objects/answer.lo) <(grep -vE '^(#|$)' quick/objects/answer.lo) || fail 'the files of the object differ'
(cd quick && diff <(find . | sort) <(cd ../slow && find . | sort)) || fail 'other files'

# The compiler's failure is that of the command, and no object is left that is newer than the source.
! "${quick[@]}" --silent --tag=CC --mode=compile "${compiler[@]}" '-DTEXT=' -c -o quick/failed.lo answer.c 2>/dev/null ||
  fail 'a compilation that fails has status 0'
[[ ! -e quick/failed.lo ]] || fail 'a compilation that fails leaves its file'
asked 0 'a compilation that fails'

# Libtool runs the others.
cd quick
"${quick[@]}" --silent --tag=CC --mode=link "${compiler[@]}" -o libother.la objects/answer.lo
asked 1 'an archive'
"${quick[@]}" --silent --tag=CC --mode=link "${compiler[@]}" -o installed ../main.o libanswer.la
asked 1 'a program that is installed'
if [[ $form == pic ]]; then
  "${quick[@]}" --silent --tag=CC --mode=link "${compiler[@]}" -rpath /nowhere -o libshared.la objects/answer.lo -lm
  "${quick[@]}" --silent --tag=CC --mode=link "${compiler[@]}" -no-install -o shared ../main.o libshared.la -lm
  asked 2 'a shared library'
fi
"${quick[@]}" --silent --mode=clean rm -f libother.la
asked 1 'mode clean'
verdict
