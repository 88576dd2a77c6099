"""If the user presses Ctrl-C while the simulator runs, the call ends at once, and all objects stay usable. Signals
whose handler does not raise have no effect.

RUN: rm -rf %t && mkdir %t
RUN: env MX_DEVICE= MX_CHIP= MX_PTXAS=none MX_CACHE_DIR=%t %python -W error %s
"""

import signal
import threading
import time

import mx_compiler as mx
import numpy as np

# About 10^9 steps in each of 64 threads take many minutes on the simulator.
TEXT = """
func.func @spin(%x: tensor<64xi32>, %steps: tensor<1xi32>) -> tensor<64xi32> {
  %empty = tensor.empty() : tensor<64xi32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%x : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
  ^bb0(%value: i32, %unused: i32):
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %three = arith.constant 3 : i32
    %count = tensor.extract %steps[%zero] : tensor<1xi32>
    %end = arith.index_cast %count : i32 to index
    %found = scf.for %i = %zero to %end step %one iter_args(%sum = %value) -> i32 {
      %product = arith.muli %sum, %sum : i32
      %next = arith.addi %product, %three : i32
      scf.yield %next : i32
    }
    linalg.yield %found : i32
  } -> tensor<64xi32>
  return %y : tensor<64xi32>
}
"""

mx.set_device("sim")
spin = mx.compile(TEXT, cache=False)["spin"]
x = np.arange(64, dtype=np.int32)


def call(steps):
    return spin(x, np.array([steps], np.int32))[0]


def check():
    expected = x.copy()
    for _ in range(5):
        expected = expected * expected + 3
    assert np.array_equal(call(5), expected)


def after(seconds, number):
    """Sends a signal to this process from another thread."""
    main = threading.main_thread().ident
    timer = threading.Timer(seconds, lambda: signal.pthread_kill(main, number))
    timer.start()
    return timer


def interrupted(kind, number):
    timer = after(0.5, number)
    begin = time.monotonic()
    try:
        call(10**9)
    except kind:
        pass
    else:
        raise AssertionError(f"expected a {kind.__name__}, found none")
    timer.join()
    seconds = time.monotonic() - begin
    assert seconds < 20, f"expected the end within seconds, found {seconds:.1f} s"


# Shells start background programs with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
check()
for _ in range(3):
    interrupted(KeyboardInterrupt, signal.SIGINT)
    check()

# A handler with another exception.
class TooLate(Exception):
    pass


def refuse(*_):
    raise TooLate


signal.signal(signal.SIGUSR1, refuse)
interrupted(TooLate, signal.SIGUSR1)
check()

# A handler that returns is called at once, and the call continues.
heard = []
signal.signal(signal.SIGUSR2, lambda *_: heard.append(time.monotonic()))
steps, seconds = 1000, 0
while seconds < 1:  # enough steps to take at least a second
    begin, steps = time.monotonic(), steps * 4
    call(steps)
    seconds = time.monotonic() - begin
timer = after(0.2, signal.SIGUSR2)
expected, finished = call(steps), time.monotonic()
timer.join()
assert len(heard) == 1 and heard[0] < finished, (heard, finished)
check()

# A signal to the main thread does not interrupt calls of other threads.
others, done = [], threading.Event()


def work():
    try:
        others.append(call(steps))
    finally:
        done.set()


threading.Thread(target=work).start()
timer = after(0.2, signal.SIGINT)
try:
    done.wait()
    raise AssertionError("expected a KeyboardInterrupt, found none")
except KeyboardInterrupt:
    assert not done.is_set()
done.wait()
assert np.array_equal(others[0], expected)
check()
