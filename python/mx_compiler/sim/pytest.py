# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plugin of pytest, registered by the wheel, with the fixture mx_sim (simulator/docs/Python.md)."""

import warnings

import pytest

from .. import sim
from .._runtime.errors import SimulatorWarning

_REPORTS = pytest.StashKey()


def pytest_addoption(parser):
    parser.getgroup("mx-sim").addoption("--mx-sim-seeds", type=int, default=1, metavar="N",
                                        help="run tests with the fixture mx_sim under the seeds 0 to N - 1")


def pytest_generate_tests(metafunc):
    count = metafunc.config.getoption("mx_sim_seeds")
    if count < 1:
        raise pytest.UsageError(f"--mx-sim-seeds: expected at least 1, found {count}")
    if count > 1 and "mx_sim" in metafunc.fixturenames:
        metafunc.parametrize("mx_sim", range(count), indirect=True, ids=lambda seed: f"seed{seed}")


@pytest.fixture
def mx_sim(request):
    """The module mx_compiler.sim. Launches raise no FindingsError; errors among their findings fail the test
    at its end, and warnings become warnings of pytest."""
    with sim.collect(check=False, seed=getattr(request, "param", 0)) as reports:
        request.node.stash[_REPORTS] = reports
        yield sim


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    reports, failed = pyfuncitem.stash.get(_REPORTS, []), True
    try:
        result = yield
        failed = False
    finally:
        text = "\n".join(f"kernel '{report.kernel}', seed {report.json['seed']}: {report.status}\n{report.text}"
                         for report in reports if not report.is_clean)
        if failed and text:
            pyfuncitem.add_report_section("call", "mx-sim", text)
    for finding in (finding for report in reports for finding in report.findings if finding.is_warning):
        warnings.warn(finding.text, SimulatorWarning)
    if text:
        pytest.fail(text, pytrace=False)
    return result
