#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool profile` with profiles that unspool saved as JSON: every format has what the library writes of the same
# samples; names come from the files, or stay; files that are cut off, damaged or hostile.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools python3
export PYTHONPATH=$top/tests/profile PYTHONDONTWRITEBYTECODE=1
writer=tests/profile/profile_writer
"$writer" json lines >"$work/lines.json"
"$writer" json bare >"$work/bare.json"
"$writer" json lines totals >"$work/totals.json"
convert() { "$unspool" profile --quiet "$@"; }

# What comes of the JSON is what the library writes itself. JSON has no place for a byte that is not UTF-8.
for saved in lines bare totals; do
  [[ $saved == totals ]] && also=(totals) || also=()
  for format in folded pprof otlp speedscope firefox json svg tree; do
    "$writer" "$format" lines "${also[@]}" >"$work/$saved.$format.own"
    lines=()
    [[ $format != folded ]] || lines=(--lines)
    convert --format "$format" "${lines[@]}" "$work/$saved.json" >"$work/$saved.$format.read" || fail "$saved as $format"
  done
done
for value in wall cpu; do
  "$writer" folded "$value" >"$work/$value.folded.own"
  convert --format folded "--$value" "$work/bare.json" >"$work/$value.folded.read"
done
python3 - "$work" <<'END' || fail "a format differs"
import json, sys, readers

def both(name, read):
    own, again = (open(sys.argv[1] + "/" + name + end, "rb").read() for end in (".own", ".read"))
    own, again = (read(one.replace(b"\\\\xff", "\ufffd".encode()).replace(b"\\xff", "\ufffd".encode())) for one in (own, again))
    assert own == again, "%s:\n%s\n%s" % (name, own, again)

def text(read, *more):
    return lambda content: read(content.decode(), *more)

for saved in ("lines", "bare", "totals"):
    both(saved + ".folded", text(readers.read_folded))
    for value in range(3):
        raw = lambda content: readers.read_pprof(content, value)
        own, again = (open("%s/%s.pprof.%s" % (sys.argv[1], saved, end), "rb").read() for end in ("own", "read"))
        own, again = ({tuple(part.replace("\\xff", "\ufffd") for part in path): n for path, n in raw(one).items()} for one in (own, again))
        assert own == again, (saved, value, own, again)
    for value in ("samples", "wall", "cpu"):
        own, again = (open("%s/%s.otlp.%s" % (sys.argv[1], saved, end), "rb").read() for end in ("own", "read"))
        (own, times, facts), (again, times_again, facts_again) = (readers.read_otlp(one, value) for one in (own, again))
        own = {tuple(part.replace("\\xff", "\ufffd") for part in path): n for path, n in own.items()}
        assert own == again and times == times_again and facts == facts_again, (saved, value, own, again, times, times_again)
    both(saved + ".speedscope", text(readers.read_speedscope))
    # Without a time line samples follow each other.
    both(saved + ".firefox", lambda one: readers.read_firefox(one.decode())[: 1 if saved == "totals" else 2])
    both(saved + ".svg", text(readers.read_svg))
    both(saved + ".tree", text(readers.read_tree))
    for value in ("samples", "wall_ns", "cpu_ns"):
        both(saved + ".json", text(readers.read_json, value))
    # Where functions begin is only what the profile has.
    both(saved + ".json", lambda one: {place[: 4 if saved == "lines" else 2] for place in readers.json_places(one.decode())})
    own, again = (json.load(open("%s/%s.json.%s" % (sys.argv[1], saved, end), "rb")) for end in ("own", "read"))
    for key in ("program", "pid", "arch", "samples"):
        assert own[key] == again[key], key
    kinds = [sorted((frame["kind"], frame.get("image_offset", "")) for frame in one["frames"]) for one in (own, again)]
    assert kinds[0] == kinds[1], kinds
    assert sorted(map(str, own["threads"])) == sorted(map(str, again["threads"])), again["threads"]
    length = [one["run"]["end_ns"] - one["run"]["start_ns"] for one in (own, again)]
    assert length[0] == length[1] and again["run"]["wall_start_ns"] == own["run"]["wall_start_ns"], length
for value in ("wall", "cpu"):
    both(value + ".folded", text(readers.read_folded))
END

# Without the files' builds the names that the profile has stay, and --no-symbols looks up none.
sed -E 's/"build_id": "[0-9a-f]{4}/"build_id": "ffff/' "$work/lines.json" >"$work/other.json"
convert --format folded --lines "$work/other.json" | sort >"$work/other"
convert --format folded --lines "$work/lines.json" | sort | cmp -s - "$work/other" || fail "names of another build"
grep -q '^main;.*+0x' <<<"$(convert --format folded --no-symbols "$work/bare.json")" || fail "--no-symbols"
# A wrong name is replaced.
sed 's/"name": "ship_order"/"name": "take"/' "$work/lines.json" >"$work/wrong.json"
grep -q '^main;.*;ship_order;take 20$' <<<"$(convert --format folded "$work/wrong.json")" || fail "a wrong name"

# Samples are chosen; by times of day, too: the clock has no meaning after the run.
convert --format folded --comm unnamed "$work/lines.json" >"$work/out"
[[ $(wc -l <"$work/out") -eq 1 ]] || fail "--comm" "$(<"$work/out")"
convert --format folded --time 1700000000.02,1700000000.04 "$work/lines.json" >"$work/out"
[[ $(awk '{ n += $NF } END { print n }' "$work/out") -eq 2 ]] || fail "--time" "$(<"$work/out")"
status=0
"$unspool" profile --pid 1 "$work/lines.json" >/dev/null 2>&1 || status=$?
[[ $status -eq 3 ]] || fail "--pid: status $status"
status=0
"$unspool" profile --format same "$work/lines.json" >"$work/out" 2>"$work/error" || status=$?
[[ $status -eq 2 && ! -s $work/out ]] || fail "--format same: status $status"
grep -q -- '--format json writes this profile with names' "$work/error" || fail "--format same" "$(<"$work/error")"
[[ $(convert --format folded - <"$work/lines.json" | sort) == "$(convert --format folded "$work/bare.json" | sort)" ]] ||
  fail "standard input"

# Cut off anywhere: what is whole, with status 1, or an error.
size=$(stat -c %s "$work/bare.json")
for ((n = 0; n < size; n += 397 + n % 131)); do
  head -c "$n" "$work/bare.json" >"$work/cut"
  status=0
  "$unspool" profile --no-symbols --format folded "$work/cut" >"$work/out" 2>"$work/error" || status=$?
  [[ $status -eq 1 || $status -eq 3 ]] || { fail "cut off after $n bytes: status $status" && break; }
  [[ -s $work/error ]] || fail "cut off after $n bytes: no message"
done
at=$(grep -bo '"time_line"' "$work/lines.json" | cut -d: -f1)
head -c $((at + 30)) "$work/lines.json" >"$work/cut"
status=0
"$unspool" profile --quiet --format folded "$work/cut" >"$work/out" 2>"$work/error" || status=$?
[[ $status -eq 1 ]] || fail "a time line that is cut off: status $status"
[[ $(awk '{ n += $NF } END { print n }' "$work/out") -eq 86 ]] || fail "a time line that is cut off" "$(<"$work/out")"

# References to items that do not exist, callers in a circle, JSON of another kind or version.
# refused NAME SED-COMMAND STATUS
refused() {
  sed -E "$2" "$work/lines.json" >"$work/bad.json"
  ! cmp -s "$work/lines.json" "$work/bad.json" || fail "$1: nothing has changed"
  status=0
  "$unspool" profile --quiet --format json "$work/bad.json" >"$work/out" 2>"$work/error" || status=$?
  [[ $status -eq $3 && -s $work/error ]] || fail "$1: status $status" "$(<"$work/error")"
}
refused "a frame's function" 's/"function": 5,/"function": 99999999999,/' 1
refused "a frame's image" 's/"image": 2, "image_offset"/"image": 3, "image_offset"/' 1
refused "a stack's frame" 's/"frame": 5\}/"frame": 4294967295}/' 1
refused "a caller after its callee" 's/"caller": 1, "frame": 2\}/"caller": 2, "frame": 2}/' 1
refused "a total's stack" 's/"stack": 5,/"stack": 500,/' 1
refused "a total's thread" 's/"thread": 4,/"thread": 18446744073709551615,/' 1
refused "a sample's total" 's/^(    \[[0-9]+, )0,/\118446744073709551615,/' 1
refused "another version" 's/"version": 1,/"version": 2,/' 3
refused "no profile" 's/"images"/"pictures"/' 3
refused "no JSON" 's/"stacks": /"stacks" /' 3
sed -E 's/"samples": 40,/"samples": 18446744073709551615,/; s/"wall_ns": 400000000/"wall_ns": 18446744073709551615/; s/"end": "0x[0-9a-f]+"/"end": "0xffffffffffffffff"/' \
  "$work/lines.json" >"$work/large.json"
status=0
convert --format tree "$work/large.json" >"$work/out" 2>"$work/error" || status=$?
[[ $status -le 4 ]] || fail "the largest numbers: status $status"

# Profiles that are made here: frames of one address that differ in their kinds; threads with one id and name; gaps of
# many frames, many samples of which end in the same gap; more stacks than a profile can have.
python3 - "$work" <<'END'
import json, sys

def write(name, **parts):
    whole = dict(version=1, program="/p", pid=7, arch="armv7", run=dict(wall_start_ns=1700000000000000000), images=[dict(path="/p", load_address="0x1000", end="0x9000")],
                 functions=[dict(name=name, named=True) for name in "main f g h".split()], threads=[dict(id=5, name="a", main=True)])
    whole.update(parts)
    with open("%s/%s.json" % (sys.argv[1], name), "w") as out:
        json.dump(whole, out)

def frame(address, kind, function, **more):
    return dict(address=hex(address), kind=kind, image=0, function=function, **more)

def total(stack, thread=0):
    return dict(thread=thread, stack=stack, samples=1, wall_ns=1, cpu_ns=1)

main = frame(0x2000, "return-address", 0)
write("kinds", stacks=[dict(frame=0)] + [dict(caller=0, frame=i) for i in range(1, 6)], totals=[total(i) for i in range(1, 6)],
      frames=[main, frame(0x2100, "interrupted", 1), frame(0x2100, "return-address", 2), frame(0x2300, "interrupted", 3),
              frame(0x2301, "return-address", 3), frame(0x2400, "interrupted", 1, thumb=True)])
write("threads", frames=[main], stacks=[dict(frame=0)], totals=[total(0), total(0, 1)], threads=[dict(id=5, name="a", main=False)] * 2)
count = 200000
write("gaps", frames=[main], stacks=[dict(frame=0)] + [dict(caller=i) for i in range(count)] + [dict(caller=count, frame=0)],
      totals=[total(count + 1)] * count)
write("many", frames=[main], stacks=[{}] * (4194304 + 1))
END
convert --no-symbols --format json "$work/kinds.json" >"$work/kinds.read"
convert --no-symbols --format json "$work/threads.json" >"$work/threads.read"
convert --no-symbols --format otlp "$work/kinds.json" >"$work/kinds.otlp"
convert --no-symbols --format folded "$work/kinds.json" >"$work/kinds.folded"
python3 - "$work" <<'END' || fail "a profile that was made"
import json, sys, readers

def read(name):
    return json.load(open("%s/%s" % (sys.argv[1], name)))

kinds, threads = read("kinds.read"), read("threads.read")
named = sorted((one.get("image_offset", ""), one["kind"], kinds["functions"][one["function"]]["name"], one.get("thumb", False)) for one in kinds["frames"])
assert named == [("0x1000", "return-address", "main", False), ("0x1100", "interrupted", "f", False), ("0x1100", "return-address", "g", False),
                 ("0x1300", "interrupted", "h", False), ("0x1301", "return-address", "h", False), ("0x1400", "interrupted", "f", True)], named
assert [one["name"] for one in threads["threads"]] == ["a", "a"] and [one["samples"] for one in threads["totals"]] == [1, 1], threads
# The reader checks that no item is there twice. The two places in h are one in OTLP.
found, _, _ = readers.read_otlp(open(sys.argv[1] + "/kinds.otlp", "rb").read(), "samples")
assert found == {("a", "main", "f"): 2, ("a", "main", "g"): 1, ("a", "main", "h"): 2}, found
END
folded=$(is_sanitized || ulimit -t 20; convert --no-symbols --format folded "$work/gaps.json") || fail "gaps: status $?"
[[ $folded == 'a;main;[frames left out];main 200000' ]] || fail "gaps" "$folded"
status=0
"$unspool" profile --quiet "$work/many.json" >"$work/out" 2>"$work/error" || status=$?
[[ $status -eq 3 ]] || fail "too many stacks: status $status"
grep -q 'up to 4,194,304 mappings, locations, functions and stacks' "$work/error" || fail "too many stacks" "$(<"$work/error")"

# Sums of pprof have no times: OTLP does not get times of day for them, not by way of JSON either.
"$writer" pprof >"$work/sums.pprof"
convert --no-symbols --format json "$work/sums.pprof" >"$work/sums.json"
convert --no-symbols --format otlp "$work/sums.json" >"$work/sums.otlp"
python3 - "$work/sums.otlp" <<'END' || fail "sums of pprof as OTLP"
import sys, readers

found, times, _ = readers.read_otlp(open(sys.argv[1], "rb").read(), "samples")
assert sum(found.values()) == 86 and not any(times.values()), (found, times)
END
verdict
