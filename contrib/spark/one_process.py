#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The job of fleet.py without Spark, for as many reports as one machine can read.

    one_process.py REPORTS OUTPUT.parquet COMMAND...
"""
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


def main(reports, output, *command):
    stacks = pa.Table.from_batches(counter(command)(batches(reports)))
    functions = dict(zip(stacks['signature'].to_pylist(), stacks['functions'].to_pylist()))
    stacks = stacks.drop_columns(['functions']).group_by(['signature', 'stack']).aggregate([('reports', 'sum')])
    counts = stacks.group_by('signature').aggregate([('reports_sum', 'sum'), ('stack', 'count')]).to_pydict()
    pq.write_table(pa.table({'signature': counts['signature'],
                             'functions': [functions[signature] for signature in counts['signature']],
                             'reports': counts['reports_sum_sum'], 'stacks': counts['stack_count']}), output)


if __name__ == '__main__':
    main(*sys.argv[1:])
