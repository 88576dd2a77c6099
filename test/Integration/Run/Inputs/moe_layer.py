"""Runs examples/moe_layer.mlir, compiled, on random routings.

usage: moe_layer.py DIRECTORY stages|poison [--observed=DIRECTORY] [--count=N]
                    [--seed=N] [--device=sim|cuda|cuda:N]

`stages` compares each stage with its exact result, and signal-to-noise ratios with the predictions for the formats. The
layer written by moe_observe.py exposes intermediate values, and must give the same results. `poison` runs each routing
several times, with zeros, NaN, infinities and all ones in irrelevant memory, and requires equal bits
elsewhere.
"""

import argparse
import sys

import moe
import moe_device
import moe_noise
import moe_routing
import moe_stages
import mx_compiler as mx
import numpy as np

HIDDEN, INNER, GROUPS = 384, 256, 8


def make_inputs(rng, kind, most):
    r = moe_routing.draw(rng, kind, GROUPS, most)
    return r, moe.draw_inputs(rng, r, HIDDEN, INNER)


def differences(found, want, v):
    """Counts differing bytes of the meaningful parts."""
    count = 0
    for name, array in found.items():
        part = moe_device.defined(name, v)
        pair = (np.ascontiguousarray(a[part]).reshape(-1).view(np.uint8)
                for a in (array, want[name]))
        count += int(np.not_equal(*pair).sum())
    return count


def check_stages(layer, rng, args):
    observed = moe_device.open_layer(args.observed, observed=True)
    power, failures = {}, 0
    total = moe_stages.Findings()
    for index in range(args.count):
        kind = moe_routing.KINDS[index % len(moe_routing.KINDS)]
        r, v = make_inputs(rng, kind, int(rng.choice([8, 32, 64])))
        poison = list(moe_device.POISON)[index % len(moe_device.POISON)]
        plain = dict(v)
        observed.run(v, poison)
        found = moe_stages.check(v)
        if index < len(moe_routing.KINDS):
            layer.run(plain, poison)
            found.add("without a look inside", differences(plain, v, v))
        if any(found.wrong.values()):
            print(f"{index}: {r}: {found}")
            failures += 1
        total.merge(found)
        moe_noise.add_power(power, v)
    print(str(total).replace("; ", "\n"))
    moe_noise.expect_ratios(power)
    print(f"{args.count} routings, {failures} failures")
    return failures


def check_poison(layer, rng, args):
    failures = slack = 0
    for index in range(args.count):
        kind = moe_routing.KINDS[index % len(moe_routing.KINDS)]
        r, inputs = make_inputs(rng, kind, 32)
        runs = {}
        for poison in moe_device.POISON:
            v = runs[poison] = dict(inputs)
            layer.run(v, poison)
        for name, array in runs["zeros"].items():
            part = moe_device.defined(name, inputs)
            slack += array.nbytes - array[part].nbytes
        for poison, v in runs.items():
            changed = differences(v, runs["zeros"], inputs)
            if changed:
                print(f"{index}: {r}: {poison} changed {changed} bytes")
                failures += 1
    print(f"{args.count} routings, {slack >> 10} KiB of slack, {failures} failures")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("mode", choices=["stages", "poison"])
    parser.add_argument("--observed")
    parser.add_argument("--count", type=int, default=len(moe_routing.KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="sim")
    args = parser.parse_args()
    mx.set_device(args.device)
    if args.device == "sim":
        for option, value in [("checks", "all"), ("sm-count", 3), ("seed", args.seed)]:
            mx.set_simulator_option(option, value)
    layer = moe_device.open_layer(args.directory, observed=False)
    check = {"stages": check_stages, "poison": check_poison}[args.mode]
    failures = check(layer, np.random.default_rng(100 + args.seed), args)
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
