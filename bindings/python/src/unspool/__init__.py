# SPDX-License-Identifier: MIT
"""Captures and symbolicates call stacks: reports, cores, running processes (README.md)."""
from ._c import Error, Status, lib, text_of
from .names import Signatures, Store, demangle, report, report_text, symbolize
from .processes import Core, record, snapshot

__version__ = text_of(lib.usp_version_string())
__all__ = ['Core', 'Error', 'Signatures', 'Status', 'Store', 'demangle', 'record', 'report', 'report_text', 'snapshot',
           'symbolize']
