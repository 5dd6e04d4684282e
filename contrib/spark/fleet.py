#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Symbolicates folders of crash reports with Spark and counts them by crash signature (see README.md).

    spark-submit fleet.py REPORTS OUTPUT STORE     (STORE: a folder of indexes that all executors see)
"""
import hashlib
import json
import sys

DEPTH = 5  # number of functions, inlined ones included, that make a signature
SCHEMA = 'names binary, stack bigint, reports bigint'  # names: the functions, with a NUL between two
UNREADABLE = 'unreadable record'


def frames_of(report):
    """The frames of a record, or of the crashed thread of an .ips report's body, each with its build and offset."""
    if 'frames' in report:
        return [(frame, frame.get('uuid') or frame.get('build_id'), frame.get('offset')) for frame in report['frames']]
    images, frames = report['usedImages'], report['threads'][report.get('faultingThread', 0)]['frames']
    frames = [{**images[frame['imageIndex']], **frame} for frame in frames]
    return [(frame, frame.get('uuid'), frame['imageOffset']) for frame in frames]


def signature_of(store, line):
    """What Store.signatures says of a stack, for a report that has more than one or is of another format."""
    import unspool
    try:
        names, frames = [], frames_of(json.loads(store.symbolize_record(line)))
        for frame, _, _ in frames[:DEPTH]:
            names += [call['symbol'] for call in frame.get('inlined', ())]
            names.append(frame.get('symbol') or frame.get('image') or frame.get('name') or '?')
        # An .ips report has inlined calls as separate frames; the stack is the same without them.
        stack = ' '.join([f'{build}+{offset}' for frame, build, offset in frames if not frame.get('inline')])
        digest = hashlib.blake2b(stack.encode(), digest_size=8).digest()
        return '\0'.join(names[:DEPTH]).encode(), int.from_bytes(digest, 'little', signed=True)
    except (unspool.Error, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return UNREADABLE.encode(), 0  # it is not a report


def count_batch(store, lines):
    """One row for equal reports of a batch. `lines`: a column of binary values."""
    import pyarrow as pa
    import pyarrow.compute as pc
    _, offsets, data = lines.buffers()
    found = store.signatures(data or b'', memoryview(offsets).cast('i')[lines.offset:lines.offset + len(lines) + 1], DEPTH)
    names = pa.Array.from_buffers(pa.binary(), len(lines), [None, pa.py_buffer(found.name_offsets), pa.py_buffer(found.names)])
    stacks = pa.Array.from_buffers(pa.int64(), len(lines), [None, pa.py_buffer(found.stacks)])
    kinds = pa.Array.from_buffers(pa.uint8(), len(lines), [None, pa.py_buffer(found.kinds)])
    is_stack = pc.equal(kinds, 1)
    others = [signature_of(store, line) for line in lines.filter(pc.invert(is_stack)).to_pylist()]
    rows = pa.table({'names': pa.chunked_array([names.filter(is_stack), pa.array([name for name, _ in others], pa.binary())]),
                     'stack': pa.chunked_array([stacks.filter(is_stack), pa.array([stack for _, stack in others], pa.int64())])})
    counts = rows.group_by(['names', 'stack']).aggregate([([], 'count_all')])
    return counts.rename_columns(['names', 'stack', 'reports'])


def counter(store):
    """A function for mapInArrow: counts the stacks of a partition, batch by batch."""
    def count(batches):
        import pyarrow as pa
        import unspool
        opened = unspool.Store(store)
        for batch in batches:
            if batch.num_rows > 0:
                yield from count_batch(opened, batch.column(0).cast(pa.binary())).to_batches()
    return count


def main(reports, output, store):
    from pyspark.sql import SparkSession, functions as f
    spark = SparkSession.builder.appName('unspool fleet').getOrCreate()
    lines = spark.read.text(reports, lineSep='\n').selectExpr('CAST(value AS BINARY)')
    stacks = lines.mapInArrow(counter(store), SCHEMA).groupBy('names', 'stack').agg(f.sum('reports').alias('reports'))
    signatures = stacks.groupBy('names').agg(f.sum('reports').alias('reports'), f.count('*').alias('stacks'))
    signatures.selectExpr('substring(sha2(names, 256), 1, 16) AS signature',
                          r"split(make_valid_utf8(CAST(names AS STRING)), '\\x00') AS functions", 'reports',
                          'stacks').write.mode('overwrite').parquet(output)
    spark.stop()


if __name__ == '__main__':
    main(*sys.argv[1:])
