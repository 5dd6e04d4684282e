#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that `unspool stack --json` writes valid JSON, whatever bytes names contain, and with everything that the text
# has.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3

start "$stuck"
run 0 stack --json "$pid"
err_is_empty
python3 -m json.tool "$work/out" >/dev/null || fail "this is not JSON"
python3 - "$work/out" "$pid" "$stuck" <<'END' || fail "the JSON does not hold what it should"
import json, re, sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
pid, program = int(sys.argv[2]), sys.argv[3]
assert report["version"] == 1
assert report["process"]["pid"] == pid and report["process"]["program"] == program
assert report["process"]["os"] == "linux" and report["process"]["threads_missed"] == 0
assert len(report["threads"]) == 3
main, worker = report["threads"][0], next(t for t in report["threads"] if t["name"].startswith("w"))
assert main["main"] and main["id"] == pid and not worker["main"]
assert worker["name"] == 'w\x1b[31m"\\\ufffdé!', worker["name"]
names = [frame.get("symbol") for frame in main["frames"]]
start = names.index("inner")
assert names[start : start + 3] == ["inner", "outer", "main"], names
for thread in report["threads"]:
    assert thread["ends"] and thread["omitted"] == 0 and "rip" not in thread or thread["registers"]
    for frame in thread["frames"]:
        assert re.fullmatch("0x[0-9a-f]+", frame["address"])
        image = report["images"][frame["image"]]
        low = int(image["load_address"], 16)
        assert low <= int(frame["address"], 16) < int(image["end"], 16)
        assert int(frame["address"], 16) == low + int(frame["image_offset"], 16)
frame = main["frames"][start]
assert report["images"][frame["image"]]["path"] == program
assert frame["named_by"] == "symtab" and main["frames"][0]["kind"] == "interrupted"
END

run 0 stack --json --no-symbols "$pid"
out_lacks '"symbol"'
python3 -m json.tool "$work/out" >/dev/null || fail "--no-symbols: this is not JSON"

start "$stuck" held
run 0 stack --json "$pid"
python3 - "$work/out" <<'END' || fail "a thread that cannot be stopped is not reported"
import json, sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
held = [thread for thread in report["threads"] if thread.get("not_stopped")]
assert len(held) == 1 and "stopped_ns" not in held[0] and report["process"]["threads_missed"] == 0
assert "be_held" in [frame.get("symbol") for frame in held[0]["frames"]]
END
verdict
