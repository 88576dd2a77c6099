"""Shows that ranks cannot deadlock, whatever order GPUs choose for kernels of different streams.

RUN: mx-opt %mx_src/examples/moe_layer_ranks.mlir --mx-to-plan=chip=sm_90a 2>%t.remarks | mx-translate --mx-to-manifest -o %t.json
RUN: %python %s %t.json

A GPU runs one kernel at a time to its end, as if each kernel filled the GPU. It picks any stream. A
collective is a kernel, copies without a kernel, and another kernel. Its kernels end when the same kernel
has started on all ranks. All reachable states of two ranks are visited.
"""

import json
import sys


def queues(steps):
    """Returns the stream's and the lane's work: names of kernels, and ("record", n) and ("wait", n)."""
    stream, lane, tokens, events = [], [], {}, 0
    collectives = 0
    for step in steps:
        if "all_gather" in step or "all_to_all" in step:
            name, collectives = f"collective{collectives}", collectives + 1
            work = [f"{name} begins", f"{name} ends"]
            if "token" not in step:
                stream += work
                continue
            stream.append(("record", events))
            lane += [("wait", events), *work, ("record", events + 1)]
            tokens[step["token"]] = events + 1
            events += 2
        elif "wait" in step:
            stream.append(("wait", tokens[step["wait"]]))
        elif "launch" in step or "switch" in step or "if" in step:
            if not stream or stream[-1] != "kernel":  # one kernel represents several
                stream.append("kernel")
    return stream, lane


def successors(state, work):
    """Yields the next states. A state is, for each rank, the positions in the queues, the stream
    of the running kernel or None, and the recorded events."""
    for rank, (places, running, recorded) in enumerate(state):
        def move(places, running, recorded=recorded):
            return (*state[:rank], (places, running, recorded), *state[rank + 1:])

        if running is not None:
            name = work[running][places[running]]
            others = [other for i, other in enumerate(state) if i != rank]
            if name == "kernel" or all(has_started(other, name, work) for other in others):
                yield move(advance(places, running), None)
        for queue in range(2):
            if places[queue] == len(work[queue]) or queue == running:
                continue
            item = work[queue][places[queue]]
            if isinstance(item, str):
                if running is None:
                    yield move(places, queue)
            elif item[0] == "record":
                yield move(advance(places, queue), running, recorded | {item[1]})
            elif item[1] in recorded:
                yield move(advance(places, queue), running)


def advance(places, queue):
    return tuple(place + (i == queue) for i, place in enumerate(places))


def has_started(rank, name, work):
    places, running, _ = rank
    for queue in range(2):
        if name in work[queue]:
            place = work[queue].index(name)
            return places[queue] > place or places[queue] == place and running == queue
    raise KeyError(name)


def find_deadlock(steps):
    """Returns a state without successors before the end of all queues, or None."""
    work = queues(steps)
    seen, rest = set(), [(((0, 0), None, frozenset()),) * 2]
    while rest:
        state = rest.pop()
        if state in seen:
            continue
        seen.add(state)
        found = list(successors(state, work))
        rest += found
        if not found and any(places != tuple(map(len, work)) for places, _, _ in state):
            return state
    return None


with open(sys.argv[1], encoding="utf-8") as file:
    entries = {entry["name"]: entry["steps"] for entry in json.load(file)["entries"]}
for name in "forward", "quantize_and_forward", "backward":
    assert sum("token" in step for step in entries[name]) >= 2, name
    assert find_deadlock(entries[name]) is None, name

# A collective on the stream beside one on the lane deadlocks if two ranks choose different ones.
steps = [dict(step) for step in entries["quantize_and_forward"]]
sent = [step for step in steps if "token" in step]
last = sent[3].pop("token")
steps = [step for step in steps if step.get("wait") != last]
assert find_deadlock(steps)
