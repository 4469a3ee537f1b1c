"""The inference of I/O-bound tasks, compiled for the host: tools/tests/tavs."""

import subprocess
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "tools/tests/tavs"


def test_evidence_and_belief(tmp_path):
    made = subprocess.run(["make", "-C", SOURCE, f"BUILD={tmp_path}"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    ran = subprocess.run([tmp_path / "test-tavs"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
