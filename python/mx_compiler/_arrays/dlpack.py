# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import and export of tensors in DLPack 1.1 capsules, with ctypes."""

import ctypes
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int32,
                    c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p,
                    py_object)
from typing import NamedTuple

from .elements import OF_DLPACK

VERSION = (1, 1)
CPU, CUDA, CUDA_MANAGED = 1, 2, 13  # DLDeviceType
IS_COPIED, IS_PADDED = 2, 4  # flags


class DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32),
                ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


DELETER = CFUNCTYPE(None, c_void_p)


class Managed(Structure):
    """DLManagedTensor, for versions before 1.0."""
    _fields_ = [("tensor", DLTensor), ("context", c_void_p),
                ("deleter", c_void_p)]
    # These must be constants, because a capsule stores the address of its name.
    capsule, used = b"dltensor", b"used_dltensor"


class Versioned(Structure):
    """DLManagedTensorVersioned."""
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p),
                ("deleter", c_void_p), ("flags", c_uint64),
                ("tensor", DLTensor)]
    capsule, used = b"dltensor_versioned", b"used_dltensor_versioned"


_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = c_int, [py_object, c_char_p]
# A capsule's destructor receives a capsule with a reference count of 0. ctypes must not convert the
# address to a Python object again.
_is_valid = ctypes.PYFUNCTYPE(c_int, c_void_p, c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))
_get = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))

# --- Export ---------------------------------------------------------------------

# Exported structures and their owners, keyed by the address of the structure.
_given = {}


@DELETER
def _delete(address):
    _given.pop(address, None)


@CFUNCTYPE(None, c_void_p)
def _drop(capsule):
    """Frees the contents of an unconsumed capsule. A consumer renames the capsule."""
    for kind in (Managed, Versioned):
        if _is_valid(capsule, kind.capsule):
            _given.pop(_get(capsule, kind.capsule), None)


def make_capsule(address, shape, element, device, owner, versioned, copied):
    """Returns a capsule for a dense array. The capsule keeps `owner` alive until the consumer
    releases the array."""
    if element.padded and not versioned:
        raise BufferError(f"expected a consumer of DLPack 1.1 for {element}, "
                          "found an older one: pass the bits, x.view('u1')")
    managed = Versioned() if versioned else Managed()
    extents = (c_int64 * max(len(shape), 1))(*shape)
    steps, step = (c_int64 * max(len(shape), 1))(), 1
    for index in reversed(range(len(shape))):
        steps[index] = step
        step *= max(shape[index], 1)
    tensor = managed.tensor
    tensor.data = address
    tensor.device_type, tensor.device_id = device
    tensor.ndim = len(shape)
    tensor.code, tensor.bits, tensor.lanes = (element.code, element.bits,
                                              element.lanes)
    tensor.shape, tensor.strides = extents, steps
    managed.deleter = ctypes.cast(_delete, c_void_p)
    if versioned:
        managed.major, managed.minor = VERSION
        managed.flags = (IS_COPIED if copied else 0) | (
            IS_PADDED if element.padded else 0)
    place = ctypes.addressof(managed)
    _given[place] = managed, extents, steps, owner
    try:
        return _new(place, managed.capsule, ctypes.cast(_drop, c_void_p))
    except BaseException:
        del _given[place]
        raise


# --- Import ---------------------------------------------------------------------


class Taken:
    """Owner of a tensor taken from a capsule. The tensor is released with the last reference."""

    def __init__(self, place, kind):
        self._deleter = kind.from_address(place).deleter
        self._place = place

    def __del__(self):
        if self._deleter:
            ctypes.cast(self._deleter, DELETER)(self._place)


class Tensor(NamedTuple):
    address: int
    shape: tuple
    strides: tuple  # in items; None if dense
    element: object
    device: tuple
    owner: Taken


def take_capsule(capsule):
    """Takes ownership of a capsule's tensor. Raises BufferError."""
    for kind in (Versioned, Managed):
        if _is_valid(id(capsule), kind.capsule):
            break
    else:
        raise BufferError(f"expected a DLPack capsule that was not consumed yet, found {capsule!r}")
    place = _get(id(capsule), kind.capsule)
    managed = kind.from_address(place)
    if kind is Versioned and managed.major > VERSION[0]:
        raise BufferError(f"expected DLPack {VERSION[0]}, found version "
                          f"{managed.major}.{managed.minor}")
    _rename(capsule, kind.used)
    owner = Taken(place, kind)
    tensor = managed.tensor
    shape = list(tensor.shape[:tensor.ndim])
    strides = list(tensor.strides[:tensor.ndim]) if tensor.strides else None
    flags = managed.flags if kind is Versioned else 0
    element = OF_DLPACK.get((tensor.code, tensor.bits))
    items = 1 if element is None else element.lanes
    if element is None or tensor.lanes not in (1, items) or (
            element.padded and not flags & IS_PADDED):
        raise BufferError("expected a supported element type, found DLPack's code "
                          f"{tensor.code} of {tensor.bits} bits and {tensor.lanes} lanes"
                          + ("" if element is None else ", without padding"))
    if tensor.lanes != items:  # one element in a byte
        if flags & IS_PADDED:
            raise BufferError(f"expected two {element} elements per byte, found one")
        if not shape or shape[-1] % items or (
                strides and not _is_dense(shape, strides)):
            raise BufferError(f"expected dense {element} and an even last "
                              f"dimension, found shape {tuple(shape)}")
        shape[-1] //= items
        strides = None
    return Tensor((tensor.data or 0) + tensor.byte_offset, tuple(shape),
                  None if strides is None or _is_dense(shape, strides)
                  else tuple(strides), element,
                  (tensor.device_type, tensor.device_id), owner)


def _is_dense(shape, strides):
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != step:
            return 0 in shape
        step *= extent
    return True


def ask(source, stream):
    """Returns the tensor of an object with __dlpack__. The tensor can be used on `stream`. Older
    libraries do not accept a version."""
    try:
        capsule = source.__dlpack__(stream=stream, max_version=VERSION)
    except TypeError:
        capsule = source.__dlpack__(stream=stream)
    return take_capsule(capsule)
