#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The job of fleet.py without Spark, for as many reports as one machine can read.

    one_process.py REPORTS OUTPUT.parquet STORE
"""
import hashlib
import itertools
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq

from fleet import counter

BATCH = 10000


def batches(folder):
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), 'rb') as lines:
            while batch := [line.rstrip(b'\n') for line in itertools.islice(lines, BATCH)]:
                yield pa.RecordBatch.from_pydict({'value': pa.array(batch, pa.binary())})


def main(reports, output, store):
    stacks = pa.Table.from_batches(counter(store)(batches(reports)))
    stacks = stacks.group_by(['names', 'stack']).aggregate([('reports', 'sum')])
    counts = stacks.group_by('names').aggregate([('reports_sum', 'sum'), ('stack', 'count')]).to_pydict()
    pq.write_table(pa.table({'signature': [hashlib.sha256(names).hexdigest()[:16] for names in counts['names']],
                             'functions': [names.decode(errors='replace').split('\0') for names in counts['names']],
                             'reports': counts['reports_sum_sum'], 'stacks': counts['stack_count']}), output)


if __name__ == '__main__':
    main(*sys.argv[1:])
