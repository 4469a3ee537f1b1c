# SPDX-License-Identifier: GPL-2.0-only
"""Workers, cache, command line, comparison and report, with a machine that writes made-up raw files."""

import errno
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab import cli, machine, paths, policy, report, results, runs, scenario, trace, workers
from lab import run as machine_run
from lab.cache import Cache
from lab.errors import LabError
from lab_fixture import write_raw
from trace_fixture import record, window

SCRIPTS = Path(__file__).resolve().parents[1]
LATENCY = {"credit": 60.0, "credit2": 4.0, "credit2-rl0": 1.4, "tavs": 0.25}


class FakeMachine:
    """Stands for lab.run; counts executions in a file, since they happen in other processes."""

    def __init__(self, directory: Path):
        self.log = directory / "executed"
        self.fail: set[str] = set()
        self.slow = 0.0
        self.salt = ""

    def prepare(self, one, chosen, seed, artifacts, workdir, trace_kb=0):
        name = f"{one.name}/{chosen.name}/{seed}"
        print_ = hashlib.sha256(f"{name}{artifacts}{trace_kb}".encode()).hexdigest()
        return SimpleNamespace(fingerprint=print_, inputs={"xen": print_}, name=name, one=one, chosen=chosen, seed=seed,
                               trace_kb=trace_kb)

    def execute(self, prepared, outdir, progress):
        progress("boot", 1.0)
        with self.log.open("a") as log:
            log.write(prepared.name + "\n")
        if self.slow:
            (self.log.parent / "pid").write_text(str(subprocess.Popen(["sleep", "300"]).pid))
            time.sleep(self.slow)
        progress("window", 60.0)
        write_raw(outdir, prepared.one, prepared.chosen, seed=prepared.seed, latency_ms=LATENCY.get(prepared.chosen.name, 2.0))
        if prepared.trace_kb:
            (outdir / "raw" / trace.TRACE).write_bytes(window(0, record(0x1F001, 7, 0, 1, 0, tsc=5)))
            (outdir / "raw" / trace.CLOCK).write_text("1\t1\n2\t2\n")
        if self.salt:
            (outdir / "serial.log").write_text(self.salt)
        if prepared.chosen.name in self.fail:
            raise LabError("guest d1 did not come up", ["--- console of d1", f"{outdir}/raw: panic"])

    def executed(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []


@pytest.fixture
def fake(tmp_path, monkeypatch):
    one = FakeMachine(tmp_path)
    monkeypatch.setattr(machine_run, "prepare", one.prepare)
    monkeypatch.setattr(machine_run, "execute", one.execute)
    monkeypatch.setattr(paths, "load_artifacts", lambda: {"versions": {"xen": "4.20.test", "qemu": "0.test"}})
    monkeypatch.setattr(workers, "BUILD", tmp_path / "build")
    monkeypatch.setattr(Cache.__init__, "__defaults__", (tmp_path / "cache",))
    monkeypatch.setattr(workers, "GRACE_S", 5)
    return one


def lab(*words) -> int:
    return cli.main([str(w) for w in words])


def test_runs_side_by_side_leave_what_they_should(fake, tmp_path, capsys):
    out = tmp_path / "out"
    assert lab("run", "mixed", "io", "--policy", "credit", "--policy", "tavs", "--out", out, "--jobs", 2) == 0
    assert sorted(fake.executed()) == ["io/credit/1", "io/tavs/1", "mixed/credit/1", "mixed/tavs/1"]
    for name in fake.executed():
        one, chosen, seed = name.split("/")
        directory = out / one / chosen / f"seed-{seed}"
        assert sorted(p.name for p in directory.iterdir()) == ["raw", "results.json", "run.log", "serial.log"]
        (run,) = results.load(directory / "results.json")
        assert run["complete"] and run["ran"]["versions"] == {"kernel": "6.1.0-test", "qemu": "0.test", "xen": "4.20.3"}
    every = results.load(out / "results.json")
    assert [results.label(r) for r in every] == ["mixed/credit/seed-1", "mixed/tavs/seed-1", "io/credit/seed-1", "io/tavs/seed-1"]
    screen = capsys.readouterr()
    assert "mixed: Interactive work beside CPU-bound work in one guest" in screen.out
    assert re.search(r"│ credit +│ c1 +│ 100 │ +0 │", screen.out)
    assert "mixed/credit/1: boot (1 virtual s)" in screen.err
    assert "\x1b" not in screen.out + screen.err
    assert list((tmp_path / "build").iterdir()) == []


def test_a_second_run_comes_from_the_cache_with_the_same_bytes(fake, tmp_path, capsys):
    assert lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a") == 0
    assert lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "b") == 0
    assert fake.executed() == ["mixed/tavs/1"]
    assert (tmp_path / "a" / "results.json").read_bytes() == (tmp_path / "b" / "results.json").read_bytes()
    assert "cached" in capsys.readouterr().out
    for name in ("serial.log", "raw/wire.tsv"):
        below = Path("mixed/tavs/seed-1") / name
        assert (tmp_path / "a" / below).read_bytes() == (tmp_path / "b" / below).read_bytes()


def test_fresh_ignores_the_cache(fake, tmp_path):
    for _ in range(2):
        assert lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a", "--fresh") == 0
    assert len(fake.executed()) == 2


def test_a_traced_run_is_another_run_and_says_what_was_lost(fake, tmp_path, capsys):
    run = ("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a")
    assert lab(*run) == 0 and lab(*run, "--trace") == 0 and lab(*run) == 0
    assert len(fake.executed()) == 2
    assert "7 records did not fit" in capsys.readouterr().out
    (plain,) = results.load(tmp_path / "a/results.json")
    assert "trace" not in plain["ran"] and not (tmp_path / "a/mixed/tavs/seed-1/raw" / trace.TRACE).exists()
    assert lab(*run, "--trace") == 0
    (traced,) = results.load(tmp_path / "a/results.json")
    assert traced["ran"]["trace"] == {"lost": 7}
    assert traced["ran"]["fingerprint"] != plain["ran"]["fingerprint"]


def test_a_trace_that_cannot_be_handed_over_is_refused(fake, tmp_path, capsys):
    assert lab("run", "bursts-pool", "--trace", "--trace-mb", "40", "--out", tmp_path) == 2
    assert "--trace-mb 40: bursts-pool has 2 pCPUs" in capsys.readouterr().err
    assert fake.executed() == []


def test_other_inputs_are_another_run(fake, tmp_path, monkeypatch):
    lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a")
    monkeypatch.setattr(paths, "load_artifacts", lambda: {"versions": {"xen": "other"}})
    lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a")
    assert len(fake.executed()) == 2


def test_a_machine_that_does_not_repeat_itself_is_found_out(fake, tmp_path, capsys):
    assert lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a") == 0
    fake.salt = "something else\n"
    assert lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a", "--fresh") == 1
    assert "mixed/tavs/seed-1: NOT REPEATABLE: serial.log differs from the cached run of the same inputs" in capsys.readouterr().err


def test_a_damaged_entry_of_the_cache_is_measured_again(fake, tmp_path):
    lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a")
    (entry,) = (tmp_path / "cache").iterdir()
    (entry / "raw" / "wire.tsv").write_text("window\t1\t2\n")
    assert lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "b") == 0
    assert len(fake.executed()) == 2
    assert results.load(tmp_path / "b" / "results.json")[0]["window"]["duration_ns"] == 35_000_000_000


def test_changing_a_copy_does_not_change_the_cache(fake, tmp_path):
    lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a")
    (tmp_path / "a/mixed/tavs/seed-1/serial.log").write_text("changed")
    assert lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "b") == 0
    assert (tmp_path / "b/mixed/tavs/seed-1/serial.log").read_text() == "Xen 4.20.3\n"


def test_a_failed_run_is_kept_marked_and_not_cached(fake, tmp_path, capsys):
    fake.fail = {"credit"}
    out = tmp_path / "out"
    assert lab("run", "mixed", "--policy", "credit", "--policy", "tavs", "--out", out) == 1
    bad, good = results.load(out / "results.json")
    assert (bad["complete"], good["complete"]) == (False, True)
    assert bad["error"] == {"message": "guest d1 did not come up", "details": ["--- console of d1", "raw: panic"]}
    assert (out / "mixed/credit/seed-1/raw/wire.tsv").exists()
    screen = capsys.readouterr()
    assert "incomplete" in screen.out and "guest d1 did not come up" in screen.out and "raw: panic" in screen.out
    assert "1 of 2 runs failed" in screen.err
    fake.fail = set()
    assert lab("run", "mixed", "--policy", "credit", "--out", out) == 0
    assert fake.executed().count("mixed/credit/1") == 2


def test_a_bug_in_the_laboratory_is_an_incomplete_run_with_a_traceback_in_the_log(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(machine_run, "execute", lambda *_: 1 / 0)
    assert lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a") == 1
    (run,) = results.load(tmp_path / "a" / "results.json")
    assert run["error"]["message"] == "internal error: ZeroDivisionError: division by zero"
    assert "Traceback" in (tmp_path / "a/mixed/tavs/seed-1/run.log").read_text()


def test_domains_that_xl_could_not_tell_cost_one_run_and_not_the_others(fake, tmp_path, monkeypatch):
    def execute(prepared, outdir, progress):
        fake.execute(prepared, outdir, progress)
        if prepared.chosen.name == "credit":
            (outdir / "raw" / "domains.tsv").write_text("0\tdom0\n\td1\n")
            raise LabError("guest d1 has no console")

    monkeypatch.setattr(machine_run, "execute", execute)
    out = tmp_path / "a"
    assert lab("run", "mixed", "--policy", "credit", "--policy", "tavs", "--out", out, "--jobs", 1) == 1
    bad, good = results.load(out / "results.json")
    assert bad["error"]["message"] == "guest d1 has no console" and good["complete"]
    assert "domains.tsv, line 2: a number and a name expected" in bad["warnings"]


def test_a_run_whose_results_cannot_be_written_says_why(fake, tmp_path, monkeypatch):
    save = results.save

    def full(path, some):
        if path.parent.parent.name == "credit":
            raise OSError(errno.ENOSPC, "No space left on device")
        save(path, some)

    monkeypatch.setattr(results, "save", full)
    out = tmp_path / "a"
    assert lab("run", "mixed", "--policy", "credit", "--policy", "tavs", "--out", out, "--jobs", 1) == 1
    bad, good = results.load(out / "results.json")
    assert bad["error"]["message"] == "internal error: OSError(28, 'No space left on device')"
    assert good["complete"] and not (out / "mixed/credit/seed-1/results.json").exists()


def test_a_worker_that_is_killed_is_an_incomplete_run(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(machine_run, "execute", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    assert lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a") == 1
    (run,) = results.load(tmp_path / "a" / "results.json")
    assert run["error"]["message"] == "the worker process died (exit code -9)"


def test_a_machine_that_complains_at_length_ends_and_is_heard(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_STUCK_S", 5)
    emulator = "printf 'Xen 4.20' > serial.log; yes complaint | head -n 20000 >&2; echo the end >&2"
    with pytest.raises(LabError, match="^the machine ended in phase 'start' without results$") as caught:
        machine.run(["sh", "-c", emulator], tmp_path, 10, lambda *_: None)
    assert caught.value.details[:2] == ["Xen 4.20", "complaint"]
    assert caught.value.details[-2:] == ["complaint", "the end"] and len(caught.value.details) < 100


def start_slow_run(fake, tmp_path) -> tuple[int, int]:
    """A `lab run` of its own whose machine runs for a minute; returns its pid and that of what the machine started."""
    fake.slow = 60
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)    # ignored in what a shell starts with &
        os._exit(lab("run", "mixed", "--policy", "tavs", "--out", tmp_path / "a"))
    started = tmp_path / "pid"
    wait_for(lambda: started.exists() and started.read_text())
    return pid, int(started.read_text())


def wait_for(condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "waited for 30 s"
        time.sleep(0.05)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_workers_and_what_they_started(fake, tmp_path, how):
    pid, started = start_slow_run(fake, tmp_path)
    os.kill(pid, how)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert gone(started)
    (run,) = results.load(tmp_path / "a/mixed/tavs/seed-1/results.json")
    assert run["error"]["message"] == "interrupted"


def test_nothing_outlives_a_laboratory_that_is_killed(fake, tmp_path):
    pid, started = start_slow_run(fake, tmp_path)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    wait_for(lambda: gone(started))


def test_seeds_from_the_command_line(fake, tmp_path):
    lab("run", "smoke", "--policy", "tavs", "--seed", 5, 7, "--out", tmp_path / "a")
    assert sorted(fake.executed()) == ["smoke/tavs/5", "smoke/tavs/7"]
    assert [r["seed"] for r in results.load(tmp_path / "a" / "results.json")] == [5, 7]


def test_a_policy_spelt_out_runs(fake, tmp_path):
    assert lab("run", "smoke", "--policy", "x=sched=credit2; xl sched-credit2 -s -r 500", "--out", tmp_path / "a") == 0
    (run,) = results.load(tmp_path / "a" / "results.json")
    assert run["policy"]["commands"] == ["xl sched-credit2 -s -r 500"]
    assert (tmp_path / "a/smoke/x/seed-1").is_dir()


class TestCommandLine:
    @pytest.mark.parametrize("words, start", [
        (["run", "nix"], "error: there is no scenario 'nix' in guest-tests/scenarios\n  there are: alone"),
        (["run", "mixed", "--policy", "nix"], "error: there is no policy 'nix' in guest-tests/policies.toml\n"),
        (["run", "mixed", "--policy", "tavs", "--policy", "tavs"], "error: --policy: 'tavs' is given twice\n"),
        (["run", "mixed", "mixed"], "error: two scenarios have the same name\n"),
        (["compare", "out"], "error: compare takes at least two directories of runs\n"),
    ])
    def test_bad_input(self, words, start, capsys):
        assert lab(*words) == 2
        assert capsys.readouterr().err.startswith(start)

    @pytest.mark.parametrize("words", [["run"], [], ["run", "mixed", "--jobs", "0"], ["run", "mixed", "--seed", "-1"], ["dance"]])
    def test_bad_arguments(self, words, capsys):
        with pytest.raises(SystemExit) as caught:
            lab(*words)
        assert caught.value.code == 2
        assert "lab" in capsys.readouterr().err

    def test_nothing_built(self, monkeypatch, tmp_path, capsys):
        monkeypatch.setattr(paths.load_artifacts, "__defaults__", (tmp_path / "artifacts.json",))
        monkeypatch.chdir(tmp_path)
        assert lab("run", "mixed") == 1
        assert capsys.readouterr().err == "error: artifacts.json is missing: nothing is built yet\n  run: make ready\n"

    def test_what_cannot_be_written_is_named(self, measured, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "page.html").mkdir()
        (tmp_path / "file").touch()
        assert lab("report", measured, "-o", "page.html") == 1
        assert capsys.readouterr().err == "error: page.html: Is a directory\n"
        assert lab("report", measured, "-o", "file/page.html") == 1
        assert capsys.readouterr().err == "error: file/page: Not a directory\n"

    @pytest.mark.parametrize("verb", ["", "run", "boot", "compare", "report", "list", "demo"])
    def test_help_teaches(self, verb, capsys):
        with pytest.raises(SystemExit) as caught:
            lab(*([verb] if verb else []), "--help")
        assert caught.value.code == 0
        text = capsys.readouterr().out
        assert verb in text and (verb in ("list", "demo") or "example" in text)

    def test_every_example_of_the_help_parses(self):
        lines = [line.split("   ")[0].strip() for line in cli.EPILOG.splitlines() if line.startswith("  lab ")]
        assert len(lines) >= 6
        import shlex
        for line in lines:
            cli.parser().parse_args(shlex.split(line)[1:])

    def test_list_names_everything(self, capsys):
        assert lab("list") == 0
        text = capsys.readouterr().out
        for name in [*scenario.names(), *policy.load()]:
            assert re.search(rf"^{re.escape(name)} ", text, re.M)

    def test_it_starts_as_a_module(self):
        done = subprocess.run([sys.executable, "-m", "lab", "list"], env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and "mixed" in done.stdout


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Two scenarios under two policies, one of them with a lost request and one run incomplete."""
    out = tmp_path_factory.mktemp("measured")
    known = policy.load()
    every = []
    for name in ("mixed", "disk"):
        for chosen in ("credit", "tavs"):
            one, directory = scenario.find(name), workers.rundir(out, name, chosen, 1)
            write_raw(directory, one, known[chosen], latency_ms=LATENCY[chosen], lost={7})
            error = LabError("h2: <b>panic</b>", ["line & line"]) if (name, chosen) == ("disk", "credit") else None
            every.append(results.collect(directory, one, known[chosen], 1, fingerprint="ab" * 32,
                                         inputs={"xen": "cd" * 32}, error=error))
            results.save(directory / "results.json", [every[-1]])
    results.save(out / "results.json", every)
    return out


@pytest.fixture(scope="module")
def page(measured, tmp_path_factory):
    return report.write([measured], tmp_path_factory.mktemp("page") / "report.html")


class TestFinding:
    def test_by_the_common_file_by_the_tree_and_by_one_run(self, measured, tmp_path):
        assert [f.run for f in runs.find(measured)] == results.load(measured / "results.json")
        assert all(f.directory for f in runs.find(measured))
        assert len(runs.find(measured / "mixed")) == 2
        (one,) = runs.find(measured / "mixed/tavs/seed-1")
        assert one.samples()["c1"][6] == (7, one.samples()["c1"][6][1])
        assert one.samples()["c1"][7] == (8, None)

    def test_results_without_raw_files(self, measured, tmp_path):
        (tmp_path / "results.json").write_bytes((measured / "results.json").read_bytes())
        assert all(f.directory is None and f.samples() == {} for f in runs.find(tmp_path))

    def test_nothing_there(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(LabError, match="^x: no such directory$"):
            runs.find(Path("x"))
        Path("y").mkdir()
        with pytest.raises(LabError, match="^y: there are no results in it$"):
            runs.find(Path("y"))


class TestCompare:
    def test_figures_and_ratios(self, measured, tmp_path, capsys):
        (tmp_path / "b").mkdir()
        every = results.load(measured / "results.json")
        changed = [r for r in every if r["scenario"]["name"] == "mixed"]
        whole = changed[1]["clients"][0]["whole"]
        whole["p50_ns"] *= 2
        changed[1]["ran"]["inputs"] = {"xen": "ee" * 32}
        results.save(tmp_path / "b/results.json", changed)
        assert lab("compare", measured, tmp_path / "b") == 0
        text = capsys.readouterr().out
        assert "×2.00" in text and "identical" in text and "differs" in text
        assert "mixed/tavs/1: xen went in otherwise in 2 than in 1" in text
        assert "disk/credit/1: only in 1" in text


class TestReport:
    def test_it_is_self_contained(self, page):
        text = page.read_text()
        fetched = re.findall(r"""(?:src|href|xlink:href)\s*=\s*["']([^"']+)|url\(([^)]+)\)|@import\s+(\S+)""", text)
        targets = [a or b or c for a, b, c in fetched]
        assert targets and all(t.startswith(("#", "data:")) for t in targets)
        assert "<script" not in text and "<link" not in text

    def test_it_says_what_was_run_and_what_is_not_modelled(self, page):
        text = page.read_text()
        for words in ("mixed: Interactive work", "What virtual time does not model", "caches, TLBs, the price of a VM exit",
                      "Nearest rank", "ab" * 32, "cd" * 32, "sched=tavs", "Linux 6.1.0-test", "after 10", "worst share error"):
            assert words in text, words

    def test_incomplete_runs_are_marked_and_text_is_escaped(self, page):
        text = page.read_text()
        assert "1 of 4 runs are incomplete" in text
        assert "h2: &lt;b&gt;panic&lt;/b&gt;" in text and "<b>panic" not in text and "line &amp; line" in text

    def test_ids_are_unique_and_every_reference_has_its_target(self, page):
        text = page.read_text()
        ids = re.findall(r'\bid="([^"]+)"', text)
        assert len(ids) == len(set(ids))
        assert {r for pair in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text) for r in pair if r} <= set(ids)

    def test_each_plot_is_there_as_png_and_svg(self, page):
        names = {p.name for p in page.with_suffix("").iterdir()}
        for stem in ("overview", "mixed-cdf", "mixed-sequence", "mixed-shares", "mixed-throughput", "disk-cdf", "disk-throughput"):
            assert {f"{stem}.png", f"{stem}.svg"} <= names
        for path in page.with_suffix("").glob("*.png"):
            assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5_000

    def test_the_same_runs_give_the_same_bytes(self, measured, page, tmp_path):
        again = report.write([measured], tmp_path / "report.html")
        assert again.read_bytes() == page.read_bytes()
        for path in page.with_suffix("").iterdir():
            assert path.read_bytes() == (tmp_path / "report" / path.name).read_bytes(), path.name

    def test_no_path_of_this_machine(self, measured, page):
        for text in (page.read_text(), *(p.read_text() for p in page.with_suffix("").glob("*.svg"))):
            assert str(measured) not in text and str(paths.ROOT) not in text

    def test_results_without_raw_files_still_make_a_page(self, measured, tmp_path):
        (tmp_path / "results.json").write_bytes((measured / "results.json").read_bytes())
        text = report.write([tmp_path], tmp_path / "r.html").read_text()
        assert "without their raw files" in text and "worst share error" in text
