# Runs GoogleTest binaries as lit tests: each test of a binary counts separately.

import os
import sys

import lit.util

sys.path.append(os.path.join(config.sim_source, "test", "python"))
import mx_lit

config.name = "mx-sim-Unit"
config.suffixes = []
config.test_source_root = config.sim_unittests
config.test_exec_root = config.test_source_root
can_kill, _ = lit.util.killProcessAndChildrenIsSupported()
config.test_format = mx_lit.MXUnitTest(
    mx_lit.SANITIZERS_SLOWDOWN if config.sim_sanitize else 1,
    can_kill and not lit_config.maxIndividualTestTime)
config.environment["MX_SIM_WARNINGS"] = "error"
config.environment["HOME"] = os.environ.get("HOME", "/")
config.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "detect_leaks=0:detect_container_overflow=0")
config.environment["UBSAN_OPTIONS"] = os.environ.get("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
