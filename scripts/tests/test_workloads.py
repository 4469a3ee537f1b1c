# SPDX-License-Identifier: GPL-2.0-only
"""The workloads of guests and dom0, run on this host over loopback.

The host is not the laboratory: its times are real and noisy. So these tests look at what must hold whatever the
times are (order, completeness, repeatable schedules, messages about mistakes) and leave figures to the laboratory.
"""

import os
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "guest-tests" / "workloads"
PROGRAMS = ("echo", "page", "player", "hog", "blkread", "storm", "evader", "crowd", "pingpong", "loopback", "beacon",
            "bar", "wire")
MS = 1_000_000
US = 1_000


def build(out: Path) -> Path:
    environment = {k: v for k, v in os.environ.items() if k not in ("WITH_XEN", "MAKEFLAGS")}
    subprocess.run(["make", "-s", "-C", SOURCE, f"OUT={out}"], check=True, env=environment)
    return out


@pytest.fixture(scope="session")
def programs(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("workloads"))


@dataclass
class Log:
    columns: list[str]
    rows: list[tuple[int, ...]]
    remarks: dict[str, int]

    @classmethod
    def read(cls, path: Path) -> "Log":
        first, *rest = path.read_text().splitlines()
        assert first.startswith("# ")
        remarks = [line[2:].split("\t") for line in rest if line.startswith("#")]
        return cls(
            columns=first[2:].split("\t"),
            rows=[tuple(map(int, line.split("\t"))) for line in rest if not line.startswith("#")],
            remarks={key: int(value) for key, value in remarks},
        )


@dataclass
class Sample:
    seq: int
    due: int
    sent: int
    reply: int


@dataclass
class WireOutput:
    start: int = 0
    end: int = 0
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "WireOutput":
        output = cls()
        for line in path.read_text().splitlines():
            match line.split("\t"):
                case ["window", start, end]:
                    output.start, output.end = int(start), int(end)
                case ["sample", client, *numbers]:
                    output.samples.setdefault(client, []).append(Sample(*map(int, numbers)))
                case ["note", text]:
                    output.notes.append(text)
                case _:
                    raise AssertionError(f"unexpected record: {line}")
        return output

    def schedule(self, client: str) -> list[int]:
        """When the requests were due, from the start of the window."""
        return [s.due - self.start for s in self.samples[client]]


@contextmanager
def running(*command):
    """A program in the background, which has to end well when it is asked to."""
    process = subprocess.Popen([str(c) for c in command], stderr=subprocess.PIPE, text=True)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
        assert (process.returncode, errors) == (0, "")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def run(*command, **kwargs) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], capture_output=True, timeout=60, **kwargs)


def client(name: str, port: int, **options) -> str:
    """A value of wire's --client."""
    options = {"name": name, "addr": f"127.0.0.1:{port}"} | options
    return ",".join(f"{key.replace('_', '-')}={value}" for key, value in options.items())


def free_port(kind: int) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def lab(programs, tmp_path):
    """Starts servers and runs wire against them."""

    class Lab:
        def __init__(self, stack: ExitStack):
            self.stack = stack

        def echo(self, proto: str, *options) -> int:
            kind = socket.SOCK_STREAM if proto == "tcp" else socket.SOCK_DGRAM
            port = free_port(kind)
            self.log = tmp_path / f"echo-{port}.log"
            self.stack.enter_context(running(programs / "echo", "--proto", proto, "--port", port,
                                             "--log", self.log, *options))
            wait_bound(port, proto)
            return port

        def page(self, *options) -> int:
            port = free_port(socket.SOCK_STREAM)
            self.log = tmp_path / f"page-{port}.log"
            self.stack.enter_context(running(programs / "page", "--port", port, "--log", self.log, *options))
            wait_bound(port, "tcp")
            return port

        def stop_servers(self):
            self.stack.close()

        def wire(self, duration_ms: int, *clients: str, status: int = 0) -> WireOutput:
            out = tmp_path / "wire.tsv"
            command = [programs / "wire", "--duration-ms", duration_ms, "--out", out]
            for text in clients:
                command += ["--client", text]
            done = run(*command)
            assert done.returncode == status, done.stderr
            return WireOutput.read(out)

    with ExitStack() as stack:
        yield Lab(stack)


def wait_bound(port: int, proto: str) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        local_addresses = [line.split()[1] for line in Path(f"/proc/net/{proto}").read_text().splitlines()[1:]]
        if f"00000000:{port:04X}" in local_addresses:
            return
        time.sleep(0.01)
    raise AssertionError(f"nobody serves {proto} port {port}")


# Builds


def test_building_twice_gives_the_same_bytes(programs, tmp_path):
    again = build(tmp_path / "elsewhere")
    for name in PROGRAMS:
        assert (programs / name).read_bytes() == (again / name).read_bytes()


def test_programs_need_no_libraries_and_name_no_paths(programs):
    for name in PROGRAMS:
        content = (programs / name).read_bytes()
        assert b"/ld-linux" not in content
        assert str(SOURCE).encode() not in content


def test_a_toolstack_without_libxenctrl_is_refused(tmp_path):
    done = run("make", "-C", SOURCE, f"OUT={tmp_path / 'out'}", f"WITH_XEN={tmp_path}")
    assert done.returncode != 0
    assert b"libxenctrl.so" in done.stderr


# Command lines


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_teaches_every_option(programs, name):
    done = run(programs / name, "--help", text=True)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: {name}")
    options = re.findall(r'\.name = "([\w-]+)", \.placeholder', (SOURCE / f"{name}.c").read_text())
    assert options
    assert re.findall(r"^  --([\w-]+)", done.stdout, re.M) == [*options, "help"]
    assert not re.search(r"^  --.*\n(?!      \S)", done.stdout, re.M)  # below each is what it does


@pytest.mark.parametrize("command, message", [
    ("echo --port 7", "--log is missing"),
    ("echo --port 0 --log L", "'0' is not a number from 1 to 65535"),
    ("echo --port 70000 --log L", "'70000' is not a number"),
    ("echo --port 7x --log L", "'7x' is not a number"),
    ("echo --port -7 --log L", "'-7' is not a number"),
    ("echo --port 99999999999999999999 --log L", "is not a number"),
    ("echo --port 7 --port 8 --log L", "--port is given twice"),
    ("echo --port 7 --proto sctp --log L", "'sctp' is not one of udp|tcp"),
    ("echo --port 7 --log", "--log needs a value"),
    ("echo --port 7 --log=", "--log: must not be empty"),
    ("echo --prt 7", "unknown option '--prt'"),
    ("echo 7", "'7' is not an option"),
    ("echo --port 7 --log L --serve thread", "'thread' is not one of itself|fork"),
    ("echo --port 7 --log L --serve fork --proto tcp", "--serve fork is for UDP"),
    ("page --log L", "--port is missing"),
    ("player --log L --work-us 20000", "--work-us is not shorter than --period-us"),
    ("hog --log L --duty-on-us 5", "go together"),
    ("hog --log L --duty-off-us 5", "go together"),
    ("blkread --log L", "--dev is missing"),
    ("blkread --dev D --log L --size 1000", "1000 is not a multiple of 512"),
    ("blkread --dev D --log L --pattern zigzag", "'zigzag' is not one of random|sequential"),
    ("storm", "--log is missing"),
    ("evader --log L --gap-us 10000", "--gap-us is not shorter than --period-us"),
    ("crowd --log L --groups 51", "'51' is not a number from 1 to 50"),
    ("beacon --log L", "--to is missing"),
    ("beacon --log L --to 127.0.0.1", "'127.0.0.1' is not an IPv4 address and a port"),
    ("beacon --log L --to 127.0.0.1:70000", "'127.0.0.1:70000' is not an IPv4 address and a port"),
    ("bar", "neither put nor get"),
    ("wire --out O", "--duration-ms is missing"),
    ("wire --out O --duration-ms 0", "'0' is not a number from 1"),
])
def test_bad_arguments_are_one_line_and_status_2(programs, tmp_path, command, message):
    name, *arguments = command.split()
    done = run(programs / name, *arguments, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("client, message", [
    ("name=a", "a: addr is missing"),
    ("addr=127.0.0.1:7", "name is missing"),
    ("name=a b,addr=127.0.0.1:7", "name: 'a b'"),
    ("name=a,addr=localhost:7", "'localhost' is not an IPv4 address"),
    ("name=a,addr=127.0.0.1", "lacks a port"),
    ("name=a,addr=127.0.0.1:0", "addr's port: '0'"),
    ("name=a,addr=127.0.0.1:7,bytes=15", "bytes: '15' is not a number from 16"),
    ("name=a,addr=127.0.0.1:7,proto=icmp", "'icmp' is not one of udp, tcp, http"),
    ("name=a,addr=127.0.0.1:7,arrival=often", "'often' is neither open nor closed"),
    ("name=a,addr=127.0.0.1:7,think-us=5", "'5' is not LO-HI"),
    ("name=a,addr=127.0.0.1:7,think-us=9-5", "9 is more than 5"),
    ("name=a,addr=127.0.0.1:7,think-dist=normal", "'normal' is neither uniform nor exp"),
    ("name=a,addr=127.0.0.1:7,colour=red", "unknown key 'colour'"),
    ("name=a,addr", "'addr' is not KEY=VALUE"),
])
def test_bad_clients_are_one_line_and_status_2(programs, tmp_path, client, message):
    done = run(programs / "wire", "--duration-ms", 1, "--out", tmp_path / "O", "--client", client, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_client_names_are_unique(programs, tmp_path):
    twice = ("--client", client("a", 7)) * 2
    done = run(programs / "wire", "--duration-ms", 1, "--out", tmp_path / "O", *twice, text=True)
    assert done.returncode == 2
    assert "there is a 'a' already" in done.stderr


@pytest.mark.parametrize("name", ["hog", "echo"])
def test_an_unwritable_log_fails_at_once(programs, tmp_path, name):
    arguments = ["--port", free_port(socket.SOCK_DGRAM)] if name == "echo" else []
    done = run(programs / name, *arguments, "--log", tmp_path / "missing" / "log", text=True)
    assert done.returncode == 1
    assert "No such file" in done.stderr


# wire and echo


@pytest.mark.parametrize("proto", ["udp", "tcp"])
@pytest.mark.parametrize("arrival", ["open", "closed"])
def test_every_request_is_answered_and_logged(lab, proto, arrival):
    port = lab.echo(proto)
    output = lab.wire(1500, client("c", port, proto=proto, think_us="1000-5000", arrival=arrival, requests=50))
    samples = output.samples["c"]
    assert [s.seq for s in samples] == list(range(50))
    assert all(output.start <= s.due <= s.sent < s.reply for s in samples)
    assert output.notes == ["built without Xen's libraries: no CPU times, no counters"]

    lab.stop_servers()
    log = Log.read(lab.log)
    assert log.columns == ["recv_ns", "reply_ns", "bytes"]
    assert log.remarks["missed"] == log.remarks["failed_sends"] == 0
    assert [row[2] for row in log.rows] == [40] * 50
    # Both programs are on one clock: request sent, seen by the server, answered, reply seen. Each measures its
    # clock's offset itself; 1 ms is far more than the two can differ by.
    for s, (recv, reply, _) in zip(samples, log.rows):
        assert s.sent - MS <= recv <= reply <= s.reply + MS


def test_the_window_lasts_as_long_as_asked(lab):
    output = lab.wire(300)
    assert 300 * MS <= output.end - output.start < 2000 * MS
    assert output.samples == {}


def test_open_arrival_does_not_wait_for_replies(lab):
    # 20 ms of work for each of 20 requests that come about every 5 ms: a queue builds up at the server.
    port = lab.echo("udp", "--work-us", 20000)
    output = lab.wire(1000, client("c", port, think_us="4000-6000", requests=20))
    samples = output.samples["c"]
    gaps = [b - a for a, b in zip(output.schedule("c"), output.schedule("c")[1:])]
    assert all(4 * MS <= gap <= 6 * MS for gap in gaps)
    assert samples[10].sent < samples[5].reply
    assert all(s.reply for s in samples)
    assert samples[-1].reply - samples[-1].sent > 100 * MS


def test_closed_arrival_thinks_from_the_reply(lab):
    port = lab.echo("udp", "--work-us", 5000)
    output = lab.wire(1500, client("c", port, think_us="4000-6000", arrival="closed", requests=20))
    samples = output.samples["c"]
    assert len(samples) == 20
    for before, after in zip(samples, samples[1:]):
        assert 4 * MS <= after.due - before.reply <= 6 * MS


def test_sending_stops_at_the_windows_end_and_late_replies_are_awaited(lab):
    port = lab.echo("udp", "--work-us", 50000)
    output = lab.wire(300, client("c", port, think_us="20000-20000", requests=0))
    samples = output.samples["c"]
    assert 10 <= len(samples) <= 14      # at 20, 40, ... 280 ms, if the host lets it
    assert all(s.due < output.end for s in samples)
    assert all(s.reply for s in samples)
    assert samples[-1].reply > output.end


@pytest.mark.parametrize("arrival, count", [("open", (7, 9)), ("closed", (4, 7))])
def test_requests_without_a_reply_are_lost(lab, arrival, count):
    # A bound socket that nobody reads: no ICMP error, no reply.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        output = lab.wire(500, client("c", port, think_us="50000-50000", timeout_ms=20, arrival=arrival, requests=0))
    samples = output.samples["c"]
    assert count[0] <= len(samples) <= count[1]
    assert all(s.sent and not s.reply for s in samples)
    if arrival == "closed":
        for before, after in zip(samples, samples[1:]):
            assert after.due - before.sent >= 70 * MS


def test_a_closed_port_loses_every_request_but_sends_them_all(lab):
    port = free_port(socket.SOCK_DGRAM)
    output = lab.wire(200, client("c", port, think_us="10000-10000", timeout_ms=30, requests=0))
    assert 15 <= len(output.samples["c"]) <= 19
    assert not any(s.reply for s in output.samples["c"])
    assert not any("could not be sent" in note for note in output.notes)


def test_replies_after_the_timeout_are_lost_and_noted(lab):
    port = lab.echo("udp", "--work-us", 40000)
    output = lab.wire(400, client("c", port, think_us="60000-60000", timeout_ms=10, requests=3))
    assert [s.reply for s in output.samples["c"]] == [0, 0, 0]
    assert any("replies came after the timeout" in note for note in output.notes)


def test_alien_and_repeated_messages_do_not_count(programs):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)
        wire = subprocess.Popen([programs / "wire", "--duration-ms", "200", "--out", "/dev/stdout", "--client",
                                 client("c", server.getsockname()[1], think_us="10000-10000", requests=1)],
                                stdout=subprocess.PIPE, text=True)
        message, peer = server.recvfrom(100)
        magic, index, seq = struct.unpack("<4sIQ", message[:16])
        assert (magic, index, seq, len(message)) == (b"WIRE", 0, 0, 40)
        for wrong in (b"XXXX" + message[4:], message[:-1],
                      struct.pack("<4sIQ", b"WIRE", 1, 0) + message[16:],
                      struct.pack("<4sIQ", b"WIRE", 0, 1) + message[16:],
                      struct.pack("<4sIQ", b"WIRE", 0, 2**64 - 1) + message[16:]):
            server.sendto(wrong, peer)
        server.sendto(message, peer)
        server.sendto(message, peer)
        text, _ = wire.communicate(timeout=10)
    assert wire.returncode == 0
    assert text.count("sample\t") == 1 and "\t0\n" not in text
    assert "c: 1 replies came twice" in text
    assert "c: 5 messages were no replies" in text


def test_tcp_serves_several_connections_of_several_clients(lab):
    port = lab.echo("tcp")
    options = dict(proto="tcp", think_us="0-2000", arrival="closed", requests=40)
    output = lab.wire(1500, *(client(f"c{n}", port, **options) for n in range(5)))
    assert {name: len(samples) for name, samples in output.samples.items()} == {f"c{n}": 40 for n in range(5)}
    assert all(s.reply for samples in output.samples.values() for s in samples)


def test_tcp_messages_may_come_in_pieces_or_together(lab):
    port = lab.echo("tcp", "--bytes", 10)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(b"01234")
        time.sleep(0.1)
        peer.sendall(b"56789ab")
        assert peer.recv(100) == b"0123456789"
        peer.sendall(b"cdefghij" + b"0123456789")
        received = b""
        while len(received) < 20:
            received += peer.recv(100)
        assert received == b"abcdefghij0123456789"
    lab.stop_servers()
    assert len(Log.read(lab.log).rows) == 3


def test_big_tcp_messages_pass_through_full_buffers(lab):
    port = lab.echo("tcp", "--bytes", 60000, "--work-us", 1000)
    options = dict(proto="tcp", bytes=60000, think_us="0-0", requests=300, timeout_ms=10000)
    output = lab.wire(2000, client("c", port, **options))
    assert len(output.samples["c"]) == 300
    assert all(s.reply for s in output.samples["c"])


def test_a_broken_connection_is_a_failure_that_keeps_the_samples(lab, programs, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        out = tmp_path / "wire.tsv"
        wire = subprocess.Popen([programs / "wire", "--duration-ms", "300", "--out", out, "--client",
                                 client("c", server.getsockname()[1], proto="tcp", think_us="10000-10000")],
                                stderr=subprocess.PIPE, text=True)
        connection, _ = server.accept()
        connection.recv(100)
        connection.close()
        _, errors = wire.communicate(timeout=10)
    assert wire.returncode == 1
    assert errors.startswith("wire: c: the ")
    output = WireOutput.read(out)
    assert not any(s.reply for s in output.samples["c"])
    assert output.end - output.start >= 300 * MS


# wire and web servers


def web(name: str, port: int, **options) -> str:
    return client(name, port, **{"proto": "http", "bytes": 2048, "think_us": "1000-5000"} | options)


@contextmanager
def web_server(*answers: bytes | None):
    """Gives one answer after the other, the last one again and again, and closes the connection.

    Where an answer is empty the connection stays open; where it is None the server goes away.
    """
    asked = []

    def serve():
        with ExitStack() as silent:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                request = connection.recv(1000)
                if not request:  # whether there is a server
                    connection.close()
                    continue
                asked.append(request)
                answer = answers[min(len(asked), len(answers)) - 1]
                if answer is None:
                    connection.close()
                    server.close()
                elif answer:
                    connection.sendall(answer)
                    connection.close()
                else:
                    silent.callback(connection.close)

    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1], asked
        finally:
            if server.fileno() >= 0:
                server.shutdown(socket.SHUT_RDWR)
            thread.join(10)


PAGE = b"HTTP/1.0 200 OK\r\n\r\n" + 2048 * b"x"


@pytest.mark.parametrize("arrival", ["open", "closed"])
def test_every_request_for_a_page_is_answered_and_logged(lab, arrival):
    port = lab.page("--work-us", 100)
    output = lab.wire(1500, web("c", port, arrival=arrival, requests=50))
    samples = output.samples["c"]
    assert [s.seq for s in samples] == list(range(50))
    assert all(output.start <= s.due <= s.sent < s.reply for s in samples)
    assert output.notes == ["built without Xen's libraries: no CPU times, no counters"]

    lab.stop_servers()
    log = Log.read(lab.log)
    assert log.columns == ["recv_ns", "reply_ns", "bytes"]
    # wire connects once before the window, and asks nothing.
    assert (log.remarks["empty_connections"], log.remarks["failed_sends"]) == (1, 0)
    assert [row[2] for row in log.rows] == [2048] * 50
    for s, (recv, reply, _) in zip(samples, log.rows):
        assert s.sent - MS <= recv < reply <= s.reply + MS


def test_a_request_for_a_page_is_a_connection_and_a_get(lab):
    with web_server(PAGE) as (port, asked):
        output = lab.wire(300, web("c", port, requests=5))
    assert asked == [b"GET / HTTP/1.0\r\n\r\n"] * 5
    assert all(s.reply for s in output.samples["c"])


@pytest.mark.parametrize("answer, note", [
    (PAGE[:-1000], "c: 1 messages were no replies"),
    (PAGE.replace(b"200", b"404"), "c: 1 messages were no replies"),
    (b"HT", "c: 1 messages were no replies"),
])
def test_what_is_no_page_is_no_reply(lab, answer, note):
    with web_server(PAGE, answer, PAGE) as (port, _):
        output = lab.wire(500, web("c", port, think_us="20000-20000", requests=3))
    assert [bool(s.reply) for s in output.samples["c"]] == [True, False, True]
    assert note in output.notes


@pytest.mark.parametrize("arrival", ["open", "closed"])
def test_a_page_that_does_not_come_is_given_up(lab, arrival):
    with web_server(PAGE, b"", PAGE) as (port, asked):
        output = lab.wire(500, web("c", port, arrival=arrival, think_us="20000-20000", timeout_ms=60, requests=4))
    samples = output.samples["c"]
    assert [bool(s.reply) for s in samples] == [True, False, True, True]
    assert len(asked) == 4
    waited = samples[2].due - samples[1].sent
    assert waited >= 80 * MS if arrival == "closed" else waited < 60 * MS


def test_pages_are_asked_for_while_others_are_outstanding(lab):
    with web_server(b"") as (port, asked):
        output = lab.wire(600, web("c", port, think_us="1000-1000", timeout_ms=2000, requests=100))
    samples = output.samples["c"]
    # As many at once as wire has places for; the others never left.
    assert (len(samples), sum(s.sent > 0 for s in samples)) == (100, 64)
    assert len(asked) == 64 and not any(s.reply for s in samples)


def test_a_web_server_that_went_away_loses_requests_but_no_client(lab):
    with web_server(PAGE, PAGE, None) as (port, _):
        output = lab.wire(600, web("c", port, think_us="50000-50000", timeout_ms=30, requests=0))
    replies = [bool(s.reply) for s in output.samples["c"]]
    assert replies == [True, True] + [False] * 9
    assert any("connections were refused or broke" in note for note in output.notes)


@pytest.mark.parametrize("request_in", [(b"GET / HTTP/1.0\r\n\r\n",), (b"GET / HT", b"TP/1.0\r\nHost: x\r\n", b"\r\n")])
def test_a_page_is_what_http_says(lab, request_in):
    port = lab.page("--bytes", 3000)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as peer:
        for part in request_in:
            peer.sendall(part)
            time.sleep(0.05)
        answer = b"".join(iter(lambda: peer.recv(65536), b""))
    head, _, page = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 OK\r\n") and b"Content-Length: 3000" in head
    assert len(page) == 3000


def test_httpd_serves_pages_until_it_is_told_to_stop(lab, tmp_path):
    """The script that makes busybox's httpd a workload; it keeps its page where only a guest has it."""
    script = (SOURCE.parent / "guest" / "httpd").read_text()
    port, copy = free_port(socket.SOCK_STREAM), tmp_path / "httpd"
    copy.write_text(script.replace("/run/www", str(tmp_path / "www")))
    with running("busybox", "sh", copy, "--port", port, "--bytes", 2048, "--log", tmp_path / "log"):
        output = lab.wire(500, web("c", port, requests=20))  # waits until there is a server
    assert len(output.samples["c"]) == 20 and all(s.reply for s in output.samples["c"])
    time.sleep(0.2)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=10)


def test_the_same_seed_gives_the_same_schedule(lab):
    port = lab.echo("udp")

    def schedule(**seeds):
        options = dict(think_us="1000-9000", requests=30)
        return lab.wire(600, *(client(name, port, seed=seed, **options) for name, seed in seeds.items()))

    first = schedule(a=5, b=5)
    again = schedule(a=5, b=5)
    other = schedule(a=6, b=7)
    alone = schedule(z=5)

    assert len(first.samples["a"]) == 30
    for name in "ab":
        assert first.schedule(name) == again.schedule(name) != other.schedule(name)
    # A stream of its own for each client, whatever its name and whoever else is there.
    assert first.schedule("a") != first.schedule("b")
    assert first.schedule("a") == alone.schedule("z")


def test_closed_arrival_draws_the_same_pauses_for_the_same_seed(lab):
    port = lab.echo("udp")

    def pauses(seed):
        options = dict(think_us="100-5000", arrival="closed", requests=20, seed=seed)
        samples = lab.wire(1000, client("c", port, **options)).samples["c"]
        return [after.due - before.reply for before, after in zip(samples, samples[1:])]

    assert pauses(3) == pauses(3) != pauses(4)


def test_the_schedule_is_the_documented_one(lab):
    """SplitMix64 from the published algorithm, written a second time."""

    def mix(z):
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    def pauses(seed, stream, low, high):
        state = mix((mix(seed + 1) + stream) % 2**64)
        while True:
            state = (state + 0x9E3779B97F4A7C15) % 2**64
            yield (low + mix(state) * (high - low + 1) // 2**64) * US

    port = lab.echo("udp")
    options = dict(think_us="500-4000", requests=15, seed=77, start_ms=10)
    output = lab.wire(400, *(client(f"c{n}", port, **options) for n in range(2)))
    for n in range(2):
        drawn, due, expected = pauses(77, n, 500, 4000), 10 * MS, []
        for _ in range(15):
            due += next(drawn)
            expected.append(due)
        assert output.schedule(f"c{n}") == expected


def test_exponential_pauses_have_the_mean_of_the_uniform_ones(lab):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        output = lab.wire(1000, client("c", port, think_us="20-220", think_dist="exp", requests=0, timeout_ms=1))
    times = output.schedule("c")
    pauses = [b - a for a, b in zip(times, times[1:])]
    assert min(pauses) >= 20 * US
    # 100 us beyond the minimum, on average; of an exponential, 1/e of the draws lie beyond the mean.
    assert 110 * US < sum(pauses) / len(pauses) < 130 * US
    beyond = sum(p > 120 * US for p in pauses) / len(pauses)
    assert 0.34 < beyond < 0.40


def test_a_process_for_each_message_answers_and_leaves_nothing(lab):
    port = lab.echo("udp", "--serve", "fork", "--work-us", 1000)
    output = lab.wire(1000, client("c", port, think_us="5000-20000", requests=30))
    assert all(s.reply for s in output.samples["c"])
    lab.stop_servers()
    log = Log.read(lab.log)
    assert (len(log.rows), log.remarks["failed_sends"]) == (30, 0)
    assert all(reply > recv for recv, reply, _ in log.rows)


def test_messages_that_are_served_by_fork_do_not_wait_for_each_other(lab):
    # Ten at once, each with 50 ms of work: the first reply does not have to be there before the second begins.
    port = lab.echo("udp", "--serve", "fork", "--work-us", 50000)
    lab.wire(300, *(client(f"c{n}", port, think_us="10000-10000", requests=1) for n in range(10)))
    lab.stop_servers()
    rows = Log.read(lab.log).rows
    assert len(rows) == 10
    assert sorted(recv for recv, _, _ in rows)[1] < min(reply for _, reply, _ in rows)


def test_a_full_log_does_not_keep_children_from_answering(lab):
    port = lab.echo("udp", "--serve", "fork", "--samples", 3)
    output = lab.wire(500, client("c", port, think_us="5000-10000", requests=8))
    assert all(s.reply for s in output.samples["c"])
    lab.stop_servers()
    assert (len(Log.read(lab.log).rows), Log.read(lab.log).remarks["missed"]) == (3, 5)


@pytest.mark.parametrize("proto", ["udp", "tcp"])
def test_threads_compute_in_the_process_that_serves(lab, programs, tmp_path, proto):
    port, log = free_port(socket.SOCK_STREAM), tmp_path / "log"
    with running(programs / "echo", "--proto", proto, "--port", port, "--hogs", 2, "--log", log) as process:
        wait_bound(port, proto)
        output = lab.wire(500, client("c", port, proto=proto, think_us="5000-20000", requests=20))
        threads = list(Path(f"/proc/{process.pid}/task").iterdir())
        ticks = sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()[11:13]))
    assert len(threads) == 3
    assert ticks / os.sysconf("SC_CLK_TCK") > 0.1
    assert all(s.reply for s in output.samples["c"]) and len(Log.read(log).rows) == 20


def test_a_second_server_does_not_get_the_port(lab, programs, tmp_path):
    port = lab.echo("udp")
    done = run(programs / "echo", "--port", port, "--log", tmp_path / "second.log", text=True)
    assert done.returncode == 1
    assert f"port {port}: Address already in use" in done.stderr


def test_a_full_log_counts_what_it_missed(lab):
    port = lab.echo("udp", "--samples", 5)
    lab.wire(500, client("c", port, think_us="1000-2000", requests=12))
    lab.stop_servers()
    log = Log.read(lab.log)
    assert (len(log.rows), log.remarks["missed"]) == (5, 7)


# hog


def hog(programs, log, seconds, *options) -> Log:
    with running(programs / "hog", "--log", log, *options):
        time.sleep(seconds)
    return Log.read(log)


def test_hog_counts_its_work(programs, tmp_path):
    log = hog(programs, tmp_path / "log", 1.0)
    assert log.columns == ["time_ns", "units"]
    times, units = zip(*log.rows)
    assert list(times) == sorted(times) and list(units) == sorted(units)
    assert units[0] == 0 < units[-1]
    assert 5 <= len(log.rows) <= 15
    assert log.remarks["missed"] == 0


def test_hog_sleeps_for_the_rest_of_its_duty_cycle(programs, tmp_path):
    with running(programs / "hog", "--log", tmp_path / "log", "--duty-on-us", 2000, "--duty-off-us", 18000) as process:
        time.sleep(1.0)
        ticks = sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()[11:13]))
    log = Log.read(tmp_path / "log")
    # A tenth of the time at most, whatever else the host does, besides the calibration of about a millisecond.
    assert ticks / os.sysconf("SC_CLK_TCK") < 0.3
    elapsed_ms = (log.rows[-1][0] - log.rows[0][0]) / MS
    bursts = log.rows[-1][1] / (2 * log.remarks["units_per_ms"])
    assert 2 <= bursts <= elapsed_ms / 20 + 2


@pytest.mark.parametrize("name", ["hog", "echo", "page", "player", "blkread", "storm", "evader"])
def test_a_unit_of_work_is_100_instructions_everywhere(programs, name):
    """98 times lea, then dec and a jnz to the first lea: with any registers, whatever the compiler made of the rest."""
    content = (programs / name).read_bytes()
    lea, dec, jnz = rb"[\x48-\x4f]\x8d[\x40-\x7f]\x01", rb"[\x48-\x4f]\xff[\xc8-\xcf]", rb"\x0f\x85"
    loops = re.findall(rb"((?:" + lea + rb"){98}" + dec + jnz + rb")(.{4})", content, re.DOTALL)
    assert loops
    for body, distance in loops:
        assert struct.unpack("<i", distance) == (-(len(body) + 4),)


def test_hog_stops_although_it_sleeps(programs, tmp_path):
    started = time.monotonic()
    hog(programs, tmp_path / "log", 0.2, "--duty-on-us", 1, "--duty-off-us", 3600000000)
    assert time.monotonic() - started < 5


# player


def test_a_frame_is_due_every_period_and_none_is_left_out(programs, tmp_path):
    with running(programs / "player", "--log", tmp_path / "log", "--period-us", 10000, "--work-us", 1000):
        time.sleep(1.0)
    log = Log.read(tmp_path / "log")
    assert log.columns == ["due_ns", "awake_ns", "ready_ns"]
    due, awake, ready = zip(*log.rows)
    assert 20 <= len(due) <= 110
    assert {b - a for a, b in zip(due, due[1:])} == {10 * MS}
    assert all(d <= a < r for d, a, r in log.rows)
    # The work of a frame is in its lateness.
    assert sorted(r - d for d, _, r in log.rows)[len(due) // 2] > MS // 2


def test_a_player_that_was_stopped_catches_up(programs, tmp_path):
    with running(programs / "player", "--log", tmp_path / "log") as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.5)
    log = Log.read(tmp_path / "log")
    due = [row[0] for row in log.rows]
    assert {b - a for a, b in zip(due, due[1:])} == {20 * MS}
    late = [ready - due for due, _, ready in log.rows]
    assert sum(ns > 100 * MS for ns in late) >= 10 and late[-1] < 100 * MS


def test_a_player_stops_although_it_sleeps(programs, tmp_path):
    started = time.monotonic()
    with running(programs / "player", "--log", tmp_path / "log", "--period-us", 3600000000):
        time.sleep(0.2)
    assert time.monotonic() - started < 5 and Log.read(tmp_path / "log").rows == []


# Programs that count: storm, evader, crowd, pingpong, loopback


def count(programs, log, name, *options, seconds=1.0) -> Log:
    with running(programs / name, "--log", log, *options):
        time.sleep(seconds)
    return Log.read(log)


@pytest.mark.parametrize("name, options", [
    ("storm", ["--work-us", 2000]), ("evader", []), ("crowd", ["--groups", 1, "--loops", 800]), ("pingpong", []),
    ("beacon", ["--to", "127.0.0.1:9"]),
])
def test_what_counts_counts_up(programs, tmp_path, name, options):
    log = count(programs, tmp_path / "log", name, *options)
    assert log.columns == ["time_ns", "units", "switches"]
    for column in zip(*log.rows):
        assert list(column) == sorted(column)
    assert log.rows[0][1] == 0 < log.rows[-1][1]
    assert 3 <= len(log.rows) <= 20
    assert log.remarks["missed"] == 0


def test_a_round_trip_of_pingpong_is_two_switches_at_least(programs, tmp_path):
    first, *_, last = count(programs, tmp_path / "log", "pingpong").rows
    # On a host with several CPUs both may run at once; a task that waits has switched all the same.
    assert last[2] - first[2] >= last[1] - first[1]


def test_a_crowd_is_forty_processes_a_group_and_leaves_none(programs, tmp_path):
    with running(programs / "crowd", "--log", tmp_path / "log", "--groups", 2) as process:
        time.sleep(0.5)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 80
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_a_crowd_has_a_row_before_and_after_each_round(programs, tmp_path):
    log = count(programs, tmp_path / "log", "crowd", "--groups", 2, "--loops", 5, "--pages", 1)
    units = [row[1] for row in log.rows]
    assert units[:4] == [0, 0, 4000, 4000]  # the first row is that of the start
    assert sorted(set(units)) == list(range(0, units[-1] + 1, 4000))


def test_storm_executes_programs_anew(programs, tmp_path):
    log = count(programs, tmp_path / "log", "storm", "--work-us", 1000)
    assert log.rows[-1][1] > 10
    done = run(programs / "storm", "--child", 10)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_evader_sleeps_in_each_period(programs, tmp_path):
    with running(programs / "evader", "--log", tmp_path / "log", "--gap-us", 9000) as process:
        time.sleep(1.0)
        ticks = sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()[11:13]))
    assert ticks / os.sysconf("SC_CLK_TCK") < 0.4
    assert "moves" in Log.read(tmp_path / "log").remarks


def test_a_beacon_sends_no_more_than_its_rate(programs, tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        log = count(programs, tmp_path / "log", "beacon", "--to", f"127.0.0.1:{listener.getsockname()[1]}",
                    "--every-us", 10_000)
        listener.setblocking(False)
        got = 0
        while True:
            try:
                assert listener.recv(100) == b""
            except BlockingIOError:
                break
            got += 1
    (began, *_), (ended, units, _) = log.rows[0], log.rows[-1]
    assert got == units and 20 <= units <= (ended - began) / (10 * MS) + 1
    assert log.remarks["failed_sends"] == 0


def test_loopback_says_what_it_lacks_outside_xen(programs, tmp_path):
    done = run(programs / "loopback", "--log", tmp_path / "log", text=True)
    assert done.returncode == 1
    assert "/dev/xen/evtchn: No such file" in done.stderr


# blkread


@pytest.fixture
def disk(tmp_path) -> Path:
    path = tmp_path / "disk"
    path.write_bytes(random.Random(1).randbytes(1 << 20))
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pytest.skip("the file system of the temporary directory has no O_DIRECT")
    return path


def blkread(programs, disk, *options) -> Log:
    log = disk.with_name("blkread.log")
    done = run(programs / "blkread", "--dev", disk, "--log", log, *options, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return Log.read(log)


def test_random_reads_cover_the_device_and_repeat_by_seed(programs, disk):
    def offsets(*options):
        log = blkread(programs, disk, "--count", 2000, *options)
        assert log.columns == ["submit_ns", "done_ns", "offset"]
        assert all(submit < done for submit, done, _ in log.rows)
        return [row[2] for row in log.rows]

    first = offsets("--seed", 4)
    assert set(first) == set(range(0, 1 << 20, 4096))
    assert first == offsets("--seed", 4)
    assert first != offsets("--seed", 5)


def test_sequential_reads_wrap_at_the_span(programs, disk):
    log = blkread(programs, disk, "--pattern", "sequential", "--size", 8192, "--span", 50000, "--count", 14)
    assert [row[2] for row in log.rows] == [n % 6 * 8192 for n in range(14)]


def test_work_after_a_read_is_not_in_its_latency(programs, disk):
    log = blkread(programs, disk, "--count", 20, "--work-us", 5000)
    gaps = [after[0] - before[1] for before, after in zip(log.rows, log.rows[1:])]
    assert sorted(gaps)[len(gaps) // 2] > 3 * MS
    latencies = [done - submit for submit, done, _ in log.rows]
    assert min(latencies) < 3 * MS


def test_blkread_reads_until_it_is_told_to_stop(programs, disk):
    log = disk.with_name("log")
    with running(programs / "blkread", "--dev", disk, "--log", log, "--work-us", 1000):
        time.sleep(0.3)
    assert Log.read(log).rows


@pytest.mark.parametrize("options, status, message", [
    (["--span", str(1 << 30)], 2, "has only 1048576 bytes"),
    (["--size", str(2 << 20)], 2, "no block of 2097152 bytes fits"),
])
def test_blkread_refuses_what_does_not_fit(programs, disk, options, status, message):
    done = run(programs / "blkread", "--dev", disk, "--log", disk.with_name("log"), *options, text=True)
    assert done.returncode == status
    assert message in done.stderr


def test_blkread_without_a_device_says_so(programs, tmp_path):
    done = run(programs / "blkread", "--dev", tmp_path / "nothing", "--log", tmp_path / "log", text=True)
    assert done.returncode == 1
    assert "No such file" in done.stderr


# bar


@pytest.mark.parametrize("size", [0, 1, 65536, 100_000])
def test_bar_carries_data_across(programs, tmp_path, size):
    window = tmp_path / "window"
    window.write_bytes(b"\xff" * (1 << 18))
    data = random.Random(size).randbytes(size)
    assert run(programs / "bar", "put", "--file", window, input=data).returncode == 0
    content = window.read_bytes()
    assert content[:16] == b"LABOUT01" + struct.pack("<Q", size)
    assert content[16:16 + size] == data
    assert run(programs / "bar", "get", "--file", window).stdout == data


def test_bar_leaves_no_magic_when_the_data_does_not_fit(programs, tmp_path):
    window = tmp_path / "window"
    window.write_bytes(b"LABOUT01" + bytes(1000))
    done = run(programs / "bar", "put", "--file", window, input=bytes(2000))
    assert done.returncode == 1
    assert b"the window holds 992 bytes" in done.stderr
    assert window.read_bytes()[:8] == bytes(8)
    done = run(programs / "bar", "get", "--file", window)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"nothing was put here" in done.stderr


def test_bar_does_not_believe_an_impossible_length(programs, tmp_path):
    window = tmp_path / "window"
    window.write_bytes(b"LABOUT01" + struct.pack("<Q", 1 << 40) + bytes(100))
    done = run(programs / "bar", "get", "--file", window)
    assert (done.returncode, done.stdout) == (1, b"")


def test_bar_names_the_device_that_is_not_there(programs):
    done = run(programs / "bar", "get", text=True)
    assert done.returncode == 1
    assert "1af4:1110" in done.stderr or "pci" in done.stderr
