# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios and policies: what is accepted, and the words of every refusal."""

from pathlib import Path

import pytest

from lab import artifacts, image, machine, policy, scenario
from lab.errors import InputError, LabError

GOOD = """\
title = "t"
duration_s = 10
[[guest]]
name = "d1"
vif = true
[[guest.disk]]
name = "xvda"
size_mb = 1
[[guest.workload]]
run = "echo"
[[guest.workload]]
run = "blkread"
[[guest]]
name = "h{n}"
count = 2
[[guest.workload]]
run = "hog"
[[client]]
name = "c1"
guest = "d1"
"""


def load(tmp_path, text):
    path = tmp_path / "case.toml"
    path.write_text(text)
    return scenario.load(path)


def refusal(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    return caught.value.message


def test_defaults_are_filled_in(tmp_path):
    one = load(tmp_path, GOOD)
    assert [g.name for g in one.guests] == ["d1", "h1", "h2"]
    assert [g.ip for g in one.guests] == ["10.0.0.11", "10.0.0.12", "10.0.0.13"]
    assert (one.pcpus, one.settle_s, one.limit_s, one.seeds, one.learning_requests) == (1, 3, 400, (1,), 10)
    d1 = one.guest("d1")
    assert (d1.type, d1.vcpus, d1.memory_mb, d1.weight, d1.cap, d1.kernel) == ("pv", 1, 128, 256, 0, "6.1")
    assert d1.workload("blkread").dev == "/dev/xvda"
    assert one.clients[0].addr == "10.0.0.11:7"
    assert one.clients[0].proto == "udp"


CASES = {
    "syntax": ("title = ", "case.toml: not TOML: Invalid value (at end of document)"),
    "title missing": (GOOD.replace('title = "t"\n', ""), "case.toml: the key 'title' is missing"),
    "no guests": ('title = "t"\nduration_s = 1\n', "case.toml: the key 'guest' is missing"),
    "unknown key": (GOOD.replace("duration_s", "durations_s"),
                    "case.toml:2: durations_s: unknown key; did you mean 'duration_s'?"),
    "misspelt key": (GOOD.replace("vif = true", "vif = true\nmemry_mb = 64"),
                     "case.toml:6: guest[1].memry_mb: unknown key; did you mean 'memory_mb'?"),
    "wrong type": (GOOD.replace("duration_s = 10", 'duration_s = "10"'),
                   'case.toml:2: duration_s: must be a whole number, not "10"'),
    "true is no number": (GOOD.replace("duration_s = 10", "duration_s = true"),
                          "case.toml:2: duration_s: must be a whole number, not true"),
    "too small": (GOOD.replace("duration_s = 10", "duration_s = 0"),
                  "case.toml:2: duration_s: must be at least 1, not 0"),
    "guest type": (GOOD.replace("vif = true", 'vif = true\ntype = "hvm"'),
                   'case.toml:6: guest[1].type: must be one of pv, pvh, not "hvm"'),
    "empty seeds": ("seeds = []\n" + GOOD, "case.toml:1: seeds: must have at least 1 item, not 0"),
    "same seed": ("seeds = [1, 1]\n" + GOOD, "case.toml:1: seeds: the same value stands there twice"),
    "workload kind": (GOOD.replace('run = "hog"', 'run = "hogg"'),
                      "case.toml:17: guest[2].workload[1].run: must be one of echo, httpd, page, player, hog, blkread, storm, evader, crowd, pingpong, loopback, beacon, not \"hogg\"; did you mean 'hog'?"),
    "key of another kind": (GOOD.replace('run = "hog"', 'run = "hog"\nport = 7'),
                            "case.toml:18: guest[2].workload[1].port: unknown key here"),
    "late": (GOOD.replace('run = "hog"', 'run = "hog"\nstart_s = 10'),
             "case.toml:18: guest[2].workload[1].start_s: by then the window of 10 s is over"),
    "count without n": (GOOD.replace("h{n}", "h"),
                        'case.toml:14: guest[2].name: with count the name needs {n}, the number of the copy, as in "h{n}"'),
    "same guest": (GOOD.replace("h{n}", "d{n}"), "case.toml:14: guest[2].name: the name 'd1' is taken"),
    "dom0 is taken": (GOOD.replace("h{n}", "dom{n}").replace("count = 2", "count = 1").replace("dom{n}", "dom0"),
                      "case.toml:14: guest[2].name: the name 'dom0' is taken"),
    "no interface": (GOOD.replace("vif = true\n", ""),
                     "case.toml:8: guest[1].workload[1]: an echo server needs a network interface: the guest has no 'vif = true'"),
    "beacon without interface": (GOOD.replace('run = "hog"', 'run = "beacon"'),
                                 "case.toml:16: guest[2].workload[1]: a beacon needs a network interface: the guest has no 'vif = true'"),
    "no disk": (GOOD.replace('[[guest.disk]]\nname = "xvda"\nsize_mb = 1\n', ""),
                "case.toml:8: guest[1].workload[2]: a block reader needs a disk: the guest has no [[guest.disk]]"),
    "wrong disk": (GOOD.replace('run = "blkread"', 'run = "blkread"\ndev = "/dev/xvdb"'),
                   "case.toml:13: guest[1].workload[2].dev: the guest has no such disk; it has xvda"),
    "latency of a loop device": (GOOD.replace("size_mb = 1", "size_mb = 1\nlatency_us = 0"),
                                 'case.toml:9: guest[1].disk[1].latency_us: only a disk with backend = "null" has it'),
    "queue of a loop device": (GOOD.replace("size_mb = 1", 'size_mb = 1\nbackend = "loop"\nqueue = 4'),
                               'case.toml:10: guest[1].disk[1].queue: only a disk with backend = "null" has it'),
    "one disk with persistent grants": (
        GOOD.replace("size_mb = 1", 'size_mb = 1\n[[guest.disk]]\nname = "xvdb"\npersistent = true'),
        "case.toml:11: guest[1].disk[2].persistent: all disks of a guest have persistent grants, or none"),
    "a name that a guest says": (GOOD.replace('run = "hog"', 'run = "hog"\nname = "done-soon"'),
                                 "case.toml:18: guest[2].workload[1].name: "
                                 "'done-soon' begins like what a guest says itself: done, died, failed"),
    "long span": (GOOD.replace('run = "blkread"', 'run = "blkread"\nspan = 2097152'),
                  "case.toml:13: guest[1].workload[2].span: is larger than the disk, which has 1 MB"),
    "odd size": (GOOD.replace('run = "blkread"', 'run = "blkread"\nsize = 1000'),
                 "case.toml:13: guest[1].workload[2].size: must be a multiple of 512, not 1000"),
    "half a duty": (GOOD.replace('run = "hog"', 'run = "hog"\nduty_on_us = 5'),
                    "case.toml:16: guest[2].workload[1]: duty_on_us and duty_off_us go together"),
    "port twice": (GOOD.replace('run = "echo"', 'run = "echo"\n[[guest.workload]]\nrun = "echo"\nname = "e2"'),
                   "case.toml:11: guest[1].workload[2].port: udp port 7 is taken by another workload"),
    "name twice": (GOOD.replace('run = "blkread"', 'run = "blkread"\nname = "echo"'),
                   "case.toml:11: guest[1].workload[2]: the guest has a workload 'echo' already: give it a name"),
    "no such guest": (GOOD.replace('guest = "d1"', 'guest = "d9"'),
                      "case.toml:20: client[1].guest: there is no guest 'd9'; there are d1, h1, h2"),
    "no server": (GOOD.replace('guest = "d1"', 'guest = "h1"'),
                  "case.toml:18: client[1].workload: guest 'h1' has no server 'echo'; it has none"),
    "which server": (GOOD.replace('run = "blkread"', 'run = "page"') + 'workload = "web"\n',
                     "case.toml:21: client[1].workload: guest 'd1' has no server 'web'; it has echo, page"),
    "web server without an interface": (
        GOOD.replace("vif = true\n", "").replace('run = "echo"', 'run = "httpd"'),
        "case.toml:8: guest[1].workload[1]: a web server needs a network interface: the guest has no 'vif = true'"),
    "port of a web server twice": (
        GOOD.replace('run = "echo"', 'run = "httpd"\nport = 7').replace(
            'run = "blkread"', 'run = "echo"\nproto = "tcp"'),
        "case.toml:12: guest[1].workload[2].port: tcp port 7 is taken by another workload"),
    "bytes of a web client": (GOOD.replace('run = "echo"', 'run = "page"') + "bytes = 100\n",
                              "case.toml:21: client[1].bytes: a web server has a page, and its size"),
    "fork for TCP": (GOOD.replace('run = "echo"', 'run = "echo"\nproto = "tcp"\nserve = "fork"'),
                     "case.toml:12: guest[1].workload[1].serve: a server that forks for each message is one of UDP"),
    "a frame that never ends": (
        GOOD.replace('run = "hog"', 'run = "player"\nwork_us = 20000'),
        "case.toml:16: guest[2].workload[1]: the work for a frame takes no less time than there is from frame to frame"),
    "count of clients without n": (
        GOOD + "count = 2\n",
        'case.toml:19: client[1].name: with count the name needs {n}, the number of the copy, as in "c{n}"'),
    "think backwards": (GOOD + "think_ms = [5, 1]\n", "case.toml:21: client[1].think_ms: the shorter time comes first: [1, 5]"),
    "long TCP message": (GOOD.replace('run = "echo"', 'run = "echo"\nproto = "tcp"') + "bytes = 100\n",
                         "case.toml:22: client[1].bytes: echo cuts TCP's stream into messages of 40 bytes"),
    "no think": (GOOD + "think_ms = [0, 0]\n",
                 'case.toml:21: client[1].think_ms: an open arrival needs time between requests: without it, say arrival = "closed"'),
    "short limit": ("limit_s = 12\n" + GOOD,
                    "case.toml:1: limit_s: 12 virtual seconds are used up by settle_s + duration_s = 13"),
    "pin": (GOOD.replace("vif = true", 'vif = true\npin = "1"'), "case.toml:6: guest[1].pin: there is no pCPU 1: pcpus = 1"),
    "quantum of one": ("quantum_us = 5\n" + GOOD, "case.toml:1: quantum_us: is between several pCPUs: pcpus = 1"),
    "quantum": ("pcpus = 2\nquantum_us = 0\n" + GOOD, "case.toml:2: quantum_us: must be at least 1, not 0"),
    "pin backwards": (GOOD.replace("vif = true", 'vif = true\npin = "1-0"'), "case.toml:6: guest[1].pin: 1-0 runs backwards"),
    "dom0 serves nobody": (GOOD + '[[dom0.workload]]\nrun = "echo"\n',
                           'case.toml:22: dom0.workload[1].run: must be one of hog, not "echo"'),
    "twice in dom0": (GOOD + '[[dom0.workload]]\nrun = "hog"\n[[dom0.workload]]\nrun = "hog"\n',
                      "case.toml:23: dom0.workload[2]: dom0 has a workload 'hog' already: give it a name"),
    "late in dom0": (GOOD + '[[dom0.workload]]\nrun = "hog"\nstart_s = 10\n',
                     "case.toml:23: dom0.workload[1].start_s: by then the window of 10 s is over"),
    "pin form": (GOOD.replace("vif = true", 'vif = true\npin = "a"'),
                 'case.toml:6: guest[1].pin: "a" does not have the right form (^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$)'),
}


@pytest.mark.parametrize("case", CASES)
def test_refusals_word_by_word(case, tmp_path, monkeypatch):
    text, expected = CASES[case]
    assert refusal(tmp_path, monkeypatch, text) == expected


def test_a_missing_file_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="^no.toml: no such file$"):
        scenario.find("no.toml")


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(InputError) as caught:
        scenario.find("nix")
    assert caught.value.message == "there is no scenario 'nix' in guest-tests/scenarios"
    assert "mixed" in caught.value.details[0]
    assert caught.value.exit_code == 2


def machine_of(one, interactive=False):
    boot = machine.Boot(Path("qemu"), Path("xen"), "", Path("vmlinux"), "", Path("dom0.cpio"))
    return machine.arguments(machine.Hardware(one.pcpus, 512, one.quantum_us), boot, interactive)


def icount(words):
    return words[words.index("-icount") + 1]


def test_several_pcpus_are_ten_microseconds_apart_unless_the_scenario_says_otherwise(tmp_path):
    one, two, three = (load(tmp_path, more + GOOD) for more in ("", "pcpus = 2\n", "pcpus = 2\nquantum_us = 3\n"))
    assert [s.quantum_us for s in (one, two, three)] == [None, 10, 3]
    assert icount(machine_of(one)) == "shift=1,sleep=off"
    assert icount(machine_of(two)) == "shift=1,sleep=off,quantum=10000"
    assert icount(machine_of(three, interactive=True)) == "shift=1,sleep=on,quantum=3000"
    assert "quantum_us" not in one.definition() and two.definition()["quantum_us"] == 10


def test_a_name_can_ask_for_another_quantum(tmp_path):
    usual, other = scenario.find("mixed-4"), scenario.find("mixed-4@5us")
    assert (usual.name, usual.quantum_us) == ("mixed-4", 10) and (other.name, other.quantum_us) == ("mixed-4@5us", 5)
    assert (other.guests, other.clients, other.digest) == (usual.guests, usual.clients, usual.digest)
    file = tmp_path / "a@b.toml"
    file.write_text("pcpus = 2\n" + GOOD)
    assert scenario.find(str(file)).quantum_us == 10 and scenario.find(f"{file}@7us").quantum_us == 7


@pytest.mark.parametrize("word, message", [
    ("mixed@5us", "'mixed@5us': mixed has one pCPU, and a quantum is between several"),
    ("mixed-4@5", "'mixed-4@5': after the @ comes a quantum of 1us to 1000us"),
    ("mixed-4@0us", "'mixed-4@0us': after the @ comes a quantum of 1us to 1000us"),
    ("nix@5us", "there is no scenario 'nix' in guest-tests/scenarios"),
])
def test_a_quantum_that_makes_no_sense_is_refused(word, message):
    with pytest.raises(InputError) as caught:
        scenario.find(word)
    assert caught.value.message == message


@pytest.mark.parametrize("name", scenario.names())
def test_every_shipped_scenario_is_good(name):
    one = scenario.find(name)
    assert one.title and one.description
    assert sum(g.memory_mb for g in one.guests) <= 1600
    assert len({g.mac for g in one.guests}) == len(one.guests)


def test_what_the_contract_says_of_mixed_and_io():
    mixed, io = scenario.find("mixed"), scenario.find("io")
    assert [g.name for g in mixed.guests] == ["d1", "h1", "h2", "h3", "h4", "h5"]
    assert [w.run for w in mixed.guest("d1").workloads] == ["echo", "hog"]
    assert [w.run for w in io.guest("d1").workloads] == ["echo"]
    assert mixed.clients == io.clients
    assert (mixed.clients[0].think_ms, mixed.clients[0].requests, mixed.duration_s) == ((100, 500), 100, 35)


def test_programs_get_what_they_take():
    smoke = scenario.find("smoke")
    assert smoke.guest("pv1").workload("echo").arguments(1) == ["--proto", "udp", "--port", "7", "--work-us", "0"]
    words = smoke.guest("pv1").workload("blkread").arguments(1)
    assert words[:2] == ["--work-us", "20000"] and "--dev" in words and words[-2] == "--seed"
    beacon = scenario.find("busy-dom0-events").guest("e1").workload("beacon")
    assert beacon.arguments(1) == ["--every-us", "1000", "--to", "10.0.0.1:9"] and beacon.duty == 0
    duty = scenario.find("duty")
    assert duty.guest("s1").workload("hog").arguments(1) == ["--duty-on-us", "9000", "--duty-off-us", "1000"]
    assert scenario.find("mixed").clients[0].option(1) == (
        "name=c1,proto=udp,addr=10.0.0.11:7,bytes=40,think-us=100000-500000,arrival=open,requests=100,"
        "timeout-ms=3000,seed=848220875,start-ms=0")


def test_a_server_by_any_name_is_found_if_it_is_the_only_one(tmp_path):
    one = load(tmp_path, GOOD.replace('run = "echo"', 'run = "page"\nname = "web"\nwork_us = 5'))
    (client,) = one.clients
    assert (client.workload, client.proto, client.addr, client.bytes) == ("web", "http", "10.0.0.11:80", 2048)
    assert "proto=http,addr=10.0.0.11:80,bytes=2048," in client.option(1)
    assert one.guest("d1").workload("web").arguments(1) == ["--port", "80", "--bytes", "2048", "--work-us", "5"]


def test_servers_of_udp_and_the_web_may_share_a_port(tmp_path):
    one = load(tmp_path, GOOD.replace('run = "blkread"', 'run = "page"\nport = 7') + 'workload = "page"\n')
    assert [w.socket for w in one.guest("d1").workloads] == [("udp", 7), ("tcp", 7)]
    assert one.clients[0].proto == "http"


def test_a_table_stands_for_several_clients():
    clients = scenario.find("http-ten").clients
    assert [c.name for c in clients] == [f"c{n}" for n in range(1, 11)]
    assert len({c.option(1).split("seed=")[1] for c in clients}) == 10


def test_shapes_of_servers_and_what_they_ask_for():
    threads = scenario.find("threads").guest("d1")
    assert threads.workload("echo").arguments(1)[-2:] == ["--hogs", "1"] and threads.wants == 1.0
    fork = scenario.find("fork-echo").guest("d1")
    assert fork.workload("echo").arguments(1)[-2:] == ["--serve", "fork"] and fork.wants == 1.0
    player = scenario.find("player").guest("d1").workload("player")
    assert player.arguments(1) == ["--period-us", "20000", "--work-us", "200"] and player.duty == 0


@pytest.mark.parametrize("name", ["http", "http-one", "http-ten", "fork-echo", "threads", "player"])
def test_alone_is_the_same_without_the_others(name):
    crowded, alone = scenario.find(name), scenario.find(f"{name}-alone")
    assert (crowded.guests[0],) == alone.guests
    assert (crowded.clients, crowded.duration_s) == (alone.clients, alone.duration_s)


def test_seeds_differ_between_runs_and_programs():
    seeds = {scenario.mixed_seed(run, name) for run in (1, 2, 3) for name in ("c1", "c2")}
    assert len(seeds) == 6 and all(0 <= s < 2**31 for s in seeds)
    assert scenario.mixed_seed(1, "c1") == scenario.mixed_seed(1, "c1")


@pytest.mark.parametrize("pin, cpus", [(None, {0, 1, 2, 3}), ("0", {0}), ("0-2", {0, 1, 2}), ("0,2-3", {0, 2, 3})])
def test_pins(pin, cpus):
    assert scenario.pcpu_set(pin, 4) == cpus


class TestPolicies:
    def test_the_shipped_ones(self):
        known = policy.load()
        assert set(known) >= {"credit", "credit-1ms", "credit2", "credit2-rl0", "rtds", "tavs", "tavs-debug",
                              "credit-pristine", "credit2-pristine"}
        assert known["tavs-debug"].hypervisor == "debug"
        assert known["credit-pristine"].hypervisor == "pristine"
        assert known["credit-1ms"].xen == "sched=credit sched_credit_tslice_ms=1 sched_ratelimit_us=100"

    def test_one_spelt_out(self):
        one = policy.find("slow=sched=credit sched_credit_tslice_ms=100; xl sched-credit -s -r 5000; hypervisor=debug", policy.load())
        assert one == policy.Policy("slow", "sched=credit sched_credit_tslice_ms=100; xl sched-credit -s -r 5000; hypervisor=debug",
                                    "sched=credit sched_credit_tslice_ms=100", "credit", "debug", ("xl sched-credit -s -r 5000",))

    def test_without_boot_arguments_xen_runs_its_default(self):
        assert policy.find("plain=", policy.load()).expect == "credit2"

    @pytest.mark.parametrize("xen, runs", [("", "credit2"), ("sched=null", "null"), ("loglvl=all sched=credit sched=rtds", "rtds"),
                                           ("xsched=credit", "credit2")])
    def test_which_scheduler_arguments_ask_for(self, xen, runs):
        assert policy.booted(xen) == runs

    @pytest.mark.parametrize("word, message", [
        ("nix", "there is no policy 'nix' in guest-tests/policies.toml"),
        ("tavs=sched=tavs", "--policy 'tavs=sched=tavs': the name 'tavs' is taken by guest-tests/policies.toml: choose another"),
        ("A=sched=tavs", "--policy 'A=sched=tavs': 'A' is not a good name: lower-case letters, digits, '-', '_' and '.', a letter first"),
        ("../x=a", "--policy '../x=a': '../x' is not a good name: lower-case letters, digits, '-', '_' and '.', a letter first"),
        ("a=b; rm -rf /", "--policy 'a=b; rm -rf /': 'rm -rf /' is neither an xl command nor hypervisor=... nor modules=..."),
        ("a=b; hypervisor=x", "--policy 'a=b; hypervisor=x': hypervisor is release, debug or pristine, not 'x'"),
    ])
    def test_refusals(self, word, message):
        with pytest.raises(InputError) as caught:
            policy.find(word, policy.load())
        assert caught.value.message == message

    def test_a_policy_that_cannot_be_what_it_expects(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "p.toml").write_text('[a]\ntitle = "t"\nxen = "sched=credit"\nexpect = "tavs"\n')
        with pytest.raises(InputError, match=r"^p.toml:4: a.expect: 'sched=credit' boots credit, not tavs$"):
            policy.load(tmp_path / "p.toml")

    def test_a_command_that_is_not_xl(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "p.toml").write_text('[a]\ntitle = "t"\nxen = ""\nexpect = "credit2"\ncommands = ["reboot"]\n')
        with pytest.raises(InputError, match=r'^p.toml:5: a.commands\[1\]: "reboot" does not have the right form'):
            policy.load(tmp_path / "p.toml")


def test_dom0_gets_the_weight_that_it_is_entitled_by(tmp_path):
    one = load(tmp_path, GOOD + "[dom0]\nweight = 512\n")
    known = policy.load()
    for name, verb in (("credit", "sched-credit"), ("credit2-rl0", "sched-credit2"), ("tavs", "sched-tavs")):
        assert f"xl {verb} -d Domain-0 -w 512\n" in image._policy_commands(one, known[name])
    assert "Domain-0" not in image._policy_commands(load(tmp_path, GOOD), known["credit"])
    with pytest.raises(LabError, match="dom0 has weight 512, but the scheduler rtds knows no weights"):
        image._policy_commands(one, known["rtds"])


def test_dom0_computes_if_asked_to(tmp_path):
    one = load(tmp_path, GOOD + '[dom0]\nweight = 512\n[[dom0.workload]]\nrun = "hog"\n'
               '[[dom0.workload]]\nrun = "hog"\nname = "naps"\nduty_on_us = 1000\nduty_off_us = 9000\nstart_s = 2\n')
    assert (one.dom0.weight, one.dom0.wants) == (512, 1.0)
    assert one.definition()["dom0"]["workloads"][0] == {"run": "hog", "name": "hog", "start_s": 0}
    assert image._workload_lines(one.dom0, 1) == (
        "hog 0 /lab/bin/hog\nnaps 2 /lab/bin/hog --duty-on-us 1000 --duty-off-us 9000\n")
    assert load(tmp_path, GOOD).dom0.wants is None


def test_a_workload_that_is_not_built_is_named(tmp_path, monkeypatch):
    kinds = dict.fromkeys(("xen", "xen_debug", "xen_pristine", "tools", "kernel", "vmlinux", "qemu"), __file__)
    built = artifacts.Artifacts.of({**kinds, "dom0_modules": [], "workloads": str(tmp_path)})
    for name in ("_add_system", "_add_modules", "_add_busybox"):
        monkeypatch.setattr(image, name, lambda *_: None)
    monkeypatch.setattr(image.kmodules, "ModuleTree", lambda *_: None)
    (tmp_path / "blkread").touch()
    for name in ("wire", "bar", "echo"):
        with pytest.raises(LabError, match=f"^the workload {name} is not built: run `make ready`$"):
            image.dom0_image(load(tmp_path, GOOD), policy.load()["credit"], 1, built, "measure")
        (tmp_path / name).touch()


def test_what_saves_guests_is_in_dom0_only_where_it_is_needed():
    saves = policy.parse("saves=sched=tavs; xl save d1 /run/d1", policy.load())
    assert image._more_tools(saves, "measure") == ["lib/xen/bin/libxl-save-helper"]
    assert image._more_tools(policy.load()["tavs"], "measure") == []
    assert "lib/xen/bin/libxl-save-helper" in image._more_tools(policy.load()["tavs"], "shell")


def test_another_seed_unpauses_guests_at_other_times(tmp_path):
    one = load(tmp_path, GOOD)
    delays = [[image.boot_delay_ms(guest, seed) for guest in one.guests] for seed in (1, 2, 1)]
    assert delays[0] == delays[2] != delays[1]
    assert all(0 <= ms < image.BOOT_DELAY_MS for some in delays for ms in some)


def test_a_disk_whose_requests_wait_in_dom0(tmp_path):
    slow = GOOD.replace("size_mb = 1\n", 'size_mb = 1\nbackend = "null"\nlatency_us = 10000\n')
    (waits, queues) = (image._prepare_disks(load(tmp_path, text).guests[0])
                       for text in (slow, slow.replace("latency_us = 10000\n", "latency_us = 10000\nqueue = 64\n")))
    assert "echo 10000000 > $null/completion_nsec" in waits and "mq-deadline" not in waits
    added = ["echo mq-deadline > /sys/block/${device##*/}/queue/scheduler",
             "echo 64 > /sys/block/${device##*/}/queue/nr_requests"]
    assert [line for line in queues.splitlines() if line not in waits] == added
