# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios: which guests run, what runs in them, who talks to them, for how long.

A scenario is a TOML file in guest-tests/scenarios (schema/scenario.schema.json says which keys
there are).  Here it becomes plain frozen data with every default filled in, after checks that a
schema cannot make: that names are unique and that what refers to something refers to something.
"""

import hashlib
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from . import toml_input
from .errors import InputError
from .paths import SCENARIOS
from .toml_input import Source

NETWORK = "10.0.0"
DOM0_IP = f"{NETWORK}.1"
DISCARD = 9  # a port of dom0 that nobody reads
# Programs that take all the CPU they get, and log how much work they did with it.
BUSY = ("hog", "storm", "evader", "crowd", "pingpong", "loopback")
# Programs that log how much they did.
COUNTING = (*BUSY, "beacon")
# Programs that answer, and what a client talks to them.  None: what the program's `proto` says.
SERVERS = {"echo": None, "httpd": "http", "page": "http"}
# What a guest says itself (guest-tests/guest/init); dom0 goes by how such a line begins.
RESERVED = ("done", "died", "failed")
# How far apart several pCPUs may be in virtual time, unless the scenario says otherwise (docs/lab.md).
QUANTUM_US = 10
QUANTUM_MAX_US = 1000


@dataclass(frozen=True)
class Disk:
    name: str  # as the guest sees it: xvda
    size_mb: int = 64
    backend: str = "loop"  # RAM behind a loop device; null: RAM that takes its time
    latency_us: int = 0  # of a null one
    queue: int | None = None  # requests that wait for a null one in the driver domain, without its back end
    persistent: bool = False  # persistent grants


@dataclass(frozen=True)
class Workload:
    """One program in a guest.  Keys that its kind does not have are None."""

    run: str  # one of SERVERS, of COUNTING, player or blkread
    name: str
    proto: str | None = None
    port: int | None = None
    work_us: int | None = None
    serve: str | None = None
    hogs: int | None = None
    bytes: int | None = None
    period_us: int | None = None
    duty_on_us: int | None = None
    duty_off_us: int | None = None
    dev: str | None = None
    pattern: str | None = None
    size: int | None = None
    span: int | None = None
    seed: int | None = None
    groups: int | None = None
    loops: int | None = None
    pages: int | None = None
    order: str | None = None
    every_us: int | None = None
    start_s: float = 0  # seconds after the others

    @property
    def duty(self) -> float:
        """What part of a pCPU the program asks for by itself: those that always compute."""
        if self.run == "echo":
            return float(self.hogs or 0)
        if self.run not in BUSY or self.run == "evader":
            return 0.0  # an evader sleeps as it likes, and is entitled to no more than the others
        if self.duty_on_us is None:
            return 1.0
        return self.duty_on_us / (self.duty_on_us + self.duty_off_us)

    def arguments(self, run_seed: int) -> list[str]:
        """The command line of the program, without --log."""
        words = []
        for key in (
            "proto",
            "port",
            "bytes",
            "period_us",
            "work_us",
            "serve",
            "hogs",
            "duty_on_us",
            "duty_off_us",
            "dev",
            "pattern",
            "size",
            "span",
            "groups",
            "loops",
            "pages",
            "order",
            "every_us",
        ):
            value = getattr(self, key)
            if value is not None:
                words += ["--" + key.replace("_", "-"), str(value)]
        if self.run == "beacon":
            words += ["--to", f"{DOM0_IP}:{DISCARD}"]
        if self.run in ("blkread", "storm"):
            words += ["--seed", str(mixed_seed(run_seed, self.name, self.seed))]
        return words

    @property
    def socket(self) -> tuple[str, int] | None:
        """The port that a server has for itself."""
        return (self.proto or "tcp", self.port) if self.run in SERVERS else None


@dataclass(frozen=True)
class Guest:
    name: str
    index: int  # 1-based, in the order of the scenario
    type: str = "pv"
    vcpus: int = 1
    memory_mb: int = 128
    weight: int = 256
    cap: int = 0  # percent of one pCPU, 0 = none
    pin: str | None = None
    vif: bool = False
    kernel: str = "6.1"
    demand: float | None = None  # pCPUs wanted; None: what the hogs want
    disks: tuple[Disk, ...] = ()
    workloads: tuple[Workload, ...] = ()

    @property
    def ip(self) -> str:
        return f"{NETWORK}.{10 + self.index}"

    @property
    def mac(self) -> str:
        return f"00:16:3e:00:00:{self.index:02x}"

    @property
    def wants(self) -> float | None:
        """pCPUs that the guest would use if it were alone; None: unknown, it uses what I/O makes it use."""
        if self.demand is not None:
            return min(self.demand, float(self.vcpus))
        return _wanted(self)

    def workload(self, name: str) -> Workload:
        return next(w for w in self.workloads if w.name == name)


@dataclass(frozen=True)
class Dom0:
    vcpus: int = 1
    memory_mb: int = 512
    weight: int = 256
    pin: str | None = None
    workloads: tuple[Workload, ...] = ()
    name: ClassVar[str] = "dom0"
    type: ClassVar[str] = "dom0"
    cap: ClassVar[int] = 0

    @property
    def wants(self) -> float | None:
        """pCPUs that its hogs would use if it were alone; None: it uses what I/O makes it use."""
        return _wanted(self)


@dataclass(frozen=True)
class Client:
    name: str
    guest: str
    workload: str
    addr: str  # ip:port
    proto: str
    bytes: int = 40  # of a message; http: of the page
    think_ms: tuple[float, float] = (100, 500)
    arrival: str = "open"
    requests: int = 100  # 0: until the window ends
    timeout_ms: int = 3000
    start_ms: int = 0

    def option(self, run_seed: int) -> str:
        """The value of wire's --client."""
        low, high = (round(ms * 1000) for ms in self.think_ms)
        return (
            f"name={self.name},proto={self.proto},addr={self.addr},bytes={self.bytes},"
            f"think-us={low}-{high},arrival={self.arrival},requests={self.requests},"
            f"timeout-ms={self.timeout_ms},seed={mixed_seed(run_seed, self.name)},start-ms={self.start_ms}"
        )


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    description: str
    pcpus: int
    quantum_us: int | None  # None: one pCPU
    limit_s: int
    settle_s: int
    duration_s: int
    seeds: tuple[int, ...]
    learning_requests: int
    dom0: Dom0
    guests: tuple[Guest, ...]
    clients: tuple[Client, ...]
    digest: str = field(default="", compare=False)  # SHA-256 of the file

    def guest(self, name: str) -> Guest:
        return next(g for g in self.guests if g.name == name)

    def definition(self) -> dict:
        """Plain data, for results.json; keys that do not apply are left out."""
        return _bare({k: v for k, v in asdict(self).items() if k != "digest"})


def _wanted(domain: Guest | Dom0) -> float | None:
    """pCPUs that a domain's programs ask for by themselves."""
    total = sum(w.duty for w in domain.workloads)
    return min(total, float(domain.vcpus)) if total else None


def mixed_seed(run_seed: int, name: str, own: int | None = None) -> int:
    """A 31-bit seed of its own for each program of a run, so that two clients never march in step."""
    text = f"{run_seed}/{name}/{'' if own is None else own}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def pcpu_set(pin: str | None, pcpus: int) -> frozenset[int]:
    """ "0-1,3" -> {0, 1, 3}; no pin means every pCPU."""
    if pin is None:
        return frozenset(range(pcpus))
    cpus: set[int] = set()
    for part in pin.split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


def names() -> list[str]:
    return sorted(path.stem for path in SCENARIOS.glob("*.toml"))


def find(word: str) -> Scenario:
    """A scenario by its name, or by the path of its file; NAME@5us is the same with another quantum."""
    named, at, quantum = ("", "", word) if word.endswith(".toml") else word.rpartition("@")
    if not at:
        return load(toml_input.find(word, SCENARIOS, "scenario"))
    one = load(toml_input.find(named, SCENARIOS, "scenario"))
    number = re.fullmatch(r"([0-9]+)us", quantum)
    if not number or not 1 <= int(number[1]) <= QUANTUM_MAX_US:
        raise InputError(f"'{word}': after the @ comes a quantum of 1us to {QUANTUM_MAX_US}us")
    if one.pcpus == 1:
        raise InputError(f"'{word}': {one.name} has one pCPU, and a quantum is between several")
    return replace(one, name=f"{one.name}@{quantum}", quantum_us=int(number[1]))


def load(path: Path) -> Scenario:
    source = Source(path)
    source.check("scenario.schema.json")
    data = source.data
    pcpus = data.get("pcpus", 1)

    duration = data["duration_s"]
    dom0 = dict(data.get("dom0", {}))
    _check_pin(source, ("dom0",), dom0, pcpus)
    dom0["workloads"] = _workloads(source, ("dom0",), dom0, (), duration)
    dom0.pop("workload", None)

    guests: list[Guest] = []
    for position, entry in enumerate(data["guest"]):
        guests += _guests(source, ("guest", position), entry, pcpus, duration, len(guests))
    _unique(source, "guest", data["guest"])

    by_name = {g.name: g for g in guests}
    clients = [
        one
        for i, entry in enumerate(data.get("client", []))
        for one in _clients(source, ("client", i), entry, by_name)
    ]
    _unique(source, "client", data.get("client", []))

    settle = data.get("settle_s", 3)
    if pcpus == 1 and "quantum_us" in data:
        raise source.error(("quantum_us",), "is between several pCPUs: pcpus = 1")
    limit = data.get("limit_s", 400)
    if limit <= duration + settle:
        raise source.error(
            ("limit_s",),
            f"{limit} virtual seconds are used up by settle_s + duration_s = {settle + duration}",
        )

    return Scenario(
        name=source.path.stem,
        title=data["title"],
        description=data.get("description", "").strip(),
        pcpus=pcpus,
        quantum_us=None if pcpus == 1 else data.get("quantum_us", QUANTUM_US),
        limit_s=limit,
        settle_s=settle,
        duration_s=duration,
        seeds=tuple(data.get("seeds", [1])),
        learning_requests=data.get("learning_requests", 10),
        dom0=Dom0(**dom0),
        guests=tuple(guests),
        clients=tuple(clients),
        digest=hashlib.sha256(source.text.encode()).hexdigest(),
    )


def _guests(
    source: Source, where: tuple, entry: dict, pcpus: int, duration: int, before: int
) -> list[Guest]:
    """One [[guest]] table, which may stand for several guests."""
    _check_pin(source, where, entry, pcpus)

    disks = tuple(Disk(**d) for d in entry.get("disk", []))
    for number, disk in enumerate(disks):
        if disk.name in [d.name for d in disks[:number]]:
            raise source.error(
                where + ("disk", number, "name"), f"the guest has a disk '{disk.name}' already"
            )
        for key in ("latency_us", "queue"):
            if key in entry["disk"][number] and disk.backend != "null":
                raise source.error(where + ("disk", number, key), 'only a disk with backend = "null" has it')
        if disk.persistent and not all(d.persistent for d in disks):
            raise source.error(
                where + ("disk", number, "persistent"), "all disks of a guest have persistent grants, or none"
            )

    own = {k: v for k, v in entry.items() if k not in ("name", "count", "disk", "workload")}
    return [
        Guest(
            name=name,
            index=before + n,
            disks=disks,
            workloads=_workloads(source, where, entry, disks, duration),
            **own,
        )
        for n, name in enumerate(_copies(source, where, entry, "h"), 1)
    ]


def _workloads(
    source: Source, where: tuple, entry: dict, disks: tuple[Disk, ...], duration: int
) -> tuple[Workload, ...]:
    """The programs of one domain."""
    owner = "dom0" if where == ("dom0",) else "the guest"
    workloads: list[Workload] = []
    for number, item in enumerate(entry.get("workload", [])):
        workload = _workload(source, where + ("workload", number), item, entry, disks)
        if workload.name in [w.name for w in workloads]:
            raise source.error(
                where + ("workload", number),
                f"{owner} has a workload '{workload.name}' already: give it a name",
            )
        if workload.name.startswith(RESERVED):
            raise source.error(
                where + ("workload", number, "name"),
                f"'{workload.name}' begins like what a guest says itself: {', '.join(RESERVED)}",
            )
        if workload.socket and workload.socket in [w.socket for w in workloads]:
            raise source.error(
                where + ("workload", number, "port"),
                f"{' port '.join(map(str, workload.socket))} is taken by another workload",
            )
        if workload.start_s >= duration:
            raise source.error(
                where + ("workload", number, "start_s"), f"by then the window of {duration} s is over"
            )
        workloads.append(workload)
    return tuple(workloads)


def _copies(source: Source, where: tuple, entry: dict, letter: str) -> list[str]:
    """The names of what one table stands for."""
    count = entry.get("count", 1)
    if count > 1 and "{n}" not in entry["name"]:
        raise source.error(
            where + ("name",), f'with count the name needs {{n}}, the number of the copy, as in "{letter}{{n}}"'
        )
    return [entry["name"].replace("{n}", str(n)) for n in range(1, count + 1)]


def _workload(source: Source, where: tuple, item: dict, guest: dict, disks: tuple[Disk, ...]) -> Workload:
    run = item["run"]
    filled = {"name": run, **item}
    if run in SERVERS and not guest.get("vif"):
        what = "an echo server" if run == "echo" else "a web server"
        raise source.error(where, f"{what} needs a network interface: the guest has no 'vif = true'")
    match run:
        case "echo":
            filled = {"proto": "udp", "port": 7, "work_us": 0, **filled}
            if filled.get("serve") == "fork" and filled["proto"] != "udp":
                raise source.error(where + ("serve",), "a server that forks for each message is one of UDP")
        case "httpd" | "page":
            filled = {"port": 80, "bytes": 2048, **filled}
        case "player":
            filled = {"period_us": 20000, "work_us": 200, **filled}
            if filled["work_us"] >= filled["period_us"]:
                raise source.error(where, "the work for a frame takes no less time than there is from frame to frame")
        case "beacon":
            if not guest.get("vif"):
                raise source.error(
                    where, "a beacon needs a network interface: the guest has no 'vif = true'"
                )
            filled = {"every_us": 1000, **filled}
        case "storm":
            filled = {"seed": 1, **filled}
        case "hog":
            if ("duty_on_us" in item) != ("duty_off_us" in item):
                raise source.error(where, "duty_on_us and duty_off_us go together")
        case "blkread":
            if not disks:
                raise source.error(where, "a block reader needs a disk: the guest has no [[guest.disk]]")
            filled = {
                "dev": f"/dev/{disks[0].name}",
                "pattern": "random",
                "size": 4096,
                "work_us": 0,
                "seed": 1,
                **filled,
            }
            disk = next((d for d in disks if f"/dev/{d.name}" == filled["dev"]), None)
            if disk is None:
                raise source.error(
                    where + ("dev",), f"the guest has no such disk; it has {', '.join(d.name for d in disks)}"
                )
            if filled["size"] > filled.get("span", disk.size_mb << 20):
                raise source.error(where + ("size",), "one read is larger than what there is to read")
            if filled.get("span", 0) > disk.size_mb << 20:
                raise source.error(where + ("span",), f"is larger than the disk, which has {disk.size_mb} MB")
    return Workload(**filled)


def _clients(source: Source, where: tuple, entry: dict, guests: dict[str, Guest]) -> list[Client]:
    """One [[client]] table, which may stand for several clients."""
    guest = guests.get(entry["guest"])
    if guest is None:
        raise source.error(
            where + ("guest",), f"there is no guest '{entry['guest']}'; there are {', '.join(guests)}"
        )
    servers = {w.name: w for w in guest.workloads if w.run in SERVERS}
    wanted = entry.get("workload") or (next(iter(servers)) if len(servers) == 1 else "echo")
    if wanted not in servers:
        have = f"it has {', '.join(servers)}" if servers else "it has none"
        raise source.error(where + ("workload",), f"guest '{guest.name}' has no server '{wanted}'; {have}")
    low, high = entry.get("think_ms", Client.think_ms)
    if low > high:
        raise source.error(where + ("think_ms",), f"the shorter time comes first: [{high:g}, {low:g}]")
    if high == 0 and entry.get("arrival", "open") == "open":
        raise source.error(
            where + ("think_ms",),
            'an open arrival needs time between requests: without it, say arrival = "closed"',
        )
    server = servers[wanted]
    proto = SERVERS[server.run] or server.proto
    if proto == "http" and "bytes" in entry:
        raise source.error(where + ("bytes",), "a web server has a page, and its size")
    if proto == "tcp" and entry.get("bytes", Client.bytes) != Client.bytes:
        raise source.error(
            where + ("bytes",), f"echo cuts TCP's stream into messages of {Client.bytes} bytes"
        )
    own = ("name", "count", "guest", "workload", "port", "bytes", "think_ms")
    rest = {k: v for k, v in entry.items() if k not in own}
    return [
        Client(
            name=name,
            guest=guest.name,
            workload=wanted,
            addr=f"{guest.ip}:{entry.get('port', server.port)}",
            proto=proto,
            bytes=server.bytes if proto == "http" else entry.get("bytes", Client.bytes),
            think_ms=(low, high),
            **rest,
        )
        for name in _copies(source, where, entry, "c")
    ]


def _check_pin(source: Source, where: tuple, entry: dict, pcpus: int) -> None:
    if "pin" not in entry:
        return
    for part in re.findall(r"(\d+)-(\d+)", entry["pin"]):
        if int(part[0]) > int(part[1]):
            raise source.error(where + ("pin",), f"{part[0]}-{part[1]} runs backwards")
    cpus = pcpu_set(entry["pin"], pcpus)
    if max(cpus) >= pcpus:
        raise source.error(where + ("pin",), f"there is no pCPU {max(cpus)}: pcpus = {pcpus}")


def _unique(source: Source, table: str, entries: list[dict]) -> None:
    """Report a doubled name at the table that brought it in."""
    seen: set[str] = {"dom0"}
    for position, entry in enumerate(entries):
        copies = [entry["name"].replace("{n}", str(n)) for n in range(1, entry.get("count", 1) + 1)]
        for name in copies:
            if name in seen:
                raise source.error((table, position, "name"), f"the name '{name}' is taken")
            seen.add(name)


def _bare(value):
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items() if v is not None}
    if isinstance(value, (list, tuple)):
        return [_bare(v) for v in value]
    return value
