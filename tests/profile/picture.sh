#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shows the flame graph in a real browser: the boxes are where the file puts them, a search marks them, a click zooms.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools chromium python3
make_work

# browse ARGUMENT...: prints the browser's output; the browser must not need more than a minute.
browse() {
  timeout 300 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 \
    --user-data-dir="$work/user" --window-size=1240,600 --virtual-time-budget=3000 "$@" 2>"$work/err"
}
export PYTHONPATH=$top/tests/profile PYTHONDONTWRITEBYTECODE=1

tests/profile/profile_writer svg >"$work/graph.svg"
browse --screenshot="$work/picture.png" "file://$work/graph.svg" || fail "no picture: $(cat "$work/err")"
python3 "$top/tests/profile/picture.py" "$work/graph.svg" "$work/picture.png" || fail "the picture is not what the file says"
browse --screenshot="$work/found.png" "file://$work/graph.svg#ship_" || fail "no picture: $(cat "$work/err")"
python3 "$top/tests/profile/picture.py" "$work/graph.svg" "$work/found.png" ship_ || fail "the search does not mark what it finds"
browse --dump-dom "file://$work/graph.svg#ship_" >"$work/found.svg"
grep -q '>3 boxes, 36.05%<' "$work/found.svg" || fail "the search does not say what it finds: $(cat "$work/found.svg")"

# The same file with a click at its end.
sed 's,</svg>,<script>window.addEventListener("load"\, function () {\
  boxes.find(function (b) { return name(b) === "ship_order"; }).dispatchEvent(new MouseEvent("click"));\
});</script></svg>,' "$work/graph.svg" >"$work/clicked.svg"
browse --dump-dom "file://$work/clicked.svg" >"$work/zoomed.svg"
python3 - "$work/zoomed.svg" <<'END' || fail "a click does not zoom"
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
boxes = re.findall(r'<g class="f([^"]*)"[^>]*><title>(.*?) \([^<]*</title><rect x="([0-9.]+)"[^>]*? width="([0-9.]+)"', text, re.S)
assert len(boxes) > 20, len(boxes)
shown = {name: (float(x), float(width)) for off, name, x, width in boxes if "off" not in off}
# The box and its callers fill the width; boxes beside it are hidden.
assert set(shown) == {"ship_order", "take", "check_out", "run", "main", "__libc_start_call_main"} or "_start" in str(shown), shown
for name, (x, width) in shown.items():
    assert abs(x - 10) < 0.1 and abs(width - 1180) < 0.1, (name, x, width)
assert re.search(r'id="reset" class="link"', text), "nothing leads back"
END
verdict
