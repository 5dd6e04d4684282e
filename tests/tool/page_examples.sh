#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the example programs of the manual pages and checks what each prints.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
make_work
examples=doc/examples/pages

# prints NAME REGEX [ARGUMENT...]: runs an example, which must succeed and print a line that matches.
prints() {
  local status=0
  timeout 300 "$(runnable "$examples/$1" "$work")" "${@:3}" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq 0 ]] || fail "$1: exit status $status" "$(cat "$work/out" "$work/err")"
  grep -qE -- "$2" "$work/out" || fail "$1: no line matches $2" "$(cat "$work/out" "$work/err")"
}

# The file of a program that Libtool may have put behind a script, and the address of its main function as linked.
binary() { if [[ -f $examples/.libs/$1 ]]; then echo "$examples/.libs/$1"; else echo "$examples/$1"; fi; }
main_of() { nm "$1" | awk '$3 == "main" { print "0x" $1 }'; }

prints usp_backtrace '^0 0x[0-9a-f]+$'
prints usp_capture_self '^[1-9][0-9]* frames; the stack ends: .'
prints usp_stack_create '^[1-9][0-9]* frames$'
prints usp_print_threads '^Thread [0-9]+'
prints usp_print_threads '^0 .* main \+ [0-9]+'
prints usp_reader_create '^0   Demo   0x0000000100003f21 function_of_Demo \+ 16$'
if part_needs nm; then
  file=$(binary usp_images_open)
  base=$((0x10000000))
  linked=$(readelf -lW "$file" | awk '$1 == "LOAD" { print $3; exit }')
  prints usp_images_open '^main$' "$file" $base $(($(main_of "$file") - linked + base))
  file=$(binary usp_symbolize_places)
  prints usp_symbolize_places '^main$' "$file" $(($(main_of "$file") - $(readelf -lW "$file" | awk '$1 == "LOAD" { print $3; exit }')))
fi

# Each example is on the page of its function.
for source in "$top"/doc/examples/pages/*.c; do
  name=$(basename "$source" .c)
  page=doc/man3/$name.3
  [[ -f $page ]] || page=$top/$page
  grep -q '^\.SH EXAMPLES' "$page" || fail "the page of $name has no example"
  [[ -x $examples/$name ]] || fail "$name is not compiled"
done
verdict
