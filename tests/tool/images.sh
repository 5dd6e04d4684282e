#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares `unspool images` of a process, its raw capture and its file with the kernel's list and readelf.
# tests/symbolize/command.sh tests Mach-O, tests/tool/core.sh cores.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools readelf python3

start "$stuck"
run 0 images --json "$pid"
err_is_empty
cp "$work/out" "$work/process"
python3 - "$work/process" "/proc/$pid/maps" "$stuck" <<'END_OF_PROGRAM' || fail "other images than the kernel lists"
import json, sys

with open(sys.argv[1], encoding="utf-8") as file:
    images = json.load(file)["images"]
first = {}
for line in open(sys.argv[2], encoding="utf-8"):
    fields = line.split(None, 5)
    if len(fields) < 6:
        continue
    first.setdefault(fields[5].strip(), int(fields[0].split("-")[0], 16))
paths = [image["path"] for image in images]
assert sys.argv[3] in paths and len(set(paths)) == len(paths), paths
assert [image["path"] for image in images if "main" in image] == [sys.argv[3]]
addresses = [int(image["load_address"], 16) for image in images]
assert addresses == sorted(addresses)
for image, after in zip(images, addresses[1:] + [2**64]):
    load, end = int(image["load_address"], 16), int(image["end"], 16)
    mapping = "[vdso]" if "vdso" in image["path"] else image["path"]
    assert first[mapping] == load, (image, hex(first[mapping]))
    assert load < end <= after, (image, hex(after))
    assert load <= int(image["text_low"], 16) < int(image["text_high"], 16) <= end, image
END_OF_PROGRAM
run 0 images "$pid"
out_has "^load address +end +slide +arch +build +path$"
out_has "^0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+ [a-z0-9_]+ +([0-9a-f]+|-) +$stuck$"
[[ $(wc -l <"$work/out") -eq $(($(grep -c '"path"' "$work/process") + 1)) ]] || fail "text and JSON differ"

# The file's image has the same build id and size, at the addresses where it was linked.
run 0 images --json "$stuck"
cp "$work/out" "$work/file"
python3 - "$work/out" "$work/process" "$(readelf -n "$stuck" | sed -n 's/.*Build ID: //p')" <<'END_OF_PROGRAM' || fail "the file's image is not the process's: $(cat "$work/out")"
import json, sys

(image,) = json.load(open(sys.argv[1], encoding="utf-8"))["images"]
(loaded,) = [i for i in json.load(open(sys.argv[2], encoding="utf-8"))["images"] if "main" in i]
def number(of, key):
    return int(of[key], 16)
assert image.get("build_id", "") == sys.argv[3] == loaded.get("build_id", "")
assert image["slide"] == "0x0" and image["arch"] == loaded["arch"] and image["path"] == loaded["path"]
for key in "end", "text_low", "text_high", "load_address":
    assert (number(loaded, key) - number(image, key)) % 2**64 == number(loaded, "slide"), key
END_OF_PROGRAM

cp tests/tool/captures_itself "$work"
"$work/captures_itself" "$work/capture.raw" >/dev/null || fail "the program that captures itself ended with $?"
run 0 images "$work/capture.raw"
out_has "$work/captures_itself$"

# Files that are not images: the message has the file's name and the error.
cd "$work"
echo text >text
printf '!<arch>\n' >archive.a
head -c 70 "$stuck" >short
head -c 20 capture.raw >short.raw
run 3 images text
err_has '^unspool: text: offset 0x0: neither ELF nor Mach-O$'
run 3 images archive.a
err_has '^unspool: archive.a: offset 0x0: no image in it$'
run 3 images short
err_has '^unspool: short: offset 0x[0-9a-f]+: '
run 3 images short.raw
err_has '^unspool: short.raw: offset 0x'
run 3 images nothing
err_has '^unspool: nothing: '
run 3 images 2147483647
err_has '^unspool: there is no process 2147483647$'
run 2 images
err_has 'missing'
run 2 images a b
err_has 'one target'
run 2 images 0
err_has 'not a process id'
run 2 images --fly a
validate images "$work/process" "$work/file"
verdict
