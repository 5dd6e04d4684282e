#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests what becomes of an exported recording of Instruments: the text with names and source lines, and the report with
# a tree for each thread, hangs, old forms, and a large file in little memory.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3 gcc

# ---- ids and references: two threads, three samples, one hang
cat >"$work/trace.xml" <<'END'
<?xml version="1.0"?>
<trace-query-result>
<node xpath='//trace-toc[1]/run[1]/data[1]/table[3]'><schema name="time-profile"/>
<row><sample-time id="1" fmt="00:00.300">300613208</sample-time><thread id="2" fmt="Main Thread 0x1c0a (App, pid: 47)"><tid id="3" fmt="0x1c0a">7178</tid><process id="4" fmt="App (47)"><pid id="5" fmt="47">47</pid></process></thread><weight id="6" fmt="1.00 ms">1000000</weight><tagged-backtrace id="7" fmt="draw &lt;- (2 other frames)"><backtrace id="8"><frame id="9" name="draw(Box&lt;int&gt;)" addr="0x100000100"><binary id="10" name="App" UUID="0123ABCD-4567-89AB-CDEF-0123456789AB" arch="arm64" load-addr="0x100000000" path="/private/App"/></frame><frame id="11" name="run" addr="0x100000201"><binary ref="10"/><source line="7"><path id="12">/src/run.c</path></source></frame><frame id="13" name="main" addr="0x100000301"><binary ref="10"/></frame></backtrace></tagged-backtrace></row>
<row><thread ref="2"/><process ref="4"/><weight ref="6"/><tagged-backtrace ref="7"/></row>
<row><thread ref="2"/><backtrace id="20"><frame id="21" name="0x190000008" addr="0x190000008"><binary id="22" name="libz.dylib" UUID="1123ABCD-4567-89AB-CDEF-0123456789AB" arch="arm64" load-addr="0x190000000" path="/usr/lib/libz.dylib"/></frame><frame id="23" name="run" addr="0x100000211"><binary ref="10"/></frame><frame ref="13"/></backtrace></row>
<row><thread id="30" fmt="worker 0x2 (App, pid: 47)"><tid id="31">9</tid><process ref="4"/></thread><sentinel/></row>
<row><thread ref="30"/><backtrace ref="20"/></row>
<row><start-time id="40" fmt="1">1</start-time><duration id="41" fmt="350.00 ms">350000000</duration><hang-type id="42" fmt="Severe Hang">Severe Hang</hang-type><thread ref="2"/><backtrace ref="8"/></row>
</node></trace-query-result>
END
run 0 report --quiet "$work/trace.xml"
sed -n '/^Thread/,/^Binary/p' "$work/out" | sed '$d' >"$work/found"
cat >"$work/wanted" <<'END'
Thread 7178 name:  Main Thread 0x1c0a (App, pid: 47)
Thread 7178:
Heaviest stack:
  3    main (in App) [0x100000300]
  3    run (in App)
  2    draw(Box<int>) (in App) [0x100000100]
Call tree:
  3    main (in App) [0x100000300]
    3    run (in App)
      1    0x190000000 + 8 (in libz.dylib) [0x190000008]
      2    draw(Box<int>) (in App) [0x100000100]

Thread 9 name:  worker 0x2 (App, pid: 47)
Thread 9:
Heaviest stack:
  1    main (in App) [0x100000300]
  1    run (in App) [0x100000210]
  1    0x190000000 + 8 (in libz.dylib) [0x190000008]
Call tree:
  1    main (in App) [0x100000300]
    1    run (in App) [0x100000210]
      1    0x190000000 + 8 (in libz.dylib) [0x190000008]

Thread 7178 name:  Severe Hang, 350.00 ms: Main Thread 0x1c0a (App, pid: 47)
Thread 7178:
Heaviest stack:
  1    main (in App) [0x100000300]
  1    run (in App) [0x100000200]
  1    draw(Box<int>) (in App) [0x100000100]
Call tree:
  1    main (in App) [0x100000300]
    1    run (in App) [0x100000200]
      1    draw(Box<int>) (in App) [0x100000100]

END
diff "$work/wanted" "$work/found" || fail "other trees"
out_has '^Process: +App \(47\)$'
run 0 report --quiet --json "$work/trace.xml"
cp "$work/out" "$work/trace.shown"

# ---- the form of older versions: addresses alone, the first is an instruction
printf '%s\n' '<trace-query-result><node>' \
  '<row><thread id="1" fmt="T"/><backtrace id="2"><process ref="9"/><text-addresses id="3" fmt="frag 1">4294967552 4294967809</text-addresses></backtrace></row>' \
  '<row><thread ref="1"/><backtrace ref="2"/></row></node></trace-query-result>' >"$work/old.xml"
printf '%s\n' 'Binary Images:' '0x100000000 - 0x10000ffff App arm64 <0123abcd456789abcdef0123456789ab> /private/App' >"$work/images"
run 0 report --quiet --binary-images "$work/images" "$work/old.xml"
out_has '^  2    0x100000000 \+ 512 \(in App\) \[0x100000200\]$'
out_has '^    2    0x100000000 \+ 256 \(in App\) \[0x100000100\]$'
mkdir "$work/none"
run 0 symbolize --quiet --log "$work/old.xml" --search "$work/none"
cmp "$work/old.xml" "$work/out" || fail "addresses alone are changed"

# ---- Swift's tasks have another name for their stacks: the first frame is an instruction there, too
printf '%s\n' '<trace-query-result><node><schema name="SwiftTasksInfoTable"/>' \
  '<row><swift-task id="6"><text-backtrace id="9"><frame id="10" name="0x100000101" addr="0x100000101"/><frame id="11" name="+ 0xe184" addr="0xe184"/></text-backtrace></swift-task></row>' \
  '<row><swift-task id="7"><text-backtrace id="12"><frame id="13" name="0x100000201" addr="0x100000201"/><frame ref="11"/></text-backtrace></swift-task></row>' \
  '</node></trace-query-result>' >"$work/tasks.xml"
run 0 report --quiet --binary-images "$work/images" "$work/tasks.xml"
out_has '0x100000000 \+ 257 \(in App\) \[0x100000101\]$'
out_has '0x100000000 \+ 513 \(in App\) \[0x100000201\]$'

# ---- names and lines from a file: the function is inlined into another one, and has a name that XML must escape
cat >"$work/box.cc" <<'END'
template <typename T> struct Box { T value; };
volatile int sink;
__attribute__((noinline)) void fill(Box<int> &box) { sink = box.value; sink = box.value + 1; }
int main() { Box<int> box = {4}; fill(box); return 0; }
END
g++ -g -O1 -Wl,--build-id=0x0123abcd456789abcdef0123456789ab -o "$work/box" "$work/box.cc"
address=$(nm "$work/box" | awk '/fill/{print "0x" $1}')
load=0x555500000000
name=$(printf '0x%x' $((load + address)))
printf '<trace-query-result><row><backtrace id="1"><frame id="2" name="%s" addr="%s"><binary id="3" name="box" UUID="0123ABCD-4567-89AB-CDEF-0123456789AB" load-addr="%s"/></frame></backtrace></row></trace-query-result>' \
  "$name" "$name" "$load" >"$work/box.xml"
run 0 symbolize --quiet --log "$work/box.xml" --search "$work/box"
out_has 'name="fill\(Box&lt;int&gt;&amp;\)" addr='
out_has '/><source line="3"><path>/?[^<]*box\.cc</path></source></frame>'
python3 -c 'import sys, xml.etree.ElementTree as tree; frame = tree.parse(sys.argv[1]).getroot().find(".//frame"); assert frame.get("name") == "fill(Box<int>&)", frame.attrib; assert [e.tag for e in frame] == ["binary", "source"]' \
  "$work/out" || fail "the result is not XML: $(cat "$work/out")"
# A second run changes nothing.
cp "$work/out" "$work/again.xml"
run 0 symbolize --quiet --log "$work/again.xml" --search "$work/box"
cmp "$work/again.xml" "$work/out" || fail "a second run changes the text"
# The same through a pipe, in pieces of one byte at first.
python3 -c 'import sys, time
for byte in open(sys.argv[1], "rb").read():
    sys.stdout.buffer.write(bytes([byte])); sys.stdout.buffer.flush()' "$work/box.xml" |
  "$unspool" symbolize --quiet --log - --search "$work/box" >"$work/piped"
cmp "$work/again.xml" "$work/piped" || fail "a pipe gives another text"

# ---- hostile files: of a megabyte or two, that must not take minutes or gigabytes
python3 - "$work" <<'END'
import sys
work, head = sys.argv[1], '<trace-query-result><node>'
frame = '<frame id="2" name="f" addr="0x1000"><binary id="3" name="App" load-addr="0x1000" arch="arm64"/></frame>'
first = head + '<row><thread id="1" fmt="T"/><backtrace id="4">' + frame + '</backtrace></row>'
for name, part in ('open', '<'), ('quotes', '<"'), ('comments', '<!--'), ('instructions', '<?'):
    open(f'{work}/{name}.xml', 'w').write(first + part * (1000000 // len(part)))
# Two stacks in turn, whose frames differ at the end alone.
refs = '<frame ref="2"/>' * 60000
both = '<row><thread ref="1"/><backtrace ref="4"/></row><row><thread ref="1"/><backtrace ref="5"/></row>'
open(f'{work}/turns.xml', 'w').write(first.replace('</b', refs + '</b') + '<row><thread ref="1"/><backtrace id="5"><frame ref="2"/>'
                                     + refs + '<frame ref="2"/></backtrace></row>' + both * 30000)
# Many stacks refer to one list of addresses.
addresses = '<text-addresses id="6">' + '4097 ' * 10000 + '</text-addresses>'
open(f'{work}/lists.xml', 'w').write(first.replace('</b', addresses + '</b') + ''.join(
    f'<row><thread ref="1"/><backtrace id="{i}"><text-addresses ref="6"/></backtrace></row>' for i in range(10, 5010)))
# Many threads refer to one stack.
threads = ''.join(f'<row><thread id="{i}" fmt="T{i}"/><backtrace ref="4"/></row>' for i in range(10, 510))
open(f'{work}/threads.xml', 'w').write(first.replace('</b', '<frame ref="2"/>' * 3000 + '</b') + threads)
END
for name in open quotes comments instructions turns threads lists; do
  timeout 300 "$unspool" report --quiet --json "$work/$name.xml" >"$work/$name.json" 2>"$work/$name.said" || fail "report, $name: $?"
done
for name in open quotes comments instructions; do
  timeout 300 "$unspool" symbolize --quiet --log "$work/$name.xml" --search "$work/none" >"$work/out" || fail "symbolize, $name: $?"
  cmp "$work/$name.xml" "$work/out" || fail "$name: the text is changed"
done
for name in threads lists; do
  grep -q 'samples are left out, because they refer to the same stacks too often$' "$work/$name.said" || fail "the message: $(cat "$work/$name.said")"
done
python3 - "$work" <<'END' || fail "hostile files have other trees"
import json, sys
for name, counts in ('open', [1]), ('turns', [60002] * 60001 + [30001]):
    [thread] = json.load(open(f'{sys.argv[1]}/{name}.json'))['reports'][0]['threads']
    found = [node['samples'] for node in thread['frames']]
    assert found == counts, (name, len(found), found[:2], found[-2:])
shown = json.load(open(f'{sys.argv[1]}/threads.json'))['reports'][0]['threads']
assert 40 < len(shown) < 100 and all(len(thread['frames']) == 3001 for thread in shown), len(shown)
END

# ---- a file of 40 MB is read in less memory than it is large
python3 - "$work/large.xml" <<'END'
import sys
with open(sys.argv[1], 'w') as out:
    out.write('<?xml version="1.0"?>\n<trace-query-result><node>\n<row><thread id="1" fmt="T"/><backtrace id="2"><frame id="3" name="0x100000100" addr="0x100000100">'
              '<binary id="4" name="App" UUID="0123ABCD-4567-89AB-CDEF-0123456789AB" arch="arm64" load-addr="0x100000000"/></frame></backtrace></row>\n')
    row = '<row><sample-time id="%d" fmt="00:00">1</sample-time><thread ref="1"/><weight ref="9"/><backtrace ref="2"/></row>\n'
    for i in range(400000):
        out.write(row % (10 + i))
    out.write('</node></trace-query-result>\n')
END
python3 - "$unspool" "$work/large.xml" "$work/none" <<'END' || fail "a large file needs too much memory"
import os, resource, subprocess, sys
for command in ["symbolize", "--log"], ["report"]:
    subprocess.run([sys.argv[1], *command, sys.argv[2], "--quiet", "--search", sys.argv[3]], stdout=subprocess.DEVNULL, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert used < os.path.getsize(sys.argv[2]) / 2, (command, used)
END
# ---- stacks that have little in common: a node of the tree for nearly each of their frames
python3 - "$work/random.xml" <<'END'
import random, sys
random.seed(7)
with open(sys.argv[1], 'w') as out:
    frames = range(10, 2010)
    out.write('<?xml version="1.0"?>\n<trace-query-result><node>\n<row><thread id="1" fmt="T"/><backtrace id="2"><frame id="3" name="f" addr="0x100000100">'
              '<binary id="4" name="App" load-addr="0x100000000"/></frame>'
              + ''.join(f'<frame id="{i}" name="f{i}" addr="{0x100000000 + 16 * i:#x}"><binary ref="4"/></frame>' for i in frames) + '</backtrace></row>\n')
    for i in range(9000):
        stack = ''.join(f'<frame ref="{random.choice(frames)}"/>' for _ in range(100))
        out.write(f'<row><thread ref="1"/><backtrace id="{3000 + i}">{stack}</backtrace></row>\n')
    out.write('</node></trace-query-result>\n')
END
python3 - "$unspool" "$work/random.xml" <<'END' || fail "stacks with little in common need too much memory"
import resource, subprocess, sys
subprocess.run([sys.argv[1], "report", sys.argv[2], "--quiet"], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
assert used < 48 << 20, used
END
# The last check, because it ends the test where the validator is missing.
validate report "$work/trace.shown"
verdict
