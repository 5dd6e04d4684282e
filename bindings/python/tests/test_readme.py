# SPDX-License-Identifier: MIT
"""Runs the examples of README.md, in a folder with the files that they are about."""
import doctest
import re
import struct
import subprocess
from pathlib import Path

import unspool
from conftest import TOP

README = Path(__file__).parents[1] / 'README.md'


def test_readme(process, program, functions, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'app').symlink_to(program)
    subprocess.run(['gcore', '-o', 'core', str(process.pid)], check=True, capture_output=True)
    (tmp_path / f'core.{process.pid}').rename('core')
    blocks = re.findall(r'^```python\n(.*?)^```$', README.read_text(), re.M | re.S)
    assert len(blocks) > 6
    known = {'address': functions['outer'][0], 'pid': process.pid, 'struct': struct}
    test = doctest.DocTestParser().get_doctest('\n'.join(blocks), known, 'README.md', str(README), 0)
    said = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, ''.join(said)


def test_links():
    for target in re.findall(r'\]\((\.\./[^)#]+)', README.read_text()):
        assert (README.parent / target).exists(), target


def test_all_public_functions_are_declared():
    """The declarations are the headers; what the library exports must be among them."""
    exported = re.findall(r'^\s+(usp_\w+);$', (TOP / 'lib' / 'unspool.map').read_text(), re.M)
    assert len(exported) > 100
    assert [name for name in exported if not hasattr(unspool._c.lib, name)] == []
