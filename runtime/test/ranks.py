"""Groups of libmx_runtime by ctypes, for tests: what mx_group.h declares."""

import ctypes
import socket


class Config(ctypes.Structure):
    _fields_ = [("structSize", ctypes.c_size_t), ("name", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("size", ctypes.c_int32), ("timeoutNs", ctypes.c_uint64), ("exchange", ctypes.c_void_p),
                ("user", ctypes.c_void_p), ("transport", ctypes.c_char_p)]


class Info(ctypes.Structure):
    _fields_ = [("structSize", ctypes.c_size_t), ("name", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("size", ctypes.c_int32), ("transport", ctypes.c_char_p), ("ncclVersion", ctypes.c_int32),
                ("device", ctypes.c_char * 16), ("timeoutNs", ctypes.c_uint64), ("windows", ctypes.c_void_p),
                ("windowBytes", ctypes.c_size_t)]


class Report(ctypes.Structure):
    _fields_ = [("structSize", ctypes.c_size_t), ("status", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("step", ctypes.c_int64), ("entry", ctypes.c_char_p), ("text", ctypes.c_char_p)]


# Of mxStatus.
PEER, TIMEOUT, MISMATCH = 15, 16, 17
PRINT_NOTHING = 1  # MX_ERRORS_RETURN


def load(path, device):
    """The library, with that device in use."""
    lib = ctypes.CDLL(path)
    lib.mxGetThreadError.restype = ctypes.c_char_p
    lib.mxSetErrorPolicy(PRINT_NOTHING)
    if lib.mxSetDevice(device.encode()):
        raise SystemExit(f"{device}: {lib.mxGetThreadError().decode()}")
    return lib


class Group:
    """One rank of a group; `status` and `text` are those of the failed creation or collective."""

    def __init__(self, lib, name, rank, size, port, timeout, transport=None):
        self.lib, self.rank, self.size = lib, rank, size
        self.handle = ctypes.c_void_p()
        config = Config(ctypes.sizeof(Config), name.encode(), rank, size, int(timeout * 1e9),
                        transport=transport and transport.encode())
        self.take(lib.mxGroupConnect(ctypes.byref(self.handle), ctypes.byref(config), b"127.0.0.1:%d" % port))

    def take(self, status):
        """Whether it is that of success."""
        self.status = status
        self.text = self.lib.mxGetThreadError().decode() if status else ""
        return not status

    def all_gather(self, window, size, stream=None):
        return self.take(self.lib.mxGroupAllGather(self.handle, window, ctypes.c_size_t(size), stream))

    def all_to_all(self, source, target, size, stream=None):
        return self.take(self.lib.mxGroupAllToAll(self.handle, source, target, ctypes.c_size_t(size), stream))

    def abort(self, why):
        assert self.lib.mxGroupAbort(self.handle, why.encode()) == 0

    def report(self):
        report = Report(ctypes.sizeof(Report))
        assert self.lib.mxGroupGetStatus(self.handle, ctypes.byref(report)) == 0
        return report

    def info(self):
        info = Info(ctypes.sizeof(Info))
        assert self.lib.mxGroupGetInfo(self.handle, ctypes.byref(info)) == 0
        return info

    def destroy(self):
        assert self.lib.mxGroupDestroy(self.handle) == 0


def free_ports(count):
    """Ports of this machine at which nobody listens."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
