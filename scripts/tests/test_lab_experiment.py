# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: their files, figures, verdicts and pages, from made-up raw files.  Nothing is booted."""

import json

import pytest

from lab import experiment, experiment_plots, experiment_report, policy, report, results, runs, scenario, xendump
from lab.errors import InputError, LabError
from lab_fixture import MS, write_raw
from test_lab_runs import fake, lab  # noqa: F401: a fixture

GOOD = """\
title = "t"
seeds = [1, 2]
[[run]]
scenario = "mixed"
policies = ["tavs", "credit", "pb20=sched=tavs tavs=pbratio=20"]
[[target]]
says = "mean, ms"
measure = "latency"
scenario = "mixed"
policy = "tavs"
at_most = 1
[[target]]
says = "times credit"
measure = "ratio"
scenario = "mixed"
policy = "tavs"
base = "credit"
at_least = 20
[[plot]]
draw = "learning"
scenario = "mixed"
title = "Learning"
"""


def load(tmp_path, text=GOOD):
    path = tmp_path / "case.toml"
    path.write_text(text)
    return experiment.load(path)


def found(directory, name="mixed", chosen="tavs", seed=1, **raw):
    """A run in `directory` with made-up raw files."""
    one, known = scenario.find(name), policy.load()
    place = directory / name / chosen / f"seed-{seed}"
    write_raw(place, one, known[chosen], seed=seed, **raw)
    return runs.Found(results.collect(place, one, known[chosen], seed), place)


def target(measure, scenario_name="mixed", chosen="tavs", **more):
    return experiment.Target("it", measure, scenario_name, chosen, **more)


def value(measure, *some, **more):
    """The figure of seed 1."""
    verdict = experiment.judge(target(measure, **more), experiment.Results(list(some)))
    assert not verdict.problem, verdict.problem
    return verdict.values[1]


# Files


@pytest.mark.parametrize("name", experiment.names())
def test_every_experiment_that_is_there_makes_sense(name):
    one = experiment.find(name)
    assert one.description and one.targets
    planned = [(m.scenario.name, p.name, seed) for m in one.measurements for p in m.policies for seed in m.seeds]
    assert len(planned) == len(set(planned)) == len(one.jobs(experiment.Path("out"), {}))


def test_runs_are_scenarios_by_policies_by_seeds(tmp_path):
    one = load(tmp_path)
    labels = [job.label for job in one.jobs(tmp_path, {})]
    assert labels == [f"mixed/{p}/{s}" for s in (1, 2) for p in ("tavs", "credit", "pb20")]
    assert len(one.jobs(tmp_path, {}, seeds=[7])) == 3


def test_a_run_that_is_planned_twice_is_measured_once(tmp_path):
    again = '[[run]]\nscenario = "mixed"\npolicies = ["tavs", "rtds"]\nseeds = [2, 3]\n'
    labels = [job.label for job in load(tmp_path, GOOD + again).jobs(tmp_path, {})]
    assert len(labels) == 6 + 3 and len(set(labels)) == len(labels)


@pytest.mark.parametrize("text, message", [
    (GOOD.replace('"mixed"', '"mixt"', 1), "case.toml:3: run[1]: there is no scenario 'mixt'"),
    (GOOD.replace('"credit"', '"credt"', 1), "case.toml:3: run[1]: there is no policy 'credt'"),
    (GOOD + '[[run]]\nscenario = "io"\npolicies = ["pb20=sched=tavs tavs=pbratio=30"]\n',
     "case.toml:23: run[2]: 'pb20' is not what has this name above"),
    (GOOD.replace('base = "credit"\n', ""), "case.toml:12: target[2]: ratio needs a base"),
    (GOOD.replace('base = "credit"\n', "").replace("ratio", "slowdown"), "case.toml:12: target[2]: slowdown needs a base"),
    (GOOD.replace('base = "credit"', 'base = "rtds"'), "case.toml:12: target[2]: no run of mixed under rtds is planned"),
    (GOOD.replace("at_most", "atmost"), "did you mean 'at_most'?"),
    (GOOD.replace("at_most = 1\n", ""), "case.toml:6: target[1]: needs either at_most or at_least"),
    (GOOD.replace('draw = "learning"', 'draw = "pie"'), "must be one of"),
    (GOOD.replace('draw = "learning"\nscenario = "mixed"', 'draw = "learning"\nscenario = "io"'),
     "case.toml:19: plot[1]: no run of io is planned"),
    (GOOD.replace('draw = "learning"', 'draw = "waits"'),
     "case.toml:19: plot[1]: waits needs the policies whose runs are traced"),
    (GOOD.replace('draw = "learning"', 'draw = "waits"\npolicies = ["tavs"]'),
     "case.toml:19: plot[1]: waits needs runs with trace = true"),
    (GOOD.replace('measure = "latency"', 'measure = "wait"'),
     "case.toml:6: target[1]: wait needs a run with trace = true"),
    (GOOD + '[[run]]\nscenario = "mixed"\npolicies = ["tavs"]\nseeds = [3]\ntrace = true\n',
     "case.toml:23: run[2]: mixed under tavs is both traced and not"),
])  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert message in caught.value.message


def test_a_run_is_traced_where_that_is_asked_for(tmp_path):
    more = '[[run]]\nscenario = "mixed"\npolicies = ["traced=sched=tavs"]\nseeds = [1]\ntrace = true\n'
    jobs = load(tmp_path, GOOD + more).jobs(tmp_path, {})
    assert [job.label for job in jobs if job.trace_kb] == ["mixed/traced/1"]


def test_an_experiment_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="there is no experiment 'nosuch'") as caught:
        experiment.find("nosuch")
    assert "mixed" in caught.value.details[0]
    with pytest.raises(InputError, match="nosuch.toml: no such file$"):
        experiment.find("some/nosuch.toml")


# Figures


def test_latency_is_of_all_requests_after_learning(tmp_path):
    one = found(tmp_path)
    expected = one.run["clients"][0]["learned"]
    for figure in ("mean", "p50", "p90", "p99", "max"):
        assert value("latency", one, figure=figure) == pytest.approx(expected[f"{figure}_ns"] / 1e6)
    assert value("latency", one, skip=0) == pytest.approx(one.run["clients"][0]["whole"]["mean_ns"] / 1e6)


def test_a_lost_request_is_slower_than_all_others(tmp_path):
    one = found(tmp_path, lost=(50,))
    assert value("latency", one, figure="max") == float("inf")
    assert value("latency", one, figure="p50") < float("inf")


@pytest.mark.parametrize("measure, more", [
    ("ratio", {"base": "credit", "at_least": 2}), ("against", {"client": "c1", "other": "c1", "at_most": 2})])
def test_what_is_lost_on_both_sides_is_no_figure(tmp_path, measure, more):
    some = [found(tmp_path, chosen=p, seed=s, latency_ms=ms, lost=(50,) if s == 2 else ())
            for p, ms in (("tavs", 1), ("credit", 100)) for s in (1, 2, 3)]
    verdict = experiment.judge(target(measure, figure="max", **more), experiment.Results(some))
    assert sorted(verdict.values) == [1, 3] and not verdict.met
    assert verdict.problem == "seed 2: requests were lost on both sides"


def test_verdicts_are_json_even_if_requests_were_lost(tmp_path):
    one = load(tmp_path, GOOD.replace('measure = "latency"', 'measure = "latency"\nfigure = "max"'))
    experiment.conclude(one, [found(tmp_path, lost=(50,))], tmp_path)

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    said = json.loads((tmp_path / "targets.json").read_text(), parse_constant=refuse)["targets"][0]
    assert (said["worst"], said["seeds"], said["verdict"]) == ("inf", {"1": "inf"}, "MISSED")


def test_ratios_are_of_the_same_seed_and_the_worst_decides(tmp_path):
    some = [found(tmp_path, seed=s, latency_ms=0.25) for s in (1, 2, 3)]
    some += [found(tmp_path, chosen="credit", seed=s, latency_ms=50) for s in (1, 2)]
    verdict = experiment.judge(target("ratio", base="credit", at_least=100), experiment.Results(some))
    assert sorted(verdict.values) == [1, 2]
    assert verdict.worst == min(verdict.values.values())
    assert verdict.met and verdict.word == "ok"
    strict = experiment.judge(target("ratio", base="credit", at_least=1e6), experiment.Results(some))
    assert not strict.met and strict.word == "MISSED"


def test_a_ratio_to_another_scenario(tmp_path):
    some = [found(tmp_path, seed=s, latency_ms=0.2) for s in (1, 2)]
    some += [found(tmp_path, "io", seed=2, latency_ms=0.6)]
    verdict = experiment.judge(target("ratio", base="tavs", via="io", at_least=1), experiment.Results(some))
    assert sorted(verdict.values) == [2]
    assert verdict.worst == pytest.approx(3, rel=0.2)


def test_a_slowdown_is_that_of_the_client_that_fares_worst(tmp_path):
    alone, four = found(tmp_path, "mixed-4-alone", latency_ms=0.2), found(tmp_path, "mixed-4", latency_ms=0.6)
    measured = experiment.Results([alone, four])
    measured.samples(alone)["c1"] = [(n, MS * 0.2) for n in range(1, 101)]
    for number in range(1, 9):
        measured.samples(four)[f"c{number}"] = [(n, MS * 0.1 * number) for n in range(1, 101)]

    def slowdown(**more):
        one = target("slowdown", "mixed-4", base="tavs", via="mixed-4-alone", at_most=1, **more)
        return experiment.judge(one, measured)

    assert slowdown(client="c*").values == {1: pytest.approx(4)}
    assert slowdown(client="c2").problem == "seed 1: no request was answered"    # alone has no c2
    assert slowdown(client="c2", other="c1").values == {1: pytest.approx(1)}
    assert slowdown(client="d*").problem == "seed 1: no client fits 'd*'"


def test_some_clients_against_others(tmp_path):
    one = found(tmp_path, "table1")
    ratio = value("against", one, scenario_name="table1", client="c-m*", other="c-i*", figure="p50")
    assert 0.5 < ratio < 2
    assert value("against", one, scenario_name="table1", client="c-m*", other="c-m*") == 1


def test_lateness_of_frames_is_a_latency_and_the_late_ones_are_counted(tmp_path):
    one = found(tmp_path, "player", latency_ms=8)
    (player,) = one.run["players"]
    assert player["lateness"]["n"] == 2950 and player["late"] > 0
    assert value("late", one, scenario_name="player", slow_ms=20) == player["late"]
    for figure in ("mean", "p99", "max"):
        assert value("latency", one, scenario_name="player", figure=figure) == pytest.approx(
            player["lateness"][f"{figure}_ns"] / 1e6)


def test_a_lost_request_is_late_and_what_was_learned_from_is_not(tmp_path):
    one = found(tmp_path, lost=(5, 50, 60))
    assert value("late", one, slow_ms=1e6) == 2
    assert value("late", one, slow_ms=1e6, skip=0) == 3
    verdict = experiment.judge(target("late", client="nobody"), experiment.Results([one]))
    assert (verdict.values, verdict.problem) == ({}, "seed 1: there was no request, read or frame")


def test_learning_ends_with_the_last_slow_request(tmp_path):
    one = found(tmp_path)
    measured = experiment.Results([one])
    measured.samples(one)["c1"] = [(n, MS * (90 if n in (1, 4, 40) else 0.2)) for n in range(1, 101)]
    assert experiment.judge(target("learning", at_most=5), measured).values == {1: 4.0}
    measured.samples(one)["c1"] = [(n, MS * 0.2) for n in range(1, 101)]
    assert experiment.judge(target("learning", at_most=5), measured).values == {1: 0.0}


def test_share_is_the_worst_domain(tmp_path):
    shares = {"dom0": 0.04, "d1": 0.16, **{f"h{n}": 0.16 for n in range(1, 6)}}
    assert value("share", found(tmp_path, shares=shares)) == pytest.approx(0, abs=0.01)
    shares |= {"d1": 0.08, "h1": 0.24}
    assert value("share", found(tmp_path, shares=shares)) == pytest.approx(50, abs=0.1)


def test_cost_is_cpu_time_for_a_unit_over_the_base(tmp_path):
    mine = found(tmp_path, "pingpong", shares={"dom0": 0.01, "d1": 0.90})
    base = found(tmp_path, "pingpong", "credit2", shares={"dom0": 0.01, "d1": 0.90})
    assert value("cost", mine, base, scenario_name="pingpong", base="credit2", domain="d1") == 0
    base.run["hogs"][0]["units"] = round(base.run["hogs"][0]["units"] * 1.01)
    assert value("cost", mine, base, scenario_name="pingpong", base="credit2", domain="d1") == pytest.approx(1, abs=0.01)


def test_hooks_are_the_cost_of_a_switch_times_the_switches(tmp_path):
    busy = {"dom0": 0.01, "d1": 0.90}
    mine, base = (found(tmp_path, "pingpong", p, shares=busy) for p in ("tavs", "credit2"))
    base.run["hogs"][0]["units"] = round(base.run["hogs"][0]["units"] * 1.01)
    crowd = found(tmp_path, "crowd", shares=busy)
    rate, units = experiment.switches(mine)
    assert rate == pytest.approx(2 * units) == pytest.approx(18000)
    # A unit is 100 us of CPU time here and two switches; 1% of it more is 500 ns a switch, at 18000 switches a second.
    assert experiment.switch_cost(mine, base) == pytest.approx(500, rel=0.02)
    percent = value("hooks", mine, base, crowd, scenario_name="crowd", base="credit2", via="pingpong")
    assert percent == pytest.approx(0.9, rel=0.02)
    missing = experiment.judge(target("hooks", "crowd", base="rtds", via="pingpong", at_most=1),
                               experiment.Results([mine, base, crowd]))
    assert not missing.met


def test_a_round_of_a_crowd_is_compared_with_the_base_by_its_median(tmp_path):
    mine = found(tmp_path, "crowd-fifo", "tavs", shares={"dom0": 0.01, "d1": 0.90})
    base = found(tmp_path, "crowd-fifo", "credit2", shares={"dom0": 0.01, "d1": 0.945})
    log = mine.directory / "raw" / "d1.crowd.tsv"
    title, *rows = log.read_text().splitlines()
    rows = [row for row in rows if row[0] != "#"]
    late = 30 * 10**6  # of the window's rounds one took 30% longer, and there was a pause behind one
    moved = [row.split("\t") for row in rows]
    moved = [[str(int(r[0]) + late * (n > 40) + late * (n > 50)), *r[1:]] for n, r in enumerate(moved)]
    moved.insert(51, [str(int(moved[50][0]) + late), *moved[50][1:]])
    log.write_text("\n".join([title, *("\t".join(r) for r in moved)]) + "\n")
    costs = experiment.round_costs(mine)
    assert len(costs) in (39, 40) and sorted(costs)[0] == pytest.approx(10**8 / 900)
    assert sum(c > sorted(costs)[0] * 1.01 for c in costs) == 1
    percent = value("rounds", mine, base, scenario_name="crowd-fifo", base="credit2")
    assert percent == pytest.approx(5)


def test_work_is_of_readers_or_clients_else_of_what_computes(tmp_path):
    disk = found(tmp_path, "disk")
    assert value("work", disk, scenario_name="disk", client="d1.blkread") == disk.run["disks"][0]["reads_per_s"]
    mixed = found(tmp_path)
    assert value("work", mixed, client="c1") == pytest.approx(100 / 35)
    assert value("work", mixed, client="h1.hog") == mixed.run["hogs"][1]["units_per_s"]


def test_what_cannot_be_computed_is_no_figure_and_takes_no_other_with_it(tmp_path):
    one, base = (found(tmp_path, "crowd-fifo", p) for p in ("tavs", "credit2"))

    def problem(measure, **more):
        verdict = experiment.judge(target(measure, "crowd-fifo", base="credit2", at_most=1, **more),
                                   experiment.Results([one, base]))
        assert not verdict.met
        return verdict.problem

    log = one.directory / "raw" / "d1.crowd.tsv"
    title, *rows = log.read_text().splitlines()
    log.write_text("\n".join([title, *(row.rpartition("\t")[0] + "\t0" for row in rows if row[0] != "#")]) + "\n")
    assert problem("hooks", via="crowd-fifo") == "seed 1: no task was switched"
    log.write_text(title + "\n")
    assert problem("rounds") == problem("hooks", via="crowd-fifo") == "seed 1: d1.crowd.tsv says too little"
    one.run["domains"] = one.run["domains"][:1]
    assert problem("cost", domain="d1") == "seed 1: the CPU time that it took is not known"
    one.run["domains"], one.run["hogs"] = base.run["domains"], [{**one.run["hogs"][0], "units": None}]
    text = experiment_report.markdown(load(tmp_path), [], [one, base])
    mine = [line for line in text.splitlines() if line.startswith("| crowd-fifo | tavs |")]
    assert [set(line.split(" | ")[2 + n:]) for n, line in enumerate(mine)] == [{"- |"}, {"-", "- |"}]
    base.run["hogs"][0]["units_per_s"] = 0.0
    assert problem("work", client="d1.*") == "seed 1: no work was done under credit2"
    one.run["hogs"] = []
    assert problem("rounds") == "seed 1: there is no program that computes"


def test_what_cannot_be_measured_is_missed_with_a_reason(tmp_path):
    one = found(tmp_path)
    nothing = experiment.judge(target("latency", chosen="rtds", at_most=1), experiment.Results([one]))
    assert (nothing.met, nothing.word, nothing.problem) == (False, "NOT MEASURED", "no run")
    silent = experiment.judge(target("boosted", at_most=1), experiment.Results([one]))
    assert "printed no statistics" in silent.problem and not silent.met
    one.run["complete"], one.run["error"] = False, {"message": "guest d1 did not come up", "details": []}
    failed = experiment.judge(target("latency", at_most=1000), experiment.Results([one]))
    assert failed.problem == "seed 1 failed: guest d1 did not come up" and not failed.met
    assert experiment.judge(target("complete", at_least=1), experiment.Results([one])).values == {1: 0.0}


# What the scheduler prints


DUMP = """\
(XEN) NOW={now}
(XEN) task awareness:
(XEN) \tpbratio            = 125 permille
(XEN) \tdomain 0: not tracked driver pbratio=125
(XEN) \t  [0.0] budget=500us
(XEN) \t  run=900us boosted=0us events=9 budget=0 ahead=3
(XEN) \tdomain 1: tracked pbratio=20
(XEN) \t  tasks: believed=1 pos=9 neg=1 lost=0 kernel=0x10
(XEN) \t    0x20 belief={belief} last I/O=900ms
(XEN) \t  [1.0] budget=77us
(XEN) \t  run={run}us boosted={boosted}us events=50 budget={refused} ahead=0
(XEN) \t  boosts for any: {boosts} (hit=3 revoked=2 blocked=1 capped=1)
(XEN) \t  boosts for net: 2 (hit=2 revoked=1 blocked=1 capped=0)
(XEN) \t  boosts for timer: 1 (hit=1 revoked=0 blocked=1 capped=0)
(XEN) \t  switches=70 cur=0x20 no boost: no task=6 uncorrelated=5 off=4
"""


def log(*dumps) -> str:
    return "Xen 4.20\n" + "(XEN) something else\n".join(DUMP.format(**d) for d in dumps)


FIRST = {"now": 5_000_000_000, "run": 1000, "boosted": 100, "refused": 4, "boosts": 4, "belief": 5}
SECOND = {"now": 7_000_000_000, "run": 51000, "boosted": 1100, "refused": 24, "boosts": 14, "belief": 300}


def test_counters_are_read_and_subtracted(tmp_path):
    path = tmp_path / "serial.log"
    path.write_text(log(FIRST, SECOND))
    before, after = xendump.read(path)
    assert (before.now_ns, after.now_ns) == (FIRST["now"], SECOND["now"])
    assert after.domains[1].boosts == 17
    assert (after.domains[1].positives, after.domains[1].negatives, after.domains[1].switches) == (9, 1, 70)
    assert (after.domains[1].refused_no_task, after.domains[1].refused_uncorrelated, after.domains[1].refused_off) == (6, 5, 4)
    spent = after.domains[1] - before.domains[1]
    assert (spent.pbratio, spent.run_us, spent.boosted_us, spent.boosts, spent.switches) == (20, 50000, 1000, 10, 0)
    with pytest.raises(LabError, match="nothing is missing"):
        xendump.read(tmp_path / "nothing")


def test_the_budget_is_seen(tmp_path):
    one = found(tmp_path)
    (one.directory / "serial.log").write_text(log(FIRST, SECOND))
    assert value("boosted", one, domain="d1") == 2.0
    assert value("refused", one, domain="d1") == 20
    assert value("hit", one, domain="d1") == 0
    assert value("boosts", one, domain="d1") == 10
    (one.directory / "serial.log").write_text(log(FIRST, SECOND).replace("boosts for net: 2 (hit=2", "boosts for net: 2 (hit=0", 1))
    assert value("hit", one, domain="d1") == pytest.approx(100 * 2 / 10)
    with pytest.raises(LabError, match="there was no boost"):
        experiment._hit(target("hit", domain="dom0"), experiment.Results([one]), one)


def test_a_summary_says_what_was_boosted(tmp_path):
    one = found(tmp_path)
    (one.directory / "serial.log").write_text(log(FIRST, SECOND))
    text = experiment_report.markdown(load(tmp_path), [], [one])
    assert "| mixed | tavs | 1 | d1 | 2.00% | 10 | 0 | 0 | 20 |" in text
    (one.directory / "serial.log").write_text("Xen 4.20\n")
    assert "Boosts in the window" not in experiment_report.markdown(load(tmp_path), [], [one])


@pytest.mark.parametrize("measure", ["boosted", "refused", "hit", "boosts"])
def test_a_domain_of_which_the_scheduler_says_nothing_is_no_figure(tmp_path, measure):
    one = found(tmp_path)
    (one.directory / "serial.log").write_text(log(FIRST, SECOND))
    verdict = experiment.judge(target(measure, domain="h1", at_most=1), experiment.Results([one]))
    assert verdict.problem == "seed 1: the scheduler said nothing of domain 2" and not verdict.met


# From the command line


def test_an_experiment_measures_judges_and_reports(fake, tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(GOOD)
    out = tmp_path / "out"
    assert lab("experiment", path, "--out", out, "--jobs", 2) == 0
    screen = capsys.readouterr().out
    assert "2 of 2 targets met" in screen and "mean, ms" in screen and "<= 1" in screen
    assert len(results.load(out / "results.json")) == 6
    said = json.loads((out / "targets.json").read_text())["targets"]
    assert [t["verdict"] for t in said] == ["ok", "ok"] and set(said[0]["seeds"]) == {"1", "2"}
    summary = (out / "summary.md").read_text()
    assert "| times credit | mixed | tavs |" in summary and summary.count("| mixed | ") == 5
    page = (out / "report.html").read_text()
    assert "Learning" in page and "times credit" in page and page.index("times credit") < page.index("mixed-cdf")
    for suffix in ("png", "svg"):
        assert (out / "report" / f"1-learning-mixed.{suffix}").stat().st_size > 1000


def test_a_summary_says_what_was_lost(tmp_path):
    lossy = found(tmp_path, lost=range(60, 80))
    text = experiment_report.markdown(load(tmp_path), [], [lossy])
    row = next(line for line in text.splitlines() if line.startswith("| mixed | tavs"))
    assert row.split(" | ")[4] == "90" and row.split(" | ")[7:10] == ["lost", "lost", "lost"]


def test_a_missed_target_is_said_and_is_the_exit_status(fake, tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(GOOD.replace("at_most = 1", "at_most = 0.01"))
    assert lab("experiment", path, "--seed", 1, "--out", tmp_path / "out") == 1
    screen = capsys.readouterr().out
    assert "MISSED" in screen and "1 of 2 targets met" in screen


def test_a_run_that_fails_leaves_its_targets_unmet(fake, tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(GOOD)
    fake.fail.add("credit")
    assert lab("experiment", path, "--seed", 1, "--out", tmp_path / "out") == 1
    assert "seed 1: credit failed" in capsys.readouterr().out


def test_keep_takes_complete_runs_as_they_are(fake, tmp_path, capsys, monkeypatch):
    path = tmp_path / "case.toml"
    path.write_text(GOOD)
    assert lab("experiment", path, "--seed", 1, "--out", tmp_path / "out") == 0
    monkeypatch.setattr("lab.paths.load_artifacts", lambda: {"versions": {"xen": "newer"}})
    assert lab("experiment", path, "--seed", 1, 2, "--out", tmp_path / "out", "--keep") == 0
    assert "3 of 6 runs were there already" in capsys.readouterr().out
    assert len(fake.executed()) == 6


def test_the_list_names_every_experiment(capsys):
    assert lab("experiment", "list") == 0
    screen = capsys.readouterr().out
    assert all(name in screen for name in experiment.names())


def test_every_kind_of_plot_is_drawn(tmp_path):
    measured = experiment.Results([found(tmp_path), found(tmp_path, chosen="credit", latency_ms=40)])
    look = report.plots.Look(["tavs", "credit"])
    for kind in experiment_plots._KINDS.keys() - {"waits"}:       # that needs a trace: test_lab_episode.py
        plot = experiment.Plot(kind, "mixed", "t", domain="d1")
        assert report.plots.draw(experiment_plots.draw, plot, measured, look) is not None, kind
    lossy = experiment.Results([found(tmp_path, lost=range(50, 70))])
    drawn = report.plots.draw(experiment_plots.draw, experiment.Plot("groups", "mixed", "t"), lossy, look)
    assert [[text.get_text() for text in axes.texts] for axes in drawn.axes] == [[], ["lost"], ["lost"]]
    measured.found[1].run["domains"].pop()  # it was gone at the end of the window
    assert report.plots.draw(experiment_plots.draw, experiment.Plot("sweep", "mixed", "t"), measured, look) is not None
    absent = experiment.Plot("learning", "io", "t")
    assert report.plots.draw(experiment_plots.draw, absent, measured, look) is None
