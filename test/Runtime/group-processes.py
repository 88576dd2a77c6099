"""Tests ranks that are processes. A forked child of a rank cannot act as a rank, and it does not hide the rank's death.
Ranks with different secrets do not connect, and no socket listens beyond the loopback interface.

RUN: %python %s %mx_libs/libmx_runtime%shlibext
"""

import ctypes
import multiprocessing
import os
import pathlib
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runtime/test"))
import ranks

LIBRARY = sys.argv[1]
INVALID_VALUE = 1
LONG = 20.0


class Process:
    """Forked process that runs `body`. `body` returns a text."""

    def __init__(self, body, *arguments, environment={}):
        self.output, written = os.pipe()
        self.number = os.fork()
        if self.number:
            os.close(written)
            return
        try:
            os.close(self.output)
            os.environ.update(environment)
            text = body(*arguments)
        except BaseException as error:
            text = repr(error)
        os.write(written, (text or "").encode())
        os._exit(0)

    def kill(self):
        os.kill(self.number, signal.SIGKILL)

    def line(self):
        """Returns the output so far."""
        return os.read(self.output, 1 << 16).decode()

    def end(self):
        text = self.line()
        os.waitpid(self.number, 0)
        os.close(self.output)
        return text


def connect(rank, size, port, timeout=LONG):
    return ranks.Group(ranks.load(LIBRARY, "sim"), "ep", rank, size, port, timeout)


def outer_address():
    """Returns the address of another interface of this machine, or the loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        try:
            route.connect(("192.0.2.1", 9))
            return route.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def connect_at(host, rank, port, timeout=LONG):
    """Connects one of two ranks to its peer at `host`. Returns the status and the error text."""
    group = ranks.Group.__new__(ranks.Group)
    group.lib, group.handle = ranks.load(LIBRARY, "sim"), ctypes.c_void_p()
    config = ranks.Config(ctypes.sizeof(ranks.Config), b"ep", rank, 2, int(timeout * 1e9))
    group.take(group.lib.mxGroupConnect(ctypes.byref(group.handle), ctypes.byref(config), f"{host}:{port}".encode()))
    found = f"{group.status} {group.text}"
    # If a process exits, a rank that is still connecting to it fails.
    if group.status == 0:
        group.destroy()
    return found


def work(group):
    """Runs all_gather until it fails. Returns the status, the rank at fault, and whether the failure came within 5
    s."""
    window = ctypes.create_string_buffer(64 * group.size)
    while True:
        begin = time.monotonic()
        if not group.all_gather(window, 64):
            return f"{group.status} {group.report().rank} {time.monotonic() - begin < 5}"


def start_child(kind):
    """Starts a child that runs longer than the test waits."""
    if kind == "fork":
        if os.fork() == 0:
            os.close(1)
            time.sleep(60)
            os._exit(0)
    else:
        multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,), daemon=True).start()


def deaths():
    def member(rank, port, kind):
        group = connect(rank, 3, port)
        assert not group.status, group.text
        if rank == 1:
            # Start several children, some during a transfer.
            threading.Thread(target=lambda: [time.sleep(0.05), start_child(kind)], daemon=True).start()
            start_child(kind)
        return work(group)

    for kind in "fork", "multiprocessing":
        port, = ranks.free_ports(1)
        members = [Process(member, rank, port, kind) for rank in range(3)]
        time.sleep(0.5)
        members[1].kill()
        for rank in 0, 2:
            found = members[rank].end()
            assert found == f"{ranks.PEER} 1 True", (kind, rank, found)
        os.waitpid(members[1].number, 0)


def children_are_no_ranks():
    def child(group):
        window = ctypes.create_string_buffer(128)
        calls = [lambda: group.all_gather(window, 64),
                 lambda: group.all_to_all(window, ctypes.create_string_buffer(128), 64),
                 lambda: group.take(group.lib.mxGroupReserveWindows(group.handle, ctypes.c_size_t(64))),
                 lambda: group.take(group.lib.mxGroupGetStatus(
                     group.handle, ctypes.byref(ranks.Report(ctypes.sizeof(ranks.Report))))),
                 lambda: group.take(group.lib.mxGroupAbort(group.handle, b"a child"))]
        for call in calls:
            assert not call() and group.status == INVALID_VALUE, group.status
            assert group.text == ("group ep: expected a call from the process that created the group, found a "
                                  "call from a forked child: create groups after the fork"), group.text
        mine = os.open("/dev/null", os.O_RDONLY)
        group.destroy()
        os.fstat(mine)  # destroy must not close this file
        own = connect(0, 1, 1)
        assert own.all_gather(window, 64), own.text
        own.destroy()
        return "fine"

    def member(rank, port):
        group = connect(rank, 2, port)
        assert not group.status, group.text
        said = Process(child, group).end() if rank else "fine"
        # The parent is unaffected.
        window = ctypes.create_string_buffer(bytes([rank + 1]) * 128, 128)
        for _ in range(3):
            assert group.all_gather(window, 64), group.text
        assert window.raw == b"\1" * 64 + b"\2" * 64
        group.destroy()
        return said

    port, = ranks.free_ports(1)
    assert [each.end() for each in [Process(member, rank, port) for rank in range(2)]] == ["fine"] * 2


def children_keep_no_port():
    def member(port):
        threading.Thread(target=lambda: [time.sleep(0.3), start_child("fork"), start_child("multiprocessing")],
                         daemon=True).start()
        connect(0, 2, port)

    port, = ranks.free_ports(1)
    member = Process(member, port)
    time.sleep(0.6)
    member.kill()
    os.waitpid(member.number, 0)
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.1", port)) != 0, "a child listens"


def secrets():
    def member(rank, port, timeout):
        group = connect(rank, 2, port, timeout)
        text = "" if group.status else group.all_gather(ctypes.create_string_buffer(2), 1)
        return f"{group.status} {group.text}{text}"

    def run(*texts):
        port, = ranks.free_ports(1)
        timeout = LONG if texts[0] == texts[1] else 0.5
        return port, [each.end() for each in [
            Process(member, rank, port, timeout, environment={"MX_GROUP_SECRET": text})
            for rank, text in enumerate(texts)]]

    for text in "", "the secret of this job":
        assert run(text, text)[1] == ["0 True"] * 2
    for one, other in ("", "the secret of this job"), ("the secret of this job", "the secret of that job"):
        port, found = run(one, other)
        why = (": %s was refused because the job's secrets differ (MX_GROUP_SECRET is %sset here; "
               "all ranks need the same secret)")
        assert found[0] == (f"{ranks.TIMEOUT} group ep: rank 1 did not connect to rank 0 at 127.0.0.1:{port} (waited "
                            "0.5 s)" + why % ("another process", "" if one else "not ")), found[0]
        assert found[1] == (f"{ranks.TIMEOUT} group ep: rank 0 does not answer at 127.0.0.1:{port} (rank 1 waited 0.5 s)"
                            + why % ("this rank", "")), found[1]

    # With another address, the ranks do not connect at all, because a rank without the secret uses only loopback.
    host = outer_address()
    if host == "127.0.0.1":
        return
    for bare in 0, 1:
        port, = ranks.free_ports(1)
        members = [Process(connect_at, host, rank, port, 0.5,
                           environment={"MX_GROUP_SECRET": "" if rank == bare else "the secret of this job"})
                   for rank in range(2)]
        found = [member.end() for member in members]
        assert found[bare].startswith(f"{ranks.TIMEOUT} ") and found[bare].endswith(
            ": MX_GROUP_SECRET is not set, so this rank connects only to other ranks without the variable, on this machine at 127.0.0.1"), found


def listeners(process):
    """Returns the addresses on which a process listens, in the kernel's notation."""
    inodes = set()
    for each in pathlib.Path(f"/proc/{process}/fd").iterdir():
        try:
            inodes.add(os.readlink(each))
        except FileNotFoundError:
            pass
    found = []
    for table in "tcp", "tcp6":
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                found.append(fields[1])
    return found


def loopback_only():
    """Checks a host name and, if present, the address of another interface."""
    for host in "127.0.0.1", "localhost", outer_address():
        port, = ranks.free_ports(1)
        zero = Process(connect_at, host, 0, port)
        end = time.monotonic() + LONG
        while len(found := listeners(zero.number)) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        one = Process(connect_at, host, 1, port)
        assert len(found) == 2 and all(each.startswith("0100007F:") for each in found), (host, found)
        assert [zero.end(), one.end()] == ["0 ", "0 "], host


deaths()
children_are_no_ranks()
children_keep_no_port()
secrets()
loopback_only()
