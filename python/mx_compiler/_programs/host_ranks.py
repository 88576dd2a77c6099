# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rank groups of programs on "cpu". They use callbacks set by mxcHostProgramSetCollectives."""

import ctypes
import hashlib

import numpy as np

from .._compile.compiler_library import interface
from .._runtime import library
from .._runtime.device import HOST
from .._runtime.errors import Error, InvalidValueError
from .rank_group import GroupInfo


class HostRanks:
    """Rank groups of the compiled `text`, and their bindings. All ranks must compile the same
    text."""

    def __init__(self, text):
        self._digest = np.frombuffer(hashlib.sha256(text).digest(), np.uint8)
        self._groups = {}  # GroupInfos, keyed by number, except for groups of a single rank
        # SharedRankGroups, keyed by number, and the last error with its C text. The callbacks refer only to
        # these two objects, because a reference to self would be a cycle.
        self._bound, self._raised = {}, []
        self._collectives = _make_collectives(self._bound, self._raised)

    def read(self, compiler, handle):
        """Reads the rank groups of a function and sets its callbacks. All functions of a text use
        the same rank groups."""
        for index in range(compiler.mxcHostProgramGroupCount(handle)):
            info = interface().mxcHostGroupInfo()
            compiler.mxcHostProgramGetGroup(handle, index, info)
            if info.size > 1:
                self._groups[index] = GroupInfo(info.name.decode(), info.size, info.tokens, 0,
                                                None)
        if self._groups:
            compiler.mxcHostProgramSetCollectives(handle, self._collectives)

    @property
    def groups(self):
        return [info._replace(rank=self._bound[number].rank) if number in self._bound else info
                for number, info in self._groups.items()]

    def bind(self, name, group):
        """Binds a rank group after comparing the texts of all ranks. Collective."""
        numbers = {info.name: number for number, info in self._groups.items()}
        if name not in numbers:
            raise Error(f"expected the group to be one of [{', '.join(numbers)}], found "
                        f"'{name}'", *library.status(library.INTERFACE.MX_ERROR_NOT_FOUND))
        number = numbers[name]
        if group.device != HOST:
            raise ValueError(f"group '{name}': expected a rank group on cpu for a program on cpu, "
                             f"found a rank group on {group.device}")
        if group.size != self._groups[number].size:
            raise ValueError(f"group '{name}': expected {self._groups[number].size} ranks, as "
                             f"compiled in the program, found {group.size}")
        digests = np.zeros((group.size, len(self._digest)), np.uint8)
        digests[group.rank] = self._digest
        for rank, found in enumerate(group.all_gather(digests)):
            if not np.array_equal(found, digests[0]):
                raise Error(f"group {group.name}: the ranks bind different programs: "
                            f"the program of rank {rank} differs from the program of rank 0",
                            *library.status(library.INTERFACE.MX_ERROR_MISMATCH))
        before, self._bound[number] = self._bound.get(number), group.shared.share()
        if before is not None:
            before.close()

    def close(self):
        """Releases the rank groups."""
        while self._bound:
            self._bound.popitem()[1].close()

    def check_bound(self, entry):
        """Raises InvalidValueError if a rank group is not bound."""
        for number, info in self._groups.items():
            if number not in self._bound:
                raise InvalidValueError(
                    f"entry '{entry}': expected group '{info.name}' of {info.size} ranks to be "
                    "bound, found an unbound group: call Program.bind on each rank",
                    *library.status(library.INVALID_VALUE))

    def take_error(self, text):
        """Returns the error raised by a callback in the last call, or None, and clears it. `text`
        is the error's message with its location."""
        error = self._raised[0] if self._raised else None
        self._raised.clear()
        return type(error)(text, error.status, error.name) if isinstance(error, Error) else error


def _make_collectives(bound, raised):
    def attempt(work):
        try:
            work()
        except BaseException as error:  # exceptions must not pass through C
            raised[:] = error, ctypes.create_string_buffer(str(error).encode())
            return ctypes.addressof(raised[1])
        return None

    def get_rank(number, _):
        return bound[number].rank if number in bound else 0

    def gather(number, window, count, _):
        return attempt(lambda: bound[number].gather_at(window, count))

    def exchange(number, source, target, count, _):
        return attempt(lambda: bound[number].exchange_at(source, target, count))

    collectives = interface().mxcHostCollectives
    types = [type for _, type in collectives._fields_[1:4]]
    return collectives(*(type(function) for type, function in
                         zip(types, (get_rank, gather, exchange))), None)
