#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shows the page of `unspool report --html` in a real browser: the text of the report stays text, the thread that
# crashed is open and the others are closed, a click opens them, and the picture has the crash's colour.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools chromium python3

# browse ARGUMENT...: prints the browser's output; the browser must not need more than two minutes.
browse() {
  timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 \
    --user-data-dir="$work/user" --window-size=1240,700 --virtual-time-budget=3000 "$@" 2>"$work/browser"
}

# Hostile names: of the process, a function, a thread and an image.
cat >"$work/hostile.crash" <<'END'
Process:             App</title><h2> [4711]
Exception Type:  EXC_BAD_ACCESS (SIGSEGV)

Thread 0 Crashed:
0   App  0x0000000100003f60 <img src=x onerror="attacked=1"> + 4
1   App  0x0000000100003f70 main + 4 (main.c:7)

Thread 1 name:  </details><iframe>
Thread 1:
0   App  0x0000000100003f50 wait + 4
1   App  0x0000000100003f58 start & go + 4

Binary Images:
0x100000000 - 0x10000ffff App arm64 <0123abcd456789abcdef0123456789ab> /private/<script>attacked=1</script>/App
END
run 0 report --quiet --html "$work/hostile.crash"
cp "$work/out" "$work/page.html"
browse --screenshot="$work/picture.png" "file://$work/page.html" || fail "no picture: $(cat "$work/browser")"
# The same page with a script, which the page itself forbids, that measures the folds before and after a click.
sed -e '/Content-Security-Policy/d' -e 's,</body>,<script>window.addEventListener("load"\, function () {\
  var folds = document.querySelectorAll("details")\, said = [];\
  function measure() { folds.forEach(function (fold) { said.push(Math.round(fold.getBoundingClientRect().height)); }); }\
  measure(); folds[1].querySelector("summary").click(); measure();\
  document.body.setAttribute("data-heights"\, said.join(" "));\
  document.body.setAttribute("data-injected"\, document.querySelectorAll("img\, iframe\, h2").length + (window.attacked ? 1 : 0));\
});</script></body>,' "$work/page.html" >"$work/measured.html"
browse --dump-dom "file://$work/measured.html" >"$work/dom.html" || fail "no document: $(cat "$work/browser")"
PYTHONPATH=$top/tests/profile PYTHONDONTWRITEBYTECODE=1 python3 - "$work/dom.html" "$work/picture.png" <<'END' ||
import re, sys
import picture
text = open(sys.argv[1], encoding='utf-8').read()
heights = list(map(int, re.search(r'data-heights="([0-9 ]+)"', text)[1].split()))
before, after = heights[:len(heights) // 2], heights[len(heights) // 2:]
assert len(before) == 3, heights  # two threads and the images
# The thread that crashed is open, the others are closed; the click opens the second.
assert before[0] > before[1] + 30 and before[1] == before[2], heights
assert after[0] == before[0] and after[1] > before[1] + 30 and after[2] == before[2], heights
assert 'data-injected="0"' in text
assert re.search(r'<title>App&lt;/title&gt;&lt;h2&gt; \[4711\]: EXC_BAD_ACCESS', text), text[:600]
rows, size = picture.read_png(sys.argv[2])
reds = sum(row[x:x + 3] == b'\xc6\x28\x28' for row in rows for x in range(0, len(row), size))
assert reds > 20, reds
END
  fail "the browser shows something else: $(cat "$work/dom.html")"
verdict
