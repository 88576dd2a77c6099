# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Base class of objects that release a resource of the runtime."""

from typing import Any, TypeVar

_Self = TypeVar("_Self")


class Closing:
    """Object with an idempotent method `close`, called at the end of a `with` block and on
    destruction."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # the process may be ending, or construction failed
            pass
