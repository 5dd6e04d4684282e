# SPDX-License-Identifier: MIT
"""Compares a crash report in Apple's forms (it.ips, lineless.crash-report) with that of `unspool stack --json`
(it.json, lineless.json).

With --peer, the package pycrashreport reads them as well.
"""
import json
import re
import sys
import uuid

KNOWN_BY_OTHER_NAMES = {'x29': 'fp', 'x30': 'lr'}


def same(what, a, b):
    if a != b:
        sys.exit(f'{what}: {a!r} instead of {b!r}')


def expected_frames(stacks, thread):
    for frame in thread.get('frames', []):
        image = stacks['images'][frame['image']]['path'] if 'image' in frame else None
        offset = int(frame['image_offset'] if image else frame['address'], 16)
        for call in frame.get('inlined', []):
            yield image, offset, call['symbol'], 0
        yield image, offset, frame.get('symbol'), frame.get('symbol_offset')


def expected_registers(thread):
    return {KNOWN_BY_OTHER_NAMES.get(name, name): int(value, 16) for name, value in thread.get('registers', {}).items()}


def registers_of(state):
    values = {}
    for name, value in state.items():
        if name == 'x':
            values.update((f'x{i}', x['value']) for i, x in enumerate(value))
        elif name not in ('flavor', 'rflags', 'eflags', 'cpsr', 'far', 'cr2'):
            values[name] = value['value']
    return values


def check_cause(process, exception, subtype, signal=None):
    """A Mach exception is the type, with the signal beside it; its code is the subtype."""
    mach = process.get('mach_exception')
    if mach:
        same('exception', (exception, signal), (mach['name'], process['signal_name']))
        same('subtype', subtype, f"{mach['code_name']} at {int(mach['subcode'], 16):#018x}")
        return
    same('exception', (exception, signal), (process['signal_name'], None))
    word = re.search(r'\(([A-Z]+_[A-Z_]+)\)', process['crash'])
    address = f" at {int(process['fault_address'], 16):#018x}" if 'fault_address' in process else ''
    same('subtype', subtype, word.group(1) + address)


def check_ips(stacks, text):
    first, rest = text.split('\n', 1)
    header, body = json.loads(first), json.loads(rest)
    same('bug_type', (header['bug_type'], body['version']), ('309', 2))
    same('incident', header['incident_id'], body['incident'])
    process = stacks['process']
    same('process', (body['pid'], body['procPath']), (process['pid'], process['program']))
    check_cause(process, body['exception']['type'], body['exception']['subtype'], body['exception'].get('signal'))
    mach = process.get('mach_exception')
    same('codes', body['exception']['rawCodes'],
         [int(mach['code'], 16), int(mach['subcode'], 16)] if mach else
         [process['signal_code'], int(process.get('fault_address', '0x0'), 16)])
    same('indicator', body['termination']['indicator'], process['signal_name'])
    same('codes in words', body['exception']['codes'],
         ', '.join(f'0x{code % 2**64:016x}' for code in body['exception']['rawCodes']))
    same('termination', body['termination']['code'], process['signal'])
    same('threads', len(body['threads']), len(stacks['threads']))
    same('faulting thread', body['faultingThread'], 0)
    images = body['usedImages']
    for image, known in zip(images, stacks['images']):
        id = known.get('build_id', known.get('uuid', '')).replace('-', '').lower()
        same('image', (image['path'], image['base']), (known['path'], int(known['load_address'], 16)))
        # Readers want a UUID (LLDB's crashlog.py), and symbolication the whole id.
        same('UUID', uuid.UUID(image['uuid']).hex, id[:32].ljust(32, '0'))
        same('build id', image.get('build_id', uuid.UUID(image['uuid']).hex), id)
    for i, (thread, known) in enumerate(zip(body['threads'], stacks['threads'])):
        same('thread', (thread['id'], thread.get('name', ''), thread.get('triggered', False)),
             (known['id'], known['name'], i == 0))
        frames = [(images[f['imageIndex']].get('path'), f['imageOffset'], f.get('symbol'), f.get('symbolLocation'))
                  for f in thread['frames']]
        same(f'frames of thread {i}', frames, list(expected_frames(stacks, known)))
        same(f'registers of thread {i}', registers_of(thread.get('threadState', {})), expected_registers(known))
    information = body.get('asi', {})
    by_kind = {'value': 'values', 'breadcrumb': 'breadcrumbs', 'message': 'messages', 'callback': 'callback'}
    for note in stacks.get('notes', []):
        words = f"{note['key']}: {note['text']}" if 'key' in note else note['text']
        where = body['reportNotes'] if note['kind'] == 'recorder' else information[by_kind[note['kind']]]
        if words not in where:
            sys.exit(f'the report lacks {words!r}')
    same('omitted frames', sum('left out' in note for note in body.get('reportNotes', [])),
         sum(thread.get('omitted', 0) > 0 for thread in stacks['threads']))


def cause_of(fields):
    kind, signal = re.fullmatch(r'(\w+)(?: \((\w+)\))?', fields['Exception Type']).groups()
    return kind, fields['Exception Subtype'], signal


def check_text(stacks, text):
    fields = dict(re.findall(r'^([A-Z][\w/ ]+): +(.*)$', text, re.M))
    check_cause(stacks['process'], *cause_of(fields))
    same('message', fields['Exception Message'], stacks['process']['crash'])
    same('thread', fields['Triggered by Thread'], '0')
    same('version', fields['Report Version'], '104')
    parts = text.split('\n\n')
    for i, known in enumerate(stacks['threads']):
        stack = next(part for part in parts if re.search(rf'^Thread {i}(?: Crashed)?:$', part, re.M))
        frames = [line.split('\t')[1] for line in stack.split('\n') if '\t' in line]
        wanted = [f'{symbol} + {at}' for _, _, symbol, at in expected_frames(stacks, known) if symbol]
        same(f'frames of thread {i}', [frame.split(' ', 1)[1] for frame in frames
                                       if not re.search(r' 0x\w+ \+ \d+$|\[unknown\]$', frame)], wanted)
        state = [part for part in parts if re.match(rf'Thread {i} (crashed )?with ', part)]
        values = {name: int(value, 16) for name, value in re.findall(r'(\w+): (0x\w+)', state[0] if state else '')}
        same(f'registers of thread {i}', values, expected_registers(known))
    # Readers want 16 bytes in angle brackets (LLDB's crashlog.py), and symbolication the whole id.
    images = re.findall(r'^(0x\w+) - 0x\w+ \S+ (?:\((\w+)\)|\w+ ) <([0-9a-f]{32})> .*$', text, re.M)
    same('images', len(images), len(stacks['images']))
    for (base, whole, uuid_of), known in zip(images, stacks['images']):
        id = known.get('build_id', known.get('uuid', '')).replace('-', '').lower()
        same('ids', (int(base, 16), whole or uuid_of * (int(uuid_of, 16) != 0), uuid_of),
             (int(known['load_address'], 16), id, id[:32].ljust(32, '0')))


def check_peer(stacks, lineless, ips, text):
    from pycrashreport.crash_report import get_crash_report_from_buf

    first, rest = ips.split('\n', 1)
    for i, known in enumerate(stacks['threads']):
        body = json.loads(rest)
        body['faultingThread'] = i
        report = get_crash_report_from_buf(first + '\n' + json.dumps(body), 'it.ips')
        same('its bug type', report.bug_type_str, '309')
        same('its thread', report.faulting_thread, i)
        frames = [(frame.image_name, frame.image_offset, frame.symbol, frame.symbol_offset) for frame in report.frames]
        same(f'its frames of thread {i}', frames, list(expected_frames(stacks, known)))
        if 'registers' in known:
            wanted = expected_registers(known)
            same(f'its registers of thread {i}', {r.name: r.value for r in report.registers if r.name in wanted}, wanted)
        signal = body['exception'].get('signal')
        check_cause(stacks['process'], report.exception_type, report.exception_subtype, signal)
        if i == 0:
            str(report)
    header = '{"bug_type": "109", "timestamp": "2026-01-01 00:00:00.00 +0000"}\n'
    report = get_crash_report_from_buf(header + text, 'it.crash')
    same('its thread of .crash', report.faulting_thread, 0)
    check_cause(stacks['process'], *cause_of({'Exception Type': report.exception_type,
                                              'Exception Subtype': report.exception_subtype}))
    crashed = lineless['threads'][0]
    if crashed['omitted'] == 0:  # it stops at the line that counts them
        frames = [(frame.symbol, frame.symbol_offset) for frame in report.frames if frame.symbol]
        same('its frames of .crash', frames,
             [(symbol, at) for _, _, symbol, at in expected_frames(lineless, crashed) if symbol])
    print(f"pycrashreport reads {len(stacks['threads'])} threads")


with open('it.json', encoding='utf-8') as file:
    STACKS = json.load(file)
with open('lineless.json', encoding='utf-8') as file:
    LINELESS = json.load(file)
with open('it.ips', encoding='utf-8') as file:
    IPS = file.read()
with open('lineless.crash-report', encoding='utf-8') as file:
    TEXT = file.read()
check_ips(STACKS, IPS)
check_text(LINELESS, TEXT)
if '--peer' in sys.argv:
    check_peer(STACKS, LINELESS, IPS, TEXT)
