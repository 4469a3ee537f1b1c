# SPDX-License-Identifier: GPL-2.0-only
"""From raw files to results.json, on a made-up run whose figures are known."""

import copy
import json

import jsonschema
import pytest

from lab import policy, raw, results, runs, scenario, stats, tables
from lab.errors import LabError
from lab.paths import SCHEMAS
from lab_fixture import MS, START, write_raw

TAVS = policy.load()["tavs"]


def collected(tmp_path, name="mixed", error=None, **made):
    one = scenario.find(name)
    write_raw(tmp_path, one, TAVS, **made)
    return results.collect(tmp_path, one, TAVS, 1, fingerprint="f" * 64, inputs={"xen": "0" * 64}, error=error)


@pytest.mark.parametrize("name", scenario.names())
def test_every_scenario_gives_results_that_fit_the_schema(name, tmp_path):
    run = collected(tmp_path, name)
    data = json.loads(results.encode([run]))
    jsonschema.validate(data, json.loads((SCHEMAS / "results.schema.json").read_text()))
    assert run["complete"] and run["warnings"] == []
    assert [c["name"] for c in run["clients"]] == [c.name for c in scenario.find(name).clients]
    assert [d["name"] for d in run["domains"]] == ["dom0", *(g.name for g in scenario.find(name).guests)]


def test_the_schemas_are_schemas():
    for path in SCHEMAS.glob("*.json"):
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


def test_latencies_are_those_of_the_samples(tmp_path):
    run = collected(tmp_path, lost={3, 50})
    samples = raw.read_wire(tmp_path / "raw" / "wire.tsv").samples["c1"]
    latencies = [s.reply_ns - s.sent_ns for s in samples if s.reply_ns]
    whole, learned = run["clients"][0]["whole"], run["clients"][0]["learned"]
    assert (whole["n"], whole["lost"]) == (98, 2)
    assert whole["mean_ns"] == stats.mean(latencies) and whole["max_ns"] == max(latencies)
    assert whole["p50_ns"] == sorted(latencies)[48]
    assert (learned["after_requests"], learned["n"], learned["lost"]) == (10, 89, 1)
    assert run["clients"][0]["sent_late_max_ns"] == 2_000


def test_the_quantum_is_said_where_there_are_several_pcpus(tmp_path):
    assert "quantum_ns" not in collected(tmp_path / "one")["ran"]
    assert collected(tmp_path / "four", "mixed-4")["ran"]["quantum_ns"] == 10_000
    assert collected(tmp_path / "other", "mixed-4@5us")["ran"]["quantum_ns"] == 5_000


def test_fewer_requests_than_learning_takes(tmp_path):
    one = scenario.find("smoke")
    write_raw(tmp_path, one, TAVS)
    lines = (tmp_path / "raw" / "wire.tsv").read_text().splitlines()
    few = [line for line in lines if not line.startswith("sample\tc1") or line.split("\t")[2] == "0"]
    (tmp_path / "raw" / "wire.tsv").write_text("\n".join(few) + "\n")
    client = results.collect(tmp_path, one, TAVS, 1)["clients"][0]
    assert client["whole"]["n"] == 1
    assert client["learned"] == {"after_requests": 2, **stats.summary([])}


def test_shares_and_errors(tmp_path):
    shares = {"dom0": 0.1, "d1": 0.10, **{f"h{i}": 0.16 for i in range(1, 6)}}
    run = collected(tmp_path, shares=shares)
    domains = {d["name"]: d for d in run["domains"]}
    assert domains["dom0"]["cpu_ns"] == 3_500_000_000
    assert domains["d1"]["cpu_ns"] == 3_500_000_000
    assert domains["d1"]["share_ppm"] == 100_000
    assert domains["d1"]["entitled_ns"] == 5_250_000_000
    assert domains["d1"]["error_ppm"] == -333_333
    assert domains["h1"]["error_ppm"] == 66_667
    assert results.worst_error(run) == (-333_333, "d1")


def test_a_dom0_that_takes_too_much_is_an_error_of_its_own_and_of_who_lost(tmp_path):
    """Of 35 s and seven domains: each is entitled to 5 s, and d1 has no more than it."""
    shares = {"dom0": 0.4, **{name: 0.1 for name in ("d1", "h1", "h2", "h3", "h4", "h5")}}
    run = collected(tmp_path, shares=shares)
    domains = {d["name"]: d for d in run["domains"]}
    assert all(d["entitled_ns"] == 5_000_000_000 for d in domains.values())
    assert domains["dom0"]["wants_ppm"] is None and domains["dom0"]["error_ppm"] == 1_800_000
    assert domains["h1"]["error_ppm"] == -300_000
    assert results.worst_error(run) == (1_800_000, "dom0")


def test_a_dom0_with_little_to_do_has_no_error(tmp_path):
    run = collected(tmp_path, shares={"dom0": 0.04, **{name: 0.16 for name in ("d1", "h1", "h2", "h3", "h4", "h5")}})
    assert [d["error_ppm"] for d in run["domains"]] == [0] * 7


def test_a_dom0_that_computes_is_entitled_to_a_share():
    busy = scenario.Dom0(workloads=(scenario.Workload("hog", "hog"),))
    assert results._limit(busy, 100, 1000) == 1000
    sleepy = scenario.Dom0(workloads=(scenario.Workload("hog", "hog", duty_on_us=20, duty_off_us=80),))
    assert results._limit(sleepy, 100, 1000) == 200         # it was kept from computing
    assert results._limit(sleepy, 300, 1000) == 300         # I/O comes on top
    assert results._limit(scenario.Dom0(), 100, 1000) == 100


def test_an_interactive_guest_is_entitled_to_what_it_used(tmp_path):
    run = collected(tmp_path, "io", shares={"dom0": 0.02, "d1": 0.03, **{f"h{i}": 0.19 for i in range(1, 6)}})
    domains = {d["name"]: d for d in run["domains"]}
    assert domains["d1"]["wants_ppm"] is None and domains["d1"]["error_ppm"] == 0
    assert domains["h3"]["error_ppm"] == 0


def test_caps_and_duties_limit_what_a_guest_is_entitled_to():
    duty = scenario.find("duty")
    assert results._limit(duty.guest("s1"), 0, 1000) == 900
    capped = scenario.Guest(name="x", index=1, cap=25, workloads=(scenario.Workload("hog", "hog"),))
    assert results._limit(capped, 0, 1000) == 250
    wide = scenario.Guest(name="x", index=1, vcpus=2, workloads=tuple(scenario.Workload("hog", f"h{i}") for i in range(3)))
    assert results._limit(wide, 0, 1000) == 2000
    quiet = scenario.Guest(name="x", index=1)
    assert results._limit(quiet, 123, 1000) == 123


def test_throughput_of_hogs_is_interpolated(tmp_path):
    run = collected(tmp_path, shares={"dom0": 0.0, "d1": 0.1, **{f"h{i}": 0.18 for i in range(1, 6)}})
    assert {h["guest"]: h["units"] for h in run["hogs"]} == {"d1": 35_000, **{f"h{i}": 63_000 for i in range(1, 6)}}
    assert run["hogs"][0]["units_per_s"] == 1000.0


def test_a_log_that_does_not_cover_the_window(tmp_path):
    one = scenario.find("mixed")
    write_raw(tmp_path, one, TAVS)
    (tmp_path / "raw" / "h2.hog.tsv").write_text(f"# time_ns\tunits\n{START + MS}\t1\n{START + 2 * MS}\t2\n# missed\t17\n")
    run = results.collect(tmp_path, one, TAVS, 1)
    assert next(h for h in run["hogs"] if h["guest"] == "h2")["units"] is None
    assert run["warnings"] == ["h2.hog: 17 samples did not fit its log", "h2.hog: its log does not cover the window"]


@pytest.mark.parametrize("late_ms, units", [(0, 1000), (400, 1000), (1000, 1000), (1001, None)])
def test_a_guest_whose_clock_is_behind(late_ms, units):
    """Its log ends before the window does; an interval of the same length counts."""
    window = (START, START + 10_000 * MS)
    points = [(START + t * MS, t // 10) for t in range(-3000, 10_001 - late_ms)]
    assert results._units(points, window) == units


def test_a_reader_whose_clock_is_behind(tmp_path):
    one = scenario.find("disk")
    write_raw(tmp_path, one, TAVS)
    end = START + one.duration_s * 1000 * MS
    ends = [START - 600 * MS, START - 400 * MS, START + MS, end - 500 * MS]
    rows = "".join(f"{t - MS}\t{t}\t0\n" for t in ends)
    (tmp_path / "raw" / "d1.blkread.tsv").write_text("# submit_ns\tdone_ns\toffset\n" + rows)
    assert results.collect(tmp_path, one, TAVS, 1)["disks"][0]["latency"]["n"] == 3


def test_dom0_need_not_be_listed(tmp_path):
    (tmp_path / "domains.tsv").write_text("1\td1\n2\th1\n")
    assert raw.read_domains(tmp_path / "domains.tsv") == {"d1": 1, "h1": 2, "dom0": 0}
    (tmp_path / "domains.tsv").write_text("0\tDomain-0\n1\td1\n")
    assert raw.read_domains(tmp_path / "domains.tsv") == {"d1": 1, "dom0": 0}


@pytest.mark.parametrize("line", ["\td1", "1", "d1\t1"])
def test_a_domain_without_a_number_is_named(tmp_path, line):
    (tmp_path / "domains.tsv").write_text(f"0\tdom0\n{line}\n")
    with pytest.raises(LabError, match="^domains.tsv, line 2: a number and a name expected$"):
        raw.read_domains(tmp_path / "domains.tsv")


def test_reads_outside_the_window_do_not_count(tmp_path):
    one = scenario.find("disk")
    write_raw(tmp_path, one, TAVS)
    end = START + one.duration_s * 1000 * MS
    rows = [(START - 1, START + 5), (START, START + 7), (START + 10, START + 19), (end - 3, end), (end - 2, end + 1)]
    (tmp_path / "raw" / "d1.blkread.tsv").write_text("# submit_ns\tdone_ns\toffset\n" + "".join(f"{a}\t{b}\t0\n" for a, b in rows))
    disk = results.collect(tmp_path, one, TAVS, 1)["disks"][0]
    assert (disk["latency"]["n"], disk["latency"]["max_ns"], disk["reads_per_s"]) == (3, 9, 0.1)


def test_a_web_server_that_has_no_log_is_not_missed(tmp_path):
    run = collected(tmp_path, "http")
    assert not (tmp_path / "raw" / "d1.httpd.tsv").exists()
    assert run["servers"] == [] and run["clients"][0]["proto"] == "http"


def test_frames_are_late_by_when_they_are_ready(tmp_path):
    one = scenario.find("player")
    write_raw(tmp_path, one, TAVS)
    end = START + one.duration_s * 1000 * MS
    last = end - 1000 * MS  # the guest's clock may be behind by a second
    took = [(START - 1, 99 * MS), (START, 21 * MS), (START + MS, 20 * MS), (last - 1, 300 * MS), (last, 99 * MS)]
    rows = "".join(f"{due}\t{due + 1}\t{due + ns}\n" for due, ns in took)
    (tmp_path / "raw" / "d1.player.tsv").write_text("# due_ns\tawake_ns\tready_ns\n" + rows)
    run = results.collect(tmp_path, one, TAVS, 1)
    (player,) = run["players"]
    assert (player["guest"], player["workload"], player["period_us"], player["late"]) == ("d1", "player", 20_000, 2)
    assert player["lateness"]["n"] == 3 and player["lateness"]["max_ns"] == 300 * MS
    assert tables.probes(run) == [("d1.player", player["lateness"], None)]
    assert runs.Found(run, tmp_path).samples() == {"d1.player": [(1, 21 * MS), (2, 20 * MS), (3, 300 * MS)]}


def test_results_from_before_there_were_players_are_read(tmp_path):
    run = collected(tmp_path)
    del run["players"]
    results.save(tmp_path / "r.json", [run])
    (loaded,) = results.load(tmp_path / "r.json")
    assert len(tables.probes(loaded)) == 1 and list(runs.Found(loaded, tmp_path).samples()) == ["c1"]


def test_context_switches_are_differences(tmp_path):
    assert collected(tmp_path)["context_switches"] == {"sched_run": 4000, "sched_ctx": 2500}


def test_the_wrong_scheduler_is_an_error(tmp_path):
    with pytest.raises(LabError, match="^the scheduler that ran is credit2, not tavs, which 'tavs' asks for$"):
        collected(tmp_path, scheduler="credit2")


def test_a_missing_log_is_an_error(tmp_path):
    with pytest.raises(LabError, match="^h3.hog.tsv is missing$"):
        collected(tmp_path, drop={"h3.hog"})


def test_a_silent_client_is_an_error(tmp_path):
    one = scenario.find("mixed")
    write_raw(tmp_path, one, TAVS)
    path = tmp_path / "raw" / "wire.tsv"
    path.write_text("\n".join(line for line in path.read_text().splitlines() if not line.startswith("sample")) + "\n")
    with pytest.raises(LabError, match="^client 'c1' has no samples: it sent nothing$"):
        results.collect(tmp_path, one, TAVS, 1)


@pytest.mark.parametrize("line, message", [
    ("sample\tc1\tx\t1\t2\t3", "wire.tsv, line 1: invalid literal for int() with base 10: 'x'"),
    ("sample\tc1", "wire.tsv, line 1: unknown record"),
    ("what\t1", "wire.tsv, line 1: unknown record"),
    ("window\t5\t5", "wire.tsv: the window ends before it starts"),
])
def test_damaged_records_are_named(tmp_path, line, message):
    (tmp_path / "wire.tsv").write_text(line + "\n")
    with pytest.raises(LabError) as caught:
        raw.read_wire(tmp_path / "wire.tsv")
    assert caught.value.message == message


class TestIncomplete:
    def test_with_everything_but_the_end(self, tmp_path):
        run = collected(tmp_path, error=LabError("d1 died", ["--- console of d1", "Oops"]))
        assert not run["complete"] and run["error"] == {"message": "d1 died", "details": ["--- console of d1", "Oops"]}
        assert run["clients"][0]["whole"]["n"] == 100
        results.encode([run])

    def test_with_nothing(self, tmp_path):
        run = results.collect(tmp_path, scenario.find("mixed"), TAVS, 1, error=LabError("no boot"))
        assert run["window"] is None and run["domains"] == [] and run["clients"][0]["whole"]["n"] == 0
        assert "wire.tsv is missing" in run["warnings"]
        results.encode([run])

    def test_with_a_file_cut_off(self, tmp_path):
        one = scenario.find("mixed")
        write_raw(tmp_path, one, TAVS)
        (tmp_path / "raw" / "meta.json").write_text("{")
        run = results.collect(tmp_path, one, TAVS, 1, error=LabError("x"))
        assert run["ran"]["scheduler"] is None and run["warnings"][0].startswith("meta.json: not JSON")

    def test_no_path_of_this_machine_gets_in(self, tmp_path):
        run = results.collect(tmp_path, scenario.find("mixed"), TAVS, 1, error=LabError(f"{tmp_path}/x broke", [f"see {tmp_path}/raw/y"]))
        assert str(tmp_path) not in results.encode([run]).decode()
        assert run["error"] == {"message": "x broke", "details": ["see raw/y"]}


def test_the_same_raw_files_give_the_same_bytes(tmp_path):
    encoded = [results.encode([collected(tmp_path / side, "smoke")]) for side in ("a", "b")]
    assert encoded[0] == encoded[1]
    assert str(tmp_path).encode() not in encoded[0]


class TestDocument:
    @pytest.fixture
    def run(self, tmp_path):
        return collected(tmp_path)

    def test_round_trip(self, run, tmp_path):
        results.save(tmp_path / "r.json", [run])
        assert results.load(tmp_path / "r.json") == [run]

    @pytest.mark.parametrize("break_it", [
        lambda r: r.pop("seed"), lambda r: r.update(extra=1), lambda r: r.update(seed="1"),
        lambda r: r["clients"][0]["whole"].update(p50_ns=1.5), lambda r: r["domains"][0].pop("cpu_ns"),
        lambda r: r["policy"].update(hypervisor="fast")])
    def test_what_does_not_fit_is_refused(self, run, break_it):
        broken = copy.deepcopy(run)
        break_it(broken)
        with pytest.raises(LabError):
            results.encode([broken])

    @pytest.mark.parametrize("text, message", [
        ("{}", "r.json: these are no results of the laboratory"),
        ("[]", "r.json: these are no results of the laboratory"),
        ('{"format": "xen-tavs lab results", "version": 2}', "r.json: has version 2; this program reads version 1"),
        ("{", "r.json: not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ])
    def test_what_is_no_results_file_is_refused(self, tmp_path, monkeypatch, text, message):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(LabError) as caught:
            results.load(tmp_path / "r.json")
        assert caught.value.message == message
