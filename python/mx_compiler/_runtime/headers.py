# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads ctypes declarations from the headers of the C interface, so functions and structs are
declared only once. Wheels and installations contain the headers."""

import ctypes
import pathlib
import re

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "include", _PACKAGE.parent.parent / "runtime/include",
            _PACKAGE.parent.parent / "include")

_NUMBERS = {"int": ctypes.c_int, "size_t": ctypes.c_size_t, "double": ctypes.c_double,
            **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}")
               for sign in ("", "u") for bits in (8, 16, 32, 64)}}
_ENUM = re.compile(r"(?:typedef )?enum (?:\w+ )?\{([^}]*)\}")
_STRUCT = re.compile(r"typedef struct (\w+) \{([^}]*)\}")
_HANDLE = re.compile(r"typedef (?:struct \w+|void) \*(\w+);")
_CALLBACK = re.compile(r"(\w[\w ]*[ *]*)\(\*(\w+)\)\(([^)]*)\);")
_FUNCTION = re.compile(r"MXC?_API ([\w ]+?[ *]*)(mxc?[A-Z]\w+)\(([^)]*)\);")


class Sized(ctypes.Structure):
    """Struct with its size, struct_size, as the first field, like all structs of the interface. Field
    names are in snake case."""

    def __init__(self, *values, **named):
        super().__init__(ctypes.sizeof(type(self)), *values, **named)

    @classmethod
    def array(cls, count):
        """Returns an array of `count` structs. The array is not empty, because C has no
        empty arrays."""
        return (cls * max(count, 1))(*[cls() for _ in range(count)])


class Interface:
    """Declarations of C headers. Constants, structs and callback types are attributes with their C
    names. `functions` maps the names of functions to (result, arguments).

    Text is passed as bytes. In callbacks, text is an address, because C may pass text without a
    terminating zero, and ctypes would not keep returned text alive."""

    def __init__(self, *headers):
        self.functions = {}
        self._handles, self._types = set(), dict(_NUMBERS)
        for header in headers:
            self._read(_text(header))

    def bind(self, library):
        """Declares the functions of a library. Raises AttributeError if a function is missing."""
        for name, (result, arguments) in self.functions.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    def _read(self, text):
        self._handles.update(_HANDLE.findall(text))
        for values in _ENUM.findall(text):
            number = -1
            for name, value in re.findall(r"(\w+)(?: = (\d+))?", values):
                number = int(value) if value else number + 1
                setattr(self, name, number)
        for result, name, arguments in _CALLBACK.findall(text):
            if result.startswith("typedef "):
                self._add(name, self._callback(result.removeprefix("typedef "), arguments))
        for name, body in _STRUCT.findall(text):
            self._add(name, type(name, (Sized,), {"_fields_": [*self._fields(body)]}))
        for result, name, arguments in _FUNCTION.findall(text):
            if "..." not in arguments:
                self.functions[name] = self._type(result), self._arguments(arguments)

    def _add(self, name, type):
        self._types[name] = type
        setattr(self, name, type)

    def _callback(self, result, arguments):
        types = [self._type(result), *self._arguments(arguments)]
        return ctypes.CFUNCTYPE(*(ctypes.c_void_p if type is ctypes.c_char_p else type
                                  for type in types))

    def _arguments(self, text):
        return [self._type(re.sub(r"\w+$", "", one.strip())) for one in text.split(",")
                if one.strip() != "void"]

    def _fields(self, body):
        for declaration in filter(None, map(str.strip, body.split(";"))):
            if callback := _CALLBACK.fullmatch(declaration + ";"):
                result, name, arguments = callback.groups()
                yield _spelled(name), self._callback(result, arguments)
                continue
            type, names = re.fullmatch(r"((?:const )*\w+[ *]*(?:const \*)?)(.+)",
                                       declaration).groups()
            for name, count in re.findall(r"(\w+)(?:\[(\d+)\])?", names):
                found = self._type(type + "*" * (type == "char" and not count))
                yield _spelled(name), found * int(count) if count else found

    def _type(self, text):
        name, stars = text.replace("const", "").replace("*", " ").split()[0], text.count("*")
        if name in self._handles or name == "void" and stars:
            found, stars = ctypes.c_void_p, stars - (name == "void")
        elif name == "char":
            found, stars = (ctypes.c_char_p, stars - 1) if stars else (ctypes.c_char, 0)
        else:
            found = None if name == "void" else self._types[name]
        for _ in range(stars):
            found = ctypes.POINTER(found)
        return found


def _spelled(name):
    """Converts a C name to snake case."""
    return re.sub(r"(?=[A-Z])", "_", name).lower()


def _text(header):
    """Returns the declarations of a header with normalized white space."""
    path = next((folder / header for folder in _FOLDERS if (folder / header).exists()), None)
    if path is None:
        raise ImportError(f"expected {header} in {_FOLDERS[0]}, found none: install the "
                          "package anew")
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"^[ \t]*#.*?(?<!\\)$", "", text, flags=re.MULTILINE)
    return re.sub(r"\s+", " ", text)
