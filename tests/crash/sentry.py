# SPDX-License-Identifier: MIT
"""Compares Sentry's event of a crash report (it.sentry) with what `unspool stack --json` says of it (it.json).

With --peer, the code that Sentry's servers run (package sentry-relay) accepts the event without an error.
With --hostile OLD NEW, writes the raw capture OLD as NEW, with notes that Sentry does not accept as they are.
"""
import json
import re
import struct
import sys
import uuid
import zlib

VALUE, BREADCRUMB, MESSAGE = 1, 2, 5


def same(what, a, b):
    if a != b:
        sys.exit(f'{what}: {repr(a):.1000} instead of {repr(b):.1000}')


def address(text):
    return int(text, 16)


def expected_frames(stacks, frames):
    """The frames, the outermost first, an inlined call after the function that has its code."""
    for frame in reversed(frames):
        image = stacks['images'][frame['image']] if 'image' in frame else {}
        place = (address(frame['address']), image.get('path') or None,
                 address(image['load_address']) if image else None)
        start = address(frame['address']) - frame['symbol_offset'] if 'symbol' in frame else None
        yield place + (frame.get('symbol'), frame.get('mangled'), start) + line_of(frame)
        for call in reversed(frame.get('inlined', [])):
            yield place + (call['symbol'], None, None) + line_of(call)


def line_of(source):
    path = f"{source['source_directory']}/{source['source_file']}" if 'source_directory' in source else None
    return (source.get('source_file'), path, source.get('source_line'), source.get('source_column'))


def frames_of(stacktrace):
    for f in stacktrace.get('frames', []):
        yield (address(f['instruction_addr']), f.get('package'), address(f['image_addr']) if 'image_addr' in f else None,
               f.get('function'), f.get('raw_function'), address(f['symbol_addr']) if 'symbol_addr' in f else None,
               f.get('filename'), f.get('abs_path'), f.get('lineno'), f.get('colno'))


def check_stack(what, stacktrace, stacks, known):
    same(f'frames of {what}', list(frames_of(stacktrace)), list(expected_frames(stacks, known.get('frames', []))))
    innermost = [frame['kind'] for frame in known.get('frames', [])[:1]]
    same(f'adjustment of {what}', stacktrace.get('instruction_addr_adjustment'),
         'all' if innermost in (['return-address'], ['link-register']) else None)
    same(f'registers of {what}', stacktrace.get('registers', {}), known.get('registers', {}))
    if 'frames' in stacktrace and not stacktrace['frames']:
        sys.exit(f'{what}: Sentry does not accept an empty list of frames')


def check_exception(stacks, event, notes):
    process = stacks['process']
    *thrown, signal = event['exception']['values']
    messages = [note for note in notes if note['kind'] == 'message']
    mach = process.get('mach_exception')
    same('type', signal['type'], mach['name'] if mach else process['signal_name'])
    same('value', signal['value'], messages[0]['text'] if messages else process['crash'])
    mechanism = signal['mechanism']
    same('cause', mechanism['description'], process['crash'])
    same('handled', mechanism['handled'], False)
    same('mechanism', mechanism['type'], 'mach' if mach else 'signalhandler')
    same('Mach exception', mechanism['meta'].get('mach_exception'),
         {'exception': mach['number'], 'code': address(mach['code']), 'subcode': address(mach['subcode']),
          'name': mach['name']} if mach else None)
    facts = mechanism['meta']['signal']
    same('signal', (facts['number'], facts['code'], facts['name']),
         (process['signal'], process['signal_code'], process['signal_name']))
    word = re.search(r'\(([A-Z]+_[A-Z_]+)\)', process['crash'])
    same('code', facts.get('code_name'), word.group(1) if word else None)
    same('fault address', mechanism.get('data', {}).get('relevant_address'), process.get('fault_address'))
    same('thread', signal['thread_id'], stacks['threads'][0]['id'])
    check_stack('the crashed thread', signal['stacktrace'], stacks, stacks['threads'][0])
    same('exceptions', len(thrown), 1 if 'exception' in stacks else 0)
    for exception in thrown:
        same('exception', (exception['type'], exception['value']), (messages[0]['key'], messages[0]['text']))
        check_stack('the exception', exception['stacktrace'], stacks, stacks['exception'])


def check_image(image, known):
    """Sentry's debug_id of a build id is its first 16 bytes as a GUID, whose first three fields are little-endian."""
    build_id = bytes.fromhex(known.get('build_id', ''))
    macho = 'uuid' in known
    same('image', (image['code_file'], image['image_addr'], image['image_size'], image['type']),
         (known['path'], known['load_address'], address(known['end']) - address(known['load_address']),
          'macho' if macho else 'elf'))
    same('code_id', image.get('code_id'), known.get('uuid', known.get('build_id')))
    debug_id = uuid.UUID(known['uuid']) if macho else uuid.UUID(bytes_le=build_id[:16].ljust(16, b'\0'))
    same('debug_id', uuid.UUID(image['debug_id']), debug_id)


def check_event(stacks, event):
    process, notes = stacks['process'], stacks.get('notes', [])
    same('event_id', bool(re.fullmatch(r'[0-9a-f]{32}', event['event_id'])), True)
    same('platform', (event['platform'], event['contexts']['os']['name'], event['contexts']['device']['arch']),
         ('cocoa' if process['os'] == 'darwin' else 'native', process['os'].capitalize(), process['arch']))
    if 'crash' in process:
        same('time', round(event['timestamp'] * 1e6), process['time_ns'] // 1000)
        same('level', event['level'], 'fatal')
        check_exception(stacks, event, notes)
    else:
        same('level', (event['level'], 'exception' in event), ('info', False))
    same('threads', len(event['threads']['values']), len(stacks['threads']))
    for thread, known in zip(event['threads']['values'], stacks['threads']):
        crashed = known.get('crashed', False)
        same('thread', (thread['id'], thread.get('name', ''), thread['crashed'], thread['current'], thread['main']),
             (known['id'], known['name'], crashed, crashed, known['main']))
        if crashed:
            same('stack of the crashed thread', 'stacktrace' in thread, False)
        elif 'no_stack' not in known:
            check_stack(f"thread {known['id']}", thread['stacktrace'], stacks, known)
    same('images', len(event['debug_meta']['images']), len(stacks['images']))
    for image, known in zip(event['debug_meta']['images'], stacks['images']):
        check_image(image, known)
    check_notes(stacks, event, notes)


def check_notes(stacks, event, notes):
    report = event['contexts']['report']
    same('process', (report['pid'], report['program']), (stacks['process']['pid'], stacks['process']['program']))
    values = {note.get('key', ''): note['text'] for note in notes if note['kind'] == 'value'}
    same('extra', event['extra'], values)
    tags = {key: text for key, text in values.items()
            if re.fullmatch(r'[\w.:-]{1,32}', key, re.A) and len(text.encode()) <= 200 and
            re.search(r'[!-~]', text) and not re.search(r'[\0-\x1f]', text)}
    same('tags', event['tags'], tags)
    crumbs = [(note.get('time_ns', 0) // 1000, note['text']) for note in notes if note['kind'] == 'breadcrumb']
    same('breadcrumbs', [(round(crumb.get('timestamp', 0) * 1e6), crumb['message'])
                         for crumb in event['breadcrumbs']['values']], crumbs)
    for kind, where in ('message', 'messages'), ('callback', 'callback'), ('recorder', 'gaps'):
        texts = [f"{note['key']}: {note['text']}" if 'key' in note else note['text']
                 for note in notes if note['kind'] == kind and (note['text'] or 'key' in note)]
        found = report.get(where, [])[:len(texts)]
        # They are cut.
        same(where, [text[:1000] for text in found], [text[:1000] for text in texts])
    same('omitted frames', sum('left out' in text for text in report.get('gaps', [])),
         sum(thread.get('omitted', 0) > 0 for thread in stacks['threads']))
    same('locks', len(report.get('locks', [])), sum('waits_for_lock' in thread for thread in stacks['threads']))


def errors_in(meta, path=''):
    for key, value in meta.items():
        if key == '':
            if value.get('err'):
                yield path, value['err']
        else:
            yield from errors_in(value, f'{path}.{key}')


def check_peer(event):
    from sentry_relay.processing import StoreNormalizer

    accepted = StoreNormalizer(project_id=1).normalize_event(event)
    same('what Relay refuses', list(errors_in(accepted.get('_meta', {}))), [])
    same("Relay's errors", accepted.get('errors'), None)
    same('its event', accepted['event_id'], event['event_id'])
    same('its images', [image['debug_id'] for image in accepted['debug_meta']['images']],
         [image['debug_id'].lower() for image in event['debug_meta']['images']])
    for kind in 'exception', 'threads':
        for mine, its in zip(event.get(kind, {}).get('values', []), accepted.get(kind, {}).get('values', [])):
            same(f'its frames of {kind}', [frame['instruction_addr'] for frame in its.get('stacktrace', {}).get('frames', [])],
                 [frame['instruction_addr'] for frame in mine.get('stacktrace', {}).get('frames', [])])
    print('sentry-relay accepts an event')


def write_hostile(old, new):
    def record(kind, key, text):
        payload = struct.pack('<IIQII', kind, 0, 1709210096789000000, len(key), len(text)) + key + text
        head = struct.pack('<II', 11, len(payload)) + payload
        return head + struct.pack('<I', zlib.crc32(head))

    with open(old, 'rb') as source:
        raw = source.read()
    first = 16 + 8 + struct.unpack_from('<I', raw, 20)[0] + 4  # the process record comes first
    texts = [b'', b' ', b'a\nb', b'\xff\xfe', b'"\\', b'x' * 201, b'\xe2\x80\xae', b'x' * 60000, b'fine', b'\x01', b'\xc3']
    notes = b''.join(record(VALUE, b'k%d' % i, text) for i, text in enumerate(texts))
    for key in b'a b', b'"', b'\xff', b'k' * 33, b'release', b'user', b'k\n', b'_.:-':
        notes += record(VALUE, key, b'v')
    for text in texts:
        notes += record(BREADCRUMB, b'', text) + record(MESSAGE, text[:30], text)
    with open(new, 'wb') as target:
        target.write(raw[:first] + notes + raw[first:])


if sys.argv[1:2] == ['--hostile']:
    write_hostile(*sys.argv[2:])
else:
    with open('it.json', encoding='utf-8') as file:
        STACKS = json.load(file)
    with open('it.sentry', encoding='utf-8') as file:
        EVENT = json.load(file)
    check_event(STACKS, EVENT)
    if '--peer' in sys.argv:
        check_peer(EVENT)
