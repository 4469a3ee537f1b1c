# SPDX-License-Identifier: GPL-2.0-only
"""One self-contained page about runs, and its plots as files in a folder beside it."""

from html import escape
from pathlib import Path

from . import plots, runs
from .errors import LabError
from .tables import LATENCIES, TITLES, figures, percent, probes, share_error

PLOTS = {
    "cdf": (
        "Latency distribution",
        "Each curve says which part of the requests was answered within a time; further left is "
        "better. Lost requests count: a curve that loses some ends below 100%.",
    ),
    "sequence": (
        "Latency, request by request",
        "The same requests in order: learning, outliers and drifts show here. "
        "A cross at the top is a lost request.",
    ),
    "shares": (
        "CPU share",
        "CPU time of each domain over the window, from Xen's own accounting. The black line is what the "
        "domain is entitled to: its weighted max-min fair share, dom0 being one of the domains.",
    ),
    "throughput": (
        "Throughput",
        "Work done in the window, as the programs in the guests counted it; a unit of a hog's work is 100 "
        "instructions. Latency that is bought with throughput shows here.",
    ),
}

STYLE = """
:root { color-scheme: light dark; --ink: #22272e; --soft: #59636e; --paper: #fdfdfc; --card: #ffffff; --grid: #c9ced6;
  --line: #dfe3e8; --bad: #a32a1c; --badpaper: #fdf0ee; --good: #00674a; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde3ea; --soft: #9aa5b1; --paper: #14181d; --card: #1b2027;
  --grid: #454d57; --line: #2d343d; --bad: #ff9b8c; --badpaper: #33201d; --good: #4fd1a5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 1020px; margin: 0 auto; padding: 2.5rem 1.25rem 5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.35rem; margin: 3.2rem 0 .3rem; padding-top: 1.4rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.8rem 0 .3rem; }
p { margin: .4rem 0; max-width: 74ch; } .soft, figcaption, caption { color: var(--soft); }
nav a { margin-right: 1rem; } a { color: inherit; text-underline-offset: 3px; }
figure { margin: 1.2rem 0; padding: 1rem 1rem .7rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
figure svg { display: block; width: 100%; height: auto; color: var(--ink); }
figure svg text { font-family: system-ui, "DejaVu Sans", sans-serif !important; }
figcaption { font-size: .86rem; margin-top: .5rem; max-width: 86ch; } figcaption b { color: var(--ink); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .87rem; font-variant-numeric: tabular-nums; margin: .6rem 0; }
caption { text-align: left; font-size: .86rem; padding-bottom: .3rem; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); } .name { text-align: left; }
.swatch { display: inline-block; width: .75em; height: .75em; border-radius: 2px; margin-right: .5em; }
.bad { color: var(--bad); } .best { font-weight: 700; color: var(--good); }
.box { border: 1px solid var(--bad); background: var(--badpaper); border-radius: 8px; padding: .7rem 1rem; margin: 1rem 0; }
.note { border-left: 3px solid var(--grid); padding: .1rem 0 .1rem 1rem; margin: 1rem 0; color: var(--soft); }
pre { overflow-x: auto; font-size: .78rem; line-height: 1.4; } code { font-size: .86em; overflow-wrap: anywhere; }
details { margin: .5rem 0; } summary { cursor: pointer; } dt { font-weight: 600; margin-top: .6rem; } dd { margin: 0 0 0 1rem; max-width: 74ch; }
@media print { details { display: block; } figure { break-inside: avoid; } }
"""

LIMITS = """
<p>The machine is QEMU's software CPU in virtual time: every instruction takes 2 ns, a 500 MIPS machine. Two runs of the same
inputs give the same bytes on any host, so every figure here can be reproduced exactly. What that does not model:</p>
<ul>
<li>caches, TLBs, the price of a VM exit, and speculation barriers: overheads that come from these are not in the figures;</li>
<li>the order of what several pCPUs do within microseconds: an interrupt from one to another comes early or late by up to
the quantum of the run. With one pCPU nothing is early or late;</li>
<li>a network: the client is a process in dom0 that stands for the wire. It sends at seeded, absolute times and stamps the
replies; it costs tens of microseconds of dom0's time a request;</li>
<li>a disk: disks are RAM in dom0, behind a loop device, or behind one that answers each request after a fixed time.</li>
</ul>
<p>So differences between schedulers in when guests run are modelled; differences of a few microseconds in what a decision
costs are not.</p>
"""

DEFINITIONS = """
<dl>
<dt>latency</dt><dd>From right before the client's send to right after its receive (disks: from submit to completion; frames: from when one was due until it was computed).
Requests without a reply in time are lost: they have no latency, and are counted beside.</dd>
<dt>p50, p90, p99, p99.9</dt><dd>Nearest rank: the smallest sample such that so many of all samples are no larger. Always a
sample that was seen. With 100 samples p99.9 is the maximum.</dd>
<dt>after learning</dt><dd>The same without the first requests of each client, as many as the scenario says.</dd>
<dt>entitled</dt><dd>CPU time is divided by weight among the domains that want it, dom0 being one of them; none gets more than
it wants, than its cap, or than a pCPU for each vCPU. A domain wants what its programs would use if alone; one without hogs
wants what it used.</dd>
<dt>share error</dt><dd>(CPU time − entitled) / entitled. The table shows the worst. A domain without hogs has an error only if
it took more than its share.</dd>
</dl>
"""


def write(places: list[Path], output: Path, lead=None) -> Path:
    """The page at `output`, the plots in a folder of its name without suffix.

    lead(found, look, picture) returns HTML that goes before all else.
    """
    found = [one for place in places for one in runs.find(place)]
    if not found:
        raise LabError("there are no runs to report on")
    folder = output.with_suffix("") if output.suffix else output.with_name(output.name + ".plots")
    folder.mkdir(parents=True, exist_ok=True)
    page = build(found, folder, lead)
    output.write_text(page, encoding="utf-8")
    return output


def build(found: list[runs.Found], folder: Path | None = None, lead=None) -> str:
    look = plots.Look([f.run["policy"]["name"] for f in found])
    grouped: dict[str, list[runs.Found]] = {}
    for one in found:
        grouped.setdefault(one.run["scenario"]["name"], []).append(one)
    pictures = {name: plots.Pictures(some, look) for name, some in grouped.items()}

    def picture(name: str, figure, title: str, caption: str) -> str:
        if figure is None:
            return ""
        drawn = plots.svg(figure)
        if folder is not None:
            (folder / f"{name}.png").write_bytes(plots.png(figure))
            (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
        return (
            f"<figure>{plots.inline(drawn, name, escape(title))}"
            f"<figcaption><b>{escape(title)}.</b> {escape(caption)}</figcaption></figure>"
        )

    parts = [_head(found, grouped)]
    if lead is not None:
        parts.append(lead(found, look, picture))
    if len(pictures) > 1:
        parts.append(
            picture(
                "overview",
                plots.draw(plots.overview, pictures),
                "Overview",
                "Latency of the first client on one axis, further left is better; right, the CPU share that strays "
                "furthest from what its domain is entitled to.",
            )
        )
    parts.append(_summary(grouped, look))
    for name, some in grouped.items():
        parts.append(_scenario_head(name, some))
        tables = {"cdf": _latency_table, "shares": _shares_table, "throughput": _work_table}
        for kind, (title, caption) in PLOTS.items():
            parts.append(picture(f"{name}-{kind}", plots.draw(getattr(pictures[name], kind)), title, caption))
            if kind in tables:
                parts.append(tables[kind](some, look))
    parts.append(f'<h2 id="limits">What virtual time does not model</h2>{LIMITS}')
    parts.append(f'<h2 id="terms">What the figures mean</h2>{DEFINITIONS}')
    parts.append(_inputs(found))
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Xen schedulers: {escape(', '.join(grouped))}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _head(found, grouped) -> str:
    incomplete = [f.run for f in found if not f.run["complete"]]
    versions = sorted(
        {f"Xen {v['xen']}" for f in found if "xen" in (v := f.run["ran"]["versions"])}
        | {f"Linux {v['kernel']}" for f in found if "kernel" in (v := f.run["ran"]["versions"])}
    )
    links = "".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in grouped)
    text = (
        f'<h1>Latency and fairness of Xen\'s schedulers</h1><p class="soft">{_count(len(found), "booted run")}'
        f"{' · ' + escape(', '.join(versions)) if versions else ''} · QEMU in virtual time</p>"
        f'<nav>{links}<a href="#limits">what is not modelled</a><a href="#terms">terms</a><a href="#inputs">inputs</a></nav>'
    )
    if incomplete:
        rows = "".join(
            f"<li>{escape(_label(run))}: {escape(run['error']['message'])}</li>" for run in incomplete
        )
        text += (
            f'<div class="box"><b class="bad">{len(incomplete)} of {len(found)} runs are incomplete.</b> '
            f"Their figures are what there was when they failed.<ul>{rows}</ul></div>"
        )
    return text


def _summary(grouped, look) -> str:
    """The median and p99 of each scenario's first client, under each policy."""
    shown = {name: some for name, some in grouped.items() if any(probes(f.run) for f in some)}
    if not shown:
        return ""
    policies = list(dict.fromkeys(f.run["policy"]["name"] for some in shown.values() for f in some))
    head = "".join(f"<th>{escape(name)}</th>" for name in shown)
    rows = ""
    for policy in policies:
        cells = ""
        for some in shown.values():
            run = next((f.run for f in some if f.run["policy"]["name"] == policy and probes(f.run)), None)
            if run is None:
                cells += "<td>-</td>"
                continue
            whole = figures(probes(run)[0][1])
            cells += f"<td>{whole[3]} / {whole[5]}{'' if run['complete'] else ' <span class=bad>incomplete</span>'}</td>"
        rows += f'<tr><td class="name">{_swatch(look, policy)}{escape(policy)}</td>{cells}</tr>'
    return (
        f'<div class="wide"><table><caption>p50 / p99 in virtual milliseconds: the first client of each scenario, first seed</caption>'
        f'<tr><th class="name">policy</th>{head}</tr>{rows}</table></div>'
    )


def _scenario_head(name: str, some) -> str:
    scenario = some[0].run["scenario"]
    definition = scenario["definition"]
    pcpus = definition["pcpus"]
    facts = (
        f"{_count(pcpus, 'pCPU')}, {_count(len(definition['guests']), 'guest')}, "
        f"window {definition['duration_s']} virtual s"
    )
    quantum = definition.get("quantum_us")
    caveat = (
        f'<p class="note">Several pCPUs: what happens between two of them may come {quantum} us early or late.</p>'
        if quantum
        else ""
    )
    without = [f for f in some if f.directory is None]
    if without:
        caveat += f'<p class="note">{len(without)} of {len(some)} runs come without their raw files, so without curves.</p>'
    return (
        f'<h2 id="{escape(name)}">{escape(name)}: {escape(scenario["title"])}</h2>'
        f'<p>{escape(definition["description"])}</p><p class="soft">{facts}</p>{caveat}'
    )


def _latency_table(some, look) -> str:
    rows = ""
    for found in some:
        run = found.run
        name = _swatch(look, run["policy"]["name"]) + escape(_policy_seed(run, some))
        if not run["complete"]:
            name += ' <span class="bad">incomplete</span>'
        error = escape(share_error(run))
        for probe, whole, learned in probes(run):
            rows += _latency_row(name, probe, "all", whole, error)
            if learned:
                rows += _latency_row("", "", f"after {learned['after_requests']}", learned, "")
            name = error = ""
    if not rows:
        return ""
    head = "".join(
        f"<th>{t}</th>" for t in ("n", "lost", *(TITLES[k] for k in LATENCIES), "worst share error")
    )
    return (
        '<div class="wide"><table><caption>latency in virtual milliseconds</caption><tr><th class="name">policy</th>'
        f'<th class="name">client</th><th class="name">requests</th>{head}</tr>{rows}</table></div>'
    )


def _latency_row(name: str, probe: str, which: str, summary: dict, error: str) -> str:
    cells = "".join(f"<td>{figure}</td>" for figure in figures(summary))
    return (
        f'<tr><td class="name">{name}</td><td class="name">{escape(probe)}</td>'
        f'<td class="name soft">{which}</td>{cells}<td>{error}</td></tr>'
    )


def _shares_table(some, look) -> str:
    runs_ = [f.run for f in some if f.run["domains"]]
    if not runs_:
        return ""
    domains = list(dict.fromkeys(d["name"] for run in runs_ for d in run["domains"]))
    rows = ""
    for run in runs_:
        by_name = {d["name"]: d for d in run["domains"]}
        cells = ""
        for name in domains:
            d = by_name.get(name)
            if d is None:
                cells += "<td>-</td>"
                continue
            error = (
                ""
                if d["error_ppm"] is None or (d["wants_ppm"] is None and not d["error_ppm"])
                else f'<br><span class="soft">{percent(d["error_ppm"])}</span>'
            )
            cells += f"<td>{d['cpu_ns'] / 1e9:.3f}{error}</td>"
        rows += f'<tr><td class="name">{_swatch(look, run["policy"]["name"])}{escape(_policy_seed(run, some))}</td>{cells}</tr>'
    head = "".join(f"<th>{escape(d)}</th>" for d in domains)
    return (
        f'<div class="wide"><table><caption>CPU time in virtual seconds; below, the error against what the domain is entitled to'
        f'</caption><tr><th class="name">policy</th>{head}</tr>{rows}</table></div>'
    )


def _work_table(some, look) -> str:
    rows = ""
    for found in some:
        run = found.run
        hogs = [h["units_per_s"] for h in run["hogs"]]
        total = f"{sum(hogs):,.0f}" if hogs and None not in hogs else "-"
        reads = f"{sum(d['reads_per_s'] for d in run['disks']):,.1f}" if run["disks"] else "-"
        players = run.get("players")
        late = f"{sum(p['late'] for p in players):,} of {sum(p['lateness']['n'] for p in players):,}" if players else "-"
        window = (run["window"] or {}).get("duration_ns")
        switches = run["context_switches"].get("sched_ctx")
        a_second = f"{switches * 1e9 / window:,.0f}" if switches is not None and window else "-"
        rows += f'<tr><td class="name">{_swatch(look, run["policy"]["name"])}{escape(_policy_seed(run, some))}</td><td>{total}</td><td>{reads}</td><td>{late}</td><td>{a_second}</td></tr>'
    return (
        '<div class="wide"><table><caption>cost and work: sums over all domains, each second of the window; a frame is late by more than a period</caption><tr>'
        f'<th class="name">policy</th><th>hog units</th><th>disk reads</th><th>late frames</th><th>context switches</th></tr>{rows}</table></div>'
    )


def _inputs(found) -> str:
    text = '<h2 id="inputs">What was run</h2><p>Runs with the same fingerprint give the same bytes.</p>'
    for one in found:
        run = one.run
        ran = run["ran"]
        commands = "; ".join(run["policy"]["commands"])
        rows = [
            ("boot arguments", run["policy"]["xen"] or "none"),
            ("hypervisor", run["policy"]["hypervisor"]),
            ("xl commands", commands or "none"),
            ("scheduler that ran", ran["scheduler"] or "unknown"),
            ("scenario file", f"sha256 {run['scenario']['sha256']}"),
            ("fingerprint", ran["fingerprint"] or "none"),
            *((f"version: {k}", v) for k, v in ran["versions"].items()),
            *((f"input: {k}", f"sha256 {v}") for k, v in ran["inputs"].items()),
        ]
        cells = "".join(
            f'<tr><td class="name soft">{escape(k)}</td><td class="name"><code>{escape(v)}</code></td></tr>'
            for k, v in rows
        )
        more = "".join(f'<p class="note">{escape(w)}</p>' for w in run["warnings"])
        if run["error"]:
            more += f"<p class=bad>{escape(run['error']['message'])}</p><pre>{escape(chr(10).join(run['error']['details']))}</pre>"
        title = _label(run) + ("" if run["complete"] else " (incomplete)")
        text += (
            f"<details><summary>{escape(title)}</summary>"
            f'<div class="wide"><table>{cells}</table></div>{more}</details>'
        )
    return text


def _policy_seed(run: dict, some) -> str:
    seeds = len({f.run["seed"] for f in some}) > 1
    return run["policy"]["name"] + (f", seed {run['seed']}" if seeds else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _label(run: dict) -> str:
    return f"{run['scenario']['name']} under {run['policy']['name']}, seed {run['seed']}"


def _swatch(look, policy: str) -> str:
    return f'<span class="swatch" style="background:{look.colour(policy)}"></span>'
