# SPDX-License-Identifier: MIT
"""demangle, symbolize, report and Store, against the command, the schemas and the examples of doc/reports.md."""
import json
import pathlib
import random
import re
import struct
import subprocess
import warnings

import pytest
import unspool
from conftest import TOP, build

IMAGE_ID = '0123abcd456789abcdef0123456789ab'  # of the examples in doc/reports.md
BUILD_ID = IMAGE_ID + '01234567'


def test_version():
    assert f'[{unspool.__version__}]' in (TOP / 'configure.ac').read_text()


@pytest.mark.parametrize('name, style, expected', [
    ('_ZNSt6vectorIiSaIiEE9push_backERKi', 'full', 'std::vector<int, std::allocator<int> >::push_back(int const&)'),
    ('_ZNSt6vectorIiSaIiEE9push_backERKi', 'simple', 'std::vector::push_back'),
    ('_ZNSt6vectorIiSaIiEE9push_backERKi', 'no', '_ZNSt6vectorIiSaIiEE9push_backERKi'),
    ('_RNvC5crate4main', 'full', 'crate::main'),
    ('$s4main3fooyyF', 'full', 'main.foo() -> ()'),
    ('plain', 'full', 'plain'),
    ('', 'full', ''),
    ('_Z\udcff', 'full', '_Z\udcff'),
])
def test_demangle(name, style, expected):
    assert unspool.demangle(name, style) == expected


def test_the_name_can_be_bytes():
    assert unspool.demangle(b'_Z1fv') == 'f()'


def test_wrong_arguments(program):
    # A number of bytes is not bytes.
    for call in (unspool.demangle, unspool.report, unspool.Store().symbolize_record,
                 lambda number: unspool.Store().symbolize(number, [])):
        with pytest.raises(TypeError, match="'int'"):
            call(5)
    # Nor is None a path, where one is needed.
    for call in unspool.Core, unspool.Store('store').add, lambda path: unspool.symbolize(path, [0]):
        with pytest.raises(TypeError, match='NoneType'):
            call(None)
    with pytest.raises(TypeError, match='files is a list of paths'):
        unspool.Store(files=str(program))
    with pytest.raises(ValueError, match='null byte'):
        unspool.demangle('_Z\0')
    with pytest.raises(ValueError, match='demangle is one of no, simple, full, short'):
        unspool.demangle('x', 'loud')
    with pytest.raises(ValueError, match='null byte'):
        unspool.symbolize('a\0b', [])
    with pytest.raises(ValueError, match='1 to 32 bytes'):
        unspool.Store().symbolize(b'x' * 33, [])
    with pytest.raises(ValueError, match="'vax' is not a processor"):
        unspool.symbolize(program, [], arch='vax')
    for number in 1 << 64, -1:
        with pytest.raises(ValueError, match=f'an address is an integer from 0 to 2.64 - 1, not {number}'):
            unspool.symbolize(program, [number])
        with pytest.raises(ValueError, match='load_address is an integer'):
            unspool.symbolize(program, [0], load_address=number)
        with pytest.raises(ValueError, match='an offset is an integer'):
            unspool.Store().symbolize(b'x' * 20, [number])
        with pytest.raises(ValueError, match='thread is an integer'):
            unspool.report('x', thread=number)
    with pytest.raises(ValueError, match="'xyz' is not a build id"):
        unspool.Store().symbolize('xyz', [])
    with pytest.raises(TypeError, match="not 'PosixPath': pass what is in it"):
        unspool.report(pathlib.Path('report.txt'))
    with pytest.raises(TypeError):
        unspool.symbolize(program, ['main'])
    with pytest.raises(ValueError, match='without a folder'):
        unspool.Store().add(program)


def test_errors_are_sentences(tmp_path, program):
    with pytest.raises(unspool.Error, match=r'^/nonexistent/x: no such file$') as caught:
        unspool.symbolize('/nonexistent/x', [0])
    assert caught.value.status is unspool.Status.NOT_FOUND
    with pytest.raises(unspool.Error, match=r'^no frames were recognised$') as caught:
        unspool.report('no report')
    assert caught.value.status is unspool.Status.NOT_FOUND
    with pytest.raises(unspool.Error, match=r'^no thread has the number or id 99$'):
        unspool.report('    #0 0x55d0 (app+0x10)\n', thread=99)
    with pytest.raises(unspool.Error, match=r'^no thread crashed$'):
        unspool.report('    #0 0x55d0 (app+0x10)\n', crashed=True)
    with pytest.raises(unspool.Error) as caught:
        unspool.symbolize(program, [0], build_id='00' * 20)
    assert caught.value.status is unspool.Status.MISMATCH and str(program) in str(caught.value)
    text = tmp_path / 'text'
    text.write_text('no object file')
    with pytest.raises(unspool.Error) as caught:
        unspool.Store(tmp_path / 'store').add(text)
    assert caught.value.status is unspool.Status.FORMAT and str(text) in str(caught.value)


# ---- addresses

def test_symbolize_is_the_command(program, functions, command, valid):
    addresses = [at for start, size in functions.values() for at in range(start, start + size)] + [0, 1 << 63, (1 << 64) - 1]
    answers = unspool.symbolize(program, addresses)
    for answer in answers:
        valid('symbolize', answer)
    expected = command('symbolize', '--json', '-o', program, text='\n'.join(map(hex, addresses)).encode())
    assert answers == [json.loads(line) for line in expected.splitlines()]
    inlined = [answer for answer in answers if 'inlined' in answer and answer['symbol'] == 'spin']
    assert inlined and inlined[0]['inlined'][0]['symbol'] == 'doubled'


def test_load_address(program, functions):
    start, _ = functions['outer']
    assert unspool.symbolize(program, [start], load_address=0)[0]['symbol'] == 'outer'
    placed, = unspool.symbolize(program, [0x7f0000000000 + start], load_address=0x7f0000000000)
    assert (placed['symbol'], placed['image_offset']) == ('outer', hex(start))


def test_several_images(tmp_path, program):
    subprocess.run(['gcc', '-c', TOP / 'bindings/python/tests/chain.c', '-ffunction-sections', '-o', tmp_path / 'a.o'], check=True)
    with pytest.raises(ValueError, match=r'images \(.*x86_64|aarch64'):
        unspool.symbolize(tmp_path / 'a.o', [0])


# ---- the examples of doc/reports.md

def examples():
    text, found = (TOP / 'doc/reports.md').read_text(), []
    for mark, inside in re.findall(r'^```([\w-]+)\n(.*?)^```$', text, re.M | re.S):
        if mark in ('report', 'sh'):
            continue
        found.append((mark, re.sub(r'^-> .*\n', '', inside, flags=re.M)))
    assert len(found) > 30
    return found


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Symbols of the images in the examples."""
    folder = tmp_path_factory.mktemp('files')
    for name, module, function, start in (('App', f'mac arm64 {IMAGE_ID}0', '-[View draw]', 0x5f2d),
                                          ('prog', f'Linux x86_64 {BUILD_ID}', 'inner', 0x11dc)):
        (folder / f'{name}.sym').write_text(f'MODULE {module} {name}\nFILE 0 /src/a.c\nFUNC {start:x} 40 0 {function}\n{start:x} 40 9 0\n')
    return [folder / 'App.sym', folder / 'prog.sym']


@pytest.mark.parametrize('mark, text', examples(), ids=lambda value: value if len(value) < 30 else '')
def test_examples(mark, text, command, valid, files):
    try:
        plain = unspool.report(text)
    except unspool.Error as error:
        # Not the example of a report, but of something else.
        assert error.status is unspool.Status.NOT_FOUND and mark not in ('ips', 'apple', 'sample', 'sentry', 'lldb')
        return
    valid('report', plain)
    assert plain == json.loads(command('report', '--json', '--quiet', '-', text=text.encode()))
    assert unspool.report_text(text) == command('report', '--quiet', '-', text=text.encode()).decode()
    search = ['--search', files[0].parent]
    named = valid('report', unspool.report(text, unspool.Store(files=files)))
    assert named == json.loads(command('report', '--json', '--quiet', *search, '-', text=text.encode()))


def test_report_options(files):
    text = dict(examples())['ips']
    named = unspool.report(text, unspool.Store(files=files))['reports'][0]
    assert '-[View draw]' in json.dumps(named)
    with pytest.raises(unspool.Error):
        unspool.report('nothing to see')
    with pytest.raises(unspool.Error) as caught:
        unspool.report(text, thread=12345)
    assert caught.value.status is unspool.Status.NOT_FOUND
    with pytest.warns(UserWarning):
        unspool.report(text[:text.rindex('}') - 1])


# ---- stores

@pytest.fixture(scope='module')
def store(tmp_path_factory, program):
    made = unspool.Store(tmp_path_factory.mktemp('store'))
    made.add(program)
    return made


def test_store(tmp_path, program, build_id, functions):
    store = unspool.Store(tmp_path / 'store')
    assert build_id not in store
    first, = store.add(program)
    assert (first['build_id'], first['kept'], first['message']) == (build_id, False, '')
    assert store.add(program) == [{**first, 'kept': True}]
    assert build_id in store and bytes.fromhex(build_id) in store
    assert build_id not in unspool.Store() and 'ab' * 20 not in store
    start, size = functions['spin']
    answers = store.symbolize(build_id, range(start, start + size), exact=True)
    assert {answer[-1]['symbol'] for answer in answers} == {'spin'}
    assert any([frame['symbol'] for frame in answer] == ['doubled', 'spin'] for answer in answers)
    # A return address after the last byte belongs to the function.
    assert store.symbolize(build_id, [start + size])[0][-1]['symbol'] == 'spin'
    assert store.symbolize(build_id, [1 << 40]) == [[]] and store.symbolize('ab' * 20, [start]) == [[]]
    assert store.symbolize(build_id, []) == []
    # The same without an index.
    assert unspool.Store(files=[program]).symbolize(build_id, range(start, start + size), exact=True) == answers
    damaged = next(path for path in (tmp_path / 'store').rglob('index'))
    damaged.write_bytes(b'x' * 100)
    assert unspool.Store(tmp_path / 'store').symbolize(build_id, [start]) == [[]]


def records(build_id, functions, count, seed=1):
    """Records with random stacks, some of them in other forms, and lines that are none."""
    rng, found = random.Random(seed), []
    for number in range(count):
        frames = [{'build_id': build_id, 'image': 'chain', 'offset': start + rng.randrange(size) + 1}
                  for start, size in rng.choices(list(functions.values()), k=rng.randrange(1, 9))]
        if number % 5 == 1:
            frames.insert(rng.randrange(len(frames)), {'image': 'libother.so', 'build_id': 'feed', 'offset': 4096})
        record = {'id': number, 'frames': frames}
        if number % 7 == 2:
            frames[0]['symbol'] = 'known'
        elif number % 7 == 3:
            record['others'] = [{'frames': [{'build_id': build_id, 'offset': 64}]}]
        elif number % 7 == 4:
            del record['frames']
        found.append(json.dumps(record).encode() if number % 11 else rng.choice([b'', b'[]', b'no JSON', b'{"frames":[{', b'{}{}']))
    return found


def arrow(lines):
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return b''.join(lines), struct.pack(f'={len(offsets)}i', *offsets)


def test_records_are_the_commands(store, build_id, functions, command, valid):
    lines = records(build_id, functions, 200)
    expected = command('symbolize', '--records', '--index', store.path, text=b'\n'.join(lines)).splitlines()
    assert len(expected) == len(lines)
    for line, answer in zip(lines, expected):
        answer = valid('record-answer', json.loads(answer))
        if 'error' in answer['unspool'] and not line.startswith(b'{'):
            continue  # the command's own check
        if 'error' in answer['unspool']:
            with pytest.raises(unspool.Error) as caught:
                store.symbolize_record(line)
            assert str(caught.value) == answer['unspool']['error']
        else:
            assert json.loads(store.symbolize_record(line)) == answer


def test_signatures_are_those_of_the_records(store, build_id, functions):
    lines = records(build_id, functions, 500)
    found, stacks = store.signatures(*arrow(lines)), {}
    assert len(found.name_offsets) == len(lines) + 1 and len(found.stacks) == len(found.kinds) == len(lines)
    for i, line in enumerate(lines):
        names = found.names[found.name_offsets[i]:found.name_offsets[i + 1]].decode().split('\0')
        if found.kinds[i] != 1:
            assert names == [''] and found.stacks[i] == 0
            is_stack = i % 11 and i % 7 not in (2, 3, 4)
            assert not is_stack and found.kinds[i] == (2 if i % 11 else found.kinds[i])
            continue
        frames = json.loads(store.symbolize_record(line))['frames']
        expected = [name for frame in frames for name in
                    [call['symbol'] for call in frame.get('inlined', ())] + [frame.get('symbol') or frame['image']]]
        assert names == expected[:5]
        stack = tuple((frame['build_id'], frame['offset']) for frame in frames)
        assert stacks.setdefault(found.stacks[i], stack) == stack
    assert {1, 2, 0} == set(found.kinds)
    assert len(set(stacks.values())) == len(stacks)
    assert list(store.signatures(*arrow([]))[0]) == [0]


def test_signatures_check_offsets(store):
    for wrong in ([0, 5], [-1, 1], [2, 1], [0, 1, 0], [0, -1]):
        with pytest.raises(unspool.Error) as caught:
            store.signatures(b'{}', struct.pack(f'={len(wrong)}i', *wrong))
        assert caught.value.status is unspool.Status.ARGUMENT
    with pytest.raises(ValueError):
        store.signatures(b'', b'')
    with pytest.raises((TypeError, ValueError)):
        store.signatures(b'', b'abc')


# ---- hostile input

def damaged(data, count, seed):
    """Copies with a few bytes replaced, or cut."""
    rng = random.Random(seed)
    for _ in range(count):
        copy = bytearray(data)
        for _ in range(rng.randrange(1, 9)):
            copy[rng.randrange(len(copy))] = rng.randrange(256)
        yield bytes(copy[:rng.randrange(1, len(copy) + 1)] if rng.randrange(3) == 0 else copy)


def test_hostile_reports(files, valid):
    store = unspool.Store(files=files)
    for seed, (_, text) in enumerate(examples()):
        for copy in damaged(text.encode(), 20, seed):
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                try:
                    valid('report', unspool.report(copy, store))
                except unspool.Error as error:
                    assert str(error)
                try:
                    json.loads(store.symbolize_record(copy))
                except (unspool.Error, ValueError):
                    pass  # a text that is no JSON is answered unchanged


def test_hostile_files(tmp_path, program, functions):
    addresses = [start for start, _ in functions.values()]
    file = tmp_path / 'file'
    for copy in damaged(program.read_bytes(), 60, 1):
        file.write_bytes(copy)
        try:
            assert len(unspool.symbolize(file, addresses)) == len(addresses)
            unspool.Store(tmp_path / 'store').add(file)
        except (unspool.Error, ValueError) as error:
            assert str(error)


def test_file_without_a_build_id(tmp_path):
    plain = build(tmp_path, 'plain', '-Wl,--build-id=none')
    with pytest.raises(unspool.Error) as caught:
        unspool.Store(tmp_path / 'store').add(plain)
    assert caught.value.status is unspool.Status.UNSUPPORTED
    text = f'{plain}(+0x{unspool.symbolize(plain, [0])[0].get("address", "0x0")[2:]}) [0x1]'
    assert unspool.report(text, unspool.Store(files=[plain]))['reports']
