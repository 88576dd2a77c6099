"""The test format of the suite. It is a separate module because lit sends the
format to its worker processes, which import it by name."""

import os
import re
import resource
import shutil
import signal
import subprocess
import threading

import lit.formats
import lit.Test

try:
    import psutil
except ImportError:  # without psutil, hanging tests never end
    psutil = None

# Programs of the compiler. A build without the compiler skips their tests. In a full
# build a missing program is a failure.
COMPILER_PROGRAMS = re.compile(
    r"\b(mx-(opt|test-opt|translate|run|compile|lsp-server)|MXPlugin|mlir-\w+)\b"
)

# Budget of each tier, in seconds of processor time per test. Reports list tests over
# budget, but do not fail them, because processor time varies with the machine and its load.
TIERS = {"default": 80, "slow": 1200}
SANITIZERS_SLOWDOWN = 6  # factor of budgets in builds with sanitizers
TIER_LINE = re.compile(r"^\W*TIER:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
# Result of tests in a tier that was not requested.
LEFT_OUT = lit.Test.ResultCode("LEFT_OUT", "Left Out", False)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def run_lines(path):
    return [line for line in read(path).splitlines() if "RUN:" in line]


def name_tier(test):
    """Returns the tier that the test names or, by default, the tier in the
    nearest lit.local.cfg."""
    own = TIER_LINE.search(read(test.getSourcePath()))
    return own[1] if own else getattr(test.config, "tier", None)


class Watchdog(threading.Thread):
    """Ends the processes of a hanging test. `period` is in seconds of elapsed time.

    A test hangs if its processes wait (they use less than 1 % of a period in processor time),
    spin (they use more than half a period in total), or run for `PERIODS` periods. A busy
    machine slows tests down, but does not let them hang, because runnable processes progress."""

    PERIODS = 10

    def __init__(self, period):
        super().__init__(daemon=True)
        self.period = period
        self.done = threading.Event()
        self.why = None

    def __enter__(self):
        self.begin = count_processor_seconds()
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()

    def run(self):
        used, number = 0, 0
        while not self.done.wait(self.period):
            before, number = used, number + 1
            used = count_processor_seconds(live_processes()) - self.begin
            if (used - before < self.period / 100 or used > self.period / 2
                    or number == self.PERIODS):
                self.why = (f"hangs: ended after {number * self.period:g} s, of which it used "
                            f"{used:.1f} s of processor time, {used - before:.1f} s in the last "
                            f"{self.period:g} s")
                self.end_processes()

    def end_processes(self):
        """Kills processes until the test returns, because scripts may continue after a child dies."""
        while True:
            for process in live_processes():  # parents first
                try:
                    os.kill(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if self.done.wait(0.1):
                return


def watch(execute, period, ends_hanging):
    """Returns the result of `execute()`. If `ends_hanging`, a watchdog ends hanging processes."""
    if not ends_hanging:
        return execute()
    with Watchdog(period) as watchdog:
        result = execute()
    if not isinstance(result, lit.Test.Result):
        result = lit.Test.Result(*result)
    if watchdog.why:
        result.code = lit.Test.TIMEOUT
        result.output += f"{watchdog.why} (docs/contributing/Developing.md)\n"
    return result


def live_processes():
    return psutil.Process().children(recursive=True)


def count_processor_seconds(processes=()):
    """Returns the processor time of ended children of this process, and of `processes`."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = ended.ru_utime + ended.ru_stime
    for process in processes:
        try:
            seconds += sum(process.cpu_times()[:4])  # includes ended children
        except psutil.Error:
            pass
    return seconds


def use_libfuzzer(config):
    """Adds the feature libfuzzer, %fuzz_cc and %fuzz_cxx if clang's run-time libraries are
    installed, which are a separate package."""
    clang = shutil.which("clang-22") or shutil.which("clang")
    clangxx = clang and shutil.which(os.path.basename(clang).replace("clang", "clang++"))
    if not clangxx:
        return
    folder = subprocess.run([clang, "-print-runtime-dir"], capture_output=True, text=True).stdout.strip()
    if os.path.isdir(folder) and any("fuzzer" in name for name in os.listdir(folder)):
        config.available_features.add("libfuzzer")
        config.substitutions += [("%fuzz_cc", clang), ("%fuzz_cxx", clangxx)]


def python_with_sanitizers(compiler, python, folder, name="python3-with-sanitizers"):
    """Writes a program into `folder` that runs `python` with two preloaded libraries: the
    sanitizer run-time library, and libstdc++, which provides its exception functions. Returns
    the path of the program."""
    libraries = [subprocess.run([compiler, f"-print-file-name={name}"],
                                capture_output=True, text=True, check=True).stdout.strip()
                 for name in ("libasan.so", "libstdc++.so")]
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nLD_PRELOAD="{" ".join(libraries)}" exec "{python}" "$@"\n')
    os.chmod(path, 0o755)
    return path


class MXTest(lit.formats.ShTest):
    """A shell test. A .py file without a RUN line is a module, not a test. Without the
    compiler, tests that need the compiler are skipped.

    `tier` is the tier requested from lit: "default", which skips the slow tier,
    "all", or None for tests started by hand. With None all tests run, and their
    processor time is not reported. `slowdown` multiplies budgets. With `ends_hanging` a
    watchdog ends tests that hang. The period of the watchdog is ten budgets."""

    def __init__(self, with_compiler, tier, slowdown=1, ends_hanging=False):
        super().__init__(execute_external=False)
        self.with_compiler = with_compiler
        self.tier = tier
        self.slowdown = slowdown
        self.ends_hanging = ends_hanging

    def budget(self, tier):
        return TIERS[tier] * self.slowdown

    def period(self, tier):
        return 10 * self.budget(tier)

    def getTestsInDirectory(self, suite, path, lit_config, local_config):
        for test in super().getTestsInDirectory(suite, path, lit_config, local_config):
            source = test.getSourcePath()
            if not source.endswith(".py") or run_lines(source):
                yield test

    def execute(self, test, lit_config):
        tier = name_tier(test)
        if tier not in TIERS:
            return lit.Test.UNRESOLVED, (
                f"expected a tier, {' or '.join(TIERS)}, in a line 'TIER: ...' of the test or as "
                f"config.tier in lit.local.cfg of its folder, found {tier or 'none'}\n")
        # A worker process runs one test at a time.
        before = count_processor_seconds()
        result = watch(lambda: self.execute_in(tier, test, lit_config),
                       self.period(tier), self.ends_hanging)
        if not isinstance(result, lit.Test.Result):
            result = lit.Test.Result(*result)
        if self.tier:
            result.addMetric("tier", lit.Test.JSONMetricValue(tier))
            result.addMetric("processor_seconds",
                             lit.Test.RealMetricValue(count_processor_seconds() - before))
            result.addMetric("budget_seconds", lit.Test.RealMetricValue(self.budget(tier)))
        return result

    def execute_in(self, tier, test, lit_config):
        if tier == "slow" and self.tier == "default":
            return LEFT_OUT, "of the slow tier"
        if not self.with_compiler:
            if any(map(COMPILER_PROGRAMS.search, run_lines(test.getSourcePath()))):
                return lit.Test.UNSUPPORTED, "built with MX_BUILD_COMPILER=OFF"
        return super().execute(test, lit_config)


class MXUnitTest(lit.formats.GoogleTest):
    """A binary of unit tests, under the limits of the default tier."""

    def __init__(self, slowdown, ends_hanging):
        super().__init__(".", "Tests")
        self.slowdown = slowdown
        self.ends_hanging = ends_hanging

    def execute(self, test, lit_config):
        return watch(lambda: super(MXUnitTest, self).execute(test, lit_config),
                     10 * TIERS["default"] * self.slowdown, self.ends_hanging)
