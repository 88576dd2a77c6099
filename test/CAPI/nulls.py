"""Calls every function of mx-c/Compiler.h, mx_runtime.h, mx_program.h and mx_group.h with each pointer null in turn,
and with all pointers null. The call must return, and its message must name the null argument unless the argument may be
null. The test parses the headers, so it covers new functions.

RUN: %python %s %mx_src %mx_capi %mx_libs/libmx_runtime%shlibext %t
REQUIRES: compiler, numpy
"""

import ctypes
import os
import re
import sys
from ctypes import CFUNCTYPE, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p

from work_folder import enter

source, capi, runtime, work = sys.argv[1:]
enter(work)


def read_functions(path):
    """Yields (name, result, [(type, name)]) for each function of a header."""
    with open(os.path.join(source, path)) as file:
        text = re.sub(r"/\*.*?\*/|#.*?(?<!\\)\n", "", file.read(), flags=re.DOTALL)
    found = re.findall(r"^MXC?_API\s+(.*?)(\w+)\(([^()]*)\);", text, flags=re.MULTILINE | re.DOTALL)
    for result, name, parameters in found:
        pairs = [re.fullmatch(r"(.*?)(\w+)", p.strip(), re.DOTALL).groups() for p in parameters.split(",")
                 if p.strip() not in ("void", "...")]
        yield name, result.strip(), [(" ".join(kind.split()), parameter) for kind, parameter in pairs]


HANDLES = (r"(mxc?(Context|Module|Compiled|HostProgram|Function|Stream|Program|Entry|Group)|\w+Callback|"
           r"mxWarningHandler|mxTextHandler)")


def is_pointer(kind):
    return "*" in kind or re.fullmatch(HANDLES, kind) is not None


# Nullable parameters of each function, as documented in the headers. An empty launch reads no parameters, a
# one-dimensional tensor map reads no strides, and an empty map reads no address.
MAY_BE_NULL = {
    ("*", "user"), ("mxSetWarningHandler", "data"), ("mxLaunch", "parameters"),
    ("mxModuleDescribe", "kernel"), ("mxModuleDescribe", "data"), ("mxLaunchReported", "parameters"),
    ("mxTensorMapEncodeTiled", "strides"), ("mxTensorMapEncodeTiled", "globalAddress"),
    ("mxcContextCreate", "callback"), ("mxcContextDestroy", "context"), ("mxcModuleDestroy", "module"),
    ("mxcModuleParse", "name"), ("mxcCompile", "options"), ("mxcCompiledDestroy", "compiled"),
    ("mxcCompiledGet", "bytes"), ("mxcHostProgramDestroy", "program"),
    ("mxSetDeviceForTarget", "name"), ("mxSetDeviceForTarget", "target"), ("mxCanRunTarget", "target"),
    ("mxSetWarningHandler", "handler"), ("mxSetThreadDevice", "name"),
    ("mxSetThreadInterrupt", "flag"), ("mxMemFree", "memory"),
    ("mxModuleLoad", "name"), ("mxModuleUnload", "module"), ("mxProgramUnload", "program"),
    ("mxTensorMapEncodeTiled", "elementStrides"), ("mxEntryLaunch", "workspace"),
    ("mxProgramLoadData", "name"), ("mxProgramLoadData", "kernels"), ("mxGroupDestroy", "group"),
}


PROGRAM = b"""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.abs ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""

os.environ["MX_DEVICE"] = "sim"
libraries = {"mxc": ctypes.CDLL(capi), "mx": ctypes.CDLL(runtime)}
messages = []
CALLBACKS = {
    "mxcMessageCallback": CFUNCTYPE(None, c_int, c_char_p, c_void_p)(lambda severity, text, _: messages.append(text)),
    "mxcTextCallback": CFUNCTYPE(None, c_void_p, c_size_t, c_void_p)(lambda text, size, _: None),
    "mxWarningHandler": CFUNCTYPE(None, c_char_p, c_void_p)(lambda text, _: None),
    "mxTextHandler": CFUNCTYPE(None, c_char_p, c_void_p)(lambda text, _: None),
}
BUFFER = (ctypes.c_uint8 * 4096)()
TEXTS = {"pipeline": b"builtin.module()", "format": b"nothing", "directory": b"written", "entry": b"main"}


class GroupConfig(ctypes.Structure):
    _fields_ = [("structSize", c_size_t), ("name", c_char_p), ("rank", c_int32), ("size", c_int32)]


def library_of(name):
    return libraries["mxc" if name.startswith("mxc") else "mx"]


def call(name, result, arguments):
    function = getattr(library_of(name), name)
    function.restype = (None if result == "void" else c_int32 if result in ("int", "int32_t") else c_void_p)
    return function(*arguments)


def make(name, *arguments):
    """Returns the handle that a function writes to its first argument."""
    handle = c_void_p()
    assert call(name, "int", [byref(handle), *arguments]) == 0, (name, thread_error(), messages)
    return handle


libraries["mx"].mxSetErrorPolicy(1)
# Function object with argument types of its own: call() changes the types of the library's function object.
thread_error = CFUNCTYPE(c_char_p)(("mxGetThreadError", libraries["mx"]))
context = c_void_p(call("mxcContextCreate", "mxcContext", [CALLBACKS["mxcMessageCallback"], None]))
module = c_void_p(call("mxcModuleParse", "mxcModule", [context, PROGRAM, c_size_t(len(PROGRAM)), b"it.mlir"]))
compiled = make("mxcCompile", module, None)
parts = []
for part in 0, 1:
    size = c_size_t()
    text = call("mxcCompiledGet", "char *", [compiled, part, byref(size)])
    parts.append((c_void_p(text), size))
program = make("mxProgramLoadData", *parts[0], *parts[1], None)
ptx = ctypes.string_at(*[x.value for x in parts[1]])
kernels = make("mxModuleLoad", ptx, c_size_t(0), None)
kernel = re.search(rb"\.entry (\w+)", ptx)[1]
ALONE = byref(GroupConfig(ctypes.sizeof(GroupConfig), b"alone", 0, 1))
VALID = {
    "mxGroup": make("mxGroupCreate", ALONE), "mxcContext": context, "mxcModule": module, "mxcCompiled": compiled,
    "mxcHostProgram": make("mxcHostProgramCreate", module, b"main"),
    "mxProgram": program, "mxEntry": make("mxProgramGetEntry", program, b"main"),
    "mxModule": kernels, "mxFunction": make("mxModuleGetFunction", kernels, kernel),
    "mxStream": make("mxStreamCreate"), **CALLBACKS,
}


# Destroyed handles of each kind.
context_2 = c_void_p(call("mxcContextCreate", "mxcContext", [CALLBACKS["mxcMessageCallback"], None]))
module_2 = c_void_p(call("mxcModuleClone", "mxcModule", [module]))
DEAD = {
    "mxcContext": context_2, "mxcModule": module_2, "mxcCompiled": make("mxcCompile", module, None),
    "mxcHostProgram": make("mxcHostProgramCreate", module, b"main"),
    "mxProgram": make("mxProgramLoadData", *parts[0], *parts[1], None), "mxGroup": make("mxGroupCreate", ALONE),
    "mxModule": make("mxModuleLoad", ptx, c_size_t(0), None),
}
DEAD["mxEntry"] = make("mxProgramGetEntry", DEAD["mxProgram"], b"main")
DEAD["mxFunction"] = make("mxModuleGetFunction", DEAD["mxModule"], kernel)
for kind, destroy in {"mxcContext": "mxcContextDestroy", "mxcModule": "mxcModuleDestroy",
                      "mxcCompiled": "mxcCompiledDestroy", "mxcHostProgram": "mxcHostProgramDestroy",
                      "mxProgram": "mxProgramUnload", "mxModule": "mxModuleUnload",
                      "mxGroup": "mxGroupDestroy"}.items():
    call(destroy, "void", [DEAD[kind]])


def valid(kind, name):
    if kind in VALID:
        return VALID[kind]
    if kind == "const char *":
        return TEXTS.get(name, b"x")
    if is_pointer(kind):
        return BUFFER
    return c_int32(0) if name in ("index", "result", "part") else (
        c_int32(1) if "int32" in kind or kind == "int" else c_int64(1))


errors = open("stderr", "w+b")
saved = os.dup(2)


def told(name, result, arguments):
    """Calls a function. Returns its result and all its messages."""
    messages.clear()
    # BUFFER is also a valid struct of a newer header, with zero fields.
    ctypes.memset(BUFFER, 0, len(BUFFER))
    BUFFER[1] = len(BUFFER) >> 8
    begin = os.fstat(errors.fileno()).st_size
    libraries["mx"].mxReportError(b"nothing")  # replaces the thread's latest error
    libraries["mx"].mxClearError()
    os.dup2(errors.fileno(), 2)
    found = call(name, result, arguments)
    os.dup2(saved, 2)
    with open("stderr", "rb") as file:
        file.seek(begin)
        printed = file.read()
    text = thread_error()
    libraries["mx"].mxClearError()
    return found, b"\n".join([*messages, printed, b"" if text == b"nothing" else text]).decode()


count = wrong = dead = 0
for header in ("include/mx-c/Compiler.h", "runtime/include/mx_runtime.h", "runtime/include/mx_program.h",
               "runtime/include/mx_group.h"):
    functions = list(read_functions(header))
    with open(os.path.join(source, header)) as file:
        declared = len(re.findall(r"^MXC?_API ", file.read(), flags=re.MULTILINE))
    assert len(functions) == declared > 5, (header, len(functions), declared)
    for name, result, parameters in functions:
        pointers = [i for i, (kind, _) in enumerate(parameters) if is_pointer(kind)]
        given = [valid(*parameter) for parameter in parameters]
        # Functions must refuse destroyed handles, unless another pointer is null.
        for i in pointers:
            kind, parameter = parameters[i]
            if kind not in DEAD:
                continue
            print(f"{name} with a destroyed {parameter}", flush=True)
            found, text = told(name, result, [DEAD[kind] if i == j else x for j, x in enumerate(given)])
            is_failure = {"int": bool(found), "int32_t": found == 0, "void": True}.get(result, not found)
            dead += 1
            if "found an invalid handle" not in text or not is_failure:
                print(f"wrong: {name} returned {found}, and says {text!r}")
                wrong += 1
        # With all pointers null, the call must only return.
        print(f"{name} with null pointers", flush=True)
        told(name, result, [None if i in pointers else x for i, x in enumerate(given)])
        for i in pointers:
            kind, parameter = parameters[i]
            print(f"{name} without {parameter}", flush=True)
            found, text = told(name, result, [None if i == j else x for j, x in enumerate(given)])
            count += 1
            # A null stream is the default stream.
            is_stream = kind == "mxStream" and name != "mxStreamDestroy"
            if is_stream or {(name, parameter), ("*", parameter)} & MAY_BE_NULL:
                continue
            # An invalid handle is reported with a different message than a null pointer.
            is_told = "found a null pointer" in text or "found an invalid handle" in text
            is_failure = {"int": bool(found), "int32_t": found == 0}.get(result, not found)
            if not is_told or not is_failure:
                print(f"wrong: {name} returned {found}, and says {text!r}")
                wrong += 1
print(f"{count} pointers, {dead} dead handles, {wrong} wrong")
assert count > 100 and dead > 25 and not wrong
