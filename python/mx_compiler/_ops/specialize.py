# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cache of checked calls ("plans"), keyed by the types, shapes and devices of their arguments."""

from .._compile.compile import compile
from .._programs.calls import sign
from .._arrays.interop import place_of
from .._runtime.device import HOST, device_key, device_name, on_device

# Number of plans of all functions at which the cache is cleared.
MOST_PLANS = 4096
# Number of row counts for which a layer has programs with static sizes; later row counts share a
# program with a dynamic size. With static sizes, the compiler chooses the output of quantizers, such
# as bf16 for a bf16 matmul. A training run has only a few row counts.
MOST_ROWS = 8
_entries, _plans, _rows_of = {}, {}, {}


def find_plan(make, about, arrays, given):
    """Returns the cached result of `make(*given)`, and the signature of `arrays`, which the call of
    the program needs. `make` checks the arguments and finds a program. `about` covers every input of
    `make` except the types, shapes and devices of the arrays."""
    signature = sign(arrays)
    key = (make, device_key(), about, signature)
    try:
        plan = _plans.get(key)
    except TypeError:  # unhashable arguments are refused by `make`
        return make(*given), signature
    if plan is None:
        with on_device(place_of(arrays)):
            plan = make(*given)
        if signature is not None:
            if len(_plans) >= MOST_PLANS:
                _plans.clear()
            _plans[key] = plan
    return plan, signature


def find_entry(make_text, *about):
    """Returns the entry @main of the program with the text `make_text(*about)`. The program is
    compiled on first use and cached on disk for other processes."""
    key = (device_key(), make_text, about)
    entry = _entries.get(key)
    if entry is None:
        entry = _entries[key] = compile(make_text(*about))["main"]
    return entry


def own_rows(layer, rows):
    """Returns `rows` if the layer has programs for this row count, or None for the programs with
    a dynamic row count. Both must have the same order of sums. The reference path always uses a
    dynamic row count."""
    if device_name() == HOST:
        return None
    known = _rows_of.setdefault((device_key(), layer), set())
    if rows not in known and len(known) < MOST_ROWS:
        known.add(rows)
    return rows if rows in known else None
