# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What holds something of the runtime, and gives it back."""


class Closing:
    """Has a method `close`, which may be called again. A `with` calls it, and so does Python
    once nothing refers to the object."""

    def close(self):
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # the process may be ending, or the object not made
            pass
