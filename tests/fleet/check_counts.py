#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the job's Parquet, a file or a folder, with what make_reports.py wrote: check_counts.py PARQUET TRUTH.json"""
import json
import sys

import pyarrow.parquet as pq

table = pq.read_table(sys.argv[1])
got = {}
for row in table.to_pylist():
    functions = tuple(row['functions'])
    if functions in got:
        sys.exit(f'twice: {functions}')
    got[functions] = row['reports'], row['stacks']
with open(sys.argv[2]) as file:
    truth = {tuple(row['functions']): (row['reports'], row['stacks']) for row in json.load(file)}
keys = sorted(got.keys() | truth.keys())
wrong = [(key, got.get(key), truth.get(key)) for key in keys if got.get(key) != truth.get(key)]
for key, found, expected in wrong[:5]:
    print(f'{" < ".join(key)}: {found} instead of {expected}')
if wrong or not truth:
    sys.exit(f'{len(wrong)} of {len(truth)} signatures differ')
print(f'{len(truth)} signatures, {sum(reports for reports, _ in truth.values())} reports: as the truth has them')
