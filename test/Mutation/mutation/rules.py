"""Rules to detect mutants equivalent to the original.

Each rule consists of a name and a test on the original's text or trace. Rules do not use the simulator's checks, so the
checks can reveal a wrong rule: if a check flags a mutant that a rule calls equivalent, one of the two is wrong."""

import itertools
import re

from .trace import WAITS, same_scales

FENCES = ("tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync")
BARRIERS = ("bar", "barrier")
MEETINGS = BARRIERS + WAITS

RULES = []


def rule(name, *operators):
    def add(test):
        RULES.append((name, operators, test))
        return test

    return add


def is_warp_barrier(s):
    return s.starts("bar.warp", "barrier.warp")


def everywhere(test):
    """Converts a test of one occurrence into a test of all occurrences."""

    def all_of(trace, mutant):
        found = trace.by_statement.get(mutant.statement.index, [])
        return bool(found) and all(test(trace, k) for k in found)

    return all_of


LOADS = ("ld", "ldmatrix")
STORES = ("st", "stmatrix", "atom", "red")
ACCESSES = (*LOADS, *STORES)
RELEASES = ("mbarrier.arrive", "mbarrier.arrive_drop", "tcgen05.commit", "cp.async", "cp.reduce")
ACQUIRES = WAITS + ("cp.async.bulk.wait_group", "cp.async.wait_group", "cp.async.wait_all")


def needs_warp_barrier(trace, a, b):
    """Tests whether access `b` of a lane relies on access `a` of another lane. Three kinds of accesses are
    ignored: accesses to global memory only, reads of the tensor memory address, which is never overwritten, and
    collective tensor memory operations."""
    first, second = trace.statement(a), trace.statement(b)
    is_access = [is_shared_use(trace, k) for k in (a, b)]
    if first.starts(*ACQUIRES) and is_access[1]:
        return bool(trace.lanes[b] - trace.lanes[a])
    if not is_access[0]:
        return False
    if second.starts(*RELEASES) and not second.starts(*ACQUIRES):
        return bool(trace.lanes[a] - trace.lanes[b])
    is_exchange = is_access[1] and first.starts(*LOADS) != second.starts(*LOADS)
    return is_exchange and spaces_of(first) == spaces_of(second)


def is_shared_use(trace, k):
    s = trace.statement(k)
    if not s.starts(*ACCESSES) or (s.has("global") and not trace.reads_global):
        return False
    return not s.starts(*LOADS) or trace.events[k].value not in trace.tensor_addresses


def spaces_of(s):
    return "global" if s.has("global") else "shared"


@rule("warp barrier between independent lanes", "delete")
@everywhere
def warp_barrier(trace, k):
    if not is_warp_barrier(trace.statement(k)):
        return False

    def up_to_barrier(events):
        return itertools.takewhile(lambda j: not trace.statement(j).starts(*BARRIERS), events)

    before = list(up_to_barrier(trace.before(k)))
    return not any(
        needs_warp_barrier(trace, a, b) for b in up_to_barrier(trace.after(k)) for a in before
    )


@rule(
    "mbarrier.init fence before a releasing barrier",
    "delete",
)
@everywhere
def mbarrier_init(trace, k):
    if not trace.statement(k).starts("fence.mbarrier_init"):
        return False
    mine = trace.events[k]
    barrier = next(
        (
            j
            for j in trace.after(k)
            if trace.statement(j).starts(*BARRIERS)
            and not is_warp_barrier(trace.statement(j))
        ),
        None,
    )
    if barrier is None or trace.statement(barrier).has("relaxed"):
        return False
    inits = {
        trace.events[j].value
        for j in trace.before(k)
        if trace.statement(j).starts("mbarrier.init")
    }
    # Without a cluster barrier, all users of the mbarriers must belong to the CTA.
    wide = trace.statement(barrier).has("cluster")
    for j, e in enumerate(trace.events):
        is_use = trace.statement(j).starts("mbarrier", "tcgen05.commit", "cp.async")
        if not is_use or e.value not in inits:
            continue
        same = (e.cta, e.warp) == (mine.cta, mine.warp)
        if j < barrier and e.cta == mine.cta and not same:
            return False
        if not wide and e.cta != mine.cta and trace.same_cluster(e, mine):
            return False
    return True


@rule("proxy fence after reads only", "delete")
@everywhere
def only_read(trace, k):
    """Returns true if the thread has only read memory since the last fence. Copies may overwrite this memory without a
    fence. After writes and reads of clusterlaunchcontrol results (generic proxy, PTX ISA), the fence is needed."""
    if not trace.statement(k).starts("fence.proxy.async"):
        return False
    for j in trace.before(k):
        s = trace.statement(j)
        if s.starts("fence.proxy.async"):
            return True
        is_store = s.starts(*STORES) and not s.has("global")
        is_answer = s.starts("ld") and trace.events[j].value in trace.answers
        if is_store or is_answer or s.starts("cp.async") and not s.has("bulk"):
            return False
    return True


@rule(
    "before-fence without earlier tensor memory accesses",
    "delete",
)
@everywhere
def nothing_to_publish(trace, k):
    if not trace.statement(k).starts(FENCES[0]):
        return False
    for j in trace.before(k):
        if trace.statement(j).starts(FENCES[0], "tcgen05.commit"):
            return True
        if trace.accesses_tensor(j):
            return False
    return True


@rule(
    "before-fence without later tensor memory accesses by other threads",
    "delete",
)
@everywhere
def nobody_to_publish_to(trace, k):
    if not trace.statement(k).starts(FENCES[0]):
        return False
    # Later code must publish only through barriers, and no other thread may access tensor memory after the next
    # barrier.
    if any(
        trace.statement(j).starts("mbarrier.arrive", "tcgen05.commit")
        for j in trace.after(k)
    ):
        return False
    e = trace.events[k]
    return not any(
        trace.accesses_tensor(j)
        and (o.cta, o.warp) != (e.cta, e.warp)
        and trace.same_cluster(o, e)
        and trace.barriers_before[j] > trace.barriers_before[k]
        for j, o in enumerate(trace.events)
    )


@rule(
    "after-fence without later tensor memory accesses",
    "delete",
)
@everywhere
def nothing_to_protect(trace, k):
    if not trace.statement(k).starts(FENCES[1]):
        return False
    for j in trace.after(k):
        if trace.statement(j).starts(FENCES[1]):
            return True
        if trace.accesses_tensor(j) or trace.statement(j).starts("tcgen05.commit"):
            return False
    return True


@rule(
    "after-fence without earlier tensor memory accesses by other threads",
    "delete",
)
@everywhere
def nobody_to_wait_for(trace, k):
    if not trace.statement(k).starts(FENCES[1]):
        return False
    me = trace.events[k]
    for j in trace.before(k):
        s = trace.statement(j)
        if s.starts(FENCES[1]):
            return True
        if not s.starts(*MEETINGS) or is_warp_barrier(s):
            continue
        for other in arrivals(trace, j):
            o = trace.events[other]
            if (o.cta, o.warp) == (me.cta, me.warp):
                continue
            if any(trace.accesses_tensor(i) for i in trace.before(other)):
                return False
    return True


def arrivals(trace, k):
    """Returns the events that the wait or barrier at `k` synchronizes with."""
    e, s = trace.events[k], trace.statement(k)
    if s.starts(*WAITS):
        return [
            j
            for j, o in enumerate(trace.events)
            if trace.statement(j).starts(
                "mbarrier.arrive", "mbarrier.arrive_drop", "tcgen05.commit"
            )
            and trace.same_barrier(o, e)
        ]
    return [
        j
        for j, o in enumerate(trace.events)
        if j <= k and trace.statement(j).starts(*BARRIERS) and trace.same_cluster(o, e)
    ]


@rule(
    "final wait for a commit before another awaited commit",
    "delete",
)
@everywhere
def implied_wait(trace, k):
    if not trace.statement(k).starts(*WAITS):
        return False
    for j in trace.after(k):
        s = trace.statement(j)
        if not s.starts(*MEETINGS, *FENCES, "tcgen05.dealloc"):
            return False
    came = arrivals(trace, k)
    if not came:  # no traced arrival completes the phase
        return True
    if any(not trace.statement(j).starts("tcgen05.commit") for j in came):
        return False
    last = trace.events[max(came)]
    later = [
        trace.events[j]
        for j in trace.after(max(came))
        if trace.statement(j).starts("tcgen05.commit")
    ]
    return any(
        trace.statement(j).starts(*WAITS)
        and any(trace.same_barrier(c, o) for c in later)
        and (o.cta, o.warp) != (last.cta, last.warp)
        and j > max(came)
        for j, o in enumerate(trace.events)
    )


@rule(
    "leading byte offset that the layout ignores",
    "stride",
)
def unused_leading_offset(trace, mutant):
    if "LBO" not in mutant.what:
        return False
    s = mutant.statement
    if s.starts("tcgen05.cp"):
        return any(s.has(m) for m in ("32x128b", "64x128b", "128x128b"))
    found = trace.by_statement.get(s.index, [])
    which = 0 if mutant.what.startswith("A") else 1
    if s.starts("wgmma.mma_async"):
        # The last operand transposes B. If A has a descriptor, the operand before it transposes A. Both exist only for
        # 16-bit elements. Bits 62 and 63 of a descriptor contain the swizzle.
        may_transpose = s.opcode.split(".")[-1] in ("f16", "bf16")
        transposes = may_transpose and s.operands[-1 if which else -2] != "0"
        return not transposes and all(trace.events[k].high[which] >> 30 for k in found)

    def is_unused(e):
        # Bits 15 and 16 of the instruction descriptor select the transposition of A and B.
        # Bits 61 to 63 of a matrix descriptor contain the swizzle.
        return not e.value >> (15 + which) & 1 and e.high[which] >> 29

    return bool(found) and all(is_unused(trace.events[k]) for k in found)


def registers_of(statements):
    return {name for s in statements for name in re.findall(r"%\w+", " ".join(s.operands))}


@rule("wgmma commit or wait that a later wait covers", "delete")
def covered_wait(trace, mutant):
    """Requires that no statement in between uses the accumulators or arrives at an mbarrier, that is, releases operands.
    Without its commit, a group belongs to the next one, so the wait after that covers it."""
    s, statements = mutant.statement, trace.source.statements
    if not s.starts("wgmma.commit_group", "wgmma.wait_group"):
        return False
    waits = [t for t in statements if t.starts("wgmma.wait_group")]
    before = [t.index for t in waits if t.index < s.index]
    later = [t for t in waits if t.index > s.index][s.starts("wgmma.commit_group"):]
    if not later or later[0].operands != ("0",):
        return False
    between = statements[s.index + 1 : later[0].index]
    is_straight = not re.search(r"^\s*\$\w+:", trace.source.text[s.end : later[0].begin], re.M)
    multiplied = statements[max(before, default=0) : s.index]
    sums = registers_of(t for t in multiplied if t.starts("wgmma.mma_async"))
    others = [t for t in between if not t.starts("wgmma")]
    return (
        is_straight
        and not any(t.starts("bra", "call", "ret", "mbarrier") for t in others)
        and not sums & registers_of(others)
    )


@rule("selector of threads with equal scales", "selector")
def other_threads(trace, mutant):
    """Requires equal scales in the old and new lanes: lanes may hold 32 rows' scales of A, or 16 rows' scales twice."""
    found = re.fullmatch(r"thread of ([AB]) xor (\d)", mutant.what)
    bit = found and same_scales(found[1], int(found[2]))
    events = [trace.events[k] for k in trace.by_statement.get(mutant.statement.index, [])]
    return bool(bit and events) and all(e.value & bit for e in events)


@rule("instruction without a launch that executes it")
def not_executed(trace, mutant):
    s = mutant.statement
    return s is not None and not trace.by_statement.get(s.index)


def equivalence(traces_of, mutant):
    """Returns the name of the first rule that holds in all launches, or None."""
    if mutant.statement is None:
        return None
    traces = traces_of[mutant.kernel]
    for name, operators, test in RULES:
        if operators and mutant.operator not in operators:
            continue
        # Ignore launches of kernels without the statement.
        meaningful = [
            t for t in traces if t.by_statement.get(mutant.statement.index)
        ] or traces
        if all(test(t, mutant) for t in meaningful):
            return name
    return None
