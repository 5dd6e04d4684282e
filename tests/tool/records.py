#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The contract of `unspool symbolize --records`, for records.sh: records.py COMMAND STORE BUILD_ID OFFSET SYMBOL

Each line gets one answer in its place, whatever it holds; memory does not grow; an index is mapped once.
"""
import json
import os
import re
import subprocess
import sys
import threading

unspool, store, build, offset, symbol = sys.argv[1:]
command = [unspool, 'symbolize', '--records', '--index', store]
failures = 0


def expect(condition, what):
    global failures
    if not condition:
        failures += 1
        print(what)


def good(number, more=''):
    return b'{"id":%d,%s"frames":[{"build_id":"%s","offset":%s}]}' % (number, more.encode(), build.encode(), offset.encode())


# Lines that are not records: the answer is an error that contains the line as text.
BAD = [b'', b'   ', b'\t', b'\0', b'{}\0', b'{"a":"\0"}', b'{"a":1', b'{"a":}', b'{', b'}', b'{}{}', b'{"a":1}{', b'[]', b'[{}]',
       b'"x"', b'1', b'null', b'no JSON', b'{"a":1}garbage', b'{"a":1}\r{"b":2}', b'\xff\xfe{\0}\0', b'\xef\xbb\xbf{}',
       b'{"a":"\x01"}', b'{"frames":[{"offset":1}', b'{"frames":' + b'[' * 100000, b'{a:1}', b"{'a':1}", b'{"a":1,}']
# Records of unusual form.
GOOD = [b'{}', b'{"a":1e999}', b' {"a":1} ', b'{"a":1}\r', b'{\r"a":1\r}', b'{"a":"\\n\\ud800\\u0000"}', b'{"frames":{}}',
        b'{"frames":[1,null,{},{"image":1,"offset":-1},{"image":"","offset":1e99}]}', b'{"unspool":{"error":"before"}}',
        b'{"frames":[{"image":"x","build_id":"%s","offset":1}]}' % (b'0' * 4000), b'{"a":' + b'[' * 900 + b']' * 900 + b'}']


def check_answers(lines, answers, what):
    """Lines and answers are lists of bytes without line ends."""
    expect(len(answers) == len(lines), f'{what}: {len(answers)} answers for {len(lines)} lines')
    for line, answer in zip(lines, answers):
        got = json.loads(answer)
        if line in BAD:
            text = line.strip(b' \t\r\n').decode('utf-8', 'replace')
            expect('error' in got['unspool'] and got['record'].rstrip('\ufffd') == text.rstrip('\ufffd'),
                   f'{what}: {line[:60]} became {answer[:200]}')
            continue
        expect('error' not in got['unspool'] and got['unspool']['named'] + got['unspool']['answered'] +
               got['unspool']['no_symbol'] + got['unspool']['no_file'] + got['unspool']['no_image'] ==
               got['unspool']['frames'], f'{what}: {line[:60]} became {answer[:200]}')
        sent = json.loads(line)
        del got['unspool']
        sent.pop('unspool', None)
        if 'id' in sent:
            expect(got['frames'][0].get('symbol') == symbol, f'{what}: {line} became {answer}')
            sent['frames'] = got['frames'] = []
        expect(got == sent, f'{what}: {line[:60]} became {answer[:200]}')


def answers_of(data):
    done = subprocess.run(command, input=data, capture_output=True)
    expect(done.returncode == 0 and done.stderr == b'', f'status {done.returncode}: {done.stderr[:200]}')
    expect(done.stdout == b'' or done.stdout.endswith(b'\n'), 'the last answer has no end')
    return done.stdout.split(b'\n')[:-1]


class Live:
    """The command while it runs: a block of lines in, as many answers out."""

    def __init__(self):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def ask(self, lines):
        sender = threading.Thread(target=self.send, args=(b''.join(line + b'\n' for line in lines),))
        sender.start()
        answers = [self.process.stdout.readline() for _ in lines]
        sender.join()
        return answers

    def memory(self):
        """Megabytes that are its own: what is mapped from files does not count."""
        with open(f'/proc/{self.process.pid}/status') as status:
            return int(re.search(r'RssAnon:\s*(\d+)', status.read())[1]) / 1024

    def indexes(self):
        folder = f'/proc/{self.process.pid}/fd'
        files = [(number, os.readlink(f'{folder}/{number}')) for number in os.listdir(folder)]
        return [(number, path) for number, path in files if path.endswith('/index')]

    def end(self):
        self.process.stdin.close()
        expect(self.process.stdout.read() == b'', 'more answers than lines')
        expect(self.process.wait() == 0, f'status {self.process.returncode}')


# ---- each kind of line between two good ones; with and without an end of the last line; in small pieces
mixed = []
for i, line in enumerate(BAD + GOOD):
    mixed += [good(2 * i), line, good(2 * i + 1, f'"text":"{"x" * (i * 997)}",')]
check_answers(mixed, answers_of(b'\n'.join(mixed) + b'\n'), 'all at once')
check_answers(mixed, answers_of(b'\n'.join(mixed)), 'without an end')
check_answers([], answers_of(b''), 'nothing')
for last in BAD[1:] + GOOD:
    check_answers([good(1), last], answers_of(good(1) + b'\n' + last), 'the last one without an end')
short = [line for line in BAD + GOOD if len(line) < 100] + [good(1)]
for size in 1, 2, 5:
    live = Live()
    data = b'\n'.join(short) + b'\n'
    for at in range(0, len(data), size):
        live.send(data[at:at + size])
    answers = [live.process.stdout.readline()[:-1] for _ in short]
    check_answers(short, answers, f'pieces of {size}')
    live.end()

# ---- a name that was given stays, and the counts are those of the last run
first = answers_of(good(7) + b'\n')
again = answers_of(first[0] + b'\n')
expect(again[0] == first[0].replace(b'"named":0,"answered":1', b'"named":1,"answered":0'), f'twice: {again}')

# ---- very long lines, whose memory is freed
live = Live()
live.ask([good(1)])
before = live.memory()
frames = b'{"build_id":"%s","offset":%s},' % (build.encode(), offset.encode())
for line, is_record in ((b'x' * (100 << 20), False), (good(3, '"text":"' + 'x' * (100 << 20) + '",'), True),
                        (b'{"frames":[' + frames * 100000 + b'{}]}', True), (b'{"frames":[' + frames * 100000, False)):
    answers = live.ask([good(2), line, good(4)])
    expect(json.loads(answers[0])['id'] == 2 and json.loads(answers[2])['id'] == 4, 'the neighbours of a long line')
    expect(('error' not in json.loads(answers[1])['unspool']) == is_record, f'a long line: {answers[1][:200]}')
    del answers
expect(live.memory() < before + 20, f'after long lines {live.memory():.1f} MB instead of {before:.1f} MB')
live.end()

# ---- many records, also of new builds without a file: memory must not grow, the index stays open
live = Live()
sizes, opened = [], None
for number in range(0, 101000, 1000):
    lines = [good(n, f'"frame":{{"build_id":"{n:032x}","offset":1}},') if n % 10 else
             b'{"id":%d,"frames":[{"build_id":"%032x","offset":1}]}' % (n, n + 1) for n in range(number, number + 1000)]
    answers = live.ask(lines)
    expect([json.loads(answer)['id'] for answer in answers] == list(range(number, number + 1000)), f'{number}: another order')
    sizes.append(live.memory())
    opened = opened or live.indexes()
expect(len(opened) == 1 and live.indexes() == opened, f'the index was opened again: {opened}, {live.indexes()}')
expect(max(sizes[10:]) < max(sizes[:10]) + 1, f'memory grows: {sizes[9]:.2f} MB after 10,000 records, then {max(sizes):.2f} MB')
live.end()

# ---- answers that cannot be written are a failure
with open('/dev/full', 'wb') as full:
    status = subprocess.run(command, input=b'\n'.join([good(1)] * 10000), stdout=full, stderr=subprocess.DEVNULL).returncode
expect(status == 4, f'a full disk: status {status}')
sys.exit(1 if failures else 0)
