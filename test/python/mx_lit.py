"""The test format of the suite. A module of its own, because lit sends the
format to its worker processes, which import it by name."""

import re
import resource

import lit.formats
import lit.Test

# Programs whose tests are left out of a build without the compiler; in a full
# build a missing one is a failure, not a reason to skip.
COMPILER_PROGRAMS = re.compile(
    r"\b(mx-(opt|test-opt|translate|run|compile|lsp-server)|MXPlugin|mlir-\w+)\b"
)

# The tiers, with the seconds of processor time that a test may use. What is slow
# shows in processor time, whatever else the machine does. What hangs shows in
# elapsed time, of which a busy machine takes more: ten times as much ends a test.
TIERS = {"default": 80, "slow": 1200}
ELAPSED_PER_PROCESSOR = 10
TIER_LINE = re.compile(r"^\W*TIER:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
# Of tests in a tier that was not asked for.
LEFT_OUT = lit.Test.ResultCode("LEFT_OUT", "Left Out", False)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def run_lines(path):
    return [line for line in read(path).splitlines() if "RUN:" in line]


def name_tier(test):
    """The tier that the test names itself or, if it names none, that of its
    folder, which lit.local.cfg there or above names."""
    own = TIER_LINE.search(read(test.getSourcePath()))
    return own[1] if own else getattr(test.config, "tier", None)


class MXTest(lit.formats.ShTest):
    """A shell test. A .py file is one only where it has a RUN line: others are
    modules of the tests. Without the compiler, tests that need it are skipped.

    `tier` is what lit was asked for: "default", which leaves the slow tier out,
    "all", or None for tests that are run by hand. All of these run then; their
    processor time is neither reported nor limited. `slowdown` multiplies the limits
    of time. Those of elapsed time apply where `ends_hanging`."""

    def __init__(self, with_compiler, tier, slowdown=1, ends_hanging=False):
        super().__init__(execute_external=False)
        self.with_compiler = with_compiler
        self.tier = tier
        self.slowdown = slowdown
        self.ends_hanging = ends_hanging

    def processor_limit(self, tier):
        return TIERS[tier] * self.slowdown

    def elapsed_limit(self, tier):
        """In whole seconds, as lit takes them."""
        return max(1, round(ELAPSED_PER_PROCESSOR * self.processor_limit(tier)))

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
        # A worker process has its own copy of lit_config, and runs one test at a time.
        usual_limit = lit_config.maxIndividualTestTime
        if self.ends_hanging:
            lit_config.maxIndividualTestTime = self.elapsed_limit(tier)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = self.execute_in(tier, test, lit_config)
        lit_config.maxIndividualTestTime = usual_limit
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not isinstance(result, lit.Test.Result):
            result = lit.Test.Result(*result)
        if self.tier:
            seconds = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
            result.addMetric("tier", lit.Test.JSONMetricValue(tier))
            result.addMetric("processor_seconds", lit.Test.RealMetricValue(seconds))
            self.limit_processor_time(tier, seconds, result)
        return result

    def limit_processor_time(self, tier, seconds, result):
        limit = self.processor_limit(tier)
        if seconds > limit and not result.code.isFailure:
            result.code = lit.Test.FAIL
            result.output += (
                f"expected at most {limit:g} s of processor time, the limit of the {tier} tier, "
                f"found {seconds:.1f} s: divide the test or shorten it (docs/Developing.md)\n")

    def execute_in(self, tier, test, lit_config):
        if tier == "slow" and self.tier == "default":
            return LEFT_OUT, "of the slow tier"
        if not self.with_compiler:
            if any(map(COMPILER_PROGRAMS.search, run_lines(test.getSourcePath()))):
                return lit.Test.UNSUPPORTED, "built with MX_BUILD_COMPILER=OFF"
        return super().execute(test, lit_config)
