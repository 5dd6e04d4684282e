#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Symbolicates folders of crash reports with Spark and counts them by crash signature (see README.md).

    spark-submit fleet.py REPORTS OUTPUT COMMAND...     (COMMAND: unspool symbolize --records --index STORE)
"""
import contextlib
import hashlib
import json
import subprocess
import sys
import threading
from collections import Counter

DEPTH = 5  # number of functions, inlined ones included, that make a signature
SCHEMA = 'signature string, functions array<string>, stack string, reports bigint'


def send(pipe, data):
    with contextlib.suppress(BrokenPipeError):  # `symbolicate` finds the answers missing
        pipe.write(data)
        pipe.flush()


def symbolicate(process, lines):
    """Yields one answer for each line, in the same order. The command answers while it still gets lines."""
    writer = threading.Thread(target=send, args=(process.stdin, b''.join([line + b'\n' for line in lines])))
    writer.start()
    for _ in lines:
        answer = process.stdout.readline()
        if not answer.endswith(b'\n'):
            raise RuntimeError(f'{process.args} ended with status {process.wait()} before its last answer')
        yield answer
    writer.join()


def frames_of(report):
    """The frames of a record, or of the crashed thread of an .ips report's body, each with its build and offset."""
    if 'frames' in report:
        return [(frame, frame.get('uuid') or frame.get('build_id'), frame.get('offset')) for frame in report['frames']]
    images, frames = report['usedImages'], report['threads'][report.get('faultingThread', 0)]['frames']
    frames = [{**images[frame['imageIndex']], **frame} for frame in frames]
    return [(frame, frame.get('uuid'), frame['imageOffset']) for frame in frames]


def hash_of(text):
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def count_key(answer):
    """What equal reports have in common: signature, the functions that make it, and the hash of the stack."""
    try:
        report, names = json.loads(answer), []
        if 'error' not in report['unspool']:
            frames = frames_of(report)
            for frame, _, _ in frames[:DEPTH]:
                names += [call['symbol'] for call in frame.get('inlined', ())]
                names.append(frame.get('symbol') or frame.get('image') or frame.get('name') or '?')
            # An .ips report has inlined calls as separate frames; the stack is the same without them.
            stack = ' '.join([f'{build}+{offset}' for frame, build, offset in frames if not frame.get('inline')])
            return hash_of('\n'.join(names[:DEPTH])), tuple(names[:DEPTH]), hash_of(stack)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        pass  # it is JSON, but no report
    return hash_of('unreadable record'), ('unreadable record',), ''


def counter(command):
    """A function for mapInArrow: one process of the command for a partition, one row for equal reports of a batch."""
    def count(batches):
        import pyarrow as pa
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            for batch in batches:
                counts = Counter(map(count_key, symbolicate(process, batch.column(0).to_pylist())))
                yield pa.RecordBatch.from_pydict({
                    'signature': pa.array([signature for signature, _, _ in counts], pa.string()),
                    'functions': pa.array([list(names) for _, names, _ in counts], pa.list_(pa.string())),
                    'stack': pa.array([stack for _, _, stack in counts], pa.string()),
                    'reports': pa.array(counts.values(), pa.int64())})
            process.stdin.close()
            if process.stdout.read() or process.wait() != 0:
                raise RuntimeError(f'{command} wrote too much, or failed with status {process.wait()}')
        finally:
            process.kill()
    return count


def main(reports, output, *command):
    from pyspark.sql import SparkSession, functions as f
    spark = SparkSession.builder.appName('unspool fleet').getOrCreate()
    lines = spark.read.text(reports, lineSep='\n').selectExpr('CAST(value AS BINARY)')
    sums = f.first('functions').alias('functions'), f.sum('reports').alias('reports')
    stacks = lines.mapInArrow(counter(command), SCHEMA).groupBy('signature', 'stack').agg(*sums)
    signatures = stacks.groupBy('signature').agg(*sums, f.count('*').alias('stacks'))
    signatures.write.mode('overwrite').parquet(output)
    spark.stop()


if __name__ == '__main__':
    main(*sys.argv[1:])
