"""The test format of the suite. A module of its own, because lit sends the
format to its worker processes, which import it by name."""

import re

import lit.formats
import lit.Test

# Programs whose tests are left out of a build without the compiler; in a full
# build a missing one is a failure, not a reason to skip.
COMPILER_PROGRAMS = re.compile(
    r"\b(mx-(opt|test-opt|translate|run|compile|lsp-server)|MXPlugin|mlir-\w+)\b"
)


def run_lines(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return [line for line in f if "RUN:" in line]


class MXTest(lit.formats.ShTest):
    """A shell test. A .py file is one only where it has a RUN line: others are
    modules of the tests. Without the compiler, tests that need it are skipped."""

    def __init__(self, with_compiler):
        super().__init__(execute_external=False)
        self.with_compiler = with_compiler

    def getTestsInDirectory(self, suite, path, lit_config, local_config):
        for test in super().getTestsInDirectory(suite, path, lit_config, local_config):
            source = test.getSourcePath()
            if not source.endswith(".py") or run_lines(source):
                yield test

    def execute(self, test, lit_config):
        if not self.with_compiler:
            if any(map(COMPILER_PROGRAMS.search, run_lines(test.getSourcePath()))):
                return lit.Test.UNSUPPORTED, "built with MX_BUILD_COMPILER=OFF"
        return super().execute(test, lit_config)
