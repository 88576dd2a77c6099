# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the runtime reports, as an exception."""


class Error(RuntimeError):
    """An error of the runtime. `status` is its mxStatus, `name` that status in
    words ("not found", "check failed", ...), and the text is the runtime's."""

    def __init__(self, text, status, name):
        super().__init__(text)
        self.status = status
        self.name = name
