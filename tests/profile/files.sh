#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool profile` with profiles of pprof and OTLP: the names, lines and inlined calls that it adds, against
# addr2line; what it keeps; every format; an index instead of the file; files that are cut off or damaged.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools python3 nm readelf addr2line
read -ra cc <<<"${CC:-cc}"
export PYTHONDONTWRITEBYTECODE=1
make=(python3 "$top/tests/profile/profile_files.py")
cat >"$work/program.c" <<'END'
static volatile unsigned long sum;
static inline __attribute__((always_inline)) unsigned long add(unsigned long x) {
    sum += x;
    return sum * 3;
}
__attribute__((noinline)) unsigned long work(unsigned long x) {
    for (int i = 0; i < 1000; i++) sum += add(x * (unsigned long)i);
    return sum;
}
int main(int argc, char **argv) {
    (void)argv;
    return (int)(work((unsigned long)argc) & 1);
}
END
"${cc[@]}" -O2 -g -gdwarf-4 -Wl,--build-id=sha1 -o "$work/program" "$work/program.c"
{ read -ra place && read -ra truth; } < <("${make[@]}" place "$work/program" 555500000000)
[[ ${truth[0]} == add:* && ${truth[1]} == work:* ]] || skip "addr2line finds no inlined call: ${truth[*]}"
inlined=${truth[0]#*:} outer=${truth[1]#*:}

# has TEXT PATTERN WHAT
has() { grep -qE -- "$2" <<<"$1" || fail "$3: no $2" "$1"; }
same() { "$unspool" profile --quiet --format same "$1" >"$2" || fail "--format same of $1"; }
zlib=true
grep -q 'define HAVE_ZLIB 1' config.h || zlib=false

for format in pprof otlp; do
  id=$([[ $format == pprof ]] && echo '7 4' || echo '1 1')
  "${make[@]}" write "$format" "$work/plain" "${place[@]}"
  same "$work/plain" "$work/named"
  "${make[@]}" compare "$work/plain" "$work/named" || fail "$format: more than names has changed"
  shown=$("${make[@]}" show "$work/named")
  has "$shown" "^location $id add\|add\|program.c:$inlined:[0-9]+ work\|work\|program.c:$outer:[0-9]+$" "$format"
  has "$shown" 'main\|main\|program\.c:' "$format"
  has "$shown" 'interpreted;name\|interpreted\|script.py:12:0$' "$format"
  [[ $format == otlp ]] || has "$shown" '^mapping 4 .*/program 1111$' "$format"
  [[ $format == otlp ]] || has "$shown" '^mapping 2 /nowhere/lib.so 0000$' "$format"
  same "$work/named" "$work/again"
  cmp -s "$work/named" "$work/again" || fail "$format: a second run changes the profile"
  "$unspool" profile --quiet --format same --no-lines "$work/plain" >"$work/lineless"
  has "$("${make[@]}" show "$work/lineless")" "^location $id work\|work\|:0:0$" "$format without lines"
  "$unspool" profile --quiet --format same --no-symbols "$work/plain" | cmp -s - "$work/plain" ||
    fail "$format: --no-symbols changes the profile"

  for output in tree folded pprof speedscope firefox json svg otlp; do
    "$unspool" profile --quiet --format "$output" "$work/plain" >"$work/out.$output" || fail "$format as $output"
    grep -aq work "$work/out.$output" || fail "$format as $output: no name"
  done
  folded=$("$unspool" profile --quiet --format folded --lines - <"$work/plain")
  has "$folded" '^worker;main;work;add 3$' "$format, folded"
  has "$folded" ';main;interpreted.x3bname [24]$' "$format, folded"
  # What is written as pprof reads as the same stacks.
  "$unspool" profile --quiet --format pprof --no-lines "$work/plain" >"$work/written.pb.gz"
  "$unspool" profile --quiet --format folded "$work/plain" | sort >"$work/a"
  if $zlib; then
    "$unspool" profile --quiet --format folded --no-symbols "$work/written.pb.gz" | sort >"$work/b"
    cmp "$work/a" "$work/b" || fail "$format: pprof that was written reads differently"
  fi

  # A time that no other type counts is a sample for each period, and counts in its unit without a period. A value of
  # OTLP that has a time of its own is one sample.
  "${make[@]}" write "$format" "$work/time" "${place[@]}" period=10000000
  "$unspool" profile --quiet --format folded "$work/time" | sort | cmp - "$work/a" ||
    fail "$format: a time is not a sample for each period"
  "${make[@]}" write "$format" "$work/time" "${place[@]}" period=0
  has "$("$unspool" profile --quiet --format folded "$work/time")" '^worker;main;work 30000000$' "$format without a period"

  # And so does OTLP, with the values of time.
  "$unspool" profile --quiet --format otlp "$work/plain" >"$work/written"
  for options in '' --lines '--lines --event cpu'; do
    # shellcheck disable=SC2086 # options are words
    "$unspool" profile --quiet --format folded ${options/event cpu/cpu} "$work/plain" | sort >"$work/a"
    # shellcheck disable=SC2086 # options are words
    "$unspool" profile --quiet --format folded ${options/event cpu/event cpu --wall} "$work/written" | sort >"$work/b"
    cmp "$work/a" "$work/b" || fail "$format: OTLP that was written reads differently with $options"
  done

  # Names in the file: one whose function holds the address stays and gets lines; lines stay; another name is replaced;
  # all stays without the build.
  rule() {
    "${make[@]}" write "$format" "$work/given" "${place[@]}" "${@:2}"
    same "$work/given" "$work/kept"
    "${make[@]}" compare "$work/given" "$work/kept" || fail "$format, given names: more than names has changed"
    has "$("${make[@]}" show "$work/kept")" "^location $id $1$" "$format, given ${*:2}"
  }
  rule "add\|add\|program.c:$inlined:[0-9]+ work\|[a-z]*\|program.c:$outer:[0-9]+" given=work
  rule "add\|add\|program.c:$inlined:[0-9]+ work\|work\|program.c:$outer:[0-9]+" given=main
  rule "add\|add\|.* a_label\|\|program.c:$outer:[0-9]+" given=a_label
  rule 'main\|\|.*' given=main build_id=00112233445566778899
  [[ $format == otlp ]] || rule 'work\|\|given.c:99:0' given=work line=99

  # An index suffices if the mapping shows where the code lies; a moved mapping must give no names.
  mv "$work/program" "$work/moved"
  [[ -d $work/store ]] || "$unspool" index --store "$work/store" "$work/moved" >/dev/null 2>&1 || fail "unspool index"
  "$unspool" profile --quiet --format same --index "$work/store" "$work/plain" >"$work/indexed"
  has "$("${make[@]}" show "$work/indexed")" "^location $id add\|add\|program.c:$inlined:[0-9]+ work\|work\|program.c:$outer:" "$format, index"
  "${make[@]}" write "$format" "$work/shifted" "${place[@]}" offset=0 size=10000000
  "$unspool" profile --quiet --format same --index "$work/store" "$work/shifted" | cmp -s - "$work/shifted" ||
    fail "$format: names by an index that does not fit"
  mv "$work/moved" "$work/program"

  # Cut off anywhere: what is whole, or an error.
  size=$(stat -c %s "$work/plain")
  for ((n = 0; n < size; n += 7 + n % 11)); do
    head -c "$n" "$work/plain" >"$work/cut"
    status=0
    "$unspool" profile --format folded "$work/cut" >"$work/out" 2>"$work/error" || status=$?
    [[ $status -eq 1 || $status -eq 3 ]] || { fail "$format, cut off after $n bytes: status $status" && break; }
    [[ -s $work/error ]] || fail "$format, cut off after $n bytes: no message"
  done
  status=0
  "$unspool" profile --format same "$work/cut" >"$work/out" 2>"$work/error" || status=$?
  [[ $status -eq 3 && ! -s $work/out ]] || fail "$format: --format same of a file that is cut off: status $status"
done
"${make[@]}" write otlp "$work/plain" "${place[@]}" strindex=1
same "$work/plain" "$work/named"
has "$("${make[@]}" show "$work/named")" "^location 1 1 add\|" "an attribute's value by number"

# The type of value, the process and the time are chosen.
"${make[@]}" write pprof "$work/plain" "${place[@]}"
has "$("$unspool" profile --quiet --format folded --cpu "$work/plain")" '^main;main 10000000$' "processor time"
has "$("$unspool" profile --quiet --format folded --comm worker "$work/plain")" '^worker;' "--comm"
[[ $("$unspool" profile --quiet --format folded --comm worker "$work/plain" | wc -l) -eq 1 ]] || fail "--comm"

# More samples than 32 bits hold, as in profiles of memory.
"${make[@]}" write pprof "$work/plain" "${place[@]}" samples=5000000000
has "$("$unspool" profile --quiet --format folded "$work/plain")" '^worker;main;work 5000000000$' "5,000,000,000 samples"
has "$("$unspool" profile --quiet --format tree --no-lines "$work/plain")" ' 5000000000 work ' "5,000,000,000 samples"
"${make[@]}" write otlp "$work/plain" "${place[@]}"
[[ $("$unspool" profile --quiet --format folded --pid 4242 "$work/plain" | wc -l) -eq 3 ]] || fail "--pid of OTLP"
status=0
"$unspool" profile --format folded --pid 4243 "$work/plain" >"$work/out" 2>"$work/error" || status=$?
[[ $status -eq 3 && ! -s $work/out ]] || fail "--pid of another process: status $status"
folded=$("$unspool" profile --quiet --format folded --comm 'all threads' --time 1700000000.000000006, "$work/plain")
has "$folded" '^all threads;main 1$' "--time of OTLP"
# Mappings of two processes at the same addresses.
"${make[@]}" write pprof "$work/plain" "${place[@]}" twin=1
folded=$("$unspool" profile --quiet --format folded "$work/plain")
has "$folded" '^worker;main;work 3$' "mappings that overlap"
has "$folded" '^main;main;twin.so.0x[0-9a-f]+ 6$' "mappings that overlap"
# Beside a kernel whose mapping extends to the last address, too.
"${make[@]}" write pprof "$work/plain" "${place[@]}" twin=1 kernel=1
folded=$("$unspool" profile --quiet --format folded "$work/plain")
has "$folded" '^worker;main;work 3$' "mappings that overlap, and the kernel"
has "$folded" '^main;main;twin.so.0x[0-9a-f]+ 6$' "mappings that overlap, and the kernel"
# A mapping of all addresses leaves room for others and for names without an address.
"${make[@]}" write pprof "$work/plain" "${place[@]}" everything=1
folded=$("$unspool" profile --quiet --format folded "$work/plain")
has "$folded" '^worker;main;work 3$' "a mapping of all addresses"
has "$folded" '^main;main;interpreted.x3bname 2$' "a mapping of all addresses"
has "$folded" '^main;main;all.so.0x1000 9$' "a mapping of all addresses"
# A name at an address in a mapping that its location does not have.
"${make[@]}" write pprof "$work/plain" "${place[@]}" stray=1
has "$("$unspool" profile --quiet --format folded "$work/plain")" '^main;main;interpreted.x3bname 10$' "a name without a mapping"
# Threads without an id, and of other processes, are threads of their own.
"${make[@]}" write pprof "$work/plain" "${place[@]}" ids=1
folded=$("$unspool" profile --quiet --format folded "$work/plain")
for line in 'main;main 1' 'third;main 11' 'fourth;main 12' 'other;main 13'; do
  has "$folded" "^$line$" "threads with equal ids"
done
# Times that are not in order, and a negative duration.
"${make[@]}" write otlp "$work/plain" "${place[@]}" late=1
"$unspool" profile --quiet --format json --comm 'all threads' "$work/plain" >"$work/json"
has "$(<"$work/json")" '"start_ns": 1700000000000000000,' "times of OTLP"
"$unspool" profile --quiet --format firefox --comm 'all threads' "$work/plain" >"$work/firefox"
"$unspool" profile --quiet --format otlp --comm 'all threads' "$work/plain" >"$work/written"
PYTHONPATH=$top/tests/profile python3 - "$work" <<'END' || fail "times of OTLP that are not in order"
import json, sys, readers
times = [one[0] for one in json.load(open(sys.argv[1] + "/json"))["time_line"]]
assert times == [1700000000000000005, 1700000000000000007], times
_, times = readers.read_firefox(open(sys.argv[1] + "/firefox").read())
assert [round(time * 1e6) for of in times.values() for time in of] == [5, 7], times
_, times, _ = readers.read_otlp(open(sys.argv[1] + "/written", "rb").read(), "samples")
assert list(times.values()) == [[1700000000000000005, 1700000000000000007]], times
END
# pprof has no times: they are not invented, and --time is refused.
"${make[@]}" write pprof "$work/plain" "${place[@]}"
"$unspool" profile --quiet --format otlp "$work/plain" >"$work/written"
PYTHONPATH=$top/tests/profile python3 - "$work/written" <<'END' || fail "pprof as OTLP"
import sys, readers
found, times, _ = readers.read_otlp(open(sys.argv[1], "rb").read(), "samples")
assert found[("worker", "main", "work", "add")] == 3 and not any(times.values()), (found, times)
found, _, _ = readers.read_otlp(open(sys.argv[1], "rb").read(), "cpu")
assert found[("worker", "main", "work", "add")] == 30000000, found
END
status=0
"$unspool" profile --time 0,1 "$work/plain" >"$work/out" 2>"$work/error" || status=$?
[[ $status -eq 2 && ! -s $work/out ]] || fail "--time of pprof: status $status"
has "$(<"$work/error")" '--time: a profile of pprof has sums of samples, without times' "--time of pprof"
# A file of another kind is refused by its first bytes: the program does not wait for the rest.
for first in '\0\0\0\0' '{ "a": 1 }' '\x7fELF' '#!/bin/sh' '<?xml version'; do
  mkfifo "$work/pipe"
  { printf "%b%1100s" "$first" '' && exec sleep 1000; } >"$work/pipe" &
  status=0
  timeout 300 "$unspool" profile "$work/pipe" >"$work/out" 2>"$work/error" || status=$?
  kill $! && rm "$work/pipe"
  [[ $status -eq 3 ]] || fail "a file that begins with $first: status $status"
  has "$(<"$work/error")" 'not a recording in a format that is known' "a file that begins with $first"
done
# So is a profile from before pprof's format, with the command that converts it: texts, and 32-bit and 64-bit words.
word='\0\0\0\0'
for first in 'heap profile: 3: 1024' '--- contention:\ncycles/second=1' 'goroutine profile: total 4' \
  "$word\x3\0\0\0$word\x10\x27\0\0$word" "$word$word\x3\0\0\0$word$word$word\x10\x27\0\0$word$word$word"; do
  printf "%b" "$first" >"$work/older"
  status=0
  "$unspool" profile "$work/older" >"$work/out" 2>"$work/error" || status=$?
  [[ $status -eq 3 ]] || fail "a file that begins with $first: status $status"
  has "$(<"$work/error")" 'an older format of gperftools or Go; .go tool pprof -proto FILE >NEW. converts it' "$first"
done
"${make[@]}" write pprof "$work/plain" "${place[@]}" duration=-1
"$unspool" profile --format folded "$work/plain" >"$work/out" 2>"$work/error"
has "$(<"$work/error")" ' threads in [0-9]\.[0-9] s$' "a negative duration"
# Samples without a stack are counted, not passed over in silence.
"${make[@]}" write pprof "$work/plain" "${place[@]}" empty=1
"$unspool" profile --format folded "$work/plain" >"$work/out" 2>"$work/error"
has "$(<"$work/error")" '^unspool: 3 samples have no stack and are left out$' "samples without a stack"
# Many samples that refer to the same large stack and attribute take time in proportion to the file.
"${make[@]}" write shared "$work/shared"
folded=$(is_sanitized || ulimit -t 20; "$unspool" profile --quiet --format folded "$work/shared") || fail "large messages: status $?"
has "$folded" 'main.* 50000$' "large messages"
# Images that are much alike are found as fast as others: with build ids that differ only at the end; with one path and
# without build ids, of different sizes.
PYTHONPATH=$top/tests/profile python3 - "$work" <<'END'
import sys
from protobuf import data, number

for name in "ids", "sizes":
    with open(sys.argv[1] + "/alike-" + name, "wb") as out:
        for text in "", "samples", "count", "/p":
            out.write(data(6, text))
        out.write(data(1, number(1, 1) + number(2, 2)))
        for i in range(1, 100001):
            start = i << 20
            mapping = number(1, i) + number(2, start) + number(3, start + 4096 + i) + number(5, 3)
            if name == "ids":
                out.write(data(6, "00" * 12 + "%016x" % i))
                mapping += number(6, 3 + i)
            out.write(data(3, mapping) + data(4, number(1, i) + number(2, i) + number(3, start + 256)) + data(2, number(1, i) + number(2, 1)))
END
for name in ids sizes; do
  folded=$(is_sanitized || ulimit -t 20; "$unspool" profile --quiet --no-symbols --format folded "$work/alike-$name") || fail "alike $name: status $?"
  [[ $(wc -l <<<"$folded") -eq 100000 ]] || fail "alike $name: $(wc -l <<<"$folded") stacks"
done
# Memory that does not suffice for the file.
if ! is_sanitized; then
  printf '\x0a\xff\xff\xff\x7f' >"$work/large"
  truncate -s 150M "$work/large"
  status=0
  (ulimit -v 130000 && "$unspool" profile "$work/large") >"$work/out" 2>"$work/error" || status=$?
  [[ $status -eq 4 && -s $work/error ]] || fail "memory for the file: status $status"
fi

# A location without an id is a damage.
{ cat "$work/plain" && printf '\x22\x02\x18\x05'; } >"$work/idless"
status=0
"$unspool" profile --format folded "$work/idless" >"$work/out" 2>"$work/error" || status=$?
[[ $status -eq 1 ]] || fail "a location without an id: status $status"
has "$(<"$work/out")" '^worker;main;work 3$' "a location without an id"
has "$(<"$work/error")" 'is damaged after' "a location without an id"

# gzip, of two members; damaged; of perf's own format.
"${make[@]}" write pprof "$work/packed" "${place[@]}" gzip=1
if $zlib; then
  same "$work/packed" "$work/named"
  gzip -t <"$work/named" || fail "gzip does not read what was written"
  "${make[@]}" compare "$work/packed" "$work/named" || fail "gzip: more than names has changed"
  size=$(stat -c %s "$work/packed")
  { head -c $((size / 2)) "$work/packed" && printf x && tail -c +$((size / 2 + 2)) "$work/packed"; } >"$work/damaged"
  head -c $((size - 3)) "$work/packed" >"$work/cut"
  { cat "$work/packed" && echo more; } >"$work/more"
  head -c 100000000 /dev/zero | gzip -c >"$work/bomb"
  for name in damaged cut more bomb; do
    status=0
    "$unspool" profile "$work/$name" >"$work/out" 2>"$work/error" || status=$?
    [[ $status -eq 3 && ! -s $work/out ]] || fail "gzip, $name: status $status"
    has "$(<"$work/error")" 'gzip' "gzip, $name"
  done
else
  "$unspool" profile "$work/packed" >"$work/out" 2>"$work/error" && fail "gzip without zlib"
  has "$(<"$work/error")" 'zlib' "gzip without zlib"
fi
printf 'PERFILE2%08d' 0 >"$work/perf"
status=0
"$unspool" profile --format same "$work/perf" 2>"$work/error" || status=$?
[[ $status -eq 2 ]] || fail "--format same of perf.data: status $status"
status=0
"$unspool" profile --format same --pid 1 "$work/packed" >/dev/null 2>"$work/error" || status=$?
[[ $status -eq 2 ]] || fail "--format same with --pid: status $status"
has "$(<"$work/error")" 'writes all samples' "--format same with --pid"

# OTLP allows empty mappings, of two bytes each. Their number is limited.
python3 - "$work/many" <<'END'
import sys
tables = b"\x0a\x00" * 5000000 + b"\x2a\x00"
length = bytes((len(tables) >> shift & 127) | (128 if len(tables) >> shift + 7 else 0) for shift in (0, 7, 14, 21))
open(sys.argv[1], "wb").write(b"\x12" + length + tables)
END
status=0
"$unspool" profile "$work/many" >/dev/null 2>"$work/error" || status=$?
[[ $status -ne 0 ]] || fail "more mappings than a profile has"
has "$(<"$work/error")" "up to 4,194,304 mappings" "more mappings than a profile has"
verdict
