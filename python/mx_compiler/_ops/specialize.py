# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cache of checked calls ("plans"), keyed by the types, shapes and devices of their arguments."""

from .._compile.compile import compile
from .._programs.calls import sign
from .._arrays.interop import place_of
from .._runtime.device import device_key, on_device

# Number of plans of all functions at which the cache is cleared.
MOST_PLANS = 4096
_entries, _plans = {}, {}


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
