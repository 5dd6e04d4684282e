#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that others read what `unspool profile --format same` writes: `go tool pprof` pprof, and the Python package
# opentelemetry-proto OTLP. A profile that a Go program writes of itself keeps its names. Skipped without both.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools go python3 nm readelf addr2line
read -ra cc <<<"${CC:-cc}"
python=${USP_OTLP_PYTHON:-python3}
"$python" -c 'from opentelemetry.proto.profiles.v1development import profiles_pb2' 2>/dev/null ||
  skip "the Python package opentelemetry-proto is not installed"
export PYTHONDONTWRITEBYTECODE=1 PPROF_TMPDIR=$work HOME=$work GOFLAGS=-mod=mod GOPROXY=off
make=(python3 "$top/tests/profile/profile_files.py")
cat >"$work/program.c" <<'END'
static volatile unsigned long sum;
static inline __attribute__((always_inline)) unsigned long add(unsigned long x) { return sum += x; }
__attribute__((noinline)) unsigned long work(unsigned long x) {
    for (int i = 0; i < 1000; i++) sum += 3 * add(x * (unsigned long)i);
    return sum;
}
int main(int argc, char **argv) {
    (void)argv;
    return (int)(work((unsigned long)argc) & 1);
}
END
"${cc[@]}" -O2 -g -gdwarf-4 -Wl,--build-id=sha1 -o "$work/program" "$work/program.c"
{ read -ra place && read -ra truth; } < <("${make[@]}" place "$work/program" 555500000000)
inlined=${truth[0]#*:} outer=${truth[1]#*:}
for format in pprof otlp; do
  "${make[@]}" write "$format" "$work/$format" "${place[@]}"
  "$unspool" profile --quiet --format same "$work/$format" >"$work/$format.named"
done

go tool pprof -symbolize=none -raw "$work/pprof.named" >"$work/raw" 2>"$work/error" || fail "pprof: $(<"$work/error")"
grep -qE "M=1 add .*/program.c:$inlined" "$work/raw" || fail "pprof: no inlined call" "$(<"$work/raw")"
grep -qE "^ +work .*/program.c:$outer" "$work/raw" || fail "pprof: no function" "$(<"$work/raw")"
grep -qE '/program [0-9a-f]+ \[FN\]\[FL\]\[LN\]\[IN\]$' "$work/raw" || fail "pprof: the mapping's flags" "$(<"$work/raw")"

"$python" - "$work" "$inlined" "$outer" <<'END' || fail "OTLP"
import sys
from opentelemetry.proto.profiles.v1development import profiles_pb2

def read(name):
    profile = profiles_pb2.ProfilesData()
    profile.ParseFromString(open(sys.argv[1] + "/" + name, "rb").read())
    return profile

before, after = read("otlp"), read("otlp.named")
table = after.dictionary
lines = [[(table.string_table[table.function_table[one.function_index].name_strindex], one.line)
          for one in location.lines] for location in table.location_table]
assert lines[1] == [("add", int(sys.argv[2])), ("work", int(sys.argv[3]))], lines
assert before.resource_profiles == after.resource_profiles
assert before.dictionary.stack_table == table.stack_table
assert before.dictionary.attribute_table == table.attribute_table
assert before.dictionary.mapping_table == table.mapping_table
assert list(table.string_table)[: len(before.dictionary.string_table)] == list(before.dictionary.string_table)
END

# Ours, with the times of its samples.
"$unspool" profile --quiet --format otlp "$work/otlp" >"$work/written.otlp"
"$python" - "$work/written.otlp" <<'END' || fail "OTLP that unspool writes"
import sys
from opentelemetry.proto.profiles.v1development import profiles_pb2

profile = profiles_pb2.ProfilesData()
profile.ParseFromString(open(sys.argv[1], "rb").read())
table = profile.dictionary
for items in (table.mapping_table, table.location_table, table.function_table, table.link_table, table.attribute_table,
              table.stack_table):
    assert items[0] == type(items[0])(), items[0]
resource = profile.resource_profiles[0]
assert resource.scope_profiles[0].scope.name == "unspool"
types = {}
for one in resource.scope_profiles[0].profiles:
    types[table.string_table[one.sample_type.type_strindex]] = one
    assert one.time_unix_nano == 1700000000000000000 and one.duration_nano == 2000000000, one
assert list(types) == ["samples", "wall", "cpu"], types
found = {}
for sample in types["samples"].samples:
    stack = [table.string_table[table.function_table[line.function_index].name_strindex]
             for number in table.stack_table[sample.stack_index].location_indices
             for line in table.location_table[number].lines]
    facts = {table.string_table[table.attribute_table[i].key_strindex]: table.attribute_table[i].value
             for i in sample.attribute_indices}
    found[tuple(stack)] = (list(sample.values), list(sample.timestamps_unix_nano), facts["thread.name"].string_value)
assert found[("add", "work", "main")][::2] == ([3], "worker"), found
assert found[("main",)] == ([1, 1], [1700000000000000005, 1700000000000000007], "all threads"), found
END

# A Go program's profile of itself has names and lines: they stay.
mkdir "$work/go"
cat >"$work/go/main.go" <<'END'
package main

import (
	"os"
	"runtime/pprof"
	"syscall"
)

var sum int

//go:noinline
func spin() {
	for i := 0; i < 1000; i++ {
		sum += i
	}
}

// The profile has samples of processor time, which a busy machine gives late.
func used() int64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano()
}

func main() {
	file, _ := os.Create(os.Args[1])
	_ = pprof.StartCPUProfile(file)
	for end := used() + 300000000; used() < end; {
		spin()
	}
	pprof.StopCPUProfile()
	file.Close()
}
END
(cd "$work/go" && GOCACHE=$work/cache/go go build -o program main.go && ./program cpu.pb.gz)
"$unspool" profile --quiet --format same "$work/go/cpu.pb.gz" >"$work/go/named.pb.gz"
for name in cpu named; do
  go tool pprof -symbolize=none -raw "$work/go/$name.pb.gz" 2>/dev/null | sed -n '/^Samples/,/^Mappings/p' >"$work/go/$name.raw"
done
grep -q 'main.spin' "$work/go/cpu.raw" || fail "the Go program's profile has no main.spin" "$(<"$work/go/cpu.raw")"
diff "$work/go/cpu.raw" "$work/go/named.raw" || fail "names of a Go program have changed"
"$unspool" profile --quiet --format folded "$work/go/cpu.pb.gz" >"$work/go/folded"
grep -q ';main.main;.*main.spin' "$work/go/folded" || fail "a Go program as folded stacks"
verdict
