# SPDX-License-Identifier: GPL-2.0-only
"""The command line of the laboratory."""

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console

from . import paths, policy, results, scenario, trace
from .errors import InputError, LabError

DEFAULT_POLICIES = ("credit", "credit2", "credit2-rl0", "tavs", "tavs2")
PIPE_WIDTH = 150

EPILOG = """\
examples:
  lab list                                   what there is to run
  lab run mixed                              one scenario under the usual policies
  lab run mixed io --policy credit2 --policy tavs --seed 1 2 3
  lab run mixed --policy 'slow=sched=credit sched_credit_tslice_ms=100; xl sched-credit -s -r 5000'
  lab boot --policy tavs mixed               a shell in dom0 with the guests of mixed
  lab compare out/before out/after           what changed between two sets of runs
  lab experiment mixed                       measure, plot, and judge against targets
  lab report out/run                         a page with plots, and the plots
  lab episode out/trace --worst              what became of one request of a traced run

A run boots Xen with real guests in virtual time: the same inputs give the same bytes, on any host.
What was measured before comes from the cache.  docs/lab.md tells more.
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="lab",
        description="Boots Xen with real guests in virtual time and measures them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name, function, help, epilog=""):
        sub = verbs.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(function=function)
        return sub

    run = verb(
        "run",
        _run,
        "measure scenarios under policies, side by side",
        """\
examples:
  lab run mixed --policy credit2 --policy tavs
  lab run smoke --policy tavs-debug --fresh
  lab run ./mine.toml --policy 'rl500=sched=credit2 sched_ratelimit_us=500' --seed 1 2 3
  lab run mixed-2@5us mixed-2 mixed-2@20us --policy tavs     several pCPUs, at most so far apart

A policy spelt out is NAME=BOOT ARGUMENTS, then ';' and xl commands, or hypervisor=debug.
DIR holds SCENARIO/POLICY/seed-N/ for each run (results.json, raw/, serial.log, run.log)
and a results.json with all of them.  Exit status: 0 all complete, 1 a run failed, 2 bad input.
""",
    )
    run.add_argument(
        "scenario", nargs="+", metavar="SCENARIO",
        help="a name from `lab list`, or a .toml file; @5us after it: with this quantum between pCPUs",
    )
    run.add_argument(
        "--policy",
        action="append",
        metavar="POLICY",
        help=f"a name from `lab list` or NAME=...; may be given again (default: {', '.join(DEFAULT_POLICIES)})",
    )
    run.add_argument(
        "--seed", nargs="+", type=_natural, metavar="N", help="instead of the scenario's own seeds"
    )
    run.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where results go (default: out/run; with --trace out/trace)",
    )
    run.add_argument(
        "--trace",
        action="store_true",
        help="keep Xen's trace of the window in raw/trace.bin: for `lab episode`, `lab beliefs` and xenalyze",
    )
    run.add_argument(
        "--trace-mb",
        type=_positive,
        default=trace.BUFFER_MB,
        metavar="N",
        help="trace buffer of each pCPU; what does not fit is lost, and counted (default: %(default)s)",
    )
    _running(run)

    demo = verb(
        "demo",
        _demo,
        "the main job: mixed and io under credit, credit2, credit2-rl0, tavs and tavs2",
        """\
Leaves out/demo/results.json (all runs), out/demo/report.html, and its plots in out/demo/report/.
""",
    )
    demo.add_argument(
        "--out",
        type=Path,
        default=paths.OUT / "demo",
        metavar="DIR",
        help="where results go (default: out/demo)",
    )
    _running(demo)

    experiment = verb(
        "experiment",
        _experiment,
        "measure what an experiment asks for and say whether it shows what it is to show",
        """\
examples:
  lab experiment list
  lab experiment mixed --seed 1 2
  lab experiment mixed --keep            take the runs that DIR has, whatever went into them

An experiment is a file in guest-tests/experiments: runs, targets, plots.  DIR gets results.json (all runs),
targets.json (figures and verdicts), summary.md (the same as tables), report.html, and the plots in report/.
Exit status: 0 all targets met, 1 a run failed or a target was missed, 2 bad input.
""",
    )
    experiment.add_argument("name", metavar="NAME", help="`list` says which there are; or a .toml file")
    experiment.add_argument(
        "--seed", nargs="+", type=_natural, metavar="N", help="instead of the experiment's own seeds"
    )
    experiment.add_argument(
        "--out", type=Path, metavar="DIR", help="where results go (default: out/experiment/NAME)"
    )
    experiment.add_argument(
        "--keep", action="store_true", help="take complete runs in DIR as they are; their inputs are not compared"
    )
    _running(experiment)

    boot = verb(
        "boot",
        _boot,
        "boot a policy with a shell in dom0 and the guests of a scenario",
        """\
example:
  lab boot --policy tavs mixed

You are root in dom0, on the serial line; the guests are defined in /lab/guests.  Ctrl-A X ends it.
""",
    )
    boot.add_argument("scenario", nargs="?", default="mixed", metavar="SCENARIO", help="default: mixed")
    boot.add_argument("--policy", default="tavs", metavar="POLICY", help="default: tavs")

    compare = verb(
        "compare",
        _compare,
        "compare sets of runs, figure by figure",
        """\
example:
  lab compare out/before out/after

Runs of the same scenario, policy and seed are put side by side; the first DIR is the base.
""",
    )
    compare.add_argument(
        "dir", nargs="+", type=Path, metavar="DIR", help="a directory of runs, or a results.json"
    )

    report = verb(
        "report",
        _report,
        "write one self-contained page about runs, and its plots as PNG and SVG",
        """\
example:
  lab report out/run out/demo -o out/report.html
""",
    )
    report.add_argument(
        "dir", nargs="+", type=Path, metavar="DIR", help="a directory of runs, or a results.json"
    )
    report.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: report.html in the first DIR"
    )

    episode = verb(
        "episode",
        _episode,
        "explain one request of a traced run: who ran, what was decided, where the time went",
        """\
examples:
  lab run mixed io --policy tavs --trace --out out/trace
  lab episode out/trace/mixed                        the median request, in words and as a picture
  lab episode out/trace/mixed --worst
  lab episode out/trace/mixed --request 12 -o out/twelve.png
  lab episode out/trace/mixed --against out/trace/io       stage by stage beside another run

DIR holds one traced run.  The picture is written beside its results, unless -o names a file.
""",
    )
    episode.add_argument("dir", type=Path, metavar="DIR", help="a directory with one traced run")
    episode.add_argument("--client", metavar="CLIENT", help="whose request (default: the first client)")
    which = episode.add_mutually_exclusive_group()
    which.add_argument("--request", type=_positive, metavar="N", help="the Nth request of the client, from 1")
    which.add_argument("--worst", action="store_true", help="the slowest that was answered")
    which.add_argument("--median", action="store_true", help="one of median latency (the default)")
    episode.add_argument(
        "--against", type=Path, metavar="DIR", help="compare with the median request of another traced run"
    )
    episode.add_argument("-o", "--output", type=Path, metavar="FILE", help="the picture: .svg or .png")

    beliefs = verb(
        "beliefs",
        _beliefs,
        "show what the scheduler believed of each task of a traced run, over time",
        """\
example:
  lab beliefs out/trace/mixed
""",
    )
    beliefs.add_argument("dir", type=Path, metavar="DIR", help="a directory with one traced run")
    beliefs.add_argument("--domain", metavar="NAME", help="whose tasks (default: the guests that clients ask)")
    beliefs.add_argument("-o", "--output", type=Path, metavar="FILE", help="the picture: .svg or .png")

    verb("list", _list, "say which scenarios and policies there are")
    return top


def _running(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--fresh", action="store_true", help="measure again, whatever the cache has")
    sub.add_argument(
        "--jobs",
        type=_positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="runs at a time (default: one a core)",
    )


def _natural(word: str) -> int:
    if not word.isdecimal():
        raise argparse.ArgumentTypeError(f"'{word}' is not a whole number from 0")
    return int(word)


def _positive(word: str) -> int:
    if not word.isdecimal() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"'{word}' is not a whole number from 1")
    return int(word)


def main(arguments: list[str] | None = None) -> int:
    out, err = _console(sys.stdout), _console(sys.stderr)
    try:
        options = parser().parse_args(arguments)
        return options.function(options, out, err) or 0
    except LabError as error:
        err.print(f"error: {error.message}", style="bold red", markup=False, highlight=False, soft_wrap=True)
        for line in error.details:
            err.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
        return error.exit_code
    except KeyboardInterrupt:
        err.print("interrupted", style="bold red")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        where = f"{paths.shown(str(error.filename))}: " if error.filename else ""
        err.print(f"error: {where}{error.strerror or error}", style="bold red", markup=False, highlight=False,
                  soft_wrap=True)
        return 1


def _console(stream) -> Console:
    console = Console(file=stream)
    if not console.is_terminal:
        console = Console(file=stream, width=PIPE_WIDTH)
    return console


def _run(options, out: Console, err: Console) -> int:
    options.out = options.out or paths.OUT / ("trace" if options.trace else "run")
    return _measure(
        [scenario.find(word) for word in options.scenario],
        _policies(options.policy or DEFAULT_POLICIES),
        options.seed,
        options,
        out,
        err,
    )


def _demo(options, out: Console, err: Console) -> int:
    code = _measure(
        [scenario.find("mixed"), scenario.find("io")], _policies(DEFAULT_POLICIES), None, options, out, err
    )
    from . import report

    page = report.write([options.out], options.out / "report.html")
    out.print(
        f"results  {paths.shown(options.out / 'results.json')}\nreport   {paths.shown(page)}", highlight=False
    )
    return code


def _policies(words) -> list[policy.Policy]:
    known = policy.load()
    found: dict[str, policy.Policy] = {}
    for word in words:
        one = policy.find(word, known)
        if one.name in found:
            raise InputError(f"--policy: '{one.name}' is given twice")
        found[one.name] = one
    return list(found.values())


def _experiment(options, out: Console, err: Console) -> int:
    from . import experiment, tables, workers

    if options.name == "list":
        table = tables.plain(("name", "runs", "targets", "what"), right=("runs", "targets"), wraps="what")
        for name in experiment.names():
            one = experiment.find(name)
            table.add_row(name, str(len(one.jobs(Path(), {}))), str(len(one.targets)), one.title)
        tables.show(out, table)
        return 0
    from . import experiment_report

    one = experiment.find(options.name)
    directory = options.out or paths.OUT / "experiment" / one.name
    jobs = one.jobs(directory, paths.load_artifacts(), options.seed, options.fresh)
    kept = [o for job in jobs if options.keep and (o := workers.kept(job))]
    if kept:
        out.print(f"{len(kept)} of {len(jobs)} runs were there already and are taken as they are", highlight=False)
        have = {tables.key(o.run) for o in kept}
        jobs = [j for j in jobs if (j.scenario.name, j.policy.name, j.seed) not in have]
    code = _run_jobs(jobs, kept, directory, options.jobs, out, err)
    verdicts = experiment_report.write(one, directory)
    experiment_report.show(out, one, verdicts)
    out.print(f"report   {paths.shown(directory / 'report.html')}", highlight=False, soft_wrap=True)
    return 1 if code or not all(v.met for v in verdicts) else 0


def _measure(scenarios, policies, seeds, options, out: Console, err: Console) -> int:
    from . import workers

    if len({s.name for s in scenarios}) < len(scenarios):
        raise InputError("two scenarios have the same name")
    traced = getattr(options, "trace", False)
    trace_kb = {s.name: trace.buffer_kb(s, options.trace_mb) if traced else 0 for s in scenarios}
    artifacts = paths.load_artifacts()
    jobs = [
        workers.Job(s, p, seed, artifacts, workers.rundir(options.out, s.name, p.name, seed), options.fresh,
                    trace_kb[s.name])
        for s in scenarios
        for seed in dict.fromkeys(seeds or s.seeds)
        for p in policies
    ]
    return _run_jobs(jobs, [], options.out, options.jobs, out, err)


def _run_jobs(jobs, kept, directory: Path, parallel: int, out: Console, err: Console) -> int:
    """Runs the jobs, saves all results beside those that were kept, shows them."""
    from . import tables, workers
    from .progress import Board

    with Board(err, len(jobs)) as board:
        outcomes = kept + workers.run_all(jobs, parallel, board)
    runs = [o.run for o in outcomes]
    results.save(directory / workers.RESULTS, runs)
    tables.show_runs(out, runs, {tables.key(o.run) for o in outcomes if o.cached})
    for outcome in outcomes:
        for name in outcome.differs:
            err.print(
                f"{results.label(outcome.run)}: NOT REPEATABLE: {name} differs from the cached run of the same inputs",
                style="bold red",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    failed = sum(not run["complete"] for run in runs)
    if failed:
        err.print(
            f"{failed} of {len(runs)} runs failed; what there is stays in {paths.shown(directory)}",
            style="bold red",
            highlight=False,
        )
    return 1 if failed or any(o.differs for o in outcomes) else 0


def _boot(options, out: Console, err: Console) -> int:
    import tempfile

    from . import run

    chosen, known = scenario.find(options.scenario), policy.load()
    artifacts = paths.load_artifacts()
    paths.BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="boot-", dir=paths.BUILD) as workdir:
        return run.boot(chosen, policy.find(options.policy, known), artifacts, Path(workdir))


def _compare(options, out: Console, err: Console) -> int:
    from . import compare

    compare.show(out, options.dir)
    return 0


def _report(options, out: Console, err: Console) -> int:
    from . import report

    first = options.dir[0] if options.dir[0].is_dir() else options.dir[0].parent
    page = report.write(options.dir, options.output or first / "report.html")
    out.print(f"report  {paths.shown(page)}", highlight=False, soft_wrap=True)
    return 0


def _episode(options, out: Console, err: Console) -> int:
    from . import episode, episode_plot, tables

    run = episode.load(options.dir)
    which = "worst" if options.worst else options.request or "median"
    one = episode.cut(run, *episode.choose(run, options.client, which))
    floor = None
    if options.against:
        other = episode.load(options.against)
        floor = episode.cut(other, *episode.choose(other, None, "median"))
    picture = _picture(
        options.output or run.directory / f"episode-{one.client}-{one.number}.svg", episode_plot.episode, one
    )
    tables.show_episode(out, one, floor)
    out.print(f"picture  {paths.shown(picture)}", highlight=False, soft_wrap=True)
    return 0


def _beliefs(options, out: Console, err: Console) -> int:
    from . import beliefs, episode, episode_plot, tables

    run = episode.load(options.dir)
    courses = beliefs.courses(run, options.domain)
    picture = _picture(
        options.output or run.directory / "beliefs.svg", episode_plot.beliefs, courses, run
    )
    tables.show_beliefs(out, courses, run)
    out.print(f"picture  {paths.shown(picture)}", highlight=False, soft_wrap=True)
    return 0


def _picture(file: Path, function, *arguments) -> Path:
    from . import plots

    if file.suffix not in (".svg", ".png"):
        raise InputError(f"{file.name}: a picture is an .svg or a .png file")
    figure = plots.draw(function, *arguments)
    try:
        if file.suffix == ".svg":
            file.write_text(plots.svg(figure))
        else:
            file.write_bytes(plots.png(figure))
    except OSError as error:
        raise LabError(f"{paths.shown(file)}: {error.strerror}") from None
    return file


def _list(options, out: Console, err: Console) -> int:
    from . import tables

    figures = ("pCPUs", "guests", "window")
    table = tables.plain(("name", *figures, "what"), right=figures, wraps="what", title="scenarios")
    for name in scenario.names():
        one = scenario.find(name)
        table.add_row(one.name, str(one.pcpus), str(len(one.guests)), f"{one.duration_s} s", one.title)
    tables.show(out, table)
    out.print()
    table = tables.plain(("name", "hypervisor", "boot arguments", "what"), wraps="what", title="policies")
    for one in policy.load().values():
        table.add_row(one.name, one.hypervisor, one.xen, one.title)
    tables.show(out, table)
    return 0
