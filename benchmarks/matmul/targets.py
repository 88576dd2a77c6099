# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target ratios of matmuls on an H200: a baseline's time divided by that of mx."""

import dataclasses

CUBLAS, GROUPED, TRITON = ("cuBLAS bf16",), ("torch grouped bf16",), ("Triton dot_scaled",)
LAYERS = ("torch bf16, eager", "torch bf16, torch.compile")


@dataclasses.dataclass(frozen=True)
class Target:
    number: str
    title: str
    # A target uses the smallest ratio of its cases, and the largest ratio among alternatives.
    cases: tuple
    least: float
    aim: float
    peers: tuple = CUBLAS  # prefixes of names; the fastest is used
    time: str = "sustained"  # "sustained", "burst" or "graph"
    way: str = ""  # "": the fastest way


LARGE = ("mxfp8-8192", "mxfp8-16384x4096x7168")
FEW = "bf16xmxfp4{}-%dx%dx7168"


def either(name):
    """Returns the names with plain and packed weights."""
    return (name.format(""), name.format("-packed"))


TARGETS = [
    Target("1", "MXFP8, best way", LARGE, 0.90, 1.00),
    Target("2", "MXFP8, fused", LARGE, 0.85, 0.95, way="fused"),
    Target("3", "MXFP8, fused, scales over 40 binades", ("mxfp8-wide-8192",), 0.78, 0.90,
           way="fused"),
    Target("4", "MXFP8, best way, burst, to Triton", LARGE, 3.5, 4.1, TRITON, "burst"),
    Target("5", "MXFP8 4096^3, best way", ("mxfp8-4096",), 0.85, 0.95),
    Target("6", "bf16 on the MX grid", ("grid-8192",), 0.95, 1.02),
    Target("7", "grouped MXFP8, forward, M = 131072", ("grouped-mxfp8-131072",), 0.92, 1.05, GROUPED),
    Target("8", "grouped MXFP8, forward, M = 1024", (either("grouped-mxfp8{}-1024"),), 2.2, 2.6, GROUPED,
           "graph"),
    Target("9", "grouped MXFP4 weights x bf16, M = 1024", (either("grouped-bf16xmxfp4{}-1024"),),
           2.6, 3.5, GROUPED, "graph"),
    Target("10", "weight gradient, M = 131072", ("gradient-mxfp8-131072",), 0.90, 1.05, GROUPED),
    *(Target("11", f"MXFP4 x bf16, N = 4096, M = {m}", (either(FEW % (m, 4096)),), least, aim,
             time="graph") for m, least, aim in ((16, 1.6, 2.0), (64, 1.2, 1.6), (256, 1.0, 1.1))),
    Target("11", "MXFP4 x bf16, N = 4096, M = 4096", ("bf16xmxfp4-4096x4096x7168",), 0.92, 0.97),
    Target("12", "MXFP4 x bf16, N = 32768, M = 16", (either(FEW % (16, 32768)),), 2.2, 3.2,
           time="graph"),
    Target("13", "MoE layer, forward and backward", ("layer-top2of8", "layer-top8of64"), 0.95, 1.3,
           LAYERS),
]


def is_ours(name):
    return name == "mx" or name.startswith("mx, ")


def ratio(target, result):
    """Returns (ratio, spread, microseconds of mx, of the baseline, and their names), or None."""
    key = f"{target.time}_us"
    entries = [(entry[key], name, entry.get(f"{target.time}_spread_us", 0))
               for name, entry in result["implementations"].items() if key in entry]
    exact = target.peers != TRITON
    peers = [e for e in entries if e[1] in target.peers or
             not exact and e[1].startswith(target.peers)]
    ours = [e for e in entries if is_ours(e[1])]
    wanted = [e for e in ours if target.way and e[1] == f"mx, {target.way}"]
    if not ours or not peers:
        return None
    mine, peer = min(wanted or ours), min(peers)
    spread = peer[0] / mine[0] * (mine[2] / mine[0] + peer[2] / peer[0])
    return peer[0] / mine[0], spread, mine[0], peer[0], mine[1], peer[1]


def reached(target, results):
    """Returns (case, ratio(...)) for each of the target's cases; None if not measured."""
    by_name = {result["name"]: result for result in results}
    found = []
    for names in target.cases:
        names = (names,) if isinstance(names, str) else names
        ratios = [(name, ratio(target, by_name[name])) for name in names if name in by_name]
        ratios = [r for r in ratios if r[1]]
        found.append(max(ratios, key=lambda r: r[1][0]) if ratios else None)
    return found
