#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the tests: puts each fault of faults/ back into a copy of the source, builds it, and runs the test that is named
# for it, which must fail. Prints a table. Works in build/sabotage of the source folder. With --all, a fault that its test
# does not find is tried with all of make check, and all must be found. With --fit, only examines whether each fault fits
# the source.
#
#    tests/sabotage/run.sh [--all | --fit] [FAULT...]
#
# A file of faults/ has the fault, its test, the file, and a text of it to replace. Blanks and line ends in the text
# stand for any number of them, so that the fault survives other changes of the file.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_clone
need_tools perl make autoreconf
here=$top/tests/sabotage work=$top/build/sabotage
tree=$work/tree objects=$work/build
all='' fit='' names=() least=18
for word; do
  case $word in
  --all) all=1 ;;
  --fit) fit=1 ;;
  *) names+=("$word") ;;
  esac
done
if [[ ${#names[@]} -eq 0 ]]; then
  mapfile -t names < <(cd "$here/faults" && printf '%s\n' *.txt | sed 's/\.txt$//')
else
  least=${#names[@]}
fi
[[ -z $all ]] || least=${#names[@]}

# field FAULT NAME: prints a line of the fault's file.
field() { sed -n "s/^$2: //p" "$here/faults/$1.txt"; }

# put FAULT: puts the fault into the copy. Fails if its text is not in the file exactly once.
put() {
  perl -0777 - "$here/faults/$1.txt" "$tree/$(field "$1" File)" <<'END'
my ($fault, $file) = map { open my $in, '<', $_ or die "$_: $!\n"; scalar <$in> } @ARGV;
my ($old, $new) = $fault =~ /^--- replace\n(.*?)^--- by\n(.*)\z/ms or die "$ARGV[0]: not a fault\n";
my $pattern = join '\s+', map { quotemeta } split ' ', $old;
my $count = $file =~ s/$pattern/$new/g;
die "$ARGV[1] has the text ", $count || 0, " times\n" unless $count == 1;
open my $out, '>', $ARGV[1] or die "$ARGV[1]: $!\n";
print $out $file;
END
}

if [[ -n $fit ]]; then
  make_work
  tree=$work
  for name in "${names[@]}"; do
    file=$(field "$name" File) test=$(field "$name" Test)
    mkdir -p "$tree/$(dirname "$file")"
    cp "$top/$file" "$tree/$file"
    put "$name" 2>"$work/says" || fail "$name does not fit: $(cat "$work/says")"
    [[ -f $top/$test || -f $top/$test.c ]] || fail "$name: there is no test $test"
  done
  verdict
fi

# run_make ARGUMENT...: runs make in the copy's build. Its output is in $work/log.
run_make() { make -C "$objects" -s -j"$jobs" "$@" >"$work/log" 2>&1; }

# run_test TEST: builds what the test needs, which is everything for a script, and runs it.
run_test() {
  local target=$1
  [[ $1 != *.sh ]] || target=all
  run_make "$target" || return 2
  # Other programs that a test needs were built before.
  run_make check-TESTS "TESTS=$1" check_PROGRAMS= || return 1
}

# A run that was ended early may have left objects with a fault.
[[ ! -e $work/unfinished ]] || rm -rf "$tree" "$objects"
mkdir -p "$tree" "$objects"
: >"$work/unfinished"
(cd "$top" && project_files | tar -cf - -T -) | tar -xf - -C "$tree"
if [[ ! -x $tree/configure ]]; then (cd "$tree" && autoreconf -fi >"$work/log" 2>&1); fi
if [[ ! -f $objects/Makefile ]]; then
  (cd "$objects" && "$tree/configure" --quiet --disable-static CFLAGS=-O0 >"$work/log" 2>&1)
fi
run_make all || {
  tail -n 20 "$work/log"
  fail "the copy does not build"
  verdict
}
mapfile -t tests < <(for name in "${names[@]}"; do field "$name" Test; done | sort -u)
# Scripts need programs, and suites need libraries.
{ run_make test-programs && run_make check-TESTS "TESTS=${tests[*]}"; } || {
  grep -aE '^(FAIL|ERROR)' "$work/log" || tail -n 20 "$work/log"
  fail "a test fails without a fault"
  verdict
}

found=0
# try FAULT: tries one fault, and prints its line of the table.
try() {
  local name=$1 test file result status
  test=$(field "$name" Test) file=$tree/$(field "$name" File)
  cp "$file" "$work/original"
  if ! put "$name" 2>"$work/log"; then
    result="does not fit: $(tail -n 1 "$work/log")"
    fail "$name: $result"
  else
    status=0
    run_test "$test" || status=$?
    case $status in
    0) result='NOT FOUND' ;;
    2)
      result='does not compile'
      fail "$name: $result: $(grep -m 1 error "$work/log")"
      ;;
    *)
      result='found'
      found=$((found + 1))
      ;;
    esac
    if [[ $status -eq 0 && -n $all ]] && ! run_make -k check; then
      result="found by $(sed -nE 's/^(FAIL|ERROR): //p' "$work/log" | sort -u | tr '\n' ' ')"
      found=$((found + 1))
    fi
  fi
  printf '%-22s %-42s %s\n' "$name" "$test" "$result"
  cat "$work/original" >"$file"
}
for name in "${names[@]}"; do try "$name"; done
run_make all && run_make test-programs && rm "$work/unfinished"
echo "$found of ${#names[@]} faults are found"
[[ $found -ge $least ]] || fail "at least $least must be found"
verdict
