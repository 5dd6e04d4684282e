# SPDX-License-Identifier: MIT
"""The type hints, as a program of a user sees them."""
import re
import subprocess
import sys
from pathlib import Path

import pytest
import unspool

PROGRAM = '''
import pathlib
import unspool

def is_unknown(error: unspool.Error) -> bool:
    return error.status is unspool.Status.NOT_FOUND

reveal_type(unspool.report(b'', unspool.Store(pathlib.Path('store'), files=['app'])))
reveal_type(unspool.record(1, 1.0))
reveal_type(unspool.record(1, 1.0, format='svg'))
reveal_type(unspool.symbolize('app', [1])[0]['symbol'])
unspool.symbolize('app', ['main'])
unspool.report(5)
unspool.record(1, 1.0, format='png')
'''


def test_statuses():
    known = unspool._c.ffi.typeof('enum usp_status').relements
    assert {'USP_' + (name if name == 'OK' else 'ERROR_' + name): int(value)
            for name, value in unspool.Status.__members__.items()} == known


def mypy(*arguments):
    pytest.importorskip('mypy')
    done = subprocess.run([sys.executable, '-m', 'mypy', '--strict', '--cache-dir', '/dev/null', *map(str, arguments)],
                          capture_output=True, text=True)
    return re.findall(r':(\d+): (?:note: Revealed type is "(.*)"|error: .*\[([\w-]+)\])$', done.stdout, re.M), done.stdout


def test_hints_of_a_program(tmp_path):
    (tmp_path / 'program.py').write_text(PROGRAM)
    found, text = mypy(tmp_path / 'program.py')
    revealed = [re.sub(r'\bbuiltins\.', '', hint).replace('Any', 'any') for _, hint, _ in found if hint]
    assert revealed == ['dict[str, any]', 'dict[str, any]', 'bytes', 'any'], text
    assert [(int(line), kind) for line, _, kind in found if kind] == [
        (12, 'list-item'), (13, 'arg-type'), (14, 'call-overload')], text


def test_hints_of_the_package():
    assert mypy(Path(unspool.__file__).parent)[0] == []
