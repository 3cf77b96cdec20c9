"""One run of the tests of faults, as a program: a service, its consumers, and faults.

    PYTHONPATH=build/dev/python python python/tests/fault_run.py --seed 7

A dispatcher, workers and consumers are processes, each on a machine of its own where
that may be. While the consumers read, processes are killed, stopped and started again,
packets are lost, late or cut off, the disk is full, and clocks are set. Then all is
well again, and the job must end: every row once, in the order of a run without faults.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import millrace as mr
from fault_machines import (
    HERE,
    Machine,
    Network,
    build_clock,
    make_certificates,
    why_no_namespaces,
)
from fault_plan import Fault, Plan, make_plan
from fault_promises import (
    Batches,
    WrongError,
    check,
    check_same,
    check_visits,
    keep_expected,
    keep_taken,
    read_expected,
)
from fault_reader import Task, numbers, pipeline, shown
from fault_switch import Weather
from service_processes import TOKEN, program

MARK = "MILLRACE_TEST_RUN"  # In the environment of all that a run starts.
END_SECONDS = 90.0  # Within which all must end once all is well.


class Server:
    """A dispatcher or worker, started again and again."""

    def __init__(self, machine: Machine, words: Sequence[str], log: Path) -> None:
        self.machine = machine
        self.words = list(words)
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self.stopped = False
        self.may_end = False  # By itself: it has no disk.

    def start(self, environment: dict[str, str]) -> None:
        """Start it; whether it listens is seen later."""
        with self.log.open("ab") as log:
            words = [*program(), *self.words]
            self.process = self.machine.start(words, environment, log)

    def kill(self) -> None:
        """End it as a lost machine ends."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
            self.stopped = False

    def stop(self, how: signal.Signals) -> None:
        """Have it stand still, or go on."""
        self.stopped = how == signal.SIGSTOP
        if self.process is not None:
            self.process.send_signal(how)

    def address(self, seconds: float = 30) -> str:
        """Wait until it listens, and say where."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            words = self.log.read_text().split()
            if "on" in words[:-1]:
                return words[words.index("on") + 1]
            check(self.process is None or self.process.poll() is None, self.tail())
            time.sleep(0.02)
        raise WrongError(f"{self.words[0]} does not listen: {self.tail()}")

    def tail(self) -> str:
        """Give the end of what it said."""
        return self.log.read_text(errors="replace")[-3000:]


class Run:
    """One run."""

    def __init__(
        self, plan: Plan, folder: Path, data: Path, *, own_networks: bool
    ) -> None:
        self.plan = plan
        self.folder = folder
        self.data = data
        self.own = own_networks
        self.disk = folder / "disk"
        self.lives: list[tuple[int, int]] = []  # Where each life of the run began.
        self.readers: list[subprocess.Popen[bytes]] = []
        self.weather: dict[Fault, Weather] = {}
        self.restart_readers = False
        self.shown = time.monotonic()
        for name in ("disk", "temporary", "read"):
            (folder / name).mkdir()
        clock = build_clock(folder)
        self.machines = [
            Machine(number, folder, clock, own=own_networks)
            for number in range(plan.machines)
        ]
        self.network = Network(plan.seed, self.machines)
        self.environment = self._environment(clock)
        if own_networks:
            self.machines[0].mount_disk(self.disk)
        self.servers = self._servers()
        self.reader_stops: dict[int, bool] = {}

    def _environment(self, clock: Path | None) -> dict[str, str]:
        environment = {
            MARK: str(self.folder),
            "PYTHONPATH": str(Path(mr.__file__).absolute().parents[1]),
            "TMPDIR": str(self.folder / "temporary"),
            "MILLRACE_TOKEN": TOKEN,
            "MILLRACE_THREADS": "1",
            "MILLRACE_MEMORY": "256MB",
        }
        if self.own:  # Others can reach it: it needs TLS.
            make_certificates(self.folder, clock, self.plan.machines)
            environment["MILLRACE_CERTIFICATE"] = str(self.folder / "own.pem")
            environment["MILLRACE_KEY"] = str(self.folder / "own.key")
            environment["MILLRACE_CA"] = str(self.folder / "ca.pem")
        return environment

    def _servers(self) -> list[Server]:
        first = self.machines[0]
        words = ["dispatcher", "--state", str(self.disk), "--listen"]
        dispatcher = Server(
            first, [*words, f"{first.host}:0"], self.folder / "dispatcher"
        )
        dispatcher.start(self.environment)
        self.address = dispatcher.address()
        dispatcher.words[-1] = self.address  # There again, when it is started again.
        servers = [dispatcher]
        for machine in self.machines[1 : 1 + self.plan.workers]:
            words = ["worker", "--join", self.address, "--listen", f"{machine.host}:0"]
            words += ["--read-root", "/"]
            log = self.folder / f"worker-{machine.number}"
            servers.append(Server(machine, words, log))
            servers[-1].start(self.environment)
        return servers

    # --- Consumers, as a launcher starts them ---

    def task(self, consumer: int, life: int) -> Task:
        """Say what a consumer is to do in a life of the run."""
        epoch, number = self.lives[life]
        batches = len(numbers(self.plan.kind)) / 5 * self.plan.epochs
        return Task(
            address=f"millrace://{self.address}",
            job="rows",
            run=f"run-{self.plan.seed}",
            kind=self.plan.kind,
            data=str(self.data),
            folder=str(self.folder / "read"),
            consumer=consumer,
            consumers=self.plan.consumers,
            restart=life,
            epoch=epoch,
            round=number,
            epochs=self.plan.epochs,
            order=self.plan.order,
            visit=self.plan.visit,
            step_seconds=4.0 * self.plan.consumers / batches,
            state_every=8,
        )

    def start_readers(self) -> None:
        """Start all consumers, from the last state that all of them have."""
        common: set[tuple[int, int]] | None = None
        for consumer in range(self.plan.consumers):
            files = (self.folder / "read").glob(f"state-{consumer}-*.json")
            parts = (file.stem.split("-") for file in files)
            mine = {(int(part[2]), int(part[3])) for part in parts}
            common = mine if common is None else common & mine
        self.lives.append(max(common or {(0, 0)}))
        first = 1 + self.plan.workers
        self.readers = []
        for consumer in range(self.plan.consumers):
            task = dataclasses.asdict(self.task(consumer, len(self.lives) - 1))
            words = [sys.executable, str(HERE / "fault_reader.py"), json.dumps(task)]
            with (self.folder / f"reader-{consumer}").open("ab") as log:
                machine = self.machines[first + consumer]
                self.readers.append(machine.start(words, self.environment, log))

    def kill_readers(self) -> None:
        """End all of them, as a launcher does when one is lost."""
        for reader in self.readers:
            reader.kill()
            reader.wait()
        self.readers = []

    def readers_done(self) -> bool:
        """Tell whether all have read all; one that failed is told."""
        for number, reader in enumerate(self.readers):
            if reader.poll() not in (None, 0):
                text = (self.folder / f"reader-{number}").read_text()[-3000:]
                raise WrongError(f"consumer {number} ended: {text}")
        return bool(self.readers) and all(r.poll() == 0 for r in self.readers)

    # --- Faults ---

    def say(self, text: object) -> None:
        """Say what happens, and when."""
        print(f"{time.monotonic() - self.shown:6.2f}  {text}", flush=True)

    def begin(self, fault: Fault) -> None:
        """Have it happen."""
        self.say(fault)
        if fault.what == "weather":
            self.weather[fault] = fault.weather
            self.set_weather()
        elif fault.what == "clock":
            self.machines[fault.who].set_clock(fault.seconds)
        elif fault.what == "disk":
            self.servers[0].may_end = True
            self.machines[0].fill_disk(self.disk)
        elif fault.who < len(self.servers):
            server = self.servers[fault.who]
            server.kill() if fault.what == "kill" else server.stop(signal.SIGSTOP)
        else:
            self._begin_with_reader(fault)

    def _begin_with_reader(self, fault: Fault) -> None:
        if fault.what == "kill" and self.readers and not self.readers_done():
            self.kill_readers()
        elif fault.what == "stop" and self.readers:
            reader = self.readers[fault.who - len(self.servers)]
            reader.send_signal(signal.SIGSTOP)

    def end_fault(self, fault: Fault) -> None:
        """Have all be well again, of this one."""
        if fault.what == "weather":
            self.weather.pop(fault, None)
            self.set_weather()
        elif fault.what == "clock":
            self.machines[fault.who].set_clock(0)
        elif fault.what == "disk":
            self.machines[0].clear_disk(self.disk)
        elif fault.who < len(self.servers):
            self._end_with_server(fault)
        elif fault.what == "kill" and not self.readers:
            self.start_readers()
        elif fault.what == "stop" and self.readers:
            self.readers[fault.who - len(self.servers)].send_signal(signal.SIGCONT)

    def _end_with_server(self, fault: Fault) -> None:
        server = self.servers[fault.who]
        if fault.what == "stop":
            server.stop(signal.SIGCONT)
        elif server.process is None:
            server.start(self.environment)

    def set_weather(self) -> None:
        """Have all of the bad weather there is at once."""
        all_of_it = list(self.weather.values())
        self.network.set_weather(
            Weather(
                loss=max((weather.loss for weather in all_of_it), default=0),
                double=max((weather.double for weather in all_of_it), default=0),
                delay=max((weather.delay for weather in all_of_it), default=0),
                jitter=max((weather.jitter for weather in all_of_it), default=0),
                cut=tuple(pair for weather in all_of_it for pair in weather.cut),
            )
        )

    def look_after_servers(self) -> None:
        """Start those again that ended as they should; others should not end."""
        for server in self.servers:
            if server.process is None or server.process.poll() is None:
                continue
            check(server.may_end, f"{server.words[0]} ended: {server.tail()}")
            server.process = None
            self.say(f"the {server.words[0]} has ended: {server.tail()[-200:]}")

    # --- The run ---

    def play(self) -> None:
        """Start the consumers, have all faults happen, and wait for the end."""
        self.shown = time.monotonic()
        self.start_readers()
        steps = [(fault.at, 1, fault) for fault in self.plan.faults]
        steps += [(fault.at + fault.lasts, 0, fault) for fault in self.plan.faults]
        for at, begins, fault in sorted(steps, key=lambda step: step[:2]):
            while time.monotonic() - self.shown < at and not self.readers_done():
                self.look_after_servers()
                time.sleep(0.01)
            self.begin(fault) if begins else self.end_fault(fault)
        self.heal()
        end = time.monotonic() + END_SECONDS
        while not self.readers_done():
            self.look_after_servers()
            for server in self.servers:
                if server.process is None:
                    server.start(self.environment)
            if time.monotonic() > end:
                raise WrongError(f"does not end: {self.where_it_is()}")
            time.sleep(0.02)
        self.say("all was read")

    def heal(self) -> None:
        """Have nothing be wrong any more."""
        for server in self.servers:
            if server.stopped:
                server.stop(signal.SIGCONT)
            if server.process is None:
                server.start(self.environment)
        if not self.readers:
            self.start_readers()
        self.say("all is well again")

    def where_it_is(self) -> str:
        """Tell how far everybody has come."""
        lines = [server.tail()[-800:] for server in self.servers]
        for consumer in range(self.plan.consumers):
            taken = max(self.taken(consumer), default=None)
            lines.append(f"consumer {consumer} has taken {taken}")
            lines.append((self.folder / f"reader-{consumer}").read_text()[-800:])
        return "\n".join(lines)

    # --- What must hold ---

    def taken(self, consumer: int) -> Batches:
        """Give what a consumer took."""
        lives = enumerate(self.lives)
        return keep_taken(
            [(begin, self.task(consumer, life).rows_file()) for life, begin in lives]
        )

    def check_rows(self, expected: list[Batches] | None) -> None:
        """Every row once; in fixed order as without faults."""
        found = [self.taken(consumer) for consumer in range(self.plan.consumers)]
        for epoch in range(self.plan.epochs):
            rows = [
                row
                for batches in found
                for at, batch in batches.items()
                if at[0] == epoch
                for row in batch["x"]
            ]
            check_visits(self.plan, sorted(rows), f"pass {epoch}")
        if expected is not None:
            for consumer, batches in enumerate(found):
                check_same(batches, expected[consumer], f"consumer {consumer}")

    def check_states(self) -> None:
        """A state that was taken amid faults goes on in this process."""
        if self.plan.order != "fixed":
            return
        found = [self.taken(consumer) for consumer in range(self.plan.consumers)]
        task = self.task(0, 0)
        files = sorted((self.folder / "read").glob("state-0-*.json"))
        middle = files[self.plan.seed % len(files)]
        epoch, number = (int(word) for word in middle.stem.split("-")[2:])
        if epoch >= self.plan.epochs:
            return
        loader = pipeline(task.kind, self.data).loader()
        loader.load_state_dict(json.loads(middle.read_text()))
        before = [
            row
            for batches in found
            for at, batch in batches.items()
            if at[0] == epoch and at[1] < number
            for row in batch["x"]
        ]
        after = [row for batch in loader for row in shown(batch)["x"]]
        held = sorted(before + after) == numbers(task.kind)
        check(held, f"state {middle.name} does not go on exactly")

    def end(self) -> None:
        """End all as people do; nothing may be left."""
        for server in self.servers:
            if server.process is not None:
                server.process.terminate()
        for server in self.servers:
            if server.process is not None:
                code = server.process.wait(timeout=30)
                check(
                    code == 0, f"{server.words[0]} ended with {code}: {server.tail()}"
                )
                server.process = None
        left = sorted((self.folder / "temporary").iterdir())
        check(not left, f"files are left: {left}")
        check(not self.left_processes(), f"are left: {self.left_processes()}")

    def left_processes(self) -> list[str]:
        """Give the processes that this run started and that still live."""
        mark = f"{MARK}={self.folder}".encode()
        found = []
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process / "cmdline").read_text().replace("\0", " "))
            except OSError:  # It has ended meanwhile.
                continue
        return found

    def abandon(self) -> None:
        """End all of it, whatever it does."""
        self.kill_readers()
        for server in self.servers:
            server.kill()
        self.network.end()
        for machine in self.machines:
            machine.end()


def play(plan: Plan, expected: Path | None, *, own_networks: bool) -> None:
    """Play a plan, and check all that must hold."""
    with tempfile.TemporaryDirectory(prefix="millrace-faults-") as name:
        folder = Path(name)
        if expected is None:
            expected = keep_expected(plan.kind, plan.consumers, folder / "plain")
        batches = read_expected(expected, plan.epochs)
        run = Run(plan, folder, expected.parent, own_networks=own_networks)
        try:
            run.play()
            run.check_rows(batches if plan.order == "fixed" else None)
            run.check_states()
            run.end()
        finally:
            run.abandon()


def main() -> int:
    """Play one seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--order", default="fixed", choices=("fixed", "any"))
    parser.add_argument("--visit", default="exactly_once")
    parser.add_argument("--expected", type=Path, help="batches without faults")
    options = parser.parse_args()
    why = why_no_namespaces()
    plan = make_plan(
        options.seed,
        own_networks=not why,
        order=options.order,
        visit=options.visit,
    )
    print(f"seed {plan.seed}: {plan.kind} rows, {plan.workers} workers, ", end="")
    print(f"{plan.consumers} consumers, {plan.epochs} passes, order {plan.order}")
    if why:
        print(f"on the loopback of this machine, without networks of its own: {why}")
    try:
        play(plan, options.expected, own_networks=not why)
    except WrongError as error:
        print(f"WRONG with seed {plan.seed}: {error}")
        return 1
    print("held")
    return 0


if __name__ == "__main__":
    sys.exit(main())
