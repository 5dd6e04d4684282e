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
verdict
