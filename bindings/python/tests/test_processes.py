# SPDX-License-Identifier: MIT
"""snapshot, Core and record, of real processes."""
import json
import os
import random
import struct
import subprocess
import sys
import threading
import time
import zlib

import pytest
import unspool
from test_names import damaged


def names_of(thread):
    return [frame.get('symbol') for frame in thread['frames']]


def find_chain(stacks):
    """Checks the two threads of chain.c."""
    threads = {tuple(name for name in names_of(thread) if name in ('spin', 'busy', 'inner', 'outer', 'main'))
               for thread in stacks['threads']}
    assert threads == {('spin', 'busy'), ('inner', 'outer', 'main')}


def test_snapshot(process, program, valid):
    stacks = valid('stacks', unspool.snapshot(process.pid, timeout=5))
    assert stacks['process']['pid'] == process.pid and stacks['process']['program'] == str(program)
    find_chain(stacks)
    assert 'chain.c' in json.dumps(stacks)
    assert 'chain.c' not in json.dumps(unspool.snapshot(process.pid, timeout=5, lines=False)['threads'])
    short = unspool.snapshot(process.pid, timeout=5, max_frames=2)
    assert all(len(thread['frames']) <= 2 for thread in short['threads'])
    # It still runs, and both threads are where they were.
    assert process.poll() is None
    find_chain(unspool.snapshot(process.pid, timeout=5))


def test_own_snapshot(valid):
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait)
    thread.start()
    try:
        stacks = valid('stacks', unspool.snapshot(timeout=5))
    finally:
        go_on.set()
        thread.join()
    assert stacks['process']['pid'] == os.getpid()
    assert len(stacks['threads']) == 2 and all(thread['frames'] for thread in stacks['threads'])


def test_wrong_options(process):
    with pytest.raises(ValueError, match="rate is samples per second, not 0"):
        unspool.record(process.pid, 1, rate=0)
    for seconds in 0, -1, float('nan'):
        with pytest.raises(ValueError, match='seconds is for how long samples are taken, not'):
            unspool.record(process.pid, seconds)
    for budget in -1, float('nan'), float('inf'):
        with pytest.raises(ValueError, match='budget is a number of percent, not'):
            unspool.record(process.pid, 1, budget=budget)
    for timeout in -1, float('nan'), float('inf'):
        with pytest.raises(ValueError, match='timeout is a number of seconds, not'):
            unspool.snapshot(process.pid, timeout=timeout)
    with pytest.raises(unspool.Error, match='max_frames is 1 to 16777216'):
        unspool.snapshot(process.pid, max_frames=0)
    for frames in -1, 1 << 32:
        with pytest.raises(ValueError, match='max_frames is an integer from 0 to 2.32 - 1, not'):
            unspool.snapshot(process.pid, max_frames=frames)
    for wrong in ({"memory": 0}, {"max_frames": 3}, {"rate": 1e6}, {"rate": 1e-300}):
        with pytest.raises(unspool.Error, match="an option is out of its range"):
            unspool.record(process.pid, 1, **wrong)


def test_no_process(process):
    process.kill()
    process.wait()
    for call in unspool.snapshot, lambda pid: unspool.record(pid, 1):
        with pytest.raises(unspool.Error) as caught:
            call(process.pid)
        assert caught.value.status is unspool.Status.NO_THREAD and str(process.pid) in str(caught.value)
    with pytest.raises(ValueError, match='not a process'):
        unspool.record(0, 1)
    # Numbers that are larger than C's type, and what is not a number.
    for call in unspool.snapshot, lambda pid: unspool.record(pid, 1):
        for pid in 1 << 63, -1 << 70:
            with pytest.raises(ValueError, match=f'{pid} is not a process id'):
                call(pid)
        with pytest.raises(TypeError, match="'str'"):
            call('1')


# ---- cores

@pytest.fixture(scope='module')
def core(tmp_path_factory, program):
    """A core that gdb writes of a process of the program."""
    folder = tmp_path_factory.mktemp('core')
    with subprocess.Popen([program], stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b'\n'
        subprocess.run(['gcore', '-o', folder / 'core', str(child.pid)], check=True, capture_output=True)
        child.kill()
    return folder / f'core.{child.pid}', child.pid


def test_core(core, program, valid, command):
    path, pid = core
    opened = unspool.Core(path)
    assert (opened.info['pid'], opened.info['program'], opened.info['threads']) == (pid, str(program), 2)
    assert not opened.info['truncated'] and opened.messages == []
    # gdb wrote the core of a process that goes on: nothing crashed.
    assert opened.info['crash'] is None and opened.info['crashed_thread'] is None
    assert opened.info['mach_exception'] is None
    find_chain(valid('stacks', opened.stacks()))
    # Lines of system libraries may be compressed, which only one of the two may be able to read.
    stacks = opened.stacks(lines=False)
    expected = json.loads(command('stack', '--json', '--no-lines', path))
    # A process that has taken snapshots ends walks at the roots that it has learned from its own C library, a frame or
    # two earlier.
    for thread, other in zip(stacks.pop('threads'), expected.pop('threads')):
        frames = thread.pop('frames')
        assert frames and frames == other.pop('frames')[:len(frames)]
        thread['ends_at'] = other['ends_at']
        assert thread == other
    assert stacks == expected


def raw_record(kind, payload):
    """A record of a raw capture (doc/raw-format.md)."""
    record = struct.pack('<II', kind, len(payload)) + payload
    return record + struct.pack('<I', zlib.crc32(record))


@pytest.mark.parametrize('number, name', [(1, 'EXC_BAD_ACCESS'), (0, None), (4711, None)])
def test_mach_exception(tmp_path, number, name):
    """A crash report of an Apple system, which was cut off before its threads."""
    process = struct.pack('<IIIIqQQIII', 1, 2, 11, 0, 815, 1, 0, 1, 1, 0)
    crash = struct.pack('<IiIIQQQQQQIIQQ', 11, 2, 1, 0, 0x1234, 0, 0, 7, 0, 1, number, 0, 2, 0xfffffffffffffff0)
    (tmp_path / 'report').write_bytes(b'\x89USPRAW\n\1'.ljust(16, b'\0') + raw_record(1, process) + raw_record(10, crash))
    opened = unspool.Core(tmp_path / 'report')
    assert (opened.info['signal'], opened.info['fault_address'], opened.info['truncated']) == (11, 0x1234, True)
    found = opened.info['mach_exception']
    assert found == (None if number == 0 else {'number': number, 'name': name, 'code': 2, 'subcode': 0xfffffffffffffff0})
    shown = opened.stacks()['process'].get('mach_exception')
    assert (shown is None) == (number == 0) and (shown is None or shown['number'] == number)


def test_cut_core(core, tmp_path):
    whole = core[0].read_bytes()
    (tmp_path / 'core').write_bytes(whole[:len(whole) // 2])
    opened = unspool.Core(tmp_path / 'core')
    assert opened.info['truncated'] and all(isinstance(message, str) and message for message in opened.messages)
    assert opened.messages
    (tmp_path / 'core').write_bytes(b'text')
    with pytest.raises(unspool.Error) as caught:
        unspool.Core(tmp_path / 'core')
    assert str(tmp_path / 'core') in str(caught.value)
    with pytest.raises(unspool.Error, match='No such file'):
        unspool.Core(tmp_path / 'none')


def test_hostile_cores(core, tmp_path):
    whole, rng = core[0].read_bytes(), random.Random(1)
    for copy in damaged(whole[:1 << 16], 60, 1):
        (tmp_path / 'core').write_bytes(copy + whole[1 << 16:] if rng.randrange(2) else copy)
        try:
            opened = unspool.Core(tmp_path / 'core')
            assert opened.info['threads'] >= 0 and opened.stacks()['threads'] is not None
        except unspool.Error as error:
            assert str(error)


# ---- samples

def test_record(process, valid):
    profile = valid('profile', unspool.record(process.pid, 0.5, rate=200))
    assert profile['samples'] > 0 and profile['pid'] == process.pid
    assert {'spin', 'busy', 'inner'} <= {function['name'] for function in profile['functions']}
    folded = unspool.record(process.pid, 0.2, format='folded', lines=False)
    assert b'outer;inner' in folded and b'busy;spin' in folded
    for format, begin in (('tree', b''), ('pprof', b'\x1f\x8b'), ('speedscope', b'{'), ('firefox', b'{'), ('svg', b'<'),
                          ('otlp', b'\x0a')):
        assert unspool.record(process.pid, 0.05, format=format).startswith(begin)
    with pytest.raises(ValueError, match='format is one of firefox, folded, json, otlp, pprof, speedscope, svg, tree, not'):
        unspool.record(process.pid, 1, format='gif')


def test_record_ends_with_the_process(process):
    def end():
        time.sleep(0.3)
        process.kill()
        process.wait()
    thread = threading.Thread(target=end)
    thread.start()
    begin = time.monotonic()
    profile = unspool.record(process.pid, 600)
    thread.join()
    assert time.monotonic() - begin < 300 and profile['samples'] > 0


def test_from_another_directory(process, tmp_path):
    """A package that finds its module by the working directory would fail here."""
    text = f'import unspool; print(len(unspool.snapshot({process.pid}, timeout=5)["threads"]))'
    assert subprocess.check_output([sys.executable, '-c', text], cwd=tmp_path) == b'2\n'
