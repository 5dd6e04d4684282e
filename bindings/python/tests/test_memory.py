# SPDX-License-Identifier: MIT
"""Who owns what, and threads: results outlive objects, memory does not grow, the interpreter's lock is released."""
import gc
import json
import os
import signal
import sys
import threading

import pytest
import unspool
from test_names import arrow, records


@pytest.fixture(scope='module')
def store(tmp_path_factory, program):
    made = unspool.Store(tmp_path_factory.mktemp('store'))
    made.add(program)
    return made


def resident():
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * 4096


def test_memory_does_not_grow(program, functions, build_id, store, tmp_path):
    lines = records(build_id, functions, 200)
    starts = [start for start, _ in functions.values()]

    def work():
        unspool.demangle('_ZNSt6vectorIiSaIiEE9push_backERKi')
        unspool.symbolize(program, starts)
        unspool.report(lines[1], store)
        unspool.Store(store.path, files=[program]).symbolize(build_id, starts)
        store.signatures(*arrow(lines))
        with pytest.raises(unspool.Error):
            unspool.symbolize(tmp_path / 'none', [1])
        with pytest.raises(unspool.Error):
            unspool.Core(program)
    for _ in range(20):
        work()
    gc.collect()
    before = resident()
    for _ in range(100):
        work()
    gc.collect()
    # One of these calls holds much more than a tenth of this hundredth.
    assert resident() - before < 4 << 20


def test_results_outlive_their_objects(program, functions, build_id, store):
    lines = records(build_id, functions, 50)
    temporary = unspool.Store(store.path)
    found, answers = temporary.signatures(*arrow(lines)), temporary.symbolize(build_id, [functions['spin'][0]], exact=True)
    expected = bytes(found.names), list(found.stacks), list(found.kinds), json.dumps(answers)
    del temporary
    gc.collect()
    other = unspool.Store(store.path).signatures(*arrow(lines))
    assert (bytes(found.names), list(found.stacks), list(found.kinds), json.dumps(answers)) == expected
    assert other.names == found.names and list(other.stacks) == list(found.stacks)


def test_a_buffer_that_can_change_is_copied(build_id, functions, store):
    data, offsets = arrow(records(build_id, functions, 20))
    changing = bytearray(data)
    assert store.signatures(changing, bytearray(offsets)).names == store.signatures(data, offsets).names
    changing.clear()  # nothing holds the buffer


def run_threads(count, work):
    failures = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:  # reported below
            failures.append(error)
    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_threads_share_a_store(store, program, functions, build_id):
    lines = records(build_id, functions, 60)
    starts = [start for start, _ in functions.values()]
    expected = store.signatures(*arrow(lines)).names, store.symbolize(build_id, starts, exact=True), \
        unspool.report(lines[1], store), unspool.symbolize(program, starts)

    def work(i):
        for _ in range(10):
            assert store.signatures(*arrow(lines)).names == expected[0]
            assert store.symbolize(build_id, starts, exact=True) == expected[1]
            assert unspool.report(lines[1], store) == expected[2]
            assert unspool.symbolize(program, starts) == expected[3]
    run_threads(4, work)


def test_objects_die_in_other_threads(store, build_id, functions):
    start = functions['spin'][0]

    def work(i):
        for _ in range(20):
            passed = [unspool.Store(store.path)]
            thread = threading.Thread(target=lambda: passed.pop().symbolize(build_id, [start]))
            thread.start()
            thread.join()
            assert passed == []
    run_threads(3, work)


def test_a_child_can_use_a_store_that_was_in_use_at_the_fork(store, build_id, functions):
    data, offsets = arrow(records(build_id, functions, 20000))
    expected, fork_now = store.symbolize(build_id, [functions['spin'][0]]), threading.Event()

    def work():
        for _ in range(5):
            fork_now.set()
            store.signatures(data, offsets)
    thread = threading.Thread(target=work)
    thread.start()
    fork_now.wait()
    while thread.is_alive() and not store._lock.locked():
        pass
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if store.symbolize(build_id, [functions['spin'][0]]) == expected else 1)
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.symbolize(build_id, [functions['spin'][0]]) == expected


@pytest.mark.skipif(sys.implementation.name != 'cpython', reason='PyPy has no switch interval of this kind')
def test_other_threads_run_during_a_call(store, build_id, functions):
    data, offsets = arrow(records(build_id, functions, 20000))
    go, ran, before = threading.Event(), [], sys.getswitchinterval()

    def work():
        go.wait()
        ran.append(True)
    thread = threading.Thread(target=work)
    thread.start()
    # From here the other thread runs only if this one releases the lock by itself.
    sys.setswitchinterval(1000)
    try:
        go.set()
        for _ in range(50):
            store.signatures(data, offsets)
            if ran:
                break
        assert ran
    finally:
        sys.setswitchinterval(before)
        thread.join()
