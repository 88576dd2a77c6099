"""Event trace of a kernel.

The rules that declare a mutant equivalent must not use the checks under test. Therefore the kernel itself reports its
events: a vprintf call accompanies every synchronizing or asynchronous instruction."""

import bisect
import collections
import dataclasses
import itertools
import math
import re

TENSOR_ACCESS = ("tcgen05.mma", "tcgen05.cp", "tcgen05.shift", "tcgen05.ld", "tcgen05.st")
TRACED = TENSOR_ACCESS + (
    "fence",
    "membar",
    "bar",
    "barrier",
    "mbarrier",
    "tcgen05.alloc",
    "tcgen05.dealloc",
    "tcgen05.commit",
    "tcgen05.wait::ld",
    "tcgen05.wait::st",
    "tcgen05.fence::before_thread_sync",
    "tcgen05.fence::after_thread_sync",
    "wgmma",
    "mma.sync",
    "ldmatrix",
    "cp.async",
    "cp.reduce",
    "clusterlaunchcontrol.try_cancel",
    "ld",
    "st",
    "stmatrix",
    "atom",
    "red",
)
WAITS = ("mbarrier.try_wait", "mbarrier.test_wait")

# PTX ISA, mma.sync with block scales: a selector names the lanes of a quad that provide the scales. A mutant flips bits
# of a selector, which then names another lane. Each key is an operand and the flipped selector bits. Each value is the
# index of the instruction operand that contains the scales, and the flipped bits of the lane number.
OTHER_LANES = {("A", 1): (4, 2), ("B", 1): (6, 1), ("B", 2): (6, 2), ("B", 3): (6, 3)}
SAME_WORD = """
  shfl.sync.bfly.b32 %mutants7, {word}, {lanes}, 31, -1;
  setp.eq.b32 %mutantsp0, %mutants7, {word};
  selp.b32 %mutants7, {bit}, 0, %mutantsp0;
  or.b32 %mutants3, %mutants3, %mutants7;"""

HEAD = """
.extern .func (.param .b32 mutants_r) vprintf (.param .b64 mutants_a, .param .b64 mutants_b);
.global .align 1 .b8 mutants_format[] = {64, 37, 117, 32, 37, 117, 32, 37, 117, 32, 37, 117, 32, 37, 120, 32, 37, 120, 32, 37, 120, 10, 0};
"""  # "@%u %u %u %u %x %x %x\n": statement, CTA, warp, lane, values of Event

CALL = """
{{
  .reg .b32 %mutants<8>;
  .reg .b64 %mutantsd<4>;
  .reg .pred %mutantsp<4>;
  .local .align 8 .b8 mutants_args[32];
  mov.u32 %mutants0, {number};
  mov.u32 %mutants1, %ctaid.y; mov.u32 %mutants2, %nctaid.x;
  mov.u32 %mutants3, %ctaid.x;
  mad.lo.u32 %mutants1, %mutants1, %mutants2, %mutants3;
  mov.u32 %mutants2, %tid.x; shr.u32 %mutants2, %mutants2, 5;
  mov.u32 %mutants3, 0; mov.u32 %mutants4, 0; mov.u32 %mutants5, 0;
  mov.u32 %mutants6, %laneid;
  {values}
  mov.u64 %mutantsd0, mutants_args;
  st.local.v4.b32 [%mutantsd0], {{%mutants0, %mutants1, %mutants2, %mutants6}};
  st.local.v2.b32 [%mutantsd0+16], {{%mutants3, %mutants4}};
  st.local.b32 [%mutantsd0+24], %mutants5;
  cvta.local.u64 %mutantsd0, %mutantsd0;
  mov.u64 %mutantsd1, mutants_format; cvta.global.u64 %mutantsd1, %mutantsd1;
  {{
    .param .b64 mutants_f; st.param.b64 [mutants_f], %mutantsd1;
    .param .b64 mutants_g; st.param.b64 [mutants_g], %mutantsd0;
    .param .b32 mutants_q;
    {predicate} call.uni (mutants_q), vprintf, (mutants_f, mutants_g);
  }}
}}
"""


@dataclasses.dataclass(frozen=True)
class Event:
    statement: int
    cta: int
    warp: int
    value: int  # address in shared memory; descriptor or same_scales of an MMA
    high: tuple  # upper 32 bits of the A and B descriptors, or of the source descriptor


def is_traced(s):
    """Tests whether the statement is traced. Loads and stores are traced only if lanes or warps share memory."""
    if not s.starts(*TRACED) or s.starts("ld.param", "st.param", "ld.local", "st.local"):
        return False
    return not s.starts("ld.const", "st.const", "mbarrier.pending_count")


def address_into(source, text):
    base, _, offset = text.partition("+")
    if source.bits_of(base.strip()) == 64:
        move = f"cvt.u32.u64 %mutants3, {base};"
    else:
        move = f"mov.u32 %mutants3, {base};"
    return f"{move} add.s32 %mutants3, %mutants3, {offset or 0};"


def same_scales(operand, flip):
    """Returns the event bit that is set if a lane's scales equal those of the lane named by the flipped selector, or
    None if the flip names no other lane."""
    other = (operand, flip)
    return 1 << list(OTHER_LANES).index(other) if other in OTHER_LANES else None


def values_of(source, s):
    high = "mov.b64 {{_, %mutants{}}}, {};"
    brackets = [o[1:-1] for o in s.operands if o.startswith("[")]
    # Addresses of stores are not recorded, because each lane stores to separate addresses.
    is_load = s.starts("ld") and s.opcode.startswith("ld.shared")
    has_address = s.starts(
        "mbarrier", "tcgen05.commit", "tcgen05.alloc", "clusterlaunchcontrol.try_cancel"
    )
    if is_load or (has_address and brackets):
        return address_into(source, brackets[0])
    if s.starts("cp.async") and s.has("mbarrier::complete_tx::bytes"):
        return address_into(source, brackets[-1])
    if s.starts("tcgen05.mma"):
        text = f"mov.b32 %mutants3, {s.operands[4 if s.has('sp') else 3]};"
        for k in (1, 2):
            if not s.operands[k].startswith("["):
                text += high.format(k + 3, s.operands[k])
        return text
    if s.starts("tcgen05.cp"):
        return high.format(4, s.operands[1])
    if s.starts("mma.sync") and s.has("block_scale"):
        return "".join(
            SAME_WORD.format(word=s.operands[k], lanes=lanes, bit=same_scales(*other))
            for other, (k, lanes) in OTHER_LANES.items()
        )
    if s.starts("wgmma.mma_async"):
        places = ((k, s.operands[k]) for k in (1, 2))
        return "".join(high.format(k + 3, o) for k, o in places if o[0] != "{")
    return ""


def call_for(source, s):
    """Emits the vprintf call for a statement. All executing lanes report, but after a wait only those that passed."""
    predicate = f"@{s.operands[0]}" if s.starts(*WAITS) else s.predicate
    return CALL.format(
        number=s.index, values=values_of(source, s), predicate=predicate
    )


def instrument(source):
    pieces, at = [], 0
    for s in source.statements:
        if not is_traced(s):
            continue
        # Arrivals and accesses report before they execute, waits afterwards.
        after = s.starts(*WAITS, "bar", "barrier", "tcgen05.alloc")
        place = s.end if after else s.begin
        pieces += [source.text[at:place], call_for(source, s)]
        at = place
    text = "".join(pieces) + source.text[at:]
    head = text.rindex("\n", 0, source.entry) + 1
    return text[:head] + HEAD + text[head:]


def cluster_size(source, launch):
    """Returns the cluster size along x, which matches the CTA numbering in CALL."""
    size = launch.get("cluster")
    if size:
        return math.prod(size)
    found = re.search(
        r"\.reqnctapercluster\s+(\d+)", source.text[source.entry : source.body]
    )
    return int(found[1]) if found else 1


class Trace:
    """Events of a run. Identical events from several lanes of a warp are merged."""

    def __init__(self, source, simulator):
        self.source = source
        self.cluster = cluster_size(source, simulator.launch)
        run = simulator.run(instrument(source), checks="none")
        if run.status != 0:
            raise SystemExit(f"mutants: error: the trace failed: {run.message}")
        self.events = []
        self.lanes = []  # lanes of each event, because each lane reports separately
        last = {}
        for line in run.stdout.splitlines():
            if not line.startswith("@"):
                continue
            n, cta, warp, lane, value, *high = line[1:].split()
            e = Event(
                int(n),
                int(cta),
                int(warp),
                int(value, 16),
                tuple(int(h, 16) for h in high),
            )
            k = last.get((e.cta, e.warp))
            if k is not None and self.events[k] == e and lane not in self.lanes[k]:
                self.lanes[k].add(lane)
                continue
            last[e.cta, e.warp] = len(self.events)
            self.events.append(e)
            self.lanes.append({lane})
        self.by_warp = collections.defaultdict(list)
        self.by_statement = collections.defaultdict(list)
        for k, e in enumerate(self.events):
            self.by_warp[e.cta, e.warp].append(k)
            self.by_statement[e.statement].append(k)
        self.tensor_addresses = {
            e.value for k, e in enumerate(self.events) if self.statement(k).starts("tcgen05.alloc")
        }
        self.answers = {
            e.value
            for k, e in enumerate(self.events)
            if self.statement(k).starts("clusterlaunchcontrol.try_cancel")
        }
        self.reads_global = any(
            s.starts("ld", "atom", "red") and s.has("global") for s in source.statements
        )
        # Number of barriers that the event's warp passed before the event.
        self.barriers_before = [0] * len(self.events)
        for ks in self.by_warp.values():
            count = 0
            for k in ks:
                self.barriers_before[k] = count
                s = self.statement(k)
                count += s.starts("bar", "barrier") and not s.starts("bar.warp")

    def statement(self, k):
        return self.source.statements[self.events[k].statement]

    def after(self, k):
        """Returns later events of the same warp."""
        mine = self.of_warp(k)
        return itertools.islice(mine, bisect.bisect_right(mine, k), None)

    def before(self, k):
        """Returns earlier events of the same warp, last first."""
        mine = self.of_warp(k)
        return (mine[j] for j in reversed(range(bisect.bisect_left(mine, k))))

    def of_warp(self, k):
        return self.by_warp[self.events[k].cta, self.events[k].warp]

    def accesses_tensor(self, k):
        return self.statement(k).starts(*TENSOR_ACCESS)

    def same_cluster(self, a, b):
        return a.cta // self.cluster == b.cta // self.cluster

    def same_barrier(self, a, b):
        """Compares barriers by their offset, because multicast signals the same offset in each CTA of the cluster."""
        return self.same_cluster(a, b) and not (a.value ^ b.value) & 0xFFFFFF
