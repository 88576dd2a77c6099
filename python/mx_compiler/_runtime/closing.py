# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Base class of objects that release a resource of the runtime."""


class Closing:
    """Object with an idempotent method `close`, called at the end of a `with` block and on
    destruction."""

    def close(self):
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # the process may be ending, or construction failed
            pass
