#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool report --html`, which writes one page, and `--diff`, which compares two reports. report_page.sh opens
# such a page in a browser.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3

# ---- --diff
cat >"$work/old.crash" <<'END'
Process:             App [4711]
Version:             1.0 (7)
Date/Time:           2026-11-28 10:00:00.000 +0100
Exception Type:  EXC_BAD_ACCESS (SIGSEGV)

Thread 0 Crashed:
0   App  0x0000000100003f60 read_item + 4 (item.c:10)
1   App  0x0000000100003f68 read_list + 4 (list.c:20)
2   App  0x0000000100003f6c read_file + 4 (file.c:5)
3   App  0x0000000100003f70 main + 4 (main.c:7)

Thread 1 name:  worker
Thread 1:
0   libsystem_kernel.dylib  0x0000000200003f50 wait + 4
1   App  0x0000000100003f58 work + 4

Thread 2:
0   App  0x0000000100004f58 0x100000000 + 20312

Thread 3 name:  old
Thread 3:
0   App  0x0000000100003f58 once + 4

Binary Images:
0x100000000 - 0x10000ffff App arm64 <0123abcd456789abcdef0123456789ab> /private/App
0x200000000 - 0x20000ffff libsystem_kernel.dylib arm64 <1123abcd456789abcdef0123456789ab> /usr/lib/system/libsystem_kernel.dylib
END
# Another run: other addresses and thread numbers, a function more and one less, a line that moved.
cat >"$work/new.crash" <<'END'
Process:             App [4712]
Version:             1.1 (8)
Date/Time:           2026-11-29 10:00:00.000 +0100
Exception Type:  EXC_BAD_ACCESS (SIGSEGV)

Thread 0:
0   App  0x0000000300004f58 0x300000000 + 20312

Thread 1 Crashed:
0   App  0x0000000300005f60 read_item + 8 (item.c:12)
1   App  0x0000000300005f64 check_item + 8 (item.c:40)
2   App  0x0000000300005f6c read_file + 4 (file.c:5)
3   App  0x0000000300005f70 main + 4 (main.c:7)

Thread 2 name:  worker
Thread 2:
0   libsystem_kernel.dylib  0x0000000200003f50 wait + 4
1   App  0x0000000300003f58 work + 4

Binary Images:
0x200000000 - 0x20000ffff libsystem_kernel.dylib arm64 <1123abcd456789abcdef0123456789ab> /usr/lib/system/libsystem_kernel.dylib
0x300000000 - 0x30000ffff App arm64 <2123abcd456789abcdef0123456789ab> /private/App
END
cat >"$work/wanted" <<'END'
- Version:             1.0 (7)
+ Version:             1.1 (8)

Thread 0 Crashed:
  App read_item (item.c:10 -> item.c:12)
- App read_list (list.c:20)
+ App check_item (item.c:40)
  App read_file (file.c:5)
  App main (main.c:7)

- Thread 3 (old):
- App once

2 stacks are equal in both.

Binary Images:
- App <0123abcd456789abcdef0123456789ab> /private/App
+ App <2123abcd456789abcdef0123456789ab> /private/App

END
# differs FILE FILE: compares two files, without the columns' blanks, with $work/wanted.
differs() {
  run 0 report --quiet --diff "$@"
  [[ $(head -2 "$work/out") == "--- ${*: -2:1}"$'\n'"+++ ${*: -1}" ]] || fail "another heading: $(head -2 "$work/out")"
  tail -n +4 "$work/out" | sed -E 's/^([-+ ] )(App|lib[^ ]*) {2,}/\1\2 /' | diff "$work/wanted" - || fail "$*: other differences"
}
differs "$work/old.crash" "$work/new.crash"
echo 'No differences.' >"$work/wanted"
run 0 report --quiet --diff "$work/old.crash" "$work/old.crash"
grep -qx 'No differences.' "$work/out" || fail "a report differs from itself: $(cat "$work/out")"
# The other direction has the other marks.
run 0 report --quiet --diff --thread crashed "$work/new.crash" "$work/old.crash"
out_has '^\+ App +read_list \(list\.c:20\)$'
out_has '^- App +check_item \(item\.c:40\)$'
out_lacks 'worker|once'
run 1 report --quiet --diff --thread 9 "$work/new.crash" "$work/old.crash"
err_has 'new\.crash: no thread has the number or id 9$'
err_has 'old\.crash: no thread has the number or id 9$'
run 2 report --diff "$work/new.crash"
err_has '^unspool: --diff compares two files, not 1$'
run 2 report --diff --json "$work/new.crash" "$work/old.crash"
err_has 'exclude each other'
run 3 report --diff "$work/new.crash" "$work/missing"

# Stacks that are too large to be aligned, and damaged ones: all of one, then all of the other.
python3 - "$work" <<'END'
import sys
for name, letter in (('a', 'f'), ('b', 'g')):
    with open(f'{sys.argv[1]}/large-{name}.crash', 'w') as out:
        out.write('Thread 0 Crashed:\n')
        out.writelines(f'{i:<4d}App  0x{0x100000000 + i:016x} {letter}{i} + 4\n' for i in range(1500))
        out.write('\nBinary Images:\n0x100000000 - 0x10000ffff App arm64 <0123abcd456789abcdef0123456789ab> /private/App\n')
END
run 0 report --quiet --diff "$work/large-a.crash" "$work/large-b.crash"
[[ $(grep -c '^- App' "$work/out") -eq 1500 && $(grep -c '^+ App' "$work/out") -eq 1500 ]] || fail "large stacks are not whole"

# The same where one stack alone is too large, and the other is small: the frame that both have is not found.
python3 - "$work" <<'END'
import sys
for name, before, after in (('few', ['x'], ['y']), ('many', ['f'] * (1 << 19), ['f'] * (1 << 19))):
    names = {}
    with open(f'{sys.argv[1]}/{name}.xml', 'w') as out:
        out.write('<trace-query-result><row><thread id="1" fmt="T"/><backtrace id="1">')
        for function in [*before, 'both', *after]:
            known = names.get(function)
            names.setdefault(function, len(names) + 2)
            out.write(f'<frame ref="{known}"/>' if known else f'<frame id="{names[function]}" name="{function}" addr="0x1000"/>')
        out.write('</backtrace></row></trace-query-result>')
END
run 0 report --quiet --diff "$work/few.xml" "$work/many.xml"
[[ $(grep -cE '^[-+] .* both$' "$work/out") -eq 2 ]] || fail "a small and a large stack are aligned"

# Many equal stacks: each is compared with few others, which takes a tenth of this limit of processor time.
python3 - "$work/threads.ips" <<'END'
import json, sys
threads = [{'id': i, 'frames': [{'imageOffset': i, 'imageIndex': 0}]} for i in range(250000)]
image = {'base': 1 << 32, 'name': 'App', 'uuid': '0123abcd-4567-89ab-cdef-0123456789ab'}
with open(sys.argv[1], 'w') as out:
    out.write(json.dumps({'app_name': 'App', 'timestamp': 'x'}) + '\n')
    json.dump({'usedImages': [image], 'threads': threads}, out)
END
# Sanitizers need more of both.
(is_sanitized || ulimit -t 10; "$unspool" report --quiet --diff "$work/threads.ips" "$work/threads.ips") >"$work/out" || fail "many equal stacks"
out_has '^250000 stacks are equal in both\.$'

# Texts of two fields that alternate take memory in proportion to the file.
python3 - "$work/alternating.crash" <<'END'
import sys
with open(sys.argv[1], 'w') as out:
    for report in range(100):
        out.write('Process: App\n' + 'Application Specific Information:\na\n\nVM Region Info:\nb\n\n' * 400)
        out.write('\nThread 0:\n0   App 0x0000000100000010 0x100000000 + 16\n\n')
END
(is_sanitized || ulimit -v 400000; "$unspool" report --quiet "$work/alternating.crash") >"$work/out" || fail "texts that alternate: status $?"
[[ $(grep -c '^VM Region Info: *b b b' "$work/out") -eq 100 ]] || fail "texts that alternate"

# A hole in a sparse file takes no memory. Its text is shown.
cp "$work/old.crash" "$work/sparse.crash"
truncate -s 600M "$work/sparse.crash"
(is_sanitized || ulimit -v 400000; "$unspool" report --quiet "$work/sparse.crash") >"$work/sparse.shown" || fail "a sparse file: status $?"
run 0 report --quiet "$work/old.crash"
cmp "$work/out" "$work/sparse.shown" || fail "a sparse file is shown in another way"
# Any size takes no time either: holes are skipped. A log is written without them.
truncate -s 1T "$work/sparse.crash"
(echo && cat "$work/old.crash") >>"$work/sparse.crash"
(cat "$work/old.crash" && echo && cat "$work/old.crash") >"$work/twice.crash"
mkdir "$work/none"
(ulimit -t 20; "$unspool" report --quiet "$work/sparse.crash") >"$work/sparse.shown" || fail "a file of 1 TB: status $?"
run 0 report --quiet "$work/twice.crash"
cmp "$work/out" "$work/sparse.shown" || fail "a file of 1 TB is shown in another way"
(ulimit -t 20; "$unspool" symbolize --search "$work/none" --log "$work/sparse.crash") >"$work/sparse.log" 2>"$work/err" || :
err_has '^unspool: .*/sparse\.crash: 10995[0-9]+ bytes were never written \(holes\), and are left out$'
tr -d '\0' <"$work/sparse.log" | cmp - "$work/twice.crash" || fail "a log of 1 TB is written in another way"

# ---- --html
run 0 report --quiet --html "$work/old.crash"
python3 - "$work/out" <<'END' || fail "the page is not as it should be"
import sys
from html.parser import HTMLParser


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.folds, self.rows, self.cell, self.title = [], [], [], None, ''

    def handle_starttag(self, tag, attributes):
        assert tag not in ('script', 'img', 'link', 'iframe'), tag
        assert not any(key in ('src', 'href') or key.startswith('on') for key, _ in attributes), attributes
        if tag != 'meta':
            self.open.append(tag)
        if tag == 'details':
            self.folds.append('open' in dict(attributes))
        if tag == 'tr':
            self.rows.append([])
        if tag == 'td':
            self.rows[-1].append('')

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.open)

    def handle_data(self, data):
        if 'td' in self.open:
            self.rows[-1][-1] += data
        if self.open[-1:] == ['title']:
            self.title += data


page = Page()
page.feed(open(sys.argv[1], encoding='utf-8').read())
page.close()
assert page.open == [], page.open
assert page.title == 'App [4711]: EXC_BAD_ACCESS (SIGSEGV)', page.title
assert page.folds == [True, False, False, False, False], page.folds
assert page.rows[0] == ['0', 'App', '0x0000000100003f60', 'read_item + 4', 'item.c:10'], page.rows
assert page.rows[6] == ['0', 'App', '0x0000000100004f58', '0x100000000 + 20312'], page.rows[6]
assert len(page.rows) == 8, page.rows
END
run 0 report --quiet --html --app --thread 1 "$work/old.crash"
out_has '<td colspan="4">1 frame of the system</td>'
out_lacks 'read_item'
sed 's/read_item/<q>\&"read/; s/worker/<u>/; s/Version:  /&<s>/; s,/private/App,/<s>/App,' "$work/old.crash" >"$work/marks.crash"
run 0 report --quiet --html "$work/marks.crash"
out_has '<td>&lt;q&gt;&amp;&quot;read \+ 4</td>'
out_lacks '<[qus]>'
run 2 report --html "$work/old.crash" "$work/new.crash"
err_has '^unspool: --html shows one file, not 2$'
# Samples: a row for each node, and the heaviest stack in bold.
printf '%s\n' 'Call graph:' '    3 Thread_1' '    + 3 main  (in App) + 4  [0x100000010]' '    +   2 work  (in App) + 4  [0x100000020]' \
  '    +   1 rest  (in App) + 4  [0x100000030]' >"$work/sample.txt"
run 0 report --quiet --html "$work/sample.txt"
out_has '^<tr class="heavy"><td>2</td><td>App</td><td>0x0000000100000020</td><td style="padding-left:1em">work \+ 4</td></tr>$'
out_has '^<tr><td>1</td><td>App</td><td>0x0000000100000030</td><td style="padding-left:1em">rest \+ 4</td></tr>$'
verdict
