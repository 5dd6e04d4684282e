#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Symbolicates 2,000 reports with one process of `unspool symbolize --records`, which has indexes. Compares it with one
# process of llvm-symbolizer with inlined calls on the same addresses of the same files, in the same order.
# llvm-symbolizer gets bare addresses and has no reports to read; its cost of writing JSON, as unspool does, is shown
# beside. Prints processor time, as medians of rounds in turn. With USP_BENCH_LINES, a large file with debug information
# (see lines.sh), also runs 2,000 reports of that file. Run in the build folder.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools gcc clang-19 ld64.lld-19 dsymutil-19 llvm-symbolizer-19 llvm-nm-19 llvm-readelf-19 llvm-dwarfdump-19 python3
make_work
# Use the program itself, because Libtool's script around it takes a tenth of the time.
unspool=$PWD/tools/unspool
if [[ -x tools/.libs/unspool ]]; then
  unspool=$PWD/tools/.libs/unspool
  export LD_LIBRARY_PATH=$PWD/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
python3 "$top/tests/fleet/make_reports.py" "$work/fleet" --reports 2000
"$unspool" index --quiet -o "$work/store" "$work/fleet/files"
if [[ -n ${USP_BENCH_LINES-} ]]; then "$unspool" index --quiet -o "$work/store" "$USP_BENCH_LINES"; fi
python3 - "$work" "$unspool" "${USP_BENCH_LINES-}" <<'END_OF_PYTHON'
import glob, json, os, random, re, resource, statistics, subprocess, sys
work, unspool, large = sys.argv[1:]
ROUNDS = 5

def processor_seconds(command, questions):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(questions) as file, open(os.devnull, 'w') as null:
        subprocess.run(command, stdin=file, stdout=null, stderr=null, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

def compare(what, records, addresses):
    with open(work + '/records', 'w') as out:
        out.writelines(records)
    with open(work + '/addresses', 'w') as out:
        out.writelines(addresses)
    ours, theirs, theirs_in_json = [], [], []
    for _ in range(ROUNDS):
        ours.append(processor_seconds([unspool, 'symbolize', '--records', '--index', work + '/store'], work + '/records'))
        theirs.append(processor_seconds(['llvm-symbolizer-19', '--inlines'], work + '/addresses'))
        theirs_in_json.append(
            processor_seconds(['llvm-symbolizer-19', '--inlines', '--output-style=JSON'], work + '/addresses'))
    ratio = statistics.median(b / a for a, b in zip(ours, theirs))
    in_json = statistics.median(b / a for a, b in zip(ours, theirs_in_json))
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f'{what}: {len(records)} reports, {len(addresses)} frames: unspool {a:.3f} s ({len(records) / a:.0f} reports and '
          f'{len(addresses) / a:.0f} frames a second), llvm-symbolizer-19 {b:.3f} s: {ratio:.1f} times as long, goal 20: '
          f'{"reached" if ratio >= 20 else "missed"}; with JSON for its output {in_json:.1f} times')

records, addresses = [], []
for part in sorted(glob.glob(work + '/fleet/reports/*')):
    for line in open(part):
        try:
            frames = json.loads(line)['frames']
        except (ValueError, KeyError):
            continue
        records.append(line)
        for depth, frame in enumerate(frames):
            name = frame['image']
            path = f'{work}/fleet/files/{name}'
            if os.path.isdir(path + '.dSYM'):
                path = f'{path}.dSYM/Contents/Resources/DWARF/{name}'
            if os.path.exists(path):
                addresses.append(f'{path} {frame["offset"] - (depth > 0):#x}\n')
compare('nine small builds', records, addresses)

if large:
    text = subprocess.run(['llvm-readelf-19', '-SWn', '-l', large], capture_output=True, text=True).stdout
    build_id = re.search(r'Build ID: ([0-9a-f]+)', text)[1]
    low, size = next((int(m[1], 16), int(m[2], 16)) for m in
                     re.finditer(r'\] \.text +\w+ +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+)', text))
    random.seed(1)
    records, addresses = [], []
    for _ in range(2000):
        frames = [low + random.randrange(size) for _ in range(20)]
        records.append(json.dumps({'frames': [{'build_id': build_id, 'offset': a, 'base': 'linked'} for a in frames]}) + '\n')
        addresses += [f'{large} {a - (depth > 0):#x}\n' for depth, a in enumerate(frames)]
    compare(os.path.basename(large), records, addresses)
END_OF_PYTHON
