# SPDX-License-Identifier: MIT
"""Fixtures: a compiled program, a process of it, and the command `unspool`, whose answers the package must give too."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

TOP = Path(__file__).resolve().parents[3]
# Of the build that belongs to these sources; the lane sets it.
COMMAND = os.environ.get('UNSPOOL_COMMAND') or shutil.which('unspool')


@pytest.fixture(scope='session')
def command():
    """Runs the command and returns what it prints."""
    if COMMAND is None:
        pytest.skip('UNSPOOL_COMMAND names no command')

    def run(*arguments, text=None):
        done = subprocess.run([COMMAND, *map(str, arguments)], input=text, capture_output=True,
                              env={**os.environ, 'UNSPOOL_INDEX_STORE': '/nonexistent'})
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout
    return run


@pytest.fixture(scope='session')
def valid():
    """Checks data against a schema of doc/schema and returns it."""
    schemas = {}

    def check(name, data):
        if name not in schemas:
            schema = json.loads((TOP / 'doc' / 'schema' / f'{name}.schema.json').read_text())
            schemas[name] = jsonschema.Draft202012Validator(schema)
        schemas[name].validate(data)
        return data
    return check


def build(folder, name, *flags):
    """Compiles chain.c."""
    path = folder / name
    source = Path(__file__).with_name('chain.c')
    subprocess.run([*os.environ.get('CC', 'gcc').split(), '-g', '-O1', '-fno-omit-frame-pointer', '-pthread', '-Wl,--build-id',
                    str(source), '-o', str(path), *flags], check=True)
    return path


@pytest.fixture(scope='session')
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp('program'), 'chain')


@pytest.fixture(scope='session')
def functions(program):
    """The program's functions: name to address and size."""
    names = subprocess.run(['nm', '-S', program], check=True, capture_output=True, text=True).stdout
    return {name: (int(start, 16), int(size, 16)) for start, size, name in re.findall(r'^(\w+) (\w+) [tT] (\w+)$', names, re.M)}


@pytest.fixture(scope='session')
def build_id(program):
    notes = subprocess.run(['readelf', '-n', program], check=True, capture_output=True, text=True).stdout
    return re.search(r'Build ID: (\w+)', notes)[1]


@pytest.fixture
def process(program):
    """A process of the program, both of whose threads are where they stay."""
    with subprocess.Popen([program], stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b'\n'
        yield child
        child.kill()
