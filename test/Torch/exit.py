# REQUIRES: torch
# RUN: %python_torch %s
"""Checks that a process ends cleanly although autograd threads are pending: they get the interpreter before the process
ends. Without a GPU, this test names one of its own threads like an autograd thread."""

import ctypes
import hashlib
import os
import subprocess
import sys
import threading
import time

import torch

import mx_compiler.torch
from mx_compiler.torch._install import at_exit

ON_GPU = """
import sys, time, torch
import mx_compiler.torch
class Slow(torch.autograd.Function):
    @staticmethod
    def forward(context, x, w):
        context.save_for_backward(x, w)
        return x @ w
    @staticmethod
    def backward(context, dy):
        x, w = context.saved_tensors
        time.sleep(0.05)
        return dy @ w.t(), x.t() @ dy
x, w = (torch.randn(64, 64, device="cuda", requires_grad=True) for _ in range(2))
y = Slow.apply(x, w)
torch.cuda.synchronize()
sys.setswitchinterval(10)  # the thread gets the interpreter only if this thread waits
gradients = torch.autograd.grad(y, (x, w), torch.ones_like(y))
"""


def exit_beside_thread(written):
    """Ends this process while another thread computes. That thread then needs the interpreter."""
    begun = threading.Event()

    def work():
        ctypes.CDLL(None).prctl(15, b"pt_autograd_0")  # PR_SET_NAME
        begun.set()
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 200_000)  # without the interpreter
        os.write(written, b"x")

    threading.Thread(target=work, daemon=True).start()
    begun.wait()
    sys.exit(0)


begin = time.monotonic()
at_exit.wait_for_autograd()
assert time.monotonic() - begin < 0.1, "a process without these threads must not wait"

read, written = os.pipe()
for number in range(10):
    child = os.fork()
    if child == 0:
        exit_beside_thread(written)
    status = os.waitpid(child, 0)[1]
    os.set_blocking(read, False)
    try:
        ended = os.read(read, 100)
    except BlockingIOError:
        ended = b""
    assert (status, ended) == (0, b"x"), f"exit {number}: status {status}, the thread was {'ended' if ended else 'cut off'}"

if torch.cuda.is_available():
    running = [subprocess.Popen([sys.executable, "-c", ON_GPU], stderr=subprocess.PIPE) for _ in range(12)]
    for process in running:
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()
