"""The plain parts of task awareness, compiled for the host: tools/tests/tavs."""

import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "tools/tests/tavs"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tavs")
    made = subprocess.run(["make", "-C", SOURCE, f"BUILD={directory}"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return directory


def test_evidence_and_belief(built):
    ran = subprocess.run([built / "test-tavs"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("seed", range(1, 9))
def test_portmap_ring_and_packets(built, seed):
    """The rules of the portmap; the ring and the parser against what is hostile, with sanitizers."""
    ran = subprocess.run([built / "test-net", str(seed)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
