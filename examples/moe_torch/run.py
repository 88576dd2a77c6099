# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State and steps of a training run."""

import dataclasses
import math
import time

import torch

import mx_compiler.torch as mxt

from .corpus import Language
from .files import Checkpoint, Log
from .model import SIZES, Model
from .ranks import Ranks

EVERY = 50  # steps between reads from the device
EAGER = 3  # eager steps before a CUDA graph is captured
VALIDATION = (1 << 30) - 1  # text stream that is held out from training
BALANCE, DECAY, CLIP, BETAS = 0.01, 0.1, 1.0, (0.9, 0.95)


@dataclasses.dataclass
class Options:
    """Options that define a run. A checkpoint is valid for runs with equal options."""
    recipe: str
    seed: int
    steps: int
    batch_tokens: int
    validation_tokens: int
    size: str
    rate: float
    device: str
    compile: bool
    graph: bool
    routed: bool = False
    fsdp: bool = False

    def as_dict(self):
        return dataclasses.asdict(self)

    def as_arguments(self):
        """Returns the options as arguments of train_moe_torch.py."""
        words = []
        for name, value in self.as_dict().items():
            option = "--" + name.replace("_", "-")
            if value is not False:
                words.append(option if value is True else f"{option}={value}")
        return words


def stays_bf16(name):
    return name.endswith(("router", "head"))


class Run:
    def __init__(self, options, checkpoint=None, log=None):
        self.options, self.ranks = options, Ranks(options.device)
        self.device, self.size = self.ranks.device, SIZES[options.size]
        self.on_gpu = self.device.type == "cuda"
        self.batch = self._sequences("batch-tokens", options.batch_tokens)
        about, is_first = options.as_dict(), self.ranks.is_first
        self.log = Log(log, about) if log and is_first else None
        self.checkpoint = Checkpoint(checkpoint, about, is_first) if checkpoint else None
        if self.on_gpu:
            torch.cuda.reset_peak_memory_stats()
        self._make_model()
        self._make_text()
        self.step, self.milliseconds = 0, []
        self.losses = torch.zeros(options.steps, device=self.device)
        if self.checkpoint and self.checkpoint.exists():
            self.checkpoint.load(self.device, self._restore)

    def _sequences(self, name, tokens):
        """Returns the number of sequences in `tokens` tokens. The sequences must divide equally
        among the ranks."""
        length, ranks = self.size.length, self.ranks.count
        if tokens % (length * ranks):
            each = f" in each of {ranks} ranks" if ranks > 1 else ""
            raise SystemExit(f"--{name}: expected a multiple of {length * ranks}, the length of "
                             f"a sequence{each}, found {tokens}")
        return tokens // length

    # --- Parts of a run -----------------------------------------------------------

    def _make_model(self):
        """Creates the model. The weights depend only on the seed, so all recipes start with equal
        weights."""
        torch.manual_seed(self.options.seed)
        with self.device:
            self.model = Model(self.size)
            self.model.reset_parameters()
        if self.options.recipe != "bf16":
            mxt.convert_(self.model, self.options.recipe, filter=lambda module, name: not (
                stays_bf16(name) or self.options.routed and name.endswith("experts")))
        if self.options.routed:
            self.ranks.divide(self.model, self.options.recipe,
                              self.options.batch_tokens // self.ranks.count)
        if self.options.compile:
            for layer in self.model.layers:
                layer.compile()
        if self.options.fsdp:
            self.ranks.shard(self.model)
        matrices = [p for p in self.model.parameters() if p.dim() > 1]
        vectors = [p for p in self.model.parameters() if p.dim() <= 1]
        self.rate = torch.zeros((), device=self.device)
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": DECAY},
             {"params": vectors, "weight_decay": 0.0}],
            lr=self.rate, betas=BETAS, fused=True, capturable=self.on_gpu)
        self.parameters = sum(p.numel() for p in self.model.parameters())

    def _make_text(self):
        language = Language(self.size.symbols, self.device)
        length = self.size.length + 1
        self.text = language.text(self.options.seed, self.options.steps * self.batch,
                                  length)
        held_out = max(self.options.validation_tokens // self.size.length, 1)
        if self.ranks.count > 1:
            held_out = self._sequences("validation-tokens", held_out * self.size.length)
        self.held_out = language.text(VALIDATION, held_out, length)
        self.symbols = torch.zeros(self.batch // self.ranks.count, length,
                                   dtype=torch.int64, device=self.device)

    def _rate_of(self, step):
        """Returns the learning rate of a step. After a linear warm-up, the rate decays along a
        cosine to a tenth."""
        warmup = min(200, self.options.steps // 10 + 1)
        if step < warmup:
            return self.options.rate * (step + 1) / warmup
        part = (step - warmup) / max(self.options.steps - warmup, 1)
        return self.options.rate * (0.55 + 0.45 * math.cos(math.pi * part))

    # --- Steps ----------------------------------------------------------------------

    def train(self, deadline=math.inf, stop_at=None):
        """Trains until all steps are done, the deadline has passed or step `stop_at` is reached, and
        saves a checkpoint. Returns True if all steps are done."""
        last = min(self.options.steps, stop_at or self.options.steps)
        stepper = Stepper(self)
        if self.log:
            self.log.begin(self._about())
            self._write_log(0)
        while self.step < last:
            count = min(EVERY - self.step % EVERY, last - self.step)
            times = stepper.advance(count, deadline)
            self.milliseconds += times
            self._write_log(self.step - len(times))
            self._say()
            if self.ranks.agree(time.monotonic() > deadline):
                break
        finished = self.step == self.options.steps
        if self.checkpoint and self.step:
            state = self._state()  # collective
            if self.ranks.is_first:
                self.checkpoint.save(state)
        if finished:
            self._write_result()
        return finished

    def forward(self, symbols):
        with torch.autocast(self.device.type, torch.bfloat16, cache_enabled=False):
            return self.model(symbols[:, :-1], symbols[:, 1:])

    def backward(self):
        """Runs a training step on `self.symbols` and returns its loss."""
        loss, uneven = self.forward(self.symbols)
        self.optimizer.zero_grad()
        (loss + BALANCE * uneven).backward()
        if self.options.routed:
            self.ranks.average_gradients(self.model)
            self.ranks.clip_gradients(self.model, CLIP)
        else:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        return self.ranks.mean_(loss.detach())

    @torch.no_grad()
    def validate(self):
        """Returns the mean loss on the held-out text."""
        self.model.eval()
        total, count = 0.0, 0
        for part in self.held_out.split(self.batch):
            own = self.ranks.part(part).to(torch.int64)
            total = total + self.forward(own)[0].double() * len(part)
            count += len(part)
        self.model.train()
        return float(self.ranks.mean_(total) / count)

    # --- Saved state -----------------------------------------------------------------

    def _state(self):
        random = [torch.get_rng_state()]
        if self.on_gpu:
            random.append(torch.cuda.get_rng_state())
        return {"step": self.step, "model": self.ranks.whole_model(self.model),
                "random": random,
                "optimizer": self.ranks.whole_optimizer(self.model, self.optimizer),
                "losses": self.losses[:self.step].tolist(),
                "milliseconds": self.milliseconds, "peak": self.peak()}

    def _restore(self, saved):
        self.model.load_state_dict(self.ranks.own_model(self.model, saved["model"]))
        self.optimizer.load_state_dict(self.ranks.own_optimizer(
            self.model, self.optimizer, saved["optimizer"]))
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        for state, put in zip(saved["random"], (torch.set_rng_state,
                                                torch.cuda.set_rng_state)):
            put(state.cpu())
        self.step, self.milliseconds = saved["step"], saved["milliseconds"]
        if len(self.milliseconds) != self.step:
            raise ValueError(f"{len(self.milliseconds)} times of {self.step} steps")
        self.losses[:self.step] = torch.tensor(saved["losses"])
        self.earlier_peak = saved["peak"]

    earlier_peak = 0

    def peak(self):
        """Returns the peak device memory in MiB, including earlier parts of a resumed run."""
        now = torch.cuda.max_memory_allocated() / 2**20 if self.on_gpu else 0
        return max(self.earlier_peak, now)

    def _write_log(self, begin):
        """Logs the steps from `begin` on."""
        if not self.log:
            return
        rows = []
        for i, loss in enumerate(self.losses[begin:self.step].tolist(), begin):
            rows.append({"step": i, "loss": loss, "ms": self.milliseconds[i],
                         "tokens_per_s": self.options.batch_tokens * 1e3 /
                         self.milliseconds[i], "peak_mib": self.peak()})
        self.log.add(rows)

    def _about(self):
        name = torch.cuda.get_device_name() if self.on_gpu else "the processor"
        return {"run": self.options.as_dict(), "parameters": self.parameters,
                "hardware": name, "torch": torch.__version__}

    def _say(self):
        if not self.ranks.is_first:
            return
        recent = self.milliseconds[-EVERY:]
        middle = sorted(recent)[len(recent) // 2]
        print(f"{self.options.recipe}, seed {self.options.seed}, step {self.step}: loss "
              f"{float(self.losses[max(self.step - EVERY, 0):self.step].mean()):.4f}, "
              f"{middle:.1f} ms a step, {self.options.batch_tokens / middle:.0f}k tokens/s, "
              f"{self.peak():.0f} MiB", flush=True)

    def _write_result(self):
        tail = self.losses[-100:]
        times = sorted(self.milliseconds)
        result = {"validation_loss": self.validate(),
                  "validation_tokens": self.held_out.shape[0] * self.size.length,
                  "training_loss": float(tail.mean()),
                  "tokens": self.options.steps * self.options.batch_tokens,
                  "ms": times[len(times) // 2], "peak_mib": self.peak()}
        if self.log:
            self.log.add([{"result": result}])
        if self.ranks.is_first:
            print(f"{self.options.recipe}, seed {self.options.seed}: validation loss "
                  f"{result['validation_loss']:.4f}, training loss of the last "
                  f"{len(tail)} steps {result['training_loss']:.4f}", flush=True)


class Stepper:
    """Runs and times steps. On a GPU, the stepper does not wait for the device between steps, times
    the steps with events, and replays a CUDA graph if the options request a graph."""

    def __init__(self, run):
        self.run, self.done, self.graph = run, 0, None
        self.stream = torch.cuda.Stream() if run.on_gpu else None

    def advance(self, count, deadline):
        """Runs up to `count` steps, but at least one, until `deadline`. Returns the duration of each
        step in milliseconds."""
        if not self.run.on_gpu:
            return [self._timed() for _ in self._until(count, deadline)]
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            events = [self._event()]
            for _ in self._until(count, deadline):
                self._step()
                events.append(self._event())
            self.stream.synchronize()
        return [a.elapsed_time(b) for a, b in zip(events, events[1:])]

    def _until(self, count, deadline):
        for i in range(count):
            # If there are several ranks, they agree on the deadline only between calls.
            if i and self.run.ranks.count == 1 and time.monotonic() > deadline:
                return
            yield i

    def _timed(self):
        begin = time.perf_counter()
        self._step()
        return (time.perf_counter() - begin) * 1e3

    def _event(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record(self.stream)
        return event

    def _step(self):
        run = self.run
        begin = run.step * run.batch
        run.symbols.copy_(run.ranks.part(run.text[begin:begin + run.batch]))
        run.rate.fill_(run._rate_of(run.step))
        if run.options.graph and self.graph is None and self.done == EAGER:
            self._capture()
        if self.graph:
            self.graph.replay()
        else:
            self.loss = run.backward()
        run.losses[run.step].copy_(self.loss)
        run.step += 1
        self.done += 1

    def _capture(self):
        self.run.optimizer.zero_grad()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            self.loss = self.run.backward()
